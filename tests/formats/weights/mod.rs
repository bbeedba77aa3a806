//! Weights in every format that has them: read, refused, converted.

mod converted;
mod reading;
mod refused;
mod written;

use std::path::{Path, PathBuf};

use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{Edges, FileSearch, Input, Scan, Unwatched, Visitor, WeightType, Weights};

const U32: Weights = Weights::Read(WeightType::U32);
const U64: Weights = Weights::Read(WeightType::U64);
const F32: Weights = Weights::Read(WeightType::F32);
const F64: Weights = Weights::Read(WeightType::F64);

/// An edge with its weight, which is a whole number below 2^32 or equals an f32.
type Edge = (u64, u64, f64);

/// Returns the bits in which a weight is handed over.
fn bits(weights: Weights, weight: f64) -> u64 {
    match weights {
        U32 | U64 => weight as u64,
        F64 => weight.to_bits(),
        _ => (weight as f32).to_bits().into(),
    }
}

/// Keeps edges with the bits of their weights, which are 0 where none are handed over.
#[derive(Default)]
struct Weighted {
    edges: Bits,
    /// Number of words in which each weight is to be handed over.
    words: usize,
}

impl Visitor for Weighted {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        assert_eq!(weights.len(), self.words * edges.len());
        let pairs: Vec<[u64; 2]> = match edges {
            Edges::Narrow(pairs) => pairs.iter().map(|pair| pair.map(u64::from)).collect(),
            Edges::Wide(pairs) => pairs.to_vec(),
        };
        let words = weights.chunks_exact(self.words.max(1));
        let bits = words.map(|words| words.iter().rev().fold(0, |bits, &word| bits << 32 | u64::from(word)));
        let weights = bits.chain(std::iter::repeat(0));
        self.edges.extend(pairs.into_iter().zip(weights).map(|([u, v], weight)| (u, v, weight)));
        Ok(())
    }
}

fn open(path: &Path) -> Input {
    Input::find(&[path.to_owned()], None, FileSearch::default()).expect("an input")
}

/// Edges with the bits of their weights.
type Bits = Vec<(u64, u64, u64)>;

/// Returns the number of words in which a weight is handed over.
fn words(weights: Weights) -> usize {
    match weights {
        U64 | F64 => 2,
        Weights::Read(_) => 1,
        Weights::Skip | Weights::Find => 0,
    }
}

/// Returns all edges, sorted.
fn scan(input: &Input, threads: usize) -> Result<(Bits, Scan)> {
    let words = words(input.weights());
    let mut visitors: Vec<_> = (0..threads).map(|_| Weighted { words, ..Weighted::default() }).collect();
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|visitor| visitor.edges).collect();
    edges.sort_unstable();
    Ok((edges, scan))
}

/// Returns the edges as a scan should hand them over, sorted.
fn wanted(list: &[Edge], weights: Weights) -> Bits {
    let of = |weight| if matches!(weights, Weights::Read(_)) { bits(weights, weight) } else { 0 };
    let mut edges: Vec<_> = list.iter().map(|&(u, v, weight)| (u, v, of(weight))).collect();
    edges.sort_unstable();
    edges
}

/// Returns every edge that is not a loop, from both of its ends.
fn both_ways(list: &[Edge]) -> Vec<Edge> {
    list.iter().filter(|(u, v, _)| u != v).flat_map(|&(u, v, weight)| [(u, v, weight), (v, u, weight)]).collect()
}

/// Returns a list of edges whose weights are whole numbers, or multiples of an eighth. Some are 0, loops and repeats.
fn some(edges: u64, ids: u64, whole: bool) -> Vec<Edge> {
    let mut state = 88_172_645_463_325_252u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let step = if whole { 1.0 } else { 0.125 };
    (0..edges).map(|_| (next() % ids, next() % ids, (next() % 5000) as f64 * step)).collect()
}

/// A folder with files of the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), contents).expect("written");
        self.path(name)
    }
}
