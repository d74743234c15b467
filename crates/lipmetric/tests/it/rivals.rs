//! NCA, MCML, LMNN and LMML: objectives and gradients against plain loops, certificates, invariances.
use crate::lip_common::{Noise, blobs, load};
use lipmetric::classify::{KnnClassifier, Validation, Weights, best_k, judge_k, usual_ks};
use lipmetric::data::folds;
use lipmetric::lipschitz::appendix::{lmml_penalty, lmnn_pull};
use lipmetric::method::{Auto, Euclidean, Fit, Init, LipLocal, Lmml, Lmnn, Loss, Mcml, Method, Nca, Training, Triplet};
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::problem::Slack;
use lipmetric::solver::{Halt, Observer, Progress, Silent, Status};
use lipmetric::{Labels, Matrix, Metric};
use proptest::prelude::*;
use std::ops::ControlFlow;

fn random_metric(rank: usize, features: usize, scale: f64, noise: &mut Noise) -> Metric {
    let values = (0..rank * features).map(|_| scale * noise.normal()).collect();
    Metric::new(Matrix::from_vec(rank, features, values).unwrap()).unwrap()
}

fn learners() -> Vec<Box<dyn Method>> {
    vec![Box::new(Nca::new()), Box::new(Mcml::new()), Box::new(Lmnn::new()), Box::new(Lmml::new().tolerance(1e-4))]
}

fn objective(fit: &Fit) -> f64 {
    fit.outcome.objective.unwrap()
}

/// `(sum w_i (1 - p_i), sum w_i KL(ideal_i, p_i))`, pair by pair.
fn plain_softmax(x: &Matrix, y: &Labels, weights: &[f64], metric: &Metric) -> (f64, f64) {
    let (n, codes) = (x.rows(), y.codes());
    let (mut errors, mut divergence) = (0.0, 0.0);
    for i in 0..n {
        let distance = |j: usize| metric.squared_distance(x.row(i), x.row(j));
        // Far from all others every score would be zero: they count relative to the nearest one's.
        let nearest = (0..n).filter(|&j| j != i).map(distance).fold(f64::INFINITY, f64::min);
        let score = |j: usize| weights[j] * (nearest - distance(j)).exp();
        let total: f64 = (0..n).filter(|&j| j != i).map(score).sum();
        errors += weights[i] * (0..n).filter(|&j| codes[j] != codes[i]).map(score).sum::<f64>() / total;
        let same: Vec<usize> = (0..n).filter(|&j| j != i && codes[j] == codes[i]).collect();
        let mass: f64 = same.iter().map(|&j| weights[j]).sum();
        for &j in &same {
            let ideal = weights[j] / mass;
            divergence += weights[i] * ideal * (ideal / (score(j) / total)).ln();
        }
    }
    (errors, divergence)
}

fn nearest_of_class(x: &Matrix, y: &Labels, i: usize, k: usize) -> Vec<usize> {
    let d = |j: usize| Metric::euclidean(x.cols()).squared_distance(x.row(i), x.row(j));
    let mut same: Vec<usize> = (0..x.rows()).filter(|&j| j != i && y.codes()[j] == y.codes()[i]).collect();
    same.sort_by(|&a, &b| d(a).total_cmp(&d(b)).then(a.cmp(&b)));
    same.truncate(k);
    same
}

/// `(pull, sum of hinges, sum of each row's worst hinge)`.
fn plain_comparisons(x: &Matrix, y: &Labels, metric: &Metric, k: usize) -> (f64, f64, f64) {
    let (mut pull, mut hinges, mut worst) = (0.0, 0.0, 0.0);
    for i in 0..x.rows() {
        let mut most = 0.0f64;
        for j in nearest_of_class(x, y, i, k) {
            let near = metric.squared_distance(x.row(i), x.row(j));
            pull += near;
            for l in (0..x.rows()).filter(|&l| y.codes()[l] != y.codes()[i]) {
                let t = (1.0 + near - metric.squared_distance(x.row(i), x.row(l))).max(0.0);
                hinges += t;
                most = most.max(t);
            }
        }
        worst += most;
    }
    (pull, hinges, worst)
}

fn frobenius_squared(metric: &Metric) -> f64 {
    metric.matrix().as_slice().iter().map(|v| v * v).sum()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn objectives_are_those_of_the_plain_loops() {
    let mut noise = Noise(11);
    for (n, p, classes) in [(24, 3, 2), (45, 5, 3), (300, 4, 4)] {
        let (x, y) = blobs(n, p, classes, 5 + n as u64);
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let plain = Training::new(&x, &y).unwrap();
        let weighted = plain.with_weights(&weights).unwrap();
        for scale in [0.05, 0.4, 2.0] {
            let metric = random_metric(p.min(3), p, scale, &mut noise);
            let (errors, divergence) = plain_softmax(&x, &y, &vec![1.0; n], &metric);
            assert!(close(Nca::objective(&plain, &metric).unwrap(), errors, 1e-10));
            assert!(close(Mcml::objective(&plain, &metric).unwrap(), divergence, 1e-9));
            let (errors, divergence) = plain_softmax(&x, &y, &weights, &metric);
            assert!(close(Nca::objective(&weighted, &metric).unwrap(), errors, 1e-10));
            assert!(close(Mcml::objective(&weighted, &metric).unwrap(), divergence, 1e-9));
            for k in [1, 3] {
                let (pull, hinges, worst) = plain_comparisons(&x, &y, &metric, k);
                let lmnn = Lmnn::new().targets(k).push(0.3);
                let found = lmnn.objective(&plain, &metric).unwrap();
                assert!(close(found, 0.7 * pull + 0.3 * hinges, 1e-9), "{found}");
                let found = lmnn.slack(Slack::Instance).objective(&plain, &metric).unwrap();
                assert!(close(found, 0.7 * pull + 0.3 * worst, 1e-9), "{found}");
            }
            let (_, _, worst) = plain_comparisons(&x, &y, &metric, 1);
            let found = Lmml::new().alpha(2.0).objective(&plain, &metric).unwrap();
            assert!(close(found, frobenius_squared(&metric) + 2.0 * worst, 1e-9), "{found}");
        }
    }
}

#[test]
fn gradients_are_the_slopes_of_the_objectives() {
    let mut noise = Noise(3);
    let (x, y) = blobs(40, 4, 3, 9);
    let weights: Vec<f64> = (0..40).map(|i| 0.5 + (i % 4) as f64).collect();
    let data = Training::new(&x, &y).unwrap().with_weights(&weights).unwrap();
    for rank in [1, 2, 4] {
        let metric = random_metric(rank, 4, 0.4, &mut noise);
        let direction = random_metric(rank, 4, 1.0, &mut noise);
        let at = |t: f64| {
            let mut l = metric.factor().clone();
            l.as_mut_slice().iter_mut().zip(direction.factor().as_slice()).for_each(|(a, b)| *a += t * b);
            Metric::new(l).unwrap()
        };
        type Value = fn(&Training<'_>, &Metric) -> lipmetric::Result<f64>;
        type Slope = fn(&Training<'_>, &Metric) -> lipmetric::Result<Matrix>;
        let pairs: [(Value, Slope); 2] = [(Nca::objective, Nca::gradient), (Mcml::objective, Mcml::gradient)];
        for (value, slope) in pairs {
            let h = 1e-5;
            let numeric = (value(&data, &at(h)).unwrap() - value(&data, &at(-h)).unwrap()) / (2.0 * h);
            let gradient = slope(&data, &metric).unwrap();
            let exact: f64 = gradient.as_slice().iter().zip(direction.factor().as_slice()).map(|(a, b)| a * b).sum();
            assert!(close(numeric, exact, 1e-6), "{numeric} and {exact}");
        }
    }
}

/// `-sum w_i log p_i` over the rows that are not alone in their class, pair by pair, without any overflow.
fn plain_log_loss(x: &Matrix, y: &Labels, weights: &[f64], metric: &Metric) -> f64 {
    let (n, codes) = (x.rows(), y.codes());
    let mut total = 0.0;
    for i in 0..n {
        let score = |j: usize| weights[j].ln() - metric.squared_distance(x.row(i), x.row(j));
        let log_sum = |of: &dyn Fn(usize) -> bool| {
            let scores: Vec<f64> = (0..n).filter(|&j| j != i && of(j)).map(score).collect();
            let top = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            top + scores.iter().map(|s| (s - top).exp()).sum::<f64>().ln()
        };
        let own = log_sum(&|j| codes[j] == codes[i]);
        if own.is_finite() {
            total += weights[i] * (log_sum(&|_| true) - own);
        }
    }
    total
}

#[test]
fn the_log_loss_is_that_of_the_plain_loop_also_where_a_class_is_far_away() {
    let mut noise = Noise(4);
    for (n, p, classes) in [(24, 3, 2), (45, 5, 3), (200, 4, 4)] {
        let (x, mut y) = blobs(n, p, classes, 15 + n as u64);
        // A class of one row.
        let mut codes = y.codes().to_vec();
        codes[0] = classes as u32;
        y = Labels::from_codes((0..=classes).map(|c| c.to_string()).collect(), codes).unwrap();
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let plain = Training::new(&x, &y).unwrap();
        let weighted = plain.with_weights(&weights).unwrap();
        // Squared distances up to hundreds: `exp` of them alone would say nothing.
        for scale in [0.05, 0.4, 2.0, 6.0] {
            let metric = random_metric(p.min(3), p, scale, &mut noise);
            for (data, weights) in [(&plain, &vec![1.0; n]), (&weighted, &weights)] {
                let (found, expected) =
                    (Nca::log_loss(data, &metric).unwrap(), plain_log_loss(&x, &y, weights, &metric));
                assert!(close(found, expected, 1e-9), "{found} and {expected}");
            }
        }
    }
}

/// Two of `p` features tell the class.
fn two_that_tell(n: usize, p: usize, noise: &mut Noise) -> (Matrix, Labels) {
    let x = Matrix::from_vec(n, p, (0..n * p).map(|_| noise.normal()).collect()).unwrap();
    let y = Labels::from_names((0..n).map(|i| if x[(i, 0)] + x[(i, 1)] > 0.0 { "above" } else { "below" }));
    (x, y)
}

#[test]
fn nca_by_the_likelihood_finds_the_features_that_tell_and_stops_where_held_out_rows_are_served() {
    let mut noise = Noise(8);
    let (x, y) = two_that_tell(120, 8, &mut noise);
    let (z, truth) = two_that_tell(300, 8, &mut noise);
    let data = Training::new(&x, &y).unwrap();
    let nca = Nca::new().loss(Loss::Log);
    let fit = nca.fit(&data, &mut Silent).unwrap();
    assert!(fit.outcome.status.converged(), "{:?}", fit.outcome.status);
    assert!(fit.outcome.notes.iter().any(|note| note.contains("held out")), "{:?}", fit.outcome.notes);
    let m = fit.metric.matrix();
    assert!((2..8).all(|k| m[(k, k)] < 0.5 * m[(0, 0)].min(m[(1, 1)])), "{m:?}");
    let right = |metric: &Metric| {
        let index = NeighbourIndex::new(metric.transform(&x).unwrap()).unwrap();
        let knn = KnnClassifier::new(index, y.clone(), 5, Weights::Uniform).unwrap();
        let said = knn.predict(&metric.transform(&z).unwrap()).unwrap();
        said.iter().zip(truth.codes()).filter(|(a, b)| a == b).count()
    };
    assert!(right(&fit.metric) > right(&Metric::euclidean(8)) + 15);
    assert_eq!(nca.fit(&data, &mut Silent).unwrap(), fit);
    // The penalty holds it: at a very large one it stays where it began.
    let held = nca.clone().penalty(1e9).fit(&data, &mut Silent).unwrap().metric.matrix();
    for (a, b) in [(0, 0), (3, 3), (0, 1)] {
        let euclid = if a == b { held[(5, 5)] } else { 0.0 };
        assert!((held[(a, b)] - euclid).abs() < 1e-3 * held[(5, 5)], "{held:?}");
    }
    // No row is left to hold out, or only one: it ends by itself.
    let few = Matrix::from_rows(&[[0.0, 1.0], [0.1, 0.0], [1.0, 1.0], [1.1, 0.0]]);
    let names = Labels::from_names(["a", "a", "b", "b"]);
    assert!(nca.fit(&Training::new(&few, &names).unwrap(), &mut Silent).unwrap().outcome.objective.unwrap() < 3.0);
    assert!(nca.penalty(-1.0).fit(&data, &mut Silent).unwrap_err().to_string().contains("penalty"));
}

#[test]
fn nca_agrees_with_scikit_learn_at_its_own_solution_and_does_no_worse() {
    let (x, y) = load("fertility");
    let data = Training::new(&x, &y).unwrap();
    for (name, right) in [("", 53.999_726_669_841_905), ("_2", 54.999_999_961_744_48)] {
        let path = format!("{}/tests/data/rivals/sklearn_nca_fertility{name}.csv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let rows: Vec<f64> = text
            .lines()
            .skip(1)
            .flat_map(|l| l.split(','))
            .filter(|c| !c.is_empty())
            .map(|c| c.parse().unwrap())
            .collect();
        let metric = Metric::new(Matrix::from_vec(rows.len() / x.cols(), x.cols(), rows).unwrap()).unwrap();
        let errors = Nca::objective(&data, &metric).unwrap();
        assert!((errors - (x.rows() as f64 - right)).abs() < 1e-7, "{errors}");
    }
    // Not convex: one error more or less is a matter of luck.
    let fit = Nca::new().fit(&data, &mut Silent).unwrap();
    assert!(objective(&fit) <= x.rows() as f64 - 53.9 + 1.0, "{}", objective(&fit));
}

/// No metric does better than the bound, and the figures are those of the metric that is returned.
fn check_certificate(fit: &Fit, value: impl Fn(&Metric) -> f64, features: usize, tolerance: f64) {
    let outcome = &fit.outcome;
    let (objective, dual, gap) = (outcome.objective.unwrap(), outcome.dual.unwrap(), outcome.gap.unwrap());
    assert_eq!(outcome.status, Status::Optimal, "{outcome:?}");
    assert!(gap <= tolerance && gap >= 0.0 && dual <= objective, "{outcome:?}");
    assert!(((objective - dual) / objective - gap).abs() < 1e-9);
    let found = value(&fit.metric);
    assert!(close(found, objective, 1e-7), "{found} and {objective}");
    let mut noise = Noise(77);
    for trial in 0..20 {
        let other = random_metric(features, features, [0.01, 0.1, 0.5, 2.0][trial % 4], &mut noise);
        assert!(value(&other) >= dual * (1.0 - 1e-12));
        // And near the optimum.
        let mut l = fit.metric.factor().clone();
        l.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 + 0.05 * noise.normal());
        assert!(value(&Metric::new(l).unwrap()) >= dual * (1.0 - 1e-12));
    }
}

#[test]
fn certificates_hold() {
    for (n, p, classes) in [(60, 3, 2), (90, 6, 3)] {
        let (x, y) = blobs(n, p, classes, 21);
        let data = Training::new(&x, &y).unwrap();
        let mcml = Mcml::new().tolerance(1e-5);
        check_certificate(&mcml.fit(&data, &mut Silent).unwrap(), |m| Mcml::objective(&data, m).unwrap(), p, 1e-5);
        for (slack, push) in [(Slack::Pair, 0.7), (Slack::Instance, 0.97)] {
            let lmnn = Lmnn::new().targets(2).slack(slack).push(push).tolerance(1e-4);
            let fit = lmnn.fit(&data, &mut Silent).unwrap();
            check_certificate(&fit, |m| lmnn.objective(&data, m).unwrap(), p, 1e-4);
        }
        let lmml = Lmml::new();
        check_certificate(&lmml.fit(&data, &mut Silent).unwrap(), |m| lmml.objective(&data, m).unwrap(), p, 1e-6);
        let triplets: Vec<[usize; 3]> = (0..n).map(|i| [i, (i + classes) % n, (i + 1) % n]).collect();
        let told = data.with_triplets(&triplets);
        check_certificate(&lmml.fit(&told, &mut Silent).unwrap(), |m| lmml.objective(&told, m).unwrap(), p, 1e-6);
    }
}

/// Two rows of different class 1e-9 apart, near the origin, and one 1e8 away.
fn near_and_far() -> (Matrix, Labels) {
    let x = Matrix::from_rows(&[
        [0.086_543_346, -0.5],
        [0.086_543_347, -0.5],
        [-1.04, 0.3],
        [0.7, 0.9],
        [2.1, -0.4],
        [1e8, 2e8],
    ]);
    (x, Labels::from_names(["a", "b", "a", "b", "a", "b"]))
}

#[test]
fn figures_are_those_of_the_returned_metric_where_rows_are_near_and_one_is_far() {
    let (x, y) = near_and_far();
    let data = Training::new(&x, &y).unwrap();
    let ones = vec![1.0; 6];
    for (k, learner) in learners().into_iter().enumerate() {
        let fit = match learner.fit(&data, &mut Silent) {
            // The far row makes every push too small.
            Err(e) if learner.name() == "lmnn" => {
                assert!(e.to_string().contains("0.5 is too small"), "{e}");
                continue;
            }
            fitted => fitted.unwrap(),
        };
        let (errors, divergence) = plain_softmax(&x, &y, &ones, &fit.metric);
        let (pull, hinges, _) = plain_comparisons(&x, &y, &fit.metric, 3);
        let (_, _, worst) = plain_comparisons(&x, &y, &fit.metric, 1);
        let value = [errors, divergence, 0.5 * (pull + hinges), frobenius_squared(&fit.metric) + worst][k];
        assert!(close(objective(&fit), value, 1e-6), "{}: {} and {value}", learner.name(), objective(&fit));
        if let Some(dual) = fit.outcome.dual {
            assert!(dual <= objective(&fit), "{}: {:?}", learner.name(), fit.outcome);
        }
    }
}

#[test]
fn convex_methods_find_the_same_optimum_from_anywhere() {
    let (x, y) = blobs(80, 4, 2, 8);
    let data = Training::new(&x, &y).unwrap();
    let euclidean = Metric::euclidean(4);
    let given = data.with_start(&euclidean);
    let starts = [(Init::Identity, data), (Init::Lda, data), (Init::Random(5), data), (Init::Auto, given)];
    let spread = |fits: Vec<Fit>, tolerance: f64| {
        let values: Vec<f64> = fits.iter().map(objective).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(values.iter().all(|v| v / low - 1.0 <= tolerance), "{values:?}");
    };
    let all = |fit: &dyn Fn((Init, Training<'_>)) -> Fit| starts.into_iter().map(fit).collect::<Vec<_>>();
    spread(all(&|(i, data)| Mcml::new().init(i).tolerance(1e-4).fit(&data, &mut Silent).unwrap()), 1e-4);
    spread(all(&|(i, data)| Lmnn::new().init(i).tolerance(1e-3).fit(&data, &mut Silent).unwrap()), 1e-3);
    spread(all(&|(i, data)| Lmml::new().init(i).fit(&data, &mut Silent).unwrap()), 1e-6);
}

#[test]
fn a_warm_start_from_the_optimum_needs_few_steps() {
    let (x, y) = blobs(120, 4, 3, 8);
    let data = Training::new(&x, &y).unwrap();
    let cold = Mcml::new().fit(&data, &mut Silent).unwrap();
    let warm = Mcml::new().fit(&data.with_start(&cold.metric), &mut Silent).unwrap();
    assert!(warm.outcome.iterations < cold.outcome.iterations, "{:?} {:?}", warm.outcome, cold.outcome);
    let cold = Nca::new().fit(&data, &mut Silent).unwrap();
    let warm = Nca::new().fit(&data.with_start(&cold.metric), &mut Silent).unwrap();
    assert!(objective(&warm) <= objective(&cold) && warm.outcome.iterations <= cold.outcome.iterations);
}

#[test]
fn mcml_returns_the_true_metric_not_a_rotation() {
    let (x, y) = blobs(90, 4, 3, 30);
    let data = Training::new(&x, &y).unwrap();
    let fit = Mcml::new().fit(&data, &mut Silent).unwrap();
    let spectrum = fit.metric.spectrum().unwrap();
    assert!(spectrum[0] > 1.5 * spectrum[spectrum.len() - 1], "{spectrum:?}");
    assert!(objective(&fit) < Mcml::objective(&data, &Metric::euclidean(4)).unwrap());
    let two = Mcml::new().n_components(2).fit(&data, &mut Silent).unwrap();
    assert_eq!(two.metric.rank(), 2);
    // The figures are those of what is kept.
    assert!(close(objective(&two), Mcml::objective(&data, &two.metric).unwrap(), 1e-9));
    let ended = if two.outcome.gap.unwrap() <= 1e-3 { Status::Optimal } else { Status::RankLimited };
    assert!(objective(&two) >= fit.outcome.dual.unwrap() && two.outcome.status == ended, "{:?}", two.outcome);
    let kept = two.metric.spectrum().unwrap();
    assert!((kept[0] / spectrum[0] - 1.0).abs() < 1e-6 && (kept[1] / spectrum[1] - 1.0).abs() < 1e-6);
}

#[test]
fn few_components_give_maps_of_that_size() {
    let (x, y) = blobs(60, 5, 3, 4);
    let data = Training::new(&x, &y).unwrap();
    for d in [1, 2, 5] {
        for init in [Init::Auto, Init::Identity, Init::Pca, Init::Lda, Init::Random(1)] {
            let nca = Nca::new().n_components(d).init(init).fit(&data, &mut Silent).unwrap();
            let lmnn = Lmnn::new().n_components(d).init(init).fit(&data, &mut Silent).unwrap();
            assert!(nca.metric.rank() == d && lmnn.metric.rank() <= d, "{init:?} {d}");
            assert!(lmnn.outcome.dual.unwrap() <= objective(&lmnn));
        }
    }
    for bad in [0, 6] {
        for error in [
            Nca::new().n_components(bad).fit(&data, &mut Silent).unwrap_err(),
            Lmnn::new().n_components(bad).fit(&data, &mut Silent).unwrap_err(),
            Mcml::new().n_components(bad).fit(&data, &mut Silent).unwrap_err(),
            Lmml::new().n_components(bad).fit(&data, &mut Silent).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains("n_components") && text.contains(&bad.to_string()) && text.contains('5'), "{text}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let (x, y) = blobs(20, 2, 2, 4);
    let data = Training::new(&x, &y).unwrap();
    let told = |learner: &dyn Method| learner.fit(&data, &mut Silent).unwrap_err().to_string();
    for bad in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(told(&Lmnn::new().push(bad)).contains("`push`"));
        assert!(told(&Nca::new().tolerance(bad)).contains("`tolerance`"));
        assert!(told(&Mcml::new().tolerance(bad)).contains("`tolerance`"));
        assert!(bad == 1.0 || told(&Lmml::new().alpha(bad)).contains("`alpha`"));
    }
    assert!(told(&Lmnn::new().targets(0)).contains("`targets`"));
    assert!(told(&Nca::new().max_iterations(0)).contains("`max_iterations`"));
    let beside = |data: Training<'_>, method: &dyn Method| method.fit(&data, &mut Silent).unwrap_err().to_string();
    let other = Metric::euclidean(3);
    for method in learners() {
        assert!(beside(data.with_start(&other), &*method).contains("features of the metric to start from"));
    }
    let fine = Metric::euclidean(2);
    for method in [&Euclidean::new() as &dyn Method, &LipLocal::new(), &Auto::new()] {
        assert!(beside(data.with_start(&fine), method).contains("`start`"));
        assert!(beside(data.with_triplets(&[[0, 1, 2]]), method).contains("lmml"));
    }
    let compared = |triplets: &[Triplet]| beside(data.with_triplets(triplets), &Lmml::new());
    assert!(compared(&[]).contains("`triplets`"));
    assert!(compared(&[[0, 1, 20]]).contains("row 20"));
    assert!(compared(&[[0, 1, 1]]).contains("itself"));
    let weights = vec![1.0; 20];
    let weighted = data.with_weights(&weights).unwrap();
    let error = Lmml::new().fit(&weighted.with_triplets(&[[0, 1, 2]]), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("weights"), "{error}");
}

#[test]
fn a_row_of_weight_zero_is_not_there_and_equal_weights_change_nothing() {
    let (x, y) = blobs(60, 3, 2, 17);
    let weights: Vec<f64> = (0..60).map(|i| if i % 5 == 0 { 0.0 } else { 1.0 }).collect();
    let kept: Vec<usize> = (0..60).filter(|i| i % 5 != 0).collect();
    let (xk, yk) = (x.select_rows(&kept), y.select(&kept));
    let halves = vec![0.5; 48];
    for learner in learners() {
        let weighted = Training::new(&x, &y).unwrap().with_weights(&weights).unwrap();
        let with = learner.fit(&weighted, &mut Silent).unwrap();
        let without = learner.fit(&Training::new(&xk, &yk).unwrap(), &mut Silent).unwrap();
        assert_eq!(with.outcome.objective, without.outcome.objective, "{}", learner.name());
        assert_eq!(with.metric, without.metric, "{}", learner.name());
        if learner.name() == "nca" || learner.name() == "mcml" {
            let data = Training::new(&xk, &yk).unwrap().with_weights(&halves).unwrap();
            let half = learner.fit(&data, &mut Silent).unwrap();
            assert!(close(2.0 * objective(&half), objective(&without), 2e-3), "{}", learner.name());
        }
    }
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    let (x, y) = blobs(700, 5, 3, 2);
    let data = Training::new(&x, &y).unwrap();
    let run = |threads: usize| -> Vec<Metric> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learners().iter().map(|l| l.fit(&data, &mut Silent).unwrap().metric).collect())
    };
    assert_eq!(run(1), run(3));
}

/// Stops after so many reports.
struct Patience(usize);

impl Observer for Patience {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        assert!(at.primal.is_none_or(f64::is_finite) && at.gap.is_none_or(|g| (0.0..=1.0).contains(&g)));
        if self.0 == 0 {
            return ControlFlow::Break(Halt::Interrupted);
        }
        self.0 -= 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn an_interrupted_fit_returns_the_best_so_far_and_says_so() {
    let (x, y) = blobs(150, 5, 3, 6);
    let data = Training::new(&x, &y).unwrap();
    let tight: Vec<Box<dyn Method>> = vec![
        Box::new(Nca::new().tolerance(1e-12)),
        Box::new(Mcml::new().tolerance(1e-12)),
        Box::new(Lmnn::new().tolerance(1e-12)),
        Box::new(Lmml::new().tolerance(1e-12)),
    ];
    for learner in tight {
        for steps in [0, 3] {
            let fit = learner.fit(&data, &mut Patience(steps)).unwrap();
            assert_eq!(fit.outcome.status, Status::Interrupted, "{}", learner.name());
            assert!(fit.metric.factor().first_non_finite().is_none());
        }
    }
    let limited = Lmml::new().tolerance(1e-12).max_iterations(2).fit(&data, &mut Silent).unwrap();
    assert_eq!(limited.outcome.status, Status::IterationLimit);
}

/// A finite metric that maps the rows, or an error that says something.
fn ends_well(name: &str, x: &Matrix, y: &Labels) {
    let data = Training::new(x, y).unwrap();
    let mut all = learners();
    all.push(Box::new(Lmnn::new().targets(1).slack(Slack::Instance)));
    all.push(Box::new(Lmnn::new().targets(1).n_components(1)));
    all.push(Box::new(Nca::new().n_components(1)));
    all.push(Box::new(Euclidean::new()));
    for learner in all {
        match learner.fit(&data, &mut Silent) {
            Ok(fit) => {
                let mapped = fit.metric.transform(x).unwrap();
                assert!(mapped.first_non_finite().is_none(), "{name}, {}", learner.name());
                assert!(fit.metric.spectrum().unwrap().iter().all(|v| *v >= 0.0 && v.is_finite()));
                let outcome = &fit.outcome;
                for figure in [outcome.objective, outcome.dual, outcome.gap].into_iter().flatten() {
                    assert!(figure.is_finite(), "{name}, {}: {outcome:?}", learner.name());
                }
            }
            Err(error) => assert!(error.to_string().len() > 20, "{name}, {}: {error}", learner.name()),
        }
    }
}

#[test]
fn degenerate_data_end_in_a_finite_metric_or_a_clear_error() {
    let (x, y) = blobs(24, 3, 2, 40);
    let with = |f: &dyn Fn(&mut Matrix)| {
        let mut x = x.clone();
        f(&mut x);
        x
    };
    ends_well("plain", &x, &y);
    ends_well("constant column", &with(&|x| (0..24).for_each(|i| x[(i, 1)] = 7.3)), &y);
    ends_well("duplicate column", &with(&|x| (0..24).for_each(|i| x[(i, 1)] = x[(i, 0)])), &y);
    ends_well("one column", &Matrix::from_vec(24, 1, (0..24).map(|i| x[(i, 0)]).collect()).unwrap(), &y);
    ends_well("huge", &with(&|x| x.as_mut_slice().iter_mut().for_each(|v| *v *= 1e6)), &y);
    ends_well("tiny", &with(&|x| x.as_mut_slice().iter_mut().for_each(|v| *v *= 1e-6)), &y);
    ends_well("enormous", &with(&|x| x.as_mut_slice().iter_mut().for_each(|v| *v *= 1e150)), &y);
    ends_well("far from the origin", &with(&|x| x.as_mut_slice().iter_mut().for_each(|v| *v += 1e8)), &y);
    ends_well("mixed scales", &with(&|x| (0..24).for_each(|i| x[(i, 2)] *= 1e7)), &y);
    ends_well("all equal", &Matrix::zeros(24, 3), &y);
    ends_well(
        "duplicates across classes",
        &with(&|x| {
            (0..12).for_each(|i| {
                let row = x.row(2 * i).to_vec();
                x.row_mut(2 * i + 1).copy_from_slice(&row);
            })
        }),
        &y,
    );
    ends_well(
        "duplicates within classes",
        &with(&|x| {
            (0..24).for_each(|i| {
                let row = x.row(i % 2).to_vec();
                x.row_mut(i).copy_from_slice(&row);
            })
        }),
        &y,
    );
    ends_well(
        "far apart classes, no impostors",
        &with(&|x| (0..24).for_each(|i| x[(i, 0)] += 1e3 * (i % 2) as f64)),
        &y,
    );
    ends_well("one class", &x, &Labels::from_names(vec!["a"; 24]));
    ends_well("every row a class", &x, &Labels::from_names((0..24).map(|i| format!("c{i}"))));
    ends_well("a class of one", &x, &one_alone());
    ends_well("a leaked label", &with(&|x| (0..24).for_each(|i| x[(i, 2)] = (i % 2) as f64)), &y);
    ends_well("two rows", &x.select_rows(&[0, 1]), &y.select(&[0, 1]));
    ends_well("three rows", &x.select_rows(&[0, 1, 2]), &y.select(&[0, 1, 2]));
    let (wide, few) = blobs(10, 40, 2, 3);
    ends_well("more features than rows", &wide, &few);
    let (x, y) = load("haberman");
    ends_well("integers with many ties", &x, &y);
}

/// Labels of 24 rows, one of which is alone in its class.
fn one_alone() -> Labels {
    let name = |i: usize| if i.is_multiple_of(2) { "a" } else { "b" };
    Labels::from_names((0..24).map(|i| if i == 5 { "rare" } else { name(i) }))
}

#[test]
fn degenerate_data_are_told_of() {
    let (x, y) = blobs(24, 3, 2, 40);
    let told = |learner: &dyn Method, x: &Matrix, y: &Labels| {
        let fit = learner.fit(&Training::new(x, y).unwrap(), &mut Silent);
        fit.map_or_else(|e| e.to_string(), |f| f.outcome.notes.join("; "))
    };
    for learner in learners() {
        assert!(told(&*learner, &x, &Labels::from_names(vec!["a"; 24])).contains("same label"), "{}", learner.name());
        assert!(told(&*learner, &Matrix::zeros(24, 3), &y).contains("equal"), "{}", learner.name());
        let mut constant = x.clone();
        (0..24).for_each(|i| constant[(i, 1)] = 7.3);
        assert!(told(&*learner, &constant, &y).contains("2 of 3 dimensions"), "{}", learner.name());
        assert!(told(&*learner, &x, &one_alone()).contains("classes of a single row: 1;"), "{}", learner.name());
    }
    let singles = Labels::from_names((0..24).map(|i| format!("c{i}")));
    assert!(told(&Lmnn::new(), &x, &singles).contains("no two rows"));
    assert!(told(&Lmml::new(), &x, &singles).contains("no two rows"));
    assert!(told(&Mcml::new(), &x, &singles).contains("no two rows"));
    let small = Labels::from_names((0..24).map(|i| if i < 3 { "few" } else { "many" }));
    assert!(told(&Lmnn::new(), &x, &small).contains("fewer than 4 rows"));
    assert!(told(&Lmnn::new().push(1e-9), &x, &y).contains("push"));
}

#[test]
fn lmnn_with_one_target_is_steady_over_many_data_sets() {
    for seed in 0..30 {
        let (x, y) = blobs(30, 3, 3, seed);
        let data = Training::new(&x, &y).unwrap();
        let fit = Lmnn::new().targets(1).fit(&data, &mut Silent).unwrap();
        assert_eq!(fit.outcome.status, Status::Optimal, "seed {seed}: {:?}", fit.outcome);
        let before = Lmnn::new().targets(1).objective(&data, &Metric::euclidean(3)).unwrap();
        assert!(objective(&fit) <= before * (1.0 + 1e-9), "seed {seed}");
    }
}

#[test]
fn the_certified_methods_meet_their_tolerance_on_the_papers_data() {
    for name in ["echo", "fertility", "haberman"] {
        let (x, y) = load(name);
        let data = Training::new(&x, &y).unwrap();
        for learner in [&Mcml::new() as &dyn Method, &Lmnn::new(), &Lmml::new()] {
            let fit = learner.fit(&data, &mut Silent).unwrap();
            assert_eq!(fit.outcome.status, Status::Optimal, "{name}, {}: {:?}", learner.name(), fit.outcome);
        }
    }
}

#[test]
fn judged_neighbours_are_those_of_the_classifier() {
    let (x, y) = blobs(61, 2, 3, 12);
    let ks = usual_ks(40);
    for weights in [Weights::Uniform, Weights::Distance] {
        let scores = judge_k(&x, &y, &ks, weights, Validation::Folds { folds: 4, seed: 3 }).unwrap();
        let mut right = vec![0usize; ks.len()];
        for split in folds(&y, 4, 3).unwrap() {
            for (hits, &k) in right.iter_mut().zip(&ks) {
                let index = NeighbourIndex::new(x.select_rows(&split.train)).unwrap();
                let knn = KnnClassifier::new(index, y.select(&split.train), k, weights).unwrap();
                let found = knn.predict(&x.select_rows(&split.test)).unwrap();
                *hits += found.iter().zip(y.select(&split.test).codes()).filter(|(a, b)| a == b).count();
            }
        }
        for (score, hits) in scores.iter().zip(&right) {
            assert_eq!(score.accuracy, *hits as f64 / 61.0, "{weights:?} {}", score.k);
        }
        let alone = judge_k(&x, &y, &ks, weights, Validation::LeaveOneOut).unwrap();
        let all = judge_k(&x, &y, &ks, weights, Validation::Folds { folds: 61, seed: 0 }).unwrap();
        assert_eq!(alone, all);
        let best = best_k(&alone).unwrap();
        assert!(alone.iter().all(|s| s.accuracy <= alone.iter().find(|t| t.k == best).unwrap().accuracy));
    }
    assert!(judge_k(&x, &y, &[0], Weights::Uniform, Validation::LeaveOneOut).is_err());
    assert!(judge_k(&x, &y, &[61], Weights::Uniform, Validation::LeaveOneOut).is_err());
}

#[test]
fn the_appendix_holds_on_the_papers_data() {
    for name in ["echo", "haberman", "diabetes", "cancer"] {
        let (x, y) = load(name);
        let data = Training::new(&x, &y).unwrap();
        for fit in [Lmml::new().tolerance(1e-3).fit(&data, &mut Silent), Lmnn::new().targets(1).fit(&data, &mut Silent)]
        {
            let metric = fit.unwrap().metric;
            let lmml = lmml_penalty(&metric, &x, &y).unwrap();
            assert!(lmml.inverse_ratio <= lmml.bound || lmml.margin == 0.0, "{name}: {lmml:?}");
            let lmnn = lmnn_pull(&metric, &x, &y).unwrap();
            assert!(lmnn.inverse_ratio <= lmnn.bound * (1.0 + 1e-9) || lmnn.inverse_ratio.is_infinite(), "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_penalties_bound_the_inverse_ratios(seed in 0u64..1000, n in 6usize..30, p in 1usize..4, scale in 0.01f64..3.0) {
        let (x, y) = blobs(n, p, 2, seed);
        let mut noise = Noise(seed + 1);
        let mut metric = random_metric(p, p, scale, &mut noise);
        for scaled in [false, true] {
            let told = lmml_penalty(&metric, &x, &y).unwrap();
            prop_assert!(told.margin == 0.0 || told.inverse_ratio <= told.bound * (1.0 + 1e-9), "{told:?}");
            let local = lmnn_pull(&metric, &x, &y).unwrap();
            for i in 0..n {
                let (inverse, pull, margin) = (local.inverse_ratios[i], local.pulls[i], local.margins[i]);
                prop_assert!(margin == 0.0 || inverse <= pull / margin * (1.0 + 1e-9));
                prop_assert!(margin < 1.0 || inverse <= pull * (1.0 + 1e-9));
            }
            if scaled {
                // Every margin is one at least: the appendix's own statements.
                prop_assert!(told.inverse_ratio <= told.penalty * (1.0 + 1e-9));
                prop_assert!(local.inverse_ratio <= local.pull * (1.0 + 1e-9));
            } else {
                prop_assume!(told.margin > 1e-12);
                let mut l = metric.factor().clone();
                let by = (1.0 + 1e-9) / told.margin.sqrt();
                l.as_mut_slice().iter_mut().for_each(|v| *v *= by);
                metric = Metric::new(l).unwrap();
            }
        }
    }

    #[test]
    fn the_slack_of_the_appendix_bounds_the_hinge_of_the_classifier(seed in 0u64..1000, n in 6usize..25, scale in 0.05f64..2.0) {
        let (x, y) = blobs(n, 2, 2, seed);
        let metric = random_metric(2, 2, scale, &mut Noise(seed));
        let (_, _, worst) = plain_comparisons(&x, &y, &metric, 1);
        let mut hinge = 0.0;
        for i in 0..n {
            let nearest = |same: bool| {
                (0..n)
                    .filter(|&j| j != i && (y.codes()[j] == y.codes()[i]) == same)
                    .map(|j| metric.squared_distance(x.row(i), x.row(j)))
                    .fold(f64::INFINITY, f64::min)
            };
            hinge += (1.0 - (nearest(false) - nearest(true))).max(0.0);
        }
        prop_assert!(hinge <= worst * (1.0 + 1e-12) + 1e-12);
    }
}
