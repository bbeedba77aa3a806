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

mod cost;
pub mod cpu;
mod distances;
mod driver;
mod edges;
mod engine;
mod fault;
pub mod gpu;
mod path;
mod ranks;
pub mod search;
mod task;
pub mod validate;
mod verify;
mod write;

pub use distances::{Distance, Distances};
pub use edges::Edges;
pub use task::{Method, Sssp};
