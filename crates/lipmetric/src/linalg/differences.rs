//! Sums over pairs of rows, where the rows are fewer than the pairs: products of differences with differences.

use crate::Matrix;

/// Numbers side by side: a sum has so many parts on every processor, so that it is the same on all.
const LANES: usize = 8;

/// `t <f, y_i - y_j>` of each pair `(i, j, t)`, with `f` its row of `features` and `y` rows of `image`.
pub(crate) fn along_differences(features: &Matrix, pairs: &[(u32, u32, f64)], image: &Matrix) -> Vec<f64> {
    struct Kernel<'a>(&'a Matrix, &'a [(u32, u32, f64)], &'a Matrix, &'a mut [f64]);
    impl pulp::NullaryFnOnce for Kernel<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(features, pairs, image, out) = self;
            for (k, &(i, j, t)) in pairs.iter().enumerate() {
                out[k] = t * product(features.row(k), (image.row(i as usize), image.row(j as usize)));
            }
        }
    }
    let mut out = vec![0.0; pairs.len()];
    pulp::Arch::new().dispatch(Kernel(features, pairs, image, &mut out));
    out
}

/// `sums_i += s t f` and `sums_j -= s t f` of each pair `(i, j, t)`, with `f` its row of `features` and `s` its element of `scale`.
pub(crate) fn gather_differences(sums: &mut Matrix, features: &Matrix, pairs: &[(u32, u32, f64)], scale: &[f64]) {
    struct Kernel<'a>(&'a mut Matrix, &'a Matrix, &'a [(u32, u32, f64)], &'a [f64]);
    impl pulp::NullaryFnOnce for Kernel<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(sums, features, pairs, scale) = self;
            for (k, &(i, j, t)) in pairs.iter().enumerate() {
                let (w, f) = (t * scale[k], features.row(k));
                add_multiple(sums.row_mut(i as usize), w, f);
                add_multiple(sums.row_mut(j as usize), -w, f);
            }
        }
    }
    pulp::Arch::new().dispatch(Kernel(sums, features, pairs, scale));
}

/// `<x_i - x_j, y_i - y_j>` of each pair.
pub(crate) fn differences_with_image(x: &Matrix, y: &Matrix, pairs: &mut dyn Iterator<Item = (u32, u32)>) -> Vec<f64> {
    struct Kernel<'a>(&'a Matrix, &'a Matrix, &'a [(u32, u32)], &'a mut [f64]);
    impl pulp::NullaryFnOnce for Kernel<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(x, y, pairs, out) = self;
            let mut difference = vec![0.0; x.cols()];
            for (o, &(i, j)) in out.iter_mut().zip(pairs) {
                let (a, b) = (&x.row(i as usize)[..difference.len()], &x.row(j as usize)[..difference.len()]);
                for k in 0..difference.len() {
                    difference[k] = a[k] - b[k];
                }
                *o = product(&difference, (y.row(i as usize), y.row(j as usize)));
            }
        }
    }
    let pairs: Vec<(u32, u32)> = pairs.collect();
    let mut out = vec![0.0; pairs.len()];
    pulp::Arch::new().dispatch(Kernel(x, y, &pairs, &mut out));
    out
}

/// `<f, a - b>`.
#[inline(always)]
fn product(f: &[f64], (a, b): (&[f64], &[f64])) -> f64 {
    let mut sums = [0.0; LANES];
    let ((f, f_rest), (a, a_rest), (b, b_rest)) =
        (f.as_chunks::<LANES>(), a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for k in 0..f.len().min(a.len()).min(b.len()) {
        for l in 0..LANES {
            sums[l] += f[k][l] * (a[k][l] - b[k][l]);
        }
    }
    for l in 0..f_rest.len().min(a_rest.len()).min(b_rest.len()) {
        sums[l] += f_rest[l] * (a_rest[l] - b_rest[l]);
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// Adds `w` times a row to another.
#[inline(always)]
fn add_multiple(to: &mut [f64], w: f64, row: &[f64]) {
    let n = row.len().min(to.len());
    let (to, row) = (&mut to[..n], &row[..n]);
    for k in 0..n {
        to[k] += w * row[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg;

    #[test]
    fn sums_over_pairs_are_those_of_a_double_loop() {
        let value = |k: usize| (k * 7919 % 1013) as f64 / 1013.0 - 0.5;
        for p in [1, 3, 8, 21] {
            let x = Matrix::from_vec(5, p, (0..5 * p).map(value).collect()).unwrap();
            let d = Matrix::from_vec(p, p, (0..p * p).map(|k| value(k + 100)).collect()).unwrap();
            let image = linalg::product(&x, &d);
            let pairs = [(0, 1, 0.5), (3, 2, 2.0), (0, 4, 1.5)];
            let mut features = Matrix::zeros(3, p);
            for (k, &(i, j, t)) in pairs.iter().enumerate() {
                for c in 0..p {
                    features[(k, c)] = t * (x[(i as usize, c)] - x[(j as usize, c)]);
                }
            }
            let through = linalg::product(&features, &d);
            let along = along_differences(&features, &pairs, &image);
            let lengths = differences_with_image(&x, &image, &mut pairs.iter().map(|r| (r.0, r.1)));
            let mut sums = Matrix::zeros(5, p);
            let scale = [1.0, -2.0, 0.7];
            gather_differences(&mut sums, &features, &pairs, &scale);
            let found = linalg::transposed_product(&x, &sums);
            for (k, &(_, _, t)) in pairs.iter().enumerate() {
                let plain = linalg::dot(features.row(k), through.row(k));
                assert!((along[k] - plain).abs() < 1e-12 && (lengths[k] * t * t - plain).abs() < 1e-12);
            }
            for a in 0..p {
                for b in 0..p {
                    let plain: f64 = (0..3).map(|k| scale[k] * features[(k, a)] * features[(k, b)]).sum();
                    assert!((found[(a, b)] - plain).abs() < 1e-12);
                }
            }
        }
    }
}
