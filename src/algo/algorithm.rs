//! An algorithm and a table of its own, as a job knows them.

use super::cost::{Cost, Crew, GraphSize};
use super::run::Run;
use super::searches::{figures, sentences};
use super::sources::Named;
use super::verify::{ListResults, Results, StoredUnits, Verdict};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{Diagnostics, Section};
use crate::list::List;
use crate::prepare::prepared::Graph;
use crate::store::journal::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// An algorithm, as the registry has it.
pub trait Algorithm: Sync {
    /// Name of its table, its stage, its object among the results, and its folder in `out/`.
    fn name(&self) -> &'static str;

    /// The kind of input that its tasks compute on.
    fn input(&self) -> InputKind {
        InputKind::Graph
    }

    /// Keys of its table.
    fn keys(&self) -> &'static [&'static str];

    /// Keys of which a table has one at most: an override by one of them rules out what the job file says by another.
    fn alternatives(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads its table. What is wrong goes to `diagnostics`; `None` then.
    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>>;

    /// Returns pictures of a result: `result` is its object among the results of the report, `found` and `how` of an [`Outcome`] together. What
    /// it lacks, as one of another version may, has no picture.
    fn figures(&self, result: &Value) -> Vec<Figure> {
        figures::of_result(result)
    }

    /// Returns a result in sentences, for people who know the problem and not the program. `result` is as for [`Algorithm::figures`]; what it lacks
    /// has no sentence.
    fn sentences(&self, result: &Value) -> Vec<String> {
        sentences::of_result(result)
    }

    /// Returns the task of a table as [`Task::table`] gave it, by [`recall`] of its type; `None` for one of another version.
    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>>;
}

/// Returns the task of type `T` whose table this is; `None` where it has other keys, or values that `T` has not.
pub fn recall<T: Task + DeserializeOwned + 'static>(table: &Value) -> Option<Arc<dyn Task>> {
    let task: T = serde_json::from_value(table.clone()).ok()?;
    // Numbers may have lost a bit on their way through text, but keys that `T` does not have are lost now.
    let own = task.table();
    own.as_object()?.keys().eq(table.as_object()?.keys()).then(|| Arc::new(task) as Arc<dyn Task>)
}

/// One table of a job: what to compute. Limits, devices and ranks are none of it.
pub trait Task: Debug + Send + Sync {
    /// Whose table it is.
    fn algorithm(&self) -> &'static dyn Algorithm;

    /// Returns the table with every default filled in. It goes into the stage's key: what differs here is computed anew.
    fn table(&self) -> Value;

    /// Returns the task by the kind of input that it computes on.
    fn on(&self) -> On<'_>;

    /// Programs that it launches on a GPU.
    fn programs(&self) -> &'static [&'static ProgramSource];

    /// Checks what is stored of units against itself and against the result, if there is one already; says what it found.
    ///
    /// # Errors
    /// A sentence with what is wrong.
    fn verify_units(&self, units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String>;

    /// Returns what is known of a task that is not done, for [`Algorithm::figures`]: fields as a result has them, by the units that its journal
    /// has of `total`.
    fn so_far(&self, _units: &[Record], _total: u64) -> Value {
        Value::Null
    }

    /// Returns the answer as people read it; `found` and `how` are those of an [`Outcome`].
    fn answer(&self, found: &Value, how: &Value) -> Answer;
}

/// A task by the kind of its input.
#[derive(Clone, Copy)]
pub enum On<'a> {
    /// It computes on a prepared graph.
    Graph(&'a dyn GraphTask),
    /// It computes on a list, which nothing is prepared of.
    List(&'a dyn ListTask),
}

/// The kind of input that an algorithm computes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Edges of a graph.
    Graph,
    /// The successors of a list's elements.
    List,
}

/// A task on a graph.
pub trait GraphTask: Task {
    /// Returns what of the prepared graph it reads beside the blocks.
    fn needs(&self) -> Needs;

    /// Returns the vertices that its table names. One that the input lacks is refused before rows are made.
    fn named(&self) -> Vec<Named> {
        Vec::new()
    }

    /// Returns why it computes nothing on edges that have a direction, or on those that have none; nothing if it does.
    fn refuses(&self, _direction: Direction) -> Option<&'static str> {
        None
    }

    /// Returns the number of units in a graph of so many blocks, for progress.
    fn units(&self, blocks: u64) -> u64;

    /// Fewest bytes of GPU memory of one of `ranks` ranks on a graph of this size whose longest row has `row` entries; `None` where it does not use one.
    fn least_gpu_memory(&self, row: u64, graph: &GraphSize<'_>, ranks: usize) -> Option<u64>;

    /// Returns the bytes of host memory that it takes beside rows that stay in memory and never become files, if a GPU computes it on
    /// such rows: blocks of `sizes` at most, where `bytes` bytes of GPU memory are left beside them. `None` where none does.
    fn beside_rows(&self, _layout: &Layout, _sizes: &[BlockSize], _bytes: u64) -> Option<u64> {
        None
    }

    /// Returns true if a GPU of `bytes` bytes of memory computes it on rows that are packed in host memory, of a graph without direction of so
    /// many vertices and edges.
    fn takes_packed(&self, _vertices: u64, _edges: u64, _bytes: u64) -> bool {
        false
    }

    /// Returns what it takes on a graph of this size, bounds or truth, by these ranks.
    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost;

    /// Computes one trial, or what an earlier run left of it. Collective.
    ///
    /// # Errors
    /// Those of the algorithm; a stop.
    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome>;

    /// Checks a result by an independent method.
    ///
    /// # Errors
    /// Those of telling, and a stop; what is wrong goes to `verdict`.
    fn verify(&self, results: &Results<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()>;
}

/// A task on a list.
pub trait ListTask: Task {
    /// Fewest bytes of GPU memory for a list of `length` elements; `None` where it does not use a GPU.
    fn least_gpu_memory(&self, length: u64) -> Option<u64>;

    /// Returns what it takes on a list of `length` elements whose reading takes `reading` bytes of host memory, by these ranks.
    fn cost(&self, length: u64, reading: u64, crew: &Crew) -> Cost;

    /// Computes one trial, or what an earlier run left of it. Collective.
    ///
    /// # Errors
    /// Those of the algorithm and of reading; a stop.
    fn run(&self, list: &List, run: &mut Run<'_>) -> Result<Outcome>;

    /// Checks a result by an independent method.
    ///
    /// # Errors
    /// Those of telling, and a stop; what is wrong goes to `verdict`.
    fn verify(&self, results: &ListResults<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()>;
}

/// The parts of a prepared graph that a task reads beside the blocks of the lower half of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The degrees of the simple graph.
    pub degrees: bool,
    /// The order of vertices: results come by it in the order of the input's ids.
    pub order: bool,
    /// The upper half of rows.
    pub upper: bool,
    /// Out-rows and in-rows rather than rows of all neighbours, if the input keeps direction.
    pub direction: bool,
    /// The weights of edges, as the input has them: beside the rows that it reads.
    pub weights: bool,
    /// The edges of the input once more, with loops and repeats. A prepared graph has them no more.
    pub input: bool,
}

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Fields of the algorithm's object among the results: every trial has to find the same.
    pub found: Value,
    /// More fields, which tell how it was found: the last trial's stay. The report has them among the others, also those of objects in lists.
    pub how: Value,
    /// Seconds of the algorithm alone, those of earlier runs included.
    pub seconds: f64,
}

/// An answer in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The result that was asked for, such as `triangles 45`.
    pub main: String,
    /// The rest of the line, ending in a verb for the time, such as `transitivity 0.25  counted`.
    pub more: String,
    /// Lines that are printed behind those of all tasks, where others expect their own format.
    pub block: Option<String>,
}

impl PartialEq for dyn Task {
    fn eq(&self, other: &dyn Task) -> bool {
        (self.algorithm().name(), self.table()) == (other.algorithm().name(), other.table())
    }
}
