//! A slack per row by the solvers for large problems, against the exact solver and plain code.

use crate::lip_common::{blobs, dual_value, load, weight};
use lipmetric::method::{ClassWeights, Fit, Lip, Method, Solver, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::{Halt, Observer, Progress, Silent, Status};
use lipmetric::{Error, Labels, Matrix};
use std::ops::ControlFlow;

const VARIANTS: [Variant; 2] = [Variant::Diameter, Variant::Intra];
const LARGE: [Solver; 2] = [Solver::Augmented, Solver::Admm];

fn per_row(variant: Variant) -> Lip {
    Lip::new().variant(variant).slack(Slack::Instance)
}

/// Slacks that violate no margin and give the objective; multipliers that are feasible and give the bound.
fn honest(data: &Training<'_>, fit: &Fit, variant: Variant, what: &str) {
    let (outcome, slack) = (&fit.outcome, &fit.certificate.as_ref().unwrap().slack);
    let (codes, c) = (data.y.codes(), outcome.c.unwrap());
    let mut longest = 0.0f64;
    for i in 0..codes.len() {
        assert!(slack[i] >= 0.0);
        for j in 0..i {
            let rho = fit.metric.squared_distance(data.x.row(i), data.x.row(j));
            assert!(codes[i] == codes[j] || rho + slack[i] + slack[j] >= 2.0 - 1e-9, "{what}: rows {i} and {j}");
            if variant == Variant::Diameter || codes[i] == codes[j] {
                longest = longest.max(rho);
            }
        }
    }
    let objective = c * longest + (0..codes.len()).map(|i| weight(data, i) * slack[i]).sum::<f64>();
    let reported = outcome.objective.unwrap();
    assert!((objective / reported - 1.0).abs() < 1e-9, "{what}: reported {reported}, true {objective}");
    let dual = dual_value(data, fit, variant, Slack::Instance, c);
    assert!((dual / outcome.dual.unwrap() - 1.0).abs() < 1e-9, "{what}: bound {:?}, true {dual}", outcome.dual);
    assert!(dual <= reported, "{what}");
}

/// The same problem by the exact solver and a large one: each is within its gap of the optimum.
fn agrees(data: &Training<'_>, lip: &Lip, variant: Variant, solver: Solver, tolerance: f64, what: &str) {
    let exact = lip.clone().solver(Solver::Exact).tolerance(1e-6).fit(data, &mut Silent).unwrap().outcome;
    let fit = lip.clone().solver(solver).tolerance(tolerance).fit(data, &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::Optimal, "{what}: {:?}", fit.outcome);
    assert!(fit.outcome.gap.unwrap() <= tolerance, "{what}");
    honest(data, &fit, variant, what);
    let (found, best) = (fit.outcome.objective.unwrap(), exact.objective.unwrap());
    assert!(found >= exact.dual.unwrap() * (1.0 - 1e-9), "{what}: {found} {best}");
    assert!(found <= best / (1.0 - tolerance), "{what}: {found} {best}");
    assert!(fit.outcome.dual.unwrap() <= best * (1.0 + 1e-9), "{what}");
}

#[test]
fn both_solvers_reach_the_exact_optimum() {
    for (name, c) in [("echo", 0.5), ("fertility", 0.3), ("haberman", 0.2), ("voting", 1.0)] {
        let (x, y) = load(name);
        let data = Training::new(&x, &y).unwrap();
        for variant in VARIANTS {
            agrees(&data, &per_row(variant).c(c), variant, Solver::Augmented, 1e-3, name);
            if name != "voting" {
                agrees(&data, &per_row(variant).c(c), variant, Solver::Admm, 1e-2, name);
            }
        }
    }
}

#[test]
fn weights_of_rows_and_classes_count() {
    let (x, y) = load("fertility");
    let weights: Vec<f64> = (0..x.rows()).map(|i| 0.5 + (i % 3) as f64).collect();
    let data = Training::new(&x, &y).unwrap();
    let weighted = data.with_weights(&weights).unwrap();
    for solver in LARGE {
        agrees(&weighted, &per_row(Variant::Intra).c(0.3), Variant::Intra, solver, 1e-2, "weights");
        let lip = per_row(Variant::Diameter).c(0.3).class_weights(ClassWeights::Balanced).tolerance(1e-2);
        let exact = lip.clone().solver(Solver::Exact).fit(&data, &mut Silent).unwrap().outcome;
        let found = lip.solver(solver).fit(&data, &mut Silent).unwrap().outcome;
        assert!(found.objective.unwrap() >= exact.dual.unwrap() && found.dual.unwrap() <= exact.objective.unwrap());
        assert!(found.gap.unwrap() <= 1e-2);
    }
}

#[test]
fn several_classes_and_equal_rows_of_different_label_are_solved() {
    let (mut x, y) = blobs(90, 3, 3, 4);
    // Rows 0 and 1, 3 and 4 have different labels.
    for (from, to) in [(0, 1), (3, 4)] {
        let row = x.row(from).to_vec();
        x.row_mut(to).copy_from_slice(&row);
    }
    let data = Training::new(&x, &y).unwrap();
    for variant in VARIANTS {
        for solver in LARGE {
            agrees(&data, &per_row(variant).c(0.4), variant, solver, 1e-2, "three classes");
        }
    }
    let fit = per_row(Variant::Intra).c(0.4).solver(Solver::Augmented).fit(&data, &mut Silent).unwrap();
    let slack = &fit.certificate.as_ref().unwrap().slack;
    assert!(slack[0] + slack[1] >= 2.0 - 1e-9, "no metric separates equal rows");
    assert!(
        fit.outcome.notes.iter().any(|n| n.contains("equal rows with different labels: 2")),
        "{:?}",
        fit.outcome.notes
    );
}

#[test]
fn c_max_is_close_to_the_exact_one() {
    let blobs = blobs(90, 3, 3, 4);
    for (what, (x, y)) in [("haberman", load("haberman")), ("echo", load("echo")), ("three classes", blobs)] {
        let data = Training::new(&x, &y).unwrap();
        for variant in VARIANTS {
            let exact = per_row(variant).c_max(&data, &mut Silent).unwrap();
            let lip = per_row(variant).solver(Solver::Augmented).tolerance(1e-2);
            let fit = lip.clone().c_rel(0.1).fit(&data, &mut Silent).unwrap().outcome;
            let found = fit.c_max.unwrap();
            // From below, and near.
            assert!(found <= exact * (1.0 + 1e-3) && found >= 0.97 * exact, "{what} {variant:?}: {found} {exact}");
            for note in fit.notes.iter().filter(|n| n.contains("only known to lie")) {
                let above: f64 = note.split(" and ").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
                assert!(above >= exact * (1.0 - 1e-6), "{what}: {note}, exact {exact}");
            }
            let refused = lip.c(2.0 * exact).fit(&data, &mut Silent).unwrap_err();
            assert!(refused.to_string().contains("too large: at about c_max"), "{refused}");
        }
    }
}

#[test]
fn a_trade_off_just_below_c_max_is_not_refused() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    // The optimum is within 3e-3 of the zero metric's objective, and yet below it.
    let lip = per_row(Variant::Intra).c(1.0);
    assert!(lip.c_max(&data, &mut Silent).unwrap() > 1.0);
    for solver in LARGE {
        let fit = lip.clone().solver(solver).tolerance(1e-2).fit(&data, &mut Silent).unwrap();
        honest(&data, &fit, Variant::Intra, "just below c_max");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (x, y) = blobs(400, 4, 3, 7);
    let data = Training::new(&x, &y).unwrap();
    for solver in LARGE {
        let lip = per_row(Variant::Intra).solver(solver).c_rel(0.1).tolerance(1e-2);
        let fits: Vec<Fit> = [1, 2, 5]
            .into_iter()
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| lip.fit(&data, &mut Silent).unwrap())
            })
            .collect();
        for fit in &fits[1..] {
            assert_eq!(fit.metric, fits[0].metric, "{solver:?}");
            assert_eq!(fit.certificate, fits[0].certificate, "{solver:?}");
        }
    }
}

/// Stops at a call.
struct After(usize, Halt);

impl Observer for After {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(self.1) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_fit_that_is_told_to_stop_says_so_and_is_still_certified() {
    let (x, y) = load("australian");
    let data = Training::new(&x, &y).unwrap();
    for solver in LARGE {
        for (halt, status) in [(Halt::TimeLimit, Status::TimeLimit), (Halt::Interrupted, Status::Interrupted)] {
            let lip = per_row(Variant::Intra).solver(solver).c(1.0).tolerance(1e-6);
            let fit = lip.fit(&data, &mut After(30, halt)).unwrap();
            assert_eq!(fit.outcome.status, status, "{solver:?}");
            honest(&data, &fit, Variant::Intra, "stopped");
        }
        let lip = per_row(Variant::Intra).solver(solver).c_rel(0.1);
        let stopped = |halt| lip.fit(&data, &mut After(5, halt)).unwrap_err();
        assert!(matches!(stopped(Halt::Interrupted), Error::Interrupted));
        assert!(stopped(Halt::TimeLimit).to_string().contains("before c_max was computed"));
    }
}

#[test]
fn more_features_than_a_system_could_hold_and_a_given_rank_are_certified() {
    let (x, y) = blobs(100, 70, 3, 6);
    let data = Training::new(&x, &y).unwrap();
    let lip = per_row(Variant::Diameter).solver(Solver::Augmented).c(1.0).tolerance(5e-2);
    let fit = lip.fit(&data, &mut Silent).unwrap();
    assert!(fit.outcome.gap.unwrap() <= 5e-2, "{:?}", fit.outcome);
    honest(&data, &fit, Variant::Diameter, "wide");
    let low = lip.rank(3).max_iterations(200).fit(&data, &mut Silent).unwrap();
    assert!(low.metric.rank() <= 3);
    honest(&data, &low, Variant::Diameter, "rank");
}

#[test]
fn a_single_pair_of_rows_is_a_problem_too() {
    let x = Matrix::from_rows(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    let y = Labels::from_names(["a", "a", "b"]);
    let data = Training::new(&x, &y).unwrap();
    for solver in LARGE {
        agrees(&data, &per_row(Variant::Diameter).c(0.1), Variant::Diameter, solver, 1e-2, "three rows");
    }
}
