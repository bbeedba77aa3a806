//! Traversal of a graph level by level by ranks that own its vertices, as published for clusters of GPUs under the name of "depth first"
//! search (which it is not; `[dfs]` is).
//!
//! A rank owns vertices (`owner`: vertex `v` modulo the ranks, as published, or the blocks of `[bfs]`), and has their rows. It takes its part of
//! the frontier at once (`walk`): prefix sums of degrees number all *candidates*, neighbours with the vertex they are reached from; a binary search
//! finds the first of each thread; candidates are sorted by neighbour and repeats dropped, *before* each goes to its owner; an owner
//! takes those that were not reached yet into the next frontier. `strategy = "atomic"` is the simple way that the publication compares itself
//! with: claims by atomic operations, and all candidates are sent. `strategy = "auto"` is the fastest way here: the engines of `[bfs]`.
//!
//! The parent of a vertex is its smallest neighbour, in the order of vertices, in the level before: trees are the same by any strategy, owner, device,
//! number of ranks and threads, and those of `[bfs]`.
//!
//! **Bytes moved.** Each entry is read twice (4 bytes; once to count buckets, once to scatter), written as a pair of 8 bytes and read again, so that an
//! entry takes at least 24 bytes of memory traffic; a vertex some 24 bytes more (parent, frontier, offset, bits). Of scale 21 with 16 edges
//! a vertex these are 1.6 GB a search: 0.1 s at 17 GB/s of one core, 0.34 ms at 4.8 TB/s of an H200. Ranks send 8 bytes a candidate that is left.
//! GPUs of one machine read them over the link between them: 13 MB each way at scale 22 by two, 0.05 ms at 300 GB/s.
mod auto;
mod cost;
mod cpu;
mod driver;
mod engine;
mod exchange;
pub mod gpu;
mod levels;
mod options;
mod output;
mod owner;
mod search;
mod task;
mod walk;

pub use options::Traverse;
