//! Parameters of graphs with weights.

use super::ssca2;
use crate::error::{Error, Result};
use crate::generate::{MAX_SCALE, PARTS, SCALES};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum number of vertices of a random graph or a grid, and maximum number of edges of any shape.
const MOST: u64 = 1 << 40;

/// The parameters of a generated graph with weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WeightedSpec {
    /// The shape (family of graphs) with its parameters.
    pub shape: Shape,
    /// The smallest edge weight.
    pub least: u32,
    /// The largest edge weight.
    pub most: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// The shape of a generated graph with weights: the family of graphs, such as R-MAT, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Pairs of vertices drawn uniformly, without self-loops.
    Random {
        /// Number of vertices of the graph, at least 2.
        vertices: u64,
        /// Number of edges of the graph.
        edges: u64,
    },
    /// An R-MAT graph.
    Rmat {
        /// log2 of the number of vertices of the graph, at most 40.
        scale: u32,
        /// Number of edges of the graph.
        edges: u64,
        /// Probabilities A, B, C and D of the quadrants, in millionths; their sum must be one million.
        quadrants: [u32; 4],
    },
    /// An SSCA#2 graph: cliques, and edges between them.
    Ssca2(ssca2::Parameters),
    /// A grid of cells in rows and columns.
    Grid {
        /// Number of rows of the grid.
        rows: u64,
        /// Number of columns of the grid.
        columns: u64,
    },
}

impl Shape {
    /// GTgraph's default probabilities of the R-MAT quadrants.
    pub const QUADRANTS: [f64; 4] = [0.45, 0.15, 0.15, 0.25];

    /// Returns an R-MAT graph with these quadrant probabilities.
    ///
    /// # Errors
    /// [`Error::Usage`] if `quadrants` are not probabilities, or their sum is not 1.
    pub fn rmat(scale: u32, edges: u64, quadrants: [f64; 4]) -> Result<Shape> {
        let is_share = quadrants.iter().all(|part| (0.0..=1.0).contains(part));
        let rounded = quadrants.map(|part| (part * f64::from(PARTS)).round() as u32);
        if !is_share || rounded.iter().map(|&part| u64::from(part)).sum::<u64>() != u64::from(PARTS) {
            let [a, b, c, d] = quadrants;
            let found = format!("a {a}, b {b}, c {c}, d {d}");
            return Err(Error::Usage(format!("rmat: expected four probabilities whose sum is 1, found {found}")));
        }
        Ok(Shape::Rmat { scale, edges, quadrants: rounded })
    }

    /// Returns the name of the family of graphs, such as `rmat`.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Random { .. } => "random",
            Shape::Rmat { .. } => "rmat",
            Shape::Ssca2(_) => "ssca2",
            Shape::Grid { .. } => "grid",
        }
    }

    /// Returns the number of vertices of the graph.
    pub fn vertices(&self) -> u64 {
        match *self {
            Shape::Random { vertices, .. } => vertices,
            Shape::Rmat { scale, .. } => 1 << scale.min(MAX_SCALE),
            Shape::Ssca2(parameters) => parameters.vertices,
            Shape::Grid { rows, columns } => rows.saturating_mul(columns),
        }
    }

    /// Returns the number of edges; `None` for an SSCA#2 graph, whose cliques must be drawn first.
    pub(super) fn edges(&self) -> Option<u64> {
        match *self {
            Shape::Random { edges, .. } | Shape::Rmat { edges, .. } => Some(edges),
            Shape::Grid { rows, columns } => Some(rows * (columns - 1) + (rows - 1) * columns),
            Shape::Ssca2(_) => None,
        }
    }
}

impl WeightedSpec {
    /// Checks all parameters of the graph.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is out of range.
    pub fn check(&self) -> Result<()> {
        let name = self.shape.name();
        let wrong =
            |expected: String, found: String| Err(Error::Usage(format!("{name}: expected {expected}, found {found}")));
        let within = |what: &str, number: u64, least: u64, most: u64| match number {
            _ if (least..=most).contains(&number) => Ok(()),
            _ => wrong(format!("{what} from {least} to {most}"), number.to_string()),
        };
        match self.shape {
            Shape::Random { vertices, edges } => {
                within("a number of vertices", vertices, 2, MOST)?;
                within("a number of edges", edges, 0, MOST)?;
            }
            Shape::Rmat { scale, edges, .. } => {
                let (least, most) = (u64::from(*SCALES.start()), u64::from(*SCALES.end()));
                within("a scale", scale.into(), least, most)?;
                within("a number of edges", edges, 0, MOST)?;
            }
            Shape::Ssca2(parameters) => {
                within("a number of vertices", parameters.vertices, 1, ssca2::MOST_VERTICES)?;
                within("a largest clique", parameters.largest_clique, 1, ssca2::LARGEST_CLIQUE)?;
                within("a number of parallel edges", parameters.parallel.into(), 1, ssca2::MOST_PARALLEL.into())?;
                for probability in [parameters.one_way, parameters.between] {
                    if !(0.0..=1.0).contains(&probability) {
                        return wrong("a probability from 0 to 1".into(), probability.to_string());
                    }
                }
            }
            Shape::Grid { rows, columns } => {
                within("a number of rows", rows, 1, MOST)?;
                within("a number of columns", columns, 1, MOST)?;
                within("rows times columns", self.shape.vertices(), 1, MOST / 2)?;
            }
        }
        if self.least > self.most {
            let found = format!("from {} to {}", self.least, self.most);
            return wrong("weights from the least to the most".into(), found);
        }
        Ok(())
    }

    /// Returns the parameters as 64-bit words, for a hash.
    pub(super) fn words(&self) -> Vec<u64> {
        let mut words = match self.shape {
            Shape::Random { vertices, edges } => vec![4, vertices, edges],
            Shape::Rmat { scale, edges, quadrants } => {
                let [a, b, c, d] = quadrants.map(u64::from);
                vec![5, scale.into(), edges, a, b, c, d]
            }
            Shape::Ssca2(parameters) => [&[6][..], &parameters.words()].concat(),
            Shape::Grid { rows, columns } => vec![7, rows, columns],
        };
        words.extend([self.least.into(), self.most.into(), self.seed]);
        words
    }
}

impl fmt::Display for WeightedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Random { vertices, edges } => write!(f, "random vertices {vertices} edges {edges}")?,
            Shape::Rmat { scale, edges, quadrants } => {
                let [a, b, c, d] = quadrants.map(|part| f64::from(part) / f64::from(PARTS));
                write!(f, "rmat scale {scale} edges {edges} a {a} b {b} c {c} d {d}")?;
            }
            Shape::Ssca2(parameters) => parameters.fmt(f)?,
            Shape::Grid { rows, columns } => write!(f, "grid {rows} x {columns}")?,
        }
        write!(f, " weights {} to {} seed {}", self.least, self.most, self.seed)
    }
}
