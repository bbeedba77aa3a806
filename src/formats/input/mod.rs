//! An input: its files with their formats, or a generator.

pub mod edges;
pub mod estimate;
pub mod files;
pub mod generated;
pub mod identity;
pub mod memory;
mod open;
pub mod stream;
mod weighted;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::formats::bytes::read;
use crate::formats::input::generated::{EdgeGenerator, KroneckerParameters};
use crate::formats::part::TableSummary;
use crate::formats::pass::state::CHUNK;
use crate::formats::scan::run::run;
use crate::formats::scan::{input_cache, packed, plain, records};
use crate::formats::unsupported::format_of;
use crate::formats::weights::{UnreadColumns, missing};
use crate::formats::{
    CacheUse, FileSearch, FindNames, Format, IdKind, InputCache, Packing, Part, Scan, ScanState, Share, ShareResult,
    TextOptions, UseOfDirection, Visitor, Watch, Weights, arrays, erased, names, parquet, sink, text,
};
use crate::memory::{Budget, Buffer, PER_THREAD, addresses_left};

/// Memory in bytes that a scan needs for each file, in addition to the file's contents: header, path and chunk starts.
const PER_PART: u64 = 1 << 10;

/// The edges to read: one file, several files that are read as one edge list, or a generator.
#[derive(Debug, Clone)]
pub struct Input {
    pub(crate) source: EdgeSource,
    name: String,
    /// The input's paths, as the user wrote them.
    named: Vec<PathBuf>,
    chunk: usize,
    weights: Weights,
    /// Whether the direction of edges is kept.
    pub(crate) keeps_direction: bool,
    /// Dictionary of string ids; `None` until it has been built.
    numbering: Option<Arc<dyn FindNames>>,
    /// The file that lists all vertices, if any. It is read as edges: one self-loop per vertex.
    pub(crate) vertices: Option<Box<Input>>,
}

#[derive(Debug, Clone)]
pub(crate) enum EdgeSource {
    Files(Vec<Part>),
    Generated(Arc<dyn EdgeGenerator>),
}

impl Input {
    /// Finds the files that `paths` name: files, folders and patterns (see `formats/input/files.rs`). They are read as
    /// one edge list, in this order. Without `format`, the extension of each file determines its format.
    ///
    /// # Errors
    /// Bad input if a path has no files or unwanted subfolders, or if a file can't be read or has no known extension.
    pub fn find(paths: &[PathBuf], format: Option<Format>, look: FileSearch<'_>) -> Result<Input> {
        let mut parts = Vec::new();
        for path in paths {
            for file in files::named(path, look)? {
                parts.push(open::open(&file, format, None)?);
            }
        }
        Ok(Input::of(EdgeSource::Files(parts), files::name_of(paths)?, paths.to_vec()))
    }

    fn of(source: EdgeSource, name: String, named: Vec<PathBuf>) -> Input {
        let (weights, keeps_direction) = (Weights::Skip, false);
        Input { source, name, named, chunk: CHUNK, weights, keeps_direction, numbering: None, vertices: None }
    }

    /// Opens a file to which a stream was copied. Its file name has no extension; messages call the file `name`.
    ///
    /// # Errors
    /// Bad input if the file can't be read or is not in the format.
    pub fn spooled(path: &Path, format: Format, packing: Packing, name: String) -> Result<Input> {
        let part = open::open(path, Some(format), Some(packing))?;
        Ok(Input::of(EdgeSource::Files(vec![part]), name, vec![path.to_owned()]))
    }

    /// Returns the path among this input's paths that covers `file`: the file itself, or a folder or pattern that
    /// includes it. A folder or pattern covers it even if the file does not exist.
    pub fn naming(&self, file: &Path) -> Option<&Path> {
        let there = file.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        let is_same = |part: &&Part| there.is_some() && part.path.metadata().ok().map(|m| (m.dev(), m.ino())) == there;
        if let Some(part) = self.parts().iter().find(is_same) {
            return Some(&part.path);
        }
        files::covering(&self.named, file)
    }

    /// Creates an input of files with `edges` edges and `ids` ids that do not exist yet, to plan a job.
    ///
    /// # Errors
    /// Bad input if the first path has no known extension.
    pub fn expected(paths: &[PathBuf], format: Option<Format>, edges: u64, ids: u64) -> Result<Input> {
        let name = files::name_of(paths)?;
        let path = paths.first().cloned().unwrap_or_default();
        let format = format_of(&path, format)?;
        // A line of text consists of two numbers, each followed by one character.
        let record = format.record().unwrap_or(2 * (u64::from(ids.max(1).ilog10()) + 2));
        let part = Part::of(path, format, edges * record, true, None);
        Ok(Input::of(EdgeSource::Files(vec![part]), name, paths.to_vec()))
    }

    /// Creates an input that reads from a generator.
    pub fn generated(generator: impl EdgeGenerator + 'static) -> Input {
        let name = generator.to_string();
        Input::of(EdgeSource::Generated(Arc::new(generator)), name, Vec::new())
    }

    /// Sets the options for reading text and tables.
    ///
    /// # Errors
    /// [`Error::Usage`] if the options are not the defaults and no file is in a format to which they apply.
    pub fn with_text(mut self, options: TextOptions) -> Result<Input> {
        let EdgeSource::Files(parts) = &mut self.source else { return Ok(self) };
        open::check_text(parts, &options)?;
        let options = Arc::new(options);
        parts.iter_mut().for_each(|part| (part.text, part.summary) = (Arc::clone(&options), Arc::default()));
        Ok(self)
    }

    /// Sets the file that lists all vertices, one id per line. Edges must not have other ids.
    ///
    /// # Errors
    /// Bad input if the file can't be read; [`Error::Usage`] if the edge format has a header, or if ids are strings.
    pub fn with_vertices(mut self, path: &Path) -> Result<Input> {
        self.vertices = Some(Box::new(open::vertices(path, &self)?));
        Ok(self)
    }

    /// Returns true if the ids are strings.
    pub fn has_names(&self) -> bool {
        self.parts().first().is_some_and(|part| part.text.ids == IdKind::String)
    }

    /// Sets the dictionary of string ids. With it, scans deliver dense ids; without it, they deliver strings.
    pub fn with_numbering(mut self, numbering: Arc<dyn FindNames>) -> Input {
        self.numbering = Some(numbering);
        self
    }

    /// Sets the chunk size in bytes; checksums depend on it. For tests, and for writers that buffer a chunk per thread.
    pub fn with_chunk(mut self, bytes: usize) -> Input {
        self.chunk = bytes.max(1);
        self
    }

    /// Sets how scans treat weights (default: skip). With separate weights files, checksum and identity depend on it.
    pub fn with_weights(mut self, weights: Weights) -> Input {
        self.weights = weights;
        self
    }

    /// Keeps the direction of edges. Scans then reject files that store both directions of each undirected edge.
    pub fn with_direction(mut self) -> Input {
        self.keeps_direction = true;
        self.with_use_of_direction(UseOfDirection::Followed)
    }

    /// Sets how the direction of edges is used; the default is to drop it.
    pub(crate) fn with_use_of_direction(mut self, of: UseOfDirection) -> Input {
        if let EdgeSource::Files(parts) = &mut self.source {
            parts.iter_mut().for_each(|part| part.use_of_direction = of);
        }
        self
    }

    /// Returns true if the files' formats list each edge at both ends, and false if they list each edge once.
    ///
    /// # Errors
    /// [`Error::Usage`] if the files differ in this; bad input if a file can't be read.
    pub fn lists_both_ends(&self) -> Result<bool> {
        Part::all_list_both_ends(self.parts())
    }

    /// Returns how scans treat weights.
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// Returns true if edges may have weights, according to the beginning of each file.
    ///
    /// # Errors
    /// Bad input if a file can't be read or decompressed.
    pub fn may_have_weights(&self) -> Result<bool> {
        if let Some(generator) = self.generator() {
            return Ok(generator.weights().is_some());
        }
        for part in self.parts() {
            if weighted::may_have(part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the unread numeric columns of the first file; `None` if there are none, or if its edges have weights.
    pub fn unread(&self) -> Option<UnreadColumns> {
        self.parts().first().and_then(|part| text::unread(part).or_else(|| parquet::unread(part)))
    }

    /// Returns the chunk size in bytes.
    pub(crate) fn chunk(&self) -> usize {
        self.chunk
    }

    /// Returns the error for an input whose edges have no weights, although weights are needed.
    pub fn lacks_weights(&self) -> Error {
        missing(&self.name, self.unread().as_ref())
    }

    /// Returns the input's files; empty for a generator.
    pub fn parts(&self) -> &[Part] {
        match &self.source {
            EdgeSource::Files(parts) => parts,
            EdgeSource::Generated(_) => &[],
        }
    }

    fn generator(&self) -> Option<&dyn EdgeGenerator> {
        match &self.source {
            EdgeSource::Files(_) => None,
            EdgeSource::Generated(generator) => Some(&**generator),
        }
    }

    /// Returns the input's size on disk in bytes; for a generator, the size of the generated pairs. The bytes passed to
    /// [`Watch::advance`] in a whole scan sum to this number.
    pub fn bytes(&self) -> u64 {
        let generated = |generator: &dyn EdgeGenerator| generator.edges() * generated::record(generator);
        self.generator().map_or_else(|| self.parts().iter().map(|part| part.bytes).sum(), generated)
    }

    /// Returns an upper bound on the uncompressed bytes of all files, unless one is compressed unusually well.
    pub fn most_text_bytes(&self) -> u64 {
        let text = |part: &Part| part.bytes.saturating_mul(if part.packing == Packing::Plain { 1 } else { 10 });
        self.parts().iter().map(text).fold(0, u64::saturating_add)
    }

    /// Returns the name for messages and reports: the path as the user wrote it, or the generator and its parameters.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Returns the largest mapped file and its size in bytes, if `ulimit -v` leaves too little address space for it.
    pub fn beyond_addresses(&self) -> Option<(PathBuf, u64)> {
        let left = addresses_left()?;
        let most = self.parts().iter().filter(|part| part.is_mapped()).max_by_key(|part| part.bytes)?;
        (most.bytes > left).then(|| (most.path.clone(), most.bytes))
    }

    /// Asks the kernel to read the first `bytes` bytes of the input into the page cache. Errors are ignored.
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

    /// Returns a hash of size, times, inode and samples of every file, or of the parameters of the generator.
    ///
    /// # Errors
    /// Bad input if a file no longer exists or can't be read.
    pub fn identity(&self) -> Result<u64> {
        match &self.source {
            EdgeSource::Files(parts) => identity::of_files(parts, self.vertices.as_deref(), self.weights.is_wanted()),
            EdgeSource::Generated(generator) => Ok(generator.identity()),
        }
    }

    /// Returns true if every file is in a format with 1-based ids. Readers of these formats subtract 1 from each id.
    pub fn counts_from_one(&self) -> bool {
        !self.parts().is_empty() && self.parts().iter().all(|part| part.format.counts_from_one())
    }

    /// Returns true if the generator or the format of any file can declare the number of vertices.
    pub fn declares_vertices(&self) -> bool {
        self.generator().is_some_and(EdgeGenerator::declares_vertices)
            || self.parts().iter().any(|part| part.format.declares_vertices())
    }

    /// Returns true if ids may need 64 bits. Even then, readers of text deliver batches with 32-bit ids while the ids
    /// fit.
    pub fn wide(&self) -> bool {
        match &self.source {
            EdgeSource::Files(parts) => parts.iter().any(|part| match part.format {
                Format::Parquet => !parquet::summary_of(part).is_some_and(|table| table.narrow),
                _ => !part.narrow,
            }),
            EdgeSource::Generated(generator) => generator.vertices() > 1 << 32,
        }
    }

    /// Returns the input's number of edges: exact for uncompressed binary files and generators, as declared for formats
    /// with a header, and otherwise estimated from a sample.
    ///
    /// # Errors
    /// Bad input if a file can't be read or decompressed.
    pub fn estimate_edges(&self) -> Result<u64> {
        match self.generator() {
            Some(generator) => Ok(generator.edges()),
            None => self.parts().iter().map(estimate::edges).sum(),
        }
    }

    /// Returns the parameters with which a GPU generates the edges; `None` if only the CPU can read or generate them.
    pub fn on_gpu(&self) -> Option<KroneckerParameters> {
        self.generator().and_then(EdgeGenerator::on_gpu)
    }

    /// Returns an upper bound on the number of edges from the file sizes; `u64::MAX` if the sizes imply no bound.
    pub fn most_edges(&self) -> u64 {
        let of_files = || self.parts().iter().map(Part::most_edges).fold(0, u64::saturating_add);
        self.generator().map_or_else(of_files, EdgeGenerator::edges)
    }

    /// Passes all edges to `visitors`, one thread per visitor. If there are fewer compressed files than threads, one
    /// additional thread per compressed file decompresses it.
    ///
    /// # Errors
    /// Bad input, with the file and the line or offset of the first mistake in the input; and any error that a visitor
    /// or `watch` returns.
    pub fn scan<V: Visitor>(&self, visitors: &mut [V], watch: &dyn Watch) -> Result<Scan> {
        self.scan_as(Share::ALL, false, CacheUse::Nothing, &mut erased(visitors), watch)?.finish()
    }

    /// Like [`Self::scan`], but [`Visitor::chunk_done`] gets chunk indices in input order, uncompressed files first.
    ///
    /// # Errors
    /// The errors of [`Self::scan`].
    pub fn scan_ordered<V: Visitor>(&self, visitors: &mut [V], watch: &dyn Watch) -> Result<Scan> {
        self.scan_as(Share::ALL, true, CacheUse::Nothing, &mut erased(visitors), watch)?.finish()
    }

    /// Like [`Self::scan`], but for one share of the edges. Every edge is in exactly one share. With work stealing, a
    /// process may also take edges from another share, but each edge is still read only once. `cache` keeps chunks for
    /// later passes over the same share.
    ///
    /// # Errors
    /// The errors of [`Self::scan`], for the edges in the share.
    pub fn scan_share<V: Visitor>(
        &self,
        share: Share<'_>,
        cache: CacheUse<'_, '_>,
        visitors: &mut [V],
        watch: &dyn Watch,
    ) -> Result<ShareResult> {
        self.scan_as(share, false, cache, &mut erased(visitors), watch)
    }

    /// Reserves address space for caching as many chunks as the limit of `budget` allows.
    ///
    /// # Errors
    /// [`Error::Addresses`] if the kernel refuses the address space.
    pub fn cache_addresses(&self, budget: &Budget) -> Result<Buffer<u32>> {
        input_cache::addresses(self.chunk, self.chunks_to_keep(), budget)
    }

    /// Creates a cache in `memory`, which stays empty until [`InputCache::allow`] grants it memory.
    pub fn cache<'m>(&self, memory: &'m mut Buffer<u32>, budget: &Budget) -> Result<InputCache<'m>> {
        InputCache::new(memory, self.chunk, budget)
    }

    /// Returns an upper bound on the cache's memory in bytes in each of `ranks` processes, including spare slabs.
    pub fn most_cached_bytes(&self, ranks: usize) -> u64 {
        (input_cache::slabs(self.chunks_to_keep().div_ceil(ranks)) * self.chunk) as u64
    }

    /// Returns the number of chunks worth caching: those that fit the cache, with records of at least 8 bytes. If a GPU
    /// generates the edges, all chunks are counted: it fills bins in advance, in memory as large as a cache.
    fn chunks_to_keep(&self) -> usize {
        if self.on_gpu().is_some() {
            return self.bytes().div_ceil(self.chunk as u64) as usize;
        }
        let keeps = |part: &&Part| {
            part.records.is_some_and(|(body, record)| {
                record >= 8 && input_cache::fits(self.chunk, body as usize, record as usize, part.bytes)
            })
        };
        self.parts().iter().filter(keeps).map(|part| part.bytes.div_ceil(self.chunk as u64) as usize).sum()
    }

    fn scan_as(
        &self,
        share: Share<'_>,
        ordered: bool,
        cache: CacheUse<'_, '_>,
        visitors: &mut [&mut dyn Visitor],
        watch: &dyn Watch,
    ) -> Result<ShareResult> {
        if visitors.is_empty() {
            return Err(Error::Usage("a scan needs at least one thread".into()));
        }
        let (reading, threads) = ((self.chunk, self.weights), visitors.len());
        let mut state = ScanState::new(self.parts(), reading, (share, threads), ordered, watch);
        match &self.source {
            EdgeSource::Files(_) => {
                state.numbering = self.numbering.clone();
                run(state, cache, visitors).map(ShareResult::files)
            }
            EdgeSource::Generated(generator) if self.weights.is_read() && generator.weights().is_none() => {
                Err(missing(&self.name, None))
            }
            EdgeSource::Generated(generator) => generated::scan(&**generator, &state, cache, visitors),
        }
    }

    /// Returns an upper bound on the memory in bytes that a scan with `threads` threads allocates. It does not include
    /// cached chunks, nor mapped files (clean pages; one chunk per thread is populated at a time).
    pub fn scratch_bytes(&self, threads: usize) -> u64 {
        let weights = if self.weights.is_read() { sink::WEIGHT_BYTES } else { 0 };
        let strings = if self.has_names() { names::BATCH_MEMORY } else { 0 };
        let sinks = (sink::BYTES + weights + strings) * threads as u64;
        match &self.source {
            EdgeSource::Generated(generator) => generator.scratch_bytes() + generated::SCRATCH * threads as u64,
            EdgeSource::Files(parts) => {
                let unpacking = parts.iter().map(|part| packed::bytes(part, threads, self.weights)).max().unwrap_or(0);
                let at_once = parts.iter().filter(|part| part.packing != Packing::Plain).count().min(threads);
                let hashes: u64 = parts.iter().map(|part| 8 * (1 + part.bytes / self.chunk as u64)).sum();
                let pieces =
                    if parts.iter().any(|part| part.records.is_some()) { records::BYTES * threads as u64 } else { 0 };
                let apart =
                    |part: &Part| part.format.is_arrays() && part.packing == Packing::Plain && part.records.is_none();
                let arrays = if parts.iter().any(apart) { arrays::MEMORY * threads as u64 } else { 0 };
                // The threads that read ahead need memory, and so does the state of each chunk.
                let keeps = self.chunks_to_keep() > 0;
                let ahead = if keeps { input_cache::READERS as u64 * PER_THREAD + 3 * hashes } else { 0 };
                let tables = parts.iter().filter_map(parquet::summary_of).collect();
                let tables = TableSummary::scratch_bytes(tables, threads, plain::KEPT);
                // A METIS file needs memory for the first vertex of each of its chunks.
                let of_parts = unpacking * at_once as u64 + 2 * hashes + PER_PART * parts.len() as u64;
                sinks + pieces + arrays + tables + ahead + of_parts
            }
        }
    }
}
