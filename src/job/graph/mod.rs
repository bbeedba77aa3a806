//! The stages that prepare a graph. A stage is skipped if the manifest says that it is done and its result is still
//! valid.
//!
//! | file | holds |
//! |---|---|
//! | this one | `ingest` and `relabel`: the first pass over the edges, and the order of vertices |
//! | `sparse_ids` | numbers for ids that are sparse |
//! | `named` | a check that the input has the vertices that tables name |
//! | `blocks`, `build` | `partition` and `sort`: opening blocks, and building those that are missing |
//! | `residence` | graphs whose blocks stay in memory |
//! | `degree_file` | the file of degrees next to the blocks |
//! | `derived`, `transpose`, `merge` | rows derived from the blocks: the upper half, and merged rows (all neighbours)
//! |
//! | `packing` | rows packed in memory |

mod blocks;
mod build;
mod degree_file;
mod derived;
pub(crate) mod merge;
pub(crate) mod named;
mod packing;
mod residence;
mod sparse_ids;
pub(crate) mod transpose;

use crate::config::Job;
use crate::error::{Error, Result};
use crate::formats::weights::Unread;
use crate::formats::{CacheUse, Input, InputCache, WeightType, addresses};
use crate::graph::direction::Direction;
use crate::graph::weights::stored::GraphWeights;
use crate::job::input::{self, occupied, streams};
use crate::job::plan::done::Done;
use crate::job::plan::{Plan, limits};
use crate::job::ranks;
use crate::job::session::{Moved, Session, Watched};
use crate::job::state::finished::Finished;
use crate::job::state::lock::Reader;
use crate::job::state::manifest::{key, weights_of};
use crate::job::state::order_writer::Ordered;
use crate::memory::Buffer;
use crate::prepare::dictionary::Dictionary;
use crate::prepare::ingest::{self, Ingest, Ingested};
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::relabel::{self, relabel};
use crate::prepare::{Accelerator, order};
use crate::process::progress::Unit;

/// Names of the stages of every graph, in the manifest and the report. `transpose` and `merge` are additional stages
/// for tasks that need derived rows.
pub const STAGES: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// Returns the names of the stages that prepare a graph for the tasks of `job`.
pub(crate) fn stages(job: &Job) -> impl Iterator<Item = &'static str> + use<> {
    let merges = job.merges(job.direction());
    STAGES.into_iter().chain(job.needs_upper().then_some(transpose::STAGE)).chain(merges.then_some(merge::STAGE))
}

/// Outcome of preparation.
pub(crate) enum Prepared {
    /// A graph to compute on.
    Graph(Box<Graph>),
    /// Results that an earlier run found for the same contents.
    Finished(Box<Finished>),
}

/// Prepares the graph of the job, or opens it if it is already prepared. An input that only looks changed may turn
/// out to be one whose tasks are all done. Collective.
///
/// # Errors
/// Errors of every stage.
pub(crate) fn prepare(session: &mut Session) -> Result<Prepared> {
    let input = input::of_job(&session.job)?;
    let mut memory = addresses(&input, &session.budget)?;
    let cache = InputCache::new(&mut memory, &input, &session.budget)?;
    let (info, order) = Ordering { session, input: &input, cache: &cache }.open_or_run()?;
    named::check(session, &info, &session.graph_folder(), order.as_ref(), Some((&input, &cache)))?;
    if !session.job.keep
        && let Some(done) = session.agreed(|| Finished::of(&session.job, &session.manifest, info.clone()))?
    {
        session.ordered = order.and_then(Ordered::let_go_on);
        return Ok(Prepared::Finished(Box::new(done)));
    }
    let graph = blocks::open_or_build(session, &input, &cache, info, order).inspect_err(|e| {
        // The first pass accepted the input, so its result is no longer valid: the next run repeats it.
        if matches!(e, Error::Input { .. }) {
            ["ingest", "relabel"].into_iter().for_each(|name| session.manifest.forget(name));
        }
    })?;
    Ok(Prepared::Graph(Box::new(graph)))
}

/// Returns an error if a job in another workdir reads the graph that is about to be replaced. Collective.
///
/// # Errors
/// [`Error::Busy`].
fn refuse_readers(session: &Session) -> Result<()> {
    session.agreed(|| Reader::refuse(&session.job.workdir))
}

/// Runs the first pass over the edges and orders the vertices by its result.
struct Ordering<'s, 'm> {
    session: &'s mut Session,
    input: &'s Input,
    cache: &'s InputCache<'m>,
}

impl Ordering<'_, '_> {
    /// Skips the stages `ingest` and `relabel` if they are done, otherwise runs them. The order is returned if it was
    /// just made.
    fn open_or_run(mut self) -> Result<(InputInfo, Option<Ordered>)> {
        let identity = input::version_key(self.input, &self.session.job.input_keys)?;
        ranks::check_input(&self.session.comm, &self.input.name(), identity)?;
        self.session.gpu.wait()?;
        if let Some(mut info) = self.session.manifest.found::<InputInfo>("relabel", identity)
            && self.is_stored(&info)?
        {
            info.first_id = self.session.job.first_id;
            self.session.skipped("ingest");
            self.session.skipped("relabel");
            if info.sparse {
                sparse_ids::ensure(self.session, self.input, identity)?;
            }
            return Ok((info, None));
        }
        let plan = Plan::before(&self.session.job, &self.session.machine(), self.input, &Done::default())?;
        limits::refuse(&plan)?;
        // All ranks have the same plan.
        plan.maybe.iter().filter(|_| self.session.comm.leads()).for_each(|what| tracing::warn!("{what}"));
        self.cache.allow(plan.kept);
        let (info, order) = self.run(identity).map_err(|e| limits::name_limit(&plan, e))?;
        Ok((info, Some(order)))
    }

    /// Returns true if the order of vertices that an earlier run stored exists and is whole.
    fn is_stored(&self, info: &InputInfo) -> Result<bool> {
        let folder = self.session.graph_folder();
        self.session.agreed(|| match order::read_runs(&folder, info.content) {
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

    /// Runs the stages `ingest` and `relabel`.
    fn run(&mut self, identity: u64) -> Result<(InputInfo, Ordered)> {
        let (input, cache) = (self.input, self.cache);
        refuse_readers(self.session)?;
        let folder = self.session.graph_folder();
        std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))?;

        let mut found = self.ingest(CacheUse::For(cache), None)?;
        let direction = self.session.job.direction();
        let reading = input::reading(input, &self.session.job.input_keys);
        let content_by = |direction, found: &Ingested| {
            let name = if direction == Direction::Directed { "arcs" } else { "graph" };
            key(name, &(found.checksum, found.edges, found.declared, &reading))
        };
        let content_of = |found: &Ingested| content_by(direction, found);
        let reversed = content_by(direction.other(), &found)?;
        let checked =
            occupied::check_content(&self.session.job, &self.session.manifest, content_of(&found)?, Some(reversed));
        if let Err(e) = checked {
            // Removes the folder only if it is empty, that is, if it was created above.
            let _ = std::fs::remove_dir(&folder);
            return Err(e);
        }
        let declared = found.declared.is_some();
        let sparse = found.largest.is_some_and(|largest| ingest::sparse(largest, found.edges, input.wide(), declared));
        let largest = found.largest;
        if sparse {
            cache.release_all();
            if self.session.comm.leads() {
                let (edges, largest) = (found.edges, found.largest.unwrap_or(0));
                tracing::info!(
                    edges,
                    largest,
                    "ids are sparse: they are numbered by the sorted list of those that occur, and results come in the order of \
                     out/ids.npy"
                );
            }
            let dictionary = sparse_ids::number(self.session, input, identity)?;
            found = self.ingest(CacheUse::Nothing, Some(&dictionary))?;
        }
        let content = content_of(&found)?;
        let weights = self.weights(content, &found)?;
        occupied::check_weights(&self.session.job, &self.session.manifest, content, weights)?;
        let ids = found.degrees.len() as u64;
        let mut info = InputInfo {
            edges: found.edges,
            loops: found.loops,
            first_loop: found.first_loop,
            distinct_at_most: found.distinct_at_most,
            vertices: if sparse { ids } else { found.declared.unwrap_or(0).max(ids) },
            declared,
            largest: if sparse {
                largest
            } else {
                largest.max(found.declared.and_then(|declared| declared.checked_sub(1)))
            },
            counts_from_one: input.counts_from_one(),
            first_id: self.session.job.first_id,
            ids,
            connected: 0,
            runs: 0,
            degrees: Vec::new(),
            direction,
            weights,
            sparse,
            checksum: found.checksum,
            identity,
            content,
            bytes: input.bytes(),
            source: streams::name_streams(&input.name(), &self.session.job.workdir, &self.session.manifest),
        };
        let mut order = self.relabel(found.degrees, &mut info)?;
        if order.order().whole {
            self.session.store_order(&mut order, content)?;
        }
        Ok((info, order))
    }

    /// Returns the weights that the graph with hash `content` carries, if it carries some.
    fn weights(&self, content: u64, found: &Ingested) -> Result<Option<GraphWeights>> {
        let job = &self.session.job;
        if !job.carries_weights() {
            return Ok(None);
        }
        let name = self.input.name();
        match job.input.weights().decide_by(found.weights, found.edges, self.input)? {
            Some(kind) => weights_of(content, kind, found.weights_checksum).map(Some),
            // A graph without edges fits any type of weights.
            None if found.edges == 0 => weights_of(content, WeightType::U32, found.weights_checksum).map(Some),
            None => {
                let reads = job.tasks.iter().find(|task| task.needs().weights);
                let reads = reads.map_or("a task", |task| task.name());
                let (but, remedy) = match self.input.unread() {
                    Some(Unread { found, remedy }) => (format!(", but {found}"), remedy),
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
        let input = self.input;
        let bytes = input.bytes() / self.session.comm.ranks() as u64;
        self.session.stage("ingest", bytes, Unit::Bytes, |s, progress| {
            let s = &*s;
            let mut device = s.gpu.accelerator();
            let device = device.as_mut().map(|device| device as &mut dyn Accelerator);
            let (threads, budget, comm, stealing) = (s.threads, &s.budget, &s.comm, s.stealing.as_ref());
            let meet = &|| s.gpu.meet();
            let ingest = Ingest { input, cache, dictionary, threads, budget, comm, stealing, meet };
            let found = ingest.run(device, &Watched(progress))?;
            if let CacheUse::For(cache) = cache {
                tracing::debug!(chunks = cache.chunks(), bytes = cache.bytes(), "input kept");
            }
            Ok((found, Moved { read: progress.done(), written: 0 }))
        })
    }

    /// Orders vertices by degree, and records both stages in the manifest.
    fn relabel(&mut self, degrees: Buffer<u32>, info: &mut InputInfo) -> Result<Ordered> {
        let session = &mut *self.session;
        self.cache.make_room(&session.budget, relabel::scratch_bytes(session.threads, info.edges));
        let order = session.stage("relabel", info.ids, Unit::Units, |s, progress| {
            let mut order = relabel(degrees, info.edges, s.threads, &s.budget, &s.comm)?;
            if !residence::maps_on_gpus(s) {
                order.complete(&s.comm);
            }
            progress.advance(info.ids);
            info.connected = order.runs.vertices();
            info.runs = order.runs.iter().count() as u64;
            info.degrees = order.runs.bins();
            let written = order::body_bytes(info.ids, info.runs);
            Ok((order, Moved { read: 0, written: if s.comm.leads() { written } else { 0 } }))
        })?;
        // Both are recorded together, because the result of ingest is only in memory until the order of vertices is
        // stored.
        for name in ["ingest", "relabel"] {
            let figures = session.figures_of(name);
            session.manifest.done(name, info.identity, figures, &*info)?;
        }
        Ok(Ordered::new(order))
    }
}
