//! Checks of results: what a task receives to check them, and its verdict. `reread` reads the ids and edges of an input
//! again.

pub mod reread;

use crate::error::{At, Error, Result};
use crate::formats::Input;
use crate::list::List;
use crate::memory::Budget;
use crate::prepare::names::lines::NameFile;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo};
use crate::results::{Output, OutputFormat, Value as Number, Values, column};
use crate::store::checkpoint::Saved;
use crate::store::journal::Record;
use reread::Ids;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Source of the edges of a graph for a check.
pub enum EdgeSource<'a> {
    /// The input, as it is now.
    Input(&'a Input),
    /// The blocks of a prepared graph, whose input this job does not read.
    Blocks(&'a Graph),
}

impl EdgeSource<'_> {
    /// Returns the bytes of memory for a pass over the edges with `threads` threads.
    pub fn scratch_bytes(&self, threads: usize) -> u64 {
        match self {
            EdgeSource::Input(input) => input.scratch_bytes(threads),
            EdgeSource::Blocks(_) => 0,
        }
    }

    /// Returns a name of the source for messages.
    pub fn name(&self) -> &'static str {
        match self {
            EdgeSource::Input(_) => "the input",
            EdgeSource::Blocks(_) => "the blocks",
        }
    }
}

/// The results of one task, and what they can be checked against.
pub struct Results<'a> {
    /// Path of the workdir.
    pub workdir: &'a Path,
    /// The facts that ingest found about the input.
    pub info: &'a InputInfo,
    /// The facts about the stored blocks.
    pub stored: &'a StoreInfo,
    /// The files of the task, by their paths in the workdir.
    pub outputs: &'a BTreeMap<String, Output>,
    /// Whether the last trial is done, which writes the columns.
    pub done: bool,
    /// The edges; or a sentence that says why they are not available.
    pub edges: std::result::Result<EdgeSource<'a>, String>,
    /// The ids of the input, if they are strings, as they stand in `out/ids.txt`.
    pub names: Option<Arc<NameFile>>,
    /// Host memory for the checks.
    pub budget: &'a Budget,
    /// Threads for the checks.
    pub threads: usize,
}

impl Results<'_> {
    /// Reads the column with the file name `path` (without extension): one value per vertex, in the order of `ids`.
    /// `missing` is the value of vertices for which the algorithm has no result. Rows before the first vertex must also
    /// have it.
    ///
    /// # Errors
    /// [`Error::Validation`] if the task has no such file, or if a row before the first vertex has another value;
    /// errors of [`column()`].
    pub fn column<'p, T: Number + PartialEq + 'p>(
        &self,
        path: &str,
        ids: &'p Ids,
        missing: T,
    ) -> Result<Values<'p, T>> {
        let (format, file) =
            self.file(path).ok_or_else(|| Error::Validation(format!("no file of the column {path}")))?;
        // Text files name the vertex of each row and have no rows before the first vertex.
        let before = if format == OutputFormat::Npy { self.info.rows_before() } else { 0 };
        let mut values = column::<T>(&self.workdir.join(&file), "id", before + self.info.rows(), |row| ids.label(row))?;
        for row in 0..before {
            if let Some(value) = values.next().transpose()?.filter(|&value| value != missing) {
                let what =
                    format!("row {row}, which belongs to no vertex, has {}, not {}", value.shown(), missing.shown());
                return Err(Error::Validation(format!("{file}: {what}")));
            }
        }
        Ok(values)
    }

    /// Returns the format, and the path in the workdir, of the file that the task wrote at `path` (without extension).
    pub fn file(&self, path: &str) -> Option<(OutputFormat, String)> {
        let files =
            [OutputFormat::Npy, OutputFormat::Csv].map(|format| (format, format!("{path}.{}", format.ending())));
        files.into_iter().find(|(_, file)| self.outputs.contains_key(file))
    }
}

/// The results of one task on a list, and what they can be checked against.
pub struct ListResults<'a> {
    /// Path of the workdir.
    pub workdir: &'a Path,
    /// The files of the task, by their paths in the workdir.
    pub outputs: &'a BTreeMap<String, Output>,
    /// Whether the last trial is done, which writes the ranks.
    pub done: bool,
    /// The list; or a sentence that says why it is not available.
    pub list: std::result::Result<&'a List, String>,
}

/// A journal or checkpoint of a task, whose checksums are intact.
pub struct StoredUnits<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Number of vertices with an edge; for a list, number of elements.
    pub vertices: u64,
    /// Number of units of a trial.
    pub total: u64,
    /// The content of the file.
    pub content: UnitsContent<'a>,
}

/// The content of a journal or of a checkpoint.
pub enum UnitsContent<'a> {
    /// The records of a journal, one for each unit.
    Records(&'a [Record]),
    /// A checkpoint.
    Checkpoint(&'a Saved),
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// The check passed.
    Ok,
    /// The check failed.
    Failed,
    /// The check could not be made.
    Skipped,
    /// Not a check, but a remark that concerns all others.
    Warning,
}

/// A check and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// Outcome of the check.
    pub outcome: CheckOutcome,
    /// The finding, in words.
    pub found: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            CheckOutcome::Ok => "ok",
            CheckOutcome::Failed => "FAILED",
            CheckOutcome::Skipped => "skipped",
            CheckOutcome::Warning => "warning",
        };
        write!(f, "{outcome:8}{:22} {}", self.what, self.found)
    }
}

type Tell<'a> = Box<dyn Fn(&Check) -> Result<()> + 'a>;

/// All checks so far. Each is reported as it is made.
pub struct Verdict<'a> {
    /// The checks in order.
    pub checks: Vec<Check>,
    tell: Tell<'a>,
    first: Option<Error>,
}

impl<'a> Verdict<'a> {
    /// Creates a verdict without checks. `tell` is called with each check.
    pub fn new(tell: impl Fn(&Check) -> Result<()> + 'a) -> Self {
        Verdict { checks: Vec::new(), tell: Box::new(tell), first: None }
    }

    /// Records a check: either a description of the finding, or the error that says what is wrong.
    ///
    /// # Errors
    /// Errors of reporting; [`crate::Error::Stopped`].
    pub fn note(&mut self, what: &str, found: Result<String>) -> Result<()> {
        let is_missing = found.as_ref().is_err_and(Error::is_missing);
        match found {
            Ok(found) => self.add(what, CheckOutcome::Ok, found),
            Err(e @ Error::Stopped(_)) => Err(e),
            Err(Error::Io { path, .. }) if is_missing => {
                self.note(what, Err(Error::corrupt(path, At::File, "missing, although the manifest lists it")))
            }
            Err(e) => {
                let reported = self.add(what, CheckOutcome::Failed, e.to_string());
                self.first.get_or_insert(e);
                reported
            }
        }
    }

    /// Records a check that could not be made.
    ///
    /// # Errors
    /// Errors of reporting.
    pub fn skip(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, CheckOutcome::Skipped, why.into())
    }

    /// Records a remark that concerns the other checks.
    ///
    /// # Errors
    /// Errors of reporting.
    pub fn warn(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, CheckOutcome::Warning, why.into())
    }

    fn add(&mut self, what: &str, outcome: CheckOutcome, found: String) -> Result<()> {
        let check = Check { what: what.to_owned(), outcome, found };
        (self.tell)(&check)?;
        self.checks.push(check);
        Ok(())
    }

    /// Returns the first error, if any check failed.
    ///
    /// # Errors
    /// The error of the first check that failed.
    pub fn result(self) -> Result<()> {
        self.first.map_or(Ok(()), Err)
    }
}
