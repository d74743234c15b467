//! Who names whom.

use std::collections::{BTreeMap, BTreeSet};

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// Edges from one name to another, each with the places that make it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    edges: BTreeMap<(String, String), Vec<Place>>,
}

impl Graph {
    /// Adds an edge, or a place to it.
    pub fn add(&mut self, from: &str, to: &str, place: Place) {
        self.edges.entry((from.to_owned(), to.to_owned())).or_default().push(place);
    }

    /// Takes an edge out; whether it was there and lay on a cycle.
    pub fn allow(&mut self, from: &str, to: &str) -> bool {
        let needed = self.reaches(to, from);
        self.edges.remove(&(from.to_owned(), to.to_owned())).is_some() && needed
    }

    fn reaches(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(name) = next.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                next.extend(self.edges.keys().filter(|(a, _)| a == name).map(|(_, b)| b.as_str()));
            }
        }
        false
    }

    /// A line for each edge that lies on a cycle, with the first place that makes it and how many there are.
    ///
    /// ```
    /// use structure::{Graph, Place};
    /// let mut graph = Graph::default();
    /// for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")] {
    ///     graph.add(from, to, Place { file: format!("{from}.rs"), line: 1 });
    /// }
    /// assert_eq!(graph.cycles(), ["a -> b (a.rs:1, 1 in all)", "b -> c (b.rs:1, 1 in all)", "c -> a (c.rs:1, 1 in all)"]);
    /// assert!(graph.allow("c", "a") && graph.cycles().is_empty());
    /// assert!(!graph.allow("c", "a") && !graph.allow("c", "d"));
    /// ```
    #[must_use]
    pub fn cycles(&self) -> Vec<String> {
        self.edges
            .iter()
            .filter(|((from, to), _)| self.reaches(to, from))
            .map(|((from, to), places)| {
                format!("{from} -> {to} ({}:{}, {} in all)", places[0].file, places[0].line, places.len())
            })
            .collect()
    }
}
