//! Preparation: what columns are taken for, what is refused and how, and that a fitted preparation is replayed.

use lipmetric::Labels;
use lipmetric::data::{Column, Table};
use lipmetric::prepare::{ColumnRef, Dataset, Encoding, Fill, Kind, Preparation, Roles, Scaling, Schema, Unseen};
use proptest::prelude::*;

fn table(columns: &[(&str, &[&str])]) -> Table {
    let rows = columns[0].1.len() as u64;
    let mut table = Table::new("t.csv", columns.iter().map(|(name, cells)| Column::texts(*name, *cells)).collect());
    table.lines = (2..2 + rows).collect();
    table
}

fn kinds(t: &Table) -> Vec<Kind> {
    Schema::infer(t, &Roles::default()).unwrap().features.iter().map(|f| f.encoding.kind()).collect()
}

fn refusal(t: &Table) -> String {
    Schema::infer(t, &Roles::default()).unwrap_err().to_string()
}

#[test]
fn kinds_follow_the_content() {
    let t = table(&[
        ("n", &["1", " 2.5 ", "-3e4", "NA", "?"]),
        ("b", &["yes", "No", "", "YES", "no"]),
        ("c", &["red", "7", "blue", "red", "n/a"]),
        ("01", &["0", "1", "1", "nan", "NULL"]),
        ("y", &["a", "b", "a", "b", "a"]),
    ]);
    assert_eq!(kinds(&t), [Kind::Numeric, Kind::Boolean, Kind::Category, Kind::Numeric]);
}

#[test]
fn a_stray_text_in_a_numeric_column_is_named_with_its_place_and_the_remedy() {
    let t = table(&[("age", &["30", "31", "abc", "33"]), ("y", &["a", "b", "a", "b"])]);
    let m = refusal(&t);
    assert!(m.contains("t.csv, line 4, column `age`: `abc`"), "{m}");
    assert!(m.contains("3 of the column's 4 values"), "{m}");
    assert!(m.contains("kind = age=category"), "{m}");
    let t = table(&[("age", &["30", "inf"]), ("y", &["a", "b"])]);
    assert!(refusal(&t).contains("line 3, column `age`: `inf` is not a finite number"));
}

#[test]
fn columns_without_values_identifiers_and_missing_labels_are_refused_by_name() {
    let t = table(&[("gone", &["", "NA"]), ("y", &["a", "b"])]);
    assert!(refusal(&t).contains("every value of column `gone` is missing"), "{}", refusal(&t));
    let ids: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let t = table(&[("id", &ids), ("y", &["a"; 30])]);
    assert!(refusal(&t).contains("ignore = id"), "{}", refusal(&t));
    let t = table(&[("n", &["1", "2"]), ("y", &["a", ""])]);
    let schema = Schema::infer(&t, &Roles::default()).unwrap();
    assert!(schema.labels(&t).unwrap_err().to_string().contains("line 3, column `y`: the label is missing"));
}

#[test]
fn roles_take_names_numbers_and_numbers_from_the_end() {
    let t = table(&[("a", &["1", "2"]), ("b", &["3", "4"]), ("c", &["u", "v"]), ("d", &["5", "6"])]);
    let roles = Roles {
        label: Some(ColumnRef::new("c")),
        ignore: vec![ColumnRef::new("-1")],
        kinds: vec![(ColumnRef::new("2"), Kind::Category)],
        ..Roles::default()
    };
    let schema = Schema::infer(&t, &roles).unwrap();
    assert_eq!(schema.features.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(schema.features[1].encoding, Encoding::Category { levels: vec!["3".into(), "4".into()] });
    assert_eq!(schema.ignored, ["d"]);
    for bad in ["0", "5", "-5", "nope"] {
        let roles = Roles { label: Some(ColumnRef::new(bad)), ..Roles::default() };
        assert!(Schema::infer(&t, &roles).is_err(), "{bad}");
    }
    let roles = Roles { ignore: vec![ColumnRef::new("d")], ..Roles::default() };
    assert!(Schema::infer(&t, &roles).unwrap_err().to_string().contains("is the label"));
}

#[test]
fn at_prediction_a_new_absent_or_differently_typed_column_is_named() {
    let train = table(&[("a", &["1", "2"]), ("b", &["x", "z"]), ("y", &["u", "v"])]);
    let schema = Schema::infer(&train, &Roles::default()).unwrap();
    let read = |t: &Table| schema.read(t, Unseen::Error).map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(read(&table(&[("b", &["x"]), ("a", &["1"])])), Ok(()), "order and label do not matter");
    assert!(read(&table(&[("a", &["1"]), ("b", &["x"]), ("new", &["1"])])).unwrap_err().contains("`new`"));
    assert!(read(&table(&[("a", &["1"])])).unwrap_err().contains("`b`, which the model needs, is absent"));
    assert!(read(&table(&[("a", &["1", "w"]), ("b", &["x", "x"])])).unwrap_err().contains("line 3, column `a`: `w`"));
    assert!(read(&table(&[("a", &["1"]), ("b", &["q"])])).unwrap_err().contains("level `q` was not seen"));
    assert!(schema.read(&table(&[("a", &["1"]), ("b", &["q"])]), Unseen::Ignore).is_ok());
}

#[test]
fn sources_without_names_are_matched_by_position() {
    let unnamed = |columns: &[(&str, &[&str])], sparse| {
        let mut table = table(columns);
        (table.named, table.sparse) = (false, sparse);
        table
    };
    let roles = Roles { label: Some(ColumnRef::new("1")), ignore: vec![ColumnRef::new("3")], ..Roles::default() };
    let train = unnamed(&[("x1", &["u", "v"]), ("x2", &["1", "2"]), ("x3", &["8", "9"]), ("x4", &["3", "4"])], false);
    let schema = Schema::infer(&train, &roles).unwrap();
    let prepared = |t: &Table| {
        let columns = schema.read(t, Unseen::Error)?;
        Preparation::fit(schema.clone(), &columns, None, Fill::Median, Scaling::None)?.apply(&columns)
    };
    let want = [1.0, 3.0];
    assert_eq!(prepared(&train).unwrap().row(0), want);
    assert_eq!(prepared(&unnamed(&[("x1", &["1"]), ("x2", &["8"]), ("x3", &["3"])], false)).unwrap().row(0), want);
    assert_eq!(prepared(&unnamed(&[("x1", &["1"]), ("x2", &["3"])], false)).unwrap().row(0), want);
    assert_eq!(prepared(&unnamed(&[("x1", &["1"]), ("label", &["u"])], true)).unwrap().row(0), [1.0, 0.0]);
    assert!(prepared(&unnamed(&[("x1", &["1"])], false)).unwrap_err().to_string().contains("1 columns"));
}

#[test]
fn labels_that_are_the_same_number_are_one_class() {
    let t = table(&[("n", &["1", "2", "3", "4"]), ("y", &["+1", "1.0", "-1", "1"])]);
    let schema = Schema::infer(&t, &Roles::default()).unwrap();
    let y = schema.labels(&t).unwrap();
    assert_eq!(y.classes(), ["-1", "+1"]);
    assert_eq!(y.codes(), [1, 1, 0, 1]);
    let other = table(&[("n", &["1", "2"]), ("y", &["1", "2"])]);
    let y = schema.labels_as(&other, y.classes()).unwrap();
    assert_eq!(y.classes(), ["-1", "+1", "2"]);
    assert_eq!(y.codes(), [1, 2]);
}

#[test]
fn every_fill_rule_and_scaling_does_what_its_name_says() {
    let t = table(&[("n", &["1", "", "1", "4", "10"]), ("c", &["u", "v", "v", "?", "u"]), ("y", &["a"; 5])]);
    let schema = Schema::infer(&t, &Roles::default()).unwrap();
    let columns = schema.read(&t, Unseen::Error).unwrap();
    let filled = |fill| {
        let x = Preparation::fit(schema.clone(), &columns, None, fill, Scaling::None).unwrap().apply(&columns).unwrap();
        x[(1, 0)]
    };
    assert_eq!(
        [filled(Fill::Median), filled(Fill::Mean), filled(Fill::Mode), filled(Fill::Zero)],
        [2.5, 4.0, 1.0, 0.0]
    );
    let refused = Preparation::fit(schema.clone(), &columns, None, Fill::Error, Scaling::None).unwrap_err();
    assert!(refused.to_string().contains("column `n` has 1 missing"), "{refused}");
    let p = Preparation::fit(schema.clone(), &columns, None, Fill::Mean, Scaling::Minmax).unwrap();
    let x = p.apply(&columns).unwrap();
    assert_eq!((x[(0, 0)], x[(4, 0)]), (0.0, 1.0));
    assert_eq!(&x.row(3)[1..], [1.0, 0.0], "a missing category is filled with the first of the most frequent levels");
    // Rows with values in full, then one with a gap at prediction.
    let full = [0, 2, 4];
    let p = Preparation::fit(schema, &columns, Some(&full), Fill::Error, Scaling::Standard).unwrap();
    assert!(p.apply_rows(&columns, &full).is_ok());
    let gap = p.read(&t, Unseen::Error).unwrap_err().to_string();
    assert!(gap.contains("t.csv, line 3, column `n`: the value is missing"), "{gap}");
}

#[test]
fn a_preparation_survives_being_written_and_read() {
    let t = table(&[("n", &["1", "", "0.1"]), ("c", &["u", "v", "v"]), ("y", &["a", "b", "b"])]);
    let schema = Schema::infer(&t, &Roles::default()).unwrap();
    let columns = schema.read(&t, Unseen::Error).unwrap();
    for scaling in [Scaling::Standard, Scaling::Quantile, Scaling::Unit] {
        let p = Preparation::fit(schema.clone(), &columns, None, Fill::Mean, scaling).unwrap();
        let text = serde_json::to_string(&p).unwrap();
        assert_eq!(serde_json::from_str::<Preparation>(&text).unwrap(), p);
    }
    // Knots that do not rise are no function that could be turned around.
    let p = Preparation::fit(schema, &columns, None, Fill::Mean, Scaling::Quantile).unwrap();
    let text = serde_json::to_string(&p).unwrap();
    let broken = text.replace("\"knots\":[[0.1,", "\"knots\":[[7.5,");
    assert_ne!(text, broken);
    let refused = serde_json::from_str::<Preparation>(&broken).unwrap_err().to_string();
    assert!(refused.contains("the preparation of column `n` does not fit the column"), "{refused}");
}

#[test]
fn ranks_become_normal_quantiles_whatever_the_units() {
    let prepared = |values: &[&str]| {
        let t = table(&[("n", values), ("y", &["a", "b", "b", "a", "b"])]);
        let schema = Schema::infer(&t, &Roles::default()).unwrap();
        let columns = schema.read(&t, Unseen::Error).unwrap();
        let p = Preparation::fit(schema, &columns, None, Fill::Median, Scaling::Quantile).unwrap();
        assert!(!p.is_linear());
        let x = p.apply(&columns).unwrap();
        // What is prepared can be turned back into what it was.
        for (i, told) in values.iter().enumerate() {
            let (numbers, again) = p.restored(x.row(i));
            assert!((numbers[0].unwrap() / told.parse::<f64>().unwrap() - 1.0).abs() < 1e-9);
            assert!((again[0] - x[(i, 0)]).abs() < 1e-12);
        }
        x
    };
    let plain = prepared(&["1.5", "2.5", "3.5", "4.5", "5.5"]);
    assert_eq!(plain, prepared(&["1", "20", "300", "4000", "50000"]));
    // The quantiles of 0.1, 0.3, 0.5, 0.7 and 0.9.
    for (v, z) in
        plain.as_slice().iter().zip([-1.281_551_565_5, -0.524_400_512_7, 0.0, 0.524_400_512_7, 1.281_551_565_5])
    {
        assert!((v - z).abs() < 1e-9, "{v}");
    }
}

#[test]
fn rows_of_unit_length_forget_how_long_they_were() {
    let t = table(&[
        ("a", &["3", "3e200", "0", "-1e-170"]),
        ("b", &["4", "4e200", "0", "0"]),
        ("y", &["u", "v", "u", "v"]),
    ]);
    let schema = Schema::infer(&t, &Roles::default()).unwrap();
    let columns = schema.read(&t, Unseen::Error).unwrap();
    let p = Preparation::fit(schema, &columns, None, Fill::Median, Scaling::Unit).unwrap();
    assert!(p.is_unit() && !p.is_linear() && p.units() == [None, None]);
    let x = p.apply(&columns).unwrap();
    for (i, wanted) in [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]].iter().enumerate() {
        x.row(i).iter().zip(wanted).for_each(|(v, w)| assert!((v - w).abs() < 1e-15, "{v} and {w}"));
    }
    let (numbers, again) = p.restored(x.row(0));
    assert!((numbers[1].unwrap() - 0.8).abs() < 1e-15 && (again[0] - 0.6).abs() < 1e-15);
}

proptest! {
    #[test]
    fn preparation_never_gives_anything_but_finite_numbers(
        values in proptest::collection::vec(prop_oneof![any::<f64>(), Just(f64::NAN), Just(0.0), Just(f64::MAX), Just(-f64::MAX)], 1..20),
        fill in prop_oneof![Just(Fill::Median), Just(Fill::Mean), Just(Fill::Mode), Just(Fill::Zero)],
        scaling in prop_oneof![Just(Scaling::None), Just(Scaling::Standard), Just(Scaling::Minmax), Just(Scaling::Quantile), Just(Scaling::Unit)],
    ) {
        let n = values.len();
        let t = Table::new("t", vec![Column::numbers("v", values), Column::texts("y", vec!["a"; n])]);
        if let Ok(schema) = Schema::infer(&t, &Roles::default()) {
            let columns = schema.read(&t, Unseen::Error).unwrap();
            let x = Preparation::fit(schema, &columns, None, fill, scaling).unwrap().apply(&columns).unwrap();
            prop_assert_eq!(x.first_non_finite(), None);
            if scaling == Scaling::Standard && n > 1 {
                let mean = x.as_slice().iter().map(|v| v / n as f64).sum::<f64>();
                prop_assert!(mean.abs() < 1e-6 || x.as_slice().iter().all(|v| *v == x[(0, 0)]), "mean {}", mean);
            }
        }
    }
}

#[test]
fn columns_that_are_prepared_one_by_one_are_those_of_the_whole_table() {
    let columns = vec![
        Column::numbers("x", vec![1.0, f64::NAN, 4.0, 9.0]),
        Column::texts("colour", ["red", "blue", "red", "green"]),
        Column::numbers("y", vec![3.0, 2.0, 2.0, 7.0]),
    ];
    let labels = || Labels::from_names(["a", "b", "a", "b"]);
    let fitted = |columns: Vec<Column>| {
        let data = Dataset::labelled(&Table::new("t", columns), "kind", labels(), &Roles::default()).unwrap();
        let (fill, scaling) = (Fill::default(), Scaling::default());
        Preparation::fit(data.schema.clone(), &data.columns, None, fill, scaling).unwrap()
    };
    let parts = columns.iter().map(|c| fitted(vec![c.clone()]));
    assert_eq!(Preparation::beside(parts).unwrap(), fitted(columns.clone()));
    assert!(Preparation::beside([]).is_err());
}
