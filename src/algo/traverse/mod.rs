//! Level-synchronous traversal of a graph, by MPI ranks that own its vertices. The method was published for GPU
//! clusters as a "depth first" search, but it is breadth-first. `[dfs]` searches depth-first.
//!
//! A rank owns some vertices, and stores their rows (adjacency lists). Vertex `v` belongs to rank `v` modulo the number
//! of ranks, as published, or ranks own blocks of vertices as in `[bfs]`. In a step from one level to the next, each
//! rank expands the vertices of the frontier that it owns (`walk`). A *candidate* is a neighbour, with the vertex of
//! the frontier from which it is reached. Prefix sums of degrees give each candidate an index, and a binary search
//! finds the first candidate of each thread. Candidates are sorted by neighbour, and repeats are dropped *before*
//! candidates go to their owners. An owner adds the vertices that were not reached before to the next frontier.
//! `strategy = "atomic"` is the simple method with which the publication compares its own: it claims vertices by atomic
//! operations and sends all candidates. `strategy = "auto"` uses the engines of `[bfs]`, which are the fastest.
//!
//! The parent of a vertex is its first neighbour in the previous level, in the order of vertices (by descending degree,
//! then by id). So trees do not depend on the strategy, owners, device, or number of ranks and threads. `[bfs]` finds
//! the same trees.
//!
//! **Memory traffic.** Each row entry of 4 bytes is read twice: to count the candidates of buckets, and to write them
//! to buckets. It is written as a pair of 8 bytes and read again. So an entry causes at least 24 bytes of traffic. A
//! vertex causes about 24 bytes more (parent, frontier, offset, bits). At scale 21 with 16 edges per vertex this is 1.6
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

pub use options::{Strategy, Traverse};
