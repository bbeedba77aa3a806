//! Breadth-first search: finds the vertices that are reachable from a source, the level of each, and a tree of parents.
//!
//! A search proceeds level by level. A *top-down* step follows the edges of the frontier, which is the last level. In
//! a *bottom-up* step, every unreached vertex checks its neighbours in order, and stops at the first reached one
//! (Beamer, Asanović and Patterson 2012). Vertices are numbered by descending degree, and rows are sorted by vertex.
//! So hubs, which are the parents of most vertices, come first in a row.
//!
//! The parent of a vertex is the first neighbour in its adjacency row that is in the previous level. So the tree is the
//! same on any device, with any number of threads and ranks.
//!
//! **Bytes moved.** In a graph of low diameter, nearly every vertex is found in a bottom-up step by its first
//! neighbour. The step reads 4 bytes for this neighbour and checks one bit, which is in a cache. It writes one bit and
//! a parent of 4 bytes. All other work (edges followed top-down, and rows of vertices whose first neighbours were not
//! reached) reads 1 to 4 % of all row entries. Scale 26 of Graph500 with 16 edges per vertex has 33 million vertices
//! with an edge. Their first neighbours take 0.13 GB, and so do their parents, which are cleared before the search. An
//! H200 moves that in 0.1 ms at 4.3 TB/s. The search takes 0.62 ms: two large steps read bits at random (0.28 ms for
//! 18 million vertices), and in each of seven small steps all threads of the GPU wait for each other for about 10 µs.

pub mod cost;
pub mod cpu;
pub mod engine;
pub mod gpu;
mod options;
pub mod output;
mod ranks;
pub mod search;
mod task;

pub use options::Bfs;
