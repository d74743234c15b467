//! Tables as people have them: nothing is taken for what it is not without a word.

use crate::common::Room;

fn notes(room: &Room, args: &[&str]) -> String {
    let out = room.run(args);
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{args:?}: {error}");
    error
}

/// Rows of two classes, with a first column that numbers them.
fn numbered(name: &str) -> String {
    let row = |i: usize| format!("{i},{},{}\n", (i * 7) % 5, if i < 20 { "a" } else { "b" });
    format!("{name},x,y\n{}", (0..40).map(row).collect::<String>())
}

#[test]
fn a_row_number_is_not_a_feature() {
    let room = Room::new();
    for name in ["", "id", "Unnamed: 0", "index"] {
        room.write("a.csv", numbered(name));
        let report = notes(&room, &["fit", "a.csv", "--method", "nn", "--model", "m.lip"]);
        assert!(report.contains("numbers the rows (0 to 39): it is left out") && report.contains("--kind"), "{report}");
        let shown = room.json(&["inspect", "m.lip", "--json"]);
        assert_eq!(shown["feature_names"], serde_json::json!(["x"]), "{name}");
        // New rows have other numbers, or none at all.
        room.write("new.csv", format!("{name},x\n1000,3\n1001,4\n"));
        room.ok(&["predict", "new.csv", "--model", "m.lip"]);
        room.write("bare.csv", "x\n3\n4\n");
        room.ok(&["predict", "bare.csv", "--model", "m.lip"]);
    }
    room.write("a.csv", numbered("id"));
    let kept = room.run(&["fit", "a.csv", "--method", "nn", "--kind", "id=numeric", "--model", "m.lip"]);
    assert!(kept.stderr.is_empty());
    assert_eq!(room.json(&["inspect", "m.lip", "--json"])["p"], 2);
    room.write("a.csv", numbered("time"));
    let report = notes(&room, &["fit", "a.csv", "--method", "nn"]);
    assert!(report.contains("column `time` counts up with the rows") && report.contains("--ignore time"), "{report}");
}

#[test]
fn a_row_number_is_not_a_feature_where_rows_were_shuffled_either() {
    let room = Room::new();
    let table = |name: &str, number: &dyn Fn(usize) -> usize| -> String {
        let rows: String =
            (0..40).map(|i| format!("{},{},{}\n", number(i), i * 7 % 11, if i < 20 { "a" } else { "b" })).collect();
        format!("{name},x,y\n{rows}")
    };
    // A permutation; a part of a table with an index, as a split leaves it; an index that begins anew.
    let (shuffled, part, anew) = (|i| 17 * i % 40, |i| 3 * (17 * i % 40), |i| i % 13);
    for (name, number, says) in [
        ("id", &shuffled as &dyn Fn(usize) -> usize, "`id` numbers the rows (0 to 39): it is left out"),
        ("", &shuffled, "`x1` numbers the rows (0 to 39): it is left out"),
        ("", &part, "`x1` numbers the rows (0 to 117): it is left out"),
        ("", &anew, "`x1` holds whole numbers and has no name"),
        ("patient_id", &part, "`patient_id` has another whole number on each row"),
        ("rank", &shuffled, "`rank` has another whole number on each row"),
    ] {
        room.write("a.csv", table(name, number));
        let report = notes(&room, &["fit", "a.csv", "--method", "nn", "--model", "m.lip"]);
        assert!(report.contains(says), "{name}: {report}");
        let out = says.contains("left out");
        assert_eq!(room.json(&["inspect", "m.lip", "--json"])["p"], if out { 1 } else { 2 }, "{name}");
    }
}

#[test]
fn judging_a_model_on_its_own_rows_is_said_to_be_no_estimate() {
    let room = Room::new();
    room.ok(&["fit", "--data", "echo", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    let report = notes(&room, &["evaluate", "--data", "echo", "--model", "m.lip"]);
    assert!(report.contains("all 74 rows are rows that the model was fitted on: this is no estimate"), "{report}");
    let json = room.json(&["evaluate", "--data", "echo", "--model", "m.lip", "--json", "-q"]);
    assert_eq!(json["training_rows"], 74);
    room.write("train.csv", "a,y\n1,u\n2,v\n3,u\n9,v\n");
    room.write("test.csv", "a,y\n1,u\n5,v\n");
    room.ok(&["fit", "train.csv", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    let report = notes(&room, &["evaluate", "test.csv", "--model", "m.lip"]);
    assert!(report.contains("1 of the 2 rows"), "{report}");
}

#[test]
fn numbers_in_other_notations_are_told_for_what_they_are_and_read_when_it_is_said() {
    let room = Room::new();
    room.write("euro.csv", "pay;y\n1.234,5;u\n12,25;v\n1.000.000,0;u\n3;v\n");
    let error = room.fails(3, &["fit", "euro.csv", "--decimal", "."]);
    assert!(error.contains("line 2, column `pay`: `1.234,5`") && error.contains("--decimal ,"), "{error}");
    let error = room.fails(3, &["fit", "euro.csv", "--decimal", ","]);
    assert!(error.contains("1.234,5"), "a point is no part of a number then: {error}");
    let fit =
        ["fit", "euro.csv", "--decimal", ",", "--thousands", ".", "--method", "nn", "--k", "1", "--scale", "none"];
    room.ok(&[&fit[..], &["--model", "m.lip"]].concat());
    let mapped = room.ok(&["transform", "euro.csv", "--model", "m.lip", "--no-header"]);
    assert_eq!(mapped, "1234.5\n12.25\n1000000\n3\n", "the model remembers the notation");
    for (cell, word) in [
        ("\"132,796\"", "--thousands ,"),
        ("13.2 %", "a percentage"),
        ("$13", "an amount of money"),
        ("2024-05-01", "a date or a time"),
        ("01.05.2024", "a date or a time"),
    ] {
        room.write("a.csv", format!("v,y\n{cell},u\n{cell},v\n"));
        let error = room.fails(3, &["fit", "a.csv"]);
        assert!(error.contains(word) && error.contains("--kind v=category"), "{cell}: {error}");
    }
    assert!(room.fails(2, &["fit", "a.csv", "--decimal", ",", "--thousands", ","]).contains("--thousands"));
}

#[test]
fn decimal_commas_are_recognised_where_there_is_no_doubt_and_else_refused_with_the_remedy() {
    let room = Room::new();
    let fit = ["fit", "a.csv", "--method", "nn", "--k", "1", "--scale", "none", "--model", "m.lip"];
    for (rows, mapped) in [
        (
            "1.234,5;3;rot;u\n12,25;4;blau;v\n1.000;5;rot;u\n;6;rot;v\n",
            "1234.5,3,0,1\n12.25,4,1,0\n1000,5,0,1\n1000,6,0,1\n",
        ),
        (
            "0,125;1,250;rot;u\n1,5;2,5;blau;v\n2;3;rot;u\n3;3;rot;v\n",
            "0.125,1.25,0,1\n1.5,2.5,1,0\n2,3,0,1\n3,3,0,1\n",
        ),
    ] {
        room.write("a.csv", format!("pay;b;c;y\n{rows}"));
        let told = notes(&room, &fit);
        assert!(told.contains("decimal commas") && told.contains("`--decimal .`"), "{told}");
        assert_eq!(room.ok(&["transform", "a.csv", "--model", "m.lip", "--no-header"]), mapped);
    }
    // A number to predict tells it, too.
    room.write("a.csv", "a;y\n1;0,5\n2;1,5\n3;2,25\n");
    assert!(notes(&room, &["fit", "a.csv", "--task", "regression", "--method", "nn", "--k", "1"]).contains("`0,5`"));
    for (rows, word) in [
        // Each may be a number with thousands, or its column holds something else, or another column has points.
        ("1,234;3;u\n12,250;4;v\n", "--thousands ,"),
        ("1,5;3;u\n2,5;4;v\nk.A.;5;u\n", "--missing k.A."),
        ("1,5;3.5;u\n2,25;4;v\n", "--decimal ,"),
        ("1,5;1.234;u\n2,25;12.345;v\n", "--decimal ,"),
    ] {
        room.write("a.csv", format!("a;b;y\n{rows}"));
        let error = room.fails(3, &fit);
        assert!(error.contains(word), "{rows}: {error}");
    }
    // A point may then stand between thousands.
    let error = room.fails(3, &[&fit[..], &["--decimal", ","]].concat());
    assert!(error.contains("column `b`: `1.234`") && error.contains("--thousands ."), "{error}");
    // Cells that commas separate may as well be lists.
    room.write("a.csv", "a,y\n\"1,5\",u\n\"2,5\",v\n");
    assert!(room.fails(3, &fit).contains("--decimal ,"));
}

#[test]
fn missing_values_can_be_named_and_the_model_remembers_them() {
    let room = Room::new();
    room.write("a.csv", "a,b,y\n1,None,u\n-999,2,v\n3,#N/A,u\n-999.0,4,v\n");
    let args = ["fit", "a.csv", "--missing", "-999,None,#N/A", "--method", "nn", "--k", "1", "--scale", "none"];
    room.ok(&[&args[..], &["--model", "m.lip"]].concat());
    let mapped = room.ok(&["transform", "a.csv", "--model", "m.lip", "--no-header"]);
    assert_eq!(mapped, "1,3\n2,2\n3,3\n2,4\n", "filled with the medians 2 and 3");
}

#[test]
fn a_number_that_stands_for_a_missing_value_is_told() {
    let room = Room::new();
    let row =
        |i: usize| format!("{},{},{}\n", if i.is_multiple_of(10) { -999 } else { 90 + i as i64 }, i * 7 % 11, i % 2);
    room.write("a.csv", format!("bp,b,y\n{}", (0..40).map(row).collect::<String>()));
    let report = notes(&room, &["fit", "a.csv", "--method", "nn"]);
    assert!(report.contains("column `bp` is -999 on 4 rows, and from 91 to 129 on the others"), "{report}");
    assert!(report.contains("`--missing -999`") && !report.contains("column `b`"), "{report}");
    assert_eq!(notes(&room, &["fit", "a.csv", "--method", "nn", "--missing", "-999"]), "");
    // Meant as a number, it is one.
    assert_eq!(notes(&room, &["fit", "a.csv", "--method", "nn", "--kind", "bp=numeric"]), "");
}

#[test]
fn rows_without_a_label_can_be_left_out() {
    let room = Room::new();
    room.write("a.csv", "a,y\n1,u\n2,\n3,v\n4,?\n");
    assert!(room.fails(3, &["fit", "a.csv"]).contains("--skip-unlabelled"));
    let report = notes(&room, &["fit", "a.csv", "--skip-unlabelled", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    assert!(report.contains("2 rows without a label are left out"), "{report}");
    let json = room.json(&["evaluate", "a.csv", "--model", "m.lip", "--skip-unlabelled", "--json", "-q"]);
    assert_eq!(json["n"], 2);
}

#[test]
fn all_problems_of_a_table_are_told_at_once_with_a_line_to_paste() {
    let room = Room::new();
    let row = |i: usize| format!("p{i},2024-01-{:02},\"{},500\",{}\n", i % 28 + 1, i % 3 + 1, i % 2);
    room.write("a.csv", format!("who,when,x,y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "a.csv"]);
    assert!(error.contains("3 columns cannot be used as they are"), "{error}");
    assert!(error.contains("column `who` has 30 different texts") && error.contains("a date or a time"), "{error}");
    assert!(error.contains("`--thousands ,` `--ignore who,when`"), "{error}");
    room.ok(&["fit", "a.csv", "--thousands", ",", "--ignore", "who,when", "--method", "nn"]);
}

#[test]
fn labels_that_are_missing_are_told_together_with_columns_that_cannot_be_read() {
    let room = Room::new();
    let row = |i: usize| format!("2024-01-{:02},{i},{}\n", i % 28 + 1, ["u", "v", ""][i % 3]);
    room.write("a.csv", format!("day,b,y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "a.csv"]);
    assert!(error.contains("--ignore day") && error.contains("missing in 10 of 30 rows"), "{error}");
    assert!(error.contains("`--skip-unlabelled`"), "{error}");
    room.ok(&["fit", "a.csv", "--ignore", "day", "--skip-unlabelled", "--method", "nn"]);
}

#[test]
fn words_that_stand_for_nothing_are_no_categories() {
    let room = Room::new();
    let row =
        |i: usize| format!("{},{},{}\n", i * 7 % 11, ["#N/A", "None", "-", "<NA>", "3", "4"][i % 6], ["u", "v"][i % 2]);
    room.write("a.csv", format!("a,b,y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "a.csv"]);
    assert!(error.contains("line 2, column `b`: `#N/A` seems to stand for a missing value"), "{error}");
    assert!(error.contains("say `--missing '#N/A,None,-,<NA>'`"), "{error}");
    room.ok(&["fit", "a.csv", "--missing", "#N/A,None,-,<NA>", "--method", "nn"]);
    // With another problem in the table both are in the line to paste.
    let row = |i: usize| format!("2024-01-{:02},{},{}\n", i % 28 + 1, ["None", "2", "3"][i % 3], ["u", "v"][i % 2]);
    room.write("b.csv", format!("day,b,y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "b.csv"]);
    assert!(error.contains("leave the others out: `--missing None` `--ignore day`"), "{error}");
    // A cell that may stand for anything.
    room.write("c.csv", "a,y\n1,u\n2,v\noops,u\n4,v\n");
    assert!(room.fails(3, &["fit", "c.csv"]).contains("or say `--missing oops` if it stands for a missing value"));
}

#[test]
fn the_line_to_paste_says_nothing_of_cells_in_columns_that_it_leaves_out() {
    let room = Room::new();
    // Names with gaps, a day with gaps, numbers with others.
    let row = |i: usize| {
        let (who, day) = (if i % 9 == 4 { "None".to_owned() } else { format!("p{i}") }, i % 28 + 1);
        let day = if i % 7 == 3 { "#N/A".to_owned() } else { format!("2024-01-{day:02}") };
        format!("{who},{day},{},{}\n", ["-", "2", "3"][i % 3], ["u", "v"][i % 2])
    };
    room.write("a.csv", format!("who,day,b,y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "a.csv"]);
    assert!(error.contains("leave the others out: `--missing -` `--ignore who,day`"), "{error}");
    room.ok(&["fit", "a.csv", "--missing", "-", "--ignore", "who,day", "--method", "nn"]);
    // Of these nothing is left.
    let error = room.fails(3, &["fit", "a.csv", "--ignore", "b"]);
    assert!(error.contains("to leave all of them out: `--ignore who,day`"), "{error}");
}

#[test]
fn the_line_to_paste_reads_a_table_of_decimal_commas_and_is_one_for_a_shell() {
    let room = Room::new();
    // Points between thousands alone, which a number with a fraction of three digits has as well.
    let row = |i: usize| format!("{},5;{}.{:03};{},25;{}\n", i % 7, 20 + i, i * 37 % 1000, i % 5, ["u", "v"][i % 2]);
    room.write("a.csv", format!("a;pay;b;y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "a.csv"]);
    assert!(
        error.contains("to read all of them: `--decimal ,` `--thousands .` (`20.000` in column `pay` is then 20000)"),
        "{error}"
    );
    room.ok(&["fit", "a.csv", "--decimal", ",", "--thousands", ".", "--method", "nn"]);
    // Commas separate the cells, so that nothing is recognised; names with blanks and commas.
    let row = |i: usize| format!("\"{},5\",\"{},25\",p{i},q{i},{}\n", i % 7, i % 5, ["u", "v"][i % 2]);
    room.write("b.csv", format!("a,b,who is,\"at, or near\",y\n{}", (0..30).map(row).collect::<String>()));
    let error = room.fails(3, &["fit", "b.csv"]);
    assert!(error.contains("leave the others out: `--decimal ,` `--ignore 'who is,4'`"), "{error}");
    room.ok(&["fit", "b.csv", "--decimal", ",", "--ignore", "who is,4", "--method", "nn"]);
}

#[test]
fn columns_that_are_new_or_absent_are_told_together_with_what_may_have_been_meant() {
    let room = Room::new();
    room.write("a.csv", "age,chol,y\n1,2,u\n3,4,v\n5,7,u\n");
    room.ok(&["fit", "a.csv", "--method", "nn", "--k", "1", "--model", "m.lip"]);
    room.write("new.csv", "Age,zip,weight\n1,2,3\n");
    let error = room.fails(3, &["predict", "new.csv", "--model", "m.lip"]);
    for word in [
        "columns `age`, `chol`",
        "is `Age` meant to be `age`?",
        "`Age`, `zip`, `weight` were not there",
        "--extra ignore",
    ] {
        assert!(error.contains(word), "`{word}`: {error}");
    }
    room.write("new.csv", "age,zip,chol,weight\n1,2,3,4\n");
    assert!(room.fails(3, &["predict", "new.csv", "--model", "m.lip"]).contains("--ignore zip,weight"));
    room.ok(&["predict", "new.csv", "--model", "m.lip", "--extra", "ignore"]);
    assert!(room.fails(3, &["fit", "a.csv", "--label", "Y"]).contains("did you mean `y`?"));
}

#[test]
fn labels_that_are_nearly_the_same_and_classes_of_one_row_are_told() {
    let room = Room::new();
    room.write("a.csv", "a,y\n1,class_0\n2,CLASS_0\n3,class_0\n4,CLASS 0\n5,rare\n6,class_1\n7,class_1\n");
    let report = notes(&room, &["fit", "a.csv", "--method", "nn"]);
    assert!(report.contains("`CLASS 0` and `CLASS_0` and `class_0`"), "{report}");
    assert!(report.contains("classes of one row only") && report.contains("`rare`"), "{report}");
}

#[test]
fn an_encoding_can_be_named() {
    let room = Room::new();
    room.write("a.csv", b"gr\xf6\xdfe,y\n1,u\n2,v\n");
    assert!(room.fails(3, &["fit", "a.csv"]).contains("--encoding latin-1"));
    let report = room.ok(&["fit", "a.csv", "--encoding", "latin-1", "--method", "nn", "--k", "1"]);
    assert!(report.contains("größe"), "{report}");
    assert!(room.fails(2, &["fit", "a.csv", "--encoding", "ebcdic"]).contains("latin-1"));
}
