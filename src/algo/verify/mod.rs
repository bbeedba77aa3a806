//! Checks of results: what a task is lent for them, and the verdicts it gives. `reread` reads the ids and edges of an input again.

pub mod reread;

use crate::error::{At, Error, Result};
use crate::formats::Input;
use crate::list::List;
use crate::memory::Budget;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo};
use crate::results::{Output, OutputFormat, Value as Number, Values, column};
use crate::store::checkpoint::Saved;
use crate::store::journal::Record;
use reread::Ids;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The edges of a graph once more.
pub enum EdgeSource<'a> {
    /// The input, as it is now.
    Input(&'a Input),
    /// The blocks of a prepared graph, whose input is not this job's business.
    Blocks(&'a Graph),
}

/// The results of one task, and what they can be held against.
pub struct Results<'a> {
    /// The workdir.
    pub workdir: &'a Path,
    /// The facts that ingest found.
    pub info: &'a InputInfo,
    /// The facts about the blocks.
    pub stored: &'a StoreInfo,
    /// The files of the task, by their paths in the workdir.
    pub outputs: &'a BTreeMap<String, Output>,
    /// True if the last trial is done, which is the one that writes columns.
    pub done: bool,
    /// The edges; otherwise why they are not to be had, in words.
    pub edges: std::result::Result<EdgeSource<'a>, String>,
    /// Host memory for the checks.
    pub budget: &'a Budget,
    /// Threads for the checks.
    pub threads: usize,
}

impl Results<'_> {
    /// Reads the column whose file is `path`, without its ending: a value for each vertex, in the order of `ids`. `missing` is the value of a
    /// vertex that the algorithm says nothing of; rows before that of the first vertex have it as well.
    ///
    /// # Errors
    /// [`Error::Validation`] if the task has no such file, and for another value in a row before that of the first vertex; errors of [`column()`].
    pub fn column<'p, T: Number + PartialEq + 'p>(
        &self,
        path: &str,
        ids: &'p Ids,
        missing: T,
    ) -> Result<Values<'p, T>> {
        let (format, file) =
            self.file(path).ok_or_else(|| Error::Validation(format!("no file of the column {path}")))?;
        // Text names the vertex of each row and has no rows before the first.
        let before = if format == OutputFormat::Npy { self.info.rows_before() } else { 0 };
        let mut values = column::<T>(&self.workdir.join(&file), "id", before + self.info.rows(), |row| ids.id(row).0)?;
        for row in 0..before {
            if let Some(value) = values.next().transpose()?.filter(|&value| value != missing) {
                let what = format!("row {row}, which is of no vertex, has {} for {}", value.shown(), missing.shown());
                return Err(Error::Validation(format!("{file}: {what}")));
            }
        }
        Ok(values)
    }

    /// Returns the format and the path in the workdir of the file that the task wrote at `path`, which lacks the ending.
    pub fn file(&self, path: &str) -> Option<(OutputFormat, String)> {
        let files =
            [OutputFormat::Npy, OutputFormat::Csv].map(|format| (format, format!("{path}.{}", format.ending())));
        files.into_iter().find(|(_, file)| self.outputs.contains_key(file))
    }
}

/// The results of one task on a list, and what they can be held against.
pub struct ListResults<'a> {
    /// The workdir.
    pub workdir: &'a Path,
    /// The files of the task, by their paths in the workdir.
    pub outputs: &'a BTreeMap<String, Output>,
    /// True if the last trial is done, which is the one that writes ranks.
    pub done: bool,
    /// The list; otherwise why it is not to be had, in words.
    pub list: std::result::Result<&'a List, String>,
    /// Host memory for the checks.
    pub budget: &'a Budget,
    /// Threads for the checks.
    pub threads: usize,
}

/// A journal or checkpoint of a task, whole by its checksums.
pub struct StoredUnits<'a> {
    /// The file.
    pub path: &'a Path,
    /// Vertices that have an edge; of a list, its elements.
    pub vertices: u64,
    /// Units of a trial.
    pub total: u64,
    /// Its content.
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
pub enum Outcome {
    /// It holds.
    Ok,
    /// It does not.
    Failed,
    /// It could not be made.
    Skipped,
    /// No check, but something to know about all others.
    Warning,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The thing that was checked.
    pub what: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The finding, in words.
    pub found: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "skipped",
            Outcome::Warning => "warning",
        };
        write!(f, "{outcome:8}{:22} {}", self.what, self.found)
    }
}

type Tell<'a> = Box<dyn Fn(&Check) -> Result<()> + 'a>;

/// All checks so far, each told as it is made.
pub struct Verdict<'a> {
    /// The checks in order.
    pub checks: Vec<Check>,
    tell: Tell<'a>,
    first: Option<Error>,
}

impl<'a> Verdict<'a> {
    /// Begins without a check; `tell` is called with each.
    pub fn new(tell: impl Fn(&Check) -> Result<()> + 'a) -> Self {
        Verdict { checks: Vec::new(), tell: Box::new(tell), first: None }
    }

    /// Notes a check: what was found in words, or the error that says what is wrong.
    ///
    /// # Errors
    /// Errors of reporting; [`crate::Error::Stopped`].
    pub fn note(&mut self, what: &str, found: Result<String>) -> Result<()> {
        let is_missing = found.as_ref().is_err_and(Error::is_missing);
        match found {
            Ok(found) => self.add(what, Outcome::Ok, found),
            Err(e @ Error::Stopped(_)) => Err(e),
            Err(Error::Io { path, .. }) if is_missing => {
                self.note(what, Err(Error::corrupt(path, At::File, "missing, where the manifest has it")))
            }
            Err(e) => {
                let told = self.add(what, Outcome::Failed, e.to_string());
                self.first.get_or_insert(e);
                told
            }
        }
    }

    /// Notes a check that could not be made.
    ///
    /// # Errors
    /// Errors of reporting.
    pub fn skip(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, Outcome::Skipped, why.into())
    }

    /// Notes what is to be known of the other checks.
    ///
    /// # Errors
    /// Errors of reporting.
    pub fn warn(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, Outcome::Warning, why.into())
    }

    fn add(&mut self, what: &str, outcome: Outcome, found: String) -> Result<()> {
        let check = Check { what: what.to_owned(), outcome, found };
        (self.tell)(&check)?;
        self.checks.push(check);
        Ok(())
    }

    /// The first thing that was wrong, if any.
    ///
    /// # Errors
    /// That of the first check that failed.
    pub fn result(self) -> Result<()> {
        self.first.map_or(Ok(()), Err)
    }
}
