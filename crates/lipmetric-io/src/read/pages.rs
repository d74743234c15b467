//! Pages of a Parquet column, checked before they are decoded.

use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Passes pages on, unless one claims more values than its bytes can hold: the decoder would make room for all of them.
pub(super) struct Checked {
    inner: Box<dyn PageReader>,
    /// Bytes that a value of a dictionary takes at the least.
    value: usize,
}

impl Checked {
    pub(super) fn new(inner: Box<dyn PageReader>, kind: Type) -> Self {
        let value = match kind {
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::BOOLEAN | Type::FIXED_LEN_BYTE_ARRAY => 1,
        };
        Self { inner, value }
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize > buf.len() / self.value
        {
            return Err(ParquetError::General(format!(
                "a dictionary of {} bytes claims {num_values} values",
                buf.len()
            )));
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
