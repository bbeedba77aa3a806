//! `gpugraph run`: from a job to its report, going on where an earlier run stopped.

use crate::algo::ByInput;
use crate::comm::{Comm, agreed};
use crate::config::{Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::job::graph::{self, Prepared, merge, transpose};
use crate::job::input::{self, occupied, streams};
use crate::job::plan::resources::Resources;
use crate::job::plan::{Plan, limits};
use crate::job::results::report::Report;
use crate::job::session::Session;
use crate::job::state::finished::{Finished, Subject};
use crate::job::state::lock::{Lock, Reader};
use crate::job::state::manifest::Manifest;
use crate::job::state::order_writer::Storing;
use crate::job::state::{clean, kept, workdir};
use crate::job::{html, list, ranks, reporting, start, tasks};
use crate::prepare::prepared::{Graph, InputInfo};
use crate::process::figures::Spent;
use crate::process::log;
use std::path::Path;
use std::time::Instant;

/// What a run does about what it finds in the workdir.
#[derive(Debug, Clone, Copy, Default)]
pub struct StartOptions {
    /// Discard what earlier runs left.
    pub fresh: bool,
    /// Wait while another process uses the workdir, rather than return [`Error::Busy`].
    pub wait: bool,
}

/// Runs `job` to its end, by all ranks of `comm` together; each gets the report.
///
/// # Errors
/// Every one of this crate. What was durable before stays, and the same call goes on from there. Other ranks may be left
/// waiting: an error of one ends the job for all.
pub fn run(job: Job, options: StartOptions, comm: &Comm) -> Result<Report> {
    let started = Instant::now();
    ranks::check_alike(&job, comm)?;
    let folder = job.workdir.clone();
    let mut lock = None;
    let on_cpu = (comm.ranks() == 1 && job.run.device == Device::Auto && job.run.gpu.is_none()).then(|| {
        let mut job = job.clone();
        job.run.device = Device::Cpu;
        job
    });
    let mut result = attempt(job, options, comm, started, &mut lock);
    if let (Err(e @ Error::GpuFull(_)), Some(job)) = (&result, on_cpu) {
        // The stages that are done stay so.
        tracing::warn!("going on on the CPU: {e}");
        result = attempt(job, StartOptions::default(), comm, started, &mut lock);
    }
    let has_page = match &result {
        Ok(Ending::Worked(_)) => false,
        Ok(Ending::NothingToDo(_)) => folder.join(html::FILE).is_file(),
        // The page of results that this job may not replace stays.
        Err(e) => matches!(e, Error::Occupied { .. }) || !Manifest::path(&folder).is_file(),
    };
    if lock.is_some() && !has_page {
        html::leave(&folder);
    }
    result.map(|(Ending::Worked(report) | Ending::NothingToDo(report))| *report)
}

/// How a run ended that no error ended.
enum Ending {
    /// A stage ran, or the report was written.
    Worked(Box<Report>),
    /// An earlier run did everything. Its manifest and its report stay.
    NothingToDo(Box<Report>),
}

/// Carries the job out, once the leader has the lock of the workdir.
fn attempt(job: Job, options: StartOptions, comm: &Comm, started: Instant, lock: &mut Option<Lock>) -> Result<Ending> {
    let StartOptions { fresh, wait } = options;
    let folder = job.workdir.clone();
    let mut done = None;
    let manifest = agreed(comm, || {
        workdir::check(&job)?;
        if lock.is_none() {
            *lock = Some(if wait { Lock::wait(&folder) } else { Lock::acquire(&folder) }?);
        }
        if fresh || !job.keep {
            // The graph goes, now or when the job is done.
            Reader::refuse(&folder)?;
        }
        let manifest;
        (manifest, done) = start::take_up(&job, fresh)?;
        Ok(manifest)
    })?;
    ranks::check_shared(&folder, comm)?;
    // From here on files are all that the input is.
    let mut job = streams::replaced(job, &manifest);
    let before = manifest.last::<InputInfo>("relabel");
    job.keeps_direction = before.is_some_and(|info| info.direction == Direction::Directed);
    if !comm.leads() {
        log::attach(&folder)?;
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
        session.progress.metrics().begin(&folder, started);
        session.unsaved = done.is_some();
    }
    let mut result = execute(&mut session, started);
    // Also of a run that was stopped.
    session.remember_speeds();
    if let InputSpec::Prepared(other) = &session.job.input {
        result = result.map_err(|e| e.kept_in(other));
    }
    let result = result.map_err(|e| streams::came_by(e, &folder, &session.manifest));
    close(session, result, done, started)
}

/// Notes how a run ended in the metrics and the manifest. `done` is the manifest of an earlier run that did the whole job.
fn close(mut session: Session, result: Result<Report>, done: Option<Manifest>, started: Instant) -> Result<Ending> {
    session.progress.metrics().end(&result.as_ref().err().map_or_else(|| "finished".into(), ToString::to_string));
    let spent = Spent { gpu_memory_peak: session.gpu.memory()[1], ..session.progress.spent() };
    let began = session.began;
    let Session { job: Job { workdir: folder, .. }, comm, manifest, .. } = &mut session;
    manifest.close(started.elapsed().as_secs_f64(), &spent);
    manifest.ended(result.as_ref().err());
    if result.is_ok() {
        streams::done_with(manifest);
    }
    // The earlier manifest stays if this run changed nothing, or was refused.
    let refused = matches!(result, Err(Error::Occupied { .. }));
    let is_unchanged = |done: &Manifest| {
        let same = (&done.outputs, &done.tasks) == (&manifest.outputs, &manifest.tasks);
        same && (done.input == manifest.input || result.is_err()) && (!began || refused)
    };
    let saved = match done.filter(is_unchanged) {
        _ if !comm.leads() => Ok(()),
        // It is still on the disk.
        Some(done) if !began => streams::remove_unnoted(folder, &done),
        Some(mut done) => done.save(folder).and_then(|()| streams::remove_unnoted(folder, &done)),
        None => manifest.save(folder).and_then(|()| streams::remove_unnoted(folder, manifest)),
    };
    let report = Box::new(result?);
    saved?;
    if session.comm.ranks() > 1 {
        // A rank ends with its job, and the driver frees the memory of a process faster than the process does.
        std::mem::forget(session.gpu);
    }
    Ok(if began { Ending::Worked(report) } else { Ending::NothingToDo(report) })
}

/// An error before any stage, with the limit that does for all of them: that the process fits is not enough.
fn for_all_stages(e: Error, job: &Job, comm: &Comm) -> Error {
    match Resources::here(job, comm.ranks(), comm.nodes()).and_then(|machine| Plan::of(job, &machine)) {
        Ok(plan) => limits::name_limit(&plan, e),
        Err(_) => e,
    }
}

fn execute(session: &mut Session, started: Instant) -> Result<Report> {
    let subject = match session.job.input.is_list() {
        true => list::run(session)?,
        false => Subject::Graph(Box::new(on_graph(session)?)),
    };
    session.remember_speeds();
    reporting::report(session, started, &subject)
}

/// Prepares a graph and computes the job's tasks on it, as far as that is not done. Collective.
fn on_graph(session: &mut Session) -> Result<Finished> {
    let kept_by = if let InputSpec::Prepared(other) = &session.job.input { Some(other.clone()) } else { None };
    // The job that kept the graph must not remove it before all ranks have read it.
    let _reader = match &kept_by {
        Some(other) if session.comm.leads() => Reader::enter(other, &session.job.workdir),
        _ => None,
    };
    let finished = match nothing_to_do(session)? {
        Some(finished) => {
            skip(session, 0);
            tracing::info!("this job is done already; --fresh runs it again");
            finished
        }
        None => {
            session.gpu.begin(&session.job, session.threads, &session.budget)?;
            let prepared = match &kept_by {
                Some(other) => Prepared::Graph(Box::new(open_kept(session, other)?)),
                None => graph::prepare(session)?,
            };
            match prepared {
                Prepared::Graph(graph) => compute(session, graph)?,
                Prepared::Finished(finished) => {
                    // The first two stages ran: they found that the input is the same.
                    skip(session, 2);
                    tracing::info!("the input holds what it did: this job is done already; --fresh runs it again");
                    *finished
                }
            }
        }
    };
    leave(session)?;
    Ok(finished)
}

/// Returns the graph's figures if an earlier run did everything. A kept graph is looked over instead, and a finished job needs no graph. Collective.
fn nothing_to_do(session: &Session) -> Result<Option<Finished>> {
    let looks_over = session.job.keep && !streams::is_gone(&session.manifest);
    match matches!(session.job.input, InputSpec::Prepared(_)) || looks_over {
        true => Ok(None),
        false => session.agreed(|| finished(session)),
    }
}

/// Notes all stages but the first `ran`, and all tasks, as done by an earlier run.
fn skip(session: &mut Session, ran: usize) {
    graph::stages(&session.job).skip(ran).chain(session.tasks()).for_each(|name| session.skipped(name));
}

/// Opens the graph that the job of the workdir `other` kept. Collective.
fn open_kept(session: &mut Session, other: &Path) -> Result<Graph> {
    // No input is read meanwhile.
    session.gpu.wait()?;
    session.gpu.meet();
    // One rank for all makes sure that it is whole.
    session.agreed(|| kept::check(other))?;
    let mut graph = kept::open(other)?;
    kept::check_weights(&graph, &session.job, other)?;
    kept::number(&mut graph, &session.job, other)?;
    let Graph { info, stored, folder, .. } = &graph;
    graph::named::check(session, info, folder, None, None)?;
    occupied::check_content(&session.job, &session.manifest, info.content, None)?;
    occupied::check_weights(&session.job, &session.manifest, info.content, stored.weights)?;
    let machine = session.machine();
    limits::refuse(&Plan::prepared(&session.job, &machine, other, &graph, &session.manifest)?)?;
    Ok(graph)
}

/// Makes the rows that tasks need in addition, and computes the tasks. Collective.
fn compute(session: &mut Session, mut graph: Box<Graph>) -> Result<Finished> {
    match (session.job.needs_upper(), session.job.keep) {
        (true, _) => transpose::ensure(session, &mut graph)?,
        (false, true) => transpose::look_over(session, &graph)?,
        (false, false) => {}
    }
    match (session.job.merges(graph.info.direction), session.job.keep) {
        (true, _) => merge::ensure(session, &mut graph)?,
        (false, true) => merge::look_over(session, &graph)?,
        (false, false) => {}
    }
    tasks::compute(session, ByInput::Graph(&graph))?;
    let Graph { info, stored, catalogue, upper, merged, .. } = *graph;
    // Freeing gigabytes takes a while.
    let _ = std::thread::Builder::new().name("graph".into()).spawn(move || drop((catalogue, upper, merged)));
    Ok(Finished { info, stored })
}

/// Makes what is kept durable, and removes the rest. Collective.
fn leave(session: &mut Session) -> Result<()> {
    if session.job.keep {
        session.syncer.wait()?;
    }
    session.ordered.take().into_iter().for_each(Storing::give_up);
    // No rank reads or writes any more.
    session.comm.barrier();
    match &session.job.input {
        _ if session.job.keep => Ok(()),
        InputSpec::Prepared(_) => transpose::remove(session).and_then(|()| merge::remove(session)),
        _ if session.comm.leads() => clean::intermediates(&session.job.workdir),
        _ => Ok(()),
    }
}

/// Returns the graph's figures if nothing of the job is left to do, by its manifest and by the version of its input.
fn finished(session: &Session) -> Result<Option<Finished>> {
    let Session { job, manifest, .. } = session;
    let is_gone = streams::is_gone(manifest);
    if is_gone || streams::is_same(manifest) {
        let done = manifest.last::<InputInfo>("relabel").map_or(Ok(None), |info| Finished::of(job, manifest, info))?;
        if done.is_some() || is_gone {
            return done.map(Some).ok_or_else(|| streams::nothing_came(manifest));
        }
    }
    let input = input::of_job(job)?;
    let identity = input::version_key(&input, &job.input_keys)?;
    manifest.found::<InputInfo>("relabel", identity).map_or(Ok(None), |info| Finished::of(job, manifest, info))
}
