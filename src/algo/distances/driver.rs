//! Runs one trial of `[distances]`. All ranks search from the sources, up to 64 of them in each pass. Rank 0 computes
//! the statistics and writes the result columns.

use super::engine::Engine;
use super::options::Distances;
use super::output::{DistancesOutput, Sums, figures_bytes};
use super::search::{SOURCES, VertexSums};
use crate::algo::round::{self, RoundEnd};
use crate::algo::searches::{Root, roots};
use crate::algo::{Run, Trial};
use crate::comm::on_leader;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::direction::Direction;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::prepared::Graph;
use crate::store::checkpoint::{Checkpoint, Saved};
use std::time::Instant;

/// Element of [`Progress::components`] for a source whose component is not known yet.
const UNKNOWN: u32 = u32::MAX;
/// Number of 64-bit words for each source in a checkpoint.
pub(super) const SOURCE_WORDS: usize = 4;

/// Progress of a trial of `[distances]`. Ranks other than 0 need only `done`.
struct Progress {
    /// Number of sources from which the search is complete.
    done: usize,
    /// For each completed source, sums of the distances to the vertices that it reaches.
    sources: Vec<Sums>,
    /// For each source, the index of the first source that reaches it, or `UNKNOWN`.
    components: Vec<u32>,
    /// Duration of the trial so far in seconds, including earlier runs.
    seconds: f64,
}

/// Finds the distances, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; [`Error::Input`] for a source that the graph does not have; errors of reading rows; disk errors;
/// [`Error::Stopped`].
pub(super) fn find(options: &Distances, graph: &Graph, run: &mut Run<'_>) -> Result<Trial<DistancesOutput, ()>> {
    let (comm, budget) = (run.comm, run.budget);
    let roots = on_leader(comm, || roots::of(&options.origins, graph))?;
    let _figures = budget.reserve(figures_bytes(roots.len() as u64), "figures of sources")?;
    let file = graph.degrees()?;
    let degrees = file.body_as_u32()?;
    let purpose = "sums of distances (16 bytes for each vertex)";
    let mut vertex_sums: Buffer<u64> = budget.zeroed(2 * graph.info.connected as usize, purpose)?;
    let mut checkpoint = run.units.checkpoint();
    let saved = round::load(comm, &checkpoint, |saved| load(saved, &mut vertex_sums, roots.len()))?;
    let mut progress = saved.unwrap_or_else(|| Progress::new(roots.len()));
    progress.done = on_leader(comm, || Ok(progress.done))?;
    run.progress.resume_at(progress.done as u64);
    let mut engine = Engine::open((graph, degrees), &vertex_sums, run)?;
    let (started, before, units) = (Instant::now(), progress.seconds, options.origins.count());
    while progress.done < roots.len() {
        let pass = &roots[progress.done..roots.len().min(progress.done + SOURCES)];
        // A source without an edge reaches only itself, so no bit is spent on it.
        let sources: Vec<u32> = pass.iter().filter_map(|root| root.vertex).collect();
        let mut sums = [Sums::default(); SOURCES];
        let add = |distance, counts: &[u64]| {
            sums.iter_mut().zip(counts).for_each(|(sums, &vertices)| sums.add(distance, vertices));
        };
        // If a stop interrupts a pass, the next run computes it again.
        let is_whole = round::is_whole(engine.run(&sources, &mut vertex_sums, (comm, run.threads), add))?;
        failpoint::hit("distances.unit").map_err(|e| Error::io("sum distances", run.units.folder, e))?;
        let RoundEnd { is_cut, stops, is_due } = RoundEnd::agree(comm, is_whole, &checkpoint);
        if !is_cut {
            progress.add(&roots, pass, sums, &engine)?;
            run.progress.advance(pass.len() as u64);
        }
        progress.seconds = before + started.elapsed().as_secs_f64();
        // After an interrupted pass the sums include some of its levels, so they are not saved.
        if comm.is_leader() && !is_cut && (stops || is_due) {
            engine.fetch(&mut vertex_sums)?;
            save(&mut checkpoint, &vertex_sums, &progress, units)?;
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    engine.fetch(&mut vertex_sums)?;
    drop(engine);
    // A small graph may have fewer vertices than the number of sources to draw.
    run.progress.advance(units - progress.done as u64);
    let (output, seconds) = on_leader(comm, || {
        if checkpoint.is_worth_it() {
            save(&mut checkpoint, &vertex_sums, &progress, units)?;
        }
        let figures =
            roots.iter().zip(&progress.sources).map(|(root, sums)| sums.of_source(root.id, graph.info.rows()));
        let is_undirected = graph.info.direction == Direction::Undirected;
        let output = DistancesOutput::new(figures.collect(), is_undirected.then_some(&progress.components[..]));
        write(run, &vertex_sums)?;
        Ok((output, progress.seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

impl Progress {
    fn new(sources: usize) -> Progress {
        Progress { done: 0, sources: Vec::new(), components: vec![UNKNOWN; sources], seconds: 0.0 }
    }

    /// Adds the results of a pass to the progress. `sums` contains the sums of distances from each source in `pass`
    /// that has an edge, in the order of `pass`.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn add(&mut self, roots: &[Root], pass: &[Root], sums: [Sums; SOURCES], engine: &Engine<'_>) -> Result<()> {
        let (first, mut numbers) = (self.done, [UNKNOWN; SOURCES]);
        let mut bit = 0;
        for (number, root) in (first..).zip(pass) {
            if root.vertex.is_some() {
                self.sources.push(sums[bit]);
                numbers[bit] = number as u32;
                bit += 1;
            } else {
                self.sources.push(Sums::default());
                self.components[number] = number as u32;
            }
        }
        let left = || self.components[first..].iter().zip(&roots[first..]);
        let unknown = |(component, root): (&u32, &Root)| root.vertex.filter(|_| *component == UNKNOWN);
        let vertices: Vec<u32> = left().filter_map(unknown).collect();
        let mut reaching = engine.reaching(&vertices)?.into_iter();
        for (component, root) in self.components[first..].iter_mut().zip(&roots[first..]) {
            let words = unknown((component, root)).and_then(|_| reaching.next()).filter(|&words| words != 0);
            if let Some(words) = words {
                *component = numbers[words.trailing_zeros() as usize];
            }
        }
        self.done += pass.len();
        Ok(())
    }
}

/// Saves the sums of distances to each vertex (`vertices`) and the progress of the trial, which includes the sums of
/// distances from each source.
fn save(checkpoint: &mut Checkpoint, vertices: &[u64], progress: &Progress, units: u64) -> Result<()> {
    let words = |of: &Sums| [of.vertices, of.total, of.farthest, of.harmonic.to_bits()];
    let sources: Vec<u64> = progress.sources.iter().flat_map(words).collect();
    let head = [progress.seconds.to_bits()];
    let sections = [bytes_of(&head), bytes_of(&sources), bytes_of(&progress.components), bytes_of(vertices)];
    checkpoint.save(progress.done as u64, units, &sections)
}

/// Loads the sums of distances to each vertex from a checkpoint into `vertices`. Returns the saved progress, which
/// includes the sums of distances from each source.
fn load(saved: &Saved, vertices: &mut [u64], roots: usize) -> Result<Progress> {
    let (head, sources, components, of) = (saved.words(0)?, saved.words(1)?, saved.words_u32(2)?, saved.words(3)?);
    let done = saved.done() as usize;
    match (head, sources.as_chunks::<SOURCE_WORDS>()) {
        (&[seconds], (sources, []))
            if sources.len() == done && done <= roots && components.len() == roots && of.len() == vertices.len() =>
        {
            vertices.copy_from_slice(of);
            let sums = |&[vertices, total, farthest, harmonic]: &[u64; SOURCE_WORDS]| Sums {
                vertices,
                total,
                farthest,
                harmonic: f64::from_bits(harmonic),
            };
            let (sources, components) = (sources.iter().map(sums).collect(), components.to_vec());
            Ok(Progress { done, sources, components, seconds: f64::from_bits(seconds) })
        }
        _ => Err(saved.other("not distances of this graph")),
    }
}

/// Writes the result columns if this is the last trial.
fn write(run: &mut Run<'_>, sums: &[u64]) -> Result<()> {
    if run.is_last {
        run.columns.put_all("sources", 0u32, |_| 0, |v| VertexSums::of(sums, v.index()).sources)?;
        run.columns.put_all("total", 0u64, |_| 0, |v| VertexSums::of(sums, v.index()).total)?;
        run.columns.put_all("farthest", 0u32, |_| 0, |v| VertexSums::of(sums, v.index()).farthest)?;
    }
    Ok(())
}
