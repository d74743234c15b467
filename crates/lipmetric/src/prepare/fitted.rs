use super::columns::{Cells, Columns};
use super::quantile::Knots;
use super::schema::{Encoding, Feature, LabelColumn, Schema, Unseen};
use crate::data::{Table, to_unit};
use crate::error::names;
use crate::{Error, Matrix, Result};
use serde::{Deserialize, Serialize};

/// How a missing value is filled. Categories are filled with their most frequent level by every rule but `Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fill {
    /// The median of the training values.
    #[default]
    Median,
    /// Their mean.
    Mean,
    /// The most frequent of them (the smallest of several).
    Mode,
    /// Zero.
    Zero,
    /// Missing values are refused.
    Error,
}

/// How numeric and boolean features are scaled. One-hot columns stay 0 and 1, constant features stay unscaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scaling {
    /// Not at all; but all by one power of two where squares would leave the range of floating point.
    None,
    /// To mean 0 and standard deviation 1.
    #[default]
    Standard,
    /// To the range 0 to 1.
    Minmax,
    /// To the normal quantiles of the ranks: whatever the distribution of a feature, it becomes a normal one, and outliers come near.
    /// Beyond the training values the function is constant. Boolean features are standardised.
    Quantile,
    /// Each row to length 1, features as they are: for embeddings, as the Euclidean distance of such rows orders them as the cosine does.
    /// All prepared columns count, those of categories, too. A row of zeros stays one.
    Unit,
}

names!(Fill, "fill", "median" => Fill::Median, "mean" => Fill::Mean, "mode" => Fill::Mode, "zero" => Fill::Zero, "error" => Fill::Error);
names!(Scaling, "scale", "none" => Scaling::None, "standard" => Scaling::Standard, "minmax" => Scaling::Minmax, "quantile" => Scaling::Quantile, "unit" => Scaling::Unit);

/// What was learned for one feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Step {
    /// A numeric or boolean feature becomes `(value - offset) / scale`.
    Number {
        /// Stands in for a missing value, before scaling.
        fill: f64,
        /// Subtracted.
        offset: f64,
        /// Divided by.
        scale: f64,
        /// How many training values were missing.
        missing: usize,
    },
    /// A numeric feature becomes the normal quantile of its rank.
    Quantiles {
        /// Stands in for a missing value, before scaling.
        fill: f64,
        /// The function.
        knots: Knots,
        /// How many training values were missing.
        missing: usize,
    },
    /// A category becomes one 0/1 column per level.
    Level {
        /// The level that stands in for a missing value.
        fill: u32,
        /// How many training values were missing.
        missing: usize,
    },
}

/// Fitted preparation: a schema, and what each feature's training values taught.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Preparation {
    schema: Schema,
    fill: Fill,
    scaling: Scaling,
    steps: Vec<Step>,
}

/// A preparation as a file tells it.
#[derive(Deserialize)]
struct Unchecked {
    schema: Schema,
    fill: Fill,
    scaling: Scaling,
    steps: Vec<Step>,
}

impl TryFrom<Unchecked> for Preparation {
    type Error = Error;

    /// Takes only steps that fit their columns, so that applying them cannot fail.
    fn try_from(told: Unchecked) -> Result<Self> {
        let Unchecked { schema, fill, scaling, steps } = told;
        schema.check()?;
        if steps.len() != schema.features.len() {
            return Err(Error::shape("steps of the preparation", schema.features.len(), steps.len()));
        }
        for (feature, step) in schema.features.iter().zip(&steps) {
            let fits = match (step, &feature.encoding) {
                (Step::Level { fill, .. }, Encoding::Category { levels }) => (*fill as usize) < levels.len(),
                (Step::Number { fill, offset, scale, .. }, Encoding::Numeric | Encoding::Boolean) => {
                    fill.is_finite() && offset.is_finite() && scale.is_finite() && *scale > 0.0
                }
                (Step::Quantiles { fill, knots, .. }, Encoding::Numeric) => fill.is_finite() && knots.is_rising(),
                _ => false,
            };
            if !fits {
                return Err(Error::data(format!(
                    "the preparation of column `{}` does not fit the column",
                    feature.name
                )));
            }
        }
        Ok(Self { schema, fill, scaling, steps })
    }
}

impl Preparation {
    /// Learns fill values and scaling from these rows (all, if none are named).
    ///
    /// # Errors
    /// If a value is missing and `fill` is [`Fill::Error`], or a feature has no value in these rows.
    pub fn fit(
        schema: Schema,
        columns: &Columns,
        rows: Option<&[usize]>,
        fill: Fill,
        scaling: Scaling,
    ) -> Result<Self> {
        let all: Vec<usize>;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                all = (0..columns.rows()).collect();
                &all
            }
        };
        let steps = schema
            .features
            .iter()
            .zip(columns.cells())
            .map(|(feature, cells)| {
                let step = match cells {
                    Cells::Number(values) => {
                        // Ranks of two values say no more than the values.
                        let yes_no = scaling == Scaling::Quantile && feature.encoding == Encoding::Boolean;
                        let scaling = if yes_no { Scaling::Standard } else { scaling };
                        fit_number(rows.iter().map(|&i| values[i]), fill, scaling)
                    }
                    Cells::Level(codes) => fit_level(rows.iter().map(|&i| codes[i])),
                };
                let missing = match step {
                    Step::Number { missing, .. } | Step::Quantiles { missing, .. } | Step::Level { missing, .. } => {
                        missing
                    }
                };
                if missing > 0 && fill == Fill::Error {
                    return Err(Error::data(format!(
                        "column `{}` has {missing} missing values, which `fill = error` refuses; choose another rule",
                        feature.name
                    )));
                }
                if missing == rows.len() {
                    return Err(Error::data(format!(
                        "every training value of column `{}` is missing; leave the column out",
                        feature.name
                    )));
                }
                Ok(step)
            })
            .collect::<Result<_>>()?;
        let mut out = Self { schema, fill, scaling, steps };
        if scaling == Scaling::None {
            out.rescale(columns, rows);
        }
        Ok(out)
    }

    /// Divides all features by one power of two where their squares would leave the range of floating point. Nothing else changes: which
    /// row is nearer than another stays the same. Not where that would lose numbers much smaller than the largest: those of categories,
    /// whose columns are 0 and 1, or of other rows.
    fn rescale(&mut self, columns: &Columns, rows: &[usize]) {
        let (mut largest, mut least) = (0.0_f64, f64::INFINITY);
        for (step, cells) in self.steps.iter().zip(columns.cells()) {
            let (Step::Number { fill, .. }, Cells::Number(values)) = (step, cells) else { return };
            let present = rows.iter().map(|&i| values[i]).filter(|v| !v.is_nan());
            for size in present.chain([*fill]).map(f64::abs).filter(|size| *size > 0.0) {
                (largest, least) = (largest.max(size), least.min(size));
            }
        }
        let most = MOST / (self.steps.len().max(1) as f64).sqrt();
        let lost = least / largest < LEAST;
        if largest == 0.0 || lost || (LEAST..most).contains(&largest) {
            return;
        }
        // A number below the least normal one has fewer digits, and is divided exactly nevertheless.
        let power = (largest.log2().floor() as i32).clamp(-1022, 1023);
        for step in &mut self.steps {
            if let Step::Number { scale, .. } = step {
                *scale = 2.0_f64.powi(power);
            }
        }
    }

    /// What all features were divided by though no scaling was asked for: their squares would have left the range of floating point.
    #[must_use]
    pub fn rescaled(&self) -> Option<f64> {
        match (self.scaling, self.steps.first()) {
            (Scaling::None, Some(Step::Number { scale, .. })) if *scale != 1.0 => Some(*scale),
            _ => None,
        }
    }

    /// Preparations of the same rows, side by side, as if their columns had stood in one table: for columns that are read one at a
    /// time. The label is that of the last one, behind all columns.
    ///
    /// # Errors
    /// If there is none, or they have different rules.
    pub fn beside(parts: impl IntoIterator<Item = Self>) -> Result<Self> {
        let mut parts = parts.into_iter();
        let mut all = parts.next().ok_or_else(|| Error::data("there are no columns to prepare"))?;
        for part in parts {
            if (part.fill, part.scaling) != (all.fill, all.scaling) {
                return Err(Error::data("columns that are prepared by different rules cannot stand side by side"));
            }
            let (width, schema) = (all.schema.width, part.schema);
            all.schema.features.extend(schema.features.into_iter().map(|f| Feature { index: f.index + width, ..f }));
            all.schema.ignored.extend(schema.ignored);
            all.schema.width += schema.width;
            all.schema.label = schema.label.map(|label| LabelColumn { index: label.index + width, ..label });
            all.steps.extend(part.steps);
        }
        Ok(all)
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The rule for missing values.
    #[must_use]
    pub fn fill(&self) -> Fill {
        self.fill
    }

    /// The scaling.
    #[must_use]
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// What was learned for each feature of the schema.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Number of columns that [`Self::apply`] gives.
    #[must_use]
    pub fn width(&self) -> usize {
        self.schema.prepared_width()
    }

    /// The names of those columns: the feature's, or `feature=level`.
    #[must_use]
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.width());
        for feature in &self.schema.features {
            match &feature.encoding {
                Encoding::Category { levels } => names.extend(levels.iter().map(|l| format!("{}={l}", feature.name))),
                _ => names.push(feature.name.clone()),
            }
        }
        names
    }

    /// Whether every number is prepared by a shift and a scale alone.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        !matches!(self.scaling, Scaling::Quantile | Scaling::Unit)
    }

    /// Whether a row is divided by its length in the end.
    #[must_use]
    pub fn is_unit(&self) -> bool {
        self.scaling == Scaling::Unit
    }

    /// For each of those columns, how far a number of the input moves (where it is not scaled linearly, at least) while the prepared
    /// one moves by 1; none for columns of categories and of yes and no, which change at once, nor where rows are divided by their
    /// lengths ([`Self::is_unit`]): then it is another distance for each row.
    #[must_use]
    pub fn units(&self) -> Vec<Option<f64>> {
        let mut units = Vec::with_capacity(self.width());
        for (feature, step) in self.schema.features.iter().zip(&self.steps) {
            let unit = match (&feature.encoding, step) {
                _ if self.is_unit() => None,
                (Encoding::Numeric, Step::Number { scale, .. }) => Some(*scale),
                (Encoding::Numeric, Step::Quantiles { knots, .. }) => knots.least_unit(),
                _ => None,
            };
            units.extend(std::iter::repeat_n(unit, columns_of(&feature.encoding)));
        }
        units
    }

    /// What was subtracted from each of those columns, and what it was then divided by: 0 and 1 for the columns of a category, and
    /// for quantiles of ranks.
    #[must_use]
    pub fn scales(&self) -> Vec<(f64, f64)> {
        let mut scales = Vec::with_capacity(self.width());
        for (feature, step) in self.schema.features.iter().zip(&self.steps) {
            let of = match step {
                Step::Number { offset, scale, .. } => (*offset, *scale),
                Step::Quantiles { .. } | Step::Level { .. } => (0.0, 1.0),
            };
            scales.extend(std::iter::repeat_n(of, columns_of(&feature.encoding)));
        }
        scales
    }

    /// A linear map of prepared rows as one of the columns before they are scaled, but for a shift; where ranks have become quantiles
    /// ([`Self::is_linear`]), of these.
    ///
    /// # Panics
    /// If the map has not as many columns as there are prepared ones.
    #[must_use]
    pub fn unscaled(&self, factor: &Matrix) -> Matrix {
        let scales = self.scales();
        assert_eq!(factor.cols(), scales.len(), "a map of the prepared columns");
        let mut factor = factor.clone();
        for i in 0..factor.rows() {
            factor.row_mut(i).iter_mut().zip(&scales).for_each(|(v, (_, scale))| *v /= scale);
        }
        factor
    }

    /// A prepared row as numbers of the input, one per feature of the schema (none for categories and for yes and no), and the
    /// row that the preparation makes of these. Of rows that were divided by their lengths it is the one of length 1.
    ///
    /// # Panics
    /// If the row has not as many values as there are prepared columns.
    #[must_use]
    pub fn restored(&self, row: &[f64]) -> (Vec<Option<f64>>, Vec<f64>) {
        assert_eq!(row.len(), self.width(), "a prepared row has a value per column");
        let (mut numbers, mut again, mut at) = (Vec::with_capacity(self.steps.len()), row.to_vec(), 0);
        for (feature, step) in self.schema.features.iter().zip(&self.steps) {
            numbers.push(match (&feature.encoding, step) {
                (Encoding::Numeric, Step::Number { offset, scale, .. }) => {
                    let number = (row[at] * scale + offset).clamp(f64::MIN, f64::MAX);
                    again[at] = scaled(number, *offset, *scale);
                    Some(number)
                }
                (Encoding::Numeric, Step::Quantiles { knots, .. }) => {
                    let number = knots.back(row[at]);
                    again[at] = knots.at(number);
                    Some(number)
                }
                _ => None,
            });
            at += columns_of(&feature.encoding);
        }
        if self.is_unit() {
            to_unit(&mut again);
        }
        (numbers, again)
    }

    /// The matrix of a table: [`Schema::read`], then [`Self::apply`], with the table's places in the messages.
    ///
    /// # Errors
    /// As [`Schema::read`]; or if a value is missing and the rule is [`Fill::Error`].
    pub fn read(&self, table: &Table, unseen: Unseen) -> Result<Matrix> {
        let columns = self.schema.read(table, unseen)?;
        self.refuse_missing(&columns, 0..columns.rows(), |i| table.place(i))?;
        self.apply(&columns)
    }

    /// The matrix of columns that were read by this preparation's schema.
    ///
    /// # Errors
    /// If a value is missing and the rule is [`Fill::Error`].
    pub fn apply(&self, columns: &Columns) -> Result<Matrix> {
        let rows: Vec<usize> = (0..columns.rows()).collect();
        self.apply_rows(columns, &rows)
    }

    fn refuse_missing(
        &self,
        columns: &Columns,
        rows: impl Iterator<Item = usize>,
        place: impl Fn(usize) -> String,
    ) -> Result<()> {
        if self.fill != Fill::Error {
            return Ok(());
        }
        for i in rows {
            let gap = self.schema.features.iter().zip(columns.cells()).find(|(_, cells)| match cells {
                Cells::Number(values) => values[i].is_nan(),
                Cells::Level(codes) => codes[i] == Cells::MISSING,
            });
            if let Some((feature, _)) = gap {
                return Err(Error::data(format!(
                    "{}, column `{}`: the value is missing, which the model's rule for missing values (error) refuses",
                    place(i),
                    feature.name
                )));
            }
        }
        Ok(())
    }

    /// The matrix of some rows of the columns.
    ///
    /// # Errors
    /// If a value is missing and the rule is [`Fill::Error`].
    pub fn apply_rows(&self, columns: &Columns, rows: &[usize]) -> Result<Matrix> {
        self.refuse_missing(columns, rows.iter().copied(), |i| format!("row {}", i + 1))?;
        let mut x = Matrix::zeros(rows.len(), self.width());
        let mut at = 0;
        for ((feature, step), cells) in self.schema.features.iter().zip(&self.steps).zip(columns.cells()) {
            match (step, cells) {
                (Step::Number { fill, offset, scale, .. }, Cells::Number(values)) => {
                    for (r, &i) in rows.iter().enumerate() {
                        let value = if values[i].is_nan() { *fill } else { values[i] };
                        x[(r, at)] = scaled(value, *offset, *scale);
                    }
                }
                (Step::Quantiles { fill, knots, .. }, Cells::Number(values)) => {
                    for (r, &i) in rows.iter().enumerate() {
                        x[(r, at)] = knots.at(if values[i].is_nan() { *fill } else { values[i] });
                    }
                }
                (Step::Level { fill, .. }, Cells::Level(codes)) => {
                    for (r, &i) in rows.iter().enumerate() {
                        let code = if codes[i] == Cells::MISSING { *fill } else { codes[i] };
                        if code != Cells::UNSEEN {
                            x[(r, at + code as usize)] = 1.0;
                        }
                    }
                }
                _ => unreachable!("columns are read by the schema that their preparation was fitted with"),
            }
            at += columns_of(&feature.encoding);
        }
        if self.is_unit() {
            (0..x.rows()).for_each(|r| to_unit(x.row_mut(r)));
        }
        Ok(x)
    }
}

/// Numbers whose squares, a few of them together, are well within the range of floating point, ...
const MOST: f64 = 1e150;
/// ... and whose differences, to many digits, have squares above its least number.
const LEAST: f64 = 1e-140;

fn columns_of(encoding: &Encoding) -> usize {
    match encoding {
        Encoding::Category { levels } => levels.len(),
        _ => 1,
    }
}

/// `(value - offset) / scale`, where the difference may be too large for a float and the quotient is not.
fn scaled(value: f64, offset: f64, scale: f64) -> f64 {
    let difference = value - offset;
    let scaled = if difference.is_finite() { difference / scale } else { value / scale - offset / scale };
    scaled.clamp(f64::MIN, f64::MAX)
}

fn fit_number(values: impl Iterator<Item = f64>, fill: Fill, scaling: Scaling) -> Step {
    let mut total = 0;
    let mut present: Vec<f64> = values.inspect(|_| total += 1).filter(|v| !v.is_nan()).collect();
    let missing = total - present.len();
    if present.is_empty() {
        return Step::Number { fill: 0.0, offset: 0.0, scale: 1.0, missing };
    }
    present.sort_unstable_by(f64::total_cmp);
    let fill = match fill {
        Fill::Median => median(&present),
        Fill::Mean => mean(&present),
        Fill::Mode => mode(&present),
        Fill::Zero | Fill::Error => 0.0,
    };
    // The filled column is what gets scaled, so its own mean and range count.
    let at = present.partition_point(|v| *v < fill);
    present.splice(at..at, std::iter::repeat_n(fill, missing));
    let (offset, scale) = match scaling {
        Scaling::Quantile => return Step::Quantiles { fill, knots: Knots::of(&present), missing },
        Scaling::None | Scaling::Unit => (0.0, 1.0),
        Scaling::Standard => (mean(&present), deviation(&present)),
        Scaling::Minmax => {
            let (low, high) = (present[0], present[present.len() - 1]);
            (low, (high - low).min(f64::MAX))
        }
    };
    // A constant column has no spread: rounding alone must not blow it up.
    let spread = present[present.len() - 1] > present[0] && scale > 0.0;
    Step::Number { fill, offset, scale: if spread { scale } else { 1.0 }, missing }
}

fn fit_level(codes: impl Iterator<Item = u32>) -> Step {
    let mut counts: Vec<usize> = Vec::new();
    let mut missing = 0;
    for code in codes {
        if code >= Cells::UNSEEN {
            missing += usize::from(code == Cells::MISSING);
            continue;
        }
        let code = code as usize;
        if counts.len() <= code {
            counts.resize(code + 1, 0);
        }
        counts[code] += 1;
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    let fill = counts.iter().position(|&c| c == most).unwrap_or(0);
    Step::Level { fill: fill as u32, missing }
}

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { sorted[half - 1] / 2.0 + sorted[half] / 2.0 }
}

fn mode(sorted: &[f64]) -> f64 {
    let mut best = (0, sorted[0]);
    for run in sorted.chunk_by(|a, b| a == b) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

/// The largest magnitude: sums of values divided by it cannot overflow.
fn magnitude(values: &[f64]) -> f64 {
    let m = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if m > 0.0 { m } else { 1.0 }
}

fn mean(values: &[f64]) -> f64 {
    let m = magnitude(values);
    values.iter().map(|v| v / m).sum::<f64>() / values.len() as f64 * m
}

fn deviation(values: &[f64]) -> f64 {
    let m = magnitude(values);
    let centre = mean(values) / m;
    (values.iter().map(|v| (v / m - centre).powi(2)).sum::<f64>() / values.len() as f64).sqrt() * m
}
