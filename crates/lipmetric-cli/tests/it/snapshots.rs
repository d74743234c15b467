//! What a person sees, kept as it is until it is changed on purpose (`cargo insta review`).
//!
//! Only methods whose figures are the same on every processor: an optimiser's last digits are not.

use crate::common::Room;

/// Times differ from run to run.
fn without_times(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_whitespace().next() {
            Some("seconds" | "fit") if line.contains("seconds") => "[seconds]",
            _ => line,
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn compare() {
    let room = Room::new();
    insta::assert_snapshot!(without_times(&room.ok(&["compare", "haberman", "voting", "--methods", "nn"])));
}

#[test]
fn fit() {
    let room = Room::new();
    room.write("t.csv", "size,colour,member,class\n1.5,red,yes,a\n,blue,no,b\n3,red,,a\n4,?,yes,b\n");
    insta::assert_snapshot!(without_times(&room.ok(&["fit", "t.csv", "--method", "nn", "--model", "m.lip"])));
}

#[test]
fn inspect() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--method", "nn", "--model", "m.lip"]);
    insta::assert_snapshot!(room.ok(&["inspect", "m.lip"]));
}

#[test]
fn evaluate() {
    let room = Room::new();
    insta::assert_snapshot!(room.ok(&["evaluate", "--data", "echo", "--method", "nn", "--folds", "5"]));
}

#[test]
fn margins() {
    let room = Room::new();
    insta::assert_snapshot!(room.ok(&["margins", "--data", "diabetes"]));
}

#[test]
fn datasets() {
    let room = Room::new();
    insta::assert_snapshot!(room.ok(&["datasets", "list"]));
}
