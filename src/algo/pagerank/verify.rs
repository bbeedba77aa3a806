//! Checks PageRank values against the edges of the input. Vertices are identified by input ids.
//!
//! If the distinct edges fit in memory, the check computes all iterations again, from the list of edges. Every bit of
//! the result column must be the same. Otherwise the check computes a single iteration in f64 from the values in the
//! column. It must change the values by no more than the damping factor times the last change, because an iteration
//! reduces the distance between any two vectors by that factor.

use super::arithmetic;
use super::options::{Pagerank, Variant};
use super::output::{LARGEST, PagerankOutput, RankFigures};
use super::teleport::{Bases, bases};
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::memory::Buffer;
use crate::process::signals;
use crate::results::read::READING;

/// Memory, in bytes per input id, for a check by one iteration: a PageRank value, a sum and a degree. If the check
/// reads a prepared graph, also the id of a vertex.
const ID_BYTES: u64 = 24;
/// Memory, in bytes per input id, for a check of all iterations: a PageRank value, a contribution, a sum and a degree.
const EXACT_ID_BYTES: u64 = 28;
/// Upper bound on the sum of all rounding errors in one iteration. PageRank values are f64 and add up to at most 1.
const ROUNDING: f64 = 1e-9;
const COLUMN: &str = "out/pagerank/rank";

/// Returns the minimum memory, in bytes, with which PageRank values can be checked.
pub(super) fn least_bytes(ids: u64, edges: u64, threads: usize) -> u64 {
    READING + EdgeList::batch_bytes(threads) + ID_BYTES * ids + EdgeList::least_bytes(edges, threads)
}

/// A check of the PageRank values that one task computed.
struct Check<'a> {
    options: &'a Pagerank,
    edges: &'a EdgeSource<'a>,
    results: &'a Results<'a>,
    ids: Ids,
    /// Number of rows of the result column whose vertices may have edges. The vertices in later rows are declared in
    /// the input, but have no edges.
    rows: usize,
    /// Rows of the teleport targets in the result column, in ascending order. Empty if all vertices are targets.
    personalised: Vec<u64>,
}

/// PageRank values of all vertices, in the order of the rows of the result column.
struct RankVector {
    of_rows: Buffer<f64>,
    /// PageRank of the vertices in all later rows, which have no edges: the first element if the vertex is not
    /// personalised, the second if it is.
    later: [f64; 2],
}

/// Checks the reported statistics and the result column. Returns a sentence about the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(
    options: &Pagerank,
    output: &PagerankOutput,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> Result<String> {
    let (info, budget, threads) = (results.info, results.budget, results.threads);
    let _reserved = budget.reserve(READING + EdgeList::batch_bytes(threads), "edges and a column")?;
    let ids = Ids::open(results)?;
    let row = |&id| ids.row_of(id).ok_or_else(|| Error::Validation(format!("the input has no vertex {id}")));
    let mut personalised = options.personalised.iter().map(row).collect::<Result<Vec<_>>>()?;
    personalised.sort_unstable();
    let check = Check { options, edges, results, ids, rows: info.ids as usize, personalised };
    let list = EdgeList::bytes_of_graph(results, 1);
    // Reading the input needs memory as well.
    let needed = list + EXACT_ID_BYTES * info.ids + edges.scratch_bytes(threads) + 4 * info.connected;
    if needed <= budget.free() { check.all_iterations(output, list) } else { check.one_iteration(output) }
}

impl Check<'_> {
    /// Computes all iterations again, and compares the reported statistics and every bit of the result column. Returns
    /// a sentence for the report.
    fn all_iterations(&self, output: &PagerankOutput, list: u64) -> Result<String> {
        let (options, budget) = (self.options, self.results.budget);
        let mut list = EdgeList::new(list, budget)?;
        self.read_distinct((0, 1), &mut list)?;
        let edges = list.edges();
        let is_undirected = self.results.info.direction == Direction::Undirected;
        let purpose = "ranks to verify by (28 bytes for each id)";
        let mut degrees: Buffer<u32> = budget.zeroed(self.rows, purpose)?;
        let (mut contributions, mut sums): (Buffer<u64>, Buffer<u64>) =
            (budget.zeroed(self.rows, purpose)?, budget.zeroed(self.rows, purpose)?);
        let all = self.results.info.rows();
        let first = if all == 0 { 0.0 } else { 1.0 / all as f64 };
        let mut ranks = RankVector { of_rows: budget.zeroed(self.rows, purpose)?, later: [first; 2] };
        ranks.of_rows.fill(first);
        self.count_degrees(edges, &mut degrees);
        let later = self.later_rows();
        let (mut done, mut change) = (0, 0.0);
        while all > 0 && !options.ends(done, change) {
            signals::check()?;
            let mut sinks =
                (0..2).map(|kind| later[kind].wrapping_mul(arithmetic::units(ranks.later[kind]))).sum::<u64>();
            for ((contribution, &rank), &degree) in contributions.iter_mut().zip(&*ranks.of_rows).zip(&*degrees) {
                *contribution = arithmetic::contribution(rank, degree);
                sinks += if degree == 0 { arithmetic::units(rank) } else { 0 };
            }
            sums.fill(0);
            for &edge in edges {
                let [tail, head] = ends(edge);
                sums[head] = sums[head].wrapping_add(contributions[tail]);
                if is_undirected {
                    sums[tail] = sums[tail].wrapping_add(contributions[head]);
                }
            }
            let bases = self.bases(if options.variant == Variant::Graphalytics { sinks } else { 0 });
            let mut changes = 0u64;
            let mut replace = |rank: &mut f64, new: f64, vertices: u64| {
                changes = changes.wrapping_add(vertices.wrapping_mul(arithmetic::change(*rank, new)));
                *rank = new;
            };
            for (row, (rank, &sum)) in ranks.of_rows.iter_mut().zip(&*sums).enumerate() {
                replace(rank, arithmetic::rank(self.base(bases, row as u64), options.damping, sum), 1);
            }
            for (kind, base) in [bases.of_all, bases.personalised].into_iter().enumerate() {
                replace(&mut ranks.later[kind], arithmetic::rank(base, options.damping, 0), later[kind]);
            }
            (done, change) = (done + 1, arithmetic::number(changes));
        }
        let converged = options.tolerance.map(|_| options.is_converged(change) || all == 0);
        let found = PagerankOutput { iterations: done, change, converged, ..self.figures(&ranks) };
        if *output != found {
            let name = self.edges.name();
            return Err(Error::Validation(format!("{found:?} by the edges of {name}, the job has {output:?}")));
        }
        let expected = |row: u64| match ranks.of_rows.get(row as usize) {
            Some(&rank) => rank,
            None => ranks.later[usize::from(self.is_personalised(row))],
        };
        self.results.check_column(COLUMN, &self.ids, (0.0, "as its rank"), expected)?;
        let name = self.edges.name();
        Ok(format!("{done} iterations along the edges of {name} find the same ranks, bit by bit"))
    }

    /// Computes one more iteration of PageRank from the values in the result column. Fails if they change in total by
    /// more than `damping` times the recorded change of the last iteration, plus rounding, or if the column contradicts
    /// `output`. Returns a sentence for the report.
    fn one_iteration(&self, output: &PagerankOutput) -> Result<String> {
        let (options, budget, results) = (self.options, self.results.budget, self.results);
        let purpose = "ranks to verify by (20 bytes for each id)";
        let (mut sums, mut degrees): (Buffer<f64>, Buffer<u32>) =
            (budget.zeroed(self.rows, purpose)?, budget.zeroed(self.rows, purpose)?);
        let mut ranks = RankVector { of_rows: budget.zeroed(self.rows, purpose)?, later: [0.0; 2] };
        for (row, value) in (0..).zip(results.column::<f64>(COLUMN, &self.ids, 0.0)?) {
            match ranks.of_rows.get_mut(row as usize) {
                Some(rank) => *rank = value?,
                None => ranks.later[usize::from(self.is_personalised(row))] = value?,
            }
        }
        let is_undirected = results.info.direction == Direction::Undirected;
        let reading = self.edges.scratch_bytes(results.threads) + 4 * results.info.connected;
        let mut list = EdgeList::new(budget.free().saturating_sub(reading), budget)?;
        let parts = list.parts(results.stored.edges);
        for part in 0..parts {
            self.read_distinct((part, parts), &mut list)?;
            self.count_degrees(list.edges(), &mut degrees);
        }
        for part in 0..parts {
            self.read_distinct((part, parts), &mut list)?;
            for &edge in list.edges() {
                let [tail, head] = ends(edge);
                sums[head] += ranks.of_rows[tail] / f64::from(degrees[tail]);
                if is_undirected {
                    sums[tail] += ranks.of_rows[head] / f64::from(degrees[head]);
                }
            }
        }
        let later = self.later_rows();
        let sinks = ranks.of_rows.iter().zip(&*degrees).filter(|&(_, &degree)| degree == 0).map(|(rank, _)| rank);
        let sinks = sinks.sum::<f64>() + (0..2).map(|kind| later[kind] as f64 * ranks.later[kind]).sum::<f64>();
        let sinks = if options.variant == Variant::Graphalytics { sinks } else { 0.0 };
        let bases = self.bases(arithmetic::units(sinks.clamp(0.0, 1.0)));
        let mut left = 0.0;
        for (row, value) in (0..).zip(results.column::<f64>(COLUMN, &self.ids, 0.0)?) {
            let sum = sums.get(row as usize).copied().unwrap_or(0.0);
            left += (value? - (self.base(bases, row) + options.damping * sum)).abs();
        }
        let bound = options.damping * output.change + ROUNDING;
        let name = self.edges.name();
        if left.is_nan() || left > bound {
            let what =
                format!("one iteration along the edges of {name} changes ranks by {left:e}, more than {bound:e}");
            return Err(Error::Validation(what));
        }
        let of_column = self.figures(&ranks);
        let found = PagerankOutput {
            iterations: output.iterations,
            change: output.change,
            converged: self.options.tolerance.map(|_| self.options.is_converged(output.change)),
            ..of_column
        };
        let is_possible = (1..=options.most_iterations()).contains(&output.iterations);
        if *output != found || !is_possible || !options.ends(output.iterations, output.change) {
            return Err(Error::Validation(format!("{found:?} by the column, the job has {output:?}")));
        }
        Ok(format!(
            "one more iteration along the edges of {name} changes ranks by {left:.1e}, at most {bound:.1e} is right"
        ))
    }

    /// Reads the distinct edges of partition `part.0` of `part.1` partitions of the edges. An edge is a 64-bit word:
    /// the head in the upper half, the tail in the lower half. In an undirected graph, the tail is in the smaller row.
    fn read_distinct(&self, part: (u64, u64), list: &mut EdgeList) -> Result<()> {
        list.collect_part((self.edges, &self.ids, self.results), part, self.results.info.direction)
    }

    fn count_degrees(&self, edges: &[u64], degrees: &mut [u32]) {
        let is_undirected = self.results.info.direction == Direction::Undirected;
        for &edge in edges {
            let [tail, head] = ends(edge);
            degrees[tail] += 1;
            degrees[head] += u32::from(is_undirected);
        }
    }

    fn is_personalised(&self, row: u64) -> bool {
        self.personalised.binary_search(&row).is_ok()
    }

    /// Returns the teleport contribution to the vertex in row `row` of the result column.
    fn base(&self, bases: Bases, row: u64) -> f64 {
        if self.is_personalised(row) { bases.personalised } else { bases.of_all }
    }

    fn bases(&self, sinks: u64) -> Bases {
        let personalised = self.personalised.len() as u64;
        bases(self.options.damping, sinks, self.results.info.rows(), (personalised > 0).then_some(personalised))
    }

    /// Returns two numbers of vertices, for the rows after the first `self.rows` rows: vertices that are not
    /// personalised, and personalised vertices.
    fn later_rows(&self) -> [u64; 2] {
        let later = self.results.info.rows() - self.rows as u64;
        let own = self.personalised.iter().filter(|&&row| row >= self.rows as u64).count() as u64;
        [later - own, own]
    }

    /// Returns the fields of the result that depend only on the PageRank values: their sum, the highest values, and the
    /// histogram.
    fn figures(&self, ranks: &RankVector) -> PagerankOutput {
        let (mut figures, mut sum) = (RankFigures::default(), 0u64);
        for (row, &rank) in (0..).zip(&*ranks.of_rows) {
            figures.add(rank, row);
            sum = sum.wrapping_add(arithmetic::units(rank));
        }
        for (rank, vertices) in ranks.later.into_iter().zip(self.later_rows()) {
            figures.count(rank, vertices);
            sum = sum.wrapping_add(vertices.wrapping_mul(arithmetic::units(rank)));
        }
        let later = self.rows as u64..self.results.info.rows();
        let others = later.clone().filter(|&row| !self.is_personalised(row)).take(LARGEST);
        let mut some: Vec<u64> =
            self.personalised.iter().copied().filter(|row| later.contains(row)).chain(others).collect();
        some.sort_unstable();
        some.into_iter().for_each(|row| figures.offer(ranks.later[usize::from(self.is_personalised(row))], row));
        let (largest, by_rank) = figures.finish(|row| self.ids.id(row));
        PagerankOutput { sum: arithmetic::number(sum), largest, by_rank, ..PagerankOutput::default() }
    }
}

/// Returns the rows, in the result column, of the tail and the head of an edge.
#[inline]
fn ends(edge: u64) -> [usize; 2] {
    [(edge & u64::from(u32::MAX)) as usize, (edge >> 32) as usize]
}
