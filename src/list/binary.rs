//! Decodes arrays of little-endian numbers, and checks that each number can be a successor.

use crate::list::ListFormat;

/// Decodes the numbers in `bytes` into `out`, which must have exactly as many elements. Returns false if a number is
/// neither -1 nor from 0 to `length - 1`.
///
/// Bounds are checked by collecting two sign bits of each number `x`. The sign bit of `x + 1` is set if `x < -1`, and
/// the sign bit of `length - 1 - x` is set if `x >= length`. If an operation overflows, one of the two bits is also
/// set.
#[inline]
pub(super) fn widen(format: ListFormat, bytes: &[u8], length: u64, out: &mut [i64]) -> bool {
    let last = length.wrapping_sub(1) as i64;
    if format == ListFormat::I32 {
        let (words, last) = (bytes.as_chunks::<4>().0, last as i32);
        let mut signs = 0i32;
        for (value, word) in out.iter_mut().zip(words) {
            let word = i32::from_le_bytes(*word);
            signs |= word.wrapping_add(1) | last.wrapping_sub(word);
            *value = word.into();
        }
        signs >= 0
    } else {
        let words = bytes.as_chunks::<8>().0;
        let mut signs = 0i64;
        for (value, word) in out.iter_mut().zip(words) {
            let word = i64::from_le_bytes(*word);
            signs |= word.wrapping_add(1) | last.wrapping_sub(word);
            *value = word;
        }
        signs >= 0
    }
}

/// Returns the index of the first value that is neither -1 nor from 0 to `length - 1`; `None` if there is no such
/// value.
#[inline]
pub(super) fn first_bad(values: &[i64], length: u64) -> Option<usize> {
    let last = length.wrapping_sub(1) as i64;
    let signs = values.iter().fold(0, |signs, value| signs | value.wrapping_add(1) | last.wrapping_sub(*value));
    let is_bad = |value: &i64| *value < -1 || *value >= length as i64;
    if signs < 0 { values.iter().position(is_bad) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        let numbers = [i64::MIN, i64::MIN + 1, i64::MIN + 9, -2, -1, 0, 1, 8, 9, 10, 11, i64::MAX - 9, i64::MAX];
        for length in [1, 2, 9, 10, 11, i64::MAX as u64] {
            for number in numbers {
                let fits = (-1..length as i64).contains(&number);
                let mut out = [0; 3];
                let bytes = [0, number, -1].map(i64::to_le_bytes);
                assert_eq!(widen(ListFormat::I64, bytes.as_flattened(), length, &mut out), fits, "{length} {number}");
                assert_eq!(out, [0, number, -1]);
                assert_eq!(first_bad(&out, length), if fits { None } else { Some(1) });
            }
        }
        for length in [1, 2, 10, i32::MAX as u64] {
            for number in [i32::MIN, i32::MIN + 9, -2, -1, 0, 1, 9, 10, i32::MAX - 1, i32::MAX] {
                let fits = (-1..length as i64).contains(&number.into());
                let mut out = [0; 2];
                let bytes = [-1, number].map(i32::to_le_bytes);
                assert_eq!(widen(ListFormat::I32, bytes.as_flattened(), length, &mut out), fits, "{length} {number}");
                assert_eq!(out, [-1, number.into()]);
            }
        }
    }
}
