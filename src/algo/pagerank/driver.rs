//! Runs one trial of PageRank. All MPI ranks compute the iterations. MPI rank 0 computes the statistics and writes the
//! result column.

use super::gpu::GpuRanks;
use super::options::Pagerank;
use super::output::{LARGEST, PagerankOutput, RankFigures};
use super::pull::PullRows;
use super::state::{OutDegrees, State};
use super::teleport::Teleport;
use crate::algo::round::{self, RoundEnd};
use crate::algo::{ChosenDevice, Run, Trial};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::DenseId;
use crate::memory::bytes_of;
use crate::prepare::input_ids::IdList;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::store::checkpoint::{Checkpoint, Saved};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Progress of a trial of PageRank.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    /// Number of completed iterations.
    done: u64,
    /// Sum of the absolute changes of all PageRank values in the last iteration.
    change: f64,
    /// Duration of the trial so far in seconds, including earlier runs.
    seconds: f64,
}

/// Computes the PageRank values, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; [`Error::Input`] for a personalised vertex that the graph does not have; errors of reading rows;
/// disk errors; [`Error::Stopped`].
pub(super) fn find(options: &Pagerank, graph: &Graph, run: &mut Run<'_>) -> Result<Trial<PagerankOutput, ()>> {
    let (comm, info) = (run.comm, &graph.info);
    let teleport = Teleport::new(options, graph)?;
    let file = graph.degrees()?;
    let degrees = OutDegrees { of_rows: file.body_as_u32()?, direction: info.direction };
    let mut state = State::new(degrees, (info.connected as usize, info.rows()), run.budget)?;
    let mut checkpoint = run.units.checkpoint();
    let saved = round::load(comm, &checkpoint, |saved| load(saved, &mut state))?;
    let (Progress { mut done, mut change, seconds: before }, isolated) =
        on_leader(comm, || Ok((saved.unwrap_or_default(), state.isolated)))?;
    if done > 0 {
        state.isolated = isolated;
        comm.broadcast_numbers(&mut state.ranks);
    }
    let units = options.most_iterations();
    run.progress.resume_at(done.min(units));
    let mut engine = Engine::open(graph, run, &mut state, &teleport)?;
    let started = Instant::now();
    let seconds = || before + started.elapsed().as_secs_f64();
    while info.rows() > 0 && !options.ends(done, change) {
        // If a stop interrupts an iteration, the next run computes it again.
        let is_whole = round::is_whole(engine.pull(&mut state, run.threads))?;
        failpoint::hit("pagerank.unit").map_err(|e| Error::io("sum contributions", run.units.folder, e))?;
        let RoundEnd { is_cut, stops, is_due } = RoundEnd::agree(comm, is_whole, &checkpoint);
        if !is_cut {
            change = engine.update(&mut state, &teleport, options.damping, run)?;
            done += 1;
            run.progress.advance(u64::from(done <= units));
        }
        if stops || is_due {
            engine.gather(&mut state, comm)?;
            if comm.is_leader() {
                save(&mut checkpoint, &state, Progress { done, change, seconds: seconds() }, units)?;
            }
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    // PageRank values may converge in fewer iterations than the upper bound.
    run.progress.advance(units.saturating_sub(done));
    let computed = seconds();
    engine.gather(&mut state, comm)?;
    let (output, seconds) = on_leader(comm, || {
        // The time of a GPU ends with the last iteration. Copying the PageRank values to the host does not count.
        let seconds = if matches!(engine, Engine::Gpu(_)) { computed } else { seconds() };
        if checkpoint.is_worth_it() {
            save(&mut checkpoint, &state, Progress { done, change, seconds }, units)?;
        }
        let output = PagerankOutput {
            iterations: done,
            change,
            converged: options.tolerance.map(|_| options.is_converged(change) || info.rows() == 0),
            ..report(graph, run, &state, &teleport)?
        };
        Ok((output, seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

/// The device that computes the iterations of PageRank.
enum Engine<'g> {
    Cpu(PullRows<'g>),
    Gpu(Box<GpuRanks<'g>>),
}

impl<'g> Engine<'g> {
    /// Chooses the device that computes the iterations, and computes the contributions for the first iteration there.
    /// CPUs are used if there are several MPI ranks. Collective.
    fn open<'r: 'g>(graph: &'g Graph, run: &Run<'r>, state: &mut State<'_>, teleport: &Teleport) -> Result<Engine<'g>> {
        let (comm, budget) = (run.comm, run.budget);
        let rows = || PullRows::new(graph, (comm.rank(), comm.ranks()), budget);
        if comm.ranks() == 1 {
            let of = &*state;
            let gpu = |lease| GpuRanks::new(graph, of, teleport, budget, lease);
            let chosen = run.devices.choose(graph.block_store.is_local(), gpu, rows)?;
            if let ChosenDevice::Gpu((gpu, sinks)) = chosen {
                state.set_sinks(sinks, teleport);
                return Ok(Engine::Gpu(Box::new(gpu)));
            }
        }
        state.contribute(teleport, budget, run.threads)?;
        rows().map(Engine::Cpu)
    }

    /// Sums the contributions to each vertex. If this fails, `state` remains as it was after the previous iteration.
    fn pull(&mut self, state: &mut State<'_>, threads: usize) -> Result<()> {
        match self {
            Engine::Cpu(rows) => state.pull(rows, threads),
            Engine::Gpu(gpu) => gpu.pull(),
        }
    }

    /// Completes an iteration after [`Self::pull`]: computes new PageRank values. Returns the sum of their absolute
    /// changes. Collective.
    fn update(&mut self, state: &mut State<'_>, teleport: &Teleport, damping: f64, run: &Run<'_>) -> Result<f64> {
        match self {
            Engine::Cpu(_) => state.update(teleport, damping, run.comm, run.threads),
            Engine::Gpu(gpu) => {
                let totals = gpu.update(state.bases(teleport), damping)?;
                Ok(state.finish(teleport, damping, totals))
            }
        }
    }

    /// Copies the PageRank values of all vertices to `state` on every MPI rank. Collective.
    fn gather(&mut self, state: &mut State<'_>, comm: &Comm) -> Result<()> {
        match self {
            Engine::Cpu(_) => comm.all_gather_shares(&mut state.ranks),
            Engine::Gpu(gpu) => gpu.fetch(&mut state.ranks)?,
        }
        Ok(())
    }
}

/// Saves the PageRank values of all vertices, from `state`, and the progress of the trial in a checkpoint.
fn save(checkpoint: &mut Checkpoint, state: &State<'_>, progress: Progress, units: u64) -> Result<()> {
    let Progress { done, change, seconds } = progress;
    let [isolated, personalised] = state.isolated;
    let head = [seconds, change, isolated, personalised].map(f64::to_bits);
    checkpoint.save(done, units.max(done), &[bytes_of(&head), bytes_of(&state.ranks)])
}

/// Loads the PageRank values from a checkpoint into `state`. Returns the saved progress of the trial.
fn load(saved: &Saved, state: &mut State<'_>) -> Result<Progress> {
    match (saved.words(0)?, saved.words(1)?) {
        (&[seconds, change, isolated, personalised], ranks) if ranks.len() == state.ranks.len() => {
            state.ranks.iter_mut().zip(ranks).for_each(|(rank, &bits)| *rank = f64::from_bits(bits));
            state.isolated = [isolated, personalised].map(f64::from_bits);
            let [seconds, change] = [seconds, change].map(f64::from_bits);
            Ok(Progress { done: saved.done(), change, seconds })
        }
        _ => Err(saved.other("not ranks of this graph")),
    }
}

/// Counts vertices by PageRank, and lists the highest PageRank values. Writes the result column if this is the last
/// trial.
fn report(graph: &Graph, run: &mut Run<'_>, state: &State<'_>, teleport: &Teleport) -> Result<PagerankOutput> {
    let info = &graph.info;
    let mut figures = RankFigures::default();
    state.ranks.iter().for_each(|&rank| figures.count(rank, 1));
    state.isolated.iter().zip(teleport.isolated).for_each(|(&rank, vertices)| figures.count(rank, vertices));

    let (order, ids) = (order::map(&graph.folder, info.content)?, IdList::open(graph)?);
    let map = order.ids()?;
    let isolated = |number: u64| state.isolated[usize::from(teleport.is_personalised_isolated(number))];
    for (row, &vertex) in (0u32..).zip(map) {
        let rank = match state.ranks.get(vertex as usize) {
            Some(&rank) => rank,
            None => isolated(ids.number(DenseId(row))),
        };
        figures.offer(rank, row.into());
    }
    for row in teleport.isolated_rows(map.len() as u64..info.rows(), info.first_id.0, LARGEST) {
        figures.offer(isolated(row + info.first_id.0), row);
    }
    let (largest, by_rank) = figures.finish(|row| ids.of_row(row));
    let output = PagerankOutput { sum: state.sum(teleport), largest, by_rank, ..PagerankOutput::default() };
    if run.is_last {
        run.columns.put_all("rank", 0.0, isolated, |v| state.ranks[v.index()])?;
    }
    Ok(output)
}
