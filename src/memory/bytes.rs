//! Conversions between numbers and bytes in the machine's native byte order.
#![allow(unsafe_code)] // viewing a slice as bytes has no safe form

use super::Plain;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Returns a view of a slice as bytes, in memory order.
pub fn bytes_of<T: Plain>(slice: &[T]) -> &[u8] {
    // SAFETY: Plain types have no padding, and u8 needs no alignment.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// Returns a mutable view of a slice as bytes, in memory order.
pub fn bytes_of_mut<T: Plain>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are a valid value of a Plain type.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice)) }
}

/// Returns a view of integers as atomics, so that several threads can read and write them.
pub fn cells(slice: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: an atomic integer has the size, the alignment and the values of the plain one. The exclusive borrow
    // rules out plain accesses while the result lives.
    unsafe { std::slice::from_raw_parts(slice.as_mut_ptr().cast(), slice.len()) }
}

/// Returns a view of atomics as plain integers.
pub fn plain(cells: &mut [AtomicU32]) -> &mut [u32] {
    // SAFETY: as above. No other thread can use the atomics while the result lives.
    unsafe { std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast(), cells.len()) }
}

/// Returns a view of 8-byte numbers as atomics of their bit patterns, so that several threads can read and write them.
pub fn word_cells<T: Number>(slice: &mut [T]) -> &[AtomicU64] {
    const { assert!(size_of::<T>() == size_of::<AtomicU64>() && align_of::<T>() == align_of::<AtomicU64>()) };
    // SAFETY: as above, and every bit pattern is a valid value of a Plain type.
    unsafe { std::slice::from_raw_parts(slice.as_mut_ptr().cast(), slice.len()) }
}

/// Returns a view of bytes as atomics, so that several threads can read and write them.
pub fn byte_cells(slice: &mut [u8]) -> &[AtomicU8] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(slice.as_mut_ptr().cast(), slice.len()) }
}

/// Number types that [`bytes_of`] converts to bytes and [`numbers_of`] converts back.
pub trait Number: Plain + Copy + Default + Send + Sync {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for f32 {}
impl Number for f64 {}

/// Converts bytes to numbers. The bytes need not be aligned. Trailing bytes that do not make a whole number are
/// ignored.
pub fn numbers_of<T: Number>(bytes: &[u8]) -> Vec<T> {
    let mut numbers = vec![T::default(); bytes.len() / size_of::<T>()];
    let target = bytes_of_mut(&mut numbers);
    target.copy_from_slice(&bytes[..target.len()]);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_numbers_that_they_were() {
        let numbers = [1u64, u64::MAX, 0x0102_0304_0506_0708];
        let bytes = [&[9], bytes_of(&numbers)].concat();
        assert_eq!(numbers_of::<u64>(&bytes[1..]), numbers);
        assert_eq!(numbers_of::<u64>(&bytes[1..24]), numbers[..2]);
        let halves: Vec<u32> = numbers_of(&bytes[1..9]);
        assert_eq!(halves.iter().map(|&half| u64::from(half)).sum::<u64>(), 1);
    }
}
