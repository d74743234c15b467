//! The tuned method through the program.

#![allow(clippy::unwrap_used)]

mod common;

use common::Room;

#[test]
fn the_default_chooses_says_what_and_predicts() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "voting", "--model", "m.lip", "--json"]);
    assert_eq!((&fit["method"], &fit["status"]), (&"auto".into(), &"optimal".into()));
    let choice = &fit["choice"];
    assert_eq!(choice["k"], fit["k"]);
    assert_eq!(choice["tried"].as_array().unwrap().len(), 26);
    let number = |key: &str| choice[key].as_f64().unwrap();
    assert!(number("accuracy") >= number("reference") && number("estimate") > 0.85);
    let stored = room.json(&["inspect", "m.lip", "--json"]);
    assert_eq!(&stored["outcome"]["choice"], choice, "the model remembers");
    let text = room.ok(&["inspect", "m.lip"]);
    assert!(text.contains("chosen") && text.contains("expect about"), "{text}");
    let told = room.json(&["evaluate", "--data", "voting", "--model", "m.lip", "--json"]);
    assert!(told["accuracy"].as_f64().unwrap() > 0.9);
}

#[test]
fn the_number_of_neighbours_is_as_asked() {
    let room = Room::new();
    let k =
        |args: &[&str]| room.json(&[&["fit", "--data", "echo", "--json"][..], args].concat())["k"].as_u64().unwrap();
    assert_eq!(k(&["--k", "1"]), 1);
    assert_eq!(k(&["--k", "7"]), 7);
    assert_eq!(k(&["--method", "nn"]), 1);
    assert!(k(&[]) >= 1);
    let table = room.json(&["compare", "echo", "--methods", "auto,nn", "--repeats", "2", "--json"]);
    assert!(table.to_string().contains("auto"));
}

#[test]
fn c_can_be_chosen() {
    let room = Room::new();
    for method in ["lip-d", "lip-i"] {
        let fit = room.json(&["fit", "--data", "echo", "--method", method, "--c", "auto", "--json"]);
        assert_eq!((&fit["method"], &fit["choice"]["metric"]), (&method.into(), &method.into()));
        let ratio = fit["c"].as_f64().unwrap() / fit["c_max"].as_f64().unwrap();
        assert!((ratio - fit["choice"]["c_rel"].as_f64().unwrap()).abs() < 1e-6);
    }
    assert!(room.fails(2, &["fit", "--data", "echo", "--method", "lip-d", "--c", "maybe"]).contains("auto"));
    let error = room.fails(2, &["fit", "--data", "echo", "--method", "lip-d", "--c", "auto", "--solver", "paper"]);
    assert!(error.contains("--solver"), "{error}");
}

#[test]
fn near_pairs_are_a_method_of_their_own() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "haberman", "--method", "lip-local", "--c-rel", "0.3", "--json"]);
    assert_eq!((&fit["method"], &fit["parameters"]["c_rel"]), (&"lip-local".into(), &0.3.into()));
    assert!(fit["gap"].as_f64().unwrap() <= 1e-2);
    assert!(room.fails(2, &["fit", "--data", "haberman", "--method", "lip-local", "--c-rel", "2"]).contains("--c-rel"));
    assert!(
        room.fails(2, &["fit", "--data", "haberman", "--method", "lip-local", "--slack", "pair"]).contains("--c-rel")
    );
    assert!(room.fails(2, &["fit", "--data", "haberman", "--c", "1"]).contains("--method lip-i"), "auto has no c");
}

#[test]
fn verbose_says_what_is_judged_without_every_step_of_it() {
    let room = Room::new();
    let out = room.command(&["fit", "--data", "fertility", "-v"]).output().unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(told.lines().filter(|l| l.contains("held-out rows")).count() >= 5, "{told}");
    // Those of the last fit at most, not of some hundred.
    assert!(told.lines().filter(|l| l.starts_with("iteration")).count() <= 310, "{told}");
}
