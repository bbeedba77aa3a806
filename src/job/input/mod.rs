//! Opens the input that `[input]` of a job names: edges or a list.

pub mod occupied;
pub(crate) mod original;
pub mod spool;
pub mod streams;

use crate::config::{Expect, InputKeys, InputSpec, Job};
use crate::error::{Error, Result};
use crate::formats::input::stream::Stream;
use crate::formats::{FileSearch, Format, Input, Part, Weights};
use crate::generate::{Generator, Weighted};
use crate::graph::direction::Direction;
use crate::job::state::key::key;
use crate::job::state::workdir;
use crate::list::ListSource;
use crate::prepare::names::Names;
use crate::prepare::prepared::Graph;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the edges that `[input]` names. A prepared graph is refused, because it is not read as edges.
///
/// # Errors
/// [`Error::Input`] for files that are missing or of unknown format.
pub fn open(spec: &InputSpec) -> Result<Input> {
    match spec {
        InputSpec::Files { paths, format, recursive, text, vertices, .. } => {
            let input = find(paths, *format, *recursive)?.with_text(text.clone())?;
            vertices.as_ref().map_or(Ok(input.clone()), |list| input.with_vertices(list))
        }
        InputSpec::Kronecker(r) => Ok(Input::generated(Generator::kronecker(r.scale, r.edge_factor, r.seed)?)),
        InputSpec::Uniform(r) => Ok(Input::generated(Generator::uniform(r.scale, r.edge_factor, r.seed)?)),
        InputSpec::Weighted(spec) => Ok(Input::generated(Generator::Weighted(Weighted::new(*spec)?))),
        InputSpec::Memory(edges) => edges.check_present().map(|()| Input::generated(edges.clone())),
        InputSpec::ListFile { path, .. } => {
            Err(Error::Usage(format!("{}: a list is not read as edges", path.display())))
        }
        InputSpec::List(_) | InputSpec::MemoryList(_) => Err(Error::Usage("a list is not read as edges".into())),
        InputSpec::Prepared(workdir) => {
            Err(Error::Usage(format!("{}: a prepared graph is not read as edges", workdir.display())))
        }
    }
}

/// Opens the edges that a job names, with weights and direction if the job's graph stores them.
///
/// # Errors
/// Errors of [`open`] and of [`Job::check_first_id`].
pub fn of_job(job: &Job) -> Result<Input> {
    let input = open(&job.input)?;
    job.check_first_id(input.counts_from_one(), &input.name())?;
    let input = if job.direction() == Direction::Directed { input.with_direction() } else { input };
    Ok(if job.carries_weights() { input.with_weights(job.input.weights().first()) } else { input })
}

/// Opens the edges that `[input]` names. `graph` is the graph that was built from them, if any. String ids are mapped
/// to the same numbers as in that graph.
///
/// # Errors
/// Errors of [`open`]; [`Error::Corrupt`] and [`Error::Io`] of the dictionary of string ids.
pub(crate) fn of_graph(spec: &InputSpec, graph: Option<&Graph>) -> Result<Input> {
    let input = open(spec)?;
    Ok(match graph.filter(|graph| graph.info.names) {
        Some(Graph { folder, info, .. }) => {
            let names = Names::open(folder, info.identity, input.name())?;
            input.with_numbering(Arc::new(names))
        }
        None => input,
    })
}

/// Opens the list that `[input]` names.
///
/// # Errors
/// [`Error::Input`] for a file that is missing or of unknown format, [`Error::Usage`] for a stream or for edges.
pub fn list(spec: &InputSpec) -> Result<ListSource> {
    match spec {
        InputSpec::ListFile { path, .. } if Stream::of(path).is_some() => {
            let what = "a list is read in several places at once, so it must be a file: copy the stream to one";
            Err(Error::Usage(format!("{}: {what}", path.display())))
        }
        InputSpec::ListFile { path, format } => ListSource::open(path, *format),
        InputSpec::List(generated) => Ok(ListSource::generated(*generated)),
        InputSpec::MemoryList(list) => list.check_present().map(|()| ListSource::in_memory(list.clone())),
        _ => Err(Error::Usage("edges are not read as a list".into())),
    }
}

/// Finds the files of an input. Folders that are workdirs of gpugraph's jobs are skipped.
///
/// # Errors
/// Errors of [`Input::find`].
pub fn find(paths: &[PathBuf], format: Option<Format>, recursive: bool) -> Result<Input> {
    let own = |folder: &Path| folder.ends_with("gpugraph.work") || workdir::is_of_a_job(folder);
    Input::find(paths, format, FileSearch { recursive, own: &own })
}

/// Number of bytes of the input to read ahead: about as many as a fast disk delivers while a GPU is being opened.
const AHEAD: u64 = 1 << 30;

/// Starts to read a job's input ahead into the page cache in the background, while the run is still starting up.
pub fn read_ahead(spec: &InputSpec) {
    let spec = spec.clone();
    // Errors of the input are reported when it is read.
    let begin = move || drop(open(&spec).map(|input| input.read_ahead(AHEAD)));
    let _ = std::thread::Builder::new().name("ahead".into()).spawn(begin);
}

/// Returns the input with the size that `input.expect` declares, if its files are missing on this machine or are
/// streams. Otherwise returns `None`.
///
/// # Errors
/// [`Error::Input`] for files of unknown format.
pub fn expected(job: &Job) -> Result<Option<(Input, Expect)>> {
    match (&job.input, job.expect) {
        (&InputSpec::Files { ref paths, format, recursive, .. }, Some(expect)) => {
            // A pattern is not an existing path, but may match files. A stream exists, but its size is not known.
            let is_here = || paths.iter().any(|path| path.exists()) || find(paths, format, recursive).is_ok();
            if !streams::is_streamed(&job.input) && is_here() {
                return Ok(None);
            }
            Ok(Some((Input::expected(paths, format, expect.edges, expect.ids)?, expect)))
        }
        _ => Ok(None),
    }
}

/// Returns the input with absolute paths.
pub(crate) fn absolute(input: &InputSpec) -> InputSpec {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut input = input.clone();
    match &mut input {
        InputSpec::Files { paths, vertices, .. } => {
            paths.iter_mut().chain(vertices).for_each(|path| *path = absolute(path));
        }
        InputSpec::ListFile { path, .. } | InputSpec::Prepared(path) => *path = absolute(path),
        _ => {}
    }
    input
}

/// Checks that the absolute paths of the input are UTF-8 text, as which the manifest stores them.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_paths(input: &InputSpec) -> Result<()> {
    let wrong = |e| Error::Usage(format!("[input]: {e}: expected paths of UTF-8 text; rename the file or its folder"));
    serde_json::to_string(&absolute(input)).map(drop).map_err(wrong)
}

/// Returns the key of the stage `ingest`. It depends on the input, its version, and how it is read, including weights
/// and direction. `keys` are the `[input]` keys of the job that reads it.
///
/// # Errors
/// [`Error::Input`] if the input can't be read.
pub fn version_key(input: &Input, keys: &InputKeys) -> Result<u64> {
    Ok(key_of(input, keys, input.identity()?))
}

/// Returns a key that depends on how the input is read and on the file that lists its vertices, but not on the edges,
/// unlike [`version_key`].
///
/// # Errors
/// [`Error::Input`] if the list of vertices can't be read.
pub(crate) fn reading_key(input: &Input, keys: &InputKeys) -> Result<u64> {
    Ok(key_of(input, keys, input.vertices.as_ref().map_or(Ok(0), |list| list.identity())?))
}

fn key_of(input: &Input, keys: &InputKeys, identity: u64) -> u64 {
    let reading = reading(input, keys);
    let stage = if input.keeps_direction { "ingest arcs" } else { "ingest" };
    match input.weights() {
        Weights::Skip => key(stage, &(identity, reading)),
        Weights::Find => key(stage, &(identity, reading, "weights")),
        Weights::Read(kind) => key(stage, &(identity, reading, kind)),
    }
}

/// Describes how the bytes of the input are read, because the same bytes yield other edges if they are read in another
/// way. Each element is (format, number of consecutive files in this format); for text, the format includes the
/// columns. Elements with the number 0 follow for other keys of `[input]` that affect reading.
pub(crate) fn reading(input: &Input, keys: &InputKeys) -> Vec<(String, u64)> {
    let mut runs: Vec<(String, u64)> = Vec::new();
    for format in input.parts().iter().map(Part::reading) {
        match runs.last_mut() {
            Some((last, count)) if *last == format => *count += 1,
            _ => runs.push((format, 1)),
        }
    }
    runs.extend(keys.reading_keys().map(|key| (key, 0)));
    runs
}
