//! Keys of stages and graphs. A key is a hash of everything that a result depends on.

use crate::formats::WeightType;
use crate::graph::weights::stored::GraphWeights;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// Returns a key as hexadecimal text, because many JSON readers lose the low bits of a u64.
pub(crate) fn hex(key: u64) -> String {
    format!("{key:016x}")
}

/// Returns the key of a stage: a hash of the stage's name, the format version of graph files, and `parts`. `parts` may
/// consist of numbers, strings, lists, and maps with string keys, which can always be serialised as JSON.
pub fn key<T: Serialize>(stage: &str, parts: &T) -> u64 {
    let text = serde_json::to_string(parts);
    debug_assert!(text.is_ok(), "{stage}: {text:?}");
    let text = text.unwrap_or_default();
    xxh3_64(format!("{stage} {} {text}", crate::graph::layout::FORMAT_VERSION).as_bytes())
}

/// Returns the key of the merged rows of a directed graph, which contain all neighbours; `content` is the graph's
/// hash.
pub(crate) fn merged_key(content: u64) -> u64 {
    key("merged", &content)
}

/// Returns the description of a graph's weights: their type, the checksum of their file, and keys that identify them.
/// The keys depend on the graph's hash `content`, the type `kind`, and `checksum`, which is 0 unless the weights are in
/// a separate file.
pub(crate) fn weights_of(content: u64, kind: WeightType, checksum: u64) -> GraphWeights {
    let key = key("weights", &(content, kind, checksum));
    GraphWeights { kind, checksum, key, list: if kind.is_wide() { key } else { 0 } }
}

/// Returns the description of the weights in merged rows; `weights` describes the weights of the directed graph.
pub(crate) fn merged_weights(weights: GraphWeights) -> GraphWeights {
    GraphWeights { key: key("merged weights", &weights.key), ..weights }
}
