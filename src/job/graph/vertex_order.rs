//! The stages `ingest` (the first pass over the edges) and `relabel`, which order the vertices by degree. Both are
//! recorded together, because the result of `ingest` exists only in memory until the order is stored.

use super::{STAGES, lists, residence};
use crate::error::{Error, Result};
use crate::formats::weights::UnreadColumns;
use crate::formats::{CacheUse, Input, InputCache, WeightType, WeightsOption};
use crate::graph::{Direction, GraphWeights};
use crate::job::context::Context;
use crate::job::input::{self, occupied, streams};
use crate::job::plan::completed::CompletedWork;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::{IoBytes, RunRecord};
use crate::job::state::key::{key, weights_of};
use crate::job::state::lock::Reader;
use crate::job::state::order_writer::OrderWriter;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::dictionary::Dictionary;
use crate::prepare::ingest::{self, Ingest, Ingested};
use crate::prepare::order;
use crate::prepare::partition::changed;
use crate::prepare::prepared::InputInfo;
use crate::prepare::relabel::{self, relabel};
use crate::process::progress::Unit;
use crate::store::replace::make_folder;
use xxhash_rust::xxh3::xxh3_64;

/// Opens the degree order that an earlier run stored, or computes it. Returns the statistics of the input, and the
/// degree order if this run computed it. `identity` is the key of the stage `ingest`: it identifies the version of
/// the input and how the input is read. `names_of` is the checksum of the input from which the dictionary of string
/// ids was built. Collective.
///
/// # Errors
/// Errors of the input, of memory limits and of the disk; [`Error::Stopped`].
pub(super) fn open_or_make(
    context: &mut Context,
    record: &mut RunRecord,
    (input, cache): (&Input, &InputCache<'_>),
    identity: u64,
    names_of: Option<u64>,
) -> Result<(InputInfo, Option<OrderWriter>)> {
    context.wait_for_gpu()?;
    if let Some(mut info) = record.manifest.found::<InputInfo>("relabel", identity)
        && is_stored(context, &info)?
    {
        info.first_id = context.job.first_id;
        record.skipped(&STAGES[..2]);
        return Ok((info, None));
    }
    let mut plan = Plan::before(&context.job, &context.machine(), input, &CompletedWork::default())?;
    limits::refuse(&plan)?;
    limits::add_warnings(&mut plan);
    // All ranks have the same plan, so the leader alone logs its warnings.
    plan.maybe.iter().filter(|_| context.comm.is_leader()).for_each(|what| tracing::warn!("{what}"));
    cache.allow(plan.kept);
    let made = OrderingPass { context, record, input, cache, identity, names_of }.run();
    let (info, order) = made.map_err(|e| limits::name_limit(&plan, e))?;
    Ok((info, Some(order)))
}

/// Returns true if an earlier run stored the degree order and the file is intact. Collective.
fn is_stored(context: &Context, info: &InputInfo) -> Result<bool> {
    let folder = context.graph_folder();
    context.on_leader(|| match order::read_runs(&folder, info.content) {
        Ok(_) => Ok(true),
        Err(e) if e.is_missing() => {
            tracing::info!("the graph was not kept (keep = true in [job] keeps it): preparing it again");
            Ok(false)
        }
        Err(e) => {
            tracing::warn!("{e}: ordering vertices again");
            Ok(false)
        }
    })
}

/// The first pass over the edges, which counts degrees, and the ordering of the vertices by degree.
struct OrderingPass<'s, 'm> {
    context: &'s Context,
    record: &'s mut RunRecord,
    input: &'s Input,
    cache: &'s InputCache<'m>,
    identity: u64,
    names_of: Option<u64>,
}

impl OrderingPass<'_, '_> {
    fn run(&mut self) -> Result<(InputInfo, OrderWriter)> {
        let OrderingPass { context, input, cache, identity, .. } = *self;
        context.on_leader(|| Reader::refuse(&context.job.workdir))?;
        let folder = context.graph_folder();
        make_folder(&folder)?;

        let listed =
            input.vertices.as_ref().map(|_| lists::list_ids(context, self.record, input, identity)).transpose()?;
        let cached = if listed.is_some() { CacheUse::Nothing } else { CacheUse::For(cache) };
        let mut found = self.ingest(cached, listed.as_ref())?;
        if self.names_of.is_some_and(|checksum| checksum != found.checksum) {
            return Err(changed(&input.name()));
        }
        let direction = context.job.direction();
        let mut reading = input::reading(input, &context.job.input_keys);
        reading.extend(listed.as_ref().map(|list| ("vertices".to_owned(), xxh3_64(bytes_of(list.ids())))));
        let content_by = |direction, found: &Ingested| {
            let name = if direction == Direction::Directed { "arcs" } else { "graph" };
            key(name, &(found.checksum, found.edges, found.declared, &reading))
        };
        let content_of = |found: &Ingested| content_by(direction, found);
        let reversed = content_by(direction.other(), &found);
        let checked = occupied::check_content(&context.job, &self.record.manifest, content_of(&found), Some(reversed));
        if let Err(e) = checked {
            // Removes the folder only if it is empty, that is, if it was created above.
            let _ = std::fs::remove_dir(&folder);
            return Err(e);
        }
        let declared = found.declared.is_some();
        let is_sparse = |largest| ingest::sparse(largest, found.edges, input.wide(), declared);
        let sparse = listed.is_some() || found.largest.is_some_and(is_sparse);
        let largest = listed.as_ref().map_or(found.largest, |list| list.ids().last().copied());
        if sparse && listed.is_none() {
            cache.release_all();
            if context.comm.is_leader() {
                let (edges, largest) = (found.edges, found.largest.unwrap_or(0));
                tracing::info!(
                    edges,
                    largest,
                    "ids are sparse: they are numbered by the sorted list of those that occur, and results come in the order of \
                     out/ids.npy"
                );
            }
            let dictionary = lists::list_ids(context, self.record, input, identity)?;
            found = self.ingest(CacheUse::Nothing, Some(&dictionary))?;
        }
        drop(listed);
        let content = content_of(&found);
        let weights = self.weights(content, &found)?;
        occupied::check_weights(&context.job, &self.record.manifest, content, weights)?;
        if let Some(wide) = weights.filter(|weights| weights.kind.is_wide()) {
            cache.release_all();
            lists::list_weights(context, self.record, input, wide)?;
        }
        let ids = found.degrees.len() as u64;
        let mut info = InputInfo {
            edges: found.edges,
            loops: found.loops,
            first_loop: found.first_loop,
            distinct_at_most: found.distinct_at_most,
            vertices: if sparse { ids } else { found.declared.unwrap_or(0).max(ids) },
            declared,
            halves: found.halves,
            largest: if sparse {
                largest
            } else {
                largest.max(found.declared.and_then(|declared| declared.checked_sub(1)))
            },
            counts_from_one: input.counts_from_one(),
            first_id: context.job.first_id,
            ids,
            connected: 0,
            runs: 0,
            degrees: Vec::new(),
            direction,
            weights,
            sparse,
            names: input.has_names(),
            checksum: found.checksum,
            identity,
            reading: input::reading_key(input, &context.job.input_keys)?,
            content,
            bytes: input.bytes(),
            source: streams::name_streams(&input.name(), &context.job.workdir, &self.record.manifest),
        };
        let mut order = self.relabel(found.degrees, &mut info)?;
        if order.order().whole {
            self.record.store_order(&mut order, content)?;
        }
        Ok((info, order))
    }

    /// Returns the description of the weights of the graph whose hash is `content`: their type, their checksum, and
    /// keys that identify them. Returns `None` if the job's graph stores no weights.
    fn weights(&self, content: u64, found: &Ingested) -> Result<Option<GraphWeights>> {
        let job = &self.context.job;
        if !job.carries_weights() {
            return Ok(None);
        }
        let name = self.input.name();
        if job.input.weights() == WeightsOption::Auto
            && found.weights == Some(WeightType::F32)
            && self.context.comm.is_leader()
        {
            tracing::info!("weights have decimals and are read as f32; weights = \"f64\" in [input] keeps more digits");
        }
        match job.input.weights().decide(found.weights, found.edges, || self.input.lacks_weights())? {
            Some(kind) => Ok(Some(weights_of(content, kind, found.weights_checksum))),
            // A graph without edges is compatible with any type of weights.
            None if found.edges == 0 => Ok(Some(weights_of(content, WeightType::U32, found.weights_checksum))),
            // The library stores weights for later calls only if the input has weights.
            None if job.keeps_weights && job.tasks.is_empty() => Ok(None),
            None => {
                let reads = job.tasks.iter().find(|task| task.needs().weights);
                let reads = reads.map_or("a task", |task| task.name());
                let (but, remedy) = match self.input.unread() {
                    Some(UnreadColumns { found, remedy }) => (format!(", but {found}"), remedy),
                    None => (String::new(), "name a file that has them".into()),
                };
                Err(Error::Usage(format!(
                    "{name}: expected weights, which [{reads}] reads, found none{but}; {remedy}; or draw some: in [{reads}] weights = {{ uniform = [1, 1000], seed = 1 }} or {{ unit = true }}"
                )))
            }
        }
    }

    /// Reads all edges once, and counts the degrees of their ids.
    fn ingest(&mut self, cache: CacheUse<'_, '_>, dictionary: Option<&Dictionary>) -> Result<Ingested> {
        let OrderingPass { context, input, .. } = *self;
        let bytes = input.bytes() / context.comm.ranks() as u64;
        self.record.stage(context, "ingest", bytes, Unit::Bytes, |progress| {
            let mut gpu = context.gpu.for_preparing();
            let (threads, budget, comm, stealing) =
                (context.threads, &context.budget, &context.comm, context.stealing.as_ref());
            let connect_gpus = &|| context.gpu.connect_peers();
            let ingest = Ingest { input, cache, dictionary, threads, budget, comm, stealing, connect_gpus };
            let found = ingest.run(gpu.as_mut(), progress).map_err(|e| {
                let unlisted = dictionary.and_then(Dictionary::unlisted).zip(input.vertices.as_deref());
                unlisted.map_or(e, |(id, list)| lists::unlisted(input, list, id))
            })?;
            if let CacheUse::For(cache) = cache {
                tracing::debug!(chunks = cache.chunks(), bytes = cache.bytes(), "input kept");
            }
            Ok((found, IoBytes { read: progress.done(), written: 0 }))
        })
    }

    /// Orders the vertices by degree, and records both stages in the manifest.
    fn relabel(&mut self, degrees: Buffer<u32>, info: &mut InputInfo) -> Result<OrderWriter> {
        let OrderingPass { context, ref mut record, cache, .. } = *self;
        cache.make_room(&context.budget, relabel::scratch_bytes(context.threads, info.edges));
        let order = record.stage(context, "relabel", info.ids, Unit::Units, |progress| {
            let mut order = relabel(degrees, info.edges, context.threads, &context.budget, &context.comm)?;
            if !residence::maps_on_gpus(context) {
                order.complete(&context.comm);
            }
            progress.advance(info.ids);
            info.connected = order.runs.vertices();
            info.runs = order.runs.iter().count() as u64;
            info.degrees = order.runs.bins();
            let written = order::body_bytes(info.ids, info.runs);
            Ok((order, IoBytes { read: 0, written: if context.comm.is_leader() { written } else { 0 } }))
        })?;
        for name in &STAGES[..2] {
            record.done(name, info.identity, &*info)?;
        }
        Ok(OrderWriter::new(order))
    }
}
