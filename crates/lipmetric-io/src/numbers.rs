//! Numbers as text, both ways.

use lipmetric::data::{is_missing, number};

/// The shortest text that reads back as the same number; whole numbers without a decimal point.
pub(crate) fn shortest(value: f64) -> String {
    // Debug rather than Display: it turns to exponents instead of printing hundreds of zeros.
    let mut text = format!("{value:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// The number of a cell, NaN if it is missing, `None` if it is text.
pub(crate) fn number_or_missing(cell: &str) -> Option<f64> {
    number(cell).or_else(|| is_missing(cell).then_some(f64::NAN))
}

/// The whole number that a text writes out as one would write it: no sign, zeros or point that it does not need.
pub(crate) fn as_whole(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|v| v.to_string() == text)
}

/// A plus or leading zeros mean a code rather than a quantity.
pub(crate) fn is_code(cell: &str) -> bool {
    let digits = cell.len() > 1 && cell.bytes().all(|b| b.is_ascii_digit());
    cell.starts_with('+') || (digits && cell.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_text_reads_back_and_stays_short() {
        for v in [0.0, -0.0, 1.0, -2.5, 0.1, 1e300, 5e-324, f64::MAX, 1e16, 123_456_789.0, f64::INFINITY] {
            let text = shortest(v);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), v.to_bits(), "{text}");
            assert!(text.len() <= 24, "{text}");
        }
        assert_eq!(shortest(3.0), "3");
    }
}
