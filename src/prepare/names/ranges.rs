//! Divides strings by their bytes into ranges, and sorts one range after the other.

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

/// Number of sampled strings for each range.
const SAMPLES: usize = 64;
/// Target number of bytes of a range, so that it fits the second-level cache.
const SMALL: u64 = 384 << 10;
/// Maximum number of ranges.
const MOST: u64 = 1024;
/// Memory for sorting a record, as a multiple of its bytes: for the record, its line, and 32 bytes of other data.
const TIMES: u64 = 5;
/// Number of bytes of lines that are written between two checks for signals.
const LOOK: usize = 16 << 20;

/// Strings in ranges: all strings of a range are smaller than the strings of the next range.
pub(super) struct Ranges {
    spill: Spill,
    count: u64,
    room: Room,
}

/// The list of strings, which is written but may not be durable yet, and the pairs for the hash table, which is written
/// next.
pub(super) struct Sorted {
    pub list: Pending,
    pub pairs: Pairs,
}

/// Drops the repeats that are left in each part, and divides the strings into ranges.
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

/// The smallest strings of all ranges but the first.
struct Splitters {
    names: Vec<Vec<u8>>,
    /// Number of leading bytes that all splitters share.
    common: usize,
    /// For each splitter, the eight bytes that follow the shared ones.
    keys: Vec<u64>,
}

impl Splitters {
    /// Chooses the bounds of `ranges` ranges by a sample. The strings of a part are a random sample of all, because
    /// parts are divided by hashes.
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
            // The ranges have equal numbers of bytes of the sample.
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

    /// Returns the number of the range of a string: the number of splitters that are not larger.
    #[inline]
    fn range(&self, name: &[u8]) -> usize {
        let (first, rest) = match (self.names.first(), name.split_at_checked(self.common)) {
            (Some(first), Some((begin, rest))) if begin == &first[..self.common] => (key(rest), rest),
            _ => return self.names.partition_point(|splitter| &splitter[..] <= name),
        };
        let mut range = self.keys.partition_point(|&key| key < first);
        // Of splitters with the same eight bytes, all bytes decide.
        while self.keys.get(range) == Some(&first) && &self.names[range][self.common..] <= rest {
            range += 1;
        }
        range
    }
}

/// Returns the number of bytes that both strings begin with.
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns the first eight bytes of a string as a number; a shorter string is padded with zeros. A string whose number
/// is smaller than another string's is smaller itself.
#[inline]
pub(super) fn key(name: &[u8]) -> u64 {
    if let Some(bytes) = name.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    name.iter().rev().fold(0, |key, &c| key >> 8 | u64::from(c) << 56)
}

/// The list that is being written, one range after the other.
struct ListWriter {
    file: NewFile,
    /// Number of the range that comes next.
    turn: usize,
    lines: u64,
    /// Start of every 16th line.
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
    /// Appends the next range. Returns the number of its first line.
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
