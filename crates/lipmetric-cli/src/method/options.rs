//! Which option belongs to which method, from the methods' own tables: help, refusals and the way to a [`Spec`] rest on it.

use super::Method;
use crate::failure::{Failure, Result};
use clap::ValueEnum;
use lipmetric::Task;
use lipmetric::method::{Method as _, Outcome, Solver, Spec, in_words};
use serde_json::{Map, Value, json};

/// Options that are not spelled like the one field that they set.
const RENAMED: [(&str, &[&str]); 8] = [
    ("c", &["trade_off"]),
    ("c_rel", &["trade_off", "c_rel"]),
    ("anchor_weight", &["anchor"]),
    ("balanced", &["class_weights"]),
    ("tol", &["tolerance"]),
    ("max_iter", &["max_iterations"]),
    ("warm_start", &["start"]),
    ("scale", &["scaling"]),
];

/// Names in messages of the libraries that are no field of a method.
const OTHERS: [&str; 23] = [
    "method",
    "alpha",
    "classifier",
    "decimal",
    "delimiter",
    "encoding",
    "extra",
    "fill",
    "format",
    "from",
    "header",
    "ignore",
    "k",
    "kind",
    "label",
    "max_memory",
    "missing",
    "pairs",
    "radius_space",
    "task",
    "thousands",
    "unseen",
    "weights",
];

/// What the libraries name that is a command here; its argument follows.
const COMMANDS: [(&str, &str); 2] = [("fetch", "lipmetric datasets fetch"), ("save_model", "lipmetric fit --model")];

/// How the program is built with a feature.
const BUILD: &str = "cargo install --path crates/lipmetric-cli --features";

/// How much an anchor counts unless it is said.
const ANCHOR_WEIGHT: f64 = 0.1;

/// What was given: an option's name, with underscores, and its value.
pub(crate) type Given = Map<String, Value>;

/// The option as it is typed.
pub(crate) fn flag(option: &str) -> String {
    format!("--{}", option.replace(['_', '.'], "-"))
}

/// The option that sets a field.
fn option_of(field: &str) -> &str {
    if ALL.contains(&field) {
        return field;
    }
    RENAMED.iter().find(|(_, fields)| fields[0] == field).map_or(field, |(option, _)| option)
}

/// A message of the libraries with their parameters as options: `` `slack = pair` `` is `` `--slack pair` `` here, and the
/// parameter `` `max_iterations` `` is `` `--max-iter` ``. Functions are commands: `` `fetch(iris)` `` is
/// `` `lipmetric datasets fetch iris` ``.
pub(crate) fn in_flags(message: &str) -> String {
    let fields: Vec<&str> = Spec::all().iter().flat_map(|s| s.fields().iter().map(|f| f.name)).collect();
    let known = |name: &str| fields.contains(&name) || name == "c" || name == "start" || OTHERS.contains(&name);
    let mut parts: Vec<String> = message.split('`').map(str::to_owned).collect();
    for at in (1..parts.len()).step_by(2) {
        let name = parts[at].clone();
        if let Some(before) = parts[at - 1].strip_suffix("the parameter ") {
            (parts[at - 1], parts[at]) = (before.to_owned(), flag_of(&name));
        } else if let Some(command) = command_of(&name) {
            parts[at] = command;
        } else if let Some((name, value)) = name.split_once(" = ") {
            match name {
                "feature" => parts[at] = format!("{BUILD} {value}"),
                name if known(name) => parts[at] = format!("{} {}", flag_of(name), pasteable(value)),
                _ => {}
            }
        }
    }
    parts.join("`")
}

/// A value as a shell takes it for one word.
fn pasteable(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.,=/:%+@^".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// A call of the libraries, `name(argument)`, as the command that makes it.
fn command_of(call: &str) -> Option<String> {
    let (name, argument) = call.strip_suffix(')')?.split_once('(')?;
    let (_, command) = COMMANDS.iter().find(|(known, _)| *known == name)?;
    Some(format!("{command} {argument}"))
}

/// The notes on a fit, in the command line's words.
pub(crate) fn notes(outcome: &Outcome) -> Vec<String> {
    outcome.notes.iter().map(|note| in_flags(note)).collect()
}

/// A parameter's name in an error of the library, as the option that sets it.
pub(crate) fn flag_of(field: &str) -> String {
    flag(option_of(field))
}

/// The field of this spec that an option sets.
fn field_of(option: &str, spec: &Spec) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(name, _)| *name == option).map(|(_, fields)| *fields);
    let candidates = renamed.unwrap_or(std::slice::from_ref(&option));
    spec.fields().iter().map(|f| f.name).find(|name| candidates.contains(name))
}

/// Whether a method has an option.
pub(crate) fn has(spec: &Spec, option: &str) -> bool {
    match option {
        "warm_start" => spec.takes_start(),
        "triplets" => spec.takes_triplets(),
        _ => field_of(option, spec).is_some(),
    }
}

/// The methods that have an option, as they are typed.
fn methods_with(option: &str) -> Vec<String> {
    Method::value_variants().iter().filter(|m| has(&m.base(), option)).map(|m| m.typed()).collect()
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Every option of a method's parameters, in the order of the help.
const ALL: [&str; 24] = [
    "slack",
    "c",
    "c_rel",
    "diameter",
    "anchor",
    "anchor_weight",
    "solver",
    "mu",
    "rank",
    "balanced",
    "tol",
    "max_iter",
    "n_components",
    "init",
    "targets",
    "push",
    "alpha",
    "loss",
    "penalty",
    "warm_start",
    "robust",
    "triplet_seed",
    "score",
    "metrics",
];

/// Refuses an option that the method does not have; `remedy` is what to do with the name of a method that has it.
pub(crate) fn check(option: &str, method: Method, remedy: &str) -> Result {
    let spec = method.base();
    if has(&spec, option) {
        return Ok(());
    }
    let (owners, own) = (methods_with(option), ALL.iter().filter(|o| has(&spec, o)).map(|o| flag(o)));
    let own: Vec<String> = own.collect();
    let own = if own.is_empty() { "no such options".to_owned() } else { listed(&own) };
    let other = owners.iter().find(|m| *m == "lip-i").or(owners.first()).map_or("", |m| m);
    Err(Failure::Usage(format!(
        "{} is an option of {} only; {} has {own}. Remove it, or {remedy} {other}",
        flag(option),
        listed(&owners),
        method.typed()
    )))
}

/// The spec with what was given, which it must have.
pub(crate) fn apply(spec: &Spec, given: &Given) -> Result<Spec> {
    let fail = |e: serde_json::Error| Failure::Usage(e.to_string());
    let Value::Object(mut fields) = serde_json::to_value(spec).map_err(fail)? else { return Ok(spec.clone()) };
    for (option, value) in given {
        let Some(field) = field_of(option, spec) else { continue };
        let value = match (option.as_str(), value) {
            ("c", Value::Number(_)) => json!({ "c": value }),
            ("c_rel", _) if field == "trade_off" => json!({ "c_rel": value }),
            ("balanced", _) => json!("balanced"),
            ("anchor", _) => {
                json!({ "towards": value, "weight": given.get("anchor_weight").unwrap_or(&json!(ANCHOR_WEIGHT)) })
            }
            ("anchor_weight", _) => continue,
            _ => value.clone(),
        };
        fields.insert(field.to_owned(), value);
    }
    let refused = |e: serde_json::Error| {
        let text = e.to_string();
        // A value that the method does not have: "`slack`: unknown variant ...".
        let (field, why) = text.strip_prefix('`').and_then(|t| t.split_once("`: ")).unwrap_or(("method", &text));
        Failure::Usage(format!("{}: of {}, {}", flag_of(field), spec.name(), in_words(why)))
    };
    let spec: Spec = serde_json::from_value(Value::Object(fields)).map_err(refused)?;
    spec.check()?;
    Ok(spec)
}

/// What was given of some options and, where nothing is said, of others.
pub(crate) fn merged(own: &Given, others: &Given) -> Given {
    let said = |names: &[&str]| names.iter().any(|name| own.contains_key(*name));
    let hidden = |option: &str| match option {
        "c" | "c_rel" => said(&["c", "c_rel"]),
        "anchor" | "anchor_weight" => said(&["anchor"]),
        other => said(&[other]),
    };
    let mut out = own.clone();
    out.extend(
        others.iter().filter(|(option, _)| !hidden(option)).map(|(option, value)| (option.clone(), value.clone())),
    );
    out
}

/// A number as a person writes it.
fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(v) if v != 0.0 && v <= 0.01 => format!("{v:e}"),
        Some(v) => v.to_string(),
        None => value.to_string(),
    }
}

/// A field's value in the command line's words.
fn worded(value: &Value) -> String {
    match value {
        Value::String(text) if text == "maximum" => "max".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(_) => number(value),
        Value::Object(map) if map.len() == 1 => {
            map.iter().map(|(name, value)| format!("{name}:{}", worded(value))).collect()
        }
        Value::Array(all) => all.iter().map(worded).collect::<Vec<_>>().join(", "),
        Value::Object(map) => map.values().map(worded).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// The parameters of a method by the names of their options, without what is not set or has no part in the fit.
pub(crate) fn parameters(spec: &Spec) -> Given {
    let Ok(Value::Object(fields)) = serde_json::to_value(spec) else { return Given::new() };
    let mut out = Given::new();
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("method", _) | (_, Value::Null) => {}
            (_, Value::Array(all)) if all.is_empty() => {}
            ("variant", value) if value != "auto" => {}
            ("seed", _) if !spec.chooses() => {}
            ("trade_off", Value::Object(trade_off)) => out.extend(trade_off),
            ("trade_off", value) => {
                out.insert("c_rel".to_owned(), value);
            }
            ("class_weights", value) => {
                out.insert(field, value);
            }
            (name, value) => {
                out.insert(option_of(name).to_owned(), value);
            }
        }
    }
    out
}

/// The same as text. Numbers are judged by R2, whatever the score of classes is.
pub(crate) fn worded_parameters(spec: &Spec, task: Task) -> Vec<(String, String)> {
    let value =
        |name: &str, value| if name == "score" && task == Task::Regression { "R2".to_owned() } else { worded(value) };
    parameters(spec).iter().map(|(name, given)| (name.clone(), value(name, given))).collect()
}

/// The defaults of an option: each value with the methods that have it. `none` is what no value means.
fn defaults(option: &str, none: &str) -> Vec<(String, Vec<String>)> {
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |value: String, who: String| match out.iter_mut().find(|(known, _)| *known == value) {
        Some((_, all)) => all.push(who),
        None => out.push((value, vec![who])),
    };
    let mut by_solver = (String::new(), Vec::new());
    for method in Method::value_variants() {
        let spec = method.base();
        let Some(field) = field_of(option, &spec) else { continue };
        let value = serde_json::to_value(&spec).ok().and_then(|s| s.get(field).cloned()).unwrap_or_default();
        match (option, &value) {
            ("c" | "c_rel", Value::Object(trade_off)) => {
                if let Some(value) = trade_off.get(option) {
                    add(number(value), method.typed());
                }
            }
            ("c_rel", Value::String(_)) => {}
            ("tol" | "max_iter", Value::Null) => {
                let usual = |s: Solver| match option {
                    "tol" => number(&json!(s.usual_tolerance())),
                    _ => s.usual_iterations().to_string(),
                };
                add(usual(Solver::Exact), method.typed());
                if *method != Method::Lip {
                    by_solver.0 = usual(Solver::Augmented);
                    by_solver.1.push(method.typed());
                }
            }
            (_, Value::Null) if none.is_empty() => {}
            (_, Value::Array(all)) if all.is_empty() => add(none.to_owned(), method.typed()),
            (_, Value::Null) => add(none.to_owned(), method.typed()),
            _ => add(worded(&value), method.typed()),
        }
    }
    if let (value, Some(last)) = (by_solver.0, by_solver.1.last_mut()) {
        last.push_str(" with another solver than exact");
        out.push((value, by_solver.1));
    }
    out
}

/// The help of an option: what it is, which methods have it, and their defaults.
pub(crate) fn help(option: &str, text: &str, none: &str) -> String {
    let owners = methods_with(option);
    let defaults = if option == "balanced" { Vec::new() } else { defaults(option, none) };
    let each = |(value, who): &(String, Vec<String>)| format!("{}: {value}", who.join(", "));
    match &defaults[..] {
        [] => format!("{text} ({})", owners.join(", ")),
        [(value, who)] if who.len() == owners.len() => format!("{text} ({}) [default: {value}]", owners.join(", ")),
        several => {
            let shown: Vec<String> = several.iter().map(each).collect();
            format!("{text} ({}) [default: {}]", owners.join(", "), shown.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_flags_where_the_library_has_parameters() {
        for (library, here) in [
            ("use `slack = pair`, or `solver = exact`", "use `--slack pair`, or `--solver exact`"),
            ("the parameter `label` names it", "`--label` names it"),
            ("raise the parameter `max_iterations`", "raise `--max-iter`"),
            ("leave it out with `ignore = a b`", "leave it out with `--ignore 'a b'`"),
            ("say `missing = #N/A,it's`", r"say `--missing '#N/A,it'\''s'`"),
            ("insist with `kind = zip=category`", "insist with `--kind zip=category`"),
            ("column `slack` has `x = y`, and `tolerance", "column `slack` has `x = y`, and `tolerance"),
            ("fit it again with the parameter `certificate`", "fit it again with `--certificate`"),
            ("say so with `header = no`", "say so with `--header no`"),
            ("get it with `fetch(a)`", "get it with `lipmetric datasets fetch a`"),
            ("`save_model(FILE)` writes one", "`lipmetric fit --model FILE` writes one"),
            ("with `feature = zstd`", "with `cargo install --path crates/lipmetric-cli --features zstd`"),
            ("column `fetch` or `fetches(a)`", "column `fetch` or `fetches(a)`"),
            ("use `c = auto` or `c_rel = 0.1`", "use `--c auto` or `--c-rel 0.1`"),
        ] {
            assert_eq!(in_flags(library), here);
        }
        for (field, flag) in [
            ("tolerance", "--tol"),
            ("max_iterations", "--max-iter"),
            ("anchor", "--anchor"),
            ("anchor.weight", "--anchor-weight"),
            ("trade_off", "--c"),
            ("c_rel", "--c-rel"),
            ("class_weights", "--balanced"),
            ("start", "--warm-start"),
            ("train_fraction", "--train-fraction"),
            ("scaling", "--scale"),
        ] {
            assert_eq!(flag_of(field), flag);
        }
    }

    #[test]
    fn every_option_belongs_to_a_method_and_says_so() {
        for option in ALL {
            let owners = methods_with(option);
            assert!(!owners.is_empty(), "{option}");
            assert!(help(option, "what", "none").contains(&format!("({})", owners.join(", "))), "{option}");
            for &method in Method::value_variants() {
                let refused = check(option, method, "add --method").map_err(|e| e.to_string());
                match refused {
                    Ok(()) => assert!(owners.contains(&method.typed())),
                    Err(text) => assert!(text.starts_with(&format!("{} is an option of ", flag(option))), "{text}"),
                }
            }
        }
    }
}
