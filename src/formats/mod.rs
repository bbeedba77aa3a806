//! Edges as they come: files in every input format, and generators, read by many threads in fixed memory.
//!
//! [`Input::open`] finds the files and their formats, [`Input::scan`] makes one pass over all of them and hands the
//! edges in batches to one [`Visitor`] per thread. Plain files are cut into chunks that threads take in order; binary
//! pairs are handed over where they lie. What must come from the disk may stay in memory for the next pass ([`Kept`]). Packed files (`.gz`, `.zst`, `.bz2`, `.xz`) are unpacked by one thread each
//! and parsed by the others.
//!
//! | file | holds |
//! |---|---|
//! | `format` | names and endings |
//! | `input`, `files`, `identity`, `estimate` | which files, found how, which version of them, how many edges |
//! | `scan`, `plain`, `packed` | the pass: plain files, unpacked streams |
//! | `share` | the part of one rank in a pass of many |
//! | `records`, `read`, `kept` | chunks of fixed records: how they are read, and kept for the next pass |
//! | `layout` | header, cut and parse, by format |
//! | `lines` | the parser of "one edge a line", which `text`, `mtx` and `gr` set up |
//! | `text` | what the lines of a text file look like; the parser of those with more columns, or quotes |
//! | `binary`, `metis` | the other parsers |
//! | `arrays` | numpy's files, and GAP's serialized graphs |
//! | `suspect` | pairs that are likely of another type than their name says |
//! | `packing` | what files are packed in |
//! | `stream` | inputs that can be read once alone: standard input, pipes, devices |
//! | `map`, `sink` | mapped memory, batches |

mod arrays;
mod binary;
mod estimate;
mod files;
mod foreign;
mod format;
mod gr;
mod identity;
mod input;
mod kept;
mod layout;
mod lines;
mod map;
mod metis;
mod mtx;
mod packed;
mod packing;
mod part;
mod plain;
mod read;
mod records;
mod scan;
mod share;
mod sink;
pub mod stream;
mod suspect;
mod text;

pub use files::Look;
pub use format::{Format, Packing};
pub use input::Input;
pub use kept::{Keeping, Kept, Slab, addresses};
pub use part::Part;
pub use scan::Scan;
pub use share::{Seen, Share};
pub use text::{Columns, TextOptions};

use crate::error::Result;

/// One batch of edges as they stand in the input: not symmetrised, loops and repeats included.
#[derive(Debug, Clone, Copy)]
pub enum Edges<'a> {
    /// All ids of the batch fit 32 bits.
    Narrow(&'a [[u32; 2]]),
    /// Ids of 64 bits (which may be small, too).
    Wide(&'a [[u64; 2]]),
}

impl Edges<'_> {
    /// Edges in the batch.
    pub fn len(&self) -> usize {
        match self {
            Edges::Narrow(pairs) => pairs.len(),
            Edges::Wide(pairs) => pairs.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Receives batches. There is one visitor per thread, so none needs a lock; which visitor gets which batch is not
/// defined, only that every edge is handed over once.
pub trait Visitor: Send {
    /// Takes a batch, which lies in borrowed memory. An error ends the scan and is what the scan returns.
    fn visit(&mut self, edges: Edges<'_>) -> Result<()>;

    /// All edges of chunk `chunk` have been visited by this visitor, and by no other. Chunks are numbered from 0
    /// without gaps in the order of the input, and are taken in that order; so a visitor that waits here for its
    /// turn can restore the order of the input. The numbers are gapless only in [`Input::scan_ordered`].
    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        let _ = chunk;
        Ok(())
    }

    /// The scan ends early; whoever waits for a turn must be woken. Called on the visitor of the thread that failed.
    fn stopped(&mut self) {}
}

impl<V: Visitor + ?Sized> Visitor for &mut V {
    fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
        (**self).visit(edges)
    }

    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        (**self).chunk_done(chunk)
    }

    fn stopped(&mut self) {
        (**self).stopped();
    }
}

/// Told of progress as input is consumed.
pub trait Watch: Sync {
    /// `bytes` more of [`Input::bytes`] are done. An error (a signal arrived) stops the scan and is what it returns.
    fn advance(&self, bytes: u64) -> Result<()>;

    /// `bytes` more were written.
    fn wrote(&self, _bytes: u64) {}
}

/// A watch that lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn advance(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }
}
