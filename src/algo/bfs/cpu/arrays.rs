//! The arrays of a breadth-first search that all its threads read and write.

use crate::algo::bfs::cpu::graph::{CpuGraph, Hubs};
use crate::algo::bfs::cpu::top_down::{self, ThreadClaims};
use crate::algo::bits::set;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The arrays of a search: two bitmaps of reached vertices, the list of the frontier's vertices, and claims. A claim is
/// a vertex that a thread or a rank has reached, with the parent that it proposes.
pub struct BfsArrays {
    bits: [Buffer<AtomicU64>; 2],
    list: Buffer<AtomicU32>,
    listed: AtomicUsize,
    /// Bitmap of the vertices that this rank owns and that other ranks claimed in the current step, indexed by local
    /// index. It is empty in a single process.
    pub arrived: Buffer<AtomicU64>,
    /// The claims of each thread; empty if there is a single thread.
    pub claims: Vec<ThreadClaims>,
}

/// Returns the size, in bytes, of the arrays of a rank, for searches by `threads` threads in a graph with `entries` row
/// entries in total.
pub fn bytes(own: VertexOwnership, entries: u64, threads: usize) -> u64 {
    let claims = if threads > 1 { threads as u64 * top_down::bytes(own.vertices as u64) } else { 0 };
    let (hubs, arrived) = if own.ranks > 1 { (Hubs::most(entries), own.words() as u64) } else { (0, 0) };
    2 * 8 * own.vertices.div_ceil(64) as u64 + 4 * (own.len() as u64 + hubs) + 8 * arrived + claims
}

impl BfsArrays {
    /// Allocates the arrays of a rank.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(own: VertexOwnership, hubs: Hubs, threads: usize, budget: &Budget) -> Result<BfsArrays> {
        let bits = || budget.zeroed(own.vertices.div_ceil(64), "the vertices that are reached (a bit each)");
        let list = budget.zeroed(own.len() + hubs.count, "the frontier (4 bytes a vertex)")?;
        let arrived = if own.ranks > 1 { own.words() } else { 0 };
        let arrived = budget.zeroed(arrived, "vertices that other ranks claim (a bit each)")?;
        let several = if threads > 1 { threads } else { 0 };
        let claims = (0..several).map(|_| ThreadClaims::new(own.vertices, budget)).collect::<Result<_>>()?;
        Ok(BfsArrays { bits: [bits()?, bits()?], list, listed: AtomicUsize::new(0), arrived, claims })
    }

    /// Initializes the arrays for a search from `root`: only the root is reached, and it is the frontier. The unused
    /// bits of the bitmaps, after the last vertex, are set, so that they count as reached.
    pub fn begin(&mut self, graph: &CpuGraph<'_>, root: u32) {
        let vertices = graph.own.vertices;
        for bits in &mut self.bits {
            bits.iter_mut().for_each(|word| *word.get_mut() = 0);
            if let Some(last) = bits.last_mut().filter(|_| !vertices.is_multiple_of(64)) {
                *last.get_mut() = u64::MAX << (vertices % 64);
            }
            set(bits, root);
        }
        let is_listed = graph.own.has(root) || graph.is_shared(root);
        self.write_list(&[root][..usize::from(is_listed)]);
    }

    /// Returns one of the two bitmaps of reached vertices: the first if `which` is even, the second if it is odd.
    pub fn bits(&self, which: usize) -> &[AtomicU64] {
        &self.bits[which & 1]
    }

    /// Returns the list of the frontier's vertices, in ascending order. It omits vertices whose rows only other ranks
    /// process.
    pub fn list(&self) -> &[AtomicU32] {
        &self.list[..self.listed.load(Relaxed)]
    }

    /// Sets the length of the list of the frontier's vertices to `length`, and returns the list for writing.
    pub fn new_list(&self, length: usize) -> &[AtomicU32] {
        self.listed.store(length, Relaxed);
        &self.list[..length]
    }

    /// Replaces the list of the frontier's vertices by `vertices`.
    pub fn write_list(&self, vertices: &[u32]) {
        self.new_list(vertices.len()).iter().zip(vertices).for_each(|(place, &v)| place.store(v, Relaxed));
    }
}
