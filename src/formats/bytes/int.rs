//! Integers of any size and byte order.

/// An integer type, described by size, sign and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    /// Size of a number in bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    pub signed: bool,
    /// Whether the numbers are big-endian.
    pub big: bool,
}

impl Int {
    /// Returns the type of unsigned little-endian numbers of `bytes` bytes.
    pub fn unsigned(bytes: usize) -> Int {
        Int { bytes, signed: false, big: false }
    }

    /// Decodes the number in `bytes`, whose length must be the size of the type; `None` if it is negative.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> Option<u64> {
        let mut word = [0; 8];
        word[..self.bytes].copy_from_slice(bytes);
        if self.big {
            word[..self.bytes].reverse();
        }
        let value = u64::from_le_bytes(word);
        (!self.signed || value >> (8 * self.bytes - 1) == 0).then_some(value)
    }

    /// Decodes the number in `bytes`, which must be negative.
    pub fn negative(self, bytes: &[u8]) -> i64 {
        let mut word = bytes.to_vec();
        if self.big {
            word.reverse();
        }
        word.resize(8, 0xff);
        word.first_chunk().map_or(0, |word| i64::from_le_bytes(*word))
    }
}
