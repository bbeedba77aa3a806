//! Streams (standard input, pipes and devices) among the paths of a job's input, and the copies that replace them.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::formats::input::stream::Stream;
use crate::job::state::manifest::Manifest;
use crate::job::state::spooled::{Spool, Spooled, absolute};
use crate::job::state::workdir::SPOOL;
use std::path::{Path, PathBuf};

/// Returns the streams among the paths of an input, each with its index. Streams that no longer exist are included if
/// they were copied.
pub(crate) fn streams(input: &InputSpec, spool: Option<&Spool>) -> Vec<(usize, Stream)> {
    let InputSpec::Files { paths, .. } = input else { return Vec::new() };
    let was_copied = |path: &Path| spool.is_some_and(|spool| spool.streams.iter().any(|s| s.path == absolute(path)));
    let stream =
        |path: &PathBuf| Stream::of(path).or_else(|| (was_copied(path) && !path.exists()).then(|| Stream::known(path)));
    paths.iter().enumerate().filter_map(|(place, path)| Some((place, stream(path)?))).collect()
}

/// Returns true if any path of the input is a stream.
pub fn is_streamed(input: &InputSpec) -> bool {
    !streams(input, None).is_empty()
}

/// Returns true if any path of the input is an anonymous stream, which the parent process pipes in. A job that a
/// scheduler starts can't have such an input.
pub fn is_piped_in(input: &InputSpec) -> bool {
    streams(input, None).iter().any(|(_, stream)| stream.is_anonymous())
}

/// Returns the same streams as [`streams`], after checking that the job can read them. It reads no data.
///
/// # Errors
/// [`Error::Usage`] if standard input is named twice, or if a stream's format follows neither from its name nor from
/// the job file.
pub(crate) fn readable_streams(input: &InputSpec, spool: Option<&Spool>) -> Result<Vec<(usize, Stream)>> {
    let streams = streams(input, spool);
    if streams.iter().filter(|(_, stream)| stream.is_standard_input()).count() > 1 {
        return Err(Error::Usage("input.path names standard input twice, but it can be read only once".into()));
    }
    let InputSpec::Files { format: None, .. } = input else { return Ok(streams) };
    let unknown = streams.iter().find(|(_, stream)| Format::by_ending(stream.path()).is_none());
    let Some((_, stream)) = unknown else { return Ok(streams) };
    let what = "its format is unknown, as its name has no ending; set [input] format, such as \"text\" or \"u32\"";
    Err(Error::Usage(format!("{}: {what} (its compression is detected from its first bytes)", stream.name())))
}

/// Returns the job with the streams of its input replaced by the copies that the manifest records.
pub(crate) fn replaced(mut job: Job, manifest: &Manifest) -> Job {
    if let (InputSpec::Files { paths, .. }, Some(spool)) = (&mut job.input, &manifest.spool) {
        let folder = job.workdir.join(SPOOL);
        for spooled in &spool.streams {
            if let Some(path) = paths.get_mut(spooled.place) {
                *path = folder.join(&spooled.file);
            }
        }
    }
    job
}

/// Returns the job's input with absolute paths, and with its streams replaced by the copies that the manifest
/// records.
pub(crate) fn absolute_input(job: &Job, manifest: &Manifest) -> InputSpec {
    crate::job::input::absolute(&replaced(job.clone(), manifest).input)
}

/// Returns the job with an input for which a plan can be made: with copies instead of its streams, or with the
/// streams themselves if `input.expect` declares their size. It reads no stream.
///
/// # Errors
/// [`Error::Usage`] if there is neither a copy nor `input.expect`, and errors of [`readable_streams`].
pub(crate) fn planned(job: &Job, manifest: &Manifest) -> Result<Job> {
    let found = readable_streams(&job.input, manifest.spool.as_ref())?;
    let Some((_, first)) = found.first() else { return Ok(job.clone()) };
    if manifest.spool.as_ref().is_some_and(|spool| spool.there && spool.is_of(&found)) {
        return Ok(replaced(job.clone(), manifest));
    }
    if job.expect.is_some() {
        return Ok(job.clone());
    }
    let name = first.name();
    Err(Error::Usage(format!(
        "{name}: can't be planned, because a plan does not read it; add expect = {{ edges = N, ids = N }} to [input], or name a file"
    )))
}

/// Returns true if the manifest records streams whose copies were deleted.
pub(crate) fn is_gone(manifest: &Manifest) -> bool {
    manifest.spool.as_ref().is_some_and(|spool| !spool.there)
}

/// Returns true if the streams delivered the same data that the finished job's results were computed from.
pub(crate) fn is_same(manifest: &Manifest) -> bool {
    manifest.spool.as_ref().is_some_and(|spool| spool.same)
}

/// Returns the error for a job whose stream delivers no data, although the job needs it.
pub(crate) fn empty_stream_error(manifest: &Manifest) -> Error {
    match manifest.spool.iter().flat_map(|spool| &spool.streams).next() {
        Some(spooled) => Stream::known(&spooled.path).empty_stream_error(),
        None => Error::Usage("the piped input is gone; pipe it again".into()),
    }
}

/// Returns the job for checks after a run. If the copies that the manifest records were made of the streams in the
/// job's input, these copies replace the streams.
pub(crate) fn with_copies(job: Job, manifest: &Manifest) -> Job {
    let found = streams(&job.input, manifest.spool.as_ref());
    match &manifest.spool {
        Some(spool) if spool.is_of(&found) => replaced(job, manifest),
        _ => job,
    }
}

/// Returns `text` with the paths of copies replaced by the paths of their streams.
pub(crate) fn name_streams(text: &str, workdir: &Path, manifest: &Manifest) -> String {
    let with_name = |text: String, spooled: &Spooled| {
        let copy = workdir.join(SPOOL).join(&spooled.file);
        text.replace(&copy.display().to_string(), &spooled.path.display().to_string())
    };
    manifest.spool.iter().flat_map(|spool| &spool.streams).fold(text.to_owned(), with_name)
}

/// Changes an error about the copy of a stream so that it names the stream.
pub(crate) fn name_streams_in_error(error: Error, workdir: &Path, manifest: &Manifest) -> Error {
    let name_streams_in_error = |error: Error, spooled: &Spooled| {
        let copy = workdir.join(SPOOL).join(&spooled.file);
        let name = Stream::known(&spooled.path).name();
        let [from_anywhere, from_here] = [absolute(&copy), copy.clone()].map(|path| path.display().to_string());
        let with_name = |text: String| text.replace(&from_anywhere, &name).replace(&from_here, &name);
        match error.name_stream(&copy, &name) {
            Error::Occupied { workdir, other, input } => {
                let is_same = Path::new(&other) == spooled.path;
                let other = if is_same { format!("{name} as it was before it changed") } else { with_name(other) };
                Error::Occupied { workdir, other, input: with_name(input) }
            }
            other => other,
        }
    };
    manifest.spool.iter().flat_map(|spool| &spool.streams).fold(error, name_streams_in_error)
}
