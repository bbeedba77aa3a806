//! Number types of result columns.

use std::fmt::Display;
use std::str::FromStr;

/// Number type that result columns can have, in binary files and in text.
pub trait Value: Copy + FromStr + Send + Sync {
    /// NumPy's name of the number type, such as `<u8`.
    const DESCR: &'static str;
    /// Size of a number in bytes.
    const BYTES: usize;

    /// Returns the number in its text form. Parsing the text as f64 yields the same value.
    fn shown(self) -> impl Display;

    /// Appends the bytes of the number to `bytes` in little-endian order.
    fn append(self, bytes: &mut Vec<u8>);

    /// Decodes a number from its bytes; `None` unless there are exactly [`Self::BYTES`].
    fn get(bytes: &[u8]) -> Option<Self>;
}

macro_rules! value {
    ($($number:ty, $descr:literal, $shown:ty;)*) => {$(
        impl Value for $number {
            const DESCR: &'static str = $descr;
            const BYTES: usize = size_of::<$number>();

            fn shown(self) -> impl Display {
                <$shown>::from(self)
            }

            #[inline]
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )*};
}

value! {
    u32, "<u4", u32;
    i32, "<i4", i32;
    u64, "<u8", u64;
    i64, "<i8", i64;
    f32, "<f4", f64;
    f64, "<f8", f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_digits_of_the_same_f64() {
        for value in [0.0f32, 1.5, 0.1, 4_418_424_320.0, 1e-45, f32::MAX, f32::INFINITY] {
            let text = value.shown().to_string();
            assert_eq!(text.parse(), Ok(f64::from(value)), "{text}");
            assert_eq!(text.parse(), Ok(value), "{text}");
        }
        assert_eq!(4_294_967_296f32.shown().to_string(), "4294967296");
    }
}
