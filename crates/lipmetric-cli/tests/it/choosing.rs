//! The tuned method through the program.

use crate::common::Room;

#[test]
fn the_default_chooses_says_what_and_predicts() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "voting", "--model", "m.lip", "--json"]);
    assert_eq!(&fit["method"], &serde_json::Value::from("auto"));
    let choice = &fit["choice"];
    assert_eq!(choice["k"], fit["k"]);
    // The Euclidean distance and seven others in five mixtures with votes, in three with smooth functions.
    assert_eq!(choice["tried"].as_array().unwrap().len(), 1 + 7 * 5 + 1 + 7 * 3);
    let number = |key: &str| choice[key].as_f64().unwrap();
    assert!(number("estimate") > 0.9 && number("neighbours") > 0.85, "{choice}");
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
    assert!(k(&["--classifier", "nearest"]) >= 1);
    let table = room.json(&["compare", "echo", "--methods", "auto,nn", "--repeats", "2", "--json"]);
    assert!(table.to_string().contains("auto"));
}

#[test]
fn the_function_the_family_and_the_score_can_be_restricted() {
    let room = Room::new();
    let fit = |args: &[&str]| room.json(&[&["fit", "--data", "echo", "--json"][..], args].concat());
    let smooth = fit(&["--classifier", "smooth", "--metrics", "within"]);
    assert!(smooth["classifier"]["smooth"].is_object() && smooth["choice"]["neighbours"].is_null(), "{smooth}");
    let tried = smooth["choice"]["tried"].as_array().unwrap();
    assert!(tried.iter().all(|t| t["metric"] == "euclidean" || t["metric"] == "within"), "{tried:?}");
    assert!(tried.iter().all(|t| t["width"].is_number() && t["k"].is_null()), "{tried:?}");
    let nearest = fit(&["--classifier", "nearest", "--score", "balanced"]);
    assert_eq!(nearest["parameters"]["score"], "balanced");
    assert!(nearest["classifier"]["vote"].is_object());
    let fixed = fit(&["--classifier", "smooth", "--ridge", "0.5"]);
    assert_eq!(fixed["classifier"]["smooth"]["ridge"], 0.5);
    for score in ["log-loss", "auc"] {
        assert!(fit(&["--score", score])["choice"]["estimate"].as_f64().unwrap() > 0.5);
    }
    let refused = |args: &[&str]| room.fails(2, &[&["fit", "--data", "echo"][..], args].concat());
    assert!(refused(&["--score", "f1"]).contains("accuracy, balanced, log-loss or auc"));
    assert!(refused(&["--metrics", "lip-d"]).contains("within, discriminant, near-discriminant, lip-local, agop"));
    assert!(refused(&["--method", "nn", "--score", "auc"]).contains("--score is an option of auto"));
    assert!(refused(&["--method", "lip-i", "--classifier", "auto"]).contains("--method auto"));
    assert!(refused(&["--classifier", "auto", "--k", "3"]).contains("--classifier nearest"));
}

#[test]
fn a_fit_tells_the_classes_and_what_the_choice_is_worth_beside_simpler_ones() {
    let room = Room::new();
    let shown = room.ok(&["fit", "--data", "haberman"]);
    assert!(shown.contains("classes: 1: 225 (73.5 %), 2: 81 (26.5 %)"), "{shown}");
    let lines =
        ["chosen distance", "chosen function", "always the largest class      73.5 %", "Euclidean nearest neighbours"];
    for line in lines.into_iter().chain(["expect about"]) {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let figures = shown.lines().filter(|line| !line.starts_with("note: "));
    figures.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
}

#[test]
fn slow_methods_are_tried_where_rows_are_few_or_where_they_are_asked_for() {
    let room = Room::new();
    let tried = |args: &[&str]| -> Vec<String> {
        let fit = room.json(&[&["fit", "--json", "--classifier", "nearest"][..], args].concat());
        let tried = fit["choice"]["tried"].as_array().unwrap().clone();
        tried.iter().map(|t| t["metric"].as_str().unwrap().to_owned()).collect()
    };
    let few = tried(&["--data", "echo"]);
    let many = tried(&["--data", "voting"]);
    for name in ["nca", "lmnn"] {
        assert_eq!(few.iter().filter(|m| *m == name).count(), 5, "{few:?}");
        assert!(!many.contains(&name.to_owned()), "{many:?}");
    }
    let asked = tried(&["--data", "voting", "--metrics", "lmnn"]);
    assert!(asked.iter().all(|m| m == "euclidean" || m == "lmnn") && asked.len() == 6, "{asked:?}");
}

#[test]
fn of_many_rows_what_is_expected_is_what_is_delivered() {
    // Each class has its cells on a grid: few rows tell little of them, and all rows tell all.
    let room = Room::new();
    let mut text = "a,b,kind\n".to_owned();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let mut row = || {
        let (a, b) = (next(), next());
        format!("{a:.5},{b:.5},{}\n", ((12.0 * a) as u32 + (12.0 * b) as u32) % 2)
    };
    text.extend((0..3000).map(|_| row()));
    room.write("many.csv", &text);
    room.write("new.csv", "a,b,kind\n".to_owned() + &(0..2000).map(|_| row()).collect::<String>());
    let fit = room.json(&["fit", "many.csv", "--metrics", "within", "--model", "m.lip", "--json"]);
    let told = room.json(&["evaluate", "new.csv", "--model", "m.lip", "--json"]);
    let (expected, found) = (fit["choice"]["estimate"].as_f64().unwrap(), told["accuracy"].as_f64().unwrap());
    assert!(found > 0.85 && (expected - found).abs() < 0.03, "expected {expected}, found {found}");
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
    assert!(text.contains("a slack per ") && text.contains("  diameter   "), "{text}");
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
    assert!(told.lines().filter(|l| l.contains("have predicted")).count() >= 5, "{told}");
    // Those of the last fit at most, not of some hundred.
    assert!(told.lines().filter(|l| l.starts_with("iteration")).count() <= 310, "{told}");
}

#[test]
fn ranks_can_become_quantiles_and_the_model_keeps_them() {
    let room = Room::new();
    // The same rows in two units, one of them bent: ranks are the same.
    let rows = |bent: bool| -> String {
        let number = |k: usize| 0.1 * ((37 * k) % 101) as f64;
        let cell = |v: f64| if bent { v.exp() } else { v };
        let row = |i: usize| {
            let (a, b) = (number(i), number(2 * i + 5));
            format!("{},{},{}\n", cell(a), cell(b), if a > 5.0 { "x" } else { "y" })
        };
        std::iter::once("a,b,class\n".to_owned()).chain((0..80).map(row)).collect()
    };
    room.write("plain.csv", rows(false));
    room.write("bent.csv", rows(true));
    let told = |data: &str, model: &str| {
        let shown = room.ok(&["fit", data, "--method", "nn", "--k", "3", "--scale", "quantile", "--model", model]);
        assert!(shown.contains("the normal quantile of its rank"), "{shown}");
        room.ok(&["predict", data, "--model", model])
    };
    assert_eq!(told("plain.csv", "p.lip"), told("bent.csv", "b.lip"));
    // A quantile is no linear function of the value: in the input's units there are bounds, but no exact radii.
    room.ok(&["fit", "plain.csv", "--method", "nn", "--k", "1", "--scale", "quantile", "--model", "n.lip"]);
    let header = |radius: &str| {
        let told = room.ok(&["predict", "plain.csv", "--model", "n.lip", radius]);
        told.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("--radius"), "prediction,radius,radius_prepared,radius_input");
    assert_eq!(header("--radius=exact"), "prediction,radius,radius_prepared");
}

#[test]
fn the_score_that_was_chosen_by_is_told_within_eighty_columns() {
    let room = Room::new();
    for (score, named) in
        [("balanced", "balanced accuracy of it"), ("log-loss", "log-loss of the chosen"), ("auc", "AUC of")]
    {
        let fit = ["fit", "--data", "fertility", "--metrics", "within", "--classifier", "smooth", "--score", score];
        let shown = room.ok(&fit);
        assert!(shown.contains(named), "{shown}");
        let facts = shown.lines().filter(|line| !line.starts_with("note:"));
        facts.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
    }
}

#[test]
fn the_default_chooses_the_scaling_and_naming_one_ends_that() {
    let room = Room::new();
    let mut rows = "a,b,c,kind\n".to_owned();
    for i in 0..160_u32 {
        let z = [0.7, 1.9, 3.1].map(|f: f64| (f * f64::from(i) + f).sin());
        let [a, b, c] = z.map(|v| (8.0 * v).exp());
        rows += &format!("{a},{b},{c},{}\n", if z[0] + z[1] > 0.1 { "high" } else { "low" });
    }
    std::fs::write(room.path("heavy.csv"), rows).unwrap();
    let shown = room.ok(&["fit", "heavy.csv", "--model", "m.lip"]);
    assert!(shown.contains("chosen scaling") && shown.contains("quantile: ") && shown.contains("minmax: "), "{shown}");
    assert!(shown.contains("the normal quantile of its rank"), "{shown}");
    let stored = room.json(&["inspect", "m.lip", "--json"]);
    assert_eq!(stored["outcome"]["choice"]["scaling"]["scaling"], "quantile", "{stored}");
    room.ok(&["predict", "heavy.csv", "--model", "m.lip", "-o", "out.csv"]);
    room.ok(&["transform", "heavy.csv", "--model", "m.lip", "-o", "mapped.csv"]);
    let named = room.ok(&["fit", "heavy.csv", "--scale", "standard"]);
    assert!(!named.contains("chosen scaling") && !named.contains("quantile"), "{named}");
    let told = room.ok(&["compare", "heavy.csv", "--methods", "nn,auto", "--repeats", "2"]);
    assert!(told.contains("scaling: standard (auto may take minmax or quantile)"), "{told}");
    let told = room.ok(&["compare", "heavy.csv", "--methods", "nn", "--repeats", "2"]);
    assert!(told.contains("scaling: standard,"), "{told}");
    assert!(
        room.fails(2, &["fit", "heavy.csv", "--scale", "rank"])
            .contains("auto, none, standard, minmax, quantile, unit")
    );
}

/// Rows of 240 numbers in three classes, each of another length: two directions tell the classes apart, the others are noise.
fn wide(rows: usize, shift: usize) -> String {
    let noise = |k: usize| {
        let mut bits = (k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((bits ^ (bits >> 29)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let row = |i: usize| {
        let (class, length) = (i % 3, 0.5 + (i % 7) as f64);
        let cell = |j: usize| {
            let told = if j < 3 { 1.3 * f64::from(u8::from(j == class)) } else { 0.0 };
            format!("{:.4}", length * (told + noise(240 * (i + shift) + j)))
        };
        (0..240).map(cell).chain([["u", "v", "w"][class].to_owned()]).collect::<Vec<_>>().join(",") + "\n"
    };
    let header: Vec<String> = (0..240).map(|j| format!("e{j}")).chain(["class".to_owned()]).collect();
    header.join(",") + "\n" + &(0..rows).map(row).collect::<String>()
}

#[test]
fn of_embeddings_the_directions_that_tell_classes_apart_are_learned_and_shown_beside_the_raw_ones() {
    let room = Room::new();
    room.write("train.csv", wide(480, 0));
    room.write("new.csv", wide(120, 1000));
    let fit = ["fit", "train.csv", "--scale", "unit", "--classifier", "nearest", "--metrics", "discriminant"];
    let shown = room.ok(&[&fit[..], &["--model", "m.lip"]].concat());
    for told in
        ["x / length of the row", "directions between the classes (LDA)", "Euclidean nearest neighbours", "  chosen"]
    {
        assert!(shown.contains(told), "{shown}");
    }
    room.ok(&["fit", "train.csv", "--scale", "unit", "--method", "nn", "--k", "auto", "--model", "raw.lip"]);
    let accuracy = |model: &str| -> f64 {
        room.json(&["evaluate", "new.csv", "--model", model, "--json"])["accuracy"].as_f64().unwrap()
    };
    assert!(accuracy("m.lip") > accuracy("raw.lip"), "{} and {}", accuracy("m.lip"), accuracy("raw.lip"));
    // A row is the same whatever its length, and has no radius in the input's units.
    let header =
        |model: &str| room.ok(&["predict", "new.csv", "--model", model, "--radius"]).lines().next().unwrap().to_owned();
    room.ok(&["fit", "train.csv", "--scale", "unit", "--method", "nn", "--k", "1", "--model", "one.lip"]);
    assert_eq!(header("one.lip"), "prediction,radius,radius_prepared");
    room.ok(&["export", "m.lip", "new.csv", "--to", "npy", "-o", "z.npy"]);
    let map: serde_json::Value = serde_json::from_slice(&room.read("z.map.json")).unwrap();
    assert_eq!((map["version"].as_u64(), map["unit"].as_bool()), (Some(3), Some(true)));
}
