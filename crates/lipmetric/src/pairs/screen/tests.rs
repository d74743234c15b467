//! Bounds on tiles, and screened passes against plain double loops, on points that are hard to screen.

#![allow(clippy::unwrap_used)]

use super::super::pass::tests::near;
use super::super::tests::{Noise, all_pairs, assert_near, cloud_of, plain_outer};
use super::super::{Cloud, Embedding};
use super::*;
use crate::linalg;
use crate::pairs::pass::{
    Among, Beyond, Long, Query, is_listed, longer, objective, rounded, same_length, shorter, some_long,
};

/// Points with a symmetric matrix that measures them.
struct Case {
    name: &'static str,
    cloud: Cloud,
    m: Matrix,
}

fn case(name: &'static str, cloud: Cloud, m: Matrix) -> Case {
    assert!(cloud.len() >= SCREENED);
    Case { name, cloud, m }
}

fn diagonal(values: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(values.len(), values.len());
    values.iter().enumerate().for_each(|(k, v)| out[(k, k)] = *v);
    out
}

/// Clusters far from each other, with classes of three rows and of one.
fn clusters(far: f64, outliers: f64) -> Cloud {
    let mut noise = Noise(3);
    let sizes = [900, 700, 450, 3, 1];
    let class: Vec<u32> = sizes.iter().enumerate().flat_map(|(c, &s)| vec![c as u32; s]).collect();
    let mut x = noise.matrix(class.len(), 3);
    for (i, &c) in class.iter().enumerate() {
        x[(i, 0)] += far * f64::from(c % 3);
        x[(i, 1)] += far * f64::from(c % 2);
    }
    x.row_mut(5).iter_mut().for_each(|v| *v += outliers);
    x.row_mut(1_050).iter_mut().for_each(|v| *v -= outliers);
    // Some points only bound the diameter.
    let weight: Vec<f64> = (0..class.len()).map(|i| [1.0, 0.5, 3.0][i % 3]).collect();
    Cloud::new(&x, &class, &weight).coarse(1_900, 2_020)
}

/// Whole numbers, each of them several times: lengths of exactly 2, and equal rows of different label.
fn lattice() -> Cloud {
    let n = 2_000;
    let place = |i: usize| [(i % 40) as f64, (i / 40 % 17) as f64];
    let x = Matrix::from_vec(n, 2, (0..n).flat_map(place).collect()).unwrap();
    let class: Vec<u32> = (0..n).map(|i| u32::from(i % 40 > 20) + u32::from(i % 97 == 0)).collect();
    Cloud::new(&x, &class, &vec![1.0; n])
}

fn cases() -> Vec<Case> {
    vec![
        case("clusters", clusters(2.6, 0.0), diagonal(&[1.0, 0.8, 0.3])),
        case("outliers", clusters(2.6, 1e6), diagonal(&[1.0, 0.8, 0.3])),
        case("not positive", clusters(2.6, 0.0), diagonal(&[1.0, 0.8, -0.05])),
        case("lattice", lattice(), diagonal(&[1.0, 1.0])),
        case("one direction", clusters(2.0, 0.0), diagonal(&[1.0, 0.0, 0.0])),
        case("all overlap", cloud_of(&[1_200, 800], 8, |_| 1.0, 8), diagonal(&[0.3; 8])),
    ]
}

/// The same points as they are and in a compact order, with their numbers in the usual order.
fn orders(case: &Case) -> Vec<(Cloud, Vec<usize>)> {
    let compact = case.cloud.compacted(&linalg::absolute(&case.m)).unwrap();
    let mut seen = compact.place.clone();
    seen.sort_unstable();
    assert!(seen.iter().enumerate().all(|(k, i)| k == *i));
    assert_eq!(compact.cloud.class, case.cloud.class);
    vec![(case.cloud.clone(), (0..case.cloud.len()).collect()), (compact.cloud, compact.place)]
}

/// All lengths, a row for each point, number by number.
fn lengths(cloud: &Cloud, m: &Matrix) -> Matrix {
    let (n, p) = (cloud.len(), m.rows());
    let mut out = Matrix::zeros(n, n);
    let mut d = vec![0.0; p];
    for (i, j) in all_pairs(n) {
        d.iter_mut().zip(cloud.x.row(i)).zip(cloud.x.row(j)).for_each(|((d, a), b)| *d = a - b);
        out[(i, j)] = (0..p).map(|a| d[a] * linalg::dot(m.row(a), &d)).sum();
    }
    out
}

#[test]
fn bounds_hold_for_the_lengths_of_every_tile_and_of_every_row_of_it() {
    for case in cases() {
        for (cloud, _) in orders(&case) {
            let mut embeddings = vec![Embedding::symmetric(&cloud, &case.m)];
            if let Ok(root) = linalg::root(&case.m)
                && case.name != "not positive"
            {
                embeddings.push(Embedding::new(&cloud, &root.transpose()));
                embeddings.push(Embedding::about_centre(&cloud, &root.transpose()).0);
            }
            for embedding in &embeddings {
                let screen = embedding.screen(&cloud).unwrap();
                let mut rho = Vec::new();
                for a in 0..cloud.blocks.len() {
                    for b in a..cloud.blocks.len() {
                        let (left, right) = (&cloud.blocks[a].0, &cloud.blocks[b].0);
                        rho.resize(left.len() * right.len(), 0.0);
                        embedding.distances(&mut rho, left, right);
                        let tile = screen.of_blocks(a, b);
                        for (row, i) in rho.chunks_exact(right.len()).zip(left.clone()) {
                            let point = screen.of_point(i, b);
                            let inside = |r: &f64, at: Bounds| *r >= at.least && *r <= at.most;
                            assert!(row.iter().all(|r| inside(r, tile) && inside(r, point)), "{}", case.name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn points_that_are_nowhere_or_too_far_out_for_their_digits_are_not_screened() {
    for far in [1e9, f64::INFINITY, f64::NAN] {
        let cloud = clusters(2.6, far);
        assert!(Embedding::symmetric(&cloud, &Matrix::identity(3)).screen(&cloud).is_none(), "{far}");
    }
    let small = cloud_of(&[300, 200], 2, |_| 1.0, 1);
    assert!(Embedding::new(&small, &Matrix::identity(2)).screen(&small).is_none());
}

/// The longest lengths in descending order, of equal ones one, none below a part of the longest.
fn long_ones(mut all: Vec<f64>, part: f64, most: usize) -> Vec<f64> {
    let least = part * all.iter().fold(0.0, |m: f64, r| m.max(*r));
    all.retain(|r| *r > least);
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    all.dedup_by(|a, b| same_length(*a, *b));
    all.truncate(most);
    all
}

fn assert_long(name: &str, found: &[Long], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{name}");
    assert!(found.iter().zip(wanted).all(|(f, w)| (f.0 - w).abs() <= 1e-9 * w.max(1.0)), "{name}");
}

#[test]
fn screened_hinges_and_long_pairs_are_those_of_a_loop() {
    for case in cases() {
        for (cloud, _) in orders(&case) {
            let (embedding, rho) = (Embedding::symmetric(&cloud, &case.m), lengths(&cloud, &case.m));
            let bounding = |among: Among| -> Vec<f64> {
                let holds = |&(i, j): &(usize, usize)| among.holds(cloud.class[i] == cloud.class[j]);
                all_pairs(cloud.len()).filter(holds).map(|at| rho[at]).collect()
            };
            for (among, width, most) in [(Among::Same, 0.3, 40), (Among::All, 1e-3, 7)] {
                let query = Query { beyond: Beyond::Part(0.7), most, ..Query::plain(among) };
                let far = long_ones(bounding(among), 0.7, most);
                let (mut value, mut total, mut hinge, mut pushed, mut zone) = (0.0, 0.0, 0.0, Vec::new(), Vec::new());
                for (i, j) in all_pairs(cloud.len()).filter(|&(i, j)| cloud.class[i] != cloud.class[j]) {
                    let (w, r) = (cloud.weight[i] * cloud.weight[j], rho[(i, j)]);
                    let y = (2.0 - r) / width + 0.5;
                    let part = y.clamp(0.0, 1.0);
                    total += w * part;
                    value += width * w * part * (y - 0.5 * part);
                    hinge += w * (2.0 - r).max(0.0);
                    if w * part > 0.0 {
                        pushed.push((i, j, w * part));
                    }
                    if y > 1e-9 && y < 1.0 - 1e-9 && w > 0.0 && is_listed(i, j, 3) {
                        zone.push((i as u32, j as u32));
                    }
                }
                let pushed = plain_outer(&cloud.x, pushed.into_iter());
                for known in [some_long(&cloud, &embedding, among), far.clone()] {
                    let found = rounded(&cloud, &embedding, width, 3, &query.knowing(known));
                    let figures = [(found.value, value), (found.total, total), (found.hinge, hinge)];
                    assert!(figures.iter().all(|f| near(f.0, f.1)), "{}: {figures:?}", case.name);
                    assert!(near(found.longest, far[0]), "{}", case.name);
                    assert_long(case.name, &found.far, &far);
                    assert_near(&found.push, &pushed, 1e-9);
                    let listed: std::collections::BTreeSet<(u32, u32)> =
                        found.zone.iter().map(|z| (z.0, z.1)).collect();
                    assert!(zone.iter().all(|pair| listed.contains(pair)), "{}", case.name);
                }
                let (sum, longest) = objective(&cloud, &embedding, among);
                assert!(near(sum, hinge) && near(longest, far[0]), "{}", case.name);
                let length = 0.9 * far[0];
                let count = bounding(among).iter().filter(|r| **r > length).count();
                assert_eq!(longer(&cloud, &embedding, among, length).len(), count, "{}", case.name);
            }
            let short = all_pairs(cloud.len()).filter(|&(i, j)| cloud.class[i] != cloud.class[j] && rho[(i, j)] < 0.2);
            assert_eq!(shorter(&cloud, &embedding, 0.2).len(), short.count(), "{}", case.name);
        }
    }
}

#[test]
fn a_compact_order_leaves_most_of_the_pairs_out_and_the_count_says_so() {
    let case = &cases()[0];
    let query = |cloud: &Cloud, embedding: &Embedding| {
        let plain = Query { beyond: Beyond::Part(0.9), most: 10, ..Query::plain(Among::Same) };
        plain.knowing(some_long(cloud, embedding, Among::Same))
    };
    let cloud = case.cloud.compacted(&case.m).unwrap().cloud;
    assert_eq!(cloud.looked_at(), None);
    let embedding = Embedding::symmetric(&cloud, &case.m);
    let found = rounded(&cloud, &embedding, 0.1, 1, &query(&cloud, &embedding));
    let part = cloud.looked_at().unwrap();
    assert!(part > 0.0 && part < 0.5, "{part}");
    // Elsewhere the same pairs are left out.
    let again = rounded(&cloud, &embedding, 0.1, 1, &query(&cloud, &embedding));
    assert_eq!((found.value.to_bits(), found.push.as_slice()), (again.value.to_bits(), again.push.as_slice()));
    assert_eq!(cloud.looked_at(), Some(part));
}

#[test]
fn known_lengths_never_hide_a_pair_that_is_wanted() {
    let all = [9.0, 9.0 * (1.0 - 1e-13), 8.0, 7.0, 6.5, 3.0];
    for most in 1..8 {
        for part in [0.0, 0.5, 0.75, 1.0] {
            let query = Query { beyond: Beyond::Part(part), most, ..Query::plain(Among::All) };
            let wanted = long_ones(all.to_vec(), part, most);
            for some in 0..64u32 {
                let known = (0..6).filter(|k| some >> k & 1 == 1).map(|k| all[k]).collect();
                let known = query.knowing(known).known;
                assert!(known < all[0] && wanted.iter().all(|r| *r > known), "{known} hides one of {wanted:?}");
            }
        }
    }
}
