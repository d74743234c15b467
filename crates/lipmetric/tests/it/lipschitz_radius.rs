//! Certified radii, attacked.

use lipmetric::lipschitz::{Mahalanobis, certified_accuracy, certified_radii, distances::Cross, input_radius_factor};
use lipmetric::{Error, Labels, Matrix, Metric};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Matrix {
    Matrix::from_vec(rows, cols, (0..rows * cols).map(|_| rng.random::<f64>() * 4.0 - 2.0).collect()).unwrap()
}

fn length(v: &[f64]) -> f64 {
    v.iter().map(|a| a * a).sum::<f64>().sqrt()
}

/// `row + step * direction / |direction|`.
fn moved(row: &[f64], direction: &[f64], step: f64) -> Vec<f64> {
    let scale = step / length(direction);
    row.iter().zip(direction).map(|(a, b)| a + b * scale).collect()
}

/// Random directions, towards each row of the sample, and against the nearest one.
fn directions(row: &[f64], x: &Matrix, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = (0..60).map(|_| (0..row.len()).map(|_| rng.random::<f64>() - 0.5).collect()).collect();
    for i in 0..x.rows() {
        let towards: Vec<f64> = x.row(i).iter().zip(row).map(|(a, b)| a - b).collect();
        all.push(towards.iter().map(|v| -v).collect());
        all.push(towards);
    }
    all.retain(|d| length(d) > 1e-9);
    all
}

#[test]
fn no_attack_inside_the_radius_succeeds_and_some_just_outside_do() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let x = random(60, 3, &mut rng);
    let y = Labels::from_names((0..60).map(|i| ["a", "b", "c"][i % 3]));
    let metric = Metric::new(Matrix::from_rows(&[[2.0, 0.3, 0.0], [0.1, 0.7, -0.5]])).unwrap();
    let factor = input_radius_factor(&metric).unwrap();
    let sample = Mahalanobis::new(&metric, &x).unwrap();
    let queries = random(40, 3, &mut rng);
    let certified = certified_radii(&sample.to(&queries).unwrap(), &y).unwrap();
    let mut closest_flip = f64::INFINITY;
    for (q, c) in certified.iter().enumerate() {
        let radius = c.in_input_units(factor);
        assert!(radius > 0.0);
        for direction in directions(queries.row(q), &x, &mut rng) {
            let mut attack = Matrix::zeros(0, 3).into_vec();
            let steps = [0.3, 0.9, 0.999_999, 1.02, 1.1, 1.3, 2.0, 4.0];
            steps.iter().for_each(|s| attack.extend(moved(queries.row(q), &direction, radius * s)));
            let attack = Matrix::from_vec(steps.len(), 3, attack).unwrap();
            let after = certified_radii(&sample.to(&attack).unwrap(), &y).unwrap();
            for (k, a) in after.iter().enumerate() {
                assert!(steps[k] >= 1.0 || a.code == c.code, "query {q} flipped at {} of its radius", steps[k]);
                if a.code != c.code {
                    closest_flip = closest_flip.min(steps[k]);
                }
            }
        }
    }
    assert!(closest_flip <= 1.3, "the radius is far from attained: nearest flip at {closest_flip}");
}

#[test]
fn the_radius_is_attained_between_two_rows_along_the_strongest_direction() {
    // The metric stretches the first coordinate most, and the rows lie along it.
    let metric = Metric::new(Matrix::from_rows(&[[3.0, 0.0], [0.0, 1.0]])).unwrap();
    let x = Matrix::from_rows(&[[0.0, 0.0], [10.0, 0.0], [5.0, 90.0]]);
    let y = Labels::from_names(["a", "b", "c"]);
    let sample = Mahalanobis::new(&metric, &x).unwrap();
    let at = |v: f64| certified_radii(&sample.to(&Matrix::from_rows(&[[v, 0.0]])).unwrap(), &y).unwrap()[0];
    let c = at(2.0);
    let radius = c.in_input_units(input_radius_factor(&metric).unwrap());
    assert!((c.radius - 9.0).abs() < 1e-9 && c.radius <= 9.0);
    assert!((radius - 3.0).abs() < 1e-9 && radius <= 3.0);
    assert_eq!(at(2.0 + radius * (1.0 - 1e-12)).code, 0);
    assert_eq!(at(2.0 + radius * (1.0 + 1e-9)).code, 1);
}

#[test]
fn the_squared_form_would_certify_too_much() {
    // (d_other^2 - d_same^2) / 2 is no radius: at 2 between 0 and 10 it is 30, and the label changes after 3.
    let sample = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [10.0]])).unwrap();
    let to = sample.to(&Matrix::from_rows(&[[2.0], [5.5]])).unwrap();
    let certified = certified_radii(&to, &Labels::from_names(["a", "b"])).unwrap();
    let squared = (to.get(0, 1).powi(2) - to.get(0, 0).powi(2)) / 2.0;
    assert_eq!(squared, 30.0);
    assert!(certified[0].radius <= 3.0);
    assert_ne!(certified[0].code, certified[1].code);
}

#[test]
fn a_tie_has_radius_zero_and_goes_to_the_first_class() {
    let sample = Mahalanobis::euclidean(&Matrix::from_rows(&[[1.0], [-1.0], [7.0]])).unwrap();
    let y = Labels::from_names(["b", "a", "c"]);
    let c = certified_radii(&sample.to(&Matrix::from_rows(&[[0.0]])).unwrap(), &y).unwrap()[0];
    assert_eq!((c.code, c.nearest, c.other, c.radius), (0, 1, 0, 0.0));
    assert_eq!(certified_accuracy(&[(c.code, c.radius)], &[0], &[0.0, 1e-300]).unwrap(), [1.0, 0.0]);
}

#[test]
fn rounding_of_large_coordinates_is_taken_off_the_radius() {
    let metric = Metric::new(Matrix::from_rows(&[[1.0, -1.0]])).unwrap();
    let sample = Mahalanobis::new(&metric, &Matrix::from_rows(&[[1e15, 1e15], [1e15 + 2.0, 1e15]])).unwrap();
    let c = certified_radii(
        &sample.to(&Matrix::from_rows(&[[1e15 + 0.25, 1e15]])).unwrap(),
        &Labels::from_names(["a", "b"]),
    )
    .unwrap()[0];
    assert_eq!(c.radius, 0.0, "coordinates of 1e15 leave nothing to certify");
}

#[test]
fn certified_accuracy_falls_with_the_radius_and_refuses_bad_input() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let x = random(50, 2, &mut rng);
    let y = Labels::from_names(x.as_slice().chunks(2).map(|r| if r[0] > 0.0 { "p" } else { "n" }));
    let queries = random(200, 2, &mut rng);
    let truth: Vec<u32> = queries.as_slice().chunks(2).map(|r| u32::from(r[0] > 0.0)).collect();
    let sample = Mahalanobis::euclidean(&x).unwrap();
    let certified: Vec<(u32, f64)> =
        certified_radii(&sample.to(&queries).unwrap(), &y).unwrap().iter().map(|c| (c.code, c.radius)).collect();
    let grid: Vec<f64> = (0..20).map(|k| f64::from(k) * 0.1).collect();
    let accuracy = certified_accuracy(&certified, &truth, &grid).unwrap();
    assert!(accuracy.windows(2).all(|w| w[0] >= w[1]));
    let plain = certified.iter().zip(&truth).filter(|(c, t)| c.0 == **t).count();
    assert_eq!(accuracy[0], plain as f64 / 200.0);
    assert!(accuracy[0] > 0.8 && accuracy[19] < 0.5);
    assert!(matches!(certified_accuracy(&certified, &truth[1..], &grid), Err(Error::Shape { .. })));
    assert!(certified_accuracy(&[], &[], &grid).is_err());
    assert!(certified_accuracy(&certified, &truth, &[-1.0]).is_err());
    let one = Labels::from_names(vec!["p"; 50]);
    assert!(certified_radii(&sample.to(&queries).unwrap(), &one).is_err());
}

#[test]
fn a_zero_metric_certifies_nothing_in_its_own_units() {
    let metric = Metric::new(Matrix::zeros(0, 2)).unwrap();
    let sample = Mahalanobis::new(&metric, &Matrix::from_rows(&[[0.0, 0.0], [1.0, 1.0]])).unwrap();
    let to = sample.to(&Matrix::from_rows(&[[3.0, 3.0]])).unwrap();
    let c = certified_radii(&to, &Labels::from_names(["a", "b"])).unwrap()[0];
    assert_eq!(input_radius_factor(&metric).unwrap(), f64::INFINITY);
    assert_eq!((c.code, c.radius, c.in_input_units(f64::INFINITY)), (0, 0.0, 0.0));
}
