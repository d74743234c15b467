use std::ops::Range;

/// How well each of several candidates did on each row, and the rule by which one of them is chosen.
#[derive(Clone)]
pub(super) struct Standing<'a> {
    /// `good[candidate][row]`: the more the better.
    pub(super) good: &'a [Vec<f64>],
    /// The fold that each row was in at first.
    pub(super) fold: &'a [usize],
    /// The folds that are left out in turn.
    pub(super) folds: Range<usize>,
}

/// What was chosen, and against what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub(super) pick: usize,
    pub(super) reference: usize,
    /// Of the difference between the best and the reference.
    pub(super) standard_error: f64,
}

impl Standing<'_> {
    pub(super) fn mean(&self, pick: usize, weight: &[f64]) -> f64 {
        let total: f64 = weight.iter().sum();
        if total <= 0.0 {
            return 0.0;
        }
        self.good[pick].iter().zip(weight).map(|(r, w)| r * w).sum::<f64>() / total
    }

    /// The best of these; of equally good ones the first.
    pub(super) fn best(&self, among: impl IntoIterator<Item = usize>, weight: &[f64]) -> usize {
        let mut best: Option<(usize, f64)> = None;
        for candidate in among {
            let mean = self.mean(candidate, weight);
            // Sums in another order must not decide.
            if best.is_none_or(|(_, top)| mean > top + 1e-12) {
                best = Some((candidate, mean));
            }
        }
        best.map_or(0, |(candidate, _)| candidate)
    }

    /// The mean difference between two and its standard error, row by row.
    pub(super) fn difference(&self, a: usize, b: usize, weight: &[f64]) -> (f64, f64) {
        let mean = self.mean(a, weight) - self.mean(b, weight);
        let (mut squares, mut total, mut used) = (0.0, 0.0, 0.0);
        for ((x, y), w) in self.good[a].iter().zip(&self.good[b]).zip(weight).filter(|(_, w)| **w > 0.0) {
            squares += (w * (x - y - mean)).powi(2);
            total += w;
            used += 1.0;
        }
        if used < 2.0 {
            return (mean, 1.0);
        }
        (mean, (squares * used / (used - 1.0)).sqrt() / total)
    }

    /// The weights of each fold's rows, and those of the others.
    pub(super) fn left_out(&self, weight: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let only = |fold: usize, inside: bool| -> Vec<f64> {
            let part = weight.iter().zip(self.fold);
            part.map(|(&w, &f)| if (f == fold) == inside { w } else { 0.0 }).collect()
        };
        self.folds.clone().map(|fold| (only(fold, true), only(fold, false))).collect()
    }

    /// The best of these, if it is better than the best of the usual ones by more than one standard error, and if what is best on
    /// all folds but one is no worse than the usual on that one, over all of them. Else the best of the usual.
    pub(super) fn verdict(&self, among: &[usize], usual: &[usize], weight: &[f64]) -> Verdict {
        let all = || among.iter().copied();
        let (best, reference) = (self.best(all(), weight), self.best(usual.iter().copied(), weight));
        let (gain, standard_error) = self.difference(best, reference, weight);
        let kept = Verdict { pick: reference, reference, standard_error };
        if gain <= standard_error {
            return kept;
        }
        let mut gain = 0.0;
        for (inside, outside) in self.left_out(weight) {
            let mass: f64 = inside.iter().sum();
            let (best, usual) = (self.best(all(), &outside), self.best(usual.iter().copied(), &outside));
            gain += mass * (self.mean(best, &inside) - self.mean(usual, &inside));
        }
        if gain > 0.0 { Verdict { pick: best, ..kept } } else { kept }
    }

    /// What a rule is worth that chooses by weights: each fold by what the others would have chosen. Nothing where fewer than two
    /// folds were held out.
    pub(super) fn nested(&self, weight: &[f64], rule: impl Fn(&[f64]) -> usize) -> Option<f64> {
        let (mut right, mut total) = (0.0, 0.0);
        for (inside, outside) in self.left_out(weight) {
            let mass: f64 = inside.iter().sum();
            if mass > 0.0 && outside.iter().sum::<f64>() > 0.0 {
                right += mass * self.mean(rule(&outside), &inside);
                total += mass;
            }
        }
        (total > 0.0).then(|| right / total)
    }
}
