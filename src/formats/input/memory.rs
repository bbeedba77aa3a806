//! Edges in the memory of the library's caller, read as if they came from a generator.

use crate::error::{Error, Result};
use crate::formats::weights::bits_of;
use crate::formats::{EdgeGenerator, WeightType};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Edges in memory, in any layout.
///
/// Several threads read ranges of the edges at the same time, some ranges more than once. The edges must not change
/// meanwhile.
pub trait EdgeList: Send + Sync {
    /// Returns the number of edges in memory.
    fn edges(&self) -> u64;

    /// Fills `out` with the edges from index `first` onwards. The whole range is below [`Self::edges`].
    fn read(&self, first: u64, out: &mut [[u64; 2]]);

    /// Like [`Self::read`], for ids that all fit in 32 bits.
    fn read_narrow(&self, first: u64, out: &mut [[u32; 2]]) {
        let mut wide = [[0; 2]; 512];
        let mut at = first;
        for piece in out.chunks_mut(wide.len()) {
            let wide = &mut wide[..piece.len()];
            self.read(at, wide);
            piece.iter_mut().zip(wide).for_each(|(narrow, wide)| *narrow = wide.map(|id| id as u32));
            at += piece.len() as u64;
        }
    }

    /// Returns true if ids are stored as signed numbers. Ids from 2^63 on then count as negative and are rejected.
    fn is_signed(&self) -> bool {
        false
    }

    /// Returns the type of the weights; `None` if the edges have no weights.
    fn weights(&self) -> Option<WeightType> {
        None
    }

    /// Fills `out` with the weights of the edges from index `first` onwards: integers, or the bits of floats. A 64-bit
    /// weight occupies two elements, the lower half first. The weight -0 is read as 0.
    fn read_weights(&self, _first: u64, _out: &mut [u32]) {}
}

/// Edges in memory, with the properties that must be known before they are read as an input.
#[derive(Clone, Serialize, Deserialize)]
pub struct MemoryEdges {
    edges: u64,
    /// One more than the largest id of an edge.
    end: u64,
    /// Number of vertices, if the caller specified it.
    declared: Option<u64>,
    /// Hash of all edges and weights.
    identity: u64,
    /// The edges; `None` if this description comes from another process or from a file, because only the process that
    /// created it has the edges.
    #[serde(skip)]
    list: Option<Arc<dyn EdgeList>>,
}

/// An invalid id or an invalid weight of an edge.
#[derive(Clone, Copy)]
enum BadEdge {
    Id(i64),
    Weight(f64),
}

/// Reads weights, and replaces -0 by 0. Compared by its bits, -0 would be larger than any positive weight.
fn read_weights(list: &dyn EdgeList, first: u64, out: &mut [u32]) {
    const SIGN: u32 = 1 << 31;
    list.read_weights(first, out);
    match list.weights() {
        Some(WeightType::F32) => out.iter_mut().filter(|bits| **bits == SIGN).for_each(|bits| *bits = 0),
        Some(WeightType::F64) => {
            out.chunks_exact_mut(2).filter(|words| **words == [0, SIGN]).for_each(|words| words[1] = 0);
        }
        Some(WeightType::U32 | WeightType::U64) | None => {}
    }
}

/// Number of edges that are checked and hashed at a time.
const CHUNK: usize = 1 << 14;

impl MemoryEdges {
    /// Checks and hashes all edges once. `vertices` is the number of vertices, if the caller knows it; all ids must
    /// then be below it.
    ///
    /// # Errors
    /// [`Error::Usage`] if an id is negative, equal to 2^64 - 1, or not below `vertices`, or if a weight is negative
    /// or not finite.
    pub fn new(list: Arc<dyn EdgeList>, vertices: Option<u64>) -> Result<MemoryEdges> {
        let edges = list.edges();
        let (kind, is_signed) = (list.weights(), list.is_signed());
        let chunk = |first: u64| {
            let len = (edges - first).min(CHUNK as u64) as usize;
            let (mut pairs, mut weights) = (vec![[0; 2]; len], vec![0; len * kind.map_or(0, WeightType::words)]);
            list.read(first, &mut pairs);
            read_weights(&*list, first, &mut weights);
            let largest = pairs.iter().flatten().copied().max().unwrap_or(0);
            let at = |at: usize| first + at as u64;
            let is_negative = |id: &u64| *id as i64 >> 63 != 0;
            let bad = if is_signed && is_negative(&largest) {
                let found =
                    pairs.iter().enumerate().find_map(|(n, pair)| Some((n, pair.iter().find(|id| is_negative(id))?)));
                found.map(|(n, &id)| (at(n), BadEdge::Id(id as i64)))
            } else {
                let number = |bits: u64| match kind {
                    Some(WeightType::F32) => f32::from_bits(bits as u32).into(),
                    Some(WeightType::F64) => f64::from_bits(bits),
                    Some(WeightType::U32 | WeightType::U64) | None => 0.0,
                };
                let is_bad = |weight: f64| !(weight.is_finite() && weight >= 0.0);
                let numbers = bits_of(&weights, kind.map_or(1, WeightType::words)).map(number);
                numbers
                    .enumerate()
                    .find(|&(_, weight)| is_bad(weight))
                    .map(|(n, weight)| (at(n), BadEdge::Weight(weight)))
            };
            let mut hash = Xxh3::new();
            hash.update(crate::memory::bytes_of(pairs.as_flattened()));
            hash.update(crate::memory::bytes_of(&weights));
            (largest, bad, hash.digest())
        };
        let chunks: Vec<_> =
            (0..edges.div_ceil(CHUNK as u64)).into_par_iter().map(|n| chunk(n * CHUNK as u64)).collect();
        if let Some((edge, bad)) = chunks.iter().find_map(|chunk| chunk.1) {
            let (expected, found) = match bad {
                BadEdge::Id(id) => ("ids", id.to_string()),
                BadEdge::Weight(weight) if kind == Some(WeightType::F32) => ("a weight", (weight as f32).to_string()),
                BadEdge::Weight(weight) => ("a weight", weight.to_string()),
            };
            return Err(Error::Usage(format!(
                "edge {edge} in memory: expected {expected} of 0 or more, found {found}; correct or leave out the edge"
            )));
        }
        let largest = chunks.iter().map(|chunk| chunk.0).max();
        let end = match largest {
            Some(u64::MAX) => {
                let why = "edges in memory: expected ids below 2^64 - 1, found 2^64 - 1; number the vertices anew";
                return Err(Error::Usage(why.into()));
            }
            largest => largest.map_or(0, |largest| largest + 1),
        };
        if let Some(vertices) = vertices.filter(|&vertices| end > vertices) {
            let found = end - 1;
            let why = format!("edges in memory: expected ids below the {vertices} vertices, found {found}");
            return Err(Error::Usage(format!("{why}; name at least {end} vertices")));
        }
        let mut hash = Xxh3::new();
        let head = [edges, vertices.map_or(u64::MAX, |n| n), kind.map_or(0, |kind| 1 + kind as u64)];
        head.iter().chain(chunks.iter().map(|chunk| &chunk.2)).for_each(|word| hash.update(&word.to_le_bytes()));
        Ok(MemoryEdges { edges, end, declared: vertices, identity: hash.digest(), list: Some(list) })
    }

    /// Returns the largest id + 1, and the number of vertices if the caller specified it.
    pub fn bounds(&self) -> (u64, Option<u64>) {
        (self.end, self.declared)
    }

    /// Returns an error if the edges are not in the memory of this process.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check_present(&self) -> Result<()> {
        match self.list {
            Some(_) => Ok(()),
            None => Err(Error::Usage(format!("{self}: they were in the memory of another process, which is gone"))),
        }
    }
}

impl PartialEq for MemoryEdges {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl fmt::Debug for MemoryEdges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MemoryEdges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} edges in memory", self.edges)
    }
}

impl EdgeGenerator for MemoryEdges {
    fn edges(&self) -> u64 {
        self.edges
    }

    fn vertices(&self) -> u64 {
        self.declared.unwrap_or(self.end)
    }

    fn declares_vertices(&self) -> bool {
        self.declared.is_some()
    }

    fn fill(&self, first_edge: u64, out: &mut [[u64; 2]]) {
        if let Some(list) = &self.list {
            list.read(first_edge, out);
        }
    }

    fn fill_narrow(&self, first_edge: u64, out: &mut [[u32; 2]]) {
        if let Some(list) = &self.list {
            list.read_narrow(first_edge, out);
        }
    }

    fn weights(&self) -> Option<WeightType> {
        self.list.as_ref()?.weights()
    }

    /// Writes the weights in the type in which they are stored, regardless of the requested type.
    fn fill_weights(&self, first_edge: u64, _: WeightType, out: &mut [u32]) {
        if let Some(list) = &self.list {
            read_weights(&**list, first_edge, out);
        }
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    fn scratch_bytes(&self) -> u64 {
        0
    }
}
