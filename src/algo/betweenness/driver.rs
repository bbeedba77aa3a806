//! Runs one trial of betweenness centrality. All ranks search from the sources. Rank 0 computes the statistics and
//! writes the result column.

use super::gpu::{self, GpuSearch};
use super::level::Workers;
use super::options::Betweenness;
use super::output::{BetweennessOutput, divisor};
use super::search::{Extent, Search};
use crate::algo::pagerank::RankFigures;
use crate::algo::round::{self, RoundEnd};
use crate::algo::rows::Neighbours;
use crate::algo::searches::roots::{self, Root};
use crate::algo::{Run, Trial};
use crate::comm::on_leader;
use crate::error::{At, Error, Result};
use crate::failpoint;
use crate::graph::ids::InputId;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::input_ids::IdList;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::store::checkpoint::{Checkpoint, Saved};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Progress of a trial of betweenness centrality.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    /// Number of sources from which the search is complete.
    done: u64,
    /// Number of pairs of a source and another vertex that the source reaches.
    pairs: u64,
    /// Largest distance from a source to a vertex.
    depth: u64,
    /// Whether a count of shortest paths was too large for f64, so that wide numbers are used.
    is_wide: bool,
    /// Duration of the trial so far in seconds, including earlier runs.
    seconds: f64,
}

/// Computes the betweenness scores, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; [`Error::Input`] for a source that the graph does not have; errors of reading rows; disk errors;
/// [`Error::Stopped`].
pub(super) fn find(options: &Betweenness, graph: &Graph, run: &mut Run<'_>) -> Result<Trial<BetweennessOutput, ()>> {
    let (comm, info, budget) = (run.comm, &graph.info, run.budget);
    let roots = on_leader(comm, || roots::of(&options.origins, graph))?;
    let vertices = info.connected as usize;
    let purpose = "scores of vertices (8 bytes each)";
    let mut totals: Buffer<f64> = budget.zeroed(vertices, purpose)?;
    let mut checkpoint = run.units.checkpoint();
    let saved = round::load(comm, &checkpoint, |saved| load(saved, &mut totals))?;
    let mut progress: Progress = on_leader(comm, || Ok(saved.unwrap_or_default()))?;
    if progress.done > 0 {
        comm.broadcast_numbers(&mut totals);
    }
    run.progress.resume_at(progress.done);
    let file = graph.degrees()?;
    let degrees = file.body_as_u32()?;
    let workers = Workers { comm, threads: run.threads };
    let mut engine = Engine::open((graph, degrees), progress.is_wide, &totals, run)?;
    let (started, before, units) = (Instant::now(), progress.seconds, options.origins.count());
    while let Some(left) = roots.get(progress.done as usize..).filter(|left| !left.is_empty()) {
        let batch = &left[..left.len().min(engine.batch())];
        // If a stop interrupts the searches from some sources, the next run repeats them.
        let searched = engine.run(batch, workers);
        if let Ok(None) = searched {
            engine = engine.wider((graph, degrees), &mut totals, run)?.ok_or_else(|| too_many(batch[0].id, graph))?;
            continue;
        }
        let extent = match searched {
            Err(Error::Stopped(_)) => None,
            searched => searched?,
        };
        failpoint::hit("betweenness.unit").map_err(|e| Error::io("sum dependencies", run.units.folder, e))?;
        let RoundEnd { is_cut, stops, is_due } = RoundEnd::agree(comm, extent.is_some(), &checkpoint);
        if let Some(Extent { reached, depth }) = extent.filter(|_| !is_cut) {
            // If a source has no edges, the arrays still contain the previous search.
            if depth > 0 {
                engine.add_to(&mut totals, run.threads)?;
            }
            let sources = batch.len() as u64;
            progress.pairs += reached as u64 - sources;
            progress.depth = progress.depth.max(depth);
            progress.is_wide = matches!(engine, Engine::Wide(_));
            progress.done += sources;
            run.progress.advance(sources);
        }
        progress.seconds = before + started.elapsed().as_secs_f64();
        if comm.is_leader() && (stops || is_due) {
            engine.fetch(&mut totals)?;
            save(&mut checkpoint, &totals, progress, units)?;
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    engine.fetch(&mut totals)?;
    drop(engine);
    // In a small graph, fewer sources than requested can be drawn.
    run.progress.advance(units - progress.done);
    let (output, seconds) = on_leader(comm, || {
        if checkpoint.is_worth_it() {
            save(&mut checkpoint, &totals, progress, units)?;
        }
        let sources = roots.iter().map(|root| root.id).collect();
        let Progress { pairs, depth, seconds, .. } = progress;
        let largest = totals.iter().copied().fold(0.0, f64::max);
        let divisor = divisor(options.normalise, info.rows(), largest);
        let output = BetweennessOutput { sources, pairs, depth, divisor, ..BetweennessOutput::default() };
        Ok((report(graph, run, &totals, output)?, seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

/// The device and the number type of the searches: CPUs with f64 or wide counts of shortest paths, or a GPU.
enum Engine<'g> {
    Plain(Search<'g, f64>),
    /// A search on CPUs whose counts of shortest paths may exceed the range of f64.
    Wide(Search<'g, u64>),
    /// A search on a GPU, which also stores the sum of the dependencies of each vertex.
    Gpu(Box<GpuSearch<'g>>),
}

impl<'g> Engine<'g> {
    /// Chooses the device of the searches, and allocates their arrays there. CPUs are used if there are several ranks,
    /// or if counts of shortest paths exceed f64 (`is_wide`). Collective.
    fn open<'r: 'g>(
        (graph, degrees): (&'g Graph, &'g [u32]),
        is_wide: bool,
        totals: &[f64],
        run: &Run<'r>,
    ) -> Result<Engine<'g>> {
        let cpu = || Engine::on_cpu((graph, degrees), is_wide, run);
        if is_wide {
            return cpu();
        }
        let halves = [&graph.block_store, graph.upper()?];
        let gpu = |lease| GpuSearch::new(halves, (degrees, graph.info.direction), totals, lease);
        run.devices.choose_alone(graph.block_store.is_local(), gpu, Engine::Gpu, cpu)
    }

    fn on_cpu((graph, degrees): (&'g Graph, &'g [u32]), is_wide: bool, run: &Run<'_>) -> Result<Engine<'g>> {
        let vertices = graph.info.connected as usize;
        let rows = || Neighbours::new(graph, degrees, run.comm, run.budget);
        Ok(match is_wide {
            true => Engine::Wide(Search::new(vertices, run.budget, rows)?),
            false => Engine::Plain(Search::new(vertices, run.budget, rows)?),
        })
    }

    /// Returns the engine with which to repeat a search after a count of shortest paths was too large. A GPU is
    /// replaced by CPUs, which find the source with too many paths. On CPUs, f64 is replaced by wide numbers. Returns
    /// `None` if wide numbers were too small.
    fn wider(mut self, graph: (&'g Graph, &'g [u32]), totals: &mut [f64], run: &Run<'_>) -> Result<Option<Engine<'g>>> {
        let is_wide = match &mut self {
            Engine::Wide(_) => return Ok(None),
            Engine::Plain(_) => true,
            Engine::Gpu(search) => {
                tracing::warn!("computing on the CPU: counts of shortest paths exceed 2^1000");
                search.fetch(totals)?;
                false
            }
        };
        drop(self);
        Engine::on_cpu(graph, is_wide, run).map(Some)
    }

    /// Returns the number of sources from which one call of [`Self::run`] searches.
    fn batch(&self) -> usize {
        if let Engine::Gpu(_) = self { gpu::SOURCES } else { 1 }
    }

    /// Computes the dependencies of all vertices on `sources`, like [`Search::run`]. A source without edges reaches
    /// only itself.
    fn run(&mut self, sources: &[Root], workers: Workers<'_>) -> Result<Option<Extent>> {
        let alone = Ok(Some(Extent { reached: 1, depth: 0 }));
        match self {
            Engine::Plain(search) => sources[0].vertex.map_or(alone, |root| search.run(root, workers)),
            Engine::Wide(search) => sources[0].vertex.map_or(alone, |root| search.run(root, workers)),
            Engine::Gpu(search) => search.run(&sources.iter().map(|root| root.vertex).collect::<Vec<_>>()),
        }
    }

    fn add_to(&self, totals: &mut [f64], threads: usize) -> Result<()> {
        match self {
            Engine::Plain(search) => search.add_to(totals, threads),
            Engine::Wide(search) => search.add_to(totals, threads),
            Engine::Gpu(search) => search.add(),
        }
    }

    /// Copies the sums of dependencies to `totals`, if they are stored on a GPU.
    fn fetch(&mut self, totals: &mut [f64]) -> Result<()> {
        if let Engine::Gpu(search) = self { search.fetch(totals) } else { Ok(()) }
    }
}

fn too_many(source: InputId, graph: &Graph) -> Error {
    let found = format!("more than 2^4000000 from {source}");
    let remedy = "leave the source out: no other number of this graph is too large";
    Error::input(&graph.info.source, At::File, "shortest paths that can be counted", found, remedy)
}

/// Saves the sums of dependencies (`totals`) and the progress of the trial.
fn save(checkpoint: &mut Checkpoint, totals: &[f64], progress: Progress, units: u64) -> Result<()> {
    let Progress { done, pairs, depth, is_wide, seconds } = progress;
    let head = [seconds.to_bits(), pairs, depth, is_wide.into()];
    checkpoint.save(done, units, &[bytes_of(&head), bytes_of(totals)])
}

/// Loads the sums of dependencies from a checkpoint into `totals`. Returns the saved progress of the trial.
fn load(saved: &Saved, totals: &mut [f64]) -> Result<Progress> {
    match (saved.words(0)?, saved.words(1)?) {
        (&[seconds, pairs, depth, is_wide], of) if of.len() == totals.len() => {
            totals.iter_mut().zip(of).for_each(|(total, &bits)| *total = f64::from_bits(bits));
            Ok(Progress { done: saved.done(), pairs, depth, is_wide: is_wide != 0, seconds: f64::from_bits(seconds) })
        }
        _ => Err(saved.other("not scores of this graph")),
    }
}

/// Lists the highest scores and counts vertices by score. Writes the result column if this is the last trial.
fn report(graph: &Graph, run: &mut Run<'_>, totals: &[f64], output: BetweennessOutput) -> Result<BetweennessOutput> {
    let (info, divisor) = (&graph.info, output.divisor);
    let (order, ids) = (order::map(&graph.folder, info.content)?, IdList::open(graph)?);
    let map = order.ids()?;
    let mut figures = RankFigures::default();
    for (row, &vertex) in (0..).zip(map) {
        figures.add(totals.get(vertex as usize).map_or(0.0, |total| total / divisor), row);
    }
    let output = output.with(figures, map.len() as u64..info.rows(), |row| ids.of_row(row));
    if run.is_last {
        run.columns.put_all("centrality", 0.0, |_| 0.0, |v| totals[v.index()] / divisor)?;
    }
    Ok(output)
}
