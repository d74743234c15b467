//! From values to places in a picture.

use crate::number::{power, short};

/// Values from one end to the other, drawn between two places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) from: f64,
    pub(crate) to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// Equal steps for equal differences. Ends that are the same are drawn apart.
    pub(crate) fn linear((from, to): (f64, f64), (start, end): (f64, f64)) -> Self {
        let (from, to) = if to > from { (from, to) } else { (from - 0.5, from + 0.5) };
        Self { from, to, start, end, log: false }
    }

    /// Equal steps for equal ratios of positive values.
    pub(crate) fn log((from, to): (f64, f64), (start, end): (f64, f64)) -> Self {
        let (from, to) = if to > from { (from, to) } else { (from / 3.0, from * 3.0) };
        Self { from, to, start, end, log: true }
    }

    /// The same with ends on round values.
    pub(crate) fn rounded(self) -> Self {
        if self.log {
            let (from, to) = (self.from.log10().floor(), self.to.log10().ceil());
            return Self { from: 10_f64.powf(from), to: 10_f64.powf(to), ..self };
        }
        let step = step(self.to - self.from, 5.0);
        Self { from: (self.from / step).floor() * step, to: (self.to / step).ceil() * step, ..self }
    }

    /// Where a value is drawn.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(f64::MIN_POSITIVE).ln() - self.from.ln()) / (self.to.ln() - self.from.ln())
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + part * (self.end - self.start)
    }

    /// Round values within the ends, about so many, and how they are written.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        if self.log { self.log_ticks(about) } else { self.linear_ticks(about) }
    }

    fn linear_ticks(&self, about: usize) -> Vec<(f64, String)> {
        let step = step(self.to - self.from, about.max(1) as f64);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        // A range that is tiny beside its values has no round values of its own.
        let value = |k: i64| if k == 0 { 0.0 } else { k as f64 * step };
        (first..=last.min(first + 50)).map(|k| (value(k), short(value(k)))).collect()
    }

    fn log_ticks(&self, about: usize) -> Vec<(f64, String)> {
        let (low, high) = ((self.from.log10() - 1e-9).ceil() as i32, (self.to.log10() + 1e-9).floor() as i32);
        if high - low < 1 {
            let parts = [1.0, 2.0, 5.0];
            let all = (low - 1..=high + 1).flat_map(|e| parts.map(|m| m * 10_f64.powi(e)));
            return all.filter(|v| *v >= self.from * 0.999 && *v <= self.to * 1.001).map(|v| (v, short(v))).collect();
        }
        let every = ((high - low) as usize).div_ceil(about.max(1)).max(1);
        let small = low >= -3 && high <= 4;
        (low..=high)
            .step_by(every)
            .map(|e| (10_f64.powi(e), if small { short(10_f64.powi(e)) } else { power(e) }))
            .collect()
    }
}

/// A round step of which about so many make the range.
fn step(range: f64, about: f64) -> f64 {
    let raw = (range / about).max(f64::MIN_POSITIVE);
    let size = 10_f64.powf(raw.log10().floor());
    let part = raw / size;
    let round = [1.0, 2.0, 5.0].into_iter().find(|r| part <= r * 1.0001).unwrap_or(10.0);
    round * size
}

/// The least and the largest of the finite values; 0 to 1 of none.
pub(crate) fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_ends() {
        let scale = Scale::linear((0.03, 0.97), (0.0, 100.0));
        let shown: Vec<String> = scale.ticks(5).into_iter().map(|(_, s)| s).collect();
        assert_eq!(shown, ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(scale.rounded().from, 0.0);
        let log = Scale::log((1e-8, 1.0), (0.0, 100.0));
        let shown: Vec<String> = log.ticks(4).into_iter().map(|(_, s)| s).collect();
        assert_eq!(shown, ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]);
        assert!((log.at(1e-4) - 50.0).abs() < 1e-9);
        assert_eq!(Scale::linear((2.0, 2.0), (0.0, 10.0)).at(2.0), 5.0);
        assert_eq!(extent([f64::NAN]), (0.0, 1.0));
    }
}
