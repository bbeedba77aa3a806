//! The journal of a stage: its completed units of work and their results.
//!
//! It is an append-only file. It begins with a 64-byte header, as in sealed files and with the stage's key as salt,
//! which is followed by records:
//!
//! ```text
//! unit u64, length u32, checksum of both u32, result (length bytes), checksum of all preceding fields u64
//! ```
//!
//! A process may die while it appends. So if a record does not match its checksum, the file is truncated before that
//! record.

use crate::store::regular;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::durable::sync_file;
use super::file::{FRAME_BYTES, Kind, check_header, chunk_seed, header, u64_at};
use super::replace::{make_folder_of, replace};
use crate::error::{At, Error, Result};
use crate::failpoint;

const KIND: Kind = Kind::new(b"JRNL");
/// Size in bytes of the fields of a record before its result: unit, length, and a checksum of both.
const HEAD: usize = 16;
/// Size in bytes of the field of a journal record after its result: the record's checksum.
const TAIL: usize = 8;
/// Maximum size of a result in bytes. A record with a larger length counts as damaged.
const LONGEST: usize = 1 << 30;
/// Interval between syncs while records are appended to the journal.
const SYNC_EVERY: Duration = Duration::from_secs(2);

/// Journal record: a completed unit of work and its result, whose format the stage defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Id of the unit of work, which the stage defines.
    pub unit: u64,
    /// Result of the unit of work.
    pub result: Box<[u8]>,
}

impl Record {
    /// Returns a record whose result is `words`, stored as little-endian 64-bit integers.
    pub fn of_words(unit: u64, words: &[u64]) -> Record {
        Record { unit, result: words.iter().flat_map(|word| word.to_le_bytes()).collect() }
    }

    /// Returns the result as `N` 64-bit integers; `None` if the result has another length.
    pub fn words<const N: usize>(&self) -> Option<[u64; N]> {
        let (words, []) = self.result.as_chunks::<8>() else { return None };
        let words: &[[u8; 8]; N] = words.try_into().ok()?;
        Some(words.map(u64::from_le_bytes))
    }

    /// Returns the size in the file, in bytes, of a record whose result has `result` bytes.
    pub const fn bytes(result: u64) -> u64 {
        result + (HEAD + TAIL) as u64
    }

    /// Appends the encoded record to `out`. The record's checksums depend on the journal's `key` and on the record's
    /// byte offset `at` in the file. So the record is invalid in any other journal or at any other offset.
    fn encode(&self, key: u64, at: u64, out: &mut Vec<u8>) {
        let first = out.len();
        out.extend_from_slice(&self.unit.to_le_bytes());
        out.extend_from_slice(&(self.result.len() as u32).to_le_bytes());
        let check = head_check(&out[first..], key, at);
        out.extend_from_slice(&check);
        out.extend_from_slice(&self.result);
        let checksum = xxh3_64_with_seed(&out[first..], chunk_seed(key, at));
        out.extend_from_slice(&checksum.to_le_bytes());
    }

    fn decode(bytes: &[u8], key: u64, at: u64) -> DecodedRecord {
        let Some(head) = bytes.first_chunk::<HEAD>() else { return DecodedRecord::Torn };
        let [_, _, _, _, _, _, _, _, length @ .., _, _, _, _] = *head;
        let length = u32::from_le_bytes(length) as usize;
        if head[12..] != head_check(&head[..12], key, at) || length > LONGEST {
            return DecodedRecord::Damaged;
        }
        let Some(all) = bytes.get(..HEAD + length + TAIL) else { return DecodedRecord::Torn };
        let (body, tail) = all.split_at(HEAD + length);
        if tail != xxh3_64_with_seed(body, chunk_seed(key, at)).to_le_bytes() {
            return DecodedRecord::Damaged;
        }
        let [unit @ .., _, _, _, _, _, _, _, _] = *head;
        DecodedRecord::Whole(Record { unit: u64::from_le_bytes(unit), result: body[HEAD..].into() })
    }
}

/// Result of decoding the bytes of a journal that follow some offset.
enum DecodedRecord {
    Whole(Record),
    /// The bytes are only the beginning of a record; the rest is missing.
    Torn,
    /// The bytes are not a valid record.
    Damaged,
}

/// Returns the checksum of a record's unit and length. Without it, a record with a damaged length could not be
/// distinguished from an incomplete last record.
fn head_check(head: &[u8], key: u64, at: u64) -> [u8; 4] {
    (xxh3_64_with_seed(head, chunk_seed(key, at)) as u32).to_le_bytes()
}

/// A journal that is open for appending. It must have a single writer; threads share it behind a `Mutex`.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    key: u64,
    /// Byte offset in the journal of the end of the last complete record.
    end: u64,
    synced: u64,
    synced_at: Instant,
}

impl Journal {
    /// Opens the journal of the stage with this key, and creates it and its folder if necessary. Also returns its
    /// records, which may contain duplicates (see [`distinct`]). A journal with another key is discarded. An
    /// incomplete or damaged end is truncated and logged.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn open(path: &Path, key: u64) -> Result<(Journal, Vec<Record>)> {
        let bytes = match regular::read(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            other => other.map_err(|e| Error::io("read", path, e))?,
        };
        let records = bytes.first_chunk::<FRAME_BYTES>().and_then(|found| match check_header(path, found, KIND, key) {
            Ok(()) => Some(read(&bytes, key)),
            // A journal with an intact header but another key belongs to other work. It is discarded without a warning.
            Err(_) if check_header(path, found, KIND, u64_at(found, 16)).is_ok() => None,
            Err(why) => {
                tracing::warn!("{why}: its units are done again");
                None
            }
        });
        if records.is_none() {
            make_folder_of(path)?;
            replace(path, &header(KIND, key))?;
        }
        let JournalContents { records, end, .. } = records.unwrap_or_default();
        let file = regular::open_to_write(&mut OpenOptions::new(), path).map_err(|e| Error::io("open", path, e))?;
        let found = file.metadata().map_err(|e| Error::io("look at", path, e))?.len();
        if found > end {
            let (lost, kept) = (found - end, records.len());
            tracing::warn!(path = %path.display(), kept, bytes_cut = lost, "the end of the journal was damaged and is cut off; its units are done again");
            file.set_len(end).map_err(|e| Error::io("cut", path, e))?;
            sync_file(&file, path).map_err(|e| Error::io("sync", path, e))?;
        }
        let journal = Journal { file, path: path.to_owned(), key, end, synced: end, synced_at: Instant::now() };
        Ok((journal, records))
    }

    /// Appends records. When this returns, they survive the end of this process; after the next sync, they also
    /// survive a power failure. An append syncs if the last sync was at least 2 s ago; [`Journal::sync`] always does.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`]. Earlier records remain valid, and the append may be retried.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        let mut bytes = Vec::new();
        for record in records {
            if record.result.len() > LONGEST {
                return Err(Error::internal(
                    "append to a journal",
                    format!("a result of {} bytes", record.result.len()),
                ));
            }
            record.encode(self.key, self.end + bytes.len() as u64, &mut bytes);
        }
        let at = self.end;
        // Write at a known offset rather than at the end of the file, to overwrite what a failed append may have left.
        let (first, rest) = bytes.split_at(failpoint::clip("journal.append.short", bytes.len()));
        failpoint::hit("journal.append")
            .and_then(|()| self.file.write_all_at(first, at))
            .and_then(|()| self.file.write_all_at(rest, at + first.len() as u64))
            .map_err(|e| Error::io("append to", &self.path, e))?;
        self.end += bytes.len() as u64;
        if self.synced_at.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    /// Makes all records of the journal durable.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        if self.synced < self.end {
            failpoint::hit("journal.sync")
                .and_then(|()| sync_file(&self.file, &self.path))
                .map_err(|e| Error::io("sync", &self.path, e))?;
            self.synced = self.end;
        }
        self.synced_at = Instant::now();
        Ok(())
    }
}

/// The records of a journal, and the position of damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalContents {
    /// Complete records in the order of the file, which may contain duplicates.
    pub records: Vec<Record>,
    /// Byte offset in the journal of the first damaged record; `None` if there is none.
    pub damaged_at: Option<u64>,
    /// Number of bytes of an incomplete last record, which a process leaves if it dies while appending; 0 if there is
    /// none.
    pub torn: u64,
    /// Byte offset in the journal of the end of the last complete record.
    end: u64,
}

impl Default for JournalContents {
    fn default() -> Self {
        JournalContents { records: Vec::new(), damaged_at: None, torn: 0, end: FRAME_BYTES as u64 }
    }
}

/// Reads a journal without modifying it, even while its owner appends to it.
///
/// # Errors
/// [`Error::Corrupt`] if the header is damaged or has another key; [`Error::Io`].
pub fn peek(path: &Path, key: u64) -> Result<JournalContents> {
    let bytes = regular::read(path).map_err(|e| Error::io("read", path, e))?;
    let header = bytes.first_chunk::<FRAME_BYTES>().ok_or_else(|| {
        Error::corrupt(path, At::Byte(bytes.len() as u64), format!("{} bytes are too few for a journal", bytes.len()))
    })?;
    check_header(path, header, KIND, key)?;
    Ok(read(&bytes, key))
}

/// Decodes the records in `bytes`, the contents of a journal whose header has been checked.
fn read(bytes: &[u8], key: u64) -> JournalContents {
    let mut found = JournalContents::default();
    loop {
        let at = found.end;
        match bytes.get(at as usize..).filter(|rest| !rest.is_empty()).map(|rest| Record::decode(rest, key, at)) {
            None => return found,
            Some(DecodedRecord::Whole(record)) => {
                found.end += Record::bytes(record.result.len() as u64);
                found.records.push(record);
            }
            Some(DecodedRecord::Torn) => return JournalContents { torn: bytes.len() as u64 - at, ..found },
            Some(DecodedRecord::Damaged) => return JournalContents { damaged_at: Some(at), ..found },
        }
    }
}

/// Returns the first record of each unit, in the order of the journal. A unit may occur twice, because a rank may be
/// lost after its record was written but before the rank was notified.
pub fn distinct(records: &[Record]) -> Vec<Record> {
    let mut seen = HashSet::with_capacity(records.len());
    records.iter().filter(|record| seen.insert(record.unit)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns a record whose result has `unit` modulo 7 words.
    fn record(unit: u64) -> Record {
        Record::of_words(unit, &vec![unit.wrapping_mul(3); unit as usize % 7])
    }

    fn bytes_of(units: u64) -> usize {
        FRAME_BYTES + (0..units).map(|unit| Record::bytes(record(unit).result.len() as u64) as usize).sum::<usize>()
    }

    /// Returns the number of complete records in the first `len` bytes of a long journal.
    fn whole_in(len: usize) -> u64 {
        (0..).take_while(|&units| bytes_of(units + 1) <= len).count() as u64
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
        assert_eq!(fs::metadata(&path).unwrap().len(), bytes_of(100) as u64);
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
            let whole = whole_in(len) as usize;
            if len >= FRAME_BYTES {
                let torn = (len - bytes_of(whole as u64)) as u64;
                let seen = peek(&path, 4).unwrap();
                assert_eq!((seen.records.len(), seen.torn, seen.damaged_at), (whole, torn, None), "cut at {len}");
            }
            let (mut journal, records) = Journal::open(&path, 4).unwrap();
            assert_eq!(records, (0..whole as u64).map(record).collect::<Vec<_>>(), "cut at {len}");
            journal.append(&[record(77)]).unwrap();
            drop(journal);
            let (_, records) = Journal::open(&path, 4).unwrap();
            assert_eq!((records.len(), &records[whole]), (whole + 1, &record(77)), "cut at {len}");
        }
    }

    #[test]
    fn a_flipped_bit_ends_it_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        filled(&path, 4, 3);
        let good = fs::read(&path).unwrap();
        // Flip only one bit of each byte, because every truncation of a journal costs a sync.
        for bit in (0..good.len()).map(|byte| byte * 8 + byte % 8) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            let kept = whole_in(bit / 8) as usize;
            if bit / 8 >= FRAME_BYTES {
                let seen = peek(&path, 4).unwrap();
                assert_eq!(seen.damaged_at, Some(bytes_of(kept as u64) as u64), "bit {bit}");
            }
            let (_, records) = Journal::open(&path, 4).unwrap();
            assert_eq!(records.len(), kept, "bit {bit}");
        }
    }

    #[test]
    fn records_at_other_offsets_are_invalid() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let (mut journal, _) = Journal::open(&path, 4).unwrap();
        journal.append(&[Record::of_words(1, &[5]), Record::of_words(2, &[6])]).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 128);
        fs::write(&path, [&bytes[..64], &bytes[96..], &bytes[64..96]].concat()).unwrap();
        assert!(Journal::open(&path, 4).unwrap().1.is_empty());
    }

    #[test]
    fn of_duplicates_the_first_counts() {
        let twice = Record::of_words(1, &[999]);
        assert_eq!(distinct(&[record(1), record(0), twice, record(0)]), [record(1), record(0)]);
        assert_eq!(record(1).words(), Some([3]));
        assert_eq!(record(1).words::<2>(), None);
    }
}
