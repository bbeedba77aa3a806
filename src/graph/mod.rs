//! The graph: the order of vertices, blocks of rows, how they are laid out, stored and found again.

pub mod catalogue;
pub mod csr;
pub mod degrees;
pub mod held;
pub mod homes;
pub mod layout;
pub mod order;
pub mod stored;
