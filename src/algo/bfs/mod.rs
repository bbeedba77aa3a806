//! Breadth-first search: from a source the vertices that it reaches, the level of each, and a tree of parents.
//!
//! A search goes from level to level. *Top-down* it follows the edges of the frontier, the vertices of the last level; *bottom-up* every vertex
//! that is not reached yet looks for a neighbour that is, in its row from the front, and stops at the first (Beamer, Asanović and Patterson
//! 2012). Rows are sorted by vertex, and vertices by degree, so that the hubs, which nearly everybody hangs on, come first.
//!
//! The parent of a vertex is its smallest neighbour, in the order of vertices, in the level before: the tree is the same on any device, with
//! any number of threads and ranks.

pub mod cost;
pub mod cpu;
mod driver;
pub mod engine;
pub mod gpu;
mod ranks;
pub mod search;
mod task;

pub use task::Bfs;
