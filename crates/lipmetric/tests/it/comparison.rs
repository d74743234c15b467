//! Comparisons: what is left of one that was given up, and what its differences are worth.

use crate::lip_common::pairwise;
use lipmetric::data::{Column, Split, Table, holdouts};
use lipmetric::evaluate::statistics::Verdict;
use lipmetric::evaluate::{Advance, Analysis, Comparison, Confusion, Entry, Protocol, Supervisor, Trial, trials};
use lipmetric::method::{Euclidean, Outcome, Spec};
use lipmetric::model::Recipe;
use lipmetric::prepare::{Dataset, Roles};
use lipmetric::problem::Variant;
use lipmetric::solver::{Observer, Silent, Status};
use lipmetric::{Error, Labels};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gives up after so many fits.
struct After(AtomicUsize);

impl Supervisor for After {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Silent)
    }

    fn advanced(&self, at: &Advance) {
        assert!(at.done <= at.total && at.seconds_left.is_finite());
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    }

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

fn subject(name: &str, rows: u32) -> Dataset {
    let column = |name: &str, value: &dyn Fn(u32) -> f64| Column::numbers(name, (0..rows).map(value).collect());
    let columns = vec![
        column("a", &|i| f64::from(i * 37 % 11) + f64::from(i % 2)),
        column("b", &|i| f64::from(i * 53 % 17)),
        column("y", &|i| f64::from(i % 2)),
    ];
    Dataset::read(&Table::new(name, columns), &Roles::default()).unwrap()
}

fn without_times(mut comparison: Comparison) -> Comparison {
    for trial in comparison.cells.iter_mut().flatten().flat_map(|c| &mut c.trials).flatten() {
        trial.fit_seconds = 0.0;
    }
    comparison
}

#[test]
fn one_that_was_given_up_is_one_with_fewer_repeats() {
    let subjects = [subject("small", 24), subject("large", 40)];
    let lip = Spec::from(pairwise(Variant::Diameter).c_rel(0.1));
    let plain = Spec::from(Euclidean::new());
    let entries = [
        Entry { name: "NN".into(), recipe: Recipe::new(&plain) },
        Entry { name: "Lip".into(), recipe: Recipe::new(&lip) },
    ];
    let run = |repeats, fits| {
        let protocol = Protocol { repeats, ..Protocol::default() };
        Comparison::run(&subjects, &entries, &protocol, &After(AtomicUsize::new(fits))).map(without_times)
    };
    let whole = run(6, usize::MAX).unwrap();
    assert_eq!(whole.repeats(), 6);
    // Four cells to a split; a fit or two more may be under way when it is given up.
    let part = run(6, 13).unwrap();
    let done = part.repeats();
    assert!((3..6).contains(&done), "{done}");
    assert_eq!(part, run(done, usize::MAX).unwrap());
    for (some, all) in part.cells.iter().flatten().zip(whole.cells.iter().flatten()) {
        assert_eq!(some.trials, all.trials[..done]);
    }
    assert_eq!(run(6, 0).unwrap_err(), Error::Interrupted);
    // A single recipe on splits of one's own.
    let splits = holdouts(&subjects[0].labels, 0.6, 6, 0).unwrap();
    let tried = |fits| trials(&subjects[0], &entries[1].recipe, &splits, &After(AtomicUsize::new(fits)));
    for (trial, other) in tried(usize::MAX).unwrap().iter().zip(&whole.cells[0][1].trials) {
        assert_eq!(trial.confusion, other.as_ref().unwrap().confusion);
    }
    assert!(tried(0).is_err());
}

fn trial(right: usize) -> Trial {
    let mut confusion = Confusion::new(vec!["a".into(), "b".into()]);
    (0..100).for_each(|i| confusion.add(0, u32::from(i >= right)));
    let outcome = Outcome::new(Status::Optimal, 1);
    Trial::new(confusion, 0.0, outcome)
}

/// `right[data set][method][split]` of 100 rows.
fn comparison(right: &[Vec<Vec<usize>>]) -> Comparison {
    let split = Split { train: (0..150).collect(), test: (150..250).collect() };
    let repeats = right[0][0].len();
    let subjects = (0..right.len()).map(|s| format!("set {s}")).collect();
    let methods = ["NN", "good", "bad"].iter().take(right[0].len()).map(ToString::to_string).collect();
    let cell = |results: &Vec<usize>| results.iter().map(|&r| Ok(trial(r))).collect();
    let trials: Vec<Vec<Vec<_>>> = right.iter().map(|row| row.iter().map(cell).collect()).collect();
    let splits = vec![vec![split; repeats]; right.len()];
    Comparison::from_trials(subjects, methods, splits, trials).unwrap()
}

#[test]
fn results_that_do_not_fit_their_splits_are_refused() {
    let made = comparison(&[vec![vec![90, 80]]]);
    let trials = |n: usize| vec![vec![vec![Ok(trial(90)); n]]];
    let of = |trials| Comparison::from_trials(made.subjects.clone(), made.methods.clone(), made.splits.clone(), trials);
    assert!(of(trials(2)).is_ok());
    let wrong = [(trials(3), "trials of a method"), (vec![vec![]], "methods"), (vec![], "data sets with trials")];
    for (trials, what) in wrong {
        assert!(of(trials).unwrap_err().to_string().contains(what));
    }
}

/// Ten results with the same mean, in another order for another shift.
fn around(base: usize, shift: usize) -> Vec<usize> {
    let spread = [0, 3, 1, 4, 2, 5, 3, 1, 0, 2];
    (0..10).map(|r| base + spread[(r + shift) % 10]).collect()
}

#[test]
fn clear_differences_are_called_and_chance_is_not() {
    // On fifteen data sets: one method ten points up, one ten points down.
    let rows: Vec<Vec<Vec<usize>>> =
        (0..15).map(|s| vec![around(70 + s, s), around(80 + s, s + 1), around(60 + s, s + 2)]).collect();
    let clear = comparison(&rows);
    let analysis = Analysis::of(&clear, "NN", 0.05).unwrap();
    let (good, bad) = (&analysis.methods[0], &analysis.methods[1]);
    assert_eq!((good.counts(), bad.counts()), ((15, 0, 0), (0, 15, 0)));
    assert_eq!((good.verdict, bad.verdict), (Verdict::Better, Verdict::Worse));
    assert_eq!(analysis.tests, 30);
    assert!(analysis.friedman.as_ref().unwrap().p < 1e-6);
    let apart = [("NN", "bad"), ("good", "NN"), ("good", "bad")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let mut found = analysis.apart.clone();
    found.sort();
    assert_eq!(found, apart);
    assert_eq!(clear.average_ranks().unwrap(), [2.0, 1.0, 3.0]);

    // A point more here, a point less there.
    let rows: Vec<Vec<Vec<usize>>> = (0..15)
        .map(|s| vec![around(70 + (s + 1) % 2, s), around(70 + s % 2, s + 3), around(70 + s / 2 % 2, s + 6)])
        .collect();
    let analysis = Analysis::of(&comparison(&rows), "NN", 0.05).unwrap();
    assert!(analysis.methods.iter().flat_map(|m| &m.data).all(|d| d.unwrap().test.p.is_some()));
    assert!(analysis.methods.iter().all(|m| m.counts() == (0, 0, 15) && m.verdict == Verdict::NoDifferenceShown));
    assert!(analysis.apart.is_empty());
}

#[test]
fn a_difference_that_one_test_would_show_may_be_chance_among_many() {
    // Wins on 6 of 6 data sets: p = 1/32, which one test may call at 5 % and two may not.
    let one: Vec<Vec<Vec<usize>>> = (0..6).map(|s| vec![around(70, s), around(71 + s, s + 1)]).collect();
    let alone = Analysis::of(&comparison(&one), "NN", 0.05).unwrap();
    assert_eq!((alone.methods[0].wilcoxon.unwrap().p, alone.methods[0].verdict), (0.03125, Verdict::Better));
    let two: Vec<Vec<Vec<usize>>> = (0..6).map(|s| vec![around(70, s), around(71 + s, s + 1), around(70, s)]).collect();
    let both = Analysis::of(&comparison(&two), "NN", 0.05).unwrap();
    assert_eq!(both.methods[0].wilcoxon_p_holm, Some(0.0625));
    assert_eq!(both.methods[0].verdict, Verdict::NoDifferenceShown);
}

#[test]
fn data_sets_with_a_refused_cell_are_left_out_by_name() {
    let rows: Vec<Vec<Vec<usize>>> = (0..4).map(|s| vec![around(70, s), around(75, s), around(65, s)]).collect();
    let mut some = comparison(&rows);
    some.cells[2][1].trials[3] = Err(Error::data("refused"));
    let analysis = Analysis::of(&some, "NN", 0.05).unwrap();
    assert_eq!(analysis.left_out, ["set 2"]);
    assert_eq!(analysis.friedman.unwrap().n, 3);
    assert!(analysis.methods[0].data[2].is_none() && analysis.methods[1].data[2].is_some());
    assert_eq!(analysis.methods[0].wilcoxon.unwrap().n, 3);
    assert!(matches!(Analysis::of(&some, "absent", 0.05), Err(Error::Parameter { name: "against", .. })));
    assert!(matches!(Analysis::of(&some, "NN", 1.5), Err(Error::Parameter { name: "level", .. })));
    let labels = Labels::from_names(["a", "b"]);
    assert!(holdouts(&labels, 0.6, 1, 0).is_err());
}
