//! Margins, diameters, constants and ratios: against every pair, by hand, and the paper's propositions 2, 4 and 5.

use lipmetric::lipschitz::{
    Distance, LocalRatios, Mahalanobis, Margins, SquaredMahalanobis, diameter, diameter_of,
    distances::{Closure, Cross, Precomputed},
    lipschitz_constant, lipschitz_constant_of,
    local::local_ratio,
    margin,
};
use lipmetric::{Error, Labels, Matrix, Metric};
use proptest::prelude::*;

/// Rows with many equal coordinates, so that ties and duplicates happen, in few or in many columns.
fn rows(cols: impl Strategy<Value = usize>) -> impl Strategy<Value = Matrix> {
    (2_usize..120, cols, 0_u8..2).prop_flat_map(|(n, p, kind)| {
        let coordinate = if kind == 0 {
            (0_i32..4).prop_map(f64::from).boxed()
        } else {
            (-1e3_f64..1e3).prop_map(|v| v + 1e5).boxed()
        };
        prop::collection::vec(coordinate, n * p).prop_map(move |v| Matrix::from_vec(n, p, v).unwrap())
    })
}

/// Labels of `classes` classes, the first rows one of each.
fn labels(n: usize, classes: usize, seed: u64) -> Labels {
    let name = |i: usize| {
        let k = (i as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        if i < classes { i } else { k as usize % classes }
    };
    Labels::from_names((0..n).map(|i| name(i).to_string()))
}

type Found = (f64, usize, usize);

/// The pair that wins among all, the smallest row numbers first.
fn every_pair(n: usize, value: impl Fn(usize, usize) -> Option<f64>) -> Option<Found> {
    let mut best: Option<Found> = None;
    for i in 0..n {
        for j in i + 1..n {
            if let Some(v) = value(i, j).filter(|v| best.is_none_or(|b| *v > b.0)) {
                best = Some((v, i, j));
            }
        }
    }
    best
}

/// Squared distances in the order of the coordinates: what ties are decided by.
fn squared(x: &Matrix, i: usize, j: usize) -> f64 {
    x.row(i).iter().zip(x.row(j)).fold(0.0, |s, (a, b)| s + (a - b) * (a - b))
}

fn check_against_every_pair(x: &Matrix, classes: usize, seed: u64) -> Result<(), TestCaseError> {
    let (n, y) = (x.rows(), labels(x.rows(), classes, seed));
    let d = Mahalanobis::euclidean(x).unwrap();
    let far = every_pair(n, |i, j| Some(squared(x, i, j))).unwrap();
    let found = diameter(&d).unwrap();
    prop_assert_eq!((found.distance, found.i, found.j), (far.0.sqrt(), far.1, far.2));

    let different = |i: usize, j: usize| y.codes()[i] != y.codes()[j];
    let near = every_pair(n, |i, j| different(i, j).then(|| -squared(x, i, j))).unwrap();
    let found = margin(&d, &y).unwrap();
    prop_assert_eq!((found.distance, found.i, found.j), ((-near.0).sqrt(), near.1, near.2));
    let all = Margins::new(&d, &y).unwrap();
    prop_assert_eq!(all.margin, found);
    let squares = SquaredMahalanobis::euclidean(x).unwrap();
    prop_assert_eq!(margin(&squares, &y).unwrap().distance, -near.0);

    for class in &all.class_diameters {
        let members: Vec<usize> = (0..n).filter(|&i| y.name(i) == class.class).collect();
        let widest = members.iter().flat_map(|&i| members.iter().map(move |&j| (i, j)));
        let widest = widest.fold(0.0_f64, |m, (i, j)| m.max(squared(x, i, j)));
        prop_assert_eq!(class.diameter, widest.sqrt());
        prop_assert_eq!(diameter_of(&d, &members).unwrap(), class.pair);
    }

    let values: Vec<f64> = (0..n).map(|i| ((i as u64 ^ seed) % 5) as f64).collect();
    let slope = |i: usize, j: usize| {
        let rise = (values[i] - values[j]).abs();
        Some(if rise == 0.0 { 0.0 } else { rise / squared(x, i, j).sqrt() })
    };
    let steepest = every_pair(n, slope).unwrap();
    let found = lipschitz_constant_of(&d, &values).unwrap();
    prop_assert_eq!((found.constant, found.i, found.j), steepest);

    // Asked pair by pair, the same.
    let asked =
        Closure::new(x, |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |s, (u, v)| s + (u - v) * (u - v)).sqrt());
    prop_assert_eq!(diameter(&asked).unwrap().distance, far.0.sqrt());
    prop_assert_eq!(margin(&asked, &y).unwrap().distance, (-near.0).sqrt());
    prop_assert_eq!(lipschitz_constant_of(&asked, &values).unwrap(), found);

    let local = LocalRatios::new(&d, &y).unwrap();
    for i in 0..n {
        let nearest = |same: bool| {
            let of = (0..n).filter(|&j| j != i && (y.codes()[j] == y.codes()[i]) == same);
            of.min_by(|&a, &b| squared(x, i, a).total_cmp(&squared(x, i, b)).then(a.cmp(&b)))
        };
        prop_assert_eq!(local.nearest_same[i], nearest(true));
        prop_assert_eq!(Some(local.nearest_other[i]), nearest(false));
        let subset: Vec<usize> = [Some(i), nearest(true), nearest(false)].into_iter().flatten().collect();
        prop_assert_eq!(local.ratios[i], local_ratio(&d, &y, &subset).unwrap());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn few_columns_give_what_every_pair_gives(x in rows(1_usize..6), classes in 2_usize..5, seed in any::<u64>()) {
        prop_assume!(x.rows() >= classes);
        check_against_every_pair(&x, classes, seed)?;
    }

    #[test]
    fn many_columns_give_what_every_pair_gives(x in rows(17_usize..24), classes in 2_usize..4, seed in any::<u64>()) {
        prop_assume!(x.rows() >= classes);
        check_against_every_pair(&x, classes, seed)?;
    }

    #[test]
    fn proposition_2_the_margin_is_at_least_two_over_the_constant(
        x in rows(1_usize..4), seed in any::<u64>(), extra in prop::collection::vec(0.0_f64..3.0, 120),
    ) {
        let (d, y) = (Mahalanobis::euclidean(&x).unwrap(), labels(x.rows(), 2, seed));
        let sign = |c: u32| if c == 1 { 1.0 } else { -1.0 };
        let f: Vec<f64> = y.codes().iter().zip(&extra).map(|(&c, e)| sign(c) * (1.0 + e)).collect();
        let constant = lipschitz_constant_of(&d, &f).unwrap().constant;
        let m = Margins::new(&d, &y).unwrap();
        prop_assert!(m.margin.distance >= 2.0 / constant * (1.0 - 1e-12));
        // Proposition 5: the surrogates are lower bounds, and equal to the ratios at the labels' own constant.
        let below = m.surrogates(constant);
        prop_assert!(below.diameter <= m.ratio_diameter * (1.0 + 1e-12));
        prop_assert!(below.intra <= m.ratio_intra * (1.0 + 1e-12));
        if m.margin.distance > 0.0 {
            let equal = m.surrogates(lipschitz_constant(&d, &y).unwrap().constant);
            prop_assert!((equal.diameter - m.ratio_diameter).abs() <= 1e-12 * m.ratio_diameter);
            prop_assert!(equal.intra == m.ratio_intra || (equal.intra / m.ratio_intra - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn proposition_4_holds_under_a_true_metric(
        x in rows(3_usize..4), classes in 2_usize..5, seed in any::<u64>(),
        factor in prop::collection::vec(-2.0_f64..2.0, 6),
    ) {
        prop_assume!(x.rows() >= classes);
        let metric = Metric::new(Matrix::from_vec(2, 3, factor).unwrap()).unwrap();
        let (d, y) = (Mahalanobis::new(&metric, &x).unwrap(), labels(x.rows(), classes, seed));
        let m = Margins::new(&d, &y).unwrap();
        prop_assert!(m.diameter.distance <= m.diameter_bound(&d) * (1.0 + 1e-9) + 1e-9);
        if classes == 2 && m.margin.distance > 1e-6 {
            prop_assert!(1.0 / m.ratio_diameter <= 1.0 / m.ratio_intra + 1.0 + 1e-6);
        }
        prop_assert!(m.ratio_intra_max <= m.ratio_intra * (1.0 + 1e-12));
    }
}

#[test]
fn proposition_4_fails_for_the_squared_form() {
    let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
    let y = Labels::from_names(["a", "a", "b"]);
    let m = Margins::new(&SquaredMahalanobis::euclidean(&x).unwrap(), &y).unwrap();
    assert_eq!((m.diameter.distance, m.intra_sum, m.margin.distance), (4.0, 1.0, 1.0));
    assert!(1.0 / m.ratio_diameter > 1.0 / m.ratio_intra + 1.0);
}

#[test]
fn four_points_by_hand() {
    // a: (0,0), (0,3); b: (4,0), (8,0). Margin 4; diameters 3 and 4; farthest (0,3)-(8,0).
    let x = Matrix::from_rows(&[[0.0, 0.0], [0.0, 3.0], [4.0, 0.0], [8.0, 0.0]]);
    let y = Labels::from_names(["a", "a", "b", "b"]);
    let m = Margins::new(&Mahalanobis::euclidean(&x).unwrap(), &y).unwrap();
    assert_eq!((m.margin.i, m.margin.j, m.margin.distance), (0, 2, 4.0));
    assert_eq!((m.diameter.i, m.diameter.j, m.diameter.distance), (1, 3, 73.0_f64.sqrt()));
    assert_eq!(m.class_diameters.iter().map(|c| c.diameter).collect::<Vec<_>>(), [3.0, 4.0]);
    assert_eq!(m.ratio_diameter, 4.0 / 73.0_f64.sqrt());
    assert_eq!((m.ratio_intra, m.ratio_intra_max), (4.0 / 7.0, 4.0 / 8.0));
    assert_eq!(m.constant.constant, 0.5);
    // Under a metric that sees the second coordinate only, the rows of b coincide with a row of a.
    let metric = Metric::new(Matrix::from_rows(&[[0.0, 1.0]])).unwrap();
    let m = Margins::new(&Mahalanobis::new(&metric, &x).unwrap(), &y).unwrap();
    assert_eq!((m.margin.distance, m.diameter.distance, m.ratio_diameter, m.ratio_intra), (0.0, 3.0, 0.0, 0.0));
    assert!(m.constant.is_infinite());
    assert_eq!((m.constant.i, m.constant.j), (0, 2));
    assert_eq!(m.surrogates(f64::INFINITY).diameter, 0.0);
}

#[test]
fn three_classes_by_hand() {
    let x = Matrix::from_rows(&[[0.0], [1.0], [5.0], [9.0], [20.0], [21.0]]);
    let y = Labels::from_names(["a", "a", "b", "b", "c", "c"]);
    let m = Margins::new(&Mahalanobis::euclidean(&x).unwrap(), &y).unwrap();
    let between: Vec<(&str, &str, f64)> =
        m.class_margins.iter().map(|c| (c.first.as_str(), c.second.as_str(), c.pair.distance)).collect();
    assert_eq!(between, [("a", "b", 4.0), ("a", "c", 19.0), ("b", "c", 11.0)]);
    assert_eq!((m.intra_sum, m.intra_max), (6.0, 4.0));
    assert_eq!(m.ratio_intra, 4.0 / 6.0);
    // The overall margin would make Proposition 4 false here: 21 > 1 + 4 + 1 + 4.
    assert!(m.diameter.distance > m.intra_sum + m.margin.distance);
    assert_eq!(m.diameter_bound(&Mahalanobis::euclidean(&x).unwrap()), 21.0);
}

#[test]
fn classes_of_one_row_have_infinite_intra_ratios_and_serialise() {
    let x = Matrix::from_rows(&[[0.0], [2.0]]);
    let y = Labels::from_names(["a", "b"]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let m = Margins::new(&d, &y).unwrap();
    assert_eq!((m.ratio_diameter, m.ratio_intra), (1.0, f64::INFINITY));
    let json = serde_json::to_value(&m).unwrap();
    assert_eq!(json["margin"]["distance"], 2.0);
    assert!(json["ratio_intra"].is_null());
    let summary = LocalRatios::new(&d, &y).unwrap().summary_intra(4);
    assert_eq!((summary.infinite, summary.instances, summary.mean), (2, 2, 0.0));
}

#[test]
fn the_histogram_counts_every_finite_ratio_once() {
    let x = Matrix::from_rows(&[[0.0], [1.0], [3.0], [7.0], [7.5], [20.0]]);
    let y = Labels::from_names(["a", "a", "b", "b", "a", "c"]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let local = LocalRatios::new(&d, &y).unwrap();
    let summary = local.summary_diameter(3);
    assert_eq!(summary.histogram.counts.iter().sum::<usize>(), 6);
    assert_eq!((summary.histogram.edges[0], summary.histogram.edges[3]), (summary.quantiles[0], summary.quantiles[4]));
    // The only row of c: its set is {20, 7.5}, margin and diameter equal.
    assert_eq!((local.nearest_same[5], local.nearest_other[5], local.ratios[5].ratio_diameter), (None, 4, 1.0));
    assert_eq!(local.summary_intra(3).infinite, 1);
}

#[test]
fn a_class_without_rows_is_no_class() {
    let x = Matrix::from_rows(&[[0.0], [1.0], [5.0]]);
    let y = Labels::from_names(["a", "b", "c"]).select(&[0, 0, 2]);
    let m = Margins::new(&Mahalanobis::euclidean(&x).unwrap(), &y).unwrap();
    assert_eq!((m.class_diameters.len(), m.margin.distance), (2, 4.0));
}

#[test]
fn bad_input_is_a_typed_error_that_says_where() {
    let x = Matrix::from_rows(&[[0.0], [1.0]]);
    let d = Mahalanobis::euclidean(&x).unwrap();
    let message = |e: Error| e.to_string();
    let one = message(margin(&d, &Labels::from_names(["a", "a"])).unwrap_err());
    assert!(one.contains("two classes") && one.contains("(a)"), "{one}");
    assert!(matches!(margin(&d, &Labels::from_names(["a"])), Err(Error::Shape { expected: 2, found: 1, .. })));
    let single = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0]])).unwrap();
    assert!(message(diameter(&single).unwrap_err()).contains("two rows"));
    let nan = message(Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0, 1.0], [2.0, f64::NAN]])).unwrap_err());
    assert!(nan.contains("row 1, column 1"), "{nan}");
    assert!(matches!(Mahalanobis::new(&Metric::euclidean(2), &x), Err(Error::Shape { expected: 2, found: 1, .. })));
    assert!(matches!(Mahalanobis::euclidean(&Matrix::from_rows(&[[1e200], [0.0]])), Err(Error::Numerical { .. })));
    assert!(matches!(lipschitz_constant_of(&d, &[1.0, f64::INFINITY]), Err(Error::Data(_))));
    assert!(message(diameter_of(&d, &[0, 7]).unwrap_err()).contains("row 7"));
    assert!(local_ratio(&d, &Labels::from_names(["a", "b"]), &[0]).is_err());
    let broken = Closure::new(&x, |_: &[f64], _: &[f64]| f64::NAN);
    assert!(message(margin(&broken, &Labels::from_names(["a", "b"])).unwrap_err()).contains("NaN"));
}

#[test]
fn a_precomputed_matrix_is_checked_and_then_used() {
    let good = Matrix::from_rows(&[[0.0, 2.0, 3.0], [2.0, 0.0, 4.0], [3.0, 4.0, 0.0]]);
    let d = Precomputed::new(good.clone()).unwrap();
    assert_eq!(d.len(), 3);
    assert_eq!(diameter(&d).unwrap().distance, 4.0);
    assert_eq!(margin(&d, &Labels::from_names(["a", "b", "b"])).unwrap().distance, 2.0);
    assert_eq!(d.check_triangle(0.0).unwrap().get(1, 2), 4.0);
    for (at, value, says) in [
        ((0, 1), 2.5, "symmetric"),
        ((1, 1), 1.0, "itself"),
        ((2, 0), f64::NAN, "finite"),
        ((2, 0), -1.0, "at least 0"),
    ] {
        let mut bad = good.clone();
        bad[at] = value;
        let message = Precomputed::new(bad).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
    assert!(matches!(Precomputed::new(Matrix::zeros(2, 3)), Err(Error::Shape { .. })));
    let mut long = good;
    (long[(1, 2)], long[(2, 1)]) = (9.0, 9.0);
    let message = Precomputed::new(long).unwrap().check_triangle(1e-12).unwrap_err().to_string();
    assert!(message.contains("from 2 to 1 it is 9 but by way of 0 5"), "{message}");
}

#[test]
fn results_are_the_same_for_any_number_of_threads() {
    for cols in [3, 20] {
        let n = 3000;
        let value = |k: usize| ((k * k * 7919 + k * 104_729) % 1009) as f64 / 64.0;
        let x = Matrix::from_vec(n, cols, (0..n * cols).map(value).collect()).unwrap();
        let y = labels(n, 3, 5);
        let run = |threads: usize| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let d = Mahalanobis::euclidean(&x).unwrap();
                let values: Vec<f64> = (0..n).map(|i| value(i + 17)).collect();
                let steepest = lipschitz_constant_of(&d, &values).unwrap();
                (Margins::new(&d, &y).unwrap(), margin(&d, &y).unwrap(), LocalRatios::new(&d, &y).unwrap(), steepest)
            })
        };
        let one = run(1);
        for threads in [2, 5] {
            assert_eq!(run(threads), one);
        }
    }
}

#[test]
fn the_diameter_of_a_sphere_is_exact_although_every_point_is_at_its_rim() {
    for (cols, offset) in [(2_usize, 0.0), (2, 1e6), (4, 0.0), (20, 1e3)] {
        let n = 700;
        let mut x = Matrix::zeros(n, cols);
        for i in 0..n {
            let row = x.row_mut(i);
            (0..cols).for_each(|k| row[k] = ((i * (k + 3) * 17 + k * k * 5) as f64 * 0.618).sin());
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            row.iter_mut().for_each(|v| *v = *v / length + offset);
        }
        let far = every_pair(n, |i, j| Some(squared(&x, i, j))).unwrap();
        let found = diameter(&Mahalanobis::euclidean(&x).unwrap()).unwrap();
        assert_eq!((found.distance, found.i, found.j), (far.0.sqrt(), far.1, far.2));
    }
}

#[test]
fn under_a_metric_of_rank_zero_all_rows_coincide() {
    let x = Matrix::from_vec(100, 2, (0..200).map(f64::from).collect()).unwrap();
    let d = Mahalanobis::new(&Metric::new(Matrix::zeros(0, 2)).unwrap(), &x).unwrap();
    let m = Margins::new(&d, &labels(100, 2, 1)).unwrap();
    assert_eq!((m.margin.distance, m.diameter.distance, m.ratio_diameter), (0.0, 0.0, 0.0));
    assert_eq!((m.diameter.i, m.diameter.j, m.margin.i, m.margin.j), (0, 1, 0, 1));
    assert!(m.constant.is_infinite());
}
