//! Single-source shortest paths.
//!
//! ```
//! use gpugraph::sssp::Distances;
//! use gpugraph::{Context, Graph, sssp};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_weighted_edges([(0, 1, 5u32), (1, 2, 1), (0, 2, 9)], &context)?;
//! let paths = sssp::search(&graph, graph.vertex(0)?, &sssp::Options::default(), &context)?;
//! assert!(matches!(paths.distances(), Distances::Whole(distances) if distances[..] == [0, 5, 6]));
//! assert_eq!(paths.path_to(2), Some(vec![0, 1, 2]));
//! # Ok::<(), gpugraph::Error>(())
//! ```

use super::tree::{FromOne, one, same};
use crate::algo::sssp::SsspOutput;
pub use crate::algo::sssp::options::Method;
use crate::error::Result;
use crate::formats::WeightType;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph, Vertex};
use serde::{Serialize, Serializer};
use std::path::Path;

/// Origin of the edge weights: stored in the graph, all 1, or random.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum EdgeWeights {
    /// The weights stored in the graph, which must be weighted.
    #[default]
    Graph,
    /// Every edge has the weight 1.
    Unit,
    /// Random integer weights from `least` to `most`, one per edge.
    Uniform {
        /// Smallest possible random weight.
        least: u32,
        /// Largest possible random weight.
        most: u32,
        /// Seed of the random weights.
        seed: u64,
    },
}

impl Serialize for EdgeWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Unit {
            unit: bool,
        }
        #[derive(Serialize)]
        struct Uniform {
            uniform: [u32; 2],
            seed: u64,
        }
        match *self {
            EdgeWeights::Graph => "file".serialize(serializer),
            EdgeWeights::Unit => Unit { unit: true }.serialize(serializer),
            EdgeWeights::Uniform { least, most, seed } => {
                Uniform { uniform: [least, most], seed }.serialize(serializer)
            }
        }
    }
}

/// Options of a search for shortest paths.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Options {
    /// Algorithm that finds the shortest paths. All algorithms find the same distances.
    pub method: Method,
    /// Whether to check distances and parents after the search.
    pub validate: bool,
    /// Origin of the edge weights: stored in the graph, all 1, or random.
    pub weights: EdgeWeights,
}

/// Distances of all vertices from the source of a search. The type of the edge weights determines the variant.
#[derive(Debug, Clone)]
pub enum Distances {
    /// Distances as integers; `u64::MAX` for an unreached vertex.
    Whole(Column<u64>),
    /// Distances as `f32`; infinity for an unreached vertex.
    Decimal(Column<f32>),
    /// Distances as `f64`; infinity for an unreached vertex.
    Double(Column<f64>),
}

/// The shortest paths from one source to all vertices that it reaches.
#[derive(Debug, Clone)]
pub struct Paths {
    source: Vertex,
    options: Options,
    reached: u64,
    seconds: f64,
    distances: Distances,
    parents: Column<i64>,
}

/// Finds shortest paths from `source` to all vertices.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the graph has no weights but the options select
/// [`EdgeWeights::Graph`]; [`ErrorKind::Limit`](crate::ErrorKind::Limit),
/// [`ErrorKind::Validation`](crate::ErrorKind::Validation), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and
/// errors of the disk and the device.
pub fn search(graph: &Graph, source: Vertex, options: &Options, context: &Context) -> Result<Paths> {
    let found: Computed<'_, SsspOutput> = graph.compute(context, "sssp", &FromOne::new(graph, source, options)?)?;
    let seconds = found.seconds_of_source();
    let reached = one(&found.output)?.reached;
    let column = |name: &str| format!("sssp/{source}/{name}");
    let parents = found.column(&column("parent"))?;
    let distances = match (options.weights, graph.weight_type()) {
        (EdgeWeights::Graph, Some(WeightType::F32)) => Distances::Decimal(found.column(&column("distance"))?),
        (EdgeWeights::Graph, Some(WeightType::F64)) => Distances::Double(found.column(&column("distance"))?),
        _ => Distances::Whole(found.column(&column("distance"))?),
    };
    Ok(Paths { source, options: options.clone(), reached, seconds, distances, parents })
}

impl Paths {
    /// Returns the source of the shortest paths.
    pub fn source(&self) -> Vertex {
        self.source
    }

    /// Returns the number of vertices that the search reached, including the source.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Returns the time of the search in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the distance of each vertex from the source.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// Returns, for each vertex, the id of its parent: the vertex before it on a shortest path. The source is its own
    /// parent. The value of an unreached vertex is -1.
    pub fn parents(&self) -> &Column<i64> {
        &self.parents
    }

    /// Returns the ids of the vertices on a shortest path from the source to the vertex with id `target`; `None` if the
    /// search did not reach that vertex.
    pub fn path_to(&self, target: u64) -> Option<Vec<u64>> {
        let mut path = vec![target];
        loop {
            let at = *path.last()?;
            match self.parents.get(at)? {
                -1 => return None,
                // Ids from 2^63 on are stored as negative numbers.
                parent if parent as u64 == at => break,
                parent => path.push(parent as u64),
            }
        }
        path.reverse();
        Some(path)
    }

    /// Writes the distances to `distance.npy` and the parents to `parent.npy` in a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), [`ErrorKind::DiskFull`](crate::ErrorKind::DiskFull).
    pub fn write_npy(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        match &self.distances {
            Distances::Whole(distances) => distances.write_npy(folder.join("distance.npy")),
            Distances::Decimal(distances) => distances.write_npy(folder.join("distance.npy")),
            Distances::Double(distances) => distances.write_npy(folder.join("distance.npy")),
        }?;
        self.parents.write_npy(folder.join("parent.npy"))
    }

    /// Writes the distances to `distance.csv` and the parents to `parent.csv` in a folder.
    ///
    /// # Errors
    /// Errors of [`Self::write_npy`].
    pub fn write_csv(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        match &self.distances {
            Distances::Whole(distances) => distances.write_csv(folder.join("distance.csv"), "distance"),
            Distances::Decimal(distances) => distances.write_csv(folder.join("distance.csv"), "distance"),
            Distances::Double(distances) => distances.write_csv(folder.join("distance.csv"), "distance"),
        }?;
        self.parents.write_csv(folder.join("parent.csv"), "parent")
    }

    /// Repeats the search for shortest paths, checks the new result against every edge, and compares this result with
    /// it. All methods and devices find the same shortest paths.
    ///
    /// # Errors
    /// [`ErrorKind::Validation`](crate::ErrorKind::Validation) if a path of this result is not a shortest path in
    /// `graph`.
    pub fn validate(&self, graph: &Graph, context: &Context) -> Result<()> {
        let options = Options { validate: true, ..self.options.clone() };
        let other = search(graph, self.source, &options, context)?;
        match (&self.distances, &other.distances) {
            (Distances::Whole(found), Distances::Whole(expected)) => same(self.source, "distance", found, expected),
            (Distances::Decimal(found), Distances::Decimal(expected)) => same(self.source, "distance", found, expected),
            (Distances::Double(found), Distances::Double(expected)) => same(self.source, "distance", found, expected),
            _ => Err(crate::Error::Validation("distances are of another graph: the type of weights differs".into())),
        }?;
        same(self.source, "parent", &self.parents, &other.parents)
    }
}
