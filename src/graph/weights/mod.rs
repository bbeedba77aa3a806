//! Weights of edges: stored next to the blocks, or drawn from a seed.

pub mod drawn;
pub mod stored;
