//! Preparation on a GPU: the units of `ingest`, `partition` and `sort` in its memory. Kernels are in
//! `kernels/{ingest,partition,sort}.cu`.
//!
//! The host's threads read, copy and store; each has a lane: a queue of work and pinned memory. All memory on the GPU is
//! taken from the workspace's arena for one stage and given back after it.

use super::Accelerator;
use super::ingest::{Counting, gpu::Counters};
use super::partition::{Placing, gpu::Placers, route::Route};
use super::sort::{Sorting, gpu::Sorters};
use crate::config::size;
use crate::error::Result;
use crate::formats::Edges;
use crate::gpu::Workspace;
use crate::graph::layout::Bins;
use crate::memory::Budget;
use std::ops::DerefMut;

/// Prepares with a GPU.
pub struct Gpu<W>(W);

impl<W: DerefMut<Target = Workspace>> Gpu<W> {
    /// With all of `workspace`.
    pub fn new(workspace: W) -> Self {
        Gpu(workspace)
    }

    fn ready(&mut self) -> &mut Workspace {
        self.0.arena.reset(0);
        &mut self.0
    }
}

/// What a device does is left to the processor: says why.
fn left(stage: &str, workspace: &Workspace) {
    let bytes = size::show(workspace.arena.bytes());
    tracing::info!("{stage} on the processor: this graph takes more than the {bytes} of GPU memory");
}

impl<W: DerefMut<Target = Workspace>> Accelerator for Gpu<W> {
    fn counting<'s>(
        &'s mut self,
        end: u64,
        exact: bool,
        expected_edges: u64,
        budget: &Budget,
    ) -> Result<Option<Box<dyn Counting + 's>>> {
        let workspace = self.ready();
        let Some(plan) = Counters::plan(workspace, end, exact) else {
            left("ingest", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Counters::new(workspace, plan, expected_edges, budget)?)))
    }

    fn placing<'s>(
        &'s mut self,
        route: &'s Route<'_, '_>,
        map: &'s [u32],
        source: &'s str,
    ) -> Result<Option<Box<dyn Placing + 's>>> {
        let workspace = self.ready();
        let Some(plan) = Placers::plan(workspace, route, map) else {
            left("partition", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Placers::new(workspace, plan, route, map, source)?)))
    }

    fn sorting<'s>(&'s mut self, bins: &Bins, rows: u64, threads: usize) -> Result<Option<Box<dyn Sorting + 's>>> {
        let workspace = self.ready();
        let Some(plan) = Sorters::plan(workspace, bins, rows, threads) else {
            left("sort", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Sorters::new(workspace, plan)?)))
    }
}

/// Hands `edges` to `push` as pairs of 32-bit ids, all that a GPU can name; an edge of a larger id goes to `beyond`.
pub(super) fn narrow<T>(
    to: &mut T,
    edges: Edges<'_>,
    push: impl Fn(&mut T, &[u32]) -> Result<()>,
    beyond: impl Fn(&mut T, u64, u64) -> Result<()>,
) -> Result<()> {
    let edges = match edges {
        Edges::Narrow(edges) => return push(to, edges.as_flattened()),
        Edges::Wide(edges) => edges,
    };
    let mut narrow = [[0u32; 2]; 512];
    for edges in edges.chunks(narrow.len()) {
        let mut filled = 0;
        for &[u, v] in edges {
            match (u32::try_from(u), u32::try_from(v)) {
                (Ok(u), Ok(v)) => {
                    narrow[filled] = [u, v];
                    filled += 1;
                }
                _ => beyond(to, u, v)?,
            }
        }
        push(to, narrow[..filled].as_flattened())?;
    }
    Ok(())
}
