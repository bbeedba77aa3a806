//! `gpugraph run`: from a job to its report, going on where an earlier run stopped.

use super::graph::{Facts, Graph, Prepared, Stored};
use super::lock::{Liveness, Lock};
use super::machine::Machine;
use super::manifest::Manifest;
use super::ordered::Storing;
use super::plan::Plan;
use super::report::{self, Report, Results};
use super::session::Session;
use super::{device, occupied, ranks, spool, workdir};
use crate::comm::Comm;
use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::process::figures::Spent;
use crate::process::status_file::Status;
use crate::process::{host, log};
use crate::store::replace::remove_leftovers;
use std::path::Path;
use std::time::Instant;

/// Runs `job` to its end, by all ranks of `comm` together; each gets the report.
///
/// # Errors
/// Every one of this crate. What was durable before stays, and the same call goes on from there. Other ranks may be left
/// waiting: an error of one ends the job for all.
pub fn run(job: Job, fresh: bool, comm: &Comm) -> Result<Report> {
    let started = Instant::now();
    ranks::check_alike(&job, comm)?;
    let folder = job.workdir.clone();
    let (mut lock, mut done) = (None, None);
    let manifest = ranks::agreed(comm, || {
        workdir::check(&job)?;
        lock = Some(Lock::acquire(&folder)?);
        let manifest;
        (manifest, done) = begin(&job, fresh)?;
        Ok(manifest)
    })?;
    ranks::check_shared(&folder, comm)?;
    // From here on files are all that the input is.
    let job = spool::replaced(job, &manifest);
    if !comm.leads() {
        log::attach(&folder);
    }

    let mut session = match Session::new(job.clone(), manifest.clone(), comm.clone()) {
        Ok(session) => session,
        Err(e) => {
            let e = for_all_stages(e, &job, comm);
            if comm.leads() && done.is_none() {
                let mut manifest = manifest;
                manifest.close(started.elapsed().as_secs_f64(), &Spent::default());
                manifest.ended(Some(&e));
                manifest.save(&folder)?;
            }
            return Err(e);
        }
    };
    if comm.leads() {
        session.progress.set_run(manifest.runs, started);
        session.progress.set_workdir(&folder);
        session.unsaved = done.is_some();
    }
    let mut result = session.execute(started);
    // Also of a run that was stopped.
    session.remember_speeds();
    if let InputSpec::Prepared(other) = &session.job.input {
        result = result.map_err(|e| e.kept_in(other));
    }
    result = result.map_err(|e| spool::came_by(e, &folder, &session.manifest));
    let spent = Spent { gpu_memory_peak: session.gpu_memory().1, ..session.progress.spent() };
    let manifest = &mut session.manifest;
    manifest.close(started.elapsed().as_secs_f64(), &spent);
    manifest.ended(result.as_ref().err());
    if result.is_ok() {
        spool::done_with(manifest);
    }
    // What was done stays so where there was nothing to do, or where this attempt came to nothing.
    let refused = matches!(result, Err(Error::Occupied { .. }));
    let untouched = |done: &Manifest| {
        let same = done.outputs == manifest.outputs && (done.input == manifest.input || result.is_err());
        same && (!session.began || refused)
    };
    let saved = match done.filter(untouched) {
        _ if !comm.leads() => Ok(()),
        Some(done) if !session.began => spool::remove_unnoted(&folder, &done),
        Some(mut done) => done.save(&folder).and_then(|()| spool::remove_unnoted(&folder, &done)),
        None => manifest.save(&folder).and_then(|()| spool::remove_unnoted(&folder, manifest)),
    };
    let report = result?;
    saved?;
    if comm.ranks() > 1 {
        // A rank ends with its job, and the driver takes back what a process has faster than the process gives it.
        std::mem::forget((session.peers, session.device));
    }
    Ok(report)
}

/// An error before any stage, with the limit that does for all of them: that the process fits is not enough.
fn for_all_stages(e: Error, job: &Job, comm: &Comm) -> Error {
    match Machine::here(job, comm.ranks(), comm.nodes()).and_then(|machine| Plan::of(job, &machine)) {
        Ok(plan) => plan.name_limit(e),
        Err(_) => e,
    }
}

/// Takes up the job in its workdir, as its only writer: its manifest, and the one before where the job was done already.
fn begin(job: &Job, fresh: bool) -> Result<(Manifest, Option<Manifest>)> {
    let workdir = &job.workdir;
    if fresh {
        super::clean::everything(workdir)?;
    }
    log::attach(workdir);
    for folder in ["", "graph", "units", "out"] {
        remove_leftovers(&workdir.join(folder))?;
    }
    let before = load(workdir)?;
    let done = before.clone().filter(|before| before.stopped.is_none());
    let mut manifest = before.unwrap_or_default();
    let resumed = manifest.stopped.is_some();
    let input = take_up_streams(job, &mut manifest, done.as_ref())?;
    if !manifest.outputs.is_empty() && manifest.job != job.name {
        let (other, workdir) = (&manifest.job, workdir.display());
        tracing::warn!("{workdir} has the results of job {other}: what is not this job's as well is replaced");
    }
    manifest.job = job.name.clone();
    manifest.input = Some(input);
    let said = Status::read(workdir).map(|status| (status.run, status.seconds, status.spent));
    manifest.begin(said);
    if resumed {
        manifest.resumes += 1;
        tracing::info!(resumes = manifest.resumes, "carrying on");
    }
    manifest.stopped = Some("killed or lost".into());
    manifest.exit_code = None;
    // A finished job is looked at first: it may have nothing to do.
    if done.is_none() {
        manifest.save(workdir)?;
    }
    Ok((manifest, done))
}

/// Reads the streams of the input, if it has some, and returns the input as files, by paths that hold from any folder. Where its
/// results would be in the way of others, the job is refused.
fn take_up_streams(job: &Job, manifest: &mut Manifest, done: Option<&Manifest>) -> Result<InputSpec> {
    let workdir = &job.workdir;
    let said = spool::is_streamed(&job.input) && done.is_none();
    if said {
        manifest.job = job.name.clone();
        manifest.stopped = Some("killed or lost".into());
        manifest.exit_code = None;
        manifest.save(workdir)?;
    }
    let taken = spool::take(job, manifest, done.is_some()).and_then(|()| {
        let input = absolute(&spool::replaced(job.clone(), manifest).input);
        let checked = if spool::is_gone(manifest) { Ok(()) } else { occupied::check(job, &input, manifest) };
        checked.map(|()| input)
    });
    taken.map_err(|e| {
        let e = spool::came_by(e, workdir, manifest);
        if said {
            manifest.ended(Some(&e));
        }
        // The error is what counts; what can't be saved or removed now is by the next run.
        let _ = if said { manifest.save(workdir) } else { Ok(()) };
        let _ = spool::remove_unnoted(workdir, done.unwrap_or(manifest));
        e
    })
}

/// A damaged manifest costs what it told, not the job: files are checked by themselves before they are used again.
fn load(workdir: &Path) -> Result<Option<Manifest>> {
    match Manifest::load(workdir) {
        Ok(manifest) => Ok(manifest),
        Err(e @ Error::Corrupt { .. }) => {
            tracing::warn!("{e}");
            let mut manifest = Manifest::default();
            manifest.stopped = Some("its manifest was damaged".into());
            Ok(Some(manifest))
        }
        Err(e) => Err(e),
    }
}

/// The input by paths that mean the same from any folder.
pub(super) fn absolute(input: &InputSpec) -> InputSpec {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match input {
        InputSpec::Prepared(workdir) => InputSpec::Prepared(absolute(workdir)),
        other => {
            let mut other = other.clone();
            if let InputSpec::Files { paths, .. } = &mut other {
                paths.iter_mut().for_each(|path| *path = absolute(path));
            }
            other
        }
    }
}

impl Session {
    fn execute(&mut self, started: Instant) -> Result<Report> {
        // A finished job needs no graph, which is likely gone by now.
        let prepared_elsewhere = matches!(self.job.input, InputSpec::Prepared(_));
        // One that is kept is looked over, and made whole where it is damaged.
        let looked_over = self.job.keep && !spool::is_gone(&self.manifest);
        let done = if prepared_elsewhere || looked_over { None } else { self.agreed(|| self.finished())? };
        if done.is_none() {
            self.opening = device::open(&self.job, self.threads, &self.budget, &self.comm)?;
        }
        if prepared_elsewhere {
            // No input is read meanwhile.
            self.open_gpu()?;
            self.meet_gpus();
        }
        let (facts, stored, blocks, triangle) = match done {
            Some(done) => {
                super::graph::STAGES.into_iter().chain(["triangle"]).for_each(|name| self.skipped(name));
                tracing::info!("this job is done already; --fresh runs it again");
                done
            }
            None => {
                let prepared = match &self.job.input {
                    InputSpec::Prepared(other) => {
                        // One rank for all makes sure that it is whole.
                        self.agreed(|| check_prepared(other))?;
                        let graph = open_prepared_unread(other)?;
                        occupied::check_content(&self.job, &self.manifest, graph.facts.content)?;
                        Prepared::Graph(graph)
                    }
                    _ => self.prepare()?,
                };
                self.count(prepared)?
            }
        };
        if self.job.keep {
            self.syncer.wait()?;
        }
        self.ordered.take().into_iter().for_each(Storing::give_up);
        // Nobody reads or writes any more.
        self.comm.barrier();
        if self.comm.leads() && !self.job.keep && !prepared_elsewhere {
            super::clean::intermediates(&self.job.workdir)?;
        }
        self.remember_speeds();
        self.report(started, &facts, &stored, blocks, Results { triangle })
    }

    /// Counts what is to be counted of a graph, unless that is done.
    fn count(&mut self, prepared: Prepared) -> Result<Finished> {
        let graph = match prepared {
            Prepared::Graph(graph) => graph,
            Prepared::Finished(done) => {
                ["partition", "sort", "triangle"].into_iter().for_each(|name| self.skipped(name));
                tracing::info!("the input holds what it did: this job is done already; --fresh runs it again");
                return Ok(done);
            }
        };
        let triangle = match self.job.triangle {
            Some(table) => Some(self.triangle(&graph, &table)?),
            None => None,
        };
        let blocks = graph.catalogue.len() as u64;
        // Gigabytes take a while to give back.
        let catalogue = graph.catalogue;
        let _ = std::thread::Builder::new().name("graph".into()).spawn(move || drop(catalogue));
        Ok((graph.facts, graph.stored, blocks, triangle))
    }

    fn report(
        &mut self,
        started: Instant,
        facts: &Facts,
        stored: &Stored,
        blocks: u64,
        results: Results,
    ) -> Result<Report> {
        let seconds = started.elapsed().as_secs_f64();
        let earlier = self.stages.iter().any(|stage| stage.name == "triangle" && stage.resumed);
        let device = self.manifest.device.clone().filter(|_| earlier);
        let host = report::Host {
            name: host::name(),
            cores: host::cores(),
            memory: host::memory().total,
            gpus: super::device::names(&self.comm),
        };
        let (gpu_memory, gpu_memory_peak) = self.gpu_memory();
        let mut most = [self.budget.limit(), self.progress.peak_memory(), gpu_memory, gpu_memory_peak];
        self.comm.all_max(&mut most);
        let [host_memory, host_memory_peak, gpu_memory, gpu_memory_peak] = most;
        let before = &self.manifest.spent;
        let host_memory_peak = host_memory_peak.max(before.host_memory_peak);
        let gpu_memory_peak = gpu_memory_peak.max(before.gpu_memory_peak);
        let stages = report::in_all(std::mem::take(&mut self.stages), before);
        let mut report = Report {
            schema: Report::SCHEMA,
            job: self.job.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            host,
            ranks: self.comm.ranks(),
            device: device.unwrap_or_else(|| self.device_name().into()),
            limits: report::Limits { host_memory, host_memory_peak, gpu_memory, gpu_memory_peak },
            input: report::Input {
                path: facts.source.clone(),
                bytes: facts.bytes,
                edges: facts.edges,
                self_loops: facts.loops,
                duplicates: facts.edges - facts.loops - stored.edges,
                checksum: format!("{:016x}", facts.checksum),
            },
            graph: report::Graph {
                vertices: facts.vertices,
                isolated: facts.vertices - facts.connected,
                edges: stored.edges,
                max_degree: stored.summary.max_degree,
                blocks,
                kept: self.job.keep,
                ids: if facts.sparse { report::Ids::Sorted } else { report::Ids::Input },
            },
            stages,
            seconds,
            seconds_total: self.manifest.seconds + seconds,
            resumes: self.manifest.resumes,
            results,
        };
        if self.comm.leads() {
            // Where nothing was done, the report of the run that did it stands.
            let name = "report.json";
            let path = self.job.workdir.join(name);
            let whole = self.manifest.outputs.get(name).is_some_and(|output| output.is_of(&path));
            if !self.began && whole && report.tells_the_same(&path) {
                report.seconds_total = self.manifest.seconds;
                return Ok(report);
            }
            let output = report.save(&self.job.workdir)?;
            self.manifest.outputs.insert("report.json".into(), output);
            self.manifest.are_of(facts.content);
        }
        Ok(report)
    }

    /// The results of a job of which nothing is left to do.
    fn finished(&self) -> Result<Option<Finished>> {
        let is_gone = spool::is_gone(&self.manifest);
        if is_gone || spool::is_same(&self.manifest) {
            let done = self.manifest.last::<Facts>("relabel").map_or(Ok(None), |facts| self.finished_with(facts))?;
            if done.is_some() || is_gone {
                return done.map(Some).ok_or_else(|| spool::nothing_came(&self.manifest));
            }
        }
        let input = super::input::open(&self.job.input)?;
        let identity = super::graph::input_key(&input)?;
        self.manifest.found::<Facts>("relabel", identity).map_or(Ok(None), |facts| self.finished_with(facts))
    }

    /// Returns the results if all is done of a graph of these contents.
    ///
    /// # Errors
    /// None in practice; see [`super::triangle::triangle_key`].
    pub(super) fn finished_with(&self, facts: Facts) -> Result<Option<Finished>> {
        let Some(stored) = self.manifest.found::<Stored>("sort", facts.content) else { return Ok(None) };
        let Some(table) = self.job.triangle else { return Ok(None) };
        let Some(triangle) = self.counted(&facts, &table)? else { return Ok(None) };
        let blocks = stored.blocks;
        Ok(Some((facts, stored, blocks, Some(triangle))))
    }
}

/// Facts, what is stored, blocks and the count of a job of which nothing is left to do.
pub(super) type Finished = (Facts, Stored, u64, Option<report::Triangle>);

/// Refuses the graph that another job kept unless it is whole.
fn check_prepared(workdir: &Path) -> Result<()> {
    // Its blocks may be half made, or about to go. One that starts later takes no page that is mapped here.
    if let Some(owner) = Lock::owner(workdir) {
        match owner.liveness() {
            Liveness::Alive => return Err(Error::Busy { workdir: workdir.to_owned(), owner: owner.to_string() }),
            Liveness::Unknown => {
                tracing::warn!(owner = %owner, "that job may still run; its graph is read all the same")
            }
            Liveness::Dead => {}
        }
    }
    let graph = open_prepared_unread(workdir)?;
    graph.catalogue.verify(crate::process::signals::check)
}

/// The graph that another job kept.
pub(super) fn open_prepared_unread(workdir: &Path) -> Result<Graph> {
    let nothing = |found: &str| {
        let remedy = "run that job with keep = true in [job]";
        Error::input(workdir, crate::error::At::File, "the workdir of a job that kept its graph", found, remedy)
    };
    let manifest = Manifest::load(workdir)?.ok_or_else(|| nothing("no manifest"))?;
    let facts: Facts = manifest.last("relabel").ok_or_else(|| nothing("no prepared graph"))?;
    let stored: Stored = manifest.found("sort", facts.content).ok_or_else(|| nothing("an unfinished graph"))?;
    if !workdir.join("graph").is_dir() {
        return Err(nothing("its graph was not kept"));
    }
    Graph::open(workdir, facts, stored)
}
