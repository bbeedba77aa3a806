//! Numbers for ids that are strings: the sorted list of the strings that occur, and a table that finds a string's place
//! in it.
//!
//! A string's number is its place among all strings in the order of their bytes, so it depends on the input alone.
//! Numbering takes one pass over the input and fixed memory:
//!
//! | step | does | memory |
//! |---|---|---|
//! | gather | threads divide the strings of all edges by their hashes into parts, and drop repeats within each part | the limit; parts that do not fit are spilled to a file |
//! | distribute | each part drops the repeats between what it spilled, and divides its strings by their bytes into ranges | a part for each thread |
//! | sort | each range is sorted, which numbers its strings, and appended to the list | a range for each thread |
//! | index | pairs of hash and number are sorted by hash, and written as a hash table | a share of them for each thread |
//!
//! Strings are compared wherever hashes agree, so two strings with one hash never share a number.
//!
//! | file | contains |
//! |---|---|
//! | `lines` | a sorted list of strings, a line each, in which places and strings are found |
//! | `gather`, `string_set` | the pass over the input; how repeats are found |
//! | `spill` | blocks in memory or in a temporary file, which threads append to many parts |
//! | `ranges`, `sorted_range` | ranges of strings that are sorted one by one |
//! | `table` | the hash table |

mod gather;
pub mod lines;
mod ranges;
mod sorted_range;
mod spill;
mod string_set;
mod table;

use self::gather::Gathered;
use self::lines::Lines;
use self::table::Table;
use super::partition::changed;
use crate::error::{At, Error, Result};
use crate::formats::names::hash;
use crate::formats::{FindNames, Input, NameBatch, Watch, Weights};
use crate::memory::{Budget, prefetch};
use crate::store::file::{Kind, Pending};
use crate::store::map::{Mapped, as_u64};
use std::path::{Path, PathBuf};

/// Number of strings whose table entries are prefetched before they are looked up, so that memory accesses overlap.
const AHEAD: usize = 64;
/// Most entries of the hash table are at most this many places behind the place that their hash selects; the average is
/// 3.5.
const NEAR: usize = 5;

const LIST: Kind = Kind::new(b"NAME");
const TABLE: Kind = Kind::new(b"NTAB");

/// Returns the path of the list of strings in the graph's folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("names")
}

/// Returns the path of the hash table in the graph's folder.
fn table_path(folder: &Path) -> PathBuf {
    folder.join("names-table")
}

/// The sorted list of strings of a prepared graph, as a mapped file.
#[derive(Debug)]
pub struct NameList {
    file: Mapped,
    lines: u64,
    text_bytes: usize,
    checksum: u64,
}

/// Map between strings and their numbers. It consists of the sorted list and the hash table, which are mapped files.
#[derive(Debug)]
pub struct Names {
    list: NameList,
    table: Table,
    /// Name of the input, for messages.
    source: String,
}

/// Number of bytes after the line starts in the body of the list: the number of lines, the bytes of text, and the
/// checksum of the input.
const TRAILER: usize = 24;

impl NameList {
    /// Maps the list in a graph's folder. `key` is the key of the input's version.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(folder: &Path, key: u64) -> Result<NameList> {
        let path = path(folder);
        let file = Mapped::open(&path, LIST, key)?;
        file.verify_checksum()?;
        let body = file.body();
        let corrupt = |what: String| Error::corrupt(&path, At::File, what);
        let Some((text, trailer)) = body.split_last_chunk::<TRAILER>() else {
            return Err(corrupt(format!("{} bytes", body.len())));
        };
        let [lines, text_bytes, checksum] = [0, 8, 16].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&trailer[at..at + 8]);
            u64::from_le_bytes(word)
        });
        let starts = lines.div_ceil(lines::STRIDE).checked_mul(8);
        let fits = starts.and_then(|starts| text_bytes.checked_next_multiple_of(8)?.checked_add(starts));
        if fits != Some(text.len() as u64) {
            return Err(corrupt(format!("{lines} lines of {text_bytes} bytes in {} bytes", text.len())));
        }
        Ok(NameList { lines, text_bytes: text_bytes as usize, checksum, file })
    }

    /// Returns the strings.
    pub fn lines(&self) -> Lines<'_> {
        let (text, rest) = self.file.body().split_at(self.text_bytes);
        let starts = &rest[self.text_bytes.next_multiple_of(8) - self.text_bytes..];
        let starts = as_u64(&starts[..starts.len() - TRAILER]).unwrap_or_default();
        Lines::new(text, starts, self.lines)
    }

    /// Returns the checksum of the input from which the strings were read.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }
}

impl Names {
    /// Returns the minimum number of bytes of memory with which `threads` threads can number strings, in addition to
    /// reading the input.
    pub fn least_bytes(threads: usize) -> u64 {
        gather::least_bytes(threads)
    }

    /// Returns the bytes on disk of the list and the table of `names` strings, which have `bytes` bytes in total.
    pub fn stored_bytes(names: u64, bytes: u64) -> u64 {
        bytes + names + names / 2 + Table::bytes(names) + 1024
    }

    /// Reads the input once, and writes its different strings and their table to `folder`. Returns both files, which
    /// may not be on the disk yet.
    ///
    /// # Errors
    /// Errors of the input (including more than 2^32 - 2 strings), of the disk and of the budget.
    pub fn build(
        input: &Input,
        folder: &Path,
        key: u64,
        threads: usize,
        budget: &Budget,
        watch: &dyn Watch,
    ) -> Result<[Pending; 2]> {
        let (list, input) = (path(folder), &input.clone().with_weights(Weights::Skip));
        let Gathered { parts, checksum, room } = gather::gather(input, &list, threads, budget, watch)?;
        let ranges = ranges::distribute(parts, &list, room, watch)?;
        let sorted = ranges.sort(&list, key, checksum, &input.name(), watch)?;
        let table = sorted.pairs.write(&table_path(folder), key, watch)?;
        Ok([sorted.list, table])
    }

    /// Opens the list and the table that [`Self::build`] wrote. `source` names the input in errors.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(folder: &Path, key: u64, source: String) -> Result<Names> {
        let list = NameList::open(folder, key)?;
        let table = Table::open(&table_path(folder), key, list.lines)?;
        Ok(Names { list, table, source })
    }

    /// Checks that the strings ascend and that the table finds each of them. Returns a description of the result.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the line of the first string that is wrong.
    pub fn check(&self) -> Result<String> {
        let lines = self.list.lines();
        let (mut before, mut count): (Option<&[u8]>, u64) = (None, 0);
        for (name, number) in lines.iter().zip(0u32..) {
            let corrupt = |what: &str| Error::corrupt(self.list.file.path(), At::Line(u64::from(number) + 1), what);
            if before.is_some_and(|before| before >= name) {
                return Err(corrupt("the strings don't ascend"));
            }
            if self.table.find(hash(name), |other| lines.get(other.into()) == Some(name)) != Some(number) {
                return Err(corrupt("the table does not have this string"));
            }
            (before, count) = (Some(name), count + 1);
        }
        if count != lines.count() {
            return Err(Error::corrupt(
                self.list.file.path(),
                At::File,
                format!("{count} strings, not {}", lines.count()),
            ));
        }
        Ok(format!("whole; {count} strings"))
    }

    /// Returns the list of strings.
    pub fn list(&self) -> &NameList {
        &self.list
    }
}

impl FindNames for Names {
    fn find(&self, names: &NameBatch, numbers: &mut Vec<u32>) -> Result<()> {
        numbers.clear();
        let entries = self.table.entries();
        let ahead = |hash: &u64| {
            // An entry is up to some places behind the place that its hash selects, so often in the next cache line.
            let home = self.table.home(*hash);
            prefetch(entries, home);
            prefetch(entries, home + NEAR);
        };
        let hashes = names.hashes();
        hashes.iter().take(AHEAD).for_each(ahead);
        for (at, &hash) in hashes.iter().enumerate() {
            hashes.get(at + AHEAD).into_iter().for_each(ahead);
            let is_one = |number: u32| self.list.lines().get(number.into()) == Some(names.name(at));
            let number = self.table.find(hash, is_one).ok_or_else(|| changed(&self.source))?;
            numbers.push(number);
        }
        Ok(())
    }
}
