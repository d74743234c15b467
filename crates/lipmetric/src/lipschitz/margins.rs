//! Margin, diameters and their ratios in one report.

use super::check_labels;
use super::constant::LipschitzConstant;
use super::distance::TrueMetric;
use super::pair::{diameter, margins_between};
use crate::neighbours::{Distance, Pair, farthest};
use crate::{Labels, Result};
use serde::Serialize;

/// A class with its diameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClassDiameter {
    /// The class.
    pub class: String,
    /// Number of rows.
    pub rows: usize,
    /// `diam(S_k, rho)`; zero for a class of one row.
    pub diameter: f64,
    /// The pair that attains it; none for a class of one row.
    pub pair: Option<Pair>,
}

/// Two classes with the margin between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClassMargin {
    /// The class that comes first in the list of classes.
    pub first: String,
    /// The other class.
    pub second: String,
    /// The nearest pair of rows of the two.
    pub pair: Pair,
}

/// Margin, diameters and Lipschitz margin ratios of a labelled sample (Definitions 2 to 4).
///
/// With more than two classes the margin is the smallest between any two of them, and the intra-class dispersion the
/// sum over all classes; at two classes both are the paper's. A ratio over a zero diameter is infinite, except that a
/// zero margin makes every ratio zero.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, Margins}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let m = Margins::new(&Mahalanobis::euclidean(&x).unwrap(), &y).unwrap();
/// assert_eq!((m.margin.distance, m.diameter.distance), (3.0, 9.0));
/// assert_eq!(m.ratio_diameter, 3.0 / 9.0);
/// assert_eq!(m.ratio_intra, 3.0 / (1.0 + 5.0));
/// assert_eq!(m.constant.constant, 2.0 / 3.0);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Margins {
    /// Number of rows.
    pub rows: usize,
    /// L-Margin (Definition 2) and the pair that attains it.
    pub margin: Pair,
    /// The margin between every two classes.
    pub class_margins: Vec<ClassMargin>,
    /// The Lipschitz constant of the labels, `L_0 = 2 / L-Margin`; infinite if rows of different classes coincide.
    pub constant: LipschitzConstant,
    /// The diameter of the sample (Definition 3) and the pair that attains it.
    pub diameter: Pair,
    /// The diameter of every class that has rows.
    pub class_diameters: Vec<ClassDiameter>,
    /// The sum of the class diameters.
    pub intra_sum: f64,
    /// The largest class diameter.
    pub intra_max: f64,
    /// L-Ratio^Diam (Definition 4): margin over diameter.
    pub ratio_diameter: f64,
    /// L-Ratio^Intra (Definition 4): margin over the sum of class diameters.
    pub ratio_intra: f64,
    /// Margin over *number of classes* times the largest class diameter: at most L-Ratio^Intra, and at two classes the
    /// inverse of the upper bound that the paper's objective (intra) minimises.
    pub ratio_intra_max: f64,
}

/// The surrogates of the ratios for a function of Lipschitz constant `L` (Proposition 5).
///
/// If the function is at least 1 in one class and at most -1 in the other, they are lower bounds of the ratios; at
/// `L = L_0` they are equal to them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Surrogates {
    /// The constant `L`.
    pub constant: f64,
    /// `2 / (L diam(S))`.
    pub diameter: f64,
    /// `2 / (L sum_k diam(S_k))`.
    pub intra: f64,
    /// `2 / (L K max_k diam(S_k))` for `K` classes.
    pub intra_max: f64,
}

impl Margins {
    /// Measures a labelled sample. With `K` classes there are `K (K - 1) / 2` margins to find.
    ///
    /// # Errors
    /// If the labels are of another number of rows or of one class only, or a distance is not a finite number of at
    /// least 0.
    pub fn new<D: Distance + ?Sized>(distance: &D, labels: &Labels) -> Result<Self> {
        let groups = check_labels(distance, labels)?;
        let name = |k: usize| labels.classes()[groups.codes[k] as usize].clone();
        let between = margins_between(distance, &groups)?;
        let margin = between.nearest;
        let class_margins = between
            .pairs
            .into_iter()
            .map(|(a, b, pair)| ClassMargin { first: name(a), second: name(b), pair })
            .collect();
        let mut class_diameters = Vec::with_capacity(groups.rows.len());
        for (k, rows) in groups.rows.iter().enumerate() {
            let pair = farthest(distance, rows)?;
            let diameter = pair.map_or(0.0, |p| p.distance);
            class_diameters.push(ClassDiameter { class: name(k), rows: rows.len(), diameter, pair });
        }
        let diameter = diameter(distance)?;
        let intra_sum = class_diameters.iter().map(|c| c.diameter).sum();
        let intra_max = class_diameters.iter().fold(0.0_f64, |m, c| m.max(c.diameter));
        let largest = intra_max * class_diameters.len() as f64;
        Ok(Self {
            rows: distance.len(),
            margin,
            class_margins,
            constant: LipschitzConstant {
                constant: 2.0 / margin.distance,
                i: margin.i,
                j: margin.j,
                distance: margin.distance,
            },
            diameter,
            class_diameters,
            intra_sum,
            intra_max,
            ratio_diameter: ratio(margin.distance, diameter.distance),
            ratio_intra: ratio(margin.distance, intra_sum),
            ratio_intra_max: ratio(margin.distance, largest),
        })
    }

    /// The surrogates for a function of Lipschitz constant `constant`.
    #[must_use]
    pub fn surrogates(&self, constant: f64) -> Surrogates {
        let margin = 2.0 / constant;
        Surrogates {
            constant,
            diameter: ratio(margin, self.diameter.distance),
            intra: ratio(margin, self.intra_sum),
            intra_max: ratio(margin, self.intra_max * self.class_diameters.len() as f64),
        }
    }

    /// The right-hand side of Proposition 4, which bounds the diameter under a true metric:
    /// `diam(S_a) + diam(S_b) + D(S_a, S_b)`, at its largest over the pairs of classes. (With more than two classes the
    /// *overall* margin would not do: the two classes of the farthest pair need not be near each other.)
    ///
    /// ```
    /// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, Margins}};
    /// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
    /// let distance = Mahalanobis::euclidean(&x).unwrap();
    /// let m = Margins::new(&distance, &Labels::from_names(["a", "a", "b", "b"])).unwrap();
    /// assert_eq!(m.diameter_bound(&distance), 1.0 + 5.0 + 3.0);
    /// ```
    pub fn diameter_bound<D: TrueMetric + ?Sized>(&self, metric: &D) -> f64 {
        let _ = metric;
        let of = |class: &str| self.class_diameters.iter().find(|c| c.class == class).map_or(0.0, |c| c.diameter);
        self.class_margins.iter().fold(self.intra_max, |m, c| m.max(of(&c.first) + of(&c.second) + c.pair.distance))
    }
}

/// A margin over a diameter: zero if the margin is, else infinite over zero.
pub(super) fn ratio(margin: f64, diameter: f64) -> f64 {
    if margin == 0.0 { 0.0 } else { margin / diameter }
}
