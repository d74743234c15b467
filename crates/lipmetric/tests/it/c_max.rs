//! What the solvers for large problems know of `c_max`, against the exact solver.

use crate::lip_common::blobs;
use lipmetric::method::{Lip, Method, Solver, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::Silent;

/// The bounds of `c_max` as a fit tells them: without a note they are at most 2 % apart.
fn bounds(lip: &Lip, data: &Training<'_>) -> (f64, f64) {
    // Only what is known of `c_max` matters: a fit to a wide gap.
    let outcome =
        lip.clone().solver(Solver::Augmented).c_rel(0.5).tolerance(0.5).fit(data, &mut Silent).unwrap().outcome;
    let below = outcome.c_max.unwrap();
    let note = outcome.notes.iter().find(|n| n.contains("only known to lie"));
    let above = note.map(|n| n.split(" and ").nth(1).unwrap().split(';').next().unwrap().parse().unwrap());
    (below, above.unwrap_or(1.02 * below))
}

#[test]
fn the_bounds_contain_the_exact_one() {
    for (rows, features, classes, seed) in [(60, 3, 2, 1), (61, 5, 3, 2), (50, 8, 2, 3), (44, 2, 4, 4), (70, 12, 2, 5)]
    {
        let (x, y) = blobs(rows, features, classes, seed);
        let plain = Training::new(&x, &y).unwrap();
        // Weights that leave one class more than half of all, so that not every row's weight is used up.
        let weights: Vec<f64> = y.codes().iter().map(|&code| if code == 0 { 5.0 } else { 1.0 }).collect();
        for data in [plain, plain.with_weights(&weights).unwrap()] {
            for slack in [Slack::Pair, Slack::Instance] {
                for variant in [Variant::Diameter, Variant::Intra] {
                    let lip = Lip::new().variant(variant).slack(slack);
                    let exact = lip.c_max(&data, &mut Silent).unwrap();
                    let (below, above) = bounds(&lip, &data);
                    let what = format!("{rows} x {features} {slack:?} {variant:?}: {below} {exact} {above}");
                    assert!(below <= exact * (1.0 + 2e-4) && exact <= above * (1.0 + 1e-9), "{what}");
                    assert!(above <= 1.021 * below, "{what}");
                }
            }
        }
    }
}

#[test]
fn they_are_near_with_more_features_than_the_exact_solver_is_taken_for() {
    let (x, y) = blobs(90, 40, 2, 7);
    assert!(x.cols() > Solver::EXACT_FEATURES);
    let data = Training::new(&x, &y).unwrap();
    for slack in [Slack::Pair, Slack::Instance] {
        let lip = Lip::intra().slack(slack);
        let exact = lip.c_max(&data, &mut Silent).unwrap();
        let (below, above) = bounds(&lip, &data);
        assert!(below <= exact * (1.0 + 2e-4) && exact <= above * (1.0 + 1e-9), "{slack:?}: {below} {exact} {above}");
        assert!(above <= 1.021 * below, "{slack:?}: {below} {above}");
    }
}
