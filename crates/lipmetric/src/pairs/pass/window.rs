use crate::Matrix;
use crate::pairs::{Cloud, Embedding, Kind, Pass, Question, Run, Threads, ask, scan};
use serde::{Deserialize, Serialize};

/// Bins of distances from the kink: four per octave from `2^-30` on, told by the leading bits of the number.
const BIN_BITS: u32 = 50;
const FIRST_BIN: u64 = (1023 - 30) << 2;
const BINS: usize = 160;
/// Points of the sample from which windows are guessed.
const SAMPLE: usize = 700;
/// A guessed window reaches at least this far to either side of the kink.
const LEAST: f64 = 1e-3;

/// Different-label pairs by their distance from the kink: first those below it, then those above.
pub(crate) struct Bins<'a> {
    pub(super) cloud: &'a Cloud,
}

impl Pass for Bins<'_> {
    type Part = Vec<u64>;

    fn wanted(&self, kind: Kind) -> bool {
        kind != Kind::Same
    }

    fn begin(&self, _row: usize) -> Vec<u64> {
        vec![0; 2 * BINS]
    }

    fn visit(&self, counts: &mut Vec<u64>, run: Run<'_>) {
        if run.same || self.cloud.weight[run.i] == 0.0 {
            return;
        }
        let bin = |t: f64| ((t.to_bits() >> BIN_BITS).saturating_sub(FIRST_BIN) as usize).min(BINS - 1);
        for (&r, &w) in run.rho.iter().zip(&self.cloud.weight[run.j0..]) {
            let side = if r < 2.0 { 0 } else { BINS };
            counts[side + bin((r - 2.0).abs())] += u64::from(w > 0.0);
        }
    }

    fn merge(&self, into: &mut Vec<u64>, next: Vec<u64>) {
        into.resize(2 * BINS, 0);
        into.iter_mut().zip(next).for_each(|(c, v)| *c += v);
    }
}

/// What [`window`] asks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Around;

impl Question for Around {
    const NAME: &'static str = "window";
    type Part = Vec<u64>;
    type Pass<'a> = Bins<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, _: &[&'a Embedding]) -> Bins<'a> {
        Bins { cloud }
    }
}

/// The window around the kink that holds about `target` different-label pairs on either side.
pub(crate) fn window(cloud: &Cloud, now: &Embedding, target: usize) -> (f64, f64) {
    let (counts, _) = ask(cloud, &[now], &Around);
    let target = target as u64;
    let edge = |side: &[u64]| {
        let mut seen = 0;
        for (k, &c) in side.iter().enumerate() {
            seen += c;
            if seen > target {
                // The bin that goes over the target belongs to the window unless it holds far too many.
                let inside = if seen > 4 * target { k } else { k + 1 };
                return f64::from_bits((inside as u64 + FIRST_BIN) << BIN_BITS);
            }
        }
        f64::INFINITY
    };
    (2.0 - edge(&counts[..BINS]), 2.0 + edge(&counts[BINS..]))
}

/// The lengths of the different-label pairs.
pub(super) struct Lengths;

impl Pass for Lengths {
    type Part = Vec<f64>;

    fn wanted(&self, kind: Kind) -> bool {
        kind != Kind::Same
    }

    fn visit(&self, part: &mut Vec<f64>, run: Run<'_>) {
        if !run.same {
            part.extend_from_slice(run.rho);
        }
    }

    fn merge(&self, into: &mut Vec<f64>, mut next: Vec<f64>) {
        into.append(&mut next);
    }
}

/// The same, guessed from a sample; everything where there are not many more.
pub(crate) fn window_of_sample(cloud: &Cloud, factor: &Matrix, target: usize) -> (f64, f64) {
    let pairs = cloud.len() as f64 * cloud.len() as f64 / 2.0;
    if pairs <= 2.0 * target as f64 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let part = if cloud.len() > SAMPLE { cloud.thinned(SAMPLE) } else { cloud.clone() };
    let embedding = Embedding::new(&part, factor);
    let (mut lengths, _) = scan(&part, &[&embedding], &Lengths, &Threads);
    lengths.sort_unstable_by(f64::total_cmp);
    let share = (part.len() as f64 / cloud.len() as f64).powi(2);
    let count = (target as f64 * share).ceil() as usize;
    let kink = lengths.partition_point(|&r| r < 2.0);
    let low = if kink > count { lengths[kink - count] } else { f64::NEG_INFINITY };
    let high = lengths.get(kink + count).copied().unwrap_or(f64::INFINITY);
    (low.min(2.0 - LEAST), high.max(2.0 + LEAST))
}
