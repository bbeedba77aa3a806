//! Checks of stored results: the data with which a task checks its results, and the outcomes of the checks. `reread`
//! reads the ids and edges of an input again, and `edge_list` stores distinct edges in memory.

pub mod edge_list;
pub mod plain_search;
pub mod reread;

use super::edges::each_edge;
use super::row_parts::{RowPart, check_rows};
use crate::error::{At, Error, Result};
use crate::formats::Input;
use crate::graph::ids::Vertex;
use crate::list::List;
use crate::memory::Budget;
use crate::prepare::input_ids::InputIds;
use crate::prepare::names::lines::NameFile;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo};
use crate::process::signals;
use crate::results::{Output, OutputFormat, Value as Number, Values, column};
use crate::size;
use crate::store::checkpoint::Saved;
use crate::store::journal::Record;
use reread::{Ids, Tally};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Number of rows of a result column between two checks for signals.
const STRIDE: u64 = 1 << 20;

/// Where a check reads the edges of a graph.
pub enum EdgeSource<'a> {
    /// The input of the job, as it is now.
    Input(&'a Input),
    /// The blocks of a prepared graph, if the job does not read the input of that graph.
    Blocks(&'a Graph),
}

impl EdgeSource<'_> {
    /// Returns the host memory, in bytes, that a pass over the edges with `threads` threads takes.
    pub fn scratch_bytes(&self, threads: usize) -> u64 {
        match self {
            EdgeSource::Input(input) => input.scratch_bytes(threads),
            EdgeSource::Blocks(_) => 0,
        }
    }

    /// Returns the name of the source of edges for messages: "the input" or "the blocks".
    pub fn name(&self) -> &'static str {
        match self {
            EdgeSource::Input(_) => "the input",
            EdgeSource::Blocks(_) => "the blocks",
        }
    }
}

/// The stored results of one task, and the data against which they are checked.
pub struct Results<'a> {
    /// Path of the workdir.
    pub workdir: &'a Path,
    /// Statistics of the input, which the step `ingest` recorded.
    pub info: &'a InputInfo,
    /// Statistics of the blocks in which the graph is stored.
    pub stored: &'a StoreInfo,
    /// The result files of the task, by their paths in the workdir.
    pub outputs: &'a BTreeMap<String, Output>,
    /// Whether the last trial of the task is finished. Only the last trial writes result columns.
    pub done: bool,
    /// The edges of the graph, or a sentence that says why they are not available.
    pub edges: std::result::Result<EdgeSource<'a>, String>,
    /// The ids of the input, from the file `out/ids.txt`, if they are strings.
    pub names: Option<Arc<NameFile>>,
    /// Budget of host memory for the checks.
    pub budget: &'a Budget,
    /// Number of threads for the checks.
    pub threads: usize,
}

impl<'a> Results<'a> {
    /// Returns the edges against which result columns are checked, or a sentence that says why they can't be checked.
    pub fn edges_for_columns(&self) -> std::result::Result<&EdgeSource<'a>, String> {
        match &self.edges {
            _ if !self.done => Err("no column is written yet: the job is not done".into()),
            Err(why) => Err(format!("{why}; so they were not checked")),
            Ok(edges) => Ok(edges),
        }
    }

    /// Returns an error if less than `needed` bytes of memory are free. The error says how much memory a check needs.
    pub fn check_room(&self, needed: u64) -> std::result::Result<(), String> {
        match needed > self.budget.free() {
            true => Err(format!("a check takes {} of host memory: raise limits.host_memory", size::show(needed))),
            false => Ok(()),
        }
    }

    /// Reads a result column from the file `path` (without extension). Yields one value per vertex, in the order of
    /// `ids`. `missing` is the value of a vertex without a result. A NumPy file may have rows before the first vertex,
    /// which must contain `missing` too.
    ///
    /// # Errors
    /// [`Error::Validation`] if the task wrote no file `path`, or if a row before the first vertex has another value;
    /// errors of [`column()`].
    pub fn column<'p, T: Number + PartialEq + 'p>(
        &self,
        path: &str,
        ids: &'p Ids,
        missing: T,
    ) -> Result<Values<'p, T>> {
        let (format, file) =
            self.file(path).ok_or_else(|| Error::Validation(format!("no file of the column {path}")))?;
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        // Files in other formats name the vertex of each row, and have no rows before the first vertex.
        let before = if format == OutputFormat::Npy { self.info.rows_before() } else { 0 };
        let mut values =
            column::<T>(&self.workdir.join(&file), ["id", name], before + self.info.rows(), |row| ids.label(row))?;
        for row in 0..before {
            if let Some(value) = values.next().transpose()?.filter(|&value| value != missing) {
                let what =
                    format!("row {row}, which belongs to no vertex, has {}, not {}", value.shown(), missing.shown());
                return Err(Error::Validation(format!("{file}: {what}")));
            }
        }
        Ok(values)
    }

    /// Checks that every value of a result column equals the value that `expected` returns for its row. Rows before the
    /// first vertex must contain `missing`. `what` describes the expected values in error messages.
    ///
    /// # Errors
    /// [`Error::Validation`] for the first value that differs; errors of [`Self::column`]; [`Error::Stopped`].
    pub fn check_column<T: Number + PartialEq>(
        &self,
        path: &str,
        ids: &Ids,
        (missing, what): (T, &str),
        expected: impl Fn(u64) -> T,
    ) -> Result<()> {
        for (row, value) in (0..).zip(self.column(path, ids, missing)?) {
            let (value, right) = (value?, expected(row));
            if value != right {
                let file = self.file(path).map(|(_, file)| file).unwrap_or_default();
                let (id, right, value) = (ids.id(row), right.shown(), value.shown());
                return Err(Error::Validation(format!("vertex {id} has {right} {what}, {file} has {value}")));
            }
            if row % STRIDE == 0 {
                signals::check()?;
            }
        }
        Ok(())
    }

    /// Calls `edge` for every edge except self-loops, with the rows of its endpoints in result columns. In a directed
    /// graph, the tail comes first. Several threads call `edge`, each with its own copy of `state`. Returns the copies
    /// of all threads.
    ///
    /// # Errors
    /// [`Error::Validation`] if the input has other statistics than the job recorded; errors of reading the edges and
    /// of `edge`; [`Error::Limit`]; [`Error::Stopped`].
    pub fn each_edge<S: Clone + Send + Sync>(
        &self,
        edges: &EdgeSource<'_>,
        ids: &Ids,
        state: S,
        edge: impl Fn(&mut S, [u64; 2]) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let _reading = self.budget.reserve(edges.scratch_bytes(self.threads), "reading edges again")?;
        match edges {
            EdgeSource::Input(input) => {
                let states = vec![(Tally::default(), state); self.threads.max(1)];
                let (states, scan) = each_edge(input, states, |(tally, state), ends| {
                    tally.edge(ids, ends).map_or(Ok(()), |rows| edge(state, rows))
                })?;
                Tally::check(states.iter().map(|&(tally, _)| tally), &scan, input, ids, self.info)?;
                Ok(states.into_iter().map(|(_, state)| state).collect())
            }
            EdgeSource::Blocks(graph) => {
                let of_vertices = InputIds::open(graph, self.budget)?;
                let row = |v: u32| u64::from(of_vertices.dense(Vertex(v)).0);
                let of_part = |part: &RowPart<'_>, state: &mut S| {
                    part.each_row(graph.info.direction).try_for_each(|(v, is_in, neighbours)| {
                        let v = row(v);
                        let ends = |u: u32| if is_in { [row(u), v] } else { [v, row(u)] };
                        neighbours.iter().try_for_each(|&u| edge(state, ends(u)))
                    })
                };
                check_rows(&graph.block_store, self.threads, || state.clone(), of_part)?
            }
        }
    }

    /// Finds the file of the result column `path` if the column has a file of its own. Returns the file's format and
    /// its path in the workdir, or `None` if there is no such file.
    pub fn own_file(&self, path: &str) -> Option<(OutputFormat, String)> {
        let formats = [OutputFormat::Npy, OutputFormat::Csv, OutputFormat::Parquet];
        let mut files = formats.map(|format| (format, format!("{path}.{}", format.ending()))).into_iter();
        files.find(|(_, file)| self.outputs.contains_key(file))
    }

    /// Finds the file in which the task wrote the result column `path`: a file of its own, or a table of several
    /// columns. Returns the file's format and its path in the workdir, or `None` if there is no such file.
    pub fn file(&self, path: &str) -> Option<(OutputFormat, String)> {
        self.own_file(path).or_else(|| {
            // A Parquet table contains all columns of a source or of the task.
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let is_table = |file: &str| {
                let name = file.strip_suffix(".parquet");
                name.is_some_and(|name| {
                    name == folder || folder == "out" && name.rsplit_once('/').is_some_and(|(of, _)| of == folder)
                })
            };
            let table = self.outputs.keys().find(|file| is_table(file))?;
            Some((OutputFormat::Parquet, table.clone()))
        })
    }
}

/// The stored results of a task on a linked list, and the data against which they are checked.
pub struct ListResults<'a> {
    /// Path of the workdir.
    pub workdir: &'a Path,
    /// The result files of the task, by their paths in the workdir.
    pub outputs: &'a BTreeMap<String, Output>,
    /// Whether the last trial of the task is finished. Only the last trial writes the list ranks of the elements.
    pub done: bool,
    /// The linked list, or a sentence that says why it is not available.
    pub list: std::result::Result<&'a List, String>,
}

/// The saved progress of a task: a journal or a checkpoint whose checksums are intact.
pub struct StoredUnits<'a> {
    /// Path of the journal or checkpoint.
    pub path: &'a Path,
    /// Number of vertices with an edge, or of elements if the task's input is a list.
    pub vertices: u64,
    /// Number of units of work in a complete trial.
    pub total: u64,
    /// Contents of the journal or checkpoint.
    pub content: UnitsContent<'a>,
}

impl StoredUnits<'_> {
    /// Returns the saved checkpoint, for a task that has no journal.
    ///
    /// # Errors
    /// [`Error::Validation`] if the saved progress is a journal.
    pub fn checkpoint(&self) -> Result<&Saved> {
        match self.content {
            UnitsContent::Checkpoint(saved) => Ok(saved),
            UnitsContent::Records(_) => Err(Error::Validation(format!("{}: a journal", self.path.display()))),
        }
    }
}

/// Contents of a journal or of a checkpoint.
pub enum UnitsContent<'a> {
    /// The records of a journal, one for each finished unit of work.
    Records(&'a [Record]),
    /// The contents of a checkpoint.
    Checkpoint(&'a Saved),
}

/// The outcome of a check of stored results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// The check passed.
    Ok,
    /// The check failed.
    Failed,
    /// The check could not be performed.
    Skipped,
    /// Not the outcome of a check, but a remark that applies to all other checks.
    Warning,
}

/// A check of stored results, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Description of what was checked.
    pub what: String,
    /// Outcome of the check: whether it passed.
    pub outcome: CheckOutcome,
    /// Result of the check, in words.
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

type OnCheck<'a> = Box<dyn Fn(&Check) -> Result<()> + 'a>;

/// The checks of stored results so far, with their outcomes. Each is passed to a callback as soon as it is recorded.
pub struct Verdict<'a> {
    /// The checks in the order in which they were recorded.
    pub checks: Vec<Check>,
    on_check: OnCheck<'a>,
    first: Option<Error>,
}

impl<'a> Verdict<'a> {
    /// Creates a verdict without checks. `on_check` is called with each check as soon as it is recorded, for example
    /// to print it.
    pub fn new(on_check: impl Fn(&Check) -> Result<()> + 'a) -> Self {
        Verdict { checks: Vec::new(), on_check: Box::new(on_check), first: None }
    }

    /// Records the check `what`. `found` is a sentence about the result, or the error that says what is wrong.
    /// [`Error::Stopped`] is returned to the caller instead.
    ///
    /// # Errors
    /// Errors of the callback; [`crate::Error::Stopped`].
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

    /// Records the check `what` as one that could not be performed. `why` is the reason.
    ///
    /// # Errors
    /// Errors of the callback.
    pub fn skip(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, CheckOutcome::Skipped, why.into())
    }

    /// Records a remark that applies to all other checks.
    ///
    /// # Errors
    /// Errors of the callback.
    pub fn warn(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, CheckOutcome::Warning, why.into())
    }

    fn add(&mut self, what: &str, outcome: CheckOutcome, found: String) -> Result<()> {
        let check = Check { what: what.to_owned(), outcome, found };
        (self.on_check)(&check)?;
        self.checks.push(check);
        Ok(())
    }

    /// Returns an error if any check failed.
    ///
    /// # Errors
    /// The error of the first check that failed.
    pub fn result(self) -> Result<()> {
        self.first.map_or(Ok(()), Err)
    }
}
