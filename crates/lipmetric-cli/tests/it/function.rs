//! Prediction by the function that the paper selects, through the program.

use crate::common::Room;

#[test]
fn a_model_predicts_by_the_function_and_tells_its_values() {
    let room = Room::new();
    let fit = room.json(&[
        "fit",
        "--data",
        "haberman",
        "--method",
        "lip-i",
        "--c-rel",
        "0.5",
        "--classifier",
        "extension",
        "--model",
        "f.lip",
        "--json",
    ]);
    assert_eq!(fit["k"], serde_json::Value::Null);
    assert!(fit["classifier"]["extension"]["calibration"]["slope"].as_f64().unwrap() >= 0.0);
    let out = room.ok(&["predict", "--model", "f.lip", "--data", "haberman", "--value", "--proba"]);
    let mut lines = out.lines();
    let head = lines.next().unwrap();
    let names: Vec<&str> = head.split(',').collect();
    assert_eq!(names.len(), 4, "{head}");
    assert_eq!((names[0], names[3]), ("prediction", "value"));
    let second = names[2].strip_prefix("proba:").unwrap();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |k: usize| cells[k].parse::<f64>().unwrap();
        assert!((number(1) + number(2) - 1.0).abs() < 1e-9, "{line}");
        if number(3) != 0.0 {
            assert_eq!(cells[0] == second, number(3) > 0.0, "{line}");
        }
    }
    // U_1 is above U_2 only where the values allow it; at the ends the values differ.
    let value =
        |alpha: &str| room.ok(&["predict", "--model", "f.lip", "--data", "haberman", "--value", "--alpha", alpha]);
    assert_ne!(value("0"), value("1"));
    assert_eq!(value("0.5"), room.ok(&["predict", "--model", "f.lip", "--data", "haberman", "--value"]));
    let told = room.json(&["evaluate", "--data", "haberman", "--model", "f.lip", "--json"]);
    assert!(told["accuracy"].as_f64().unwrap() > 0.7);
}

#[test]
fn rows_whose_labels_may_be_wrong_are_told_by_their_lines() {
    let room = Room::new();
    let mut text = "x,y,kind\n".to_owned();
    for i in 0..40 {
        // Line 12 has the other label.
        let kind = if (i < 20) == (i != 10) { "a" } else { "b" };
        text += &format!("{},{},{kind}\n", f64::from(i / 20) * 10.0 + 0.1 * f64::from(i % 7), 0.3 * f64::from(i % 5));
    }
    room.write("rows.csv", &text);
    let fit = room.json(&["fit", "rows.csv", "--method", "lip-i", "--c-rel", "0.3", "--model", "m.lip", "--json"]);
    assert_eq!(fit["suspects"]["relabelled"][0]["place"], "line 12");
    assert_eq!(fit["suspects"]["relabelled"].as_array().unwrap().len(), 1);
    let shown = room.ok(&["inspect", "m.lip"]);
    assert!(shown.contains("rows that the learned function relabels") && shown.contains("line 12"), "{shown}");
    let stored = room.json(&["inspect", "m.lip", "--json"]);
    assert_eq!(stored["suspects"], fit["suspects"], "also of a model that predicts by votes");
    let votes = room.ok(&["predict", "--model", "m.lip", "rows.csv"]);
    room.ok(&[
        "fit",
        "rows.csv",
        "--method",
        "lip-i",
        "--c-rel",
        "0.3",
        "--classifier",
        "extension",
        "--model",
        "f.lip",
    ]);
    let function = room.ok(&["predict", "--model", "f.lip", "rows.csv"]);
    assert_eq!((votes.lines().nth(11), function.lines().nth(11)), (Some("b"), Some("a")));
}

#[test]
fn any_distance_can_have_a_function_and_margins_tell_of_it() {
    let room = Room::new();
    for method in ["euclidean", "lmnn", "auto"] {
        let args = ["fit", "--data", "echo", "--method", method, "--classifier", "extension", "--model", "f.lip"];
        let text = room.ok(&args);
        assert!(text.contains("Lipschitz extension") && text.contains("linear program"), "{text}");
        let report = room.json(&["margins", "--data", "echo", "--model", "f.lip", "--json"]);
        let function = &report["function"];
        let number = |key: &str| function[key].as_f64().unwrap();
        assert!(number("ratio_diameter") >= report["margins"]["ratio_diameter"].as_f64().unwrap() * (1.0 - 1e-9));
        assert!(number("errors") <= number("below_margin"));
        let text = room.ok(&["margins", "--data", "echo", "--model", "f.lip"]);
        assert!(text.contains("rows on the wrong side"), "{text}");
    }
}

#[test]
fn columns_of_a_comparison_can_predict_by_the_function() {
    let room = Room::new();
    let methods = "nn,nn:classifier=extension,lip-i:c-rel=0.3:classifier=extension,lip-i-f,auto";
    let table = room.json(&["compare", "echo", "--methods", methods, "--repeats", "2", "--json"]);
    let told: Vec<(&str, &serde_json::Value)> =
        table["methods"].as_array().unwrap().iter().map(|m| (m["classifier"].as_str().unwrap(), &m["k"])).collect();
    assert_eq!(
        told.iter().map(|t| t.0).collect::<Vec<_>>(),
        ["nearest", "extension", "extension", "extension", "auto"]
    );
    assert_eq!(
        (told[0].1, told[1].1, told[4].1),
        (&1.into(), &serde_json::Value::Null, &serde_json::Value::Null),
        "auto chooses what predicts"
    );
    assert_eq!(table["methods"][3]["spec"]["trade_off"], "auto");
    let text = room.ok(&["compare", "echo", "--methods", methods, "--repeats", "2"]);
    assert!(text.contains("Lip^I(f)") && text.contains("Lipschitz extension of the learned values"), "{text}");
    let all = room.json(&[
        "compare",
        "echo",
        "--methods",
        "nn,lip-i:c-rel=0.3",
        "--classifier",
        "extension",
        "--repeats",
        "1",
        "--json",
    ]);
    assert!(all["methods"].as_array().unwrap().iter().all(|m| m["classifier"] == "extension"));
}

#[test]
fn what_does_not_go_together_is_refused_with_the_remedy() {
    let room = Room::new();
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "v.lip"]);
    room.ok(&["fit", "--data", "echo", "--method", "lip-i", "--classifier", "extension", "--model", "f.lip"]);
    for (args, said) in [
        (&["fit", "--data", "echo", "--classifier", "extension", "--k", "3"][..], "--classifier nearest"),
        (&["fit", "--data", "echo", "--classifier", "extension", "--weights", "distance"], "--weights"),
        (&["predict", "--data", "echo", "--model", "v.lip", "--value"], "--classifier extension"),
        (&["predict", "--data", "echo", "--model", "v.lip", "--alpha", "0.5"], "--alpha"),
        (&["predict", "--data", "echo", "--model", "f.lip", "--alpha", "2"], "0 to 1"),
        (&["predict", "--data", "echo", "--model", "f.lip", "--radius", "--alpha", "0.2"], "`--alpha 0.5` only"),
        (&["compare", "echo", "--methods", "lip-i:classifier=extension:k=3"], "lip-i:classifier=extension:k=3"),
    ] {
        let error = room.fails(2, args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}
