//! The algorithms. Each has a folder with all of its code except its GPU kernels, which are in `kernels/`.
//!
//! [`ALGORITHMS`] is the registry. An algorithm implements [`Algorithm`] with its own types. A job uses the algorithm
//! as a [`Task`], without these types, and lends it a [`Run`] to compute with. To add an algorithm, add a folder here,
//! its kernels, a job file under `configs/` and a line in the registry.
//!
//! | file | contents |
//! |---|---|
//! | `algorithm`, `input` | the trait of algorithms; the two kinds of input: graphs and lists |
//! | `task` | algorithms with their types erased, and the entries of the registry |
//! | `run`, `device` | what a job lends an algorithm for a trial; the choice between GPU and CPU |
//! | `cost`, `verify` | estimated costs; checks of results |
//! | `triangle`, `bfs`, `traverse`, `dfs`, `components`, `cdlp` | algorithms |
//! | `cores`, `pagerank`, `betweenness`, `distances`, `sssp`, `listrank` | algorithms |
//! | `sums` | an algorithm for tests only |
//! | `searches` | code shared by algorithms that search from many sources |
//! | `sources`, `weights` | keys that several tables have |
//! | `bits`, `rows` | code shared by algorithms: sets of vertices; rows of neighbours |
//! | `row_parts`, `edges` | code shared by algorithms: passes over rows, and over the edges of an input |
//! | `round` | how ranks agree after a round to continue, to save or to stop |
//! | `team` | threads that work together: a barrier, and short rounds by one thread |
//! | `energy` | energy of a trial |

mod algorithm;
pub mod betweenness;
pub mod bfs;
mod bits;
pub mod cdlp;
pub mod components;
pub mod cores;
pub mod cost;
pub mod device;
pub mod dfs;
pub mod distances;
pub(crate) mod edges;
pub mod energy;
mod input;
pub mod listrank;
#[cfg(test)]
mod model_tests;
pub mod pagerank;
pub mod round;
mod row_parts;
mod rows;
pub mod run;
pub mod searches;
pub mod sources;
pub mod sssp;
#[cfg(feature = "testing")]
pub mod sums;
pub mod task;
mod team;
pub mod traverse;
pub mod triangle;
pub mod verify;
pub mod weights;

pub use algorithm::{Algorithm, Answer, Needs, Trial, TrialOf, TrialRef};
pub use cost::{Cost, GraphSize, ListSize, RankResources};
pub use device::{ChosenDevice, Devices, Lease};
pub use input::{ByInput, InputRef, SizeRef};
pub use run::Run;
pub use task::{Entry, Outcome, Task};
pub use verify::{EdgeSource, ListResults, Results, StoredUnits, UnitsContent, Verdict};
pub use weights::WeightSource;

use crate::results::about::About;
use std::path::Path;

/// All algorithms, in the order in which they run and are documented.
pub static ALGORITHMS: &[Entry] = &[
    Entry::of::<triangle::Triangle>(),
    Entry::of::<bfs::Bfs>(),
    Entry::of::<traverse::Traverse>(),
    Entry::of::<dfs::Dfs>(),
    Entry::of::<components::Components>(),
    Entry::of::<cdlp::Cdlp>(),
    Entry::of::<cores::Cores>(),
    Entry::of::<pagerank::Pagerank>(),
    Entry::of::<betweenness::Betweenness>(),
    Entry::of::<distances::Distances>(),
    Entry::of::<sssp::Sssp>(),
    Entry::of::<listrank::ListRank>(),
    #[cfg(feature = "testing")]
    Entry::of::<sums::Sums>(),
];

/// Returns the algorithm called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
}

/// Returns the description of the result column that is stored in `file`, a path below `out/`.
pub fn about_column(file: &Path) -> Option<&'static About> {
    let stem = file.file_stem()?;
    // Columns of the algorithm whose folder contains the file come first, because others may have a column of the same
    // name.
    let in_folder = ALGORITHMS.iter().filter(|algorithm| file.iter().any(|part| part == algorithm.name));
    let mut columns = in_folder.chain(ALGORITHMS).flat_map(|algorithm| algorithm.columns).chain([&About::IDS]);
    columns.find(|column| stem == column.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_results_has_every_column() {
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/results.md"));
        let page = page.expect("the page");
        let columns = ALGORITHMS.iter().flat_map(|algorithm| algorithm.columns).chain([&About::IDS]);
        for About { name, holds, missing, .. } in columns {
            // Columns of several algorithms may have the same name.
            let mut rows = page.lines().filter(|line| line.starts_with(&format!("| `{name}` |")));
            let is_there = rows.any(|row| row.contains(holds) && row.contains(missing));
            assert!(is_there, "docs/reference/results.md has no row for {name}: {holds}; {missing}");
        }
    }
}
