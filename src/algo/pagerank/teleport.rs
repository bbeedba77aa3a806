//! Teleportation in PageRank: the target vertices, and the PageRank of isolated vertices, which depends only on
//! teleportation.

use super::arithmetic;
use super::options::{Pagerank, Variant};
use crate::algo::{Algorithm, sources};
use crate::error::Result;
use crate::graph::ids::{InputId, Vertex};
use crate::prepare::input_ids::IdList;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::prepare::relabel;
use std::ops::Range;

/// Teleport targets in a graph, as the table `[pagerank]` defines them.
pub(super) struct Teleport {
    damping: f64,
    spreads_sinks: bool,
    /// Number of vertices of the graph, including isolated ones.
    vertices: u64,
    /// Teleport targets that have an edge, in ascending order. Empty if no vertex is personalised, or if all
    /// personalised vertices are isolated.
    pub personalised: Vec<u32>,
    /// Teleport targets that are isolated, in ascending order. A vertex is given by the number with which result
    /// columns represent it.
    pub personalised_isolated: Vec<u64>,
    /// Number of isolated vertices that are not personalised, and number of isolated vertices that are personalised.
    pub isolated: [u64; 2],
}

/// Teleport contributions to a vertex in one iteration: if it is not personalised, and if it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bases {
    pub of_all: f64,
    pub personalised: f64,
}

impl Teleport {
    /// Finds the personalised vertices, which `options` names, in a graph.
    ///
    /// # Errors
    /// [`crate::Error::Input`] for an id that the graph does not have; errors of reading ids.
    pub(super) fn new(options: &Pagerank, graph: &Graph) -> Result<Teleport> {
        let info = &graph.info;
        let named = options.named_vertices();
        let (mut personalised, mut personalised_isolated) = (Vec::new(), Vec::new());
        if !named.is_empty() {
            let (order, ids) = (order::map(&graph.folder, info.content)?, IdList::open(graph)?);
            let map = order.ids()?;
            for (&(_, id), dense) in named.iter().zip(sources::dense(&named, &graph.folder, info)?) {
                match (relabel::vertex(map, dense), id) {
                    (Some(Vertex(v)), _) => personalised.push(v),
                    (None, InputId::Number(number)) => personalised_isolated.push(number),
                    (None, InputId::Name(_)) => personalised_isolated.push(ids.number(dense)),
                }
            }
            personalised.sort_unstable();
            personalised_isolated.sort_unstable();
        }
        let own = personalised_isolated.len() as u64;
        Ok(Teleport {
            damping: options.damping,
            spreads_sinks: options.variant == Variant::Graphalytics,
            vertices: info.rows(),
            personalised,
            personalised_isolated,
            isolated: [info.rows() - info.connected - own, own],
        })
    }

    /// Returns the teleport contributions to each vertex. `sinks` is the total PageRank, in units of 2^-62, of the
    /// vertices without out-edges.
    pub(super) fn bases(&self, sinks: u64) -> Bases {
        let targets = (self.personalised.len() + self.personalised_isolated.len()) as u64;
        bases(self.damping, if self.spreads_sinks { sinks } else { 0 }, self.vertices, (targets > 0).then_some(targets))
    }

    /// Returns true if an isolated vertex is personalised, and thus a teleport target. `number` is the number with
    /// which result columns represent the vertex.
    pub(super) fn is_personalised_isolated(&self, number: u64) -> bool {
        self.personalised_isolated.binary_search(&number).is_ok()
    }

    /// Returns some of `rows`, the rows of isolated vertices in the result column. They include the rows of the `most`
    /// highest PageRank values. Result columns represent the vertex in row `r` by the number `r + first_id`.
    pub(super) fn isolated_rows(&self, rows: Range<u64>, first_id: u64, most: usize) -> Vec<u64> {
        let own = self.personalised_isolated.iter().filter_map(|number| number.checked_sub(first_id));
        let others = rows.clone().filter(|row| !self.is_personalised_isolated(row + first_id)).take(most);
        let mut some: Vec<u64> = own.filter(|row| rows.contains(row)).chain(others).collect();
        some.sort_unstable();
        some
    }

    /// Returns the sum of a value over all isolated vertices, in units of 2^-62. `of(0)` must return the value of a
    /// vertex that is not personalised, and `of(1)` the value of a personalised vertex.
    pub(super) fn isolated_total(&self, of: impl Fn(usize) -> u64) -> u64 {
        (0..2).map(|kind| self.isolated[kind].wrapping_mul(of(kind))).fold(0, u64::wrapping_add)
    }

    /// Returns the personalised vertices that have an edge, beginning with vertex `first`.
    pub(super) fn personalised_from(&self, first: u32) -> &[u32] {
        &self.personalised[self.personalised.partition_point(|&v| v < first)..]
    }
}

/// Returns the teleport contributions to each vertex. `personalised` is the number of personalised vertices, which are
/// then the only targets. If it is `None`, all `vertices` vertices are targets. `sinks` is the total PageRank of sinks,
/// in units of 2^-62, that is spread over the targets.
pub(super) fn bases(damping: f64, sinks: u64, vertices: u64, personalised: Option<u64>) -> Bases {
    match personalised {
        None => {
            let base = arithmetic::base(damping, sinks, vertices);
            Bases { of_all: base, personalised: base }
        }
        Some(targets) => Bases { of_all: 0.0, personalised: arithmetic::base(damping, sinks, targets) },
    }
}
