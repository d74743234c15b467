//! Where a model comes from: what `fit` writes into it and `inspect` shows.

use lipmetric::model::Origin;
use lipmetric::prepare::Dataset;
use lipmetric_io::fingerprint;

/// Options that do not decide what is fitted, and whether a value follows.
const ASIDE: [(&str, bool); 11] = [
    ("--checkpoint-every", true),
    ("--checkpoint", true),
    ("--threads", true),
    ("--quiet", false),
    ("--verbose", false),
    ("--json", false),
    ("--model", true),
    ("--max-memory", true),
    ("--plots", true),
    ("--report", true),
    ("--dry-run", false),
];

/// What this run fits, and on which rows.
pub(crate) fn of(data: &Dataset) -> Origin {
    Origin { data: data.name.clone(), fingerprint: fingerprint(data), command: Some(typed()) }
}

/// The command of this run, without what has no part in a model.
pub(crate) fn typed() -> String {
    command(std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()))
}

/// The command line without what has no part in the model, as a shell would take it.
fn command(typed: impl IntoIterator<Item = String>) -> String {
    let mut words = vec!["lipmetric".to_owned()];
    let mut typed = typed.into_iter();
    while let Some(word) = typed.next() {
        let short = word.strip_prefix('-').is_some_and(|w| !w.is_empty() && w.chars().all(|c| c == 'q' || c == 'v'));
        let (name, attached) = word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
        match ASIDE.iter().find(|(aside, _)| *aside == name) {
            Some((_, value)) => {
                if *value && !attached {
                    typed.next();
                }
            }
            None if short => {}
            None => words.push(quoted(&word)),
        }
    }
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=.,:/+%@^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn a_command_is_what_decides_the_model() {
        for (typed, kept) in [
            ("fit|a b.csv|--label|it's|--model|m.lip", "lipmetric fit 'a b.csv' --label 'it'\\''s'"),
            ("-v|fit|a.csv|--threads=2|--json|-qv|--k|3", "lipmetric fit a.csv --k 3"),
            ("fit|--data|echo|--threads|2|--c|-1|-", "lipmetric fit --data echo --c -1 -"),
        ] {
            assert_eq!(command(typed.split('|').map(str::to_owned)), kept);
        }
    }
}
