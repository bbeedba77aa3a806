//! The means that a job lends a task for one trial. An algorithm opens no file of its own.

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

/// The ranks, threads, memory and devices of one trial, and the files that it leaves.
pub struct Run<'a> {
    /// All ranks: each runs the task.
    pub comm: &'a Comm,
    /// Threads of this rank.
    pub threads: usize,
    /// Host memory that is left.
    pub budget: &'a Budget,
    /// The devices that it may compute on.
    pub devices: &'a Devices<'a>,
    /// Units done, for those who wait.
    pub progress: &'a StageProgress,
    /// Writes results; used by rank 0 alone.
    pub columns: Columns<'a>,
    /// True for the trial whose results stay.
    pub is_last: bool,
    /// Opens the edges of the input once more, with loops and repeats but without weights; nothing for a list, or a graph that another job
    /// prepared. The input may have changed meanwhile: a pass compares its checksum with that of the graph.
    pub input: Option<&'a dyn Fn() -> Result<Input>>,
    /// The place of its journals and checkpoints.
    pub units: Units<'a>,
    /// Seconds that this job took to prepare the graph.
    pub construction: f64,
    /// Meters of energy, if the job asks for that: on all ranks, or on none.
    pub meters: Option<&'a Meters>,
}

/// Threads and host memory of a rank that computes on its CPU.
#[derive(Clone, Copy)]
pub struct CpuResources<'a> {
    /// Threads.
    pub threads: usize,
    /// Host memory that is left.
    pub budget: &'a Budget,
    /// Bytes of it that stay free.
    pub spare: u64,
}

impl<'a> Run<'a> {
    /// Returns what this rank's CPU computes with, where `spare` bytes of host memory stay free.
    pub fn on_cpu(&self, spare: u64) -> CpuResources<'a> {
        CpuResources { threads: self.threads, budget: self.budget, spare }
    }
}

/// The journal and the checkpoint of a trial: both are of the graph, the table and the number of the trial.
#[derive(Debug, Clone, Copy)]
pub struct Units<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// Name of the algorithm.
    pub algorithm: &'a str,
    /// Number of the trial, from 0.
    pub trial: u32,
    /// The stage's key.
    pub key: u64,
}

/// The kind of a file of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ALGORITHM.TRIAL`: the results of units, one after the other.
    Journal,
    /// `ALGORITHM.TRIAL.checkpoint`: arrays with the units in them.
    Checkpoint,
    /// `ALGORITHM.TRIAL.files`: a folder of the algorithm's own files, for what does not fit memory.
    Files,
}

impl Units<'_> {
    /// Returns the algorithm, the trial and the kind that the name of a file of units says.
    pub fn named(file: &str) -> Option<(&str, u32, Kind)> {
        let (algorithm, rest) = file.split_once('.')?;
        match rest.split_once('.') {
            None => Some((algorithm, rest.parse().ok()?, Kind::Journal)),
            Some((trial, "checkpoint")) => Some((algorithm, trial.parse().ok()?, Kind::Checkpoint)),
            Some((trial, "files")) => Some((algorithm, trial.parse().ok()?, Kind::Files)),
            Some(_) => None,
        }
    }

    fn path(&self, kind: Kind) -> PathBuf {
        let ending = match kind {
            Kind::Journal => "",
            Kind::Checkpoint => ".checkpoint",
            Kind::Files => ".files",
        };
        self.folder.join(format!("{}.{}{ending}", self.algorithm, self.trial))
    }

    /// Returns the records of the units that are done, without changing the journal: its job may be at work. They are none where there is no
    /// journal of this key.
    pub fn peek(&self) -> Vec<Record> {
        journal::peek(&self.path(Kind::Journal), self.key).map(|peek| distinct(&peek.records)).unwrap_or_default()
    }

    /// Opens the journal and returns with it the records of the units that are done. For rank 0 alone.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn journal(&self) -> Result<(Journal, Vec<Record>)> {
        let (journal, records) = Journal::open(&self.path(Kind::Journal), self.key)?;
        Ok((journal, distinct(&records)))
    }

    /// Returns the checkpoint, which may not be there yet. For rank 0 alone.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint::new(self.path(Kind::Checkpoint), self.key)
    }

    /// Returns the folder of the algorithm's own files, which is made if it is not there. What is in it is of any key. For rank 0 alone.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn files(&self) -> Result<PathBuf> {
        let folder = self.path(Kind::Files);
        make_folder(&folder)?;
        Ok(folder)
    }

    /// Removes that folder, if it is there. For rank 0 alone.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn remove_files(&self) -> Result<()> {
        remove_folder(&self.path(Kind::Files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_of_units_say_what_they_are() {
        assert_eq!(Units::named("triangle.0"), Some(("triangle", 0, Kind::Journal)));
        assert_eq!(Units::named("sums.12.checkpoint"), Some(("sums", 12, Kind::Checkpoint)));
        assert_eq!(Units::named("listrank.0.files"), Some(("listrank", 0, Kind::Files)));
        for other in ["triangle", "triangle.x", "triangle.0.tmp-1", "triangle.0.checkpoint.tmp-2", ""] {
            assert_eq!(Units::named(other), None, "{other}");
        }
    }
}
