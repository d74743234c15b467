//! Doubling dimension, Proposition 6, and the trade-off between rows given up and the bound.

use lipmetric::lipschitz::{
    Distance, Mahalanobis, Margins, Report, ReportOptions,
    bounds::{DoublingOptions, FatShattering, doubling_dimension, fat_shattering_bound, learning_bound},
    margin,
    trade_off::{TradeOffOptions, minimum_cover, trade_off},
};
use lipmetric::{Labels, Matrix};
use proptest::prelude::*;

fn points(n: std::ops::Range<usize>, p: std::ops::Range<usize>) -> impl Strategy<Value = Matrix> {
    (n, p).prop_flat_map(|(n, p)| {
        prop::collection::vec(0_i32..12, n * p)
            .prop_map(move |v| Matrix::from_vec(n, p, v.into_iter().map(f64::from).collect()).unwrap())
    })
}

/// The doubling constant by its definition: every ball around a point, every set of half balls.
fn doubling_constant<D: Distance>(d: &D) -> usize {
    let n = d.len();
    let mut worst = 1;
    for x in 0..n {
        for y in 0..n {
            let radius = d.get(x, y);
            let ball: Vec<usize> = (0..n).filter(|&i| d.get(x, i) <= radius).collect();
            let covers =
                |set: usize| ball.iter().all(|&i| (0..n).any(|c| set >> c & 1 == 1 && d.get(c, i) <= radius / 2.0));
            let least = (1..1_usize << n).filter(|&s| covers(s)).map(|s| s.count_ones() as usize).min().unwrap();
            worst = worst.max(least);
        }
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_doubling_dimension_is_enclosed(x in points(1..8, 1..4)) {
        let d = Mahalanobis::euclidean(&x).unwrap();
        let exact = (doubling_constant(&d) as f64).log2();
        let found = doubling_dimension(&d, &DoublingOptions::default()).unwrap();
        prop_assert!(found.exhaustive && found.points_used == x.rows());
        prop_assert!(found.lower <= exact, "{} > {}", found.lower, exact);
        prop_assert!(exact <= found.upper, "{} > {}", exact, found.upper);
        prop_assert!(found.upper <= 3.0 * exact + 1e-12, "{} > 3 * {}", found.upper, exact);
    }

    #[test]
    fn proposition_6_the_intra_form_is_the_larger_bound(x in points(4..40, 1..4), ddim in 1.0_f64..20.0) {
        let y = Labels::from_names((0..x.rows()).map(|i| (i % 2).to_string()));
        let d = Mahalanobis::euclidean(&x).unwrap();
        let m = Margins::new(&d, &y).unwrap();
        prop_assume!(m.margin.distance > 0.0);
        let by_diameter = fat_shattering_bound(m.constant.constant, m.diameter.distance, ddim).unwrap();
        let by_intra = FatShattering::from_intra(m.constant.constant, m.intra_sum, ddim).unwrap();
        prop_assert!(by_diameter.log2 <= by_intra.log2 + 1e-9);
        // The Corollary: so is the bound of the error.
        let bound = |fat| learning_bound(x.rows() * 1_000_000, 3, fat, 0.05).unwrap().with_errors.value;
        prop_assert!(bound(by_diameter) <= bound(by_intra) * (1.0 + 1e-9));
    }

    #[test]
    fn the_trade_off_is_the_best_over_all_sets_of_rows(x in points(4..9, 1..3), seed in 0_usize..64) {
        let n = x.rows();
        let y = Labels::from_names((0..n).map(|i| if i < 2 { i } else { seed >> (i - 2) & 1 }.to_string()));
        let d = Mahalanobis::euclidean(&x).unwrap();
        let t = trade_off(&d, &y, &TradeOffOptions::default()).unwrap();
        prop_assert!(t.exact && t.complete);
        prop_assert_eq!(t.curve[0].margin, margin(&d, &y).unwrap().distance);
        for (k, point) in t.curve.iter().enumerate() {
            // The largest margin over all ways to give up at most k rows that leave two classes.
            let mut largest = 0.0_f64;
            for set in (0..1_usize << n).filter(|s| s.count_ones() as usize <= k) {
                let kept: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 0).collect();
                let rest = Mahalanobis::euclidean(&x.select_rows(&kept)).unwrap();
                if let Ok(pair) = margin(&rest, &y.select(&kept)) {
                    largest = largest.max(pair.distance);
                }
            }
            prop_assert_eq!((point.dropped, point.margin), (k, largest));
            let cover = minimum_cover(&d, &y, point.margin).unwrap();
            prop_assert!(cover.exact && cover.rows.len() <= k);
            let kept: Vec<usize> = (0..n).filter(|i| !cover.rows.contains(i)).collect();
            let rest = Mahalanobis::euclidean(&x.select_rows(&kept)).unwrap();
            prop_assert!(margin(&rest, &y.select(&kept)).unwrap().distance >= point.margin);
        }
        let best = t.best_point().bound.value;
        prop_assert!(t.curve.iter().all(|p| p.bound.value >= best));
    }

    #[test]
    fn with_more_classes_the_cover_is_at_most_twice_the_smallest(x in points(5..9, 1..3)) {
        let n = x.rows();
        let y = Labels::from_names((0..n).map(|i| (i % 3).to_string()));
        let d = Mahalanobis::euclidean(&x).unwrap();
        let t = trade_off(&d, &y, &TradeOffOptions::default()).unwrap();
        prop_assert!(!t.exact);
        for point in &t.curve {
            let cover = minimum_cover(&d, &y, point.margin).unwrap();
            prop_assert!(cover.rows.len() <= point.dropped);
            let violates = |set: usize| {
                let kept = |i: usize| set >> i & 1 == 0;
                (0..n).any(|i| (0..i).any(|j| kept(i) && kept(j) && i % 3 != j % 3 && d_get(&d, i, j) < point.margin))
            };
            prop_assert!(!violates(cover.rows.iter().fold(0, |s, i| s | 1 << i)));
            let least = (0..1_usize << n).filter(|&s| !violates(s)).map(|s| s.count_ones() as usize).min().unwrap();
            prop_assert!(cover.rows.len() <= 2 * least);
        }
    }
}

fn d_get(d: &Mahalanobis, i: usize, j: usize) -> f64 {
    lipmetric::lipschitz::distances::Cross::get(d, i, j)
}

#[test]
fn one_mislabelled_row_is_given_up_when_the_sample_is_large() {
    // Two far apart clusters on a line and one row of the wrong class inside a cluster.
    let n = 6000;
    let cluster = |i: usize| if i < n / 2 { 0.0 } else { 1.0 };
    let value = |i: usize| cluster(i) + (i % 100) as f64 * 1e-4;
    let x = Matrix::from_vec(n, 1, (0..n).map(value).collect()).unwrap();
    let y = Labels::from_names((0..n).map(|i| if i == 7 || i >= n / 2 { "b" } else { "a" }));
    let options = TradeOffOptions { max_drop: 3, max_pairs: 2_000_000, ..TradeOffOptions::default() };
    let t = trade_off(&Mahalanobis::euclidean(&x).unwrap(), &y, &options).unwrap();
    // Row 7 coincides with rows of the other class: without dropping it there is no margin at all.
    assert_eq!((t.curve[0].margin, t.curve[0].constant, t.curve[0].bound.vacuous), (0.0, f64::INFINITY, true));
    assert_eq!((t.best_point().dropped, t.curve.len()), (1, 4));
    assert!((t.best_point().margin - (1.0 - 99e-4)).abs() < 1e-12);
    assert!(t.best_point().bound.value < t.curve[0].bound.value);
}

#[test]
fn a_curve_that_memory_ends_says_so() {
    let x = Matrix::from_vec(60, 1, (0..60).map(f64::from).collect()).unwrap();
    let y = Labels::from_names((0..60).map(|i| if i % 2 == 0 { "a" } else { "b" }));
    let d = Mahalanobis::euclidean(&x).unwrap();
    let whole = trade_off(&d, &y, &TradeOffOptions { max_drop: 29, ..TradeOffOptions::default() }).unwrap();
    let short =
        trade_off(&d, &y, &TradeOffOptions { max_drop: 29, max_pairs: 10, ..TradeOffOptions::default() }).unwrap();
    assert!(whole.complete && !short.complete);
    assert_eq!(whole.curve.iter().map(|p| p.dropped).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
    assert_eq!(short.curve[..], whole.curve[..short.curve.len()]);
    assert!(trade_off(&d, &y, &TradeOffOptions { max_pairs: 0, ..TradeOffOptions::default() }).is_err());
    assert!(trade_off(&d, &y, &TradeOffOptions { delta: 0.0, ..TradeOffOptions::default() }).is_err());
    assert!(minimum_cover(&d, &y, f64::NAN).is_err());
}

#[test]
fn the_estimates_grow_with_the_dimension_of_a_grid() {
    let grid = |p: u32| {
        let side: usize = [64, 12, 6][p as usize - 1];
        let n = side.pow(p);
        let at = |i: usize, k: u32| (i / side.pow(k) % side) as f64;
        let x = Matrix::from_vec(n, p as usize, (0..n).flat_map(|i| (0..p).map(move |k| at(i, k))).collect()).unwrap();
        doubling_dimension(&Mahalanobis::euclidean(&x).unwrap(), &DoublingOptions::default()).unwrap()
    };
    let (line, plane, space) = (grid(1), grid(2), grid(3));
    assert!(line.lower >= 1.0 && line.upper <= 3.0);
    assert!(line.lower < plane.lower && plane.lower < space.lower);
    assert!(line.upper < plane.upper && plane.upper < space.upper);
}

#[test]
fn a_part_of_the_sample_is_drawn_by_the_seed_and_owned_up_to() {
    let x = Matrix::from_vec(300, 2, (0..600).map(|k| f64::from(k * k % 211)).collect()).unwrap();
    let d = Mahalanobis::euclidean(&x).unwrap();
    let options = DoublingOptions { max_points: 50, seed: 4 };
    let part = doubling_dimension(&d, &options).unwrap();
    assert!(!part.exhaustive && part.points_used == 50);
    assert_eq!(part, doubling_dimension(&d, &options).unwrap());
    assert!(doubling_dimension(&d, &DoublingOptions { max_points: 0, seed: 0 }).is_err());
    let same = Mahalanobis::euclidean(&Matrix::zeros(5, 2)).unwrap();
    let zero = doubling_dimension(&same, &DoublingOptions::default()).unwrap();
    assert_eq!((zero.lower, zero.upper), (0.0, 0.0));
    assert!(doubling_dimension(&Mahalanobis::euclidean(&Matrix::zeros(0, 2)).unwrap(), &options).is_err());
}

#[test]
fn the_report_is_the_same_for_any_number_of_threads_and_agrees_with_its_parts() {
    let n = 400;
    let x = Matrix::from_vec(n, 3, (0..n * 3).map(|k| ((k * k * 31 + 7 * k) % 997) as f64).collect()).unwrap();
    let y = Labels::from_names((0..n).map(|i| if x[(i, 0)] + 40.0 * ((i % 7) as f64) > 600.0 { "up" } else { "down" }));
    let d = Mahalanobis::euclidean(&x).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Report::new(&d, &y, &ReportOptions::default()).unwrap())
    };
    let report = run(1);
    assert_eq!(run(4), report);
    assert_eq!(report.margins, Margins::new(&d, &y).unwrap());
    assert_eq!(report.trade_off.curve[0].margin, report.margins.margin.distance);
    assert!(report.best_drop.len() <= report.trade_off.best_point().dropped);
    let bounds = report.bounds.unwrap();
    assert!(bounds.diameter.fat.log2 <= bounds.intra.fat.log2);
    assert_eq!(report.local_intra.instances, n);
    assert_eq!(serde_json::to_value(&report).unwrap()["margins"]["rows"], 400);
    let three = Labels::from_names((0..n).map(|i| (i % 3).to_string()));
    assert!(Report::new(&d, &three, &ReportOptions::default()).unwrap().bounds.is_none());
}
