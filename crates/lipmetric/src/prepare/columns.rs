/// Cells of one feature, read by its encoding.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numeric and boolean features; NaN is missing.
    Number(Vec<f64>),
    /// Category features: the level's index, [`Cells::MISSING`] or [`Cells::UNSEEN`].
    Level(Vec<u32>),
}

impl Cells {
    /// A category cell that is missing.
    pub const MISSING: u32 = u32::MAX;
    /// A category cell with a level that training did not have.
    pub const UNSEEN: u32 = u32::MAX - 1;
}

/// Features as their types say, missing values still open.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    cells: Vec<Cells>,
    rows: usize,
}

impl Columns {
    pub(super) fn new(cells: Vec<Cells>, rows: usize) -> Self {
        Self { cells, rows }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The cells of each feature.
    #[must_use]
    pub fn cells(&self) -> &[Cells] {
        &self.cells
    }
}
