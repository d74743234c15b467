//! The objective of a metric, from its definition.

use super::number::{Dyadic, Quotient, Towards};
use super::points::Level;
use super::{Exact, tell};
use crate::problem::{Diameter, Slack};
use rayon::prelude::*;

/// The objective, and what it took.
pub(super) struct Found {
    pub(super) value: Quotient,
    /// What was added to a slack, at most.
    pub(super) raised: f64,
}

/// What the pairs of a row with later rows add up to.
struct RowSums {
    /// The longest of those that bound the diameter, and `sum of w rho` over them.
    longest: Dyadic,
    sum: Dyadic,
    /// Their lengths with their weights, where the longest are wanted.
    lengths: Vec<(Dyadic, Dyadic)>,
    /// `sum of w max(0, 2 - rho)` over the pairs of different label.
    hinge: Dyadic,
    /// What is missing to the margin beside the slacks: the other row, and how much.
    missing: Vec<(usize, Dyadic)>,
}

impl Exact<'_> {
    /// The objective of the metric that sees the rows so.
    pub(super) fn objective(&self, view: &Level, reasons: &mut Vec<String>) -> Found {
        let slack = self.slacks(reasons);
        let order: Vec<usize> = (0..self.used.len()).collect();
        let rows: Vec<RowSums> = order.par_iter().map(|&k| self.row_of(view, k, &slack)).collect();
        let weight = self.bounding.half();
        let diameter = match self.statement.diameter {
            Diameter::Maximum => {
                Quotient::whole(rows.iter().fold(Dyadic::zero(), |most, row| most.max(row.longest.clone())))
            }
            Diameter::Mean => {
                let mut sum = Dyadic::zero();
                rows.iter().for_each(|row| sum += &row.sum);
                Quotient { top: sum, bottom: weight }
            }
            Diameter::Cvar(level) => mean_of_longest(&rows, &(&Dyadic::from(level) * &weight)),
        };
        let (loss, raised) = match self.statement.slack {
            Slack::Pair => {
                let mut loss = Dyadic::zero();
                rows.iter().for_each(|row| loss += &row.hinge);
                (loss, Dyadic::zero())
            }
            Slack::Instance => self.loss(&rows, &slack),
        };
        let top = &(&self.c * &diameter.top) + &(&loss * &diameter.bottom);
        let raised = Quotient::whole(raised).rounded(Towards::Above);
        Found { value: Quotient { top, bottom: diameter.bottom }, raised }
    }

    /// The stored slacks; zero where there are none.
    fn slacks(&self, reasons: &mut Vec<String>) -> Vec<Dyadic> {
        let given = &self.statement.certificate.slack;
        let wrong = given.iter().enumerate().filter(|(_, s)| **s < 0.0);
        tell(wrong.map(|(i, s)| format!("the slack of row {} is {s}: none may be negative", i + 1)).collect(), reasons);
        (0..self.weight.len()).map(|i| Dyadic::from(given.get(i).map_or(0.0, |s| s.max(0.0)))).collect()
    }

    fn row_of(&self, view: &Level, k: usize, slack: &[Dyadic]) -> RowSums {
        let (i, two) = (self.used[k], Dyadic::from(2.0));
        let tail = matches!(self.statement.diameter, Diameter::Cvar(_));
        let mut sums = RowSums {
            longest: Dyadic::zero(),
            sum: Dyadic::zero(),
            lengths: Vec::new(),
            hinge: Dyadic::zero(),
            missing: Vec::new(),
        };
        for &j in &self.used[k + 1..] {
            let rho = view.squared_distance(i, j);
            if self.differ(i, j) && rho < two {
                let short = &two - &rho;
                match self.statement.slack {
                    Slack::Pair => sums.hinge += &(&short * &self.pair_weight(i, j)),
                    Slack::Instance => {
                        let missing = &short - &(&slack[i] + &slack[j]);
                        if missing.is_positive() {
                            sums.missing.push((j, missing));
                        }
                    }
                }
            }
            if self.bounds(i, j) {
                match self.statement.diameter {
                    Diameter::Maximum => sums.longest = sums.longest.max(rho),
                    Diameter::Mean => sums.sum += &(&rho * &self.pair_weight(i, j)),
                    Diameter::Cvar(_) if tail => sums.lengths.push((rho, self.pair_weight(i, j))),
                    Diameter::Cvar(_) => {}
                }
            }
        }
        sums
    }

    /// The weighted sum of the slacks, each raised by half of what is missing to the margin with any other row, and by how
    /// much one was raised at most.
    fn loss(&self, rows: &[RowSums], slack: &[Dyadic]) -> (Dyadic, Dyadic) {
        let mut raised = vec![Dyadic::zero(); slack.len()];
        for (&i, row) in self.used.iter().zip(rows) {
            for (j, missing) in &row.missing {
                for p in [i, *j] {
                    if missing.half() > raised[p] {
                        raised[p] = missing.half();
                    }
                }
            }
        }
        let (mut loss, mut most) = (Dyadic::zero(), Dyadic::zero());
        for &i in &self.used {
            loss += &(&self.weight[i] * &(&slack[i] + &raised[i]));
            most = most.max(raised[i].clone());
        }
        (loss, most)
    }
}

/// The weighted mean of the longest, as many as weigh `wanted`.
fn mean_of_longest(rows: &[RowSums], wanted: &Dyadic) -> Quotient {
    let mut lengths: Vec<&(Dyadic, Dyadic)> = rows.iter().flat_map(|row| &row.lengths).collect();
    lengths.sort_unstable_by(|a, b| b.0.cmp(&a.0));
    let (mut left, mut sum) = (wanted.clone(), Dyadic::zero());
    for (rho, weight) in lengths {
        if !left.is_positive() {
            break;
        }
        let taken = if *weight < left { weight } else { &left };
        sum += &(taken * rho);
        left = &left - &taken.clone();
    }
    Quotient { top: sum, bottom: wanted.clone() }
}
