//! The tuned method through the program.

use crate::common::Room;

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
fn slack_diameter_and_rank_can_be_chosen_with_c() {
    let room = Room::new();
    let auto = ["--slack", "auto", "--diameter", "auto", "--rank", "auto"];
    let args =
        [&["fit", "--data", "echo", "--method", "lip-i", "--c", "auto", "--model", "m.lip", "--json"], &auto[..]];
    let fit = room.json(&args.concat());
    let choice = &fit["choice"];
    assert_eq!(choice["metric"], "lip-i");
    assert!(choice["slack"].is_string() && !choice["diameter"].is_null());
    // Two slacks, three diameters, four trade-offs, ranks 1, 2, 3, 4, 6 and all of seven features.
    assert_eq!(choice["tried"].as_array().unwrap().len(), 2 * 3 * 4 * 6);
    for name in ["slack", "diameter", "rank", "c_rel"] {
        assert_eq!(fit["parameters"][name], "auto");
    }
    assert_eq!(&room.json(&["inspect", "m.lip", "--json"])["outcome"]["choice"], choice, "the model remembers");
    let text = room.ok(&["inspect", "m.lip"]);
    assert!(text.contains("a slack per ") && text.contains("diameter: the "), "{text}");
    assert!(room.ok(&["evaluate", "--data", "echo", "--model", "m.lip"]).contains("accuracy"));
}

#[test]
fn the_variant_can_be_chosen() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "echo", "--method", "lip", "--json"]);
    assert_eq!((&fit["method"], &fit["parameters"]["variant"]), (&"lip".into(), &"auto".into()));
    assert!(["lip-d", "lip-i"].contains(&fit["choice"]["metric"].as_str().unwrap()));
    assert_eq!(fit["choice"]["tried"].as_array().unwrap().len(), 2 * 4, "and its c");
    let fixed = room.json(&["fit", "--data", "echo", "--method", "lip", "--c-rel", "0.3", "--json"]);
    assert_eq!((&fixed["choice"]["c_rel"], &fixed["parameters"]["c_rel"]), (&0.3.into(), &0.3.into()));
    let table = room.json(&[
        "compare",
        "echo",
        "--methods",
        "lip:k=3,lip-i:c=auto:slack=auto,lip-d:rank=auto,nn",
        "--repeats",
        "2",
        "--json",
    ]);
    assert!(table.to_string().contains("Lip^I:c=auto:slack=auto"), "{table}");
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let room = Room::new();
    let refused = |args: &[&str]| room.fails(2, &[&["fit", "--data", "echo"][..], args].concat());
    for auto in [["--slack", "auto"], ["--diameter", "auto"]] {
        let error = refused(&[&["--method", "lip-i", "--c", "1"][..], &auto].concat());
        assert!(error.contains("--c-rel"), "{error}");
        let error = refused(&[&["--method", "lip-i", "--solver", "admm"][..], &auto].concat());
        assert!(error.contains("--solver exact"), "{error}");
        assert!(refused(&auto).contains("--method lip-i"), "the default has no such option");
    }
    assert!(refused(&["--method", "lip", "--c", "1"]).contains("--c auto"));
    assert!(refused(&["--method", "lip-i", "--rank", "2"]).contains("--rank auto"));
    assert!(refused(&["--method", "lip-i", "--rank", "few"]).contains("auto"));
    assert!(refused(&["--method", "lip-i", "--diameter", "median"]).contains("auto"));
    assert!(refused(&["--method", "lmnn", "--slack", "auto"]).contains("--slack: of lmnn, "));
    assert!(refused(&["--method", "lip-local", "--rank", "auto"]).contains("lip-local"));
    let path = room.fails(2, &["path", "--data", "echo", "--slack", "auto"]);
    assert!(path.contains("one slack"), "{path}");
    assert!(room.fails(2, &["path", "--data", "echo", "--method", "lip"]).contains("lip-d or lip-i"));
}

#[test]
fn verbose_says_what_there_is_to_choose_from() {
    let room = Room::new();
    let args = ["fit", "--data", "haberman", "--method", "lip-i", "--diameter", "auto", "--slack", "pair", "-v"];
    let told = String::from_utf8(room.command(&args).output().unwrap().stderr).unwrap();
    assert!(
        told.contains(
            "forms of the problem: 2, values of c for each: 1; not tried at this size: the mean of the longest"
        ),
        "{told}"
    );
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
