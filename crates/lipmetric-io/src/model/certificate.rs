//! A certificate in the model file: docs/model-file.md says what each part is.

use super::tensors::{Tensors, Written, codes, matrix, vector};
use lipmetric::Metric;
use lipmetric::problem::{Certificate, SupportPair};
use serde::{Deserialize, Serialize};

/// What of a certificate is no tensor: the multipliers that pairs share.
#[derive(Serialize, Deserialize)]
pub(super) struct Shared {
    mean: f64,
    below: f64,
    beyond: f64,
    edge: f64,
}

impl Shared {
    pub(super) fn of(certificate: &Certificate) -> Self {
        let &Certificate { mean, below, beyond, edge, .. } = certificate;
        Self { mean, below, beyond, edge }
    }
}

const PAIRS: &str = "certificate.pairs";
const MULTIPLIERS: &str = "certificate.multipliers";
const SIDES: &str = "certificate.sides";
const WEIGHTS: &str = "certificate.weights";
const SLACK: &str = "certificate.slack";
const BASIS: &str = "certificate.basis";

/// Adds a certificate's tensors.
pub(super) fn write(certificate: &Certificate, tensors: &mut Written) {
    let pairs = &certificate.pairs;
    let row = |p: &SupportPair| [p.first as u32, p.second as u32, u32::from(p.pushes)];
    tensors.insert(PAIRS, codes(vec![pairs.len(), 3], pairs.iter().flat_map(row)));
    tensors.insert(MULTIPLIERS, vector(pairs.iter().map(|p| p.multiplier)));
    tensors.insert(SIDES, matrix(certificate.sides.factor()));
    for (name, values) in [(WEIGHTS, &certificate.weights), (SLACK, &certificate.slack)] {
        if !values.is_empty() {
            tensors.insert(name, vector(values.iter().copied()));
        }
    }
    if let Some(basis) = &certificate.basis {
        tensors.insert(BASIS, matrix(basis));
    }
}

/// A certificate from its tensors.
pub(super) fn read(shared: &Shared, tensors: &Tensors<'_>) -> Result<Certificate, String> {
    let absent = |name: &str| format!("tensor `{name}` is absent");
    let (shape, pairs) = tensors.codes(PAIRS)?.ok_or_else(|| absent(PAIRS))?;
    let multipliers = tensors.vector(MULTIPLIERS)?.ok_or_else(|| absent(MULTIPLIERS))?;
    if shape != [multipliers.len(), 3] {
        return Err("the certificate's pairs and multipliers do not fit together".to_owned());
    }
    let sides = Metric::new(tensors.matrix(SIDES)?.ok_or_else(|| absent(SIDES))?).map_err(|e| e.to_string())?;
    let mut certificate = Certificate::nothing(sides);
    for (pair, multiplier) in pairs.chunks_exact(3).zip(multipliers) {
        if pair[2] > 1 {
            return Err("the certificate has a pair that neither pushes nor bounds the diameter".to_owned());
        }
        let (first, second) = (pair[0] as usize, pair[1] as usize);
        certificate.pairs.push(SupportPair::new(first, second, pair[2] == 1, multiplier));
    }
    let Shared { mean, below, beyond, edge } = *shared;
    (certificate.mean, certificate.below, certificate.beyond, certificate.edge) = (mean, below, beyond, edge);
    certificate.weights = tensors.vector(WEIGHTS)?.unwrap_or_default();
    certificate.slack = tensors.vector(SLACK)?.unwrap_or_default();
    certificate.basis = tensors.matrix(BASIS)?;
    Ok(certificate)
}
