//! Prevents a job from replacing finished results of another input, unless `--fresh` asks for it.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::graph::ids::FirstId;
use crate::graph::weights::stored::GraphWeights;
use crate::job::input::{of_job, reading_key, version_key};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::TaskRecord;
use crate::prepare::prepared::InputInfo;

/// Returns an error if the workdir contains complete results of another input. At this time no edges have been read,
/// so only paths and file sizes are compared. `input` is the job's input with absolute paths.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Input`] if the job's input can't be opened.
pub(crate) fn check(job: &Job, input: &InputSpec, manifest: &Manifest) -> Result<()> {
    let Some(before) = manifest.input.as_ref().filter(|_| manifest.has_results()) else { return Ok(()) };
    let refuse = || Err(refusal(job, manifest, Some(description(before)), input));
    // A list with the same description is compared later, by the version of its file.
    let InputSpec::Files { paths, .. } = input else { return if before == input { Ok(()) } else { refuse() } };
    let same_place = matches!(before, InputSpec::Files { paths: others, .. } if others == paths);
    let Some(info) = manifest.last::<InputInfo>("relabel") else { return if same_place { Ok(()) } else { refuse() } };
    let found = of_job(&Job { input: input.clone(), ..job.clone() })?;
    // A file of the same size may be the earlier input, moved or with a new modification time. Its contents are
    // compared later.
    if version_key(&found, &job.input_keys)? == info.identity || found.bytes() == info.bytes {
        return Ok(());
    }
    refuse()
}

/// Returns an error if the workdir contains complete results of a graph other than the one with the hash `content`.
/// The edges have been read by now, so a file that was copied, or whose modification time changed, is recognised by
/// its contents. `reversed` is the hash of the same edges with the opposite setting of `directed`. Results with the
/// hash `reversed` are refused only if the user changed `directed`, not if a table or `keep` determined the
/// direction.
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

/// Returns an error if the workdir contains complete results of the graph with hash `content` that were computed with
/// other weights. Weights are checked separately, because they may be in a file of their own.
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

/// Returns an error if the workdir contains complete results of algorithms that the job does not request, and these
/// results have another first id (0 or 1) than `first_id`, that of the job. The job would not recompute them.
///
/// # Errors
/// [`Error::Occupied`].
pub(crate) fn check_first_id(job: &Job, manifest: &Manifest, first_id: FirstId) -> Result<()> {
    let is_of_job = |name: &str| job.tasks.iter().any(|task| task.name() == name);
    let is_other =
        |(name, record): (&String, &TaskRecord)| record.done && record.first_id != first_id && !is_of_job(name);
    if manifest.tasks.iter().any(is_other) { Err(refusal(job, manifest, None, &job.input)) } else { Ok(()) }
}

/// Returns an error if the job reads the input differently from the job that computed the results. Differences in
/// `[input]` that have no effect are accepted, even if the input has a new modification time. `before` contains the
/// statistics of the input when the results were computed.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Input`] if the job's input can't be opened.
pub(crate) fn check_keys(job: &Job, manifest: &Manifest, before: Option<&InputInfo>) -> Result<()> {
    if manifest.other_keys(job).is_empty() {
        return Ok(());
    }
    let is_same = match (&job.input, before) {
        (spec, _) if spec.is_list() => Some(crate::job::input::list(spec)?.identity()?) == manifest.content(),
        // The first id is compared for each result, and other keys do not change how a prepared graph is read.
        (InputSpec::Prepared(_), _) => true,
        (_, None) => false,
        (_, Some(info)) => {
            let job = Job { keeps_direction: info.direction == Direction::Directed, ..job.clone() };
            let input = of_job(&job)?;
            reading_key(&input, &job.input_keys)? == info.reading
                || version_key(&input, &job.input_keys)? == info.identity
        }
    };
    if is_same { Ok(()) } else { Err(refusal(job, manifest, None, &job.input)) }
}

fn refusal(job: &Job, manifest: &Manifest, before: Option<String>, input: &InputSpec) -> Error {
    let keys = manifest.other_keys(job);
    let (input, before) = (description(input), before.filter(|before| *before != description(input)));
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

fn description(input: &InputSpec) -> String {
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
        InputSpec::Memory(edges) => edges.to_string(),
        InputSpec::MemoryList(list) => list.to_string(),
        InputSpec::Uniform(r) => format!("uniform {} x {}, seed {}", r.scale, r.edge_factor, r.seed),
    }
}
