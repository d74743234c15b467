//! Tensors in and out of a file.

use lipmetric::Matrix;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::BTreeMap;

/// A tensor to be written: type, shape, bytes.
pub(crate) type Tensor = (Dtype, Vec<usize>, Vec<u8>);

/// Tensors to be written, by name.
pub(super) type Written = BTreeMap<&'static str, Tensor>;

/// A matrix of 64-bit floats.
pub(super) fn matrix(m: &Matrix) -> Tensor {
    (Dtype::F64, vec![m.rows(), m.cols()], floats(m.as_slice().iter().copied()))
}

/// A list of 64-bit floats.
pub(super) fn vector(values: impl ExactSizeIterator<Item = f64>) -> Tensor {
    (Dtype::F64, vec![values.len()], floats(values))
}

/// 32-bit numbers without a sign.
pub(super) fn codes(shape: Vec<usize>, values: impl Iterator<Item = u32>) -> Tensor {
    (Dtype::U32, shape, values.flat_map(u32::to_le_bytes).collect())
}

fn floats(values: impl Iterator<Item = f64>) -> Vec<u8> {
    // Eight at a time: byte by byte it takes several times as long.
    let mut bytes = Vec::with_capacity(8 * values.size_hint().0);
    values.for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
    bytes
}

/// A shape, and the numbers.
type Codes = (Vec<usize>, Vec<u32>);

/// The tensors of a file that is read.
pub(super) struct Tensors<'a>(pub(super) &'a [(String, TensorView<'a>)]);

impl Tensors<'_> {
    fn find(&self, name: &str) -> Option<&TensorView<'_>> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, view)| view)
    }

    /// A matrix of 64-bit floats, if there is one of that name.
    pub(super) fn matrix(&self, name: &str) -> Result<Option<Matrix>, String> {
        let Some(view) = self.find(name) else { return Ok(None) };
        match (view.dtype(), view.shape()) {
            (Dtype::F64, &[rows, cols]) => {
                Matrix::from_vec(rows, cols, read_floats(view)).map(Some).map_err(|e| e.to_string())
            }
            _ => Err(format!("tensor `{name}` is not a matrix of 64-bit floats")),
        }
    }

    /// A list of 64-bit floats, if there is one of that name.
    pub(super) fn vector(&self, name: &str) -> Result<Option<Vec<f64>>, String> {
        let Some(view) = self.find(name) else { return Ok(None) };
        match (view.dtype(), view.shape()) {
            (Dtype::F64, &[_]) => Ok(Some(read_floats(view))),
            _ => Err(format!("tensor `{name}` is not a list of 64-bit floats")),
        }
    }

    /// 32-bit numbers without a sign, and their shape, if there are some of that name.
    pub(super) fn codes(&self, name: &str) -> Result<Option<Codes>, String> {
        let Some(view) = self.find(name) else { return Ok(None) };
        match view.dtype() {
            Dtype::U32 => {
                let values = view.data().chunks_exact(4).map(|b| u32::from_le_bytes(word(b))).collect();
                Ok(Some((view.shape().to_vec(), values)))
            }
            _ => Err(format!("tensor `{name}` does not hold 32-bit numbers")),
        }
    }
}

fn read_floats(view: &TensorView<'_>) -> Vec<f64> {
    view.data().chunks_exact(8).map(|b| f64::from_le_bytes(word(b))).collect()
}

fn word<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(bytes);
    word
}
