//! Streams the rows of a graph through a GPU's fixed memory.
//!
//! A graph may be many times larger than the memory of a GPU. Its blocks are cut into [batches](batch) that fit. One
//! batch stays resident while others pass through slots, which are buffers for one batch each. While the GPU works on
//! one slot, the [`loader`] fills another. The algorithm decides which batch is resident, and what it computes on a
//! pair of batches.
//!
//! | module | task |
//! |---|---|
//! | `batch` | cuts blocks into batches of rows, if necessary within a row |
//! | `location` | finds a segment of rows: in a file, in this process or another, on a GPU |
//! | `loader` | copies batches to the GPU on its own thread |
//! | `passes` | calls an algorithm for all rows, which are placed in GPU memory or stream through it |
//! | `windows` | the same, but with all rows of each vertex at a time, from both halves of the graph |
//! | `relay` | lets the ranks of a machine copy a batch that all of them need from the host only once |
//! | `spread` | spreads the blocks of a graph over the GPUs of all ranks, which then copy them from there |

pub mod batch;
pub mod loader;
pub mod location;
pub mod passes;
pub mod relay;
pub mod spread;
pub mod windows;

pub use batch::{Cut, RowBatch, Segment, batches};
pub use loader::{Arrival, Loader, ResidentRows};
pub use location::copies_from_host;
pub use relay::Relay;

/// Callback that is called regularly while copying or waiting. An error ends the work.
pub type CancelCheck<'a> = &'a (dyn Fn() -> crate::error::Result<()> + Sync);
