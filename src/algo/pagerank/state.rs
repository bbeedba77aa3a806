//! PageRank values of all vertices, and one iteration, which all MPI ranks compute together.
//!
//! Each MPI rank sums the contributions along some of the rows. Then these sums are added over the MPI ranks. Each MPI
//! rank computes the new PageRank values and contributions of the vertices that it owns, and sends the contributions to
//! all others.

use super::arithmetic;
use super::pull::PullRows;
use super::teleport::{Bases, Teleport};
use crate::algo::team::{WorkList, gathered};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, Buffer};
use std::ops::Range;

/// Number of vertices whose PageRank values a thread updates at a time.
const PART: usize = 1 << 12;

/// PageRank values and contributions of all vertices after some iterations.
pub(super) struct State<'d> {
    /// PageRank of each vertex that has an edge. After an iteration, an MPI rank has the new values only of the
    /// vertices that it owns.
    pub ranks: Buffer<f64>,
    /// Contribution of each vertex to each of its out-neighbours, in units of 2^-62.
    contributions: Buffer<u64>,
    sums: Buffer<u64>,
    /// PageRank of each isolated vertex: the first element if the vertex is not personalised, the second if it is.
    pub isolated: [f64; 2],
    /// Total PageRank of the vertices without out-edges, in units of 2^-62.
    sinks: u64,
    pub degrees: OutDegrees<'d>,
}

/// Out-degrees of all vertices that have an edge.
#[derive(Clone, Copy)]
pub(super) struct OutDegrees<'d> {
    /// Number of neighbours in each row.
    pub of_rows: &'d [u32],
    /// Whether the edges are directed.
    pub direction: Direction,
}

impl OutDegrees<'_> {
    /// Returns the out-degree of vertex `v`.
    #[inline(always)]
    pub fn of(self, v: usize) -> u32 {
        self.of_rows[self.direction.row(v as u32, EdgeDirection::Out) as usize]
    }
}

/// Totals of an iteration over all vertices that have an edge, in units of 2^-62.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// Sum of the absolute changes of PageRank values in an iteration.
    pub change: u64,
    /// Total PageRank of the vertices without out-edges.
    pub sinks: u64,
}

/// Consecutive vertices that one thread updates together: slices of the arrays over all vertices.
struct VertexPart<'a> {
    first: usize,
    ranks: &'a mut [f64],
    contributions: &'a mut [u64],
    sums: &'a [u64],
}

impl<'d> State<'d> {
    /// Returns the host memory, in bytes, that PageRank takes for a graph with `vertices` vertices.
    pub(super) fn bytes(vertices: u64) -> u64 {
        24 * vertices
    }

    /// Creates the state before the first iteration, in which all vertices have the same PageRank. `connected` of the
    /// `vertices` vertices have an edge. Call [`Self::contribute`] before the first iteration, unless a GPU computes
    /// the iterations.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub(super) fn new(
        degrees: OutDegrees<'d>,
        (connected, vertices): (usize, u64),
        budget: &Budget,
    ) -> Result<State<'d>> {
        let mut ranks: Buffer<f64> = budget.zeroed(connected, "ranks of vertices (8 bytes each)")?;
        let none = || budget.zeroed(0, "contributions and their sums");
        let (contributions, sums) = (none()?, none()?);
        // Infinity could not be sent to other MPI ranks.
        let first = if vertices == 0 { 0.0 } else { 1.0 / vertices as f64 };
        ranks.fill(first);
        Ok(State { ranks, contributions, sums, isolated: [first; 2], sinks: 0, degrees })
    }

    /// Computes the contribution of every vertex from its PageRank value. This MPI rank must have the PageRank values
    /// of all vertices.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn contribute(&mut self, teleport: &Teleport, budget: &Budget, threads: usize) -> Result<()> {
        self.contributions = budget.zeroed(self.ranks.len(), "contributions of vertices (8 bytes each)")?;
        self.sums = budget.zeroed(self.ranks.len(), "sums of contributions (8 bytes for each vertex)")?;
        let all = 0..self.ranks.len();
        let sinks = self.each_part(all, threads, |part, degrees| {
            let mut sinks = 0;
            for (i, rank) in part.ranks.iter().enumerate() {
                let degree = degrees.of(part.first + i);
                part.contributions[i] = arithmetic::contribution(*rank, degree);
                sinks += if degree == 0 { arithmetic::units(*rank) } else { 0 };
            }
            Totals { change: 0, sinks }
        })?;
        self.set_sinks(sinks.sinks, teleport);
        Ok(())
    }

    /// Sets the total PageRank of the vertices without out-edges. `connected` is the total, in units of 2^-62, of those
    /// that have in-edges. The total of the isolated vertices is added.
    pub(super) fn set_sinks(&mut self, connected: u64, teleport: &Teleport) {
        self.sinks = connected.wrapping_add(teleport.isolated_total(|kind| arithmetic::units(self.isolated[kind])));
    }

    /// Returns the teleport contributions for the next iteration.
    pub(super) fn bases(&self, teleport: &Teleport) -> Bases {
        teleport.bases(self.sinks)
    }

    /// Sums the contributions along the rows that this MPI rank processes. PageRank values and contributions remain as
    /// they are until [`Self::update`] is called.
    ///
    /// # Errors
    /// Errors of [`PullRows::sum`].
    pub(super) fn pull(&mut self, rows: &PullRows<'_>, threads: usize) -> Result<()> {
        rows.sum(&self.contributions, &mut self.sums, threads)
    }

    /// Completes an iteration after [`Self::pull`]: computes new PageRank values and contributions. Returns the sum of
    /// the absolute changes of all PageRank values. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn update(&mut self, teleport: &Teleport, damping: f64, comm: &Comm, threads: usize) -> Result<f64> {
        comm.reduce_scatter(&mut self.sums);
        let bases = self.bases(teleport);
        let share = comm.share(self.ranks.len());
        let of_share = self.each_part(share, threads, |mut part, degrees| {
            let mut personalised = teleport.personalised_from(part.first as u32).iter().map(|&v| v as usize);
            let (mut totals, mut from) = (Totals::default(), 0);
            // Personalised vertices are few. All vertices between two of them have the same teleport contribution, and
            // are updated together.
            while from < part.ranks.len() {
                let next = personalised.next().map_or(usize::MAX, |v| v - part.first).min(part.ranks.len());
                update(&mut part, from..next, (bases.of_all, damping), degrees, &mut totals);
                if next < part.ranks.len() {
                    update(&mut part, next..next + 1, (bases.personalised, damping), degrees, &mut totals);
                }
                from = next + 1;
            }
            totals
        })?;
        let mut totals = [of_share.change, of_share.sinks];
        comm.all_sum(&mut totals);
        comm.all_gather_shares(&mut self.contributions);
        let [change, sinks] = totals;
        Ok(self.finish(teleport, damping, Totals { change, sinks }))
    }

    /// Completes an iteration once the vertices with edges have their new PageRank values. `totals` are the totals over
    /// these vertices. Returns the sum of the absolute changes of all PageRank values.
    pub(super) fn finish(&mut self, teleport: &Teleport, damping: f64, totals: Totals) -> f64 {
        let Bases { of_all, personalised } = self.bases(teleport);
        let before = self.isolated;
        self.isolated = [of_all, personalised].map(|base| arithmetic::rank(base, damping, 0));
        let after = self.isolated;
        let changes = teleport.isolated_total(|kind| arithmetic::change(before[kind], after[kind]));
        self.set_sinks(totals.sinks, teleport);
        arithmetic::number(totals.change.wrapping_add(changes))
    }

    /// Returns the sum of all PageRank values. This MPI rank must have the PageRank values of all vertices.
    pub(super) fn sum(&self, teleport: &Teleport) -> f64 {
        let connected = self.ranks.iter().fold(0u64, |sum, &rank| sum.wrapping_add(arithmetic::units(rank)));
        arithmetic::number(
            connected.wrapping_add(teleport.isolated_total(|kind| arithmetic::units(self.isolated[kind]))),
        )
    }

    /// Divides the vertices in `range` into slices, which threads process one at a time. Calls `work` with each slice
    /// and with the out-degrees. `work` must return the totals over the slice. Returns the sum of these totals.
    fn each_part(
        &mut self,
        range: Range<usize>,
        threads: usize,
        work: impl Fn(VertexPart<'_>, OutDegrees<'_>) -> Totals + Sync,
    ) -> Result<Totals> {
        let degrees = self.degrees;
        let ranks = self.ranks[range.clone()].chunks_mut(PART);
        let (contributions, sums) =
            (self.contributions[range.clone()].chunks_mut(PART), self.sums[range.clone()].chunks(PART));
        let parts = ranks.zip(contributions).zip(sums).zip((range.start..).step_by(PART));
        let part = |(((ranks, contributions), sums), first)| VertexPart { first, ranks, contributions, sums };
        let parts = WorkList::new(parts.map(part).collect());
        let of_threads = gathered(threads, &|_| {
            let mut totals = Totals::default();
            while let Some(part) = parts.take() {
                totals = totals.and(work(part, degrees));
            }
            Ok(totals)
        })?;
        Ok(of_threads.into_iter().fold(Totals::default(), Totals::and))
    }
}

impl Totals {
    fn and(self, other: Totals) -> Totals {
        Totals { change: self.change.wrapping_add(other.change), sinks: self.sinks.wrapping_add(other.sinks) }
    }
}

/// Computes the PageRank values of the vertices `range` of `part` from the sums of contributions to them, and then
/// their own contributions. Adds the changes, and the PageRank of sinks, to `totals`.
fn update(
    part: &mut VertexPart<'_>,
    range: Range<usize>,
    (base, damping): (f64, f64),
    degrees: OutDegrees<'_>,
    totals: &mut Totals,
) {
    let first = part.first + range.start;
    let of_range = part.ranks[range.clone()].iter_mut().zip(&mut part.contributions[range.clone()]);
    for (i, ((rank, contribution), &sum)) in of_range.zip(&part.sums[range]).enumerate() {
        let (before, after) = (*rank, arithmetic::rank(base, damping, sum));
        let degree = degrees.of(first + i);
        (*rank, *contribution) = (after, arithmetic::contribution(after, degree));
        totals.change = totals.change.wrapping_add(arithmetic::change(before, after));
        if degree == 0 {
            totals.sinks = totals.sinks.wrapping_add(arithmetic::units(after));
        }
    }
}
