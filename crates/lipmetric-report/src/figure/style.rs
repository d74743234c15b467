//! The colours of figures and pages, and the rules that use them.
//!
//! In a page the colours are variables, so that the reader can choose light or dark. Programs that draw SVG files often know no
//! variables: there the colours stand in the rules themselves, and those of the dark where the reader's system is dark.

use super::marks::KINDS;
use std::sync::LazyLock;

/// Rules for figures, in a page or by themselves.
const RULES: &str = include_str!("figure.css");

/// The fonts of the figures, as the rules name them.
#[cfg(feature = "png")]
pub(crate) const FAMILIES: &str = r#"system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif"#;

/// Names of colours, light and dark. Texts have a contrast of 4.5 or more with `card` and `bg`; the colours of the classes can be
/// told apart with any common colour blindness.
const COLOURS: [(&str, &str, &str); 15] = [
    ("bg", "#f6f7f9", "#12171c"),
    ("card", "#fff", "#1a2027"),
    ("ink", "#1b2430", "#e8ecf0"),
    ("soft", "#55606d", "#a7b2be"),
    ("line", "#c9d0d8", "#46515d"),
    ("grid", "#e9ecf0", "#2a333d"),
    ("accent", "#0b62a8", "#7fbcf7"),
    ("c0", "#0072b2", "#5ab4ee"),
    ("c1", "#c4500a", "#f4a259"),
    ("c2", "#00805d", "#43cfa4"),
    ("c3", "#a8457f", "#ea9cc9"),
    ("c4", "#866a00", "#e6d84a"),
    ("c5", "#5d6670", "#b5bec8"),
    ("c6", "#6f3fa0", "#c4a1f2"),
    ("c7", "#1b2430", "#fff"),
];

/// The rules of the figures in a page, whose colours follow the reader's choice.
pub(crate) fn of_page() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let (light, dark) = (variables(false), variables(true));
        let rules = coloured();
        format!(
            ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
             @media screen{{:root[data-theme=dark]{{{dark}}}}}\n{rules}"
        )
    });
    &STYLE
}

/// The rules of a figure that is a file of its own.
pub(crate) fn of_file() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let rules = coloured();
        let with_colours = |rule: &&str| rule.contains("var(");
        let dark: String = rules.split_inclusive('}').filter(with_colours).map(|rule| replaced(rule, true)).collect();
        format!("{}@media screen and (prefers-color-scheme:dark){{{dark}}}\n", replaced(&rules, false))
    });
    &STYLE
}

/// The rules, and those that give the classes their colours.
fn coloured() -> String {
    let classes: String = (0..KINDS).map(|k| format!(".c{k}{{color:{}}}", variable(&format!("c{k}")))).collect();
    format!("{classes}\n{RULES}")
}

/// A colour by its name.
fn variable(name: &str) -> String {
    format!("var(--{name})")
}

fn variables(dark: bool) -> String {
    COLOURS.iter().map(|(name, light, deep)| format!("--{name}:{};", if dark { deep } else { light })).collect()
}

/// The rules with colours in place of variables.
fn replaced(rules: &str, dark: bool) -> String {
    let one = |rules: String, (name, light, deep): &(&str, &str, &str)| {
        rules.replace(&variable(name), if dark { deep } else { light })
    };
    COLOURS.iter().fold(rules.to_owned(), one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_variables_and_a_file_has_none() {
        assert!(of_page().contains("--c0:#0072b2") && of_page().contains(".c0{color:var(--c0)}"));
        let file = of_file();
        assert!(!file.contains("var(") && !file.contains("--"), "{file}");
        assert!(file.contains(".c0{color:#0072b2}") && file.contains(".c0{color:#5ab4ee}"));
        #[cfg(feature = "png")]
        assert!(file.contains(FAMILIES));
        assert_eq!(file.matches('{').count(), file.matches('}').count());
    }
}
