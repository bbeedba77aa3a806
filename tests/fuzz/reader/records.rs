//! Fixed records: pairs of `u32` and `u64`, packed edges of the Graph500 reference.

use super::Reading;

fn word<const N: usize>(bytes: &[u8]) -> u64 {
    bytes[..N].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn whole(edges: Vec<[u64; 2]>, open: bool) -> Option<Reading> {
    Some(Reading { edges, vertices: None, open })
}

/// Reads pairs of `u32`. Unless the format is named, pairs that are rather numpy's int64 or float64 must be refused;
/// those that only look a little like them may be.
pub fn u32(bytes: &[u8], named: bool) -> Option<Reading> {
    let records = bytes.chunks_exact(8);
    if !records.remainder().is_empty() {
        return None;
    }
    let edges: Vec<[u64; 2]> = records.map(|record| [word::<4>(record), word::<4>(&record[4..])]).collect();
    whole(edges, !named)
}

/// Reads pairs of `u64`. Unless the format is named, words that look like numpy's float64 may be refused.
pub fn u64(bytes: &[u8], named: bool) -> Option<Reading> {
    let records = bytes.chunks_exact(16);
    if !records.remainder().is_empty() {
        return None;
    }
    whole(records.map(|record| [word::<8>(record), word::<8>(&record[8..])]).collect(), !named)
}

/// Reads packed edges: the low 32 bits of both ends, then their high 16 bits. Ids of 48 bits are signed, and a negative
/// one stands for no edge.
pub fn graph500(bytes: &[u8], named: bool) -> Option<Reading> {
    let records = bytes.chunks_exact(12);
    if !records.remainder().is_empty() {
        return None;
    }
    let mut edges = Vec::new();
    for record in records {
        let (low, high) =
            ([word::<4>(record), word::<4>(&record[4..])], [word::<2>(&record[8..]), word::<2>(&record[10..])]);
        if high.iter().any(|part| part >> 15 == 1) {
            return None;
        }
        edges.push([low[0] | high[0] << 32, low[1] | high[1] << 32]);
    }
    // What begins with words may be a file of another kind.
    let words = bytes.get(..6).is_some_and(|start| start.iter().all(|byte| matches!(byte, b' '..=b'~')));
    // Ids that are huge, and small in the other byte order, may be refused.
    let swapped = bytes.chunks_exact(4).all(|word| word[0] < 0x20) && bytes.chunks_exact(4).any(|word| word[3] > 0);
    whole(edges, (words || swapped) && !named)
}
