//! Graphs with weights: the graphs of GTgraph (Bader & Madduri: GTgraph, a synthetic graph generator suite, 2006), and
//! grids.
//!
//! | shape | edges |
//! |---|---|
//! | random | both ends of an edge are drawn uniformly, without self-loops |
//! | rmat | an edge descends into quadrants with given probabilities, as in [`super::kronecker`]; GTgraph's are 0.45, 0.15, 0.15 and 0.25. GTgraph also varies them a little from level to level; this generator does not |
//! | ssca2 | cliques of random size, with edges between cliques that become fewer with their distance: [`ssca2`] |
//! | grid | from each cell to its neighbours on the right and below, so that paths are long and degrees small, as in a road network |
//!
//! Every edge, including each copy of a repeated edge, has its own integer weight, drawn uniformly from a range.

mod spec;
mod ssca2;

pub use spec::{Shape, WeightedSpec};
pub use ssca2::Parameters as Ssca2;

use super::kronecker::{self, AliasTable};
use super::random::{below, key, number};
use crate::error::Result;
use crate::formats::WeightType;
use ssca2::Cliques;
use std::fmt;
use std::sync::Arc;

/// Ids of the purposes for which this file draws random numbers. Each purpose has its own key.
const ENDS: u64 = 4;
const WEIGHTS: u64 = 5;

/// A generator of edges with weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    spec: WeightedSpec,
    shape: BuiltShape,
}

/// A shape of a graph, with values that are computed once from its parameters.
#[derive(Debug, Clone, PartialEq)]
enum BuiltShape {
    Random { vertices: u64 },
    Rmat { scale: u32, table: Arc<AliasTable> },
    Ssca2(Arc<Cliques>),
    Grid { columns: u64 },
}

impl Weighted {
    /// Creates the generator of a graph. Draws the cliques of an SSCA#2 graph.
    ///
    /// # Errors
    /// [`crate::Error::Usage`] if parameters are out of range; [`crate::Error::Stopped`] if a POSIX signal stops the
    /// run while cliques are counted.
    pub fn new(spec: WeightedSpec) -> Result<Weighted> {
        spec.check()?;
        let shape = match spec.shape {
            Shape::Random { vertices, .. } => BuiltShape::Random { vertices },
            Shape::Rmat { scale, quadrants, .. } => {
                BuiltShape::Rmat { scale, table: Arc::new(AliasTable::new(quadrants)) }
            }
            Shape::Ssca2(parameters) => BuiltShape::Ssca2(Arc::new(Cliques::new(parameters, spec.seed)?)),
            Shape::Grid { columns, .. } => BuiltShape::Grid { columns },
        };
        Ok(Weighted { spec, shape })
    }

    pub(super) fn edges(&self) -> u64 {
        match (&self.spec.shape, &self.shape) {
            (_, BuiltShape::Ssca2(cliques)) => cliques.edges(),
            (shape, _) => shape.edges().unwrap_or(0),
        }
    }

    pub(super) fn vertices(&self) -> u64 {
        self.spec.shape.vertices()
    }

    pub(super) fn bytes(&self) -> u64 {
        match &self.shape {
            BuiltShape::Ssca2(cliques) => cliques.bytes(),
            _ => 0,
        }
    }

    pub(super) fn words(&self) -> Vec<u64> {
        self.spec.words()
    }

    /// Fills `out` with the generated edges from number `first_edge` on. `narrow` converts each id to `T`.
    #[inline(always)]
    pub(super) fn fill<T>(&self, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T + Copy) {
        let seed = self.spec.seed;
        match &self.shape {
            BuiltShape::Random { vertices } => {
                let stream = key(seed, ENDS);
                for (edge, counter) in out.iter_mut().zip(first_edge..) {
                    let tail = below(*vertices, number(stream, counter.wrapping_mul(2)));
                    let head = below(vertices - 1, number(stream, counter.wrapping_mul(2).wrapping_add(1)));
                    *edge = [narrow(tail), narrow(head + u64::from(head >= tail))];
                }
            }
            BuiltShape::Rmat { scale, table } => kronecker::fill(table, (*scale, seed), first_edge, out, narrow),
            BuiltShape::Ssca2(cliques) => cliques.fill(first_edge, out, narrow),
            BuiltShape::Grid { columns } => {
                // In a row of cells, each cell has an edge to the right and one down, except the last, which only has
                // one down.
                let row = 2 * columns - 1;
                for (edge, counter) in out.iter_mut().zip(first_edge..) {
                    let place = counter % row;
                    // The last row only has edges to the right.
                    let is_last = counter >= (self.vertices() / columns - 1) * row;
                    let (column, down) = if is_last { (place, false) } else { (place / 2, place % 2 == 1) };
                    let down = down || column + 1 == *columns;
                    let cell = counter / row * columns + column;
                    *edge = [narrow(cell), narrow(cell + if down { *columns } else { 1 })];
                }
            }
        }
    }

    /// Generates the weights of the edges from number `first_edge` on, in the type `kind`.
    pub(super) fn fill_weights(&self, first_edge: u64, kind: WeightType, out: &mut [u32]) {
        let WeightedSpec { least, most, seed, .. } = self.spec;
        let (stream, numbers) = (key(seed, WEIGHTS), u64::from(most - least) + 1);
        for (words, counter) in out.chunks_exact_mut(kind.words()).zip(first_edge..) {
            let whole = least + below(numbers, number(stream, counter)) as u32;
            let bits = match kind {
                WeightType::U32 | WeightType::U64 => whole.into(),
                WeightType::F32 => (whole as f32).to_bits().into(),
                WeightType::F64 => f64::from(whole).to_bits(),
            };
            words.iter_mut().zip([bits as u32, (bits >> 32) as u32]).for_each(|(word, part)| *word = part);
        }
    }
}

impl fmt::Display for Weighted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(f)
    }
}
