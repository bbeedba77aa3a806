//! Runs one trial of core numbers (`[cores]`). All ranks remove layers. Rank 0 counts core numbers and writes the
//! result columns.

use super::gpu::GpuPeeling;
use super::output::CoresOutput;
use super::peeling::{Begin, Peeling};
use crate::algo::round::{self, RoundEnd};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::{Run, Trial};
use crate::comm::on_leader;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::prepared::Graph;
use crate::store::checkpoint::{Checkpoint, Saved};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Number of units of a trial in the progress display. A unit is a thousandth of the vertices.
pub(super) const UNITS: u64 = 1000;

/// Minimum size of a layer, in vertices, after which CPUs check whether to save a checkpoint or to stop.
const WIDE: u64 = 1 << 12;
/// Number of layers after which CPUs check in any case whether to save a checkpoint or to stop.
const LAYERS: u32 = 64;

/// Progress of a trial of core numbers.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    level: u32,
    layer: u32,
    /// Number of completed units. A unit is a thousandth of the vertices.
    done: u64,
    /// Duration of the trial so far in seconds, including earlier runs.
    seconds: f64,
}

/// Finds the core numbers, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; errors of reading rows; disk errors; errors of the exchange; [`Error::Lost`]; [`Error::Stopped`].
pub(super) fn find(graph: &Graph, run: &mut Run<'_>) -> Result<Trial<CoresOutput, ()>> {
    let (comm, vertices) = (run.comm, graph.info.connected);
    let file = graph.degrees()?;
    let mut checkpoint = run.units.checkpoint();
    let saved = if comm.is_leader() { checkpoint.load()? } else { None };
    let (progress, state) = saved.as_ref().map(|saved| load(saved, vertices)).transpose()?.unwrap_or_default();
    let Progress { level, layer, mut done, seconds: before } = on_leader(comm, || Ok(progress))?;
    let begin = Begin { level, layer, saved: state };
    let mut engine = Engine::open((graph, file.body_as_u32()?), &begin, run)?;
    run.progress.resume_at(done);
    let started = Instant::now();
    let seconds = || before + started.elapsed().as_secs_f64();
    while engine.remove(run)? {
        failpoint::hit("cores.unit").map_err(|e| Error::io("remove layers", run.units.folder, e))?;
        let (level, layer, removed) = engine.place();
        let mut removed = [removed];
        comm.all_sum(&mut removed);
        let units = (removed[0] * UNITS).checked_div(vertices).unwrap_or(UNITS);
        run.progress.advance(units - done);
        done = units;
        let RoundEnd { stops, is_due, .. } = RoundEnd::agree(comm, true, &checkpoint);
        if stops || is_due {
            let [left, layers] = engine.gather()?;
            if comm.is_leader() {
                save(&mut checkpoint, (level, layer, done, seconds()), [left, layers])?;
            }
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    run.progress.advance(UNITS - done);
    let (level, layer, _) = engine.place();
    // On a GPU, the measured time ends when no vertex is left: it does not include copying the results to the host.
    let on_gpu = seconds();
    let (is_on_gpu, [cores, layers]) = engine.finish()?;
    let (output, seconds) = on_leader(comm, || {
        let seconds = if is_on_gpu { on_gpu } else { seconds() };
        if checkpoint.is_worth_it() {
            save(&mut checkpoint, (level, layer, UNITS, seconds), [&cores, &layers])?;
        }
        Ok((report(graph, run, [&cores, &layers])?, seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

/// The device that removes layers of vertices.
enum Engine<'g> {
    Cpu { peeling: Box<Peeling<'g>>, exchange: RankExchange },
    Gpu(Box<GpuPeeling<'g>>),
}

impl<'g> Engine<'g> {
    /// Chooses the device that removes layers. Several ranks always use their CPUs. Collective.
    fn open<'r: 'g>((graph, degrees): (&'g Graph, &'g [u32]), begin: &Begin<'_>, run: &Run<'r>) -> Result<Engine<'g>> {
        let cpu = || {
            let peeling = Peeling::new((graph, degrees), begin, run.comm, (run.budget, run.threads))?;
            let exchange = peeling.exchange(run.comm, run.budget)?;
            Ok(Engine::Cpu { peeling: Box::new(peeling), exchange })
        };
        let halves = [&graph.block_store, graph.upper()?];
        let gpu = |lease| GpuPeeling::new(halves, (degrees, graph.info.direction), begin, lease, run.budget);
        run.devices.choose_alone(graph.block_store.is_local(), gpu, Engine::Gpu, cpu)
    }

    /// Removes some layers of vertices. Returns true if vertices may be left, and false if none is left. Collective.
    fn remove(&mut self, run: &Run<'_>) -> Result<bool> {
        let (peeling, exchange) = match self {
            Engine::Cpu { peeling, exchange } => (peeling, exchange),
            Engine::Gpu(peeling) => return peeling.remove(),
        };
        loop {
            let found = peeling.find(run.comm, run.threads)?;
            if found == 0 {
                return Ok(false);
            }
            peeling.remove(exchange, run.threads)?;
            if found >= WIDE || peeling.layer.is_multiple_of(LAYERS) {
                return Ok(true);
            }
        }
    }

    /// Returns the current level, the number of removed layers, and the number of vertices of this rank in these
    /// layers.
    fn place(&self) -> (u32, u32, u64) {
        match self {
            Engine::Cpu { peeling, .. } => (peeling.level, peeling.layer, peeling.removed() as u64),
            Engine::Gpu(peeling) => peeling.place(),
        }
    }

    /// Returns two arrays over all vertices, like [`Peeling::gather`]. The first contains the number of remaining
    /// neighbours or, for a removed vertex, the core number. The second contains the layer.
    fn gather(&mut self) -> Result<[&[u32]; 2]> {
        match self {
            Engine::Cpu { peeling, exchange } => peeling.gather(exchange),
            Engine::Gpu(peeling) => peeling.gather(),
        }
    }

    /// Ends the peeling. Returns whether it ran on a GPU, and two arrays over all vertices: core numbers and layers.
    fn finish(self) -> Result<(bool, [Buffer<u32>; 2])> {
        match self {
            Engine::Cpu { peeling, mut exchange } => Ok((false, peeling.finish(&mut exchange)?)),
            Engine::Gpu(peeling) => Ok((true, peeling.finish()?)),
        }
    }
}

/// Saves the arrays that [`Engine::gather`] returns, and the progress of the trial, in a checkpoint.
fn save(
    checkpoint: &mut Checkpoint,
    (level, layer, done, seconds): (u32, u32, u64, f64),
    [left, layers]: [&[u32]; 2],
) -> Result<()> {
    let at = [seconds.to_bits(), level.into(), layer.into()];
    checkpoint.save(done, UNITS, &[bytes_of(&at), bytes_of(left), bytes_of(layers)])
}

/// Loads a checkpoint. Returns the progress of the trial, and two arrays over all vertices: the number of remaining
/// neighbours or, for a removed vertex, the core number; and the layer.
fn load(saved: &Saved, vertices: u64) -> Result<(Progress, [&[u32]; 2])> {
    match (saved.words(0)?, saved.words_u32(1)?, saved.words_u32(2)?) {
        (&[seconds, level, layer], left, layers)
            if [left, layers].iter().all(|words| words.len() as u64 == vertices) =>
        {
            let (level, layer, seconds) = (level as u32, layer as u32, f64::from_bits(seconds));
            Ok((Progress { level, layer, done: saved.done(), seconds }, [left, layers]))
        }
        _ => Err(saved.other("not layers of this graph")),
    }
}

/// Counts the vertices with each core number. Writes the result columns if this is the last trial.
fn report(graph: &Graph, run: &mut Run<'_>, [cores, layers]: [&Buffer<u32>; 2]) -> Result<CoresOutput> {
    let isolated = graph.info.rows() - graph.info.connected;
    // Isolated vertices are the first layer.
    let first = i64::from(isolated > 0);
    let mut output = CoresOutput::default();
    output.add(0, 1, isolated);
    let layer = |v: usize| i64::from(layers[v]) + first;
    cores.iter().enumerate().for_each(|(v, &core)| output.add(core.into(), layer(v) as u64, 1));
    if run.is_last {
        run.columns.put_all("core", -1, |_| 0, |v| i64::from(cores[v.index()]))?;
        run.columns.put_all("layer", -1, |_| 1, |v| layer(v.index()))?;
    }
    Ok(output)
}
