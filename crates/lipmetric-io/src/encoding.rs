//! Text in other encodings than UTF-8, turned into it on the way.

use std::io::{self, Read};
use std::str::FromStr;

use crate::{Error, Result};

/// How text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, with or without a mark at its beginning.
    Utf8,
    /// UTF-16; the mark at the beginning tells the order of the bytes. Without one it is little-endian, unless the first byte is zero.
    Utf16,
    /// ISO 8859-1: a byte is a character.
    Latin1,
    /// As Latin-1, with the euro sign, dashes and curly quotes that Windows puts among the control characters.
    Windows1252,
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        match plain.as_str() {
            "utf8" => Ok(Self::Utf8),
            "utf16" => Ok(Self::Utf16),
            "latin1" | "iso88591" => Ok(Self::Latin1),
            "windows1252" | "cp1252" | "ansi" => Ok(Self::Windows1252),
            _ => Err(Error::usage(format!("unknown encoding `{name}`; choose utf-8, utf-16, latin-1 or windows-1252"))),
        }
    }
}

/// What Windows-1252 has where Latin-1 has control characters, from 0x80 on; five are not assigned and stay as they are.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Whether bytes look like UTF-16 of mostly Latin letters: every other byte is zero, and the others are not.
pub(crate) fn seems_wide(sample: &[u8]) -> bool {
    /// So many bytes are enough to see it.
    const SEEN: usize = 1024;
    let seen = &sample[..sample.len().min(SEEN) & !1];
    let zeros = |from: usize| seen.iter().skip(from).step_by(2).filter(|b| **b == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), seen.len() / 2);
    half >= 4 && even.min(odd) == 0 && 4 * even.max(odd) >= 3 * half
}

/// Bytes of another encoding, read as UTF-8.
pub(crate) struct Decoded<R> {
    inner: R,
    encoding: Encoding,
    big_endian: bool,
    begun: bool,
    /// Bytes that are not a whole character yet.
    rest: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
}

impl<R: Read> Decoded<R> {
    pub(crate) fn new(inner: R, encoding: Encoding) -> Self {
        Self { inner, encoding, big_endian: false, begun: false, rest: Vec::new(), ready: Vec::new(), given: 0 }
    }

    /// Decodes what there is; at the end also what is left over.
    fn decode(&mut self, at_end: bool) -> io::Result<()> {
        let mut text = String::new();
        match self.encoding {
            Encoding::Utf8 => {
                self.ready.append(&mut self.rest);
                return Ok(());
            }
            Encoding::Latin1 => text.extend(self.rest.drain(..).map(char::from)),
            Encoding::Windows1252 => {
                let letter =
                    |b: u8| if (0x80..0xa0).contains(&b) { WINDOWS[usize::from(b) - 0x80] } else { char::from(b) };
                text.extend(self.rest.drain(..).map(letter));
            }
            Encoding::Utf16 => self.decode_units(&mut text, at_end)?,
        }
        self.ready.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn decode_units(&mut self, text: &mut String, at_end: bool) -> io::Result<()> {
        if !self.begun && self.rest.len() >= 2 {
            self.begun = true;
            let marked = self.rest.starts_with(&[0xfe, 0xff]);
            self.big_endian = marked || self.rest[0] == 0;
            if marked || self.rest.starts_with(&[0xff, 0xfe]) {
                self.rest.drain(..2);
            }
        }
        let unit = |b: &[u8]| {
            if self.big_endian { u16::from_be_bytes([b[0], b[1]]) } else { u16::from_le_bytes([b[0], b[1]]) }
        };
        let mut units: Vec<u16> = self.rest.chunks_exact(2).map(unit).collect();
        // The first half of a pair waits for the second.
        if !at_end && units.last().is_some_and(|u| (0xd800..0xdc00).contains(u)) {
            units.pop();
        }
        let bad = || io::Error::new(io::ErrorKind::InvalidData, "this is not UTF-16: a character is only half there");
        for c in char::decode_utf16(units.iter().copied()) {
            text.push(c.map_err(|_| bad())?);
        }
        self.rest.drain(..2 * units.len());
        if at_end && !self.rest.is_empty() { Err(bad()) } else { Ok(()) }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            self.ready.clear();
            self.given = 0;
            let mut chunk = [0; 8192];
            let got = self.inner.read(&mut chunk)?;
            self.rest.extend_from_slice(&chunk[..got]);
            self.decode(got == 0)?;
            if got == 0 && self.ready.is_empty() {
                return Ok(0);
            }
        }
        let n = out.len().min(self.ready.len() - self.given);
        out[..n].copy_from_slice(&self.ready[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (out[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    fn decoded(bytes: &[u8], encoding: Encoding) -> io::Result<String> {
        let mut text = String::new();
        Decoded::new(Trickle(bytes), encoding).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "größe,€ 😀\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = [0xfeff].iter().chain(&units).flat_map(|u| u.to_le_bytes()).collect();
        let big: Vec<u8> = [0xfeff].iter().chain(&units).flat_map(|u| u.to_be_bytes()).collect();
        for bytes in [&little, &big] {
            assert_eq!(decoded(bytes, Encoding::Utf16).unwrap(), text);
            assert!(decoded(&bytes[..bytes.len() - 1], Encoding::Utf16).is_err());
            assert_eq!(
                decoded(
                    &"a,b\n"
                        .encode_utf16()
                        .flat_map(|u| if bytes == &big { u.to_be_bytes() } else { u.to_le_bytes() })
                        .collect::<Vec<u8>>(),
                    Encoding::Utf16
                )
                .unwrap(),
                "a,b\n"
            );
        }
        assert_eq!(decoded(b"gr\xf6\xdfe", Encoding::Latin1).unwrap(), "größe");
        assert_eq!(decoded(b"\x80 \x93x\x94", Encoding::Windows1252).unwrap(), "€ “x”");
        assert_eq!("ISO-8859-1".parse::<Encoding>().unwrap(), Encoding::Latin1);
        assert!("ebcdic".parse::<Encoding>().is_err());
    }
}
