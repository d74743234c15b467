use crate::{Error, Result, Source};

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
    let text = String::from_utf8(source.read_all()?)
        .map_err(|_| Error::data(source.name(), "this is not text (UTF-8): give lines such as 1,5,9"))?;
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.split([',', '\t', ' ', ';']).filter(|c| !c.is_empty()).collect();
        let numbers: Option<Vec<usize>> = cells.iter().map(|c| c.parse().ok().filter(|&n: &usize| n > 0)).collect();
        match numbers.as_deref() {
            Some([]) => {}
            Some(&[i, j, l]) => out.push([i - 1, j - 1, l - 1]),
            _ if at == 0 && cells.iter().all(|c| c.parse::<f64>().is_err()) => {}
            _ => {
                return Err(Error::data_at_line(
                    source.name(),
                    at as u64 + 1,
                    format!("`{line}` is not three row numbers from 1 on, such as 1,5,9"),
                ));
            }
        }
    }
    Ok(out)
}
