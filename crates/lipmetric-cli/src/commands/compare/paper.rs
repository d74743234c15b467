//! The results that the paper prints, to hold others beside.

use lipmetric::evaluate::Summary;

/// The paper's columns, as it names them.
const COLUMNS: [&str; 8] = ["Lip^D", "Lip^D(P)", "Lip^I", "Lip^I(P)", "NN", "LMNN", "MCML", "NCA"];

/// How many random splits the paper's means are over.
const REPEATS: usize = 10;

/// Mean accuracy and standard deviation in per cent, column by column.
const PRINTED: [(&str, [(f64, f64); 8]); 8] = [
    (
        "australian",
        [
            (79.64, 2.27),
            (80.04, 1.92),
            (80.90, 1.74),
            (80.29, 2.15),
            (79.89, 1.31),
            (79.96, 2.61),
            (79.89, 2.30),
            (79.89, 1.18),
        ],
    ),
    (
        "cancer",
        [
            (95.30, 1.12),
            (94.84, 0.95),
            (95.27, 1.01),
            (94.84, 0.95),
            (95.61, 0.68),
            (95.41, 0.66),
            (95.37, 1.14),
            (94.95, 1.17),
        ],
    ),
    (
        "diabetes",
        [
            (69.42, 2.03),
            (69.38, 1.59),
            (69.64, 2.62),
            (68.80, 1.29),
            (69.46, 1.22),
            (69.90, 1.79),
            (70.03, 1.34),
            (68.44, 2.69),
        ],
    ),
    (
        "echo",
        [
            (68.00, 5.49),
            (69.00, 6.30),
            (68.67, 8.64),
            (68.67, 5.92),
            (65.36, 2.43),
            (62.00, 10.56),
            (66.33, 2.92),
            (66.33, 4.97),
        ],
    ),
    (
        "fertility",
        [
            (79.02, 4.48),
            (81.46, 5.04),
            (78.05, 6.60),
            (80.98, 3.78),
            (83.21, 2.79),
            (84.39, 2.36),
            (83.17, 5.69),
            (83.66, 2.31),
        ],
    ),
    (
        "fourclass",
        [
            (99.91, 0.14),
            (99.91, 0.14),
            (99.86, 0.15),
            (99.88, 0.15),
            (99.87, 1.14),
            (99.68, 0.42),
            (99.88, 0.20),
            (99.68, 0.62),
        ],
    ),
    (
        "haberman",
        [
            (66.42, 2.20),
            (66.26, 3.12),
            (66.42, 2.27),
            (65.77, 2.83),
            (66.25, 1.74),
            (66.26, 3.12),
            (66.42, 2.24),
            (63.66, 3.93),
        ],
    ),
    (
        "voting",
        [
            (93.37, 2.29),
            (92.40, 1.90),
            (93.83, 1.26),
            (92.40, 1.90),
            (92.85, 0.79),
            (93.31, 0.72),
            (92.40, 1.66),
            (93.37, 1.50),
        ],
    ),
];

/// What the paper prints for a data set and a method, as parts of one; `None` where it has no such row or column.
pub(super) fn printed(data: &str, method: &str) -> Option<Summary> {
    let (_, row) = PRINTED.iter().find(|(name, _)| *name == data)?;
    let (mean, sd) = row[COLUMNS.iter().position(|c| *c == method)?];
    Some(Summary { mean: mean / 100.0, sd: sd / 100.0 })
}

/// A result beside the printed one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beside {
    /// What the paper prints.
    pub(super) printed: Summary,
    /// Ours less the paper's.
    pub(super) difference: f64,
    /// The same in standard errors of a difference between two means over random splits of the same rows; `None` where
    /// neither spreads.
    pub(super) standard_errors: Option<f64>,
    /// Whether the difference is at most the printed standard deviation.
    pub(super) within_sd: bool,
}

impl Beside {
    /// A mean over so many splits beside the printed one.
    pub(super) fn of(printed: Summary, ours: Summary, repeats: usize) -> Self {
        let difference = ours.mean - printed.mean;
        let error = (ours.sd.powi(2) / repeats.max(1) as f64 + printed.sd.powi(2) / REPEATS as f64).sqrt();
        Self {
            printed,
            difference,
            standard_errors: (error > 0.0).then(|| difference / error),
            within_sd: difference.abs() <= printed.sd + 1e-12,
        }
    }
}

/// What the paper leaves open, and what is assumed here; `docs/paper.md` has the measurements behind it.
pub(super) const ASSUMPTIONS: [(&str, &str); 8] = [
    (
        "splits",
        "60 % \"randomly selected\": floor(0.6 n) of each class here; the printed means are multiples of 1 / (10 n_test) for that \
         n_test, but for the NN column's, which must come from another protocol",
    ),
    (
        "scaling",
        "not stated: standardised here; min-max scaling fits the printed columns as well, no scaling is 15 points off on \
         Australian",
    ),
    (
        "filling",
        "not stated, but no row was dropped: the median of the training part here; on Echo the printed Lip columns are 2 to 3 \
         standard errors above ours, and nearer to what filling by class means gives, which uses the labels of the test rows",
    ),
    (
        "slack",
        "printed per pair and per row: per row here for Lip^D and Lip^I, which fits all but Echo; per pair, as in the paper's \
         ADMM, for the (P) columns",
    ),
    ("c", "1, as printed; where that is at or above c_max the zero metric is optimal and the cell is refused here"),
    (
        "ADMM",
        "mu = 1, as printed; its stopping rule is not: 10 iterations here, near the Euclidean start; 1 to 100 fit about \
         equally well, the optimum of the pair form does not",
    ),
    (
        "MCML",
        "from a toolbox that keeps only a rotation of it: the printed column is the Euclidean nearest neighbour's within noise, \
         ours is MCML",
    ),
    (
        "LMNN, NCA",
        "from the same toolbox, whose LMNN scales the wrong side of its map, with settings that are not stated; ours is corrected",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_the_paper_has_are_found_by_name() {
        assert_eq!(printed("voting", "Lip^I").map(|s| s.mean), Some(0.9383));
        assert_eq!(printed("iris", "NN"), None);
    }
}
