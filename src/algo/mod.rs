//! The algorithms: one folder each, from the driver down to the kernels of each backend.
//!
//! [`ALGORITHMS`] is the registry. An algorithm implements [`Algorithm`] with its own types. A job sees it as a [`Task`] without these types, and
//! lends it a [`Run`] to compute with. A new one is a folder here, its kernels, a job file under `configs/` and a line in the registry.
//!
//! | file | holds |
//! |---|---|
//! | `algorithm`, `input`, `task` | the trait of algorithms; graphs and lists; the same without types, and the registry's entries |
//! | `run`, `device`, `cost`, `verify` | what a job lends an algorithm: for a trial, a device, a plan, and for checks |
//! | `bfs`, `traverse`, `dfs`, `sssp`, `triangle`, `listrank` | the algorithms; `sums` is one of the tests alone |
//! | `searches` | what searches from many sources have in common |
//! | `sources`, `weights` | keys that several tables have |
//! | `own`, `bits`, `row_parts` | parts of several algorithms: vertices of a rank, sets of vertices, passes over rows |
//! | `team` | threads that work together, wait for each other, and leave short rounds to one |
//! | `energy` | joules of a trial |

mod algorithm;
pub mod bfs;
mod bits;
pub mod cost;
pub mod device;
pub mod dfs;
pub mod energy;
mod input;
pub mod listrank;
#[cfg(test)]
mod model_tests;
mod own;
mod row_parts;
pub mod run;
pub mod searches;
pub mod sources;
pub mod sssp;
#[cfg(feature = "failpoints")]
pub mod sums;
mod task;
mod team;
pub mod traverse;
pub mod triangle;
pub mod verify;
pub mod weights;

pub use algorithm::{Algorithm, Answer, Needs, Trial, TrialOf};
pub use cost::{Cost, Crew, GraphSize, ListSize};
pub use device::{Chosen, Devices, Lease};
pub use input::{ByInput, Input, InputRef, ResultsRef, SizeRef};
pub use run::{CpuResources, Run};
pub use sources::Sources;
pub use task::{Entry, Outcome, Task, task};
pub use verify::{EdgeSource, ListResults, Results, StoredUnits, UnitsContent, Verdict};
pub use weights::WeightSource;

/// All algorithms, in the order of the documentation, which is that of running.
pub static ALGORITHMS: &[Entry] = &[
    Entry::of::<triangle::Triangle>(),
    Entry::of::<bfs::Bfs>(),
    Entry::of::<traverse::Traverse>(),
    Entry::of::<dfs::Dfs>(),
    Entry::of::<sssp::Sssp>(),
    Entry::of::<listrank::ListRank>(),
    #[cfg(feature = "failpoints")]
    Entry::of::<sums::Sums>(),
];

/// Returns the algorithm of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
}
