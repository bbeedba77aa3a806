//! Generators of edges. Edge `i` depends only on the parameters and on `i`.
//!
//! The random numbers are counter-based, and all arithmetic is on integers. So the same parameters produce the same
//! edges on any machine and device, and with any number of threads. Edges can be generated in any order and from any
//! starting point.

mod kronecker;
mod permutation;
mod product;
pub(crate) mod random;
mod uniform;
mod weighted;

pub use product::Product;
pub use weighted::{Shape, Ssca2, Weighted, WeightedSpec};

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::convert::{self, Converted};
use crate::error::{Error, Result};
use crate::formats::{EdgeGenerator, Format, Input, KroneckerParameters, Watch, WeightType};

/// The kinds of generated graphs. [`Generator::kronecker`] and [`Generator::uniform`] check their parameters. If a
/// generator is constructed directly, a scale above [`MAX_SCALE`] counts as [`MAX_SCALE`].
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// Random edges between 2^`scale` vertices.
    Scaled {
        /// Distribution from which the ends of edges are drawn.
        model: Model,
        /// log2 of the number of vertices of the graph, at most 40.
        scale: u32,
        /// Number of edges per vertex of the graph, which may be fractional.
        edge_factor: f64,
        /// Seed of the random numbers that generate the graph.
        seed: u64,
    },
    /// The tensor product of two graphs.
    Product(Product),
    /// A generated graph with weights.
    Weighted(Weighted),
}

/// Distribution from which the ends of edges are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// R-MAT with the parameters of Graph500, and with permuted ids.
    Kronecker = 1,
    /// Pairs of vertices drawn uniformly, including self-loops and repeated edges.
    Uniform = 2,
}

impl Model {
    fn name(self) -> &'static str {
        match self {
            Model::Kronecker => "kronecker",
            Model::Uniform => "uniform",
        }
    }
}

/// The largest scale of a random graph. The scale is log2 of the number of vertices.
pub const MAX_SCALE: u32 = 40;
/// The scales that a job file or the command line may request.
pub const SCALES: RangeInclusive<u32> = 1..=MAX_SCALE;
/// The largest edge factor (edges per vertex), which must also be greater than 0.
pub const MAX_EDGE_FACTOR: u32 = 1 << 20;
/// Default range of edge weights in generated weighted graphs.
pub const WEIGHTS: RangeInclusive<u32> = 1..=1000;
/// Denominator of the quadrant probabilities of R-MAT, which are stored as integers: 1 means a millionth.
const PARTS: u32 = 1_000_000;

/// Returns the default number of edges of a random graph with weights: ten per vertex.
pub fn edges_of(vertices: u64) -> u64 {
    vertices.saturating_mul(10)
}

impl Generator {
    /// Returns a Kronecker (R-MAT) graph with A = 0.57, B = C = 0.19, D = 0.05.
    ///
    /// # Errors
    /// [`Error::Usage`] if the scale is outside [`SCALES`], or the edge factor is not above 0 and at most
    /// [`MAX_EDGE_FACTOR`].
    pub fn kronecker(scale: u32, edge_factor: f64, seed: u64) -> Result<Self> {
        Generator::scaled(Model::Kronecker, scale, edge_factor, seed)
    }

    /// Returns a graph of uniform random pairs.
    ///
    /// # Errors
    /// The errors of [`Self::kronecker`].
    pub fn uniform(scale: u32, edge_factor: f64, seed: u64) -> Result<Self> {
        Generator::scaled(Model::Uniform, scale, edge_factor, seed)
    }

    fn scaled(model: Model, scale: u32, edge_factor: f64, seed: u64) -> Result<Self> {
        let wrong = |expected: String, found: String| {
            Err(Error::Usage(format!("{}: expected {expected}, found {found}", model.name())))
        };
        if !SCALES.contains(&scale) {
            let expected = format!("a scale from {} to {}", SCALES.start(), SCALES.end());
            return wrong(expected, scale.to_string());
        }
        if !(edge_factor > 0.0 && edge_factor <= f64::from(MAX_EDGE_FACTOR)) {
            let expected = format!("an edge factor above 0 and at most {MAX_EDGE_FACTOR}");
            return wrong(expected, edge_factor.to_string());
        }
        Ok(Generator::Scaled { model, scale, edge_factor, seed })
    }

    /// Fills `out` with the generated edges from number `first_edge` on. `narrow` converts each id to `T`.
    #[inline(always)]
    fn fill_as<T>(&self, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T + Copy) {
        match self {
            Generator::Scaled { model, scale, seed, .. } => {
                let scale = (*scale).min(MAX_SCALE);
                match model {
                    Model::Kronecker => kronecker::fill(&kronecker::GRAPH500, (scale, *seed), first_edge, out, narrow),
                    Model::Uniform => uniform::fill(scale, *seed, first_edge, out, narrow),
                }
            }
            Generator::Product(product) => product.fill(first_edge, out, narrow),
            Generator::Weighted(weighted) => weighted.fill(first_edge, out, narrow),
        }
    }
}

impl EdgeGenerator for Generator {
    fn edges(&self) -> u64 {
        match self {
            // A power of two times a float is exact, and the cast saturates.
            Generator::Scaled { scale, edge_factor, .. } => {
                (edge_factor * (1u64 << (*scale).min(MAX_SCALE)) as f64).round() as u64
            }
            Generator::Product(product) => product.edges(),
            Generator::Weighted(weighted) => weighted.edges(),
        }
    }

    fn vertices(&self) -> u64 {
        match self {
            Generator::Scaled { scale, .. } => 1 << (*scale).min(MAX_SCALE),
            Generator::Product(product) => product.vertices(),
            Generator::Weighted(weighted) => weighted.vertices(),
        }
    }

    fn fill(&self, first_edge: u64, out: &mut [[u64; 2]]) {
        self.fill_as(first_edge, out, |id| id);
    }

    fn fill_narrow(&self, first_edge: u64, out: &mut [[u32; 2]]) {
        debug_assert!(self.vertices() <= 1 << 32);
        self.fill_as(first_edge, out, |id| id as u32);
    }

    fn weights(&self) -> Option<WeightType> {
        matches!(self, Generator::Weighted(_)).then_some(WeightType::U32)
    }

    fn fill_weights(&self, first_edge: u64, kind: WeightType, out: &mut [u32]) {
        if let Generator::Weighted(weighted) = self {
            weighted.fill_weights(first_edge, kind, out);
        }
    }

    fn identity(&self) -> u64 {
        let mut words = vec![random::VERSION];
        match self {
            Generator::Scaled { model, scale, edge_factor, seed } => {
                words.extend([*model as u64, u64::from(*scale), edge_factor.to_bits(), *seed]);
            }
            Generator::Product(product) => words.extend([3, product.hash()]),
            Generator::Weighted(weighted) => words.extend(weighted.words()),
        }
        xxh3_64(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    fn scratch_bytes(&self) -> u64 {
        match self {
            Generator::Product(product) => product.bytes(),
            Generator::Weighted(weighted) => weighted.bytes(),
            Generator::Scaled { .. } => 0,
        }
    }

    fn on_gpu(&self) -> Option<KroneckerParameters> {
        match self {
            Generator::Scaled { model: Model::Kronecker, scale, seed, .. } => kronecker::on_gpu(*scale, *seed),
            _ => None,
        }
    }
}

/// Writes all edges to `path` in `format` with `threads` threads; the file is compressed if its name has the extension
/// of a compression format. Like [`convert::convert`], this takes a fixed amount of memory, and the file appears only
/// when it is complete. Its contents do not depend on the number of threads. Each pass over the edges advances `watch`
/// by [`Input::bytes`] of the generator.
///
/// # Errors
/// Bad input if an id does not fit the format; an error if the file can't be written; and any error from `watch`.
pub fn write(
    generator: Generator,
    path: &Path,
    format: Format,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Converted> {
    convert::convert(&Input::generated(generator), path, format, threads, watch)
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generator::Scaled { model, scale, edge_factor, seed } => {
                write!(f, "{} scale {scale} edge factor {edge_factor} seed {seed}", model.name())
            }
            Generator::Product(product) => product.fmt(f),
            Generator::Weighted(weighted) => weighted.fmt(f),
        }
    }
}
