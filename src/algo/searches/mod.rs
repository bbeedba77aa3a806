//! Code that all searches from many sources share. It chooses sources, keeps a journal of searches, checks trees in
//! batches, writes columns, and measures energy and the figures of Graph500.
//!
//! An algorithm implements [`SearchTable`] with its keys and its engine, and [`SearchTask`] with its trees. A search by
//! levels gets [`SearchTask`] from `tree`. [`drive`] runs a trial, and every [`SearchTask`] is an
//! [`Algorithm`](crate::algo::Algorithm).
//!
//! | file | holds |
//! |---|---|
//! | `task`, `algorithm` | the traits of a table of searches; its cost and its `Algorithm` |
//! | `options`, `roots` | the keys that all tables share, and the choice of roots |
//! | `driver`, `ledger`, `record` | one trial: a search from each source, the journal, and its records |
//! | `results` | results and statistics of all searches |
//! | `tree` | searches by levels, which all produce the same trees |
//! | `ranks` | searches by several ranks: ownership of vertices, communication, and searches that only rank 0 does |
//! | `gpu` | code that searches on a GPU share |
//! | `component`, `graph500` | the number of traversed edges; the figures of Graph500 |
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

/// Parent of an unreached vertex: a number that is no vertex.
pub const NONE: u32 = u32::MAX;

/// Returns the id of vertex `v` in the input, for messages. If the ids can't be read, returns its number in the order
/// of vertices.
pub(in crate::algo) fn vertex_name(graph: &Graph, v: u32) -> String {
    input_ids::name(graph, v).unwrap_or_else(|_| format!("{v} in the order of vertices"))
}
