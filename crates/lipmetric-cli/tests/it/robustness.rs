//! Certified radii, counterfactuals and certified accuracy through the program.

use crate::common::Room;

fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

#[test]
fn a_counterfactual_that_is_fed_back_has_the_other_class_and_is_as_far_as_the_exact_radius() {
    let room = Room::new();
    for (data, classifier, norm) in [
        ("haberman", "nearest", "l2"),
        ("diabetes", "nearest", "l2"),
        ("diabetes", "nearest", "linf"),
        ("haberman", "nearest", "l1"),
        ("echo", "extension", "l2"),
        ("echo", "extension", "linf"),
        ("echo", "extension", "l1"),
    ] {
        let fit = ["fit", "--data", data, "--method", "lip-i", "--classifier", classifier, "--model", "m.lip"];
        room.ok(&fit);
        let asked = ["--radius=exact", "--radius-norm", norm, "--counterfactual"];
        let out = room.ok(&[&["predict", "--data", data, "--model", "m.lip"], &asked[..]].concat());
        let (head, rows) = table(&out);
        let at = |name: &str| head.iter().position(|h| h == name).unwrap();
        let (prediction, other, distance) = (at("prediction"), at("counterfactual"), at("counterfactual_distance"));
        let first = distance + 1;
        let last = head.iter().position(|h| h.starts_with("change:")).unwrap();
        let kept = |row: &[String]| row[first..last].join(",");
        let found: Vec<&Vec<String>> = rows.iter().filter(|row| !row[other].is_empty()).collect();
        assert!(found.len() * 10 >= rows.len() * 9, "{data}: {} of {} rows have one", found.len(), rows.len());
        let back: String = found.iter().map(|row| kept(row) + "\n").collect();
        room.write("back.csv", format!("{}\n{back}", kept(&head)));
        let again = room.ok(&["predict", "back.csv", "--model", "m.lip", "--no-header"]);
        for (row, now) in found.iter().zip(again.lines()) {
            assert_eq!(row[other], now);
            assert_ne!(row[prediction], now);
            let (far, exact): (f64, f64) =
                (row[distance].parse().unwrap(), row[at("radius_prepared")].parse().unwrap());
            assert!(far >= exact * (1.0 - 1e-6) && far <= exact * (1.0 + 1e-4) + 1e-9, "{data} {norm}: {far} {exact}");
        }
    }
}

#[test]
fn every_classifier_has_a_certified_accuracy_and_columns_can_be_ranked_by_it() {
    let room = Room::new();
    for extra in [&["--k", "3"][..], &["--classifier", "extension"], &["--k", "4", "--radius-norm", "linf"]] {
        let mut args =
            vec!["evaluate", "--data", "echo", "--method", "nn", "--repeats", "2", "--radius", "0,0.1,0.4", "--json"];
        args.extend(extra);
        let told = room.json(&args);
        let certified: Vec<f64> =
            told["certified"].as_array().unwrap().iter().map(|c| c["accuracy"].as_f64().unwrap()).collect();
        assert!((certified[0] - told["accuracy_mean"].as_f64().unwrap()).abs() < 1e-12, "{told}");
        assert!(certified[0] >= certified[1] && certified[1] > certified[2], "{certified:?}");
    }
    let args = ["compare", "echo", "fertility", "--methods", "nn,nn:k=5,lmnn", "--repeats", "2", "--radius", "0,0.3"];
    let with = |extra: &[&str]| -> Vec<String> { args.iter().chain(extra).map(|a| (*a).to_owned()).collect() };
    let run = |extra: &[&str]| room.ok(&with(extra).iter().map(String::as_str).collect::<Vec<_>>());
    let text = run(&["--rank-by", "0.3"]);
    assert!(text.contains("certified accuracy at radius 0.3 (l2 on the prepared features)"), "{text}");
    // A column per radius, a row per method, a block per data set and one of the mean.
    let head = |line: &str| line.split_whitespace().eq(["0", "0.3"]);
    let at = text.lines().position(head).unwrap_or_else(|| panic!("{text}"));
    let titles: Vec<&str> = text.lines().skip(at + 1).take(12).step_by(4).collect();
    assert_eq!(titles, ["echo", "fertility", "mean of the 2 data sets"], "{text}");
    assert!(text.lines().nth(at + 2).unwrap().starts_with("  NN "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for form in ["--markdown", "--latex"] {
        let text = run(&["--rank-by", "0.3", form]);
        assert!(
            text.contains("Certified accuracy at radius 0.3 (l2 on the prepared features) in per cent, mean"),
            "{text}"
        );
        assert!(
            text.contains(if form == "--latex" { "fertility & LMNN & " } else { "| fertility | LMNN | " }),
            "{text}"
        );
    }
    let told: serde_json::Value = serde_json::from_str(&run(&["--rank-by", "0.3", "--json"])).unwrap();
    let split = &told["data"][0]["methods"][0]["splits"][0];
    assert_eq!(split["accuracy"], split["certified"][1]);
    let plain: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let split = &plain["data"][0]["methods"][0]["splits"][0];
    assert_eq!(split["accuracy"], split["certified"][0]);
    assert!(run(&["--csv"]).lines().next().unwrap().ends_with("refused,confusion,certified_0,certified_0.3"));
    let mut wrong = args.to_vec();
    wrong.extend(["--rank-by", "0.2"]);
    assert!(room.fails(2, &wrong).contains("none of the radii"));
}

#[test]
fn what_cannot_be_certified_is_refused_with_the_reason() {
    let room = Room::new();
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--k", "3", "--weights", "distance", "--model", "w.lip"]);
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--k", "3", "--model", "v.lip"]);
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "n.lip"]);
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--classifier", "smooth", "--model", "s.lip"]);
    for (args, said) in [
        (&["predict", "--data", "echo", "--model", "w.lip", "--radius"][..], "`--weights uniform` or `--k 1`"),
        (&["predict", "--data", "echo", "--model", "v.lip", "--radius=exact"], "3 neighbours"),
        (&["predict", "--data", "echo", "--model", "v.lip", "--radius=exact"], "leave `exact` out"),
        (&["predict", "--data", "echo", "--model", "v.lip", "--counterfactual"], "`--k 1`"),
        (&["predict", "--data", "echo", "--model", "s.lip", "--counterfactual"], "`--classifier extension`"),
        (&["evaluate", "--data", "echo", "--model", "n.lip", "--radius", "0,inf"], "--radius: inf is not a length"),
        (&["compare", "echo", "--methods", "nn", "--radius=-1"], "--radius: -1 is not a length"),
        (
            &[
                "evaluate",
                "--data",
                "echo",
                "--model",
                "n.lip",
                "--radius",
                "1",
                "--radius-norm",
                "l1",
                "--radius-space",
                "learned",
            ],
            "--radius-norm",
        ),
    ] {
        let error = room.fails(2, args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn a_radius_without_an_end_is_inf_in_csv_and_null_in_json() {
    let room = Room::new();
    // Three neighbours of one class always outvote the only row of the other.
    room.write("t.csv", "x,kind\n1,a\n2,a\n3,a\n2.5,b\n");
    room.ok(&["fit", "t.csv", "--method", "nn", "--k", "3", "--model", "m.lip"]);
    let out = room.ok(&["predict", "t.csv", "--model", "m.lip", "--radius"]);
    assert!(out.lines().skip(1).all(|line| line == "a,inf,inf,inf"), "{out}");
    room.ok(&["predict", "t.csv", "--model", "m.lip", "--radius", "-o", "out.jsonl"]);
    let text = std::fs::read_to_string(room.path("out.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["prediction"], "a");
    assert!(first["radius"].is_null() && first["radius_input"].is_null(), "{text}");
}

#[test]
fn the_counterfactuals_of_the_documentation_are_those_that_the_program_tells() {
    let page = include_str!("../../../../docs/robustness.md");
    let cells = |start: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no row {start}"));
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let room = Room::new();
    room.ok(&["fit", "--data", "diabetes", "--method", "nn", "--k", "1", "--model", "d.lip"]);
    for (norm, row) in [("l2", "| change, "), ("linf", "| change in `linf`, "), ("l1", "| change in `l1`, ")] {
        let out =
            room.ok(&["predict", "--data", "diabetes", "--model", "d.lip", "--counterfactual", "--radius-norm", norm]);
        let (head, rows) = table(&out);
        let told = |name: &str| &rows[0][head.iter().position(|h| h == name).unwrap()];
        let printed = cells(row);
        assert_eq!((told("prediction"), told("counterfactual")), (&"pos".to_owned(), &printed[1]));
        let close = |told: &str, printed: &str| {
            // As many decimals as are printed, the sign of a change among them.
            let decimals = printed.split_once('.').map_or(0, |(_, after)| after.len());
            let told: f64 = told.parse().unwrap();
            assert!(
                (told - printed.parse::<f64>().unwrap()).abs() <= 0.5001 * 10_f64.powi(-(decimals as i32)),
                "{norm}: {told} {printed}"
            );
        };
        let far = printed[0].rsplit_once(", ").unwrap().1.strip_suffix(" away").unwrap();
        close(told("counterfactual_distance"), far);
        for (column, printed) in cells("| | prediction").iter().zip(&printed).skip(2) {
            close(told(&format!("change:{column}")), printed);
        }
    }
}
