//! A certificate in the model file: docs/model-file.md says what each part is.

use super::tensors::{Tensors, Written, codes, matrix, vector};
use lipmetric::Metric;
use lipmetric::data::Pair;
use lipmetric::problem::{Certificate, GivenPairs, SupportPair};
use serde::{Deserialize, Serialize};

/// What of a certificate is no tensor: the multipliers that pairs share.
#[derive(Serialize, Deserialize)]
pub(super) struct Shared {
    mean: f64,
    below: f64,
    beyond: f64,
    edge: f64,
    /// Where the problem is one of pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plain: Option<f64>,
}

impl Shared {
    pub(super) fn of(certificate: &Certificate) -> Self {
        let &Certificate { mean, below, beyond, edge, .. } = certificate;
        Self { mean, below, beyond, edge, plain: certificate.given.as_ref().map(|given| given.plain) }
    }
}

const PAIRS: &str = "certificate.pairs";
const MULTIPLIERS: &str = "certificate.multipliers";
const SIDES: &str = "certificate.sides";
const WEIGHTS: &str = "certificate.weights";
const SLACK: &str = "certificate.slack";
const BASIS: &str = "certificate.basis";
const GIVEN: &str = "certificate.given";
const STRENGTHS: &str = "certificate.strengths";

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
    if let Some(GivenPairs { pairs, .. }) = &certificate.given {
        let row = |p: &Pair| [p.first as u32, p.second as u32, u32::from(p.similar)];
        tensors.insert(GIVEN, codes(vec![pairs.len(), 3], pairs.iter().flat_map(row)));
        tensors.insert(STRENGTHS, vector(pairs.iter().map(|p| p.strength)));
    }
}

/// A certificate from its tensors.
pub(super) fn read(shared: &Shared, tensors: &Tensors<'_>) -> Result<Certificate, String> {
    let absent = |name: &str| format!("tensor `{name}` is absent");
    let pairs = listed(tensors, (PAIRS, MULTIPLIERS))?.ok_or_else(|| absent(PAIRS))?;
    let sides = Metric::new(tensors.matrix(SIDES)?.ok_or_else(|| absent(SIDES))?).map_err(|e| e.to_string())?;
    let mut certificate = Certificate::nothing(sides);
    certificate.pairs = pairs.into_iter().map(|(i, j, pushes, m)| SupportPair::new(i, j, pushes, m)).collect();
    let Shared { mean, below, beyond, edge, plain } = *shared;
    (certificate.mean, certificate.below, certificate.beyond, certificate.edge) = (mean, below, beyond, edge);
    certificate.weights = tensors.vector(WEIGHTS)?.unwrap_or_default();
    certificate.slack = tensors.vector(SLACK)?.unwrap_or_default();
    certificate.basis = tensors.matrix(BASIS)?;
    certificate.given = match (plain, listed(tensors, (GIVEN, STRENGTHS))?) {
        (Some(plain), Some(pairs)) => {
            let pair = |(i, j, similar, strength)| match similar {
                true => Pair::similar(i, j).with_strength(strength),
                false => Pair::dissimilar(i, j).with_strength(strength),
            };
            Some(GivenPairs::new(pairs.into_iter().map(pair).collect(), plain))
        }
        (None, None) => None,
        _ => return Err("the certificate has only a part of the pairs that it is one of".to_owned()),
    };
    Ok(certificate)
}

/// Two rows, a yes or no, and a number.
type Numbered = (usize, usize, bool, f64);

fn listed(tensors: &Tensors<'_>, (pairs, numbers): (&str, &str)) -> Result<Option<Vec<Numbered>>, String> {
    let (Some((shape, codes)), Some(values)) = (tensors.codes(pairs)?, tensors.vector(numbers)?) else {
        return Ok(None);
    };
    if shape != [values.len(), 3] {
        return Err(format!("the tensors `{pairs}` and `{numbers}` do not fit together"));
    }
    let one = |(pair, value): (&[u32], f64)| match pair[2] {
        kind @ (0 | 1) => Ok((pair[0] as usize, pair[1] as usize, kind == 1, value)),
        kind => Err(format!("the tensor `{pairs}` has {kind} where 0 and 1 are the kinds of pairs")),
    };
    codes.chunks_exact(3).zip(values).map(one).collect::<Result<_, _>>().map(Some)
}
