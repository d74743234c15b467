//! What should never happen: files of strangers that take the machine down, inputs that are lost, work that is lost.

use crate::common::Room;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

fn program(room: &Room, args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lipmetric"));
    command.args(args).current_dir(room.path("."));
    command
}

fn hostile(name: &str) -> String {
    format!("{}/../lipmetric-io/tests/hostile/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn control_characters_of_a_file_never_reach_the_terminal() {
    let room = Room::new();
    let error = room.fails(3, &["inspect", &hostile("model-terminal-escape.lip")]);
    assert!(!error.contains('\x1b') && error.contains("\\u{1b}]0;"), "{error}");
    room.write("a.csv", "a\x1b[2J,y\n1,u\n2,v\n3,u\x1b[31m\n4,v\n");
    let report = room.ok(&["fit", "a.csv", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    assert!(!report.contains('\x1b') && report.contains("a\\u{1b}[2J"), "{report}");
    assert!(!room.ok(&["inspect", "m.lip"]).contains('\x1b'));
    room.write("bad.csv", "a\x1b[2J,y\n1,u\n2,v\nx,u\n4,v\n");
    let error = room.fails(3, &["fit", "bad.csv"]);
    assert!(!error.contains('\x1b') && error.contains("\\u{1b}[2J"), "{error}");
}

#[test]
fn an_unwritable_model_is_found_before_the_data_are_read() {
    let room = Room::new();
    // The data are not there either, which would be told first otherwise.
    assert!(room.fails(1, &["fit", "absent.csv", "--model", "nope/m.lip"]).contains("cannot write nope/m.lip"));
    std::fs::create_dir(room.path("folder")).unwrap();
    assert!(room.fails(1, &["fit", "absent.csv", "--model", "folder"]).contains("it is a folder"));
    assert_eq!(room.names(), ["folder"]);
}

#[test]
fn no_input_is_ever_overwritten() {
    let room = Room::new();
    let rows = room.ok(&["datasets", "export", "echo"]);
    room.write("a.csv", &rows);
    let refused = |args: &[&str]| {
        let error = room.fails(2, args);
        assert!(error.contains("would be overwritten"), "{error}");
    };
    refused(&["fit", "a.csv", "--model", "a.csv"]);
    refused(&["fit", "a.csv", "--model", "./a.csv"]);
    room.ok(&["fit", "a.csv", "--method", "nn", "--model", "m.lip"]);
    refused(&["predict", "a.csv", "--model", "m.lip", "-o", "a.csv"]);
    refused(&["predict", "a.csv", "--model", "m.lip", "-o", "m.lip"]);
    refused(&["transform", "a.csv", "--model", "m.lip", "-o", "a.csv"]);
    #[cfg(unix)]
    {
        std::fs::hard_link(room.path("a.csv"), room.path("b.csv")).unwrap();
        std::os::unix::fs::symlink("a.csv", room.path("c.csv")).unwrap();
        refused(&["fit", "a.csv", "--model", "b.csv"]);
        refused(&["fit", "a.csv", "--model", "c.csv"]);
    }
    assert_eq!(room.read("a.csv"), rows.as_bytes());
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let room = Room::new();
    std::os::unix::fs::symlink("real.lip", room.path("link.lip")).unwrap();
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "link.lip"]);
    assert!(std::fs::symlink_metadata(room.path("link.lip")).unwrap().is_symlink());
    assert_eq!(room.names(), ["link.lip", "real.lip"]);
}

#[test]
fn a_closed_standard_error_does_not_end_a_fit() {
    let room = Room::new();
    let mut child = program(&room, &["fit", "--data", "echo", "--method", "lip-i", "-v", "--model", "m.lip"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    child.stderr.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(room.names(), ["m.lip"]);
}

#[test]
fn a_model_goes_through_standard_output_and_input() {
    let room = Room::new();
    let out = room.run(&["fit", "--data", "echo", "--method", "nn", "--model", "-"]);
    assert!(out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("classes"), "the report goes to standard error");
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--model", "m.lip"]);
    assert_eq!(out.stdout, room.read("m.lip"));
    assert_eq!(room.names(), ["m.lip"], "no file is called `-`");
    let piped = room.command(&["predict", "--model", "-", "--data", "echo"]).write_stdin(out.stdout).output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), room.ok(&["predict", "--model", "m.lip", "--data", "echo"]));
    assert!(room.fails(2, &["fit", "--data", "echo", "--model", "-", "--json"]).contains("--json"));
}

#[test]
fn threads_beyond_reason_are_not_started() {
    let room = Room::new();
    let one = room.ok(&["predict", "--help"]);
    assert!(!one.is_empty());
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--threads", "100000"]);
    assert!(room.fails(2, &["fit", "--data", "echo", "--threads", "0"]).contains("whole number from 1 on"));
}

#[test]
fn what_does_not_fit_in_memory_is_refused_with_the_figures() {
    let room = Room::new();
    room.write("wide.libsvm", "1 1:1 100000:2\n2 2:3 99999:1\n");
    let error = room.fails(3, &["fit", "wide.libsvm", "--method", "lip", "--max-memory", "2G"]);
    assert!(error.contains("2 rows x 100000 features") && error.contains("224 GiB"), "{error}");
    let error = room.fails(3, &["fit", "--data", "voting", "--max-memory", "100k"]);
    assert!(error.contains("--max-memory"), "{error}");
    // The Euclidean distance needs no matrix, neither in memory nor in the file.
    room.ok(&["fit", "wide.libsvm", "--method", "nn", "--k", "1", "--max-memory", "2G", "--model", "m.lip"]);
    // Nor do methods that work in as many dimensions as there are rows.
    room.write("four.libsvm", "1 1:1 100000:2\n2 2:3 99999:1\n1 1:1.5 100000:2\n2 2:2 99999:1\n");
    for method in ["lmnn --targets 1", "lmml"] {
        let given = format!("fit four.libsvm --method {method} --k 1 --max-memory 2G");
        let out = room.run(&given.split(' ').collect::<Vec<_>>());
        // Converged or not, it learned.
        assert!(matches!(out.status.code(), Some(0 | 4)), "{method}: {}", String::from_utf8_lossy(&out.stderr));
    }
    assert!(room.read("m.lip").len() < 20_000_000);
    assert_eq!(room.ok(&["predict", "--model", "m.lip", "wide.libsvm", "--no-header"]), "1\n2\n");
    room.write("wider.libsvm", "1 30000000:1\n");
    assert!(room.fails(3, &["predict", "--model", "m.lip", "wider.libsvm"]).contains("feature 30000000 is new"));
    let size = room.ok(&["fit", "wide.libsvm", "--method", "lip", "--dry-run"]);
    assert!(size.contains("100000") && size.contains("224 GiB"), "{size}");
    assert!(size.contains("it would not find room in memory"), "{size}");
    let size = room.ok(&["fit", "--data", "echo", "--method", "nn", "--dry-run"]);
    assert!(size.contains("less than a second\n") && size.contains("(as a trial took)"), "{size}");
    let size = room.ok(&["fit", "--data", "diabetes", "--method", "lmnn", "--dry-run"]);
    assert!(size.contains("of the rows)") || size.contains("as a trial took"), "{size}");
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_polite_kill_is_treated_like_ctrl_c() {
    let room = Room::new();
    // Far more than can be done: the signal ends it.
    let row = |i: usize| {
        let [a, b] = [i * 7919 % 1009, i * 10_473 % 997];
        format!("{a},{b},{}\n", usize::from((a + b / 2 > 800) != i.is_multiple_of(7)))
    };
    let rows: String = (0..3000).map(row).collect();
    room.write("a.csv", format!("a,b,y\n{rows}"));
    let args = ["fit", "a.csv", "--method", "nca", "--max-iter", "1000000", "--tol", "1e-12", "--model", "m.lip", "-v"];
    let mut child = program(&room, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = child.stderr.take().unwrap();
    let mut first = [0; 30];
    errors.read_exact(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("the best result so far was written"), "{rest}");
    assert_eq!(room.names(), ["a.csv", "m.lip"], "no temporary file is left");
}

#[cfg(unix)]
#[test]
fn one_signal_ends_a_program_that_waits_for_input_and_leaves_no_file() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--method", "nn", "--model", "m.lip"]);
    for name in ["-INT", "-TERM"] {
        let args = ["predict", "--model", "m.lip", "-", "-o", "out.csv"];
        let mut child = program(&room, &args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut rows = child.stdin.take().unwrap();
        rows.write_all(b"age,operation_year,positive_axillary_nodes\n30,64,1\n31,65,2\n").unwrap();
        rows.flush().unwrap();
        while room.names().len() < 2 && !writes_without_a_name(child.id(), &room) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        drop(rows);
        assert_eq!(room.names(), ["m.lip"], "{name}");
    }
}

/// Whether a process has a file without a name open in the room.
fn writes_without_a_name(process: u32, room: &Room) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let folder = std::fs::canonicalize(room.path(".")).unwrap();
    let mut places = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    places.any(|place| place.starts_with(&folder) && place.to_string_lossy().ends_with("(deleted)"))
}

#[test]
fn a_time_limit_holds_where_the_first_step_takes_longer() {
    let room = Room::new();
    // Decompositions of 1,500 x 1,500 before the first step.
    let rows: String = (0..3000).map(|i| format!("k{},{},{}\n", i % 1500, i * 7 % 11, i % 2)).collect();
    room.write("a.csv", format!("c,v,y\n{rows}"));
    let limited =
        ["fit", "a.csv", "--kind", "c=category", "--time-limit", "0.05", "--without-rows", "--model", "m.lip"];
    let error = room.fails(4, &limited);
    assert!(error.contains("stopped at the time limit; the best result so far was written"), "{error}");
    assert!(room.ok(&["inspect", "m.lip"]).contains("nothing was learned"));
}

#[test]
fn a_time_limit_before_c_max_is_known_leaves_a_model() {
    let room = Room::new();
    // So many features are for the method of multipliers.
    let row =
        |i: usize| (0..40).map(|j| format!("{},", (i * (j + 3) * 7919) % 101)).collect::<String>() + ["u", "v"][i % 2];
    let names: String = (0..40).map(|j| format!("f{j},")).collect();
    room.write("a.csv", format!("{names}y\n{}\n", (0..120).map(row).collect::<Vec<_>>().join("\n")));
    for (method, slack) in [("lip", "pair"), ("lip-i", "pair"), ("lip-d", "instance"), ("lip", "instance")] {
        let fit = ["fit", "a.csv", "--method", method, "--slack", slack, "--time-limit", "0.001", "--model", "m.lip"];
        let error = room.fails(4, &fit);
        assert!(error.contains("stopped at the time limit; the best result so far was written"), "{method}: {error}");
        room.ok(&["predict", "m.lip", "a.csv"]);
        std::fs::remove_file(room.path("m.lip")).unwrap();
    }
}

#[test]
fn many_columns_are_matched_by_name_in_no_time() {
    let room = Room::new();
    let names: Vec<String> = (0..20_000).map(|j| format!("c{j}")).collect();
    let row = |v: usize| vec![v.to_string(); names.len()].join(",");
    let table = format!("{},y\n{},a\n{},b\n{},a\n{},b\n", names.join(","), row(0), row(5), row(1), row(6));
    room.write("wide.csv", table);
    room.ok(&["fit", "wide.csv", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    assert_eq!(room.ok(&["predict", "wide.csv", "--model", "m.lip", "--no-header"]), "a\nb\na\nb\n");
}

#[test]
fn the_default_learns_from_few_rows_of_very_many_features() {
    let room = Room::new();
    room.write("a.libsvm", "1 1:1 100000:2\n2 2:1\n1 1:2 100000:1\n2 3:1\n1 1:1\n2 2:3\n");
    room.ok(&["fit", "a.libsvm", "--model", "m.lip"]);
    assert!(room.fails(3, &["fit", "a.libsvm", "--method", "lip-local"]).contains("need at least 224 GiB"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_matrix_of_all_features_is_foreseen_by_every_command() {
    let room = Room::new();
    let row = |i: usize| format!("{} {}:1 50000:{} 100000:{}\n", i % 2 + 1, i + 1, i * i % 7, 2 + i % 2);
    room.write("a.libsvm", (0..12).map(row).collect::<String>());
    room.ok(&["fit", "a.libsvm", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    let program = assert_cmd::cargo::cargo_bin("lipmetric");
    let limited = |args: &str| {
        let line = format!("ulimit -v 8000000; exec {} {args} --threads 1", program.display());
        let out = std::process::Command::new("sh").args(["-c", &line]).current_dir(room.path(".")).output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    for args in [
        "compare a.libsvm --methods nn,lip-i --repeats 2",
        "path a.libsvm --points 2",
        "predict m.lip a.libsvm --radius",
        "evaluate a.libsvm --model m.lip --radius 0.1",
        "inspect m.lip --matrix",
        "inspect m.lip --json",
        "export m.lip a.libsvm --to npy -o v.npy",
        "fit a.libsvm --method nn --report m.html",
        "margins a.libsvm --report m.html",
        "plot m.lip a.libsvm -o m.svg",
        "inspect m.lip --report i.html",
    ] {
        let (code, error) = limited(args);
        assert!(code == Some(3) && error.contains("GiB of memory"), "{args}: {code:?} {error}");
    }
    for args in
        ["margins a.libsvm", "inspect m.lip", "transform m.lip a.libsvm --dims 2", "evaluate a.libsvm --model m.lip"]
    {
        let (code, error) = limited(args);
        assert_eq!(code, Some(0), "{args}: {error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_cannot_be_had_ends_with_a_message_and_a_code() {
    let room = Room::new();
    for (kilobytes, args) in [
        (200_000, "fit --data voting --method lip-i"),
        (900_000, "fit --data voting --method lip-i"),
        (1_500_000, "fit --data voting --method lip-d"),
    ] {
        let program = assert_cmd::cargo::cargo_bin("lipmetric");
        let line = format!("ulimit -v {kilobytes}; exec {} {args} --threads 1", program.display());
        let out = std::process::Command::new("sh").args(["-c", &line]).current_dir(room.path(".")).output().unwrap();
        let error = String::from_utf8_lossy(&out.stderr);
        let code = out.status.code();
        assert!(matches!(code, Some(0 | 1 | 3)), "{kilobytes}: {:?} {error}", out.status);
        assert!(code == Some(0) || error.contains("memory"), "{error}");
        // What a grid engine gives is enough for a small table; where it is not, the message says what to do.
        assert_eq!(code == Some(0), kilobytes > 500_000, "{error}");
        assert!(code == Some(0) || error.contains("raise that limit"), "{error}");
    }
}

#[test]
fn an_evaluation_ends_when_its_time_is_up_whatever_its_fits_are_doing() {
    let room = Room::new();
    // Steps on so many features take long.
    let row = |i: usize| {
        (0..400).map(|j| format!("{},", (i * 7919 + j * j * 31) % 997)).collect::<String>() + ["u", "v"][i % 2] + "\n"
    };
    let names: String = (0..400).map(|j| format!("a{j},")).collect();
    room.write("wide.csv", format!("{names}label\n{}", (0..600).map(row).collect::<String>()));
    let error = room.fails(4, &["evaluate", "wide.csv", "--method", "lip-i", "--time-limit", "0.2"]);
    assert!(error.contains("--time-limit was reached before all splits were complete"), "{error}");
}

/// A table that takes some steps to learn from.
fn long_table() -> String {
    let mut text = String::from("a,b,c,d,e,f,y\n");
    for i in 0..900_u32 {
        let class = i % 3;
        for j in 0..6 {
            let value = f64::from((i * (7 + 2 * j) + j * j * i * i) % 101) / 50.0 + 0.2 * f64::from(class * j);
            text += &format!("{value:.3},");
        }
        text += &format!("k{class}\n");
    }
    text
}

#[cfg(unix)]
#[test]
fn a_killed_fit_goes_on_from_its_checkpoint_to_the_same_metric() {
    let room = Room::new();
    room.write("rows.csv", long_table());
    let given = "fit rows.csv --method nca --tol 1e-9 --k 1 --checkpoint c --checkpoint-every 0 --model m.lip";
    let args: Vec<&str> = given.split(' ').collect();
    let mut child = program(&room, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !room.path("c").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the fit ended before it had kept anything");
        std::thread::sleep(Duration::from_millis(1));
    }
    // SIGKILL: nothing is tidied up.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!room.path("m.lip").exists());
    assert_eq!(room.names(), ["c", "rows.csv"]);
    let other = room.fails(3, &["fit", "rows.csv", "--method", "nca", "--checkpoint", "c"]);
    assert!(other.contains("other options") && other.contains("remove the file"), "{other}");
    let other = room.fails(3, &["fit", "--data", "echo", "--method", "nca", "--checkpoint", "c"]);
    assert!(other.contains("other rows"), "{other}");
    let again = program(&room, &args).output().unwrap();
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && told.contains("going on from the checkpoint c"), "{told}");
    // It is done: nothing is left to go on from.
    assert_eq!(room.names(), ["m.lip", "rows.csv"]);
    let resumed = room.read("m.lip");
    room.ok(&args);
    assert_eq!(room.read("m.lip"), resumed);
}

#[test]
fn a_checkpoint_is_no_other_file_of_the_command() {
    let room = Room::new();
    room.write("a.csv", "x,y\n1,u\n2,v\n3,u\n4,v\n");
    assert!(room.fails(2, &["fit", "a.csv", "--checkpoint", "a.csv"]).contains("would be overwritten"));
    assert!(room.fails(1, &["fit", "a.csv", "--checkpoint", "nope/c"]).contains("cannot write nope/c"));
    room.ok(&["fit", "a.csv", "--method", "nn", "--model", "m.lip"]);
    let error = room.fails(3, &["fit", "a.csv", "--method", "nca", "--checkpoint", "m.lip"]);
    assert!(error.contains("not a checkpoint"), "{error}");
}

#[test]
fn cells_whose_squares_are_no_numbers_are_divided_by_a_common_power_of_two() {
    let room = Room::new();
    let table = |scale: f64| {
        let rows = (0..24_i32).map(|i| {
            let (a, b) = (f64::from(i * 7 % 11) + 1.0, f64::from(i * 5 % 13) + f64::from(i % 2));
            format!("{:e},{:e},{}\n", a * scale, b * scale, ["u", "v"][i as usize % 2])
        });
        "a,b,y\n".to_owned() + &rows.collect::<String>()
    };
    room.write("plain.csv", table(1.0));
    for method in ["nn", "auto", "lip-d"] {
        let predictions = |name: &str| {
            let fit = ["fit", name, "--method", method, "--scale", "none", "--model", "m.lip"];
            room.ok(&fit);
            (room.ok(&["inspect", "m.lip"]), room.ok(&["predict", "--model", "m.lip", name]))
        };
        let (_, expected) = predictions("plain.csv");
        for power in [1000, -1000] {
            room.write("scaled.csv", table(2.0_f64.powi(power)));
            let (told, predicted) = predictions("scaled.csv");
            assert_eq!(predicted, expected, "{method}, 2^{power}");
            assert!(told.contains("power of two"), "{told}");
        }
    }
    // What would be lost beside the largest number is not.
    room.write("mixed.csv", "a,b,y\n1e300,1,u\n1e300,2,v\n1e300,1.1,u\n1e300,2.1,v\n");
    room.fails(1, &["fit", "mixed.csv", "--method", "nn", "--scale", "none"]);
}
