//! Numbers as people read them.

/// About three significant digits: `12.3`, `0.0456`, `1.2 × 10⁻⁷`.
pub(crate) fn short(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let size = value.abs();
    let text = if size == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e6).contains(&size) {
        let digits = (2 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{size:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        grouped(text)
    } else {
        let text = format!("{size:.1e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches(".0");
        if digits == "1" { format!("10{}", raised(power)) } else { format!("{digits} × 10{}", raised(power)) }
    };
    if value < 0.0 && text != "0" { format!("−{text}") } else { text }
}

/// Nine significant digits, for figures that agree in many.
pub(crate) fn precise(value: f64) -> String {
    let size = value.abs();
    if !(1e-3..1e9).contains(&size) {
        return short(value);
    }
    let digits = (8 - size.log10().floor() as i32).max(0) as usize;
    format!("{value:.digits$}").replace('-', "−")
}

/// An integer in the raised letters of Unicode.
fn raised(power: &str) -> String {
    let letter = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
    };
    power.chars().map(letter).collect()
}

/// `10⁻³`.
pub(crate) fn power(exponent: i32) -> String {
    format!("10{}", raised(&exponent.to_string()))
}

/// Thousands apart, where there are at least ten.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_once('.').map_or((text, None), |(w, r)| (w, Some(r)));
    let mut out = String::new();
    for (k, c) in whole.chars().enumerate() {
        if k > 0 && (whole.len() - k) % 3 == 0 && whole.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    match rest {
        Some(rest) => format!("{out}.{rest}"),
        None => out,
    }
}

/// A number of things.
pub(crate) fn count(value: usize) -> String {
    grouped(&value.to_string())
}

/// `1 row`, `1200 rows`.
pub(crate) fn counted(value: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// A share: `93.4 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}\u{202f}%", 100.0 * share)
}

/// A few digits for the script: enough for a picture.
pub(crate) fn rough(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_typeset() {
        let shown: Vec<String> =
            [0.0, 12.345, 0.045_61, -3.0, 1.234e-7, 1e-6, 123_456.0, f64::INFINITY].map(short).to_vec();
        assert_eq!(shown, ["0", "12.3", "0.0456", "−3", "1.2 × 10⁻⁷", "10⁻⁶", "123\u{202f}456", "∞"]);
        assert_eq!((percent(0.934), count(1200)), ("93.4\u{202f}%".to_owned(), "1200".to_owned()));
    }
}
