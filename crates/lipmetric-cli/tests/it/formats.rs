//! Every format in and out: the same data give the same model and the same predictions.

use crate::common::Room;

const FORMATS: [&str; 9] = ["csv", "tsv", "csv.gz", "libsvm", "svm.gz", "npz", "parquet", "tsv.gz", "svmlight"];

#[test]
fn fit_and_predict_agree_across_formats() {
    for name in ["haberman", "australian", "fertility", "cancer", "echo"] {
        let room = Room::new();
        let mut expected: Option<String> = None;
        for format in FORMATS {
            let file = format!("{name}.{format}");
            room.ok(&["datasets", "export", name, "-o", &file]);
            room.ok(&["fit", &file, "--model", "m.lip", "--k", "3", "--method", "nn"]);
            let out = room.ok(&["predict", "--model", "m.lip", &file, "--proba", "--distance", "--margin"]);
            match &expected {
                None => expected = Some(out),
                Some(first) => assert!(&out == first, "{name}: {format} differs from csv"),
            }
        }
        // A model from one format predicts rows of the others.
        room.ok(&["fit", "--data", name, "--model", "m.lip", "--k", "3", "--method", "nn"]);
        for format in ["csv", "npz", "parquet"] {
            let file = format!("{name}.{format}");
            let out = room.ok(&["predict", "--model", "m.lip", &file, "--proba", "--distance", "--margin"]);
            assert!(Some(&out) == expected.as_ref(), "{name}: model from the bundled set, rows from {format}");
        }
    }
}

#[test]
fn npy_holds_features_and_a_numeric_label_in_one_array() {
    let room = Room::new();
    room.ok(&["datasets", "export", "haberman", "-o", "h.csv"]);
    room.ok(&["datasets", "export", "haberman", "-o", "h.npy"]);
    let fit = |file: &str| {
        room.ok(&["fit", file, "--model", "m.lip"]);
        room.ok(&["predict", "--model", "m.lip", file, "--distance"])
    };
    assert_eq!(fit("h.csv"), fit("h.npy"));
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let room = Room::new();
    let csv = room.ok(&["datasets", "export", "haberman"]);
    let from_pipe =
        room.command(&["fit", "-", "--model", "a.lip", "--json"]).write_stdin(csv.clone()).output().unwrap();
    assert!(from_pipe.status.success());
    room.ok(&["fit", "--data", "haberman", "--model", "b.lip"]);
    assert_eq!(room.fitted("a.lip"), room.fitted("b.lip"), "the same rows give the same bytes");
    let predicted = room.command(&["predict", "--model", "a.lip", "-"]).write_stdin(csv).output().unwrap();
    assert_eq!(
        String::from_utf8(predicted.stdout).unwrap(),
        room.ok(&["predict", "--model", "a.lip", "--data", "haberman"])
    );
}

#[test]
fn categories_booleans_and_gaps_go_through_a_model() {
    let room = Room::new();
    room.write(
        "t.csv",
        "id;size;colour;member;class\n1;1,5;red;yes;a\n2;;blue;no;b\n3;3;red;;a\n4;4;?;yes;b\n".replace(',', "."),
    );
    let report = room.json(&["fit", "t.csv", "--ignore", "id", "--model", "m.lip", "--json"]);
    assert_eq!(report["feature_names"], serde_json::json!(["size", "colour=blue", "colour=red", "member"]));
    // Fewer columns, another order, no label, no ignored one.
    room.write("new.csv", "colour,member,size\nblue,no,\n");
    assert_eq!(room.ok(&["predict", "--model", "m.lip", "new.csv", "--no-header"]), "b\n");
    room.write("odd.csv", "colour,member,size\ngreen,no,3\n");
    assert!(room.fails(3, &["predict", "--model", "m.lip", "odd.csv"]).contains("level `green` was not seen"));
    room.ok(&["predict", "--model", "m.lip", "odd.csv", "--unseen", "ignore"]);
}

#[test]
fn transform_writes_what_the_name_asks_for() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--k", "1", "--model", "m.lip"]);
    let csv = room.ok(&["transform", "--model", "m.lip", "--data", "haberman", "--with-label"]);
    assert!(csv.starts_with("z1,z2,z3,label\n"), "{}", &csv[..40]);
    assert_eq!(csv.lines().count(), 307);
    for out in ["z.csv", "z.tsv.gz", "z.parquet", "z.npz", "z.libsvm"] {
        room.ok(&["transform", "--model", "m.lip", "--data", "haberman", "--with-label", "-o", out]);
        // Fitted on the mapped rows without scaling, distances are the model's own.
        room.ok(&["fit", out, "--method", "nn", "--scale", "none", "--model", "z.lip"]);
        let distances = room.ok(&["predict", "--model", "z.lip", out, "--distance"]);
        assert_eq!(distances, room.ok(&["predict", "--model", "m.lip", "--data", "haberman", "--distance"]), "{out}");
    }
    room.ok(&["transform", "--model", "m.lip", "--data", "haberman", "-o", "z.npy"]);
    let error = room.fails(2, &["transform", "--model", "m.lip", "--data", "haberman", "-o", "z.docx"]);
    assert!(error.contains("z.docx"), "{error}");
}
