//! The tuned method: what it chooses, from which rows, and that nothing odd breaks it.

use crate::lip_common::pairwise;
use lipmetric::classify::{KnnClassifier, Weights};
use lipmetric::method::{Auto, Choose, Fit, Lip, LipLocal, Lmnn, Method, MetricKind, Training};
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::problem::Variant;
use lipmetric::solver::{Halt, Observer, Progress, Silent, Status};
use lipmetric::{Labels, Matrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Uniform rows in [-1, 1]^p and a class each.
fn rows(n: usize, p: usize, seed: u64, class: impl Fn(&[f64], &mut ChaCha8Rng) -> u32) -> (Matrix, Labels) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut x = Matrix::zeros(n, p);
    x.as_mut_slice().iter_mut().for_each(|v| *v = 2.0 * rng.random::<f64>() - 1.0);
    let codes: Vec<u32> = (0..n).map(|i| class(x.row(i), &mut rng)).collect();
    let names = (0..=*codes.iter().max().unwrap()).map(|c| format!("class {c}")).collect();
    (x, Labels::from_codes(names, codes).unwrap())
}

/// Two of the features tell the class, by the signs' product: no direction by itself tells anything.
fn chequered(n: usize, p: usize, seed: u64) -> (Matrix, Labels) {
    rows(n, p, seed, |x, _| u32::from(x[0] * x[1] > 0.0))
}

fn fit(learner: &dyn Method, x: &Matrix, y: &Labels) -> Fit {
    learner.fit(&Training::new(x, y).unwrap(), &mut Silent).unwrap()
}

fn accuracy(fit: &Fit, train: &(Matrix, Labels), test: &(Matrix, Labels), k: usize) -> f64 {
    let index = NeighbourIndex::new(fit.metric.transform(&train.0).unwrap()).unwrap();
    let knn = KnnClassifier::new(index, train.1.clone(), k, Weights::Uniform).unwrap();
    let told = knn.predict(&fit.metric.transform(&test.0).unwrap()).unwrap();
    let right = told.iter().zip(test.1.codes()).filter(|(a, b)| a == b).count();
    right as f64 / told.len() as f64
}

#[test]
fn labels_that_are_noise_leave_the_euclidean_metric() {
    let mut kept = 0;
    for seed in 0..6 {
        let (x, y) = rows(150, 6, seed, |_, rng| rng.random_range(0..2));
        let fit = fit(&Auto::new(), &x, &y);
        let choice = fit.outcome.choice.unwrap();
        let estimate = choice.estimate.unwrap();
        assert!((estimate - 0.5).abs() < 0.2, "nothing can be predicted: {estimate}");
        assert!(estimate <= choice.chosen.accuracy + 1e-12);
        kept += usize::from(choice.chosen.metric == MetricKind::Euclidean);
        assert_eq!(choice.chosen.metric == MetricKind::Euclidean, fit.metric == lipmetric::Metric::euclidean(6));
    }
    // The best of several is more than one standard error above by chance now and then.
    assert!(kept >= 3, "{kept} of 6");
}

#[test]
fn features_that_tell_nothing_are_found_out() {
    let class = |x: &[f64], _: &mut ChaCha8Rng| u32::from(x[0] + x[1] > 0.0);
    let (train, test) = (rows(240, 12, 1, class), rows(600, 12, 2, class));
    let tuned = fit(&Auto::new(), &train.0, &train.1);
    let plain = fit(&lipmetric::method::Euclidean::new(), &train.0, &train.1);
    let (with, without) = (accuracy(&tuned, &train, &test, 1), accuracy(&plain, &train, &test, 1));
    assert!(with > without + 0.08, "{with} against {without}");
    let choice = tuned.outcome.choice.unwrap();
    let expected = choice.estimate.unwrap();
    assert!((expected - with).abs() < 0.08, "expected {expected}, found {with}");
    assert!(choice.chosen.accuracy > choice.reference + choice.standard_error);
}

#[test]
fn near_pairs_see_what_all_pairs_cannot() {
    let (train, test) = (chequered(300, 8, 3), chequered(600, 8, 4));
    let local = accuracy(&fit(&LipLocal::new(), &train.0, &train.1), &train, &test, 1);
    let global = accuracy(&fit(&pairwise(Variant::Intra).c_rel(0.1), &train.0, &train.1), &train, &test, 1);
    let lmnn = accuracy(&fit(&Lmnn::new(), &train.0, &train.1), &train, &test, 1);
    assert!(local > global + 0.1 && local > lmnn, "local {local}, global {global}, LMNN {lmnn}");
}

/// Seven classes. The first feature tells three pairs of them and the last one apart, and hardly varies otherwise; each of the
/// others, some of them with heavy tails, tells one class.
fn one_direction_of_many(n: usize, seed: u64) -> (Matrix, Labels) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut x = Matrix::zeros(n, 10);
    for i in 0..n {
        let class = i % 7;
        for k in 0..10 {
            let noise: f64 = (0..4).map(|_| rng.random::<f64>() - 0.5).sum();
            let tail = if k > 6 { 1.0 / (0.2 + rng.random::<f64>()) } else { 1.0 };
            let centre = if k == class + 1 { 2.0 } else { 0.0 };
            x[(i, k)] = if k == 0 { (class / 2) as f64 + 0.03 * noise } else { centre + noise * tail };
        }
    }
    let names = (0..7).map(|c| format!("class {c}")).collect();
    (x, Labels::from_codes(names, (0..n as u32).map(|i| i % 7).collect()).unwrap())
}

#[test]
fn a_direction_that_tells_much_does_not_hide_the_others_from_near_pairs() {
    let (train, test) = (one_direction_of_many(280, 1), one_direction_of_many(560, 2));
    let right = |method: &dyn Method| accuracy(&fit(method, &train.0, &train.1), &train, &test, 1);
    let plain = right(&lipmetric::method::Euclidean::new());
    let (bare, local) = (right(&LipLocal::new().euclid(0.0)), right(&LipLocal::new()));
    assert!(bare < plain - 0.1, "without the fixed part {bare}, Euclidean {plain}");
    assert!(local > plain - 0.02, "with it {local}, Euclidean {plain}");
}

#[test]
fn the_fixed_part_of_near_pairs_is_a_bound_of_the_metric_from_below() {
    let (x, y) = chequered(200, 5, 5);
    let least = |euclid: f64| {
        let m = fit(&LipLocal::new().c_rel(0.5).euclid(euclid), &x, &y).metric;
        m.spectrum().unwrap().into_iter().fold(f64::INFINITY, f64::min)
    };
    let (none, some, more) = (least(0.0), least(0.2), least(0.4));
    assert!(none < some && (more / some - 2.0).abs() < 1e-6, "{none}, {some}, {more}");
    let wrong = LipLocal::new().euclid(1.0).fit(&Training::new(&x, &y).unwrap(), &mut Silent);
    assert!(wrong.unwrap_err().to_string().contains("euclid"));
}

#[test]
fn near_pairs_are_certified() {
    let (x, y) = chequered(200, 5, 5);
    for c in [0.5, 0.1, 0.02] {
        let outcome = fit(&LipLocal::new().c_rel(c), &x, &y).outcome;
        assert_eq!(outcome.status, Status::Optimal);
        assert!(outcome.dual.unwrap() <= outcome.objective.unwrap() && outcome.gap.unwrap() <= 1e-2);
        // The zero metric's objective is 2: something was learned.
        assert!(outcome.objective.unwrap() < 2.0);
    }
}

#[test]
fn the_number_of_neighbours_is_chosen_with_the_metric() {
    // One label in five is wrong: more neighbours are better.
    let class = |x: &[f64], rng: &mut ChaCha8Rng| u32::from((x[0] > 0.0) != (rng.random::<f64>() < 0.2));
    let (x, y) = rows(300, 3, 6, class);
    let data = Training::new(&x, &y).unwrap();
    let ks = [1, 5, 15];
    let fit = Auto::new().fit(&data.with_votes(&ks, Weights::Uniform), &mut Silent).unwrap();
    let choice = fit.outcome.choice.unwrap();
    let k = choice.chosen.k.unwrap();
    assert!(k > 1 && ks.contains(&k), "{k}");
    assert!(choice.tried.iter().all(|t| t.accuracy <= choice.chosen.accuracy + choice.standard_error));
}

#[test]
fn held_out_rows_do_not_tell_the_metric_their_labels() {
    // Each row is its own class's only hint: a metric that had seen the held-out labels would predict better than chance.
    let (x, y) = rows(60, 40, 7, |_, rng| rng.random_range(0..2));
    for k in [1, 3] {
        let data = Training::new(&x, &y).unwrap();
        let fit = Auto::new().fit(&data.with_votes(&[k], Weights::Uniform), &mut Silent).unwrap();
        let choice = fit.outcome.choice.unwrap();
        let mean = choice.tried.iter().map(|t| t.accuracy).sum::<f64>() / choice.tried.len() as f64;
        assert!((mean - 0.5).abs() < 0.2, "noise was predicted with {mean}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_for_any_number_of_threads() {
    let (x, y) = chequered(120, 6, 8);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&Auto::new().seed(seed), &x, &y))
    };
    assert_eq!(run(1, 0), run(3, 0));
    assert_ne!(run(1, 0).outcome.choice, run(1, 1).outcome.choice, "the seed deals the rows");
}

#[test]
fn odd_tables_are_no_trouble() {
    let tuned = Auto::new();
    let check = |x: &Matrix, y: &Labels| {
        let fit = fit(&tuned, x, y);
        assert!(fit.metric.factor().first_non_finite().is_none());
        assert!(fit.metric.rank() >= 1);
        let choice = fit.outcome.choice.unwrap();
        assert!(choice.chosen.k.is_some_and(|k| k >= 1));
        choice
    };
    // A row per class; two rows; a class of one row among others.
    let lonely = check(&Matrix::from_rows(&[[0.0], [1.0], [2.0]]), &Labels::from_names(["a", "b", "c"]));
    assert_eq!((lonely.chosen.metric, lonely.rows), (MetricKind::Euclidean, 0));
    check(&Matrix::from_rows(&[[0.0], [1.0]]), &Labels::from_names(["a", "b"]));
    let (mut x, y) = rows(40, 3, 9, |x, _| if x[0] > 0.9 { 2 } else { u32::from(x[1] > 0.0) });
    check(&x, &y);
    // A constant feature, and equal rows.
    (0..40).for_each(|i| x[(i, 2)] = 7.0);
    check(&x, &y);
    (0..20).for_each(|i| x.row_mut(i).copy_from_slice(&[0.5, 0.5, 7.0]));
    check(&x, &y);
    let equal = check(&Matrix::from_rows(&[[1.0, 2.0]; 12]), &Labels::from_names(["a", "b"].repeat(6)));
    assert_eq!(equal.chosen.metric, MetricKind::Euclidean);
    // Classes of equal rows; more features than rows; features of very different size.
    let twins = Matrix::from_rows(&[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]]);
    check(&twins, &Labels::from_names(["a", "a", "a", "b", "b", "b"]));
    let (many, y) = rows(24, 130, 10, |x, _| u32::from(x[0] > 0.0));
    check(&many, &y);
    let (mut sizes, y) = rows(60, 3, 11, |x, _| u32::from(x[0] > 0.0));
    (0..60).for_each(|i| sizes.row_mut(i).iter_mut().zip([1e-6, 1.0, 1e6]).for_each(|(v, s)| *v *= s));
    check(&sizes, &y);
    // One class only has nothing to choose by.
    let one = Labels::from_names(["a"; 60]);
    assert!(tuned.fit(&Training::new(&sizes, &one).unwrap(), &mut Silent).is_err());
}

struct StopAt(usize, Halt);

impl Observer for StopAt {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if at.iteration >= self.0 { ControlFlow::Break(self.1) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_fit_that_is_stopped_says_so_and_has_a_metric() {
    let (x, y) = chequered(100, 4, 12);
    let data = Training::new(&x, &y).unwrap();
    for (stop, status) in [(Halt::TimeLimit, Status::TimeLimit), (Halt::Interrupted, Status::Interrupted)] {
        for at in [1, 30] {
            let fit = Auto::new().fit(&data, &mut StopAt(at, stop)).unwrap();
            assert_eq!(fit.outcome.status, status);
            assert_eq!(fit.metric.features(), 4);
            assert!(fit.outcome.notes.iter().any(|n| n.contains("stopped")), "{:?}", fit.outcome.notes);
        }
    }
}

#[test]
fn the_trade_off_of_lip_can_be_chosen() {
    let class = |x: &[f64], _: &mut ChaCha8Rng| u32::from(x[0] > 0.0);
    let (x, y) = rows(80, 3, 13, class);
    let fit = fit(&Lip::intra().trade_off(Choose::Auto), &x, &y);
    let (outcome, choice) = (&fit.outcome, fit.outcome.choice.as_ref().unwrap());
    assert_eq!((choice.chosen.metric, choice.tried.len()), (MetricKind::LipI, 7));
    assert!((outcome.c.unwrap() / outcome.c_max.unwrap() - choice.chosen.c_rel.unwrap()).abs() < 1e-6);
    assert!(outcome.gap.unwrap() <= 1e-6);
}

#[test]
fn many_rows_are_learned_from_after_a_choice_by_some() {
    let (x, y) = chequered(3000, 4, 14);
    let fit = fit(&Auto::new(), &x, &y);
    let choice = fit.outcome.choice.unwrap();
    assert!(choice.rows <= 2000 && choice.rows > 1900, "{}", choice.rows);
    assert!(choice.estimate.unwrap() > 0.8);
}
