//! The stages that prepare a graph: each is skipped where the manifest says it is done and what it left still holds.

use super::build::Build;
use super::manifest::key;
use super::ordered::Ordered;
use super::plan::Plan;
pub use super::prepared::{Facts, Graph, Stored};
use super::run::Finished;
use super::session::{Moved, Session, Watched};
use super::{occupied, ranks, spool};
use crate::error::{Error, Result};
use crate::formats::{Input, Keeping, Kept, Part, addresses};
use crate::graph::degrees::{self, Degrees};
use crate::graph::layout::Layout;
use crate::graph::stored::{self, StoredBlock};
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::ingest::{self, Ingest, Ingested};
use crate::prepare::partition::route;
use crate::prepare::relabel::{self, relabel};
use crate::prepare::{Accelerator, order};
use crate::process::figures::Figures;
use crate::process::progress::Unit;
use crate::process::signals;
use std::path::Path;

/// Names of the stages in the manifest and the report.
pub const STAGES: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// What preparing comes to.
pub(super) enum Prepared {
    /// A graph to work with.
    Graph(Graph),
    /// Results that an earlier run found of the same contents.
    Finished(Finished),
}

impl Session {
    /// Prepares the graph of the job, or opens it where that is done. An input that only looks changed may turn out to be one of which
    /// all is done.
    ///
    /// # Errors
    /// Those of every stage.
    pub(super) fn prepare(&mut self) -> Result<Prepared> {
        let input = super::input::open(&self.job.input)?;
        let mut memory = addresses(&input, &self.budget)?;
        let kept = Kept::new(&mut memory, &input, &self.budget)?;
        let (facts, order) = self.ingest_and_relabel(&input, &kept)?;
        if !self.job.keep
            && let Some(done) = self.agreed(|| self.finished_with(facts.clone()))?
        {
            self.ordered = order.and_then(Ordered::let_go_on);
            return Ok(Prepared::Finished(done));
        }
        let graph = self.build_blocks(&input, &kept, facts, order).inspect_err(|e| {
            // The first pass took it as it was, so what it found holds no more: the next run makes it anew.
            if matches!(e, Error::Input { .. }) {
                ["ingest", "relabel"].into_iter().for_each(|name| self.manifest.forget(name));
            }
        })?;
        Ok(Prepared::Graph(graph))
    }

    fn ingest_and_relabel(&mut self, input: &Input, kept: &Kept<'_>) -> Result<(Facts, Option<Ordered>)> {
        let identity = input_key(input)?;
        ranks::check_input(&self.comm, &input.name(), identity)?;
        self.open_gpu()?;
        if let Some(facts) = self.manifest.found::<Facts>("relabel", identity) {
            let whole = self.agreed(|| match order::read_runs(&self.graph_folder(), facts.content) {
                Ok(_) => Ok(true),
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                    tracing::info!("the order of vertices was not kept: ordering them anew");
                    Ok(false)
                }
                Err(e) => {
                    tracing::warn!("{e}: ordering vertices anew");
                    Ok(false)
                }
            })?;
            if whole {
                self.skipped("ingest");
                self.skipped("relabel");
                if facts.sparse {
                    self.keep_ids(input, identity)?;
                }
                return Ok((facts, None));
            }
        }
        let plan = Plan::before(&self.job, &self.machine(), input)?;
        plan.refuse()?;
        // All ranks have the same plan.
        plan.maybe.iter().filter(|_| self.comm.leads()).for_each(|what| tracing::warn!("{what}"));
        kept.allow(plan.kept);
        let (facts, order) = self.order(input, kept, identity).map_err(|e| plan.name_limit(e))?;
        Ok((facts, Some(order)))
    }

    /// The stages `ingest` and `relabel`.
    fn order(&mut self, input: &Input, kept: &Kept<'_>, identity: u64) -> Result<(Facts, Ordered)> {
        let folder = self.graph_folder();
        std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))?;

        let mut found = self.pass(input, Keeping::For(kept), None)?;
        let content_of =
            |found: &Ingested| key("graph", &(found.checksum, found.edges, found.declared, formats_of(input)));
        if let Err(e) = occupied::check_content(&self.job, &self.manifest, content_of(&found)?) {
            // If nothing is in it, it was made above.
            let _ = std::fs::remove_dir(&folder);
            return Err(e);
        }
        let sparse = found.largest.is_some_and(|largest| ingest::sparse(largest, found.edges, input.wide()));
        if sparse {
            kept.release_all();
            if self.comm.leads() {
                let (edges, largest) = (found.edges, found.largest.unwrap_or(0));
                tracing::info!(
                    edges,
                    largest,
                    "ids are sparse: they are numbered by the sorted list of those that occur, and results come in the order of \
                     out/ids.npy"
                );
            }
            let dictionary = self.number_sparse_ids(input, identity)?;
            found = self.pass(input, Keeping::Nothing, Some(&dictionary))?;
        }
        kept.make_room(&self.budget, relabel::scratch_bytes(self.threads, found.edges));
        let content = content_of(&found)?;
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
            source: spool::told(&input.name(), &self.job.workdir, &self.manifest),
        };
        let degrees = found.degrees;
        let order = self.stage("relabel", facts.ids, Unit::Units, |s, progress| {
            let mut order = relabel(degrees, s.threads, &s.budget, &s.comm)?;
            if !s.maps_on_gpus() {
                order.complete(&s.comm);
            }
            progress.advance(facts.ids);
            facts.connected = order.runs.vertices();
            facts.runs = order.runs.iter().count() as u64;
            let written = order::body_bytes(facts.ids, facts.runs);
            Ok((order, Moved { read: 0, written: if s.comm.leads() { written } else { 0 } }))
        })?;
        // Both at once: what ingest found in memory is kept by the order of vertices alone.
        for name in ["ingest", "relabel"] {
            let figures = self.figures_of(name);
            self.manifest.done(name, identity, figures, &facts)?;
        }
        let mut order = Ordered::new(order);
        if order.order().whole {
            self.store_order(&mut order, content)?;
        }
        Ok((facts, order))
    }

    /// Has the leader begin to store the order of vertices.
    pub(super) fn store_order(&mut self, order: &mut Ordered, content: u64) -> Result<()> {
        if !self.comm.leads() {
            return Ok(());
        }
        let manifest = self.manifest_so_far().clone();
        order.store(content, manifest, &self.job.workdir)
    }

    fn figures_of(&self, name: &str) -> Figures {
        self.stages.iter().rev().find(|s| s.name == name).map(|s| s.figures.clone()).unwrap_or_default()
    }

    fn pass(&mut self, input: &Input, keeping: Keeping<'_, '_>, dictionary: Option<&Dictionary>) -> Result<Ingested> {
        let bytes = input.bytes() / self.comm.ranks() as u64;
        self.stage("ingest", bytes, Unit::Bytes, |s, progress| {
            let s = &*s;
            let mut device = s.accelerator();
            let device = device.as_mut().map(|device| device as &mut dyn Accelerator);
            let (threads, budget, comm, stealing) = (s.threads, &s.budget, &s.comm, s.stealing.as_ref());
            let meet = &|| s.meet_gpus();
            let ingest = Ingest { input, keeping, dictionary, threads, budget, comm, stealing, meet };
            let found = ingest.run(device, &Watched(progress))?;
            if let Keeping::For(kept) = keeping {
                tracing::debug!(chunks = kept.chunks(), bytes = kept.bytes(), "input kept");
            }
            Ok((found, Moved { read: progress.done(), written: 0 }))
        })
    }

    fn number_sparse_ids(&mut self, input: &Input, identity: u64) -> Result<Dictionary> {
        let path = dictionary::path(&self.graph_folder());
        self.stage("dictionary", input.bytes(), Unit::Bytes, |s, progress| {
            // One rank for all: the list is small beside the edges.
            if !s.comm.leads() {
                return Ok(((), Moved::default()));
            }
            let seal = Dictionary::build(input, &path, identity, s.threads, &s.budget, &Watched(progress))?;
            Ok(((), Moved { read: input.bytes(), written: seal.bytes }))
        })?;
        self.open_ids(identity)
    }

    /// The list of sparse ids, which the leader may just have written.
    pub(super) fn open_ids(&self, identity: u64) -> Result<Dictionary> {
        self.in_sight(|| Dictionary::open(&dictionary::path(&self.graph_folder()), identity, &self.budget))
    }

    /// Opens what another rank wrote: on a file system of many nodes its name may be there a little later.
    fn in_sight<T>(&self, open: impl Fn() -> Result<T>) -> Result<T> {
        let there = |opened: &Result<T>| !matches!(opened, Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound);
        match open() {
            Err(_) if self.comm.nodes() > 1 => {
                ranks::wait_for(ranks::OUT_OF_SIGHT, || Some(open()).filter(there)).unwrap_or_else(open)
            }
            opened => opened,
        }
    }

    /// Makes the list of sparse ids anew if it is damaged.
    fn keep_ids(&mut self, input: &Input, identity: u64) -> Result<()> {
        let open = || Dictionary::open(&dictionary::path(&self.graph_folder()), identity, &self.budget);
        let whole = self.agreed(|| match open() {
            Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                tracing::warn!("{e}: listing sparse ids anew");
                Ok(false)
            }
            other => other.map(|_| true),
        })?;
        if whole { Ok(()) } else { self.number_sparse_ids(input, identity).map(drop) }
    }

    /// Whether anybody reads the stored degrees: clustering coefficients do, and jobs on a kept graph.
    pub(super) fn needs_degrees(&self) -> bool {
        self.job.keep || self.job.triangle.is_some_and(|table| table.per_vertex)
    }

    /// Makes the degrees anew from the blocks if they are damaged or not there.
    fn keep_degrees(&self, folder: &Path, content: u64, layout: &Layout) -> Result<()> {
        let whole = self.agreed(|| match degrees::open(folder, content) {
            Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                tracing::warn!("{e}: counting degrees anew");
                Ok(false)
            }
            other => other.map(|_| true),
        })?;
        if whole {
            return Ok(());
        }
        let degrees = Degrees::new(layout.rows(), &self.budget)?;
        self.add_stored(&degrees, folder, content, layout, &vec![false; layout.blocks()])?;
        let mut degrees = degrees.finish();
        self.comm.reduce_scatter(&mut degrees);
        self.write_degrees(&mut degrees, content).map(drop)
    }

    /// Stores degrees of which each rank knows its share; the bytes written.
    pub(super) fn write_degrees(&self, degrees: &mut [u32], content: u64) -> Result<u64> {
        self.comm.all_gather_shares(degrees);
        if !self.comm.leads() {
            return Ok(0);
        }
        Ok(self.syncer.push(degrees::write(&self.graph_folder(), content, degrees)?).bytes)
    }

    /// Counts the degrees of blocks that an earlier run stored: every rank some.
    pub(super) fn add_stored(
        &self,
        degrees: &Degrees,
        folder: &Path,
        content: u64,
        layout: &Layout,
        wanted: &[bool],
    ) -> Result<()> {
        let mut counter = degrees.counter();
        let stored = (0..layout.blocks()).filter(|&b| !wanted[b]);
        for b in stored.skip(self.comm.rank()).step_by(self.comm.ranks()) {
            signals::check()?;
            let block = self.in_sight(|| StoredBlock::open(folder, content, b, &layout.block(b)))?;
            counter.block(block.block());
            block.release();
        }
        Ok(())
    }

    fn build_blocks(&mut self, input: &Input, kept: &Kept<'_>, facts: Facts, order: Option<Ordered>) -> Result<Graph> {
        self.meet_gpus();
        let folder = self.graph_folder();
        let content = facts.content;
        let runs = match &order {
            Some(order) => order.order().runs.clone(),
            None => self.in_sight(|| order::read_runs(&folder, content))?,
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
            return self
                .in_sight(|| Graph::with_layout(&self.job.workdir, facts.clone(), stored.clone(), layout.clone()));
        }
        let stored_already = wanted.iter().filter(|&&w| !w).count();
        if stored_already > 0 {
            tracing::info!(stored = stored_already, blocks = layout.blocks(), "blocks of an earlier run are kept");
        }
        // Now that degrees are known, the figures are no bounds any more.
        let plan = Plan::after(&self.job, &self.machine(), input, &facts, &runs, &layout)?;
        plan.refuse()?;
        if self.comm.leads() {
            plan.warn_of_disk();
        }
        if order.is_some() && stored_already == 0 {
            self.planned = plan.stages;
        }
        let order = match order {
            Some(order) => order,
            None => Ordered::new(self.in_sight(|| order::read(&folder, content, &self.budget))?),
        };
        let builders = route::builders(&layout, &runs, &wanted, self.comm.ranks());
        let part = route::part(&layout, &runs, &builders, self.comm.rank());
        let mine = builders.iter().map(|&rank| rank == self.comm.rank() as u32).collect();
        let build = Build { layout: &layout, builders, mine, part };
        let (stored, at_home) = self.partition_and_sort((input, kept), &facts, order, &build)?;
        self.manifest.done("sort", content, self.figures_of("sort"), &stored)?;
        self.manifest.done("partition", content, self.figures_of("partition"), &())?;
        self.save_manifest()?;
        if let Some(catalogue) = at_home {
            return Ok(Graph { folder, facts, stored, catalogue });
        }
        self.in_sight(|| Graph::with_layout(&self.job.workdir, facts.clone(), stored.clone(), layout.clone()))
    }

    /// Blocks that are not there, or not whole.
    fn missing_blocks(&self, folder: &Path, content: u64, layout: &Layout) -> Result<Vec<bool>> {
        let listed = self.agreed(|| Ok(stored::listed(folder, layout.blocks())))?;
        let whole = |b: usize| {
            let block = self.in_sight(|| StoredBlock::open(folder, content, b, &layout.block(b))).and_then(|block| {
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
        // Reading them takes a while: every rank looks at some, and a signal is heeded in between.
        let mut missing = vec![0; layout.blocks()];
        for b in (self.comm.rank()..layout.blocks()).step_by(self.comm.ranks()) {
            signals::check()?;
            missing[b] = u64::from(!(listed[b] && whole(b)));
        }
        self.comm.all_sum(&mut missing);
        Ok(missing.iter().map(|&missing| missing > 0).collect())
    }
}

/// Which version of which input this is.
///
/// # Errors
/// [`Error::Input`] where it can't be read.
pub fn input_key(input: &Input) -> Result<u64> {
    key("ingest", &(input.identity()?, formats_of(input)))
}

/// How bytes are read: the format of every file, named or told by its ending, and the columns of text, as runs of the
/// same. The same bytes are other edges if they are read otherwise.
fn formats_of(input: &Input) -> Vec<(String, u64)> {
    let mut runs: Vec<(String, u64)> = Vec::new();
    for format in input.parts().iter().map(Part::reading) {
        match runs.last_mut() {
            Some((last, count)) if *last == format => *count += 1,
            _ => runs.push((format, 1)),
        }
    }
    runs
}
