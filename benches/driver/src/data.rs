//! Where rows come from.

use crate::Result;
use lipmetric::{Labels, Matrix};

/// Rows and the names of their classes: of a CSV file, or made up (`synthetic:ROWSxFEATURESxCLASSES`).
pub(crate) fn load(source: &str) -> Result<(Matrix, Vec<String>)> {
    match source.strip_prefix("synthetic:") {
        Some(size) => synthetic(size),
        None => csv(source),
    }
}

/// As [`load`], with labels.
pub(crate) fn labelled(source: &str) -> Result<(Matrix, Labels)> {
    let (x, names) = load(source)?;
    Ok((x, Labels::from_names(names)))
}

fn csv(path: &str) -> Result<(Matrix, Vec<String>)> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let (cells, name) = line.rsplit_once(',').ok_or("a row needs a feature and a label")?;
        names.push(name.to_owned());
        for cell in cells.split(',') {
            values.push(cell.parse::<f64>()?);
        }
    }
    Ok((Matrix::from_vec(names.len(), values.len() / names.len().max(1), values)?, names))
}

/// Overlapping classes around random centres, with correlated noise.
fn synthetic(size: &str) -> Result<(Matrix, Vec<String>)> {
    let sizes = size.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let [rows, features, classes] = sizes[..] else { return Err("a size is ROWSxFEATURESxCLASSES".into()) };
    let mut state = 1u64;
    let mut normal = || {
        let mut sum = 0.0;
        for _ in 0..12 {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            sum += ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum - 6.0
    };
    let centres: Vec<f64> = (0..classes * features).map(|k| normal() / (1.0 + (k % features) as f64 * 0.2)).collect();
    let mut x = Matrix::zeros(rows, features);
    let mut names = Vec::new();
    for i in 0..rows {
        let class = i % classes;
        let common = normal();
        for k in 0..features {
            x[(i, k)] = 2.0 * centres[class * features + k] + normal() + 0.5 * common;
        }
        names.push(format!("c{class}"));
    }
    Ok((x, names))
}

/// Rows of `f64` in little-endian order.
pub(crate) fn raw(path: &str, columns: usize) -> Result<Matrix> {
    let bytes = std::fs::read(path).map_err(|e| format!("{path}: {e}"))?;
    let values: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Ok(Matrix::from_vec(values.len() / columns, columns, values)?)
}

/// Zero mean and unit variance on the training rows `x`; the same map for `test`.
pub(crate) fn standardise(x: &mut Matrix, test: Option<&mut Matrix>) {
    let n = x.rows() as f64;
    let steps: Vec<(f64, f64)> = (0..x.cols())
        .map(|k| {
            let mean = (0..x.rows()).map(|i| x[(i, k)]).sum::<f64>() / n;
            let deviation = ((0..x.rows()).map(|i| (x[(i, k)] - mean).powi(2)).sum::<f64>() / n).sqrt();
            (mean, if deviation > 0.0 { deviation } else { 1.0 })
        })
        .collect();
    for m in std::iter::once(x).chain(test) {
        for i in 0..m.rows() {
            m.row_mut(i).iter_mut().zip(&steps).for_each(|(v, (mean, deviation))| *v = (*v - mean) / deviation);
        }
    }
}
