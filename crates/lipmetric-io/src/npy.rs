//! NumPy's array header: parsing it and writing it.

use std::io::{self, Read};

use lipmetric::data::excerpt;

pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Headers of plain arrays are about 100 bytes; longer ones belong to record types or to damage.
const MAX_HEADER: usize = 1 << 20;

/// What one element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    /// UTF-32 text, padded with zeros.
    Unicode,
    /// Bytes, padded with zeros.
    Bytes,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) kind: Kind,
    /// Bytes per element.
    pub(crate) size: usize,
    big_endian: bool,
}

impl Dtype {
    /// Parses a `descr` such as `<f8`.
    fn parse(descr: &str) -> Result<Self, String> {
        let unsupported = || {
            Err(format!(
                "elements of type `{}` are not supported; convert them in NumPy, for instance with `.astype('f8')`",
                excerpt(descr)
            ))
        };
        let mut chars = descr.chars();
        let big_endian = match chars.next() {
            Some('<' | '|' | '=') => false,
            Some('>') => true,
            _ => return unsupported(),
        };
        let code = chars.next();
        if code == Some('O') {
            return Err("the array holds pickled Python objects, which are not read because they could run code; \
                        convert it with `.astype('f8')` or `.astype('U')` and save again"
                .to_owned());
        }
        let (Some(code), Ok(count)) = (code, chars.as_str().parse::<usize>()) else { return unsupported() };
        let (kind, size) = match (code, count) {
            ('f', 4 | 8) => (Kind::Float, count),
            ('i', 1 | 2 | 4 | 8) => (Kind::Signed, count),
            ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, count),
            ('b', 1) => (Kind::Bool, 1),
            ('U', 1..=0x00ff_ffff) => (Kind::Unicode, 4 * count),
            ('S' | 'a', 1..=0x0fff_ffff) => (Kind::Bytes, count),
            ('U' | 'S' | 'a', 0) => return Err("the array holds only empty text; there is nothing to read".to_owned()),
            _ => return unsupported(),
        };
        Ok(Self { kind, size, big_endian })
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self.kind, Kind::Unicode | Kind::Bytes)
    }

    /// The element's bits as a little-endian whole number, for elements of at most 8 bytes.
    fn bits(self, bytes: &[u8]) -> u64 {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        if self.big_endian {
            wide[..bytes.len()].reverse();
        }
        u64::from_le_bytes(wide)
    }

    fn signed(self, bytes: &[u8]) -> i64 {
        let shift = 64 - 8 * self.size as u32;
        (self.bits(bytes) << shift) as i64 >> shift
    }

    /// The element as a number; whole numbers beyond 2^53 are rounded.
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        match self.kind {
            Kind::Float if self.size == 4 => f64::from(f32::from_bits(self.bits(bytes) as u32)),
            Kind::Float => f64::from_bits(self.bits(bytes)),
            Kind::Signed => self.signed(bytes) as f64,
            Kind::Bool => f64::from(u8::from(self.bits(bytes) != 0)),
            _ => self.bits(bytes) as f64,
        }
    }

    /// The element as text, as a class label is written: exact whole numbers, shortest decimals, NaN as nothing.
    pub(crate) fn text(self, bytes: &[u8]) -> Result<String, String> {
        match self.kind {
            Kind::Float => {
                let v = self.number(bytes);
                Ok(if v.is_nan() { String::new() } else { crate::numbers::shortest(v) })
            }
            Kind::Signed => Ok(self.signed(bytes).to_string()),
            Kind::Unsigned => Ok(self.bits(bytes).to_string()),
            Kind::Bool => Ok((self.bits(bytes) != 0).to_string()),
            Kind::Bytes => {
                let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
                let text = std::str::from_utf8(&bytes[..end]);
                text.map(str::to_owned).map_err(|_| "byte text that is not UTF-8; save it as Unicode".to_owned())
            }
            Kind::Unicode => {
                let unit = Self { size: 4, ..self };
                let codes: Vec<u64> = bytes.chunks_exact(4).map(|c| unit.bits(c)).collect();
                let end = codes.iter().rposition(|&c| c != 0).map_or(0, |i| i + 1);
                let chars = codes[..end].iter().map(|&c| u32::try_from(c).ok().and_then(char::from_u32));
                chars.collect::<Option<String>>().ok_or_else(|| "text that is not valid Unicode".to_owned())
            }
        }
    }
}

/// What an NPY header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: Dtype,
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
}

/// Why a header could not be read.
pub(crate) enum HeaderError {
    Io(io::Error),
    Content(String),
}

impl Header {
    /// Reads the header, up to the first element.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, HeaderError> {
        let mut exact = |n: usize| -> Result<Vec<u8>, HeaderError> {
            let mut bytes = Vec::new();
            reader.take(n as u64).read_to_end(&mut bytes).map_err(HeaderError::Io)?;
            if bytes.len() < n {
                return Err(HeaderError::Content("the file ends within its header; get it again".to_owned()));
            }
            Ok(bytes)
        };
        let start = exact(8)?;
        if &start[..6] != MAGIC {
            let message = "this is not an NPY file: it does not begin with NumPy's mark; check the format";
            return Err(HeaderError::Content(message.to_owned()));
        }
        let length = match start[6] {
            1 => exact(2)?.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)),
            2 | 3 => exact(4)?.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)),
            v => return Err(HeaderError::Content(format!("NPY version {v} is unknown; versions 1 to 3 are read"))),
        };
        if length > MAX_HEADER {
            return Err(HeaderError::Content(format!("the header claims to be {length} bytes long; it is damaged")));
        }
        Self::parse(&String::from_utf8_lossy(&exact(length)?)).map_err(HeaderError::Content)
    }

    /// Parses the Python dictionary literal that a header is.
    fn parse(text: &str) -> Result<Self, String> {
        let damaged = || format!("the header cannot be understood: `{}`", excerpt(text.trim()));
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut rest = text.trim_start().strip_prefix('{').ok_or_else(damaged)?.trim_start();
        while !rest.starts_with('}') {
            let (key, after) = quoted(rest).ok_or_else(damaged)?;
            let value = after.trim_start().strip_prefix(':').ok_or_else(damaged)?.trim_start();
            rest = match key {
                "descr" if value.starts_with('[') => {
                    return Err("the array has named fields (a record type); save its fields as plain columns, or \
                                as CSV"
                        .to_owned());
                }
                "descr" => {
                    let (d, after) = quoted(value).ok_or_else(damaged)?;
                    descr = Some(d);
                    after
                }
                "fortran_order" => {
                    let yes = value.strip_prefix("True");
                    fortran = Some(yes.is_some());
                    yes.or_else(|| value.strip_prefix("False")).ok_or_else(damaged)?
                }
                "shape" => {
                    let (inside, after) =
                        value.strip_prefix('(').and_then(|v| v.split_once(')')).ok_or_else(damaged)?;
                    let sizes = inside.split(',').map(|s| s.trim().trim_end_matches('L')).filter(|s| !s.is_empty());
                    shape = Some(sizes.map(str::parse).collect::<Result<Vec<u64>, _>>().map_err(|_| damaged())?);
                    after
                }
                _ => return Err(damaged()),
            }
            .trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else { return Err(damaged()) };
        Ok(Self { dtype: Dtype::parse(descr)?, fortran, shape })
    }

    /// The array as rows and columns; one dimension is one column.
    pub(crate) fn table_shape(&self) -> Result<(u64, u64), String> {
        match *self.shape {
            [n] => Ok((n, 1)),
            [n, p] if p > 0 => Ok((n, p)),
            [_, _] => Err("the array has no columns".to_owned()),
            _ => Err(format!(
                "the array has {} dimensions; a table has 2 (rows, columns), so reshape it in NumPy",
                self.shape.len()
            )),
        }
    }
}

/// A string in single or double quotes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// A version 1 header for little-endian elements in C order; one dimension if there are no `columns`. Its length
/// does not depend on the number of rows, so that the number can be corrected in place once it is known.
pub(crate) fn header_bytes(descr: &str, rows: usize, columns: Option<usize>) -> Vec<u8> {
    let columns = columns.map(|c| format!(" {c}")).unwrap_or_default();
    let rows = rows.to_string();
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows},{columns}), }}");
    let widest = dict.len() - rows.len() + usize::MAX.to_string().len();
    // Padded to a multiple of 64, newline included, as NumPy does.
    let total = (10 + widest + 1).next_multiple_of(64);
    dict.extend(std::iter::repeat_n(' ', total - 10 - dict.len() - 1));
    dict.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header, String> {
        Header::parse(text)
    }

    #[test]
    fn headers_parse_in_any_order_and_spelling() {
        let h = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!((h.shape.as_slice(), h.fortran), ([3, 4].as_slice(), false));
        let h = parse("{\"shape\":(5L,),\"fortran_order\":True,\"descr\":\">i2\"}").unwrap();
        assert_eq!((h.shape.as_slice(), h.fortran, h.dtype.big_endian), ([5].as_slice(), true, true));
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        let of = |d: &str| parse(&format!("{{'descr': {d}, 'fortran_order': False, 'shape': (1,)}}")).unwrap_err();
        assert!(of("'|O'").contains("pickled Python objects"));
        assert!(of("'<c16'").contains("`<c16` are not supported"));
        assert!(of("[('a', '<f8')]").contains("named fields"));
        assert!(of("'<U0'").contains("empty text"));
        assert!(parse("{'descr': '<f8'}").unwrap_err().contains("cannot be understood"));
        assert!(parse("nonsense").unwrap_err().contains("cannot be understood"));
    }

    #[test]
    fn written_headers_read_back_and_keep_their_length() {
        let small = header_bytes("<f8", 0, Some(3));
        let large = header_bytes("<f8", usize::MAX, Some(3));
        assert_eq!(small.len(), large.len());
        assert_eq!(small.len() % 64, 0);
        let h = Header::read(&mut large.as_slice()).unwrap_or_else(|_| panic!("own header unreadable"));
        assert_eq!(h.shape, [usize::MAX as u64, 3]);
    }

    #[test]
    fn signs_survive_every_width_and_order() {
        for (descr, bytes, value) in [
            ("|i1", vec![0xfe], -2.0),
            (">i2", vec![0xff, 0xfe], -2.0),
            ("<u4", vec![1, 0, 0, 0x80], 2_147_483_649.0),
            (">f4", vec![0x3f, 0xc0, 0, 0], 1.5),
            ("|b1", vec![1], 1.0),
        ] {
            assert_eq!(Dtype::parse(descr).unwrap().number(&bytes), value, "{descr}");
        }
    }
}
