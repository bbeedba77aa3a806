//! Options of the table `[sssp]`.

use super::distances::Distances;
use crate::algo::WeightSource;
use crate::algo::searches::Options;
use crate::algo::searches::options::{DRAWN, GRAPH500, SEED, VALIDATE, WRITE};
use crate::algo::sources::SOURCES;
use crate::formats::WeightType;
use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Method of a search. All methods find the same result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The fastest method for the graph and the device.
    Auto,
    /// Queues of vertices that became nearer (Moore 1959).
    Moore,
    /// Buckets of distances (Meyer and Sanders 2003).
    DeltaStepping,
    /// Rounds over all vertices until none becomes nearer. This is the baseline.
    BellmanFord,
}

const METHODS: [(&str, Method); 4] = [
    ("auto", Method::Auto),
    ("moore", Method::Moore),
    ("delta-stepping", Method::DeltaStepping),
    ("bellman-ford", Method::BellmanFord),
];

/// Options of shortest paths: the sources, the weights, and what to do with distances and parents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sssp {
    /// Keys that all tables of searches share, such as the sources.
    #[serde(flatten)]
    pub options: Options,
    /// Method of the search.
    pub method: Method,
    /// Weights of the edges.
    pub weights: WeightSource,
    /// Target of the path that is reported, by the input's id.
    pub target: Option<InputId>,
}

/// The key `method`.
pub(super) const METHOD: Key<Method> =
    Key::choice("method", &METHODS, "the method; all find the same, auto is the fastest");

/// The key `weights`.
pub(super) const WEIGHTS: Key<WeightSource> = Key::new(
    "weights",
    ("\"file\" | { uniform = [1, 255], seed = 1 } | { uniform = [0.0, 1.0], seed = 1 } | { unit = true }", "\"file\""),
    "weights of the input, drawn ones, or 1 for every edge",
    || WeightSource::File,
    WeightSource::parse,
);

/// The key `target`.
pub(super) const TARGET: Key<Option<InputId>> = Key::new(
    "target",
    ("an id, such as 17 or \"name\"", "none"),
    "prints the path to this vertex",
    || None,
    |field, diagnostics| field.id(diagnostics).map(Some),
);

/// All keys of the table.
pub(super) const KEYS: &[&dyn AnyKey] =
    &[&DRAWN, &SEED, &SOURCES, &METHOD, &WEIGHTS, &TARGET, &VALIDATE, &WRITE, &GRAPH500];

impl Sssp {
    /// Returns an upper bound of the bytes for the distances of `vertices` vertices. It is a bound because the type of
    /// an input's weights is not known before the input is read.
    pub fn distances_bytes(&self, vertices: u64) -> u64 {
        let kind = match self.weights {
            WeightSource::Drawn(drawn) => drawn.kind(),
            WeightSource::File => WeightType::U32,
        };
        Distances::bytes(kind, vertices)
    }

    /// Returns an upper bound of the weights, as far as the table determines one.
    pub fn largest_weight(&self) -> u32 {
        match self.weights {
            WeightSource::Drawn(drawn) => drawn.largest(),
            WeightSource::File => u32::MAX,
        }
    }
}
