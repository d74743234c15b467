//! How far the decision of a Lipschitz extension holds: its cells are those of a power diagram.

use super::search::{Supporting, Tally, search};
use super::sites::View;
use crate::Labels;

/// Which rows speak for a class, which against it, and with what weight: the least *term*, the squared distance less the weight,
/// decides.
///
/// Row `i` has the margin `m_i`, in units of the squared distance. It lends the term `rho_i - m_i` to its own class and
/// `rho_i + m_i` to all others. The function of class `c` has as its minimum the least of
///
/// - the terms `rho_i + m_i` of the rows of `c` and
/// - the terms `rho_i - m_i` of all other rows,
///
/// and the class whose minimum is largest wins. Class `l` has a smaller minimum than `c` if one of the terms that it has and `c`
/// has not is less than all terms of `c`: a term `rho_i - m_i` of a row of `c`, or `rho_i + m_i` of one of `l`. So `c`
/// wins against `l` where the rows of `c`, with the weight `m_i`, and those of `l`, with the weight `-m_i`, have a term below
/// those of the rows of `c`, with the weight `-m_i`, and of all rows outside `c`, with the weight `m_i`. With two classes, and with
/// any number where no margin is negative, it wins nowhere else; in general, classes may also tie there. Of two terms of the same
/// row only the lesser can matter, so that a row of `c` supports if its margin is positive and opposes if not, and a row of `l`
/// that is overruled supports. Where the margin is zero the row decides by its label, as ties do.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) weights: Vec<f64>,
    pub(crate) supporting: Vec<u32>,
    pub(crate) opposing: Vec<u32>,
}

impl Sides {
    /// One for each rival that `label` must win against. A rival without overruled rows stands for all.
    pub(crate) fn of(labels: &Labels, members: &[Vec<usize>], margins: &[f64], label: u32) -> Vec<Self> {
        let rivals = (0..).zip(members).filter(|(class, rows)| *class != label && !rows.is_empty());
        let overruled = |rows: &[usize]| rows.iter().any(|&i| margins[i] < 0.0);
        let (with, without): (Vec<_>, Vec<_>) = rivals.partition(|(_, rows)| overruled(rows));
        match without.first() {
            Some((rival, _)) => vec![Self::against(labels.codes(), margins, label, *rival)],
            None => with.iter().map(|(rival, _)| Self::against(labels.codes(), margins, label, *rival)).collect(),
        }
    }

    fn against(codes: &[u32], margins: &[f64], label: u32, rival: u32) -> Self {
        let mut sides = Self { weights: margins.to_vec(), supporting: Vec::new(), opposing: Vec::new() };
        for (i, (&code, &margin)) in codes.iter().zip(margins).enumerate() {
            let for_label = if code == label || (code == rival && margin < 0.0) {
                sides.weights[i] = margin.abs();
                (margin >= 0.0) == (code == label)
            } else {
                false
            };
            if for_label { &mut sides.supporting } else { &mut sides.opposing }.push(i as u32);
        }
        sides
    }
}

/// The nearest hyperplane that may have to be crossed: the least over opposing rows of the farthest over supporting ones.
pub(crate) fn nearest_hyperplane(view: &View<'_>, supporting: &mut Supporting, opposing: &[u32]) -> f64 {
    let mut least = Least(f64::INFINITY);
    search(view, supporting, opposing, &mut least);
    least.0
}

struct Least(f64);

impl Tally for Least {
    fn depth(&self) -> usize {
        1
    }

    fn level(&self) -> f64 {
        self.0
    }

    fn add(&mut self, _: usize, farthest: &[f64], _: &mut Supporting, _: &View<'_>) {
        self.0 = self.0.min(farthest[0]);
    }
}
