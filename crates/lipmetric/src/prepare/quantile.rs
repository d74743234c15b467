use serde::{Deserialize, Serialize};

/// A rising function of one feature, linear between its knots and constant beyond them: it gives each value the normal quantile of
/// its rank among the training values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Knots(Vec<[f64; 2]>);

/// Knots, at most: what is between two of them is less than a hundredth of the rows.
const MOST: usize = 200;

impl Knots {
    /// The knots of sorted values, at least one. Equal values share their mean rank.
    pub(super) fn of(sorted: &[f64]) -> Self {
        let n = sorted.len() as f64;
        let mut all = Vec::new();
        let mut below = 0;
        for run in sorted.chunk_by(|a, b| a == b) {
            all.push((run[0], (below as f64 + 0.5 * run.len() as f64) / n));
            below += run.len();
        }
        // Evenly by rank, the ends always.
        let mut out: Vec<[f64; 2]> = Vec::new();
        let mut next = 0.0;
        for (at, &(value, share)) in all.iter().enumerate() {
            if all.len() <= MOST || share >= next || at + 1 == all.len() {
                out.push([value, normal_quantile(share)]);
                next = share + 1.0 / (MOST - 1) as f64;
            }
        }
        Self(out)
    }

    /// The value of each knot and what it becomes.
    #[must_use]
    pub fn pairs(&self) -> &[[f64; 2]] {
        &self.0
    }

    /// Whether values and what they become both rise.
    pub(super) fn is_rising(&self) -> bool {
        let finite = self.0.iter().flatten().all(|v| v.is_finite());
        finite && !self.0.is_empty() && self.0.windows(2).all(|k| k[0][0] < k[1][0] && k[0][1] < k[1][1])
    }

    /// What a value becomes.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        self.between(value, 0)
    }

    /// A value that becomes this.
    pub(super) fn back(&self, prepared: f64) -> f64 {
        self.between(prepared, 1)
    }

    fn between(&self, value: f64, from: usize) -> f64 {
        let (knots, to) = (&self.0, 1 - from);
        let after = knots.partition_point(|k| k[from] < value);
        match (knots.get(after.wrapping_sub(1)), knots.get(after)) {
            (Some(a), Some(b)) => {
                let part = (value / 2.0 - a[from] / 2.0) / (b[from] / 2.0 - a[from] / 2.0);
                a[to] * (1.0 - part) + b[to] * part
            }
            (Some(end), None) | (None, Some(end)) => end[to],
            (None, None) => 0.0,
        }
    }

    /// How far a value moves at least while what it becomes moves by 1; nothing where that never moves.
    pub(super) fn least_unit(&self) -> Option<f64> {
        let slope = |k: &[[f64; 2]]| ((k[1][0] - k[0][0]) / (k[1][1] - k[0][1])).clamp(f64::MIN_POSITIVE, f64::MAX);
        self.0.windows(2).map(slope).reduce(f64::min)
    }
}

/// The number below which a standard normal variable is with this probability.
fn normal_quantile(p: f64) -> f64 {
    if p >= 0.5 {
        // Exactly zero in the middle.
        return if p > 0.5 { -normal_quantile(1.0 - p) } else { 0.0 };
    }
    // Abramowitz and Stegun 26.2.23, off by less than 4.5e-4; each of Halley's steps leaves about the third power of that.
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let mut z = above / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308))) - t;
    for _ in 0..2 {
        let off = (normal(z) - p) * (0.5 * z * z).exp() * std::f64::consts::TAU.sqrt();
        z -= off / (1.0 + 0.5 * z * off);
    }
    z
}

/// The probability that a standard normal variable is below `z`: `1/2 + phi(z) (z + z^3/3 + z^5/(3 5) + ...)`.
fn normal(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.01, -2.326_347_874_040_841), (1e-6, -4.753_424)] {
            assert!((normal_quantile(p) - z).abs() < 1e-6, "{p}");
        }
        for k in 1..2000 {
            let p = f64::from(k) / 2000.0;
            assert!((normal(normal_quantile(p)) - p).abs() < 1e-14, "{p}");
        }
    }

    #[test]
    fn ranks_become_normal_quantiles_and_come_back() {
        let values: Vec<f64> = (0..1000).map(|k| f64::from(k).powi(3)).collect();
        let knots = Knots::of(&values);
        assert!(knots.is_rising() && knots.pairs().len() <= 2 * MOST, "{}", knots.pairs().len());
        for (k, &v) in values.iter().enumerate().step_by(7) {
            let rank = normal(knots.at(v));
            assert!((rank - (k as f64 + 0.5) / 1000.0).abs() < 6e-3, "{k}: {rank}");
        }
        let few = Knots::of(&[1.0, 1.0, 2.0, 5.0]);
        assert_eq!(few.pairs().len(), 3);
        assert!((few.at(1.0) + 0.674_489_75).abs() < 1e-6);
        assert_eq!(few.at(-7.0), few.at(1.0));
        assert_eq!(few.at(9.0), few.at(5.0));
        for v in [1.0, 1.3, 2.0, 4.4, 5.0] {
            assert!((few.back(few.at(v)) - v).abs() < 1e-12, "{v}");
        }
        assert_eq!(Knots::of(&[3.0, 3.0]).pairs(), [[3.0, 0.0]]);
        assert!(!Knots(vec![[1.0, 0.0], [1.0, 1.0]]).is_rising() && !Knots(Vec::new()).is_rising());
    }

    #[test]
    fn no_part_of_the_function_is_steeper_than_the_least_unit_says() {
        let knots = Knots::of(&[0.0, 0.1, 3.0, 3.2, 9.0]);
        let unit = knots.least_unit().unwrap();
        let steps = (0..900).map(|k| (knots.at(0.01 * f64::from(k + 1)) - knots.at(0.01 * f64::from(k))) / 0.01);
        let steepest = steps.fold(0.0, f64::max);
        assert!(steepest <= 1.0 / unit + 1e-9 && steepest > 0.99 / unit);
        assert_eq!(Knots::of(&[2.0]).least_unit(), None);
    }
}
