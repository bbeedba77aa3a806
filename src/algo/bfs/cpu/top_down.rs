//! A top-down step: follows the edges of the frontier's vertices, in the order of vertices.
//!
//! The first vertex of the frontier that reaches a neighbour becomes its parent. A single thread processes the frontier
//! in order and needs no claims. With several threads, the frontier's edges are divided into consecutive ranges: thread
//! 0 processes the first range, thread 1 the second, and so on. Each thread claims vertices in a separate bitmap, so no
//! two threads write the same memory while they read edges. If several threads claim a vertex, the thread with the
//! smallest index gets it. So the result does not depend on which thread is faster.
//!
//! With several ranks, each rank processes the rows of the frontier's vertices that it owns. Ranks divide long rows
//! among themselves. A rank that reaches another rank's vertex sends a claim to the owner of the vertex. The owner
//! stores the smallest parent that any rank proposes.

use crate::algo::bfs::cpu::graph::CpuGraph;
use crate::algo::bfs::cpu::read_ahead::ReadAhead;
use crate::algo::bfs::search::NONE;
use crate::algo::bits::{is_set, set, set_alone};
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::graph::direction::EdgeDirection;
use crate::memory::{Budget, Buffer, prefetch};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Number of the frontier's edges that each thread processes in a round, after which the threads compare their claims.
pub const ROUND: u64 = 1 << 18;
/// Prefetch distance, in entries of an adjacency row.
const PREFETCH_DISTANCE: usize = 16;

/// The claims of one thread in a round: the vertices that it reached, with the parents that it proposes. `bits` is the
/// bitmap of these vertices.
pub struct ThreadClaims {
    bits: Buffer<AtomicU64>,
    /// Claimed vertices and their proposed parents, alternating.
    pairs: Buffer<AtomicU32>,
}

/// Returns the size, in bytes, of the buffers for the claims of one thread.
pub fn bytes(vertices: u64) -> u64 {
    8 * vertices.div_ceil(64) + 8 * most_claims(vertices)
}

/// Returns the maximum number of claims of a thread per round, in which it processes [`ROUND`] edges. A thread claims
/// each vertex at most once.
fn most_claims(vertices: u64) -> u64 {
    ROUND.min(vertices)
}

/// Counts of a whole step, or of the part of a step that one thread or one rank takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepCounts {
    /// Number of vertices that the step newly reached.
    pub vertices: u64,
    /// Number of edges that leave the newly reached vertices.
    pub edges: u64,
    /// Number of row entries (neighbours) that were checked.
    pub checked: u64,
    /// Number of bytes that were read from the disk.
    pub bytes: u64,
}

impl StepCounts {
    /// Returns the counts as an array, in the order of the fields.
    pub fn numbers(self) -> [u64; 4] {
        [self.vertices, self.edges, self.checked, self.bytes]
    }
}

/// Parents of the vertices that this rank owns during a step, and the claims of these vertices by other ranks.
#[derive(Clone, Copy)]
pub struct Parents<'s> {
    /// Parents of this rank's vertices, indexed by local index.
    pub cells: &'s [AtomicU32],
    /// Bitmap of this rank's vertices that other ranks claimed, indexed by local index. It is empty in a single
    /// process.
    pub arrived: &'s [AtomicU64],
}

impl Parents<'_> {
    /// Sets the parent of the vertex with index `local_index` on this rank to `parent`, the smallest parent that this
    /// rank finds. Returns true if no other rank has claimed the vertex before. Otherwise stores the smaller of both
    /// parents, and returns false.
    #[inline]
    fn write(self, local_index: usize, parent: u32) -> bool {
        let cell = &self.cells[local_index];
        let is_first = self.arrived.is_empty() || !is_set(self.arrived, local_index as u32);
        cell.store(if is_first { parent } else { parent.min(cell.load(Relaxed)) }, Relaxed);
        is_first
    }

    /// Stores `parent`, which another rank proposes for the vertex with index `local_index` on this rank, unless the
    /// vertex already has a smaller parent. `is_reached` says whether this rank has reached the vertex in this step.
    /// Returns true if no rank claimed the vertex before.
    #[inline]
    pub fn apply_claim(self, local_index: usize, parent: u32, is_reached: bool) -> bool {
        let cell = &self.cells[local_index];
        let is_first = set_alone(self.arrived, local_index as u32) && !is_reached;
        cell.store(if is_first { parent } else { parent.min(cell.load(Relaxed)) }, Relaxed);
        is_first
    }
}

/// Takes a top-down step over the whole frontier on one thread. `listed` is the list of the frontier's vertices. Sets
/// the bits of newly reached vertices in `reached`. If `new` is given, appends the newly reached vertices that this
/// rank owns. Calls `away(vertex, parent)` for those that other ranks own.
///
/// # Errors
/// Errors of `away`.
pub fn serial<const RANKS: bool>(
    graph: &CpuGraph<'_>,
    listed: &[AtomicU32],
    reached: &[AtomicU64],
    parents: Parents<'_>,
    mut new: Option<&mut Vec<u32>>,
    mut away: impl FnMut(u32, u32) -> Result<()>,
) -> Result<StepCounts> {
    let (mut found, mut ahead) = (StepCounts::default(), ReadAhead::default());
    for (at, v) in listed.iter().enumerate() {
        ahead.advance(graph, listed, at);
        let v = v.load(Relaxed);
        for row in graph.taken_row(v) {
            found.checked += row.len() as u64;
            for (at, &neighbour) in row.iter().enumerate() {
                if let Some(&ahead) = row.get(at + PREFETCH_DISTANCE) {
                    prefetch(reached, (ahead >> 6) as usize);
                }
                if is_set(reached, neighbour) {
                    continue;
                }
                set_alone(reached, neighbour);
                if !RANKS {
                    parents.cells[neighbour as usize].store(v, Relaxed);
                } else if !graph.own.has(neighbour) {
                    away(neighbour, v)?;
                    continue;
                } else if !parents.write(graph.own.local_index(neighbour), v) {
                    continue;
                }
                found.vertices += 1;
                found.edges += graph.degree(neighbour);
                if let Some(new) = &mut new {
                    new.push(neighbour);
                }
            }
        }
    }
    Ok(found)
}

impl ThreadClaims {
    /// Allocates memory for the claims of one thread.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, budget: &Budget) -> Result<ThreadClaims> {
        let bits = budget.zeroed(vertices.div_ceil(64), "claims of a thread (a bit a vertex)")?;
        Ok(ThreadClaims {
            bits,
            pairs: budget.zeroed(2 * most_claims(vertices as u64) as usize, "claims of a thread")?,
        })
    }

    /// Claims the unreached heads of `edges` consecutive edges of the frontier. These edges begin at the first vertex
    /// in `listed`, after its first `skip` edges. Returns the number of claims.
    pub fn claim(
        &self,
        graph: &CpuGraph<'_>,
        listed: &[AtomicU32],
        (mut skip, edges): (u64, u64),
        reached: &[AtomicU64],
    ) -> usize {
        let (mut left, mut claimed, mut ahead) = (edges, 0, ReadAhead::default());
        for (at, v) in listed.iter().enumerate() {
            if left == 0 {
                break;
            }
            ahead.advance(graph, listed, at);
            let v = v.load(Relaxed);
            let whole = graph.shared_part(v).unwrap_or(0..u64::MAX);
            let first = whole.start + skip;
            let places = first as usize..first.saturating_add(left).min(whole.end) as usize;
            skip = 0;
            let row = graph.short_row(v).filter(|[_, more]| places.start == 0 && places.end > more.len());
            for row in row.unwrap_or_else(|| graph.rows.part(graph.direction.row(v, EdgeDirection::Out), places)) {
                left -= row.len() as u64;
                for (at, &neighbour) in row.iter().enumerate() {
                    if let Some(&ahead) = row.get(at + PREFETCH_DISTANCE) {
                        prefetch(reached, (ahead >> 6) as usize);
                    }
                    let (word, bit) = ((neighbour >> 6) as usize, 1 << (neighbour & 63));
                    let mine = self.bits[word].load(Relaxed);
                    if (reached[word].load(Relaxed) | mine) & bit == 0 {
                        self.bits[word].store(mine | bit, Relaxed);
                        self.pairs[2 * claimed].store(neighbour, Relaxed);
                        self.pairs[2 * claimed + 1].store(v, Relaxed);
                        claimed += 1;
                    }
                }
            }
        }
        claimed
    }

    /// Marks the vertices that this thread claimed as reached, except those that a thread with a smaller index claimed
    /// too. `before` contains the claims of the threads with smaller indices.
    pub fn reach<const RANKS: bool>(
        &self,
        graph: &CpuGraph<'_>,
        claimed: usize,
        before: &[ThreadClaims],
        reached: &[AtomicU64],
        parents: Parents<'_>,
    ) -> StepCounts {
        let mut found = StepCounts::default();
        let pairs = &self.pairs[..2 * claimed];
        for (at, pair) in pairs.chunks_exact(2).enumerate() {
            if let Some(ahead) = pairs.get(2 * (at + PREFETCH_DISTANCE)) {
                let ahead = ahead.load(Relaxed);
                prefetch(parents.cells, if RANKS { graph.own.local_index(ahead) } else { ahead as usize });
                prefetch(graph.degrees, graph.direction.row(ahead, EdgeDirection::Out) as usize);
            }
            let v = pair[0].load(Relaxed);
            if before.iter().any(|claims| is_set(&claims.bits, v)) {
                if RANKS {
                    pair[1].store(NONE, Relaxed);
                }
                continue;
            }
            set(reached, v);
            let parent = pair[1].load(Relaxed);
            if !RANKS {
                parents.cells[v as usize].store(parent, Relaxed);
            } else if !graph.own.has(v) || !parents.write(graph.own.local_index(v), parent) {
                continue;
            }
            found.vertices += 1;
            found.edges += graph.degree(v);
        }
        found
    }

    /// Clears the claims of this thread, except claims of vertices that other ranks own. Returns the number of claims
    /// that remain.
    pub fn forget<const RANKS: bool>(&self, claimed: usize, own: VertexOwnership) -> usize {
        let mut away = 0;
        for pair in self.pairs[..2 * claimed].chunks_exact(2) {
            let [v, parent] = [&pair[0], &pair[1]].map(|number| number.load(Relaxed));
            self.bits[(v >> 6) as usize].store(0, Relaxed);
            if RANKS && !own.has(v) && parent != NONE {
                self.pairs[2 * away].store(v, Relaxed);
                self.pairs[2 * away + 1].store(parent, Relaxed);
                away += 1;
            }
        }
        away
    }

    /// Returns the first `count` claims that remain after [`Self::forget`], as pairs (vertex, parent).
    pub fn remote_claims(&self, count: usize) -> impl Iterator<Item = (u32, u32)> {
        self.pairs[..2 * count].chunks_exact(2).map(|pair| (pair[0].load(Relaxed), pair[1].load(Relaxed)))
    }
}

/// The list of a frontier, divided into slices of equal length, with the number of edges before each slice. With the
/// slices, a thread finds the tail of an edge from the index of the edge.
pub struct Slices<'s> {
    /// Number of edges before each slice of the list, followed by the total number of edges.
    pub before: &'s [AtomicU64],
    /// Number of vertices per slice of the list.
    pub width: usize,
}

impl Slices<'_> {
    /// Returns the range of list indices in the slice with index `slice`, for a list of `length` vertices.
    pub fn range(&self, slice: usize, length: usize) -> Range<usize> {
        (slice * self.width).min(length)..((slice + 1) * self.width).min(length)
    }

    /// Finds the edge with index `edge` among all edges of the frontier. Returns the list index of the edge's tail, and
    /// the index of the edge among the edges of this tail.
    pub fn find(&self, edge: u64, graph: &CpuGraph<'_>, listed: &[AtomicU32]) -> (usize, u64) {
        let slice = self.before.partition_point(|before| before.load(Relaxed) <= edge).saturating_sub(1);
        let mut skip = edge - self.before[slice].load(Relaxed);
        for at in self.range(slice, listed.len()) {
            let degree = graph.taken(listed[at].load(Relaxed));
            if skip < degree {
                return (at, skip);
            }
            skip -= degree;
        }
        (listed.len(), 0)
    }
}
