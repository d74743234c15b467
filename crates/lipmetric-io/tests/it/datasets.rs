//! The bundled sets are what the catalogue says.

use std::collections::HashMap;

use lipmetric::data::{Values, is_missing};
use lipmetric_io::{ErrorKind, datasets};

#[test]
fn the_figures_of_every_bundled_set_are_true() {
    let bundled: Vec<_> = datasets::list().iter().filter(|d| d.is_bundled()).collect();
    assert_eq!(bundled.len(), 7);
    for d in bundled {
        let table = datasets::load(d.name).unwrap();
        assert_eq!((table.rows(), table.columns.len()), (d.rows, d.features + 1), "{}", d.name);
        assert_eq!(table.columns[d.features].name, "label");
        assert_eq!(table.origin, d.name);
        let mut classes: HashMap<&str, usize> = HashMap::new();
        let mut missing = 0;
        for column in &table.columns {
            let Values::Text(cells) = &column.values else { panic!("bundled sets are text") };
            missing += cells.iter().filter(|c| is_missing(c)).count();
            if column.name == "label" {
                cells.iter().for_each(|c| *classes.entry(c).or_default() += 1);
            } else {
                assert!(cells.iter().all(|c| is_missing(c) || c.parse::<f64>().is_ok()), "{} {}", d.name, column.name);
            }
        }
        assert_eq!(missing, d.missing, "{}", d.name);
        assert_eq!(classes, d.classes.iter().copied().collect(), "{}", d.name);
    }
}

#[test]
fn the_catalogue_is_sorted_and_complete() {
    let names: Vec<_> = datasets::list().iter().map(|d| d.name).collect();
    assert!(names.is_sorted());
    assert!(datasets::list().iter().all(|d| !d.citation.is_empty() && !d.licence.is_empty() && !d.source.is_empty()));
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = datasets::load("iris").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("australian, cancer"), "{error}");
}

#[test]
fn a_set_that_was_not_fetched_says_how_to_fetch_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = datasets::load_from("fourclass", Some(folder.path())).unwrap_err();
    assert!(error.to_string().contains("`fetch(fourclass)`"), "{error}");
}
