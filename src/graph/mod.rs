//! The graph: the order of vertices, blocks of rows, how they are laid out, stored and found again.

pub mod catalogue;
pub mod csr;
pub mod degrees;
pub mod host_block;
pub mod layout;
pub mod order;
pub mod placement;
pub mod stored;
