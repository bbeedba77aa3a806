//! The journal of a stage: which of its units are done, and with what result.
//!
//! An append-only file: a 64-byte header (as of sealed files, with the stage's key as salt), then records of 40 bytes.
//! A process may die at any byte: whatever follows the first record that does not agree with its checksum is cut off.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{At, Error, Result};
use crate::failpoint;
use crate::store::file::{EDGE, Kind, check_header, header};
use crate::store::replace::replace;

const KIND: Kind = Kind::new(b"JRNL");
/// Bytes of a record in the file.
pub(super) const RECORD: usize = 40;
/// Records are made durable at least this often, as long as some are appended.
const SYNC_EVERY: Duration = Duration::from_secs(2);

/// One finished unit and its result, in three numbers that the stage gives a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Which unit.
    pub unit: u64,
    /// Result.
    pub a: u64,
    /// Result.
    pub b: u64,
    /// Result.
    pub c: u64,
}

impl Record {
    /// As stored at place `index`, whose number goes into the checksum, so that a record elsewhere is none.
    fn encode(&self, key: u64, index: u64) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        for (i, word) in [self.unit, self.a, self.b, self.c].into_iter().enumerate() {
            bytes[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
        }
        let checksum = xxh3_64_with_seed(&bytes[..32], key ^ (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        bytes[32..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8], key: u64, index: u64) -> Option<Record> {
        let word = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            u64::from_le_bytes(word)
        };
        let record = Record { unit: word(0), a: word(1), b: word(2), c: word(3) };
        (record.encode(key, index) == bytes).then_some(record)
    }
}

/// An open journal. One writer; threads share it behind a `Mutex`.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    key: u64,
    /// Whole records in the file.
    records: u64,
    synced: u64,
    synced_at: Instant,
}

impl Journal {
    /// Opens or makes the journal of the stage with this key and returns the records in it, duplicates included (see
    /// [`distinct`]). A journal of another key is discarded; a torn or damaged end is cut off, and the log says so.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn open(path: &Path, key: u64) -> Result<(Journal, Vec<Record>)> {
        let bytes = match std::fs::read(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            other => other.map_err(|e| Error::io("read", path, e))?,
        };
        let records = match bytes.first_chunk::<EDGE>() {
            Some(found) => match check_header(path, found, KIND, key) {
                Ok(()) => Some(whole_records(&bytes[EDGE..], key)),
                Err(why) => {
                    tracing::info!(reason = %why, "a journal of other work is discarded");
                    None
                }
            },
            None => None,
        };
        if records.is_none() {
            replace(path, &header(KIND, key))?;
        }
        let records = records.unwrap_or_default();
        let file = OpenOptions::new().write(true).open(path).map_err(|e| Error::io("open", path, e))?;
        let len = (EDGE + records.len() * RECORD) as u64;
        let found = file.metadata().map_err(|e| Error::io("look at", path, e))?.len();
        if found > len {
            let (lost, kept) = (found - len, records.len());
            tracing::warn!(path = %path.display(), kept, bytes_cut = lost, "the end of the journal was damaged and is cut off; its units are done again");
            file.set_len(len).map_err(|e| Error::io("cut", path, e))?;
            file.sync_all().map_err(|e| Error::io("sync", path, e))?;
        }
        let count = records.len() as u64;
        let journal =
            Journal { file, path: path.to_owned(), key, records: count, synced: count, synced_at: Instant::now() };
        Ok((journal, records))
    }

    /// Adds records, all with one write. They survive the end of this process at once, and a loss of power after the next sync, which comes
    /// with the first append more than 2 s after the last one, or with [`Journal::sync`].
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`]. The records before stand, and the next append may try again.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        let bytes = records.iter().zip(self.records..).flat_map(|(record, place)| record.encode(self.key, place));
        let bytes: Vec<u8> = bytes.collect();
        let at = EDGE as u64 + self.records * RECORD as u64;
        // At a place of our own rather than at the end: what a failed append left half written is overwritten.
        let (first, rest) = bytes.split_at(failpoint::clip("journal.append.short", bytes.len()));
        failpoint::hit("journal.append")
            .and_then(|()| self.file.write_all_at(first, at))
            .and_then(|()| self.file.write_all_at(rest, at + first.len() as u64))
            .map_err(|e| Error::io("append to", &self.path, e))?;
        self.records += records.len() as u64;
        if self.synced_at.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    /// Makes every record durable.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        if self.synced < self.records {
            failpoint::hit("journal.sync")
                .and_then(|()| self.file.sync_data())
                .map_err(|e| Error::io("sync", &self.path, e))?;
            self.synced = self.records;
        }
        self.synced_at = Instant::now();
        Ok(())
    }
}

/// What a journal holds, looked at from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peek {
    /// Whole records from the start, duplicates included.
    pub records: Vec<Record>,
    /// First byte of a record that is not as it was written.
    pub damaged_at: Option<u64>,
    /// Bytes of a record that was being appended when its process died.
    pub torn: u64,
}

/// Reads a journal without changing it, also while its owner appends.
///
/// # Errors
/// [`Error::Corrupt`] where the header is damaged or that of other work, [`Error::Io`].
pub fn peek(path: &Path, key: u64) -> Result<Peek> {
    let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
    let header = bytes.first_chunk::<EDGE>().ok_or_else(|| {
        Error::corrupt(path, At::Byte(bytes.len() as u64), format!("{} bytes are no journal", bytes.len()))
    })?;
    check_header(path, header, KIND, key)?;
    let body = &bytes[EDGE..];
    let records = whole_records(body, key);
    let damaged_at = (records.len() < body.len() / RECORD).then_some((EDGE + records.len() * RECORD) as u64);
    Ok(Peek { records, damaged_at, torn: (body.len() % RECORD) as u64 })
}

fn whole_records(bytes: &[u8], key: u64) -> Vec<Record> {
    let records = bytes.chunks_exact(RECORD).enumerate();
    records.map_while(|(i, bytes)| Record::decode(bytes, key, i as u64)).collect()
}

/// The first record of each unit, in the order of the journal. A unit may be there twice where a rank was lost after
/// its work was recorded but before it was told so.
pub fn distinct(records: &[Record]) -> Vec<Record> {
    let mut seen = HashSet::with_capacity(records.len());
    records.iter().copied().filter(|record| seen.insert(record.unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn record(unit: u64) -> Record {
        Record { unit, a: unit * 3, b: u64::MAX - unit, c: 0 }
    }

    fn filled(path: &Path, key: u64, units: u64) {
        let (mut journal, found) = Journal::open(path, key).unwrap();
        for unit in found.len() as u64..units {
            journal.append(&[record(unit)]).unwrap();
        }
        journal.sync().unwrap();
    }

    #[test]
    fn records_come_back_and_more_can_follow() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        for units in [0, 1, 1, 5, 100] {
            filled(&path, 4, units);
            let (_, records) = Journal::open(&path, 4).unwrap();
            assert_eq!(records, (0..units).map(record).collect::<Vec<_>>());
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 64 + 40 * 100);
        let (_, records) = Journal::open(&path, 5).unwrap();
        assert!(records.is_empty(), "a journal of another key is discarded");
        assert_eq!(fs::metadata(&path).unwrap().len(), 64);
    }

    #[test]
    fn torn_at_any_byte_it_keeps_the_whole_records_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        filled(&path, 4, 5);
        let good = fs::read(&path).unwrap();
        for len in 0..=good.len() {
            fs::write(&path, &good[..len]).unwrap();
            let whole = len.saturating_sub(EDGE) / RECORD;
            let (mut journal, records) = Journal::open(&path, 4).unwrap();
            assert_eq!(records, (0..whole as u64).map(record).collect::<Vec<_>>(), "cut at {len}");
            journal.append(&[record(77)]).unwrap();
            drop(journal);
            let (_, records) = Journal::open(&path, 4).unwrap();
            assert_eq!((records.len(), records[whole]), (whole + 1, record(77)), "cut at {len}");
        }
    }

    #[test]
    fn a_flipped_bit_ends_it_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        filled(&path, 4, 3);
        let good = fs::read(&path).unwrap();
        // One bit of each byte: every journal that is cut costs a sync.
        for bit in (0..good.len()).map(|byte| byte * 8 + byte % 8) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            let kept = (bit / 8).saturating_sub(EDGE) / RECORD;
            let (_, records) = Journal::open(&path, 4).unwrap();
            assert_eq!(records.len(), kept, "bit {bit}");
        }
    }

    #[test]
    fn records_that_changed_places_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        filled(&path, 4, 2);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, [&bytes[..64], &bytes[104..144], &bytes[64..104]].concat()).unwrap();
        assert!(Journal::open(&path, 4).unwrap().1.is_empty());
    }

    #[test]
    fn of_duplicates_the_first_counts() {
        let twice = Record { a: 999, ..record(1) };
        assert_eq!(distinct(&[record(1), record(0), twice, record(0)]), [record(1), record(0)]);
    }
}
