use super::*;
use crate::Labels;
use crate::method::{Lip, Method, Training};
use crate::pairs::pass::Among;
use crate::problem::Variant;
use crate::solver::{Silent, Stop};

/// Three overlapping classes of points with four features, one of them much wider than the others.
fn rows(n: usize) -> (Matrix, Labels) {
    let mut state = 11u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut value = |k: usize| {
        let (i, j) = (k / 4, k % 4);
        let around = if j == i % 3 { 0.7 } else { 0.0 };
        (unit() + unit() + unit() + around) * if j == 3 { 5.0 } else { 1.0 }
    };
    let x = Matrix::from_vec(n, 4, (0..4 * n).map(&mut value).collect()).unwrap();
    (x, Labels::from_names((0..n).map(|i| ["a", "b", "c"][i % 3])))
}

fn cloud(n: usize) -> Cloud {
    let (x, y) = rows(n);
    let cloud = Cloud::new(&x, y.codes(), &vec![1.0; n]);
    cloud.mapped(&crate::problem::balancing(&cloud, Variant::Intra).unwrap().0)
}

fn settings(variant: Variant, c: f64, tolerance: f64) -> Settings {
    Settings { variant, slack: Slack::Instance, c, rank: None, stop: Stop::new(tolerance, 200) }
}

#[test]
fn it_agrees_with_the_exact_solver_and_never_proves_more() {
    let (x, y) = rows(240);
    let data = Training::new(&x, &y).unwrap();
    for (variant, lip) in [(Variant::Intra, Lip::intra()), (Variant::Diameter, Lip::overall())] {
        for c_rel in [0.3, 0.01] {
            let exact = lip.clone().slack(Slack::Instance).c_rel(c_rel).fit(&data, &mut Silent).unwrap().outcome;
            let (c, objective) = (exact.c.unwrap(), exact.objective.unwrap());
            let found = solve_slacked(&cloud(240), settings(variant, c, 1e-3), None, &mut Silent).unwrap();
            assert_eq!(found.status, Status::Optimal, "{variant:?} {c_rel}");
            assert!(found.bound <= objective * (1.0 + 1e-9), "{variant:?} {c_rel}: {} {objective}", found.bound);
            assert!(found.objective <= objective * 1.002 && found.objective >= exact.dual.unwrap() * (1.0 - 1e-9));
        }
    }
}

#[test]
fn the_largest_trade_off_lies_between_its_bounds_which_are_near_to_each_other() {
    let (x, y) = rows(240);
    let data = Training::new(&x, &y).unwrap();
    for (variant, lip) in [(Variant::Intra, Lip::intra()), (Variant::Diameter, Lip::overall())] {
        let c_max = lip.slack(Slack::Instance).c_max(&data, &mut Silent).unwrap();
        let gain = slacked_gain(&cloud(240), settings(variant, 1.0, 1e-2), &mut Silent).unwrap();
        assert!(gain.below <= c_max * 1.001 && gain.above >= c_max * 0.999, "{c_max} {} {}", gain.below, gain.above);
        assert!(gain.above <= 1.02 * gain.below, "{} {}", gain.below, gain.above);
    }
}

#[test]
fn a_fit_that_is_stopped_has_a_metric_and_a_valid_bound() {
    struct After(usize);
    impl Observer for After {
        fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
            self.0 = self.0.saturating_sub(1);
            if self.0 == 0 { ControlFlow::Break(Halt::TimeLimit) } else { ControlFlow::Continue(()) }
        }
    }
    for steps in [1, 3, 8] {
        let found = solve_slacked(&cloud(120), settings(Variant::Intra, 1.0, 1e-9), None, &mut After(steps)).unwrap();
        assert_eq!(found.status, Status::TimeLimit);
        assert!(found.objective.is_finite() && found.bound <= found.objective && found.slack.len() == 120);
    }
}

#[test]
fn a_pass_finds_of_each_point_the_tightest_margin_in_a_compact_order_too() {
    let cloud = cloud(2_100);
    let factor = Matrix::identity(4);
    let slack: Vec<f64> = (0..cloud.len()).map(|i| 0.1 * (i % 5) as f64).collect();
    let now = Embedding::new(&cloud, &factor);
    let mut least = vec![2.0f64; cloud.len()];
    for i in 0..cloud.len() {
        for j in (0..cloud.len()).filter(|&j| cloud.class[i] != cloud.class[j]) {
            least[i] = least[i].min(now.squared_distance(i, j) + slack[i] + slack[j] - 2.0);
        }
    }
    let order = cloud.compacted(&factor).unwrap();
    let query = Query { beyond: Beyond::Part(0.9), most: 5, ..Query::plain(Among::Same) };
    for order in [None, Some(&order)] {
        let found = tightest((&cloud, order), &factor, &slack, 2.0, &query);
        let mut seen = vec![2.0f64; cloud.len()];
        for &(z, i, j) in &found.pairs {
            assert!(i < j && cloud.class[i as usize] != cloud.class[j as usize]);
            seen[i as usize] = seen[i as usize].min(z);
            seen[j as usize] = seen[j as usize].min(z);
        }
        assert!(seen.iter().zip(&least).all(|(a, b)| (a - b).abs() < 1e-10));
        assert!(found.pairs.len() < 13 * cloud.len());
    }
}
