//! For each of the 64 bit positions, counts the words in which the bit is set.

/// Maximum number of words that are counted before the counts, which are bytes, are added to the totals.
const MOST: u32 = u8::MAX as u32;
/// Word in which the lowest bit of every byte is set.
const LOWEST: u64 = u64::MAX / 0xff;

/// For each of the 64 bit positions, the number of 64-bit words in which the bit is set. Words are added one by one.
/// Counts are bytes at first, eight of them in an integer, so that one addition increments eight counts.
pub(super) struct BitCounts {
    totals: [u64; 64],
    /// Byte `j` of element `i` counts the set bits at position `8 * j + i` that are not in `totals` yet.
    bytes: [u64; 8],
    /// Number of words whose set bits are counted in `bytes`, and not yet in `totals`.
    words: u32,
}

impl BitCounts {
    /// Creates counts of zero for all bit positions.
    pub(super) fn new() -> BitCounts {
        BitCounts { totals: [0; 64], bytes: [0; 8], words: 0 }
    }

    /// Adds a word to the counts: increments the count of each bit position that is set.
    #[inline(always)]
    pub(super) fn add(&mut self, word: u64) {
        if self.words == MOST {
            self.flush();
        }
        for (place, bytes) in self.bytes.iter_mut().enumerate() {
            *bytes += word >> place & LOWEST;
        }
        self.words += 1;
    }

    /// Returns, for each bit position, the number of added words in which the bit is set.
    pub(super) fn totals(mut self) -> [u64; 64] {
        self.flush();
        self.totals
    }

    fn flush(&mut self) {
        for (place, total) in self.totals.iter_mut().enumerate() {
            *total += self.bytes[place % 8] >> (place / 8 * 8) & 0xff;
        }
        (self.bytes, self.words) = ([0; 8], 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_counted() {
        let mut state = 1u64;
        for words in [0, 1, 254, 255, 256, 5000] {
            let (mut counts, mut known) = (BitCounts::new(), [0; 64]);
            for _ in 0..words {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // The highest bits are set in every word.
                let word = state | 7 << 61;
                counts.add(word);
                known.iter_mut().enumerate().for_each(|(place, count)| *count += word >> place & 1);
            }
            assert_eq!(counts.totals(), known, "{words}");
        }
    }
}
