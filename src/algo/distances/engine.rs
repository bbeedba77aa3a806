//! A pass: searches from up to 64 sources at once, level by level, on CPUs or on a GPU.

use super::gpu::GpuSearch;
use super::search::{SOURCES, Search, Step};
use crate::algo::Run;
use crate::algo::round::agree;
use crate::algo::rows::{CHECKED, FEW, Neighbours, SPARSE};
use crate::comm::Comm;
use crate::error::Result;
use crate::prepare::prepared::Graph;
use crate::process::signals;

/// The device that searches: the CPUs or a GPU. A GPU also stores, for every vertex, the sums of distances over all
/// passes.
pub(super) enum Engine<'g> {
    Cpu(Box<Search<'g>>),
    Gpu(Box<GpuSearch<'g>>),
}

impl<'g> Engine<'g> {
    /// Chooses the device that searches. Several ranks always use their CPUs. `sums` contains the sums of distances
    /// over earlier passes. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; [`crate::Error::Lost`]; errors of reading rows; [`crate::Error::Stopped`].
    pub(super) fn open<'r: 'g>(
        (graph, degrees): (&'g Graph, &'g [u32]),
        sums: &[u64],
        run: &Run<'r>,
    ) -> Result<Engine<'g>> {
        let rows = || Neighbours::new(graph, degrees, run.comm, run.budget);
        let cpu =
            || Search::new(graph.info.connected as usize, run.budget, rows).map(|search| Engine::Cpu(Box::new(search)));
        let halves = [&graph.block_store, graph.upper()?];
        let gpu = |lease| GpuSearch::new(halves, (degrees, graph.info.direction), sums, lease);
        run.devices.choose_alone(graph.block_store.is_local(), gpu, Engine::Gpu, cpu)
    }

    /// Searches from the distinct vertices `sources`. Adds distances to the sums of all vertices: to `sums` on CPUs, or
    /// to the sums in GPU memory. Calls `level(distance, counts)` for each level. `counts[i]` is the number of vertices
    /// that source `i` reaches at this distance. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], on all ranks; [`crate::Error::Lost`]; [`crate::Error::Addresses`] if no thread can be
    /// started. After an error, the sums may include some levels of the pass.
    pub(super) fn run(
        &mut self,
        sources: &[u32],
        sums: &mut [u64],
        (comm, threads): (&Comm, usize),
        mut level: impl FnMut(u64, &[u64]),
    ) -> Result<()> {
        // The first level consists of the sources. `left` is the number of row entries not read yet: at first, all
        // out-rows.
        let (mut last, mut left) = match self {
            Engine::Cpu(search) => (search.begin(sources), search.entries()),
            Engine::Gpu(search) => (search.begin(sources)?, search.entries()),
        };
        let vertices = sums.len() as u64 / 2;
        let mut active = u64::MAX.checked_shr((SOURCES - sources.len()) as u32).unwrap_or(0);
        let mut distance = 0u64;
        while last.vertices > 0 {
            if comm.ranks() == 1 || distance.is_multiple_of(CHECKED) {
                agree(comm, signals::check())?;
            }
            distance += 1;
            let is_sparse = last.leaving <= FEW.max((left + vertices) / SPARSE);
            let step = Step { last: &last, active, distance, is_sparse };
            last = match self {
                Engine::Cpu(search) => search.step(&step, sums, (comm, threads))?,
                Engine::Gpu(search) => search.step(&step)?,
            };
            left = left.saturating_sub(last.full);
            active = (0..).zip(&last.counts).fold(0, |active, (bit, &count)| active | u64::from(count > 0) << bit);
            level(distance, &last.counts);
        }
        Ok(())
    }

    /// Returns a 64-bit word for each of `vertices`. Bit `i` is set if source `i` of the last pass reaches the vertex.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn reaching(&self, vertices: &[u32]) -> Result<Vec<u64>> {
        match self {
            Engine::Cpu(search) => Ok(vertices.iter().map(|&v| search.reaching(v)).collect()),
            Engine::Gpu(search) => search.reaching(vertices),
        }
    }

    /// Copies the sums of distances from the GPU to `sums`. On CPUs, does nothing, because `sums` is up to date.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, sums: &mut [u64]) -> Result<()> {
        if let Engine::Gpu(search) = self { search.fetch(sums) } else { Ok(()) }
    }
}
