//! Packs an entry of an adjacency row (a weight and a neighbour) into as few whole bytes as possible. The smaller
//! entries are, the fewer bytes a search reads from the disk, and the more entries fit in memory.

/// Number of bytes that must follow the last packed entry, because each entry is read as a 64-bit word.
pub const PADDING: usize = 8;

/// Format of packed row entries: a neighbour in the lower bits, a weight in the upper bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPacking {
    /// Size of a packed entry, in bytes.
    pub bytes: usize,
    /// Number of bits for the neighbour in an entry.
    pub neighbour_bits: u32,
}

impl EntryPacking {
    /// Returns the format of entries with neighbours below `vertices` and weights up to `largest`.
    pub fn of(vertices: u64, largest: u32) -> EntryPacking {
        // Use at least one bit, so that an entry takes at least a byte.
        let neighbour_bits = (u64::BITS - vertices.saturating_sub(1).leading_zeros()).clamp(1, u32::BITS);
        let bits = neighbour_bits + u32::BITS - largest.leading_zeros();
        EntryPacking { bytes: bits.div_ceil(8) as usize, neighbour_bits }
    }

    /// Packs row entries in place. An unpacked entry is a 64-bit word: the weight in the upper 32 bits, the neighbour
    /// in the lower 32 bits. Returns the packed entries as a slice of bytes.
    pub fn pack(self, entries: &mut [u8]) -> &[u8] {
        let count = entries.len() / 8;
        for at in 0..count {
            let entry = word(entries, 8 * at, u64::from_ne_bytes);
            let packed = entry >> 32 << self.neighbour_bits | entry & u64::from(u32::MAX);
            entries[self.bytes * at..][..self.bytes].copy_from_slice(&packed.to_le_bytes()[..self.bytes]);
        }
        &entries[..self.bytes * count]
    }

    /// Unpacks the entry with index `at`. Returns the weight in the upper 32 bits, and the neighbour in the lower 32
    /// bits.
    #[inline(always)]
    pub fn entry(self, packed: &[u8], at: usize) -> u64 {
        let bits = word(packed, self.bytes * at, u64::from_le_bytes) & u64::MAX >> (64 - 8 * self.bytes);
        (bits >> self.neighbour_bits) << 32 | bits & ((1 << self.neighbour_bits) - 1)
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: usize, of: impl Fn([u8; 8]) -> u64) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    of(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::bytes_of_mut;

    #[test]
    fn entries_are_the_same_after_packing() {
        let cases = [(1, 0, 1), (2, 1, 1), (8_868_981, 255, 4), (1 << 24, 256, 5), (1 << 32, u32::MAX, 8), (700, 0, 2)];
        for (vertices, largest, bytes) in cases {
            let packing = EntryPacking::of(vertices, largest);
            assert_eq!(packing.bytes, bytes, "{vertices} vertices, weights up to {largest}");
            let last = (vertices - 1) as u32;
            let ends = [(0, 0), (largest, last), (0, last), (largest, 0), (largest / 3, last / 5)];
            let known = ends.map(|(weight, neighbour)| u64::from(weight) << 32 | u64::from(neighbour));
            let mut entries = known;
            let mut packed = packing.pack(bytes_of_mut(&mut entries)).to_vec();
            assert_eq!(packed.len(), bytes * known.len());
            packed.extend([0xff; PADDING]);
            assert_eq!([0, 1, 2, 3, 4].map(|at| packing.entry(&packed, at)), known);
        }
    }
}
