//! Code for searches by several ranks: ownership of vertices, communication, and searches by rank 0 alone.

mod exchange;
mod on_rank0;
mod ownership;

pub use exchange::{RankExchange, misplaced};
pub use on_rank0::on_rank0_or;
pub use ownership::{OwnerRule, VertexOwnership};
