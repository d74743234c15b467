//! Source text without what is no code.

use crate::{closing, is_word};

/// The text with comments, the content of strings and characters, and everything under `#[cfg(test)]` blanked out
/// (lines stay lines), and the names of the modules that `#[cfg(test)] mod name;` puts in other files.
///
/// ```
/// let (code, hidden) = structure::code_only("let a = \"{\"; // }\n#[cfg(test)]\nmod tests;\nlet b = '{';");
/// assert_eq!(code, "let a = \" \";     \n            \n          \nlet b = ' ';");
/// assert_eq!(hidden, ["tests"]);
/// ```
#[must_use]
pub fn code_only(text: &str) -> (String, Vec<String>) {
    let (code, _, hidden) = parted(text);
    (code, hidden)
}

/// The content of the strings, everything else blanked out (lines stay lines), without those under `#[cfg(test)]`.
///
/// ```
/// let said = structure::strings_only("say(\"--a\"); // \"--b\"\nr\"--c\" - -'-'\n#[cfg(test)]\nmod t { \"--d\" }");
/// assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["--a", "--c"]);
/// assert_eq!(said.lines().count(), 4);
/// ```
#[must_use]
pub fn strings_only(text: &str) -> String {
    parted(text).1
}

/// Code, the content of its strings, and the names of modules for tests only.
fn parted(text: &str) -> (String, String, Vec<String>) {
    let (mut code, said) = without_text(text);
    let mut said: Vec<char> = said.chars().collect();
    let mut hidden = Vec::new();
    let mark = "#[cfg(test)]";
    while let Some(at) = code.find(mark) {
        let rest = &code.as_bytes()[at..];
        // The item ends with its block, or with a semicolon before any block.
        let end = match rest.iter().position(|b| matches!(b, b'{' | b';')) {
            Some(i) if rest[i] == b'{' => closing(code.as_bytes(), at + i),
            Some(i) => at + i,
            None => code.len() - 1,
        };
        let end = end.min(code.len() - 1);
        let item = code[at + mark.len()..=end].trim();
        if let Some(name) = item.strip_prefix("mod ").and_then(|m| m.strip_suffix(';')) {
            hidden.push(name.trim().to_owned());
        }
        let first = code[..at].chars().count();
        let (mut blanked, length) = (String::new(), code[at..=end].chars().count());
        blank(&code[at..=end].chars().collect::<Vec<_>>(), &mut blanked);
        said.splice(first..first + length, blanked.chars());
        code.replace_range(at..=end, &blanked);
    }
    (code, said.into_iter().collect(), hidden)
}

/// The text without comments and the content of literals, and the content of its strings without anything else.
fn without_text(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut said) = (String::with_capacity(text.len()), String::with_capacity(text.len()));
    let mut i = 0;
    while i < chars.len() {
        let (end, string) = match chars[i] {
            '/' if chars.get(i + 1) == Some(&'/') => {
                let end = (i..chars.len()).find(|&k| chars[k] == '\n').unwrap_or(chars.len());
                blank(&chars[i..end], &mut code);
                (end, false)
            }
            '/' if chars.get(i + 1) == Some(&'*') => {
                let end = comment_end(&chars, i);
                blank(&chars[i..end], &mut code);
                (end, false)
            }
            'r' if !preceded_by_word(&chars, i) && raw_hashes(&chars, i).is_some() => {
                let hashes = raw_hashes(&chars, i).unwrap_or(0);
                let end = raw_end(&chars, i + 2 + hashes, hashes);
                blank(&chars[i..end], &mut code);
                (end, true)
            }
            '"' => (quoted(&chars, i, '"', &mut code), true),
            '\'' if is_character(&chars, i) => (quoted(&chars, i, '\'', &mut code), false),
            c => {
                code.push(c);
                (i + 1, false)
            }
        };
        let end = end.min(chars.len());
        if string {
            let open = (i..end).find(|&k| chars[k] == '"').unwrap_or(i) + 1;
            said.extend(std::iter::repeat_n(' ', open - i));
            said.extend(chars[open..end].iter().map(|&c| if c == '"' { ' ' } else { c }));
        } else {
            blank(&chars[i..end], &mut said);
        }
        i = end;
    }
    (code, said)
}

fn blank(chars: &[char], out: &mut String) {
    out.extend(chars.iter().map(|&c| if c == '\n' { c } else { ' ' }));
}

/// The end of a block comment, which may hold others.
fn comment_end(chars: &[char], start: usize) -> usize {
    let (mut depth, mut i) = (0, start);
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

/// Whether an `r` at `i` belongs to a longer word; the `b` of a raw byte string does not count.
fn preceded_by_word(chars: &[char], i: usize) -> bool {
    let word_at = |k: usize| i.checked_sub(k).is_some_and(|j| is_word(chars[j]));
    let byte_string = i > 0 && chars[i - 1] == 'b' && !word_at(2);
    word_at(1) && !byte_string
}

/// The number of hashes if a raw string begins at `i`.
fn raw_hashes(chars: &[char], i: usize) -> Option<usize> {
    let hashes = chars[i + 1..].iter().take_while(|c| **c == '#').count();
    (chars.get(i + 1 + hashes) == Some(&'"')).then_some(hashes)
}

fn raw_end(chars: &[char], from: usize, hashes: usize) -> usize {
    (from..chars.len())
        .find(|&k| chars[k] == '"' && chars[k + 1..].iter().take_while(|c| **c == '#').count() >= hashes)
        .map_or(chars.len(), |k| k + 1 + hashes)
}

/// Whether a quote begins a character rather than a lifetime.
fn is_character(chars: &[char], i: usize) -> bool {
    chars.get(i + 1) == Some(&'\\') || chars.get(i + 2) == Some(&'\'')
}

fn quoted(chars: &[char], start: usize, quote: char, out: &mut String) -> usize {
    out.push(quote);
    let mut i = start + 1;
    while i < chars.len() && chars[i] != quote {
        let step = if chars[i] == '\\' { 2 } else { 1 };
        blank(&chars[i..(i + step).min(chars.len())], out);
        i += step;
    }
    if i < chars.len() {
        out.push(quote);
    }
    i + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_characters_and_comments_hold_no_code() {
        for text in [
            r#""a \" { b""#,
            "r\"{\"",
            "br#\"{ \" {\"#",
            "'{'",
            r"'\''",
            r"'\u{7b}'",
            "/* { /* { */ { */",
            "// {\n/// {\n//! {",
        ] {
            assert!(!without_text(text).0.contains('{'), "{text}");
        }
        let lifetimes = "fn f<'a>(x: &'a str) -> Option<&'a str> { None }";
        assert_eq!(without_text(lifetimes).0, lifetimes);
        assert_eq!(without_text("br\"x\" barr\"{\" {").0, "b     barr\" \" {");
    }

    #[test]
    fn test_items_are_blanked_to_their_end() {
        let (code, hidden) =
            code_only("a;\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n#[cfg(test)] use d;\ne");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a;", "fn", "c()", "{}", "e"]);
        assert_eq!(code.lines().count(), 8);
        assert!(hidden.is_empty());
    }
}
