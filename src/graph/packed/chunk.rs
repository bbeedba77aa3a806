//! The format of chunks. A chunk contains consecutive neighbours of a row, compressed to 16 bytes.
//!
//! The first 32-bit word is the first neighbour. The low five bits of the next word are a width in bits. The other 91
//! bits contain as many numbers of this width as fit: for each further neighbour its difference from the one before,
//! and 0 after the last neighbour. So a GPU thread reads a chunk with one load, and needs no other chunk to unpack it.
//! In a Graph500 graph of scale 24 a neighbour occupies 2.1 bytes in the lower half and 1.9 bytes in the upper half,
//! where the rows of hubs are dense.

/// Number of 32-bit words of a chunk (a group of packed neighbours).
pub const WORDS: usize = 4;

/// Number of bits in a chunk that store differences between neighbours.
const BITS: u32 = 91;
/// Maximum number of bits for one difference between neighbours.
const WIDEST: u32 = 31;

/// Returns an upper bound on the number of 32-bit words of the chunks of a row, or part of a row, with `neighbours`
/// neighbours. Every chunk contains at least three neighbours, with two exceptions: the last chunk of a row, and a
/// chunk before a difference of 2^31 or more, of which a row has at most one.
pub fn most_words(neighbours: usize) -> usize {
    WORDS * (neighbours / 3 + 2)
}

/// Packs `row`, the next neighbours of a row in ascending order, and appends the chunks to `chunks`. Returns the number
/// of neighbours at the end of `row` that stay unpacked. This number is 0 if `ends` is true, because `row` then
/// contains the last neighbours of the row. Otherwise the neighbours of the last chunk stay unpacked, because more
/// neighbours may fit this chunk.
pub fn pack(row: &[u32], ends: bool, chunks: &mut Vec<u32>) -> usize {
    let mut rest = row;
    while let [first, others @ ..] = rest {
        let (mut width, mut count, mut before) = (0, 0, *first);
        for &next in others {
            let wider = width.max(u32::BITS - (next - before).leading_zeros());
            if wider > WIDEST || wider * (count + 1) > BITS {
                break;
            }
            (width, count, before) = (wider, count + 1, next);
        }
        let (here, later) = others.split_at(count as usize);
        if later.is_empty() && !ends {
            break;
        }
        let mut chunk = u128::from(*first) | u128::from(width) << 32;
        let (mut at, mut before) = (37, *first);
        for &next in here {
            chunk |= u128::from(next - before) << at;
            (at, before) = (at + width, next);
        }
        chunks.extend([0, 32, 64, 96].map(|shift| (chunk >> shift) as u32));
        rest = later;
    }
    rest.len()
}

/// Returns the neighbours that are packed in `chunk`.
pub fn unpack(chunk: [u32; WORDS]) -> impl Iterator<Item = u32> {
    let [first, words @ ..] = chunk;
    let packed = words.iter().rev().fold(0u128, |all, &word| all << 32 | u128::from(word));
    let width = (packed & 31) as u32;
    let (mut rest, mask) = (packed >> 5, (1u128 << width) - 1);
    std::iter::successors(Some(first), move |&before| {
        let more = (rest & mask) as u32;
        rest >>= width;
        (more > 0).then(|| before + more)
    })
}

/// Returns the neighbours that are packed in `chunks`, the chunks of a row.
pub fn unpack_row(chunks: &[u32]) -> impl Iterator<Item = u32> {
    chunks.as_chunks::<WORDS>().0.iter().flat_map(|&chunk| unpack(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn packed(row: &[u32]) -> Vec<u32> {
        let mut chunks = Vec::new();
        assert_eq!(pack(row, true, &mut chunks), 0);
        assert!(chunks.len() <= most_words(row.len()));
        chunks
    }

    proptest! {
        #[test]
        fn rows_come_back_as_they_were(near in prop::collection::btree_set(0u32..5000, 0..300), far in prop::collection::btree_set(any::<u32>(), 0..300)) {
            let all: BTreeSet<u32> = near.union(&far).copied().collect();
            for set in [near, far, all] {
                let row: Vec<u32> = set.into_iter().collect();
                let chunks = packed(&row);
                prop_assert_eq!(unpack_row(&chunks).collect::<Vec<_>>(), row);
                prop_assert_eq!(chunks.len() % WORDS, 0);
            }
        }
    }

    #[test]
    fn chunks_hold_as_many_as_fit() {
        let row = |step: u32, count: u32| (0..count).map(|i| 7 + i * step).collect::<Vec<u32>>();
        for (step, count) in [(1, 92), (2, 46), (3, 46), (255, 12), (1 << 13, 7), (1 << 29, 4)] {
            assert_eq!(packed(&row(step, count)).len(), WORDS, "{count} of {step}");
            if step < 1 << 29 {
                assert_eq!(packed(&row(step, count + 1)).len(), 2 * WORDS, "{} of {step}", count + 1);
            }
        }
        assert_eq!(packed(&[0, u32::MAX]).len(), 2 * WORDS);
        assert_eq!(packed(&[0, u32::MAX >> 1]).len(), WORDS);
        assert!(packed(&[]).is_empty());
    }
}
