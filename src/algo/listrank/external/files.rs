//! Files that store the data of one bin (a range of elements) each: their paths, reading, writing, and buffers for
//! appending.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::contraction::Contraction;
use crate::algo::listrank::index::Index;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::memory::{Buffer, bytes_of, bytes_of_mut};
use crate::store::disk_array::DiskArray;

/// Names of the files of a bin. In a path, a hyphen and the index of the bin follow the name.
pub const NAMES: [&str; 6] = ["unit", "weighted", "chains", "requests", "answers", "ranks"];

/// Returns the path of the file `name` of bin `bin`.
pub fn path(folder: &Path, name: &str, bin: u64) -> PathBuf {
    folder.join(format!("{name}-{bin}"))
}

/// Writes integers to a file, from byte `at` on.
///
/// # Errors
/// Errors of [`DiskArray::write`].
pub fn write<I: Index>(file: &DiskArray, numbers: &[I], at: u64, work: &Contraction<'_>) -> Result<()> {
    file.write(bytes_of(numbers), at)?;
    work.count(size_of_val(numbers) as u64);
    Ok(())
}

/// Reads integers from a file, from byte `at` on.
///
/// # Errors
/// Errors of [`DiskArray::read`].
pub fn read<I: Index>(file: &DiskArray, numbers: &mut [I], at: u64, work: &Contraction<'_>) -> Result<()> {
    file.read(bytes_of_mut(numbers), at)?;
    work.count(size_of_val(numbers) as u64);
    Ok(())
}

/// Writes integers to the beginning of a file, with all threads.
///
/// # Errors
/// Errors of [`DiskArray::write`] and of `check_cancelled`.
pub fn write_all<I: Index>(file: &DiskArray, numbers: &[I], work: &Contraction<'_>) -> Result<()> {
    let parts = Parts::new(numbers.len(), work.piece::<I>(1));
    team(work.threads, &|_| {
        parts.each(|part| {
            (work.check_cancelled)()?;
            write(file, &numbers[part.clone()], (part.start * size_of::<I>()) as u64, work)
        })
    })
}

/// Reads the first `numbers` integers of a file with all threads, in chunks of at most `piece` integers. Calls `each`
/// with the index of the first integer of each chunk, and with the chunk.
///
/// # Errors
/// Errors of [`DiskArray::read`], of `check_cancelled` and of `each`; [`crate::error::Error::Limit`].
pub fn read_all<I: Index>(
    file: &DiskArray,
    numbers: usize,
    piece: usize,
    work: &Contraction<'_>,
    each: &(dyn Fn(usize, &[I]) -> Result<()> + Sync),
) -> Result<()> {
    let parts = Parts::new(numbers, piece);
    team(work.threads, &|_| {
        let mut memory = work.budget.zeroed::<I>(piece, "a piece of a file")?;
        parts.each(|part| {
            (work.check_cancelled)()?;
            let read_now = &mut memory[..part.len()];
            read(file, read_now, (part.start * size_of::<I>()) as u64, work)?;
            each(part.start, read_now)
        })
    })
}

/// Files of the same name, one per bin, to which threads append.
pub struct BinFiles {
    files: Vec<DiskArray>,
    ends: Vec<AtomicU64>,
}

impl BinFiles {
    /// Opens or creates one file per bin, and truncates each to its length in `ends`. This is the length in bytes that
    /// the journal contains.
    ///
    /// # Errors
    /// Errors of [`DiskArray::create`].
    pub fn create(folder: &Path, name: &str, ends: &[u64]) -> Result<BinFiles> {
        let created = (0..).zip(ends).map(|(bin, &bytes)| DiskArray::create(path(folder, name, bin), bytes));
        Ok(BinFiles {
            files: created.collect::<Result<_>>()?,
            ends: ends.iter().map(|&end| AtomicU64::new(end)).collect(),
        })
    }

    /// Returns the length of each file in bytes.
    pub fn ends(&self) -> Vec<u64> {
        self.ends.iter().map(|end| end.load(Ordering::Relaxed)).collect()
    }

    /// Makes everything that was written durable, with all threads.
    ///
    /// # Errors
    /// Errors of [`DiskArray::sync`].
    pub fn sync(&self, work: &Contraction<'_>) -> Result<()> {
        let written: Vec<&DiskArray> = self.files.iter().filter(|file| file.is_written()).collect();
        let parts = Parts::new(written.len(), 1);
        team(work.threads, &|_| parts.each(|part| written[part].iter().try_for_each(|file| file.sync())))
    }
}

/// Buffers of one thread for appending to [`BinFiles`], one per file.
pub struct BinBuffers<'a, I> {
    to: &'a BinFiles,
    work: &'a Contraction<'a>,
    memory: Buffer<I>,
    /// Capacity of each buffer, in integers.
    each: usize,
    /// Number of integers that are in each buffer.
    used: Vec<usize>,
}

impl<'a, I: Index> BinBuffers<'a, I> {
    /// Reserves a buffer per file. Records have `record` integers.
    ///
    /// # Errors
    /// [`crate::error::Error::Limit`].
    pub fn new(to: &'a BinFiles, record: usize, work: &'a Contraction<'a>) -> Result<Self> {
        let each = (work.sizes.buffer as usize / size_of::<I>() / record).max(1) * record;
        let memory = work.budget.zeroed::<I>(each * to.files.len(), "buffers of bins")?;
        Ok(BinBuffers { to, work, memory, each, used: vec![0; to.files.len()] })
    }

    /// Appends a record to the buffer of bin `bin`, and writes the buffer to the file if it is full.
    ///
    /// # Errors
    /// Errors of [`DiskArray::write`].
    #[inline(always)]
    pub fn push<const N: usize>(&mut self, bin: u64, record: [I; N]) -> Result<()> {
        let bin = bin as usize;
        let at = bin * self.each + self.used[bin];
        self.memory[at..at + N].copy_from_slice(&record);
        self.used[bin] += N;
        if self.used[bin] == self.each { self.flush(bin) } else { Ok(()) }
    }

    fn flush(&mut self, bin: usize) -> Result<()> {
        let numbers = &self.memory[bin * self.each..][..self.used[bin]];
        let at = self.to.ends[bin].fetch_add(size_of_val(numbers) as u64, Ordering::Relaxed);
        self.used[bin] = 0;
        write(&self.to.files[bin], numbers, at, self.work)
    }

    /// Writes the records that are left in the buffers to the files.
    ///
    /// # Errors
    /// Errors of [`DiskArray::write`].
    pub fn finish(&mut self) -> Result<()> {
        (0..self.used.len()).try_for_each(|bin| if self.used[bin] > 0 { self.flush(bin) } else { Ok(()) })
    }
}
