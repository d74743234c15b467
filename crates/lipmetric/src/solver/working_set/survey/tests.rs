//! Passes over all pairs against plain double loops.

#![allow(clippy::unwrap_used)]

use super::{Look, survey};
use crate::pairs::Embedding;
use crate::pairs::pass::tests::{assert_far, longest, near, weighted};
use crate::pairs::pass::{Among, Beyond, Query};
use crate::pairs::tests::{assert_near, assert_travels, clouds, factor_for, plain_outer};
use crate::problem::Variant;

#[test]
fn a_survey_sums_what_is_below_the_window_and_lists_what_is_inside() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 1);
        let embedding = Embedding::new(&cloud, &factor);
        for (variant, window) in [
            (Variant::Diameter, (1.2, 2.6)),
            (Variant::Intra, (1.9, 2.0)),
            (Variant::Intra, (f64::NEG_INFINITY, f64::INFINITY)),
        ] {
            let query = Query { window, beyond: Beyond::Part(0.6), most: 20, ..Query::plain(variant.bounding()) };
            let found = survey(&cloud, &embedding, &query);
            let pairs = weighted(&cloud, &factor);
            let below: Vec<_> = pairs.iter().filter(|p| p.3 < window.0).collect();
            let inside: Vec<_> = pairs.iter().filter(|p| p.3 >= window.0 && p.3 < window.1).collect();
            assert!(near(found.below_weight, below.iter().map(|p| p.2).sum()));
            assert!(near(found.below_length, below.iter().map(|p| p.2 * p.3).sum()));
            assert_near(&found.below, &plain_outer(&cloud.x, below.iter().map(|p| (p.0, p.1, p.2))), 1e-10);
            assert_eq!(found.near.len(), inside.len());
            for ((push, r), p) in found.near.iter().zip(&inside) {
                assert_eq!((push.i as usize, push.j as usize, push.cap), (p.0, p.1, p.2));
                assert!(near(*r, p.3));
            }
            let far = longest(&cloud, &factor, &query, 0.6);
            assert!(near(found.longest, far[0].0));
            assert_far(&found.far, &far);
        }
    }
}

#[test]
fn the_best_multiple_of_a_metric_is_not_beaten_by_any_other() {
    for cloud in clouds() {
        for seed in 1..6 {
            let mut factor = factor_for(&cloud, seed);
            factor.as_mut_slice().iter_mut().for_each(|v| *v *= 0.5 * seed as f64);
            let embedding = Embedding::new(&cloud, &factor);
            let window = (1.0, 4.0);
            let query = Query { window, beyond: Beyond::Part(0.9), most: 5, ..Query::plain(Among::All) };
            let found = survey(&cloud, &embedding, &query);
            let c = 3.0;
            let (t, value) = found.rescaled(c, window);
            let pairs = weighted(&cloud, &factor);
            let objective =
                |t: f64| c * t * found.longest + pairs.iter().map(|p| p.2 * (2.0 - t * p.3).max(0.0)).sum::<f64>();
            assert!(near(value, objective(t)), "{value} instead of {}", objective(t));
            // Multiples at which no listed pair but the shortest is clear of its kink, and the others keep their sides.
            let most = found.near.iter().fold(0.5, |m: f64, n| m.max(2.0 / n.1));
            for k in 0..=60 {
                let other = 0.5 + (most - 0.5) * f64::from(k) / 60.0;
                assert!(value <= objective(other) * (1.0 + 1e-12), "{t} is worse than {other}");
            }
        }
    }
}

#[test]
fn what_a_survey_finds_may_be_computed_elsewhere() {
    for cloud in clouds() {
        let embedding = Embedding::new(&cloud, &factor_for(&cloud, 1));
        let query = Query { window: (1.0, 2.5), beyond: Beyond::Part(0.5), most: 20, ..Query::plain(Among::Same) };
        assert_travels(&cloud, &[&embedding], &Look { cloud: &cloud, query: &query });
    }
}
