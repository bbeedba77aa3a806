//! Weights of edges: stored beside the blocks, or drawn from a seed.

pub mod drawn;
pub mod stored;
