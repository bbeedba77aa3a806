//! Results against each other and against the input, by a method that has nothing in common with the count.

use super::columns::{Rows, column};
use super::graph::{Facts, Graph, Stored};
use super::manifest::Manifest;
use super::report::Triangle;
use super::sampled::{self, Counted, Sets};
use super::verify::Verdict;
use crate::config::InputSpec;
use crate::error::{At, Error, Result};
use crate::formats::{Input, Watch};
use crate::memory::Budget;
use crate::process::signals;
use std::path::Path;

/// Edges that are counted at once, at most: some seconds of work.
const MOST: u64 = 1 << 24;
/// Colourings of one pass, and passes if the first ones don't agree with the count.
const COLOURINGS: u64 = 4;
const PASSES: u64 = 4;
/// Standard errors that an estimate may be off: once in a million passes by chance.
const TOLERANCE: f64 = 5.0;

/// Where the edges to count again come from.
pub(super) enum Source<'a> {
    /// The input, as it is now.
    Input(&'a Input, &'a Facts),
    /// The blocks of a prepared graph, whose input is not this job's business.
    Blocks(&'a Graph),
}

/// What the results are of.
pub(super) struct Counts<'a> {
    /// The workdir.
    pub workdir: &'a Path,
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// What ingest found.
    pub facts: &'a Facts,
    /// What the blocks held.
    pub stored: &'a Stored,
    /// The count.
    pub result: &'a Triangle,
}

/// Checks that report, counts of vertices and derived figures agree with the count.
///
/// # Errors
/// Those of telling; what does not agree is in the verdict.
pub(super) fn consistent(counts: &Counts<'_>, verdict: &mut Verdict<'_>) -> Result<()> {
    let Counts { workdir, manifest, facts, stored, result } = counts;
    if manifest.outputs.contains_key("report.json") {
        verdict.note("report", report_agrees(&workdir.join("report.json"), stored, result))?;
    }
    verdict.note("transitivity", transitivity(stored, result))?;
    for name in manifest.outputs.keys().filter(|name| name.starts_with("out/triangles.")) {
        let sum = column(&workdir.join(name)).and_then(|column| {
            if column.len() as u64 != facts.rows() {
                let rows = column.len();
                return Err(Error::Validation(format!("{name} has {rows} rows for {} vertices", facts.rows())));
            }
            let sum: u128 = column.iter().map(|&count| u128::from(count)).sum();
            agree(sum == 3 * result.triangles, || {
                format!("{name} sums to {sum}, three times {} triangles are {}", result.triangles, 3 * result.triangles)
            })?;
            Ok(format!("{} vertices have {sum} triangles, three times the count", column.len()))
        });
        verdict.note("sum of vertices", sum)?;
    }
    Ok(())
}

fn agree(holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Validation(otherwise())) }
}

#[derive(serde::Deserialize)]
struct ReportFile {
    graph: ReportGraph,
    results: ReportResults,
}

#[derive(serde::Deserialize)]
struct ReportGraph {
    edges: u64,
    max_degree: u64,
}

#[derive(serde::Deserialize)]
struct ReportResults {
    triangle: Option<Triangle>,
}

fn report_agrees(path: &Path, stored: &Stored, result: &Triangle) -> Result<String> {
    let text = std::fs::read(path).map_err(|e| Error::io("read the report", path, e))?;
    let report: ReportFile =
        serde_json::from_slice(&text).map_err(|e| Error::corrupt(path, At::Line(e.line() as u64), e.to_string()))?;
    let told = report.results.triangle.as_ref().map(|t| (t.triangles, t.wedges));
    agree(told == Some((result.triangles, result.wedges)), || {
        let told = told.map_or_else(|| "nothing".to_owned(), |told| format!("{told:?}"));
        format!("report.json says (triangles, wedges) {told}, the manifest {:?}", (result.triangles, result.wedges))
    })?;
    let graph = (report.graph.edges, report.graph.max_degree);
    agree(graph == (stored.edges, stored.summary.max_degree), || {
        let stored = (stored.edges, stored.summary.max_degree);
        format!("report.json says (edges, largest degree) {graph:?}, the manifest {stored:?}")
    })?;
    Ok("says what the manifest says".into())
}

fn transitivity(stored: &Stored, result: &Triangle) -> Result<String> {
    let wedges = stored.summary.wedges;
    agree(result.wedges == wedges, || format!("{} wedges, the degrees have {wedges}", result.wedges))?;
    agree(3 * result.triangles <= wedges, || {
        format!("{} triangles close more than {wedges} wedges", result.triangles)
    })?;
    let expected = if wedges == 0 { 0.0 } else { 3.0 * result.triangles as f64 / wedges as f64 };
    agree((result.transitivity - expected).abs() <= 1e-9, || {
        format!("transitivity {}, three triangles by wedges are {expected}", result.transitivity)
    })?;
    Ok(format!("{expected:.6}, of {wedges} wedges, as the degrees have them"))
}

/// Counts again, exactly where that is cheap, else by sampling.
///
/// # Errors
/// Those of telling, and a stop by a signal; what does not agree is in the verdict.
pub(super) fn again(
    source: &Source<'_>,
    counts: &Counts<'_>,
    budget: &Budget,
    threads: usize,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Error::internal("start threads to count with", e))?;
    let (edges, reading, what) = match source {
        Source::Input(input, facts) => (facts.edges, input.scratch_bytes(threads), "the input"),
        Source::Blocks(graph) => (graph.stored.edges, 0, "the blocks"),
    };
    let room = budget.free().saturating_sub(reading);
    let per_edge = sampled::bytes_per_edge(threads);
    if edges <= MOST && edges.saturating_mul(per_edge) <= room {
        let found = gather(source, 1, vec![0], edges as usize, threads, budget).map(|kept| {
            let corners = counts.manifest.outputs.keys().any(|name| name.starts_with("out/triangles."));
            kept.into_iter()
                .next()
                .map(|edges| pool.install(|| sampled::count(edges, false, corners)))
                .unwrap_or_default()
        });
        let told = found.and_then(|found| exact_agrees(&found, counts, source, what));
        return verdict.note("recount", told);
    }
    let told = estimate(source, counts, edges, room, &pool, budget, what);
    verdict.note("recount", told)
}

fn exact_agrees(found: &Counted, counts: &Counts<'_>, source: &Source<'_>, what: &str) -> Result<String> {
    let Counts { workdir, manifest, stored, result, .. } = counts;
    let mine = (u128::from(found.triangles), found.edges, found.wedges, found.max_degree);
    let theirs = (result.triangles, stored.edges, stored.summary.wedges, stored.summary.max_degree);
    agree(mine == theirs, || {
        format!(
            "(triangles, edges, wedges, largest degree) are {mine:?} by a recount of {what}, the job has {theirs:?}"
        )
    })?;
    let blocks = if let Source::Blocks(graph) = source { Some(*graph) } else { None };
    let mut of_vertices = "";
    let mut rows = None;
    for name in manifest.outputs.keys().filter(|name| name.starts_with("out/triangles.")) {
        // All columns have the same rows, and a table is long.
        let rows = match &rows {
            Some(rows) => rows,
            None => rows.insert(Rows::open(workdir, manifest, blocks)?),
        };
        let column = column(&workdir.join(name))?;
        for &(vertex, triangles) in &found.corners {
            let (row, id) = rows.of(vertex);
            let told = row.and_then(|row| column.get(row)).copied();
            agree(told == Some(triangles), || {
                let told = told.map_or_else(|| "has no row for it".to_owned(), |told| format!("has {told}"));
                format!("vertex {id} has {triangles} triangles by a recount of {what}, {name} {told}")
            })?;
        }
        of_vertices = ", those of every vertex too";
    }
    Ok(format!(
        "{} triangles in {} edges of {what}, counted exactly by marking rows{of_vertices}",
        found.triangles, found.edges
    ))
}

fn estimate(
    source: &Source<'_>,
    counts: &Counts<'_>,
    edges: u64,
    room: u64,
    pool: &rayon::ThreadPool,
    budget: &Budget,
    what: &str,
) -> Result<String> {
    let threads = pool.current_num_threads();
    let per_edge = sampled::bytes_per_edge(threads) + (COLOURINGS - 1) * sampled::WAITING;
    let most = MOST.min(room / per_edge).max(1);
    // A hub's colour may have more than its share.
    let fits = |colours: u64| edges / colours + edges / colours / 4 + 4096 <= most;
    let mut colours = (0..40).map(|log| 1 << log).find(|&colours| fits(colours)).unwrap_or(1 << 40);
    let (mut estimates, mut pairs) = (Vec::new(), 0.0);
    for pass in 0..PASSES {
        let seeds = |pass: u64| (0..COLOURINGS).map(|set| pass * COLOURINGS + set + 1).collect::<Vec<_>>();
        let kept = loop {
            match gather(source, colours, seeds(pass), most as usize, threads, budget) {
                // Only before the first estimate, so that all are of one kind.
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
        let counted = counts.result.triangles as f64;
        // Were the count right, the estimates would spread so; what spread was seen counts where it is wider.
        let derived = counted * (n * n - 1.0) + 2.0 * (pairs / rounds) * (n - 1.0);
        let seen = estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (rounds - 1.0);
        let tolerance = TOLERANCE * (derived.max(seen) / rounds).sqrt();
        let told = format!(
            "{mean:.0} ± {tolerance:.0} triangles by {rounds} colourings of {what} with {colours} colours each, the job has {}",
            counts.result.triangles
        );
        if (mean - counted).abs() <= tolerance {
            return Ok(told);
        }
        if pass + 1 == PASSES {
            return Err(Error::Validation(told));
        }
    }
    Ok(String::new())
}

struct Signals;

impl Watch for Signals {
    fn advance(&self, _: u64) -> Result<()> {
        signals::check()
    }
}

/// One pass over all edges. [`Error::Stopped`] if more were kept than there is room for.
fn gather(
    source: &Source<'_>,
    colours: u64,
    seeds: Vec<u64>,
    room: usize,
    threads: usize,
    budget: &Budget,
) -> Result<Vec<Vec<[u64; 2]>>> {
    let waiting = seeds.len() as u64 * sampled::WAITING * room as u64;
    let counting = sampled::bytes_per_edge(threads) - sampled::WAITING;
    let _reserved = budget.reserve(waiting + counting * room as u64, "counting again")?;
    let sets = Sets::new(colours, seeds, room);
    match source {
        Source::Input(input, facts) => {
            let mut gatherers: Vec<_> = (0..threads).map(|_| sets.gatherer()).collect();
            let scan = input.scan(&mut gatherers, &Signals)?;
            gatherers.iter_mut().try_for_each(|gatherer| gatherer.finish())?;
            if (scan.checksum, scan.edges) != (facts.checksum, facts.edges) {
                return Err(Error::input(
                    input.name(),
                    At::File,
                    "the edges that the job counted",
                    "others, under the same size",
                    "the results are of what was there before: `gpugraph run JOB.toml --fresh` counts what is there now",
                ));
            }
        }
        Source::Blocks(graph) => {
            let mut gatherer = sets.gatherer();
            for b in 0..graph.catalogue.len() {
                signals::check()?;
                let block = graph.catalogue.block(b);
                for row in 0..block.rows() {
                    let u = u64::from(block.first_row) + row as u64;
                    block.row(row).iter().try_for_each(|&v| gatherer.edge(u, v.into()))?;
                }
                graph.catalogue.release(b);
            }
            gatherer.finish()?;
        }
    }
    Ok(sets.into_kept())
}

/// The input of a job, if it is still what was counted; otherwise why not, in words.
pub(super) fn unchanged(spec: &InputSpec, facts: &Facts) -> std::result::Result<Input, String> {
    let input = super::input::open(spec).map_err(|e| format!("the input is gone: {e}"))?;
    match super::graph::input_key(&input) {
        // One that was only touched has the same checksum, which is compared when it is read.
        Ok(key) if key == facts.identity || input.bytes() == facts.bytes => Ok(input),
        Ok(_) => Err(format!("{} is not what the job read: its size changed", input.name())),
        Err(e) => Err(format!("the input can't be read: {e}")),
    }
}
