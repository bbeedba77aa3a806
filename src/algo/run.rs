//! Resources that a job passes to an algorithm for one trial. The job opens all files, so algorithms open none
//! themselves.

use super::device::Devices;
use super::energy::Meters;
use crate::comm::Comm;
use crate::error::Result;
use crate::formats::Input;
use crate::memory::Budget;
use crate::process::progress::StageProgress;
use crate::results::Columns;
use crate::store::checkpoint::Checkpoint;
use crate::store::journal::{self, Journal, Record, distinct};
use crate::store::replace::{make_folder, remove_folder};
use std::path::{Path, PathBuf};

/// The communicator, threads, memory, devices and files that an algorithm uses in one trial.
pub struct Run<'a> {
    /// Communicator of all ranks. Each of them runs the algorithm.
    pub comm: &'a Comm,
    /// Number of threads that this rank may use.
    pub threads: usize,
    /// Budget of host memory, from which the algorithm allocates.
    pub budget: &'a Budget,
    /// Devices that the trial may compute on.
    pub devices: &'a Devices<'a>,
    /// Number of finished units of work, which the progress display shows.
    pub progress: &'a StageProgress,
    /// Writer of result columns, for rank 0 only.
    pub columns: Columns<'a>,
    /// Whether this is the last trial, whose results are kept.
    pub is_last: bool,
    /// Function that opens the input again, to read its edges with self-loops and repeated edges but without weights.
    /// `None` for a list, and for a graph that another job prepared. The input may have changed, so the algorithm must
    /// compare the checksum of what it reads with the checksum of the graph.
    pub input: Option<&'a dyn Fn() -> Result<Input>>,
    /// Paths of the trial's journals and checkpoints.
    pub units: Units<'a>,
    /// Time that this job took to prepare the graph, in seconds.
    pub construction: f64,
    /// Energy meters, if the job measures energy. Either all ranks have meters or none has.
    pub meters: Option<&'a Meters>,
}

/// Names of the journal, the checkpoint and the folder of files in which one trial stores finished units of work.
#[derive(Debug, Clone, Copy)]
pub struct Units<'a> {
    /// Folder of the trial's journals and checkpoints.
    pub folder: &'a Path,
    /// Name of the algorithm.
    pub algorithm: &'a str,
    /// 0-based index of the trial.
    pub trial: u32,
    /// Key of the task's stage: a hash of everything that its results depend on.
    pub key: u64,
}

/// Kind of a file or folder in which a trial stores finished units of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitsKind {
    /// Journal, named `ALGORITHM.TRIAL`: the results of finished units of work, one record after the other.
    Journal,
    /// Checkpoint, named `ALGORITHM.TRIAL.checkpoint`: the algorithm's arrays, and the numbers of the finished units of
    /// work.
    Checkpoint,
    /// Folder, named `ALGORITHM.TRIAL.files`: the algorithm's own files for data that does not fit in memory.
    Files,
}

impl Units<'_> {
    /// Parses the name of a file or folder with units of work into the name of the algorithm, the index of the trial
    /// and the kind of the file.
    pub fn named(file: &str) -> Option<(&str, u32, UnitsKind)> {
        let (algorithm, rest) = file.split_once('.')?;
        match rest.split_once('.') {
            None => Some((algorithm, rest.parse().ok()?, UnitsKind::Journal)),
            Some((trial, "checkpoint")) => Some((algorithm, trial.parse().ok()?, UnitsKind::Checkpoint)),
            Some((trial, "files")) => Some((algorithm, trial.parse().ok()?, UnitsKind::Files)),
            Some(_) => None,
        }
    }

    fn path(&self, kind: UnitsKind) -> PathBuf {
        let ending = match kind {
            UnitsKind::Journal => "",
            UnitsKind::Checkpoint => ".checkpoint",
            UnitsKind::Files => ".files",
        };
        self.folder.join(format!("{}.{}{ending}", self.algorithm, self.trial))
    }

    /// Returns the journal's records of finished units of work, or no records if there is no journal with this key.
    /// Does not change the journal, because another process may be writing it.
    pub fn peek(&self) -> Vec<Record> {
        journal::peek(&self.path(UnitsKind::Journal), self.key).map(|peek| distinct(&peek.records)).unwrap_or_default()
    }

    /// Opens the trial's journal. Returns it with the records of finished units of work. For rank 0 only.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn journal(&self) -> Result<(Journal, Vec<Record>)> {
        let (journal, records) = Journal::open(&self.path(UnitsKind::Journal), self.key)?;
        Ok((journal, distinct(&records)))
    }

    /// Returns the trial's checkpoint, which may not exist yet. For rank 0 only.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint::new(self.path(UnitsKind::Checkpoint), self.key)
    }

    /// Returns the folder for the algorithm's own files, and creates it if necessary. The folder may contain files of
    /// earlier jobs with other keys. For rank 0 only.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn files(&self) -> Result<PathBuf> {
        let folder = self.path(UnitsKind::Files);
        make_folder(&folder)?;
        Ok(folder)
    }

    /// Removes the folder with the algorithm's own files, if it exists. For rank 0 only.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn remove_files(&self) -> Result<()> {
        remove_folder(&self.path(UnitsKind::Files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_of_units_say_what_they_are() {
        assert_eq!(Units::named("triangle.0"), Some(("triangle", 0, UnitsKind::Journal)));
        assert_eq!(Units::named("sums.12.checkpoint"), Some(("sums", 12, UnitsKind::Checkpoint)));
        assert_eq!(Units::named("listrank.0.files"), Some(("listrank", 0, UnitsKind::Files)));
        for other in ["triangle", "triangle.x", "triangle.0.tmp-1", "triangle.0.checkpoint.tmp-2", ""] {
            assert_eq!(Units::named(other), None, "{other}");
        }
    }
}
