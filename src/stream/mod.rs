//! Streams the rows of a graph through a GPU's fixed memory.
//!
//! A graph may be many times larger than the memory of a GPU. Its blocks are cut into [batches](batch) that fit. One
//! batch stays resident in GPU memory, while the others, the *passing* batches, follow each other through slots
//! (buffers for one batch each). While the GPU works on one slot, the [`loader`] fills another. The algorithm decides
//! which batch is resident, and what it computes on the resident and a passing batch.
//!
//! | module | task |
//! |---|---|
//! | `batch` | divides blocks into batches of rows, if necessary within a row |
//! | `location` | finds the source of a segment of rows: a file, this process or another, or a GPU |
//! | `loader` | copies batches to the GPU on its own thread |
//! | `passes` | calls a function for all rows, which are resident in GPU memory or stream through it |
//! | `windows` | like `passes`, but with all rows of each vertex at a time, from both halves of the graph |
//! | `relay` | copies the same batch to the GPUs of all ranks of a machine, but only once from the host |
//! | `spread` | distributes the blocks of a graph over the GPUs of all ranks, which then copy them from there |

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

/// Cancellation check, which is called regularly while copying or waiting. If it returns an error, the work ends with
/// this error.
pub type CancelCheck<'a> = &'a (dyn Fn() -> crate::error::Result<()> + Sync);
