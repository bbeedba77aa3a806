//! Which rank builds which blocks, and the data that a rank sorts into its blocks.

use crate::graph::{Bins, Degrees, Layout};
use crate::prepare::partition::Partition;
use crate::process::progress::StageProgress;

/// The blocks of a graph, with the rank that builds each block that is not stored yet.
pub(super) struct Assignment<'a> {
    pub(super) layout: &'a Layout,
    pub(super) builders: Vec<u32>,
    /// True for each block that this rank builds.
    pub(super) mine: Vec<bool>,
    /// Approximate fraction of all edges that this rank receives.
    pub(super) part: f64,
}

/// Inputs of the stage `sort`: the bins, which contain unsorted edges, and the blocks that this rank builds from them.
#[derive(Clone, Copy)]
pub(super) struct SortInput<'a, 'p> {
    pub(super) assignment: &'a Assignment<'a>,
    pub(super) bins: &'a Bins,
    pub(super) partition: &'a Partition<'p>,
    pub(super) degrees: &'a Degrees,
    pub(super) progress: &'a StageProgress,
}
