//! Edges made, not read: generators whose edge `i` depends on their parameters and `i` alone.
//!
//! The random numbers are counter-based and all arithmetic is on integers, so the same parameters give the same
//! edges on any machine, device and number of threads, in any order and from any starting point.

mod kronecker;
mod product;
mod random;
mod source;
mod uniform;

pub use product::Product;
pub(crate) use source::{SCRATCH, scan};

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::convert::{self, Converted};
use crate::error::{Error, Result};
use crate::formats::{Format, Input, Watch};

/// Kinds of graphs. [`Generator::kronecker`] and [`Generator::uniform`] check the parameters; scales over
/// [`MAX_SCALE`] made without them count as that.
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// R-MAT by the Graph500 parameters, ids permuted.
    Kronecker {
        /// log2 of the number of vertices, at most 40.
        scale: u32,
        /// Edges a vertex; may be fractional.
        edge_factor: f64,
        /// Another seed, another graph.
        seed: u64,
    },
    /// Pairs of vertices drawn uniformly, loops and repeats included.
    Uniform {
        /// log2 of the number of vertices, at most 40.
        scale: u32,
        /// Edges a vertex; may be fractional.
        edge_factor: f64,
        /// Another seed, another graph.
        seed: u64,
    },
    /// The tensor product of two graphs.
    Product(Product),
}

/// The largest scale.
pub const MAX_SCALE: u32 = 40;
/// Scales that can be asked for, be it in a job file or on the command line.
pub const SCALES: RangeInclusive<u32> = 1..=MAX_SCALE;
/// Edge factors are above 0, and at most this.
pub const MAX_EDGE_FACTOR: u32 = 1 << 20;

impl Generator {
    /// A Kronecker (R-MAT) graph with A = 0.57, B = C = 0.19, D = 0.05.
    ///
    /// # Errors
    /// Usage, when the scale is not of [`SCALES`] or the edge factor not above 0 and at most [`MAX_EDGE_FACTOR`].
    pub fn kronecker(scale: u32, edge_factor: f64, seed: u64) -> Result<Self> {
        check("kronecker", scale, edge_factor)?;
        Ok(Generator::Kronecker { scale, edge_factor, seed })
    }

    /// A graph of uniform random pairs.
    ///
    /// # Errors
    /// As [`Self::kronecker`].
    pub fn uniform(scale: u32, edge_factor: f64, seed: u64) -> Result<Self> {
        check("uniform", scale, edge_factor)?;
        Ok(Generator::Uniform { scale, edge_factor, seed })
    }

    /// How many edges it makes.
    pub fn edges(&self) -> u64 {
        match self {
            // a power of two times a float is exact, and the cast saturates
            Generator::Kronecker { scale, edge_factor, .. } | Generator::Uniform { scale, edge_factor, .. } => {
                (edge_factor * (1u64 << (*scale).min(MAX_SCALE)) as f64).round() as u64
            }
            Generator::Product(product) => product.edges(),
        }
    }

    /// Ids are below it.
    pub fn vertices(&self) -> u64 {
        match self {
            Generator::Kronecker { scale, .. } | Generator::Uniform { scale, .. } => 1 << (*scale).min(MAX_SCALE),
            Generator::Product(product) => product.vertices(),
        }
    }

    /// Makes the edges `first_edge ..` into `out`; the range must lie below [`Self::edges`].
    pub fn fill(&self, first_edge: u64, out: &mut [[u64; 2]]) {
        match self {
            Generator::Kronecker { scale, seed, .. } => {
                kronecker::fill((*scale).min(MAX_SCALE), *seed, first_edge, out, |id| id)
            }
            Generator::Uniform { scale, seed, .. } => {
                uniform::fill((*scale).min(MAX_SCALE), *seed, first_edge, out, |id| id)
            }
            Generator::Product(product) => product.fill(first_edge, out, |id| id),
        }
    }

    /// As [`Self::fill`]. Only for generators of at most 2^32 vertices: higher bits of ids are cut off.
    pub fn fill_narrow(&self, first_edge: u64, out: &mut [[u32; 2]]) {
        debug_assert!(self.vertices() <= 1 << 32);
        match self {
            Generator::Kronecker { scale, seed, .. } => {
                kronecker::fill((*scale).min(MAX_SCALE), *seed, first_edge, out, |id| id as u32)
            }
            Generator::Uniform { scale, seed, .. } => {
                uniform::fill((*scale).min(MAX_SCALE), *seed, first_edge, out, |id| id as u32)
            }
            Generator::Product(product) => product.fill(first_edge, out, |id| id as u32),
        }
    }

    /// A hash of the parameters and of the version of the random numbers.
    pub fn identity(&self) -> u64 {
        let mut words = vec![random::VERSION];
        match self {
            Generator::Kronecker { scale, edge_factor, seed } => {
                words.extend([1, u64::from(*scale), edge_factor.to_bits(), *seed]);
            }
            Generator::Uniform { scale, edge_factor, seed } => {
                words.extend([2, u64::from(*scale), edge_factor.to_bits(), *seed]);
            }
            Generator::Product(product) => words.extend([3, product.hash()]),
        }
        xxh3_64(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// Bytes that the generator itself keeps in memory: the factors of a product.
    pub fn scratch_bytes(&self) -> u64 {
        match self {
            Generator::Product(product) => product.bytes(),
            _ => 0,
        }
    }
}

/// Writes all edges to `path` in `format` (packed where the name says so), by `threads` threads in fixed memory: as
/// [`convert::convert`] does, so the file is whole or not there, and the same for any number of threads. `watch` is
/// advanced by [`Input::bytes`] of the generator, once a pass.
///
/// # Errors
/// Bad input when an id does not fit the format; a file that can't be written; what the watch returns.
pub fn write(
    generator: Generator,
    path: &Path,
    format: Format,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Converted> {
    convert::convert(&Input::generated(generator), path, format, threads, watch)
}

/// Bytes of a pair in the file that the generator stands for.
pub(crate) fn record(generator: &Generator) -> u64 {
    if generator.vertices() > 1 << 32 { 16 } else { 8 }
}

fn check(kind: &str, scale: u32, edge_factor: f64) -> Result<()> {
    if !SCALES.contains(&scale) {
        let (least, most) = (SCALES.start(), SCALES.end());
        return Err(Error::Usage(format!("{kind}: expected a scale from {least} to {most}, found {scale}")));
    }
    if !(edge_factor > 0.0 && edge_factor <= f64::from(MAX_EDGE_FACTOR)) {
        let expected = format!("an edge factor above 0 and at most {MAX_EDGE_FACTOR}");
        return Err(Error::Usage(format!("{kind}: expected {expected}, found {edge_factor}")));
    }
    Ok(())
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generator::Kronecker { scale, edge_factor, seed } => {
                write!(f, "kronecker scale {scale} edge factor {edge_factor} seed {seed}")
            }
            Generator::Uniform { scale, edge_factor, seed } => {
                write!(f, "uniform scale {scale} edge factor {edge_factor} seed {seed}")
            }
            Generator::Product(product) => product.fmt(f),
        }
    }
}
