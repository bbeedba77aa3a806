//! What an algorithm is.

use super::cost::{Cost, Crew};
use super::input::Input;
use super::run::Run;
use super::sources::Named;
use super::verify::{StoredUnits, Verdict};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::store::journal::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// An algorithm. Its value is the options of its table in a job file, with every default filled in.
///
/// Options are part of the key of the results: other options are computed anew. What they leave out of their serialised form is not.
pub trait Algorithm: Debug + Serialize + DeserializeOwned + Send + Sync + Sized + 'static {
    /// Name of its table, its stage, its object among the results, and its folder in `out/`.
    const NAME: &'static str;
    /// What it computes, in a phrase.
    const ABOUT: &'static str;
    /// Keys of its table.
    const KEYS: &'static [&'static dyn AnyKey];
    /// Keys of which a table has one at most: an override by one of them rules out what the job file says by another.
    const ALTERNATIVES: &'static [&'static str] = &[];

    /// The kind of input: [`Graph`](crate::prepare::prepared::Graph) or [`List`](crate::list::List).
    type Input: Input;
    /// The result. Every trial has to find the same.
    type Output: Debug + PartialEq + Serialize + DeserializeOwned;
    /// How a trial went: times and counters. The last trial's stay.
    type Details: Debug + Serialize + DeserializeOwned;

    /// Reads its table. Reports mistakes to `diagnostics`, and returns `None` then.
    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Returns the parts of a prepared graph that it reads in addition to the blocks of the lower half.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Returns the vertices that its table names. The job is refused before rows are made if the input lacks one.
    fn named(&self) -> Vec<Named> {
        Vec::new()
    }

    /// Returns why it can't compute on edges of this direction; `None` if it can.
    fn refuses(&self, _direction: Direction) -> Option<&'static str> {
        None
    }

    /// Returns the programs that it launches on a GPU.
    fn programs(&self) -> &'static [&'static ProgramSource] {
        &[]
    }

    /// Returns the number of units of a trial, for progress: on a graph of `size` blocks, or a list of `size` elements.
    fn units(&self, size: u64) -> u64;

    /// Returns the fewest bytes of GPU memory of one of `ranks` ranks; `None` if it does not use a GPU.
    fn least_gpu_memory(&self, _size: &<Self::Input as Input>::Size<'_>, _ranks: usize) -> Option<u64> {
        None
    }

    /// Returns the bytes of host memory that it takes in addition to rows that stay in memory and never become files, if a GPU computes it on
    /// such rows: blocks of `sizes` at most, with `bytes` bytes of GPU memory left for it. `None` if no GPU does.
    fn beside_rows(&self, _layout: &Layout, _sizes: &[BlockSize], _bytes: u64) -> Option<u64> {
        None
    }

    /// Returns true if a GPU of `bytes` bytes of memory computes it on rows that are packed in host memory, of an undirected graph of so many
    /// vertices and edges.
    fn takes_packed(&self, _vertices: u64, _edges: u64, _bytes: u64) -> bool {
        false
    }

    /// Returns its memory, disk, exchange and time on an input of this size, by these ranks. Bounds if the size is one.
    fn cost(&self, size: &<Self::Input as Input>::Size<'_>, crew: &Crew) -> Cost;

    /// Computes one trial, or what an earlier run left of it. Collective.
    ///
    /// # Errors
    /// Those of the algorithm and of reading; a stop.
    fn run(&self, input: &Self::Input, run: &mut Run<'_>) -> Result<TrialOf<Self>>;

    /// Checks a result by an independent method. Mistakes go to `verdict`.
    ///
    /// # Errors
    /// Those of `verdict`, and a stop.
    fn verify(
        &self,
        results: &<Self::Input as Input>::Results<'_>,
        trial: (&Self::Output, &Self::Details),
        verdict: &mut Verdict<'_>,
    ) -> Result<()>;

    /// Checks a journal or a checkpoint against itself and against the result, if there is one already. Returns in words what it has.
    ///
    /// # Errors
    /// [`Error::Validation`](crate::Error::Validation) and [`Error::Corrupt`](crate::Error::Corrupt) with what is wrong.
    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&Self::Output>) -> Result<String>;

    /// Returns the answer as people read it. `details` is `None` if another version wrote them.
    fn answer(&self, output: &Self::Output, details: Option<&Self::Details>) -> Answer;

    /// Returns a result in sentences, for people who know the problem and not the program.
    fn sentences(output: &Self::Output) -> Vec<String>;

    /// Returns figures of a result for the report.
    fn figures(_output: &Self::Output, _details: &Self::Details) -> Vec<Figure> {
        Vec::new()
    }

    /// Returns figures of a task that is not done, by the units that its journal has of `total`.
    fn figures_so_far(&self, _units: &[Record], _total: u64) -> Vec<Figure> {
        Vec::new()
    }
}

/// A trial of an algorithm.
pub type TrialOf<A> = Trial<<A as Algorithm>::Output, <A as Algorithm>::Details>;

/// A trial: what it found and how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial<O, D> {
    /// The result.
    pub output: O,
    /// How it went.
    pub details: D,
    /// Seconds of the algorithm alone, earlier runs included.
    pub seconds: f64,
}

/// The parts of a prepared graph that a task reads in addition to the blocks of the lower half of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The degrees of the simple graph.
    pub degrees: bool,
    /// The order of vertices. Results come by it in the order of the input's ids.
    pub order: bool,
    /// The upper half of rows.
    pub upper: bool,
    /// Out-rows and in-rows rather than rows of all neighbours, if the input keeps direction.
    pub direction: bool,
    /// The weights of edges, as the input has them.
    pub weights: bool,
    /// The edges of the input once more, with loops and repeats. A prepared graph has dropped them.
    pub input: bool,
}

/// An answer in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The result that was asked for, such as `triangles 45`.
    pub main: String,
    /// The rest of the line, which ends in a verb for the time, such as `transitivity 0.25  counted`.
    pub more: String,
    /// Lines that are printed after those of all tasks, in a format that others expect.
    pub block: Option<String>,
}
