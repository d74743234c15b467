//! A method as a file: from a model, to a fit, and what is refused.

use crate::common::Room;

/// A file of the first format, as the program wrote it before there was another.
fn old_model(name: &str) -> String {
    format!("{}/../lipmetric-io/tests/fixtures/format1/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_spec_of_a_model_gives_the_model_again_bit_for_bit() {
    for options in [
        &["--method", "auto"][..],
        &["--method", "lip-d", "--c", "0.3", "--tol", "1e-4"],
        &["--method", "lip-i", "--slack", "pair", "--solver", "augmented", "--balanced"],
        &["--method", "lip-i", "--anchor", "within", "--diameter", "mean"],
        &["--method", "lip", "--slack", "auto", "--rank", "auto"],
        &["--method", "lip-local", "--c-rel", "0.3"],
        &["--method", "lmnn", "--targets", "1", "--push", "0.95", "--slack", "instance"],
        &["--method", "lmml", "--alpha", "0.5"],
        &["--method", "nca", "--init", "random:7", "--n-components", "2"],
        &["--method", "mcml", "--max-iter", "500"],
        &["--method", "nn"],
    ] {
        let room = Room::new();
        room.ok(&[&["fit", "--data", "echo", "--model", "first.lip"][..], options].concat());
        let spec = room.ok(&["inspect", "first.lip", "--spec"]);
        let again = ["fit", "--data", "echo", "--spec", "-", "--model", "second.lip"];
        let out = room.command(&again).write_stdin(spec.clone()).output().unwrap();
        assert!(out.status.success(), "{options:?}: {}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(room.fitted("first.lip"), room.fitted("second.lip"), "{options:?}: {spec}");
        room.write("spec.json", &spec);
        room.ok(&["fit", "--data", "echo", "--spec", "spec.json", "--model", "third.lip"]);
        assert_eq!(room.fitted("first.lip"), room.fitted("third.lip"), "{options:?}");
        let stored = room.json(&["inspect", "first.lip", "--json"]);
        assert_eq!(stored["spec"], serde_json::from_str::<serde_json::Value>(&spec).unwrap());
    }
}

#[test]
fn the_command_line_and_the_library_have_one_set_of_defaults() {
    let room = Room::new();
    for (method, spec) in [("lip-i", r#"{"method": "lip"}"#), ("lmnn", r#"{"method": "lmnn"}"#)] {
        room.write("spec.json", spec);
        room.ok(&["fit", "--data", "echo", "--spec", "spec.json", "--model", "a.lip"]);
        room.ok(&["fit", "--data", "echo", "--method", method, "--model", "b.lip"]);
        assert_eq!(room.fitted("a.lip"), room.fitted("b.lip"), "{method}");
    }
}

#[test]
fn a_spec_that_is_mistaken_is_refused_by_name() {
    let room = Room::new();
    for (spec, words) in [
        (r#"{"method": "lmnn", "target": 2}"#, "`target` is no parameter of lmnn; it has targets, push, slack"),
        (r#"{"method": "nn"}"#, "`nn`"),
        (r#"{"targets": 2}"#, "method"),
        (r#"{"method": "lmnn", "targets": "two"}"#, "`targets`"),
        (r#"{"method": "lip", "slack": "both"}"#, "`slack`"),
        (r#"{"method": "lip", "solver": "paper"}"#, "`slack`"),
        (r#"{"method": "euclidean", "c": 1}"#, "which has none"),
        ("lmnn", "spec.json"),
        ("{\n \"method\": \"lmnn\",\n \"targts\": 2\n}", "line 3, column 2: `targts`"),
        ("{\"method\": \"lmnn\", \"targts\": 2}", "Did you mean `targets`?"),
        ("{\"method\": \"lmn\"}", "line 1, column 12: `lmn` is no method"),
        ("{\"method\": \"lip-i\"}", "\"method\": \"lip\", \"variant\": \"intra\""),
        ("{\"method\": \"lip\", \"c\": 1}", "\"trade_off\": {\"c\": 1}"),
        ("{\"method\": \"lmnn\",}", "line 1, column 19: a comma with nothing after it"),
        ("{\"method\": \"lmnn\"", "is not closed"),
        ("{method: \"lmnn\"}", "the name `method` has no quotes"),
        ("", "it is empty"),
    ] {
        room.write("spec.json", spec);
        let error = room.fails(2, &["fit", "--data", "echo", "--spec", "spec.json"]);
        let plain = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains("--spec spec.json") && plain.contains(words), "{spec}: {error}");
        for foreign in ["variant identifier", "unknown variant", "EOF", "expected value", "usize"] {
            assert!(!plain.contains(foreign), "{spec}: {error}");
        }
    }
    room.write("spec.json", r#"{"method": "lmnn"}"#);
    for (option, value) in [("--method", "nn"), ("--push", "0.5"), ("--tol", "0.1"), ("--c", "auto")] {
        let error = room.fails(2, &["fit", "--data", "echo", "--spec", "spec.json", option, value]);
        assert!(error.contains(&format!("{option}: --spec already gives the method")), "{error}");
    }
    room.fails(1, &["fit", "--data", "echo", "--spec", "absent.json"]);
}

#[test]
fn models_of_the_first_format_are_shown_and_used() {
    let room = Room::new();
    std::fs::copy(old_model("rows.csv"), room.path("rows.csv")).unwrap();
    for (name, method) in [
        ("auto", "auto"),
        ("lip-d", "lip"),
        ("lip-i", "lip"),
        ("lip", "lip"),
        ("lmnn", "lmnn"),
        ("nca", "nca"),
        ("lmml", "lmml"),
    ] {
        let path = old_model(&format!("{name}.lip"));
        let text = room.ok(&["inspect", &path]);
        assert!(text.contains("(format 1)") && text.contains(&format!("{name}\n")), "{text}");
        assert_eq!(room.json(&["inspect", &path, "--spec"])["method"], method);
        assert!(room.json(&["evaluate", "rows.csv", "--model", &path, "--json"])["accuracy"].is_number());
    }
    // The same problem, by the same solver.
    let spec = room.ok(&["inspect", &old_model("lip-d.lip"), "--spec"]);
    room.write("spec.json", spec);
    let new = room.json(&["fit", "rows.csv", "--spec", "spec.json", "--json"]);
    let old = room.json(&["inspect", &old_model("lip-d.lip"), "--json"]);
    for figure in ["objective", "dual"] {
        let (new, old) = (new[figure].as_f64().unwrap(), old["outcome"][figure].as_f64().unwrap());
        assert!((new / old - 1.0).abs() < 1e-6, "{figure}: {new} and {old}");
    }
}

#[test]
fn an_option_of_other_methods_is_refused_with_names_that_can_be_typed() {
    let room = Room::new();
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "m.lip"]);
    for method in ["auto", "nn", "lip-local"] {
        let error = room.fails(2, &["fit", "--data", "echo", "--method", method, "--warm-start", "m.lip"]);
        let owners = "--warm-start is an option of lip-d, lip-i, lip, lip-robust, lmnn, lmml, nca, mcml, mlkr and arml";
        assert!(error.contains(owners), "{error}");
        let error = room.fails(2, &["compare", "echo", "--methods", &format!("{method}:warm-start=m.lip")]);
        assert!(error.contains(owners), "{error}");
    }
    room.write("t.csv", "1,2,3\n");
    let error = room.fails(2, &["fit", "--data", "echo", "--method", "nca", "--triplets", "t.csv"]);
    assert!(error.contains("--triplets") && error.contains("lmml"), "{error}");
}

#[test]
fn help_tells_every_default() {
    let room = Room::new();
    let help = room.ok(&["fit", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "lip-d, lip-i, lip, lmml: 1e-6",
        "lip-local: 1e-2",
        "lmnn, mcml, itml: 1e-3",
        "lip-d, lip-i with another solver than exact: 1e-3",
        "nca, mlkr: 1e-5",
        "lip-d, lip-i with another solver than exact: 100000",
        "lip-local, itml: 1000",
        "lip-d, lip-i: 0.1; lip-local, lip-pairs: 0.2",
        "(lmnn) [default: 3]",
        "(lmml) [default: 1]",
        "lip-d, lip-i, lip: max; lip-pairs: mean",
        "(lip-d, lip-i, lip) [default: lip: auto]",
        "lip-d, lip-i, lip: instance; lmnn: pair",
    ] {
        assert!(help.contains(told), "`{told}` is not in {help}");
    }
}

#[test]
fn a_slack_per_row_is_solved_at_every_size_not_exchanged() {
    let room = Room::new();
    let rows: String = (0..1600)
        .map(|i| format!("{},{},{}\n", (i * 7919) % 1009, (i * 31 + i / 7) % 97, if i % 3 == 0 { "a" } else { "b" }))
        .collect();
    room.write("many.csv", format!("u,v,class\n{rows}"));
    for method in [&["--method", "lip-i"][..], &["--method", "lip-d", "--c", "0.03"]] {
        let report = room.ok(&[&["fit", "many.csv", "--tol", "0.1"][..], method].concat());
        let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("slack instance") && words.contains("solver augmented"), "{report}");
    }
    let error = room.fails(2, &["fit", "many.csv", "--method", "lip-i", "--solver", "paper"]);
    assert!(error.contains("`--slack pair`") && error.contains("another solver"), "{error}");
}
