//! Graphs with weights, by the rules of GTgraph (Bader & Madduri: GTgraph, a synthetic graph generator suite, 2006), and grids.
//!
//! | shape | edges |
//! |---|---|
//! | random | both ends of each are drawn uniformly, without loops |
//! | rmat | each descends into quadrants of given probabilities, as [`super::kronecker`] does; GTgraph's are 0.45, 0.15, 0.15 and 0.25. It varies them a little from level to level, which is left out |
//! | ssca2 | cliques of random size, and fewer edges between cliques the farther apart these are: [`ssca2`] |
//! | grid | of each cell to its neighbours on the right and below, so that paths are long and degrees small, as in a network of roads |
//!
//! Every edge has a whole weight of its own, each of a range as likely, also where an edge is repeated.

mod spec;
mod ssca2;

pub use spec::{Shape, WeightedSpec};
pub use ssca2::Parameters as Ssca2;

use super::kronecker::{self, Table};
use super::random::{key, number};
use crate::error::Result;
use crate::formats::WeightType;
use ssca2::Cliques;
use std::fmt;
use std::sync::Arc;

/// The purposes of a seed here.
const ENDS: u64 = 4;
const WEIGHTS: u64 = 5;

/// A generator of edges with weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    spec: WeightedSpec,
    shape: Built,
}

/// A shape with what is worked out of its parameters once.
#[derive(Debug, Clone, PartialEq)]
enum Built {
    Random { vertices: u64 },
    Rmat { scale: u32, table: Arc<Table> },
    Ssca2(Arc<Cliques>),
    Grid { columns: u64 },
}

impl Weighted {
    /// Returns the generator of a graph; the cliques of SSCA#2 are drawn here.
    ///
    /// # Errors
    /// [`crate::Error::Usage`] for parameters out of range; a stop, as cliques are counted.
    pub fn new(spec: WeightedSpec) -> Result<Weighted> {
        spec.check()?;
        let shape = match spec.shape {
            Shape::Random { vertices, .. } => Built::Random { vertices },
            Shape::Rmat { scale, quadrants, .. } => Built::Rmat { scale, table: Arc::new(Table::new(quadrants)) },
            Shape::Ssca2(parameters) => Built::Ssca2(Arc::new(Cliques::new(parameters, spec.seed)?)),
            Shape::Grid { columns, .. } => Built::Grid { columns },
        };
        Ok(Weighted { spec, shape })
    }

    /// Returns the parameters.
    pub fn spec(&self) -> &WeightedSpec {
        &self.spec
    }

    pub(super) fn edges(&self) -> u64 {
        match (&self.spec.shape, &self.shape) {
            (_, Built::Ssca2(cliques)) => cliques.edges(),
            (shape, _) => shape.edges().unwrap_or(0),
        }
    }

    pub(super) fn vertices(&self) -> u64 {
        self.spec.shape.vertices()
    }

    pub(super) fn bytes(&self) -> u64 {
        match &self.shape {
            Built::Ssca2(cliques) => cliques.bytes(),
            _ => 0,
        }
    }

    pub(super) fn words(&self) -> Vec<u64> {
        self.spec.words()
    }

    /// Makes the edges from `first_edge` on; `narrow` converts ids to their type.
    #[inline(always)]
    pub(super) fn fill<T>(&self, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T + Copy) {
        let seed = self.spec.seed;
        match &self.shape {
            Built::Random { vertices } => {
                let stream = key(seed, ENDS);
                for (edge, counter) in out.iter_mut().zip(first_edge..) {
                    let tail = below(*vertices, number(stream, counter.wrapping_mul(2)));
                    let head = below(vertices - 1, number(stream, counter.wrapping_mul(2).wrapping_add(1)));
                    *edge = [narrow(tail), narrow(head + u64::from(head >= tail))];
                }
            }
            Built::Rmat { scale, table } => kronecker::fill_by(table, (*scale, seed), first_edge, out, narrow),
            Built::Ssca2(cliques) => cliques.fill(first_edge, out, narrow),
            Built::Grid { columns } => {
                // A row of cells has an edge to the right and one down for each, but for its last, and then those down.
                let row = 2 * columns - 1;
                for (edge, counter) in out.iter_mut().zip(first_edge..) {
                    let place = counter % row;
                    // The last row has edges to the right alone.
                    let is_last = counter >= (self.vertices() / columns - 1) * row;
                    let (column, down) = if is_last { (place, false) } else { (place / 2, place % 2 == 1) };
                    let down = down || column + 1 == *columns;
                    let cell = counter / row * columns + column;
                    *edge = [narrow(cell), narrow(cell + if down { *columns } else { 1 })];
                }
            }
        }
    }

    /// Makes the weights of the edges from `first_edge` on, of this type.
    pub(super) fn fill_weights(&self, first_edge: u64, kind: WeightType, out: &mut [u32]) {
        let WeightedSpec { least, most, seed, .. } = self.spec;
        let (stream, numbers) = (key(seed, WEIGHTS), u64::from(most - least) + 1);
        for (weight, counter) in out.iter_mut().zip(first_edge..) {
            let whole = least + below(numbers, number(stream, counter)) as u32;
            *weight = match kind {
                WeightType::U32 => whole,
                WeightType::F32 => (whole as f32).to_bits(),
            };
        }
    }
}

impl fmt::Display for Weighted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(f)
    }
}

/// Returns a number below `end` by a random number.
#[inline(always)]
fn below(end: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}
