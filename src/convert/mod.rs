//! Converts any input to a file of any format, in fixed memory.
//!
//! | to | passes | what is written |
//! |---|---|---|
//! | `u32`, `u64`, `graph500`, `text` | 1 | the edges of the input, in its order |
//! | `mtx`, `gr` | 2 (for the header) | the same, ids from 1; `mtx` as pattern general, `gr` with lengths of 1 |
//! | `npy` | 2 (for the header) | the edges of the input, with 32 bits an id where these fit, else 64 |
//! | `metis` | 3 and more | the simple graph: see `convert/metis.rs` |
//!
//! Input from a stream (`-`, pipes) is copied beside the file first: `convert/spool.rs`.
//!
//! Lists are converted between their own formats: `convert/list.rs`.
//!
//! Weights are dropped. A file named `.gz`, `.zst`, `.bz2` or `.xz` is packed, with a member or frame for each chunk, so that all threads
//! pack. The file is written under a temporary name beside its own, synced and renamed: it is whole or absent. Its bytes do not depend on
//! the number of threads.

mod encode;
mod list;
mod metis;
mod output;
mod part;
mod spool;

use std::path::Path;

use crate::error::{At, Error, Result};
use crate::formats::{Edges, Format, Input, Visitor, Watch};
use encode::Encoder;
pub use list::{WrittenList, write_list};
use output::{Output, Turns};
pub use spool::StreamCopy;

/// Bytes of input that a thread encodes at once.
const CHUNK: usize = 1 << 20;

/// Bytes of memory for lists of neighbours, by default.
pub const MEMORY: u64 = 1 << 30;

/// The size of what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Converted {
    /// Edges of the input, loops and repeats included.
    pub read: u64,
    /// Edges of the file; for METIS, of the simple graph.
    pub written: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Refuses an output that exists and is not a regular file, before anything is read.
///
/// # Errors
/// [`Error::Usage`] for a folder, a pipe or a device, [`Error::Io`] where it can't be examined.
pub fn writable(out: &Path) -> Result<()> {
    output::target(out).map(drop)
}

/// Refuses an output that belongs to the input, before anything is written: one of its files under any name, or one that the input would
/// include the next time.
///
/// # Errors
/// [`Error::Usage`], and as [`writable`].
pub fn apart(input: &Input, out: &Path) -> Result<()> {
    let target = output::target(out)?;
    match input.naming(&target) {
        Some(named) => {
            let (out, named) = (out.display(), named.display());
            Err(Error::Usage(format!("{out}: is of the input, {named}; write to a file that is no part of it")))
        }
        None => Ok(()),
    }
}

/// Writes the edges of `input` to `out` in `format`, by `threads` threads. It takes a few megabytes a thread beside
/// [`Input::scratch_bytes`] (and as much as the longest line of a METIS input); for METIS see [`convert_within`]. `watch` advances by
/// [`Input::bytes`] in each pass.
///
/// # Errors
/// Bad input, also ids that the format can't hold; a file that can't be written; those of the watch.
pub fn convert(input: &Input, out: &Path, format: Format, threads: usize, watch: &dyn Watch) -> Result<Converted> {
    convert_within(input, out, format, threads, MEMORY, watch)
}

/// Does the same as [`convert`], with `memory` bytes for the lists of METIS: less memory makes more passes. It also takes 4 bytes a vertex,
/// and the list of one vertex even if that alone is larger than `memory`.
///
/// # Errors
/// Those of [`convert`].
pub fn convert_within(
    input: &Input,
    out: &Path,
    format: Format,
    threads: usize,
    memory: u64,
    watch: &dyn Watch,
) -> Result<Converted> {
    let threads = threads.max(1);
    if !format.is_written() {
        let out = out.display();
        return Err(Error::Usage(format!("{out}: {format} is read, not written; choose npy, or another format")));
    }
    apart(input, out)?;
    let output = Output::create(out)?;
    let input = &input.clone().with_chunk(CHUNK);
    let (read, written) = match format {
        Format::Metis => metis::write(input, &output, threads, memory, watch)?,
        Format::Mtx | Format::Gr => {
            let counts = count(input, threads, watch)?;
            output.header(encode::header(format, counts.vertices, counts.edges).as_bytes())?;
            stream(input, &output, format, threads, watch)?
        }
        Format::Npy => {
            let counts = count(input, threads, watch)?;
            let (pairs, bytes) = if counts.vertices <= 1 << 32 { (Format::U32, 4) } else { (Format::U64, 8) };
            output.header(&encode::npy_header(counts.edges, bytes))?;
            stream(input, &output, pairs, threads, watch)?
        }
        _ => stream(input, &output, format, threads, watch)?,
    };
    let bytes = output.finish()?;
    Ok(Converted { read, written, bytes })
}

/// Encodes and appends all edges, in the order of the input. Returns the edges read and written.
fn stream(input: &Input, output: &Output, format: Format, threads: usize, watch: &dyn Watch) -> Result<(u64, u64)> {
    let turns = Turns::new(output);
    let mut visitors: Vec<Append<'_>> = (0..threads)
        .map(|_| Append { turns: &turns, input, encoder: Encoder::new(format), buffer: Vec::new() })
        .collect();
    let scan = input.scan_ordered(&mut visitors, watch)?;
    Ok((scan.edges, scan.edges))
}

/// Encodes the edges of a chunk, and appends them when all chunks before it have their place.
struct Append<'a> {
    turns: &'a Turns<'a>,
    input: &'a Input,
    encoder: Encoder,
    buffer: Vec<u8>,
}

impl Visitor for Append<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        self.encoder.edges(edges, &mut self.buffer).map_err(|id| {
            let format = self.encoder.format();
            let expected = format!("ids below 2^{} for {format}", self.encoder.bits());
            Error::input(
                self.input.name(),
                At::File,
                expected,
                format!("id {id}"),
                "choose a format of wider ids, such as u64",
            )
        })
    }

    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        self.turns.append(chunk, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn stopped(&mut self) {
        self.turns.stop();
    }
}

/// The figures in headers.
struct Counts {
    vertices: u64,
    edges: u64,
}

/// Counts the edges and finds the largest id, in one pass.
fn count(input: &Input, threads: usize, watch: &dyn Watch) -> Result<Counts> {
    struct Largest(Option<u64>);
    impl Visitor for Largest {
        fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
            let largest = match edges {
                Edges::Narrow(pairs) => pairs.as_flattened().iter().max().map(|id| u64::from(*id)),
                Edges::Wide(pairs) => pairs.as_flattened().iter().max().copied(),
            };
            self.0 = self.0.max(largest);
            Ok(())
        }
    }
    let mut visitors: Vec<Largest> = (0..threads).map(|_| Largest(None)).collect();
    let scan = input.scan(&mut visitors, watch)?;
    let largest = visitors.iter().filter_map(|visitor| visitor.0).max();
    let counted = match largest.map(|id| id.checked_add(1)) {
        None => 0,
        Some(Some(vertices)) => vertices,
        Some(None) => {
            let remedy = "choose a format without a header, such as u64";
            return Err(Error::input(input.name(), At::File, "ids below 2^64 - 1", "that id", remedy));
        }
    };
    Ok(Counts { vertices: counted.max(scan.declared_vertices.unwrap_or(0)), edges: scan.edges })
}
