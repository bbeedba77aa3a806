//! Streams the rows of a graph through a GPU's fixed memory.
//!
//! A graph may be many times larger than the memory of a GPU. What works on it there cuts its blocks into [batches](batch) that
//! fit, keeps one batch resident, and lets others pass it through slots: while one slot is worked on, the [`loader`] fills
//! another. Which batch is resident and what is done with two of them is the algorithm's own.
//!
//! | file | does |
//! |---|---|
//! | `batch` | cuts blocks into batches of rows, also within one row |
//! | `location` | says where a segment of rows lies: in a file, in this process or another, on a GPU |
//! | `loader` | copies batches to the GPU on a thread of its own |
//! | `relay` | has the ranks of a machine bring a batch that all of them need from the host once |
//! | `spread` | spreads the blocks of a graph over the GPUs of all ranks, which then read them there |

pub mod batch;
pub mod loader;
pub mod location;
pub mod relay;
pub mod spread;

pub use batch::{Cut, RowBatch, Segment, batches};
pub use loader::{Arrival, Loader, ResidentRows};
pub use relay::Relay;

/// Asked now and then by whoever copies or waits: an error says why not to go on.
pub type GoOn<'a> = &'a (dyn Fn() -> crate::error::Result<()> + Sync);
