//! Where rows come from.

use crate::Result;
use lipmetric::{Labels, Matrix};

/// Rows and the names of their classes: of a CSV file, or made up (`synthetic:`, `letters:` or `sonar:ROWSxFEATURESxCLASSES`).
pub(crate) fn load(source: &str) -> Result<(Matrix, Vec<String>)> {
    type Made = fn(&[usize; 3], &mut Normal) -> Matrix;
    let (made, size): (Made, &str) = match source.split_once(':') {
        Some(("synthetic", size)) => (synthetic, size),
        Some(("letters", size)) => (letters, size),
        Some(("sonar", size)) => (sonar, size),
        _ => return csv(source),
    };
    let sizes = size.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let &[rows, features, classes] = &sizes[..] else { return Err("a size is ROWSxFEATURESxCLASSES".into()) };
    let names = (0..rows).map(|i| format!("c{}", i % classes)).collect();
    Ok((made(&[rows, features, classes], &mut Normal(1)), names))
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

/// Random numbers that are nearly normal: the sum of twelve even ones.
struct Normal(u64);

impl Normal {
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}

/// Overlapping classes around random centres, with correlated noise.
fn synthetic(&[rows, features, classes]: &[usize; 3], normal: &mut Normal) -> Matrix {
    let centres: Vec<f64> =
        (0..classes * features).map(|k| normal.next() / (1.0 + (k % features) as f64 * 0.2)).collect();
    let mut x = Matrix::zeros(rows, features);
    for i in 0..rows {
        let class = i % classes;
        let common = normal.next();
        for k in 0..features {
            x[(i, k)] = 2.0 * centres[class * features + k] + normal.next() + 0.5 * common;
        }
    }
    x
}

/// Like printed letters described by whole numbers from 0 to 15: each class has three fonts, clusters of their own that
/// reach into those of other classes.
fn letters(&[rows, features, classes]: &[usize; 3], normal: &mut Normal) -> Matrix {
    const FONTS: usize = 3;
    let clusters = classes * FONTS;
    let common: Vec<f64> = (0..classes * features).map(|_| 7.0 + 2.5 * normal.next()).collect();
    let centres: Vec<f64> =
        (0..clusters * features).map(|k| common[k % (classes * features)] + 1.2 * normal.next()).collect();
    let mut x = Matrix::zeros(rows, features);
    for i in 0..rows {
        let font = (normal.even() * FONTS as f64) as usize;
        let at = (font * classes + i % classes) * features;
        let size = normal.next();
        for k in 0..features {
            let along = if k % 2 == 0 { size } else { -size };
            x[(i, k)] = (centres[at + k] + 1.1 * normal.next() + 0.7 * along).round().clamp(0.0, 15.0);
        }
    }
    x
}

/// Like the energies of neighbouring bands of an echo: between 0 and 1, each much like the ones beside it; classes differ by a
/// little in some bands.
fn sonar(&[rows, features, classes]: &[usize; 3], normal: &mut Normal) -> Matrix {
    let mut x = Matrix::zeros(rows, features);
    for i in 0..rows {
        let mut state = normal.next();
        for k in 0..features {
            state = 0.9 * state + 0.44 * normal.next();
            let top = 0.2 + 0.6 * (i % classes) as f64 / classes as f64;
            let hill = (-((k as f64 / features as f64 - top) / 0.1).powi(2)).exp();
            x[(i, k)] = 1.0 / (1.0 + (-(state + 0.8 * hill)).exp());
        }
    }
    x
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
