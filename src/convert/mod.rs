//! Converts any input to a file of any supported format, in bounded memory.
//!
//! | to | passes | what is written |
//! |---|---|---|
//! | `u32`, `u64`, `graph500`, `text` | 1 | the edges of the input, in its order |
//! | `mtx`, `gr` | 2 (for the header) | the same with 1-based ids; unweighted: `mtx` as pattern, `gr` with lengths 1 |
//! | `npy` | 2 (for the header) | the edges of the input, with 32 bits per id if the ids fit, otherwise 64 |
//! | `metis` | 3 or more | the simple graph: see `convert/metis.rs` |
//!
//! For undirected edges, the output contains the directions that the input lists. A symmetric matrix lists only one
//! direction. Only `mtx` can record this, as `symmetric`; for other formats, gpugraph logs a warning.
//!
//! Input from a stream (`-`, pipes) is first copied to a file next to the output: `convert/spool.rs`.
//!
//! Lists are converted between their own formats: `convert/list.rs`.
//!
//! Weights are written if both the input and the format have them. A pass over the edges finds their type; if the
//! format has a header, the same pass also counts the edges (`convert/weights.rs`). The weights of `graph500` go to a
//! separate file next to the edges.
//!
//! An output named `.gz`, `.zst`, `.bz2` or `.xz` is packed, with one member or frame per chunk, so that all threads
//! can pack. The output is written under a temporary name in the same folder, synced and renamed, so it appears only
//! when it is complete. Its bytes do not depend on the number of threads.

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

/// Number of input bytes that a thread encodes at a time.
const CHUNK: usize = 1 << 20;

/// Default memory in bytes for the adjacency lists of METIS output.
pub const MEMORY: u64 = 1 << 30;

/// Result of a conversion: the number of edges, and the size of the output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Converted {
    /// Number of edges in the input, including self-loops and repeats.
    pub read: u64,
    /// Number of edges in the output; for METIS, in the simple graph.
    pub written: u64,
    /// Size of the output in bytes, without a separate weights file.
    pub bytes: u64,
}

/// Returns an error if the output exists and is not a regular file, before anything is read.
///
/// # Errors
/// [`Error::Usage`] for a folder, a pipe or a device; [`Error::Io`] if the output can't be examined.
pub fn writable(out: &Path) -> Result<()> {
    target(out).map(drop)
}

/// Returns an error if the disk of the output `out` has fewer than `bytes` bytes free. This check comes first, because
/// a full disk would also affect others who write to it.
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

/// Returns an error, before anything is written, if the output is one of the input's files, under any name. Also
/// returns an error if the input is a folder or pattern that would include the output in the next run.
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

/// The format, the weights and the memory limit of the file to write.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Format of the file.
    pub format: Format,
    /// The weights to write, if the format can store weights. [`WeightsOption::Auto`] writes the weights that the
    /// input has.
    pub weights: WeightsOption,
    /// Memory in bytes for the adjacency lists of METIS output, see [`MEMORY`].
    pub memory: u64,
}

/// Writes the edges of `input` to `out` in `format` with `threads` threads, including weights if both input and format
/// have them. Needs a few megabytes of memory per thread in addition to [`Input::scratch_bytes`], and as many bytes as
/// the longest line of a METIS input. For METIS output see [`convert_as`]. `watch` advances by [`Input::bytes`] in
/// each pass.
///
/// # Errors
/// Bad input, including ids and weights that the format can't store; an error if the file can't be written; and any
/// error that the watch returns.
pub fn convert(input: &Input, out: &Path, format: Format, threads: usize, watch: &dyn Watch) -> Result<Converted> {
    convert_as(input, out, Target { format, weights: WeightsOption::Auto, memory: MEMORY }, threads, watch)
}

/// Like [`convert`], but writes the weights that `target` chooses, and uses `target.memory` bytes for the adjacency
/// lists of METIS output. With less memory, METIS output needs more passes. In addition, METIS output needs 4 bytes of
/// memory per vertex, and enough memory for the longest single list even if that exceeds `target.memory`.
///
/// # Errors
/// The errors of [`convert`]; [`Error::Usage`] if `target` requests weights that the input does not have or the format
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
    // METIS files are undirected.
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
    // A kill between these two lines leaves weights without edges, which no reader takes for a graph.
    weights_output.map(OutputFile::finish).transpose()?;
    let bytes = output.finish()?;
    Ok(Converted { read, written, bytes })
}
