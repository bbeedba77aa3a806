//! Traversal of a graph level by level, by ranks that own its vertices. The method was published for GPU clusters as a
//! "depth first" search, but it is breadth-first. `[dfs]` searches depth-first.
//!
//! A rank owns some vertices, and has their rows. Vertex `v` belongs to rank `v` modulo the number of ranks, as
//! published, or ranks own blocks of vertices as in `[bfs]`. In a step, each rank expands its part of the frontier
//! (`walk`). A *candidate* is a neighbour, with the vertex of the frontier from which it is reached. Prefix sums of
//! degrees number all candidates, and a binary search finds the first candidate of each thread. Candidates are sorted
//! by neighbour, and repeats are dropped *before* candidates go to their owners. An owner adds the vertices that were
//! not reached before to the next frontier. `strategy = "atomic"` is a simple method, to which the publication compares
//! its own: it claims vertices by atomic operations and sends all candidates. `strategy = "auto"` is the fastest method
//! here: the engines of `[bfs]`.
//!
//! The parent of a vertex is its smallest neighbour in the previous level, by the order of vertices. So trees do not
//! depend on the strategy, owners, device, or number of ranks and threads. `[bfs]` finds the same trees.
//!
//! **Bytes moved.** Each row entry of 4 bytes is read twice: to count the candidates of buckets, and to write them to
//! buckets. It is written as a pair of 8 bytes and read again. So an entry takes at least 24 bytes of memory traffic. A
//! vertex takes about 24 bytes more (parent, frontier, offset, bits). At scale 21 with 16 edges per vertex this is 1.6
//! GB per search: 0.1 s at the 17 GB/s of one core, 0.34 ms at the 4.8 TB/s of an H200. Ranks send 8 bytes per
//! candidate that remains after repeats are dropped. GPUs of one machine read them over the link between them: 13 MB
//! each way at scale 22 with two GPUs, 0.05 ms at 300 GB/s.
mod auto;
mod cost;
mod cpu;
mod engine;
mod exchange;
pub mod gpu;
mod levels;
mod options;
mod output;
mod search;
mod task;
mod walk;

pub use options::Traverse;
