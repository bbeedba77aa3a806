//! Decides whether a job may use a folder as its workdir. A job removes and replaces files with certain names there,
//! so it refuses a folder in which other programs use these names.

use crate::config::Job;
use crate::error::{Error, Result};
use crate::formats::input::stream::Stream;
use crate::process::metrics;
use crate::store::regular;
use std::path::{Path, PathBuf};

/// Names of files and folders in a workdir that a job can rebuild.
pub(crate) const INTERMEDIATES: [&str; 1] = ["graph"];
/// Names of all other files and folders that a job writes, except its lock.
pub(crate) const RESULTS: [&str; 10] =
    ["units", "out", "report.json", "report.html", "manifest.json", LOG, "status.json", metrics::FILE, SPOOL, READERS];
/// Folder of the copies of standard input and other streams. A stream can't be read twice, so a copy that is lost can't
/// be made again.
pub(crate) const SPOOL: &str = "spool";
/// Folder in which jobs of other workdirs record that they are reading the graph.
pub(crate) const READERS: &str = "readers";
/// Maximum number of entries of a folder that are examined when looking for workdirs in it.
const MOST_SEEN: usize = 1000;
const LOG: &str = "run.log";

/// Returns true if a job has ever run in `workdir`.
pub(crate) fn is_of_a_job(workdir: &Path) -> bool {
    let begins =
        |name: &str, start: &[u8]| regular::read(&workdir.join(name)).is_ok_and(|text| text.starts_with(start));
    let has_lock = || {
        // The heartbeat: twenty digits and a newline.
        let text = regular::read(&workdir.join("lock")).unwrap_or_default();
        text.len() == 21 && text.ends_with(b"\n") && text[..20].iter().all(u8::is_ascii_digit)
    };
    begins("manifest.json", b"{\n\"manifest\":") || has_lock()
}

/// Returns the error for the path `place`, which is not the workdir of a job. If it is a folder that contains
/// workdirs, the error names some of them.
pub(crate) fn of_no_job(place: &Path) -> Error {
    let jobs = || {
        let below = std::fs::read_dir(place).into_iter().flatten().flatten().take(MOST_SEEN);
        let mut names: Vec<String> = below
            .filter(|entry| is_of_a_job(&entry.path()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names.truncate(5);
        names
    };
    let what = match (place.is_dir(), place.exists()) {
        (false, false) => "no such workdir".to_owned(),
        (false, true) => "a file, where the workdir of a job is expected, such as gpugraph.work/NAME".to_owned(),
        (true, _) => match jobs().join(", ") {
            none if none.is_empty() => {
                "no job ran here yet; name the workdir or the job file of one that did".to_owned()
            }
            names => format!("no job ran here itself; name one of the workdirs in it, such as {names}"),
        },
    };
    Error::Usage(format!("{}: {what}", place.display()))
}

/// Returns the size in bytes of everything that jobs wrote in `workdir`, except copies of input streams. A new run
/// can reuse this space.
pub(crate) fn bytes(workdir: &Path) -> u64 {
    INTERMEDIATES
        .iter()
        .chain(&RESULTS)
        .filter(|name| **name != SPOOL)
        .map(|name| size_of_tree(&workdir.join(name)))
        .sum()
}

/// Returns the size in bytes of a file, or of all files below a folder. Symbolic links are not followed.
pub(crate) fn size_of_tree(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size_of_tree(&entry.path())).sum()
}

/// Returns an error if other programs wrote files in the workdir under names that this job would use. Also returns an
/// error if the input is among the files of the job, because the job would remove it, or read its own files as input.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check(job: &Job) -> Result<()> {
    let workdir = &job.workdir;
    let refuse = |what: String| Err(Error::Usage(format!("[job] workdir {}: {what}", workdir.display())));
    if !is_of_a_job(workdir) {
        if let Some(whose) = protected_folder(workdir).filter(|_| !is_empty(workdir)) {
            return refuse(format!(
                "it is {whose}, and not empty; name a folder of the job's own, such as gpugraph.work/{}",
                job.name
            ));
        }
        // If the disk is full from the start, a job leaves only its log. So a `run.log` does not prove that another
        // program uses the folder; the job appends to it.
        let taken = |name: &&&str| **name != LOG && workdir.join(name).symlink_metadata().is_ok();
        if let Some(name) = INTERMEDIATES.iter().chain(&RESULTS).find(taken) {
            return refuse(format!(
                "{name} is there already, which no job wrote (there is neither a manifest.json nor a lock of one), and a job would \
                 replace it; name another folder"
            ));
        }
    }
    let paths = job.input.paths();
    let Ok(workdir) = workdir.canonicalize() else { return Ok(()) };
    for path in paths.iter().filter(|path| !Stream::of(path).is_some_and(|stream| stream.is_anonymous())) {
        let folder = folder_of(path);
        if folder.as_ref() == Some(&workdir) && !path.is_file() {
            return refuse(format!("it is the folder that the input {} is read from; name another", path.display()));
        }
        let inside = |name: &&str| folder.as_ref().is_some_and(|folder| folder.starts_with(workdir.join(name)));
        if let Some(name) = INTERMEDIATES.iter().chain(&RESULTS).find(|name| inside(name)) {
            return refuse(format!("the input {} lies in its {name}, which a job removes", path.display()));
        }
    }
    Ok(())
}

/// System folders. Neither they nor any folder below them may be a workdir.
const SYSTEM: [&str; 9] = ["/bin", "/boot", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];
/// System folders that may not be a workdir. Folders below them may be.
const SHARED: [&str; 14] = [
    "/", "/dev", "/dev/shm", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/var/lib",
    "/var/tmp",
];

/// Returns a description of `workdir` if it may not be a workdir, because it is a system folder, the home folder, the
/// current folder, or a folder that contains the current folder. Otherwise returns `None`.
fn protected_folder(workdir: &Path) -> Option<&'static str> {
    let folder = workdir.canonicalize().ok()?;
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    if SYSTEM.iter().any(|system| folder.starts_with(system)) || SHARED.iter().any(|shared| folder == Path::new(shared))
    {
        Some("a folder of the system")
    } else if home.is_some_and(|home| home == folder) {
        Some("your home folder")
    } else if here.is_some_and(|here| here.starts_with(&folder)) {
        Some("the folder that the command runs in, or holds that")
    } else {
        None
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns the absolute path of the folder from which a path of the input is read: the path itself if it is a folder,
/// otherwise its parent.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let folder = match path.parent() {
        _ if path.is_dir() => path,
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    folder.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_or_a_lock_marks_a_workdir() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        assert!(!is_of_a_job(folder.path()));
        write("manifest.json", "{}");
        write("lock", "mine");
        assert!(!is_of_a_job(folder.path()));
        write("lock", "00000000000000000017\n");
        assert!(is_of_a_job(folder.path()));
        write("lock", "mine");
        write("manifest.json", "{\n\"manifest\": {}}");
        assert!(is_of_a_job(folder.path()));
    }
}
