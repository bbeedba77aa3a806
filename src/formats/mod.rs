//! Reads edges from files in every input format, and from generators, with many threads in bounded memory.
//!
//! [`Input::find`] finds the files and their formats. [`Input::scan`] makes one pass over all of them and passes the
//! edges in batches to one [`Visitor`] per thread. Threads take chunks (8 MiB) of uncompressed files in order. Binary
//! pairs reach the visitor without a copy. Chunks that were read from disk may stay in memory for the next pass
//! ([`InputCache`]). Each compressed file (`.gz`, `.zst`, `.bz2`, `.xz`) is decompressed by one thread and parsed by
//! the others.
//!
//! | file | what it contains |
//! |---|---|
//! | `format` | the names of the formats, and their file name extensions |
//! | `input` | the files of an input, their version, their estimated edge count; one-pass streams; edges in memory |
//! | `part`, `options` | one file of an input, and the options for its lines and columns |
//! | `scan` | one pass: chunks of plain files, blocks of compressed ones; the cache for the next pass; its result |
//! | `pass` | the state that the threads of a pass share: the layout of each file, and the share of a process |
//! | `names` | string ids |
//! | `sink`, `head` | buffers for the edges that parsers find; the contents of a file's header |
//! | `bytes` | mapped files, files that are read, and the numbers and lines in their bytes |
//! | `text` | detection of the layout of a text file; the parsers of lines, which `mtx` and `gr` use, too |
//! | `binary`, `graph500`, `metis` | the other parsers |
//! | `arrays` | numpy files, and serialized graphs of the GAP Benchmark Suite |
//! | `parquet` | Apache Parquet tables |
//! | `contents`, `unsupported` | detection of what a file contains if its first bytes do not match its format |
//! | `suspect` | detection of binary pairs whose type differs from the one that their file name implies |
//! | `weights` | the types of weights, and which numbers are valid weights |
//! | `packing` | decompression |

mod arrays;
mod binary;
pub(crate) mod bytes;
pub(crate) mod contents;
mod format;
mod gr;
mod graph500;
mod head;
pub mod input;
mod metis;
mod mtx;
pub mod names;
mod options;
pub(crate) mod packing;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "parquet/absent.rs"]
mod parquet;
pub(crate) mod part;
mod pass;
mod scan;
mod sink;
mod suspect;
mod text;
pub mod unsupported;
pub mod weights;

pub(crate) use bytes::fault::{Fault, Stop};
pub(crate) use bytes::int::Int;
pub use bytes::map::unmapped;
pub(crate) use bytes::read::Reader;
pub use format::{Format, Packing};
pub(crate) use format::{ending, typed};
pub(crate) use head::{Directions, HEAD, Head};
pub use input::Input;
pub use input::edges::{EdgeVisitor, each_edge};
pub use input::estimate::{largest_in, largest_of_arrays};
pub use input::files::FileSearch;
pub use input::generated::{EdgeGenerator, KroneckerParameters};
pub use names::{FindNames, NameBatch};
pub use options::{Columns, IdKind, TextOptions};
pub use part::Part;
pub(crate) use part::UseOfDirection;
pub(crate) use pass::layout::BodyLayout;
pub use pass::share::Share;
pub(crate) use pass::state::MOST_VERTICES;
pub(crate) use pass::state::ScanState;
pub use scan::input_cache::{CacheUse, InputCache, Slab};
pub use scan::share_result::{Halves, Scan, ShareResult};
pub(crate) use sink::Sink;
pub use weights::{WeightType, Weights, WeightsOption};

use crate::error::{Error, Result};
use crate::process::signals;
use std::ops::Range;

/// Whether this build reads Parquet.
const READS_PARQUET: bool = cfg!(feature = "parquet");

/// A batch of edges as the input lists them: not symmetrised, with self-loops and repeats.
#[derive(Debug, Clone, Copy)]
pub enum Edges<'a> {
    /// Edges whose ids all fit in 32 bits.
    Narrow(&'a [[u32; 2]]),
    /// Edges whose ids are stored with 64 bits. Some or all ids may be small.
    Wide(&'a [[u64; 2]]),
}

impl Edges<'_> {
    /// Returns the number of edges in the batch.
    #[allow(clippy::len_without_is_empty, reason = "nothing asks for it")]
    pub fn len(&self) -> usize {
        match self {
            Edges::Narrow(pairs) => pairs.len(),
            Edges::Wide(pairs) => pairs.len(),
        }
    }

    /// Calls `each` with the two ends of every edge in the batch. Stops at the first error that `each` returns.
    #[inline]
    pub fn try_each<E>(&self, mut each: impl FnMut(u64, u64) -> Result<(), E>) -> Result<(), E> {
        match self {
            Edges::Narrow(pairs) => pairs.iter().try_for_each(|[u, v]| each((*u).into(), (*v).into())),
            Edges::Wide(pairs) => pairs.iter().try_for_each(|[u, v]| each(*u, *v)),
        }
    }

    /// Returns the largest id in the batch; `None` if the batch is empty.
    pub fn largest(&self) -> Option<u64> {
        match self {
            Edges::Narrow(pairs) => pairs.as_flattened().iter().max().map(|id| u64::from(*id)),
            Edges::Wide(pairs) => pairs.as_flattened().iter().max().copied(),
        }
    }
}

/// Receiver of batches of edges. Each thread has its own visitor, so visitors need no lock. The assignment of batches
/// to visitors is unspecified, but every edge reaches exactly one visitor.
pub trait Visitor: Send {
    /// Processes a batch in borrowed memory. An error ends the scan, which returns it. If the scan reads weights
    /// ([`Weights::Read`]), `weights` contains one weight per edge, otherwise it is empty. A weight is an integer, or
    /// the bits of an f32 or f64 that is neither negative nor -0, so that all types sort like integers. It consists of
    /// [`WeightType::words`] 32-bit words, the lower half first.
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()>;

    /// Processes a batch of edges with string ids, in a pass that has no dictionary of string ids.
    ///
    /// # Errors
    /// An internal error, unless the visitor accepts strings.
    fn visit_names(&mut self, _names: &NameBatch) -> Result<()> {
        Err(Error::internal("read edges", "their ids are strings without numbers"))
    }

    /// Generates edges of a generated input in the visitor itself, for example on a GPU. `edges` is the range of their
    /// indices. Returns false if the visitor can't do that; then the edges are passed to [`Self::visit`].
    fn make(&mut self, edges: Range<u64>) -> Result<bool> {
        let _ = edges;
        Ok(false)
    }

    /// Called when this visitor has visited all edges of chunk `chunk` (a range of a file, or of its decompressed
    /// bytes). In [`Input::scan_ordered`], chunk indices are consecutive from 0 in the order of the input, and threads
    /// take chunks in that order. So a visitor can restore the order of the input by waiting here until all earlier
    /// chunks are done.
    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        let _ = chunk;
        Ok(())
    }

    /// Called on all visitors when an error ends the scan early, so that they can wake visitors that wait in
    /// [`Self::chunk_done`].
    fn stopped(&mut self) {}
}

impl<V: Visitor + ?Sized> Visitor for &mut V {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        (**self).visit(edges, weights)
    }

    fn visit_names(&mut self, names: &NameBatch) -> Result<()> {
        (**self).visit_names(names)
    }

    fn make(&mut self, edges: Range<u64>) -> Result<bool> {
        (**self).make(edges)
    }

    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        (**self).chunk_done(chunk)
    }

    fn stopped(&mut self) {
        (**self).stopped();
    }
}

/// Converts visitors to trait objects, so that the scan is compiled only once for all visitor types. Dynamic calls are
/// rare: one per batch.
fn erased<V: Visitor>(visitors: &mut [V]) -> Vec<&mut dyn Visitor> {
    visitors.iter_mut().map(|visitor| visitor as &mut dyn Visitor).collect()
}

/// Visitor that finds the largest id of all edges.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LargestId(pub Option<u64>);

impl Visitor for LargestId {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        self.0 = self.0.max(edges.largest());
        Ok(())
    }
}

/// Observer of the progress of a scan.
pub trait Watch: Sync {
    /// Reports that `bytes` more bytes of the input were read. In a whole scan, these numbers sum to [`Input::bytes`].
    /// If this method returns an error, for example because of a signal, the scan ends and returns that error.
    fn advance(&self, bytes: u64) -> Result<()>;

    /// Reports that `bytes` more bytes of the output were written.
    fn wrote(&self, _bytes: u64) {}
}

/// Progress observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn advance(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }
}

/// Progress observer that ends a scan if a stop was requested, for example by a signal. It does not count bytes, so it
/// is used for passes that do not count as progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signals;

impl Watch for Signals {
    fn advance(&self, _bytes: u64) -> Result<()> {
        signals::check()
    }
}
