use super::*;
use crate::method::{Lip, Method, Training};
use crate::problem::Slack;
use crate::solver::Silent;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A share in this process, asked as one in another would be; it fails where it is told to.
#[derive(Debug)]
struct Neighbour {
    share: Share,
    least: usize,
    passes: AtomicUsize,
    /// Parts after which each pass fails.
    fails_after: usize,
}

impl Helpers for Neighbour {
    fn worthwhile(&self, points: usize) -> bool {
        points >= self.least
    }

    fn run(&self, errand: &Errand<'_>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.passes.fetch_add(1, Ordering::SeqCst);
        for part in 0..errand.costs.len().min(self.fails_after) {
            let asked = |lineage| {
                let letter = (errand.maps, errand.question);
                self.share.answer(errand.name, (errand.cloud, lineage), letter, &[part])
            };
            // A cloud that is not known there yet is asked for.
            let answer = match asked(None)? {
                Some(answer) => answer,
                None => asked(Some(errand.lineage))?.unwrap_or_default(),
            };
            take(&answer[0])?;
        }
        if errand.costs.len() > self.fails_after { Err(Error::data("it went away")) } else { Ok(()) }
    }
}

fn rows(n: usize, p: usize) -> (Matrix, Labels) {
    let value = |k: usize| ((k * 7919 % 10_007) as f64 / 10_007.0 - 0.5) * (1.0 + (k % p) as f64);
    let mut x = Matrix::from_vec(n, p, (0..n * p).map(value).collect()).unwrap();
    (0..n).for_each(|i| x[(i, 0)] += 0.4 * (i % 3) as f64);
    (x, Labels::from_names((0..n).map(|i| ["a", "b", "c"][i % 3])))
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_fit_with_helpers_is_the_same_to_the_last_bit_and_one_that_they_leave_too() {
    /// A trade-off at which something is learned with either slack; a part of `c_max` would cost hundreds of passes.
    const C: f64 = 20.0;
    let (x, y) = rows(2_000, 4);
    let training = Training::new(&x, &y).unwrap();
    let weights: Vec<f64> = (0..x.rows()).map(|i| 1.0 + (i % 2) as f64).collect();
    for (slack, weighted) in [(Slack::Pair, false), (Slack::Pair, true), (Slack::Instance, false)] {
        let lip = Lip::intra().c(C).slack(slack).solver(crate::method::Solver::Augmented);
        let lip = lip.tolerance(0.05).max_iterations(40);
        let training = if weighted { training.with_weights(&weights).unwrap() } else { training };
        let alone = lip.fit(&training, &mut Silent).unwrap();
        for fails_after in [usize::MAX, 2] {
            let share = Share::new(x.clone(), y.clone()).unwrap();
            let neighbour = Arc::new(Neighbour { share, least: 1_000, passes: AtomicUsize::new(0), fails_after });
            let helpers: Arc<dyn Helpers> = Arc::clone(&neighbour) as _;
            let helped = Training { helpers: Some(&helpers), ..training };
            let fit = lip.fit(&helped, &mut Silent).unwrap();
            assert!(neighbour.passes.load(Ordering::SeqCst) > 3, "helpers were asked");
            assert_eq!(bits(fit.metric.factor().as_slice()), bits(alone.metric.factor().as_slice()));
            assert_eq!(fit.outcome.objective.map(f64::to_bits), alone.outcome.objective.map(f64::to_bits));
            assert_eq!(fit.outcome.gap.map(f64::to_bits), alone.outcome.gap.map(f64::to_bits));
        }
    }
}

#[test]
fn what_is_not_known_is_said() {
    let (x, y) = rows(40, 3);
    assert!(Share::new(x.clone(), Labels::from_names(["a"])).is_err());
    let share = Share::new(x, y).unwrap();
    assert!(share.answer("objective", (7, None), (&[0], &[0]), &[0]).unwrap().is_none());
    let told = share.answer("objective", (7, Some(&[9, 9, 9])), (&[0], &[0]), &[0]).unwrap_err().to_string();
    assert!(told.contains("not described"), "{told}");
    let cloud = Cloud::new(&share.x, share.y.codes(), &[1.0; 40]);
    assert!(cloud.source.is_none());
}
