use super::*;
use crate::problem::{Certificate, SupportPair};
use crate::{Matrix, Metric};

const FORMS: [(Variant, Slack); 4] = [
    (Variant::Diameter, Slack::Pair),
    (Variant::Diameter, Slack::Instance),
    (Variant::Intra, Slack::Pair),
    (Variant::Intra, Slack::Instance),
];

/// Two classes, weights, and two rows of different label that are 1e-9 apart, far from the origin.
fn rows() -> (Matrix, Vec<u32>, Vec<f64>) {
    let x = Matrix::from_rows(&[
        [1000.0, 0.1],
        [1000.0 + 1e-9, 0.1],
        [1001.5, -0.7],
        [999.2, 0.9],
        [1000.3, 0.4],
        [1002.0, 1.1],
    ]);
    (x, vec![0, 1, 0, 1, 1, 0], vec![1.0, 1.0, 2.0, 0.5, 1.0, 1.0])
}

fn problem((variant, slack): (Variant, Slack), diameter: Diameter, c: f64) -> Problem {
    let (x, class, weight) = rows();
    Problem::new((&x, &class, &weight), (variant, slack, diameter), c)
}

/// `rho` of two rows, from their difference.
fn rho(x: &Matrix, factor: &Matrix, i: usize, j: usize) -> f64 {
    let mapped = |k: usize| (0..x.cols()).map(|a| factor[(k, a)] * (x[(i, a)] - x[(j, a)])).sum::<f64>();
    (0..factor.rows()).map(|k| mapped(k).powi(2)).sum()
}

fn pairs(class: &[u32], wanted: impl Fn(bool) -> bool) -> Vec<(usize, usize)> {
    let all = (0..class.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    all.filter(|&(i, j)| wanted(class[i] == class[j])).collect()
}

#[test]
fn the_objective_is_that_of_a_double_loop_over_differences() {
    let (x, class, weight) = rows();
    // Large enough that the near rows are about as far apart as the kink.
    let factor = Matrix::from_rows(&[[1e9, 3.0], [0.2, 0.5]]);
    let metric = Metric::new(factor.clone()).unwrap();
    let w = |&(i, j): &(usize, usize)| weight[i] * weight[j];
    for (variant, slack) in FORMS {
        for diameter in [Diameter::Maximum, Diameter::Mean, Diameter::Cvar(0.3)] {
            let bounding = pairs(&class, |same| variant == Variant::Diameter || same);
            let all: f64 = bounding.iter().map(w).sum();
            let mut lengths: Vec<(f64, f64)> = bounding.iter().map(|p| (rho(&x, &factor, p.0, p.1), w(p))).collect();
            lengths.sort_by(|a, b| b.0.total_cmp(&a.0));
            let tail = |t: f64| t + lengths.iter().map(|l| l.1 * (l.0 - t).max(0.0)).sum::<f64>() / (0.3 * all);
            let extent = match diameter {
                Diameter::Maximum => lengths[0].0,
                Diameter::Mean => lengths.iter().map(|l| l.0 * l.1).sum::<f64>() / all,
                Diameter::Cvar(_) => lengths.iter().map(|l| tail(l.0)).fold(f64::INFINITY, f64::min),
            };
            let measured = problem((variant, slack), diameter, 1e-12).measure(&metric, &[]);
            let different = pairs(&class, |same| !same);
            let loss: f64 = match slack {
                Slack::Pair => different.iter().map(|p| w(p) * (2.0 - rho(&x, &factor, p.0, p.1)).max(0.0)).sum(),
                Slack::Instance => {
                    for p in &different {
                        let short = 2.0 - rho(&x, &factor, p.0, p.1) - measured.slack[p.0] - measured.slack[p.1];
                        assert!(short <= 1e-12, "{p:?} lacks {short}");
                    }
                    measured.slack.iter().zip(&weight).map(|(s, w)| s * w).sum()
                }
            };
            let expected = 1e-12 * extent + loss;
            assert!((measured.objective / expected - 1.0).abs() < 1e-12, "{} and {expected}", measured.objective);
        }
    }
}

#[test]
fn slacks_are_as_small_as_the_others_allow() {
    let (_, class, _) = rows();
    let problem = problem((Variant::Diameter, Slack::Instance), Diameter::Maximum, 1.0);
    let metric = Metric::new(Matrix::from_rows(&[[0.3, 0.2]])).unwrap();
    let generous = vec![5.0; class.len()];
    let (from_much, from_none) = (problem.measure(&metric, &generous), problem.measure(&metric, &[]));
    assert!(from_much.objective < 5.0 * class.len() as f64);
    assert!((from_much.objective / from_none.objective - 1.0).abs() < 0.5);
}

/// Some multipliers on some pairs: nothing about them is feasible.
fn certificate(variant: Variant, slack: Slack) -> Certificate {
    let (_, class, _) = rows();
    let push = |(k, (first, second))| SupportPair { first, second, pushes: true, multiplier: 0.3 + 0.1 * k as f64 };
    let pull = |(k, (first, second))| SupportPair { first, second, pushes: false, multiplier: 2.0 + k as f64 };
    let different = pairs(&class, |same| !same).into_iter().enumerate();
    let bounding = pairs(&class, |same| variant == Variant::Diameter || same).into_iter().enumerate().step_by(2);
    let below = if slack == Slack::Pair { 0.4 } else { 0.0 };
    let sides = Metric::new(Matrix::from_rows(&[[0.4, 0.1]])).unwrap();
    let listed = different.skip(3).map(push).chain(bounding.map(pull)).collect();
    Certificate { pairs: listed, mean: 0.2, below, ..Certificate::nothing(sides) }
}

#[test]
fn whatever_the_multipliers_are_what_is_left_of_them_is_feasible_and_below_every_objective() {
    let (x, class, weight) = rows();
    for (variant, slack) in FORMS {
        for diameter in [Diameter::Maximum, Diameter::Mean, Diameter::Cvar(0.4)] {
            let c = 3.0;
            let problem = problem((variant, slack), diameter, c);
            let mut certificate = certificate(variant, slack);
            let bound = problem.prove(&mut certificate, &Matrix::identity(2));
            assert!(bound > 0.0, "{variant:?} {slack:?} {diameter:?}");
            let mut load = vec![0.0; class.len()];
            let mut eta = certificate.mean;
            for p in &certificate.pairs {
                assert!(p.multiplier >= 0.0);
                if p.pushes {
                    load[p.first] += p.multiplier;
                    load[p.second] += p.multiplier;
                    assert!(slack == Slack::Instance || p.multiplier <= weight[p.first] * weight[p.second]);
                } else {
                    eta += p.multiplier;
                }
            }
            assert!(eta <= c);
            assert!(slack == Slack::Pair || load.iter().zip(&weight).all(|(l, w)| l <= w), "{load:?}");
            for scale in [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e9] {
                for [a, b] in [[1.0, 0.0], [0.0, 1.0], [0.7, -0.7], [0.6, 0.8]] {
                    let metric = Metric::new(Matrix::from_rows(&[[scale * a, scale * b]])).unwrap();
                    let objective = problem.measure(&metric, &[]).objective;
                    assert!(bound <= objective, "{bound} above {objective} at {scale} ({a}, {b})");
                }
            }
            assert_eq!(x.rows(), class.len());
        }
    }
}

#[test]
fn no_multipliers_prove_nothing() {
    let problem = problem((Variant::Diameter, Slack::Pair), Diameter::Maximum, 1.0);
    let mut nothing = Certificate::nothing(Metric::new(Matrix::identity(2)).unwrap());
    assert_eq!(problem.prove(&mut nothing, &Matrix::identity(2)), 0.0);
}

/// MCML's objective on rows of a class and a row far away that is alone in its class.
fn collapse(class: &[[f64; 3]]) -> f64 {
    let mut rows = class.to_vec();
    rows.push([1e3, 1e3, 1e3]);
    let labels: Vec<u32> = (0..rows.len()).map(|i| u32::from(i == class.len())).collect();
    let weight = vec![1.0; rows.len()];
    let metric = Metric::new(Matrix::identity(3)).unwrap();
    super::distance_to_ideal((&Matrix::from_rows(&rows), &labels, &weight), &metric)
}

#[test]
fn a_small_distance_to_the_ideal_of_mcml_keeps_its_digits() {
    // A row with two others, whose squared distances differ by d, is ln cosh(d / 2) away from the ideal.
    let near = |d: f64| d * d / 8.0 - d.powi(4) / 192.0;
    for e in [1e-2, 1e-3, 1e-5] {
        let expected = near(8.0 * e * e) + near(3.0 * e * e) + near(5.0 * e * e);
        let found = collapse(&[[0.0, 0.0, 0.0], [e, 0.0, 0.0], [3.0 * e, 0.0, 0.0]]);
        assert!((found / expected - 1.0).abs() < 1e-10, "{found} and {expected}");
    }
    // The same where the class is much farther away than it is wide.
    let h = 1.0 / (1 << 30) as f64;
    let expected = 2.0 * near(40.0 * h + h * h);
    let found = collapse(&[[20.0, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 20.0 + h]]);
    assert!((found / expected - 1.0).abs() < 1e-10, "{found} and {expected}");
    // And a large one is what the definition says.
    let found = collapse(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [30.0, 0.0, 0.0]]);
    let pair = |a: f64, b: f64| ((-a).exp() + (-b).exp()).ln() - 2.0f64.ln() + 0.5 * (a + b);
    let expected = pair(1.0, 900.0) + pair(1.0, 841.0) + 29.5 + (1.0 + (-59.0f64).exp()).ln() - 2.0f64.ln();
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} and {expected}");
}

/// Rows of some classes, in no order, about a point.
fn scattered(about: f64) -> (Matrix, Vec<u32>, Vec<f64>) {
    let n = 150;
    let value =
        |i: usize, f: usize| about + (((i * 37 + f * 101 + i * i * 7) % 113) as f64 / 20.0).sin() * (f + 1) as f64;
    let x = Matrix::from_vec(n, 3, (0..3 * n).map(|k| value(k / 3, k % 3)).collect()).unwrap();
    (x, (0..n as u32).map(|i| i % 3).collect(), (0..n).map(|i| 1.0 + (i % 2) as f64).collect())
}

#[test]
fn what_is_measured_fast_is_right_within_what_it_says_and_otherwise_measured_carefully() {
    let metric = Metric::new(Matrix::from_rows(&[[0.9, 0.1, 0.2], [-0.3, 0.5, 0.1]])).unwrap();
    // Far from the origin, rows are differences of large numbers; farther still, their features hold few digits.
    for about in [0.0, 1e3, 1e9] {
        let (x, class, weight) = scattered(about);
        for (variant, slack) in FORMS {
            for diameter in [Diameter::Maximum, Diameter::Mean, Diameter::Cvar(0.3)] {
                let problem = Problem::new((&x, &class, &weight), (variant, slack, diameter), 20.0);
                let (fast, careful) = (problem.measure(&metric, &[]), problem.measure_carefully(&metric, &[]));
                assert!(
                    fast.off > 0.0 && careful.off == 0.0,
                    "{about} {variant:?} {slack:?} {diameter:?}: {}",
                    fast.off
                );
                let apart = (fast.objective - careful.objective).abs();
                assert!(apart <= fast.off + 1e-14 * careful.objective, "{apart} {}", fast.off);
                assert!(fast.off <= 1e-10 * careful.objective);
            }
        }
    }
    // A row so far away that products about the centre lose the others: all are measured carefully.
    let (mut x, class, weight) = scattered(0.0);
    x[(7, 1)] = 1e9;
    let problem = Problem::new((&x, &class, &weight), (Variant::Intra, Slack::Pair, Diameter::Mean), 1e-15);
    assert_eq!(problem.measure(&metric, &[]).off, 0.0);
}

#[test]
fn chances_that_are_measured_fast_are_those_of_careful_lengths() {
    let metric = Metric::new(Matrix::from_rows(&[[0.9, 0.1, 0.2], [-0.3, 0.5, 0.1]])).unwrap();
    let (x, class, weight) = scattered(10.0);
    let rows = (&x, &class[..], &weight[..]);
    let rho = |i: usize, j: usize| rho(&x, metric.factor(), i, j);
    let n = class.len();
    let (mut errors, mut ideal) = (0.0, 0.0);
    for i in 0..n {
        let sum = |wanted: &dyn Fn(usize) -> bool, f: &dyn Fn(usize) -> f64| -> f64 {
            (0..n).filter(|&j| j != i && wanted(j)).map(|j| weight[j] * f(j)).sum()
        };
        let (same, all) = (|j: usize| class[j] == class[i], |_: usize| true);
        let mass = |j: usize| (-rho(i, j)).exp();
        let whole = sum(&all, &mass);
        errors += weight[i] * (1.0 - sum(&same, &mass) / whole);
        let own = sum(&same, &|_| 1.0);
        ideal += weight[i] * ((whole / own).ln() + sum(&same, &|j| rho(i, j)) / own);
    }
    let found = expected_errors(rows, &metric);
    assert!((found / errors - 1.0).abs() < 1e-11, "{found} and {errors}");
    let found = distance_to_ideal(rows, &metric);
    assert!((found / ideal - 1.0).abs() < 1e-11, "{found} and {ideal}");
}

#[test]
fn of_many_rows_what_is_left_out_changes_neither_objective_nor_slacks() {
    // Whole numbers with lengths of exactly 2, rows that come several times, one far out, and a class of one row.
    let n = 2_100;
    let place = |i: usize| if i == 7 { [1e4, -1e4] } else { [(i % 45) as f64, (i / 45 % 30) as f64] };
    let x = Matrix::from_vec(n, 2, (0..n).flat_map(place).collect()).unwrap();
    let class: Vec<u32> = (0..n).map(|i| if i == 50 { 2 } else { u32::from(i % 45 > 20) }).collect();
    let weight: Vec<f64> = (0..n).map(|i| 1.0 + 0.5 * (i % 3) as f64).collect();
    let metric = Metric::new(Matrix::identity(2)).unwrap();
    for (variant, slack) in FORMS {
        let problem = Problem::new((&x, &class, &weight), (variant, slack, Diameter::Maximum), 1e-3);
        let (fast, careful) = (problem.measure(&metric, &[]), problem.measure_carefully(&metric, &[]));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        assert!(close(fast.objective, careful.objective), "{} and {}", fast.objective, careful.objective);
        assert_eq!(fast.slack.len(), careful.slack.len());
        assert!(fast.slack.iter().zip(&careful.slack).all(|(a, b)| close(*a, *b)));
        // The careful pass looks at all pairs, the other one leaves some out.
        assert!(problem.cloud.looked_at().is_some_and(|part| part < 0.95));
    }
}
