//! What ranks that search together share: which of them owns a vertex, and searches that only rank 0 does.

mod on_rank0;
mod ownership;

pub use on_rank0::OnRank0;
pub use ownership::{OwnerRule, VertexOwnership};
