//! A data set's fingerprint: the same for the same columns and labels, whatever file they came from.

use lipmetric::prepare::{Cells, Dataset, Encoding};
use sha2::{Digest, Sha256};

/// SHA-256, in hexadecimal, of the features (their names, and their cells as they were read) and of the labels.
#[must_use]
pub fn fingerprint(data: &Dataset) -> String {
    let mut hash = Hash(Sha256::new());
    for (feature, cells) in data.schema.features.iter().zip(data.columns.cells()) {
        hash.text(&feature.name);
        match cells {
            Cells::Number(values) => {
                // All missing values are one.
                let bits = |v: &f64| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() };
                hash.numbers(values.iter().map(bits));
            }
            Cells::Level(codes) => hash.numbers(codes.iter().map(|&code| u64::from(code))),
        }
        if let Encoding::Category { levels } = &feature.encoding {
            levels.iter().for_each(|level| hash.text(level));
        }
    }
    if let Some(numbers) = data.labels.numbers() {
        hash.numbers(numbers.iter().map(|v| v.to_bits()));
        return hash.finish();
    }
    data.labels.classes().iter().for_each(|class| hash.text(class));
    hash.numbers(data.labels.codes().iter().map(|&code| u64::from(code)));
    hash.finish()
}

/// SHA-256 of a text, in hexadecimal.
#[must_use]
pub fn fingerprint_of_text(text: &str) -> String {
    let mut hash = Hash(Sha256::new());
    hash.text(text);
    hash.finish()
}

/// Parts after their lengths, so that no two sequences of parts are the same bytes.
struct Hash(Sha256);

impl Hash {
    fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) {
        self.0.update((numbers.len() as u64).to_le_bytes());
        numbers.for_each(|number| self.0.update(number.to_le_bytes()));
    }

    fn finish(self) -> String {
        self.0.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }
}
