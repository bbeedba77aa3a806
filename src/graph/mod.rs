//! The graph in memory: ids, blocks of rows, and how rows are laid out in blocks.

pub mod csr;
