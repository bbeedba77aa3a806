//! A result file, which is complete or absent and is identified by its length and checksum.

use crate::error::{Error, Result};
use crate::failpoint;
use crate::process::signals;
use crate::store::durable::{sync_file, sync_folder};
use crate::store::os::start_writeback;
use crate::store::regular;
use crate::store::replace::{TemporaryFile, make_folder_of, temp_path};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Number of rows that one thread formats at a time.
pub(super) const PIECE: u64 = 1 << 15;
/// Maximum number of threads that format rows; more threads do not write one file faster.
const WRITERS: usize = 4;

/// Function that appends the bytes of a range of rows to a buffer.
type AppendRows<'a> = dyn Fn(Range<u64>, &mut Vec<u8>) -> Result<()> + Sync + 'a;

/// Length and checksum of a result file as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Length of the result file in bytes.
    pub bytes: u64,
    /// xxh3-64 checksum of the result file's bytes.
    pub checksum: u64,
}

impl Output {
    /// Returns the length and checksum of a result file that contains `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Output { bytes: bytes.len() as u64, checksum: xxh3_64(bytes) }
    }

    /// Reads a result file and returns its length and checksum.
    ///
    /// # Errors
    /// I/O errors.
    pub fn of_file(path: &Path) -> std::io::Result<Output> {
        let mut file = regular::open(path)?;
        let (mut hash, mut bytes, mut buffer) = (Xxh3::new(), 0, vec![0; 1 << 20]);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Output { bytes, checksum: hash.digest() }),
                n => {
                    hash.update(&buffer[..n]);
                    bytes += n as u64;
                }
            }
        }
    }

    /// Returns true if the file at `path` has this length and checksum, that is, if it is unchanged since it was
    /// written. A symbolic link counts as changed even if its target has the same bytes, because the target may
    /// change.
    pub fn is_of(&self, path: &Path) -> bool {
        let as_long = path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() == self.bytes);
        as_long && Output::of_file(path).is_ok_and(|found| found == *self)
    }
}

/// A result file that is being written. It gets its final name when it is finished, and is removed if it is never
/// finished.
pub struct ResultFile {
    path: PathBuf,
    part: TemporaryFile,
    out: Hashed,
}

impl ResultFile {
    /// Creates the file and its folder. The file has a temporary name until it is finished, and is then renamed to
    /// `path`.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn create(path: &Path) -> Result<ResultFile> {
        make_folder_of(path)?;
        let part = temp_path(path);
        let file = regular::create(&part).map_err(|e| Error::io("create the file", &part, e))?;
        let out = Hashed { file: BufWriter::with_capacity(1 << 16, file), hash: Xxh3::new(), bytes: 0, under_way: 0 };
        Ok(ResultFile { path: path.to_owned(), part: TemporaryFile::new(part), out })
    }

    /// Appends bytes to the result file.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`]; [`Error::Stopped`] after a signal.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        self.note(written)
    }

    /// Appends the bytes of `rows` rows in order. `append` is called with a range of these rows, and must append their
    /// bytes to a buffer. Up to `threads` threads, and at most [`WRITERS`], format chunks of [`PIECE`] rows; one thread
    /// at a time writes.
    ///
    /// # Errors
    /// The errors of [`ResultFile::write`] and of `append`.
    pub fn write_rows(&mut self, rows: u64, threads: usize, append: &AppendRows<'_>) -> Result<()> {
        let pieces = rows.div_ceil(PIECE);
        let next = AtomicU64::new(0);
        let turn = Mutex::new(WriteTurn { piece: 0, file: self, failure: None });
        let passed = Condvar::new();
        let work = || {
            let mut bytes = Vec::new();
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                bytes.clear();
                let made = append(piece * PIECE..rows.min((piece + 1) * PIECE), &mut bytes);
                let mut turn = turn.lock();
                passed.wait_while(&mut turn, |turn| turn.piece != piece && turn.failure.is_none());
                if turn.failure.is_none() {
                    turn.failure = made.and_then(|()| turn.file.write(&bytes)).err();
                    turn.piece += 1;
                }
                passed.notify_all();
                if turn.failure.is_some() {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..(threads.min(WRITERS) as u64).min(pieces) {
                // If a thread cannot be started, the other threads do all the work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        turn.into_inner().failure.map_or(Ok(()), Err)
    }

    /// Appends `zeros` zero bytes that take no space on disk (a sparse file), and gives the file its final name.
    ///
    /// # Errors
    /// The errors of [`ResultFile::write`].
    pub fn finish(mut self, zeros: u64) -> Result<Output> {
        let mut finish = || {
            self.out.flush()?;
            self.out.hole(zeros)?;
            failpoint::hit("out.fsync")?;
            sync_file(self.out.file.get_ref(), &self.path)?;
            failpoint::hit("out.rename")?;
            self.part.rename(&self.path)
        };
        let finished = finish();
        self.note(finished)?;
        sync_folder(&self.path)?;
        Ok(Output { bytes: self.out.bytes, checksum: self.out.hash.digest() })
    }

    fn note<T>(&self, done: std::io::Result<T>) -> Result<T> {
        // A signal ends the writing like an error does.
        done.map_err(|e| signals::check().err().unwrap_or_else(|| Error::io("write results", &self.path, e)))
    }
}

/// State shared by the threads that write the chunks of a file in order, one chunk at a time.
struct WriteTurn<'f> {
    /// Index of the chunk of the file to write next.
    piece: u64,
    file: &'f mut ResultFile,
    failure: Option<Error>,
}

/// A writer that hashes and counts the bytes written to a result file.
struct Hashed {
    file: BufWriter<File>,
    hash: Xxh3,
    bytes: u64,
    /// Number of bytes that the kernel was already asked to write to disk.
    under_way: u64,
}

/// Number of bytes after which the kernel is asked to write them to disk.
const WRITTEN_BACK: u64 = 8 << 20;

impl Hashed {
    /// Extends the result file by `bytes` zero bytes that take no space on disk.
    fn hole(&mut self, bytes: u64) -> std::io::Result<()> {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        if bytes == 0 {
            return Ok(());
        }
        let mut left = bytes;
        while left > 0 {
            let now = left.min(ZEROS.len() as u64);
            self.hash.update(&ZEROS[..now as usize]);
            left -= now;
            if signals::stop_requested().is_some() {
                return Err(std::io::Error::other("a signal"));
            }
        }
        self.bytes += bytes;
        self.file.get_ref().set_len(self.bytes)
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        failpoint::hit("out.write")?;
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        if self.bytes - self.under_way >= WRITTEN_BACK {
            // Start writing to disk now, so that the sync at the end takes less time.
            start_writeback(self.file.get_ref(), self.under_way, self.bytes - self.under_way);
            self.under_way = self.bytes;
        }
        if signals::stop_requested().is_some() {
            return Err(std::io::Error::other("a signal"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
