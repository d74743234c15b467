//! Pages of a Parquet column, checked before they are unpacked and decoded.
//!
//! A page says itself how large it is when it is unpacked, and the decoder believes it. So the headers of all pages are looked at
//! first. They are structs of Thrift's compact protocol, of which two fields are of interest and the others are skipped. So is the
//! file's description at its end, in which a list may claim billions of elements that take no bytes.

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
/// Structs within structs that a header may have.
const DEEPEST: usize = 8;
/// Structs and lists within each other that a file's description may have.
const DEEPEST_DESCRIPTION: usize = 24;
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
    match Thrift(&described, 0).skip(STRUCT, DEEPEST_DESCRIPTION) {
        Some(()) => Ok(()),
        None => Err(ParquetError::General("the description of the columns is damaged".to_owned())),
    }
}

/// The numbers of a whole number and of a struct among Thrift's types.
const I32: u8 = 5;
const STRUCT: u8 = 12;

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
    ///
    /// The decoder goes by the number of a field alone, and takes its value for what it should be. A field of another type would be
    /// another header to the decoder than the one that is looked at here, so it is refused.
    fn page(mut self) -> Option<(usize, u64, u64)> {
        let (mut packed, mut unpacked) = (None, None);
        self.fields(|thrift, field, kind| match (field, kind) {
            (2, I32) => thrift.size().map(|size| unpacked = Some(size)),
            (3, I32) => thrift.size().map(|size| packed = Some(size)),
            (1 | 4, I32) => thrift.skip(I32, DEEPEST),
            (5, STRUCT) => thrift.part(1..=4, 0, 5),
            (6, STRUCT) => thrift.skip(STRUCT, DEEPEST),
            (7, STRUCT) => thrift.part(1..=2, 3, 0),
            (8, STRUCT) => thrift.part(1..=6, 7, 8),
            (1..=8, _) => None,
            _ => thrift.skip(kind, DEEPEST),
        })?;
        Some((self.1, packed?, unpacked?))
    }

    /// Passes over the part of a header that belongs to one kind of page: the numbers of the fields that are whole numbers, that which
    /// is true or false, and that of the statistics.
    fn part(&mut self, numbers: std::ops::RangeInclusive<i64>, truth: i64, statistics: i64) -> Option<()> {
        self.fields(|thrift, field, kind| {
            let right = match kind {
                _ if numbers.contains(&field) => kind == I32,
                _ if field == truth => matches!(kind, 1 | 2),
                _ if field == statistics => kind == STRUCT,
                _ => true,
            };
            right.then(|| thrift.skip(kind, DEEPEST))?
        })
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
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // The decoder takes the elements of a list of booleans for nothing, and counts on. No header has one.
                let endless = matches!(head & 15, 1 | 2);
                if count > 0 && (endless || count > self.0.len() as u64) {
                    return None;
                }
                for _ in 0..count {
                    self.skip(head & 15, depth)?;
                    (self.1 <= self.0.len()).then_some(())?;
                }
            }
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
        // A list of booleans, whose elements the decoder takes for nothing.
        assert_eq!(Thrift(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0], 0).skip(STRUCT, 4), None);
        assert_eq!(Thrift(&[0x19, 0, 0], 0).skip(STRUCT, 4), Some(()), "some write an empty list so");
    }
}
