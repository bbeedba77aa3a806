//! Dictionary of string ids: the sorted list of all distinct strings in the input, and a hash table that maps a string
//! to its index in the list.
//!
//! The number of a string (its raw id) is its index in byte order among all strings, so it depends on the input alone.
//! Building the dictionary needs one pass over the input and fixed memory:
//!
//! | step | does | memory |
//! |---|---|---|
//! | gather | divides strings into parts by hash; removes duplicates within each part | the limit; more is spilled |
//! | distribute | removes the other duplicates; divides strings into ranges in byte order | a part per thread |
//! | sort | sorts each range, which determines the strings' numbers; appends it to the list | a range per thread |
//! | index | sorts the pairs (hash, number) by hash; writes them as a hash table | a part of the pairs per thread |
//!
//! If hashes are equal, the strings themselves are compared, so different strings never get the same number.
//!
//! | file | contains |
//! |---|---|
//! | `lines` | a sorted list of strings, one per line, with lookup by index and by string |
//! | `gather`, `string_set` | the pass over the input; the hash table that detects duplicates |
//! | `spill` | parts in memory or in a temporary file, to which threads append blocks |
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
/// Distance, in slots, from the slot that a hash selects to a second slot that is prefetched. Most entries are at most
/// this many slots after the slot that their hash selects; the average is 3.5.
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

/// The sorted list of string ids of a prepared graph, as a mapped file.
#[derive(Debug)]
pub struct NameList {
    file: Mapped,
    lines: u64,
    text_bytes: usize,
    checksum: u64,
}

/// Map between string ids and their numbers (raw ids): the sorted list and the hash table, which are mapped files.
#[derive(Debug)]
pub struct Names {
    list: NameList,
    table: Table,
    /// Name of the input, for messages.
    source: String,
}

/// Size in bytes of the trailer of the list's body, which follows the array of line offsets. The trailer contains three
/// u64 values: the number of lines, the length of the text in bytes, and the checksum of the input.
const TRAILER: usize = 24;

impl NameList {
    /// Maps the list in a graph's folder to memory. `key` identifies the input's files.
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

    /// Returns the strings of the list, in ascending order.
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
    /// Returns the minimum number of bytes of memory that `threads` threads need to build the dictionary, in addition
    /// to reading the input.
    pub fn least_bytes(threads: usize) -> u64 {
        gather::least_bytes(threads)
    }

    /// Returns the size in bytes of the files of the list and the table, for `names` strings with a total length of
    /// `bytes` bytes.
    pub fn stored_bytes(names: u64, bytes: u64) -> u64 {
        bytes + names + names / 2 + Table::bytes(names) + 1024
    }

    /// Reads the input once, and writes the list of its distinct strings and the hash table to `folder`. Returns both
    /// files, which may not be durable yet.
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

    /// Checks that the strings are in ascending order, and that the table finds each of them. Returns a message about
    /// the result.
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
            // An entry may be a few slots after the slot that its hash selects, and so is often in the next cache line.
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
