//! The algorithms: one folder each, from the driver down to the kernels of each backend.
//!
//! [`ALGORITHMS`] is the registry. To a job an algorithm is what [`Algorithm`] says, its table a [`Task`]; what it computes with
//! it is lent by [`Run`]. A new one is a folder here, its kernels, a job file under `configs/` and a line in the registry.
//!
//! | file | holds |
//! |---|---|
//! | `algorithm`, `run`, `device`, `cost`, `verify` | what an algorithm tells a job, and what a job lends it: for a trial, a device, a plan, and for checks |
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
mod team;
pub mod traverse;
pub mod triangle;
pub mod verify;
pub mod weights;

pub use algorithm::{Algorithm, Answer, GraphTask, InputKind, ListTask, Needs, On, Outcome, Task, recall};
pub use cost::{Cost, Crew, GraphSize};
pub use device::{Chosen, Devices, Lease};
pub use run::{CpuResources, Run};
pub use sources::Sources;
pub use verify::{EdgeSource, ListResults, Results, StoredUnits, UnitsContent, Verdict};
pub use weights::WeightSource;

/// All algorithms, in the order of the documentation, which is that of running.
pub static ALGORITHMS: &[&dyn Algorithm] = &[
    &triangle::Triangle,
    &bfs::Bfs,
    &traverse::Traverse,
    &dfs::Dfs,
    &sssp::Sssp,
    &listrank::ListRank,
    #[cfg(feature = "failpoints")]
    &sums::Sums,
];

/// Returns the algorithm of this name.
pub fn find(name: &str) -> Option<&'static dyn Algorithm> {
    ALGORITHMS.iter().copied().find(|algorithm| algorithm.name() == name)
}
