//! Traversal of a graph level by level, by ranks that own its vertices. The method was published for GPU clusters under
//! the name "depth first" search, which it is not; `[dfs]` is.
//!
//! A rank owns vertices (vertex `v` modulo the number of ranks, as published, or the blocks of `[bfs]`), and
//! has their rows. It processes its part of the frontier in one go (`walk`). Prefix sums of degrees number all
//! *candidates*: neighbours with the vertex from which they are reached. A binary search finds the first candidate of
//! each thread. Candidates are sorted by neighbour, and repeats are dropped *before* candidates go to their owners. An
//! owner adds the vertices that were not reached before to the next frontier. `strategy = "atomic"` is the simple
//! method with which the publication compares: it claims by atomic operations and sends all candidates. `strategy =
//! "auto"` is the fastest method here: the engines of `[bfs]`.
//!
//! The parent of a vertex is its smallest neighbour, in the order of vertices, in the level before. So trees do not
//! depend on the strategy, owners, device, or number of ranks and threads. `[bfs]` finds the same trees.
//!
//! **Bytes moved.** Each entry is read twice (4 bytes; once to count buckets, once to scatter), written as a pair of 8
//! bytes and read again. So an entry takes at least 24 bytes of memory traffic, and a vertex some 24 bytes more
//! (parent, frontier, offset, bits). At scale 21 with 16 edges per vertex this is 1.6 GB per search: 0.1 s at the 17
//! GB/s of one core, 0.34 ms at the 4.8 TB/s of an H200. Ranks send 8 bytes per remaining candidate. GPUs of one
//! machine read them over the link between them: 13 MB each way at scale 22 with two GPUs, 0.05 ms at 300 GB/s.
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
