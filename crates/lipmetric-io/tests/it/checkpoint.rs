//! The file of a fit that was killed: found again by the same fit, refused to any other.

use lipmetric::Matrix;
use lipmetric::method::{Nca, Spec};
use lipmetric::model::Recipe;
use lipmetric::prepare::{Dataset, Roles, Scaling};
use lipmetric::solver::{Kept, Observer, Silent};
use lipmetric_io::checkpoint::{self, Checkpoint, Identity};
use lipmetric_io::{Source, datasets, read_table};
use std::path::Path;
use std::time::Duration;

fn data(name: &str) -> Dataset {
    Dataset::read(&datasets::load(name).unwrap(), &Roles::default()).unwrap()
}

fn kept(value: f64) -> Kept {
    Kept::new("words", vec![Matrix::from_rows(&[[value, 2.0]]), Matrix::zeros(0, 0), Matrix::identity(2)])
}

/// A checkpoint of this fit in which two parts are kept.
fn written(path: &Path, identity: &Identity) {
    let mut checkpoint = Checkpoint::open(path, identity, Silent).unwrap().every(Duration::from_secs(3600));
    assert!(!checkpoint.taken_up());
    checkpoint.keep("a", &mut || kept(0.0));
    assert!(!path.exists(), "a fit that is shorter than the time between two writings leaves no file");
    let mut checkpoint = checkpoint.every(Duration::ZERO);
    checkpoint.finished("whole/part", &kept(1.5));
    checkpoint.finished("whole", &kept(3.5));
    // After a writing there is a rest, as long as that took.
    let mut asked = false;
    while !asked {
        checkpoint.keep("b", &mut || {
            asked = true;
            kept(f64::NAN)
        });
    }
    assert!(checkpoint.failure().is_none());
}

#[test]
fn a_checkpoint_is_found_by_the_same_fit_and_refused_to_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let spec: Spec = Nca::new().into();
    let (recipe, echo) = (Recipe::new(&spec), data("echo"));
    let identity = Identity::of(&recipe, &echo);
    written(&path, &identity);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let mut again = Checkpoint::open(&path, &identity, Silent).unwrap();
    assert!(again.taken_up());
    assert_eq!(again.kept("whole").unwrap(), kept(3.5));
    assert!(again.kept("b").unwrap().numbers[0][(0, 0)].is_nan());
    assert_eq!((again.kept("a"), again.kept("whole/part")), (None, None));

    let refused = |identity: &Identity, why: &str| {
        let error = Checkpoint::open(&path, identity, Silent).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("remove the file"), "{error}");
    };
    refused(&Identity::of(&recipe, &data("haberman")), "other rows");
    let other: Spec = Nca::new().n_components(2).into();
    refused(&Identity::of(&Recipe::new(&other), &echo), "other options");
    refused(&Identity::of(&recipe.prepared(recipe.fill, Scaling::None), &echo), "other options");
    refused(&Identity::of(&recipe.comparing(Some(&[[0, 1, 2]])), &echo), "other options");
    let weights = vec![2.0; echo.labels.len()];
    refused(&Identity::of(&recipe.weighing(Some(&weights)), &echo), "other options");

    checkpoint::remove(&path).unwrap();
    checkpoint::remove(&path).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let (spec, echo): (Spec, Dataset) = (Nca::new().into(), data("echo"));
    let identity = Identity::of(&Recipe::new(&spec), &echo);
    written(&path, &identity);
    let good = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Checkpoint::open(&path, &identity, Silent).unwrap_err().to_string()
    };
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        // A changed name of the program's version is told as such, and nothing else gets through.
        assert!(Checkpoint::open(&path, &identity, Silent).is_err(), "a changed bit at {at} was not noticed");
    }
    for length in [0, 5, 9, good.len() / 2, good.len() - 1] {
        refused(&good[..length]);
    }
    assert!(refused(b"a,b\n1,2\n").contains("not a checkpoint"));
    let text = String::from_utf8_lossy(&good).replace("format_version\\\":1", "format_version\\\":9");
    assert!(refused(text.as_bytes()).contains("format 9") || refused(text.as_bytes()).contains("not a checkpoint"));
    // A model is no checkpoint, and stays what it is.
    let model = Recipe::new(&spec).fit(&echo, None, &mut Silent).unwrap();
    let model = lipmetric_io::model::model_to_bytes(&model).unwrap();
    assert!(refused(&model).contains("not a checkpoint"));
    assert_eq!(std::fs::read(&path).unwrap(), model);
}

#[test]
fn a_file_that_cannot_be_written_does_not_end_the_fit() {
    let folder = tempfile::tempdir().unwrap();
    let table = read_table(&Source::bytes("t.csv", "a,y\n1,u\n2,v\n3,u\n4,v\n"), &Default::default()).unwrap();
    let spec: Spec = Nca::new().into();
    let identity = Identity::of(&Recipe::new(&spec), &Dataset::read(&table, &Roles::default()).unwrap());
    let checkpoint = Checkpoint::open(folder.path().join("gone/c"), &identity, Silent).unwrap();
    let mut checkpoint = checkpoint.every(Duration::ZERO);
    checkpoint.keep("a", &mut || kept(1.0));
    assert!(checkpoint.failure().unwrap().to_string().contains("cannot write"));
}
