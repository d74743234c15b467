//! Reads Rust source just well enough to check how it is built: which module names which, how long a function is.
//!
//! Comments, strings and whatever is compiled for tests only are blanked out first ([`code_only`]), so that what is left
//! can be searched as plain text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod blank;
mod graph;
mod paths;

pub use blank::{code_only, strings_only};
pub use graph::{Graph, Place};
pub use paths::{reexports, references};

/// A source file, blanked, and the module that it is.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path relative to the workspace.
    pub name: String,
    /// The module's path from the crate's root; empty for the root itself.
    pub module: Vec<String>,
    /// Its code.
    pub code: String,
    /// The content of its strings.
    pub strings: String,
}

/// The root of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All source files below a folder (relative to the workspace), without modules that are compiled for tests only.
///
/// # Panics
/// If a file cannot be read.
#[must_use]
pub fn sources(folder: &str) -> Vec<File> {
    let mut files = Vec::new();
    let mut tests_only = BTreeSet::new();
    collect(folder, &[], &mut files, &mut tests_only);
    files.retain(|f| !tests_only.iter().any(|t| f.module.starts_with(t)));
    files
}

fn collect(folder: &str, module: &[String], files: &mut Vec<File>, tests_only: &mut BTreeSet<Vec<String>>) {
    let entries = fs::read_dir(workspace().join(folder)).expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("a readable folder").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        let path = format!("{folder}/{name}");
        let mut inner = module.to_vec();
        let Some(stem) = name.strip_suffix(".rs") else {
            if workspace().join(&path).is_dir() {
                inner.push(name);
                collect(&path, &inner, files, tests_only);
            }
            continue;
        };
        if !["lib", "main", "mod"].contains(&stem) {
            inner.push(stem.to_owned());
        }
        let text = fs::read_to_string(workspace().join(&path)).expect("a readable file");
        let (code, hidden) = code_only(&text);
        for child in hidden {
            let mut whole = inner.clone();
            whole.push(child);
            tests_only.insert(whole);
        }
        files.push(File { name: path, module: inner, code, strings: strings_only(&text) });
    }
}

/// A function and how many lines it takes, from `fn` to its closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// Number of lines.
    pub lines: usize,
}

/// The functions with a body in blanked code.
///
/// ```
/// let (code, _) = structure::code_only("fn a() {}\nfn b(\n    x: [u8; 2],\n) {\n}\ntrait T { fn c(); }\n");
/// let found: Vec<_> = structure::functions(&code).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
/// assert_eq!(found, [("a".to_owned(), 1, 1), ("b".to_owned(), 2, 4)]);
/// ```
#[must_use]
pub fn functions(code: &str) -> Vec<Function> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let name: String = code[at + 2..].trim_start().chars().take_while(|c| is_word(*c)).collect();
        if name.is_empty() {
            continue; // a type such as `fn(u32)`
        }
        let mut depth = 0_i32;
        let body = (at..bytes.len()).find(|&i| {
            match bytes[i] {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(bytes[i], b'{' | b';')
        });
        let Some(open) = body.filter(|&i| bytes[i] == b'{') else { continue };
        let close = closing(bytes, open);
        let line = line_of(code, at);
        found.push(Function { name, line, lines: line_of(code, close) - line + 1 });
    }
    found
}

/// Where a word stands by itself.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = code[..at].chars().next_back().is_some_and(is_word);
        let after = code[at + word.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The brace that closes the one at `open`; the end of the text if there is none.
fn closing(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0_i32;
    for (i, b) in bytes.iter().enumerate().skip(open) {
        depth += i32::from(*b == b'{') - i32::from(*b == b'}');
        if depth == 0 {
            return i;
        }
    }
    bytes.len()
}

fn line_of(code: &str, at: usize) -> usize {
    code.as_bytes()[..at.min(code.len())].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Which child of the module `root` names which other, and where: an edge for every path that leaves one child and
/// enters another. Names that `root` re-exports count for the child that they come from.
#[must_use]
pub fn graph(files: &[File], root: &[String]) -> Graph {
    let depth = root.len();
    let children: BTreeSet<&str> = files
        .iter()
        .filter(|f| f.module.starts_with(root))
        .filter_map(|f| f.module.get(depth))
        .map(String::as_str)
        .collect();
    let exported: BTreeMap<String, String> =
        files.iter().find(|f| f.module == root).map(|f| reexports(&f.code)).unwrap_or_default();
    let mut graph = Graph::default();
    for file in files.iter().filter(|f| f.module.starts_with(root)) {
        let Some(from) = file.module.get(depth) else { continue };
        for (path, at) in references(&file.module, &file.code) {
            let Some(first) = path.strip_prefix(root).and_then(<[String]>::first) else { continue };
            let to = if children.contains(first.as_str()) { first } else { exported.get(first).unwrap_or(first) };
            if children.contains(to.as_str()) && to != from {
                graph.add(from, to, Place { file: file.name.clone(), line: line_of(&file.code, at) });
            }
        }
    }
    graph
}
