//! Every bad input gets its exit code and a message that names the place and the remedy; nothing is half-written.

use crate::common::Room;

/// Name, content, and what the message must say.
const TABLES: &[(&str, &str, &[&str])] = &[
    ("ragged", "a,b,y\n1,2,u\n3,v\n", &["bad.csv, line 3", "3", "2"]),
    (
        "text in a numeric column",
        "a,y\n1,u\n2,v\nx,u\n4,v\n",
        &["bad.csv, line 4, column `a`: `x`", "3 of the column's 4"],
    ),
    ("one class", "a,y\n1,u\n2,u\n", &["bad.csv: there is only one class (`u`", "--label"]),
    ("all missing", "a,b,y\n1,NA,u\n2,,v\n", &["column `b` is missing", "--ignore b"]),
    ("0 rows", "a,b,y\n", &["bad.csv", "no rows"]),
    ("nothing", "", &["bad.csv"]),
    ("infinity", "a,y\n1,u\ninf,v\n3,u\n", &["line 3, column `a`: `inf`"]),
    ("missing label", "a,y\n1,u\n2,\n3,v\n", &["line 3, column `y`: the label is missing"]),
    ("only a label", "y\nu\nv\n", &["no feature columns"]),
    (
        "an identifier",
        "a,y\np1,u\np2,v\np3,u\np4,v\np5,u\np6,v\np7,u\np8,v\np9,u\np10,v\np11,u\np12,v\np13,u\np14,v\np15,u\np16,v\np17,u\np18,v\np19,u\np20,v\np21,u\n",
        &["column `a` has 21 different texts", "--ignore a"],
    ),
    (
        "a measurement as label",
        "a,y\n1,.11\n1,.12\n1,.13\n1,.14\n1,.15\n1,.16\n1,.17\n1,.18\n1,.19\n1,.20\n1,.21\n1,.22\n1,.23\n1,.24\n1,.25\n1,.26\n1,.27\n1,.28\n1,.29\n1,.30\n1,.31\n",
        &["column `y` has 21 different values", "--label"],
    ),
    ("duplicate names", "a,a,y\n1,2,u\n3,4,v\n", &["bad.csv", "`a`"]),
];

#[test]
fn bad_tables_name_the_place_and_the_remedy() {
    for (name, content, words) in TABLES {
        let room = Room::new();
        room.write("bad.csv", content);
        let error = room.fails(3, &["fit", "bad.csv", "--model", "m.lip"]);
        for word in *words {
            assert!(error.contains(word), "{name}: `{word}` is not in: {error}");
        }
        assert_eq!(room.names(), ["bad.csv"], "{name}: something was written");
    }
}

#[test]
fn files_that_cannot_be_read_are_told_apart() {
    let room = Room::new();
    assert!(room.fails(1, &["fit", "absent.csv"]).contains("cannot read absent.csv: there is no such file"));
    std::fs::create_dir(room.path("folder")).unwrap();
    assert!(room.fails(1, &["fit", "folder"]).contains("it is a folder"));
    room.write("wrong.npy", b"not numpy at all");
    assert!(room.fails(3, &["fit", "wrong.npy"]).contains("wrong.npy"));
    room.write("wrong.parquet", b"PAR1 but then nothing");
    assert!(room.fails(3, &["fit", "wrong.parquet"]).contains("wrong.parquet"));
    room.write("cut.csv.gz", [0x1f, 0x8b, 8, 0, 0]);
    assert!(room.fails(3, &["fit", "cut.csv.gz"]).contains("cut.csv.gz"));
    room.write("latin.csv", b"a,y\n1,u\n2,\xe9\n");
    assert!(room.fails(3, &["fit", "latin.csv"]).contains("line 3"));
    room.write("bad.libsvm", "1 1:2 1:3\n");
    assert!(room.fails(3, &["fit", "bad.libsvm"]).contains("bad.libsvm, line 1"));
}

#[test]
fn columns_that_do_not_exist_are_named() {
    let room = Room::new();
    assert!(
        room.fails(3, &["fit", "--data", "haberman", "--label", "nope"]).contains("no column `nope`; there are: age")
    );
    assert!(room.fails(3, &["fit", "--data", "haberman", "--label", "9"]).contains("no column 9"));
    assert!(room.fails(3, &["fit", "--data", "haberman", "--ignore", "nope"]).contains("nope"));
    assert!(room.fails(2, &["fit", "--data", "haberman", "--kind", "age"]).contains("COLUMN=KIND"));
    assert!(room.fails(2, &["fit", "--data", "nope"]).contains("haberman"), "the names there are are listed");
    assert!(room.fails(2, &["fit", "--data", "haberman", "--k", "0"]).contains("--k"));
    assert!(room.fails(2, &["fit", "--data", "haberman", "--k", "307"]).contains("306"));
    assert!(room.fails(2, &["evaluate", "--data", "haberman", "--train-fraction", "1.5"]).contains("--train-fraction"));
    assert!(room.fails(2, &["evaluate", "--data", "haberman", "--folds", "1"]).contains("--folds"));
}

#[test]
fn a_line_without_end_is_refused_without_holding_it() {
    let room = Room::new();
    room.write("wall.csv", [b"a,y\n1,u\n".as_slice(), &vec![b'7'; 80 << 20]].concat());
    let error = room.fails(3, &["fit", "wall.csv"]);
    assert!(error.contains("wall.csv, line 3") && error.contains("64 MiB"), "{error}");
}

#[test]
fn outputs_that_cannot_be_written_leave_nothing_behind() {
    let room = Room::new();
    let error = room.fails(1, &["fit", "--data", "haberman", "--model", "absent/m.lip"]);
    assert!(error.contains("absent"), "{error}");
    std::fs::create_dir(room.path("folder")).unwrap();
    assert!(room.fails(1, &["fit", "--data", "haberman", "--model", "folder"]).contains("folder"));
    assert_eq!(room.names(), ["folder"]);
    // A failed prediction leaves the old output as it was.
    room.ok(&["fit", "--data", "haberman", "--model", "m.lip"]);
    room.write("out.csv", "old");
    room.write("new.csv", "age,operation_year,positive_axillary_nodes\n1,2,3\n1,2,x\n");
    room.fails(3, &["predict", "--model", "m.lip", "new.csv", "-o", "out.csv"]);
    assert_eq!(room.read("out.csv"), b"old");
    assert_eq!(room.names(), ["folder", "m.lip", "new.csv", "out.csv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let room = Room::new();
    let error = room.fails(1, &["fit", "--data", "haberman", "--model", "/dev/full"]);
    assert!(error.contains("/dev/full") && error.contains("disk is full"), "{error}");
    let error = room.fails(1, &["datasets", "export", "cancer", "-o", "/dev/full"]);
    assert!(error.contains("disk is full"), "{error}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let out = std::process::Command::new(assert_cmd::cargo::cargo_bin!("lipmetric"))
        .args(["datasets", "export", "cancer"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn model_files_that_cannot_be_trusted_are_refused_with_the_reason() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--model", "m.lip"]);
    let good = room.read("m.lip");
    let refused = |bytes: &[u8]| {
        room.write("bad.lip", bytes);
        let error = room.fails(3, &["predict", "--model", "bad.lip", "--data", "haberman"]);
        assert!(error.contains("bad.lip"), "{error}");
        assert_eq!(error, room.fails(3, &["inspect", "bad.lip"]));
        error
    };
    assert!(refused(&good[..good.len() - 1]).contains("cut short"));
    assert!(refused(&good[..good.len() / 2]).contains("damaged"));
    assert!(refused(&good[..20]).contains("cut short"));
    assert!(refused(b"").contains("empty"));
    assert!(refused(b"a,b,c\n1,2,3\n").contains("not a lipmetric model"));
    let mut changed = good.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    assert!(refused(&changed).contains("checksum"));
    let find = |text: &[u8]| good.windows(text.len()).position(|w| w == text).unwrap() + text.len();
    let mut changed = good.clone();
    let at = find(br#"fill\":\"med"#);
    assert_eq!(&good[at..at + 3], b"ian");
    changed[at - 3..at + 3].copy_from_slice(b"mode\\\"");
    refused(&changed);
    let mut changed = good.clone();
    changed[find(br#"fill\":5"#)] = b'9';
    assert!(refused(&changed).contains("checksum"));
    let mut newer = good.clone();
    newer[find(br#"format_version\":"#)] = b'9';
    assert!(refused(&newer).contains("format 9"), "{}", refused(&newer));
}

#[test]
fn a_data_set_that_cannot_be_fetched_leaves_nothing_behind() {
    let room = Room::new();
    // A port that nobody listens on: what a machine without a network sees.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = room.fails(1, &["datasets", "fetch", "fourclass", "--url", &format!("http://127.0.0.1:{port}/f")]);
    assert!(error.contains("cannot download") && error.contains("--from FILE"), "{error}");
    assert_eq!(error.contains("--features fetch"), cfg!(not(feature = "fetch")), "{error}");
    room.write("other.csv", "x1,x2,label\n1,2,+1\n3,4,-1\n");
    let error = room.fails(3, &["datasets", "fetch", "fourclass", "--from", "other.csv"]);
    assert!(error.contains("not the data set `fourclass`") && error.contains("862"), "{error}");
    assert!(room.fails(2, &["datasets", "fetch", "voting"]).contains("travels with the program"));
    assert!(room.fails(2, &["datasets", "fetch", "iris"]).contains("haberman"));
    assert_eq!(room.names(), ["other.csv"]);
}

#[test]
fn a_parquet_column_of_an_unknown_type_can_be_left_out() {
    let room = Room::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../lipmetric-io/tests/fixtures/dates.parquet");
    std::fs::copy(fixture, room.path("d.parquet")).unwrap();
    let error = room.fails(3, &["fit", "d.parquet"]);
    assert!(error.contains("`when`") && error.contains("--ignore when"), "{error}");
    room.ok(&["fit", "d.parquet", "--ignore", "when", "--model", "m.lip"]);
    assert_eq!(room.ok(&["predict", "d.parquet", "--model", "m.lip", "--no-header"]), "a\nb\na\nb\n");
}

#[test]
fn a_model_without_rows_maps_but_does_not_predict() {
    let room = Room::new();
    room.ok(&["fit", "--data", "haberman", "--model", "m.lip", "--without-rows"]);
    room.ok(&["transform", "--data", "haberman", "--model", "m.lip"]);
    assert!(
        room.fails(3, &["predict", "--data", "haberman", "--model", "m.lip"]).contains("without its training rows")
    );
}
