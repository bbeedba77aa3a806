//! Computes results from a depth-first tree: articulation points and bridges, strongly connected components, and a
//! cycle.

pub mod articulation;
pub mod cycle;
pub mod strong;
