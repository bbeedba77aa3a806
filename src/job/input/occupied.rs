//! Keeps finished results from being replaced by those of another input, unless `--fresh` asks for it.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::graph::weights::stored::GraphWeights;
use crate::job::state::manifest::Manifest;
use crate::prepare::prepared::InputInfo;

/// Refuses a job whose workdir holds the finished results of another input, by what can be told before edges are read: files of
/// another length. `input` is the job's, by paths that hold from any folder.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Input`] where the job's input can't be opened.
pub(crate) fn check(job: &Job, input: &InputSpec, manifest: &Manifest) -> Result<()> {
    let Some(before) = manifest.input.as_ref().filter(|_| manifest.has_results()) else { return Ok(()) };
    let refuse = || Err(refusal(job, Some(told(before)), input));
    // Of a list at the same place its version will tell.
    let InputSpec::Files { paths, .. } = input else { return if before == input { Ok(()) } else { refuse() } };
    let same_place = matches!(before, InputSpec::Files { paths: others, .. } if others == paths);
    let Some(info) = manifest.last::<InputInfo>("relabel") else { return if same_place { Ok(()) } else { refuse() } };
    let found = crate::job::input::of_job(&Job { input: input.clone(), ..job.clone() })?;
    // Of as many bytes it may be what was read, touched or moved: its contents will tell.
    if crate::job::input::version_key(&found)? == info.identity || found.bytes() == info.bytes {
        return Ok(());
    }
    refuse()
}

/// The same once the edges are read: `content` tells which graph they are. A file that was touched or copied over holds what it
/// held before, and its results stay.
///
/// # Errors
/// [`Error::Occupied`].
pub(crate) fn check_content(job: &Job, manifest: &Manifest, content: u64) -> Result<()> {
    match manifest.content().filter(|_| manifest.has_results()) {
        Some(before) if before != content => {
            let source = manifest.last::<InputInfo>("relabel").map(|info| info.source);
            Err(refusal(job, source, &job.input))
        }
        _ => Ok(()),
    }
}

/// The same for weights that are in a file of their own, of a graph of these contents.
///
/// # Errors
/// [`Error::Occupied`].
pub(crate) fn check_weights(job: &Job, manifest: &Manifest, content: u64, weights: Option<GraphWeights>) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    match manifest.tasks.iter().any(|(name, record)| record.is_of_other_weights(name, content, weights)) {
        true => Err(refusal(job, None, &job.input)),
        false => Ok(()),
    }
}

fn refusal(job: &Job, before: Option<String>, input: &InputSpec) -> Error {
    let (input, before) = (told(input), before.filter(|before| *before != told(input)));
    let other = before.unwrap_or_else(|| format!("{input} as it was before it changed"));
    Error::Occupied { workdir: job.workdir.clone(), other, input }
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
