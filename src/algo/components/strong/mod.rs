//! Strongly connected components of a directed graph.
//!
//! Three phases alternate until every vertex is in a component. All of them advance from frontier to frontier, so a
//! long path does not need a pass over all rows for each of its vertices.
//!
//! | phase | does |
//! |---|---|
//! | trim | repeatedly makes a component of each vertex without in-edges or without out-edges, and removes it |
//! | colour | divides the other vertices into classes, each with a root that reaches all vertices of the class |
//! | assign | makes components of the vertices that reach the root of their class |
//!
//! In the first round there is one root, a vertex with many neighbours in both directions. It finds the largest
//! component of most graphs (forward and backward reach: Fleischer, Hendrickson and Pinar, 2000). In later rounds every
//! vertex may become a root (colouring: Orzan, 2004; both together: Slota, Rajamanickam and Madduri, 2014). Components
//! do not depend on the order in which threads and ranks work.
//!
//! | file | contents |
//! |---|---|
//! | `gpu` | the phases on a GPU |
//! | `search` | the arrays, and the step of which all phases consist: threads and ranks visit the vertices of a list |
//! | `trim` | vertices that are components by themselves |
//! | `colour` | classes and components |
//! | `serial` | depth-first search by one thread |
//! | `verify` | computes the components again by Tarjan's algorithm |

mod colour;
pub(super) mod gpu;
mod search;
mod serial;
#[cfg(test)]
mod tests;
mod trim;
pub(super) mod verify;

use super::driver::report;
use super::output::ComponentsOutput;
use crate::algo::round::{self, RoundEnd};
use crate::algo::rows::Neighbours;
use crate::algo::{Run, Trial};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::memory::{Buffer, bytes_of, plain};
use crate::prepare::prepared::Graph;
use crate::store::checkpoint::{Checkpoint, Saved};
use gpu::GpuSearch;
use search::{LIVE, Search, Workers};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Returns the memory in bytes that each of `ranks` ranks takes for a graph of `vertices` vertices.
pub(super) fn bytes(vertices: u64, ranks: usize) -> u64 {
    let pieces = if ranks > 1 { 8 * Comm::PIECE as u64 } else { 0 };
    search::bytes(vertices) + pieces
}

/// Estimates the number of bytes that all ranks together send. Each vertex is sent four times to every other rank, in
/// 8 bytes each time: when it is trimmed, found in each direction, and coloured again in a later round.
pub(super) fn sent(vertices: u64, ranks: usize) -> u64 {
    4 * 8 * (ranks as u64 - 1) * vertices
}

/// A phase of a round. The state can be saved between phases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    #[default]
    Trim,
    Colour,
    Assign,
}

/// Progress of a trial.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    /// The phase that comes next.
    phase: Phase,
    /// Number of complete rounds.
    rounds: u64,
    /// Time that the trial has taken so far, in seconds, including earlier runs.
    seconds: f64,
}

impl Progress {
    /// Executes the phase that comes next. Returns false if it was given up. Collective.
    fn advance(&mut self, engine: &mut Engine<'_>, workers: Workers<'_>) -> Result<bool> {
        if !engine.advance(self.phase, self.rounds == 0, workers)? {
            return Ok(false);
        }
        self.phase = match self.phase {
            Phase::Trim => Phase::Colour,
            Phase::Colour => Phase::Assign,
            Phase::Assign => Phase::Trim,
        };
        self.rounds += u64::from(self.phase == Phase::Trim);
        Ok(true)
    }
}

/// The device that executes the phases.
enum Engine<'g> {
    Cpu(Box<Search<'g>>),
    Gpu(Box<GpuSearch<'g>>),
}

impl<'g> Engine<'g> {
    /// Chooses the device. CPUs are used if there are several ranks. `saved` contains the components and classes that
    /// rank 0 has loaded. It is empty without a checkpoint, and on other ranks. Collective.
    fn open<'r: 'g>((graph, degrees): (&'g Graph, &'g [u32]), saved: &[u32], run: &Run<'r>) -> Result<Engine<'g>> {
        let (vertices, is_local) = (graph.info.connected as usize, graph.block_store.is_local());
        let halves = [&graph.block_store, graph.upper()?];
        let threads = if is_local { run.threads } else { 0 };
        let gpu = |lease| GpuSearch::new(halves, vertices, saved, threads, lease, run.budget);
        run.devices.choose_alone(is_local, gpu, Engine::Gpu, || Engine::on_cpus((graph, degrees), saved, run))
    }

    /// Returns a search on CPUs. `saved` is the same as for [`Self::open`]. Collective.
    fn on_cpus(
        (graph, degrees): (&'g Graph, &'g [u32]),
        saved: &[u32],
        &Run { comm, threads, budget, .. }: &Run<'_>,
    ) -> Result<Engine<'g>> {
        let rows = || Neighbours::new(graph, degrees, comm, budget);
        let mut search = Search::new(graph.info.connected as usize, (budget, (comm, threads)), rows)?;
        let of = plain(&mut search.of);
        of[..saved.len()].copy_from_slice(saved);
        if comm.any(!saved.is_empty()) {
            comm.broadcast_numbers(of);
        }
        Ok(Engine::Cpu(Box::new(search)))
    }

    /// Begins a phase. Returns the number of live vertices (those in no component yet).
    fn begin(&mut self) -> usize {
        match self {
            Engine::Cpu(search) => search.begin(),
            Engine::Gpu(search) => search.left(),
        }
    }

    /// Executes a phase. If the phase is cancelled, the components and classes found so far are valid. Returns false
    /// if the phase was given up, because it has too many steps with few vertices. Collective.
    fn advance(&mut self, phase: Phase, is_first: bool, workers: Workers<'_>) -> Result<bool> {
        match (self, phase) {
            (Engine::Gpu(search), _) => search.advance(phase, is_first),
            (Engine::Cpu(search), _) if search.gives_up() => Ok(false),
            (Engine::Cpu(search), Phase::Trim) => trim::trim(search, workers),
            (Engine::Cpu(search), Phase::Colour) => colour::colour(search, is_first, workers),
            (Engine::Cpu(search), Phase::Assign) => colour::assign(search, workers),
        }
    }

    /// Continues after a phase was given up. If a GPU gave it up, CPUs repeat it. Otherwise each rank finds the
    /// remaining components by itself. Collective.
    fn give_up<'r: 'g>(&mut self, rows: (&'g Graph, &'g [u32]), run: &Run<'r>) -> Result<()> {
        *self = match self {
            Engine::Cpu(search) => {
                tracing::debug!("steps cost too much, so a depth-first search goes on");
                return serial::find(search);
            }
            Engine::Gpu(search) => {
                tracing::debug!("paths are long, so CPUs go on");
                Engine::on_cpus(rows, search.gather()?, run)?
            }
        };
        Ok(())
    }

    /// Returns the components and classes of all vertices, copied from the GPU if the phases run there.
    fn gather(&mut self) -> Result<&[u32]> {
        match self {
            Engine::Cpu(search) => Ok(plain(&mut search.of)),
            Engine::Gpu(search) => search.gather(),
        }
    }

    /// Returns the components, and frees all other memory. Every vertex must be in a component.
    fn finish(self) -> Result<Buffer<u32>> {
        match self {
            Engine::Cpu(search) => Ok(search.of.into_plain()),
            Engine::Gpu(search) => search.finish(),
        }
    }
}

/// Finds the components, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; errors of reading rows; disk errors; [`Error::Lost`]; [`Error::Stopped`].
pub(super) fn find(graph: &Graph, run: &mut Run<'_>) -> Result<Trial<ComponentsOutput, ()>> {
    let (comm, units) = (run.comm, graph.block_store.len() as u64);
    let file = graph.degrees()?;
    let mut checkpoint = run.units.checkpoint();
    let saved = if comm.is_leader() { checkpoint.load()? } else { None };
    let (begun, saved) = saved.as_ref().map(|saved| load(saved, graph.info.connected)).transpose()?.unwrap_or_default();
    let (mut done, mut progress): (u64, Progress) = on_leader(comm, || Ok(begun))?;
    let rows = (graph, file.body_as_u32()?);
    let mut engine = Engine::open(rows, saved, run)?;
    run.progress.resume_at(done);
    let (started, before) = (Instant::now(), progress.seconds);
    let mut left = engine.begin();
    while left > 0 {
        // After a stop, the next run repeats the phase.
        let advanced = match progress.advance(&mut engine, (comm, run.threads)) {
            Ok(false) => engine.give_up(rows, run),
            advanced => advanced.map(|_| ()),
        };
        let is_whole = round::is_whole(advanced)?;
        failpoint::hit("components.unit").map_err(|e| Error::io("find strong components", run.units.folder, e))?;
        let RoundEnd { stops, is_due, .. } = RoundEnd::agree(comm, is_whole, &checkpoint);
        left = engine.begin();
        let units_done = units - (units * left as u64).div_ceil(graph.info.connected.max(1));
        run.progress.advance(units_done - done);
        done = units_done;
        progress.seconds = before + started.elapsed().as_secs_f64();
        if comm.is_leader() && (stops || is_due) {
            save(&mut checkpoint, engine.gather()?, progress, (done, units))?;
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    run.progress.advance(units - done);
    let of = engine.finish()?;
    let (output, seconds) = on_leader(comm, || {
        if checkpoint.is_worth_it() {
            save(&mut checkpoint, &of, progress, (units, units))?;
        }
        Ok((ComponentsOutput { strong: true, ..report(graph, run, &of)? }, progress.seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

/// Saves classes and components, and the progress of the trial.
fn save(
    checkpoint: &mut Checkpoint,
    of: &[u32],
    Progress { phase, rounds, seconds }: Progress,
    (done, units): (u64, u64),
) -> Result<()> {
    let head = [seconds.to_bits(), phase as u64, rounds];
    checkpoint.save(done, units, &[bytes_of(&head), bytes_of(of)])
}

/// Loads a checkpoint. Returns the number of finished units, the saved progress, and the classes and components.
fn load(saved: &Saved, vertices: u64) -> Result<((u64, Progress), &[u32])> {
    let phase = |number| [Phase::Trim, Phase::Colour, Phase::Assign].into_iter().find(|&phase| phase as u64 == number);
    match (saved.words(0)?, saved.words_u32(1)?) {
        (&[seconds, number, rounds], of) if of.len() as u64 == vertices && is_valid(of) => {
            let phase = phase(number).ok_or_else(|| saved.other("not strong components of this graph"))?;
            Ok(((saved.done(), Progress { phase, rounds, seconds: f64::from_bits(seconds) }), of))
        }
        _ => Err(saved.other("not strong components of this graph")),
    }
}

/// Returns true if every vertex that represents a component belongs to that component.
fn is_valid(of: &[u32]) -> bool {
    of.iter().filter(|&&of| of & LIVE == 0).all(|&root| of.get(root as usize) == Some(&root))
}

/// Checks that `saved` is a checkpoint of strongly connected components. Returns the number of components in it.
///
/// # Errors
/// [`Error::Corrupt`].
pub(super) fn components_of(saved: &Saved, vertices: u64) -> Result<u64> {
    let of = saved.words_u32(1)?;
    if saved.words(0)?.len() != 3 || of.len() as u64 != vertices || !is_valid(of) {
        return Err(saved.other("not strong components of this graph"));
    }
    Ok((0..).zip(of).filter(|&(v, &of)| of == v).count() as u64)
}
