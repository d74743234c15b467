//! What each row is labelled with: a class, any string, or a number.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// What is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Task {
    /// A class.
    #[default]
    Classification,
    /// A number.
    Regression,
    /// Nothing of a row alone: whether two rows are similar, or only how far they are apart.
    Pairs,
}

impl Task {
    /// Whether it is the usual one.
    #[must_use]
    pub fn is_classification(&self) -> bool {
        *self == Self::Classification
    }
}

impl std::str::FromStr for Task {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "classification" => Ok(Self::Classification),
            "regression" => Ok(Self::Regression),
            _ => Err(Error::parameter("task", format!("`{text}` is neither classification nor regression"))),
        }
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Classification => "classification",
            Self::Regression => "regression",
            Self::Pairs => "pairs",
        })
    }
}

/// Class labels as codes into a sorted list of distinct names.
///
/// Names that all read as numbers are sorted by value, others by their text.
///
/// Labels that are numbers to predict ([`Self::from_numbers`]) have the numbers, and in the classes' place *strata*: about ten
/// ranges of them with equally many rows each. Splits, folds and samples take rows from all strata in proportion, as they do from
/// classes. Only what is made for numbers may learn from such labels; see [`Self::task`].
///
/// ```
/// let y = lipmetric::Labels::from_names(["b", "a", "b"]);
/// assert_eq!(y.classes(), ["a", "b"]);
/// assert_eq!(y.codes(), [1, 0, 1]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    classes: Vec<String>,
    codes: Vec<u32>,
    numbers: Option<Vec<f64>>,
}

/// Strata of numbers, at most, ...
const STRATA: usize = 10;
/// ... and rows of each, at least, about: folds and splits take some of each.
const STRATUM: usize = 5;

impl Labels {
    /// Labels from the name of each row's class.
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<S> = names.into_iter().collect();
        let mut classes: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.iter().all(|c| c.parse::<f64>().is_ok_and(f64::is_finite)) {
            let value = |c: &str| c.parse::<f64>().unwrap_or(f64::NAN);
            classes.sort_by(|a, b| value(a).total_cmp(&value(b)));
        }
        let code: std::collections::HashMap<&str, u32> =
            classes.iter().enumerate().map(|(k, &c)| (c, k as u32)).collect();
        let codes = names.iter().map(|n| code[n.as_ref()]).collect();
        Self { classes: classes.into_iter().map(str::to_owned).collect(), codes, numbers: None }
    }

    /// Numbers that are to be predicted.
    ///
    /// ```
    /// let y = lipmetric::Labels::from_numbers((0..20).map(|i| f64::from(i) / 2.0).collect())?;
    /// assert_eq!(y.numbers().unwrap()[3], 1.5);
    /// assert_eq!(y.classes(), ["0 to 2", "2.5 to 4.5", "5 to 7", "7.5 to 9.5"]);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If one is not finite.
    pub fn from_numbers(numbers: Vec<f64>) -> Result<Self> {
        if let Some(i) = numbers.iter().position(|v| !v.is_finite()) {
            return Err(Error::data(format!("target {i} is {}: it must be finite", numbers[i])));
        }
        let n = numbers.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| numbers[i].total_cmp(&numbers[j]));
        let strata = (n / STRATUM).clamp(1, STRATA);
        let (mut codes, mut ends) = (vec![0; n], Vec::<(f64, f64)>::new());
        for (rank, &row) in order.iter().enumerate() {
            let value = numbers[row];
            // Equal numbers stay together.
            let begins = ends.last().is_none_or(|&(_, last)| rank * strata >= ends.len() * n && value > last);
            match ends.last_mut() {
                Some(range) if !begins => range.1 = value,
                _ => ends.push((value, value)),
            }
            codes[row] = (ends.len() - 1) as u32;
        }
        let name = |(from, to): &(f64, f64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
        Ok(Self { classes: ends.iter().map(name).collect(), codes, numbers: Some(numbers) })
    }

    /// No labels, for so many rows: all are of one class without a name. Only what learns from pairs or comparisons can use them.
    ///
    /// ```
    /// let y = lipmetric::Labels::none(3);
    /// assert_eq!((y.len(), y.task()), (3, lipmetric::Task::Pairs));
    /// ```
    #[must_use]
    pub fn none(rows: usize) -> Self {
        Self { classes: vec![String::new()], codes: vec![0; rows], numbers: None }
    }

    /// Whether these are no labels ([`Self::none`]).
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.numbers.is_none() && self.classes.len() == 1 && self.classes[0].is_empty()
    }

    /// Labels from codes into a given list of class names.
    ///
    /// # Errors
    /// If a code has no name.
    pub fn from_codes(classes: Vec<String>, codes: Vec<u32>) -> Result<Self> {
        if let Some(&bad) = codes.iter().find(|&&c| c as usize >= classes.len()) {
            return Err(Error::data(format!("class code {bad} has no name: there are {} classes", classes.len())));
        }
        Ok(Self { classes, codes, numbers: None })
    }

    /// The numbers that are to be predicted; none where classes are.
    #[must_use]
    pub fn numbers(&self) -> Option<&[f64]> {
        self.numbers.as_deref()
    }

    /// Whether classes or numbers are to be predicted, or there are no labels at all.
    #[must_use]
    pub fn task(&self) -> Task {
        match self.numbers {
            Some(_) => Task::Regression,
            None if self.are_none() => Task::Pairs,
            None => Task::Classification,
        }
    }

    /// The class names.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The class of each row, as an index into [`Self::classes`].
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// What row `i` is labelled with, in words: the name of its class, or its number.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn text(&self, i: usize) -> std::borrow::Cow<'_, str> {
        match &self.numbers {
            Some(numbers) => numbers[i].to_string().into(),
            None => self.name(i).into(),
        }
    }

    /// The name of row `i`'s class.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn name(&self, i: usize) -> &str {
        &self.classes[self.codes[i] as usize]
    }

    /// How many rows each class has.
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &c in &self.codes {
            counts[c as usize] += 1;
        }
        counts
    }

    /// Checks that there is something to learn: rows of two classes at least, or two different numbers.
    ///
    /// # Errors
    /// If all rows are of one class or have the same number, or there is none.
    pub fn check_two_classes(&self) -> Result<()> {
        if let Some([first, rest @ ..]) = self.numbers() {
            return match rest.iter().any(|v| v != first) {
                true => Ok(()),
                false => Err(Error::data(format!(
                    "all {} rows have the same target ({first}): there is nothing to learn",
                    self.len()
                ))),
            };
        }
        let counts = self.counts();
        let mut present = (0..counts.len()).filter(|&k| counts[k] > 0);
        match (present.next(), present.next()) {
            (Some(_), Some(_)) => Ok(()),
            (Some(only), None) => Err(Error::data(format!(
                "there is only one class (`{}`, on all {} rows): a metric is learned from rows of two or more",
                self.classes[only],
                self.len()
            ))),
            _ => Err(Error::data("there are no rows")),
        }
    }

    /// The rows of each class, in their order; none for a class without rows.
    ///
    /// ```
    /// let y = lipmetric::Labels::from_names(["b", "a", "b"]);
    /// assert_eq!(y.members(), [vec![1], vec![0, 2]]);
    /// ```
    #[must_use]
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members: Vec<Vec<usize>> = self.counts().into_iter().map(Vec::with_capacity).collect();
        for (i, &class) in self.codes.iter().enumerate() {
            members[class as usize].push(i);
        }
        members
    }

    /// Adds the rows of labels of the same classes, or numbers to numbers.
    pub(crate) fn append(&mut self, more: &Self) {
        self.codes.extend_from_slice(&more.codes);
        if let (Some(numbers), Some(more)) = (&mut self.numbers, &more.numbers) {
            numbers.extend_from_slice(more);
        }
    }

    /// The rows with these indices, in this order; the list of classes stays.
    ///
    /// # Panics
    /// If an index is out of range.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            classes: self.classes.clone(),
            codes: rows.iter().map(|&i| self.codes[i]).collect(),
            numbers: self.numbers.as_ref().map(|v| rows.iter().map(|&i| v[i]).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_are_ranges_of_about_equally_many_numbers_and_equal_ones_stay_together() {
        let y = Labels::from_numbers((0..203).map(|i| f64::from((i * 37) % 101)).collect()).unwrap();
        assert_eq!((y.classes().len(), y.task()), (10, Task::Regression));
        assert!(y.counts().iter().all(|c| (17..=24).contains(c)), "{:?}", y.counts());
        let v = y.numbers().unwrap();
        for i in 0..203 {
            for j in 0..203 {
                assert!(v[i] > v[j] || y.codes()[i] <= y.codes()[j]);
            }
        }
        let part = y.select(&[5, 0]);
        assert_eq!((part.numbers().unwrap()[1], part.codes()[0]), (v[0], y.codes()[5]));
        let most = Labels::from_numbers(vec![3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 4.0]).unwrap();
        assert_eq!(most.counts(), [10, 1]);
        assert!(most.check_two_classes().is_ok());
        assert!(Labels::from_numbers(vec![2.0; 4]).unwrap().check_two_classes().is_err());
        assert!(Labels::from_numbers(vec![2.0, f64::NAN]).is_err());
    }
}
