//! The table `[bfs]`: what a job may ask for, and what it is told.

use crate::algo::bfs::{cost, gpu};
use crate::algo::searches::graph500::{Block, Kernel, energy_lines};
use crate::algo::searches::tree;
use crate::algo::searches::{self, Options};
use crate::algo::sources::Named;
use crate::algo::{
    Algorithm, Answer, Cost, Crew, GraphSize, GraphTask, Needs, On, Outcome, Results, Run, StoredUnits, Task, Verdict,
    recall,
};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::jobfile::{Diagnostics, Section};
use crate::prepare::prepared::Graph;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Largest alpha and beta.
const MOST_SWITCH: u32 = 1_000_000_000;

/// Breadth-first search, as the registry has it.
pub struct Bfs;

impl Algorithm for Bfs {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["roots", "seed", "sources", "validate", "write", "graph500", "alpha", "beta"]
    }

    fn alternatives(&self) -> &'static [&'static str] {
        &Options::ORIGINS
    }

    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>> {
        let options = Options::parse(table, diagnostics);
        let switch = |key: &str, diagnostics: &mut Diagnostics| match table.get(key) {
            Some(field) => field.positive(MOST_SWITCH, diagnostics).map(Some),
            None => Some(None),
        };
        let (alpha, beta) = (switch("alpha", diagnostics), switch("beta", diagnostics));
        Some(Arc::new(Table { options: options?, alpha: alpha?, beta: beta? }))
    }

    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>> {
        recall::<Table>(table)
    }
}

/// `[bfs]`: where to search from, and what to do with the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Where to search from, and what to do with what was found.
    #[serde(flatten)]
    pub options: Options,
    /// Turns bottom-up; by device if it is not given.
    pub alpha: Option<f64>,
    /// Turns top-down again.
    pub beta: Option<f64>,
}

impl Task for Table {
    fn algorithm(&self) -> &'static dyn Algorithm {
        &Bfs
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
        tree::agree_units::<Table>(units, found)
    }

    fn answer(&self, found: &Value, how: &Value) -> Answer {
        let block = Block::of(Kernel::Bfs, how).filter(|_| self.options.graph500);
        let block = block.map(|block| block.to_string() + &energy_lines(Kernel::Bfs, how));
        Answer { block, ..searches::answer("bfs", found, how) }
    }
}

impl GraphTask for Table {
    fn needs(&self) -> Needs {
        Needs { degrees: true, order: true, upper: true, direction: true, ..Needs::default() }
    }

    fn named(&self) -> Vec<Named> {
        self.options.sources.named()
    }

    fn units(&self, _: u64) -> u64 {
        self.options.count()
    }

    fn least_gpu_memory(&self, _: u64, graph: &GraphSize<'_>, _: usize) -> Option<u64> {
        Some(gpu::least_bytes(graph.vertices, graph.edges, graph.direction))
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        gpu::least_bytes(vertices, edges, Direction::Undirected) <= bytes
    }

    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
        cost::of(self, graph, crew)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
        searches::drive(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()> {
        tree::verify_found(self, results, found, verdict)
    }
}
