//! Files of blocks of rows.
//!
//! The body of a file is eight u64 (index of the block, first row, number of rows, number of entries, 1 if the graph is
//! directed, zeros), a u32 offset for each row, the end of the last row, zeros up to a multiple of 64 bytes, and the
//! u32 targets. The salt of the file combines the graph's key and the block's index, so a block of another graph or
//! with another index is rejected.

use super::csr::Block;
use super::direction::Direction;
use super::half::Half;
use super::layout::Layout;
use crate::error::{At, Error, Result};
use crate::memory::bytes_of;
use crate::store::file::{FRAME_BYTES, Kind, NewFile, Pending};
use crate::store::map::{Mapped, as_u32, as_u64};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Returns the file type that the headers of all block files of `half` contain.
fn kind(half: Half) -> Kind {
    match half {
        Half::Lower => Kind::new(b"LOWR"),
        Half::Upper => Kind::new(b"UPPR"),
    }
}

const HEAD: usize = 64;
/// Number of row offsets that are computed and written at a time.
const OFFSETS: usize = 1 << 16;

/// Returns the path, in the graph's folder, of the file of block `index` of `half`.
pub fn path(folder: &Path, half: Half, index: usize) -> PathBuf {
    folder.join(format!("{}.{index:06}.block", half.name()))
}

/// Returns, for each of the blocks `0 .. blocks`, whether its file exists in `folder`; `path` returns the path of a
/// block's file. This lists the folder instead of looking up each name: if a name was looked up before another node
/// wrote the file, a network file system may continue to report the file as missing.
pub fn listed(folder: &Path, blocks: usize, path: impl Fn(usize) -> PathBuf) -> Vec<bool> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: HashSet<_> = entries.map(|entry| entry.file_name()).collect();
    (0..blocks).map(|b| path(b).file_name().is_some_and(|name| names.contains(name))).collect()
}

pub(super) fn salt(key: u64, index: usize) -> u64 {
    key ^ (index as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn head(layout: &Layout, index: usize, entries: u64) -> [u64; HEAD / 8] {
    let (span, shift) = (layout.block(index), u64::from(layout.direction().shift()));
    [index as u64, span.rows.start, span.len() as u64, entries, shift, 0, 0, 0]
}

/// Returns the size in bytes of the body of a block file with `rows` rows and `entries` entries.
pub fn body_bytes(rows: u64, entries: u64) -> u64 {
    targets_start(rows) + 4 * entries
}

fn targets_start(rows: u64) -> u64 {
    (HEAD as u64 + 4 * (rows + 1)).next_multiple_of(64)
}

/// Writes block `index` of the lower half of the graph with this key and layout. Each of the `parts` is (row lengths,
/// targets) of consecutive rows.
///
/// # Errors
/// [`Error::DiskFull`], [`Error::Io`]; [`Error::Input`] if the block would have 2^32 entries or more.
pub fn write(folder: &Path, key: u64, layout: &Layout, index: usize, parts: &[(&[u32], &[u32])]) -> Result<Pending> {
    let entries: u64 = parts.iter().map(|(_, targets)| targets.len() as u64).sum();
    let mut block = BlockWriter::create(folder, key, Half::Lower, layout, index, entries)?;
    parts.iter().try_for_each(|(lengths, _)| block.lengths(lengths))?;
    parts.iter().try_for_each(|(_, targets)| block.targets(targets))?;
    block.finish()
}

/// Writer of the file of one block. Row lengths are appended first, then targets, both in any number of calls.
pub struct BlockWriter {
    file: NewFile,
    path: PathBuf,
    rows: u64,
    entries: u64,
    /// Sum of the lengths of all rows appended so far.
    end: u32,
}

impl BlockWriter {
    /// Creates the file of block `index` of `half`, for the graph with this key and layout. `entries` is the total
    /// number of entries of the block's rows.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`]; [`Error::Input`] if the block would have 2^32 entries or more.
    pub fn create(folder: &Path, key: u64, half: Half, layout: &Layout, index: usize, entries: u64) -> Result<Self> {
        let path = path(folder, half, index);
        let rows = layout.block(index).rows;
        if u32::try_from(entries).is_err() {
            return Err(too_many_entries(&path, rows.start, entries));
        }
        let mut file = NewFile::create(&path, kind(half), salt(key, index))?;
        let count = rows.end - rows.start;
        file.write(bytes_of(&head(layout, index, entries)))?;
        file.write(bytes_of(&[0u32]))?;
        Ok(BlockWriter { file, path, rows: count, entries, end: 0 })
    }

    /// Appends the lengths of the next rows of the block.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn lengths(&mut self, lengths: &[u32]) -> Result<()> {
        let mut offsets = Vec::with_capacity(lengths.len().min(OFFSETS));
        for some in lengths.chunks(OFFSETS) {
            offsets.clear();
            offsets.extend(some.iter().map(|&length| {
                self.end = self.end.wrapping_add(length);
                self.end
            }));
            self.file.write(bytes_of(&offsets))?;
        }
        Ok(())
    }

    /// Appends the targets of the next rows. The lengths of all rows must have been appended before.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn targets(&mut self, targets: &[u32]) -> Result<()> {
        let (start, offsets) = (targets_start(self.rows), HEAD as u64 + 4 * (self.rows + 1));
        if self.file.body_bytes() == offsets {
            self.file.write(&[0; 64][..(start - offsets) as usize])?;
        }
        self.file.write(bytes_of(targets))
    }

    /// Completes the file. It is durable when a syncer has waited for the returned [`Pending`].
    ///
    /// # Errors
    /// [`Error::Validation`] if the number of rows or of entries is not the number passed to [`Self::create`];
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn finish(mut self) -> Result<Pending> {
        self.targets(&[])?;
        if (u64::from(self.end), self.file.body_bytes()) != (self.entries, body_bytes(self.rows, self.entries)) {
            let what = format!("the lengths of its rows sum to {} entries, expected {}", self.end, self.entries);
            return Err(Error::Validation(format!("{}: {what}", self.path.display())));
        }
        self.file.finish_deferred()
    }
}

/// Returns the error for a block of 2^32 entries or more. Blocks are cut between rows, so such a block has a row that
/// is too long.
fn too_many_entries(path: &Path, row: u64, entries: u64) -> Error {
    Error::input(
        path,
        At::File,
        "rows of under 2^32 neighbours",
        format!("{entries} in the block from vertex {row} on"),
        "the graph has a vertex with more edges than this version supports",
    )
}

/// A block in a memory-mapped file.
#[derive(Debug)]
pub struct StoredBlock {
    /// The memory-mapped file of the block.
    pub file: Mapped,
    half: Half,
    direction: Direction,
    first_row: u32,
    offsets: Range<usize>,
    targets: Range<usize>,
}

impl StoredBlock {
    /// Opens block `index` of `half` of the graph with this key. The block must contain the rows that `layout` assigns
    /// to it. This checks only the size and the head of the file; [`Self::verify`] checks the contents.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(folder: &Path, key: u64, half: Half, layout: &Layout, index: usize) -> Result<Self> {
        let path = path(folder, half, index);
        let file = Mapped::open(&path, kind(half), salt(key, index))?;
        let wrong = |what: String| Error::corrupt(&path, At::File, what);
        let Some(&[_, first_row, rows, entries, ..]) = file.body().get(..HEAD).and_then(as_u64) else {
            return Err(wrong(format!("{} bytes are too few for a block", file.body().len())));
        };
        let expected = head(layout, index, entries);
        if file.body()[..HEAD] != *bytes_of(&expected) {
            let found = as_u64(&file.body()[..HEAD]).unwrap_or_default();
            return Err(wrong(format!("its head is {found:?}, and that of block {index} of this graph {expected:?}")));
        }
        // Check `entries` first: with more than 2^32 entries, `body_bytes` could overflow.
        if entries > u64::from(u32::MAX) || body_bytes(rows, entries) != file.body().len() as u64 {
            return Err(wrong(format!("{rows} rows and {entries} entries in {} bytes", file.body().len())));
        }
        let start = targets_start(rows) as usize;
        Ok(StoredBlock {
            half,
            direction: layout.direction(),
            first_row: first_row as u32,
            offsets: HEAD..HEAD + 4 * (rows as usize + 1),
            targets: start..start + 4 * entries as usize,
            file,
        })
    }

    /// Returns a view of the block's rows.
    pub fn block(&self) -> Block<'_> {
        // `open` checked both ranges. They are aligned to 4 bytes and the body to 64, so the conversion can't fail.
        let words = |range: &Range<usize>| as_u32(&self.file.body()[range.clone()]).unwrap_or_default();
        Block { first_row: self.first_row, offsets: words(&self.offsets), targets: words(&self.targets) }
    }

    /// Reads the whole block file, and verifies its checksum and the invariants of [`Block`].
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn verify(&self) -> Result<()> {
        self.file.verify_checksum()?;
        let block = self.block();
        let entries = block.targets.len() as u32;
        let offsets_hold =
            block.offsets.first() == Some(&0) && block.offsets.last() == Some(&entries) && block.offsets.is_sorted();
        let vertex = |r: usize| self.direction.vertex(block.first_row + r as u32);
        let rows_hold = || (0..block.rows()).all(|r| self.half.holds(vertex(r), block.row(r)));
        if offsets_hold && rows_hold() {
            Ok(())
        } else {
            let side = if self.half == Half::Lower { "below" } else { "above" };
            let what = format!("the rows are not ascending neighbours {side} their vertex");
            Err(Error::corrupt(self.file.path(), At::File, what))
        }
    }

    /// Returns the file's path, the byte offset in the file of the first row offset, and that of the first target.
    pub fn place(&self) -> (&Path, u64, u64) {
        let byte = |range: &Range<usize>| (FRAME_BYTES + range.start) as u64;
        (self.file.path(), byte(&self.offsets), byte(&self.targets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_too_long_is_bad_input() {
        let error = too_many_entries(Path::new("lower.000000.block"), 7, 1 << 32);
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("4294967296"), "{error}");
    }
}
