//! Standard input, pipes and devices as the input of a job. Their data is first copied to `WORKDIR/spool`, so that it
//! can be read twice, by all ranks, and again after the job was killed.
//!
//! A copy gets its final name, and a record in the manifest with its length and checksum, only when it is complete.
//! If a run was killed, the next run deletes its partial copy. A resumed job uses the complete copy and does not wait
//! until the data is piped in again; if data does arrive, it must be the same. The copies are deleted when the job is
//! finished. The manifest still records what they contained.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::formats::input::stream::{Copied, Stream};
use crate::formats::{Format, Packing};
use crate::job::input::streams::absolute_input;
use crate::job::state::manifest::Manifest;
use crate::job::state::spooled::{Spool, Spooled, absolute};
use crate::job::state::workdir::SPOOL;
use crate::process::signals;
use crate::results::Output;
use crate::store::durable::sync_folder;
use crate::store::regular;
use crate::store::replace::{TemporaryFile, make_folder, remove_leftovers, temp_path};
use crate::{failpoint, size};
use std::io::{ErrorKind, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for which a resumed run waits for data on a stream, to compare it with the copy.
const PATIENCE: Duration = Duration::from_secs(2);

/// Copies the streams `found` in the input of a job, or verifies the copies of an earlier run, and records the copies
/// in the manifest. Only the leader calls it. If `finished` is true, the manifest belongs to a finished job. The data
/// is then copied again and compared with the data that the results were computed from. If no data arrives, the
/// results remain, and [`super::streams::is_gone`] returns true.
///
/// # Errors
/// [`Error::Input`] for a stream that can't be read or is empty, [`Error::OtherStream`] if a stream now delivers
/// other data, errors of the disk.
pub(crate) fn take(job: &Job, found: &[(usize, Stream)], manifest: &mut Manifest, finished: bool) -> Result<()> {
    let folder = job.workdir.join(SPOOL);
    if remove_leftovers(&folder)? > 0 {
        tracing::info!("an incomplete copy of an earlier run is deleted");
    }
    let before = manifest.spool.take_if(|spool| spool.is_of(found));
    manifest.spool = None;
    if let Some(spool) = before.as_ref().filter(|spool| spool.there && !finished) {
        if let Some(name) = spool.streams.iter().find(|s| !s.copy.is_of(&folder.join(&s.file))).map(|s| &s.file) {
            tracing::warn!("{}: is not as it was written: the input is read again", folder.join(name).display());
        } else {
            // Keeps the copies in the manifest even if the check below fails.
            manifest.spool = before.clone();
            manifest.spool = Some(reuse_copies(job, found, spool, &folder)?);
            return Ok(());
        }
    }
    remove_unnoted(&job.workdir, manifest)?;
    if found.is_empty() {
        return Ok(());
    }
    make_folder(&folder)?;
    let mut spool = Spool { streams: Vec::new(), there: true, same: false };
    for (place, stream) in found {
        let (file, copied) = copy(job, stream, &folder, *place)?;
        if copied.bytes == 0 {
            manifest.spool = before.clone().map(|before| Spool { there: false, ..before });
            if finished && before.is_some() && is_known_to_be_same(job, found, manifest) {
                tracing::info!("{} delivers no data: the results of its earlier data stay", stream.name());
                return Ok(());
            }
            return Err(stream.empty_stream_error());
        }
        let copy = Output { bytes: copied.bytes, checksum: copied.checksum };
        spool.streams.push(Spooled { path: absolute(stream.path()), place: *place, file, copy });
    }
    let copies = |spool: &Spool| spool.streams.iter().map(|s| (s.place, s.copy)).collect::<Vec<_>>();
    let same = finished && before.is_some_and(|before| copies(&before) == copies(&spool));
    manifest.spool = Some(spool);
    let same = same && is_known_to_be_same(job, found, manifest);
    manifest.spool.iter_mut().for_each(|spool| spool.same = same);
    Ok(())
}

/// Returns true if the input consists only of the streams `found`, and the job reads it in the same way as the run
/// that the manifest records. In this case the input is unchanged if the streams deliver the same data as before.
fn is_known_to_be_same(job: &Job, found: &[(usize, Stream)], manifest: &Manifest) -> bool {
    let InputSpec::Files { paths, vertices: None, .. } = &job.input else { return false };
    let is_alike =
        manifest.input.as_ref() == Some(&absolute_input(job, manifest)) && manifest.other_keys(job).is_empty();
    is_alike && paths.len() == found.len()
}

/// Reuses the copies of an earlier run, and returns their updated record. Fails if a stream now delivers other data.
fn reuse_copies(job: &Job, streams: &[(usize, Stream)], spool: &Spool, folder: &Path) -> Result<Spool> {
    for (spooled, (_, stream)) in spool.streams.iter().zip(streams) {
        if let Some(at) = differs(stream, &folder.join(&spooled.file))? {
            return Err(Error::OtherStream { workdir: job.workdir.clone(), stream: stream.name(), at });
        }
        tracing::info!("resuming with the {} that came from {} before", size::show(spooled.copy.bytes), stream.name());
    }
    let mut spool = spool.clone();
    for (spooled, (place, stream)) in spool.streams.iter_mut().zip(streams) {
        spooled.path = absolute(stream.path());
        // The job file may name another format now.
        let file = name_of(job, stream, *place, Packing::of(Path::new(&spooled.file)));
        if file != spooled.file {
            let path = folder.join(&spooled.file);
            std::fs::rename(&path, folder.join(&file)).map_err(|e| Error::io("rename", &path, e))?;
            spooled.file = file;
        }
    }
    Ok(spool)
}

/// Returns the offset of the first byte in which a stream differs from its copy; `None` if they are equal. A stream
/// that can't be opened, or delivers nothing for a while, is treated as equal.
fn differs(stream: &Stream, copy: &Path) -> Result<Option<u64>> {
    let Ok(mut reader) = stream.open() else { return Ok(None) };
    let by_hand = stream.is_standard_input() && std::io::stdin().is_terminal();
    let patience = if by_hand { Duration::ZERO } else { PATIENCE };
    let mut first = [0];
    if !reader.wait(Some(patience), &signals::check)? || reader.fill(&mut first, &signals::check)? == 0 {
        return Ok(None);
    }
    let mut file = regular::open(copy).map_err(|e| Error::io("open", copy, e))?;
    reader.differs_from(&first, &mut file, copy, &signals::check)
}

/// Returns the file name for the copy of a stream: the index `number` of the stream, and extensions for format and
/// compression.
fn name_of(job: &Job, stream: &Stream, number: usize, packing: Packing) -> String {
    let named = match &job.input {
        InputSpec::Files { format, .. } => *format,
        _ => None,
    };
    let format = named.or_else(|| Format::by_ending(stream.path()));
    format!("{number}.{}{}", format.map_or("txt", Format::ending), packing.ending())
}

/// Copies one stream to a file that gets its final name once it is complete and durable. Returns (file name, length
/// and checksum of the copy).
fn copy(job: &Job, stream: &Stream, folder: &Path, number: usize) -> Result<(String, Copied)> {
    let name = stream.name();
    let mut temporary = TemporaryFile::new(temp_path(&folder.join(number.to_string())));
    let mut reader = stream.open()?;
    tracing::info!("reading {name} into {}", folder.display());
    let file = regular::create(temporary.path()).map_err(|e| Error::io("create", temporary.path(), e))?;
    let mut said = Instant::now();
    let mut watch = |bytes: u64| {
        if said.elapsed() >= job.run.log_interval {
            tracing::info!("{} came from {name} so far", size::show(bytes));
            said = Instant::now();
        }
    };
    let check = || {
        failpoint::hit("spool.read").map_err(|e| Error::io("read", temporary.path(), e))?;
        signals::check()
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
    let named = name_of(job, stream, number, copied.packing);
    let path = folder.join(&named);
    failpoint::hit("spool.fsync").map_err(|e| Error::io("sync", &path, e))?;
    // The file's timestamps are synced, too, because they are used to recognise the copy.
    file.sync_all().map_err(|e| failed(copied.bytes, e))?;
    failpoint::hit("spool.rename").map_err(|e| Error::io("rename into place", &path, e))?;
    temporary.rename(&path).map_err(|e| Error::io("rename into place", &path, e))?;
    sync_folder(&path)?;
    tracing::info!("{} came from {name}", size::show(copied.bytes));
    Ok((named, copied))
}

/// Records in the manifest that the copies of the input streams are no longer needed; [`remove_unnoted`] then removes
/// them.
pub(crate) fn done_with(manifest: &mut Manifest) {
    if let Some(spool) = &mut manifest.spool {
        spool.there = false;
    }
}

/// Removes the copies of the input streams, unless the manifest records that they are needed. Other files remain.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn remove_unnoted(workdir: &Path, manifest: &Manifest) -> Result<()> {
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
    let is_fine = [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::DirectoryNotEmpty];
    match std::fs::remove_dir(&folder) {
        Err(e) if !is_fine.contains(&e.kind()) => Err(Error::io("remove", &folder, e)),
        _ => Ok(()),
    }
}
