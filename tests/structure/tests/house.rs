//! The rules of the house that the compiler does not know.
//!
//! What does not yet keep a rule is listed here, exactly; a line that is no longer needed fails as well, so that the
//! lists only ever get shorter.

use structure::{Function, Graph, functions, graph, sources};

/// The most lines that a function may take.
const MOST_LINES: usize = 80;

/// Uses between the modules of `crates/lipmetric/src` that close a cycle.
const BACKWARDS: &[(&str, &str)] = &[];

/// Uses between the parts of `crates/lipmetric/src/solver` that close a cycle.
const BACKWARDS_IN_SOLVER: &[(&str, &str)] = &[];

/// Functions that are too long: the module and the function.
const TOO_LONG: &[(&str, &str)] = &[];

fn assert_no_cycles(mut graph: Graph, known: &[(&str, &str)]) {
    for (from, to) in known {
        assert!(graph.allow(from, to), "{from} -> {to} is on no cycle any more: take it off the list");
    }
    let cycles = graph.cycles();
    assert!(cycles.is_empty(), "modules that use each other:\n  {}", cycles.join("\n  "));
}

#[test]
fn no_module_of_the_library_uses_one_that_uses_it() {
    assert_no_cycles(graph(&sources("crates/lipmetric/src"), &[]), BACKWARDS);
}

#[test]
fn no_part_of_the_solvers_uses_one_that_uses_it() {
    assert_no_cycles(graph(&sources("crates/lipmetric/src"), &["solver".to_owned()]), BACKWARDS_IN_SOLVER);
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let mut known: Vec<_> = TOO_LONG.to_vec();
    let mut long = Vec::new();
    let crates = ["lipmetric", "lipmetric-io", "lipmetric-report", "lipmetric-cli", "lipmetric-py"]
        .map(|name| format!("crates/{name}/src"));
    for file in crates.iter().flat_map(|folder| sources(folder)) {
        let module = file.module.last().map_or("", String::as_str);
        for Function { name, line, lines } in functions(&file.code).into_iter().filter(|f| f.lines > MOST_LINES) {
            match known.iter().position(|k| *k == (module, name.as_str())) {
                Some(at) => drop(known.remove(at)),
                None => long.push(format!("{}:{line} {name} ({lines} lines)", file.name)),
            }
        }
    }
    assert!(long.is_empty(), "longer than {MOST_LINES} lines:\n  {}", long.join("\n  "));
    assert!(known.is_empty(), "short enough, or gone: take off the list {known:?}");
}

/// A library names a parameter, `tolerance`; the command line, and nothing below it, knows that its option is `--tol`.
#[test]
fn no_message_of_a_library_has_an_option_of_the_command_line() {
    let mut found = Vec::new();
    for file in
        ["lipmetric", "lipmetric-io", "lipmetric-report"].iter().flat_map(|name| sources(&format!("crates/{name}/src")))
    {
        for (line, text) in file.strings.lines().enumerate() {
            let option = |at: usize| text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
            if text.contains("`lipmetric ") || text.match_indices("--").any(|(at, _)| option(at)) {
                found.push(format!("{}:{} {}", file.name, line + 1, text.trim()));
            }
        }
    }
    assert!(found.is_empty(), "options in messages of a library:\n  {}", found.join("\n  "));
}
