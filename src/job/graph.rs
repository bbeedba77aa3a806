//! The stages that prepare a graph: each is skipped where the manifest says it is done and what it left still holds.

use super::manifest::{Figures, key};
use super::ordered::Ordered;
use super::plan::Plan;
pub use super::prepared::{Facts, Graph, Stored};
use super::progress::Unit;
use super::session::{Moved, Session, Watched};
use super::signals;
use crate::config::size;
use crate::error::{Error, Result};
use crate::formats::{Input, Keeping, Kept, addresses};
use crate::graph::degrees::{self, Degrees, Summary};
use crate::graph::layout::Layout;
use crate::graph::stored::StoredBlock;
use crate::memory::at_least;
use crate::prepare::blocks::Builder;
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::ingest::{self, Ingested};
use crate::prepare::order;
use crate::prepare::partition::{Partition, changed};
use crate::prepare::relabel::{self, relabel};
use crate::prepare::shares::{Pooled, Shares, Sizes};
use crate::prepare::{Accelerator, sort};
use rayon::prelude::*;
use std::path::Path;

/// Names of the stages in the manifest and the report.
pub const STAGES: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

impl Session {
    /// Prepares the graph of the job, or opens it where that is done.
    ///
    /// # Errors
    /// Those of every stage.
    pub fn prepare(&mut self) -> Result<Graph> {
        let input = super::input::open(&self.job.input)?;
        let mut memory = addresses(&input, &self.budget)?;
        let kept = Kept::new(&mut memory, &input, &self.budget)?;
        let (facts, order) = self.ingest_and_relabel(&input, &kept)?;
        self.build_blocks(&input, &kept, facts, order)
    }

    fn ingest_and_relabel(&mut self, input: &Input, kept: &Kept<'_>) -> Result<(Facts, Option<Ordered>)> {
        let identity = input_key(input)?;
        if let Some(facts) = self.manifest.found::<Facts>("relabel", identity) {
            match order::read_runs(&self.graph_folder(), facts.content) {
                Ok(_) => {
                    self.skipped("ingest");
                    self.skipped("relabel");
                    if facts.sparse {
                        self.keep_ids(input, identity)?;
                    }
                    return Ok((facts, None));
                }
                Err(e) => tracing::warn!("{e}: ordering vertices anew"),
            }
        }
        let plan = Plan::before(&self.job, &self.machine(), input)?;
        plan.refuse()?;
        plan.maybe.iter().for_each(|what| tracing::warn!("{what}"));
        kept.allow(plan.kept);
        let (facts, order) = self.order(input, kept, identity).map_err(|e| plan.name_limit(e))?;
        Ok((facts, Some(order)))
    }

    /// The stages `ingest` and `relabel`.
    fn order(&mut self, input: &Input, kept: &Kept<'_>, identity: u64) -> Result<(Facts, Ordered)> {
        let folder = self.graph_folder();
        std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))?;

        let mut found = self.pass(input, Keeping::For(kept), None)?;
        let sparse = found.largest.is_some_and(|largest| ingest::sparse(largest, found.edges, input.wide()));
        if sparse {
            kept.release_all();
            let dictionary = self.number_sparse_ids(input, identity)?;
            found = self.pass(input, Keeping::Nothing, Some(&dictionary))?;
        }
        kept.make_room(&self.budget, relabel::scratch_bytes(self.threads, found.edges));
        let content = key("graph", &(found.checksum, found.edges, found.declared, formats_of(input)))?;
        let mut facts = Facts {
            edges: found.edges,
            loops: found.loops,
            distinct_at_most: found.distinct_at_most,
            vertices: found.declared.unwrap_or(0).max(found.degrees.len() as u64),
            ids: found.degrees.len() as u64,
            connected: 0,
            runs: 0,
            sparse,
            checksum: found.checksum,
            identity,
            content,
            bytes: input.bytes(),
            source: input.name(),
        };
        let degrees = found.degrees;
        let order = self.stage("relabel", facts.ids, Unit::Units, |s, _| {
            let order = relabel(degrees, s.threads, &s.budget)?;
            facts.connected = order.runs.vertices();
            facts.runs = order.runs.iter().count() as u64;
            let written = order::body_bytes(facts.ids, facts.runs);
            Ok((order, Moved { read: 0, written }))
        })?;
        // Both at once: what ingest found in memory is kept by the order of vertices alone.
        for name in ["ingest", "relabel"] {
            let figures = self.figures_of(name);
            self.manifest.done(name, identity, figures, &facts)?;
        }
        let manifest = self.manifest_so_far().clone();
        let order = Ordered::store(order, content, manifest, &self.job.workdir)?;
        Ok((facts, order))
    }

    fn figures_of(&self, name: &str) -> Figures {
        self.stages.iter().rev().find(|s| s.name == name).map(|s| s.figures.clone()).unwrap_or_default()
    }

    fn pass(&mut self, input: &Input, keeping: Keeping<'_, '_>, dictionary: Option<&Dictionary>) -> Result<Ingested> {
        self.stage("ingest", input.bytes(), Unit::Bytes, |s, progress| {
            let mut device = s.accelerator();
            let device = device.as_mut().map(|device| device as &mut dyn Accelerator);
            let found = ingest::ingest(input, keeping, dictionary, s.threads, &s.budget, device, &Watched(progress))?;
            if let Keeping::For(kept) = keeping {
                tracing::debug!(chunks = kept.chunks(), bytes = kept.bytes(), "input kept");
            }
            Ok((found, Moved { read: input.bytes(), written: 0 }))
        })
    }

    fn number_sparse_ids(&mut self, input: &Input, identity: u64) -> Result<Dictionary> {
        let path = dictionary::path(&self.graph_folder());
        self.stage("dictionary", input.bytes(), Unit::Bytes, |s, progress| {
            let seal = Dictionary::build(input, &path, identity, s.threads, &s.budget, &Watched(progress))?;
            Ok(((), Moved { read: input.bytes(), written: seal.bytes }))
        })?;
        Dictionary::open(&path, identity, &self.budget)
    }

    /// Makes the list of sparse ids anew if it is damaged.
    fn keep_ids(&mut self, input: &Input, identity: u64) -> Result<()> {
        match Dictionary::open(&dictionary::path(&self.graph_folder()), identity, &self.budget) {
            Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                tracing::warn!("{e}: listing sparse ids anew");
                self.number_sparse_ids(input, identity).map(drop)
            }
            other => other.map(drop),
        }
    }

    /// Whether anybody reads the stored degrees: clustering coefficients do, and jobs on a kept graph.
    fn needs_degrees(&self) -> bool {
        self.job.keep || self.job.triangle.is_some_and(|table| table.per_vertex)
    }

    /// Makes the degrees anew from the blocks if they are damaged or not there.
    fn keep_degrees(&self, folder: &Path, content: u64, layout: &Layout) -> Result<()> {
        match degrees::open(folder, content) {
            Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                tracing::warn!("{e}: counting degrees anew");
                let degrees = Degrees::new(layout.rows(), &self.budget)?;
                add_stored(&degrees, folder, content, layout, &vec![false; layout.blocks()])?;
                self.syncer.push(degrees::write(folder, content, &degrees.finish())?);
                Ok(())
            }
            other => other.map(drop),
        }
    }

    fn build_blocks(&mut self, input: &Input, kept: &Kept<'_>, facts: Facts, order: Option<Ordered>) -> Result<Graph> {
        let folder = self.graph_folder();
        let content = facts.content;
        let runs = match &order {
            Some(order) => order.order().runs.clone(),
            None => order::read_runs(&folder, content)?,
        };
        let layout = Layout::new(&runs, facts.edges - facts.loops);
        let wanted = self.missing_blocks(&folder, content, &layout)?;
        if let Some(stored) = self.manifest.found::<Stored>("sort", content)
            && !wanted.contains(&true)
        {
            let mut stored = stored;
            if self.needs_degrees() {
                self.keep_degrees(&folder, content, &layout)?;
                stored.degrees = true;
                let figures = self.manifest.stages.get("sort").map(|stage| stage.figures.clone()).unwrap_or_default();
                self.manifest.done("sort", content, figures, &stored)?;
            }
            self.skipped("partition");
            self.skipped("sort");
            return Graph::with_layout(&self.job.workdir, facts, stored, layout);
        }
        let stored_already = wanted.iter().filter(|&&w| !w).count();
        if stored_already > 0 {
            tracing::info!(stored = stored_already, blocks = layout.blocks(), "blocks of an earlier run are kept");
        }
        // Now that degrees are known, the figures are no bounds any more.
        Plan::after(&self.job, &self.machine(), input, &facts, &runs, &layout)?.refuse()?;
        let order = match order {
            Some(order) => order,
            None => Ordered::stored(order::read(&folder, content, &self.budget)?),
        };
        // The map and what is kept are reserved already; shares count them among what is free.
        let needs = super::needs::needs(&facts, input, self.threads);
        let held = 4 * facts.ids + kept.bytes();
        let free = self.budget.free() + held;
        let shares = Shares::new(&layout, needs, free).map_err(|smallest| Error::Limit {
            limit: "host_memory",
            given: size::show(self.budget.limit()),
            needed: at_least(self.budget.limit() - free + smallest),
            purpose: "sorting edges into rows".into(),
        })?;
        let pooled = shares.sizes.pooled(kept, self.threads, free);
        let stored = self.partition_and_sort((input, kept), &facts, order, &layout, &wanted, (shares, pooled))?;
        self.manifest.done("sort", content, self.figures_of("sort"), &stored)?;
        self.manifest.done("partition", content, self.figures_of("partition"), &())?;
        self.save_manifest()?;
        Graph::with_layout(&self.job.workdir, facts, stored, layout)
    }

    /// Blocks that are not there, or not whole.
    fn missing_blocks(&self, folder: &Path, content: u64, layout: &Layout) -> Result<Vec<bool>> {
        let whole = |b: usize| {
            let block = StoredBlock::open(folder, content, b, &layout.block(b)).and_then(|block| {
                block.verify()?;
                block.release();
                Ok(())
            });
            match block {
                Err(e @ Error::Corrupt { .. }) => {
                    tracing::warn!("{e}");
                    false
                }
                other => other.is_ok(),
            }
        };
        // Reading them takes a while: a signal is heeded in between.
        (0..layout.blocks()).map(|b| signals::check().map(|()| !whole(b))).collect()
    }

    fn partition_and_sort(
        &mut self,
        (input, kept): (&Input, &Kept<'_>),
        facts: &Facts,
        mut ordered: Ordered,
        layout: &Layout,
        wanted: &[bool],
        (shares, pooled): (Shares, Pooled),
    ) -> Result<Stored> {
        let folder = self.graph_folder();
        let Shares { bins, sizes: Sizes { chunk, in_flight, .. } } = shares;
        let wanted_bins: Vec<bool> = bins.block_of.iter().map(|&b| wanted[b]).collect();
        let mut memory = self.budget.zeroed(pooled.own, "edges between partition and sort")?;
        let partition = Partition::new(&bins, &wanted_bins, &mut memory, chunk, &folder.join("spill"))?;
        partition.expect(pooled.adopted);
        kept.take_spare().into_iter().filter_map(|slab| partition.adopt(slab)).for_each(|slab| kept.release(slab));

        self.stage("partition", input.bytes(), Unit::Bytes, |s, progress| {
            let dictionary = match facts.sparse {
                true => Some(Dictionary::open(&dictionary::path(&folder), facts.identity, &s.budget)?),
                false => None,
            };
            let name = input.name();
            let mut device = s.accelerator();
            let by_device =
                device.as_mut().map(|device| device.placing(&partition, &ordered.order().map, &name)).transpose()?;
            let mut placing = by_device.flatten().unwrap_or_else(|| {
                Box::new((0..s.threads).map(|_| partition.scatter(&ordered.order().map, &name)).collect::<Vec<_>>())
            });
            let visitors = placing.visitors().into_iter();
            let mut visitors: Vec<_> =
                visitors.map(|visitor| dictionary::Numbered::new(dictionary.as_ref(), &name, visitor)).collect();
            // Chunks that are done make room for bins.
            let done = |slab| partition.adopt(slab).into_iter().for_each(|slab| kept.release(slab));
            let scan = input.scan_keeping(Keeping::Last(kept, &done), &mut visitors, &Watched(progress))?;
            drop(visitors);
            let loops = placing.finish()?;
            if (scan.checksum, scan.edges, loops) != (facts.checksum, facts.edges, facts.loops) {
                return Err(changed(&name));
            }
            Ok(((), Moved { read: input.bytes(), written: partition.spilled() }))
        })?;
        ordered.finish(&self.syncer)?;
        let vertices = ordered.order().runs.vertices();
        drop(ordered);

        let (bytes, degrees) = self.stage("sort", facts.edges - facts.loops, Unit::Edges, |s, progress| {
            let degrees = Degrees::new(vertices, &s.budget)?;
            let builder = Builder {
                partition: &partition,
                bins: &bins,
                layout,
                wanted,
                degrees: &degrees,
                folder: &folder,
                key: facts.content,
                in_flight,
                syncer: &s.syncer,
            };
            let mut device = s.accelerator();
            let by_device =
                device.as_mut().map(|device| device.sorting(&bins, layout.rows(), s.threads)).transpose()?;
            let mut by_device = by_device.flatten();
            let sorters = by_device.as_mut().map_or_else(|| sort::sorters(s.threads), |sorting| sorting.sorters());
            let built = builder.build(sorters, &Watched(progress))?;
            by_device.map_or(Ok(()), |mut sorting| sorting.finish(&degrees))?;
            add_stored(&degrees, &folder, facts.content, layout, wanted)?;
            let degrees = degrees.finish();
            let mut written = built.bytes;
            if s.needs_degrees() {
                written += s.syncer.push(degrees::write(&folder, facts.content, &degrees)?).bytes;
            }
            Ok(((built.bytes, degrees), Moved { read: partition.spilled(), written }))
        })?;
        tracing::debug!(bytes, "blocks written");
        let edges = degrees.par_iter().map(|&d| u64::from(d)).sum::<u64>() / 2;
        Ok(Stored {
            edges,
            blocks: layout.blocks() as u64,
            degrees: self.needs_degrees(),
            summary: Summary::of(&degrees),
        })
    }
}

/// Counts the degrees of blocks that an earlier run stored.
fn add_stored(degrees: &Degrees, folder: &Path, content: u64, layout: &Layout, wanted: &[bool]) -> Result<()> {
    let mut counter = degrees.counter();
    for b in (0..layout.blocks()).filter(|&b| !wanted[b]) {
        signals::check()?;
        let block = StoredBlock::open(folder, content, b, &layout.block(b))?;
        counter.block(block.block());
        block.release();
    }
    Ok(())
}

/// Which version of which input this is.
///
/// # Errors
/// [`Error::Input`] where it can't be read.
pub fn input_key(input: &Input) -> Result<u64> {
    key("ingest", &(input.identity()?, formats_of(input)))
}

/// How bytes are read: the format of every file, named or told by its ending, as runs of the same. The same bytes are
/// other edges in another format.
fn formats_of(input: &Input) -> Vec<(&'static str, u64)> {
    let mut runs: Vec<(&'static str, u64)> = Vec::new();
    for format in input.parts().iter().map(|part| part.format().name()) {
        match runs.last_mut() {
            Some((last, count)) if *last == format => *count += 1,
            _ => runs.push((format, 1)),
        }
    }
    runs
}
