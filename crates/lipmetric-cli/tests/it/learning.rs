//! Learned metrics through the program: certificates, limits, Ctrl-C, margins and radii.

use crate::common::Room;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn a_fit_reports_its_certificate() {
    let room = Room::new();
    for method in ["lip-d", "lip-i"] {
        let fit =
            room.json(&["fit", "--data", "diabetes", "--method", method, "--slack", "pair", "--c", "1", "--json"]);
        assert_eq!(fit["status"], "optimal");
        let number = |key: &str| fit[key].as_f64().unwrap();
        assert!(number("gap") <= 1e-6 && number("gap") >= 0.0);
        assert!(number("dual") <= number("objective"));
        assert!(fit["lipschitz"]["ratio_diameter"].as_f64().unwrap() > 0.0);
        assert_eq!(fit["parameters"]["slack"], "pair");
        assert_eq!(fit["c"], 1.0);
    }
}

#[test]
fn a_trade_off_at_which_nothing_is_learned_is_refused_with_the_number() {
    let room = Room::new();
    let error = room.fails(2, &["fit", "--data", "haberman", "--method", "lip-d", "--c", "1e9"]);
    assert!(error.contains("--c") && error.contains("c_max"), "{error}");
    for bad in ["0", "-1", "NaN", "inf"] {
        room.fails(2, &["fit", "--data", "haberman", "--method", "lip-d", "--c", bad]);
        room.fails(2, &["fit", "--data", "haberman", "--method", "lip-d", "--c-rel", bad]);
        room.fails(2, &["fit", "--data", "haberman", "--method", "lip-d", "--tol", bad]);
        room.fails(2, &["fit", "--data", "haberman", "--method", "lip-d", "--time-limit", bad]);
    }
    assert!(room.fails(2, &["fit", "--data", "haberman", "--method", "nn", "--c", "1"]).contains("lip-d"));
    // In a comparison such a cell is marked, and the rest goes on.
    let table = room.ok(&["compare", "haberman", "--methods", "lip-d,nn", "--slack", "pair", "--c", "1e9"]);
    assert!(table.contains("- haberman, Lip^D (10 of 10 splits)") && table.contains("c_max"), "{table}");
}

#[test]
fn a_point_of_a_path_that_stalls_from_the_one_before_is_begun_anew() {
    let report = Room::new().json(&["path", "--data", "echo", "--points", "6", "--folds", "0", "--json"]);
    for point in report["points"].as_array().unwrap() {
        assert_eq!(point["status"], "optimal", "{point}");
    }
}

#[test]
fn a_path_shows_certified_fits_and_what_they_rest_on() {
    let room = Room::new();
    let path = ["path", "--data", "echo", "--method", "lip-d", "--points", "4", "--least", "0.01"];
    let report = room.json(&[&path[..], &["--json"]].concat());
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        assert_eq!(point["status"], "optimal");
        assert!(point["gap"].as_f64().unwrap() <= 1e-6);
        let c = point["c_rel"].as_f64().unwrap() * report["c_max"].as_f64().unwrap();
        assert!((point["c"].as_f64().unwrap() / c - 1.0).abs() < 1e-12);
        let support = point["support"].as_array().unwrap();
        assert!(support.iter().any(|s| s["role"] == "diameter"));
        for pair in support.iter().filter(|s| s["role"] == "margin") {
            assert_ne!(pair["labels"][0], pair["labels"][1]);
        }
    }
    // Less weight on the diameter: a smaller objective.
    let objectives: Vec<f64> = points.iter().map(|p| p["objective"].as_f64().unwrap()).collect();
    assert!(objectives.windows(2).all(|o| o[1] < o[0]), "{objectives:?}");
    let text = room.ok(&[&path[..], &["--support", "2"]].concat());
    assert!(text.contains("support pairs at") && text.contains("\nline "), "{text}");
    for (wrong, named) in [
        (&["--method", "nn"][..], "--method"),
        (&["--c", "1"], "--c"),
        (&["--solver", "admm"], "--solver"),
        (&["--points", "0"], "--points"),
        (&["--least", "0"], "--least"),
        (&["--least", "0.5", "--most", "0.1"], "--least"),
    ] {
        let error = room.fails(2, &[&["path", "--data", "echo"][..], wrong].concat());
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn other_diameters_anchors_and_solvers_are_certified() {
    let room = Room::new();
    let fit = |extra: &[&str]| {
        let fixed = ["fit", "--data", "echo", "--method", "lip-d", "--json"];
        room.json(&[&fixed[..], extra].concat())
    };
    for extra in [
        &["--diameter", "mean"][..],
        &["--diameter", "cvar:0.2"],
        &["--anchor", "euclid"],
        &["--anchor", "within", "--anchor-weight", "2"],
        &["--balanced", "--slack", "pair"],
        &["--solver", "exact"],
        &["--solver", "augmented", "--balanced", "--slack", "pair", "--c", "1", "--tol", "1e-6"],
    ] {
        let fit = fit(extra);
        assert_eq!(fit["status"], "optimal", "{extra:?}");
        assert!(fit["gap"].as_f64().unwrap() <= 1e-6, "{extra:?}");
    }
    assert_eq!(fit(&["--diameter", "cvar:0.2"])["parameters"]["diameter"]["cvar"], 0.2);
    for extra in [&["--solver", "augmented"][..], &["--solver", "admm", "--tol", "1e-2"]] {
        let fit = fit(&[extra, &["--slack", "pair", "--c", "1"]].concat());
        assert_eq!(fit["status"], "optimal", "{extra:?}");
        assert!(fit["gap"].as_f64().unwrap() <= 1e-2, "{extra:?}");
    }
    // The paper's own algorithm goes down slowly, and says so.
    let args =
        ["fit", "--data", "echo", "--method", "lip-d", "--solver", "paper", "--slack", "pair", "--max-iter", "50"];
    room.fails(4, &args);
    for (extra, word) in [
        (&["--diameter", "median"][..], "cvar:LEVEL"),
        (&["--diameter", "cvar:2"], "between 0 and 1"),
        (&["--anchor", "euclid", "--anchor-weight", "0"], "--anchor-weight"),
        (&["--anchor-weight", "1"], "--anchor"),
        (&["--mu", "1"], "--solver paper"),
        (&["--rank", "1"], "--solver"),
        (&["--solver", "admm", "--anchor", "euclid"], "--solver exact"),
        (&["--solver", "paper", "--slack", "instance"], "--slack pair"),
        (&["--solver", "paper"], "--slack pair"),
    ] {
        let fixed = ["fit", "--data", "echo", "--method", "lip-d"];
        let error = room.fails(2, &[&fixed[..], extra].concat());
        assert!(error.contains(word), "{extra:?}: {error}");
    }
    let error = room.fails(2, &["fit", "--data", "echo", "--method", "nca", "--diameter", "mean"]);
    assert!(error.contains("--diameter"), "{error}");
}

#[test]
fn a_fit_starts_from_another_models_distance() {
    let room = Room::new();
    room.ok(&["fit", "--data", "echo", "--method", "lip-d", "--model", "first.lip"]);
    let warm =
        ["fit", "--data", "echo", "--method", "lip-d", "--warm-start", "first.lip", "--json", "--model", "second.lip"];
    let warm = room.json(&warm);
    assert_eq!(warm["status"], "optimal");
    let error = room.fails(3, &["fit", "--data", "haberman", "--method", "lip-d", "--warm-start", "first.lip"]);
    assert!(error.contains("features"), "{error}");
    for solver in ["augmented", "admm"] {
        let fixed =
            ["fit", "--data", "echo", "--method", "lip-d", "--slack", "pair", "--c", "1", "--tol", "1e-2", "--json"];
        let warm = room.json(&[&fixed[..], &["--warm-start", "first.lip", "--solver", solver]].concat());
        assert_eq!(warm["status"], "optimal", "{solver}");
    }
}

#[test]
fn the_automatic_choice_of_the_solver_is_shown_to_those_who_ask() {
    let room = Room::new();
    let shown = |extra: &[&str]| {
        let out = room.run(&[&["fit", "--data", "haberman", "--method", "lip-d"], extra].concat());
        String::from_utf8(out.stderr).unwrap()
    };
    let text = shown(&["-v"]);
    assert!(text.contains("solver auto: exact for 306 rows, 3 features, 2 classes"), "{text}");
    assert!(text.contains("up to 1500 rows with a slack per row"), "{text}");
    assert!(shown(&["-v", "--anchor", "euclid"]).contains("no other solver supports this form"));
    for quiet in [&[][..], &["-v", "--solver", "exact"]] {
        assert!(!shown(quiet).contains("solver auto"));
    }
}

#[test]
fn a_fit_is_told_of_in_a_readable_number_of_lines() {
    let room = Room::new();
    let told = |detail: &str, options: &[&str]| {
        let fit = ["fit", "--data", "haberman", "--method", "lip-i", detail];
        let out = room.run(&[&fit[..], options].concat());
        let text = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.success(), "{text}");
        text.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    // Without the number of the step, its pairs and the seconds.
    let figures = |line: &String| {
        let parts = line.split(", ").filter(|part| !part.ends_with(" pairs") && !part.ends_with(" s"));
        parts.filter(|part| !part.starts_with("iteration")).collect::<Vec<_>>().join(", ")
    };
    for options in [
        &[][..],
        &["--slack", "pair"],
        &["--solver", "augmented"],
        &["--slack", "pair", "--solver", "augmented"],
        &["--diameter", "cvar:0.1"],
    ] {
        let (news, steps) = (told("-v", options), told("-vv", options));
        for lines in [&news, &steps] {
            let c_max = lines.iter().rposition(|line| line.starts_with("c_max first: ")).expect("c_max is told");
            let fit = lines.iter().position(|line| line.starts_with("iteration")).expect("the fit is told");
            assert!(c_max < fit, "{options:?}: {lines:#?}");
            assert!(lines[c_max].contains(" to ") || lines[c_max].contains("at least"), "{options:?}: {lines:#?}");
            assert!(lines.last().unwrap().contains("gap"), "the last figures are told: {lines:#?}");
            for two in lines.windows(2) {
                assert_ne!(figures(&two[0]), figures(&two[1]), "{options:?}: {lines:#?}");
            }
        }
        assert!(news.len() < 20 && news.len() < steps.len(), "{options:?}: {news:#?} {}", steps.len());
    }
}

/// Rows that take a while to learn from.
fn slow_rows(room: &Room) {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let mut text = String::new();
    for i in 0..6000 {
        for _ in 0..12 {
            text += &format!("{},", random());
        }
        text += if i % 2 == 0 { "a\n" } else { "b\n" };
    }
    room.write("slow.csv", text);
}

#[test]
fn a_time_limit_ends_with_code_4_and_the_best_so_far() {
    let room = Room::new();
    slow_rows(&room);
    let args = [
        "fit",
        "slow.csv",
        "--method",
        "lip-d",
        "--slack",
        "pair",
        "--c",
        "1",
        "--time-limit",
        "0.001",
        "--model",
        "m.lip",
        "--json",
    ];
    let out = room.run(&args);
    assert_eq!(out.status.code(), Some(4), "{}", String::from_utf8_lossy(&out.stderr));
    let fit: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(fit["status"], "time_limit");
    assert_eq!(room.json(&["inspect", "m.lip", "--json"])["outcome"]["status"], "time_limit");
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_the_best_so_far() {
    let room = Room::new();
    slow_rows(&room);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("lipmetric"))
        .args([
            "fit", "slow.csv", "--method", "lip-d", "--slack", "pair", "--c", "1", "--tol", "1e-12", "--model",
            "m.lip", "-v",
        ])
        .current_dir(room.path("."))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|l| l.starts_with("iteration")), "the fit never began");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let last = lines.last();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{last:?}");
    assert_eq!(last.as_deref(), Some("lipmetric: interrupted; the best result so far was written"));
    assert_eq!(room.json(&["inspect", "m.lip", "--json"])["outcome"]["status"], "interrupted");
    assert_eq!(room.names(), ["m.lip", "slow.csv"]);
}

#[test]
fn margins_are_the_same_wherever_they_are_told() {
    let room = Room::new();
    let fit = room.json(&["fit", "--data", "diabetes", "--method", "lip-d", "--c", "1", "--model", "m.lip", "--json"]);
    let told = room.json(&["margins", "--data", "diabetes", "--model", "m.lip", "--json"]);
    let inspected = room.json(&["inspect", "m.lip", "--lipschitz", "--json"]);
    assert_eq!(told["margins"], fit["lipschitz"]);
    assert_eq!(told["margins"], inspected["lipschitz"]["margins"]);
    room.write("one.csv", "a,y\n1,u\n2,u\n");
    assert!(room.fails(3, &["margins", "one.csv"]).contains("class"));
}

#[test]
fn a_radius_is_half_the_margin_or_more_and_certified_accuracy_falls_with_it() {
    let room = Room::new();
    room.ok(&["fit", "--data", "cancer", "--method", "lip-i", "--c", "1", "--model", "m.lip"]);
    let out = room.ok(&["predict", "--data", "cancer", "--model", "m.lip", "--margin", "--radius", "--no-header"]);
    for line in out.lines() {
        let cells: Vec<f64> = line.split(',').skip(1).map(|c| c.parse().unwrap()).collect();
        assert!(cells.len() == 4 && cells[1] >= cells[0] / 2.0 * (1.0 - 1e-9), "{line}");
        assert!(cells[2] >= 0.0 && cells[3] >= cells[2] * 0.1, "{line}");
    }
    let judged = room.json(&["evaluate", "--data", "cancer", "--model", "m.lip", "--radius", "0,0.1,0.5,2", "--json"]);
    let certified: Vec<f64> =
        judged["certified"].as_array().unwrap().iter().map(|c| c["accuracy"].as_f64().unwrap()).collect();
    assert_eq!(certified[0], judged["accuracy"].as_f64().unwrap());
    assert!(certified.windows(2).all(|w| w[1] <= w[0]), "{certified:?}");
    assert!(room.fails(2, &["evaluate", "--data", "cancer", "--model", "m.lip", "--radius=-1"]).contains("--radius"));
}
