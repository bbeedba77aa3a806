//! The trait that every algorithm implements.

use super::cost::{Cost, RankResources};
use super::input::{Input, ResultsOf, SizeOf};
use super::run::Run;
use super::sources::NamedVertex;
use super::verify::{StoredUnits, Verdict};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::list::List;
use crate::prepare::prepared::Graph;
use crate::results::about::About;
use crate::store::journal::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// An algorithm with its options. A value of the implementing type contains the options from the algorithm's table in a
/// job file, with defaults for omitted options.
///
/// The serialised options are part of the key under which a job stores results, so a job with other options computes
/// the results anew. Options that are not serialised do not affect the key.
pub trait Algorithm: Debug + Serialize + DeserializeOwned + Send + Sync + Sized + 'static {
    /// Name of the algorithm. Its table in a job file, its stage in a job, its object in the report and its folder in
    /// `out/` have the same name.
    const NAME: &'static str;
    /// One phrase that says what the algorithm computes.
    const ABOUT: &'static str;
    /// Keys of the algorithm's table in a job file.
    const KEYS: &'static [&'static dyn AnyKey];
    /// Result columns that the algorithm may write to `out/`. The name of a column is its file name without the
    /// extension.
    const COLUMNS: &'static [About] = &[];
    /// Keys of the algorithm's table that are mutually exclusive. If an override sets one of them, it replaces the
    /// others in the job file.
    const ALTERNATIVES: &'static [&'static str] = &[];
    /// GPU programs that the algorithm may launch. An algorithm whose programs depend on its options implements
    /// [`Self::programs`] instead.
    const PROGRAMS: &'static [&'static ProgramSource] = &[];

    /// Kind of input of the algorithm: [`Graph`] or [`List`].
    type Input: Input;
    /// Result of a trial (one run of the algorithm). Every trial must find the same result.
    type Output: Debug + PartialEq + Serialize + DeserializeOwned;
    /// Times and counters of a trial (one run of the algorithm). The job stores the details of the last trial.
    type Details: Debug + Serialize + DeserializeOwned;

    /// Parses the algorithm's table in a job file. If the table has mistakes, reports them to `diagnostics` and returns
    /// `None`.
    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Returns the components of a prepared graph that the algorithm reads in addition to the lower half of rows (the
    /// neighbours of each vertex that have smaller ids).
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Returns the vertices that the algorithm's table names, such as sources. If the input lacks one of them, the job
    /// stops before it prepares the graph.
    fn named_vertices(&self) -> Vec<NamedVertex> {
        Vec::new()
    }

    /// Returns the reason why the algorithm does not support graphs of the given direction (directed or undirected), or
    /// `None` if it supports them.
    fn refuses(&self, _direction: Direction) -> Option<&'static str> {
        None
    }

    /// Returns the GPU programs that the algorithm may launch if it runs on `ranks` ranks. When the job starts, it
    /// begins to compile those that are not in the cache of compiled programs.
    fn programs(&self, _ranks: usize) -> Vec<&'static ProgramSource> {
        Self::PROGRAMS.to_vec()
    }

    /// Returns GPU programs that the algorithm launches only rarely. Such a program is compiled when a run first needs
    /// it.
    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        Vec::new()
    }

    /// Returns the number of work units of one trial, for the progress display. `size` is the number of blocks of rows
    /// of a graph, or the number of elements of a list.
    fn units(&self, size: u64) -> u64;

    /// Returns the smallest GPU memory, in bytes, with which one of `ranks` ranks can run the algorithm. Returns `None`
    /// if the algorithm does not use a GPU.
    fn least_gpu_memory(&self, _size: SizeOf<'_, '_, Self::Input>, _ranks: usize) -> Option<u64> {
        None
    }

    /// Returns the host memory, in bytes, that the algorithm needs while a GPU computes on rows that are stored in host
    /// memory instead of files. The rows themselves are not included. `sizes` are upper bounds on the sizes of the
    /// blocks of rows, and `bytes` is the GPU memory, in bytes, that is left for the algorithm. Returns `None` if the
    /// algorithm does not support rows in host memory.
    fn extra_host_bytes(&self, _layout: &Layout, _sizes: &[BlockSize], _bytes: u64) -> Option<u64> {
        None
    }

    /// Returns true if a GPU with `bytes` bytes of memory can run the algorithm on packed (compressed) rows in host
    /// memory. The graph is undirected and has `vertices` vertices and `edges` edges.
    fn takes_packed(&self, _vertices: u64, _edges: u64, _bytes: u64) -> bool {
        false
    }

    /// Returns the memory, disk space and time that the algorithm needs for an input of size `size`, and the number of
    /// bytes that ranks exchange. The result is an upper bound if `size` contains upper bounds instead of exact
    /// numbers.
    fn cost(&self, size: SizeOf<'_, '_, Self::Input>, resources: &RankResources) -> Cost;

    /// Runs the algorithm once (a trial), or completes a trial that an earlier run of the job began. Collective: all
    /// ranks must call it.
    ///
    /// # Errors
    /// Errors of the algorithm and of reading its input; an error if the run was asked to stop.
    fn run(&self, input: <Self::Input as Input>::Of<&Graph, &List>, run: &mut Run<'_>) -> Result<TrialOf<Self>>;

    /// Checks the result of the algorithm by an independent method. Records each check and its outcome in `verdict`.
    ///
    /// # Errors
    /// Errors of `verdict`; an error if the run was asked to stop.
    fn verify(
        &self,
        results: ResultsOf<'_, '_, Self::Input>,
        trial: TrialRef<'_, Self>,
        verdict: &mut Verdict<'_>,
    ) -> Result<()>;

    /// Checks that the journal or checkpoint in `units` is consistent, and that it matches `output`, the result of the
    /// finished trial, if any. Returns a description of its contents.
    ///
    /// # Errors
    /// [`Error::Validation`](crate::Error::Validation) and [`Error::Corrupt`](crate::Error::Corrupt), which say what is
    /// wrong.
    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&Self::Output>) -> Result<String>;

    /// Returns the answer that the log prints for a result. `details` is `None` if another version of the program wrote
    /// them.
    fn answer(&self, output: &Self::Output, details: Option<&Self::Details>) -> Answer;

    /// Describes a result of the algorithm in sentences, for readers who know the problem but not the program.
    fn sentences(output: &Self::Output) -> Vec<String>;

    /// Returns the charts that the report shows for a result.
    fn figures(_output: &Self::Output, _details: &Self::Details) -> Vec<Figure> {
        Vec::new()
    }

    /// Returns charts of an unfinished trial. `units` contains the journal records so far: one for each finished work
    /// unit, of `total` units.
    fn figures_so_far(&self, _units: &[Record], _total: u64) -> Vec<Figure> {
        Vec::new()
    }
}

/// Result, details and duration of a trial of the algorithm `A`.
pub type TrialOf<A> = Trial<<A as Algorithm>::Output, <A as Algorithm>::Details>;

/// References to the result and the details of a trial of the algorithm `A`.
pub type TrialRef<'t, A> = (&'t <A as Algorithm>::Output, &'t <A as Algorithm>::Details);

/// Result, details and duration of a trial (one run of an algorithm).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial<O, D> {
    /// Result of the trial.
    pub output: O,
    /// Times and counters of the trial.
    pub details: D,
    /// Duration of the trial in seconds, including its time in earlier runs of the job.
    pub seconds: f64,
}

/// Components of a prepared graph that a task reads in addition to the lower half of rows. The lower half of a vertex's
/// row contains the neighbours that have smaller ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether the task reads the vertex degrees, without self-loops and repeated edges.
    pub degrees: bool,
    /// Whether the task reads the order of vertices (the vertex of each input id). It is needed to write results in the
    /// order of the input's ids.
    pub order: bool,
    /// Whether the task reads the upper half of rows, which contains the neighbours that have larger ids than the
    /// vertex.
    pub upper: bool,
    /// Whether the task reads out-edges and in-edges of a directed graph separately. Otherwise it reads rows of all
    /// neighbours.
    pub direction: bool,
    /// Whether the task reads the edge weights of the input.
    pub weights: bool,
    /// Whether the task reads the input again, because it needs the self-loops and repeated edges that a prepared graph
    /// lacks.
    pub input: bool,
}

/// The answer of a task in words, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The requested result, such as `triangles 45`.
    pub main: String,
    /// Rest of the log line after the requested result. It ends in the verb that precedes the time, such as
    /// `transitivity 0.25 counted`.
    pub more: String,
    /// Lines in a format that other programs expect. The log prints them after the answers of all tasks.
    pub block: Option<String>,
}
