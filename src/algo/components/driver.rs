//! Runs one trial of weakly connected components. In each round, every rank joins trees of its forest along the edges
//! of some blocks of rows. At the end, rank 0 counts the component sizes and writes the result column.

use super::forest::Forest;
use super::gpu::{GpuForest, vertices_of};
use super::merge;
use super::output::ComponentsOutput;
use crate::algo::round::{self, RoundEnd};
use crate::algo::team::{Parts, team};
use crate::algo::{ChosenDevice, Run, Trial};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::csr::Block;
use crate::graph::ids::DenseId;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::input_ids::IdList;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::store::checkpoint::Saved;
use std::ops::Range;
use std::time::Instant;

/// Number of rows or vertices that a thread takes at a time, unless rows are short.
const PART: usize = 1 << 10;
/// Number of neighbours that a thread processes at a time if rows are short.
const PART_ENTRIES: usize = 1 << 15;

/// Finds the weakly connected components, or resumes the trial of an earlier run. Collective.
///
/// # Errors
/// [`Error::Limit`]; errors of reading rows; disk errors; [`Error::Lost`]; [`Error::Stopped`].
pub(super) fn find(graph: &Graph, run: &mut Run<'_>) -> Result<Trial<ComponentsOutput, ()>> {
    let (comm, total) = (run.comm, graph.block_store.len() as u64);
    let mut forest = Forest::new(graph.info.connected as usize, run.budget)?;
    let mut checkpoint = run.units.checkpoint();
    let saved = round::load(comm, &checkpoint, |saved| load(saved, &forest))?;
    let is_new = saved.is_none();
    let (mut done, before) = on_leader(comm, || Ok(saved.unwrap_or_default()))?;
    run.progress.resume_at(done);
    let mut engine = Engine::open(graph, run, (&forest, is_new), done)?;
    let at_once = engine.blocks_at_once(comm);
    let shares = comm.ranks() > 1 && comm.all(matches!(engine, Engine::Cpu));
    let started = Instant::now();
    let (mut joined, mut on_gpu) = (0.0, false);
    while done < total {
        let end = total.min(at_once.saturating_mul(comm.ranks() as u64).saturating_add(done));
        // If a stop interrupts a round, the next run joins trees along the edges of the round's blocks again.
        let of_ranks: Vec<Vec<usize>> =
            (0..comm.ranks()).map(|rank| blocks_of(comm.ranks(), rank, done..end)).collect();
        let is_whole = round::is_whole(engine.join(graph, &forest, (&of_ranks, comm.rank()), run.threads))?;
        failpoint::hit("components.unit").map_err(|e| Error::io("join a block", run.units.folder, e))?;
        let RoundEnd { is_cut, stops, is_due } = RoundEnd::agree(comm, is_whole, &checkpoint);
        if !is_cut {
            if shares {
                share(graph, &forest, (&of_ranks, comm), run.threads)?;
            }
            run.progress.advance(end - done);
            done = end;
        }
        if stops || is_due || done == total {
            on_gpu = engine.merge(comm)?;
            joined = started.elapsed().as_secs_f64();
            if comm.is_leader() || !on_gpu {
                engine.fetch(&mut forest)?;
            }
            if !on_gpu {
                merge::merge(comm, &forest, run.threads)?;
            }
        }
        if comm.is_leader() && (stops || is_due || done == total && checkpoint.is_worth_it()) {
            let seconds = before + started.elapsed().as_secs_f64();
            checkpoint.save(done, total, &[bytes_of(&[seconds.to_bits()]), bytes_of(forest.parents())])?;
        }
        if stops {
            return Err(round::stopped(comm));
        }
    }
    let (output, seconds) = on_leader(comm, || {
        if !on_gpu {
            let vertices = Parts::new(forest.parents().len(), PART);
            let flatten = |part| {
                forest.flatten(part);
                signals::check()
            };
            team(run.threads, &|_| vertices.each(flatten))?;
        }
        // The time of a GPU ends with the last join, when every parent is a root. Copying the parents to the host does
        // not count.
        let seconds = before + if on_gpu { joined } else { started.elapsed().as_secs_f64() };
        Ok((report(graph, run, &forest.into_parents())?, seconds))
    })?;
    Ok(Trial { output, details: (), seconds })
}

/// The device that joins the trees of the forest.
enum Engine<'a> {
    Cpu,
    Gpu(Box<GpuForest<'a>>),
}

impl<'a> Engine<'a> {
    /// Chooses the device that joins trees. In `forest`, trees are already joined along the edges of the blocks before
    /// `done`. `is_new` says whether every tree of `forest` still has only one vertex. Collective.
    fn open(graph: &Graph, run: &Run<'a>, (forest, is_new): (&Forest, bool), done: u64) -> Result<Engine<'a>> {
        let store = &graph.block_store;
        let blocks = blocks_of(run.comm.ranks(), run.comm.rank(), done..store.len() as u64);
        let gpu = |lease| GpuForest::new(store, &blocks, (forest, is_new), lease);
        Ok(match run.devices.choose(store.is_local(), gpu, || Ok(()))? {
            ChosenDevice::Gpu(mut gpu) => {
                gpu.reach(run.devices.peers.reachable());
                Engine::Gpu(Box::new(gpu))
            }
            ChosenDevice::Cpu(()) | ChosenDevice::Nothing => Engine::Cpu,
        })
    }

    /// Returns the number of blocks of rows that each rank processes between two checkpoints. Collective.
    fn blocks_at_once(&self, comm: &Comm) -> u64 {
        let mut blocks = match self {
            Engine::Cpu => [1],
            Engine::Gpu(gpu) => [gpu.blocks_at_once()],
        };
        comm.all_min(&mut blocks);
        blocks[0]
    }

    /// Joins trees along the edges in this rank's blocks of rows. `of_ranks[r]` contains the block indices of rank `r`.
    fn join(
        &mut self,
        graph: &Graph,
        forest: &Forest,
        (of_ranks, rank): (&[Vec<usize>], usize),
        threads: usize,
    ) -> Result<()> {
        match self {
            Engine::Cpu => of_ranks[rank].iter().try_for_each(|&b| join_block(graph, forest, b, threads)),
            Engine::Gpu(gpu) => gpu.join(&graph.block_store, of_ranks, rank),
        }
    }

    /// Joins the forests of all ranks into the forest of rank 0's GPU. Returns false if the ranks have no GPUs that can
    /// access each other's memory. Collective.
    fn merge(&mut self, comm: &Comm) -> Result<bool> {
        match self {
            Engine::Cpu => Ok(false),
            Engine::Gpu(_) if comm.ranks() == 1 => Ok(true),
            Engine::Gpu(gpu) => gpu.merge(),
        }
    }

    /// Copies the parent of each vertex from the GPU to `forest`, if the trees are joined on a GPU.
    fn fetch(&mut self, forest: &mut Forest) -> Result<()> {
        match self {
            Engine::Cpu => Ok(()),
            Engine::Gpu(gpu) => gpu.fetch(forest),
        }
    }
}

/// Returns the indices of those blocks in the range `blocks` that rank `rank` of `ranks` ranks processes.
fn blocks_of(ranks: usize, rank: usize, blocks: Range<u64>) -> Vec<usize> {
    (blocks.start + rank as u64..blocks.end).step_by(ranks).map(|b| b as usize).collect()
}

/// Sends the parents of the vertices in the blocks of rows that were just processed to all ranks. `of_ranks[r]`
/// contains the block indices of rank `r`. Afterwards, in every rank's forest, nearly all vertices of high degree are
/// in the tree of vertex 0. So most later edges join nothing. Collective.
fn share(graph: &Graph, forest: &Forest, (of_ranks, comm): (&[Vec<usize>], &Comm), threads: usize) -> Result<()> {
    // On CPUs, a rank joins one block in a round.
    let vertices = |blocks: &Vec<usize>| blocks.first().map_or(0..0, |&b| vertices_of(&graph.block_store, b));
    merge::share(comm, forest, &of_ranks.iter().map(vertices).collect::<Vec<_>>(), threads)
}

/// Loads the parent of each vertex from a checkpoint. Returns the number of blocks whose edges were processed, and the
/// time that this took in seconds.
fn load(saved: &Saved, forest: &Forest) -> Result<(u64, f64)> {
    match (saved.words(0)?, saved.words_u32(1)?) {
        (&[seconds], parents) if parents.len() == forest.parents().len() => {
            forest.set(parents.iter().copied());
            Ok((saved.done(), f64::from_bits(seconds)))
        }
        _ => Err(saved.other("not components of this graph")),
    }
}

/// Joins the trees of `forest` along the edges in block `b` of the rows.
fn join_block(graph: &Graph, forest: &Forest, b: usize, threads: usize) -> Result<()> {
    let block = graph.block_store.block(b);
    let rows = Parts::new(block.rows(), rows_at_once(block, threads));
    let join = |part| {
        signals::check()?;
        forest.join_rows(block, part, graph.info.direction);
        Ok(())
    };
    team(threads, &|_| rows.each(join))?;
    graph.block_store.release(b);
    Ok(())
}

/// Returns the number of rows of `block` that a thread processes at a time. Threads that work on distant rows seldom
/// join the same trees. So if rows are short, a thread takes more rows at a time, but every thread still gets several
/// ranges of rows.
fn rows_at_once(block: Block<'_>, threads: usize) -> usize {
    let of_entries = PART_ENTRIES * block.rows() / block.targets.len().max(1);
    of_entries.min(block.rows() / (4 * threads)).max(PART)
}

/// Counts the sizes of the components. Writes the result column if this is the last trial. `roots` contains the root of
/// each vertex's tree.
pub(super) fn report(graph: &Graph, run: &mut Run<'_>, roots: &[u32]) -> Result<ComponentsOutput> {
    let mut of_roots: Buffer<u32> = run.budget.zeroed(roots.len(), "figures of components (4 bytes each)")?;
    roots.iter().for_each(|&root| of_roots[root as usize] += 1);
    let mut output = ComponentsOutput::default();
    of_roots.iter().filter(|&&size| size > 0).for_each(|&size| output.add(size.into(), 1));
    output.add(1, graph.info.rows() - graph.info.connected);
    if !run.is_last {
        return Ok(output);
    }
    // From here on, `of_roots` contains the smallest dense id of each component instead of its size.
    of_roots.fill(u32::MAX);
    let order = order::map(&graph.folder, graph.info.content)?;
    for (id, &vertex) in (0..).zip(order.ids()?) {
        // Isolated vertices are in no row.
        if let Some(&root) = roots.get(vertex as usize) {
            let smallest = &mut of_roots[root as usize];
            *smallest = id.min(*smallest);
        }
    }
    let ids = IdList::open(graph)?;
    let component = |root: u32| ids.number(DenseId(of_roots[root as usize])) as i64;
    run.columns.put_all("component", -1, |id| id as i64, |v| component(roots[v.index()]))?;
    Ok(output)
}
