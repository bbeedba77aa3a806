//! Shortest paths (the table `[sssp]`): for each source the smallest sum of weights to every vertex, and a tree of
//! parents.
//!
//! Sums of integer weights are exact, in 64 bits. With floating-point weights, the length of a path is the sum of its
//! weights in f32 or f64 arithmetic, depending on the type of the weights, added edge by edge from the source on. The
//! distance of a vertex is the smallest length over all paths to it. Rounded addition is monotonic, so there is one
//! answer, and it does not depend on the order in which edges are relaxed.
//!
//! **Parents.** An edge from u to v is *tight* if the distance of u plus its weight equals the distance of v. The
//! parent of a vertex v is the first vertex, in the order of vertices (descending degree), that is nearer to the
//! source and has a tight edge to v. Some vertices have no such neighbour, because the last edge of every shortest
//! path *adds nothing*: its weight is zero, or so small that rounding absorbs it. Vertices that are joined by edges
//! that add nothing have the same distance, and form a *plateau*. In a plateau, the source and the vertices that have
//! a parent by the first rule are at step 0. The parent of any other vertex is its first neighbour, along an edge that
//! adds nothing, that is one step nearer to them. So parents form a tree. It is the same on any device and with any
//! number of threads and ranks.
//!
//! **Method.** The search begins with delta-stepping (Meyer and Sanders 2003) with narrow buckets. When it reaches the
//! hubs (vertices with very many edges), it stops *pushing* (relaxing out-edges), because the hubs would have to relax
//! nearly all edges. Then the other vertices *pull*: each relaxes its in-edges. These are sorted by weight, so the
//! vertex stops after few edges, at the first that cannot improve its distance. `bellman-ford`, `delta-stepping` and
//! `moore` are separate methods for comparison. `moore` uses hierarchical queues, as in the publication.
//!
//! **Bytes moved.** A search reads 3 to 4 % of all entries: 16 to 20 M of 521 M at scale 24 with weights up to 255.
//! Each of these entries is at the start of a row, so it costs a cache line (64 bytes, 1.2 GB in all) and a read of a
//! distance. The rest of a search reads arrays of 4 to 8 bytes per vertex. On an H200 the memory traffic takes 0.4 ms.
//! Scale 24 takes 1.6 ms, because all threads of the grid wait at a barrier after each bucket. In a graph without hubs,
//! such as a grid, the search pushes along all edges, and its time depends on the number of buckets.

mod cost;
pub mod cpu;
mod distances;
mod edges;
mod engine;
mod fault;
mod figures;
pub mod gpu;
pub mod options;
mod output;
mod path;
mod ranks;
pub mod search;
mod task;
mod trees;
pub mod validate;
mod verify;
mod weights;

#[cfg(feature = "testing")]
pub use distances::Distance;
pub use distances::Distances;
pub use edges::WeightedEdges;
pub use options::Sssp;
pub use output::SsspOutput;
#[cfg(feature = "testing")]
pub use weights::WeightScale;
