//! Keys and options of the table `[sssp]` in a job file.

use crate::algo::WeightSource;
use crate::algo::searches::Options;
use crate::algo::searches::options::{DRAWN, GRAPH500, SEED, VALIDATE, WRITE};
use crate::algo::sources::SOURCES;
use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Method of a search for shortest paths. All methods find the same result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The fastest known method for the graph and the device.
    #[default]
    Auto,
    /// Moore's algorithm (1959): processes queues of vertices whose distances became smaller.
    Moore,
    /// Delta-stepping (Meyer and Sanders 2003): processes vertices in buckets by distance.
    DeltaStepping,
    /// Bellman-Ford, the baseline: relaxes the edges of all vertices in rounds until no distance decreases.
    BellmanFord,
}

const METHODS: [(&str, Method); 4] = [
    ("auto", Method::Auto),
    ("moore", Method::Moore),
    ("delta-stepping", Method::DeltaStepping),
    ("bellman-ford", Method::BellmanFord),
];

/// Options of a table `[sssp]` in a job file: the sources, the weights, the target, and whether to check trees and to
/// write distances and parents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sssp {
    /// Options that all tables of searches share, such as the sources.
    #[serde(flatten)]
    pub options: Options,
    /// Method of the search.
    pub method: Method,
    /// Source of the edge weights: the input file, or a random distribution.
    pub weights: WeightSource,
    /// Id of the vertex to which paths are reported, if any.
    pub target: Option<InputId>,
}

/// The key `method`: the method of the search.
pub(super) const METHOD: Key<Method> =
    Key::choice("method", &METHODS, "the method; all find the same distances, and auto is the fastest");

/// The key `weights`: the source of the edge weights.
pub(super) const WEIGHTS: Key<WeightSource> = Key::new(
    "weights",
    ("\"file\" | { uniform = [1, 255], seed = 1 } | { uniform = [0.0, 1.0], seed = 1 } | { unit = true }", "\"file\""),
    "weights of the input, random weights, or 1 for every edge",
    || WeightSource::File,
    WeightSource::parse,
);

/// The key `target`: the vertex to which paths are printed.
pub(super) const TARGET: Key<Option<InputId>> = Key::new(
    "target",
    ("an id, such as 17 or \"name\"", "none"),
    "prints the path to this vertex",
    || None,
    |field, diagnostics| field.id(diagnostics).map(Some),
);

/// All keys of the table `[sssp]`.
pub(super) const KEYS: &[&dyn AnyKey] =
    &[&DRAWN, &SEED, &SOURCES, &METHOD, &WEIGHTS, &TARGET, &VALIDATE, &WRITE, &GRAPH500];
