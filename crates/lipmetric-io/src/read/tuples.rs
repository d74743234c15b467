//! Pairs, triplets and quadruplets of rows.

use super::USUAL_LIMIT;
use super::lines::{Lines, not_utf8};
use crate::ids::{id_of, twice};
use crate::source::too_large;
use crate::{Error, Result, Source};
use lipmetric::data::{Column, Pair, Table, excerpt};
use std::collections::HashMap;

/// How files of pairs and comparisons name rows: by their numbers, counted from 1, or by their ids.
#[derive(Debug, Clone)]
pub struct RowNames {
    named: Named,
    /// What the rows are called.
    origin: String,
}

#[derive(Debug, Clone)]
enum Named {
    /// By number; so many at most, where that is known.
    Numbers(Option<usize>),
    /// By the values of a column.
    Ids { column: String, rows: HashMap<String, usize>, names: Vec<String> },
}

impl RowNames {
    /// The numbers of a table's rows.
    #[must_use]
    pub fn numbers(table: &Table) -> Self {
        Self { named: Named::Numbers(Some(table.rows())), origin: table.origin.clone() }
    }

    /// The ids in a column of the table.
    ///
    /// # Errors
    /// If a row has none, or two have the same.
    pub fn ids(table: &Table, column: &Column) -> Result<Self> {
        let (mut rows, mut names) = (HashMap::with_capacity(table.rows()), Vec::with_capacity(table.rows()));
        for i in 0..table.rows() {
            let id = id_of(table, column, i)?;
            names.push(id.clone());
            if let Some(first) = rows.insert(id.clone(), i) {
                return Err(twice(table, column, i, &id, &table.place(first)));
            }
        }
        Ok(Self { named: Named::Ids { column: column.name.clone(), rows, names }, origin: table.origin.clone() })
    }

    /// What a row is called, as it is found by.
    #[must_use]
    pub fn name(&self, row: usize) -> String {
        match &self.named {
            Named::Numbers(_) => (row + 1).to_string(),
            Named::Ids { names, .. } => names.get(row).cloned().unwrap_or_default(),
        }
    }

    fn find(&self, cell: &str) -> Result<usize, String> {
        let shown = excerpt(cell);
        match &self.named {
            Named::Ids { column, rows, .. } => rows
                .get(cell)
                .copied()
                .ok_or_else(|| format!("no row of {} has the id `{shown}` in its column `{column}`", self.origin)),
            Named::Numbers(most) => match (cell.parse::<usize>(), most) {
                (Ok(n), Some(most)) if n > *most => {
                    Err(format!("there is no row {n}: {} has {most} rows, counted from 1", self.origin))
                }
                (Ok(n), _) if n > 0 => Ok(n - 1),
                _ => Err(format!("`{shown}` is no row number: rows are counted from 1")),
            },
        }
    }
}

/// Reads line by line. `take` gets the cells, and says what is wrong with them; a first line that names nothing is a header.
fn each_line(
    source: &Source,
    header: impl Fn(&[&str]) -> bool,
    mut take: impl FnMut(&[&str]) -> Result<usize, String>,
) -> Result<()> {
    let mut lines = Lines::new(source.open(false)?.input);
    let mut bytes = 0u64;
    while let Some((number, line)) = lines.next()? {
        let fail = |message| Error::data_at_line(source.name(), number, message);
        let line = std::str::from_utf8(line).map_err(|e| fail(not_utf8(line, e)))?;
        let line = line.trim_start_matches('\u{feff}');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = match line.contains([',', '\t', ';']) {
            true => line.split([',', '\t', ';']).map(|c| c.trim().trim_matches('"')).collect(),
            false => line.split_whitespace().map(|c| c.trim_matches('"')).collect(),
        };
        if number == 1 && header(&cells) {
            continue;
        }
        bytes += take(&cells).map_err(fail)? as u64;
        if bytes > USUAL_LIMIT {
            return Err(too_large(&source.name(), USUAL_LIMIT));
        }
    }
    Ok(())
}

/// Whether cells can be the names of columns: none names a row, and none is a number.
fn are_names(cells: &[&str], names: &RowNames) -> bool {
    cells.iter().all(|c| c.parse::<f64>().is_err() && names.find(c).is_err())
}

fn rows_of<const N: usize>(cells: &[&str], names: &RowNames) -> Result<[usize; N], String> {
    let mut out = [0; N];
    for (at, cell) in out.iter_mut().zip(cells) {
        *at = names.find(cell)?;
    }
    Ok(out)
}

/// Whether a pair is similar.
fn similar(cell: &str) -> Option<bool> {
    if let Ok(number) = cell.parse::<f64>() {
        return [(1.0, true), (-1.0, false), (0.0, false)].iter().find(|(n, _)| *n == number).map(|(_, s)| *s);
    }
    match cell.to_ascii_lowercase().as_str() {
        "similar" | "same" | "true" | "yes" => Some(true),
        "dissimilar" | "different" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Reads pairs: lines of two rows, whether they are similar (`1`, or `-1` if not), and a strength if it is not 1.
///
/// ```
/// use lipmetric::data::{Column, Pair, Table};
/// use lipmetric_io::{Source, read::{RowNames, read_pairs}};
/// let table = Table::new("rows.csv", vec![Column::numbers("x", vec![0.0, 1.0, 2.0])]);
/// let source = Source::bytes("pairs.csv", "first,second,similar,strength\n1,2,1\n2,3,-1,0.5\n");
/// let pairs = read_pairs(&source, &RowNames::numbers(&table))?;
/// assert_eq!(pairs, [Pair::similar(0, 1), Pair::dissimilar(1, 2).with_strength(0.5)]);
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
///
/// # Errors
/// If the source cannot be read, names a row that is not there or pairs one with itself, or a line is no pair.
pub fn read_pairs(source: &Source, names: &RowNames) -> Result<Vec<Pair>> {
    let mut out = Vec::new();
    let header = |cells: &[&str]| are_names(cells, names);
    each_line(source, header, |cells| {
        let (&[_, _, kind] | &[_, _, kind, _]) = cells else {
            return Err(format!(
                "{} cells where a pair has two rows, 1 (similar) or -1 (dissimilar), and perhaps a strength, such as 4,17,-1",
                cells.len()
            ));
        };
        let [first, second] = rows_of(cells, names)?;
        let Some(similar) = similar(kind) else {
            return Err(format!(
                "`{}` says neither similar (1) nor dissimilar (-1); a strength stands in a fourth cell",
                excerpt(kind)
            ));
        };
        if first == second {
            return Err(format!("the row `{}` is paired with itself", excerpt(cells[0])));
        }
        let strength = match cells.get(3) {
            Some(cell) => cell
                .parse()
                .ok()
                .filter(|s: &f64| *s > 0.0 && s.is_finite())
                .ok_or_else(|| format!("the strength `{}` is not a number above 0", excerpt(cell)))?,
            None => 1.0,
        };
        let pair = if similar { Pair::similar(first, second) } else { Pair::dissimilar(first, second) };
        out.push(pair.with_strength(strength));
        Ok(size_of::<Pair>())
    })?;
    Ok(out)
}

/// Reads pairs of which nothing is known, to ask about: lines of two rows. Further cells are not looked at.
///
/// # Errors
/// If the source cannot be read, names a row that is not there, or a line has fewer than two cells.
pub fn read_asked_pairs(source: &Source, names: &RowNames) -> Result<Vec<[usize; 2]>> {
    let mut out = Vec::new();
    let header = |cells: &[&str]| are_names(&cells[..cells.len().min(2)], names);
    each_line(source, header, |cells| {
        if cells.len() < 2 {
            return Err("one cell where a pair has two rows, such as 4,17".to_owned());
        }
        out.push(rows_of(cells, names)?);
        Ok(size_of::<[usize; 2]>())
    })?;
    Ok(out)
}

/// Reads comparisons: lines of three rows `i,j,l`, for "row `i` is nearer to row `j` than to row `l`", or of four rows `i,j,k,l`,
/// for "rows `i` and `j` are nearer to each other than rows `k` and `l`". A first line of names is skipped.
///
/// # Errors
/// If the source cannot be read, names a row that is not there, or a line has another number of cells.
pub fn read_comparisons<const N: usize>(source: &Source, names: &RowNames) -> Result<Vec<[usize; N]>> {
    let mut out = Vec::new();
    each_line(
        source,
        |cells| are_names(cells, names),
        |cells| {
            if cells.len() != N {
                let (count, example) = if N == 3 { ("three", "1,5,9") } else { ("four", "1,5,9,12") };
                return Err(format!("{} cells where a comparison has {count} rows, such as {example}", cells.len()));
            }
            out.push(rows_of(cells, names)?);
            Ok(size_of::<[usize; N]>())
        },
    )?;
    Ok(out)
}

/// Reads triplets by the numbers of rows, counted from 1, of a table that is not at hand. The numbers that are returned count from
/// 0.
///
/// ```
/// use lipmetric_io::{Source, read::read_triplets};
/// assert_eq!(read_triplets(&Source::bytes("told.csv", "i,j,l\n1,2,3\n4,3,2\n"))?, [[0, 1, 2], [3, 2, 1]]);
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
///
/// # Errors
/// As [`read_comparisons`].
pub fn read_triplets(source: &Source) -> Result<Vec<[usize; 3]>> {
    read_comparisons(source, &RowNames { named: Named::Numbers(None), origin: String::new() })
}
