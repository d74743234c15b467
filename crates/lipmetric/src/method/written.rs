//! A method as a person has written it in JSON: what is wrong is told in words, with its place and what may have been meant.

use super::Spec;
use crate::data::{excerpt, similar};
use crate::{Error, Result};
use serde_json::error::Category;
use serde_json::{Map, Value};

/// What the command line calls otherwise, and how it is said here.
const OTHERWISE: [(&str, &str); 9] = [
    ("lip-d", r#""method": "lip", "variant": "diameter""#),
    ("lip-i", r#""method": "lip", "variant": "intra""#),
    ("nn", r#""method": "euclidean""#),
    ("lda", r#""method": "discriminant""#),
    ("c", r#""trade_off": {"c": 1}"#),
    ("c_rel", r#""trade_off": {"c_rel": 0.1}"#),
    ("tol", r#""tolerance": 1e-6"#),
    ("max_iter", r#""max_iterations": 500"#),
    ("balanced", r#""class_weights": "balanced""#),
];

/// A method in JSON.
const EXAMPLE: &str = r#"{"method": "lmnn", "targets": 3}"#;

impl Spec {
    /// Reads a method and its parameters from JSON.
    ///
    /// ```
    /// use lipmetric::method::{Lmnn, Spec};
    /// assert_eq!(Spec::from_json(r#"{"method": "lmnn", "targets": 2}"#)?, Lmnn::new().targets(2).into());
    /// let wrong = Spec::from_json("{\"method\": \"lmnn\",\n \"target\": 2}").unwrap_err();
    /// assert!(wrong.to_string().starts_with("line 2, column 2: `target` is no parameter of lmnn; it has targets, push"));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no JSON, or no method. The message tells line and column, what was found there, and what is expected.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::data(diagnosis(text, &e)))
    }
}

/// A value and the places of its name and of itself, as offsets into the text.
struct Entry {
    name: String,
    at: usize,
    value_at: usize,
}

/// What is wrong with a text that is no method.
fn diagnosis(text: &str, error: &serde_json::Error) -> String {
    let fields = match serde_json::from_str::<Value>(text) {
        Err(broken) => return of_broken(text, &broken),
        Ok(Value::Object(fields)) => fields,
        Ok(other) => {
            return format!("{} is found, where an object in braces is expected, such as {EXAMPLE}", found(&other));
        }
    };
    let entries = entries(text);
    let told = |at: usize, what: String| format!("{}: {what}", place(text, at));
    for (k, entry) in entries.iter().enumerate() {
        if entries[..k].iter().any(|before| before.name == entry.name) {
            return told(entry.at, format!("`{}` is given twice; leave one out", excerpt(&entry.name)));
        }
    }
    let Some(method) = entries.iter().find(|entry| entry.name == "method") else {
        let names = entries.iter().map(|entry| entry.name.as_str());
        let meant = similar("method", names)
            .map_or_else(String::new, |name| format!(". Is `{}` meant to be `method`?", excerpt(name)));
        return format!("there is no `method`, which is one of {}, as in {EXAMPLE}{meant}", known_methods().join(", "));
    };
    let spec = match of_method(&fields["method"]) {
        Ok(spec) => spec,
        Err(what) => return told(method.value_at, what),
    };
    for entry in entries.iter().filter(|entry| entry.name != "method") {
        if !spec.fields().iter().any(|field| field.name == entry.name) {
            return told(entry.at, unknown(&entry.name, &spec));
        }
        let one = [("method", &fields["method"]), (&entry.name, &fields[&entry.name])];
        let one: Map<String, Value> = one.map(|(name, value)| (name.to_owned(), value.clone())).into_iter().collect();
        if let Err(e) = serde_json::from_value::<Spec>(Value::Object(one)) {
            return told(entry.value_at, in_words(&e.to_string()));
        }
    }
    in_words(&error.to_string())
}

/// What a method is called in JSON.
fn tag(spec: &Spec) -> String {
    let written = serde_json::to_value(spec).unwrap_or_default();
    written["method"].as_str().unwrap_or_default().to_owned()
}

fn known_methods() -> Vec<String> {
    Spec::all().iter().map(tag).collect()
}

/// The method of this name with its defaults, or what is wrong with the name.
fn of_method(name: &Value) -> Result<Spec, String> {
    let Value::String(name) = name else {
        return Err(format!("`method`: {} is found, where a name in quotes is expected, as in {EXAMPLE}", found(name)));
    };
    Spec::all().into_iter().find(|spec| tag(spec) == *name).ok_or_else(|| {
        let known = known_methods();
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let meant = otherwise(name).unwrap_or_else(|| did_you_mean(name, &names));
        format!("`{}` is no method; there are: {}{meant}", excerpt(name), known.join(", "))
    })
}

/// The refusal of a parameter that the method does not have.
fn unknown(name: &str, spec: &Spec) -> String {
    let (method, shown) = (tag(spec), excerpt(name));
    let known: Vec<&str> = spec.fields().iter().map(|field| field.name).collect();
    if known.is_empty() {
        return format!("`{shown}` is no parameter of {method}, which has none");
    }
    // Only what this method has.
    let meant = otherwise(name).filter(|said| known.iter().any(|field| said.contains(&format!("\"{field}\""))));
    let meant = meant.unwrap_or_else(|| did_you_mean(name, &known));
    format!("`{shown}` is no parameter of {method}; it has {}{meant}", known.join(", "))
}

/// The question whether another name was meant, if one is near.
fn did_you_mean(name: &str, known: &[&str]) -> String {
    similar(name, known.iter().copied()).map_or_else(String::new, |meant| format!(". Did you mean `{meant}`?"))
}

/// How a name of the command line is said in JSON.
fn otherwise(name: &str) -> Option<String> {
    let plain = name.trim_start_matches('-').replace('-', "_");
    let is_it = |known: &&(&str, &str)| known.0 == name || known.0 == plain;
    OTHERWISE.iter().find(is_it).map(|(_, said)| format!(". Here it is {said}"))
}

/// What is wrong with a text that is no JSON.
fn of_broken(text: &str, error: &serde_json::Error) -> String {
    if text.trim().is_empty() {
        return format!("it is empty, where a method is expected, such as {EXAMPLE}");
    }
    if error.classify() == Category::Eof {
        return format!(
            "it ends in the middle of the JSON: a quote, a brace or a bracket is not closed, as in {EXAMPLE}"
        );
    }
    let at = offset(text, error.line(), error.column());
    let rest = text.get(at..).unwrap_or_default();
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || "_-.".contains(*c)).take(30).collect();
    let is_here = |c: char| rest.starts_with(c);
    let what = match error.to_string() {
        told if told.starts_with("trailing comma") => "a comma with nothing after it; remove it".to_owned(),
        told if told.starts_with("trailing characters") => {
            format!("`{}` is found after the end of the JSON; remove it", excerpt(rest.trim_end()))
        }
        told if told.starts_with("control character") => {
            "a text goes on over the end of its line; close its quote".to_owned()
        }
        told if told.starts_with("key must be a string") && !word.is_empty() => {
            format!("the name `{word}` has no quotes; write \"{word}\"")
        }
        told if told.starts_with("expected `:`") => "a colon is missing after the name".to_owned(),
        told if told.starts_with("expected `,`") => "a comma is missing before this".to_owned(),
        _ if is_here('\'') => "texts are written in double quotes".to_owned(),
        _ if is_here('#') || is_here('/') => "JSON has no remarks; remove it".to_owned(),
        told if told.starts_with("recursion limit") => "it is nested too deeply".to_owned(),
        _ if !word.is_empty() => {
            format!("`{word}` is found, where a value is expected: a number, true, false, or a text in quotes")
        }
        _ => match rest.chars().next().filter(|c| !c.is_control()) {
            Some(c) => format!("`{c}` is not expected here"),
            None => "something else is expected here".to_owned(),
        },
    };
    format!("{}: {what}. A method is written as in {EXAMPLE}", place(text, at))
}

/// An error of serde about a value, in words: `` unknown variant `x`, expected `a` or `b` `` is `` `x` is not one of a, b ``.
#[must_use]
pub fn in_words(error: &str) -> String {
    let (field, told) = match error.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
        Some((field, told)) => (format!("`{field}`: "), told),
        None => (String::new(), error),
    };
    let (told, auto) = match told.strip_suffix(", or \"auto\"") {
        Some(told) => (told, ", or \"auto\""),
        None => (told, ""),
    };
    let words =
        if let Some((found, known)) = told.strip_prefix("unknown variant ").and_then(|t| t.split_once(", expected ")) {
            let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
            format!("{found} is not one of {}{auto}{}", names.join(", "), did_you_mean(found.trim_matches('`'), &names))
        } else if let Some((found, wanted)) = ["invalid type: ", "invalid value: ", "invalid length "]
            .iter()
            .find_map(|p| told.strip_prefix(p))
            .and_then(|t| t.split_once(", expected "))
        {
            let found = ["string ", "integer ", "floating point ", "boolean "]
                .iter()
                .find_map(|p| found.strip_prefix(p))
                .unwrap_or(found);
            let found = match found {
                "map" => "an object in braces",
                "sequence" => "a list",
                other => other,
            };
            let wanted = match wanted {
                "usize" | "u64" | "u32" => "a whole number from 0 on",
                "f64" => "a number",
                "a boolean" => "true or false",
                "a string" => "a text in quotes",
                "string or map" | "string only" => "a name in quotes, or an object with one name",
                other => other,
            };
            format!("{found} is found, where {wanted}{auto} is expected")
        } else if let Some(name) = told.strip_prefix("missing field ") {
            format!("{name} is missing")
        } else {
            format!("{told}{auto}")
        };
    format!("{field}{words}")
}

fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the text \"{}\"", excerpt(text)),
        other => format!("`{other}`"),
    }
}

/// Where serde's line and column are, which counts bytes from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let begin = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let mut at = (begin + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A place as a person counts.
fn place(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}")
}

/// The entries of a JSON object, which is known to be one.
fn entries(text: &str) -> Vec<Entry> {
    let bytes = text.as_bytes();
    let (mut out, mut depth, mut at) = (Vec::<Entry>::new(), 0, 0);
    // Of the entry that is being read: whether its name is over.
    let mut named = false;
    while at < bytes.len() {
        let begins = !bytes[at].is_ascii_whitespace() && bytes[at] != b':';
        if let Some(entry) = out.last_mut().filter(|entry| depth == 1 && named && begins && entry.value_at == 0) {
            entry.value_at = at;
        }
        match bytes[at] {
            b'"' => {
                let end = end_of_text(bytes, at);
                if depth == 1 && !named {
                    let name = serde_json::from_str(&text[at..end]).unwrap_or_default();
                    out.push(Entry { name, at, value_at: 0 });
                    named = true;
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 1 => named = false,
            _ => {}
        }
        at += 1;
    }
    out
}

/// Behind the closing quote of a text that begins here.
fn end_of_text(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}
