//! Finds the most frequent label of the neighbours of a vertex.

use crate::algo::rows::each_value;
use crate::graph::csr::Block;

/// Maximum number of labels that are sorted rather than counted in a hash table.
const FEW: usize = 12;
/// Base-2 logarithm of the number of slots of the smallest hash table for counting labels. Most vertices have few
/// different labels among their neighbours.
const FIRST_BITS: u32 = 6;
/// Base-2 logarithm of the number of slots of the largest hash table for counting labels, which takes 1 MiB. Labels
/// that need more slots are sorted.
const MOST_BITS: u32 = 17;

/// Counter of the labels of a vertex's neighbours, used by one thread.
pub(super) struct Votes {
    labels: Vec<u32>,
    table: Vec<u64>,
}

/// Returns the memory, in bytes, for counting the labels of up to `longest` neighbours of a vertex.
pub(super) fn bytes(longest: u64) -> u64 {
    // A table has at most eight slots for each label. While it grows, there is at most one other table, of half the
    // size.
    4 * longest + 12 * (8 * longest).clamp(1 << FIRST_BITS, 1 << MOST_BITS)
}

impl Votes {
    /// Allocates memory for the labels of `longest` neighbours of a vertex.
    pub(super) fn new(longest: u64) -> Votes {
        Votes { labels: Vec::with_capacity(longest as usize), table: Vec::new() }
    }

    /// Returns the most frequent label of the neighbours in `rows`; the smallest one if several labels are equally
    /// frequent. `own` is the current label of the vertex, which is likely to be the result. If there is no neighbour,
    /// returns `own`.
    #[inline]
    pub(super) fn winner<'r>(&mut self, rows: impl Iterator<Item = Block<'r>>, labels: &[u32], own: u32) -> u32 {
        self.labels.clear();
        let mut same = 0;
        each_value(rows, labels, |label| {
            same += usize::from(label == own);
            self.labels.push(label);
        });
        let all = self.labels.len();
        if 2 * same > all || all == 0 {
            return own;
        }
        if all <= FEW { self.of_sorted() } else { self.of_table() }
    }

    /// Returns the most frequent label, by sorting all labels.
    fn of_sorted(&mut self) -> u32 {
        self.labels.sort_unstable();
        let mut best = (0, 0);
        for equal in self.labels.chunk_by(|a, b| a == b) {
            // The smallest label comes first.
            if equal.len() > best.0 {
                best = (equal.len(), equal[0]);
            }
        }
        best.1
    }

    /// Returns the most frequent label, by counting labels in a hash table. A slot contains a label in its upper half
    /// and its count in its lower half. The count of a free slot is 0.
    fn of_table(&mut self) -> u32 {
        let (mut bits, mut distinct, mut best) = (FIRST_BITS, 0, (0, 0));
        self.table.clear();
        self.table.resize(1 << bits, 0);
        for at in 0..self.labels.len() {
            let label = self.labels[at];
            let slot = slot_of(&mut self.table, bits, label);
            distinct += usize::from(*slot == 0);
            *slot = (u64::from(label) << 32 | *slot & u64::from(u32::MAX)) + 1;
            let count = *slot as u32;
            if count > best.0 || count == best.0 && label < best.1 {
                best = (count, label);
            }
            if 2 * distinct > self.table.len() {
                if bits == MOST_BITS {
                    return self.of_sorted();
                }
                bits = (bits + 2).min(MOST_BITS);
                self.grow(bits);
            }
        }
        best.1
    }

    /// Moves the label counts to a hash table of 2^`bits` slots.
    fn grow(&mut self, bits: u32) {
        let before = std::mem::replace(&mut self.table, vec![0; 1 << bits]);
        for counted in before.into_iter().filter(|&counted| counted != 0) {
            *slot_of(&mut self.table, bits, (counted >> 32) as u32) = counted;
        }
    }
}

/// Returns the smallest label of the neighbours in `rows`, or `own` if there is no neighbour. This is the most frequent
/// label if all labels differ.
#[inline]
pub(super) fn smallest<'r>(rows: impl Iterator<Item = Block<'r>>, labels: &[u32], own: u32) -> u32 {
    let mut least = None;
    each_value(rows, labels, |label| least = Some(least.map_or(label, |least: u32| least.min(label))));
    least.unwrap_or(own)
}

/// Returns the slot of a label in a hash table of 2^`bits` slots. If the label is not there, returns the free slot for
/// it.
#[inline]
fn slot_of(table: &mut [u64], bits: u32, label: u32) -> &mut u64 {
    let mut at = (label.wrapping_mul(0x9e37_79b9) >> (u32::BITS - bits)) as usize;
    while table[at] != 0 && (table[at] >> 32) as u32 != label {
        at = (at + 1) & (table.len() - 1);
    }
    &mut table[at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_most_frequent_label_wins_and_the_smallest_of_equal_ones() {
        let mut state = 1u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        let mut votes = Votes::new(200_000);
        for (length, distinct) in
            [(0, 1), (1, 9), (2, 2), (3, 2), (12, 3), (13, 3), (40, 7), (300, 300), (5000, 70), (200_000, 1 << 31)]
        {
            for _ in 0..20.min(1 + 10_000 / (length + 1)) {
                let labels: Vec<u32> = (0..length).map(|_| random(distinct)).collect();
                let targets: Vec<u32> = (0..length as u32).collect();
                let offsets = [0, length as u32 / 3, length as u32];
                let rows = || offsets.windows(2).map(|offsets| Block { first_row: 0, offsets, targets: &targets });
                let mut counts = BTreeMap::new();
                labels.iter().for_each(|&label| *counts.entry(label).or_insert(0) += 1);
                let best = counts.iter().max_by_key(|&(&label, &count)| (count, std::cmp::Reverse(label)));
                let own = random(distinct);
                let expected = best.map_or(own, |(&label, _)| label);
                assert_eq!(votes.winner(rows(), &labels, own), expected, "{length} {distinct}");
                assert_eq!(smallest(rows(), &labels, own), labels.iter().copied().min().unwrap_or(own), "{length}");
            }
        }
    }
}
