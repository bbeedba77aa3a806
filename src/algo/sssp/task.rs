//! The table `[sssp]`: what a job may ask for, and what it is told.

use super::distances::{Distance, Distances};
use super::path::Path;
use super::search::Searched;
use super::verify::SourceChecked;
use super::{cost, edges, gpu, verify};
use crate::algo::searches::agreement::Reported;
use crate::algo::searches::graph500::{Block, Kernel, energy_lines};
use crate::algo::searches::{self, Options};
use crate::algo::sources::Named;
use crate::algo::{
    Algorithm, Answer, Cost, Crew, GraphSize, GraphTask, Needs, On, Outcome, Results, Run, StoredUnits, Task, Verdict,
    WeightSource, recall,
};
use crate::error::{Error, Result};
use crate::formats::WeightType;
use crate::gpu::ProgramSource;
use crate::graph::ids::InputId;
use crate::jobfile::{Diagnostics, Section};
use crate::prepare::prepared::Graph;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Shortest paths, as the registry has them.
pub struct Sssp;

impl Algorithm for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["roots", "seed", "sources", "method", "weights", "target", "validate", "write", "graph500"]
    }

    fn alternatives(&self) -> &'static [&'static str] {
        &Options::ORIGINS
    }

    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>> {
        let options = Options::parse(table, diagnostics);
        let method = table.get("method").map_or(Some(Method::Auto), |field| field.choice(&METHODS, diagnostics));
        let weights =
            table.get("weights").map_or(Some(WeightSource::File), |field| WeightSource::parse(&field, diagnostics));
        let target = table
            .get("target")
            .map_or(Some(None), |field| field.integer::<u64>(0..=u64::MAX, diagnostics).map(|id| Some(InputId(id))));
        Some(Arc::new(Table { options: options?, method: method?, weights: weights?, target: target? }))
    }

    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>> {
        recall::<Table>(table)
    }
}

/// The method of a search. All find the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The fastest for the graph and the device.
    Auto,
    /// Queues of vertices that became nearer (Moore 1959).
    Moore,
    /// Buckets of distances (Meyer and Sanders 2003).
    DeltaStepping,
    /// Rounds over all vertices, as long as any becomes nearer: the baseline.
    BellmanFord,
}

const METHODS: [(&str, Method); 4] = [
    ("auto", Method::Auto),
    ("moore", Method::Moore),
    ("delta-stepping", Method::DeltaStepping),
    ("bellman-ford", Method::BellmanFord),
];

/// `[sssp]`: where to search from, by which weights, and what to do with distances and parents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Where to search from, and what to do with what was found.
    #[serde(flatten)]
    pub options: Options,
    /// The method.
    pub method: Method,
    /// The weights of edges.
    pub weights: WeightSource,
    /// The end of the path that is told, by the input's id.
    pub target: Option<InputId>,
}

impl Table {
    /// Returns the most bytes that the distances of `vertices` vertices take: the type of an input's weights is known late.
    pub fn distances_bytes(&self, vertices: u64) -> u64 {
        let kind = match self.weights {
            WeightSource::Drawn(drawn) => drawn.kind(),
            WeightSource::File => WeightType::U32,
        };
        Distances::bytes(kind, vertices)
    }

    /// Returns the bytes that looking up the weights of `vertices` vertices takes.
    pub fn weights_bytes(&self, vertices: u64) -> u64 {
        edges::bytes(self.weights, vertices)
    }

    /// Returns a weight that none is larger than, as far as the table tells.
    pub fn largest_weight(&self) -> u32 {
        match self.weights {
            WeightSource::Drawn(drawn) => drawn.largest(),
            WeightSource::File => u32::MAX,
        }
    }
}

/// The result: the fields of `results.sssp` that are the same for every trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The result of each source.
    pub sources: Vec<SourceFound>,
    /// True if distances and parents were checked.
    pub validated: bool,
}

/// The result of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceFound {
    /// Its id in the input.
    pub source: InputId,
    /// Vertices reached, the source included.
    pub reached: u64,
    /// The distance of the vertex that is farthest from it.
    pub max_distance: Distance,
    /// Edges of the input between vertices that are reached: repeats count, loops do not. Of a directed graph, the distinct edges that leave
    /// vertices that are reached.
    pub edges: u64,
    /// The path to the target, if the table names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
}

impl Found {
    /// Reads a result as the manifest has it.
    ///
    /// # Errors
    /// [`Error::Validation`] for another one.
    pub fn of(value: &Value) -> Result<Found> {
        serde_json::from_value(value.clone())
            .map_err(|e| Error::Validation(format!("the manifest's result is none of shortest paths: {e}")))
    }
}

impl Task for Table {
    fn algorithm(&self) -> &'static dyn Algorithm {
        &Sssp
    }

    fn table(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn on(&self) -> On<'_> {
        On::Graph(self)
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &gpu::PROGRAMS
    }

    fn verify_units(&self, units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String> {
        let sources = found.and_then(|found| found["sources"].as_array());
        searches::verify_units(units, sources.map(Vec::as_slice), |searched: &Searched, edges, source| {
            let found: SourceFound = serde_json::from_value(source.clone())
                .map_err(|e| Error::Validation(format!("no result of shortest paths: {e}")))?;
            let said = (searched.reached, searched.max_distance, edges);
            if said != (found.reached, found.max_distance, found.edges) {
                let what = format!("(reached, max_distance, edges) {said:?}, the result of {} others", found.source);
                return Err(Error::Validation(what));
            }
            Ok(())
        })
    }

    fn answer(&self, found: &Value, how: &Value) -> Answer {
        let block = paths(found)
            + &Block::of(Kernel::Sssp, how)
                .filter(|_| self.options.graph500)
                .map_or_else(String::new, |block| block.to_string() + &energy_lines(Kernel::Sssp, how));
        Answer { block: Some(block).filter(|block| !block.is_empty()), ..searches::answer("sssp", found, how) }
    }
}

impl GraphTask for Table {
    fn needs(&self) -> Needs {
        let weights = self.weights == WeightSource::File;
        Needs { degrees: true, order: true, upper: true, direction: true, weights, input: false }
    }

    fn named(&self) -> Vec<Named> {
        self.options.sources.named().into_iter().chain(self.target.map(|target| ("target", target))).collect()
    }

    fn units(&self, _: u64) -> u64 {
        self.options.count()
    }

    fn least_gpu_memory(&self, _: u64, graph: &GraphSize<'_>, _: usize) -> Option<u64> {
        Some(gpu::least_bytes(graph.vertices, graph.direction))
    }

    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
        cost::of(self, graph, crew)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
        searches::drive(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()> {
        let read = Found::of(found).and_then(|found| Ok((found.validated, told(found, results.how)?)));
        match read {
            Ok((validated, sources)) => {
                let (options, how) = (&self.options, results.how);
                let told = Reported { options, kernel: Kernel::Sssp, validated, how };
                verify::verify((&told, self.weights), results, &sources, verdict)
            }
            Err(e) => verdict.note("searches", Err(e)),
        }
    }
}

/// Returns the figures of all sources that a job tells.
fn told(found: Found, how: &Value) -> Result<Vec<SourceChecked>> {
    let none = || Error::Validation("the manifest does not tell how searches went".into());
    let sources = how["sources"].as_array().filter(|how| how.len() == found.sources.len()).ok_or_else(none)?;
    let source = |(found, how): (SourceFound, &Value)| {
        let number = |key: &str| how[key].as_f64().ok_or_else(none);
        Ok(SourceChecked { found, seconds: number("seconds")?, teps: number("teps")? })
    };
    found.sources.into_iter().zip(sources).map(source).collect()
}

/// Returns a line for the path of each source to the target.
fn paths(found: &Value) -> String {
    let mut lines = String::new();
    for source in Found::of(found).into_iter().flat_map(|found| found.sources) {
        if let Some(path) = source.path {
            // Text can be written to a string without fail.
            let _ = writeln!(lines, "path {} to {}: {path}", source.source, path.target);
        }
    }
    lines
}
