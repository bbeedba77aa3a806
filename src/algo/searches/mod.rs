//! Code that all algorithms that search from many sources share. It chooses sources, writes a journal of searches,
//! checks trees in batches, writes result columns, and measures energy and the statistics of Graph500.
//!
//! A *search table* is a table of a job file that requests searches from a list of sources, such as `[bfs]` or
//! `[sssp]`. Its algorithm implements [`SearchTable`] with its keys and its engine, and [`SearchTask`] with its trees.
//! `tree` implements [`SearchTask`] for level-synchronous searches. [`drive`] runs a trial, and every [`SearchTask`] is
//! an [`Algorithm`](crate::algo::Algorithm).
//!
//! | file | contents |
//! |---|---|
//! | `task` | the traits that the algorithm of a search table implements |
//! | `algorithm` | the cost of a search table, and its implementation of `Algorithm` |
//! | `options`, `roots` | the keys that all search tables share, and the choice of roots |
//! | `driver`, `ledger`, `record` | one trial: a search from each source, the journal, and its records |
//! | `results` | results and statistics of all searches |
//! | `tree` | level-synchronous searches, which all produce the same trees |
//! | `ranks` | searches by several ranks: ownership of vertices, communication, and searches by rank 0 alone |
//! | `gpu` | code shared by the GPU searches |
//! | `component`, `graph500` | the number of traversed edges; the Graph500 statistics |
//! | `figures`, `sentences` | charts; the answer line and sentences |
//! | `consistency`, `places` | checks of results |

mod algorithm;
mod component;
mod consistency;
mod driver;
pub mod figures;
pub mod gpu;
pub mod graph500;
mod ledger;
pub mod options;
pub mod places;
pub(in crate::algo) mod ranks;
mod record;
pub mod results;
pub(in crate::algo) mod roots;
pub mod sentences;
mod task;
pub mod tree;

pub use consistency::{differs, require};
pub use driver::drive;
pub use ledger::{LEVELS, report_bytes};
pub use options::{Options, Origins};
pub(in crate::algo) use ranks::on_rank0_or;
pub use record::verify_units;
pub use roots::Root;
pub use task::{Engine, EngineInput, EngineOf, ReportedTree, Search, SearchCost, SearchTable, SearchTask};

use crate::prepare::input_ids;
use crate::prepare::prepared::Graph;

/// Value that an array of parents contains for an unreached vertex. It is larger than every vertex.
pub const NONE: u32 = u32::MAX;

/// Returns the input id of vertex `v`, for messages. If the ids can't be read, returns the position of the vertex in
/// the order of vertices.
pub(in crate::algo) fn vertex_name(graph: &Graph, v: u32) -> String {
    input_ids::name(graph, v).unwrap_or_else(|_| format!("{v} in the order of vertices"))
}
