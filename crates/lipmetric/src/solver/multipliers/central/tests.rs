use super::*;
use crate::problem::{Slack, Variant};
use crate::solver::Stop;

fn cloud(n: usize, p: usize) -> Cloud {
    let value = |k: usize| (k * 7919 % 10_007) as f64 / 10_007.0 + (k / p % 3) as f64 * 0.3 * (k % p) as f64;
    let x = Matrix::from_vec(n, p, (0..n * p).map(value).collect()).unwrap();
    let class: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
    Cloud::new(&x, &class, &vec![1.0; n])
}

fn settings(c: f64) -> Settings {
    Settings { variant: Variant::Intra, slack: Slack::Pair, c, rank: None, stop: Stop::new(1e-3, 100) }
}

#[test]
fn multipliers_of_a_softened_maximum_add_up_to_the_trade_off() {
    for (lengths, c, mu) in
        [(vec![1.0, 0.99, 0.2, 0.0], 5.0, 1e-3), (vec![3.0; 40], 1e-3, 2.0), (vec![1e6, 0.0], 1.0, 1e-2)]
    {
        let t = softened(&lengths, c, mu);
        let sum: f64 = lengths.iter().map(|r| mu / (t - r)).sum();
        assert!((sum / c - 1.0).abs() < 1e-6, "{lengths:?}: {sum} instead of {c}");
        assert!(lengths.iter().all(|r| *r < t));
    }
    // Too small to be seen beside the length.
    assert!(softened(&[1e6, 0.0], 1e8, 1e-6) > 1e6);
}

#[test]
fn a_step_descends_as_its_slope_promises_and_keeps_the_sum_of_the_multipliers() {
    let cloud = cloud(150, 3);
    let mut central = Central::begin(&cloud, settings(200.0), None).unwrap();
    central.enter(None);
    let mut at = central.set_out().unwrap();
    central.adopt(&mut at);
    for _ in 0..6 {
        let system = System::of(&mut central, &at).unwrap();
        let mu = 0.3 * system.products(&central.eta, &at.slack) / central.rows();
        let step = system.step(&central, &at, mu).unwrap();
        let after = |t: f64| {
            let (root, grown) = step.moved(t);
            let next = central.look(root, at.log_det + grown, at.t + t * step.t);
            central.value(&next, mu, true)
        };
        let small = 1e-5 * step.reach.0;
        let slope = (after(small) - after(-small)) / (2.0 * small);
        assert!((slope + step.decrement).abs() < 1e-3 * step.decrement, "{slope} instead of {}", -step.decrement);
        assert!(step.decrement > 0.0);
        let (root, grown) = step.moved(step.reach.0);
        let next = central.look(root, at.log_det + grown, at.t + step.reach.0 * step.t);
        assert!(next.slack.iter().all(|s| *s > 0.0));
        step.follow(&mut central.eta, &mut central.dual, step.reach.0);
        let total: f64 = central.eta.iter().sum();
        assert!((total / 200.0 - 1.0).abs() < 1e-9 && central.eta.iter().all(|eta| *eta > 0.0), "{total}");
        // `log det M` grows by what it says.
        let m = |root: &Matrix| linalg::symmetric_eigen(&linalg::product_transposed(root, root)).unwrap().values;
        let logs = |root: &Matrix| m(root).iter().map(|v| v.ln()).sum::<f64>();
        assert!((logs(&next.root) - logs(&at.root) - grown).abs() < 1e-6);
        at = next;
        central.root = at.root.clone();
        central.adopt(&mut at);
    }
}

#[test]
fn rows_of_long_pairs_come_and_go_with_multipliers_that_add_up() {
    let cloud = cloud(150, 3);
    let mut central = Central::begin(&cloud, settings(200.0), None).unwrap();
    central.enter(None);
    let mut at = central.set_out().unwrap();
    central.adopt(&mut at);
    let kept = central.model.pull.clone();
    // All but one row is forgotten: those that are needed come back.
    central.model.pull.truncate(1);
    let last = central.eta[kept.len()];
    central.eta.truncate(1);
    central.eta.push(last);
    central.mu *= 100.0;
    central.adopt(&mut at);
    assert!(central.model.pull.len() > 1 && central.eta.len() == central.model.pulls());
    assert!((central.eta.iter().sum::<f64>() / 200.0 - 1.0).abs() < 1e-12);
    let lengths = central.lengths(&at.root);
    assert!(at.slack.iter().zip(&lengths).all(|(s, r)| *s > 0.0 && (at.t - r - s).abs() < 1e-12));
}
