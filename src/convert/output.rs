//! A file that is whole or not there, appended to by many threads in the order of the input.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::part;
use crate::error::{Error, Result};
use crate::formats::Packing;

/// Levels that pack about as fast as the rest of the way.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
/// A level that takes 9 MiB a thread.
const XZ_LEVEL: u32 = 1;

/// The regular file that writing to `path` makes or replaces: links are followed, also to a file that is not there yet,
/// since renaming over a link would put a file in the place of the link.
///
/// # Errors
/// [`Error::Usage`] for what is there and no regular file, [`Error::Io`] for what can't be looked at.
pub(super) fn target(path: &Path) -> Result<PathBuf> {
    let refused = |found: &str| {
        Error::Usage(format!("{}: expected a file to write, found {found}; name a regular file", path.display()))
    };
    let there = match path.metadata() {
        Ok(meta) if meta.is_dir() => return Err(refused("a folder")),
        Ok(meta) if !meta.is_file() => return Err(refused("a pipe, a terminal or another device")),
        Ok(_) => true,
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        Err(e) => return Err(Error::io("look at the file", path, e)),
    };
    let mut target = path.to_owned();
    while let Ok(next) = target.read_link() {
        target.set_file_name(next); // relative to the folder of the link, unless it is absolute
    }
    match target.file_name() {
        None => Err(refused("no name of a file")),
        // As links below /proc may be.
        Some(_) if there && !target.exists() => Err(refused("an open file without a name")),
        Some(_) => Ok(target),
    }
}

/// A failed write: a full disk is none of a workdir, which these commands do not have.
pub(super) fn failed(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    match Error::io(doing, path, source) {
        Error::DiskFull { path, what } => Error::OutputFull { path, what },
        other => other,
    }
}

/// A file being written under a temporary name.
pub(super) struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    packing: Packing,
    /// Where the next bytes go.
    end: Mutex<u64>,
    finished: bool,
}

impl Output {
    /// Begins the file `path`, or that which it links to, packed as its name says.
    pub fn create(path: &Path) -> Result<Output> {
        let target = target(path)?;
        part::remove_abandoned(&target);
        let (temporary, file) = part::create(&target)?;
        let packing = Packing::of(path);
        Ok(Output { path: target, temporary, file, packing, end: Mutex::new(0), finished: false })
    }

    /// Appends bytes in front of all others.
    pub fn header(&self, bytes: &[u8]) -> Result<()> {
        let bytes = self.pack(bytes)?;
        let end = self.reserve(bytes.len());
        self.write(&bytes, end)
    }

    /// Packs a piece by itself: members and frames may be strung together.
    fn pack<'b>(&self, bytes: &'b [u8]) -> Result<std::borrow::Cow<'b, [u8]>> {
        let packed = match self.packing {
            Packing::Plain | Packing::Zip => return Ok(bytes.into()),
            Packing::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(bytes.len() / 2 + 64), level);
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
            Packing::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL),
            Packing::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
            Packing::Xz => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), XZ_LEVEL);
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
        };
        packed.map(Into::into).map_err(|e| failed("pack the file", &self.path, e))
    }

    /// Takes the next `length` bytes of the file.
    fn reserve(&self, length: usize) -> u64 {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let at = *end;
        *end += length as u64;
        at
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(|e| failed("write the file", &self.path, e))
    }

    /// Makes the file durable under its own name; its size.
    pub fn finish(mut self) -> Result<u64> {
        if self.packing != Packing::Plain && self.reserve(0) == 0 {
            self.header(b"")?; // nothing was written: a packed file has one member at least
        }
        let at = |doing| move |e| (doing, e);
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.file
            .sync_all()
            .map_err(at("sync the file"))
            .and_then(|()| std::fs::rename(&self.temporary, &self.path).map_err(at("rename the file")))
            .and_then(|()| File::open(folder).and_then(|f| f.sync_all()).map_err(at("sync the folder")))
            .map_err(|(doing, e)| failed(doing, &self.path, e))?;
        self.finished = true;
        Ok(self.reserve(0))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // half a file under a hidden name is of no use to anyone, and an error is on its way already
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Lets threads append in the order of chunks: each waits for those before it to have taken their place, but not for
/// them to have written.
pub(super) struct Turns<'a> {
    output: &'a Output,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    next: u64,
    stopped: bool,
}

impl<'a> Turns<'a> {
    pub fn new(output: &'a Output) -> Self {
        Turns { output, state: Mutex::new(State { next: 0, stopped: false }), changed: Condvar::new() }
    }

    /// Appends the bytes of a chunk behind those of all chunks before it.
    pub fn append(&self, chunk: u64, bytes: &[u8]) -> Result<()> {
        // a packed piece of nothing would still be a member
        let bytes = if bytes.is_empty() { bytes.into() } else { self.output.pack(bytes)? };
        match self.place(chunk, bytes.len()) {
            Some(at) => self.output.write(&bytes, at),
            None => Ok(()),
        }
    }

    /// Waits for the turn of `chunk` and takes its place in the file; None when writing was stopped, as the error of
    /// the thread that stopped it is the one that counts.
    fn place(&self, chunk: u64, length: usize) -> Option<u64> {
        let mut state = self.lock();
        while state.next != chunk && !state.stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped {
            return None;
        }
        state.next += 1;
        let at = self.output.reserve(length);
        drop(state);
        self.changed.notify_all();
        Some(at)
    }

    /// Wakes all who wait.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
