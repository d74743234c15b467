#![allow(clippy::unwrap_used)]

use super::*;
use crate::Labels;
use crate::method::{LipPairs, Method, Training};
use crate::problem::{Certificate, SupportPair};
use crate::solver::Silent;
use crate::verify::USUAL_LIMIT;

/// A similar and a dissimilar pair that differ alike, at distance 2 under the metric, at `c = 1/2`: the multipliers 1/2 prove that no
/// metric has less than the objective 1.
struct Hand {
    x: Matrix,
    metric: Metric,
    certificate: Certificate,
    diameter: Diameter,
}

impl Hand {
    fn new() -> Self {
        let metric = Metric::euclidean(2);
        let mut certificate = Certificate::nothing(metric.clone());
        certificate.given = Some(GivenPairs::new(vec![Pair::similar(0, 1), Pair::dissimilar(2, 1)], 0.0));
        certificate.pairs = vec![SupportPair::new(1, 2, true, 0.5)];
        certificate.mean = 0.5;
        Self {
            x: Matrix::from_rows(&[[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]]),
            metric,
            certificate,
            diameter: Diameter::Mean,
        }
    }

    fn found(&self) -> Verified {
        let Self { x, metric, certificate, diameter } = self;
        let statement = PairStatement { x, metric, diameter: *diameter, c: 0.5, certificate };
        verify_pairs(&statement, &Claims { objective: Some(1.0), bound: Some(1.0), gap: Some(0.0) }, USUAL_LIMIT)
            .unwrap()
    }

    fn given(&mut self) -> &mut GivenPairs {
        self.certificate.given.as_mut().unwrap()
    }
}

#[test]
fn a_problem_of_two_pairs_is_proved_to_the_last_bit() {
    for diameter in [Diameter::Mean, Diameter::Maximum] {
        let found = Hand { diameter, ..Hand::new() }.found();
        assert!(found.holds() && found.feasible && !found.weighted, "{found:?}");
        assert_eq!((found.objective, found.bound, found.gap, found.pairs), (1.0, 1.0, Some(0.0), 2));
    }
    // The longest pair's own multiplier does what the mean's does.
    let mut hand = Hand { diameter: Diameter::Maximum, ..Hand::new() };
    hand.certificate.mean = 0.0;
    hand.certificate.pairs.push(SupportPair::new(0, 1, false, 0.5));
    assert!(hand.found().holds());
    // With a quarter of the trace in the diameter F is 5/4; a dissimilar pair of more strength may carry 9/16, and proves 9/8.
    let mut hand = Hand::new();
    hand.given().plain = 0.25;
    hand.given().pairs[1].strength = 2.0;
    hand.certificate.pairs[0].multiplier = 0.5625;
    let found = hand.found();
    assert_eq!((found.objective, found.bound, found.weighted), (1.25, 1.125, true));
}

/// What is said, and of which change.
type Break = (&'static str, fn(&mut Hand));

#[test]
fn multipliers_that_are_not_feasible_prove_nothing_and_the_reason_is_told() {
    let breaks: [Break; 8] = [
        ("do not balance", |h| h.certificate.pairs[0].multiplier = 0.500001),
        ("larger than the strength", |h| h.given().pairs[1].strength = 0.25),
        ("none may be negative", |h| h.certificate.pairs[0].multiplier = -0.5),
        ("more than c", |h| h.certificate.mean = 0.500001),
        ("is negative", |h| h.certificate.mean = -0.1),
        ("not among the similar pairs", |h| h.certificate.pairs[0].pushes = false),
        ("a multiplier of its own", |h| h.certificate.pairs.push(SupportPair::new(0, 1, false, 0.0))),
        ("two multipliers", |h| h.certificate.pairs.push(SupportPair::new(2, 1, true, 0.0))),
    ];
    for (told, change) in breaks {
        let mut hand = Hand::new();
        change(&mut hand);
        let found = hand.found();
        assert!(!found.holds() && !found.feasible && found.bound == 0.0, "{told}: {found:?}");
        assert!(found.reasons.iter().any(|reason| reason.contains(told)), "{told}: {:?}", found.reasons);
    }
    let mut hand = Hand::new();
    hand.given().pairs.push(Pair::similar(1, 0));
    assert!(hand.found().reasons[0].contains("twice"));
}

#[test]
fn what_fits_claim_is_proved_with_strengths_and_pairs_that_are_given_twice() {
    let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
    for (p, seed) in [(1, 0), (3, 1), (6, 2), (12, 3)] {
        let x = Matrix::from_vec(50, p, (0..50 * p).map(|k| value(k + 17 * seed) + (k / p % 2) as f64 * 0.3).collect())
            .unwrap();
        let pair = |k: usize| {
            let (i, j) = ((k * 31 + seed) % 50, (k * 17 + k / 4 + 7) % 50);
            let pair = if i % 2 == j % 2 { Pair::similar(i, j) } else { Pair::dissimilar(i, j) };
            (i != j).then(|| pair.with_strength(1.0 + (k % 3) as f64 / 3.0))
        };
        let pairs: Vec<Pair> = (0..120).filter_map(pair).collect();
        let y = Labels::none(50);
        for diameter in [Diameter::Mean, Diameter::Maximum] {
            let method = LipPairs::new().diameter(diameter);
            let fit = method.fit(&Training::new(&x, &y).unwrap().with_pairs(&pairs), &mut Silent).unwrap();
            let certificate = fit.certificate.as_ref().unwrap();
            let c = fit.outcome.c.unwrap();
            let statement = PairStatement { x: &x, metric: &fit.metric, diameter, c, certificate };
            let claims = Claims { objective: fit.outcome.objective, bound: fit.outcome.dual, gap: fit.outcome.gap };
            let found = verify_pairs(&statement, &claims, USUAL_LIMIT).unwrap();
            assert!(found.holds() && found.gap.unwrap() <= 1.01e-4, "{p} features, {diameter}: {found:?}");
            // A claim beyond what is proved is not let through.
            let bound = fit.outcome.dual.map(|bound| bound * (1.0 + 1e-9));
            assert!(!verify_pairs(&statement, &Claims { bound, ..claims }, USUAL_LIMIT).unwrap().holds());
            assert!(verify_pairs(&statement, &claims, 10.0).unwrap_err().to_string().contains("limit"));
        }
    }
}
