//! LIBSVM rows with very many features stay sparse, where the method allows it.

use crate::common::Room;
use std::collections::BTreeMap;

/// Rows of LIBSVM with a few of very many features.
fn rows(from: u64, count: u64, wide: u64) -> String {
    let mut state = from + 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut text = String::new();
    for _ in 0..count {
        let class = next() % 3;
        // Half of the features come from a few that tell the classes apart.
        let mut features = BTreeMap::new();
        for k in 0..12 {
            let feature = if k % 2 == 0 { 1 + class * 40 + next() % 60 } else { 1 + next() % wide };
            features.insert(feature, next() % 19 + 1);
        }
        text += &format!("k{class}");
        features.iter().for_each(|(feature, value)| text += &format!(" {feature}:{}", *value as f64 / 8.0));
        text += "\n";
    }
    text
}

/// The same rows with the features that occur renumbered from 1, so that they are few.
fn renumbered(tables: [&str; 2]) -> [String; 2] {
    let features = |text: &str| {
        let pairs = text.split_whitespace().filter_map(|word| word.split_once(':'));
        pairs.map(|(feature, _)| feature.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    let all: std::collections::BTreeSet<u64> = tables.iter().flat_map(|text| features(text)).collect();
    let places: BTreeMap<u64, usize> = all.into_iter().zip(1..).collect();
    tables.map(|text| {
        let word = |word: &str| match word.split_once(':') {
            Some((feature, value)) => format!("{}:{value}", places[&feature.parse().unwrap()]),
            None => word.to_owned(),
        };
        let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
    })
}

#[test]
fn sparse_rows_have_the_neighbours_of_the_same_rows_with_their_zeros() {
    let room = Room::new();
    // With their zeros 120 rows of a million features would take a gigabyte.
    // The last row has the last feature: new rows have none beyond it.
    let train = rows(1, 120, 1_000_000) + "k0 1:1 1000000:0.5\n";
    let new = rows(2, 40, 1_000_000);
    let [few, few_new] = renumbered([&train, &new]);
    for (name, text) in [("wide", &train), ("wide-new", &new), ("few", &few), ("few-new", &few_new)] {
        room.write(&format!("{name}.libsvm"), text);
    }
    for k in ["1", "5", "auto"] {
        for scale in ["none", "standard", "minmax"] {
            let fitted = |name: &str| {
                let model = format!("{name}.lip");
                let fit = ["fit", &format!("{name}.libsvm"), "--method", "euclidean", "--k", k, "--scale", scale];
                let told = room.ok(&[&fit[..], &["--model", &model]].concat());
                let rows = format!("{name}-new.libsvm");
                (told, room.ok(&["predict", "--model", &model, &rows, "--proba"]))
            };
            let ((told, sparse), (_, dense)) = (fitted("wide"), fitted("few"));
            assert!(told.contains("the rows stay sparse"), "{told}");
            assert_eq!(sparse, dense, "k {k}, scale {scale}");
        }
    }
    // The model is as small as its rows.
    assert!(room.read("wide.lip").len() < 200_000, "{}", room.read("wide.lip").len());
    let with = ["--neighbours", "2", "--distance", "--jsonl"];
    let told = |name: &str| {
        let (rows, model) = (format!("{name}.libsvm"), format!("{name}.lip"));
        room.ok(&["fit", &rows, "--method", "nn", "--k", "1", "--scale", "none", "--model", &model]);
        let rows = format!("{name}-new.libsvm");
        let text = room.ok(&[&["predict", "--model", &model, &rows][..], &with].concat());
        // The dense model also tells the features.
        let line = |line: &str| {
            let cells: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            cells.into_iter().filter(|(name, _)| !name.contains("differs")).collect::<Vec<_>>()
        };
        text.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(told("wide"), told("few"));
    assert!(room.ok(&["inspect", "wide.lip"]).contains("the rows stay sparse"));
}

#[test]
fn what_needs_dense_rows_says_so() {
    let room = Room::new();
    room.write("wide.libsvm", rows(1, 60, 1_000_000));
    let error = room.fails(3, &["fit", "wide.libsvm", "--method", "nca", "--max-memory", "500M"]);
    assert!(error.contains("nca") && error.contains("60 rows x") && error.contains("MiB"), "{error}");
    room.ok(&["fit", "wide.libsvm", "--method", "euclidean", "--max-memory", "500M", "--model", "m.lip"]);
    let error = room.fails(2, &["predict", "--model", "m.lip", "wide.libsvm", "--margin"]);
    assert!(error.contains("--margin") && error.contains("sparse"), "{error}");
    let error = room.fails(3, &["transform", "--model", "m.lip", "wide.libsvm"]);
    assert!(error.contains("sparse rows"), "{error}");
    room.write("new.libsvm", "a 1:1 1000001:2\n");
    let error = room.fails(3, &["predict", "--model", "m.lip", "new.libsvm"]);
    assert!(error.contains("feature 1000001 is new"), "{error}");
    room.write("a.csv", "x,y\n1,u\n2,v\n");
    let error = room.fails(3, &["predict", "--model", "m.lip", "a.csv"]);
    assert!(error.contains("LIBSVM"), "{error}");
    // A changed byte is noticed.
    let mut bytes = room.read("m.lip");
    let at = bytes.len() - 9;
    bytes[at] ^= 1;
    std::fs::write(room.path("m.lip"), bytes).unwrap();
    assert!(room.fails(3, &["predict", "--model", "m.lip", "wide.libsvm"]).contains("damaged"));
    let error = room.fails(2, &["fit", "wide.libsvm", "--method", "euclidean", "--scale", "quantile"]);
    assert!(error.contains("--scale: ") && error.contains("stay sparse"), "{error}");
    // Few features are stored with their zeros, as ever.
    room.write("few.libsvm", "a 1:1 2:2\nb 1:3\na 2:1\nb 1:2\n");
    assert!(!room.ok(&["fit", "few.libsvm", "--method", "euclidean", "--k", "1"]).contains("sparse"));
}
