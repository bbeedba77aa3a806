//! Graphs that stay in memory: edges wait in that of GPUs to be sorted, as many as fit, and where all rows fit, too, they are
//! counted where they were sorted. Rows that do not fit there stay in the host's memory, if there is enough of it; ranks of a machine
//! read those of the others there. Nothing is stored then; so that is for jobs that do not keep their graph.

use super::build::{Build, Sorting};
use super::device::InUse;
use super::manifest::key;
use super::ordered::Ordered;
use super::prepared::Facts;
use super::session::{Session, Watched};
use crate::algo::triangle::gpu::Gpu;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::gpu::{Beside, DeviceSlice, Source, Workspace};
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees::Summary;
use crate::graph::host_block::{HostBlock, MemoryBlock, RemoteBlock};
use crate::graph::layout::{Bins, Layout};
use crate::graph::placement::{BlockSize, Placement};
use crate::memory::{Process, bytes_of, numbers_of};
use crate::prepare::partition::route::NOBODY;
use crate::prepare::partition::shelf::Shelf;
use crate::prepare::partition::{LINE, Partition, gpu};
use crate::prepare::sort::Sorting as _;
use crate::prepare::sort::gpu::{Plan, Sorters, home};
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};

/// Lanes that sort as fast as any number, where nothing goes by way of the host.
const LANES: usize = 8;

/// Where rows go by way of the host, fewer lanes than these sort more slowly than they and the processor together.
const FEW_LANES: usize = 4;

/// Rows may take this part of a GPU's memory: counting works faster on the more of it. (With two GPUs, of which they would take
/// two thirds, a graph of scale 29 took 1.93 s where they stayed, and 1.75 s where they came from the host.)
const PART: u64 = 2;

/// Whose memory is where: the whole arena of this rank, and those of the others.
struct Arenas<'a> {
    rank: usize,
    mine: DeviceSlice<u32>,
    beside: Option<Beside<'a>>,
}

impl Arenas<'_> {
    fn words(&self, rank: usize, at: u64, words: u64) -> DeviceSlice<u32> {
        match self.beside {
            Some(beside) if rank != self.rank => beside.span(rank, at, words, self.mine),
            _ => self.mine.part(at / 4..at / 4 + words),
        }
    }
}

/// How bins are sorted so that rows stay in memory.
pub(super) struct Home {
    plan: Plan,
    place: Stay,
}

/// Where they stay.
enum Stay {
    /// In memory of the GPU.
    OnGpus(DeviceSlice<u32>),
    /// In memory of this process: this rank's blocks, in order. Others are in those of their ranks.
    InMemory(Vec<HostBlock>, Vec<Process>),
}

impl Session {
    /// The GPU, if all ranks have one and reach those of the others.
    fn gpus(&self) -> Option<(MutexGuard<'_, Workspace>, Arenas<'_>)> {
        let InUse { workspace, .. } = self.device.as_ref()?;
        let beside = self.peers.beside();
        if beside.is_none() && self.comm.ranks() > 1 {
            return None;
        }
        let workspace = workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let arenas = Arenas { rank: self.comm.rank(), mine: workspace.arena.words(), beside };
        Some((workspace, arenas))
    }

    /// Shelves for the edges of this graph, of which this rank sorts the part that `build` says; as large as what else works on
    /// the GPU leaves. The map has `ids` ids.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn shelf(&self, build: &Build<'_>, bins: &Bins, edges: u64, ids: u64) -> Result<Option<Shelf>> {
        // A GPU names ids by 32 bits, and its lines alone go to shelves.
        let Some((mut workspace, arenas)) = self.gpus().filter(|_| ids < u32::MAX.into()) else { return Ok(None) };
        let (rank, ranks) = (self.comm.rank(), self.comm.ranks());
        workspace.arena.reset(0);
        let arena = &workspace.arena;
        let each = edges / ranks as u64;
        let Build { layout, ref mine, .. } = *build;
        let (placing, rows) = (gpu::ample_bytes(&workspace, bins, ids, each), layout.rows());
        let bins_here = bins.block_of.iter().filter(|&&block| mine[block]).count();
        // Every lane of every rank ends with a line that is not full for each bin; and no part is quite what was expected.
        let lanes = workspace.uploader.shape().0;
        let ends = lanes * ranks * bins_here;
        let part = if ranks > 1 { build.part } else { 1.0 };
        let expected = (edges as f64 * part * 17.0 / 16.0) as u64 / LINE as u64 + (ends + 64 * ranks) as u64;
        // Rows that could stay come before edges that wait: they are moved more often.
        let here = (0..layout.blocks()).filter(|&b| mine[b]);
        let sizes = here.map(|b| BlockSize { rows: layout.block(b).len() as u64, entries: 0 });
        let home = Placement::bytes(sizes) + 4 * LINE as u64 * expected;
        let largest = bins.largest().div_ceil(LINE as u64) + (lanes * ranks) as u64;
        let sorting = |lanes| Sorters::ample_bytes(bins, rows, largest, lanes);
        let (sorting, sorting_home) = (sorting(lanes), sorting(lanes.min(LANES)) + home);
        let stays = !self.job.keep && self.job.triangle.is_some();
        let stays = stays && home <= arena.bytes() / PART && sorting_home <= arena.free();
        let room = arena.free().saturating_sub(placing.max(if stays { sorting_home } else { sorting }));
        let lines = expected.min(room / Shelf::bytes(1));
        let taken = workspace.arena.take_last(Shelf::bytes(lines)).map_or(0, |(at, _)| at);
        let all = self.comm.all_gather(bytes_of(&[taken, lines]));
        let shelf = |rank: usize| {
            let place: Vec<u64> = numbers_of(&all[rank]);
            arenas.words(rank, place[0], Shelf::bytes(place[1]) / 4)
        };
        let shelves: Vec<DeviceSlice<u32>> = (0..ranks).map(shelf).collect();
        tracing::debug!(lines, expected, "room for edges on the GPU");
        let queue = workspace.device.queue()?;
        Ok(Some(Shelf::new(&shelves, rank, queue)))
    }

    /// Whether ranks gather the map from ids on their GPUs, where it is used, and not in the memory of each: jobs that store
    /// neither graph nor results by vertex need it nowhere else.
    pub(super) fn maps_on_gpus(&self) -> bool {
        self.peers.beside().is_some() && !self.job.keep && self.job.triangle.is_some_and(|table| !table.per_vertex)
    }

    /// Gathers the map on the GPUs. Where the order is whole already, or one of them has too little memory, there is none: every
    /// rank has all of it then.
    ///
    /// # Errors
    /// [`crate::Error::Lost`], those of storing the order.
    pub(super) fn map_on_gpus(
        &mut self,
        ordered: &mut Ordered,
        bins: &Bins,
        facts: &Facts,
    ) -> Result<Option<DeviceSlice<u32>>> {
        if ordered.order().whole {
            return Ok(None);
        }
        let each = (facts.edges - facts.loops) / self.comm.ranks() as u64;
        let fits = self.gpus().is_some_and(|(workspace, _)| {
            gpu::ample_bytes(&workspace, bins, facts.ids, each) <= workspace.arena.bytes()
                && facts.ids < u32::MAX.into()
        });
        let mut all = [u64::from(fits)];
        self.comm.all_min(&mut all);
        if all == [0] {
            ordered.complete(&self.comm);
            self.store_order(ordered, facts.content)?;
            return Ok(None);
        }
        let nobody = || Error::internal("gather the map on GPUs", "no GPU, where one was found");
        let (mut workspace, arenas) = self.gpus().ok_or_else(nobody)?;
        let Workspace { arena, uploader, queue, .. } = &mut *workspace;
        arena.reset(0);
        // The first thing in every arena.
        let map = arena.take_planned::<u32>(facts.ids)?;
        arena.hold(map.bytes());
        let share = |rank| self.comm.share_of(rank, facts.ids as usize);
        let part = |of: Range<usize>| map.part(of.start as u64..of.end as u64);
        let mine = share(self.comm.rank());
        let upload = (Source::Memory(bytes_of(&ordered.order().map[mine.clone()])), part(mine).as_bytes());
        uploader.upload(&[upload], &|| Ok(()))?.wait()?;
        self.comm.barrier();
        for rank in (0..self.comm.ranks()).filter(|&rank| rank != self.comm.rank()) {
            let there = share(rank);
            queue.copy(arenas.words(rank, 4 * there.start as u64, there.len() as u64), part(there))?;
        }
        queue.finish()?;
        // All have copied before any goes on.
        self.comm.barrier();
        Ok(Some(map))
    }

    /// How bins are sorted so that their rows stay in memory, if all of them fit and the job is to count them on GPUs.
    pub(super) fn plan_home(&self, build: &Build<'_>, bins: &Bins, partition: &Partition<'_>) -> Option<Home> {
        let (mut workspace, _) = self.gpus()?;
        let Build { layout, ref builders, .. } = *build;
        let lines = partition.lines();
        let longest = lines.iter().copied().max().unwrap_or(0);
        let most = home::most_sizes(layout, bins, &lines);
        // A job that was broken off may be again: from now on its blocks are stored.
        let wanted = !self.job.keep && self.manifest.resumes == 0 && !builders.contains(&NOBODY);
        let bytes = self.most_at_home(&build.mine, &most);
        let workspace = &mut *workspace;
        workspace.arena.hold(0);
        workspace.arena.reset(0);
        let memory = workspace.arena.take::<u32>(bytes / 4).filter(|_| bytes <= workspace.arena.bytes() / PART);
        // A test may take it away.
        let memory = memory.filter(|_| failpoint::hit("rows.gpu").is_ok());
        let plan = memory.and_then(|_| Sorters::plan_all(workspace, bins, layout.rows(), self.threads, longest));
        // Any block may be needed on any GPU.
        let mut largest: Vec<u64> = most.iter().map(|size| size.entries).collect();
        self.comm.all_max(&mut largest);
        let all: Vec<BlockSize> =
            most.iter().zip(largest).map(|(size, entries)| BlockSize { entries, ..*size }).collect();
        let left = workspace.arena.bytes().saturating_sub(bytes);
        let counted = self.job.triangle.is_some_and(|table| Gpu::counts(layout, &all, left, table.per_vertex));
        let mut stays = [u64::from(plan.is_some() && counted && wanted)];
        self.comm.all_min(&mut stays);
        tracing::debug!(bytes, longest, room = plan.is_some(), counted, stays = stays[0], "rows on the GPU");
        match (plan, memory, stays) {
            (Some(plan), Some(memory), [1]) => Some(Home { plan, place: Stay::OnGpus(memory) }),
            _ => {
                workspace.arena.reset(0);
                let plan = Sorters::plan_all(workspace, bins, layout.rows(), self.threads, longest);
                let plan = plan.filter(|plan| wanted && plan.lanes() >= self.threads.min(FEW_LANES));
                let place = self.plan_in_memory(build, &most, &all, plan.and(Some(workspace)));
                plan.zip(place).map(|(plan, place)| Home { plan, place })
            }
        }
    }

    /// Room in the host's memory for this rank's blocks, of sizes `most` at most, if there is enough beside what sorting and
    /// counting take, and ranks can read each other's memory: on all of them or none, which have no `workspace` where they can't
    /// sort so. `all` are most sizes on any rank.
    fn plan_in_memory(
        &self,
        Build { layout, mine, .. }: &Build<'_>,
        most: &[BlockSize],
        all: &[BlockSize],
        workspace: Option<&Workspace>,
    ) -> Option<Stay> {
        let per_vertex = self.job.triangle.is_some_and(|table| table.per_vertex);
        let mine = most.iter().enumerate().filter(|&(b, _)| mine[b]);
        let bytes: u64 = mine.clone().map(|(_, size)| HostBlock::bytes(size.rows, size.entries)).sum();
        // Degrees, and counts at vertices.
        let beside = layout.rows() * if per_vertex { 12 } else { 4 };
        let room = self.budget.free() >= bytes + beside;
        // Blocks of other ranks are not cut.
        let uncut = if self.comm.ranks() > 1 { all } else { &[] };
        let counted =
            workspace.is_some_and(|workspace| Gpu::counts(layout, uncut, workspace.arena.bytes(), per_vertex));
        let mut fits = [u64::from(room && counted && self.job.triangle.is_some())];
        self.comm.all_min(&mut fits);
        let ranks = if fits == [1] { self.readable_ranks() } else { None };
        let readable = ranks.is_some();
        let block = |(b, size): (usize, &BlockSize)| HostBlock::new(&layout.block(b), size.entries, &self.budget).ok();
        let blocks: Option<Vec<HostBlock>> = mine.filter(|_| readable).map(block).collect();
        let mut held = [u64::from(readable && blocks.is_some())];
        self.comm.all_min(&mut held);
        tracing::debug!(bytes, room, counted, readable, held = held[0], "rows in memory");
        blocks.zip(ranks).filter(|_| held == [1]).map(|(blocks, ranks)| Stay::InMemory(blocks, ranks))
    }

    /// The processes of all ranks, if these can read each other's memory; of one that is alone, none. Collective.
    fn readable_ranks(&self) -> Option<Vec<Process>> {
        if self.comm.ranks() == 1 {
            return Some(Vec::new());
        }
        // What is only right in the right process.
        let me = Process::open();
        let secret =
            Box::new(key("memory", &(me.number(), self.comm.rank(), std::time::SystemTime::now())).unwrap_or(0));
        let mine = [me.number(), std::ptr::from_ref(&*secret) as u64, *secret];
        let all = self.comm.all_gather(bytes_of(&mine));
        let reads = |rank: &Vec<u8>| match numbers_of::<u64>(rank)[..] {
            [process, address, secret] => {
                let (process, mut found) = (Process::of(process), [0; 8]);
                let read = process.read(address, &mut found).is_ok() && found == secret.to_ne_bytes();
                read.then_some(process)
            }
            _ => None,
        };
        let ranks: Option<Vec<Process>> = all.iter().map(reads).collect();
        let mut read = [u64::from(self.comm.nodes() == 1 && ranks.is_some())];
        self.comm.all_min(&mut read);
        tracing::debug!(reads = read[0], "memory of other ranks");
        // All have looked.
        drop(secret);
        ranks.filter(|_| read == [1])
    }

    /// Bytes of blocks of these sizes on the rank that has most: as much is held on every one, for they cut what they count by
    /// what is left, and have to cut it alike.
    fn most_at_home(&self, mine: &[bool], sizes: &[BlockSize]) -> u64 {
        let mine = sizes.iter().zip(mine).filter(|&(_, &mine)| mine);
        let mut bytes = [Placement::bytes(mine.map(|(&size, _)| size))];
        self.comm.all_max(&mut bytes);
        bytes[0]
    }

    /// Sorts bins as planned; the graph, and if degrees are not to be stored, what those of this rank's share of the vertices tell.
    /// Otherwise they are in those of `sorting`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`], and of a stop.
    pub(super) fn sort_at_home(
        &self,
        Home { plan, mut place }: Home,
        sorting: &Sorting<'_, '_>,
    ) -> Result<(Catalogue, Option<(Summary, u64)>)> {
        let nobody = || Error::internal("sort on the GPU", "no GPU, where one was planned with");
        let (mut workspace, arenas) = self.gpus().ok_or_else(nobody)?;
        let Sorting { build: Build { layout, builders, mine, .. }, bins, partition, degrees, progress } = *sorting;
        let mut sorters = Sorters::new(&mut workspace, plan)?;
        let (build, watch) = (home::Build { partition, bins, layout, wanted: mine }, Watched(progress));
        let mut entries = match &mut place {
            Stay::OnGpus(memory) => sorters.keep(build, *memory, &watch)?,
            Stay::InMemory(blocks, _) => sorters.bring(build, blocks, &watch)?,
        };
        let told = if self.needs_degrees() {
            sorters.finish(degrees)?;
            None
        } else {
            Some(self.sum_up(&mut sorters, &arenas)?)
        };
        drop(sorters);
        workspace.arena.let_go();
        self.comm.all_sum(&mut entries);
        let size = |(b, entries)| BlockSize { rows: layout.block(b).len() as u64, entries };
        let sizes: Vec<BlockSize> = entries.into_iter().enumerate().map(size).collect();
        let graph = match place {
            Stay::OnGpus(_) => {
                let homes = Placement::new(&sizes, builders, |rank, at, words| arenas.words(rank as usize, at, words));
                workspace.arena.hold(self.most_at_home(mine, &sizes));
                Catalogue::on_gpus(Layout::clone(layout), sizes, homes)
            }
            Stay::InMemory(blocks, ranks) => {
                let held = self.held(builders, &sizes, blocks, &ranks);
                Catalogue::in_memory(Layout::clone(layout), sizes, held, self.comm.ranks() == 1)
            }
        };
        Ok((graph, told))
    }

    /// Sums the degrees of all ranks up where they were counted; what those of this rank's share tell. Collective.
    fn sum_up(&self, sorters: &mut Sorters<'_>, arenas: &Arenas<'_>) -> Result<(Summary, u64)> {
        let degrees = sorters.degrees();
        let at = degrees.address() - arenas.mine.address();
        // Once a rank has said where its own are, it has counted them.
        let all = self.comm.all_gather(bytes_of(&[at]));
        let others = (0..self.comm.ranks()).filter(|&rank| rank != self.comm.rank());
        let others = others.map(|rank| arenas.words(rank, numbers_of::<u64>(&all[rank])[0], degrees.len()));
        let told = sorters.sum_up(&others.collect::<Vec<_>>(), self.comm.share(degrees.len() as usize))?;
        // Nobody reads another's any more.
        self.comm.barrier();
        Ok(told)
    }

    /// All blocks, of these sizes: this rank's, in order, and where the others are. Collective.
    fn held(
        &self,
        builders: &[u32],
        sizes: &[BlockSize],
        blocks: Vec<HostBlock>,
        ranks: &[Process],
    ) -> Vec<MemoryBlock> {
        let (mut blocks, rank) = (blocks.into_iter(), self.comm.rank() as u32);
        let mine = |(&builder, size): (&u32, &BlockSize)| {
            let mut block = if builder == rank { blocks.next() } else { None }?;
            block.shorten(size.entries);
            Some(block)
        };
        let held: Vec<Option<HostBlock>> = builders.iter().zip(sizes).map(mine).collect();
        let address = |block: &Option<HostBlock>| block.as_ref().map_or(0, HostBlock::address);
        let mut addresses: Vec<u64> = held.iter().map(address).collect();
        self.comm.all_max(&mut addresses);
        let there = |(builder, address): (&u32, u64)| RemoteBlock { process: ranks[*builder as usize], address };
        let places = builders.iter().zip(addresses);
        held.into_iter()
            .zip(places)
            .map(|(block, at)| block.map_or_else(|| MemoryBlock::Remote(there(at)), MemoryBlock::Local))
            .collect()
    }

    /// Gives the memory of the shelf back.
    pub(super) fn clear_shelf(&self) {
        if let Some((mut workspace, _)) = self.gpus() {
            workspace.arena.let_go();
        }
    }
}
