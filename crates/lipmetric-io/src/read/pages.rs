//! Pages of a Parquet column, checked before they are unpacked and decoded.
//!
//! A page says itself how large it is when it is unpacked, and the decoder believes it. So the headers of all pages are looked at
//! first, and the file's description at its end, in which a list may claim billions of elements that take no bytes. Both are structs
//! of Thrift's compact protocol (`Thrift`); what stands in them by the format is in `DESCRIPTION` and `PAGE`.

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

/// Passes pages on, unless one claims more values than its bytes can hold, for which the decoder would make room, or refers to a
/// dictionary that has not come.
pub(super) struct Checked {
    inner: Box<dyn PageReader>,
    /// Bytes that a value of a dictionary takes at the least.
    value: usize,
    kind: Type,
    /// Whether there may be nulls, so that a page may have fewer values than it says.
    optional: bool,
    /// Whether the dictionary has come.
    dictionary: bool,
}

impl Checked {
    pub(super) fn new(inner: Box<dyn PageReader>, kind: Type, optional: bool) -> Self {
        let value = match kind {
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::BOOLEAN | Type::FIXED_LEN_BYTE_ARRAY => 1,
        };
        Self { inner, value, kind, optional, dictionary: false }
    }

    /// Whether the bytes of a page hold as many values as it says, in the encodings of which the decoder does not check it.
    fn holds_its_values(&self, page: &Page) -> bool {
        let texts = page.encoding() == Encoding::PLAIN && self.kind == Type::BYTE_ARRAY;
        // Old files have their levels in another form, which is left to the decoder.
        let old = matches!(page, Page::DataPage { def_level_encoding, .. } if *def_level_encoding != Encoding::RLE);
        if !texts && page.encoding() != Encoding::BYTE_STREAM_SPLIT || self.optional && old {
            return true;
        }
        let Some((levels, mut bytes)) = self.parts(page) else { return false };
        let count = page.num_values() as usize;
        let values = if self.optional { present(levels, count) } else { count };
        if !texts {
            return values <= bytes.len() / self.value;
        }
        // A length of four bytes each, and the text.
        (0..values).all(|_| {
            let length_first = bytes.split_first_chunk();
            let after = length_first.and_then(|(length, rest)| rest.get(u32::from_le_bytes(*length) as usize..));
            after.map(|after| bytes = after).is_some()
        })
    }

    /// The bytes that tell nulls from values, and those of the values.
    fn parts<'a>(&self, page: &'a Page) -> Option<(&'a [u8], &'a [u8])> {
        match page {
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                buf.get(*rep_levels_byte_len as usize..)?.split_at_checked(*def_levels_byte_len as usize)
            }
            page if self.optional => {
                let (length, rest) = page.buffer().split_first_chunk()?;
                rest.split_at_checked(u32::from_le_bytes(*length) as usize)
            }
            page => Some((&[], page.buffer())),
        }
    }
}

/// How many of so many cells are no nulls: runs of equal bits, and bits one by one.
fn present(levels: &[u8], cells: usize) -> usize {
    let (mut levels, mut left, mut found) = (Thrift(levels, 0), cells, 0);
    while left > 0 {
        let Some(head) = levels.varint() else { break };
        let run = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        let bytes = if head & 1 == 0 { 1 } else { run.min(left.div_ceil(8)) };
        for _ in 0..bytes {
            let Some(byte) = levels.byte() else { return found };
            let many = if head & 1 == 0 { run.min(left) } else { left.min(8) };
            found += match head & 1 {
                0 => many * usize::from(byte == 1),
                _ => (0..many).filter(|bit| byte >> bit & 1 == 1).count(),
            };
            left -= many;
        }
    }
    found
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { buf, num_values, .. }) => {
                if *num_values as usize > buf.len() / self.value {
                    let message = format!("a dictionary of {} bytes claims {num_values} values", buf.len());
                    return Err(ParquetError::General(message));
                }
                self.dictionary = true;
            }
            Some(data) => {
                let refers = matches!(data.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
                if refers && !self.dictionary {
                    return Err(ParquetError::General("values refer to a dictionary that is not there".to_owned()));
                }
                if !self.holds_its_values(data) {
                    return Err(ParquetError::General("a page has fewer values than it says".to_owned()));
                }
            }
            None => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Headers are longer only where they carry long statistics.
const LONGEST_HEADER: usize = 1 << 20;
/// Structs and lists within each other that a field has which the format does not know.
const DEEPEST: usize = 24;
/// What stands behind a file's description: its length, and a mark.
const TRAILER: u64 = 8;
/// What a page of numbers takes beside its values: levels, a dictionary's indices.
const BESIDE: u64 = 1 << 16;

/// Refuses a column chunk with a page that would unpack to more than `limit` bytes or, where a value has a fixed size, to far more than
/// its values can take; and one whose pages do so together.
pub(super) fn check_sizes<R: ChunkReader>(source: &R, chunk: &ColumnChunkMetaData, limit: u64) -> Result<()> {
    let negative = |_| ParquetError::General("a column has a negative place or size".to_owned());
    let (start, length) = chunk.byte_range();
    let values = u64::try_from(chunk.num_values()).map_err(negative)?;
    let most = match chunk.column_type() {
        // A length and the text, which may be long.
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => limit,
        _ => values.saturating_mul(16).saturating_add(BESIDE).min(limit),
    };
    let (mut at, end, mut total) = (start, start.saturating_add(length), 0_u64);
    while at < end {
        let room = usize::try_from(end - at).unwrap_or(usize::MAX).min(LONGEST_HEADER);
        // Most headers are short: the rest of the page is not read for them.
        let mut header = None;
        for window in [room.min(256), room] {
            header = header.or_else(|| Thrift(&source.get_bytes(at, window).ok()?, 0).page());
        }
        let Some((header, packed, unpacked)) = header else {
            return Err(ParquetError::General("a page's header is damaged".to_owned()));
        };
        total = total.saturating_add(unpacked);
        if unpacked > most || total > limit {
            return Err(ParquetError::General(format!(
                "a page of {packed} bytes claims to unpack to {unpacked}, more than its values or the memory allow"
            )));
        }
        at = at.saturating_add(header as u64).saturating_add(packed);
        if at > end {
            return Err(ParquetError::General("a page is longer than its column".to_owned()));
        }
    }
    Ok(())
}

/// Refuses a file whose description has lists of more elements than it has bytes. What else may be wrong with it the decoder tells.
pub(super) fn check_description<R: ChunkReader>(source: &R) -> Result<()> {
    let Some(end) = source.len().checked_sub(TRAILER) else { return Ok(()) };
    let trailer = source.get_bytes(end, TRAILER as usize)?;
    let Some((length, mark)) = trailer.split_first_chunk::<4>() else { return Ok(()) };
    let length = u64::from(u32::from_le_bytes(*length));
    let Some(start) = end.checked_sub(length).filter(|_| mark == b"PAR1") else { return Ok(()) };
    let described = source.get_bytes(start, length as usize)?;
    match Thrift(&described, 0).take(STRUCT, &DESCRIPTION) {
        Some(()) => Ok(()),
        None => Err(ParquetError::General("the description of the columns is damaged".to_owned())),
    }
}

/// The number of a struct among Thrift's types.
const STRUCT: u8 = 12;

/// What a value is by the format.
enum Shape {
    Truth,
    Byte,
    Whole,
    Real,
    Text,
    List(&'static Shape),
    /// Fields by their numbers; others may be anything.
    Struct(&'static [(i64, Shape)]),
}

use Shape::{Byte, List, Real, Struct, Text, Truth, Whole};

const EMPTY: Shape = Struct(&[]);
const TIME_UNIT: Shape = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const LOGICAL_TYPE: Shape = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Whole), (2, Whole)])),
    (6, EMPTY),
    (7, Struct(&[(1, Truth), (2, TIME_UNIT)])),
    (8, Struct(&[(1, Truth), (2, TIME_UNIT)])),
    (10, Struct(&[(1, Byte), (2, Truth)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Text)])),
    (18, Struct(&[(1, Text), (2, Whole)])),
]);
const SCHEMA_ELEMENT: Shape = Struct(&[
    (1, Whole),
    (2, Whole),
    (3, Whole),
    (4, Text),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, Whole),
    (9, Whole),
    (10, LOGICAL_TYPE),
]);
const KEY_VALUE: Shape = Struct(&[(1, Text), (2, Text)]);
const STATISTICS: Shape =
    Struct(&[(1, Text), (2, Text), (3, Whole), (4, Whole), (5, Text), (6, Text), (7, Truth), (8, Truth), (9, Whole)]);
const BOUNDING_BOX: Shape =
    Struct(&[(1, Real), (2, Real), (3, Real), (4, Real), (5, Real), (6, Real), (7, Real), (8, Real)]);
const COLUMN: Shape = Struct(&[
    (1, Whole),
    (2, List(&Whole)),
    (3, List(&Text)),
    (4, Whole),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, List(&KEY_VALUE)),
    (9, Whole),
    (10, Whole),
    (11, Whole),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Whole), (2, Whole), (3, Whole)]))),
    (14, Whole),
    (15, Whole),
    (16, Struct(&[(1, Whole), (2, List(&Whole)), (3, List(&Whole))])),
    (17, Struct(&[(1, BOUNDING_BOX), (2, List(&Whole))])),
]);
const COLUMN_CHUNK: Shape = Struct(&[
    (1, Text),
    (2, Whole),
    (3, COLUMN),
    (4, Whole),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, EMPTY),
    (9, Text),
]);
const ROW_GROUP: Shape = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Whole),
    (3, Whole),
    (4, List(&Struct(&[(1, Whole), (2, Truth), (3, Truth)]))),
    (5, Whole),
    (6, Whole),
    (7, Whole),
]);
/// A file's description.
const DESCRIPTION: Shape = Struct(&[
    (1, Whole),
    (2, List(&SCHEMA_ELEMENT)),
    (3, Whole),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Text),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))),
    (8, EMPTY),
    (9, Text),
]);
/// A page's header.
const PAGE: &[(i64, Shape)] = &[
    (1, Whole),
    (2, Whole),
    (3, Whole),
    (4, Whole),
    (5, Struct(&[(1, Whole), (2, Whole), (3, Whole), (4, Whole), (5, STATISTICS)])),
    (6, EMPTY),
    (7, Struct(&[(1, Whole), (2, Whole), (3, Truth)])),
    (8, Struct(&[(1, Whole), (2, Whole), (3, Whole), (4, Whole), (5, Whole), (6, Whole), (7, Truth), (8, STATISTICS)])),
];
/// The fields of a page's header with its sizes: unpacked, packed.
const SIZES: [i64; 2] = [2, 3];

/// Bytes of Thrift's compact protocol, and the place in them.
struct Thrift<'a>(&'a [u8], usize);

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.0.get(self.1)?;
        self.1 += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn whole(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// The length of a page's header, and the sizes of the page: packed, unpacked.
    fn page(mut self) -> Option<(usize, u64, u64)> {
        let mut sizes = [None; 2];
        self.fields(|thrift, field, kind| match SIZES.iter().position(|size| *size == field) {
            Some(which) if matches!(kind, 4..=6) => thrift.size().map(|size| sizes[which] = Some(size)),
            _ => thrift.field(field, kind, PAGE),
        })?;
        Some((self.1, sizes[1]?, sizes[0]?))
    }

    /// Passes over a value that is what it has to be by the format.
    ///
    /// The decoder goes by the number of a field alone, and takes its value for what it should be. A field of another type would be
    /// other fields to the decoder than those that are looked at here, so it is refused.
    fn take(&mut self, kind: u8, shape: &Shape) -> Option<()> {
        match (shape, kind) {
            (Truth, 1 | 2) | (Byte, 3) | (Whole, 4..=6) | (Real, 7) | (Text, 8) => self.skip(kind, DEEPEST),
            (List(of), 9) => self.elements(|thrift, kind| thrift.take(kind, of)),
            (Struct(known), STRUCT) => self.fields(|thrift, field, kind| thrift.field(field, kind, known)),
            _ => None,
        }
    }

    fn field(&mut self, field: i64, kind: u8, known: &[(i64, Shape)]) -> Option<()> {
        match known.iter().find(|(number, _)| *number == field) {
            Some((_, shape)) => self.take(kind, shape),
            None => self.skip(kind, DEEPEST),
        }
    }

    /// A size, which the decoder takes for 32 bits.
    fn size(&mut self) -> Option<u64> {
        u64::from(u32::try_from(i32::try_from(self.whole()?).ok()?).ok()?).into()
    }

    /// Calls `each` with the number and the type of every field of a struct; it must take the field's value.
    fn fields(&mut self, mut each: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => self.whole()?,
                delta => field + i64::from(delta),
            };
            // The decoder takes it for 16 bits.
            i16::try_from(field).ok()?;
            each(self, field, head & 15)?;
        }
    }

    /// Calls `each` with the type of every element of a list; it must take the element.
    fn elements(&mut self, mut each: impl FnMut(&mut Self, u8) -> Option<()>) -> Option<()> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // The decoder takes the elements of a list of booleans for nothing, and counts on. No header has one.
        let endless = matches!(head & 15, 1 | 2);
        if count > 0 && (endless || count > self.0.len() as u64) {
            return None;
        }
        (0..count).try_for_each(|_| each(self, head & 15))
    }

    /// Passes over a value.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // A field that is true or false has no value of its own.
            1 | 2 => {}
            3 => self.1 += 1,
            4..=6 => _ = self.varint()?,
            7 => self.1 += 8,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.1 = self.1.checked_add(length)?;
            }
            9 | 10 => self.elements(|thrift, kind| thrift.skip(kind, depth))?,
            STRUCT => self.fields(|thrift, _, kind| thrift.skip(kind, depth))?,
            _ => return None,
        }
        (self.1 <= self.0.len()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_by_their_levels() {
        // Five values, three nulls, then the bits 1 0 1 1 (and four that belong to no cell).
        let levels = [10, 1, 6, 0, 3, 0b1111_1101];
        assert_eq!([0, 5, 8, 9, 10, 12, 16].map(|cells| present(&levels, cells)), [0, 5, 5, 6, 6, 8, 12]);
        assert_eq!(present(&levels[..5], 12), 5, "cut short");
        assert_eq!(present(&[0; 9], 12), 0, "runs of nothing");
    }

    #[test]
    fn a_header_is_measured_whatever_it_holds() {
        // Type 0, unpacked 300, packed 20, a checksum (field 4), a struct (field 9) with a list of two strings, then the end.
        let header = [0x15, 0, 0x15, 0xd8, 4, 0x15, 40, 0x15, 2, 0x5c, 0x19, 0x28, 2, b'a', b'b', 1, b'c', 0x11, 0, 0];
        let mut longer = header.to_vec();
        longer.extend([7; 30]);
        assert_eq!(Thrift(&longer, 0).page(), Some((header.len(), 20, 300)));
        for cut in 0..header.len() {
            assert_eq!(Thrift(&header[..cut], 0).page(), None, "{cut}");
        }
        // A negative size, a number without end, a list that claims more than there is.
        assert_eq!(Thrift(&[0x15, 0, 0x15, 1, 0x15, 2, 0], 0).page(), None);
        assert_eq!(Thrift(&[0xff; 40], 0).page(), None);
        assert_eq!(Thrift(&[0x19, 0xf3, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 0).page(), None);
        // The same field as a number and as a list of numbers, a size beyond 32 bits, a field beyond 16.
        assert_eq!(Thrift(&[0x15, 0, 0x15, 2, 0x15, 2, 0x2c, 0x15, 2, 0, 0], 0).page(), Some((11, 1, 1)));
        assert_eq!(Thrift(&[0x15, 0, 0x15, 2, 0x15, 2, 0x2c, 0x19, 0x15, 2, 0, 0], 0).page(), None);
        assert_eq!(Thrift(&[0x19, 0x15, 0, 0x15, 2, 0x15, 2, 0], 0).page(), None);
        assert_eq!(Thrift(&[0x15, 0, 0x15, 2, 0x15, 0x82, 0x80, 0x80, 0x80, 0x20, 0], 0).page(), None);
        assert_eq!(Thrift(&[0x15, 0, 0x15, 2, 0x15, 2, 0x05, 0x80, 0x80, 8, 2, 0], 0).page(), None);
        // A version that is a text, a list of names that are numbers, a schema that is a list of numbers; a version and nothing else.
        for damaged in [&[0x18_u8, 1, b'a', 0] as &[u8], &[0x29, 0x1c, 0x45, 2, 0, 0], &[0x29, 0x15, 2, 0]] {
            assert_eq!(Thrift(damaged, 0).take(STRUCT, &DESCRIPTION), None, "{damaged:?}");
        }
        assert_eq!(Thrift(&[0x15, 2, 0], 0).take(STRUCT, &DESCRIPTION), Some(()));
        // A list of booleans, whose elements the decoder takes for nothing.
        assert_eq!(Thrift(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0], 0).skip(STRUCT, 4), None);
        assert_eq!(Thrift(&[0x19, 0, 0], 0).skip(STRUCT, 4), Some(()), "some write an empty list so");
    }
}
