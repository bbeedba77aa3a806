//! Keys of stages and graphs: hashes of everything that a result depends on.

use crate::error::{Error, Result};
use crate::formats::WeightType;
use crate::graph::weights::stored::GraphWeights;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// Returns a key as hexadecimal text, because many JSON readers lose the low bits of a u64.
pub(crate) fn hex(key: u64) -> String {
    format!("{key:016x}")
}

/// Returns the key of a stage: the hash of everything that its result depends on.
///
/// # Errors
/// [`Error::Usage`] if a part can't be written as JSON.
pub fn key<T: Serialize>(stage: &str, parts: &T) -> Result<u64> {
    let text = serde_json::to_string(parts).map_err(|e| Error::Usage(format!("internal: key of {stage}: {e}")))?;
    Ok(xxh3_64(format!("{stage} {} {text}", crate::graph::layout::FORMAT_VERSION).as_bytes()))
}

/// Returns the key of the merged rows (all neighbours) of a directed graph.
///
/// # Errors
/// None occur in practice.
pub(crate) fn merged_key(content: u64) -> Result<u64> {
    key("merged", &content)
}

/// Returns the record of the weights in a graph with hash `content`. The weights are of type `kind`, and `checksum`
/// is the checksum of their own file, if they have one.
///
/// # Errors
/// None occur in practice.
pub(crate) fn weights_of(content: u64, kind: WeightType, checksum: u64) -> Result<GraphWeights> {
    Ok(GraphWeights { kind, checksum, key: key("weights", &(content, kind, checksum))? })
}

/// Returns the record of the weights in merged rows, given the record of the weights in the directed graph.
///
/// # Errors
/// None occur in practice.
pub(crate) fn merged_weights(weights: GraphWeights) -> Result<GraphWeights> {
    Ok(GraphWeights { key: key("merged weights", &weights.key)?, ..weights })
}
