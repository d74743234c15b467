use super::Recipe;
use crate::method::{MetricKind, Spec};
use crate::prepare::Dataset;

/// How large a fit will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Foreseen {
    /// Rows to learn from.
    pub rows: usize,
    /// Features after preparation: a category has one for each of its levels.
    pub features: usize,
    /// Pairs of rows.
    pub pairs: u64,
    /// Memory that the fit takes at the least, in bytes: the prepared rows and what the method makes of them, without the table.
    pub bytes: u64,
}

/// The prepared rows themselves, mapped, in the method's own order, and in the index that predicts.
const COPIES: u64 = 4;

/// Matrices of a row and a column per feature that a method with a matrix of its own holds at once.
const SQUARES: u64 = 3;

/// Distances that have such a matrix however few rows there are; the choice tries them where features are few, or by name.
const SQUARE: [MetricKind; 2] = [MetricKind::Within, MetricKind::LipLocal];

impl Recipe<'_> {
    /// How large the fit of all rows of a data set will be. Nothing is computed.
    ///
    /// ```
    /// use lipmetric::{Labels, Matrix, method::Lip, model::Recipe};
    /// use lipmetric::data::{Column, Table};
    /// use lipmetric::prepare::{Dataset, Roles};
    /// let table = Table::new("rows", vec![Column::numbers("x", vec![0.5, 2.0, 7.0]), Column::texts("y", ["a", "b", "b"])]);
    /// let foreseen = Recipe::new(&Lip::overall().into()).foresee(&Dataset::read(&table, &Roles::default())?);
    /// assert_eq!((foreseen.rows, foreseen.features, foreseen.pairs), (3, 1, 3));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    #[must_use]
    pub fn foresee(&self, data: &Dataset) -> Foreseen {
        Foreseen::of(self.spec, data.labels.len(), data.schema.prepared_width())
    }
}

impl Foreseen {
    /// How large a fit of so many rows and prepared features by a method will be.
    #[must_use]
    pub fn of(spec: &Spec, rows: usize, features: usize) -> Self {
        let (n, p) = (rows as u64, features as u64);
        let table = n.saturating_mul(p).saturating_mul(8 * COPIES);
        // The others work in as many coordinates as there are rows, if those are fewer.
        let side = match spec {
            Spec::Euclidean(_) => 0,
            Spec::Auto(auto) if auto.metrics.iter().any(|m| SQUARE.contains(m)) => p,
            Spec::Lip(_) | Spec::LipLocal(_) => p,
            _ => p.min(n),
        };
        let bytes = table.saturating_add(p.saturating_mul(side).saturating_mul(8 * SQUARES));
        Self { rows, features, pairs: n.saturating_mul(n.saturating_sub(1)) / 2, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Auto;

    #[test]
    fn a_choice_of_few_rows_needs_no_matrix_of_the_features_unless_a_distance_that_has_one_is_named() {
        let bytes = |auto: Auto| Foreseen::of(&auto.into(), 4, 100_000).bytes;
        assert!(bytes(Auto::new()) < 100 << 20);
        assert!(bytes(Auto::new().metrics(vec![MetricKind::Agop])) < 100 << 20);
        assert!(bytes(Auto::new().metrics(vec![MetricKind::LipLocal])) > 100 << 30);
    }
}
