//! Where a model comes from: what `fit` writes into it and `inspect` shows.

use lipmetric::model::Origin;
use lipmetric::prepare::Dataset;
use lipmetric_io::fingerprint;

/// Options that do not decide what is fitted, and whether a value follows.
const ASIDE: [(&str, bool); 12] = [
    ("--checkpoint-every", true),
    ("--checkpoint", true),
    ("--threads", true),
    ("--quiet", false),
    ("--verbose", false),
    ("--json", false),
    ("--model", true),
    ("--max-memory", true),
    ("--plots", true),
    ("--plot-format", true),
    ("--report", true),
    ("--dry-run", false),
];

/// What this run fits, and on which rows.
pub(crate) fn of(data: &Dataset) -> Origin {
    Origin::new(data.name.as_str(), fingerprint(data)).made_by(typed())
}

/// The command of this run, without what has no part in a model.
pub(crate) fn typed() -> String {
    command(words(), &[])
}

fn words() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned())
}

/// Options of `fit` that `evaluate` does not have, and whether a value follows.
const ONLY_FIT: [(&str, bool); 5] = [
    ("--certificate", false),
    ("--triplets", true),
    ("--pairs", true),
    ("--quadruplets", true),
    ("--without-rows", false),
];

/// What to type to fit again and keep the model, and to judge the same recipe by cross-validation.
pub(crate) fn again() -> [String; 2] {
    let judged = command(words(), &ONLY_FIT).replacen("lipmetric fit", "lipmetric evaluate", 1);
    [typed() + " --model model.lip", judged + " --folds 10"]
}

/// The command line without what has no part in the model, as a shell would take it.
fn command(typed: impl IntoIterator<Item = String>, without: &[(&str, bool)]) -> String {
    let mut words = vec!["lipmetric".to_owned()];
    let mut typed = typed.into_iter();
    while let Some(word) = typed.next() {
        let short = word.strip_prefix('-').is_some_and(|w| !w.is_empty() && w.chars().all(|c| c == 'q' || c == 'v'));
        let (name, attached) = word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
        match ASIDE.iter().chain(without).find(|(aside, _)| *aside == name) {
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
            assert_eq!(command(typed.split('|').map(str::to_owned), &[]), kept);
        }
        let typed = "fit|a.csv|--certificate|--triplets|t.csv|--k|3".split('|').map(str::to_owned);
        assert_eq!(command(typed, &super::ONLY_FIT), "lipmetric fit a.csv --k 3");
    }
}
