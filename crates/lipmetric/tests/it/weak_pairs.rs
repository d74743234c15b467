//! Learning from pairs, triplets and quadruplets of rows without labels.

use lipmetric::classify::ThresholdRule;
use lipmetric::data::{Column, Pair, Table};
use lipmetric::method::{Itml, LipPairs, Lmml, Method, Spec, Training};
use lipmetric::model::{Calibrated, Classifier, Recipe};
use lipmetric::prepare::{Dataset, Roles, Scaling};
use lipmetric::problem::Diameter;
use lipmetric::solver::{Silent, Status};
use lipmetric::{Labels, Matrix, Metric, Task};

/// Two kinds of rows that differ in the first feature; the others are noise, the last of it large.
fn rows(n: usize) -> (Matrix, Vec<bool>) {
    let mut state = 7u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let kind: Vec<bool> = (0..n).map(|i| i % 2 == 0).collect();
    let mut x = Matrix::zeros(n, 3);
    for (i, &first) in kind.iter().enumerate() {
        x[(i, 0)] = if first { 0.5 } else { -0.5 } + 0.5 * unit();
        x[(i, 1)] = unit();
        x[(i, 2)] = 4.0 * unit();
    }
    (x, kind)
}

fn pairs(kind: &[bool], count: usize) -> Vec<Pair> {
    let n = kind.len();
    let pair = |k: usize| {
        let (i, j) = (k * 7 % n, (k * 13 + 5 + k / 3) % n);
        (i != j).then(|| if kind[i] == kind[j] { Pair::similar(i, j) } else { Pair::dissimilar(i, j) })
    };
    (0..count).filter_map(pair).collect()
}

/// The objective of lip-pairs by its definition, in plain loops.
fn objective(x: &Matrix, pairs: &[Pair], metric: &Metric, c: f64, spec: &LipPairs) -> f64 {
    let rho = |p: &Pair| metric.squared_distance(x.row(p.first), x.row(p.second));
    let own = |p: &Pair| -> f64 { x.row(p.first).iter().zip(x.row(p.second)).map(|(a, b)| (a - b) * (a - b)).sum() };
    let of = |similar: bool| pairs.iter().filter(move |p| p.similar == similar);
    let total: f64 = of(true).map(|p| p.strength).sum();
    let mean = of(true).map(|p| p.strength * rho(p)).sum::<f64>() / total;
    let plain = spec.euclid * of(true).map(|p| p.strength * own(p)).sum::<f64>() / total / x.cols() as f64;
    let size: f64 = metric.factor().as_slice().iter().map(|v| v * v).sum();
    let mut diameter = mean + plain * size;
    if spec.diameter == Diameter::Maximum {
        diameter = of(true).map(rho).fold(diameter, f64::max);
    }
    c * diameter + of(false).map(|p| p.strength * (2.0 - rho(p)).max(0.0)).sum::<f64>()
}

#[test]
fn the_certified_optimum_of_pairs_is_below_every_other_metric() {
    let (x, kind) = rows(40);
    let y = Labels::none(40);
    let mut given = pairs(&kind, 120);
    given[3].strength = 2.5;
    given[8].strength = 0.5;
    let data = Training::new(&x, &y).unwrap().with_pairs(&given);
    for diameter in [Diameter::Mean, Diameter::Maximum] {
        let spec = LipPairs::new().diameter(diameter).tolerance(1e-6);
        let fit = spec.fit(&data, &mut Silent).unwrap();
        let (c, bound) = (fit.outcome.c.unwrap(), fit.outcome.dual.unwrap());
        assert_eq!(fit.outcome.status, Status::Optimal, "{:?}", fit.outcome);
        let found = objective(&x, &given, &fit.metric, c, &spec);
        assert!((found - fit.outcome.objective.unwrap()).abs() < 1e-9 * found);
        assert!(bound <= found && found - bound <= 1e-6 * found);
        // No other metric comes below the bound: scaled ones, and ones that are bent a little.
        for k in 0..30 {
            let t = 0.02 * f64::from(k - 15);
            let mut factor = fit.metric.factor().clone();
            for (at, v) in factor.as_mut_slice().iter_mut().enumerate() {
                *v *= 1.0 + t * (1.0 + at as f64).sin();
            }
            let other = objective(&x, &given, &Metric::new(factor).unwrap(), c, &spec);
            assert!(other >= bound * (1.0 - 1e-12), "{diameter:?} {k}");
        }
        // The first feature tells the kinds apart.
        let diagonal = fit.metric.diagonal();
        assert!(diagonal[0] > 4.0 * diagonal[1] && diagonal[0] > 4.0 * diagonal[2], "{diagonal:?}");
    }
}

#[test]
fn a_strength_of_two_is_a_pair_given_twice_and_the_order_does_not_matter() {
    let (x, kind) = rows(30);
    let y = Labels::none(30);
    let mut once = pairs(&kind, 60);
    let mut twice = once.clone();
    for k in [0, 5, 9] {
        once[k].strength = 2.0;
        twice.push(once[k].with_strength(1.0));
    }
    twice.reverse();
    twice.iter_mut().step_by(3).for_each(|p| std::mem::swap(&mut p.first, &mut p.second));
    let fit = |pairs: &[Pair]| {
        LipPairs::new().fit(&Training::new(&x, &y).unwrap().with_pairs(pairs), &mut Silent).unwrap().outcome
    };
    let (a, b) = (fit(&once), fit(&twice));
    assert!((a.objective.unwrap() - b.objective.unwrap()).abs() < 1e-3 * a.objective.unwrap());
    assert!((a.c_max.unwrap() - b.c_max.unwrap()).abs() < 1e-9 * a.c_max.unwrap());
}

/// Algorithm 1 of Davis et al. (2007), written out for a table of rows.
fn itml_by_hand(x: &Matrix, pairs: &[Pair], bounds: [f64; 2], gamma: f64, passes: usize) -> Matrix {
    let p = x.cols();
    let mut a = Matrix::identity(p);
    let order: Vec<&Pair> = pairs.iter().filter(|q| q.similar).chain(pairs.iter().filter(|q| !q.similar)).collect();
    let mut lambda = vec![0.0f64; order.len()];
    let mut xi: Vec<f64> = order.iter().map(|q| if q.similar { bounds[0] } else { bounds[1] }).collect();
    for _ in 0..passes {
        for (k, q) in order.iter().enumerate() {
            let d: Vec<f64> = (0..p).map(|f| x[(q.first, f)] - x[(q.second, f)]).collect();
            let ad: Vec<f64> = (0..p).map(|r| (0..p).map(|s| a[(r, s)] * d[s]).sum()).collect();
            let length: f64 = (0..p).map(|f| d[f] * ad[f]).sum();
            let delta = if q.similar { 1.0 } else { -1.0 };
            let alpha = lambda[k].min(delta * gamma / (gamma + 1.0) * (1.0 / length - 1.0 / xi[k]));
            let beta = delta * alpha / (1.0 - delta * alpha * length);
            xi[k] = gamma * xi[k] / (gamma + delta * alpha * xi[k]);
            lambda[k] -= alpha;
            for r in 0..p {
                for s in 0..p {
                    a[(r, s)] += beta * ad[r] * ad[s];
                }
            }
        }
    }
    a
}

#[test]
fn itml_is_the_algorithm_of_its_paper() {
    let (x, kind) = rows(24);
    let y = Labels::none(24);
    let given = pairs(&kind, 50);
    let data = Training::new(&x, &y).unwrap().with_pairs(&given);
    let fit = Itml::new().bounds([0.4, 3.0]).gamma(0.7).max_iterations(17).tolerance(1e-12).fit(&data, &mut Silent);
    let fit = fit.unwrap();
    assert_eq!((fit.outcome.status, fit.outcome.iterations), (Status::IterationLimit, 17));
    let expected = itml_by_hand(&x, &given, [0.4, 3.0], 0.7, 17);
    let l = fit.metric.factor();
    for r in 0..3 {
        for s in 0..3 {
            let m: f64 = (0..l.rows()).map(|k| l[(k, r)] * l[(k, s)]).sum();
            assert!((m - expected[(r, s)]).abs() < 1e-10 * (1.0 + expected[(r, s)].abs()), "{r} {s}");
        }
    }
    assert_eq!(Itml::new().fit(&data, &mut Silent).unwrap().outcome.status, Status::Optimal);
}

#[test]
fn quadruplets_that_share_a_row_are_triplets() {
    let (x, kind) = rows(30);
    let y = Labels::none(30);
    let mut triplets = Vec::new();
    for i in 0..30 {
        let (j, l) = ((i * 5 + 2) % 30, (i * 11 + 3) % 30);
        if i != j && kind[i] == kind[j] && kind[i] != kind[l] {
            triplets.push([i, j, l]);
        }
    }
    assert!(triplets.len() >= 5);
    let quadruplets: Vec<[usize; 4]> = triplets.iter().map(|&[i, j, l]| [j, i, i, l]).collect();
    let data = Training::new(&x, &y).unwrap();
    let three = Lmml::new().fit(&data.with_triplets(&triplets), &mut Silent).unwrap();
    let four = Lmml::new().fit(&data.with_quadruplets(&quadruplets), &mut Silent).unwrap();
    let (a, b) = (three.outcome.objective.unwrap(), four.outcome.objective.unwrap());
    assert!((a - b).abs() < 3e-6 * a, "{a} {b}");
    assert!(four.outcome.gap.unwrap() <= 1e-6);
}

#[test]
fn what_cannot_be_learned_from_is_refused_by_name() {
    let (x, kind) = rows(12);
    let y = Labels::none(12);
    let data = Training::new(&x, &y).unwrap();
    let refused = |pairs: &[Pair]| LipPairs::new().fit(&data.with_pairs(pairs), &mut Silent).unwrap_err().to_string();
    assert!(
        refused(&[Pair::similar(0, 12), Pair::dissimilar(0, 1)]).contains("number 0 names row 12, but there are 12")
    );
    assert!(refused(&[Pair::similar(0, 1), Pair::dissimilar(3, 3)]).contains("number 1 pairs row 3 with itself"));
    assert!(refused(&[Pair::similar(0, 1)]).contains("none is dissimilar"));
    assert!(refused(&[Pair::dissimilar(0, 1)]).contains("none is similar"));
    let weak = [Pair::similar(0, 1).with_strength(0.0), Pair::dissimilar(0, 2)];
    assert!(refused(&weak).contains("strength of 0"));
    let given = pairs(&kind, 30);
    let other = Lmml::new().fit(&data.with_pairs(&given), &mut Silent).unwrap_err().to_string();
    assert!(other.contains("not from pairs") && other.contains("lip-pairs"), "{other}");
    let other = Itml::new().fit(&data.with_triplets(&[[0, 1, 2]]), &mut Silent).unwrap_err().to_string();
    assert!(other.contains("not from comparisons"), "{other}");
    assert!(LipPairs::new().diameter(Diameter::Cvar(0.1)).check().is_err());
    assert!(LipPairs::new().euclid(0.0).check().is_err());
    assert!(Itml::new().gamma(0.0).check().is_err());
    let same = Matrix::from_rows(&[[1.0], [1.0], [2.0]]);
    let y = Labels::none(3);
    let equal = [Pair::similar(0, 2), Pair::dissimilar(0, 1)];
    let error = LipPairs::new().fit(&Training::new(&same, &y).unwrap().with_pairs(&equal), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("equal rows"), "{error}");
}

#[test]
fn contradictions_count_both_ways_and_a_note_says_so() {
    let (x, kind) = rows(20);
    let y = Labels::none(20);
    let mut given = pairs(&kind, 60);
    let [i, j] = given[0].rows();
    given.push(if given[0].similar { Pair::dissimilar(i, j) } else { Pair::similar(i, j) });
    let data = Training::new(&x, &y).unwrap().with_pairs(&given);
    for spec in [Spec::from(LipPairs::new()), Itml::new().into()] {
        let outcome = spec.fit(&data, &mut Silent).unwrap().outcome;
        assert!(outcome.notes.iter().any(|n| n.contains("both similar and dissimilar")), "{:?}", outcome.notes);
    }
}

#[test]
fn fewer_similar_pairs_than_features_are_enough() {
    let mut x = Matrix::zeros(8, 6);
    for i in 0..8 {
        for k in 0..6 {
            x[(i, k)] = ((i * 5 + k * 3) % 7) as f64 + if i >= 4 { 3.0 * f64::from(u8::from(k == 0)) } else { 0.0 };
        }
    }
    let y = Labels::none(8);
    let given = [Pair::similar(0, 1), Pair::dissimilar(0, 4), Pair::dissimilar(1, 5), Pair::dissimilar(2, 6)];
    let fit = LipPairs::new().fit(&Training::new(&x, &y).unwrap().with_pairs(&given), &mut Silent).unwrap();
    assert!(fit.outcome.gap.unwrap() <= 1e-4, "{:?}", fit.outcome);
}

#[test]
fn a_model_of_pairs_tells_held_out_pairs_and_is_calibrated() {
    let (x, kind) = rows(80);
    let table = Table::from_matrix(&x);
    let data = Dataset::unlabelled(&table, &Roles::default()).unwrap();
    let given = pairs(&kind, 100);
    let spec = LipPairs::new().into();
    let recipe = Recipe::new(&spec).prepared(Default::default(), Scaling::Standard).pairing(Some(&given));
    let mut model = recipe.fit(&data, None, &mut Silent).unwrap();
    assert_eq!(model.task, Task::Pairs);
    let Classifier::Pairs(pairing) = &model.classifier else { panic!("{:?}", model.classifier) };
    assert_eq!(pairing.chosen, Calibrated::HeldOut);
    assert!(pairing.scores.unwrap().accuracy.unwrap() > 0.9, "{pairing:?}");
    let others: Vec<Pair> = (0..79)
        .map(|i| if kind[i] == kind[i + 1] { Pair::similar(i, i + 1) } else { Pair::dissimilar(i, i + 1) })
        .collect();
    let others: Vec<Pair> = others.into_iter().chain((0..78).map(|i| Pair::similar(i, i + 2))).collect();
    assert!(model.judge_pairs(&table, &others).unwrap().accuracy.unwrap() > 0.9);
    let scores = model.calibrate(&table, &others, ThresholdRule::MaxTnr(1.0)).unwrap();
    assert_eq!(scores.recall, Some(1.0));
    assert_eq!(scores.threshold, Some(model.threshold().unwrap()));
    let refused = model.predict(&table).unwrap_err().to_string();
    assert!(refused.contains("rows without labels"), "{refused}");
    assert!(model.pair_distances(&table, &[[0, 80]]).is_err());
    assert_eq!(model.neighbours(&table, 1).unwrap().indices(5), [5]);
    // Distances are those of the map.
    let z = model.transform(&table).unwrap();
    let far: f64 = z.row(0).iter().zip(z.row(3)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    assert!((model.pair_distances(&table, &[[0, 3]]).unwrap()[0] - far).abs() < 1e-12);
}

#[test]
fn too_few_pairs_to_hold_some_out_are_said_and_rows_without_any_are_refused() {
    let (x, _) = rows(10);
    let table = Table::new(
        "rows",
        (0..3).map(|k| Column::numbers(format!("x{k}"), (0..10).map(|i| x[(i, k)]).collect())).collect(),
    );
    let data = Dataset::unlabelled(&table, &Roles::default()).unwrap();
    let spec = LipPairs::new().into();
    let few = [Pair::similar(0, 2), Pair::dissimilar(0, 1), Pair::dissimilar(2, 3)];
    let model = Recipe::new(&spec).pairing(Some(&few)).fit(&data, None, &mut Silent).unwrap();
    assert!(model.outcome.notes.iter().any(|n| n.contains("on the training pairs")), "{:?}", model.outcome.notes);
    let error = Recipe::new(&spec).fit(&data, None, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("no labels"), "{error}");
    // With labels the pairs are drawn from them, and the model predicts classes.
    let y = Labels::from_names((0..10).map(|i| if i % 2 == 0 { "a" } else { "b" }));
    let fit = spec.fit(&Training::new(&x, &y).unwrap(), &mut Silent).unwrap();
    assert!(fit.outcome.gap.unwrap() <= 1e-4);
}
