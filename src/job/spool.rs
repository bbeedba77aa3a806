//! Standard input, pipes and devices as the input of a job: what comes by them is copied to `WORKDIR/spool` before anything else, so
//! that it can be read twice, by all ranks, and after a kill.
//!
//! A copy has its name, and a place in the manifest with length and checksum, only when it is complete; what a run had read when it was
//! killed is thrown away by the next one. A job that carries on takes the copy, and waits for nobody to pipe it in again; what does
//! come must be the same. The copies go when the job is done. The manifest then still says what they held.

use super::manifest::{Manifest, Output};
use super::workdir::SPOOL;
use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::stream::{Copied, Stream};
use crate::formats::{Format, Packing};
use crate::size;
use crate::store::replace::{remove_leftovers, sync_folder, temp_path};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a run that has its copies waits for a stream that may hold something else now.
const PATIENCE: Duration = Duration::from_secs(2);

/// The streams of a job, as its manifest has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spool {
    /// In the order of the input's paths.
    streams: Vec<Spooled>,
    /// True while the copies are in the workdir.
    there: bool,
    /// True if this run copied what the results of a finished job are of.
    #[serde(skip)]
    same: bool,
}

/// What came by one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Spooled {
    /// The path that named it; one that means the same from any folder.
    path: PathBuf,
    /// Its place among the input's paths.
    place: usize,
    /// The copy, in the folder of copies.
    file: String,
    copy: Output,
}

/// Returns the streams among the paths of an input, with their places; also those that are there no more, if they were copied.
fn streams(input: &InputSpec, spool: Option<&Spool>) -> Vec<(usize, Stream)> {
    let InputSpec::Files { paths, .. } = input else { return Vec::new() };
    let was_copied = |path: &Path| spool.is_some_and(|spool| spool.streams.iter().any(|s| s.path == absolute(path)));
    let stream =
        |path: &PathBuf| Stream::of(path).or_else(|| (was_copied(path) && !path.exists()).then(|| Stream::known(path)));
    paths.iter().enumerate().filter_map(|(place, path)| Some((place, stream(path)?))).collect()
}

/// Returns true if some of the input comes by a stream.
pub fn is_streamed(input: &InputSpec) -> bool {
    !streams(input, None).is_empty()
}

/// Returns true if some of the input comes from what started this process: no scheduler could.
pub fn is_piped_in(input: &InputSpec) -> bool {
    streams(input, None).iter().any(|(_, stream)| stream.is_anonymous())
}

/// Refuses streams that can't be read, before any is.
///
/// # Errors
/// [`Error::Usage`] for standard input twice, and for a stream of which neither name nor job file says the format.
fn check(input: &InputSpec, streams: &[(usize, Stream)]) -> Result<()> {
    if streams.iter().filter(|(_, stream)| stream.is_standard_input()).count() > 1 {
        return Err(Error::Usage("input.path names standard input twice, which can be read once".into()));
    }
    let InputSpec::Files { format: None, .. } = input else { return Ok(()) };
    match streams.iter().find(|(_, stream)| Format::by_ending(stream.path()).is_none()) {
        Some((_, stream)) => {
            let what = "no ending says what it holds; name [input] format, such as \"text\" or \"u32\"";
            Err(Error::Usage(format!("{}: {what} (how it is packed is told by its first bytes)", stream.name())))
        }
        None => Ok(()),
    }
}

/// Returns the job with the copies in place of its streams, which are those of the manifest.
pub(super) fn replaced(mut job: Job, manifest: &Manifest) -> Job {
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

/// Returns the job as it can be planned before it runs: with the copies that an earlier run made, or its streams where
/// `input.expect` tells of them. No stream is read.
///
/// # Errors
/// [`Error::Usage`] where nothing tells what comes.
pub(super) fn planned(job: &Job, manifest: &Manifest) -> Result<Job> {
    let found = streams(&job.input, manifest.spool.as_ref());
    check(&job.input, &found)?;
    let Some((_, first)) = found.first() else { return Ok(job.clone()) };
    if manifest.spool.as_ref().is_some_and(|spool| spool.there && spool.is_of(&found)) {
        return Ok(replaced(job.clone(), manifest));
    }
    if job.expect.is_some() {
        return Ok(job.clone());
    }
    let name = first.name();
    Err(Error::Usage(format!(
        "{name}: can't be planned, as a plan does not read it; add expect = {{ edges = N, ids = N }} to [input], or name a file"
    )))
}

/// Returns true if the manifest tells of streams whose copies are there no more.
pub(super) fn is_gone(manifest: &Manifest) -> bool {
    manifest.spool.as_ref().is_some_and(|spool| !spool.there)
}

/// Returns true if what came is what the results of the finished job are of, read in the same way.
pub(super) fn is_same(manifest: &Manifest) -> bool {
    manifest.spool.as_ref().is_some_and(|spool| spool.same)
}

/// Returns the error of a job that needs what came by a stream, and finds nothing there.
pub(super) fn nothing_came(manifest: &Manifest) -> Error {
    match manifest.spool.iter().flat_map(|spool| &spool.streams).next() {
        Some(spooled) => Stream::known(&spooled.path).nothing_came(),
        None => Error::Usage("what came by a pipe is there no more: pipe it in again".into()),
    }
}

/// Returns the job as it can be checked after a run: with its copies, if these are of its streams.
pub(super) fn looked_at(job: Job, manifest: &Manifest) -> Job {
    let found = streams(&job.input, manifest.spool.as_ref());
    match &manifest.spool {
        Some(spool) if spool.is_of(&found) => replaced(job, manifest),
        _ => job,
    }
}

/// Returns `text` with the paths of streams in place of those of their copies.
pub(super) fn told(text: &str, workdir: &Path, manifest: &Manifest) -> String {
    let told = |text: String, spooled: &Spooled| {
        let copy = workdir.join(SPOOL).join(&spooled.file);
        text.replace(&copy.display().to_string(), &spooled.path.display().to_string())
    };
    manifest.spool.iter().flat_map(|spool| &spool.streams).fold(text.to_owned(), told)
}

/// Returns an error about a copy as one about its stream.
pub(super) fn came_by(error: Error, workdir: &Path, manifest: &Manifest) -> Error {
    let came_by = |error: Error, spooled: &Spooled| {
        let copy = workdir.join(SPOOL).join(&spooled.file);
        let name = Stream::known(&spooled.path).name();
        let [from_anywhere, from_here] = [absolute(&copy), copy.clone()].map(|path| path.display().to_string());
        let told = |text: String| text.replace(&from_anywhere, &name).replace(&from_here, &name);
        match error.came_by(&copy, &name) {
            Error::Occupied { workdir, other, input } => {
                let is_same = Path::new(&other) == spooled.path;
                let other = if is_same { format!("{name} as it was before it changed") } else { told(other) };
                Error::Occupied { workdir, other, input: told(input) }
            }
            other => other,
        }
    };
    manifest.spool.iter().flat_map(|spool| &spool.streams).fold(error, came_by)
}

/// Notes that the copies are needed no more; [`remove_unnoted`] then removes them.
pub(super) fn done_with(manifest: &mut Manifest) {
    if let Some(spool) = &mut manifest.spool {
        spool.there = false;
    }
}

/// Removes copies that the manifest does not tell of, and no file of another name.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn remove_unnoted(workdir: &Path, manifest: &Manifest) -> Result<()> {
    let folder = workdir.join(SPOOL);
    if manifest.spool.as_ref().is_some_and(|spool| spool.there) {
        return Ok(());
    }
    let is_copy = |name: &str| name.split_once('.').is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_copy) {
            std::fs::remove_file(entry.path()).map_err(|e| Error::io("remove", entry.path(), e))?;
        }
    }
    match std::fs::remove_dir(&folder) {
        Err(e)
            if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::DirectoryNotEmpty) =>
        {
            Err(Error::io("remove", &folder, e))
        }
        _ => Ok(()),
    }
}

impl Spool {
    /// Returns true if these are the streams that were copied, as far as their names tell.
    fn is_of(&self, streams: &[(usize, Stream)]) -> bool {
        let is_same = |(spooled, (place, stream)): (&Spooled, &(usize, Stream))| {
            // A shell's `<(…)` has another number each time.
            let anonymous = Stream::known(&spooled.path).is_anonymous() && stream.is_anonymous();
            spooled.place == *place && (anonymous || spooled.path == absolute(stream.path()))
        };
        !streams.is_empty() && self.streams.len() == streams.len() && self.streams.iter().zip(streams).all(is_same)
    }
}

/// Returns the path of a stream by which it is known from any folder.
fn absolute(path: &Path) -> PathBuf {
    if Stream::known(path).is_anonymous() {
        return path.to_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Copies what comes by the streams of a job, or finds the copies of an earlier run whole, and notes them in the manifest. Only the
/// leader calls it. With `finished` the manifest is of a job that is done: what comes is copied anew, to be compared with what the
/// results are of; if nothing comes, these stand, and [`is_gone`] holds.
///
/// # Errors
/// Those of [`check`], [`Error::Input`] for a stream that can't be read or holds nothing, [`Error::OtherStream`], those of the disk.
pub(super) fn take(job: &Job, manifest: &mut Manifest, finished: bool) -> Result<()> {
    let found = streams(&job.input, manifest.spool.as_ref());
    check(&job.input, &found)?;
    let folder = job.workdir.join(SPOOL);
    if remove_leftovers(&folder)? > 0 {
        tracing::info!("what an earlier run had read when it ended is thrown away: it was not complete");
    }
    let before = manifest.spool.take_if(|spool| spool.is_of(&found));
    manifest.spool = None;
    if let Some(spool) = before.as_ref().filter(|spool| spool.there && !finished) {
        if let Some(name) = spool.streams.iter().find(|s| !s.copy.is_of(&folder.join(&s.file))).map(|s| &s.file) {
            tracing::warn!("{}: is not as it was written: the input is read anew", folder.join(name).display());
        } else {
            // They stay whatever comes now.
            manifest.spool = before.clone();
            manifest.spool = Some(again(job, &found, spool, &folder)?);
            return Ok(());
        }
    }
    remove_unnoted(&job.workdir, manifest)?;
    if found.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))?;
    let mut spool = Spool { streams: Vec::new(), there: true, same: false };
    for (place, stream) in &found {
        let (file, copied) = copy(job, stream, &folder, *place)?;
        if copied.bytes == 0 {
            manifest.spool = before.clone().map(|before| Spool { there: false, ..before });
            if spool.streams.is_empty() && finished && before.is_some() && is_read_alike(job, manifest) {
                tracing::info!("nothing comes from {}: the results of what it held before stand", stream.name());
                return Ok(());
            }
            return Err(stream.nothing_came());
        }
        let copy = Output { bytes: copied.bytes, checksum: copied.checksum };
        spool.streams.push(Spooled { path: absolute(stream.path()), place: *place, file, copy });
    }
    let copies = |spool: &Spool| spool.streams.iter().map(|s| (s.place, s.copy)).collect::<Vec<_>>();
    let same = finished && before.is_some_and(|before| copies(&before) == copies(&spool));
    manifest.spool = Some(spool);
    let same = same && is_read_alike(job, manifest);
    manifest.spool.iter_mut().for_each(|spool| spool.same = same);
    Ok(())
}

/// Returns true if the job reads its input as the run did that the manifest tells of: by the same names and formats.
fn is_read_alike(job: &Job, manifest: &Manifest) -> bool {
    manifest.input.as_ref() == Some(&super::run::absolute(&replaced(job.clone(), manifest).input))
}

/// Takes the copies of an earlier run, unless something else comes by their streams now.
fn again(job: &Job, streams: &[(usize, Stream)], spool: &Spool, folder: &Path) -> Result<Spool> {
    for (spooled, (_, stream)) in spool.streams.iter().zip(streams) {
        if let Some(at) = differs(stream, &folder.join(&spooled.file))? {
            return Err(Error::OtherStream { workdir: job.workdir.clone(), stream: stream.name(), at });
        }
        tracing::info!(
            "carrying on with the {} that came from {} before",
            size::show(spooled.copy.bytes),
            stream.name()
        );
    }
    let mut spool = spool.clone();
    for (spooled, (place, stream)) in spool.streams.iter_mut().zip(streams) {
        spooled.path = absolute(stream.path());
        // The job file may name another format by now.
        let file = name_of(job, stream, *place, packing(&spooled.file));
        if file != spooled.file {
            let path = folder.join(&spooled.file);
            std::fs::rename(&path, folder.join(&file)).map_err(|e| Error::io("rename", &path, e))?;
            spooled.file = file;
        }
    }
    Ok(spool)
}

/// Returns the first byte in which what comes by a stream differs from its copy. Nothing at all differs in none, and a stream that can't
/// be opened any more, or by which nothing comes for a while, has nothing.
fn differs(stream: &Stream, copy: &Path) -> Result<Option<u64>> {
    let Ok(mut reader) = stream.open() else { return Ok(None) };
    let by_hand = stream.is_standard_input() && std::io::stdin().is_terminal();
    let patience = if by_hand { Duration::ZERO } else { PATIENCE };
    let mut first = [0];
    if !reader.wait(Some(patience), &crate::process::signals::check)?
        || reader.fill(&mut first, &crate::process::signals::check)? == 0
    {
        return Ok(None);
    }
    let mut file = File::open(copy).map_err(|e| Error::io("open", copy, e))?;
    reader.differs_from(&first, &mut file, copy, &crate::process::signals::check)
}

fn packing(file: &str) -> Packing {
    Packing::of(Path::new(file))
}

/// Returns the name of a copy, whose endings say format and packing.
fn name_of(job: &Job, stream: &Stream, number: usize, packing: Packing) -> String {
    let named = match &job.input {
        InputSpec::Files { format, .. } => format.as_deref().and_then(|format| format.parse().ok()),
        _ => None,
    };
    let format = named.or_else(|| Format::by_ending(stream.path()));
    format!("{number}.{}{}", format.map_or("txt", Format::ending), packing.ending())
}

/// Copies one stream; the name of the copy, which it has once it is complete and durable.
fn copy(job: &Job, stream: &Stream, folder: &Path, number: usize) -> Result<(String, Copied)> {
    let name = stream.name();
    let temporary = temp_path(&folder.join(number.to_string()));
    let mut reader = stream.open()?;
    tracing::info!("reading {name} into {}", folder.display());
    let copied = (|| {
        let file = File::create(&temporary).map_err(|e| Error::io("create", &temporary, e))?;
        let mut said = Instant::now();
        let mut watch = |bytes: u64| {
            if said.elapsed() >= job.run.log_interval {
                tracing::info!("{} came from {name} so far", size::show(bytes));
                said = Instant::now();
            }
        };
        let check = || {
            failpoint::hit("spool.read").map_err(|e| Error::io("read", &temporary, e))?;
            crate::process::signals::check()
        };
        let failed = |bytes, e| match Error::io("write", folder, e) {
            Error::DiskFull { path, what } => {
                let came = size::show(bytes);
                let what = format!(
                    "{came} of {name} were copied, then: {what} (it is read twice: a file elsewhere takes no copy)"
                );
                Error::DiskFull { path, what }
            }
            other => other,
        };
        let copied = reader.copy_to(&file, &mut watch, &check, &failed)?;
        let named = name_of(
            job,
            stream,
            number,
            match copied.packing {
                // What claims to be packed is refused where it is not.
                Packing::Plain => Packing::of(stream.path()),
                packing => packing,
            },
        );
        let path = folder.join(&named);
        failpoint::hit("spool.fsync").map_err(|e| Error::io("sync", &path, e))?;
        file.sync_all().map_err(|e| failed(copied.bytes, e))?;
        failpoint::hit("spool.rename").map_err(|e| Error::io("rename into place", &path, e))?;
        std::fs::rename(&temporary, &path).map_err(|e| Error::io("rename into place", &path, e))?;
        sync_folder(&path)?;
        tracing::info!("{} came from {name}", size::show(copied.bytes));
        Ok((named, copied))
    })();
    copied.inspect_err(|_| {
        // A copy that is not complete is of no use.
        let _ = std::fs::remove_file(&temporary);
    })
}
