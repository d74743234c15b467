//! The nearest training rows, and vectors for indexes.

use crate::common::Room;

const TRAIN: &str = "id,x,kind\na,0,u\nb,1,u\nc,5,v\nd,9,v\n";

fn room() -> Room {
    let room = Room::new();
    room.write("train.csv", TRAIN);
    room.ok(&[
        "fit",
        "train.csv",
        "--ignore",
        "id",
        "--scale",
        "none",
        "--method",
        "nn",
        "--k",
        "1",
        "--model",
        "m.lip",
    ]);
    room
}

#[test]
fn each_neighbour_is_told_with_its_line_label_and_distance() {
    let room = room();
    room.write("new.csv", "id,x\nq1,0.25\nq2,8\n");
    let out = room.ok(&["neighbours", "m.lip", "new.csv", "--k", "2", "--keep", "id"]);
    let told = "id,query,rank,row,line,label,distance\n\
                q1,1,1,1,2,u,0.25\nq1,1,2,2,3,u,0.75\nq2,2,1,4,5,v,1\nq2,2,2,3,4,v,3\n";
    assert_eq!(out, told);
    // A column that is ignored can be kept, and the model can be named as elsewhere.
    let same = ["neighbours", "--model", "m.lip", "new.csv", "--k", "2", "--keep", "id", "--ignore", "id"];
    assert_eq!(room.ok(&same), told);
    let line = room.ok(&["neighbours", "m.lip", "new.csv", "--k", "1", "--jsonl"]);
    assert_eq!(line.lines().next().unwrap(), r#"{"query":1,"rank":1,"row":1,"line":2,"label":"u","distance":0.25}"#);
    // Four rows are all there are.
    assert_eq!(room.ok(&["neighbours", "m.lip", "new.csv"]).lines().count(), 1 + 2 * 4);
}

#[test]
fn bad_rows_extra_columns_and_impossible_numbers_of_neighbours_are_treated_as_in_predict() {
    let room = room();
    room.write("bad.csv", "x,more\n1,0\nabc,0\n6,0\n");
    let error = room.fails(3, &["neighbours", "m.lip", "bad.csv", "--k", "1"]);
    assert!(error.contains("`more`"), "{error}");
    let error = room.fails(3, &["neighbours", "m.lip", "bad.csv", "--k", "1", "--extra", "ignore"]);
    assert!(error.contains("line 3") && error.contains("abc"), "{error}");
    let skipped = ["neighbours", "m.lip", "bad.csv", "--k", "1", "--extra", "ignore", "--bad-rows", "skip"];
    let out = room.ok(&skipped);
    assert_eq!(out.lines().skip(1).collect::<Vec<_>>(), ["1,1,2,3,u,0", "3,1,3,4,v,1"]);
    let error = room.fails(2, &["neighbours", "m.lip", "train.csv", "--k", "5"]);
    assert!(error.contains("--k") && error.contains('4'), "{error}");
    room.fails(2, &["neighbours", "m.lip"]);
    room.fails(2, &["neighbours", "--model", "m.lip", "train.csv", "bad.csv"]);
    let error = room.fails(2, &["neighbours", "-", "-"]);
    assert!(error.contains("standard input"), "{error}");
}

#[test]
fn vectors_are_written_whole_or_not_at_all() {
    let room = room();
    room.ok(&["export", "m.lip", "train.csv", "--to", "fvecs", "--id", "id", "-o", "z.fvecs"]);
    let one: Vec<u8> = [1_i32.to_le_bytes(), 5_f32.to_le_bytes()].concat();
    assert_eq!(room.read("z.fvecs")[16..24], one);
    let names = room.names();
    for name in ["z.fvecs", "z.ids.npy", "z.map.json", "z.map.npy"] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
    let sql = room.ok(&["export", "m.lip", "train.csv", "--to", "pgvector", "--id", "id", "--keep", "kind", "-o", "-"]);
    assert!(sql.contains("id text PRIMARY KEY,\n  \"kind\" text,\n  vector vector(1) NOT NULL"), "{sql}");
    assert!(sql.contains("\nc\tv\t[5.0]\n"), "{sql}");
    // What single precision cannot hold, an input that would be overwritten, ids that are missing.
    room.write("far.csv", "id,x\na,1e200\n");
    let error = room.fails(3, &["export", "m.lip", "far.csv", "--to", "npy", "-o", "far.npy"]);
    assert!(error.contains("line 2") && error.contains("single precision"), "{error}");
    room.fails(2, &["export", "m.lip", "train.csv", "--to", "npy", "-o", "train.csv"]);
    room.write("gap.csv", "id,x\n,1\n");
    let error = room.fails(3, &["export", "m.lip", "gap.csv", "--to", "npy", "--id", "id", "-o", "gap.npy"]);
    assert!(error.contains("has no id"), "{error}");
    for left in ["far.npy", "far.map.json", "gap.npy", "gap.ids.npy"] {
        assert!(!room.names().iter().any(|n| n == left), "{:?}", room.names());
    }
}
