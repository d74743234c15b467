//! Rows without labels through the program: pairs, triplets and quadruplets, and what is refused.

use crate::common::Room;
use crate::verify::{put_together, take_apart};
use std::fmt::Write as _;

/// 60 rows named r0, r1, ... of two kinds, which differ in the first of three features; and whether two rows are of a kind.
fn rows(room: &Room) -> impl Fn(usize, usize) -> bool {
    let mut text = "name,a,b,c\n".to_owned();
    let value = |k: usize| (k * 7919 % 1013) as f64 / 1013.0 - 0.5;
    for i in 0..60 {
        let a = if i % 2 == 0 { 1.0 } else { -1.0 } + value(3 * i + 1);
        let _ = writeln!(text, "r{i},{a},{},{}", 3.0 * value(5 * i + 2), 5.0 * value(11 * i + 4));
    }
    room.write("rows.csv", &text);
    |i, j| i % 2 == j % 2
}

fn pairs(room: &Room, name: &str, from: usize, count: usize) {
    let same = rows(room);
    let mut text = "first,second,similar\n".to_owned();
    for k in from..from + count {
        let (i, j) = (k * 7 % 60, (k * 13 + 5 + k / 3) % 60);
        if i != j {
            let _ = writeln!(text, "r{i},r{j},{}", if same(i, j) { "1" } else { "-1" });
        }
    }
    room.write(name, &text);
}

#[test]
fn pairs_are_fitted_asked_about_and_judged() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    pairs(&room, "held.csv", 500, 80);
    let fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--model", "p.lip"];
    let json = room.json(&[&fit[..], &["--json"]].concat());
    assert_eq!((json["task"].as_str(), json["method"].as_str()), (Some("pairs"), Some("lip-pairs")), "{json}");
    assert!(json["gap"].as_f64().unwrap() <= 1e-4 && json["chosen"] == "held_out", "{json}");
    assert!(json["scores"]["accuracy"].as_f64().unwrap() > 0.9, "{json}");
    let text = room.ok(&fit);
    for line in ["60 rows without labels, 3 features", "similar", "certified gap", "precision", "recall", "held-out"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let judged =
        room.json(&["evaluate", "rows.csv", "--model", "p.lip", "--id", "name", "--pairs", "held.csv", "--json"]);
    assert!(judged["accuracy"].as_f64().unwrap() > 0.9 && judged["auc"].as_f64().unwrap() > 0.95, "{judged}");
    room.write("asked.csv", "r0,r2\nr0,r1\n");
    let told = room.ok(&["predict", "--model", "p.lip", "rows.csv", "--id", "name", "--pairs", "asked.csv"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "first,second,distance,prediction");
    assert!(lines[1].starts_with("r0,r2,") && lines[1].ends_with(",similar"), "{told}");
    assert!(lines[2].starts_with("r0,r1,") && lines[2].ends_with(",dissimilar"), "{told}");
    // By number, and rows without the column of names.
    let bare: String = std::fs::read_to_string(room.path("rows.csv"))
        .unwrap()
        .lines()
        .map(|l| l.split_once(',').unwrap().1.to_owned() + "\n")
        .collect();
    room.write("bare.csv", &bare);
    room.write("numbers.csv", "1 3\n1 2\n");
    let same = room.ok(&["predict", "--model", "p.lip", "bare.csv", "--pairs", "numbers.csv"]);
    let distances =
        |text: &str| text.lines().skip(1).map(|l| l.split(',').nth(2).unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(distances(&same), distances(&told));
    let shown = room.ok(&["inspect", "p.lip"]);
    assert!(shown.contains("format 6") && shown.contains("(no labels)"), "{shown}");
    assert!(room.ok(&["neighbours", "p.lip", "bare.csv", "--k", "1"]).lines().count() == 61);
}

#[test]
fn the_rivals_and_comparisons_take_the_same_files() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    pairs(&room, "held.csv", 500, 80);
    let same = rows(&room);
    let itml =
        ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--method", "itml", "--calibrate", "held.csv"];
    let json = room.json(&[&itml[..], &["--threshold", "max-tnr:1", "--json"]].concat());
    assert_eq!((json["chosen"].as_str(), json["scores"]["recall"].as_f64()), (Some("given"), Some(1.0)), "{json}");
    let (mut triplets, mut quadruplets) = (String::new(), String::new());
    for k in 0..200 {
        let (i, j, l) = (k * 7 % 60, (k * 13 + 5 + k / 3) % 60, (k * 17 + 2 + k / 4) % 60);
        if i != j && same(i, j) && !same(i, l) {
            let _ = writeln!(triplets, "r{i},r{j},r{l}");
            let _ = writeln!(quadruplets, "r{i},r{j},r{l},r{j}");
        }
    }
    room.write("triplets.csv", &triplets);
    room.write("quadruplets.csv", &quadruplets);
    for told in [&["--no-label", "--triplets", "triplets.csv"][..], &["--quadruplets", "quadruplets.csv"]] {
        let fit = [&["fit", "rows.csv", "--id", "name", "--model", "q.lip"], told].concat();
        assert!(room.ok(&fit).contains("distances between rows"));
        let judged =
            room.json(&["evaluate", "rows.csv", "--model", "q.lip", "--id", "name", "--pairs", "held.csv", "--json"]);
        assert!(judged["auc"].as_f64().unwrap() > 0.95 && judged["accuracy"].is_null(), "{judged}");
        let evaluate =
            ["evaluate", "rows.csv", "--model", "q.lip", "--id", "name", told[told.len() - 2], told[told.len() - 1]];
        let held = room.json(&[&evaluate[..], &["--json"]].concat());
        assert_eq!(held["comparisons"], triplets.lines().count(), "{held}");
        assert!(held["holds"].as_f64().unwrap() > 0.95, "{held}");
        assert!(room.ok(&evaluate).contains("hold under the learned distance"));
    }
    // Classes learned from pairs: a label may be named.
    let text = std::fs::read_to_string(room.path("rows.csv")).unwrap();
    let labelled: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, l)| {
            format!(
                "{l},{}\n",
                if at == 0 {
                    "kind"
                } else if at % 2 == 1 {
                    "even"
                } else {
                    "odd"
                }
            )
        })
        .collect();
    room.write("labelled.csv", labelled.concat());
    let classes = ["fit", "labelled.csv", "--label", "kind", "--id", "name", "--pairs", "pairs.csv"];
    let json = room.json(&[&classes[..], &["--method", "lip-pairs", "--json"]].concat());
    assert_eq!(json["task"].as_str(), Some("classification"), "{json}");
}

#[test]
fn bad_pairs_are_refused_with_their_line() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 60);
    for (content, message) in [
        ("r0,r2,1\nr0,x9,-1\n", "bad.csv, line 2: no row of rows.csv has the id `x9`"),
        ("r0,r2,1\nr0,r0,1\n", "line 2: the row `r0` is paired with itself"),
        ("r0,r2,1\nr0,r3,2\n", "line 2: `2` says neither similar"),
        ("r0,r2,1\nr0,r3\n", "line 2: 2 cells"),
        ("r0,r2,1,0\nr0,r3,-1\n", "line 1: the strength `0`"),
    ] {
        room.write("bad.csv", content);
        let error = room.fails(3, &["fit", "rows.csv", "--id", "name", "--pairs", "bad.csv"]);
        assert!(error.contains(message), "{content}: {error}");
    }
    room.write("bad.csv", "r0,r2,1\nr1,r3,1\n");
    let error = room.fails(2, &["fit", "rows.csv", "--id", "name", "--pairs", "bad.csv"]);
    assert!(error.contains("--pairs: none is dissimilar"), "{error}");
    room.write("bad.csv", "1,2,1\n1,99,-1\n");
    let error = room.fails(3, &["fit", "rows.csv", "--ignore", "name", "--pairs", "bad.csv"]);
    assert!(error.contains("line 2: there is no row 99: rows.csv has 60 rows"), "{error}");
    room.ok(&["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--model", "p.lip"]);
    assert!(room.fails(2, &["predict", "--model", "p.lip", "rows.csv"]).contains("--pairs FILE"));
    assert!(room.fails(2, &["fit", "rows.csv", "--pairs", "pairs.csv", "--task", "regression"]).contains("--label"));
    let fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv"];
    let error = room.fails(2, &[&fit[..], &["--method", "itml", "--certificate", "--model", "c.lip"]].concat());
    assert!(error.contains("itml gives none") && error.contains("lip-pairs"), "{error}");
    assert!(room.fails(2, &[&fit[..], &["--dims", "2"]].concat()).contains("threshold"));
    let error = room.fails(3, &["verify", "p.lip"]);
    assert!(error.contains("no certificate; fit it again with `--certificate`"), "{error}");
    let error = room.fails(2, &[&fit[..], &["--method", "nn", "--report", "-"]].concat());
    assert!(error.contains("--report"), "{error}");
    assert!(room.fails(2, &["fit", "rows.csv", "--pairs", "pairs.csv", "--threshold", "best"]).contains("max-tnr:0.9"));
    assert!(room.fails(2, &["evaluate", "rows.csv", "--pairs", "pairs.csv"]).contains("--model"));
    assert!(room.fails(2, &["evaluate", "rows.csv", "--triplets", "pairs.csv"]).contains("--model"));
    assert!(room.fails(2, &["evaluate", "rows.csv", "--model", "p.lip"]).contains("--pairs FILE"));
    let error =
        room.fails(3, &["evaluate", "rows.csv", "--model", "p.lip", "--id", "name", "--quadruplets", "pairs.csv"]);
    assert!(error.contains("four rows"), "{error}");
}

#[test]
fn what_a_fit_of_pairs_claims_is_checked_from_its_model() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    let fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--certificate", "--model", "c.lip"];
    for diameter in ["mean", "max"] {
        let told = room.json(&[&fit[..], &["--diameter", diameter, "--json"]].concat());
        let text = room.ok(&["verify", "c.lip"]);
        assert!(text.contains("similar and") && text.contains("proved: no metric has an objective below"), "{text}");
        let found = room.json(&["verify", "c.lip", "--json"]);
        assert!(found["holds"] == true && found["slack"].is_null(), "{found}");
        assert_eq!(found["claimed"]["objective"], told["objective"]);
        assert!(found["gap"].as_f64().unwrap() <= 1e-4, "{found}");
    }
    // Of another metric than the one that was learned less is true.
    let (header, mut data) = take_apart(&room.read("c.lip"));
    let at = header["L"]["data_offsets"][0].as_u64().unwrap() as usize;
    data[at..at + 8].copy_from_slice(&9.0_f64.to_le_bytes());
    room.write("c.lip", put_together(&header, &data));
    assert!(room.fails(4, &["verify", "c.lip"]).contains("not everything that the model claims holds"));
    // A part of the pairs is damage.
    let mut header = header;
    header.as_object_mut().unwrap().remove("certificate.strengths");
    room.write("c.lip", put_together(&header, &data));
    room.fails(3, &["verify", "c.lip"]);
}

#[test]
fn a_fit_of_pairs_has_a_page_a_checkpoint_and_a_forecast() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    let fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv"];
    let told = room.ok(&[&fit[..], &["--dry-run"]].concat());
    for line in ["nothing was fitted", "pairs", "less than a second"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let plain = room.ok(&[&fit[..], &["--model", "plain.lip"]].concat());
    let paged = room.ok(&[
        &fit[..],
        &["--model", "paged.lip", "--report", "p.html", "--plots", "plots", "--checkpoint", "c.kept"],
    ]
    .concat());
    let outcome = |text: &str| text.lines().find(|l| l.starts_with("objective")).map(str::to_owned);
    assert_eq!(outcome(&plain), outcome(&paged), "a page changes nothing");
    assert!(!room.path("c.kept").exists(), "what has ended needs no checkpoint");
    let page = std::fs::read_to_string(room.path("p.html")).unwrap();
    for part in ["Similar and dissimilar pairs", "Distances of the pairs: learned", "without labels", "AUC", "Spectrum"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("class diameters"), "there are no classes");
    assert!(room.path("plots/pairs-after.svg").exists());
    // Without the pairs, from the model alone.
    room.ok(&["inspect", "paged.lip", "--report", "i.html"]);
    assert!(std::fs::read_to_string(room.path("i.html")).unwrap().contains("Similar and dissimilar pairs"));
    // Comparisons have no threshold, and a page all the same.
    room.write("triplets.csv", "r0,r2,r1\nr4,r6,r3\nr1,r3,r8\n");
    let triplets = ["fit", "rows.csv", "--id", "name", "--no-label", "--triplets", "triplets.csv"];
    room.ok(&[&triplets[..], &["--report", "t.html"]].concat());
    assert!(std::fs::read_to_string(room.path("t.html")).unwrap().contains("there is no threshold"));
    assert!(room.ok(&[&triplets[..], &["--dry-run"]].concat()).contains("comparisons"));
}

#[test]
fn a_fit_of_pairs_that_is_out_of_time_still_gives_a_model_with_a_threshold() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    let fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--time-limit", "0.001", "--model", "p.lip"];
    let out = room.run(&fit);
    assert!([0, 4].contains(&out.status.code().unwrap()), "{}", String::from_utf8_lossy(&out.stderr));
    room.write("asked.csv", "r0,r2\n");
    let told = room.ok(&["predict", "--model", "p.lip", "rows.csv", "--id", "name", "--pairs", "asked.csv"]);
    assert!(told.lines().nth(1).is_some_and(|l| l.ends_with("similar")), "{told}");
}

#[test]
fn the_euclidean_distance_of_pairs_has_a_threshold_to_compare_with_but_learns_nothing_beside_labels() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    let fit = ["fit", "rows.csv", "--id", "name", "--method", "euclidean"];
    let json = room.json(&[&fit[..], &["--pairs", "pairs.csv", "--json"]].concat());
    assert!(json["threshold"].as_f64().unwrap() > 0.0 && json["chosen"] == "held_out", "{json}");
    room.write("triplets.csv", "r0,r2,r1\n");
    assert!(room.ok(&[&fit[..], &["--no-label", "--triplets", "triplets.csv"]].concat()).contains("euclidean"));
    let text = std::fs::read_to_string(room.path("rows.csv")).unwrap();
    let kind = |at: usize| if at == 0 { "kind" } else { ["odd", "even"][at % 2] };
    let labelled: String = text.lines().enumerate().map(|(at, l)| format!("{l},{}\n", kind(at))).collect();
    room.write("labelled.csv", labelled);
    let labelled = ["fit", "labelled.csv", "--ignore", "name", "--label", "kind", "--method", "euclidean"];
    room.write("numbered.csv", "1,2,1\n1,3,-1\n");
    let error = room.fails(2, &[&labelled[..], &["--pairs", "numbered.csv"]].concat());
    assert!(error.contains("learns nothing of pairs"), "{error}");
}

#[test]
fn itml_that_has_not_settled_says_what_to_do() {
    let room = Room::new();
    pairs(&room, "pairs.csv", 0, 120);
    let fit = ["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--method", "itml", "--max-iter", "3"];
    let out = room.run(&fit);
    assert_eq!(out.status.code(), Some(4));
    let told = String::from_utf8(out.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the distance has not settled: after 3 passes over"), "{told}");
    assert!(told.contains("raise `--max-iter`") && told.contains("lip-pairs"), "{told}");
    // With less weight on the bounds it settles soon.
    room.write("spec.json", r#"{"method": "itml", "gamma": 0.001}"#);
    room.ok(&["fit", "rows.csv", "--id", "name", "--pairs", "pairs.csv", "--spec", "spec.json"]);
}
