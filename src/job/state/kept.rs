//! Graphs that other jobs kept in their workdirs, for `[input] prepared`.

use crate::config::{InputSpec, Job};
use crate::error::{At, Error, Result};
use crate::graph::direction::Direction;
use crate::job::state::lock::{Liveness, Lock};
use crate::job::state::manifest::Manifest;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo};
use std::path::Path;

/// Returns an error unless the graph that the job of `workdir` kept is intact.
///
/// # Errors
/// [`Error::Busy`] while that job runs, errors of [`open`], [`Error::Corrupt`] if a block is damaged.
pub(crate) fn check(workdir: &Path) -> Result<()> {
    // The blocks of a running job may be incomplete or about to be removed. A job that starts later can't affect
    // pages that are already mapped into this process.
    if let Some(owner) = Lock::owner(workdir) {
        match owner.liveness() {
            Liveness::Alive => return Err(Error::Busy { workdir: workdir.to_owned(), owner: owner.to_string() }),
            Liveness::Unknown => {
                tracing::warn!(owner = %owner, "that job may still run; its graph is read anyway")
            }
            Liveness::Dead => {}
        }
    }
    let graph = open(workdir)?;
    graph.block_store.verify(crate::process::signals::check)
}

/// Opens the graph that the job of `workdir` kept, as the input of `job`. Its ids are 0-based or 1-based, as `job`
/// requests.
///
/// # Errors
/// Errors of [`open`], [`check_weights`] and [`check_direction`]; [`Error::Usage`] if `job` requests 1-based ids, but
/// the graph was read from an input with 0-based ids.
pub(crate) fn open_for(job: &Job, workdir: &Path) -> Result<Graph> {
    let mut graph = open(workdir)?;
    check_weights(&graph, job, Some(workdir))?;
    check_direction(&graph, job, workdir)?;
    job.check_first_id(graph.info.counts_from_one, &workdir.display().to_string())?;
    graph.info.first_id = job.first_id;
    Ok(graph)
}

/// Returns an error if `[input] directed` of `job` differs from the direction with which the graph was kept, because
/// a kept graph can't be read in another way.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_direction(graph: &Graph, job: &Job, workdir: &Path) -> Result<()> {
    let (kept, is_directed) = match graph.info.direction {
        Direction::Directed => ("a directed", true),
        Direction::Undirected => ("an undirected", false),
    };
    match job.input_keys.get("directed") {
        Some(stated) if stated != is_directed.to_string() => Err(Error::Usage(format!(
            "{}: this is {kept} graph, and [input] has directed = {stated}; leave directed out, or name the input itself \
             as path in [input], in place of prepared",
            workdir.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns an error if a task of `job` reads weights and the graph has none. `workdir` is the workdir of the job that
/// kept the graph, for the message; it is `None` for a graph that the caller of the library built.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_weights(graph: &Graph, job: &Job, workdir: Option<&Path>) -> Result<()> {
    let reads = job.tasks.iter().find(|task| task.needs().weights);
    let Some(task) = reads.filter(|_| graph.stored.weights.is_none()) else { return Ok(()) };
    let reads = format!("[{}] reads weights, and this graph", task.name());
    Err(Error::Usage(match workdir {
        Some(workdir) => format!(
            "{}: {reads} was kept without; run the job that kept it with a type of weights, as weights = \"u32\", in \
             [input] and keep = true, or name the input itself",
            workdir.display()
        ),
        None => format!("{reads} has none; build it from edges with weights, or have weights drawn or all 1"),
    }))
}

/// Returns the input of the job that kept its graph in `workdir`.
///
/// # Errors
/// [`Error::Input`] if the manifest does not record it; errors of [`Manifest::load`].
pub(crate) fn input_of(workdir: &Path) -> Result<InputSpec> {
    let input = Manifest::load(workdir)?.and_then(|manifest| manifest.input);
    let input = input.filter(|input| !matches!(input, InputSpec::Prepared(_)));
    input.ok_or_else(|| Error::input(workdir, At::File, KEEPER, "no record of its input", "run that job again"))
}

/// What a workdir is expected to be, for messages.
const KEEPER: &str = "the workdir of a job that kept its graph";

/// Opens the graph that the job of `workdir` kept, without reading all of its blocks.
///
/// # Errors
/// [`Error::Input`] if no graph was kept, [`Error::Corrupt`], [`Error::Io`].
pub(crate) fn open(workdir: &Path) -> Result<Graph> {
    let nothing = |found: &str| {
        let remedy = "run that job with keep = true in [job]";
        Error::input(workdir, At::File, KEEPER, found, remedy)
    };
    let manifest = Manifest::load(workdir)?.ok_or_else(|| nothing("no manifest"))?;
    let info: InputInfo = manifest.last("relabel").ok_or_else(|| match &manifest.input {
        Some(InputSpec::Prepared(source)) => {
            let found = format!("a job on the graph of {}", source.display());
            Error::input(workdir, At::File, KEEPER, found, "name that workdir as prepared")
        }
        _ => nothing("no prepared graph"),
    })?;
    let stored: StoreInfo = manifest.found("sort", info.content).ok_or_else(|| nothing("an unfinished graph"))?;
    if !workdir.join("graph").is_dir() {
        return Err(nothing("its graph was not kept"));
    }
    Graph::open(workdir, info, stored)
}
