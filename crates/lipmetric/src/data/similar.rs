//! Names that may have been meant.

/// The name that was probably meant, if one is near enough: the same but for case, blanks and punctuation, or one or two letters.
///
/// ```
/// use lipmetric::data::similar;
/// assert_eq!(similar("Colour", ["age", "color"].into_iter()), Some("color"));
/// assert_eq!(similar("weight", ["age", "color"].into_iter()), None);
/// ```
#[must_use]
pub fn similar<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
    };
    let wanted = plain(name);
    let allowed = if wanted.len() >= 6 { 2 } else { usize::from(wanted.len() >= 3) };
    names.map(|n| (edits(&wanted, &plain(n)), n)).filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d).map(|(_, n)| n)
}

/// How many letters have to be changed, added or taken away.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let names = ["age", "blood pressure", "chol"];
        for (typed, meant) in [
            ("Age", Some("age")),
            ("Blood_Pressure", Some("blood pressure")),
            ("blod presure", Some("blood pressure")),
            ("cholesterol", None),
            ("zip", None),
            ("chl", Some("chol")),
        ] {
            assert_eq!(similar(typed, names.into_iter()), meant, "{typed}");
        }
    }
}
