//! Inputs that can be read only once: standard input, pipes, devices, and files without a known length. Since edges
//! are read twice, a stream is *spooled*: it is copied to a file first.
//!
//! Reads never block: a stream is polled first, so that a signal ends the wait.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{At, Error, Result};
use crate::formats::{Packing, packing};
use crate::store::os;

/// Number of bytes of a stream that are read at a time.
const PIECE: usize = 256 << 10;
/// Number of bytes that are examined to recognise the compression of a stream.
const HEAD: usize = 64 << 10;
/// Number of bytes after which the kernel is asked to start writing them to disk.
const WRITEBACK: u64 = 8 << 20;
/// Interval between cancellation checks while a stream is polled.
const TURN: Duration = Duration::from_millis(100);

/// Path of an input that can be read only once, such as a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    path: PathBuf,
}

/// Result of copying a stream to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Number of bytes that were copied.
    pub bytes: u64,
    /// xxh3-64 checksum of the copied bytes.
    pub checksum: u64,
    /// Compression of the copied bytes. If the bytes look uncompressed, it is the compression that the stream's
    /// extension names. So a stream with such an extension is rejected if its bytes are not compressed.
    pub packing: Packing,
}

impl Stream {
    /// Returns the stream at `path`; `None` for a file with a known length. `-` and descriptors of this process are
    /// recognised by name, other paths by the type of the file.
    pub fn of(path: &Path) -> Option<Stream> {
        let stream = Stream { path: path.to_owned() };
        if stream.is_anonymous() {
            return Some(stream);
        }
        let meta = path.metadata().ok()?;
        let kind = meta.file_type();
        // Files of /proc have length 0 regardless of their contents.
        let holds_some = || File::open(path).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|n| n > 0));
        let is_stream = kind.is_fifo() || kind.is_char_device() || (kind.is_file() && meta.len() == 0 && holds_some());
        is_stream.then_some(stream)
    }

    /// Returns a stream for a path that was a stream in an earlier run. Does not check what the path is now.
    pub fn known(path: &Path) -> Stream {
        Stream { path: path.to_owned() }
    }

    /// Returns true for standard input and other descriptors, such as a shell's `<(…)`, whose names tell nothing about
    /// the contents.
    pub fn is_anonymous(&self) -> bool {
        self.is_standard_input() || ["/dev/fd", "/proc/self/fd"].iter().any(|fds| self.path.starts_with(fds))
    }

    /// Returns true if the path is one of the names of standard input.
    pub fn is_standard_input(&self) -> bool {
        ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| self.path == Path::new(name))
    }

    /// Returns the path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the stream for messages.
    pub fn name(&self) -> String {
        if self.is_standard_input() { "standard input".into() } else { self.path.display().to_string() }
    }

    /// Opens the stream. A pipe can be opened before a writer has opened it.
    ///
    /// # Errors
    /// Bad input if the stream can't be opened.
    pub fn open(&self) -> Result<StreamReader> {
        let opened = match self.is_standard_input() {
            true => std::io::stdin().as_fd().try_clone_to_owned().map(File::from),
            false => File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path),
        };
        let file = opened.map_err(|e| Error::unreadable(self.name(), &e))?;
        Ok(StreamReader { file, name: self.name(), named: Packing::of(&self.path) })
    }

    /// Returns the error for a stream that ended before its first byte.
    pub fn empty_stream_error(&self) -> Error {
        let remedy =
            "check whether the command that writes to it failed; for a graph without edges, name an empty file";
        Error::input(self.name(), At::File, "edges", "no bytes", remedy)
    }
}

/// An open stream.
pub struct StreamReader {
    file: File,
    name: String,
    /// The compression that the extension of the path names.
    named: Packing,
}

impl StreamReader {
    /// Waits for bytes or for the end of the stream, and then returns true. Returns false if neither comes within the
    /// time `patience`.
    ///
    /// # Errors
    /// Bad input if the stream can't be read, and any error that `check` returns. `check` is called ten times a
    /// second.
    pub fn wait(&self, patience: Option<Duration>, check: &dyn Fn() -> Result<()>) -> Result<bool> {
        let began = Instant::now();
        loop {
            check()?;
            let left = patience.map_or(TURN, |patience| patience.saturating_sub(began.elapsed()));
            if os::readable(&self.file, left.min(TURN)).map_err(|e| Error::unreadable(&self.name, &e))? {
                return Ok(true);
            }
            if patience.is_some_and(|patience| began.elapsed() >= patience) {
                return Ok(false);
            }
        }
    }

    /// Reads from the stream until `into` is full or the stream ends. Returns the number of bytes read.
    ///
    /// # Errors
    /// The errors of [`Self::wait`].
    pub fn fill(&mut self, into: &mut [u8], check: &dyn Fn() -> Result<()>) -> Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            self.wait(None, check)?;
            match self.file.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(e) => return Err(Error::unreadable(&self.name, &e)),
            }
        }
        Ok(filled)
    }

    /// Copies the rest of the stream to the start of `file`. After each write, calls `watch` with the number of bytes
    /// copied so far.
    ///
    /// # Errors
    /// The errors of [`Self::wait`]; if a write fails, the error that `failed` returns.
    pub fn copy_to(
        &mut self,
        mut file: &File,
        watch: &mut dyn FnMut(u64),
        check: &dyn Fn() -> Result<()>,
        failed: &dyn Fn(u64, std::io::Error) -> Error,
    ) -> Result<Copied> {
        let (mut buffer, mut hasher) = (vec![0; PIECE], Xxh3::new());
        let (mut bytes, mut pushed, mut packing) = (0, 0, None);
        loop {
            let n = self.fill(&mut buffer, check)?;
            packing.get_or_insert_with(|| packing::of_bytes(&buffer[..n.min(HEAD)]));
            hasher.update(&buffer[..n]);
            file.write_all(&buffer[..n]).map_err(|e| failed(bytes, e))?;
            bytes += n as u64;
            watch(bytes);
            if bytes - pushed >= WRITEBACK {
                os::start_writeback(file, pushed, bytes - pushed);
                pushed = bytes;
            }
            if n < buffer.len() {
                let packing = packing.filter(|found| *found != Packing::Plain).unwrap_or(self.named);
                return Ok(Copied { bytes, checksum: hasher.digest(), packing });
            }
        }
    }

    /// Compares the stream with `file`, whose path is `name`. `began` contains the bytes that have already been read
    /// from the stream. Returns the offset of the first byte that differs; `None` if all bytes are equal.
    ///
    /// # Errors
    /// The errors of [`Self::wait`]; [`Error::Io`] if the file can't be read.
    pub fn differs_from(
        &mut self,
        began: &[u8],
        file: &mut File,
        name: &Path,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Option<u64>> {
        let (mut came, mut stored) = (vec![0; PIECE], Vec::with_capacity(PIECE));
        let (mut at, mut there) = (0, began.len());
        came[..there].copy_from_slice(began);
        loop {
            let n = there + self.fill(&mut came[there..], check)?;
            there = 0;
            stored.clear();
            Read::by_ref(file).take(PIECE as u64).read_to_end(&mut stored).map_err(|e| Error::io("read", name, e))?;
            let same = came[..n].iter().zip(&stored).take_while(|(a, b)| a == b).count();
            if same < n.max(stored.len()) {
                return Ok(Some(at + same as u64));
            }
            if n < came.len() {
                return Ok(None);
            }
            at += n as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_distinguished_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "").unwrap();
        assert_eq!(Stream::of(&file), None);
        assert_eq!(Stream::of(folder.path()), None);
        assert_eq!(Stream::of(Path::new("none")), None);
        for (path, standard) in [("-", true), ("/dev/stdin", true), ("/dev/fd/0", true), ("/dev/fd/63", false)] {
            let stream = Stream::of(Path::new(path)).unwrap();
            assert_eq!((stream.is_standard_input(), stream.is_anonymous()), (standard, true), "{path}");
        }
        assert!(!Stream::of(Path::new("/dev/null")).unwrap().is_anonymous());
    }

    #[test]
    fn a_file_of_proc_that_says_0_bytes_is_read_whole() {
        let path = Path::new("/proc/self/cmdline");
        assert_eq!(path.metadata().unwrap().len(), 0);
        let mut copy = tempfile::tempfile().unwrap();
        let mut reader = Stream::of(path).unwrap().open().unwrap();
        let copied = reader.copy_to(&copy, &mut |_| (), &|| Ok(()), &|_, e| panic!("{e}")).unwrap();
        let whole = std::fs::read(path).unwrap();
        std::io::Seek::rewind(&mut copy).unwrap();
        let mut found = Vec::new();
        copy.read_to_end(&mut found).unwrap();
        assert_eq!((copied.bytes, &found), (whole.len() as u64, &whole));
        assert_eq!(copied.checksum, xxhash_rust::xxh3::xxh3_64(&whole));
    }
}
