//! The graph: the order of vertices, and blocks of rows with their layout and storage.

pub mod adjacency;
pub mod bins;
pub mod catalogue;
pub mod csr;
pub mod degrees;
pub mod direction;
pub mod half;
pub mod host_block;
pub mod ids;
pub mod layout;
pub mod likely;
pub mod order;
pub mod packed;
pub mod placement;
pub mod stored;
pub mod weights;
