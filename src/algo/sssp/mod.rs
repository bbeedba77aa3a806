//! Shortest paths: from a source the least sum of weights to every vertex, and a tree of parents.
//!
//! Sums of whole numbers are exact, in 64 bits. Of decimals the distance is the smallest over all paths of the sum that f32 makes from the source
//! on, edge by edge: rounding keeps order, so that there is one answer, whatever the order in which edges are looked at.
//!
//! **Parents.** An edge from u to v is *tight* if the distance of u and its weight make the distance of v. The parent of a vertex is the smallest,
//! in the order of vertices, of those that are nearer to the source and that a tight edge leads from. A vertex without any is reached by edges
//! that add nothing (weights of zero, or too small for f32); such vertices of one distance make a *plateau*. Those of it with a parent, and the
//! source, are step 0, and the parent of any other is the smallest that is one step nearer. So parents are a tree, and the same on any device,
//! with any number of threads and ranks.
//!
//! **Method.** Delta-stepping (Meyer and Sanders 2003) with tiny buckets, only as far as the core of hubs: what is pushed from there would be
//! nearly all edges. The other vertices *pull*: rows are sorted by weight, so each stops at the first edge that can't be shorter than the best, after few.
//! `bellman-ford`, `delta-stepping` and `moore` are there by themselves, to compare with; `moore` has the hierarchical queues as published.
//!
//! **Bytes moved.** A search looks at 3 to 4 % of all entries: 16 to 20 M of 521 M at scale 24 with weights up to 255. They begin a row each, so
//! that an entry costs a line of memory (64 bytes, 1.2 GB) and a look at a distance, and the rest of a search are arrays of 4 to 8 bytes a vertex. On an
//! H200 that is 0.4 ms; scale 24 takes 1.6, since each bucket is a step that waits for the whole grid. A graph without hubs, such as a
//! grid, is pushed along all its edges, and is bound by the number of its buckets.

mod cost;
pub mod cpu;
mod distances;
mod driver;
mod edges;
mod engine;
mod fault;
mod figures;
pub mod gpu;
mod options;
mod output;
mod path;
mod ranks;
pub mod search;
mod task;
pub mod validate;
mod verify;
mod write;

pub use distances::{Distance, Distances};
pub use edges::Edges;
pub use options::{Method, Sssp};
