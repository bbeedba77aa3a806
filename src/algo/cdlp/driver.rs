//! Runs one trial of label propagation (`[cdlp]`). All ranks compute the iterations. Rank 0 computes the statistics and
//! writes the result column.

use super::gpu::GpuLabels;
use super::labels::Labels;
use super::options::Cdlp;
use super::output::CdlpOutput;
use crate::algo::round::{self, RoundEnd};
use crate::algo::{Run, Trial};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::DenseId;
use crate::memory::{Buffer, Reservation, bytes_of};
use crate::prepare::input_ids::IdList;
use crate::prepare::prepared::Graph;
use crate::store::checkpoint::{Checkpoint, Saved};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Progress of a trial of label propagation.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    /// Number of completed iterations.
    done: u64,
    /// Number of vertices whose label changed in the last iteration.
    changed: u64,
    /// Time that the trial has taken so far, in seconds, including earlier runs.
    seconds: f64,
}

/// Finds the labels of all vertices, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; errors of reading rows; disk errors; [`Error::Stopped`].
pub(super) fn find(options: &Cdlp, graph: &Graph, run: &mut Run<'_>) -> Result<Trial<CdlpOutput, ()>> {
    let comm = run.comm;
    let file = graph.degrees()?;
    let mut labels = Labels::new(graph, file.body_as_u32()?, comm, run.budget)?;
    let mut checkpoint = run.units.checkpoint();
    let saved = round::load(comm, &checkpoint, |saved| load(saved, &mut labels))?;
    let Progress { mut done, mut changed, seconds: before } = on_leader(comm, || Ok(saved.unwrap_or_default()))?;
    if done > 0 {
        labels.broadcast(comm);
    }
    run.progress.resume_at(done);
    let mut engine = Engine::open(&labels, graph, run)?;
    let started = Instant::now();
    let seconds = || before + started.elapsed().as_secs_f64();
    // If no label changes in an iteration, none ever changes again.
    while done < options.iterations && (done == 0 || changed > 0) {
        // If a stop interrupts an iteration, the next run computes it again.
        let is_whole = round::is_whole(engine.vote(&mut labels, run.threads))?;
        failpoint::hit("cdlp.unit").map_err(|e| Error::io("count labels", run.units.folder, e))?;
        let RoundEnd { is_cut, stops, is_due } = RoundEnd::agree(comm, is_whole, &checkpoint);
        if !is_cut {
            changed = engine.exchange(&mut labels, comm, run.threads)?;
            done += 1;
            run.progress.advance(1);
        }
        if comm.is_leader() && (stops || is_due) {
            engine.fetch(&mut labels)?;
            save(&mut checkpoint, &labels, Progress { done, changed, seconds: seconds() }, options.iterations)?;
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    run.progress.advance(options.iterations - done);
    let (output, seconds) = on_leader(comm, || {
        // The time of a GPU ends with the last iteration. Copying the labels to the host does not count.
        let seconds = seconds();
        engine.fetch(&mut labels)?;
        if checkpoint.is_worth_it() {
            save(&mut checkpoint, &labels, Progress { done, changed, seconds }, options.iterations)?;
        }
        // The statistics need the memory in which labels were counted.
        drop(engine);
        Ok((report(graph, run, &labels.into_labels(), (done, changed))?, seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

/// The device that computes the iterations of label propagation.
enum Engine<'g> {
    /// The CPUs. The reservation is for the memory in which labels of neighbours are counted.
    Cpu {
        _counting: Reservation,
    },
    Gpu(Box<GpuLabels<'g>>),
}

impl<'g> Engine<'g> {
    /// Chooses the device that computes the iterations. CPUs are used if there are several ranks. Collective.
    fn open<'r: 'g>(labels: &Labels<'g>, graph: &Graph, run: &Run<'r>) -> Result<Engine<'g>> {
        let cpu = || {
            let counting = run.budget.reserve(labels.counting_bytes(run.threads), "labels of neighbours")?;
            Ok(Engine::Cpu { _counting: counting })
        };
        let gpu = |lease| GpuLabels::new(labels, lease);
        run.devices.choose_alone(graph.block_store.is_local(), gpu, Engine::Gpu, cpu)
    }

    /// Computes the next labels of the vertices that this rank owns. If it fails, the labels are still those of the
    /// previous iteration.
    fn vote(&mut self, labels: &mut Labels<'_>, threads: usize) -> Result<()> {
        match self {
            Engine::Cpu { .. } => labels.vote(threads),
            Engine::Gpu(gpu) => gpu.vote(),
        }
    }

    /// Completes an iteration after [`Self::vote`]: replaces the labels by the next labels. Returns the number of
    /// vertices whose label changed. Collective.
    fn exchange(&mut self, labels: &mut Labels<'_>, comm: &Comm, threads: usize) -> Result<u64> {
        match self {
            Engine::Cpu { .. } => labels.exchange(comm, threads),
            Engine::Gpu(gpu) => gpu.exchange(),
        }
    }

    /// Copies the labels to the host, if they are on a GPU.
    fn fetch(&mut self, labels: &mut Labels<'_>) -> Result<()> {
        match self {
            Engine::Cpu { .. } => Ok(()),
            Engine::Gpu(gpu) => gpu.fetch(&mut labels.of),
        }
    }
}

/// Saves the labels and the progress of the trial in a checkpoint.
fn save(checkpoint: &mut Checkpoint, labels: &Labels<'_>, progress: Progress, units: u64) -> Result<()> {
    let Progress { done, changed, seconds } = progress;
    checkpoint.save(done, units, &[bytes_of(&[seconds.to_bits(), changed]), bytes_of(&labels.of)])
}

/// Loads the labels from a checkpoint. Returns the saved progress of the trial.
fn load(saved: &Saved, labels: &mut Labels<'_>) -> Result<Progress> {
    match (saved.words(0)?, saved.words_u32(1)?) {
        (&[seconds, changed], of) if of.len() == labels.of.len() => {
            labels.of.copy_from_slice(of);
            Ok(Progress { done: saved.done(), changed, seconds: f64::from_bits(seconds) })
        }
        _ => Err(saved.other("not labels of this graph")),
    }
}

/// Counts the sizes of communities. Writes the result column if this is the last trial.
fn report(graph: &Graph, run: &mut Run<'_>, labels: &[u32], iterations: (u64, u64)) -> Result<CdlpOutput> {
    let info = &graph.info;
    let mut sizes: Buffer<u32> = run.budget.zeroed(info.ids as usize, "sizes of communities (4 bytes for each id)")?;
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    let output = CdlpOutput::new(iterations, &sizes, info.rows() - info.connected);
    if run.is_last {
        let ids = IdList::open(graph)?;
        let label = |v: usize| ids.number(DenseId(labels[v])) as i64;
        run.columns.put_all("label", -1, |id| id as i64, |v| label(v.index()))?;
    }
    Ok(output)
}
