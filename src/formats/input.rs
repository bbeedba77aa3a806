//! Which files an input is, and in which format each.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    Format, Keeping, Look, Packing, Part, Scan, Seen, Share, TextOptions, Visitor, Watch, arrays, files, identity,
    kept, packed, read, records, scan, sink,
};
use crate::error::{Error, Result};
use crate::generate::{self, Generator};
use crate::memory::PER_THREAD;

/// Bytes that a scan takes for each part, beside what is read of it: its header, its path and where its chunks begin.
const PER_PART: u64 = 1 << 10;

/// Bytes of a chunk of a plain file, and of the checksum of any.
const CHUNK: usize = 8 << 20;

/// Edges to read: one file, several read as one, or a generator.
#[derive(Debug, Clone)]
pub struct Input {
    pub(super) source: Source,
    name: String,
    /// The paths that it was found by.
    named: Vec<PathBuf>,
    chunk: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    Files(Vec<Part>),
    Generated(Arc<Generator>),
}

impl Input {
    /// Finds the files that `paths` name, without subfolders; see [`Self::find`].
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn open(paths: &[PathBuf], format: Option<Format>) -> Result<Input> {
        Input::find(paths, format, Look::default())
    }

    /// Finds the files that `paths` name: files, folders and patterns (see `formats/files.rs`), read as one in this order.
    /// Every file is in `format`, or in that of its ending where it is None.
    ///
    /// # Errors
    /// Bad input when there is no such file, it can't be read, or its ending says no format; for a folder, when it has subfolders
    /// that are not to be read.
    pub fn find(paths: &[PathBuf], format: Option<Format>, look: Look<'_>) -> Result<Input> {
        let mut parts = Vec::new();
        for path in paths {
            for file in files::named(path, look)? {
                parts.push(Part::open(&file, format)?);
            }
        }
        Ok(Input { source: Source::Files(parts), name: name_of(paths)?, named: paths.to_vec(), chunk: CHUNK })
    }

    /// Opens one file whose name tells neither format nor packing: what came by a stream that messages call `name`.
    ///
    /// # Errors
    /// Bad input for a file that can't be read or is not of the format.
    pub fn spooled(path: &Path, format: Format, packing: Packing, name: String) -> Result<Input> {
        let part = Part::open_as(path, Some(format), Some(packing))?;
        Ok(Input { source: Source::Files(vec![part]), name, named: vec![path.to_owned()], chunk: CHUNK })
    }

    /// Returns the path, of those that the input was found by, that names `file` too: the same file, or a folder or pattern that would
    /// have it among its files once it is there.
    pub fn naming(&self, file: &Path) -> Option<&Path> {
        let there = file.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        let is_same = |part: &&Part| there.is_some() && part.path.metadata().ok().map(|m| (m.dev(), m.ino())) == there;
        if let Some(part) = self.parts().iter().find(is_same) {
            return Some(&part.path);
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().ok()?;
        let file = folder.join(file.file_name()?);
        let names = |path: &&PathBuf| {
            if files::is_pattern(path) {
                let absolute = std::path::absolute(path);
                return absolute.is_ok_and(|pattern| files::matches(&pattern, &file));
            }
            path.is_dir() && path.canonicalize().is_ok_and(|path| folder.starts_with(path))
        };
        self.named.iter().find(names).map(PathBuf::as_path)
    }

    /// Files that are not here, as one of so many edges and ids: for a plan, as nothing of it can be read.
    ///
    /// # Errors
    /// Bad input where the ending of the first says no format.
    pub fn expected(paths: &[PathBuf], format: Option<Format>, edges: u64, ids: u64) -> Result<Input> {
        let name = name_of(paths)?;
        let path = paths.first().cloned().unwrap_or_default();
        let format = Format::of(&path, format)?;
        // Of text, two numbers and what stands behind each.
        let record = format.record().unwrap_or(2 * (u64::from(ids.max(1).ilog10()) + 2));
        let part = Part::of(path, format, edges * record, true, None);
        Ok(Input { source: Source::Files(vec![part]), name, named: paths.to_vec(), chunk: CHUNK })
    }

    /// A generator as input, without a file.
    pub fn generated(generator: Generator) -> Input {
        let name = generator.to_string();
        Input { source: Source::Generated(Arc::new(generator)), name, named: Vec::new(), chunk: CHUNK }
    }

    /// The same input, its text read by `options`.
    ///
    /// # Errors
    /// [`Error::Usage`] where options are given and no file is text.
    pub fn with_text(mut self, options: TextOptions) -> Result<Input> {
        let Source::Files(parts) = &mut self.source else { return Ok(self) };
        if let (false, Some(part)) = (options.say_nothing(), parts.first())
            && parts.iter().all(|part| part.format != Format::Text)
        {
            let (path, format) = (part.path.display(), part.format);
            return Err(Error::Usage(format!("{path}: columns and skip_lines are for text, and this is {format}")));
        }
        let options = Arc::new(options);
        parts.iter_mut().for_each(|part| part.text = Arc::clone(&options));
        Ok(self)
    }

    /// The same input in chunks of `bytes`. Checksums depend on it, so it is for tests and for writers that hold a
    /// chunk per thread.
    pub fn with_chunk(mut self, bytes: usize) -> Input {
        self.chunk = bytes.max(1);
        self
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk(&self) -> usize {
        self.chunk
    }

    /// Its files; none for a generator.
    pub fn parts(&self) -> &[Part] {
        match &self.source {
            Source::Files(parts) => parts,
            Source::Generated(_) => &[],
        }
    }

    /// Bytes on disk; for a generator, of the pairs it makes. [`Watch::advance`] sums to it in a whole scan.
    pub fn bytes(&self) -> u64 {
        match &self.source {
            Source::Files(parts) => parts.iter().map(Part::bytes).sum(),
            Source::Generated(generator) => generator.edges() * generate::record(generator),
        }
    }

    /// What messages and reports call it: the path as given, or the generator with its parameters.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Has the system begin to read the first `bytes` bytes into the page cache. A hint: what can't be read says so later.
    pub fn read_ahead(&self, mut bytes: u64) {
        for part in self.parts() {
            if let Ok(file) = std::fs::File::open(&part.path) {
                read::will_need(&file, 0, part.bytes.min(bytes));
            }
            bytes = bytes.saturating_sub(part.bytes);
            if bytes == 0 {
                return;
            }
        }
    }

    /// A number that changes when the input does: a hash of size, mtime, ctime, inode and sampled contents of every file,
    /// or of the parameters of the generator. Cheap: reads a few pages of each file.
    ///
    /// # Errors
    /// Bad input when a file is gone or can't be read.
    pub fn identity(&self) -> Result<u64> {
        match &self.source {
            Source::Files(parts) => identity::of_files(parts),
            Source::Generated(generator) => Ok(generator.identity()),
        }
    }

    /// Whether ids may need 64 bits. Formats of text deliver narrow batches as long as the ids fit all the same.
    pub fn wide(&self) -> bool {
        match &self.source {
            Source::Files(parts) => parts.iter().any(|part| !part.narrow),
            Source::Generated(generator) => generator.vertices() > 1 << 32,
        }
    }

    /// How many edges there may be: exact for plain binary files and generators, what the header says for formats
    /// that have one, from a sample otherwise.
    ///
    /// # Errors
    /// Bad input when a file can't be read or unpacked.
    pub fn estimate_edges(&self) -> Result<u64> {
        match &self.source {
            Source::Files(parts) => parts.iter().map(super::estimate::edges).sum(),
            Source::Generated(generator) => Ok(generator.edges()),
        }
    }

    /// Hands all edges to `visitors`, by as many threads as there are of them (and one that unpacks for every packed
    /// file, where these are fewer than the threads).
    ///
    /// # Errors
    /// Bad input, with file and line or offset, where a file is not what its format says: of several mistakes the
    /// first. What a visitor or the watch returns.
    pub fn scan<V: Visitor>(&self, visitors: &mut [V], watch: &dyn Watch) -> Result<Scan> {
        self.scan_as(Share::ALL, false, Keeping::Nothing, visitors, watch)?.finish()
    }

    /// As [`Self::scan`], with chunks numbered for [`Visitor::chunk_done`] in the order of the input: plain files
    /// first, then packed ones.
    ///
    /// # Errors
    /// As [`Self::scan`].
    pub fn scan_ordered<V: Visitor>(&self, visitors: &mut [V], watch: &dyn Watch) -> Result<Scan> {
        self.scan_as(Share::ALL, true, Keeping::Nothing, visitors, watch)?.finish()
    }

    /// As [`Self::scan`], of a share of the edges alone: every edge is in just one share, or, where ranks help each other, comes to
    /// just one of them. One of several passes over the same share, between which chunks are kept in memory.
    ///
    /// # Errors
    /// As [`Self::scan`], of what is in the share.
    pub fn scan_share<V: Visitor>(
        &self,
        share: Share<'_>,
        keeping: Keeping<'_, '_>,
        visitors: &mut [V],
        watch: &dyn Watch,
    ) -> Result<Seen> {
        self.scan_as(share, false, keeping, visitors, watch)
    }

    /// Chunks that are worth keeping: of files whose every edge is as many bytes at least as it takes in preparation.
    pub(crate) fn chunks_to_keep(&self) -> usize {
        let keeps = |part: &&Part| {
            part.records.is_some_and(|(body, record)| {
                record >= 8 && kept::fits(self.chunk, body as usize, record as usize, part.bytes)
            })
        };
        self.parts().iter().filter(keeps).map(|part| part.bytes.div_ceil(self.chunk as u64) as usize).sum()
    }

    fn scan_as<V: Visitor>(
        &self,
        share: Share<'_>,
        ordered: bool,
        keeping: Keeping<'_, '_>,
        visitors: &mut [V],
        watch: &dyn Watch,
    ) -> Result<Seen> {
        if visitors.is_empty() {
            return Err(Error::Usage("a scan needs at least one thread".into()));
        }
        match &self.source {
            Source::Files(parts) => scan::files(self, parts, share, ordered, keeping, visitors, watch),
            Source::Generated(generator) => generate::scan(generator, share, self.chunk, visitors, watch),
        }
    }

    /// Upper bound of what a scan by `threads` threads allocates, in bytes. Mapped files are not counted: they are
    /// clean pages, populated a chunk per thread at a time. What is kept comes on top.
    pub fn scratch_bytes(&self, threads: usize) -> u64 {
        let sinks = sink::BYTES * threads as u64;
        match &self.source {
            Source::Generated(generator) => generator.scratch_bytes() + generate::SCRATCH * threads as u64,
            Source::Files(parts) => {
                let unpacking = parts.iter().map(|part| packed::bytes(part, threads)).max().unwrap_or(0);
                let at_once = parts.iter().filter(|part| part.packing != Packing::Plain).count().min(threads);
                let hashes: u64 = parts.iter().map(|part| 8 * (1 + part.bytes / self.chunk as u64)).sum();
                let pieces = if parts.iter().any(Part::is_records) { records::BYTES * threads as u64 } else { 0 };
                let apart =
                    |part: &Part| part.format.is_arrays() && part.packing == Packing::Plain && !part.is_records();
                let arrays = if parts.iter().any(apart) { arrays::MEMORY * threads as u64 } else { 0 };
                // and the threads that read ahead, with what becomes of each chunk
                let keeps = self.chunks_to_keep() > 0;
                let ahead = if keeps { kept::READERS as u64 * PER_THREAD + 3 * hashes } else { 0 };
                // METIS files keep the first vertex of every chunk
                sinks
                    + pieces
                    + arrays
                    + ahead
                    + unpacking * at_once as u64
                    + 2 * hashes
                    + PER_PART * parts.len() as u64
            }
        }
    }
}

fn name_of(paths: &[PathBuf]) -> Result<String> {
    match paths {
        [] => Err(Error::Usage("an input needs at least one path".into())),
        [one] => Ok(one.display().to_string()),
        [first, more @ ..] => Ok(format!("{} and {} more", first.display(), more.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_patterns_and_lists() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b.txt", "a.txt", ".hidden", "_SUCCESS", "c.txt.gz", "d.graph500.weights"] {
            std::fs::write(path(name), "1 2\n").unwrap();
        }
        let names = |paths: &[PathBuf]| -> Vec<String> {
            let input = Input::open(paths, None).unwrap();
            input.parts().iter().map(|p| p.path().file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&[folder.path().to_owned()]), ["a.txt", "b.txt", "c.txt.gz"]);
        assert_eq!(names(&[path("?.txt")]), ["a.txt", "b.txt"]);
        assert_eq!(names(&[path("b.txt"), path("a*")]), ["b.txt", "a.txt"]);
        std::fs::create_dir(path("within")).unwrap();
        for bad in ["none.txt", "x*.txt", "within", "b.dat"] {
            let error = Input::open(&[path(bad)], None).unwrap_err();
            assert_eq!(error.exit_code(), 3, "{error}");
            assert!(error.to_string().contains(bad), "{error}");
        }
        assert_eq!(Input::open(&[path("a.txt")], None).unwrap().bytes(), 4);
    }
}
