//! The table `[traverse]`: what a job may ask for, and what it is told.

use super::cost;
use super::gpu;
use super::owner::Rule;
use crate::algo::bfs;
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

/// Traversal level by level, as the registry has it.
pub struct Traverse;

impl Algorithm for Traverse {
    fn name(&self) -> &'static str {
        "traverse"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["roots", "seed", "sources", "validate", "write", "strategy", "owner"]
    }

    fn alternatives(&self) -> &'static [&'static str] {
        &Options::ORIGINS
    }

    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>> {
        let options = Options::parse(table, diagnostics);
        let strategies = Strategy::ALL.map(|strategy| (strategy.name(), strategy));
        let strategy =
            table.get("strategy").map_or(Some(Strategy::SortUnique), |field| field.choice(&strategies, diagnostics));
        let owner = table.get("owner").map_or(Some(Rule::Modulo), |field| field.choice(&Rule::ALL, diagnostics));
        Some(Arc::new(Table { options: options?, strategy: strategy?, owner: owner? }))
    }

    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>> {
        recall::<Table>(table)
    }
}

/// `[traverse]`: where to search from, how, and what to do with the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Where to search from, and what to do with what was found.
    #[serde(flatten)]
    pub options: Options,
    /// The way from a level to the next. Trees are the same by all.
    pub strategy: Strategy,
    /// The rule by which ranks own vertices.
    pub owner: Rule,
}

/// A way from a level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Candidates are sorted, and repeats dropped, before they are sent: the published way.
    SortUnique,
    /// Candidates are claimed by atomic operations, and all are sent.
    Atomic,
    /// The fastest way there is: that of `[bfs]`.
    Auto,
}

impl Strategy {
    const ALL: [Strategy; 3] = [Strategy::SortUnique, Strategy::Atomic, Strategy::Auto];

    /// Returns its name in job files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::SortUnique => "sort-unique",
            Strategy::Atomic => "atomic",
            Strategy::Auto => "auto",
        }
    }
}

impl Task for Table {
    fn algorithm(&self) -> &'static dyn Algorithm {
        &Traverse
    }

    fn table(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn on(&self) -> On<'_> {
        On::Graph(self)
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        match self.strategy {
            Strategy::Auto => &bfs::gpu::PROGRAMS,
            _ => &gpu::PROGRAMS,
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String> {
        tree::agree_units::<Table>(units, found)
    }

    fn answer(&self, found: &Value, how: &Value) -> Answer {
        searches::answer("traverse", found, how)
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

    fn least_gpu_memory(&self, _: u64, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        Some(match self.strategy {
            Strategy::Auto => bfs::gpu::least_bytes(graph.vertices, graph.edges, graph.direction),
            _ => {
                let [own, entries] = cost::own(self.owner, graph, ranks);
                gpu::least_bytes(own, entries, ranks)
            }
        })
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        self.strategy == Strategy::Auto && bfs::gpu::least_bytes(vertices, edges, Direction::Undirected) <= bytes
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
