//! Training rows whose labels the learned function does not believe.

use crate::output::{Align, TextTable, short};
use lipmetric::model::TrainingRows;
use serde::Serialize;

/// Slacks up to this are what a solver leaves of zero.
const NO_SLACK: f64 = 1e-6;

/// The rows that the learned function relabels (its value has the other sign than the label, a slack above 1) and those that it
/// bends (a smaller value than the label's, a slack up to 1), the largest slack first.
#[derive(Serialize, Clone)]
pub(super) struct Suspects {
    #[serde(skip)]
    pub(super) rows: usize,
    pub(super) relabelled: Vec<Suspect>,
    pub(super) bent: Vec<Suspect>,
}

#[derive(Serialize, Clone)]
pub(super) struct Suspect {
    /// `line 12` of the file, or `row 12` where it has no lines.
    place: String,
    /// The row among the training rows, from 0.
    row: usize,
    /// The class that its label says, as an index into the classes.
    class: u32,
    slack: f64,
}

impl Suspects {
    /// None where no function was learned.
    pub(super) fn of(rows: &TrainingRows) -> Option<Self> {
        let slack = rows.slack()?;
        let mut found: Vec<Suspect> = (slack.iter().enumerate())
            .filter(|(_, xi)| **xi > NO_SLACK)
            .map(|(row, &slack)| Suspect { place: rows.place(row), row, class: rows.y.codes()[row], slack })
            .collect();
        found.sort_by(|a, b| b.slack.total_cmp(&a.slack).then(a.row.cmp(&b.row)));
        let (relabelled, bent) = found.into_iter().partition(|s| s.slack > 1.0);
        Some(Self { rows: slack.len(), relabelled, bent })
    }

    /// The first rows of each kind; all where `most` is 0.
    pub(super) fn describe(&self, classes: &[String], most: usize) -> String {
        let mut text = String::new();
        for (listed, what) in [
            (&self.relabelled, "rows that the learned function relabels: their labels may be wrong"),
            (&self.bent, "rows that it bends: near rows of another class, its value is below the label's"),
        ] {
            text += &format!("{what} ({} of {})\n", listed.len(), self.rows);
            if listed.is_empty() {
                continue;
            }
            let most = if most == 0 { listed.len() } else { most };
            let mut table = TextTable::new(vec![Align::Left, Align::Left, Align::Right]);
            table.row(["row", "label", "slack"]);
            for suspect in listed.iter().take(most) {
                table.row([&suspect.place, &classes[suspect.class as usize], &short(suspect.slack)]);
            }
            text += &table.render();
            if listed.len() > most {
                text += &format!("and {} more (--rows 0 lists all)\n", listed.len() - most);
            }
        }
        text
    }
}
