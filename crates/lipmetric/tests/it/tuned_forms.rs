//! Lip^D and Lip^I of which several aspects are chosen together.

use lipmetric::classify::Weights;
use lipmetric::method::{Choice, Choose, Fit, Lip, Method, MetricKind, Training};
use lipmetric::problem::{Diameter, Slack};
use lipmetric::solver::{Halt, Observer, Progress, Silent, Status};
use lipmetric::{Labels, Matrix};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Everything that can be chosen is.
fn all() -> Lip {
    Lip::chosen().slack(Choose::Auto).diameter(Choose::Auto).rank(Choose::Auto)
}

/// Rows of which the first feature, and a little noise, tells the class.
fn rows(n: usize, p: usize, noise: f64, seed: u64) -> (Matrix, Labels) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut x = Matrix::zeros(n, p);
    x.as_mut_slice().iter_mut().for_each(|v| *v = 2.0 * rng.random::<f64>() - 1.0);
    let class = |i: usize, rng: &mut ChaCha8Rng| u32::from(x[(i, 0)] + noise * (rng.random::<f64>() - 0.5) > 0.0);
    let codes = (0..n).map(|i| class(i, &mut rng)).collect();
    (x, Labels::from_codes(vec!["no".to_owned(), "yes".to_owned()], codes).unwrap())
}

fn fit(learner: &dyn Method, (x, y): &(Matrix, Labels)) -> Fit {
    learner.fit(&Training::new(x, y).unwrap(), &mut Silent).unwrap()
}

fn chosen(fit: &Fit) -> &Choice {
    fit.outcome.choice.as_ref().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn whatever_is_chosen_is_told_and_learned(subset in 0usize..32, seed in 0u64..1000) {
        let [trade_off, slack, diameter, variant, rank] = std::array::from_fn(|k| subset >> k & 1 == 1);
        let mut lip = Lip::overall().c_rel(0.2);
        if trade_off {
            lip = lip.trade_off(Choose::Auto);
        }
        if slack {
            lip = lip.slack(Choose::Auto);
        }
        if diameter {
            lip = lip.diameter(Choose::Auto);
        }
        if variant {
            lip = lip.variant(Choose::Auto);
        }
        if rank {
            lip = lip.rank(Choose::Auto);
        }
        let fit = fit(&lip, &rows(30, 3, 0.4, seed));
        prop_assert_eq!(fit.outcome.choice.is_some(), lip.chooses());
        prop_assume!(lip.chooses());
        let choice = chosen(&fit);
        let taken = &choice.chosen;

        prop_assert_eq!(lip.name(), if variant { "lip" } else { "lip-d" });
        prop_assert!(taken.metric == MetricKind::LipD || (variant && taken.metric == MetricKind::LipI));
        prop_assert_eq!(taken.slack.is_some(), slack);
        prop_assert_eq!(taken.diameter.is_some(), diameter);
        prop_assert!(rank || taken.rank.is_none());
        prop_assert!(trade_off || taken.c_rel == Some(0.2));

        let forms = (1 + usize::from(slack)) * (1 + usize::from(variant))
            * (1 + 2 * usize::from(diameter));
        let trade_offs = if !trade_off { 1 } else if forms > 1 { 4 } else { 7 };
        let ranks = if rank { 3 } else { 1 };
        prop_assert_eq!(choice.tried.len(), forms * trade_offs * ranks);

        prop_assert!(taken.accuracy >= choice.reference - 1e-12);
        prop_assert!((0.0..=1.0).contains(&choice.estimate.unwrap()));
        let ratio = fit.outcome.c.unwrap() / fit.outcome.c_max.unwrap();
        prop_assert!((ratio - taken.c_rel.unwrap()).abs() < 1e-6, "{} {:?}", ratio, choice);
        // A metric that was cut afterwards has the gap that is left.
        prop_assert!(fit.outcome.gap.unwrap() <= 1e-6 || taken.rank.is_some());
        prop_assert!(taken.rank.is_none_or(|r| fit.metric.rank() <= r));
    }
}

#[test]
fn nothing_is_chosen_without_need() {
    // Every form tells these classes apart: the given one stays.
    let mut data = rows(60, 2, 0.0, 1);
    (0..60).for_each(|i| data.0[(i, 0)] += 4.0 * data.0[(i, 0)].signum());
    let fit = fit(&all(), &data);
    let choice = &chosen(&fit).chosen;
    assert_eq!((choice.metric, choice.c_rel), (MetricKind::LipI, Some(0.1)));
    assert_eq!((choice.slack, choice.diameter), (Some(Slack::Instance), Some(Diameter::Maximum)));
    assert_eq!((choice.rank, fit.metric.rank()), (Some(1), 1), "one direction is enough");
    let given = Lip::overall().slack(Slack::Pair).diameter(Diameter::Mean).rank(Choose::Auto);
    let fit = given.fit(&Training::new(&data.0, &data.1).unwrap(), &mut Silent).unwrap();
    assert_eq!(chosen(&fit).chosen.metric, MetricKind::LipD, "what is not to be chosen stays");
}

#[test]
fn directions_that_tell_nothing_are_cut() {
    let (train, test) = (rows(120, 8, 0.2, 2), rows(400, 8, 0.2, 3));
    let lip = Lip::intra();
    let right = |fit: &Fit| {
        let mapped = fit.metric.transform(&train.0).unwrap();
        let index = lipmetric::neighbours::NeighbourIndex::new(mapped).unwrap();
        let knn = lipmetric::classify::KnnClassifier::new(index, train.1.clone(), 1, Weights::Uniform).unwrap();
        let told = knn.predict(&fit.metric.transform(&test.0).unwrap()).unwrap();
        told.iter().zip(test.1.codes()).filter(|(a, b)| a == b).count()
    };
    let (whole, cut) = (fit(&lip, &train), fit(&lip.clone().rank(Choose::Auto), &train));
    assert!(cut.metric.rank() < 4, "{}", cut.metric.rank());
    assert!(cut.outcome.notes.iter().any(|n| n.contains("cut to rank")), "{:?}", cut.outcome.notes);
    // What is cut is worth less than what was certified, and says so.
    let (all, left) = (&whole.outcome, &cut.outcome);
    assert_eq!((all.status, left.status), (Status::Optimal, Status::RankLimited));
    assert!(left.gap.unwrap() > 1e-6 && left.objective.unwrap() > left.dual.unwrap(), "{left:?}");
    assert!(right(&cut) >= right(&whole), "{} against {}", right(&cut), right(&whole));
    // What is cut only shortens distances.
    let (a, b) = (test.0.row(0), test.0.row(1));
    assert!(cut.metric.squared_distance(a, b) <= whole.metric.squared_distance(a, b) * (1.0 + 1e-9));
}

#[test]
fn labels_that_are_noise_are_predicted_by_no_form() {
    // In many dimensions a metric that had seen the held-out labels would predict them.
    let (x, _) = rows(60, 8, 0.0, 4);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let codes = (0..60).map(|_| rng.random_range(0..2)).collect();
    let data = (x, Labels::from_codes(vec!["a".to_owned(), "b".to_owned()], codes).unwrap());
    let fit = fit(&Lip::chosen().rank(Choose::Auto), &data);
    let tried = &chosen(&fit).tried;
    let mean = tried.iter().map(|t| t.accuracy).sum::<f64>() / tried.len() as f64;
    assert!((mean - 0.5).abs() < 0.15, "noise was predicted with {mean}");
    assert!((chosen(&fit).estimate.unwrap() - 0.5).abs() < 0.25);
}

#[test]
fn the_tail_is_tried_as_the_diameter_where_rows_are_few() {
    let tuned = Lip::intra().slack(Slack::Pair).diameter(Choose::Auto);
    let tails = |n: usize| {
        let fit = fit(&tuned, &rows(n, 2, 0.5, 7));
        chosen(&fit).tried.iter().filter(|t| matches!(t.diameter, Some(Diameter::Cvar(_)))).count()
    };
    assert_eq!((tails(60), tails(160)), (1, 0));
}

#[test]
fn one_c_does_not_serve_several_forms() {
    let data = rows(40, 2, 0.5, 8);
    let training = Training::new(&data.0, &data.1).unwrap();
    let lip = || Lip::intra().c(1.0);
    for several in [lip().slack(Choose::Auto), lip().diameter(Choose::Auto), lip().variant(Choose::Auto)] {
        let error = several.fit(&training, &mut Silent).unwrap_err();
        assert!(error.to_string().contains("c_max"), "{error}");
        assert_eq!(Err(error), several.check(), "no data are needed to see it");
    }
    // The rank of one problem's solution can be chosen at any c.
    let fit = fit(&Lip::intra().slack(Slack::Pair).c(0.01).rank(Choose::Auto), &data);
    assert_eq!((fit.outcome.c, chosen(&fit).chosen.c_rel), (Some(0.01), None));
}

struct StopAt(usize);

impl Observer for StopAt {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if at.iteration >= self.0 { ControlFlow::Break(Halt::TimeLimit) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_choice_that_is_stopped_says_so_and_has_the_usual_metric() {
    let data = rows(60, 3, 0.5, 9);
    let training = Training::new(&data.0, &data.1).unwrap();
    for at in [2, 200] {
        let fit = all().fit(&training, &mut StopAt(at)).unwrap();
        assert_eq!(fit.outcome.status, Status::TimeLimit);
        assert_eq!((fit.metric.features(), chosen(&fit).rows), (3, 0));
    }
}
