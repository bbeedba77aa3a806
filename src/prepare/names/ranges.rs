//! Divides strings by their bytes into ranges, and sorts one range after the other.

use super::gather::{Parts, Room};
use super::lines::STRIDE;
use super::spill::{Spill, SpillWriter};
use super::string_set::{HEAD, each, put, record};
use super::table::Pairs;
use super::{LIST, in_threads};
use crate::error::{At, Error, Result};
use crate::formats::Watch;
use crate::store::file::{NewFile, Seal};
use std::cmp::Ordering;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

/// Strings of the sample for each range.
const SAMPLES: usize = 128;
/// Fewest bytes of a range, and most ranges.
const SMALL: u64 = 1 << 20;
const MOST: u64 = 1024;
/// Bytes of memory for each byte of a record, at most: the record, and the place and the first bytes of the shortest.
const TIMES: u64 = 3;
/// Strings that are written between two looks at signals.
const LOOK: usize = 1 << 20;

/// Strings in ranges: all strings of a range are smaller than those of the next.
pub(super) struct Ranges {
    spill: Spill,
    count: u64,
    room: Room,
}

/// What is left to write once the list of strings is written.
pub(super) struct Sorted {
    pub seal: Seal,
    pub pairs: Pairs,
}

/// Drops the repeats between the runs of each part, and divides the strings into ranges.
pub(super) fn distribute(parts: Parts, path: &Path, threads: usize, room: Room, watch: &dyn Watch) -> Result<Ranges> {
    let count = parts.parts.len();
    let bytes: u64 = (0..count).map(|part| parts.bytes(part)).sum();
    let each_room = room.bytes / threads as u64;
    let at_once = |largest: u64| ((room.bytes / 2 / (TIMES * largest).max(1)) as usize).clamp(1, threads);
    let ranges = (2 * TIMES * bytes / each_room + 1).max((bytes / SMALL).min(4 * threads as u64)).min(MOST);
    let splitters = Splitters::sample(&parts, ranges as usize)?;
    let spill = Spill::create(path, splitters.0.len() + 1)?;
    let strings = Mutex::new(0u64);
    let largest = (0..count).map(|part| parts.bytes(part)).max().unwrap_or(0);
    let begin = || (SpillWriter::new(&spill, each_room / 4), Vec::new(), 0);
    let work = |(writer, buffer, found): &mut (SpillWriter<'_>, Vec<u8>, u64), part: usize| {
        watch.advance(0)?;
        let records = parts.take(part, buffer)?;
        each(&records, |hash, name| {
            *found += 1;
            put(writer.buffer(splitters.range(name), HEAD + name.len())?, hash, name);
            Ok(())
        })
    };
    let end = |(writer, _, found): (SpillWriter<'_>, Vec<u8>, u64)| {
        *strings.lock().unwrap_or_else(PoisonError::into_inner) += found;
        writer.finish()
    };
    in_threads(at_once(largest), count, begin, work, end)?;
    drop(parts);
    let count = strings.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Ranges { spill, count, room })
}

/// The smallest strings of all ranges but the first.
struct Splitters(Vec<Vec<u8>>);

impl Splitters {
    /// Chooses the bounds of `ranges` ranges by a sample. The strings of a part are a random sample of all, because
    /// parts are divided by hashes.
    fn sample(parts: &Parts, ranges: usize) -> Result<Splitters> {
        let (mut sample, mut number) = (Vec::new(), 0);
        let mut buffer = Vec::new();
        while ranges > 1 && sample.len() < SAMPLES * ranges && number < parts.parts.len() {
            let records = parts.peek(number, &mut buffer)?;
            let _infallible: std::result::Result<(), ()> = each(&records, |_, name| {
                if sample.len() < SAMPLES * ranges {
                    sample.push(name.to_vec());
                }
                Ok(())
            });
            number += 1;
        }
        sample.sort_unstable();
        let all: u64 = sample.iter().map(|name| (HEAD + name.len()) as u64).sum();
        let (mut splitters, mut bytes) = (Vec::new(), 0);
        for name in sample {
            // The ranges have equal numbers of bytes of the sample.
            if bytes * ranges as u64 >= all * (splitters.len() as u64 + 1) {
                splitters.push(name.clone());
            }
            bytes += (HEAD + name.len()) as u64;
        }
        splitters.dedup();
        Ok(Splitters(splitters))
    }

    fn range(&self, name: &[u8]) -> usize {
        self.0.partition_point(|splitter| &splitter[..] <= name)
    }
}

/// The list that is being written, one range after the other.
struct ListWriter {
    file: NewFile,
    turn: usize,
    lines: u64,
    /// Start of every 16th line.
    starts: Vec<u64>,
    failed: bool,
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
        let list = ListWriter { file, turn: 0, lines: 0, starts: Vec::new(), failed: false };
        let (list, changed) = (Mutex::new(list), Condvar::new());
        let largest = (0..spill.parts()).map(|range| spill.bytes(range)).max().unwrap_or(0);
        let at_once = ((room.bytes / 4 * 3 / (TIMES * largest).max(1)) as usize).clamp(1, room.threads);
        let begin = || pairs.writer();
        let work = |writer: &mut SpillWriter<'_>, range: usize| {
            let sorted = watch.advance(0).and_then(|()| SortedRange::read(&spill, range));
            // Even a thread that failed waits for its turn, so that the next one does not wait for ever.
            let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
            while list.turn < range && !list.failed {
                list = changed.wait(list).unwrap_or_else(PoisonError::into_inner);
            }
            let first = list.lines;
            let written = match &sorted {
                Ok(_) if list.failed => Err(Error::Stopped("another thread failed")),
                Ok(sorted) => list.append(sorted, watch),
                Err(_) => Ok(()),
            };
            list.failed |= sorted.is_err() || written.is_err();
            list.turn = range + 1;
            drop(list);
            changed.notify_all();
            let sorted = sorted?;
            written?;
            sorted.names().zip(first as u32..).try_for_each(|((hash, _), number)| pairs.put(writer, hash, number))
        };
        in_threads(at_once, spill.parts(), begin, work, SpillWriter::finish)?;
        let mut list = list.into_inner().unwrap_or_else(PoisonError::into_inner);
        let text = list.file.body_bytes();
        list.file.write(&[0; 8][..(text.next_multiple_of(8) - text) as usize])?;
        list.starts.iter().try_for_each(|start| list.file.write(&start.to_le_bytes()))?;
        [list.lines, text, checksum].iter().try_for_each(|word| list.file.write(&word.to_le_bytes()))?;
        Ok(Sorted { seal: list.file.finish()?, pairs })
    }
}

impl ListWriter {
    fn append(&mut self, sorted: &SortedRange, watch: &dyn Watch) -> Result<()> {
        for (at, (_, name)) in sorted.names().enumerate() {
            if at % LOOK == LOOK - 1 {
                watch.advance(0)?;
            }
            if self.lines.is_multiple_of(STRIDE) {
                self.starts.push(self.file.body_bytes());
            }
            self.file.write(name)?;
            self.file.write(b"\n")?;
            self.lines += 1;
        }
        Ok(())
    }
}

/// A range of strings in order.
struct SortedRange {
    records: Vec<u8>,
    /// Eight bytes of each string, behind those that all strings of the range begin with, and the place of its record.
    order: Vec<(u64, u64)>,
}

impl SortedRange {
    fn read(spill: &Spill, range: usize) -> Result<SortedRange> {
        let records = spill.read(range)?;
        let name_at = |at: u64| record(&records, at as usize).map_or(&[][..], |(_, name, _)| name);
        let (mut at, mut count, mut common) = (0, 0, usize::MAX);
        let first = name_at(0);
        while let Some((_, name, next)) = record(&records, at) {
            common = common.min(name.iter().zip(first).take(common).take_while(|(a, b)| a == b).count());
            (at, count) = (next, count + 1);
        }
        let mut order = Vec::with_capacity(count);
        at = 0;
        while let Some((_, name, next)) = record(&records, at) {
            let mut key = [0; 8];
            let rest = &name[common..];
            let length = rest.len().min(8);
            key[..length].copy_from_slice(&rest[..length]);
            order.push((u64::from_be_bytes(key), at as u64));
            at = next;
        }
        order.sort_unstable_by(|&(a, at_a), &(b, at_b)| match a.cmp(&b) {
            // A string that ends within these bytes may be a prefix of the other.
            Ordering::Equal => name_at(at_a)[common..].cmp(&name_at(at_b)[common..]),
            other => other,
        });
        Ok(SortedRange { records, order })
    }

    /// Returns hash and string of each, in order.
    fn names(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let name = |&(_, at): &(u64, u64)| record(&self.records, at as usize).map(|(hash, name, _)| (hash, name));
        self.order.iter().filter_map(name)
    }
}
