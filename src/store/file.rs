//! Sealed files. A sealed file is written once, from start to end, and is either complete with a checksum or absent.
//!
//! ```text
//! byte 0   header, 64 bytes:  "gpugraph", version u32, kind u32, salt u64, zeros, checksum of these 56 bytes
//!      64  body
//!  64 + n  footer, 64 bytes:  "endgraph", n u64, body checksum u64, salt u64, zeros, checksum of these 56 bytes
//! ```
//!
//! All numbers are little-endian. Header and footer checksums are xxh3-64. The body is hashed in chunks of 4 MiB, so
//! that it can be verified in parallel. The hash of a chunk is its xxh3-64, with a seed derived from the salt and the
//! chunk index. The body's checksum is the xxh3-64 of the chunk hashes in order and of the body's length, with the
//! salt as seed. The salt identifies the purpose of the file. So an intact file that was swapped with another is
//! detected, because its salt differs.

use crate::store::regular;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::durable::{sync_file, sync_folder};
use super::os;
use super::replace::{TemporaryFile, temp_path};
use crate::error::{At, Error, Result};
use crate::failpoint;

/// Version of the layout of sealed files and of all their contents.
pub const VERSION: u32 = 1;
/// Size of the header and of the footer of a sealed file, in bytes.
pub const FRAME_BYTES: usize = 64;
/// Number of bytes of a sealed file's body that are hashed as one chunk.
pub const CHUNK: usize = 4 << 20;

const MAGIC: &[u8; 8] = b"gpugraph";
const END: &[u8; 8] = b"endgraph";
/// Size of the buffer for small writes, in bytes. Large writes bypass the buffer.
const BUFFER: usize = 1 << 20;
/// Number of written bytes after which the kernel is asked to start writing them to the disk.
const BEHIND: u64 = 8 << 20;

/// Kind of a file's contents: four ASCII letters that are stored in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub u32);

impl Kind {
    /// Returns the kind with these four ASCII letters.
    pub const fn new(letters: &[u8; 4]) -> Self {
        Kind(u32::from_le_bytes(*letters))
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.to_le_bytes().escape_ascii())
    }
}

/// Length and checksum of the body of a finished sealed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// Length of the sealed file's body in bytes. The whole file is 128 bytes longer.
    pub bytes: u64,
    /// Checksum of the sealed file's body.
    pub checksum: u64,
}

/// Returns the hash seed of the chunk with index `chunk`, or of the journal record at byte offset `chunk`. Because of
/// the multiplication, neighbouring salts and neighbouring chunks do not share a seed.
pub(super) fn chunk_seed(salt: u64, chunk: u64) -> u64 {
    salt ^ (chunk + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Combines the hashes of all chunks, in order, into the checksum of a body of `bytes` bytes.
pub(super) fn combine(chunks: impl Iterator<Item = u64>, bytes: u64, salt: u64) -> u64 {
    let mut all = Xxh3::with_seed(salt);
    chunks.for_each(|chunk| all.update(&chunk.to_le_bytes()));
    all.update(&bytes.to_le_bytes());
    all.digest()
}

/// Concatenates `parts` into a header or footer of 64 bytes. The last eight bytes are the checksum of the others.
fn with_checksum(parts: [&[u8]; 4]) -> [u8; FRAME_BYTES] {
    let mut bytes = [0; FRAME_BYTES];
    let mut at = 0;
    for part in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    let checksum = xxh3_64_with_seed(&bytes[..56], 0);
    bytes[56..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

pub(super) fn u64_at(bytes: &[u8; FRAME_BYTES], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn checksum_holds(bytes: &[u8; FRAME_BYTES]) -> bool {
    u64_at(bytes, 56) == xxh3_64_with_seed(&bytes[..56], 0)
}

/// Returns the header of a sealed file or journal of this kind and salt.
pub(crate) fn header(kind: Kind, salt: u64) -> [u8; FRAME_BYTES] {
    with_checksum([MAGIC, &VERSION.to_le_bytes(), &kind.0.to_le_bytes(), &salt.to_le_bytes()])
}

fn footer(seal: Seal, salt: u64) -> [u8; FRAME_BYTES] {
    with_checksum([END, &seal.bytes.to_le_bytes(), &seal.checksum.to_le_bytes(), &salt.to_le_bytes()])
}

/// Checks a header that was read from `path` against the expected `kind` and `salt`.
///
/// # Errors
/// [`Error::Corrupt`] with the offset of the first field that is wrong.
pub(crate) fn check_header(path: &Path, found: &[u8; FRAME_BYTES], kind: Kind, salt: u64) -> Result<()> {
    let corrupt = |byte, what: String| Err(Error::corrupt(path, At::Byte(byte), what));
    if &found[..8] != MAGIC {
        return corrupt(0, "the header does not begin with \"gpugraph\"".into());
    }
    if !checksum_holds(found) {
        return corrupt(56, "the header does not agree with its checksum".into());
    }
    let found_version = u64_at(found, 8) as u32;
    if found_version != VERSION {
        return corrupt(8, format!("format version {found_version}, this program reads {VERSION}"));
    }
    let found_kind = Kind((u64_at(found, 8) >> 32) as u32);
    if found_kind != kind {
        return corrupt(12, format!("the file contains {found_kind:#}, expected {kind:#}"));
    }
    let found_salt = u64_at(found, 16);
    if found_salt != salt {
        return corrupt(16, format!("the file belongs elsewhere: salt {found_salt:016x}, expected {salt:016x}"));
    }
    if found != &header(kind, salt) {
        return corrupt(24, "reserved bytes are not zero".into());
    }
    Ok(())
}

/// Checks a footer that was read from the end of a file of `file_len` bytes. Returns the length and checksum that it
/// contains.
///
/// # Errors
/// [`Error::Corrupt`] with the offset of the first field that is wrong.
pub(super) fn check_footer(path: &Path, found: &[u8; FRAME_BYTES], file_len: u64, salt: u64) -> Result<Seal> {
    let start = file_len - FRAME_BYTES as u64;
    let corrupt = |byte, what: String| Err(Error::corrupt(path, At::Byte(start + byte), what));
    if &found[..8] != END {
        return corrupt(0, "the footer is missing: the file was cut off or never finished".into());
    }
    if !checksum_holds(found) {
        return corrupt(56, "the footer does not agree with its checksum".into());
    }
    let seal = Seal { bytes: u64_at(found, 8), checksum: u64_at(found, 16) };
    let body = file_len - 2 * FRAME_BYTES as u64;
    if seal.bytes != body {
        return corrupt(8, format!("the footer says {} bytes of body, the file has {body}", seal.bytes));
    }
    if found != &footer(seal, salt) {
        return corrupt(24, "the footer belongs to another file".into());
    }
    Ok(seal)
}

/// Computes the checksum of a sealed file's body incrementally.
struct BodyHasher {
    salt: u64,
    chunks: Vec<u64>,
    /// Hash state of the last, incomplete chunk of the body.
    open: Xxh3,
    bytes: u64,
}

impl BodyHasher {
    fn new(salt: u64) -> Self {
        BodyHasher { salt, chunks: Vec::new(), open: Xxh3::with_seed(chunk_seed(salt, 0)), bytes: 0 }
    }

    fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = CHUNK - self.bytes as usize % CHUNK;
            let (part, rest) = bytes.split_at(bytes.len().min(room));
            self.open.update(part);
            self.bytes += part.len() as u64;
            bytes = rest;
            if part.len() == room {
                self.chunks.push(self.open.digest());
                self.open = Xxh3::with_seed(chunk_seed(self.salt, self.chunks.len() as u64));
            }
        }
    }

    fn seal(mut self) -> Seal {
        if !self.bytes.is_multiple_of(CHUNK as u64) {
            self.chunks.push(self.open.digest());
        }
        Seal { bytes: self.bytes, checksum: combine(self.chunks.into_iter(), self.bytes, self.salt) }
    }
}

/// A sealed file that is being written under a temporary name. If this value is dropped before the file is finished,
/// the file is removed.
pub struct NewFile {
    file: File,
    path: PathBuf,
    temp: TemporaryFile,
    salt: u64,
    hasher: BodyHasher,
    /// Bytes of small writes that are not hashed and written yet.
    buffer: Vec<u8>,
    /// Number of bytes written so far. The kernel was asked to write the first `pushed` of them to the disk.
    written: u64,
    pushed: u64,
    /// True if a write has failed, so that the body is incomplete.
    failed: bool,
}

impl NewFile {
    /// Begins a sealed file that will be named `path`. Until it is finished, its name is `path` + `.tmp-PID`.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn create(path: &Path, kind: Kind, salt: u64) -> Result<NewFile> {
        let temp = TemporaryFile::new(temp_path(path));
        failpoint::hit("store.create").map_err(|e| Error::io("create", path, e))?;
        let file = regular::create(temp.path()).map_err(|e| Error::io("create", path, e))?;
        Ok(NewFile {
            file,
            path: path.to_owned(),
            temp,
            salt,
            hasher: BodyHasher::new(salt),
            buffer: header(kind, salt).to_vec(),
            written: 0,
            pushed: 0,
            failed: false,
        })
    }

    /// Appends `bytes` to the body of the sealed file. Large slices are written without a copy.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`]. The file can then no longer be finished.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() <= BUFFER / 2 {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        // Write in chunks, so that data is still in the CPU cache after hashing, and writing to the disk starts early.
        for piece in bytes.chunks(BUFFER) {
            self.hasher.update(piece);
            self.put(piece)?;
        }
        Ok(())
    }

    /// Returns the current length of the sealed file's body in bytes.
    pub fn body_bytes(&self) -> u64 {
        self.written + self.buffer.len() as u64 - FRAME_BYTES as u64
    }

    /// Completes the file and renames it to its final name. Returns its length and checksum when it is durable.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`]. The temporary file is then removed, and `path` is unchanged. If only the
    /// sync of the folder failed, `path` is the new file, but it may not survive a power failure.
    pub fn finish(mut self) -> Result<Seal> {
        let seal = self.complete()?;
        failpoint::hit("store.fsync").map_err(|e| Error::io("sync", &self.path, e))?;
        sync_file(&self.file, &self.path).map_err(|e| Error::io("sync", &self.path, e))?;
        self.rename()?;
        failpoint::hit("store.dirsync").map_err(|e| Error::io("sync the folder of", &self.path, e))?;
        sync_folder(&self.path)?;
        Ok(seal)
    }

    /// Completes the file and renames it, but leaves syncing to a [`super::sync::Syncer`]. A power failure before
    /// [`super::sync::Syncer::wait`] returns may leave a file with missing bytes, which its footer and checksum
    /// reveal. A killed process can't leave such a file.
    ///
    /// # Errors
    /// Errors of [`NewFile::finish`].
    pub fn finish_deferred(mut self) -> Result<Pending> {
        let seal = self.complete()?;
        self.rename()?;
        Ok(Pending { file: self.file, path: self.path, seal })
    }

    fn complete(&mut self) -> Result<Seal> {
        self.flush()?;
        let seal = std::mem::replace(&mut self.hasher, BodyHasher::new(0)).seal();
        self.put(&footer(seal, self.salt))?;
        Ok(seal)
    }

    fn rename(&mut self) -> Result<()> {
        let mut rename = || -> io::Result<()> {
            failpoint::hit("store.rename")?;
            self.temp.rename(&self.path)
        };
        rename().map_err(|e| Error::io("rename into place", &self.path, e))
    }

    /// Hashes the bytes in the buffer and writes them to the file.
    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        // The first buffer starts with the header, which is not part of the body.
        let body = if self.written == 0 { FRAME_BYTES } else { 0 };
        self.hasher.update(&buffer[body..]);
        self.put(&buffer)?;
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let write = || -> io::Result<()> {
            failpoint::hit("store.write")?;
            let (first, rest) = bytes.split_at(failpoint::clip("store.write.short", bytes.len()));
            (&self.file).write_all(first)?;
            (&self.file).write_all(rest)
        };
        if self.failed {
            let hole = io::Error::other("an earlier write failed");
            return Err(Error::io("write", &self.path, hole));
        }
        write().map_err(|e| {
            self.failed = true;
            Error::io("write", &self.path, e)
        })?;
        self.written += bytes.len() as u64;
        if self.written - self.pushed >= BEHIND {
            os::start_writeback(&self.file, self.pushed, self.written - self.pushed);
            self.pushed = self.written;
        }
        Ok(())
    }
}

/// A file that has its final name but may not be durable yet. Pass it to a [`super::sync::Syncer`].
#[must_use = "until a Syncer has waited for it, the file may not survive a loss of power"]
pub struct Pending {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) seal: Seal,
}
