//! A model comes back from its file as it was, or not at all.

use lipmetric::classify::{K, KernelChoice, SmoothSpec, Weights};
use lipmetric::method::{Agop, Auto, Choose, ClassWeights, Euclidean, Init, Lip, Lmml, Lmnn, Mcml, Nca, Solver, Spec};
use lipmetric::model::{ClassifierSpec, Recipe, Terms};
use lipmetric::prepare::{Dataset, Fill, Roles, Scaling};
use lipmetric::problem::{Diameter, Slack};
use lipmetric::solver::Silent;
use lipmetric::verify::{USUAL_LIMIT, Verified};
use lipmetric::{Matrix, Model};
use lipmetric_io::model::{load_model, model_from_bytes, model_to_bytes, save_model};
use lipmetric_io::{ErrorKind, ReadOptions, Source, read_table};

/// Numbers, gaps, words of truth and names with odd characters.
fn model(spec: &Spec, k: K) -> Model {
    kept(spec, k, false)
}

fn rows() -> String {
    let mut text = "size,smooth,colour,kind\n".to_owned();
    for i in 0..24_usize {
        let size = if i % 7 == 3 { String::new() } else { format!("{}", (i % 3) as f64 + 0.1 * i as f64) };
        let colour = ["rot", "grün", "\"blau, hell\"", "日本"][i % 4];
        let kind = ["a", "b \\ \u{1F600}"][usize::from(i % 3 == 0)];
        text += &format!("{size},{},{colour},{kind}\n", ["yes", "no"][i % 2]);
    }
    text
}

fn kept(spec: &Spec, k: K, certificate: bool) -> Model {
    let table = read_table(&Source::buffer("rows.csv", rows().into_bytes()), &ReadOptions::default()).unwrap();
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    let vote = ClassifierSpec::Vote { k, weights: Weights::Uniform };
    let recipe = Recipe::new(spec).prepared(Fill::Median, Scaling::Standard).predicting(vote);
    recipe.keeping_certificate(certificate).fit(&data, None, &mut Silent).unwrap()
}

#[test]
fn a_function_comes_back_with_its_values_its_lines_and_its_probabilities() {
    let table = read_table(&Source::buffer("rows.csv", rows().into_bytes()), &ReadOptions::default()).unwrap();
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    for spec in [Spec::from(Lip::intra()), Euclidean::new().into()] {
        let function = ClassifierSpec::Extension { alpha: 0.25, calibrate: true };
        let model = Recipe::new(&spec).predicting(function).fit(&data, None, &mut Silent).unwrap();
        let back = model_from_bytes("memory", &model_to_bytes(&model).unwrap()).unwrap().model;
        assert_eq!(back, model);
        let kept = back.training.as_ref().unwrap();
        assert_eq!((kept.lines[0], kept.place(23)), (2, "line 25".to_owned()));
        assert!(kept.values.is_some());
        assert_eq!(back.explain(&table).unwrap(), model.explain(&table).unwrap(), "to the last bit");
    }
}

#[test]
fn a_smooth_function_comes_back_with_its_coefficients() {
    let table = read_table(&Source::buffer("rows.csv", rows().into_bytes()), &ReadOptions::default()).unwrap();
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    let smooth = ClassifierSpec::Smooth(SmoothSpec::default());
    for spec in [Spec::from(Lip::intra()), Euclidean::new().into()] {
        let mut model = Recipe::new(&spec).predicting(smooth).fit(&data, None, &mut Silent).unwrap();
        let back = model_from_bytes("memory", &model_to_bytes(&model).unwrap()).unwrap().model;
        assert_eq!(back, model);
        assert_eq!(back.explain(&table).unwrap(), model.explain(&table).unwrap(), "to the last bit");
        // Landmarks: a term for some of the rows alone.
        let rows = model.training.as_mut().unwrap();
        rows.terms = Some(Terms::new(vec![1, 4, 9], Matrix::from_rows(&[[0.5, -0.5], [1.0, -1.0], [-1.0, 1.0]])));
        let back = model_from_bytes("memory", &model_to_bytes(&model).unwrap()).unwrap().model;
        assert_eq!(back, model);
        let wrong = Terms::new(vec![24], Matrix::from_rows(&[[0.5, -0.5]]));
        model.training.as_mut().unwrap().terms = Some(wrong);
        let refused = model_from_bytes("memory", &model_to_bytes(&model).unwrap()).unwrap_err();
        assert!(refused.to_string().contains("a term is of training row 24"), "{refused}");
    }
}

#[test]
fn a_model_says_which_kernel_it_has_and_only_the_gaussian_needs_the_newest_format() {
    let table = read_table(&Source::buffer("rows.csv", rows().into_bytes()), &ReadOptions::default()).unwrap();
    let data = Dataset::read(&table, &Roles::default()).unwrap();
    let spec = Euclidean::new().into();
    for (kernel, format) in [(KernelChoice::Laplace, 2), (KernelChoice::Gaussian, 7)] {
        let mut smooth = SmoothSpec::default();
        smooth.kernel = kernel;
        let model =
            Recipe::new(&spec).predicting(ClassifierSpec::Smooth(smooth)).fit(&data, None, &mut Silent).unwrap();
        let bytes = model_to_bytes(&model).unwrap();
        let told = String::from_utf8_lossy(&bytes).contains(r#"\"kernel\":\"gaussian\""#);
        assert_eq!(told, kernel == KernelChoice::Gaussian);
        let back = model_from_bytes("memory", &bytes).unwrap();
        assert_eq!(back.format_version, format);
        assert_eq!(back.model, model);
        assert_eq!(back.model.explain(&table).unwrap(), model.explain(&table).unwrap(), "to the last bit");
    }
}

#[test]
fn a_model_comes_back_from_its_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for (name, spec, k) in [
        ("euclid", Spec::from(Euclidean::new()), K::Fixed(1)),
        ("lip", Lip::overall().into(), K::Fixed(3)),
        ("mcml", Mcml::new().into(), K::Fixed(5)),
        ("agop", Agop::new().width(0.7).into(), K::Fixed(3)),
        ("auto", Auto::new().into(), K::Auto),
    ] {
        let whole = model(&spec, k);
        let mut mapping = whole.clone();
        mapping.training = None;
        for model in [whole, mapping] {
            let path = folder.path().join(name);
            save_model(&model, &path).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes, model_to_bytes(&model).unwrap(), "{name}: the same model, the same bytes");
            let stored = load_model(&path).unwrap();
            assert_eq!(stored.model, model, "{name}");
            assert_eq!(stored, model_from_bytes("memory", &bytes).unwrap(), "{name}");
            assert_eq!(model_to_bytes(&stored.model).unwrap(), bytes, "{name}: written again");
        }
    }
}

#[test]
fn a_certificate_comes_back_as_it_was_and_proves_the_same() {
    let lip = |slack: Slack| Lip::overall().slack(slack);
    for spec in [
        lip(Slack::Instance),
        lip(Slack::Pair).class_weights(ClassWeights::Balanced),
        lip(Slack::Pair).diameter(Diameter::Cvar(0.3)),
    ] {
        let model = kept(&spec.into(), K::Fixed(1), true);
        let bytes = model_to_bytes(&model).unwrap();
        let stored = model_from_bytes("memory", &bytes).unwrap();
        assert!(stored.model.certificate.is_some() && stored.model == model);
        assert_eq!(model_to_bytes(&stored.model).unwrap(), bytes, "written again");
        let found = Verified::of(&stored.model, USUAL_LIMIT).unwrap();
        assert!(found.holds() && found.gap.unwrap() < 2e-6, "{found:?}");
        let mut without = model.clone();
        without.certificate = None;
        assert!(Verified::of(&without, USUAL_LIMIT).unwrap_err().to_string().contains("no certificate"));
        let mut blind = model;
        blind.training = None;
        assert!(model_to_bytes(&blind).unwrap_err().to_string().contains("training rows"));
    }
}

#[test]
fn a_damaged_file_never_gives_another_model() {
    let whole = model(&Euclidean::new().into(), K::Fixed(1));
    let good = model_to_bytes(&whole).unwrap();
    let refused = |bytes: &[u8]| match model_from_bytes("m.lip", bytes) {
        Ok(stored) => {
            assert_eq!(stored.model, whole);
            false
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Data, "{error}");
            assert!(error.to_string().starts_with("m.lip: "), "{error}");
            true
        }
    };
    let places: Vec<usize> = (0..good.len()).step_by(good.len() / 200 + 1).collect();
    assert!(places.iter().all(|&at| refused(&good[..at])), "a file that was cut short");
    let changed = |&at: &usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        refused(&bytes)
    };
    // Blanks around the header and the number of the program's version mean nothing to the model.
    let noticed = places.iter().filter(|at| changed(at)).count();
    assert!(10 * noticed > 9 * places.len(), "{noticed} of {} changes were noticed", places.len());
}

#[test]
fn models_of_the_first_format_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format1");
    let exact = |lip: Lip| lip.tolerance(1e-6).max_iterations(500);
    let large = Lip::intra().slack(Slack::Pair).c(0.5).solver(Solver::Augmented);
    for (name, spec, notes) in [
        ("auto", Spec::from(Auto::new()), 0),
        ("lip-d", exact(Lip::overall().solver(Solver::Exact)).into(), 0),
        ("lip-i", large.tolerance(1e-3).max_iterations(100_000).into(), 0),
        ("lip", exact(Lip::chosen().slack(Choose::Auto)).into(), 0),
        ("lmnn", Lmnn::new().targets(2).into(), 0),
        ("nca", Nca::new().n_components(1).init(Init::Random(7)).into(), 0),
        ("lmml", Lmml::new().into(), 2),
    ] {
        let stored = load_model(format!("{folder}/{name}.lip")).unwrap();
        assert_eq!((stored.format_version, &stored.model.spec, &stored.model.used), (1, &spec, &spec), "{name}");
        let given = |n: &&String| n.contains("given");
        assert_eq!(
            stored.model.outcome.notes.iter().filter(given).count(),
            notes,
            "{name}: {:?}",
            stored.model.outcome
        );
        let again = model_from_bytes("memory", &model_to_bytes(&stored.model).unwrap()).unwrap();
        assert_eq!((again.format_version, again.model), (2, stored.model), "{name}");
    }
}
