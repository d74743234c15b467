//! Structs of Thrift's compact protocol: what they are by the format of Parquet, and a walk over them.

/// Structs and lists within each other that a field has which the format does not know.
const DEEPEST: usize = 24;
/// The number of a struct among Thrift's types.
pub(super) const STRUCT: u8 = 12;

/// What a value is by the format.
pub(super) enum Shape {
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
pub(super) const DESCRIPTION: Shape = Struct(&[
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
pub(super) struct Thrift<'a>(pub(super) &'a [u8], pub(super) usize);

impl Thrift<'_> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.0.get(self.1)?;
        self.1 += 1;
        Some(byte)
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
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

    pub(super) fn whole(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// The length of a page's header, and the sizes of the page: packed, unpacked.
    pub(super) fn page(mut self) -> Option<(usize, u64, u64)> {
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
    pub(super) fn take(&mut self, kind: u8, shape: &Shape) -> Option<()> {
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
