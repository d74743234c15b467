//! Paths that begin at the crate's root or above the module that holds them.

use crate::{is_word, words};
use std::collections::BTreeMap;

/// Every path in blanked code that begins with `crate::` or `super::`, from the crate's root, and where it stands.
///
/// ```
/// let module = ["a".to_owned(), "b".to_owned()];
/// let code = "use crate::{c, d::{self, E as F}};\nfn f() { super::g::h::<u8>(); }";
/// let found: Vec<String> = structure::references(&module, code).into_iter().map(|(p, _)| p.join("::")).collect();
/// assert_eq!(found, ["c", "d", "d::E", "a::g::h"]);
/// ```
#[must_use]
pub fn references(module: &[String], code: &str) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    for (word, up) in [("crate", None), ("super", Some(1))] {
        for at in words(code, word) {
            let head = &code[..at];
            let visibility = head.trim_end().ends_with("(in");
            if head.trim_end().ends_with("::") || visibility {
                continue;
            }
            let Some(rest) = code[at + word.len()..].trim_start().strip_prefix("::") else { continue };
            let mut base = match up {
                None => Vec::new(),
                Some(_) => module[..module.len().saturating_sub(1)].to_vec(),
            };
            let mut rest = rest.trim_start();
            while let Some(further) = rest.strip_prefix("super").map(str::trim_start).and_then(|r| r.strip_prefix("::"))
            {
                base.pop();
                rest = further.trim_start();
            }
            let mut leaves = Vec::new();
            tree(rest, &base, &mut leaves);
            found.extend(leaves.into_iter().map(|leaf| (leaf, at)));
        }
    }
    found
}

/// Reads one path, or a list of paths in braces, below `base`; gives what comes after it.
fn tree<'t>(text: &'t str, base: &[String], leaves: &mut Vec<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let before = rest.len();
            rest = tree(rest, base, leaves);
            if rest.len() == before {
                return rest; // no list of paths after all
            }
        }
    }
    let name: String = text.chars().take_while(|c| is_word(*c)).collect();
    let mut rest = text[name.len()..].trim_start().trim_start_matches('*');
    let mut here = base.to_vec();
    if !name.is_empty() && name != "self" {
        here.push(name);
    }
    if let Some(renamed) = rest.strip_prefix("as ") {
        rest = renamed.trim_start().trim_start_matches(is_word);
    }
    match rest.strip_prefix("::").map(str::trim_start) {
        Some(further) if further.starts_with(|c: char| is_word(c) || c == '{' || c == '*') => {
            tree(further, &here, leaves)
        }
        _ => {
            leaves.push(here);
            rest
        }
    }
}

/// The names that a module re-exports from its children: the name, and the child.
///
/// ```
/// let found = structure::reexports("pub use a::{B, c::D as E}; pub(crate) use f::G; use std::h;");
/// assert_eq!(found["B"], "a");
/// assert_eq!(found["D"], "a");
/// assert_eq!(found["G"], "f");
/// ```
#[must_use]
pub fn reexports(code: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for at in words(code, "use") {
        let rest = code[at + 3..].trim_start();
        let rest = rest.strip_prefix("self::").or_else(|| rest.strip_prefix("crate::")).unwrap_or(rest);
        let mut leaves = Vec::new();
        tree(rest, &[], &mut leaves);
        for leaf in leaves {
            if let (Some(first), Some(last)) = (leaf.first(), leaf.last()) {
                names.insert(last.clone(), first.clone());
            }
        }
    }
    names
}
