//! How the program fits into what people do with it: ids, explanations, streams, empty batches, bad rows.

use crate::common::Room;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const ROWS: &str = "id,a,b,y\np1,0,0,u\np2,0.2,0,u\np3,5,5,v\np4,5,5.5,v\n";

fn fitted() -> Room {
    let room = Room::new();
    room.write("a.csv", ROWS);
    room.ok(&["fit", "a.csv", "--ignore", "id", "--method", "nn", "--k", "1", "--scale", "none", "--model", "m.lip"]);
    room
}

#[test]
fn columns_of_the_input_are_kept_beside_the_results() {
    let room = fitted();
    let out = room.ok(&["predict", "a.csv", "--model", "m.lip", "--keep", "id"]);
    assert_eq!(out, "id,prediction\np1,u\np2,u\np3,v\np4,v\n");
    let out = room.ok(&["transform", "a.csv", "--model", "m.lip", "--keep", "all"]);
    assert!(out.starts_with("id,a,b,y,z1,z2\np1,0,0,u,"), "{out}");
    let out = room.ok(&["predict", "a.csv", "--model", "m.lip", "--keep", "y,1", "--jsonl"]);
    assert!(out.starts_with("{\"y\":\"u\",\"id\":\"p1\",\"prediction\":\"u\"}\n"), "{out}");
    assert!(room.fails(3, &["predict", "a.csv", "--model", "m.lip", "--keep", "nope"]).contains("no column `nope`"));
    room.write("twice.csv", "prediction,a,b\nx,1,2\n");
    let args = ["predict", "twice.csv", "--model", "m.lip", "--extra", "ignore", "--keep", "prediction"];
    assert!(room.fails(2, &args).contains("--keep"));
}

#[test]
fn neighbours_explain_a_prediction() {
    let room = fitted();
    room.write("new.csv", "a,b\n1,2\n");
    let out = room.ok(&["predict", "new.csv", "--model", "m.lip", "--neighbours", "2"]);
    let mut lines = out.lines();
    assert_eq!(
        lines.next().unwrap(),
        "prediction,neighbour1_row,neighbour1_label,neighbour1_distance,neighbour1_differs_in,neighbour2_row,neighbour2_label,\
         neighbour2_distance,neighbour2_differs_in"
    );
    // Row 2 is at (0.2, 0): 0.64 of 4.64 in a and 4 of 4.64 in b; row 1 at (0, 0): 1 and 4 of 5.
    let row = lines.next().unwrap();
    let distance = |v: f64| format!("{:?}", v.sqrt());
    assert!(row.starts_with(&format!("u,line 3,u,{}", &distance(4.64)[..10])), "{row}");
    assert!(
        row.contains("b 86.21 %; a 13.79 %") && row.ends_with(&format!("{},b 80 %; a 20 %", distance(5.0))),
        "{row}"
    );
    assert!(room.fails(2, &["predict", "new.csv", "--model", "m.lip", "--neighbours", "5"]).contains("1 to 4"));
}

#[test]
fn a_batch_without_rows_gives_a_result_without_rows() {
    let room = fitted();
    room.write("none.csv", "id,a,b\n");
    assert_eq!(room.ok(&["predict", "none.csv", "--model", "m.lip", "--keep", "id"]), "id,prediction\n");
    assert_eq!(room.ok(&["transform", "none.csv", "--model", "m.lip"]), "z1,z2\n");
    room.ok(&["predict", "none.csv", "--model", "m.lip", "--proba", "--radius", "-o", "out.csv"]);
    assert!(room.fails(3, &["evaluate", "none.csv", "--model", "m.lip"]).contains("no"));
}

#[test]
fn rows_that_come_one_by_one_are_answered_one_by_one() {
    let room = fitted();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("lipmetric"))
        .args(["predict", "--model", "m.lip", "-", "--keep", "a"])
        .current_dir(room.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || answers.next().unwrap().unwrap();
    rows.write_all(b"a,b\r\n0,0\r\n").unwrap();
    assert_eq!([next(), next()], ["a,prediction", "0,u"], "without waiting for the end of the input");
    for (row, answer) in [("5,5\r\n", "5,v"), ("1,0\n", "1,u"), ("6,5\r\n7,5\r\n", "6,v")] {
        rows.write_all(row.as_bytes()).unwrap();
        assert_eq!(next(), answer);
    }
    drop(rows);
    assert_eq!(next(), "7,v");
    assert!(child.wait().unwrap().success());
}

#[test]
fn bad_rows_end_the_output_or_are_left_out_and_counted() {
    let room = fitted();
    let good = "0,0\n".repeat(5000);
    room.write("long.csv", format!("a,b\n{good}x,0\n"));
    let error = room.fails(3, &["predict", "long.csv", "--model", "m.lip"]);
    assert!(error.contains("line 5002") && error.contains("4096 rows were written before"), "{error}");
    room.write("mixed.csv", "a,b\n0,0\nx,0\n5,5\n1\n6,6\n");
    let out = room.run(&["predict", "mixed.csv", "--model", "m.lip", "--keep", "a", "--bad-rows", "skip"]);
    let (shown, told) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert_eq!(shown, "a,prediction\n0,u\n5,v\n6,v\n", "{told}");
    assert!(
        told.contains("line 3, column `a`") && told.contains("line 5") && told.contains("2 rows were left out"),
        "{told}"
    );
    room.write("wrong.csv", "c,d\n1,2\n3,4\n");
    room.fails(3, &["predict", "wrong.csv", "--model", "m.lip", "--bad-rows", "skip"]);
}
