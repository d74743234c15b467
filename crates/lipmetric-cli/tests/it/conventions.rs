//! How the program behaves as a program: streams, exit codes, JSON, determinism, help that works as printed.

use crate::common::Room;
use std::io::Read;
use std::process::{Command, Stdio};

/// The commands under `Examples:` in a help text, as words.
fn examples(help: &str) -> Vec<String> {
    let (_, rest) = help.split_once("Examples:\n").expect("a section with examples");
    rest.lines()
        .take_while(|l| l.starts_with("  "))
        .map(|l| {
            let line = l.trim();
            // What stands after two blanks explains the example.
            line.split_once("   ").map_or(line, |(command, _)| command).to_owned()
        })
        .collect()
}

#[test]
fn every_example_in_the_help_works_as_printed() {
    let program = assert_cmd::cargo::cargo_bin!("lipmetric").to_owned();
    let folder = program.parent().unwrap().to_owned();
    let path = std::env::join_paths(
        std::iter::once(folder).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .unwrap();
    let overview = Room::new().ok(&["--help"]);
    let (_, rest) = overview.split_once("Commands:\n").expect("a list of commands");
    // What is further in goes on with what a command is for.
    let names = |line: &&str| !line.starts_with("   ");
    let listed = rest.lines().take_while(|l| !l.is_empty()).filter(names).filter_map(|l| l.split_whitespace().next());
    let commands: Vec<&str> = listed.filter(|c| *c != "help").chain([""]).collect();
    assert!(commands.len() > 15 && commands.contains(&"plot"), "{commands:?}");
    for command in commands {
        let room = Room::new();
        let mut args: Vec<&str> = vec![command, "--help"];
        args.retain(|a| !a.is_empty());
        let found = examples(&room.ok(&args));
        assert!(found.len() >= 2, "{command}: {found:?}");
        for line in found {
            assert!(line.len() < 78, "`{line}` would be wrapped on a narrow terminal");
            if line.contains("datasets fetch") {
                continue; // needs a file that may not travel with the program
            }
            // All data sets are what `make smoke` runs.
            let run = if line == "lipmetric compare" { format!("{line} echo --repeats 2") } else { line.clone() };
            let out = Command::new("sh")
                .args(["-c", &run])
                .current_dir(room.path("."))
                .env("PATH", &path)
                .env("LIPMETRIC_DATA_DIR", room.path("data-folder"))
                .output()
                .unwrap();
            assert!(out.status.success(), "`{line}`: {}", String::from_utf8_lossy(&out.stderr));
        }
    }
}

#[test]
fn the_help_of_path_has_what_it_takes_and_options_of_every_command_come_last() {
    let room = Room::new();
    let help = room.ok(&["path", "--help"]);
    for word in ["lmnn", "nca", "lip-pairs", "--solver", "--rank", "--c ", "auto`", "\n          - auto:"] {
        assert!(!help.contains(word), "`{word}` is no option of path: {help}");
    }
    for option in ["--slack", "--diameter", "--anchor", "--balanced", "--tol", "--max-iter"] {
        assert!(help.contains(option), "{option}: {help}");
    }
    for given in
        [["--solver", "admm"], ["--rank", "auto"], ["--slack", "auto"], ["--score", "auc"], ["--metrics", "agop"]]
    {
        let error = room.fails(2, &[&["path", "--data", "echo"], &given[..]].concat());
        assert!(error.contains(given[0]), "{error}");
    }
    for command in ["inspect", "man", "compare", "predict"] {
        let help = room.ok(&[command, "-h"]);
        let options = help.split_once("Options:\n").unwrap().1.split("\n\n").next().unwrap();
        let at = |name: &str| options.find(name).unwrap_or_else(|| panic!("{command} has no {name}: {options}"));
        let own = options.lines().take_while(|l| !l.contains("--quiet")).count();
        let all = options.lines().filter(|l| l.trim_start().starts_with('-')).count();
        assert!(at("--quiet") < at("--verbose") && at("--verbose") < at("--threads"), "{command}: {options}");
        // Behind them there is only --help.
        let behind = options.lines().skip(own).filter(|l| l.trim_start().starts_with('-')).count();
        assert_eq!(behind, 4, "{command}, {all} options: {options}");
    }
}

#[test]
fn fit_json_has_every_promised_figure() {
    let room = Room::new();
    let report = room.json(&["fit", "--data", "voting", "--method", "lip-i", "--c", "1", "--json"]);
    for key in [
        "status",
        "method",
        "n",
        "p",
        "classes",
        "c",
        "c_max",
        "objective",
        "dual",
        "gap",
        "iterations",
        "seconds",
        "cpu_seconds",
        "peak_memory_bytes",
        "rank",
    ] {
        assert!(report.get(key).is_some(), "{key} is not in {report}");
    }
    assert_eq!(
        (report["n"].as_u64(), report["p"].as_u64(), report["classes"].as_u64()),
        (Some(435), Some(16), Some(2))
    );
}

#[test]
fn results_do_not_depend_on_threads_and_seeds_do_what_they_say() {
    let room = Room::new();
    let evaluate = |seed: &str, threads: &str| {
        room.ok(&["evaluate", "--data", "diabetes", "--method", "nn", "--seed", seed, "--threads", threads, "--json"])
    };
    assert_eq!(evaluate("1", "1"), evaluate("1", "2"));
    assert_ne!(evaluate("1", "1"), evaluate("2", "1"));
    let fit = |threads: &str| {
        room.ok(&[
            "fit",
            "--data",
            "cancer",
            "--method",
            "lip-d",
            "--c",
            "1",
            "--threads",
            threads,
            "--model",
            "m.lip",
        ]);
        let predicted = room.ok(&["predict", "--data", "cancer", "--model", "m.lip", "--margin", "--threads", threads]);
        (room.read("m.lip"), predicted)
    };
    assert_eq!(fit("1"), fit("2"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let room = Room::new();
    room.ok(&["fit", "--data", "diabetes", "--method", "nn", "--model", "m.lip"]);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("lipmetric"))
        .args(["predict", "--data", "diabetes", "--model", "m.lip", "--proba", "--margin"])
        .current_dir(room.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn results_alone_go_to_standard_output() {
    let room = Room::new();
    for args in [
        &["fit", "--data", "haberman", "--model", "m.lip", "-v"][..],
        &["compare", "haberman", "-v"],
        &["evaluate", "--data", "haberman", "--method", "nn", "-v"],
    ] {
        let out = room.run(args);
        assert!(out.status.success());
        let (stdout, stderr) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
        assert!(stderr.contains("306 rows"), "{args:?}: {stderr}");
        assert!(!stdout.contains('\x1b') && !stderr.contains('\x1b'), "no colours where there is no terminal");
        let quiet: Vec<&str> = args.iter().map(|a| if *a == "-v" { "-q" } else { a }).collect();
        assert!(room.run(&quiet).stderr.is_empty());
    }
    assert_eq!(room.run(&["fit"]).status.code(), Some(2));
    assert_eq!(room.run(&["nonsense"]).status.code(), Some(2));
    assert_eq!(room.run(&["--version"]).stdout, format!("lipmetric {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
}

#[test]
fn completions_and_manual_pages_are_written() {
    let room = Room::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(room.ok(&["completions", shell]).contains("lipmetric"), "{shell}");
    }
    assert!(room.ok(&["man"]).starts_with(".ie"));
    room.ok(&["man", "--out", "."]);
    let names = room.names();
    for page in ["lipmetric.1", "lipmetric-fit.1", "lipmetric-datasets.1"] {
        assert!(names.contains(&page.to_owned()), "{names:?}");
    }
    assert!(room.fails(2, &["man", "nope"]).contains("there are: fit"));
}

#[test]
fn predictions_stream_in_order_through_many_batches() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--model", "m.lip"]);
    let rows = room.ok(&["datasets", "export", "haberman"]);
    let (header, body) = rows.split_once('\n').unwrap();
    // More than two batches.
    room.write("many.csv", format!("{header}\n{}", body.repeat(40)));
    let one = room.ok(&["predict", "--model", "m.lip", "--data", "haberman", "--no-header"]);
    let many = room.ok(&["predict", "--model", "m.lip", "many.csv", "--no-header"]);
    assert_eq!(many, one.repeat(40));
}

#[test]
fn every_bundled_set_has_a_source_and_a_citation() {
    let room = Room::new();
    let list = room.json(&["datasets", "list", "--json"]);
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["australian", "cancer", "diabetes", "echo", "fertility", "fourclass", "haberman", "voting"]);
    for set in list.as_array().unwrap() {
        let name = set["name"].as_str().unwrap();
        assert!(room.ok(&["datasets", "show", name]).contains("cite as"));
        if name == "fourclass" {
            assert!(room.fails(2, &["fit", "--data", name]).contains("datasets fetch fourclass"));
            continue;
        }
        let fit = room.json(&["fit", "--data", name, "--method", "nn", "--json"]);
        assert_eq!((&fit["n"], &fit["p"]), (&set["rows"], &set["features"]), "{name}");
    }
}

#[test]
fn what_was_typed_wrongly_is_told_in_words_with_what_may_have_been_meant() {
    let room = Room::new();
    room.write("new.csv", "age,year,nodes\n30,64,1\n");
    for (args, told) in [
        (&["predict", "new.csv"][..], "new.csv is taken for the model; name the rows behind it"),
        (&["fit", "--data", "echo", "--threads", "-1"], "give a whole number from 1 on"),
        (&["fit", "--data", "echo", "--max-iter", "many"], "'--max-iter <N>': give a whole number"),
        (&["fit", "--data", "echo", "--max-iter", "-3"], "give a whole number"),
        (&["predict", "m.lip", "new.csv", "--alpha", "half"], "give a number such as 0.5"),
        (&["fit", "--data", "echo", "--time-limit", "10x"], "such as 90, or 90s, 5m, 2h"),
        (&["fit", "--data", "echo", "--fill", "middle"], "'--fill <RULE>': `middle` is not one of median"),
        (&["evaluate", "--data", "echo", "--folds", "1"], "--folds: 1 is not from 2 to 74, the number of rows"),
        (&["fit", "--data", "habermann"], "did you mean `haberman`?"),
        (&["compare", "canser"], "did you mean `cancer`?"),
        (&["compare", "echo", "--methods", "nn,lipi"], "did you mean `lip-i`?"),
        (&["fit", "--data", "echo", "--method", "lmnn", "--slack", "auto"], "`auto` is not one of pair, instance"),
    ] {
        let error = room.fails(2, args);
        let plain = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(told), "{args:?}: {error}");
    }
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--time-limit", "5m", "--model", "m.lip"]);
    // A picture is not written under the name of something else, nor is a page.
    let error = room.fails(2, &["plot", "m.lip", "--data", "echo", "-o", "map.pdf"]);
    assert!(error.contains("`.pdf` is not what is written; choose .svg or .png"), "{error}");
    let error = room.fails(2, &["fit", "--data", "echo", "--method", "nn", "--report", "page.pdf"]);
    assert!(error.contains("choose .html or .htm"), "{error}");
}
