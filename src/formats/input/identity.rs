//! Identifies a version of an input's files by a hash that is cheap to compute and changes with any ordinary edit.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};
use crate::formats::{Input, Part};

/// Number of offsets in a file at which samples are read.
const SAMPLES: u64 = 32;
/// Size in bytes of a sample of a file.
const SAMPLE: usize = 4096;

/// Returns a hash of the size, mtime and ctime in nanoseconds, inode, samples and format of every file, including the
/// file `vertices` that lists the vertices. If weights are `wanted`, weights files are included.
pub(crate) fn of_files(parts: &[Part], vertices: Option<&Input>, wanted: bool) -> Result<u64> {
    let mut hasher = Xxh3::new();
    for part in parts.iter().chain(vertices.map(Input::parts).unwrap_or_default()) {
        add_file(&mut hasher, &part.path, part.format.name())?;
        if let Some(path) = part.weights_path().filter(|_| wanted) {
            add_file(&mut hasher, &path, "weights")?;
        }
    }
    Ok(hasher.digest())
}

/// Adds the size, times, inode and samples of the file at `path`, and the name of its format, to a hash.
pub(crate) fn add_file(hasher: &mut Xxh3, path: &Path, format: &str) -> Result<()> {
    let unreadable = |e| Error::unreadable(path, &e);
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    hasher.update(format.as_bytes());
    // Programs can't set the ctime, so it reveals an edit after which the mtime was restored.
    let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()].map(i64::cast_unsigned);
    for word in [meta.len(), meta.ino()].into_iter().chain(times) {
        hasher.update(&word.to_le_bytes());
    }
    let mut bytes = Vec::with_capacity(SAMPLE);
    let last = meta.len().saturating_sub(SAMPLE as u64);
    for sample in 0..SAMPLES {
        let offset = (u128::from(last) * u128::from(sample) / u128::from(SAMPLES - 1)) as u64;
        file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
        bytes.clear();
        file.by_ref().take(SAMPLE as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        hasher.update(&bytes);
        if last == 0 {
            break;
        }
    }
    Ok(())
}
