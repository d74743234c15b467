//! Theorem 1 and Propositions 1 and 3: extensions, and the classifiers that they make.

use lipmetric::lipschitz::{
    Extension, ExtensionClassifier, Mahalanobis, SquaredMahalanobis, certified_radii,
    distances::{Closure, Cross, Precomputed, PrecomputedCross},
    lipschitz_constant, lipschitz_constant_of, margin,
};
use lipmetric::{Error, Labels, Matrix};
use proptest::prelude::*;

fn matrix(n: std::ops::Range<usize>, p: std::ops::Range<usize>) -> impl Strategy<Value = (Matrix, Matrix)> {
    (n, p, any::<bool>()).prop_flat_map(|(n, p, grid)| {
        let coordinate = if grid { (0_i32..5).prop_map(f64::from).boxed() } else { (-3.0_f64..3.0).boxed() };
        let q = 40;
        prop::collection::vec(coordinate, (n + q) * p).prop_map(move |v| {
            let (a, b) = v.split_at(n * p);
            (Matrix::from_vec(n, p, a.to_vec()).unwrap(), Matrix::from_vec(q, p, b.to_vec()).unwrap())
        })
    })
}

fn labels(n: usize, classes: usize, seed: u64) -> Labels {
    let name = |i: usize| if i < classes { i } else { ((i as u64 * 31 + seed) % 97) as usize % classes };
    Labels::from_names((0..n).map(|i| name(i).to_string()))
}

/// The class of the nearest row; of classes at the same distance the first.
fn nearest(queries: &Matrix, x: &Matrix, y: &Labels, q: usize) -> u32 {
    let squared = |i: usize| queries.row(q).iter().zip(x.row(i)).fold(0.0, |s, (a, b)| s + (a - b) * (a - b));
    let best =
        (0..x.rows()).min_by(|&a, &b| f64::total_cmp(&squared(a), &squared(b)).then(y.codes()[a].cmp(&y.codes()[b])));
    y.codes()[best.unwrap()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn theorem_1_the_extension_keeps_the_values_and_the_constant(
        (x, queries) in matrix(2..60, 1..4), values in prop::collection::vec(-2.0_f64..2.0, 60), alpha in 0.0_f64..=1.0,
    ) {
        let d = Mahalanobis::euclidean(&x).unwrap();
        let values = &values[..x.rows()];
        let Ok(u) = Extension::new(&d, values) else {
            prop_assert!(lipschitz_constant_of(&d, values).unwrap().is_infinite());
            return Ok(());
        };
        let on_sample = u.values(&d, alpha).unwrap();
        for (a, b) in on_sample.iter().zip(values) {
            prop_assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{} {}", a, b);
        }
        let to = d.to(&queries).unwrap();
        let at = u.values(&to, alpha).unwrap();
        let among = Mahalanobis::euclidean(&queries).unwrap();
        for i in 0..queries.rows() {
            // By the definition, over all rows.
            let upper = (0..x.rows()).map(|j| values[j] + u.constant() * to.get(i, j)).fold(f64::INFINITY, f64::min);
            let lower = (0..x.rows()).map(|j| values[j] - u.constant() * to.get(i, j)).fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(at[i], alpha * upper + (1.0 - alpha) * lower);
            for j in 0..x.rows() {
                prop_assert!((at[i] - values[j]).abs() <= u.constant() * to.get(i, j) + 1e-9 * (1.0 + u.constant()));
            }
            for j in 0..i {
                prop_assert!((at[i] - at[j]).abs() <= u.constant() * among.get(i, j) + 1e-9 * (1.0 + u.constant()));
            }
        }
    }

    #[test]
    fn proposition_1_at_one_half_the_labels_are_those_of_the_nearest_neighbour(
        (x, queries) in matrix(2..80, 1..20), classes in 2_usize..5, seed in any::<u64>(), more in 1.0_f64..50.0,
    ) {
        prop_assume!(x.rows() >= classes);
        let (d, y) = (Mahalanobis::euclidean(&x).unwrap(), labels(x.rows(), classes, seed % 1000));
        let l0 = lipschitz_constant(&d, &y).unwrap().constant;
        let Ok(classifier) = ExtensionClassifier::new(&d, &y) else {
            prop_assert!(l0.is_infinite());
            return Ok(());
        };
        prop_assert!((classifier.constant() - l0).abs() <= 1e-15 * l0);
        let to = d.to(&queries).unwrap();
        let expected: Vec<u32> = (0..queries.rows()).map(|q| nearest(&queries, &x, &y, q)).collect();
        let codes = |c: &ExtensionClassifier<'_, Mahalanobis>| -> Vec<u32> {
            c.decide(&to, 0.5).unwrap().iter().map(|d| d.code).collect()
        };
        prop_assert_eq!(&codes(&classifier), &expected);
        let raised = classifier.with_constant(l0 * more).unwrap();
        prop_assert_eq!(&codes(&raised), &expected);
        let radii: Vec<u32> = certified_radii(&to, &y).unwrap().iter().map(|r| r.code).collect();
        prop_assert_eq!(&radii, &expected);
        // Zero empirical risk, whatever alpha.
        for alpha in [0.0, 0.3, 1.0] {
            for (i, decision) in raised.decide(&d, alpha).unwrap().iter().enumerate() {
                prop_assert_eq!(decision.code, y.codes()[i]);
            }
        }
    }

    #[test]
    fn proposition_3_the_boundary_of_the_extension_halves_the_margin((x, _) in matrix(2..40, 1..4), seed in 0_u64..1000) {
        let (d, y) = (Mahalanobis::euclidean(&x).unwrap(), labels(x.rows(), 2, seed));
        let pair = margin(&d, &y).unwrap();
        prop_assume!(pair.distance > 1e-3);
        let values: Vec<f64> = y.codes().iter().map(|&c| 2.0 * f64::from(c) - 1.0).collect();
        let u = Extension::new(&d, &values).unwrap();
        // The function is continuous: it vanishes on the segment between the nearest rows of the two classes.
        let along = |t: f64| {
            let point = x.row(pair.i).iter().zip(x.row(pair.j)).map(|(a, b)| a + t * (b - a)).collect();
            d.to(&Matrix::from_vec(1, x.cols(), point).unwrap()).unwrap()
        };
        let sign = u.values(&along(0.0), 0.5).unwrap()[0].signum();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if u.values(&along(middle), 0.5).unwrap()[0] * sign > 0.0 { low = middle } else { high = middle }
        }
        let zero = along(high);
        let to_sample = (0..x.rows()).map(|i| zero.get(0, i)).fold(f64::INFINITY, f64::min);
        prop_assert!(pair.distance >= 2.0 * to_sample - 1e-9);
        // And as the constant is 2 / margin, no zero is nearer: the two margins agree.
        prop_assert!(pair.distance <= 2.0 * to_sample + 1e-9);
    }
}

#[test]
fn all_kinds_of_distance_give_the_same_extension() {
    let x = Matrix::from_rows(&[[0.0, 1.0], [2.0, 0.5], [3.0, -1.0], [0.5, 0.0]]);
    let queries = Matrix::from_rows(&[[1.0, 1.0], [-1.0, 2.0], [3.0, -1.0]]);
    let y = Labels::from_names(["a", "b", "b", "a"]);
    let euclid = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(u, v)| (u - v) * (u - v)).sum::<f64>().sqrt();
    let d = Mahalanobis::euclidean(&x).unwrap();
    let to = d.to(&queries).unwrap();
    let expected = ExtensionClassifier::new(&d, &y).unwrap().decide(&to, 0.5).unwrap();
    let asked = Closure::new(&x, euclid);
    assert_eq!(ExtensionClassifier::new(&asked, &y).unwrap().decide(&asked.to(&queries), 0.5).unwrap(), expected);
    let table = |q: &Matrix| {
        let data =
            (0..q.rows()).flat_map(|i| (0..4).map(move |j| (i, j))).map(|(i, j)| euclid(q.row(i), x.row(j))).collect();
        Matrix::from_vec(q.rows(), 4, data).unwrap()
    };
    let square = Precomputed::new(table(&x)).unwrap();
    let cross = PrecomputedCross::new(table(&queries)).unwrap();
    assert_eq!(ExtensionClassifier::new(&square, &y).unwrap().decide(&cross, 0.5).unwrap(), expected);
    // Distances of different kinds are not mixed.
    assert!(ExtensionClassifier::new(&d, &y).unwrap().decide(&cross, 0.5).is_err());
    let squares = SquaredMahalanobis::euclidean(&x).unwrap();
    assert!(ExtensionClassifier::new(&d, &y).unwrap().decide(&squares, 0.5).is_err());
}

#[test]
fn learned_values_replace_the_labels() {
    // Two coinciding rows of different classes: labels have no extension, the values 0 = 1 - xi do.
    let x = Matrix::from_rows(&[[0.0], [1.0], [1.0], [3.0]]);
    let y = Labels::from_names(["a", "a", "b", "b"]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let message = ExtensionClassifier::new(&d, &y).unwrap_err().to_string();
    assert!(message.contains("rows 1 and 2 coincide"), "{message}");
    let classifier = ExtensionClassifier::from_margins(&d, &y, &[1.0, 0.0, 0.0, 1.0]).unwrap();
    assert_eq!(classifier.constant(), 1.0);
    let to = d.to(&Matrix::from_rows(&[[0.5], [1.0], [2.0]])).unwrap();
    let decisions = classifier.decide(&to, 0.5).unwrap();
    assert_eq!(decisions.iter().map(|d| d.value).collect::<Vec<_>>(), [-0.5, 0.0, 0.5]);
    assert_eq!(decisions.iter().map(|d| d.code).collect::<Vec<_>>(), [0, 0, 1]);
    // The binary classifier is the sign of the extension of t_i a_i.
    let u = Extension::new(&d, &[-1.0, 0.0, 0.0, 1.0]).unwrap();
    assert_eq!(u.values(&to, 0.5).unwrap(), [-0.5, 0.0, 0.5]);
}

#[test]
fn a_misclassified_row_with_three_classes_keeps_one_constant_for_all() {
    // Margins of opposite sign: two rows of the rest may differ more than rows of different classes do.
    let x = Matrix::from_rows(&[[0.0], [1.0], [5.0]]);
    let y = Labels::from_names(["a", "b", "c"]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let classifier = ExtensionClassifier::from_margins(&d, &y, &[1.0, -1.0, 1.0]).unwrap();
    // For class c rows 0 and 1 are both rest: -1 and 1, at distance 1.
    assert_eq!(classifier.constant(), 2.0);
    assert!(matches!(classifier.with_constant(1.9), Err(Error::Parameter { name: "constant", .. })));
}

#[test]
fn impossible_questions_are_refused() {
    let x = Matrix::from_rows(&[[0.0], [1.0]]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let u = Extension::new(&d, &[0.0, 1.0]).unwrap();
    assert!(matches!(u.values(&d, 1.5), Err(Error::Parameter { name: "alpha", .. })));
    assert!(matches!(u.with_constant(f64::INFINITY), Err(Error::Parameter { .. })));
    assert!(matches!(Extension::new(&d, &[0.0]), Err(Error::Shape { .. })));
    assert!(matches!(Extension::new(&d, &[0.0, f64::NAN]), Err(Error::Data(_))));
    assert!(matches!(d.to(&Matrix::zeros(1, 2)), Err(Error::Shape { expected: 1, found: 2, .. })));
    assert!(d.to(&Matrix::from_rows(&[[f64::NAN]])).is_err());
    assert!(ExtensionClassifier::new(&d, &Labels::from_names(["a", "a"])).is_err());
}

#[test]
fn a_value_that_rounds_to_zero_still_goes_to_the_nearer_class() {
    // With a constant of 1e20 the labels are lost in rounding: U_1 = -U_2 wherever one looks.
    let x = Matrix::from_rows(&[[0.0], [2.0]]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let classifier =
        ExtensionClassifier::new(&d, &Labels::from_names(["a", "b"])).unwrap().with_constant(1e20).unwrap();
    let decisions = classifier.decide(&d.to(&Matrix::from_rows(&[[0.8], [1.0], [1.2]])).unwrap(), 0.5).unwrap();
    assert!(decisions.iter().all(|d| d.value == 0.0));
    assert_eq!(decisions.iter().map(|d| d.code).collect::<Vec<_>>(), [0, 0, 1]);
}
