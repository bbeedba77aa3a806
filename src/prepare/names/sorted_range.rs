//! A range of strings, sorted in memory.

use super::ranges::{common, key};
use super::spill::Spill;
use super::string_set::{each, record};
use crate::error::Result;

/// Maximum number of strings with the same eight-byte key that are sorted by comparing whole strings.
const FEW: usize = 32;
/// Length of a common prefix, in bytes, beyond which strings are sorted by comparing whole strings, regardless of their
/// number.
const DEEP: usize = 1 << 10;

/// A sorted range of strings. A thread reuses it for one range after the other.
#[derive(Default)]
pub(super) struct SortedRange {
    records: Vec<u8>,
    /// For each string, a 128-bit number: the upper half is an eight-byte key of the string, and the lower half is the
    /// byte offset of the string's record.
    order: Vec<u128>,
    /// Hash of each string, in ascending order of the strings.
    pub hashes: Vec<u64>,
    /// The sorted strings, one per line.
    pub text: Vec<u8>,
    /// Byte offset of the end of each line in `text`.
    pub ends: Vec<usize>,
}

impl SortedRange {
    /// Returns the byte offset in `text` at which a line starts.
    pub fn start(&self, line: usize) -> usize {
        line.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Reads a range of strings from `spill` and sorts it.
    pub fn read(&mut self, spill: &Spill, range: usize) -> Result<()> {
        let SortedRange { records, order, hashes, text, ends } = self;
        spill.take(range, records)?;
        order.clear();
        order.extend(each(records).map(|(_, _, place)| place.start as u128));
        sort(records, order, 0);
        hashes.clear();
        text.clear();
        ends.clear();
        hashes.reserve_exact(order.len());
        ends.reserve_exact(order.len());
        for &place in &*order {
            if let Some((hash, name, _)) = record(records, place as u64 as usize) {
                hashes.push(hash);
                text.extend_from_slice(name);
                text.push(b'\n');
                ends.push(text.len());
            }
        }
        Ok(())
    }
}

/// Sorts `order`, the byte offsets of records, by the strings of the records. All strings have the same first `skip`
/// bytes.
fn sort(records: &[u8], order: &mut [u128], skip: usize) {
    let name_at = |place: u128| record(records, place as u64 as usize).map_or(&[][..], |(_, name, _)| &name[skip..]);
    if order.len() <= FEW {
        return order.sort_unstable_by(|&a, &b| name_at(a).cmp(name_at(b)));
    }
    let first = name_at(order[0]);
    let mut same = first.len();
    for &mut place in &mut *order {
        let name = name_at(place);
        if !name.starts_with(&first[..same]) {
            same = common(first, &name[..name.len().min(same)]);
        }
    }
    for place in &mut *order {
        *place = u128::from(key(&name_at(*place)[same..])) << 64 | u128::from(*place as u64);
    }
    order.sort_unstable();
    let mut rest = order;
    while let Some(&least) = rest.first() {
        let count = rest.iter().take_while(|&&other| other >> 64 == least >> 64).count();
        let (run, behind) = rest.split_at_mut(count);
        rest = behind;
        if count == 1 {
            continue;
        }
        // The key of a string that ends within the eight bytes is padded with zeros, so it equals that of a string with
        // zero bytes there.
        if count <= FEW || skip > DEEP || run.iter().any(|&place| name_at(place).len() < same + 8) {
            run.sort_unstable_by(|&a, &b| name_at(a)[same..].cmp(&name_at(b)[same..]));
        } else {
            sort(records, run, skip + same + 8);
        }
    }
}
