//! A fit that was ended at any moment goes on from what it has kept, and comes to the same result.

use crate::lip_common::pairwise;
use lipmetric::classify::Weights;
use lipmetric::method::{
    Agop, Arml, Auto, Choose, Fit, Itml, Lip, LipLocal, LipPairs, LipRobust, Lmml, Lmnn, Loss, Mcml, Method, Mlkr, Nca,
    Solver, Training,
};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::{Halt, Kept, Observer, Progress};
use lipmetric::{Labels, Matrix, Metric};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Keeps everything that is offered, and ends the fit at a report: what a run that is killed there leaves behind.
struct Killed {
    parts: BTreeMap<String, Kept>,
    left: usize,
    reports: usize,
    /// The best metric that was offered.
    reached: Option<Metric>,
}

impl Killed {
    fn after(left: usize, parts: BTreeMap<String, Kept>) -> Self {
        Self { parts, left, reports: 0, reached: None }
    }
}

impl Observer for Killed {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        self.reports += 1;
        if self.reports > self.left { ControlFlow::Break(Halt::Interrupted) } else { ControlFlow::Continue(()) }
    }

    fn kept(&mut self, part: &str) -> Option<Kept> {
        self.parts.get(part).cloned()
    }

    fn keep(&mut self, part: &str, state: &mut dyn FnMut() -> Kept) {
        if self.reports <= self.left {
            self.parts.insert(part.to_owned(), state());
        }
    }

    fn finished(&mut self, part: &str, result: &Kept) {
        self.keep(part, &mut || result.clone());
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        if self.reports <= self.left {
            self.reached = metric().or(self.reached.take());
        }
    }
}

fn rows(n: u32) -> (Matrix, Labels) {
    let value = |k: u32| f64::from(k * k % 97) / 40.0 + f64::from(k % 7) / 9.0;
    let x = Matrix::from_vec(n as usize, 3, (0..3 * n).map(value).collect()).unwrap();
    let noise = |i: usize| if i.is_multiple_of(11) { 0.8 } else { 0.0 };
    let y = Labels::from_names(
        (0..n as usize).map(|i| if x[(i, 0)] + 0.4 * x[(i, 1)] + noise(i) > 1.7 { "p" } else { "n" }),
    );
    (x, y)
}

/// Ends fits at about ten different moments each, the last one included, goes on from there, and hands the whole fit and that one over.
fn at_ten_moments(name: &str, method: &dyn Method, data: &Training<'_>, same: impl Fn(&Fit, &Fit, &str)) {
    let mut whole = Killed::after(usize::MAX, BTreeMap::new());
    let expected = method.fit(data, &mut whole).unwrap();
    assert!(whole.reports > 2, "{name}: {} reports", whole.reports);
    let mut taken_up = 0;
    for moment in (0..whole.reports).step_by(whole.reports.div_ceil(10)).chain([whole.reports - 1]) {
        let mut first = Killed::after(moment, BTreeMap::new());
        // Some fits have nothing to return yet.
        let _ = method.fit(data, &mut first);
        taken_up += usize::from(!first.parts.is_empty());
        let mut second = Killed::after(usize::MAX, first.parts);
        let fit = method.fit(data, &mut second).unwrap();
        same(&expected, &fit, &format!("{name}, ended at report {moment} of {}", whole.reports));
    }
    assert!(taken_up > 0, "{name}: nothing was kept");
}

#[test]
fn a_search_for_numbers_goes_on_bit_for_bit() {
    let (x, _) = rows(60);
    let numbers = (0..60).map(|i| x[(i, 0)] + 0.4 * x[(i, 1)] * x[(i, 1)]).collect();
    let y = Labels::from_numbers(numbers).unwrap();
    let data = Training::new(&x, &y).unwrap();
    at_ten_moments("mlkr", &Mlkr::new(), &data, |whole, fit, at| {
        assert_eq!(whole.metric, fit.metric, "{at}");
        assert_eq!(whole.outcome.objective, fit.outcome.objective, "{at}");
    });
}

#[test]
fn searches_go_on_bit_for_bit() {
    let (x, y) = rows(60);
    let data = Training::new(&x, &y).unwrap();
    let methods: [(&str, Box<dyn Method>); 8] = [
        ("itml", Box::new(Itml::new())),
        ("nca", Box::new(Nca::new())),
        ("nca by the likelihood", Box::new(Nca::new().loss(Loss::Log))),
        ("mcml", Box::new(Mcml::new())),
        ("lip-local", Box::new(LipLocal::new())),
        ("arml", Box::new(Arml::new())),
        ("lip-robust", Box::new(LipRobust::new())),
        ("agop", Box::new(Agop::new().rounds(4))),
    ];
    for (name, method) in methods {
        at_ten_moments(name, &*method, &data, |whole, fit, at| {
            assert_eq!(whole.metric, fit.metric, "{at}");
            assert_eq!(whole.outcome.objective, fit.outcome.objective, "{at}");
        });
    }
}

#[test]
fn a_choice_goes_on_bit_for_bit() {
    let (x, y) = rows(60);
    let data = Training::new(&x, &y).unwrap().with_votes(&[1, 3, 5], Weights::Uniform);
    let forms = Lip::chosen().slack(Choose::Auto).c_rel(0.1);
    for (name, method) in [("auto", &Auto::new() as &dyn Method), ("lip", &forms)] {
        at_ten_moments(name, method, &data, |whole, fit, at| {
            let (whole, fit) = (whole.outcome.choice.as_ref().unwrap(), fit.outcome.choice.as_ref().unwrap());
            assert_eq!((&whole.chosen, whole.estimate), (&fit.chosen, fit.estimate), "{at}");
        });
    }
    at_ten_moments("auto", &Auto::new(), &data, |whole, fit, at| assert_eq!(whole.metric, fit.metric, "{at}"));
}

#[test]
fn convex_problems_go_on_to_the_same_certified_optimum() {
    let (x, y) = rows(60);
    let data = Training::new(&x, &y).unwrap();
    let methods: [(&str, Box<dyn Method>, f64); 8] = [
        ("lip-pairs", Box::new(LipPairs::new()), 1e-4),
        ("lip-d", Box::new(pairwise(Variant::Diameter).c_rel(0.05)), 1e-6),
        ("lip-i", Box::new(pairwise(Variant::Intra).c(1.0)), 1e-6),
        ("lip-i, a slack per row", Box::new(Lip::intra().slack(Slack::Instance).c_rel(0.1)), 1e-6),
        ("augmented", Box::new(pairwise(Variant::Intra).c_rel(0.05).solver(Solver::Augmented)), 1e-3),
        ("admm", Box::new(pairwise(Variant::Diameter).c_rel(0.05).solver(Solver::Admm)), 1e-3),
        ("lmnn", Box::new(Lmnn::new()), 1e-3),
        ("lmml", Box::new(Lmml::new()), 1e-3),
    ];
    for (name, method, tolerance) in methods {
        at_ten_moments(name, &*method, &data, |whole, fit, at| {
            let [whole, fit] = [&whole.outcome, &fit.outcome];
            assert!(whole.status.converged() && fit.status.converged(), "{at}: {:?}", fit.status);
            assert_eq!(whole.c, fit.c, "{at}");
            // Each is certified: no lower objective than either bound.
            let (a, b) = (whole.objective.unwrap(), fit.objective.unwrap());
            assert!((a - b).abs() <= 2.0 * tolerance * a.abs(), "{at}: {a} and {b}");
            assert!(fit.gap.unwrap() <= tolerance, "{at}: {:?}", fit.gap);
        });
    }
}

#[test]
fn pairs_of_more_than_a_hundred_features_keep_the_best_metric_and_go_on_from_it() {
    let (n, p) = (80, 110);
    let value = |k: usize| ((k * 7919 + 13) % 10_007) as f64 / 10_007.0 - 0.5;
    let mut x = Matrix::from_vec(n, p, (0..n * p).map(|k| value(3 * k + k / p)).collect()).unwrap();
    (0..n).for_each(|i| x[(i, i % 2)] += 0.5);
    let y = Labels::from_names((0..n).map(|i| ["a", "b"][i % 2]));
    let data = Training::new(&x, &y).unwrap();
    let method = LipPairs::new().tolerance(1e-3);
    at_ten_moments("lip-pairs", &method, &data, |whole, fit, at| {
        let (a, b) = (whole.outcome.objective.unwrap(), fit.outcome.objective.unwrap());
        assert!((a - b).abs() <= 2e-3 * a && fit.outcome.gap.unwrap() <= 1e-3, "{at}: {a} and {b}");
    });
    // Whoever does not wait for the end has the best metric so far, on all features.
    let mut whole = Killed::after(usize::MAX, BTreeMap::new());
    method.fit(&data, &mut whole).unwrap();
    let mut first = Killed::after(whole.reports / 2, BTreeMap::new());
    let _ = method.fit(&data, &mut first);
    let best = first.reached.unwrap();
    assert!(best.features() == p && best.rank() < p, "{}", best.rank());
}

#[test]
fn what_cannot_be_of_this_fit_is_not_used() {
    let (x, y) = rows(60);
    let data = Training::new(&x, &y).unwrap();
    let methods: [Box<dyn Method>; 7] = [
        Box::new(Itml::new()),
        Box::new(Nca::new()),
        Box::new(Mcml::new()),
        Box::new(LipLocal::new()),
        Box::new(Arml::new()),
        Box::new(Lmnn::new()),
        Box::new(pairwise(Variant::Diameter).c_rel(0.05)),
    ];
    for method in methods {
        let mut whole = Killed::after(usize::MAX, BTreeMap::new());
        let expected = method.fit(&data, &mut whole).unwrap();
        let spoilt = |change: fn(&mut Kept)| {
            let mut parts = whole.parts.clone();
            // The trade-off is a number like any other: nothing could be told by it.
            parts.retain(|name, _| name != "c_max");
            parts.values_mut().for_each(change);
            parts
        };
        let shorter = spoilt(|kept| kept.numbers.truncate(0));
        let other = spoilt(|kept| kept.numbers.iter_mut().for_each(|m| *m = Matrix::zeros(2, 1)));
        let wrong = spoilt(|kept| kept.numbers.iter_mut().for_each(|m| m.as_mut_slice().fill(f64::NAN)));
        for parts in [shorter, other, wrong] {
            let fit = method.fit(&data, &mut Killed::after(usize::MAX, parts)).unwrap();
            assert_eq!(fit.metric, expected.metric, "{}", method.name());
        }
    }
}
