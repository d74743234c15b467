//! Maps of two directions through the program: kept of a distance or learned, judged and drawn.

use crate::common::Room;
use std::fmt::Write as _;

/// 240 rows of three kinds that differ in two of six features, of which the others vary far more: half to learn from.
fn rows(room: &Room) {
    let value = |k: usize| (k * 7919 % 10_007) as f64 / 10_007.0 - 0.5;
    let head = "a,b,c,d,e,f,kind\n";
    let (mut train, mut test) = (head.to_owned(), head.to_owned());
    for i in 0..240 {
        let (a, b) = [(0.0, 0.0), (1.4, 0.0), (0.0, 1.4)][i % 3];
        let noise: Vec<String> = (2..6).map(|j| format!("{:.5}", 9.0 * value(17 * i + j))).collect();
        let to = if i % 2 == 0 { &mut train } else { &mut test };
        let (a, b) = (a + value(5 * i + 1), b + value(3 * i + 2));
        let _ = writeln!(to, "{a:.5},{b:.5},{},kind {}", noise.join(","), i % 3);
    }
    room.write("train.csv", train);
    room.write("test.csv", test);
}

const PLAIN: [&str; 4] = ["--scale", "none", "--k", "auto"];

fn accuracy(room: &Room, options: &[&str]) -> f64 {
    room.ok(&[&["fit", "train.csv", "--model", "m.lip"], &PLAIN[..], options].concat());
    room.json(&["evaluate", "test.csv", "--model", "m.lip", "--json"])["accuracy"].as_f64().unwrap()
}

#[test]
fn two_directions_are_kept_of_any_distance_or_learned_and_hold_on_new_rows() {
    let room = Room::new();
    rows(&room);
    let learned = accuracy(&room, &["--method", "nca", "--n-components", "2"]);
    let leading = accuracy(&room, &["--method", "lmnn", "--dims", "2"]);
    let discriminant = accuracy(&room, &["--method", "discriminant"]);
    let plain = accuracy(&room, &["--method", "nn", "--dims", "2"]);
    assert!(learned > 0.9 && leading > 0.9 && discriminant > 0.9, "{learned} {leading} {discriminant}");
    assert!(plain < 0.7, "principal components know nothing of the kinds: {plain}");
    // The model has two coordinates, of new rows as well, and says what was kept.
    let fit = ["fit", "train.csv", "--method", "lmnn", "--dims", "2", "--model", "m.lip"];
    let json = room.json(&[&fit[..], &PLAIN, &["--json"]].concat());
    assert_eq!(json["rank"].as_f64(), Some(2.0), "{json}");
    assert!(json["notes"].to_string().contains("kept of 6 directions"), "{json}");
    let mapped = room.ok(&["transform", "--model", "m.lip", "test.csv"]);
    assert_eq!((mapped.lines().next(), mapped.lines().count()), (Some("z1,z2"), 121));
    // The same directions as a projection of the whole distance afterwards.
    room.ok(&[&["fit", "train.csv", "--method", "lmnn", "--model", "whole.lip"], &PLAIN[..]].concat());
    let after = room.ok(&["transform", "--model", "whole.lip", "test.csv", "--dims", "2"]);
    let apart = |text: &str| -> Vec<f64> {
        let rows: Vec<Vec<f64>> =
            text.lines().skip(1).map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
        rows.windows(2).map(|w| ((w[0][0] - w[1][0]).powi(2) + (w[0][1] - w[1][1]).powi(2)).sqrt()).collect()
    };
    for (a, b) in apart(&mapped).iter().zip(apart(&after)) {
        assert!((a - b).abs() < 1e-6 * (1.0 + a), "{a} and {b}");
    }
}

#[test]
fn maps_are_judged_beside_the_distances_that_they_are_parts_of() {
    let room = Room::new();
    rows(&room);
    let judged = room.json(
        &[&["evaluate", "train.csv", "--method", "nn", "--dims", "2", "--folds", "3"], &PLAIN[..], &["--json"]]
            .concat(),
    );
    assert!(judged["accuracy"].as_f64().unwrap() < 0.75, "{judged}");
    let columns = "nn,nn:dims=2,lmnn:dims=2,discriminant:n-components=1,lda";
    let table = room.ok(&[&["compare", "train.csv", "--methods", columns, "--repeats", "2"], &PLAIN[..]].concat());
    for title in ["NN:dims=2", "LMNN:dims=2", "LDA:n-components=1"] {
        assert!(table.contains(title), "{title}: {table}");
    }
}

#[test]
fn a_picture_says_what_it_is_worth_on_new_rows() {
    let room = Room::new();
    rows(&room);
    room.ok(&[&["fit", "train.csv", "--method", "nca", "--n-components", "2", "--model", "m.lip"], &PLAIN[..]].concat());
    let out = room.run(&["plot", "m.lip", "test.csv", "-o", "map.svg"]);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.success() && told.contains("of 120 new rows") && told.contains("principal components"),
        "{told}"
    );
    assert!(std::fs::read_to_string(room.path("map.svg")).unwrap().contains("<svg"));
    // Of the rows that it was learned from nothing is said, nor of rows without labels.
    let out = room.run(&["plot", "m.lip", "train.csv", "-o", "map.svg"]);
    assert!(!String::from_utf8_lossy(&out.stderr).contains("new rows"));
    room.ok(
        &[&["fit", "train.csv", "--method", "nca", "--n-components", "2", "--report", "r.html"], &PLAIN[..]].concat()
    );
}

#[test]
fn what_does_not_go_with_a_map_is_refused() {
    let room = Room::new();
    rows(&room);
    let refused = |options: &[&str]| room.fails(2, &[&["fit", "train.csv"], options].concat());
    assert!(refused(&["--dims", "0"]).contains("--dims: 0 directions"));
    assert!(refused(&["--dims", "7"]).contains("--dims: 7 directions of 6 features"));
    assert!(refused(&["--dims", "2", "--classifier", "smooth"]).contains("the nearest rows vote"));
    let certificate = ["--dims", "2", "--method", "lip-d", "--certificate", "--model", "c.lip"];
    assert!(refused(&certificate).contains("a certificate is one of the whole distance"));
    assert!(refused(&["--method", "discriminant", "--n-components", "3"]).contains("3 directions of 3 classes"));
    let few = room.ok(&["fit", "train.csv", "--method", "discriminant", "--n-components", "1", "--dims", "2"]);
    assert!(few.contains("fewer than the 2 asked for"), "{few}");
}

#[test]
fn many_columns_are_summed_up_by_a_fit_and_listed_by_inspect() {
    let room = Room::new();
    let names: Vec<String> = (0..30).map(|j| format!("v{j}")).collect();
    let mut text = format!("{},sort,kind\n", names.join(","));
    for i in 0..40_usize {
        let cell = |j: usize| if (i, j) == (3, 4) { String::new() } else { ((i * (j + 3)) % 11).to_string() };
        let cells: Vec<String> = (0..30).map(cell).collect();
        let _ = writeln!(text, "{},{},{}", cells.join(","), ["red", "blue", "green"][i % 3], ["x", "y"][i % 2]);
    }
    room.write("wide.csv", text);
    let told = room.ok(&["fit", "wide.csv", "--method", "nn", "--model", "w.lip"]);
    for part in ["v0, v29", "(x - mean) / deviation", "1 in 1 of them", "one-hot columns", "lists every column"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("\nv17 "), "{told}");
    let listed = room.ok(&["inspect", "w.lip"]);
    assert!((0..30).all(|j| listed.contains(&format!("\nv{j} "))), "{listed}");
}
