//! Tasks of a job, and registry entries of algorithms. Both hide the types of an algorithm's options and results.

use super::algorithm::{Algorithm, Answer, Needs};
use super::cost::{Cost, RankResources};
use super::input::{ByInput, Input, InputRef, ResultsRef, SizeRef};
use super::run::Run;
use super::sources::NamedVertex;
use super::verify::{StoredUnits, Verdict};
use crate::chart::Figure;
use crate::error::{Error, Result};
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::results::about::About;
use crate::store::journal::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// An [`Algorithm`] with its options from one table of a job file, behind an interface without the algorithm's own
/// types. Most methods call the method of [`Algorithm`] with the same name. Results are JSON values, as the manifest
/// stores them.
pub trait Task: Debug + Send + Sync {
    /// Returns [`Algorithm::NAME`].
    fn name(&self) -> &'static str;
    /// Returns true if the task's input is a list instead of a graph.
    fn is_on_list(&self) -> bool;
    /// Returns the options of the algorithm's table, with defaults filled in.
    fn table(&self) -> Value;
    /// Calls [`Algorithm::needs`].
    fn needs(&self) -> Needs;
    /// Calls [`Algorithm::named_vertices`].
    fn named_vertices(&self) -> Vec<NamedVertex>;
    /// Calls [`Algorithm::refuses`].
    fn refuses(&self, direction: Direction) -> Option<&'static str>;
    /// Calls [`Algorithm::programs`].
    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource>;
    /// Calls [`Algorithm::rare_programs`].
    fn rare_programs(&self) -> Vec<&'static ProgramSource>;
    /// Calls [`Algorithm::units`].
    fn units(&self, size: u64) -> u64;
    /// Calls [`Algorithm::least_gpu_memory`].
    fn least_gpu_memory(&self, size: SizeRef<'_, '_>, ranks: usize) -> Option<u64>;
    /// Calls [`Algorithm::extra_host_bytes`].
    fn extra_host_bytes(&self, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64>;
    /// Calls [`Algorithm::takes_packed`].
    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool;
    /// Calls [`Algorithm::cost`]. If the input is of the other kind (a graph instead of a list, or the reverse),
    /// returns the default cost.
    fn cost(&self, size: SizeRef<'_, '_>, resources: &RankResources) -> Cost;
    /// Calls [`Algorithm::run`]. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of [`Algorithm::run`].
    fn run(&self, input: InputRef<'_>, run: &mut Run<'_>) -> Result<Outcome>;
    /// Calls [`Algorithm::verify`].
    ///
    /// # Errors
    /// Errors of [`Algorithm::verify`].
    fn verify(&self, results: ResultsRef<'_, '_>, found: (&Value, &Value), verdict: &mut Verdict<'_>) -> Result<()>;
    /// Calls [`Algorithm::verify_units`].
    ///
    /// # Errors
    /// Errors of [`Algorithm::verify_units`].
    fn verify_units(&self, units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String>;
    /// Calls [`Algorithm::answer`]. The answer is a question mark if another version of the program wrote the result.
    fn answer(&self, found: &Value, details: &Value) -> Answer;
    /// Calls [`Algorithm::figures_so_far`].
    fn figures_so_far(&self, units: &[Record], total: u64) -> Vec<Figure>;
}

impl PartialEq for dyn Task {
    fn eq(&self, other: &dyn Task) -> bool {
        (self.name(), self.table()) == (other.name(), other.table())
    }
}

/// Outcome of one trial of a task, as the manifest stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The algorithm's result ([`Algorithm::Output`]) as JSON. Every trial must find the same result.
    pub found: Value,
    /// Times and counters of the trial ([`Algorithm::Details`]) as JSON. The report merges their fields with the fields
    /// of the result, also within lists of objects.
    pub how: Value,
    /// Duration of the trial in seconds, including its time in earlier runs of the job.
    pub seconds: f64,
}

/// Creates a task from an algorithm with its options.
pub fn task<A: Algorithm>(options: A) -> Arc<dyn Task> {
    Arc::new(Erased(options))
}

/// An algorithm as a [`Task`], which hides its types.
#[derive(Debug)]
struct Erased<A>(A);

impl<A: Algorithm> Task for Erased<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn is_on_list(&self) -> bool {
        A::Input::IS_LIST
    }

    fn table(&self) -> Value {
        serde_json::to_value(&self.0).unwrap_or_default()
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn named_vertices(&self) -> Vec<NamedVertex> {
        self.0.named_vertices()
    }

    fn refuses(&self, direction: Direction) -> Option<&'static str> {
        self.0.refuses(direction)
    }

    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource> {
        self.0.programs(ranks)
    }

    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        self.0.rare_programs()
    }

    fn units(&self, size: u64) -> u64 {
        self.0.units(size)
    }

    fn least_gpu_memory(&self, size: SizeRef<'_, '_>, ranks: usize) -> Option<u64> {
        self.0.least_gpu_memory(A::Input::pick(size)?, ranks)
    }

    fn extra_host_bytes(&self, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64> {
        self.0.extra_host_bytes(layout, sizes, bytes)
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        self.0.takes_packed(vertices, edges, bytes)
    }

    fn cost(&self, size: SizeRef<'_, '_>, resources: &RankResources) -> Cost {
        A::Input::pick(size).map(|size| self.0.cost(size, resources)).unwrap_or_default()
    }

    fn run(&self, input: InputRef<'_>, run: &mut Run<'_>) -> Result<Outcome> {
        let trial = self.0.run(of_kind::<A, _, _>(input)?, run)?;
        Ok(Outcome { found: json(&trial.output)?, how: json(&trial.details)?, seconds: trial.seconds })
    }

    fn verify(
        &self,
        results: ResultsRef<'_, '_>,
        (found, details): (&Value, &Value),
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        match trial::<A>(found, details) {
            Ok((output, details)) => self.0.verify(of_kind::<A, _, _>(results)?, (&output, &details), verdict),
            Err(e) => verdict.note(A::NAME, Err(e)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String> {
        self.0.verify_units(units, found.map(output::<A>).transpose()?.as_ref())
    }

    fn answer(&self, found: &Value, details: &Value) -> Answer {
        match output::<A>(found) {
            Ok(output) => self.0.answer(&output, read(details, A::NAME, "details are").ok().as_ref()),
            Err(_) => Answer { main: format!("{} ?", A::NAME), more: "done".into(), block: None },
        }
    }

    fn figures_so_far(&self, units: &[Record], total: u64) -> Vec<Figure> {
        self.0.figures_so_far(units, total)
    }
}

/// Returns the graph or list in `value` if the algorithm takes this kind of input. All inputs of a job are of the same
/// kind.
fn of_kind<A: Algorithm, G, L>(value: ByInput<G, L>) -> Result<<A::Input as Input>::Of<G, L>> {
    A::Input::pick(value).ok_or_else(|| Error::internal("compute a task", "its input is of another kind"))
}

fn json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|e| Error::internal("note a result", e))
}

fn output<A: Algorithm>(found: &Value) -> Result<A::Output> {
    read(found, A::NAME, "result is")
}

/// Parses the result of a trial and its details, which are JSON values from the manifest.
fn trial<A: Algorithm>(found: &Value, details: &Value) -> Result<(A::Output, A::Details)> {
    Ok((output::<A>(found)?, read(details, A::NAME, "details are")?))
}

/// Parses a JSON value from the manifest: a result, or the details of a result.
fn read<T: DeserializeOwned>(value: &Value, name: &str, what: &str) -> Result<T> {
    let other = |e| Error::Validation(format!("the manifest's {what} not of this version's [{name}]: {e}"));
    serde_json::from_value(value.clone()).map_err(other)
}

/// Registry entry of an algorithm, which hides the algorithm's own types.
pub struct Entry {
    /// Value of [`Algorithm::NAME`].
    pub name: &'static str,
    /// Value of [`Algorithm::ABOUT`].
    pub about: &'static str,
    /// Value of [`Algorithm::KEYS`].
    pub keys: &'static [&'static dyn AnyKey],
    /// Value of [`Algorithm::COLUMNS`].
    pub columns: &'static [About],
    /// Value of [`Algorithm::ALTERNATIVES`].
    pub alternatives: &'static [&'static str],
    /// Whether the algorithm's input is a list instead of a graph.
    pub is_on_list: bool,
    /// Calls [`Algorithm::parse`].
    pub parse: fn(&Section<'_>, &mut Diagnostics) -> Option<Arc<dyn Task>>,
    /// Restores a task from a table that [`Task::table`] returned. Returns `None` if another version of the program
    /// wrote the table.
    pub recall: fn(&Value) -> Option<Arc<dyn Task>>,
    /// Calls [`Algorithm::sentences`] with a result from the report. Returns no sentences if another version of the
    /// program wrote the result.
    pub sentences: fn(&Value) -> Vec<String>,
    /// Calls [`Algorithm::figures`] with a result from the report. Returns no charts if another version of the program
    /// wrote the result.
    pub figures: fn(&Value) -> Vec<Figure>,
}

impl Entry {
    /// Returns the registry entry of an algorithm.
    pub const fn of<A: Algorithm>() -> Entry {
        Entry {
            name: A::NAME,
            about: A::ABOUT,
            keys: A::KEYS,
            columns: A::COLUMNS,
            alternatives: A::ALTERNATIVES,
            is_on_list: A::Input::IS_LIST,
            parse: |table, diagnostics| A::parse(table, diagnostics).map(task),
            recall: |table| {
                let options: A = serde_json::from_value(table.clone()).ok()?;
                let task = task(options);
                // If keys differ, another version wrote the table: `task` drops keys that this version does not know.
                // Values are not compared, because numbers may lose a bit as text.
                task.table().as_object()?.keys().eq(table.as_object()?.keys()).then_some(task)
            },
            sentences: |result| output::<A>(result).map(|output| A::sentences(&output)).unwrap_or_default(),
            figures: |result| {
                trial::<A>(result, result).map(|(output, details)| A::figures(&output, &details)).unwrap_or_default()
            },
        }
    }
}
