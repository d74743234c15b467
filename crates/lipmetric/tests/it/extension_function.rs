//! The function that extends learned values, against its definition.

use lipmetric::classify::{ExtensionFunction, KnnClassifier, Weights};
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::{Error, Labels, Matrix};
use proptest::prelude::*;

/// Training rows, their classes and margins, and queries.
#[derive(Debug, Clone)]
struct Case {
    x: Matrix,
    codes: Vec<usize>,
    margins: Vec<f64>,
    queries: Matrix,
}

impl Case {
    fn labels(&self) -> Labels {
        Labels::from_names(self.codes.iter().map(|c| c.to_string()))
    }

    fn function(&self, alpha: f64) -> ExtensionFunction {
        ExtensionFunction::new(self.x.clone(), self.labels(), self.margins.clone(), alpha).unwrap()
    }

    fn rho(&self, q: usize, i: usize) -> f64 {
        let pairs = self.queries.row(q).iter().zip(self.x.row(i));
        pairs.fold(0.0, |s, (a, b)| s + (a - b) * (a - b))
    }

    fn value(&self, i: usize, class: usize) -> f64 {
        if self.codes[i] == class { self.margins[i] } else { -self.margins[i] }
    }

    fn classes(&self) -> usize {
        self.codes.iter().max().unwrap() + 1
    }

    /// The least `a + rho` and the largest `a - rho` of a class.
    fn ends(&self, q: usize, class: usize) -> (f64, f64) {
        let all = (0..self.x.rows()).map(|i| (self.value(i, class), self.rho(q, i)));
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(u1, u2), (a, rho)| (u1.min(a + rho), u2.max(a - rho)))
    }

    fn f(&self, q: usize, class: usize, alpha: f64) -> f64 {
        let (u1, u2) = self.ends(q, class);
        alpha * u1 + (1.0 - alpha) * u2
    }

    /// The nearer of a class's own rows that have the least `rho + m` and `rho - m`.
    fn nearest(&self, q: usize, class: usize) -> f64 {
        let own: Vec<usize> = (0..self.x.rows()).filter(|&i| self.codes[i] == class).collect();
        let attaining = |sign: f64| {
            let key = |i: usize| self.rho(q, i) + sign * self.margins[i];
            own.iter().copied().min_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b))).unwrap()
        };
        self.rho(q, attaining(1.0)).min(self.rho(q, attaining(-1.0)))
    }
}

/// On a grid, with margins in quarters, all values are exact and ties are frequent.
fn case(classes: std::ops::RangeInclusive<usize>, grid: impl Strategy<Value = bool>) -> impl Strategy<Value = Case> {
    (classes, 6_usize..50, 1_usize..4, grid).prop_flat_map(|(classes, n, p, grid)| {
        let number = if grid { (0_i32..4).prop_map(f64::from).boxed() } else { (-2.0_f64..2.0).boxed() };
        let margin = if grid { (-4_i32..5).prop_map(|v| f64::from(v) / 4.0).boxed() } else { (-1.0_f64..=1.0).boxed() };
        (
            prop::collection::vec(number, (n + 30) * p),
            prop::collection::vec(0..classes, n),
            prop::collection::vec(margin, n),
        )
            .prop_map(move |(numbers, mut codes, margins)| {
                (0..classes).for_each(|k| codes[k] = k);
                let (x, queries) = numbers.split_at(n * p);
                let x = Matrix::from_vec(n, p, x.to_vec()).unwrap();
                Case { x, codes, margins, queries: Matrix::from_vec(30, p, queries.to_vec()).unwrap() }
            })
    })
}

const ALPHAS: [f64; 4] = [0.0, 0.3, 0.5, 1.0];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_values_are_those_of_the_definition(case in case(2..=5, any::<bool>())) {
        for alpha in ALPHAS {
            let f = case.function(alpha);
            let values = f.values(&case.queries).unwrap();
            let decided = f.decide(&case.queries).unwrap();
            let codes: Vec<u32> = decided.iter().map(|d| d.label).collect();
            prop_assert_eq!(f.predict(&case.queries).unwrap(), codes);
            for q in 0..case.queries.rows() {
                let d = decided[q];
                let winner = d.label as usize;
                let ends = case.ends(q, winner);
                let (support, against) = (d.supporting.row, d.opposing.row);
                prop_assert_eq!(case.value(support, winner) - case.rho(q, support), ends.1);
                prop_assert_eq!(case.value(against, winner) + case.rho(q, against), ends.0);
                prop_assert_eq!(d.supporting.distance, case.rho(q, support).sqrt());
                if case.classes() == 2 {
                    let value = case.f(q, 1, alpha);
                    prop_assert_eq!((values.row(q), d.value), (&[-value, value][..], value.abs()));
                    prop_assert_eq!(d.value, values[(q, winner)]);
                } else {
                    let all: Vec<f64> = (0..case.classes()).map(|k| case.f(q, k, alpha)).collect();
                    prop_assert_eq!(values.row(q), &all[..]);
                    prop_assert_eq!(d.value, all.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v)));
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_nearer_attaining_row_then_to_the_first_class(case in case(2..=5, Just(true))) {
        let decided = case.function(0.5).decide(&case.queries).unwrap();
        for (q, d) in decided.iter().enumerate() {
            let key = |k: usize| (-case.f(q, k, 0.5), case.nearest(q, k), k);
            let best = (0..case.classes()).map(key).min_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
            prop_assert_eq!(d.label as usize, best.2);
        }
    }

    #[test]
    fn with_more_than_two_classes_the_winner_is_the_same_for_each_alpha(case in case(3..=5, any::<bool>())) {
        let winners = |alpha: f64| case.function(alpha).predict(&case.queries).unwrap();
        prop_assert!(ALPHAS.iter().all(|&alpha| winners(alpha) == winners(0.5)));
    }

    #[test]
    fn the_first_of_two_classes_has_exactly_the_negative_function(case in case(2..=2, any::<bool>())) {
        let turned = Case { codes: case.codes.iter().map(|c| 1 - c).collect(), ..case.clone() };
        let (one, two) = (case.function(0.5), turned.function(0.5));
        let (values, turned) = (one.values(&case.queries).unwrap(), two.values(&case.queries).unwrap());
        let codes = one.predict(&case.queries).unwrap();
        let other = two.predict(&case.queries).unwrap();
        for q in 0..case.queries.rows() {
            prop_assert_eq!(values.row(q), &[turned[(q, 1)], turned[(q, 0)]][..]);
            prop_assert_eq!(values[(q, 0)], case.f(q, 0, 0.5));
            // A tie may go to the first class both times.
            prop_assert!(codes[q] == 1 - other[q] || values[(q, 0)] == 0.0);
        }
    }

    #[test]
    fn proposition_1_with_margins_of_one_it_is_the_nearest_neighbour(case in case(2..=5, any::<bool>())) {
        let case = Case { margins: vec![1.0; case.x.rows()], ..case };
        let index = NeighbourIndex::new(case.x.clone()).unwrap();
        let knn = KnnClassifier::new(index, case.labels(), 1, Weights::Uniform).unwrap();
        let (codes, near) = (case.function(0.5).predict(&case.queries).unwrap(), knn.predict(&case.queries).unwrap());
        for q in 0..case.queries.rows() {
            let closest = |k: usize| {
                let own = (0..case.x.rows()).filter(|&i| case.codes[i] == k).map(|i| case.rho(q, i));
                own.fold(f64::INFINITY, f64::min)
            };
            let tied = (0..case.classes()).filter(|&k| closest(k) == closest(near[q] as usize)).count() > 1;
            prop_assert!(codes[q] == near[q] || tied);
        }
    }

    #[test]
    fn on_the_sample_it_differs_only_where_distances_do_not_admit_the_values(case in case(2..=4, any::<bool>())) {
        let case = Case { queries: case.x.clone(), ..case };
        let n = case.x.rows();
        let admitted = |i: usize| {
            (0..case.classes()).all(|k| {
                (0..n).all(|j| (case.value(i, k) - case.value(j, k)).abs() <= case.rho(i, j))
            })
        };
        // At the ends of alpha one side alone can differ; in between both do, but may cancel.
        let report = case.function(0.3).on_sample().unwrap();
        prop_assert!(report.differing <= (0..n).filter(|&i| !admitted(i)).count());
        let first = usize::from(case.classes() == 2);
        let off = |i: usize| {
            (first..case.classes()).map(|k| (case.f(i, k, 0.3) - case.value(i, k)).abs()).fold(0.0, f64::max)
        };
        prop_assert_eq!(report.largest, (0..n).map(off).fold(0.0, f64::max));
        prop_assert_eq!(report.differing, (0..n).filter(|&i| off(i) > 1e-12).count());
    }
}

#[test]
fn the_bits_are_the_same_for_any_number_of_threads() {
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 100.0;
    let x = Matrix::from_vec(1500, 3, (0..4500).map(number).collect()).unwrap();
    let queries = Matrix::from_vec(600, 3, (0..1800).map(|i| number(i * 3 + 1)).collect()).unwrap();
    for classes in [2, 4] {
        let labels = Labels::from_names((0..1500).map(|i| (i * i % 11 % classes).to_string()));
        let margins: Vec<f64> = (0..1500).map(|i| 1.0 - number(i * 5) / 5.0).collect();
        let f = ExtensionFunction::new(x.clone(), labels, margins, 0.5).unwrap();
        let ask = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (f.values(&queries).unwrap(), f.decide(&queries).unwrap(), f.predict(&queries).unwrap()))
        };
        assert_eq!(ask(1), ask(3));
    }
}

#[test]
fn a_class_without_rows_never_wins() {
    let labels = Labels::from_codes(["a", "b", "c", "d"].map(String::from).to_vec(), vec![0, 2, 3]).unwrap();
    let rows = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
    let f = ExtensionFunction::new(rows, labels, vec![-1.0, 1.0, 1.0], 0.5).unwrap();
    let queries = Matrix::from_rows(&[[-3.0], [0.1], [1.1]]);
    let values = f.values(&queries).unwrap();
    assert!((0..3).all(|q| values.row(q).iter().all(|&v| v >= values[(q, 1)])));
    assert!(f.predict(&queries).unwrap().iter().all(|&code| code != 1));
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_name() {
    let rows = Matrix::from_rows(&[[0.0], [1.0]]);
    let new = |names: [&str; 2], margins: Vec<f64>, alpha: f64| {
        ExtensionFunction::new(rows.clone(), Labels::from_names(names), margins, alpha)
    };
    assert!(matches!(new(["a", "b"], vec![1.0; 2], 1.5), Err(Error::Parameter { name: "alpha", .. })));
    assert!(matches!(new(["a", "b"], vec![1.0, f64::NAN], 0.5), Err(Error::Parameter { name: "margins", .. })));
    assert!(new(["a", "b"], vec![1.0], 0.5).is_err());
    assert!(new(["a", "a"], vec![1.0; 2], 0.5).is_err());
    let f = new(["a", "b"], vec![1.0; 2], 0.5).unwrap();
    for queries in [Matrix::from_rows(&[[0.0, 1.0]]), Matrix::from_rows(&[[f64::NAN]]), Matrix::from_rows(&[[1e200]])] {
        assert!(f.values(&queries).is_err());
        assert!(f.decide(&queries).is_err());
        assert!(f.predict(&queries).is_err());
    }
    assert!(f.predict(&Matrix::zeros(0, 1)).unwrap().is_empty());
}
