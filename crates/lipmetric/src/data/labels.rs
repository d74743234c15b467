//! Class labels: any strings, any number of classes.

use crate::{Error, Result};

/// Class labels as codes into a sorted list of distinct names.
///
/// Names that all read as numbers are sorted by value, others by their text.
///
/// ```
/// let y = lipmetric::Labels::from_names(["b", "a", "b"]);
/// assert_eq!(y.classes(), ["a", "b"]);
/// assert_eq!(y.codes(), [1, 0, 1]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<String>,
    codes: Vec<u32>,
}

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
        Self { classes: classes.into_iter().map(str::to_owned).collect(), codes }
    }

    /// Labels from codes into a given list of class names.
    ///
    /// # Errors
    /// If a code has no name.
    pub fn from_codes(classes: Vec<String>, codes: Vec<u32>) -> Result<Self> {
        if let Some(&bad) = codes.iter().find(|&&c| c as usize >= classes.len()) {
            return Err(Error::data(format!("class code {bad} has no name: there are {} classes", classes.len())));
        }
        Ok(Self { classes, codes })
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

    /// Checks that there are rows of two classes at least.
    ///
    /// # Errors
    /// If all rows are of one class, or there is none.
    pub fn check_two_classes(&self) -> Result<()> {
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

    /// The rows with these indices, in this order; the list of classes stays.
    ///
    /// # Panics
    /// If an index is out of range.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { classes: self.classes.clone(), codes: rows.iter().map(|&i| self.codes[i]).collect() }
    }
}
