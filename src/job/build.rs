//! The stages `partition` and `sort`: from edges and the order of vertices to stored blocks. Every rank sends the edges of its share
//! of the input to the ranks that build their blocks.

use super::graph::{Facts, Stored};
use super::ordered::Ordered;
use super::session::{Moved, Session, Watched};
use crate::error::{Error, Result};
use crate::formats::{Input, Keeping, Kept, Seen, Share};
use crate::gpu::DeviceSlice;
use crate::graph::catalogue::Catalogue;
use crate::graph::degrees::{Degrees, Summary};
use crate::graph::layout::{Bins, Layout};
use crate::memory::at_least;
use crate::prepare::blocks::Builder;
use crate::prepare::partition::route::{NOBODY, Route};
use crate::prepare::partition::{Partition, changed};
use crate::prepare::shares::{Shares, Sizes};
use crate::prepare::{Accelerator, dictionary, joined, sort};
use crate::process::progress::{StageProgress, Unit};
use crate::{failpoint, size};
use rayon::prelude::*;
use std::path::PathBuf;

/// The blocks of a graph, and by which rank each that is not stored yet is to be built.
pub(super) struct Build<'a> {
    pub(super) layout: &'a Layout,
    pub(super) builders: Vec<u32>,
    /// Whether that is this rank.
    pub(super) mine: Vec<bool>,
    /// About what part of all edges comes to this rank.
    pub(super) part: f64,
}

/// Filled bins, and what becomes of them.
pub(super) struct Sorting<'a, 'p> {
    pub(super) build: &'a Build<'a>,
    pub(super) bins: &'a Bins,
    pub(super) partition: &'a Partition<'p>,
    pub(super) degrees: &'a Degrees,
    pub(super) progress: &'a StageProgress,
}

impl Session {
    /// How this rank shares its memory between map, bins and sorting, and how much it is. The map, what is kept and what will be on
    /// its way to other ranks are reserved already.
    fn shares(&self, input: &Input, kept: &Kept<'_>, facts: &Facts, build: &Build<'_>) -> Result<(Shares, u64)> {
        let part = if self.comm.ranks() > 1 { build.part } else { 1.0 };
        let needs = super::needs::needs(facts, input, &self.moving, self.threads, part);
        let own = self.budget.free() + 4 * facts.ids + kept.bytes() + needs.moving;
        let shares = Shares::new(build.layout, needs, own).map_err(|smallest| Error::Limit {
            limit: "host_memory",
            given: size::show(self.budget.limit()),
            needed: at_least((self.budget.limit() + smallest).saturating_sub(own)),
            purpose: "sorting edges into rows".into(),
        })?;
        Ok((shares, own))
    }

    pub(super) fn partition_and_sort(
        &mut self,
        (input, kept): (&Input, &Kept<'_>),
        facts: &Facts,
        mut ordered: Ordered,
        build: &Build<'_>,
    ) -> Result<(Stored, Option<Catalogue>)> {
        let layout = build.layout;
        let ranks = self.comm.ranks();
        let (messages, on_the_way) = (self.moving.messages, self.moving.on_the_way());
        kept.make_room(&self.budget, on_the_way);
        let exchanging = self.budget.reserve(on_the_way, "edges on the way to other ranks")?;
        let (Shares { bins, mut sizes }, own) = self.shares(input, kept, facts, build)?;
        let owners: Vec<u32> = bins.block_of.iter().map(|&b| build.builders[b]).collect();
        let wanted_bins: Vec<bool> = bins.block_of.iter().map(|&b| build.mine[b]).collect();
        let shelf = self.shelf(build, &bins, facts.edges - facts.loops, facts.ids)?;
        if ranks == 1 {
            // All of it is filled before the pool is. (Of several ranks, some may fill more of their parts than others.)
            sizes.spare(shelf.as_ref().map_or(0, |shelf| shelf.lines().len() as usize));
        }
        let pooled = sizes.pooled(kept, self.threads, own);
        let Sizes { chunk, in_flight, .. } = sizes;
        let mut memory = self.budget.zeroed(pooled.own, "edges between partition and sort")?;
        let map = self.map_on_gpus(&mut ordered, &bins, facts)?;
        let partition = Partition::new(&bins, &wanted_bins, &mut memory, chunk, &self.spill()?, shelf.as_ref())?;
        partition.expect(pooled.adopted);
        // Chunks of the input that are done make room for bins.
        let done = |slab| partition.adopt(slab).into_iter().for_each(|slab| kept.release(slab));
        kept.take_spare().into_iter().for_each(done);

        let bytes = input.bytes() / ranks as u64;
        self.stage("partition", bytes, Unit::Bytes, |s, progress| {
            let s = &*s;
            failpoint::hit("partition.begin").map_err(|e| Error::io("place edges", &s.job.workdir, e))?;
            let order = ordered.order();
            let name = input.name();
            let ((seen, loops), exchanged) = s.comm.exchange(
                messages,
                |outbox| {
                    let route =
                        Route::new(&partition, &owners, s.comm.rank(), ranks, outbox, s.threads, messages.words);
                    let map = (&order.map[..], map);
                    s.place_edges((input, Keeping::Last(kept, &done)), facts, map, &name, &route, progress)
                },
                |_, message| partition.take_message(message),
            )?;
            if ranks > 1 {
                let (sent, seconds) = (size::show(exchanged.sent_bytes), exchanged.seconds);
                tracing::info!(sent, received = size::show(exchanged.received_bytes), seconds, "edges exchanged");
            }
            let (scan, mut loops) = (joined(seen, &s.comm)?, [loops]);
            s.comm.all_sum(&mut loops);
            if (scan.checksum, scan.edges, loops) != (facts.checksum, facts.edges, [facts.loops]) {
                return Err(changed(&name));
            }
            Ok(((), Moved { read: progress.done(), written: partition.spilled() }))
        })?;
        drop(exchanging);
        let home = self.plan_home(build, &bins, &partition);
        let vertices = ordered.order().runs.vertices();
        // Who keeps no files need not wait for this one, if there is room for it meanwhile.
        let mut waits = [u64::from(self.needs_degrees() || self.budget.free() < 8 * layout.rows())];
        self.comm.all_max(&mut waits);
        if home.is_some() && waits == [0] {
            self.ordered = ordered.let_go_on();
        } else {
            // Blocks in files are of use with the order alone.
            if !ordered.order().whole {
                ordered.complete(&self.comm);
                self.store_order(&mut ordered, facts.content)?;
            }
            ordered.finish(&self.syncer)?;
            drop(ordered);
        }

        let (at_home, bytes, summary, edges) =
            self.stage("sort", facts.edges - facts.loops, Unit::Edges, |s, progress| {
                progress.reads(partition.spilled());
                let degrees = Degrees::new(vertices, &s.budget)?;
                let sorting = Sorting { build, bins: &bins, partition: &partition, degrees: &degrees, progress };
                let (at_home, mut written, told) = match home {
                    Some(home) => s.sort_at_home(home, &sorting).map(|(graph, told)| (Some(graph), 0, told))?,
                    None => (None, s.sort_to_blocks(&sorting, facts.content, in_flight)?, None),
                };
                let mut degrees = degrees.finish();
                let (summary, ends) = told.unwrap_or_else(|| {
                    s.comm.reduce_scatter(&mut degrees);
                    let mine = &degrees[s.comm.share(degrees.len())];
                    (Summary::of(mine), mine.par_iter().map(|&d| u64::from(d)).sum())
                });
                let (summary, mut edges) = (summary.joined(&s.comm), [ends]);
                s.comm.all_sum(&mut edges);
                if let Some(found) = at_home.as_ref().map(Catalogue::edges).filter(|&found| found != edges[0] / 2) {
                    let degrees = edges[0] / 2;
                    return Err(Error::Validation(format!("{found} edges in rows, {degrees} by degrees")));
                }
                let bytes = written;
                if s.needs_degrees() {
                    written += s.write_degrees(&mut degrees, facts.content)?;
                }
                Ok(((at_home, bytes, summary, edges[0] / 2), Moved { read: partition.spilled(), written }))
            })?;
        tracing::debug!(bytes, "blocks written");
        let blocks = layout.blocks() as u64;
        Ok((Stored { edges, blocks, degrees: self.needs_degrees(), summary }, at_home))
    }

    /// Sorts bins into stored blocks; the bytes of these.
    fn sort_to_blocks(&self, sorting: &Sorting<'_, '_>, key: u64, in_flight: usize) -> Result<u64> {
        let Sorting { build: Build { layout, builders, mine: wanted, .. }, bins, partition, degrees, progress } =
            *sorting;
        let folder = self.graph_folder();
        let syncer = &self.syncer;
        let builder = Builder { partition, bins, layout, wanted, degrees, folder: &folder, key, in_flight, syncer };
        let mut device = self.accelerator();
        let most = partition.lines().into_iter().max().unwrap_or(0);
        let by_device = device.as_mut().map(|device| device.sorting(bins, layout.rows(), self.threads, most));
        let mut by_device = by_device.transpose()?.flatten();
        let sorters = by_device.as_mut().map_or_else(|| sort::sorters(self.threads), |sorting| sorting.sorters());
        let written = builder.build(sorters, &Watched(progress))?.bytes;
        by_device.map_or(Ok(()), |mut sorting| sorting.finish(degrees))?;
        drop(device);
        self.clear_shelf();
        let stored_before: Vec<bool> = builders.iter().map(|&rank| rank != NOBODY).collect();
        self.add_stored(degrees, &folder, key, layout, &stored_before)?;
        Ok(written)
    }

    /// Sends the edges of this rank's share of the input on their way to bins; what was seen of it, and loops.
    fn place_edges(
        &self,
        (input, keeping): (&Input, Keeping<'_, '_>),
        facts: &Facts,
        (map, there): (&[u32], Option<DeviceSlice<u32>>),
        name: &str,
        route: &Route<'_, '_>,
        progress: &StageProgress,
    ) -> Result<(Seen, u64)> {
        let dictionary = match facts.sparse {
            true => Some(self.open_ids(facts.identity)?),
            false => None,
        };
        let mut device = self.accelerator();
        let by_device = device.as_mut().map(|device| device.placing(route, map, there, name)).transpose()?;
        let mut placing = by_device.flatten().unwrap_or_else(|| {
            Box::new((0..self.threads).map(|lane| route.scatter(lane, map, name)).collect::<Vec<_>>())
        });
        let visitors = placing.visitors().into_iter();
        let mut visitors: Vec<_> =
            visitors.map(|visitor| dictionary::Numbered::new(dictionary.as_ref(), name, visitor)).collect();
        let share = Share::of(self.comm.rank(), self.comm.ranks());
        let seen = input.scan_share(share, keeping, &mut visitors, &Watched(progress))?;
        drop(visitors);
        let loops = placing.finish()?;
        route.flush()?;
        Ok((seen, loops))
    }

    /// Where bins that find no room go: a file of this rank alone.
    ///
    /// # Errors
    /// [`Error::Io`] where its folder is not there and can't be made.
    fn spill(&self) -> Result<PathBuf> {
        let folder = self.job.scratch.clone().unwrap_or_else(|| self.graph_folder());
        std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder for spilled edges", &folder, e))?;
        Ok(folder.join(format!("spill.{}.{}", std::process::id(), self.comm.rank())))
    }
}
