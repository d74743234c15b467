//! Pairs that are given, or drawn from labels.

use super::Training;
use crate::data::{Pair, check_pairs};
use crate::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Pairs of each kind that are drawn from labels, per pair of classes.
const EACH: usize = 20;
/// How many draws may fail for each pair that is wanted: there may be fewer pairs than that.
const DRAWS: usize = 50;

/// The pairs to learn from: those that are given, or as many as asked for of each kind, drawn from the labels.
pub(super) fn pairs_of<'a>(data: &Training<'a>, count: Option<usize>, seed: u64) -> Result<Cow<'a, [Pair]>> {
    if let Some(pairs) = data.pairs {
        check_pairs(pairs, data.x.rows())?;
        if data.weights.is_some() {
            return Err(Error::parameter("pairs", "given pairs take no row weights; give each pair a strength"));
        }
        let missing = |similar: bool| !pairs.iter().any(|p| p.similar == similar);
        for (similar, name, why) in [
            (true, "similar", "nothing says which rows should be near to each other"),
            (false, "dissimilar", "nothing says which rows should be far from each other"),
        ] {
            if missing(similar) {
                return Err(Error::parameter("pairs", format!("none is {name}: {why}; give at least one")));
            }
        }
        return Ok(Cow::Borrowed(pairs));
    }
    data.y.check_two_classes()?;
    let classes = data.y.counts().iter().filter(|&&n| n > 0).count();
    Ok(Cow::Owned(drawn(data, count.unwrap_or(EACH * classes * classes), seed)?))
}

/// So many different pairs of rows of equal label, and as many of different ones; fewer where there are not as many.
fn drawn(data: &Training<'_>, count: usize, seed: u64) -> Result<Vec<Pair>> {
    let used: Vec<usize> = (0..data.x.rows()).filter(|&i| data.weights.is_none_or(|w| w[i] > 0.0)).collect();
    let codes = data.y.codes();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut out = Vec::new();
    for similar in [true, false] {
        let mut known = BTreeSet::new();
        for _ in 0..DRAWS * count {
            let (i, j) = (used[rng.random_range(0..used.len())], used[rng.random_range(0..used.len())]);
            if i != j && (codes[i] == codes[j]) == similar && known.insert((i.min(j), i.max(j))) && known.len() == count
            {
                break;
            }
        }
        if known.is_empty() {
            let which = if similar { "the same label" } else { "different labels" };
            return Err(Error::data(format!("no two rows of {which} were found to learn from")));
        }
        // A row weight is a strength of its pairs.
        let weight = |i: usize| data.weights.map_or(1.0, |w| w[i]);
        out.extend(known.into_iter().map(|(first, second)| Pair {
            first,
            second,
            similar,
            strength: weight(first) * weight(second),
        }));
    }
    Ok(out)
}

/// Checks that comparisons name rows that are there, and no pair of a row with itself; `near` and `far` are the places of the rows
/// that should be near to each other, and of those that should be farther from each other.
pub(super) fn check_comparisons<const N: usize>(
    name: &'static str,
    all: &[[usize; N]],
    rows: usize,
    (near, far): ([usize; 2], [usize; 2]),
) -> Result<()> {
    if all.is_empty() {
        return Err(Error::parameter(name, "there are none: give at least one comparison"));
    }
    for (k, one) in all.iter().enumerate() {
        let fail = |message: String| Err(Error::parameter(name, format!("number {k} {message}")));
        if let Some(row) = one.iter().find(|&&row| row >= rows) {
            return fail(format!("names row {row}, but there are {rows} rows"));
        }
        let pair = |at: [usize; 2]| {
            let [i, j] = at.map(|place| one[place]);
            (i.min(j), i.max(j))
        };
        if pair(near) == pair(far) {
            let (i, j) = pair(near);
            return fail(match N {
                3 => format!("compares row {} with itself", one[1]),
                _ => format!("compares the rows {i} and {j} with themselves"),
            });
        }
    }
    Ok(())
}

/// Rows in which the distances between given pairs are those from the first row, which is zero; and the place of each pair.
pub(super) fn differences(
    x: &crate::Matrix,
    pairs: impl Iterator<Item = [usize; 2]>,
) -> Result<(crate::Matrix, Vec<usize>)> {
    let mut place = std::collections::BTreeMap::new();
    let mut values = vec![0.0; x.cols()];
    let mut at = Vec::new();
    for [i, j] in pairs {
        let next = place.len() + 1;
        let known = *place.entry((i.min(j), i.max(j))).or_insert(next);
        if known == next {
            values.extend(x.row(i).iter().zip(x.row(j)).map(|(a, b)| a - b));
        }
        at.push(known);
    }
    Ok((crate::Matrix::from_vec(place.len() + 1, x.cols(), values)?, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Matrix};

    #[test]
    fn pairs_drawn_from_labels_are_of_both_kinds_and_each_is_there_once() {
        let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]);
        let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
        let data = Training::new(&x, &y).unwrap();
        let pairs = pairs_of(&data, Some(4), 0).unwrap();
        assert_eq!(pairs.iter().filter(|p| p.similar).count(), 4);
        assert_eq!(pairs.iter().filter(|p| !p.similar).count(), 4);
        assert!(pairs.iter().all(|p| (y.codes()[p.first] == y.codes()[p.second]) == p.similar));
        // No more than there are.
        let all = pairs_of(&data, None, 1).unwrap();
        assert_eq!(all.iter().filter(|p| p.similar).count(), 6);
        assert_eq!(all.iter().filter(|p| !p.similar).count(), 9);
        let unique: BTreeSet<(usize, usize)> = all.iter().map(|p| (p.first, p.second)).collect();
        assert_eq!(unique.len(), all.len());
    }
}
