//! Pages of a Parquet column, checked before they are unpacked and decoded.
//!
//! A page says itself how large it is when it is unpacked, and the decoder believes it. So the headers of all pages are looked at
//! first, and the file's description at its end, in which a list may claim billions of elements that take no bytes. Both are structs
//! of Thrift's compact protocol (`thrift`). Then the numbers within a page that the decoder goes by (`runs`).

mod runs;
mod thrift;

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

use runs::{differences, have_heads, present};
use thrift::{DESCRIPTION, STRUCT, Thrift};

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

    /// Whether a page is what the decoder takes it for without a look: whether its runs begin with numbers, and its bytes hold as many
    /// values as it says.
    fn holds_its_values(&self, page: &Page) -> bool {
        // Old files have their levels in another form, which is left to the decoder.
        let old = matches!(page, Page::DataPage { def_level_encoding, .. } if *def_level_encoding != Encoding::RLE);
        if self.optional && old {
            return true;
        }
        let Some((levels, bytes)) = self.parts(page) else { return false };
        let cells = page.num_values() as usize;
        if self.optional && !have_heads(levels, 1, cells) {
            return false;
        }
        let values = if self.optional { present(levels, cells) } else { cells };
        match page.encoding() {
            Encoding::PLAIN if self.kind == Type::BYTE_ARRAY => hold_texts(bytes, values),
            Encoding::BYTE_STREAM_SPLIT => values <= bytes.len() / self.value,
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                bytes.split_first().is_none_or(|(width, runs)| have_heads(runs, usize::from(*width), values))
            }
            // After their length.
            Encoding::RLE => bytes.get(4..).is_none_or(|runs| have_heads(runs, 1, values)),
            Encoding::DELTA_BINARY_PACKED => differences(bytes, values..=cells, false).is_some(),
            Encoding::DELTA_LENGTH_BYTE_ARRAY => hold_lengths(bytes, values, cells),
            Encoding::DELTA_BYTE_ARRAY => {
                let shared = differences(bytes, values..=cells, false);
                let rest = shared.and_then(|(_, end)| bytes.get(end..));
                rest.is_some_and(|rest| hold_lengths(rest, values, cells))
            }
            _ => true,
        }
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

/// Whether there are so many texts, each after a length of four bytes.
fn hold_texts(mut bytes: &[u8], values: usize) -> bool {
    (0..values).all(|_| {
        let length_first = bytes.split_first_chunk();
        let after = length_first.and_then(|(length, rest)| rest.get(u32::from_le_bytes(*length) as usize..));
        after.map(|after| bytes = after).is_some()
    })
}

/// Whether there are lengths of so many texts, and then the texts.
fn hold_lengths(bytes: &[u8], values: usize, cells: usize) -> bool {
    let Some((lengths, end)) = differences(bytes, values..=cells, true) else { return false };
    let total = lengths.iter().try_fold(end, |total, length| total.checked_add(usize::try_from(*length).ok()?));
    total.is_some_and(|total| total <= bytes.len())
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { buf, num_values, .. }) => {
                let values = *num_values as usize;
                let texts = self.kind == Type::BYTE_ARRAY;
                if values > buf.len() / self.value || texts && !hold_texts(buf, values) {
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
