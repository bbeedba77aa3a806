//! Searches from many sources, whatever they look for: which vertices they begin at, a journal of sources, checks in batches, columns, energy,
//! and the figures of Graph500.
//!
//! An algorithm says by [`SearchTask`] what its searches are; [`drive`] does what all have in common.
//!
//! | file | holds |
//! |---|---|
//! | `task`, `options`, `roots` | what a search is, the keys that all tables share, and the vertices to begin at |
//! | `driver`, `ledger`, `record`, `results` | one trial: a search from each source, a journal of what was found, and the results of all |
//! | `tree` | searches by levels, which all leave the same trees |
//! | `gpu`, `on_rank0` | the common part of searches on a GPU, and a search that other ranks wait for |
//! | `component`, `graph500`, `figures`, `sentences` | results for people: edges, Graph500's block, pictures, the answer line and sentences |
//! | `agreement`, `places` | checks of results |

pub mod agreement;
mod component;
mod driver;
pub mod figures;
pub mod gpu;
pub mod graph500;
mod ledger;
mod on_rank0;
pub mod options;
pub mod places;
mod record;
pub mod results;
mod roots;
pub mod sentences;
mod task;
pub mod tree;

pub use agreement::differs;
pub use driver::drive;
pub use ledger::{LEVELS, SearchTrial, telling_bytes};
pub use on_rank0::OnRank0;
pub use options::{MOST_ROOTS, Options};
pub use record::verify_units;
pub use roots::Root;
pub use task::{Claim, Kept, SearchTask};

/// The parent of a vertex that was not reached.
pub const NONE: u32 = u32::MAX;
