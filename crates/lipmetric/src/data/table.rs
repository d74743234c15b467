//! Raw columns, as a file holds them: before anything is decided about types or missing values.

use super::MatrixRef;

/// Text cells of one column, stored end to end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    /// No cells.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a cell.
    pub fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Cell `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.text[start..self.ends[i]]
    }

    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no cell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The cells in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Texts {
    fn from_iter<I: IntoIterator<Item = S>>(cells: I) -> Self {
        let mut texts = Self::new();
        for cell in cells {
            texts.push(cell.as_ref());
        }
        texts
    }
}

/// The cells of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// From a binary format that knows its numbers; NaN is a missing value.
    Number(Vec<f64>),
    /// From a text format, exactly as written (surrounding blanks trimmed), or text of a binary one.
    Text(Texts),
}

impl Values {
    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Number(v) => v.len(),
            Self::Text(t) => t.len(),
        }
    }

    /// Whether there is no cell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name; `x1`, `x2`, ... where the source has none.
    pub name: String,
    /// Its cells.
    pub values: Values,
}

impl Column {
    /// A column of numbers; NaN is a missing value.
    pub fn numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values: Values::Number(values) }
    }

    /// A column of text.
    pub fn texts<S: AsRef<str>>(name: impl Into<String>, cells: impl IntoIterator<Item = S>) -> Self {
        Self { name: name.into(), values: Values::Text(cells.into_iter().collect()) }
    }
}

/// Columns of equal length and where they came from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// What messages call the source: a path, a data set's name or `standard input`.
    pub origin: String,
    /// The columns, in the source's order.
    pub columns: Vec<Column>,
    /// Whether the names are the source's own. Columns of a source without names are matched by position.
    pub named: bool,
    /// Whether a column that is not there is all zeros (sparse formats) rather than absent.
    pub sparse: bool,
    /// For text sources, the line (from 1) that each row begins on; empty otherwise.
    pub lines: Vec<u64>,
    /// How many rows of the source came before this table's first (a table may be one batch of a stream).
    pub first_row: usize,
    /// For text sources, what stands between two cells of a row.
    pub separator: Option<char>,
}

impl Table {
    /// Columns with names of their own. `origin` is what messages call their source.
    ///
    /// ```
    /// use lipmetric::data::{Column, Table};
    /// let table = Table::new("rows", vec![Column::numbers("x", vec![1.0, 2.0]), Column::texts("kind", ["a", "b"])]);
    /// assert_eq!(table.rows(), 2);
    /// ```
    pub fn new(origin: impl Into<String>, columns: Vec<Column>) -> Self {
        Self {
            origin: origin.into(),
            columns,
            named: true,
            sparse: false,
            lines: Vec::new(),
            first_row: 0,
            separator: None,
        }
    }

    /// Numbers without names: the columns of a matrix. NaN is a missing value.
    ///
    /// ```
    /// use lipmetric::{Matrix, data::{Table, Values}};
    /// let table = Table::from_matrix(&Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(table.columns[1].values, Values::Number(vec![2.0, 4.0]));
    /// ```
    pub fn from_matrix<'a>(x: impl Into<MatrixRef<'a>>) -> Self {
        let x = x.into();
        let column = |j: usize| Column::numbers(format!("x{}", j + 1), (0..x.rows()).map(|i| x.row(i)[j]).collect());
        Self { named: false, ..Self::new("matrix", (0..x.cols()).map(column).collect()) }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    /// If an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let values = |values: &Values| match values {
            Values::Number(v) => Values::Number(rows.iter().map(|&i| v[i]).collect()),
            Values::Text(t) => Values::Text(rows.iter().map(|&i| t.get(i)).collect()),
        };
        let columns = self.columns.iter().map(|c| Column { name: c.name.clone(), values: values(&c.values) }).collect();
        let lines = if self.lines.is_empty() { Vec::new() } else { rows.iter().map(|&i| self.lines[i]).collect() };
        Self { columns, lines, origin: self.origin.clone(), ..*self }
    }

    /// The index of the column of this name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// Where row `i` stands, for messages: `file.csv, line 12` or `file.npy, row 12` (rows counted from 1).
    #[must_use]
    pub fn place(&self, i: usize) -> String {
        match self.lines.get(i) {
            Some(line) => format!("{}, line {line}", self.origin),
            None => format!("{}, row {}", self.origin, self.first_row + i + 1),
        }
    }
}

/// Whether a text cell stands for a missing value: nothing at all, `NA`, `N/A`, `NaN`, `null` or `?`, in any case.
#[must_use]
pub fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty() || cell == "?" || ["na", "n/a", "nan", "null"].iter().any(|m| cell.eq_ignore_ascii_case(m))
}

/// The finite number that a text cell writes out. `inf` and the like are words, and what is too large for a float is not a
/// number that can be computed with.
///
/// ```
/// use lipmetric::data::number;
/// assert_eq!(number("1e3"), Some(1000.0));
/// assert_eq!(number("x1").or(number("inf")).or(number("nan")).or(number("1e999")), None);
/// ```
#[must_use]
pub fn number(cell: &str) -> Option<f64> {
    cell.trim().parse::<f64>().ok().filter(|v| v.is_finite())
}

/// The characters of a cell that a message shows.
const EXCERPT: usize = 40;

/// The beginning of a cell's text, for messages; control characters escaped.
///
/// ```
/// use lipmetric::data::excerpt;
/// assert_eq!(excerpt("it's\tone"), r"it's\tone");
/// assert_eq!(excerpt(&"x".repeat(50)), format!("{}...", "x".repeat(40)));
/// ```
#[must_use]
pub fn excerpt(cell: &str) -> String {
    let mut short = String::new();
    for c in cell.chars().take(EXCERPT) {
        if c.is_control() { short.extend(c.escape_default()) } else { short.push(c) }
    }
    if cell.chars().nth(EXCERPT).is_some() {
        short.push_str("...");
    }
    short
}
