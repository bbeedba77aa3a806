//! Divides strings into ranges in byte order, and sorts each range by itself.

use super::LIST;
use super::gather::{Parts, Room};
use super::lines::STRIDE;
use super::sorted_range::SortedRange;
use super::spill::{Spill, SpillWriter};
use super::string_set::{StringSet, each};
use super::table::Pairs;
use crate::error::{At, Error, Result};
use crate::formats::Watch;
use crate::formats::names::HEAD;
use crate::prepare::gate::Gate;
use crate::process::threads::in_threads;
use crate::store::file::{NewFile, Pending};
use parking_lot::Mutex;
use std::path::Path;

/// Number of sampled strings for each range into which strings are divided.
const SAMPLES: usize = 64;
/// Target size of a range in bytes, so that it fits the L2 cache.
const SMALL: u64 = 384 << 10;
/// Maximum number of ranges into which strings are divided.
const MOST: u64 = 1024;
/// Factor by which the memory for sorting a record exceeds the size of the record. The memory is for the record, its
/// line in the list, and 32 bytes of other data.
const TIMES: u64 = 5;
/// Number of bytes that are written between two checks for cancellation.
const LOOK: usize = 16 << 20;

/// All distinct strings, divided into ranges: every string of a range is smaller than every string of the next range.
pub(super) struct Ranges {
    spill: Spill,
    count: u64,
    room: Room,
}

/// Result of sorting: the written list of strings, which may not be durable yet, and the pairs (hash, number) for the
/// hash table, which is not written yet.
pub(super) struct Sorted {
    pub list: Pending,
    pub pairs: Pairs,
}

/// Removes the duplicates that remain in the parts, and divides the strings into ranges.
pub(super) fn distribute(parts: Parts, path: &Path, room: Room, watch: &dyn Watch) -> Result<Ranges> {
    let (count, each_room) = (parts.count(), room.bytes / room.threads as u64);
    let bytes: u64 = (0..count).map(|part| parts.bytes(part)).sum();
    let at_once = |largest: u64| ((room.bytes / 2 / (TIMES * largest).max(1)) as usize).clamp(1, room.threads);
    let ranges = (2 * TIMES * bytes / each_room + 1).max(bytes / SMALL).min(MOST);
    let splitters = Splitters::sample(&parts, ranges as usize)?;
    let memory = if parts.is_spilled() { 0 } else { room.bytes / 4 };
    let spill = Spill::new(path, splitters.names.len() + 1, bytes, memory)?;
    let strings = Mutex::new(0u64);
    let largest = (0..count).map(|part| parts.bytes(part)).max().unwrap_or(0);
    let begin = || (SpillWriter::new(&spill, each_room / 4), StringSet::default(), 0);
    let work = |(writer, set, found): &mut (SpillWriter<'_>, StringSet, u64), part: usize| {
        watch.advance(0)?;
        let records = parts.take(part, set)?;
        each(&records).try_for_each(|(_, name, place)| {
            *found += 1;
            writer.put(splitters.range(name), &records[place])
        })
    };
    let end = |(writer, _, found): (SpillWriter<'_>, StringSet, u64)| {
        *strings.lock() += found;
        writer.finish()
    };
    in_threads(at_once(largest), 0..count, begin, work, end)?;
    drop(parts);
    let count = strings.into_inner();
    Ok(Ranges { spill, count, room })
}

/// Splitters between ranges: the lower bounds of all ranges but the first.
struct Splitters {
    names: Vec<Vec<u8>>,
    /// Length of the common prefix of all splitters, in bytes.
    common: usize,
    /// For each splitter, the eight bytes after the common prefix, as a big-endian number.
    keys: Vec<u64>,
}

impl Splitters {
    /// Chooses the splitters of `ranges` ranges from a sample. The strings of a part are a random sample of all
    /// strings, because a string's hash selects its part.
    fn sample(parts: &Parts, ranges: usize) -> Result<Splitters> {
        let (mut sample, mut set, wanted) = (Vec::new(), StringSet::default(), SAMPLES * ranges);
        for number in 0..parts.count() {
            if ranges > 1 && sample.len() < wanted {
                let names = |records: &[u8]| {
                    let left = wanted - sample.len();
                    sample.extend(each(records).take(left).map(|(_, name, _)| name.to_vec()));
                };
                parts.peek(number, &mut set, names)?;
            }
        }
        sample.sort_unstable();
        let all: u64 = sample.iter().map(|name| (HEAD + name.len()) as u64).sum();
        let (mut names, mut bytes): (Vec<Vec<u8>>, u64) = (Vec::new(), 0);
        for name in sample {
            bytes += (HEAD + name.len()) as u64;
            // Each range gets the same number of bytes of the sample.
            if bytes * ranges as u64 > all * (names.len() as u64 + 1) {
                names.push(name);
            }
        }
        names.dedup();
        let common = match (names.first(), names.last()) {
            (Some(first), Some(last)) => common(first, last),
            _ => 0,
        };
        let keys = names.iter().map(|name| key(&name[common..])).collect();
        Ok(Splitters { names, common, keys })
    }

    /// Returns the index of the range that contains `name`: the number of splitters that are not larger than `name`.
    #[inline]
    fn range(&self, name: &[u8]) -> usize {
        let (first, rest) = match (self.names.first(), name.split_at_checked(self.common)) {
            (Some(first), Some((begin, rest))) if begin == &first[..self.common] => (key(rest), rest),
            _ => return self.names.partition_point(|splitter| &splitter[..] <= name),
        };
        let mut range = self.keys.partition_point(|&key| key < first);
        // If the eight bytes are equal, compare all bytes.
        while self.keys.get(range) == Some(&first) && &self.names[range][self.common..] <= rest {
            range += 1;
        }
        range
    }
}

/// Returns the length of the common prefix of both strings, in bytes.
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns the first eight bytes of a string as a big-endian number; a shorter string is padded with zeros. A smaller
/// number means a smaller string.
#[inline]
pub(super) fn key(name: &[u8]) -> u64 {
    if let Some(bytes) = name.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    name.iter().rev().fold(0, |key, &c| key >> 8 | u64::from(c) << 56)
}

/// Writer of the sorted list of strings, to which ranges are appended in order.
struct ListWriter {
    file: NewFile,
    /// Index of the range that must be appended next.
    turn: usize,
    lines: u64,
    /// Byte offset of every 16th line in the text of the list.
    starts: Vec<u64>,
}

impl Ranges {
    /// Sorts all ranges and writes the list of strings to `path`.
    pub fn sort(self, path: &Path, key: u64, checksum: u64, source: &str, watch: &dyn Watch) -> Result<Sorted> {
        let Ranges { spill, count, room } = self;
        if count >= u64::from(u32::MAX) {
            let remedy = "split the graph: this version numbers vertices with 32 bits";
            return Err(Error::input(source, At::File, "under 2^32 - 1 vertices", format!("{count}"), remedy));
        }
        let pairs = Pairs::new(path, count, room)?;
        let (room, file) = (pairs.room(), NewFile::create(path, LIST, key)?);
        let list = Gate::new(ListWriter { file, turn: 0, lines: 0, starts: Vec::new() });
        let largest = (0..spill.parts()).map(|range| spill.bytes(range)).max().unwrap_or(0);
        let at_once = ((room.bytes / 2 / (TIMES * largest).max(1)) as usize).clamp(1, room.threads);
        let begin = || (pairs.writer(), SortedRange::default());
        let work = |(writer, sorted): &mut (SpillWriter<'_>, SortedRange), range: usize| {
            list.run(|| {
                watch.advance(0)?;
                sorted.read(&spill, range)?;
                let appended = list.take(|list| list.turn == range, |list| list.append(sorted, watch));
                // If another thread has failed, its error is the one to report.
                let Some(first) = appended.transpose()? else { return Ok(()) };
                let mut numbered = sorted.hashes.iter().zip(first as u32..);
                numbered.try_for_each(|(&hash, number)| pairs.put(writer, hash, number))
            })
        };
        in_threads(at_once, 0..spill.parts(), begin, work, |(writer, _)| writer.finish())?;
        let mut list = list.into_inner();
        let text = list.file.body_bytes();
        list.file.write(&[0; 8][..(text.next_multiple_of(8) - text) as usize])?;
        list.starts.iter().try_for_each(|start| list.file.write(&start.to_le_bytes()))?;
        [list.lines, text, checksum].iter().try_for_each(|word| list.file.write(&word.to_le_bytes()))?;
        Ok(Sorted { list: list.file.finish_deferred()?, pairs })
    }
}

impl ListWriter {
    /// Appends the next sorted range to the list. Returns the index of the range's first line in the list.
    fn append(&mut self, sorted: &SortedRange, watch: &dyn Watch) -> Result<u64> {
        let (start, first, count) = (self.file.body_bytes(), self.lines, sorted.ends.len());
        let known = (self.lines.next_multiple_of(STRIDE) - self.lines) as usize;
        let starts = (known..count).step_by(STRIDE as usize).map(|line| sorted.start(line));
        self.starts.extend(starts.map(|place| start + place as u64));
        for piece in sorted.text.chunks(LOOK) {
            self.file.write(piece)?;
            watch.advance(0)?;
        }
        self.lines += count as u64;
        self.turn += 1;
        Ok(first)
    }
}
