//! The solvers for large problems, and the paper's, against certified optima and plain code.

use crate::lip_common::{blobs, load, optima, pair_objective, pairwise};
use lipmetric::method::{Choose, ClassWeights, Fit, Lip, Method, Solver, Spec, Training};
use lipmetric::problem::{Diameter, Slack, Variant};
use lipmetric::solver::{Budget, Halt, Observer, Progress, Silent, Status};
use lipmetric::{Labels, Matrix};
use std::ops::ControlFlow;
use std::time::Duration;

/// The reported objective is the true one, and no bound exceeds it.
fn honest(data: &Training<'_>, fit: &Fit, variant: Variant, what: &str) {
    let outcome = &fit.outcome;
    let objective = pair_objective(data, &fit.metric, variant, outcome.c.unwrap());
    let reported = outcome.objective.unwrap();
    assert!((objective / reported - 1.0).abs() < 1e-7, "{what}: reported {reported}, true {objective}");
    assert!(outcome.dual.unwrap() <= reported * (1.0 + 1e-9), "{what}");
    let gap = outcome.gap.unwrap();
    assert!((gap - (reported - outcome.dual.unwrap()) / reported).abs() < 1e-9, "{what}");
}

#[test]
fn the_method_of_multipliers_certifies_the_reference_optima() {
    for (name, variant, lower, upper) in optima() {
        let (x, y) = load(&name);
        let data = Training::new(&x, &y).unwrap();
        let fit = pairwise(variant).solver(Solver::Augmented).fit(&data, &mut Silent).unwrap();
        assert_eq!(fit.outcome.status, Status::Optimal, "{name} {variant:?}");
        assert!(fit.outcome.gap.unwrap() <= 1e-3, "{name} {variant:?}");
        honest(&data, &fit, variant, &name);
        let objective = fit.outcome.objective.unwrap();
        assert!(objective >= lower * (1.0 - 1e-9) && objective <= upper * 1.001, "{name}: {objective}");
        assert!(fit.outcome.dual.unwrap() <= upper * (1.0 + 1e-9), "{name}");
    }
}

#[test]
fn the_practical_admm_certifies_reference_optima() {
    for (name, variant, lower, upper) in optima() {
        if !["echo", "fertility", "haberman", "diabetes", "australian"].contains(&name.as_str()) {
            continue;
        }
        let (x, y) = load(&name);
        let data = Training::new(&x, &y).unwrap();
        let fit = pairwise(variant).solver(Solver::Admm).tolerance(1e-2).fit(&data, &mut Silent).unwrap();
        assert_eq!(fit.outcome.status, Status::Optimal, "{name} {variant:?}");
        assert!(fit.outcome.gap.unwrap() <= 1e-2, "{name} {variant:?}");
        honest(&data, &fit, variant, &name);
        assert!(fit.outcome.objective.unwrap() >= lower * (1.0 - 1e-9), "{name}");
        assert!(fit.outcome.dual.unwrap() <= upper * (1.0 + 1e-9), "{name}");
    }
}

#[test]
fn the_papers_algorithm_goes_down_and_its_bound_is_one() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    let lip = pairwise(Variant::Diameter).solver(Solver::Paper).mu(0.01);
    let after = |iterations: usize| lip.clone().max_iterations(iterations).fit(&data, &mut Silent).unwrap();
    let (early, late) = (after(5), after(1500));
    for fit in [&early, &late] {
        assert_eq!(fit.outcome.status, Status::IterationLimit);
        honest(&data, fit, Variant::Diameter, "haberman");
        assert!(fit.outcome.dual.unwrap() <= 303.292_764_501 * (1.0 + 1e-9));
        assert!(fit.outcome.objective.unwrap() >= 303.292_764_472 * (1.0 - 1e-9));
    }
    assert!(late.outcome.objective.unwrap() < early.outcome.objective.unwrap());
    assert!(late.outcome.gap.unwrap() < early.outcome.gap.unwrap());
}

#[test]
fn many_pairs_are_streamed_to_a_certified_gap() {
    let (x, y) = blobs(1500, 4, 3, 5);
    let data = Training::new(&x, &y).unwrap();
    let exact = pairwise(Variant::Diameter).c_rel(0.05).fit(&data, &mut Silent).unwrap();
    let c = exact.outcome.c.unwrap();
    let fit =
        pairwise(Variant::Diameter).solver(Solver::Augmented).c(c).tolerance(0.03).fit(&data, &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::Optimal);
    honest(&data, &fit, Variant::Diameter, "blobs");
    assert!(fit.outcome.objective.unwrap() >= exact.outcome.dual.unwrap() * (1.0 - 1e-9));
    assert!(fit.outcome.dual.unwrap() <= exact.outcome.objective.unwrap() * (1.0 + 1e-9));
}

#[test]
fn passes_over_the_pairs_find_the_optimum_of_the_exact_solver_at_every_trade_off() {
    let (x, y) = blobs(500, 4, 3, 5);
    let data = Training::new(&x, &y).unwrap();
    for variant in [Variant::Diameter, Variant::Intra] {
        for fraction in [0.5, 0.03, 1e-3] {
            let exact = pairwise(variant).c_rel(fraction).fit(&data, &mut Silent).unwrap().outcome;
            let lip = pairwise(variant).solver(Solver::Augmented).c(exact.c.unwrap()).tolerance(1e-6);
            let fit = lip.fit(&data, &mut Silent).unwrap();
            assert_eq!(fit.outcome.status, Status::Optimal, "{variant:?} {fraction}");
            honest(&data, &fit, variant, "blobs");
            let (ours, theirs) = (fit.outcome.objective.unwrap(), exact.objective.unwrap());
            assert!((ours / theirs - 1.0).abs() < 2e-6, "{variant:?} {fraction}: {ours} instead of {theirs}");
            assert!(fit.outcome.dual.unwrap() <= theirs * (1.0 + 1e-9));
        }
    }
}

#[test]
fn a_feature_that_tells_nothing_is_left_out_of_a_metric_found_by_passes() {
    // The last feature is noise of a hundred times the spread: any use of it makes the diameter longer for nothing.
    let (mut x, y) = blobs(600, 4, 2, 5);
    (0..600).for_each(|i| x[(i, 3)] = 100.0 * ((i * 7919 % 601) as f64 / 601.0 - 0.5));
    let data = Training::new(&x, &y).unwrap();
    let lip = pairwise(Variant::Intra).solver(Solver::Augmented).c_rel(0.3).tolerance(1e-3);
    let fit = lip.fit(&data, &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::Optimal);
    assert!(fit.metric.rank() < 4, "{}", fit.metric.rank());
    honest(&data, &fit, Variant::Intra, "blobs");
}

#[test]
fn a_small_gap_is_not_held_up_by_the_rounding_of_the_hinges() {
    let (x, y) = blobs(1500, 2, 3, 5);
    let data = Training::new(&x, &y).unwrap();
    let lip = pairwise(Variant::Diameter).solver(Solver::Augmented).c(20_000.0).tolerance(1e-7);
    let fit = lip.fit(&data, &mut Silent).unwrap();
    assert_eq!(fit.outcome.status, Status::Optimal, "{:?}", fit.outcome);
    honest(&data, &fit, Variant::Diameter, "blobs");
}

#[test]
fn many_rows_are_begun_on_a_sample_and_certified_on_all() {
    // More than two first samples of 2,000 rows, so that there is a level before the last.
    let (x, y) = blobs(4400, 3, 3, 8);
    let data = Training::new(&x, &y).unwrap();
    for variant in [Variant::Diameter, Variant::Intra] {
        let lip = pairwise(variant).solver(Solver::Augmented).c(50_000.0);
        let fit = lip.clone().tolerance(0.02).fit(&data, &mut Silent).unwrap();
        assert_eq!(fit.outcome.status, Status::Optimal);
        honest(&data, &fit, variant, "blobs");
        // A better metric must not fall below the bound.
        let better = lip.tolerance(2e-3).fit(&data, &mut Silent).unwrap();
        honest(&data, &better, variant, "blobs");
        assert!(fit.outcome.dual.unwrap() <= better.outcome.objective.unwrap() * (1.0 + 1e-9));
    }
}

#[test]
fn c_max_is_close_to_the_exact_one() {
    let (x, y) = load("echo");
    let data = Training::new(&x, &y).unwrap();
    for variant in [Variant::Diameter, Variant::Intra] {
        let exact = pairwise(variant).c_max(&data, &mut Silent).unwrap();
        let fit = pairwise(variant).solver(Solver::Augmented).c_rel(0.1).fit(&data, &mut Silent).unwrap();
        let ours = fit.outcome.c_max.unwrap();
        assert!(ours <= exact * (1.0 + 1e-6) && ours >= 0.98 * exact, "{ours} {exact}");
        honest(&data, &fit, variant, "echo");
    }
}

#[test]
fn more_features_than_a_system_could_hold_are_certified_in_a_growing_subspace() {
    let (x, y) = blobs(100, 70, 3, 11);
    let data = Training::new(&x, &y).unwrap();
    for solver in [Solver::Augmented, Solver::Admm] {
        let lip = pairwise(Variant::Diameter).solver(solver).c(100.0).tolerance(0.2).max_iterations(100);
        let fit = lip.fit(&data, &mut Silent).unwrap();
        honest(&data, &fit, Variant::Diameter, "blobs");
        assert!(fit.outcome.objective.unwrap() < 2.0 * 100.0 * 100.0 / 3.0);
        let low = lip.rank(2).fit(&data, &mut Silent).unwrap();
        assert!(low.metric.rank() <= 2);
        honest(&data, &low, Variant::Diameter, "blobs of rank 2");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let small = |solver| (400, 5, pairwise(Variant::Intra).solver(solver).c(5.0).max_iterations(60));
    // Enough pairs, or enough features, to be streamed.
    let streamed = pairwise(Variant::Intra).solver(Solver::Augmented).c(500.0).max_iterations(12);
    let mut cases = [Solver::Augmented, Solver::Admm, Solver::Paper].map(small).to_vec();
    cases.extend([(4400, 3, streamed.clone()), (200, 70, streamed)]);
    for (rows, features, lip) in cases {
        let (x, y) = blobs(rows, features, 3, 3);
        let data = Training::new(&x, &y).unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| lip.fit(&data, &mut Silent).unwrap())
        };
        let (one, three) = (with(1), with(3));
        assert_eq!(one.metric.factor().as_slice(), three.metric.factor().as_slice(), "{rows} x {features} {lip:?}");
        assert_eq!(one.outcome, three.outcome, "{rows} x {features} {lip:?}");
    }
}

#[test]
fn a_weight_counts_like_equal_rows() {
    let (x, y) = load("echo");
    let mut rows: Vec<usize> = (0..x.rows()).collect();
    rows.extend([0, 3, 3]);
    let mut weights = vec![1.0; x.rows()];
    (weights[0], weights[3]) = (2.0, 3.0);
    let names: Vec<String> = rows.iter().map(|&i| y.codes()[i].to_string()).collect();
    let (repeated, labels) = (x.select_rows(&rows), Labels::from_names(&names));
    for solver in [Solver::Augmented, Solver::Admm] {
        let lip = pairwise(Variant::Diameter).solver(solver).tolerance(1e-2);
        let one = lip.fit(&Training::new(&x, &y).unwrap().with_weights(&weights).unwrap(), &mut Silent).unwrap();
        let two = lip.fit(&Training::new(&repeated, &labels).unwrap(), &mut Silent).unwrap();
        for (a, b) in [(&one.outcome, &two.outcome), (&two.outcome, &one.outcome)] {
            assert!(a.dual.unwrap() <= b.objective.unwrap() * (1.0 + 1e-9), "{solver:?}");
        }
    }
}

#[test]
fn constant_features_and_duplicates_across_classes_do_no_harm() {
    let (x, y) = load("fertility");
    let mut wider = Matrix::zeros(x.rows(), x.cols() + 2);
    for i in 0..x.rows() {
        wider.row_mut(i)[..x.cols()].copy_from_slice(x.row(i));
        wider[(i, x.cols())] = 7.0;
        wider[(i, x.cols() + 1)] = 3.0 * x[(i, 0)] - x[(i, 1)];
    }
    let data = Training::new(&wider, &y).unwrap();
    for solver in [Solver::Augmented, Solver::Admm, Solver::Paper] {
        let fit = pairwise(Variant::Diameter).solver(solver).max_iterations(400).fit(&data, &mut Silent).unwrap();
        honest(&data, &fit, Variant::Diameter, solver.name());
        assert!(
            fit.outcome.notes.iter().any(|n| n.contains("equal rows with different labels: 1;")),
            "{:?}",
            fit.outcome.notes
        );
        assert!(fit.outcome.dual.unwrap() <= 15.797, "{solver:?}");
    }
}

#[test]
fn a_fit_that_is_told_to_stop_says_so_and_is_still_certified() {
    let (x, y) = load("voting");
    let data = Training::new(&x, &y).unwrap();
    for solver in [Solver::Augmented, Solver::Admm, Solver::Paper] {
        let lip = pairwise(Variant::Diameter).solver(solver).tolerance(1e-9);
        let fit = lip.fit(&data, &mut Budget::new(Some(Duration::ZERO), Silent)).unwrap();
        assert_eq!(fit.outcome.status, Status::TimeLimit, "{solver:?}");
        honest(&data, &fit, Variant::Diameter, solver.name());
    }
}

/// Stops a fit after so many calls.
struct After(usize);

impl Observer for After {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(Halt::TimeLimit) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_fit_that_is_stopped_at_its_goal_is_optimal() {
    let (x, y) = load("haberman");
    let data = Training::new(&x, &y).unwrap();
    let (wide, labels) = blobs(1600, 3, 3, 2);
    let streamed = Training::new(&wide, &labels).unwrap();
    let mut seen = Vec::new();
    for (data, solver, c, tolerance) in [
        (&data, Solver::Augmented, 1.0, 0.3),
        (&data, Solver::Admm, 1.0, 0.3),
        (&data, Solver::Paper, 100.0, 0.9),
        (&streamed, Solver::Augmented, 1000.0, 0.3),
    ] {
        let mu = (solver == Solver::Paper).then_some(0.01);
        let lip = pairwise(Variant::Diameter).solver(solver).c(c).mu(mu).tolerance(tolerance);
        for calls in (1..40).step_by(3) {
            let outcome = lip.fit(data, &mut After(calls)).unwrap().outcome;
            let expected = if outcome.gap.unwrap() <= tolerance { Status::Optimal } else { Status::TimeLimit };
            assert_eq!(outcome.status, expected, "{solver:?} after {calls}: {outcome:?}");
            seen.push(outcome.status);
        }
    }
    // Both ways to end occur.
    assert!(seen.contains(&Status::Optimal) && seen.contains(&Status::TimeLimit));
}

#[test]
fn classes_can_count_the_same() {
    let (x, y) = load("fertility");
    let data = Training::new(&x, &y).unwrap();
    let exact =
        pairwise(Variant::Diameter).class_weights(ClassWeights::Balanced).fit(&data, &mut Silent).unwrap().outcome;
    let plain = pairwise(Variant::Diameter).fit(&data, &mut Silent).unwrap().outcome;
    assert!((exact.objective.unwrap() / plain.objective.unwrap() - 1.0).abs() > 0.05);
    for solver in [Solver::Augmented, Solver::Admm, Solver::Paper] {
        let lip = pairwise(Variant::Diameter).solver(solver).class_weights(ClassWeights::Balanced);
        let lip = lip.tolerance(1e-2).max_iterations(if solver == Solver::Paper { 300 } else { 20_000 });
        let outcome = lip.fit(&data, &mut Silent).unwrap().outcome;
        assert!(outcome.objective.unwrap() >= exact.dual.unwrap() * (1.0 - 1e-9), "{solver:?}");
        assert!(outcome.dual.unwrap() <= exact.objective.unwrap() * (1.0 + 1e-9), "{solver:?}");
        if solver != Solver::Paper {
            assert!(outcome.gap.unwrap() <= 1e-2, "{solver:?}");
        }
    }
    let wrong = pairwise(Variant::Diameter)
        .solver(Solver::Admm)
        .class_weights(ClassWeights::Given(vec![1.0]))
        .fit(&data, &mut Silent);
    assert!(wrong.unwrap_err().to_string().contains("class weights"));
}

#[test]
fn a_start_near_the_optimum_is_used() {
    for (x, y, c) in [
        (load("diabetes").0, load("diabetes").1, 1.0),
        (blobs(1500, 4, 3, 5).0, blobs(1500, 4, 3, 5).1, 3000.0),
        (blobs(120, 70, 3, 6).0, blobs(120, 70, 3, 6).1, 30.0),
    ] {
        let data = Training::new(&x, &y).unwrap();
        let lip = pairwise(Variant::Diameter).solver(Solver::Augmented).c(c).tolerance(1e-2).max_iterations(200);
        let near = lip.fit(&data, &mut Silent).unwrap();
        let lip = lip.max_iterations(1);
        let cold = lip.fit(&data, &mut Silent).unwrap();
        let warm = lip.fit(&data.with_start(&near.metric), &mut Silent).unwrap();
        let (cold, warm) = (cold.outcome.objective.unwrap(), warm.outcome.objective.unwrap());
        assert!(warm <= near.outcome.objective.unwrap() * 1.02 && warm < cold, "{warm} {cold}");
    }
}

/// Keeps what a fit has decided.
#[derive(Default)]
struct Decisions(Vec<String>);

impl Observer for Decisions {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        ControlFlow::Continue(())
    }

    fn decided(&mut self, what: &str) {
        self.0.push(what.to_owned());
    }
}

#[test]
fn the_automatic_choice_is_told_with_its_reason() {
    let (x, y) = load("echo");
    let small = Training::new(&x, &y).unwrap();
    let (wide, labels) = blobs(60, 40, 3, 1);
    let large = Training::new(&wide, &labels).unwrap();
    let auto = |slack| pairwise(Variant::Diameter).solver(Solver::Auto).slack(slack);
    for (lip, data, solver, words) in [
        (
            auto(Slack::Pair).c(0.1),
            &small,
            "exact",
            ["44 rows", "7 features", "2 classes", "up to 3000 rows and 36 features"],
        ),
        (auto(Slack::Instance).c(0.1), &small, "exact", ["44", "7", "2", "up to 1500 rows with a slack per row"]),
        (
            auto(Slack::Pair).c(10.0).max_iterations(3),
            &large,
            "augmented",
            ["60 rows", "40 features", "3 classes", "36"],
        ),
        (auto(Slack::Pair).diameter(Diameter::Mean).c(0.1), &large, "exact", ["60", "40", "3", "no other solver"]),
    ] {
        let mut decisions = Decisions::default();
        let mut observer = Budget::new(None, &mut decisions);
        lip.fit(data, &mut observer).unwrap();
        assert_eq!(decisions.0.len(), 1);
        let text = &decisions.0[0];
        assert!(text.starts_with(&format!("solver auto: {solver} for ")), "{text}");
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
        let Spec::Lip(used) = Spec::from(lip).used(data).unwrap() else { panic!("Lip") };
        assert_eq!((used.solver.name(), used.tolerance), (solver, Some(used.solver.usual_tolerance())));
    }
}

#[test]
fn a_slack_per_row_is_never_exchanged_for_another_problem() {
    for (rows, features) in [(1501, 2), (60, 37)] {
        let (x, y) = blobs(rows, features, 3, 1);
        let data = Training::new(&x, &y).unwrap();
        let lip = Lip::intra().c(0.5).max_iterations(20);
        let fit = lip.fit(&data, &mut Silent).unwrap();
        assert_eq!(fit.certificate.unwrap().slack.len(), rows, "a slack for each row");
        let Spec::Lip(used) = Spec::from(lip).used(&data).unwrap() else { panic!("Lip") };
        assert_eq!((used.solver, used.slack), (Solver::Augmented, Choose::Value(Slack::Instance)));
    }
    let (x, y) = blobs(60, 37, 3, 1);
    let data = Training::new(&x, &y).unwrap();
    let fit = Lip::intra().c(1.0).solver(Solver::Exact).max_iterations(2).fit(&data, &mut Silent).unwrap();
    assert!(fit.certificate.is_some(), "asked for, the exact solver is taken");
}

#[test]
fn wrong_parameters_are_named_with_a_remedy() {
    let (x, y) = load("echo");
    let data = Training::new(&x, &y).unwrap();
    let other = pairwise(Variant::Diameter).fit(&data, &mut Silent).unwrap().metric;
    let message = |lip: Lip| lip.fit(&data, &mut Silent).unwrap_err().to_string();
    for (lip, words) in [
        (pairwise(Variant::Diameter).solver(Solver::Admm).c(-1.0), ["`c`", "-1"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).c_rel(1.5), ["`c_rel`", "1.5"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).mu(0.0), ["`mu`", "the paper uses 1"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).tolerance(2.0), ["`tolerance`", "2"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).max_iterations(0), ["`max_iterations`", "at least 1"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).rank(0), ["`rank`", "from 1 to"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).rank(8), ["`rank`", "7"]),
        (pairwise(Variant::Diameter).solver(Solver::Paper).rank(2), ["`rank`", "admm"]),
        (pairwise(Variant::Diameter).solver(Solver::Paper).slack(Slack::Instance), ["`slack`", "another solver"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).mu(1.0), ["`mu`", "solver = paper"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).diameter(Diameter::Mean), ["`solver`", "solver = exact"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).trade_off(Choose::Auto), ["`solver`", "solver = exact"]),
        (pairwise(Variant::Diameter).solver(Solver::Augmented).c(1e9), ["too large: at about c_max", "smaller c"]),
        (pairwise(Variant::Diameter).solver(Solver::Admm).c(1e9), ["too large: at about c_max", "smaller c"]),
    ] {
        let text = message(lip.clone());
        assert!(words.iter().all(|w| text.contains(w)), "{lip:?}: {text}");
    }
    let paper = pairwise(Variant::Diameter).solver(Solver::Paper);
    let text = paper.fit(&data.with_start(&other), &mut Silent).unwrap_err().to_string();
    assert!(text.contains("`start`") && text.contains("own start"), "{text}");
}

#[test]
fn where_a_loose_gap_is_enough_another_solver_comes_first_for_the_same_problem() {
    let (x, y) = blobs(1_000, 3, 3, 1);
    let data = Training::new(&x, &y).unwrap();
    let lip = pairwise(Variant::Intra).c_rel(0.1).tolerance(1e-3);
    let mut decisions = Decisions::default();
    let quick = lip.clone().solver(Solver::Auto).fit(&data, &mut decisions).unwrap();
    assert!(decisions.0[0].contains("augmented for 1000 rows"), "{}", decisions.0[0]);
    let exact = lip.clone().solver(Solver::Exact).fit(&data, &mut Silent).unwrap();
    assert!(quick.certificate.is_none() && exact.certificate.is_some());
    let (quick, exact) = (quick.outcome, exact.outcome);
    assert_eq!((quick.c, quick.c_max), (exact.c, exact.c_max));
    let apart = (quick.objective.unwrap() / exact.objective.unwrap() - 1.0).abs();
    assert!(apart <= 2e-3 && quick.gap.unwrap() <= 1e-3, "{apart} {:?}", quick.gap);
    let solver = |lip: Lip, data: &Training<'_>| {
        let Spec::Lip(used) = Spec::from(lip.solver(Solver::Auto)).used(data).unwrap() else { panic!("Lip") };
        used.solver
    };
    assert_eq!(solver(lip.clone(), &data), Solver::Augmented);
    // A certificate, the usual gap, and a trade-off at which few pairs push are left to the exact solver.
    let mut certified = data;
    certified.certified = true;
    assert_eq!(solver(lip.clone(), &certified), Solver::Exact);
    for other in [lip.clone().tolerance(1e-6), lip.clone().tolerance(None), lip.clone().c_rel(1e-5), lip.clone().c(1.0)]
    {
        assert_eq!(solver(other, &data), Solver::Exact);
    }
}

#[test]
fn where_the_solver_that_comes_first_does_not_reach_the_gap_the_exact_one_follows() {
    let (x, y) = blobs(1_000, 3, 3, 1);
    let data = Training::new(&x, &y).unwrap();
    let lip = pairwise(Variant::Intra).solver(Solver::Auto).c_rel(0.1).tolerance(1e-4).max_iterations(20);
    let fit = lip.clone().max_iterations(2).fit(&data, &mut Silent).unwrap();
    assert_eq!(fit.outcome.iterations, 2);
    assert!(fit.outcome.notes.iter().any(|n| n.contains("did not reach the gap")), "{:?}", fit.outcome.notes);
    // What the user stops stays stopped.
    let mut observer = Budget::new(Some(std::time::Duration::ZERO), Silent);
    let stopped = lip.fit(&data, &mut observer).unwrap();
    assert_eq!(stopped.outcome.status, Status::TimeLimit);
    assert!(stopped.outcome.notes.iter().all(|n| !n.contains("did not reach the gap")));
}

#[test]
fn the_automatic_choice_follows_its_rule() {
    assert_eq!(Solver::automatic(414, 14), Solver::Exact);
    assert_eq!(Solver::automatic(3_000, 36), Solver::Exact);
    assert_eq!(Solver::automatic(3_001, 10), Solver::Augmented);
    assert_eq!(Solver::automatic(100, 37), Solver::Augmented);
    assert_eq!(Solver::automatic(70_000, 784), Solver::Augmented);
}
