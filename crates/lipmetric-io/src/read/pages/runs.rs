//! The numbers within a page by which the decoder finds its way: runs of equal or packed values, and blocks of differences.

use std::ops::RangeInclusive;

use super::thrift::Thrift;

/// The longest number that the decoder reads, in bytes. It gives up on a longer one, by a panic.
const LONGEST_NUMBER: usize = 10;
/// A block of differences has 128 or 256 values in what programs write; with far more the decoder's sums would overflow.
const LONGEST_BLOCK: u64 = 1 << 20;

/// How many of so many cells are no nulls: runs of equal bits, and bits one by one.
pub(super) fn present(levels: &[u8], cells: usize) -> usize {
    let (mut levels, mut left, mut found) = (Thrift(levels, 0), cells, 0);
    while left > 0 {
        let Some(head) = levels.varint() else { break };
        // Padding, over which the decoder goes on.
        if head == 0 {
            continue;
        }
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

/// Whether the runs of so many values of so many bits begin with numbers that the decoder can read. Runs that end too early it tells itself.
pub(super) fn have_heads(runs: &[u8], width: usize, values: usize) -> bool {
    let (mut runs, mut left) = (Thrift(runs, 0), values as u64);
    while left > 0 && runs.1 < runs.0.len() {
        let rest = runs.0.len() - runs.1;
        let Some(head) = runs.varint() else { return rest <= LONGEST_NUMBER };
        let run = head >> 1;
        let (values, bytes) = match head & 1 {
            // Padding, over which the decoder goes on.
            0 if run == 0 => (0, 0),
            0 => (run, width.div_ceil(8)),
            _ => (run.saturating_mul(8), usize::try_from(run).unwrap_or(usize::MAX).saturating_mul(width)),
        };
        left = left.saturating_sub(values);
        runs.1 = runs.1.saturating_add(bytes);
    }
    true
}

/// The numbers of blocks of differences, if they are `wanted`, and where the blocks end; `None` if they are damaged, or are not so many as
/// they should be.
pub(super) fn differences(bytes: &[u8], values: RangeInclusive<usize>, wanted: bool) -> Option<(Vec<i32>, usize)> {
    let mut at = Thrift(bytes, 0);
    let (block, parts, count, first) = (at.varint()?, at.varint()?, at.varint()?, at.whole()?);
    let whole = block > 0 && block <= LONGEST_BLOCK && block % 128 == 0 && parts > 0 && block % parts == 0;
    let count = usize::try_from(count).ok().filter(|count| whole && values.contains(count))?;
    let (parts, each) = (parts as usize, (block / parts) as usize);
    if each % 32 != 0 {
        return None;
    }
    let (mut found, mut last) = (Vec::new(), first as i32);
    if wanted && count > 0 {
        found.push(last);
    }
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let least = at.whole()?;
        let widths = bytes.get(at.1..)?.get(..parts)?;
        at.1 += parts;
        for width in widths.iter().map(|width| usize::from(*width)) {
            let many = left.min(each);
            if wanted && many > 0 {
                let packed = bytes.get(at.1..).filter(|packed| width <= 32 && packed.len() * 8 >= many * width)?;
                found.extend((0..many).map(|k| {
                    last = last.wrapping_add(least as i32).wrapping_add(bits(packed, k * width, width) as i32);
                    last
                }));
            }
            at.1 += if many > 0 { width * each / 8 } else { 0 };
            left -= many;
        }
    }
    Some((found, at.1.min(bytes.len())))
}

/// A number of at most 32 bits, packed from the given bit on.
fn bits(packed: &[u8], from: usize, width: usize) -> u64 {
    let mut window = [0; 8];
    let seen = &packed[(from / 8).min(packed.len())..];
    let many = seen.len().min(8);
    window[..many].copy_from_slice(&seen[..many]);
    u64::from_le_bytes(window) >> (from % 8) & ((1 << width) - 1)
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
        assert_eq!(present(&[0, 0, 10, 1, 0], 12), 5, "padding");
    }

    #[test]
    fn runs_begin_with_numbers() {
        // Two equal values of nine bits, then eight packed ones, then a number of eleven bytes.
        let mut runs = vec![4, 7, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        runs.extend([0xff; 10]);
        assert!(have_heads(&runs, 9, 10), "cut off within the last number");
        runs.push(1);
        assert!(have_heads(&runs, 9, 10), "which no value needs");
        assert!(!have_heads(&runs, 9, 11));
        assert!(have_heads(&[0, 0, 0], 1, 5), "padding");
    }

    #[test]
    fn differences_are_read_as_they_are_written() {
        // 128 in 4 parts, 35 numbers from 7 on, at least 1 more each: 0 or 1 more by turns in one bit, then 3 of two bits.
        let mut block = vec![0x80, 1, 4, 35, 14, 2, 1, 2, 0, 0];
        block.extend([0b1010_1010; 4]);
        block.extend([0b11_1001, 0, 0, 0, 0, 0, 0, 0]);
        let mut expected = vec![7];
        for k in 0..34 {
            let more = if k < 32 { k % 2 } else { [1, 2][k as usize - 32] };
            expected.push(expected[k as usize] + 1 + more);
        }
        assert_eq!(differences(&block, 35..=35, true), Some((expected, block.len())));
        assert_eq!(differences(&block, 35..=40, false), Some((vec![], block.len())));
        assert_eq!(differences(&block, 36..=40, true), None, "fewer than there should be");
        assert_eq!(differences(&block, 1..=34, true), None, "more than there is room for");
        assert_eq!(differences(&block[..14], 35..=35, true), None, "cut short");
        // No parts, a block that is too long, a number without end.
        for damaged in [&[0x80_u8, 1, 0, 2, 0] as &[u8], &[0x80, 0x80, 0x80, 0x80, 8, 4, 2, 0], &[0xff; 30]] {
            assert_eq!(differences(damaged, 0..=100, true), None);
        }
    }
}
