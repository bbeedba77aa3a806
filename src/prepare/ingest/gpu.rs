//! Counts degrees on a GPU. Threads copy edges to pinned memory, and kernels count them. Each thread uses a *lane*: a
//! GPU queue with slots (pinned buffers for one batch of edges each).
#![allow(unsafe_code)] // kernel launches

use super::{Counted, DegreeCounting};
use crate::error::{Error, Result};
use crate::formats::{Edges, Input, Visitor};
use crate::gpu::{DeviceSlice, Kernel, Lane, Peers, Workspace, slice_bytes};
use crate::memory::{Budget, Buffer, at_least};
use crate::prepare::edge_maker::EdgeMaker;
use crate::prepare::gpu::{INGEST, PrepareGpu, SAMPLED, narrow};
use crate::process::threads::on_threads;
use crate::size;
use parking_lot::RwLock;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const HEAD: usize = 6;
const FOUND: usize = HEAD + 2 * SAMPLED;

/// Minimum number of 32-bit words of a batch for which a kernel launch pays off.
const LEAST_BATCH: u64 = 4096;
/// Threshold from which a degree is *carried*: this value is subtracted from the degree counter, and the id is appended
/// to a list. Between two checks at most half of this value is added to any degree, so no counter overflows.
const CARRY: u32 = 1 << 31;
const CARRY_EVERY: u64 = 1 << 30;
/// Maximum number of carries in a pass over the input. Each carry reduces a degree by [`CARRY`] = 2^31.
const MOST_CARRIED: u64 = (1 << 16) - 1;

/// Division of the GPU's memory for counting degrees.
struct CounterPlan {
    ids: u64,
    /// Whether the input may contain ids without a counter (from `ids` on).
    is_part: bool,
    lanes: usize,
    /// Number of 32-bit words in a batch: two ids for each edge.
    batch: u64,
}

/// Degree counters of all threads, in the memory of a GPU.
pub struct GpuCounters<'w> {
    lanes: Vec<LaneCounter<'w>>,
    shared: Arc<SharedCounts<'w>>,
    budget: Budget,
}

struct SharedCounts<'w> {
    count: Kernel,
    /// Generator of the edges, if the GPU generates them.
    maker: Option<EdgeMaker>,
    carry: Kernel,
    add: Kernel,
    /// Access to the GPUs of other ranks.
    peers: &'w Peers,
    degrees: DeviceSlice<u32>,
    /// Whether the input may contain ids without a counter, because memory is too small. `memory` is the total GPU
    /// memory in bytes.
    is_part: bool,
    memory: u64,
    carried: DeviceSlice<u32>,
    expected: u64,
    /// Number of edge ends counted so far.
    ends: AtomicU64,
    /// Lock that is held for reading while a batch is queued, and for writing while degrees are carried.
    carrying: RwLock<()>,
}

/// Degree counter of one thread, with the thread's lane (GPU queue).
struct LaneCounter<'w> {
    shared: Arc<SharedCounts<'w>>,
    lane: Lane<'w>,
    raw: DeviceSlice<u32>,
    results: DeviceSlice<u32>,
    /// Number of 32-bit words in a batch: two ids for each edge.
    batch: usize,
    /// For each slot (pinned buffer), the batch whose results are not read yet, if any.
    pending: Vec<Option<Batch>>,
    found: Counted,
}

/// A batch of edges for one launch of the kernel that counts degrees.
#[derive(Debug, Clone, Copy)]
struct Batch {
    /// Number of 32-bit words of the edges, two per edge.
    words: usize,
    /// Index of the first edge, if the GPU generates the edges.
    made_from: Option<u64>,
}

impl<'w> GpuCounters<'w> {
    /// Makes counters on the GPU for the degrees of all ids below `end`. If GPU memory is too small for all of them,
    /// makes counters only for the first ids; but if `exact` is true, returns `None` instead. Also returns `None` if
    /// memory is too small for any batch of edges.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn start(
        gpu: &'w mut PrepareGpu<'_>,
        end: u64,
        exact: bool,
        input: &Input,
        budget: &Budget,
    ) -> Result<Option<Self>> {
        let (peers, batch, expected) = (gpu.peers, gpu.largest_batch(), input.estimate_edges()?);
        let plan = |workspace: &Workspace| GpuCounters::plan(workspace, end, exact, batch);
        gpu.begin("ingest", plan, |workspace, plan| {
            let maker = EdgeMaker::new(workspace, input.on_gpu())?;
            GpuCounters::new(workspace, plan, maker, expected, budget, peers)
        })
    }

    /// Plans counters for the ids below `end`, with batches of at most `largest` 32-bit words. If `exact` is false,
    /// there may be counters only for the first ids. Returns `None` if the counters do not fit GPU memory.
    fn plan(workspace: &Workspace, end: u64, exact: bool, largest: u64) -> Option<CounterPlan> {
        let (most_lanes, slot) = workspace.uploader.shape();
        let free = workspace.arena.free().checked_sub(slice_bytes::<u32>(MOST_CARRIED + 1) + (4 << 10))?;
        // A quarter of the memory is more than enough for batches, unless memory is very small.
        let lane = |batch: u64| slice_bytes::<u32>(batch) + slice_bytes::<u32>(FOUND as u64);
        let lanes = (free / 4 / lane(LEAST_BATCH)).min(most_lanes as u64);
        let most = (slot / 4).saturating_sub(FOUND as u64).min(largest) & !1;
        let batch = (free / 4 / lanes.max(1) / 4).saturating_sub(2 * FOUND as u64).clamp(LEAST_BATCH, most) & !63;
        let ids = end.min((free - lanes * lane(batch)) / 4);
        let is_part = ids < end;
        (lanes > 0 && !(is_part && exact)).then_some(CounterPlan { ids, is_part, lanes: lanes as usize, batch })
    }

    /// Allocates the planned memory in `workspace`, and makes a counter for each lane (GPU queue of one thread).
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn new(
        workspace: &'w mut Workspace,
        plan: CounterPlan,
        maker: Option<EdgeMaker>,
        expected: u64,
        budget: &Budget,
        peers: &'w Peers,
    ) -> Result<Self> {
        let kernel = |name| workspace.kernel(&INGEST, name);
        let (count, carry, add) = (kernel("count_degrees")?, kernel("carry_degrees")?, kernel("add_degrees")?);
        let Workspace { queue, uploader, arena, .. } = workspace;
        let (degrees, carried) = (arena.take_planned(plan.ids)?, arena.take_planned(MOST_CARRIED + 1)?);
        queue.fill(degrees, 0)?;
        queue.fill(carried, 0)?;
        queue.finish()?;
        let (ends, carrying) = (AtomicU64::new(0), RwLock::new(()));
        let (is_part, memory) = (plan.is_part, arena.bytes());
        let shared = SharedCounts {
            count,
            maker,
            carry,
            add,
            peers,
            degrees,
            is_part,
            memory,
            carried,
            expected,
            ends,
            carrying,
        };
        let shared = Arc::new(shared);
        let lanes = uploader.lanes()?.into_iter().take(plan.lanes).map(|lane| {
            Ok(LaneCounter {
                shared: shared.clone(),
                pending: vec![None; lane.slots()],
                raw: arena.take_planned(plan.batch)?,
                results: arena.take_planned(FOUND as u64)?,
                batch: plan.batch as usize,
                found: Counted::none(expected),
                lane,
            })
        });
        let lanes = lanes.collect::<Result<_>>()?;
        Ok(GpuCounters { lanes, shared, budget: budget.clone() })
    }
}

impl DegreeCounting for GpuCounters<'_> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.lanes.iter_mut().map(|counter| counter as &mut dyn Visitor).collect()
    }

    fn finish(&mut self) -> Result<Counted> {
        let mut all = Counted::none(self.shared.expected);
        for counter in &mut self.lanes {
            counter.launch()?;
            counter.lane.finish()?;
            tracing::debug!(waited = counter.lane.waited().as_secs_f64(), "a lane's ingest");
            (0..counter.pending.len()).try_for_each(|_| counter.finish_slot())?;
            all.merge(std::mem::replace(&mut counter.found, Counted::none(self.shared.expected)));
        }
        Ok(all)
    }

    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>> {
        self.budget.zeroed(largest as usize + 1, super::PURPOSE)
    }

    fn fetch(&mut self, degrees: &mut [u32]) -> Result<()> {
        // Ids without a counter on the GPU do not occur in the input.
        let counted = degrees.len().min(self.shared.degrees.len() as usize);
        self.receive(&mut degrees[..counted], 0)?;
        for id in self.carried()? {
            degrees[id as usize] = degrees[id as usize].saturating_add(CARRY);
        }
        Ok(())
    }

    fn reaches_others(&mut self, ids: usize) -> Result<bool> {
        // Other ranks may read the degrees of any of the first `ids` ids.
        let has_all = self.shared.degrees.len() >= ids as u64;
        Ok(has_all && self.shared.peers.reachable().is_some() && self.carried()?.is_empty())
    }

    fn sum(&mut self, degrees: &mut [u32], share: Range<usize>) -> Result<()> {
        let SharedCounts { peers, degrees: counted, add, .. } = &*self.shared;
        let Some(peer_memory) = peers.reachable() else {
            return Err(Error::internal("sum degrees", "no GPUs of other ranks"));
        };
        let queue = self.lanes[0].lane.queue();
        let (at, len) = (4 * share.start as u64, share.len() as u64);
        let mine = counted.part(share.start as u64..share.end as u64);
        for rank in (0..peer_memory.comm.ranks()).filter(|&rank| rank != peer_memory.comm.rank()) {
            // Every rank's arena has its degrees at the same offset, because they are allocated first.
            let other = peer_memory.span(rank, at, len, *counted);
            let arguments = (mine.address(), other.address(), len);
            // SAFETY: the arguments are as the kernel declares them. Each rank writes only to its own share, and no
            // other rank reads that share.
            unsafe { queue.launch(add, queue.grid(len), arguments)? };
        }
        queue.finish()?;
        self.receive(&mut degrees[share.clone()], share.start)
    }
}

impl GpuCounters<'_> {
    /// Copies the degrees of the ids from `first` on to `degrees` on the host.
    fn receive(&mut self, degrees: &mut [u32], first: usize) -> Result<()> {
        let chunk = degrees.len().div_ceil(self.lanes.len()).max(1);
        let counted = self.shared.degrees;
        let parts = degrees.chunks_mut(chunk).zip(&mut self.lanes).enumerate();
        on_threads(parts, |(i, (mut rest, counter))| {
            let start = first + i * chunk;
            let from = counted.part(start as u64..(start + rest.len()) as u64);
            counter.lane.receive(from, 1, |words| {
                rest.split_off_mut(..words.len()).unwrap_or_default().copy_from_slice(words);
                Ok(())
            })
        })
    }

    /// Returns the ids whose degrees were reduced by [`CARRY`]. An id appears once for each reduction.
    fn carried(&self) -> Result<Vec<u32>> {
        if self.shared.ends.load(Ordering::Relaxed) < CARRY_EVERY {
            return Ok(Vec::new());
        }
        let mut carried = vec![0; MOST_CARRIED as usize + 1];
        self.lanes[0].lane.queue().read(self.shared.carried, &mut carried)?;
        let (count, ids) = carried.split_at(1);
        Ok(ids[..(count[0] as usize).min(ids.len())].to_vec())
    }
}

impl LaneCounter<'_> {
    /// Adds edges to the current batch; `ids` are the ids of both ends, edge after edge.
    fn push(&mut self, mut ids: &[u32]) -> Result<()> {
        while !ids.is_empty() {
            if self.lane.filled() == 0 {
                self.read_results()?;
            }
            if self.lane.put(&mut ids, self.batch)? {
                self.launch()?;
            }
        }
        Ok(())
    }

    /// Adds the edges in the current slot (pinned buffer), if any, to the degree counters on the GPU.
    fn launch(&mut self) -> Result<()> {
        match self.lane.filled() {
            0 => Ok(()),
            words => self.count(Batch { words, made_from: None }),
        }
    }

    /// Launches the kernel that adds a batch of edges to the degree counters. The results will be copied to the current
    /// slot (pinned buffer).
    fn count(&mut self, batch: Batch) -> Result<()> {
        let LaneCounter { shared, lane, raw, results, .. } = self;
        let pairs = batch.words as u64 / 2;
        {
            let _go = shared.carrying.read();
            lane.queue().fill(*results, 0)?;
            match (batch.made_from, &shared.maker) {
                (Some(first), Some(maker)) => maker.make(lane.queue(), first..first + pairs, *raw)?,
                _ => lane.send(*raw)?,
            }
            let shift = self.found.sample.shift();
            let (degrees, end) = (shared.degrees.address(), shared.degrees.len() as u32);
            let arguments = (raw.address(), pairs as u32, degrees, end, shift, results.address());
            // SAFETY: the arguments are as the kernel declares them, and all slices live as long as the lane.
            unsafe { lane.queue().launch(&shared.count, lane.queue().grid(pairs), arguments)? };
        }
        lane.fetch(*results, self.batch)?;
        self.pending[lane.turn()] = Some(batch);
        lane.pass()?;
        let before = shared.ends.fetch_add(2 * pairs, Ordering::Relaxed);
        if before / CARRY_EVERY != (before + 2 * pairs) / CARRY_EVERY {
            // The lock prevents other threads from queueing batches. The batches that are already queued are far too
            // few to overflow a counter.
            let _alone = shared.carrying.write();
            let (ids, carried) = (shared.degrees.len(), shared.carried.address());
            let arguments = (shared.degrees.address(), ids, CARRY, carried, MOST_CARRIED as u32);
            // SAFETY: the arguments are as the kernel declares them, and all slices live as long as the lane.
            unsafe { lane.queue().launch(&shared.carry, lane.queue().grid(ids), arguments)? };
            lane.queue().finish()?;
        }
        Ok(())
    }

    /// Reads the results of the batch in the current slot (pinned buffer), before the slot is reused for another batch.
    fn read_results(&mut self) -> Result<()> {
        let Some(Batch { words, made_from }) = self.pending[self.lane.turn()].take() else { return Ok(()) };
        let (end, queue) = (self.shared.degrees.len(), self.lane.queue());
        let slot = self.lane.slot()?;
        let (edges, results) = slot.split_at_mut(self.batch);
        let (edges, results) = (&mut edges[..words], &results[..FOUND]);
        let (found, &[largest, missed, loops, sampled, first_loop, _]) =
            (&mut self.found, results.first_chunk::<HEAD>().unwrap_or(&[0; HEAD]));
        found.largest = found.largest.max(Some(largest.into()));
        found.loops += u64::from(loops);
        if loops > 0 {
            found.first_loop = found.first_loop.min(u64::from(!first_loop));
        }
        found.missed |= missed != 0;
        if missed != 0 && self.shared.is_part {
            // Stop now, so that the CPU repeats the pass as soon as possible.
            return Err(Error::Limit {
                limit: "gpu_memory",
                given: size::show(self.shared.memory),
                needed: at_least(4 * (u64::from(largest) + 1)),
                purpose: super::PURPOSE.into(),
            });
        }
        if sampled as usize <= SAMPLED {
            for &[low, high] in &results[HEAD..].as_chunks::<2>().0[..sampled as usize] {
                found.sample.take(u64::from(low) | (u64::from(high) << 32));
            }
        } else {
            // The kernel sampled more edges than fit in its results. This happens for small inputs, of which most edges
            // are in the sample. The host samples the batch itself.
            if let (Some(first), Some(maker)) = (made_from, &self.shared.maker) {
                maker.make(queue, first..first + words as u64 / 2, self.raw)?;
                queue.read(self.raw, edges)?;
            }
            for &[u, v] in edges.as_chunks::<2>().0.iter().filter(|[u, v]| u != v && u64::from(*u.max(v)) < end) {
                found.sample.insert(u.into(), v.into());
            }
        }
        Ok(())
    }

    /// Reads the kernel's results in the current slot (pinned buffer), and advances to the next slot.
    fn finish_slot(&mut self) -> Result<()> {
        self.read_results()?;
        self.lane.pass()
    }

    /// Records an edge with an id that does not fit the 32-bit ids on the GPU.
    fn oversized(&mut self, u: u64, v: u64) -> Result<()> {
        self.found.largest = self.found.largest.max(Some(u.max(v)));
        if u == v {
            self.found.loops += 1;
            self.found.first_loop = self.found.first_loop.min(u);
        } else {
            self.found.missed = true;
        }
        Ok(())
    }
}

impl Visitor for LaneCounter<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        narrow(self, edges, LaneCounter::push, LaneCounter::oversized)
    }

    fn make(&mut self, edges: Range<u64>) -> Result<bool> {
        if self.shared.maker.is_none() {
            return Ok(false);
        }
        self.launch()?;
        for first in edges.clone().step_by(self.batch / 2) {
            self.read_results()?;
            let words = (2 * (edges.end - first)).min(self.batch as u64) as usize;
            self.count(Batch { words, made_from: Some(first) })?;
        }
        Ok(true)
    }
}
