//! The graph in memory: the order of vertices, blocks of rows, and how rows are laid out in blocks.

pub mod csr;
pub mod layout;
pub mod order;
