//! Keeps finished results from being replaced by those of another input, unless `--fresh` asks for it.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::graph::weights::stored::GraphWeights;
use crate::job::input::{of_job, version_key};
use crate::job::state::manifest::Manifest;
use crate::prepare::prepared::InputInfo;

/// Refuses a job whose workdir holds the finished results of another input, by what can be told before edges are read: files of
/// another length. `input` is the job's, by paths that hold from any folder.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Input`] where the job's input can't be opened.
pub(crate) fn check(job: &Job, input: &InputSpec, manifest: &Manifest) -> Result<()> {
    let Some(before) = manifest.input.as_ref().filter(|_| manifest.has_results()) else { return Ok(()) };
    let refuse = || Err(refusal(job, manifest, Some(told(before)), input));
    // Of a list at the same place its version will tell.
    let InputSpec::Files { paths, .. } = input else { return if before == input { Ok(()) } else { refuse() } };
    let same_place = matches!(before, InputSpec::Files { paths: others, .. } if others == paths);
    let Some(info) = manifest.last::<InputInfo>("relabel") else { return if same_place { Ok(()) } else { refuse() } };
    let found = of_job(&Job { input: input.clone(), ..job.clone() })?;
    // Of as many bytes it may be what was read, touched or moved: its contents will tell.
    if version_key(&found, &job.input_keys)? == info.identity || found.bytes() == info.bytes {
        return Ok(());
    }
    refuse()
}

/// The same once the edges are read: `content` tells which graph they are. A file that was touched or copied over holds what it
/// held before, and its results stay. `reversed` is the graph of the same edges that has no direction where that one keeps it, or the
/// other way round: what is of that one is in the way only if `directed` was changed, and not if tables need direction or `keep` keeps it.
///
/// # Errors
/// [`Error::Occupied`].
pub(crate) fn check_content(job: &Job, manifest: &Manifest, content: u64, reversed: Option<u64>) -> Result<()> {
    let Some(before) = manifest.content().filter(|_| manifest.has_results()) else { return Ok(()) };
    if before == content || Some(before) == reversed && manifest.is_of_key("directed", job) {
        return Ok(());
    }
    let source = manifest.last::<InputInfo>("relabel").map(|info| info.source);
    Err(refusal(job, manifest, source, &job.input))
}

/// The same for weights that are in a file of their own, of a graph of these contents.
///
/// # Errors
/// [`Error::Occupied`].
pub(crate) fn check_weights(job: &Job, manifest: &Manifest, content: u64, weights: Option<GraphWeights>) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    match manifest.tasks.iter().any(|(name, record)| record.is_of_other_weights(name, content, weights)) {
        true => Err(refusal(job, manifest, None, &job.input)),
        false => Ok(()),
    }
}

/// Refuses a job that reads the input in another way than the job that found the results, though it may be the same input: by the keys of
/// `[input]` that are written otherwise and say something else. `before` is what the first pass found then.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Input`] where the job's input can't be opened.
pub(crate) fn check_keys(job: &Job, manifest: &Manifest, before: Option<&InputInfo>) -> Result<()> {
    if manifest.other_keys(job).is_empty() {
        return Ok(());
    }
    let is_same = match (&job.input, before) {
        (spec @ (InputSpec::ListFile { .. } | InputSpec::List(_)), _) => {
            Some(crate::job::input::list(spec)?.identity()?) == manifest.content()
        }
        (InputSpec::Prepared(_), _) | (_, None) => false,
        (_, Some(info)) => {
            let job = Job { keeps_direction: info.direction == Direction::Directed, ..job.clone() };
            version_key(&of_job(&job)?, &job.input_keys)? == info.identity
        }
    };
    if is_same { Ok(()) } else { Err(refusal(job, manifest, None, &job.input)) }
}

fn refusal(job: &Job, manifest: &Manifest, before: Option<String>, input: &InputSpec) -> Error {
    let keys = manifest.other_keys(job);
    let (input, before) = (told(input), before.filter(|before| *before != told(input)));
    let other = match before {
        Some(before) => before,
        None if keys.is_empty() => format!("{input} as it was before it changed"),
        None => input.clone(),
    };
    let with = |text: String, side: usize| {
        let values: Vec<&str> = keys.iter().map(|both| both[side].as_str()).collect();
        if values.is_empty() { text } else { format!("{text} with {} in [input]", values.join(", ")) }
    };
    Error::Occupied { workdir: job.workdir.clone(), other: with(other, 0), input: with(input, 1) }
}

fn told(input: &InputSpec) -> String {
    match input {
        InputSpec::Files { paths, .. } => match paths.as_slice() {
            [path] => path.display().to_string(),
            [path, more @ ..] => format!("{} and {} more", path.display(), more.len()),
            [] => "no files".into(),
        },
        InputSpec::ListFile { path, .. } => path.display().to_string(),
        InputSpec::List(list) => format!("{} list of {}, seed {}", list.kind.name(), list.length, list.seed),
        InputSpec::Prepared(workdir) => format!("the graph of {}", workdir.display()),
        InputSpec::Kronecker(r) => format!("kronecker {} x {}, seed {}", r.scale, r.edge_factor, r.seed),
        InputSpec::Weighted(spec) => spec.to_string(),
        InputSpec::Uniform(r) => format!("uniform {} x {}, seed {}", r.scale, r.edge_factor, r.seed),
    }
}
