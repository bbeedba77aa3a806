//! Removes the files of a job: either the files that can be rebuilt, or all of them. Files that gpugraph did not
//! write are never touched.

use crate::error::{Error, Result};
use crate::job::state::lock::{Lock, Reader};
use crate::job::state::manifest::Manifest;
use crate::job::state::workdir::{self, INTERMEDIATES, RESULTS, size_of_tree};
use crate::size;
use crate::store::replace::remove_leftovers;
use rayon::prelude::*;
use std::io::ErrorKind;
use std::path::Path;

/// Runs `gpugraph clean`: removes the prepared graph and, if the job is complete, its journals, checkpoints and
/// copies of input streams. With `all`, removes everything that a job wrote. Returns a description of what was
/// removed.
///
/// # Errors
/// [`Error::Usage`] for a folder that is not a workdir, [`Error::Busy`] while a job uses it or reads its graph,
/// [`Error::Io`].
pub fn command(workdir: &Path, all: bool) -> Result<String> {
    require_workdir(workdir)?;
    let _lock = Lock::acquire_to_remove(workdir)?;
    Reader::refuse(workdir)?;
    // A damaged manifest does not prove that the job is complete, so the journals and checkpoints are kept.
    let finished = Manifest::load(workdir).ok().flatten().is_some_and(|m| m.stopped.is_none());
    let mut freed = Vec::new();
    let mut take = |name: &str| -> Result<()> {
        let path = workdir.join(name);
        let bytes = size_of_tree(&path);
        if path.symlink_metadata().is_ok() {
            remove(&path)?;
            freed.push((name.to_owned(), bytes));
        }
        Ok(())
    };
    INTERMEDIATES.iter().try_for_each(|name| take(name))?;
    match (all, finished) {
        (true, _) => RESULTS.iter().try_for_each(|name| take(name))?,
        (false, true) => ["units", workdir::SPOOL].iter().try_for_each(|name| take(name))?,
        (false, false) => {}
    }
    remove_leftovers(workdir)?;
    let total = size::show(freed.iter().map(|(_, bytes)| bytes).sum());
    let list: Vec<String> = freed.iter().map(|(name, bytes)| format!("{name} ({})", size::show(*bytes))).collect();
    Ok(match list.as_slice() {
        [] => format!("{}: nothing to remove", workdir.display()),
        list => format!("{}: freed {total}: {}", workdir.display(), list.join(", ")),
    })
}

/// Returns an error for a folder in which no job ever ran, even if it contains files with the names that jobs use.
fn require_workdir(workdir: &Path) -> Result<()> {
    std::fs::read_dir(workdir).map_err(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => workdir::of_no_job(workdir),
        _ => Error::io("open the workdir", workdir, e),
    })?;
    if workdir::is_of_a_job(workdir) { Ok(()) } else { Err(workdir::of_no_job(workdir)) }
}

/// Removes the prepared graph.
///
/// # Errors
/// [`Error::Io`].
pub fn intermediates(workdir: &Path) -> Result<()> {
    INTERMEDIATES.iter().try_for_each(|name| remove(&workdir.join(name)))
}

/// Removes everything that a job wrote, and nothing else.
///
/// # Errors
/// [`Error::Io`].
pub fn everything(workdir: &Path) -> Result<()> {
    intermediates(workdir)?;
    RESULTS.iter().try_for_each(|name| remove(&workdir.join(name)))
}

/// Removes a file or a folder. A symbolic link is removed itself, not its target.
fn remove(path: &Path) -> Result<()> {
    let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let result = if is_folder { remove_tree(path) } else { std::fs::remove_file(path) };
    match result {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}

/// Removes a folder, using all threads. A single thread would take a second to free the page cache of 20 GB.
fn remove_tree(path: &Path) -> std::io::Result<()> {
    let entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    let files = entries.par_iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.for_each(|entry| {
        // Files that could not be removed here are reported by `remove_dir_all` below.
        let _ = std::fs::remove_file(entry.path());
    });
    std::fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_folder_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("graph")).expect("made");
        std::fs::write(folder.path().join("lock"), "mine").expect("written");
        std::fs::write(folder.path().join("manifest.json"), "{}").expect("written");
        assert_eq!(command(folder.path(), true).expect_err("foreign").exit_code(), 2);
        assert!(folder.path().join("graph").is_dir());
        assert_eq!(command(&folder.path().join("none"), true).expect_err("missing").exit_code(), 2);
        assert_eq!(command(&folder.path().join("lock"), true).expect_err("a file").exit_code(), 2);
    }

    #[test]
    fn results_stay_unless_all_is_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let workdir = folder.path();
        for name in ["graph", "units", "out", "mine"] {
            std::fs::create_dir(workdir.join(name)).expect("made");
            std::fs::write(workdir.join(name).join("file"), [0; 1000]).expect("written");
        }
        let mut manifest = Manifest::default();
        manifest.stopped = Some("a test".into());
        manifest.save(workdir).expect("written");
        let said = command(workdir, false).expect("cleaned");
        assert!(said.contains("graph (1000 B)"), "{said}");
        assert!(workdir.join("units/file").exists(), "an unfinished job keeps its units");
        manifest.stopped = None;
        manifest.save(workdir).expect("written");
        command(workdir, false).expect("cleaned");
        assert!(!workdir.join("units").exists() && workdir.join("out/file").exists());
        command(workdir, true).expect("cleaned");
        assert!(!workdir.join("out").exists() && workdir.join("mine/file").exists());
    }
}
