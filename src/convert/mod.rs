//! Edges written: from any input to a file of any format, in fixed memory.
//!
//! | to | passes | what is written |
//! |---|---|---|
//! | `u32`, `u64`, `graph500`, `text` | 1 | the edges as they stand, in the order of the input |
//! | `mtx`, `gr` | 2 (for the header) | the same, ids from 1; `mtx` as pattern general, `gr` with lengths of 1 |
//! | `npy` | 2 (for the header) | the edges as they stand, of 32 bits an id where these fit, else of 64 |
//! | `metis` | 3 and more | the simple graph: see `convert/metis.rs` |
//!
//! What comes by a stream (`-`, pipes) is copied beside the file first: `convert/spool.rs`.
//!
//! Weights are dropped. Names that end in `.gz`, `.zst`, `.bz2` or `.xz` are packed, a chunk a member or frame, so that all threads
//! pack. The file is written under a temporary name beside its own, synced and renamed: it is whole or not there.
//! The same bytes come out for any number of threads.

mod encode;
mod metis;
mod output;
mod part;
mod spool;

use std::path::Path;

use crate::error::{At, Error, Result};
use crate::formats::{Edges, Format, Input, Visitor, Watch};
use encode::Encoder;
use output::{Output, Turns};
pub use spool::Copy;

/// Bytes of input that a thread encodes at a time.
const CHUNK: usize = 1 << 20;

/// Memory for lists of neighbours unless told, in bytes.
pub const MEMORY: u64 = 1 << 30;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Converted {
    /// Edges of the input, loops and repeats included.
    pub read: u64,
    /// Edges of the file; for METIS, of the simple graph.
    pub written: u64,
    /// The size of the file.
    pub bytes: u64,
}

/// Refuses what is there and no regular file, as writing to it would, before anything is read.
///
/// # Errors
/// [`Error::Usage`] for a folder, a pipe or a device, [`Error::Io`] for what can't be looked at.
pub fn writable(out: &Path) -> Result<()> {
    output::target(out).map(drop)
}

/// Refuses an output that is of the input, before anything is written: one of its files by whatever name, or one that would be the
/// next time.
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

/// Writes the edges of `input` to `out` in `format`, by `threads` threads. Takes a few megabytes a thread beside
/// [`Input::scratch_bytes`] (and as much as the longest line of a METIS input); for METIS see [`convert_within`].
/// `watch` is advanced by [`Input::bytes`] in each pass.
///
/// # Errors
/// Bad input, also for ids that the format can't hold; a file that can't be written; what the watch returns.
pub fn convert(input: &Input, out: &Path, format: Format, threads: usize, watch: &dyn Watch) -> Result<Converted> {
    convert_within(input, out, format, threads, MEMORY, watch)
}

/// As [`convert`], with `memory` bytes for the lists of METIS: smaller makes more passes. On top of it come 4 bytes a
/// vertex, and the list of a vertex that is larger than `memory` by itself.
///
/// # Errors
/// As [`convert`].
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

/// Encodes and appends all edges, in the order of the input; edges read and written.
fn stream(input: &Input, output: &Output, format: Format, threads: usize, watch: &dyn Watch) -> Result<(u64, u64)> {
    let turns = Turns::new(output);
    let mut visitors: Vec<Append<'_>> = (0..threads)
        .map(|_| Append { turns: &turns, input, encoder: Encoder::new(format), buffer: Vec::new() })
        .collect();
    let scan = input.scan_ordered(&mut visitors, watch)?;
    Ok((scan.edges, scan.edges))
}

/// Encodes the edges of a chunk and appends them when it is its turn.
struct Append<'a> {
    turns: &'a Turns<'a>,
    input: &'a Input,
    encoder: Encoder,
    buffer: Vec<u8>,
}

impl Visitor for Append<'_> {
    fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
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

/// What headers need to know.
struct Counts {
    vertices: u64,
    edges: u64,
}

/// One pass for the number of edges and the largest id.
fn count(input: &Input, threads: usize, watch: &dyn Watch) -> Result<Counts> {
    struct Largest(Option<u64>);
    impl Visitor for Largest {
        fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
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
