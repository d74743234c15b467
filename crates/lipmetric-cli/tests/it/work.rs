//! How the program fits into what people do with it: ids, explanations, streams, empty batches, bad rows.

use crate::common::Room;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const ROWS: &str = "id,a,b,y\np1,0,0,u\np2,0.2,0,u\np3,5,5,v\np4,5,5.5,v\n";

fn fitted() -> Room {
    let room = Room::new();
    room.write("a.csv", ROWS);
    room.ok(&["fit", "a.csv", "--ignore", "id", "--method", "nn", "--k", "1", "--scale", "none", "--model", "m.lip"]);
    room
}

#[test]
fn columns_of_the_input_are_kept_beside_the_results() {
    let room = fitted();
    let out = room.ok(&["predict", "a.csv", "--model", "m.lip", "--keep", "id"]);
    assert_eq!(out, "id,prediction\np1,u\np2,u\np3,v\np4,v\n");
    let out = room.ok(&["transform", "a.csv", "--model", "m.lip", "--keep", "all"]);
    assert!(out.starts_with("id,a,b,y,z1,z2\np1,0,0,u,"), "{out}");
    let out = room.ok(&["predict", "a.csv", "--model", "m.lip", "--keep", "y,1", "--jsonl"]);
    assert!(out.starts_with("{\"y\":\"u\",\"id\":\"p1\",\"prediction\":\"u\"}\n"), "{out}");
    assert!(room.fails(3, &["predict", "a.csv", "--model", "m.lip", "--keep", "nope"]).contains("no column `nope`"));
    room.write("twice.csv", "prediction,a,b\nx,1,2\n");
    let args = ["predict", "twice.csv", "--model", "m.lip", "--extra", "ignore", "--keep", "prediction"];
    assert!(room.fails(2, &args).contains("--keep"));
}

#[test]
fn a_model_may_be_named_before_its_rows() {
    let room = Room::new();
    let rows = room.ok(&["datasets", "export", "echo"]);
    room.write("e.csv", rows);
    room.ok(&["fit", "e.csv", "--method", "nn", "--model", "m.lip"]);
    for command in ["predict", "transform"] {
        assert_eq!(
            room.ok(&[command, "m.lip", "e.csv"]),
            room.ok(&[command, "--model", "m.lip", "e.csv"]),
            "{command}"
        );
        assert!(room.fails(2, &[command, "m.lip"]).contains("FILE"), "{command}");
        assert!(room.fails(2, &[command, "m.lip", "e.csv", "--data", "echo"]).contains("one MODEL"), "{command}");
    }
    let compared = ["--methods", "nn", "--repeats", "2", "-q"];
    let by_option = room.ok(&[&["compare", "--data", "echo", "--csv"], &compared[..]].concat());
    assert!(by_option.lines().nth(1).is_some_and(|line| line.starts_with("\"echo\"")), "{by_option}");
}

#[test]
fn neighbours_explain_a_prediction() {
    let room = fitted();
    room.write("new.csv", "a,b\n1,2\n");
    let out = room.ok(&["predict", "new.csv", "--model", "m.lip", "--neighbours", "2"]);
    let mut lines = out.lines();
    assert_eq!(
        lines.next().unwrap(),
        "prediction,neighbour1_row,neighbour1_label,neighbour1_distance,neighbour1_differs_in,neighbour2_row,neighbour2_label,\
         neighbour2_distance,neighbour2_differs_in"
    );
    // Row 2 is at (0.2, 0): 0.64 of 4.64 in a and 4 of 4.64 in b; row 1 at (0, 0): 1 and 4 of 5.
    let row = lines.next().unwrap();
    let distance = |v: f64| format!("{:?}", v.sqrt());
    assert!(row.starts_with(&format!("u,line 3,u,{}", &distance(4.64)[..10])), "{row}");
    assert!(
        row.contains("b 86.21 %; a 13.79 %") && row.ends_with(&format!("{},b 80 %; a 20 %", distance(5.0))),
        "{row}"
    );
    assert!(room.fails(2, &["predict", "new.csv", "--model", "m.lip", "--neighbours", "5"]).contains("1 to 4"));
}

#[test]
fn a_batch_without_rows_gives_a_result_without_rows() {
    let room = fitted();
    room.write("none.csv", "id,a,b\n");
    assert_eq!(room.ok(&["predict", "none.csv", "--model", "m.lip", "--keep", "id"]), "id,prediction\n");
    assert_eq!(room.ok(&["transform", "none.csv", "--model", "m.lip"]), "z1,z2\n");
    room.ok(&["predict", "none.csv", "--model", "m.lip", "--proba", "--radius", "-o", "out.csv"]);
    assert!(room.fails(3, &["evaluate", "none.csv", "--model", "m.lip"]).contains("no"));
}

#[test]
fn rows_that_come_one_by_one_are_answered_one_by_one() {
    let room = fitted();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("lipmetric"))
        .args(["predict", "--model", "m.lip", "-", "--keep", "a"])
        .current_dir(room.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || answers.next().unwrap().unwrap();
    rows.write_all(b"a,b\r\n0,0\r\n").unwrap();
    assert_eq!([next(), next()], ["a,prediction", "0,u"], "without waiting for the end of the input");
    for (row, answer) in [("5,5\r\n", "5,v"), ("1,0\n", "1,u"), ("6,5\r\n7,5\r\n", "6,v")] {
        rows.write_all(row.as_bytes()).unwrap();
        assert_eq!(next(), answer);
    }
    drop(rows);
    assert_eq!(next(), "7,v");
    assert!(child.wait().unwrap().success());
}

#[test]
fn bad_rows_end_the_output_or_are_left_out_and_counted() {
    let room = fitted();
    let good = "0,0\n".repeat(5000);
    room.write("long.csv", format!("a,b\n{good}x,0\n"));
    let error = room.fails(3, &["predict", "long.csv", "--model", "m.lip"]);
    assert!(error.contains("line 5002") && error.contains("4096 rows were written before"), "{error}");
    room.write("mixed.csv", "a,b\n0,0\nx,0\n5,5\n1\n6,6\n");
    room.write("one.csv", "a,b\n0,0\nx,0\n5,5\n");
    let error = room.fails(3, &["predict", "one.csv", "--model", "m.lip"]);
    assert!(
        error.contains("line 3") && error.contains("`--bad-rows skip` leaves such rows out (no row was written)"),
        "{error}"
    );
    let out = room.run(&["predict", "mixed.csv", "--model", "m.lip", "--keep", "a", "--bad-rows", "skip"]);
    let (shown, told) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert_eq!(shown, "a,prediction\n0,u\n5,v\n6,v\n", "{told}");
    assert!(
        told.contains("line 3, column `a`") && told.contains("line 5") && told.contains("2 rows were left out"),
        "{told}"
    );
    room.write("wrong.csv", "c,d\n1,2\n3,4\n");
    room.fails(3, &["predict", "wrong.csv", "--model", "m.lip", "--bad-rows", "skip"]);
}

#[test]
fn a_comparison_goes_into_a_paper_or_a_page() {
    let room = Room::new();
    let args = ["compare", "echo", "--methods", "nn,nn:k=3", "--repeats", "2"];
    let run = |more: &[&str]| room.ok(&[&args[..], more].concat());
    let latex = run(&["--latex"]);
    assert!(
        latex.contains("\\begin{tabular}{lrr}") && latex.contains("$\\pm$") && latex.contains("\\textbf{"),
        "{latex}"
    );
    assert_eq!(run(&["--latex", "-o", "t.tex"]), "");
    assert_eq!(room.read("t.tex"), latex.as_bytes());
    let markdown = run(&["--markdown"]);
    assert!(markdown.starts_with("| data | ") && markdown.contains("\n|---|---:|---:|\n| echo | "), "{markdown}");
    let csv = run(&["--csv"]);
    let (head, rest) = csv.split_once('\n').unwrap();
    assert!(head.contains(",confusion"), "{head}");
    // Four counts of the 30 rows that are kept back.
    let cell = rest.lines().next().unwrap().rsplit(',').next().unwrap();
    let counts: Vec<usize> = cell.split([' ', ';']).map(|n| n.parse().unwrap()).collect();
    assert_eq!((counts.len(), counts.iter().sum::<usize>()), (4, 30), "{cell}");
    assert!(room.fails(1, &[&args[..], &["-o", "nope/t.txt"]].concat()).contains("cannot write nope/t.txt"));
}

#[test]
fn a_model_shows_its_matrix_its_label_and_its_levels() {
    let room = Room::new();
    let rows: String = (0..40).map(|i| format!("{},{},{},{}\n", i % 7, i % 5, ["rot", "blau"][i % 2], i % 3)).collect();
    room.write("a.csv", format!("u,v,farbe,art\n{rows}"));
    room.ok(&["fit", "a.csv", "--method", "nca", "--k", "1", "--model", "m.lip"]);
    let shown = room.ok(&["inspect", "m.lip", "--weights", "1"]);
    assert!(shown.contains("label: column `art`") && shown.contains("levels of farbe: blau, rot"), "{shown}");
    assert!(shown.contains("and 3 more (--weights 0 shows all)"), "{shown}");
    let table = |what: &str| -> Vec<Vec<f64>> {
        let text = room.ok(&["inspect", "m.lip", what]);
        assert!(text.starts_with(if what == "--matrix" { "feature,\"u\"" } else { "\"u\",\"v\"" }), "{text}");
        text.lines().skip(1).map(|l| l.split(',').filter_map(|c| c.parse().ok()).collect()).collect()
    };
    let (m, l) = (table("--matrix"), table("--factor"));
    for i in 0..4 {
        for j in 0..4 {
            let product: f64 = l.iter().map(|row| row[i] * row[j]).sum();
            assert!((m[i][j] - product).abs() <= 1e-9 * (1.0 + product.abs()), "M = L'L at {i}, {j}");
        }
    }
    assert_eq!(room.ok(&["inspect", "m.lip", "--matrix", "-o", "M.csv"]), "");
    assert!(room.fails(2, &["inspect", "m.lip", "--matrix", "-o", "m.lip"]).contains("would be overwritten"));
}

#[test]
fn a_comparison_by_cross_validation_tests_every_row_once() {
    let room = Room::new();
    let args = ["compare", "echo", "--methods", "nn,nn:k=3", "--folds", "4"];
    assert!(room.ok(&args).contains("4 folds of a stratified cross-validation"));
    let told = room.json(&[&args[..], &["--json"]].concat());
    assert_eq!((&told["folds"], &told["repeats"]), (&4.into(), &4.into()));
    let splits = told["data"][0]["methods"][0]["splits"].as_array().unwrap();
    let count = |split: &serde_json::Value| -> u64 {
        let rows = split["confusion"].as_array().unwrap().iter();
        rows.flat_map(|row| row.as_array().unwrap()).map(|n| n.as_u64().unwrap()).sum()
    };
    assert_eq!(splits.iter().map(count).sum::<u64>(), 74);
    let right: f64 = splits.iter().map(|s| s["accuracy"].as_f64().unwrap() * count(s) as f64).sum();
    let evaluated = room.json(&["evaluate", "--data", "echo", "--method", "nn", "--k", "1", "--folds", "4", "--json"]);
    assert!((right / 74.0 - evaluated["accuracy"].as_f64().unwrap()).abs() < 1e-12, "{right} {evaluated}");
    room.fails(2, &[&args[..], &["--repeats", "3"]].concat());
}

#[test]
fn a_path_shows_ratio_and_held_out_accuracy() {
    let room = Room::new();
    let args = ["path", "--data", "echo", "--points", "4", "--least", "0.01"];
    let shown = room.ok(&args);
    assert!(shown.contains("by 5-fold cross-validation; * the highest") && shown.contains(" %*"), "{shown}");
    assert!(shown.contains("margin / sum of class diameters; of the Euclidean distance"), "{shown}");
    assert!(shown.lines().skip(2).take(5).all(|line| line.chars().count() <= 80), "{shown}");
    let told = room.json(&[&args[..], &["--json"]].concat());
    let last = &told["points"][3];
    let fit = room.json(&["fit", "--data", "echo", "--method", "lip-i", "--c-rel", "0.01", "--json"]);
    let off = last["ratio_intra"].as_f64().unwrap() / fit["lipschitz"]["ratio_intra"].as_f64().unwrap() - 1.0;
    assert!(off.abs() < 1e-2, "{off}");
    let accuracy = last["held_out_accuracy"].as_f64().unwrap();
    assert!((0.4..=1.0).contains(&accuracy), "{accuracy}");
    let without = room.json(&[&args[..], &["--folds", "0", "--json"]].concat());
    assert!(without["points"][0]["held_out_accuracy"].is_null() && without["folds"] == 0);
    let help = room.ok(&["path", "--help"]);
    assert!(!help.contains("--c-rel") && !help.contains("agop"), "{help}");
}

#[test]
fn a_fit_shows_what_became_of_the_ratios_and_a_collapse_is_noted() {
    let room = Room::new();
    let shown = room.ok(&["fit", "--data", "echo", "--method", "lip-d"]);
    assert!(shown.contains("Euclidean") && shown.contains("->") && shown.contains("not kept; --model"), "{shown}");
    assert!(!shown.contains("collapsed"), "{shown}");
    // All but one of the features have no weight.
    let told = room.json(&["fit", "--data", "australian", "--method", "lip-i", "--json"]);
    assert!(told["notes"].to_string().contains("the distance has collapsed"), "{}", told["notes"]);
    assert!(told["lipschitz_euclidean"]["ratio_diameter"].as_f64().unwrap() > 1e-4);
}

#[test]
fn a_model_says_where_it_comes_from_and_the_same_command_gives_the_same_bytes() {
    let room = Room::new();
    room.ok(&["datasets", "export", "echo", "-o", "my echo.csv"]);
    let fit = |model: &str, more: &[&str]| {
        room.ok(&[&["fit", "my echo.csv", "--method", "nn", "--k", "3", "--model", model][..], more].concat());
        room.read(model)
    };
    assert_eq!(fit("a.lip", &[]), fit("b.lip", &["--threads", "1", "-v"]));
    let shown = room.ok(&["inspect", "a.lip"]);
    assert!(shown.contains("lipmetric fit 'my echo.csv' --method nn --k 3\n"), "{shown}");
    let origin = |model: &str| room.json(&["inspect", model, "--json"])["origin"].clone();
    assert_eq!(origin("a.lip")["data"], "my echo.csv");
    // The rows, not the file, have the fingerprint.
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "c.lip"]);
    assert_eq!(origin("a.lip")["fingerprint"], origin("c.lip")["fingerprint"]);
    room.ok(&["fit", "--data", "echo", "--ignore", "epss", "--method", "nn", "--model", "d.lip"]);
    assert_ne!(origin("c.lip")["fingerprint"], origin("d.lip")["fingerprint"]);
}

#[test]
fn manual_pages_have_examples_and_no_pages_that_do_not_exist() {
    let room = Room::new();
    let page = room.ok(&["man"]);
    assert!(!page.contains("help(1)") && !page.contains("EXTRA"), "{page}");
    assert!(room.ok(&["man", "fit"]).contains(".SH EXAMPLES\n.nf\n  lipmetric fit"));
}
