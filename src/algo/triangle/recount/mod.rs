//! Verifies the results of triangle counting against each other, and against the input by an independent method.

mod comparisons;
mod edges;
mod links;
mod sampled;

use crate::algo::triangle::output::{
    CLUSTERING, DEGREE, LINKS, TRIANGLES, TriangleDetails, TriangleOutput, coefficient, mean,
};
use crate::algo::triangle::recount::sampled::{EdgeSampler, EdgeSamples, SampleCounts};
use crate::algo::triangle::{Triangle, units};
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results, Verdict};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::memory::Reservation;
use crate::prepare::input_ids::InputIds;
use crate::process::signals;
use crate::process::threads::pool;

/// Maximum number of edges in a sample of the graph. Counting the triangles of a sample takes some seconds.
const MOST: u64 = 1 << 24;
/// Number of random colourings of the vertices per pass over the edges, and maximum number of passes. Another pass
/// follows if the estimate of the triangles does not agree with the count.
const COLOURINGS: u64 = 4;
const PASSES: u64 = 4;
/// Number of column rows that are read between two checks for signals.
const STRIDE: u64 = 1 << 20;
/// Number of standard errors by which an estimate of the triangles may differ from the count. A correct count exceeds
/// this tolerance once in a million passes.
const TOLERANCE: f64 = 5.0;

/// Verifies a triangle count against the degrees and by counting again. Also verifies every value of the columns per
/// vertex, if they are written.
///
/// # Errors
/// Errors of reporting; [`crate::Error::Stopped`]. Wrong results are reported to `verdict`.
pub(super) fn verify(
    table: &Triangle,
    results: &Results<'_>,
    (found, details): (&TriangleOutput, &TriangleDetails),
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    verdict.note("transitivity", transitivity(results, found))?;
    let ids = match (table.has_columns() && results.done).then(|| Ids::open(results)).transpose() {
        Ok(ids) => ids,
        Err(e) => return verdict.note("sum of vertices", Err(e)),
    };
    match &results.edges {
        Ok(edges) => recount(edges, ids.as_ref().filter(|_| table.per_vertex), results, found, verdict)?,
        Err(why) => verdict.skip("recount", format!("{why}; so the count itself was not checked"))?,
    }
    if let Some(found) = &found.comparisons {
        match comparisons::input(results, found) {
            Err(why) => verdict.skip("comparisons", why)?,
            Ok(input) => verdict.note("comparisons", comparisons::compare(input, results, found))?,
        }
    }
    if table.per_edge && results.done {
        verify_edges(results, found, verdict)?;
    }
    if let Some(ids) = &ids {
        verdict.note("sum of vertices", columns_agree(results, ids, (found, details)))?;
        let edges = results.edges_for_columns().and_then(|edges| links::check_room(edges, results).map(|()| edges));
        match edges {
            _ if !table.counts_links() => {}
            Err(why) => verdict.skip("links", why)?,
            Ok(edges) => verdict.note("links", links::compare(edges, ids, results))?,
        }
    }
    Ok(())
}

/// Verifies the columns with a value per edge.
fn verify_edges(results: &Results<'_>, found: &TriangleOutput, verdict: &mut Verdict<'_>) -> Result<()> {
    let ids = match Ids::open(results) {
        Ok(ids) => ids,
        Err(e) => return verdict.note("sum of edges", Err(e)),
    };
    verdict.note("sum of edges", edges::sums_agree(&ids, results, found))?;
    let source = results.edges_for_columns();
    match source.and_then(|source| edges::check_room(source, results).map(|()| source)) {
        Err(why) => verdict.skip("support", why),
        Ok(source) => verdict.note("support", edges::compare(source, &ids, results)),
    }
}

/// Returns true if links of a directed graph were counted. The statistics of a directed graph differ from those of the
/// same graph without directions.
fn is_directed(results: &Results<'_>, found: &TriangleOutput) -> bool {
    found.links.is_some() && results.info.direction == Direction::Directed
}

/// Sums over all rows of the columns with a value per vertex.
#[derive(Default)]
struct ColumnSums {
    rows: u64,
    /// Sum of the triangles of all vertices or, in a directed graph, of their links.
    counts: u128,
    degrees: u128,
    wedges: u128,
    max_degree: u64,
    with_edges: u64,
    of_degree_2: u64,
    clustering: f64,
}

/// Verifies the columns with a value per vertex against each other, against the total count and against the degree
/// statistics.
fn columns_agree(
    results: &Results<'_>,
    ids: &Ids,
    (found, details): (&TriangleOutput, &TriangleDetails),
) -> Result<String> {
    // A triangle adds two links to each corner, because the edge between the other two corners counts in both
    // directions.
    let (path, each, what, all) = match found.links {
        Some(links) => (LINKS, 1, "links", links),
        None => (TRIANGLES, 2, "triangles", 3 * found.triangles),
    };
    let mut counts = results.column::<u64>(path, ids, 0)?;
    let mut degrees = results.column::<u32>(DEGREE, ids, 0)?;
    let mut clustering = results.column::<f64>(CLUSTERING, ids, 0.0)?;
    let mut sums = ColumnSums::default();
    // Reading a column fails unless the column has one row for each id.
    while let (Some(count), Some(degree), Some(clustering)) =
        (counts.next().transpose()?, degrees.next().transpose()?, clustering.next().transpose()?)
    {
        let expected = coefficient(degree, count.saturating_mul(each));
        ensure(clustering.to_bits() == expected.to_bits(), || {
            let id = ids.id(sums.rows);
            format!("vertex {id} has clustering {clustering}, but {count} {what} at degree {degree} give {expected}")
        })?;
        let of = u64::from(degree);
        sums.rows += 1;
        sums.counts += u128::from(count);
        sums.degrees += u128::from(of);
        sums.wedges += u128::from(of) * u128::from(of.saturating_sub(1)) / 2;
        sums.max_degree = sums.max_degree.max(of);
        sums.with_edges += u64::from(degree > 0);
        sums.of_degree_2 += u64::from(degree > 1);
        sums.clustering += clustering;
        if sums.rows % STRIDE == 0 {
            signals::check()?;
        }
    }
    let (rows, connected) = (results.info.rows(), results.info.connected);
    ensure(sums.counts == all, || format!("vertices have {} {what}, the job has {all}", sums.counts))?;
    let (stored, summary) = (results.stored, &results.stored.summary);
    let mine = (sums.degrees, sums.wedges, sums.max_degree, sums.with_edges);
    let theirs = match is_directed(results, found) {
        false => (2 * u128::from(stored.edges), summary.wedges, summary.max_degree, connected),
        true => (sums.degrees, found.wedges, sums.max_degree, connected),
    };
    ensure(mine == theirs, || {
        format!(
            "(sum of degrees, wedges, largest degree, vertices with an edge) are {mine:?} by columns, the graph has {theirs:?}"
        )
    })?;
    let averages = [mean(sums.clustering, sums.with_edges), mean(sums.clustering, sums.of_degree_2)];
    let reported = [details.average_clustering, details.average_clustering_degree_2];
    // The job adds up the values in another order, so its rounding errors differ.
    let are_close = |(mine, reported): (&f64, Option<f64>)| reported.is_some_and(|other| (mine - other).abs() <= 1e-9);
    ensure(averages.iter().zip(reported).all(are_close), || {
        format!("average clustering {averages:?} by columns, the job reports {reported:?}")
    })?;
    Ok(format!("{rows} vertices have {all} {what}, as many as the job counted"))
}

fn ensure(holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Validation(otherwise())) }
}

fn transitivity(results: &Results<'_>, result: &TriangleOutput) -> Result<String> {
    let stored = results.stored;
    let wedges = if is_directed(results, result) { result.wedges } else { stored.summary.wedges };
    ensure(result.wedges == wedges, || format!("{} wedges reported, but the degrees give {wedges}", result.wedges))?;
    let units = units::total(stored.blocks as usize);
    ensure(result.units == units, || {
        format!("{} units reported, but {} blocks have {units}", result.units, stored.blocks)
    })?;
    ensure(3 * result.triangles <= wedges, || {
        format!("{} triangles close more than {wedges} wedges", result.triangles)
    })?;
    let expected = if wedges == 0 { 0.0 } else { 3.0 * result.triangles as f64 / wedges as f64 };
    ensure((result.transitivity - expected).abs() <= 1e-9, || {
        format!(
            "transitivity {}, but three times the triangles divided by the wedges is {expected}",
            result.transitivity
        )
    })?;
    Ok(format!("{expected:.6}, of {wedges} wedges, which match the degrees"))
}

/// Counts the triangles again: exactly if there are few edges, otherwise an estimate from samples.
fn recount(
    edges: &EdgeSource<'_>,
    columns: Option<&Ids>,
    results: &Results<'_>,
    found: &TriangleOutput,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let threads = results.threads;
    let pool = pool("recount", threads)?;
    let (number, of_ids) = match edges {
        EdgeSource::Input(_) => (results.info.edges, 0),
        EdgeSource::Blocks(graph) => (graph.stored.edges, InputIds::bytes(graph.info.connected)),
    };
    if let Err(why) = results.check_room(of_ids) {
        return verdict.skip("recount", why);
    }
    let room = results.budget.free().saturating_sub(edges.scratch_bytes(threads) + of_ids);
    let unlisted = Ids::without_columns(results)?;
    let (ids, columns) = (columns.unwrap_or(&unlisted), columns.is_some());
    let recount = Recount { edges, ids, columns, results, found, number, room, pool: &pool, what: edges.name() };
    let per_edge = sampled::bytes_per_edge(threads, columns);
    verdict.note(
        "recount",
        match number <= MOST && number.saturating_mul(per_edge) <= room {
            true => recount.exact(),
            false => recount.estimate(),
        },
    )
}

/// The data for an independent count of the triangles of a graph.
struct Recount<'a> {
    edges: &'a EdgeSource<'a>,
    ids: &'a Ids,
    /// Whether the job wrote columns with a value per vertex.
    columns: bool,
    results: &'a Results<'a>,
    found: &'a TriangleOutput,
    /// Number of edges of the graph or input.
    number: u64,
    /// Free memory for the count, in bytes.
    room: u64,
    pool: &'a rayon::ThreadPool,
    /// What the edges are, for messages.
    what: &'static str,
}

impl Recount<'_> {
    fn exact(&self) -> Result<String> {
        let Recount { results, found, what, columns, .. } = *self;
        let (_reserved, kept) = self.gather(1, vec![0], self.number as usize)?;
        let kept = kept.into_iter().next();
        let counted = kept.map(|edges| self.pool.install(|| sampled::count(edges, false, columns))).unwrap_or_default();
        let summary = &results.stored.summary;
        let mine = (u128::from(counted.triangles), counted.edges, counted.wedges, counted.max_degree);
        let theirs = match is_directed(results, found) {
            false => (found.triangles, results.stored.edges, summary.wedges, summary.max_degree),
            true => (found.triangles, counted.edges, found.wedges, counted.max_degree),
        };
        ensure(mine == theirs, || {
            format!(
                "(triangles, edges, wedges, largest degree) are {mine:?} by a recount of {what}, the job has {theirs:?}"
            )
        })?;
        if columns {
            self.corners_agree(&counted)?;
        }
        Ok(format!(
            "{} triangles in {} edges of {what}, counted exactly by marking rows{}",
            counted.triangles,
            counted.edges,
            if columns { ", those of every vertex too" } else { "" }
        ))
    }

    /// Verifies every value of the columns `triangles` and `degree` by counting again. [`columns_agree`] compares the
    /// clustering coefficients with these columns.
    fn corners_agree(&self, counted: &SampleCounts) -> Result<()> {
        let ids = self.ids;
        let counted_at = |row: u64| counted.ids.binary_search(&row).ok();
        let [triangles, neighbours] =
            ["triangles", "neighbours"].map(|of| format!("{of} by a recount of {}", self.what));
        let corners = |row| counted_at(row).map_or(0, |at| counted.corners[at]);
        self.results.check_column(TRIANGLES, ids, (0, &triangles), corners)?;
        self.results
            .check_column(DEGREE, ids, (0, &neighbours), |row| counted_at(row).map_or(0, |at| counted.degrees[at]))
    }

    fn estimate(&self) -> Result<String> {
        let Recount { number: edges, room, pool, what, .. } = *self;
        let threads = pool.current_num_threads();
        let per_edge = sampled::bytes_per_edge(threads, false) + (COLOURINGS - 1) * sampled::WAITING;
        let most = MOST.min(room / per_edge).max(1);
        // A vertex of high degree may give its colour more edges than other colours have.
        let fits = |colours: u64| edges / colours + edges / colours / 4 + 4096 <= most;
        let mut colours = (0..40).map(|log| 1 << log).find(|&colours| fits(colours)).unwrap_or(1 << 40);
        let (mut estimates, mut pairs) = (Vec::new(), 0.0);
        for pass in 0..PASSES {
            let seeds = |pass: u64| (0..COLOURINGS).map(|set| pass * COLOURINGS + set + 1).collect::<Vec<_>>();
            let (_reserved, kept) = loop {
                match self.gather(colours, seeds(pass), most as usize) {
                    // This happens only before the first estimate, so all estimates use the same number of colours.
                    Err(Error::Stopped(_)) if signals::stop_requested().is_none() && colours < 1 << 40 => {
                        (estimates, pairs) = (Vec::new(), 0.0);
                        colours *= 2;
                    }
                    other => break other?,
                }
            };
            let n = colours as f64;
            for edges in kept {
                signals::check()?;
                let found = pool.install(|| sampled::count(edges, true, false));
                estimates.push(found.triangles as f64 * n * n);
                pairs += found.pairs * n.powi(3);
            }
            let rounds = estimates.len() as f64;
            let mean = estimates.iter().sum::<f64>() / rounds;
            let counted = self.found.triangles as f64;
            // Variance of the estimates if the count is right. If the observed variance is larger, it is used instead.
            let derived = counted * (n * n - 1.0) + 2.0 * (pairs / rounds) * (n - 1.0);
            let seen = estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (rounds - 1.0);
            let tolerance = TOLERANCE * (derived.max(seen) / rounds).sqrt();
            let report = format!(
                "{mean:.0} ± {tolerance:.0} triangles by {rounds} colourings of {what} with {colours} colours each, the job has {}",
                self.found.triangles
            );
            if (mean - counted).abs() <= tolerance {
                return Ok(report);
            }
            if pass + 1 == PASSES {
                return Err(Error::Validation(report));
            }
        }
        Ok(String::new())
    }

    /// Reads all edges once. Returns for each colouring the edges whose two endpoints have the same colour, and the
    /// reservation of memory for them. Returns [`Error::Stopped`] if a colouring would keep more than `room` edges.
    fn gather(&self, colours: u64, seeds: Vec<u64>, room: usize) -> Result<(Reservation, Vec<Vec<[u64; 2]>>)> {
        let (threads, columns) = (self.results.threads, self.columns && colours == 1);
        let waiting = seeds.len() as u64 * sampled::WAITING * room as u64;
        let counting = sampled::bytes_per_edge(threads, columns) - sampled::WAITING;
        let reserved = self.results.budget.reserve(waiting + counting * room as u64, "counting again")?;
        let samples = EdgeSamples::new(colours, seeds, room);
        let add = |gatherer: &mut EdgeSampler<'_>, [u, v]: [u64; 2]| gatherer.edge(u, v);
        let gatherers = self.results.each_edge(self.edges, self.ids, samples.gatherer(), add)?;
        gatherers.into_iter().try_for_each(|mut gatherer| gatherer.finish())?;
        Ok((reserved, samples.into_edges()))
    }
}
