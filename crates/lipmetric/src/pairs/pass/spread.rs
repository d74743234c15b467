use crate::Matrix;
use crate::pairs::{Cloud, Embedding, Pass, Run, Threads, scan};

/// Pairs that a rule takes, by their length and whether their labels are equal.
pub(super) struct Spread<'a, F> {
    pub(super) cloud: &'a Cloud,
    pub(super) take: F,
}

impl<F: Fn(f64, bool) -> bool + Sync> Pass for Spread<'_, F> {
    /// Their number, by weight.
    type Part = f64;

    fn weighted(&self) -> bool {
        true
    }

    fn visit(&self, part: &mut f64, run: Run<'_>) {
        let own = self.cloud.weight[run.i];
        let others = &self.cloud.weight[run.j0..];
        for ((&r, w), other) in run.rho.iter().zip(run.weight).zip(others) {
            if (self.take)(r, run.same) {
                *w = own * other;
                *part += *w;
            }
        }
    }

    fn merge(&self, into: &mut f64, next: f64) {
        *into += next;
    }
}

/// `sum of w_i w_j (x_i - x_j)(x_i - x_j)^T` and the number (by weight) over the pairs for which `take` holds, of their
/// length and of whether their labels are equal.
pub(crate) fn spread(cloud: &Cloud, embedding: &Embedding, take: impl Fn(f64, bool) -> bool + Sync) -> (Matrix, f64) {
    let (count, sum) = scan(cloud, &[embedding], &Spread { cloud, take }, &Threads);
    (sum.unwrap_or_default(), count)
}
