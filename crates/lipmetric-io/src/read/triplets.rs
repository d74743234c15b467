use super::USUAL_LIMIT;
use super::lines::{Lines, not_utf8};
use crate::source::too_large;
use crate::{Error, Result, Source};
use lipmetric::data::excerpt;

/// Reads comparisons: lines of three row numbers `i,j,l`, counted from 1, for "row `i` is nearer to row `j` than to row
/// `l`". A first line of names is skipped. The numbers that are returned count from 0.
///
/// ```
/// use lipmetric_io::{Source, read::read_triplets};
/// assert_eq!(read_triplets(&Source::bytes("told.csv", "i,j,l\n1,2,3\n4,3,2\n"))?, [[0, 1, 2], [3, 2, 1]]);
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
///
/// # Errors
/// If the source cannot be read, is not text, or a line is not three row numbers.
pub fn read_triplets(source: &Source) -> Result<Vec<[usize; 3]>> {
    let mut lines = Lines::new(source.open(false)?.input);
    let mut out = Vec::new();
    while let Some((number, line)) = lines.next()? {
        let fail = |message| Error::data_at_line(source.name(), number, message);
        let line = std::str::from_utf8(line).map_err(|e| fail(not_utf8(line, e)))?;
        let cells: Vec<&str> = line.split([',', '\t', ' ', ';']).filter(|c| !c.is_empty()).collect();
        let numbers: Option<Vec<usize>> = cells.iter().map(|c| c.parse().ok().filter(|&n: &usize| n > 0)).collect();
        match numbers.as_deref() {
            Some([]) => {}
            Some(&[i, j, l]) => out.push([i - 1, j - 1, l - 1]),
            _ if number == 1 && cells.iter().all(|c| c.parse::<f64>().is_err()) => {}
            _ => {
                return Err(fail(format!("`{}` is not three row numbers from 1 on, such as 1,5,9", excerpt(line))));
            }
        }
        if out.len() as u64 * size_of::<[usize; 3]>() as u64 > USUAL_LIMIT {
            return Err(too_large(&source.name(), USUAL_LIMIT));
        }
    }
    Ok(out)
}
