//! Numbers through the program: fit, predict, evaluate, compare, and what is refused.

use crate::common::Room;
use std::fmt::Write as _;

/// A table whose last column is a wave of the first of three features.
fn rows(room: &Room, name: &str, count: usize, seed: usize) -> Vec<f64> {
    let mut text = "a,b,c,y\n".to_owned();
    let value = |k: usize| ((k * 7919 + seed * 104_729) % 10_007) as f64 / 10_007.0 * 2.0 - 1.0;
    let mut numbers = Vec::new();
    for i in 0..count {
        let (a, b, c) = (value(3 * i + 1), value(5 * i + 2), value(11 * i + 3));
        let y = 20.0 + 4.0 * (3.0 * a).sin() + 0.2 * value(13 * i + 5);
        numbers.push(y);
        let _ = writeln!(text, "{a},{b},{c},{y}");
    }
    room.write(name, &text);
    numbers
}

#[test]
fn a_number_is_fitted_predicted_and_judged() {
    let room = Room::new();
    rows(&room, "train.csv", 160, 1);
    let truth = rows(&room, "test.csv", 60, 2);
    let fit = room.json(&["fit", "train.csv", "--task", "regression", "--model", "m.lip", "--json"]);
    assert_eq!((fit["task"].as_str(), fit["classes"].as_u64()), (Some("regression"), Some(0)));
    assert!(fit["target"]["mean"].as_f64().unwrap() > 15.0 && fit["lipschitz"].is_null(), "{fit}");
    let expected = fit["choice"]["estimate"].as_f64().unwrap();
    assert!(expected > 0.9 && fit["choice"]["absolute_error"].as_f64().unwrap() < 1.0, "{fit}");
    let text = room.ok(&["fit", "train.csv", "--task", "regression"]);
    for line in ["a number to predict", "always the mean", "expect about", "mean absolute error"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.lines().any(|line| line.starts_with("score ") && line.ends_with(" R2")), "{text}");
    let said =
        room.ok(&["predict", "--model", "m.lip", "test.csv", "--within", "0.1", "--distance", "--neighbours", "1"]);
    let mut lines = said.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("prediction,distance,lowest,highest,neighbour1_row,neighbour1_label"), "{header}");
    let mut off = 0.0;
    for (line, truth) in lines.zip(&truth) {
        let cells: Vec<f64> = line.split(',').take(4).map(|c| c.parse().unwrap()).collect();
        assert!(cells[2] <= cells[0] && cells[0] <= cells[3], "{line}");
        off += (cells[0] - truth).abs() / 60.0;
    }
    let told = room.json(&["evaluate", "test.csv", "--model", "m.lip", "--json"]);
    assert!((told["mae"].as_f64().unwrap() - off).abs() < 1e-9, "{told}");
    assert!((told["r2"].as_f64().unwrap() - expected).abs() < 0.08, "{told} {expected}");
    assert!(told["mean_rmse"].as_f64().unwrap() > told["rmse"].as_f64().unwrap());
    let inspected = room.ok(&["inspect", "m.lip"]);
    assert!(inspected.contains("number") && inspected.contains("expect about"), "{inspected}");
    assert!(room.ok(&["neighbours", "m.lip", "test.csv", "--k", "1"]).lines().count() == 61);
    // A map shows ranges of numbers, of rows without any those of the predicted ones.
    room.ok(&["plot", "m.lip", "test.csv", "-o", "map.svg"]);
    let bare: String = std::fs::read_to_string(room.path("test.csv"))
        .unwrap()
        .lines()
        .map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0))
        .collect();
    room.write("bare.csv", &bare);
    let out = room.run(&["plot", "m.lip", "bare.csv", "-o", "bare.svg"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("drawn by their predicted number"), "{out:?}");
    for name in ["map.svg", "bare.svg"] {
        let drawn = String::from_utf8(room.read(name)).unwrap();
        assert!(drawn.contains("below 1") && drawn.contains("from 2") && drawn.matches(" to ").count() >= 2, "{drawn}");
    }
    assert!(room.ok(&["transform", "--model", "m.lip", "test.csv", "--with-label"]).lines().count() == 61);
}

#[test]
fn methods_and_functions_for_numbers_are_compared() {
    let room = Room::new();
    rows(&room, "rows.csv", 150, 3);
    let evaluate = |args: &[&str]| {
        let all = [&["evaluate", "rows.csv", "--task", "regression", "--folds", "3", "--json"][..], args].concat();
        room.json(&all)["r2"].as_f64().unwrap()
    };
    let plain = evaluate(&["--method", "nn"]);
    for function in ["nearest", "extension", "smooth"] {
        let learned = evaluate(&["--method", "agop", "--classifier", function]);
        assert!(learned > plain && learned > 0.8, "{function}: {plain} {learned}");
    }
    let text = room.ok(&["evaluate", "rows.csv", "--task", "regression", "--method", "nn", "--folds", "3"]);
    assert!(text.contains("R2") && text.contains("always the mean of the training rows"), "{text}");
    let table =
        room.ok(&["compare", "rows.csv", "--task", "regression", "--methods", "nn,mlkr,agop", "--repeats", "2"]);
    assert!(table.contains("explained variance (R2)") && table.contains("MLKR"), "{table}");
    // Of numbers no scaling is chosen, and there are no classes.
    let table = room.ok(&["compare", "rows.csv", "--task", "regression", "--methods", "nn,auto", "--repeats", "2"]);
    assert!(table.contains("scaling: standard,") && table.contains("score R2"), "{table}");
    assert!(!table.contains("class") && !table.contains("accuracy"), "{table}");
    let json = room.json(&["compare", "rows.csv", "--task", "regression", "--repeats", "2", "--json"]);
    assert_eq!(json["methods"].as_array().unwrap().len(), 4);
    assert!(json["data"][0]["methods"][0]["splits"][0]["mae"].is_number(), "{json}");
}

#[test]
fn what_is_about_classes_is_refused_for_numbers_and_the_other_way_round() {
    let room = Room::new();
    rows(&room, "rows.csv", 60, 4);
    let missed = room.fails(3, &["fit", "rows.csv"]);
    assert!(missed.contains("hardly a class") && missed.contains("`--task regression`"), "{missed}");
    // Of more rows there may be classes that are called by hundreds of numbers: they are noted.
    let whole: String = (0..300).map(|k| format!("{},{}\n", k % 17, k % 120)).collect();
    room.write("whole.csv", format!("a,price\n{whole}"));
    let out = room.run(&["fit", "whole.csv", "--method", "nn"]);
    let said = String::from_utf8_lossy(&out.stderr).replace('\n', " ");
    assert!(said.contains("120 different numbers") && said.contains("--task regression"), "{said}");
    let fit = |args: &[&str]| room.fails(2, &[&["fit", "rows.csv", "--task", "regression"][..], args].concat());
    assert!(fit(&["--method", "lmnn"]).contains("learns from classes"));
    assert!(fit(&["--score", "auc"]).contains("score of classes"));
    assert!(fit(&["--report", "r.html"]).contains("classes"));
    room.ok(&["fit", "rows.csv", "--task", "regression", "--method", "nn", "--model", "m.lip"]);
    for option in ["--proba", "--margin", "--value", "--radius", "--counterfactual"] {
        assert!(room.fails(2, &["predict", "--model", "m.lip", "rows.csv", option]).contains("predicts numbers"));
    }
    assert!(room.fails(2, &["margins", "rows.csv", "--model", "m.lip"]).contains("predicts numbers"));
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "c.lip"]);
    assert!(
        room.fails(2, &["predict", "--model", "c.lip", "--data", "echo", "--within", "1"]).contains("predicts classes")
    );
    room.write("words.csv", "x,y\n1,2.5\n2,red\n3,4\n");
    let wrong = room.fails(3, &["fit", "words.csv", "--task", "regression"]);
    assert!(wrong.contains("line 3") && wrong.contains("`red` is not a number"), "{wrong}");
}
