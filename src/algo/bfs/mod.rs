//! Breadth-first search: finds the vertices that are reachable from a source, the level of each, and a tree of parents.
//!
//! A search proceeds level by level. A *top-down* step follows the edges of the frontier, which is the last level. In a
//! *bottom-up* step, every unreached vertex checks its neighbours in order, and stops at the first reached one (Beamer,
//! Asanović and Patterson 2012). Rows are sorted by vertex, and vertices by degree. So hubs, which are the parents of
//! most vertices, come first.
//!
//! The parent of a vertex is its smallest neighbour in the previous level, by the order of vertices. So the tree is the
//! same on any device, with any number of threads and ranks.
//!
//! **Bytes moved.** In a graph of low diameter nearly all vertices are found bottom-up by their first neighbour: 4
//! bytes to read, one bit to check, which is in a cache, and one bit and a parent of 4 bytes to write. The frontier's
//! edges top-down, and the rows of vertices whose first neighbours were not reached, are 1 to 4 % of all entries. Scale
//! 26 with 16 edges per vertex has 33 M vertices with an edge: 0.13 GB of first neighbours and as much of parents
//! (cleared before) take 0.1 ms at the 4.3 TB/s of an H200. The search takes 0.62 ms, because its two large steps read
//! bits at random (0.28 ms for 18 M vertices) and seven small ones wait for the whole grid, about 10 µs each.

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
