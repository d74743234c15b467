#![allow(clippy::unwrap_used)]

use super::*;
use crate::method::{ClassWeights, Fit, Lip, Method, Training};
use crate::problem::SupportPair;
use crate::solver::Silent;

/// Two rows of different label at distance 2 under the metric, at `c = 1/2`: the objective is 1, and the multipliers 1/2 on the
/// one pair, pushed and pulled, prove that no other is less.
struct Hand {
    x: Matrix,
    y: Labels,
    metric: Metric,
    certificate: Certificate,
    slack: Slack,
    diameter: Diameter,
    variant: Variant,
    c: f64,
}

impl Hand {
    fn new() -> Self {
        let metric = Metric::euclidean(2);
        let mut certificate = Certificate::nothing(metric.clone());
        certificate.pairs = [true, false].map(|pushes| SupportPair::new(0, 1, pushes, 0.5)).to_vec();
        Self {
            x: Matrix::from_rows(&[[0.0, 5.0], [1.0, 6.0]]),
            y: Labels::from_names(["a", "b"]),
            metric,
            certificate,
            slack: Slack::Pair,
            diameter: Diameter::Maximum,
            variant: Variant::Diameter,
            c: 0.5,
        }
    }

    fn statement(&self) -> Statement<'_> {
        Statement {
            x: &self.x,
            y: &self.y,
            metric: &self.metric,
            variant: self.variant,
            slack: self.slack,
            diameter: self.diameter,
            c: self.c,
            certificate: &self.certificate,
        }
    }

    fn found(&self) -> Verified {
        verify(&self.statement(), &Claims::default(), USUAL_LIMIT).unwrap()
    }
}

#[test]
fn a_problem_solved_by_hand_is_proved_to_the_last_bit() {
    for slack in [Slack::Pair, Slack::Instance] {
        for diameter in [Diameter::Maximum, Diameter::Mean, Diameter::Cvar(0.25)] {
            let hand = Hand { slack, diameter, ..Hand::new() };
            let claims = Claims { objective: Some(1.0), bound: Some(1.0), gap: Some(0.0) };
            let found = verify(&hand.statement(), &claims, USUAL_LIMIT).unwrap();
            assert!(found.holds(), "{found:?}");
            assert_eq!((found.objective, found.bound, found.gap), (1.0, 1.0, Some(0.0)));
            assert!(found.feasible && found.every_metric && found.raised == 0.0 && found.pairs == 1);
        }
    }
}

#[test]
fn shared_multipliers_count_as_those_of_each_pair() {
    // `below` gives the pair 1/2 if it is nearer than 2 under `sides`, `beyond` if it is longer than the edge.
    let mut hand = Hand::new();
    hand.certificate.pairs.clear();
    hand.certificate.sides = Metric::new(Matrix::from_rows(&[[0.5, 0.0]])).unwrap();
    (hand.certificate.below, hand.certificate.mean) = (0.5, 0.5);
    assert_eq!((hand.found().bound, hand.found().feasible), (1.0, true));
    (hand.certificate.mean, hand.certificate.beyond, hand.certificate.edge) = (0.0, 0.5, 0.2);
    assert_eq!((hand.found().bound, hand.found().feasible), (1.0, true));
    // At the edge itself a pair is not beyond it, and then nothing holds the push.
    hand.certificate.edge = 0.25;
    assert!(!hand.found().feasible);
    // At the margin itself a pair is not below it: nothing is pushed, and nothing is proved.
    hand.certificate.sides = Metric::euclidean(2);
    assert_eq!((hand.found().bound, hand.found().feasible), (0.0, true));
}

/// What is said, and of which change.
type Break = (&'static str, fn(&mut Hand));

#[test]
fn each_condition_that_is_broken_is_found() {
    let breaks: [Break; 17] = [
        ("none may be negative", |h| h.certificate.pairs[0].multiplier = -0.1),
        ("`mean` is -1: none may be negative", |h| h.certificate.mean = -1.0),
        ("`below` is -1: none may be negative", |h| h.certificate.below = -1.0),
        ("`beyond` is -1: none may be negative", |h| h.certificate.beyond = -1.0),
        ("not positive semidefinite", |h| h.certificate.pairs[0].multiplier = 0.5f64.next_up()),
        ("add up to more than c", |h| h.certificate.pairs[1].multiplier = 0.5f64.next_up()),
        ("add up to more than c", |h| h.certificate.mean = 1e-300),
        ("rows 1 and 2 is larger than the product of their weights", |h| {
            (h.c, h.certificate.pairs[0].multiplier, h.certificate.pairs[1].multiplier) = (9.0, 1.5, 9.0);
        }),
        ("row 1 add up to more than its weight", |h| {
            h.slack = Slack::Instance;
            (h.c, h.certificate.pairs[0].multiplier, h.certificate.pairs[1].multiplier) = (9.0, 1.5, 9.0);
        }),
        ("`below` is 2: it may be 1 at most", |h| h.certificate.below = 2.0),
        ("`below` is not 0", |h| (h.slack, h.certificate.below) = (Slack::Instance, 0.5)),
        ("the two have the same label", |h| h.y = Labels::from_names(["a", "a"])),
        ("different labels", |h| {
            h.variant = Variant::Intra;
            h.x = Matrix::from_rows(&[[0.0, 5.0], [1.0, 6.0], [3.0, 3.0]]);
            h.y = Labels::from_names(["a", "b", "b"]);
        }),
        ("is no pair", |h| h.certificate.pairs[1].second = 0),
        ("a row without weight", |h| {
            h.x = Matrix::from_rows(&[[0.0, 5.0], [1.0, 6.0], [3.0, 3.0]]);
            h.y = Labels::from_names(["a", "b", "b"]);
            h.certificate.weights = vec![1.0, 0.0, 1.0];
        }),
        ("share of c", |h| {
            h.diameter = Diameter::Mean;
            h.x = Matrix::from_rows(&[[0.0, 5.0], [1.0, 6.0], [3.0, 3.0]]);
            h.y = Labels::from_names(["a", "b", "b"]);
        }),
        ("`mean` gives each pair more", |h| (h.diameter, h.certificate.mean) = (Diameter::Mean, 0.75)),
    ];
    for (words, change) in breaks {
        let mut hand = Hand::new();
        change(&mut hand);
        let found = hand.found();
        assert!(found.reasons.iter().any(|r| r.contains(words)), "{words}: {found:?}");
        assert!(!found.feasible && !found.holds() && found.bound == 0.0, "{words}: {found:?}");
    }
}

#[test]
fn a_claim_is_false_by_the_last_bit_of_a_bound_and_by_more_than_rounding_of_an_objective() {
    let hand = Hand::new();
    let reasons = |objective: f64, bound: f64, gap: f64| {
        let claims = Claims { objective: Some(objective), bound: Some(bound), gap: Some(gap) };
        verify(&hand.statement(), &claims, USUAL_LIMIT).unwrap().reasons
    };
    assert_eq!(reasons(1.0 + 1e-10, 1.0, 0.0), [""; 0]);
    assert!(reasons(1.0 + 1e-8, 1.0, 0.0)[0].contains("objective is claimed"));
    assert!(reasons(1.0 - 1e-8, 1.0, 0.0)[0].contains("objective is claimed"));
    assert!(reasons(1.0, 1.0f64.next_up(), 0.0)[0].contains("only 1 is proved"));
    let mut half = Hand::new();
    half.certificate.pairs[0].multiplier = 0.25;
    let claims = Claims { gap: Some(0.1), ..Claims::default() };
    let found = verify(&half.statement(), &claims, USUAL_LIMIT).unwrap();
    assert!(found.gap == Some(0.5) && found.reasons[0].contains("gap is claimed to be 0.1"), "{found:?}");
}

#[test]
fn slacks_that_are_not_feasible_are_raised_and_negative_ones_refused() {
    let mut hand = Hand { slack: Slack::Instance, ..Hand::new() };
    hand.metric = Metric::new(Matrix::from_rows(&[[1.0, 0.0]])).unwrap();
    // One is missing to the margin; the slacks have half of it.
    hand.certificate.slack = vec![0.5, 0.0];
    let found = hand.found();
    assert_eq!((found.objective, found.raised), (1.5, 0.25));
    hand.certificate.slack = vec![-1.0, 2.0];
    assert!(hand.found().reasons[0].contains("slack of row 1 is -1"));
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let refused = |change: fn(&mut Hand)| {
        let mut hand = Hand::new();
        change(&mut hand);
        verify(&hand.statement(), &Claims::default(), USUAL_LIMIT).unwrap_err().to_string()
    };
    assert!(refused(|h| h.certificate.pairs[0].first = 2).contains("names rows 2 and 1"));
    assert!(refused(|h| h.certificate.weights = vec![1.0]).contains("weights: expected 2, found 1"));
    assert!(refused(|h| h.certificate.slack = vec![f64::NAN; 2]).contains("NaN"));
    assert!(refused(|h| h.certificate.sides = Metric::euclidean(3)).contains("expected 2, found 3"));
    assert!(refused(|h| h.certificate.edge = f64::INFINITY).contains("finite"));
    assert!(refused(|h| h.certificate.basis = Some(Matrix::zeros(1, 5))).contains("basis"));
    assert!(refused(|h| h.c = f64::NAN).contains("not a positive number"));
    assert!(refused(|h| h.diameter = Diameter::Cvar(0.0)).contains("level"));
    assert!(refused(|h| h.variant = Variant::Intra).contains("no pair of rows bounds the diameter"));
    let hand = Hand::new();
    let error = verify(&hand.statement(), &Claims::default(), 1.0).unwrap_err().to_string();
    assert!(error.contains("parameter `limit`") && error.contains("1 pairs") && error.contains("or more"), "{error}");
}

fn rows(n: usize, p: usize, seed: u64) -> (Matrix, Labels) {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
    };
    let class = |i: usize| i % 3 % 2;
    let values = (0..n * p).map(|k| random() + if k % p == 0 { 0.4 * class(k / p) as f64 } else { 0.0 }).collect();
    (Matrix::from_vec(n, p, values).unwrap(), Labels::from_names((0..n).map(|i| ["a", "b"][class(i)])))
}

/// The objective by plain loops in floating point.
fn plain(s: &Statement<'_>) -> f64 {
    let (n, code) = (s.x.rows(), s.y.codes());
    let weight = |i: usize| s.certificate.weights.get(i).copied().unwrap_or(1.0);
    let (mut lengths, mut hinge) = (Vec::new(), 0.0);
    for i in 0..n {
        for j in 0..i {
            let (rho, w) = (s.metric.squared_distance(s.x.row(i), s.x.row(j)), weight(i) * weight(j));
            if s.variant == Variant::Diameter || code[i] == code[j] {
                lengths.push((rho, w));
            }
            if code[i] != code[j] {
                hinge += w * (2.0 - rho).max(0.0);
            }
        }
    }
    lengths.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total: f64 = lengths.iter().map(|l| l.1).sum();
    let tail = |level: f64| {
        let mut left = level * total;
        let mut sum = 0.0;
        for &(rho, w) in &lengths {
            sum += rho * w.min(left);
            left -= w.min(left);
        }
        sum / (level * total)
    };
    let diameter = match s.diameter {
        Diameter::Maximum => lengths[0].0,
        Diameter::Mean => tail(1.0),
        Diameter::Cvar(level) => tail(level),
    };
    let loss = match s.slack {
        Slack::Pair => hinge,
        Slack::Instance => s.certificate.slack.iter().enumerate().map(|(i, v)| weight(i) * v).sum(),
    };
    s.c * diameter + loss
}

fn check(fit: &Fit, s: &Statement<'_>) -> Verified {
    let outcome = &fit.outcome;
    let claims = Claims { objective: outcome.objective, bound: outcome.dual, gap: outcome.gap };
    let found = verify(s, &claims, USUAL_LIMIT).unwrap();
    assert!(found.holds(), "{:?} {:?} {:?}: {found:?} {outcome:?}", s.variant, s.slack, s.diameter);
    assert!(found.gap.unwrap() <= 1e-5 && found.bound <= found.objective, "{found:?}");
    assert!((found.objective / plain(s) - 1.0).abs() < 1e-9, "{} {}", found.objective, plain(s));
    assert!(found.raised < 1e-12, "{found:?}");
    found
}

#[test]
fn a_fit_of_every_form_is_proved() {
    let (x, y) = rows(24, 3, 7);
    let data = Training::new(&x, &y).unwrap();
    for variant in [Variant::Diameter, Variant::Intra] {
        for slack in [Slack::Pair, Slack::Instance] {
            for diameter in [Diameter::Maximum, Diameter::Mean, Diameter::Cvar(0.3)] {
                for weights in [ClassWeights::None, ClassWeights::Balanced] {
                    let lip = Lip::new().variant(variant).slack(slack).diameter(diameter).class_weights(weights);
                    let fit = lip.c_rel(0.05).fit(&data, &mut Silent).unwrap();
                    let certificate = fit.certificate.as_ref().unwrap();
                    let (c, metric) = (fit.outcome.c.unwrap(), &fit.metric);
                    let s = Statement { x: &x, y: &y, metric, variant, slack, diameter, c, certificate };
                    assert!(check(&fit, &s).every_metric);
                }
            }
        }
    }
}

#[test]
fn dependent_features_leave_a_bound_of_every_metric() {
    // The third feature is constant and the fourth twice the first, exactly: a basis leaves nothing out that the rows show.
    let (narrow, y) = rows(20, 2, 3);
    let wide: Vec<[f64; 4]> = (0..20).map(|i| [narrow[(i, 0)], narrow[(i, 1)], 3.0, 2.0 * narrow[(i, 0)]]).collect();
    let x = Matrix::from_rows(&wide);
    let fit = Lip::overall().fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
    let certificate = fit.certificate.as_ref().unwrap();
    assert_eq!(certificate.basis.as_ref().unwrap().rows(), 2);
    let c = fit.outcome.c.unwrap();
    let (variant, slack, diameter) = (Variant::Diameter, Slack::Instance, Diameter::Maximum);
    let s = Statement { x: &x, y: &y, metric: &fit.metric, variant, slack, diameter, c, certificate };
    assert!(check(&fit, &s).every_metric);
    // With a basis that is blind to the second feature the bound is one of fewer metrics.
    let mut blind = certificate.clone();
    blind.basis = Some(Matrix::from_rows(&[[1.0, 0.0, 0.0, 0.0]]));
    let found = verify(&Statement { certificate: &blind, ..s }, &Claims::default(), USUAL_LIMIT).unwrap();
    assert!(!found.every_metric);
}
