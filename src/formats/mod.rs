//! Reads edges from files in every input format, and from generators, by many threads in fixed memory.
//!
//! [`Input::open`] finds the files and their formats. [`Input::scan`] makes one pass over all of them and hands the edges in batches to one
//! [`Visitor`] per thread. Plain files are cut into chunks that threads take in order; binary pairs are handed over in place. Chunks that
//! came from the disk may stay in memory for the next pass ([`InputCache`]). Packed files (`.gz`, `.zst`, `.bz2`, `.xz`) are unpacked by
//! one thread each and parsed by the others.
//!
//! | file | holds |
//! |---|---|
//! | `format` | the formats' names and endings |
//! | `input` | the files of an input, their version, an estimate of their edges; streams that can be read only once |
//! | `scan` | the pass: chunks of plain files, blocks of packed ones; the cache for the next pass; the share of a rank |
//! | `lines` | the parser of lines of one edge, which `text`, `mtx` and `gr` set up |
//! | `text` | finds out how the lines of a text file are parsed; the parser of lines with more columns, or quotes |
//! | `binary`, `graph500`, `metis` | the other parsers |
//! | `arrays` | numpy's files, and GAP's serialized graphs |
//! | `parquet` | Apache Parquet tables |
//! | `contents`, `foreign` | name what a file holds if its first bytes are not those of its format |
//! | `mirror` | checks that files of edges without direction list each in both |
//! | `suspect` | recognises pairs of another type than their name tells |
//! | `weights` | the types of weights, and what makes a number one |
//! | `packing` | unpacks files |

mod arrays;
mod binary;
pub(crate) mod contents;
mod foreign;
mod format;
mod gr;
pub(crate) mod graph500;
pub mod input;
mod lines;
mod metis;
mod mirror;
mod mtx;
pub(crate) mod packing;
mod parquet;
mod scan;
mod suspect;
mod text;
pub mod weights;

pub(crate) use format::ending;
pub use format::{Format, Packing};
pub use input::Input;
pub use input::estimate::largest_in;
pub use input::files::Look;
pub use input::generated::EdgeGenerator;
pub use input::part::Part;
pub use scan::input_cache::{CacheUse, InputCache, Slab, addresses};
pub use scan::map::unmapped;
pub(crate) use scan::read::Reader;
pub use scan::share::{Seen, Share};
pub use scan::{Halves, Scan};
pub use text::{Columns, TextOptions};
pub use weights::{AskedWeights, WeightType, Weights};

use crate::error::Result;
use crate::process::signals;

/// A batch of edges as they are in the input: not symmetrised, with loops and repeats.
#[derive(Debug, Clone, Copy)]
pub enum Edges<'a> {
    /// Edges whose ids all fit 32 bits.
    Narrow(&'a [[u32; 2]]),
    /// Edges with ids of 64 bits, which may also be small.
    Wide(&'a [[u64; 2]]),
}

impl Edges<'_> {
    /// Returns the number of edges in the batch.
    pub fn len(&self) -> usize {
        match self {
            Edges::Narrow(pairs) => pairs.len(),
            Edges::Wide(pairs) => pairs.len(),
        }
    }

    /// Returns true if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Receives batches. Each thread has its own visitor, so none needs a lock. Which visitor gets which batch is not defined, only that every
/// edge is handed over once.
pub trait Visitor: Send {
    /// Takes a batch in borrowed memory. An error ends the scan, which returns it. If the scan reads weights ([`Weights::Read`]), `weights`
    /// holds one for each edge, else none: the whole number, or the bits of an f32 that is not negative, nor -0, so that both are in
    /// order as whole numbers.
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()>;

    /// Called when all edges of chunk `chunk` have been visited, all by this visitor. In [`Input::scan_ordered`] chunks are numbered from 0
    /// without gaps in the order of the input and taken in that order, so a visitor that waits here for its turn can restore the order of
    /// the input.
    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        let _ = chunk;
        Ok(())
    }

    /// Called on the visitor of the thread that failed when the scan ends early: visitors that wait for a turn must be woken.
    fn stopped(&mut self) {}
}

impl<V: Visitor + ?Sized> Visitor for &mut V {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        (**self).visit(edges, weights)
    }

    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        (**self).chunk_done(chunk)
    }

    fn stopped(&mut self) {
        (**self).stopped();
    }
}

/// Follows the progress of a scan.
pub trait Watch: Sync {
    /// Adds `bytes` done of [`Input::bytes`]. An error (such as a signal) stops the scan, which returns it.
    fn advance(&self, bytes: u64) -> Result<()>;

    /// Adds `bytes` written.
    fn wrote(&self, _bytes: u64) {}
}

/// A watch that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn advance(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }
}

/// A watch that stops a scan when a signal asks to stop, of passes whose bytes are not counted as progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signals;

impl Watch for Signals {
    fn advance(&self, _bytes: u64) -> Result<()> {
        signals::check()
    }
}
