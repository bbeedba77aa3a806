//! Edge weights: stored in files next to the blocks, or computed from a seed.

pub mod drawn;
pub mod stored;
