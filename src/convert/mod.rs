//! Converts any input to a file of any format, in fixed memory.
//!
//! | to | passes | what is written |
//! |---|---|---|
//! | `u32`, `u64`, `graph500`, `text` | 1 | the edges of the input, in its order |
//! | `mtx`, `gr` | 2 (for the header) | the same edges, with ids from 1; without weights, `mtx` as pattern, `gr` with lengths of 1 |
//! | `npy` | 2 (for the header) | the edges of the input, with 32 bits per id if the ids fit, otherwise 64 |
//! | `metis` | 3 or more | the simple graph: see `convert/metis.rs` |
//!
//! If edges are undirected, the output lists each edge in the directions that the input lists. A symmetric matrix lists
//! only one direction. Only `mtx` can record this, as `symmetric`; for other formats, gpugraph logs a warning.
//!
//! Input from a stream (`-`, pipes) is first copied to a file next to the output: `convert/spool.rs`.
//!
//! Lists are converted between their own formats: `convert/list.rs`.
//!
//! Weights are kept if both input and format have them. A pass finds their type; it is the same pass that counts for a
//! header, if the format has one (`convert/weights.rs`). The weights of `graph500` are in a separate file next to the
//! edges.
//!
//! A file named `.gz`, `.zst`, `.bz2` or `.xz` is packed, with one member or frame per chunk, so that all threads can
//! pack. The file is written under a temporary name in the same folder, synced and renamed, so it appears only when it
//! is complete. Its bytes do not depend on the number of threads.

mod counts;
mod encode;
mod list;
mod metis;
mod output;
mod part;
mod spool;
mod weights;
mod writing;

use std::path::Path;

use crate::error::{Error, Result};
use crate::formats::{Format, Input, UseOfDirection, Watch, WeightType, Weights, WeightsOption};
use crate::process::host;
use crate::size;
use crate::store::replace::target;
use counts::count;
pub use list::{WrittenList, write_list};
use output::OutputFile;
pub use spool::StreamCopy;
use writing::Writing;

/// Number of bytes of input that a thread encodes at once.
const CHUNK: usize = 1 << 20;

/// Default number of bytes of memory for the adjacency lists of METIS output.
pub const MEMORY: u64 = 1 << 30;

/// Result of a conversion: the number of edges, and the size of the output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Converted {
    /// Number of edges in the input, including loops and repeats.
    pub read: u64,
    /// Number of edges in the file; for METIS, of the simple graph.
    pub written: u64,
    /// Size of the file in bytes, without a separate weights file.
    pub bytes: u64,
}

/// Refuses an output that exists and is not a regular file, before anything is read.
///
/// # Errors
/// [`Error::Usage`] for a folder, a pipe or a device; [`Error::Io`] if the output can't be examined.
pub fn writable(out: &Path) -> Result<()> {
    target(out).map(drop)
}

/// Refuses an output of `bytes` bytes if the disk has no room for it. A full disk harms everyone who writes there.
///
/// # Errors
/// [`Error::OutputFull`], and the errors of [`writable`].
pub fn room_for(out: &Path, bytes: u64) -> Result<()> {
    let path = target(out)?;
    match host::free_disk(&path) {
        Ok(free) if free < bytes => {
            let what = format!("it takes {}, {} is free", size::show(bytes), size::show(free));
            Err(Error::OutputFull { path, what })
        }
        _ => Ok(()),
    }
}

/// Refuses an output that belongs to the input, before anything is written. Such an output is a file of the input under
/// any name, or a file that the input's folder or pattern would include the next time.
///
/// # Errors
/// [`Error::Usage`], and the errors of [`writable`].
pub fn refuse_overlap(input: &Input, out: &Path) -> Result<()> {
    let target = target(out)?;
    match input.naming(&target) {
        Some(named) => {
            let (out, named) = (out.display(), named.display());
            Err(Error::Usage(format!("{out}: belongs to the input, {named}; write to another file")))
        }
        None => Ok(()),
    }
}

/// The kind of file to write.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The format of the file.
    pub format: Format,
    /// The weights to write, if the format can store weights. [`WeightsOption::Auto`] takes the weights of the input.
    pub weights: WeightsOption,
    /// Memory in bytes for the lists of METIS, see [`MEMORY`].
    pub memory: u64,
}

/// Writes the edges of `input` to `out` in `format` with `threads` threads, including weights if both input and format
/// have them. This takes a few megabytes of memory per thread in addition to [`Input::scratch_bytes`], and as much as
/// the longest line of a METIS input. For METIS output see [`convert_as`]. `watch` advances by [`Input::bytes`] in each
/// pass.
///
/// # Errors
/// Bad input, including ids and weights that the format can't store; an error if the file can't be written; and any
/// error that the watch returns.
pub fn convert(input: &Input, out: &Path, format: Format, threads: usize, watch: &dyn Watch) -> Result<Converted> {
    convert_as(input, out, Target { format, weights: WeightsOption::Auto, memory: MEMORY }, threads, watch)
}

/// Like [`convert`], with the chosen weights, and with `target.memory` bytes for the lists of METIS. With less memory
/// METIS needs more passes. It also needs 4 bytes per vertex, and room for the list of a single vertex even if that is
/// larger than `target.memory`.
///
/// # Errors
/// The errors of [`convert`]; [`Error::Usage`] if weights are asked for that the input does not have or that the format
/// can't store.
pub fn convert_as(input: &Input, out: &Path, target: Target, threads: usize, watch: &dyn Watch) -> Result<Converted> {
    let (threads, format) = (threads.max(1), target.format);
    if !format.is_written() {
        let out = out.display();
        return Err(Error::Usage(format!(
            "{out}: gpugraph reads {format} but can't write it; choose npy, or another format"
        )));
    }
    refuse_overlap(input, out)?;
    // METIS has no direction.
    let of_direction = if format == Format::Metis { UseOfDirection::Dropped } else { UseOfDirection::Written };
    let input = &input.clone().with_chunk(CHUNK).with_use_of_direction(of_direction);
    let (weights, counts) = weights::decide(input, out, (format, target.weights), threads, watch)?;
    if matches!(weights, Some(WeightType::F32 | WeightType::F64)) && matches!(format, Format::Gr | Format::Metis) {
        tracing::warn!(
            "{}: has weights with fractions, which the definition of {format} does not allow",
            out.display()
        );
    }
    let weights_output = weights::weights_file(input, out, format, weights.is_some())?;
    let weights_output = weights_output.map(|path| OutputFile::create(&path)).transpose()?;
    let output = OutputFile::create(out)?;
    let input = &input.clone().with_weights(weights.map_or(Weights::Skip, Weights::Read));
    let counts = || counts.map_or_else(|| count(input, threads, watch), Ok);
    let writing =
        Writing { input, out, output: &output, weights_output: weights_output.as_ref(), weights, threads, watch };
    let (read, written) = match format {
        Format::Metis => metis::write(&writing, counts()?, target.memory)?,
        Format::Mtx | Format::Gr => {
            let counts = counts()?;
            counts.check(input)?;
            output.push(encode::header(format, counts, weights).as_bytes())?;
            writing.stream(format)?
        }
        Format::Npy => {
            let counts = counts()?;
            let (pairs, bytes) = if counts.vertices <= 1 << 32 { (Format::U32, 4) } else { (Format::U64, 8) };
            output.push(&encode::npy_header(counts.edges, bytes))?;
            writing.stream(pairs)?
        }
        _ => writing.stream(format)?,
    };
    // A kill between these two lines leaves weights without edges, which nothing reads as a graph.
    weights_output.map(OutputFile::finish).transpose()?;
    let bytes = output.finish()?;
    Ok(Converted { read, written, bytes })
}
