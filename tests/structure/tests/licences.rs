//! What we depend on: under which licences, from where, and for which compiler. The rules are those of deny.toml, checked here by what `cargo metadata`
//! tells, so that they hold wherever the tests run; `cargo deny`, where it is installed, checks more.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// All packages that the program needs with all its features, on this machine.
fn packages() -> Vec<Value> {
    let host = Command::new("rustc").arg("-vV").output().expect("rustc");
    let host = String::from_utf8(host.stdout).expect("UTF-8");
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let out = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let told: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    told["packages"].as_array().expect("packages").clone()
}

/// The licences that deny.toml allows.
fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let (_, list) = text.split_once("allow = [").expect("a list of licences");
    let (list, _) = list.split_once(']').expect("its end");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether the licences that are allowed fulfil an expression: `A OR B`, `(A OR B) AND C`, `A WITH B`, and the old `A/B`.
fn fulfilled(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (held, used) = any(&words, allowed);
    assert_eq!(used, words.len(), "`{expression}` is not understood");
    held
}

/// `all OR all ...`: whether it holds, and how many words it takes.
fn any(words: &[&str], allowed: &[String]) -> (bool, usize) {
    let (mut held, mut at) = all(words, allowed);
    while words.get(at) == Some(&"OR") {
        let (next, used) = all(&words[at + 1..], allowed);
        (held, at) = (held || next, at + 1 + used);
    }
    (held, at)
}

/// `one AND one ...`.
fn all(words: &[&str], allowed: &[String]) -> (bool, usize) {
    let (mut held, mut at) = one(words, allowed);
    while words.get(at) == Some(&"AND") {
        let (next, used) = one(&words[at + 1..], allowed);
        (held, at) = (held && next, at + 1 + used);
    }
    (held, at)
}

/// A licence, one with an exception, or an expression in parentheses.
fn one(words: &[&str], allowed: &[String]) -> (bool, usize) {
    match words {
        ["(", inner @ ..] => {
            let (held, used) = any(inner, allowed);
            assert_eq!(inner.get(used), Some(&")"), "a parenthesis is not closed: {words:?}");
            (held, used + 2)
        }
        [name, "WITH", exception, ..] => (allowed.contains(&format!("{name} WITH {exception}")), 3),
        [name, ..] => (allowed.iter().any(|a| a == name), 1),
        [] => (false, 0),
    }
}

#[test]
fn expressions_of_licences_are_read_as_they_are_meant() {
    let allowed: Vec<String> = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).to_vec();
    for (expression, held) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND Apache-2.0", true),
        ("GPL-3.0 OR MIT AND ISC", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("MIT WITH LLVM-exception", false),
    ] {
        assert_eq!(fulfilled(expression, &allowed), held, "{expression}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence_and_comes_from_the_registry() {
    let (packages, allowed) = (packages(), allowed());
    assert!(packages.len() > 100 && allowed.len() > 5, "{} packages, {allowed:?}", packages.len());
    let mut wrong = Vec::new();
    for package in &packages {
        let name = format!("{} {}", package["name"], package["version"]);
        match package["license"].as_str() {
            Some(licence) if fulfilled(licence, &allowed) => {}
            other => wrong.push(format!("{name}: licence {other:?}")),
        }
        // Packages of the workspace have no source.
        if let Some(source) = package["source"].as_str().filter(|s| *s != CRATES_IO) {
            wrong.push(format!("{name}: from {source}"));
        }
        let ours = package["source"].is_null();
        for dependency in package["dependencies"].as_array().into_iter().flatten().filter(|_| ours) {
            // A path within the workspace carries a version as well, or is not published.
            if dependency["req"] == "*" && dependency["path"].is_null() {
                wrong.push(format!("{name}: any version of {} will do", dependency["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "not as deny.toml has it:\n  {}", wrong.join("\n  "));
}

/// A version of Rust, such as 1.88 or 1.88.0.
fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = text.split('.').map(|part| part.parse().expect("a number of a version")).collect();
    parts.resize(3, 0);
    parts
}

#[test]
fn no_dependency_asks_for_a_newer_compiler_than_we_state() {
    let packages = packages();
    let stated = |package: &Value| package["rust_version"].as_str().map(str::to_owned);
    let ours =
        packages.iter().find(|package| package["name"] == "lipmetric").and_then(stated).expect("our own version");
    let asked: Vec<_> = packages.iter().filter_map(|package| Some((package, stated(package)?))).collect();
    assert!(2 * asked.len() > packages.len(), "only {} of {} packages state a version", asked.len(), packages.len());
    let newer: Vec<String> = asked
        .iter()
        .filter(|(_, asked)| version(asked) > version(&ours))
        .map(|(package, asked)| format!("{} {} asks for Rust {asked}", package["name"], package["version"]))
        .collect();
    assert!(newer.is_empty(), "Cargo.toml states Rust {ours}:\n  {}", newer.join("\n  "));
}

#[test]
fn versions_are_compared_as_numbers() {
    assert!(version("1.9") < version("1.88"));
    assert_eq!(version("1.88"), version("1.88.0"));
}
