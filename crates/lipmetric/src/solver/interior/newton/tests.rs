//! A direction against the equations that it solves, one by one.

#![allow(clippy::unwrap_used)]

use super::{Scaling, System};
use crate::Matrix;
use crate::linalg;
use crate::pairs::tests::{assert_near, clouds};
use crate::problem::{Diameter, Slack, Variant};
use crate::solver::interior::engine::Engine;
use crate::solver::interior::tests::{plain_inner, plain_row, settings};

#[test]
fn a_direction_solves_the_newton_equations() {
    for cloud in [&clouds()[1], &clouds()[3]] {
        for (slack, diameter) in [
            (Slack::Pair, Diameter::Maximum),
            (Slack::Instance, Diameter::Maximum),
            (Slack::Pair, Diameter::Cvar(0.2)),
            (Slack::Instance, Diameter::Mean),
        ] {
            let problem = settings(Variant::Diameter, slack, diameter);
            let engine = Engine::begin(cloud, problem, Matrix::identity(cloud.x.cols())).unwrap();
            let (state, rows) = (&engine.state, &engine.state.rows);
            let scaling = Scaling::new(&state.m, &state.z).unwrap();
            for careful in [false, true] {
                let system = System::new(cloud, state, &engine.shape, &scaling, careful).unwrap();
                let mu = 0.3 * state.mu();
                let d = system.direction(mu, None);
                // Back to the coordinates of `M` and `Z`: `dM = G D G^T`, and the sum of products by rows below.
                let dm = linalg::congruence_transposed(&d.m, &scaling.g);
                let mut change = Matrix::zeros(dm.rows(), dm.cols());
                for k in 0..rows.len() {
                    let a = plain_row(cloud, rows, k);
                    let slacks = match rows.pair(k) {
                        Some((i, j)) if slack == Slack::Instance && rows.push[k] => {
                            d.slack[state.place[i] as usize] + d.slack[state.place[j] as usize]
                        }
                        _ => 0.0,
                    };
                    let dz = rows.sign(k) * plain_inner(&a, &dm) + rows.b[k] * d.scalar + slacks;
                    let size = 1.0 + dz.abs() + rows.s[k] + rows.xi[k];
                    assert!((d.s[k] - d.xi[k] - dz).abs() < 1e-7 * size, "row {k}: {} {dz}", d.s[k] - d.xi[k]);
                    let product = rows.lambda[k] * d.s[k] + rows.s[k] * d.lambda[k];
                    assert!((product - mu + rows.lambda[k] * rows.s[k]).abs() < 1e-7 * size, "row {k}");
                    if rows.cap[k].is_finite() {
                        let left = rows.cap[k] - rows.lambda[k];
                        let product = left * d.xi[k] - rows.xi[k] * d.lambda[k];
                        assert!((product - mu + left * rows.xi[k]).abs() < 1e-7 * size, "row {k}");
                    }
                    linalg::add_scaled(&mut change, -rows.sign(k) * d.lambda[k], &a);
                }
                // The first point is dual feasible: `dZ` is what the multipliers make of it.
                assert_near(&d.z, &linalg::congruence(&change, &scaling.g), 1e-7);
                // Both sides meet on the central path: `V D_z + D_m V` and its transpose.
                for r in 0..d.m.rows() {
                    for c in 0..d.m.rows() {
                        let both = 0.5 * (scaling.v[r] + scaling.v[c]) * (d.m[(r, c)] + d.z[(r, c)]);
                        let wanted = if r == c { mu - scaling.v[r] * scaling.v[r] } else { 0.0 };
                        assert!((both - wanted).abs() < 1e-8 * (1.0 + wanted.abs()), "{both} {wanted}");
                    }
                }
                for k in 0..state.slack.len() {
                    let product = state.slack[k] * d.reduced[k] + state.reduced[k] * d.slack[k];
                    assert!((product - mu + state.slack[k] * state.reduced[k]).abs() < 1e-7);
                }
                if engine.shape.scalar {
                    let total = linalg::dot(&d.lambda, &rows.b) + linalg::dot(&rows.lambda, &rows.b);
                    assert!((total - engine.shape.cost).abs() < 1e-7, "{total}");
                }
            }
        }
    }
}
