//! A sorted list of strings, as a text with one string per line. The offset of every 16th line is stored, so finding a
//! line takes a short scan.

use crate::error::{Error, Result};
use crate::formats::bytes::map::MappedFile;
use crate::formats::{FindNames, NameBatch};
use crate::memory::{Budget, Buffer};
use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

/// Number of lines per stored offset.
pub(super) const STRIDE: u64 = 16;

/// The lines of a text. Every line ends with a newline.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    text: &'a [u8],
    starts: &'a [u64],
    count: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8], starts: &'a [u64], count: u64) -> Lines<'a> {
        Lines { text, starts, count }
    }

    /// Returns the number of lines.
    pub fn count(self) -> u64 {
        self.count
    }

    /// Returns all lines as one text.
    pub fn text(self) -> &'a [u8] {
        self.text
    }

    /// Returns the lines in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.text.split_inclusive(|c| *c == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// Returns the lines from index `row` (0-based) on.
    pub fn iter_from(self, row: u64) -> impl Iterator<Item = &'a [u8]> {
        self.from(row / STRIDE).skip((row % STRIDE) as usize).take(self.count.saturating_sub(row) as usize)
    }

    /// Returns the line with index `row` (0-based); `None` if there are fewer lines.
    pub fn get(self, row: u64) -> Option<&'a [u8]> {
        if row >= self.count {
            return None;
        }
        self.from(row / STRIDE).nth((row % STRIDE) as usize)
    }

    /// Returns the index (0-based) of the line that equals `name`, by binary search; `None` if there is no such line.
    pub fn find(self, name: &[u8]) -> Option<u64> {
        let first = |block: u64| self.from(block).next().unwrap_or_default();
        let (mut low, mut high) = (0, self.count.div_ceil(STRIDE));
        // Find the last block of lines whose first line is not larger than `name`.
        while low < high {
            let middle = low + (high - low) / 2;
            if first(middle) <= name { low = middle + 1 } else { high = middle }
        }
        let block = low.checked_sub(1)?;
        let lines = self.from(block).take((self.count - block * STRIDE).min(STRIDE) as usize);
        lines.zip(block * STRIDE..).find(|(line, _)| *line == name).map(|(_, row)| row)
    }

    /// Returns the lines from index `block * STRIDE` on; the offset of this line is stored.
    fn from(self, block: u64) -> impl Iterator<Item = &'a [u8]> {
        let start = self.starts.get(block as usize).map_or(self.text.len(), |&start| start as usize);
        let text = self.text.get(start..).unwrap_or_default();
        text.split(|c| *c == b'\n')
    }
}

/// A file of string ids, one per line in ascending order, as a job writes it next to results. Ids are found by binary
/// search.
pub struct NameFile {
    path: PathBuf,
    text: MappedFile,
    starts: Buffer<u64>,
    count: u64,
}

impl fmt::Debug for NameFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ids of {}", self.count, self.path.display())
    }
}

impl NameFile {
    /// Opens a file that must contain `count` ids.
    ///
    /// # Errors
    /// [`Error::Validation`] if the number of ids differs, or they are not in ascending order; [`Error::Io`];
    /// [`Error::Limit`].
    pub fn open(path: &Path, count: u64, budget: &Budget) -> Result<NameFile> {
        let text = MappedFile::open(path)?;
        let blocks = count.div_ceil(STRIDE) as usize;
        let mut starts: Buffer<u64> = budget.zeroed(blocks, "the places of ids (half a byte each)")?;
        let wrong = |what: String| Error::Validation(format!("{}: {what}", path.display()));
        let (mut at, mut lines, mut before): (usize, u64, Option<&[u8]>) = (0, 0, None);
        let bytes = text.bytes();
        while at < bytes.len() {
            let length = bytes[at..].iter().position(|c| *c == b'\n');
            let length = length.ok_or_else(|| wrong("its last line has no newline".into()))?;
            let line = &bytes[at..at + length];
            if before.is_some_and(|before| before.cmp(line) != Ordering::Less) {
                return Err(wrong(format!("ids must ascend, but line {} does not", lines + 1)));
            }
            if lines.is_multiple_of(STRIDE)
                && let Some(start) = starts.get_mut((lines / STRIDE) as usize)
            {
                *start = at as u64;
            }
            (before, lines, at) = (Some(line), lines + 1, at + length + 1);
        }
        if lines != count {
            return Err(wrong(format!("{lines} ids, the job has {count}")));
        }
        Ok(NameFile { path: path.to_owned(), text, starts, count })
    }

    /// Returns the ids as lines.
    pub fn lines(&self) -> Lines<'_> {
        Lines::new(self.text.bytes(), &self.starts, self.count)
    }
}

impl FindNames for NameFile {
    fn find(&self, names: &NameBatch, numbers: &mut Vec<u32>) -> Result<()> {
        numbers.clear();
        for at in 0..names.len() {
            let name = names.name(at);
            let Some(row) = self.lines().find(name) else {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(Error::Validation(format!(
                    "{}: {name:?} is an id of the input but missing here",
                    self.path.display()
                )));
            };
            numbers.push(row as u32);
        }
        Ok(())
    }
}
