//! The metric of a recursive feature machine: against plain loops, equivariance, and what it finds.

use crate::lip_common::{Noise, blobs};
use lipmetric::method::{Agop, Fit, Method, Spec, Training};
use lipmetric::solver::{Halt, Observer, Progress, Silent, Status};
use lipmetric::{Labels, Matrix, Metric};
use std::ops::ControlFlow;

fn fit(method: &Agop, x: &Matrix, y: &Labels) -> Fit {
    method.fit(&Training::new(x, y).unwrap(), &mut Silent).unwrap()
}

/// Solves `a z = b` for the columns of `b`: Gaussian elimination with row exchanges.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let t = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            below[0].iter_mut().zip(&above[k]).for_each(|(v, w)| *v -= t * w);
            let (above, below) = b.split_at_mut(i);
            below[0].iter_mut().zip(&above[k]).for_each(|(v, w)| *v -= t * w);
        }
    }
    for k in (0..n).rev() {
        for c in 0..b[k].len() {
            let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j][c]).sum();
            b[k][c] = (b[k][c] - known) / a[k][k];
        }
    }
    b
}

/// One round from `m`, pair by pair: `f_c` by kernel ridge, the sum of `g g^T` of its gradients, a mean diagonal of one.
fn plain_round(x: &Matrix, y: &Labels, weights: &[f64], m: &Matrix, (width, ridge): (f64, f64)) -> Matrix {
    let (n, p, classes) = (x.rows(), x.cols(), y.classes().len());
    let difference = |i: usize, j: usize| -> Vec<f64> { (0..p).map(|a| x[(i, a)] - x[(j, a)]).collect() };
    let times = |d: &[f64]| -> Vec<f64> { (0..p).map(|a| (0..p).map(|b| m[(a, b)] * d[b]).sum()).collect() };
    let squared = |i: usize, j: usize| -> f64 {
        let d = difference(i, j);
        d.iter().zip(times(&d)).map(|(a, b)| a * b).sum()
    };
    let mean = (0..n * n).map(|k| squared(k / n, k % n)).sum::<f64>() / (n * n) as f64;
    let l = width * mean.sqrt();
    let kernel = |i: usize, j: usize| (-squared(i, j).sqrt() / l).exp();
    let system = (0..n).map(|i| (0..n).map(|j| kernel(i, j) + if i == j { ridge / weights[i] } else { 0.0 }).collect());
    let target = |i: usize, c: usize| if y.codes()[i] as usize == c { 1.0 } else { -1.0 };
    let a = solve(system.collect(), (0..n).map(|i| (0..classes).map(|c| target(i, c)).collect()).collect());
    let mut out = Matrix::zeros(p, p);
    for i in 0..n {
        for c in 0..classes {
            let mut g = vec![0.0; p];
            for j in (0..n).filter(|&j| squared(i, j) > 0.0) {
                let slope = -a[j][c] * kernel(i, j) / (l * squared(i, j).sqrt());
                g.iter_mut().zip(times(&difference(i, j))).for_each(|(g, d)| *g += slope * d);
            }
            (0..p * p).for_each(|k| out[(k / p, k % p)] += g[k / p] * g[k % p]);
        }
    }
    let mean = (0..p).map(|k| out[(k, k)]).sum::<f64>() / p as f64;
    out.as_mut_slice().iter_mut().for_each(|v| *v /= mean);
    out
}

fn assert_close(a: &Matrix, b: &Matrix, tolerance: f64) {
    for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
        assert!((a - b).abs() < tolerance, "{a} and {b}");
    }
}

#[test]
fn rounds_are_those_of_the_plain_double_loop() {
    for (n, classes) in [(30, 2), (70, 3)] {
        let (x, y) = blobs(n, 4, classes, n as u64);
        let settings = (0.7, 0.1);
        let method = |rounds| Agop::new().rounds(rounds).width(settings.0).ridge(settings.1);
        let all = method(2).path(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
        let ones = vec![1.0; n];
        let first = plain_round(&x, &y, &ones, &Matrix::identity(4), settings);
        assert_close(&all[0].metric.matrix(), &first, 1e-6);
        assert_close(&all[1].metric.matrix(), &plain_round(&x, &y, &ones, &first, settings), 1e-6);
        assert_eq!(fit(&method(1), &x, &y).metric, all[0].metric);
        // A weight is a row's part in the function; one of zero takes the row out.
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let weighted = Training::new(&x, &y).unwrap().with_weights(&weights).unwrap();
        let found = method(1).fit(&weighted, &mut Silent).unwrap().metric.matrix();
        assert_close(&found, &plain_round(&x, &y, &weights, &Matrix::identity(4), settings), 1e-6);
        let some: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 4 != 0))).collect();
        let kept: Vec<usize> = (0..n).filter(|i| i % 4 != 0).collect();
        let without = method(1).fit(&Training::new(&x, &y).unwrap().with_weights(&some).unwrap(), &mut Silent).unwrap();
        assert_close(
            &without.metric.matrix(),
            &fit(&method(1), &x.select_rows(&kept), &y.select(&kept)).metric.matrix(),
            1e-9,
        );
    }
}

#[test]
fn a_rotation_of_the_features_rotates_the_metric_and_a_shift_changes_nothing() {
    let (x, y) = blobs(60, 3, 3, 5);
    let (c, s) = (0.6, 0.8);
    let mut turned = Matrix::zeros(60, 3);
    for i in 0..60 {
        let r = x.row(i);
        turned.row_mut(i).copy_from_slice(&[c * r[0] - s * r[1] + 5.0, s * r[0] + c * r[1] - 2.0, r[2] + 1.0]);
    }
    let (plain, other) = (fit(&Agop::new(), &x, &y), fit(&Agop::new(), &turned, &y));
    assert_eq!(plain.outcome.iterations, other.outcome.iterations);
    for i in 0..59 {
        let (a, b) = (
            plain.metric.squared_distance(x.row(i), x.row(i + 1)),
            other.metric.squared_distance(turned.row(i), turned.row(i + 1)),
        );
        assert!((a - b).abs() < 1e-6 * (1.0 + a), "{a} and {b}");
    }
}

#[test]
fn the_features_that_tell_are_found_among_noise_also_where_no_direction_tells_by_itself() {
    let mut noise = Noise(3);
    let x = Matrix::from_vec(240, 8, (0..240 * 8).map(|_| noise.normal()).collect()).unwrap();
    // The second one by the product of two signs.
    for tells in [|r: &[f64]| r[2] + r[5] > 0.0, |r: &[f64]| r[2] * r[5] > 0.0] {
        let y = Labels::from_names((0..240).map(|i| if tells(x.row(i)) { "yes" } else { "no" }));
        let found = fit(&Agop::new(), &x, &y);
        let m = found.metric.matrix();
        let least = m[(2, 2)].min(m[(5, 5)]);
        assert!([0, 1, 3, 4, 6, 7].iter().all(|&k| m[(k, k)] < 0.5 * least), "{m:?}");
        assert_eq!(found.outcome.status, Status::ClosedForm);
        assert_eq!(fit(&Agop::new(), &x, &y), found);
    }
}

#[test]
fn many_rows_are_sampled_aloud_and_odd_tables_are_told_of() {
    let (x, y) = blobs(2100, 2, 2, 9);
    let many = fit(&Agop::new().rounds(1).width(1.0).ridge(0.1), &x, &y);
    assert!(many.outcome.notes.iter().any(|note| note.starts_with("2000 of 2100 rows")), "{:?}", many.outcome.notes);
    let few = Matrix::from_rows(&[[0.0, 1.0, 7.0], [1.0, 1.0, 7.0], [1.0, 1.0, 7.0]]);
    let names = Labels::from_names(["a", "b", "b"]);
    let found = fit(&Agop::new(), &few, &names);
    assert_eq!(found.metric.rank(), 1);
    assert!(found.outcome.notes.iter().any(|note| note.contains("1 of 3 dimensions")));
    let refused = |method: Agop, x: &Matrix, y: &Labels| {
        method.fit(&Training::new(x, y).unwrap(), &mut Silent).unwrap_err().to_string()
    };
    assert!(refused(Agop::new().rounds(0), &few, &names).contains("rounds"));
    assert!(refused(Agop::new().width(-1.0), &few, &names).contains("width"));
    assert!(refused(Agop::new().ridge(0.0), &few, &names).contains("ridge"));
    assert!(refused(Agop::new(), &few, &Labels::from_names(["a", "a", "a"])).contains("same label"));
    let start = Metric::euclidean(3);
    let with_start = Training::new(&few, &names).unwrap().with_start(&start);
    assert!(Agop::new().fit(&with_start, &mut Silent).unwrap_err().to_string().contains("start"));
}

struct Impatient;

impl Observer for Impatient {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        ControlFlow::Break(Halt::TimeLimit)
    }
}

#[test]
fn whoever_stops_it_gets_a_metric_and_a_spec_says_all_of_it() {
    let (x, y) = blobs(60, 3, 2, 4);
    let stopped = Agop::new().fit(&Training::new(&x, &y).unwrap(), &mut Impatient).unwrap();
    assert_eq!(stopped.outcome.status, Status::TimeLimit);
    assert_eq!(stopped.metric.features(), 3);
    let spec: Spec = serde_json::from_str(r#"{"method": "agop", "rounds": 2, "width": 0.5}"#).unwrap();
    assert_eq!(spec, Agop::new().rounds(2).width(0.5).into());
}
