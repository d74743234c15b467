//! Comparisons, whole: the table, the files for programs, the tests, and what is refused.

use crate::common::Room;
use serde_json::Value;

/// JSON without what differs from run to run.
fn without_times(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| !key.contains("seconds"));
                map.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

fn lines_without_times(table: &str) -> Vec<&str> {
    table.lines().filter(|l| !l.starts_with("fit seconds")).collect()
}

#[test]
fn the_columns_are_the_papers_and_the_default_and_every_split_is_kept() {
    let room = Room::new();
    let report = room.json(&["compare", "echo", "--repeats", "3", "--json", "--paper"]);
    let names: Vec<&str> = report["methods"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["Lip^D", "Lip^D(P)", "Lip^I", "Lip^I(P)", "NN", "LMNN", "MCML", "NCA", "Lip^D(f)", "Lip^I(f)", "auto"]
    );
    assert_eq!(report["methods"][0]["parameters"]["slack"], "instance");
    assert_eq!(report["methods"][1]["parameters"]["solver"], "paper");
    let echo = &report["data"][0];
    assert_eq!((&echo["rows"], &echo["features"]), (&74.into(), &7.into()));
    assert_eq!((&echo["train_rows"], &echo["test_rows"]), (&44.into(), &30.into()));
    for cell in echo["methods"].as_array().unwrap() {
        let splits = cell["splits"].as_array().unwrap();
        assert_eq!(splits.len(), 3);
        let mut sum = 0.0;
        for split in splits {
            let counts = split["confusion"].as_array().unwrap();
            let right = counts[0][0].as_u64().unwrap() + counts[1][1].as_u64().unwrap();
            assert_eq!(split["accuracy"].as_f64().unwrap(), right as f64 / 30.0);
            assert!(split["status"].is_string() && split["fit_seconds"].is_number() && split["refused"].is_null());
            sum += split["accuracy"].as_f64().unwrap();
        }
        assert!((cell["accuracy_mean"].as_f64().unwrap() - sum / 3.0).abs() < 1e-12);
    }
    // The paper's numbers, in standard errors of the difference.
    let paper = &report["paper"];
    assert_eq!((&paper["compared"], paper["assumptions"].as_array().unwrap().len() > 4), (&8.into(), true));
    let nn = &paper["cells"][4];
    assert_eq!((&nn["method"], &nn["printed"]), (&"NN".into(), &0.6536.into()));
    let difference = nn["ours"].as_f64().unwrap() - 0.6536;
    assert!((nn["difference"].as_f64().unwrap() - difference).abs() < 1e-12);
    assert_eq!(nn["within_sd"], difference.abs() <= 0.0243);
}

#[test]
fn the_same_seed_gives_the_same_table_for_any_number_of_threads() {
    let room = Room::new();
    let run = |threads: &str, extra: &[&str]| {
        let fixed = ["compare", "echo", "fertility", "--repeats", "3", "--threads", threads];
        room.ok(&[&fixed[..], extra].concat())
    };
    let json = |threads| without_times(serde_json::from_str(&run(threads, &["--json"])).unwrap());
    assert_eq!(json("1"), json("3"));
    let (one, two) = (run("1", &["--stats"]), run("2", &["--stats"]));
    assert_eq!(lines_without_times(&one), lines_without_times(&two));
    let other = without_times(serde_json::from_str(&run("2", &["--json", "--seed", "1"])).unwrap());
    assert_ne!(json("1")["data"], other["data"]);
}

#[test]
fn a_cell_that_is_refused_is_marked_and_explained_and_the_rest_goes_on() {
    let room = Room::new();
    let args = ["compare", "haberman", "echo", "--methods", "nn,lip-d,lip-i:c-rel=0.1", "--repeats", "2"];
    let table = room.ok(&args);
    let haberman = table.lines().find(|l| l.starts_with("haberman")).unwrap();
    assert!(haberman.split_whitespace().any(|cell| cell == "-"), "{table}");
    assert!(table.contains("- haberman, Lip^D (") && table.contains("c_max"), "{table}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(haberman left out"), "{table}");
    let report = room.json(&[&args[..], &["--json"]].concat());
    let cell = &report["data"][0]["methods"][1];
    assert!(cell["accuracy_mean"].is_null());
    // c = 1 is above c_max on some splits and below it on others.
    let refused = cell["splits"].as_array().unwrap().iter().position(|s| s["accuracy"].is_null()).unwrap();
    assert!(cell["splits"][refused]["refused"].as_str().unwrap().contains("c_max"));
    let statistics = &report["statistics"];
    assert_eq!(statistics["left_out"], serde_json::json!(["haberman"]));
    assert!(statistics["methods"][0]["data"][0].is_null() && statistics["methods"][1]["data"][0].is_object());
    let csv = room.ok(&[&args[..], &["--csv"]].concat());
    assert_eq!(csv.lines().count(), 1 + 2 * 3 * 2);
    let line = format!("\"haberman\",\"Lip^D\",{},,,,,\"--c: ", refused + 1);
    assert!(csv.lines().any(|l| l.starts_with(&line)), "{csv}");
    assert!(csv.lines().any(|l| l.starts_with("\"echo\",\"NN\",2,0.") && l.contains(",closed_form,")), "{csv}");
}

#[test]
fn no_difference_is_called_that_the_test_does_not_support() {
    let room = Room::new();
    // The label is one of the columns, and one column is noise on a large scale.
    let rows: String =
        (0..60).map(|i| format!("{},{},{}\n", i % 2, (i * 7919) % 97, if i % 2 == 0 { "a" } else { "b" })).collect();
    room.write("t.csv", format!("tell,noise,class\n{rows}"));
    let args = ["compare", "t.csv", "echo", "--scale", "none", "--methods", "nn,lip-d:c-rel=0.1", "--json"];
    let report = room.json(&args);
    let tests = report["statistics"]["methods"][0]["data"].as_array().unwrap();
    assert_eq!(tests[0]["verdict"], "better", "{}", tests[0]);
    for test in tests {
        let supported = test["p_holm"].as_f64().is_some_and(|p| p <= 0.05);
        assert_eq!(supported, test["verdict"] != "no_difference_shown", "{test}");
        assert!(test["p_holm"].as_f64() >= test["p"].as_f64());
    }
    // Two data sets cannot show anything together, whatever is seen on them.
    assert_eq!(report["statistics"]["methods"][0]["verdict"], "no_difference_shown");
    let table = room.ok(&args[..args.len() - 1]);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("2 data sets are too few"), "{table}");
    // On a single data set there is one test to tell.
    let one = room.ok(&["compare", "t.csv", "--scale", "none", "--methods", "nn,lip-d:c-rel=0.1"]);
    let verdict = one.lines().find(|l| l.starts_with("Lip^D:c-rel=0.1 ") && l.ends_with("better"));
    assert!(verdict.is_some() && !one.contains("Wilcoxon"), "{one}");
    // A method beside itself.
    let same = room.json(&["compare", "echo", "--methods", "nn,nn:k=1", "--json", "--repeats", "2"]);
    assert_eq!(same["statistics"]["methods"][0]["data"][0]["p"], 1.0);
    assert_eq!(same["data"][0]["methods"][0]["best"], same["data"][0]["methods"][1]["best"]);
}

#[test]
fn columns_have_settings_of_their_own_and_any_can_be_the_one_to_beat() {
    let room = Room::new();
    let methods = "nn,nn:k=5,lip-i:c-rel=0.1:diameter=cvar:0.2,lmnn:targets=1,lip-d-p:max-iter=3:mu=0.5";
    let args = ["compare", "echo", "--methods", methods, "--repeats", "2", "--against", "NN:k=5", "--json"];
    let report = room.json(&args);
    let method = |i: usize| &report["methods"][i];
    assert_eq!((&method(0)["k"], &method(1)["k"]), (&1.into(), &5.into()));
    assert_eq!(method(2)["name"], "Lip^I:c-rel=0.1:diameter=cvar:0.2");
    assert_eq!(method(2)["parameters"]["c_rel"], 0.1);
    assert_eq!((&method(4)["parameters"]["max_iter"], &method(4)["parameters"]["mu"]), (&3.into(), &0.5.into()));
    assert_eq!(report["data"][0]["methods"][4]["splits"][0]["iterations"], 3);
    assert_eq!(report["statistics"]["against"], "NN:k=5");
    assert_eq!(report["statistics"]["methods"][0]["method"], "NN");
    let table = room.ok(&["compare", "echo", "--methods", "nn,nn:k=5", "--repeats", "2"]);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 nearest neighbour unless a line below says otherwise"), "{table}");
    // A penalty for all goes to the columns that have one.
    let mu = room.json(&["compare", "echo", "--methods", "lip-d,lip-d-p", "--mu", "2", "--repeats", "1", "--json"]);
    assert_eq!(mu["methods"][1]["parameters"]["mu"], 2.0);
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let room = Room::new();
    for (methods, word) in [
        ("nearest", "lip-d-p"),
        ("nn,nn", "twice"),
        ("nn:c=1", "--c is an option of lip-d, lip-i and lip"),
        ("lip-i:c", "lip-i:c=0.1"),
        ("lip-i:colour=red", "--colour"),
        ("lip-i:mu=1", "--solver paper"),
        ("lip-d-p:slack=instance", "lip-d-p"),
        ("lip-d-p:anchor=euclid", "lip-d-p"),
        ("lmnn-p", "lmnn-p"),
        ("", "method"),
    ] {
        let error = room.fails(2, &["compare", "echo", "--methods", methods]);
        assert!(error.contains("--methods") && error.contains(word), "{methods}: {error}");
    }
    for option in [["--push", "0.5"], ["--warm-start", "m.lip"]] {
        let error = room.fails(2, &[&["compare", "echo", "--methods", "nn,auto"][..], &option].concat());
        assert!(error.contains(&format!("{} is an option of", option[0])), "{error}");
    }
    assert!(room.fails(2, &["compare", "echo", "--methods", "nn", "--against", "nca"]).contains("--against"));
    assert!(room.fails(2, &["compare", "nowhere"]).contains("`nowhere` is no file, and there is no data set"));
    assert!(room.fails(2, &["compare", "echo", "--repeats", "0"]).contains("repeats"));
    assert!(room.fails(2, &["compare", "echo", "--time-limit", "0"]).contains("--time-limit"));
    assert!(room.fails(1, &["compare", "echo", "--time-limit", "1e-9"]).contains("--time-limit"));
    room.fails(2, &["compare", "echo", "--csv", "--json"]);
}

#[test]
fn tables_fit_the_terminal() {
    let room = Room::new();
    let run = |width: usize, extra: &[&str]| {
        let mut command = room.command(&[&["compare", "echo", "fertility", "--repeats", "2"][..], extra].concat());
        String::from_utf8(command.env("COLUMNS", width.to_string()).output().unwrap().stdout).unwrap()
    };
    let tables = |text: &str| text.lines().filter(|l| l.starts_with("fit seconds")).count();
    for width in [80, 100, 120] {
        let text = run(width, &["--stats", "--paper"]);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        // What does not fit beside goes below.
        assert_eq!(tables(&text), if width < 110 { 2 } else { 1 }, "{text}");
    }
    let narrow = run(50, &[]);
    assert!(tables(&narrow) > 1, "{narrow}");
    assert!(narrow.lines().take_while(|l| !l.starts_with("accuracy")).all(|l| l.chars().count() <= 50), "{narrow}");
    // Few columns have mean and deviation in one line.
    assert!(run(80, &["--methods", "nn,lmnn"]).contains(" ± "));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_the_splits_that_are_whole() {
    use std::process::{Command, Stdio};
    let room = Room::new();
    let program = assert_cmd::cargo::cargo_bin!("lipmetric").to_owned();
    let interrupted_after = |seconds: u64| {
        let child = Command::new(&program)
            .args(["compare", "fertility", "--methods", "nn,nca", "--repeats", "20000", "--json"])
            .env("LIPMETRIC_DATA_DIR", room.path("data-folder"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(130));
        // Empty on a machine that is too slow for a single split in that time.
        serde_json::from_slice::<Value>(&out.stdout).ok()
    };
    let report = [1, 4, 16, 64].into_iter().find_map(interrupted_after).expect("a split in a minute");
    let done = report["repeats"].as_u64().unwrap();
    assert!((1..20_000).contains(&done) && report["repeats_asked"] == 20_000);
    // They are what fewer repeats would have given.
    let few = room.json(&["compare", "fertility", "--methods", "nn,nca", "--repeats", "1", "--json"]);
    let first = |r: &Value| without_times(r["data"][0]["methods"][1]["splits"][0].clone());
    assert_eq!(first(&report), first(&few));
}

#[test]
fn a_single_split_has_no_deviation() {
    let room = Room::new();
    for form in [&[][..], &["--markdown"], &["--latex"]] {
        let one = room.ok(&[&["compare", "echo", "--methods", "nn,discriminant", "--repeats", "1"][..], form].concat());
        assert!(!one.contains('±') && !one.contains("\\pm") && !one.contains("deviation over"), "{one}");
        let two = room.ok(&[&["compare", "echo", "--methods", "nn,discriminant", "--repeats", "2"][..], form].concat());
        assert!(two.contains("standard deviation over") && two.contains("2 stratified"), "{two}");
    }
    let one = room.ok(&["evaluate", "--data", "echo", "--method", "nn", "--repeats", "1"]);
    assert!(!one.contains('±') && one.contains("of 30 rows"), "{one}");
}
