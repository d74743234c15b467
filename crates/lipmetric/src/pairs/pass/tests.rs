//! Questions to all pairs against plain double loops.

#![allow(clippy::unwrap_used)]

use super::far::Longer;
use super::hinge::Objective;
use super::rounded::Rounding;
use super::spread::Spread;
use super::window::{Bins, Lengths};
use super::{Among, Beyond, Long, Query, is_listed, longer, objective, rounded, spread, window, window_of_sample};
use crate::Matrix;
use crate::pairs::tests::{
    Noise, all_pairs, assert_near, assert_travels, clouds, different, factor_for, plain_distance, plain_outer,
};
use crate::pairs::{Cloud, Embedding};

const AMONG: [Among; 2] = [Among::All, Among::Same];

/// The different-label pairs with weight and length.
pub(crate) fn weighted(cloud: &Cloud, factor: &Matrix) -> Vec<(usize, usize, f64, f64)> {
    different(cloud)
        .map(|(i, j)| (i, j, cloud.weight[i] * cloud.weight[j], plain_distance(&cloud.x, factor, i, j)))
        .collect()
}

pub(crate) fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0)
}

/// The longest pairs of a list, in descending order, of equal ones the first, none below a part of the longest.
pub(crate) fn longest(cloud: &Cloud, factor: &Matrix, query: &Query, part: f64) -> Vec<(f64, usize, usize)> {
    let mut all: Vec<(f64, usize, usize)> = all_pairs(cloud.len())
        .filter(|&(i, j)| query.among.holds(cloud.class[i] == cloud.class[j]))
        .map(|(i, j)| (plain_distance(&cloud.x, factor, i, j), i, j))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let least = part * all[0].0;
    all.retain(|f| f.0 > least);
    all.truncate(query.most);
    all
}

pub(crate) fn assert_far(found: &[Long], wanted: &[(f64, usize, usize)]) {
    assert_eq!(found.len(), wanted.len());
    for (f, w) in found.iter().zip(wanted) {
        assert!((f.0 - w.0).abs() < 1e-10 && (f.1 as usize, f.2 as usize) == (w.1, w.2), "{f:?} instead of {w:?}");
    }
}

#[test]
fn the_objective_is_that_of_a_loop() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 7);
        let embedding = Embedding::new(&cloud, &factor);
        for among in AMONG {
            let (hinges, most) = objective(&cloud, &embedding, among);
            assert!(near(hinges, weighted(&cloud, &factor).iter().map(|p| p.2 * (2.0 - p.3).max(0.0)).sum()));
            let query = Query { most: 1, ..Query::plain(among) };
            assert!(near(most, longest(&cloud, &factor, &query, 0.0)[0].0));
        }
    }
}

#[test]
fn pairs_longer_than_a_length_are_listed_all() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 5);
        let now = Embedding::new(&cloud, &factor);
        for among in AMONG {
            let query = Query { most: usize::MAX, ..Query::plain(among) };
            let all = longest(&cloud, &factor, &query, 0.0);
            let length = 0.7 * all[0].0;
            let mut found = longer(&cloud, &now, among, length);
            found.sort_unstable();
            let mut wanted: Vec<(u32, u32)> =
                all.iter().filter(|b| b.0 > length).map(|&(_, i, j)| (i as u32, j as u32)).collect();
            wanted.sort_unstable();
            assert_eq!(found, wanted);
        }
    }
}

#[test]
fn a_window_holds_about_the_wanted_number_of_pairs_on_either_side_of_the_kink() {
    for cloud in clouds().into_iter().skip(1) {
        let factor = factor_for(&cloud, 6);
        let now = Embedding::new(&cloud, &factor);
        let counted = different(&cloud).filter(|&(i, j)| cloud.weight[i] * cloud.weight[j] > 0.0);
        let lengths: Vec<f64> = counted.map(|(i, j)| plain_distance(&cloud.x, &factor, i, j)).collect();
        for target in [5, 50, 500] {
            let (low, high) = window(&cloud, &now, target);
            assert!(low < 2.0 && high > 2.0);
            let below = |edge: f64| lengths.iter().filter(|&&r| r < 2.0 && r > 2.0 - edge).count();
            let above = |edge: f64| lengths.iter().filter(|&&r| r >= 2.0 && r < 2.0 + edge).count();
            for (count, edge) in [(&below as &dyn Fn(f64) -> usize, 2.0 - low), (&above, high - 2.0)] {
                let inside = count(edge);
                assert!(inside <= 4 * target, "{inside} of {target}");
                // Bins are at most a quarter wider than the one before: the next one holds too many.
                assert!(inside > target || edge == f64::INFINITY || count(1.26 * edge) > 4 * target, "{inside}");
            }
        }
    }
}

#[test]
fn a_guessed_window_has_the_kink_inside_and_holds_everything_where_pairs_are_few() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 2);
        let target = cloud.len() * cloud.len() / 16;
        let (low, high) = window_of_sample(&cloud, &factor, target);
        let pairs = weighted(&cloud, &factor);
        for inside in [
            pairs.iter().filter(|p| p.3 >= low && p.3 < 2.0).count(),
            pairs.iter().filter(|p| p.3 >= 2.0 && p.3 < high).count(),
        ] {
            assert!(inside <= target + 2, "{inside} of {target}");
        }
        assert!(low < 2.0 && high > 2.0);
        assert_eq!(window_of_sample(&cloud, &factor, cloud.len() * cloud.len()), (f64::NEG_INFINITY, f64::INFINITY));
    }
}

#[test]
fn rounded_hinges_and_their_multipliers_are_those_of_a_loop() {
    for cloud in clouds() {
        let factor = factor_for(&cloud, 3);
        let embedding = Embedding::new(&cloud, &factor);
        for (among, width, every) in [(Among::All, 0.5, 3), (Among::Same, 1.5, 1)] {
            let query = Query { window: (2.0, 2.0), beyond: Beyond::Part(0.7), most: 15, ..Query::plain(among) };
            let found = rounded(&cloud, &embedding, width, every, &query);
            let (mut value, mut total, mut hinge, mut zone_weight) = (0.0, 0.0, 0.0, 0.0);
            let (mut pushed, mut zone, mut count) = (Vec::new(), Vec::new(), 0);
            for (i, j, w, r) in weighted(&cloud, &factor) {
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
            let far = longest(&cloud, &factor, &query, 0.7);
            assert!(near(found.longest, far[0].0));
            assert_far(&found.far, &far);
        }
    }
}

#[test]
fn the_spread_of_pairs_is_that_of_a_loop() {
    for cloud in clouds() {
        let factor = Noise(11).matrix(cloud.x.cols(), 2);
        let embedding = Embedding::new(&cloud, &factor);
        for take in [|r: f64, same: bool| !same && r < 0.9, |r: f64, same: bool| same && r > 0.8, |_, _| false] {
            let (sum, count) = spread(&cloud, &embedding, take);
            let pairs: Vec<(usize, usize, f64)> = all_pairs(cloud.len())
                .filter(|&(i, j)| take(plain_distance(&cloud.x, &factor, i, j), cloud.class[i] == cloud.class[j]))
                .map(|(i, j)| (i, j, cloud.weight[i] * cloud.weight[j]))
                .collect();
            let total: f64 = pairs.iter().map(|p| p.2).sum();
            assert!((count - total).abs() <= 1e-10 * total, "{count} instead of {total}");
            assert_near(&sum, &plain_outer(&cloud.x, pairs.into_iter()), 1e-10);
        }
    }
}

#[test]
fn every_question_may_be_answered_elsewhere() {
    for cloud in &clouds() {
        let now = [&Embedding::new(cloud, &factor_for(cloud, 4))];
        let query = Query { window: (1.5, 2.5), beyond: Beyond::Part(0.6), most: 10, ..Query::plain(Among::Same) };
        assert_travels(cloud, &now, &Objective { cloud, among: Among::Same });
        assert_travels(cloud, &now, &Longer { among: Among::All, length: 1.0, most: 100 });
        assert_travels(cloud, &now, &Bins { cloud });
        assert_travels(cloud, &now, &Lengths);
        assert_travels(cloud, &now, &Spread { cloud, take: |r: f64, same: bool| !same && r < 1.0 });
        assert_travels(cloud, &now, &Rounding { cloud, width: 0.5, every: 2, query: &query });
    }
}

#[test]
fn a_window_leaves_out_a_crowd_at_one_length() {
    let place = |i: usize| if i < 30 { 0.0 } else { 2.2f64.sqrt() };
    let x = Matrix::from_vec(60, 1, (0..60).map(place).collect()).unwrap();
    let class: Vec<u32> = (0..60).map(|i| u32::from(i >= 30)).collect();
    let cloud = Cloud::new(&x, &class, &[1.0; 60]);
    let now = Embedding::new(&cloud, &Matrix::identity(1));
    // Far more than wanted are at 2.2; with more of them wanted, they are inside.
    assert!(window(&cloud, &now, 20).1 <= 2.2);
    assert!(window(&cloud, &now, 400).1 > 2.2);
    assert_eq!(window(&cloud, &now, 20).0, f64::NEG_INFINITY);
}
