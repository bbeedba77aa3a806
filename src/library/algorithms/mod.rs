//! The graph algorithms as functions. For each algorithm, one file defines the options, the function and the result
//! type.

pub mod betweenness;
pub mod bfs;
pub mod cdlp;
pub mod components;
pub mod cores;
pub mod dfs;
pub mod distances;
pub mod listrank;
pub mod pagerank;
mod sources;
pub mod sssp;
pub mod traverse;
mod tree;
pub mod triangles;
