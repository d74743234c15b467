//! Passes over all pairs against plain double loops.

#![allow(clippy::unwrap_used)]

use super::{Query, is_listed, rounded, survey, window};
use crate::Matrix;
use crate::pairs::tests::{Noise, all_pairs, assert_near, clouds, plain_distance, plain_outer};
use crate::pairs::{Cloud, Embedding};
use crate::problem::Variant;

fn factor_for(cloud: &Cloud, seed: u64) -> Matrix {
    let p = cloud.x.cols();
    let mut factor = Noise(seed).matrix(p, p);
    (0..p).for_each(|k| factor[(k, k)] += 1.0);
    factor
}

/// The different-label pairs with weight and length.
fn different(cloud: &Cloud, factor: &Matrix) -> Vec<(usize, usize, f64, f64)> {
    all_pairs(cloud.len())
        .filter(|&(i, j)| cloud.class[i] != cloud.class[j])
        .map(|(i, j)| (i, j, cloud.weight[i] * cloud.weight[j], plain_distance(&cloud.x, factor, i, j)))
        .collect()
}

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0)
}

/// The longest pairs of a list, in descending order, of equal ones the first, none below a part of the longest.
fn longest(cloud: &Cloud, factor: &Matrix, query: &Query) -> Vec<(f64, usize, usize)> {
    let mut all: Vec<(f64, usize, usize)> = all_pairs(cloud.len())
        .filter(|&(i, j)| query.variant == Variant::Diameter || cloud.class[i] == cloud.class[j])
        .map(|(i, j)| (plain_distance(&cloud.x, factor, i, j), i, j))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let least = query.beyond * all[0].0;
    all.retain(|f| f.0 > least);
    all.truncate(query.most);
    all
}

fn assert_far(found: &[(f64, u32, u32)], wanted: &[(f64, usize, usize)]) {
    assert_eq!(found.len(), wanted.len());
    for (f, w) in found.iter().zip(wanted) {
        assert!((f.0 - w.0).abs() < 1e-10 && (f.1 as usize, f.2 as usize) == (w.1, w.2), "{f:?} instead of {w:?}");
    }
}

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
            let query = Query { variant, window, beyond: 0.6, most: 20 };
            let found = survey(&cloud, &embedding, &query);
            let pairs = different(&cloud, &factor);
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
            let far = longest(&cloud, &factor, &query);
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
            let query = Query { variant: Variant::Diameter, window, beyond: 0.9, most: 5 };
            let found = survey(&cloud, &embedding, &query);
            let c = 3.0;
            let (t, value) = found.rescaled(c, window);
            let pairs = different(&cloud, &factor);
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
fn a_guessed_window_has_the_kink_inside_and_holds_everything_where_pairs_are_few() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 2);
        let target = cloud.len() * cloud.len() / 16;
        let (low, high) = window(&cloud, &factor, target);
        let pairs = different(&cloud, &factor);
        for inside in [
            pairs.iter().filter(|p| p.3 >= low && p.3 < 2.0).count(),
            pairs.iter().filter(|p| p.3 >= 2.0 && p.3 < high).count(),
        ] {
            assert!(inside <= target + 2, "{inside} of {target}");
        }
        assert!(low < 2.0 && high > 2.0);
        assert_eq!(window(&cloud, &factor, cloud.len() * cloud.len()), (f64::NEG_INFINITY, f64::INFINITY));
    }
}

#[test]
fn rounded_hinges_and_their_multipliers_are_those_of_a_loop() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 3);
        let embedding = Embedding::new(&cloud, &factor);
        for (variant, width, every) in [(Variant::Diameter, 0.5, 3), (Variant::Intra, 1.5, 1)] {
            let query = Query { variant, window: (2.0, 2.0), beyond: 0.7, most: 15 };
            let found = rounded(&cloud, &embedding, width, every, &query);
            let (mut value, mut total, mut hinge, mut zone_weight) = (0.0, 0.0, 0.0, 0.0);
            let (mut pushed, mut zone, mut count) = (Vec::new(), Vec::new(), 0);
            for (i, j, w, r) in different(&cloud, &factor) {
                let y = (2.0 - r) / width + 0.5;
                let part = y.clamp(0.0, 1.0);
                total += w * part;
                value += width * w * part * (y - 0.5 * part);
                hinge += w * (2.0 - r).max(0.0);
                pushed.push((i, j, w * part));
                if y > 0.0 && y < 1.0 && w > 0.0 {
                    zone_weight += w;
                    count += 1;
                    if is_listed(i, j, every) {
                        zone.push((i as u32, j as u32, w));
                    }
                }
            }
            assert!(near(found.value, value) && near(found.total, total) && near(found.hinge, hinge));
            assert!(near(found.zone_weight, zone_weight) && found.zone_count == count);
            assert_near(&found.push, &plain_outer(&cloud.x, pushed.into_iter()), 1e-10);
            let mut listed = found.zone.clone();
            listed.sort_by_key(|z| (z.0, z.1));
            assert_eq!(listed, zone);
            let far = longest(&cloud, &factor, &query);
            assert!(near(found.longest, far[0].0));
            assert_far(&found.far, &far);
        }
    }
}
