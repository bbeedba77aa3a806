//! The table `[triangle]`: what a job may ask for, and what it is told.

use crate::algo::triangle::gpu::{Gpu, PROGRAMS};
use crate::algo::triangle::{cost, driver, figures, per_vertex, recount, trial, units};
use crate::algo::{
    Algorithm, Answer, Cost, Crew, GraphSize, GraphTask, Needs, On, Outcome, Results, Run, StoredUnits, Task, Verdict,
    recall,
};
use crate::chart::Figure;
use crate::chart::unit::group;
use crate::error::{Error, Result};
use crate::gpu::ProgramSource;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::store::journal::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Triangle counting, as the registry has it.
pub struct Triangle;

impl Algorithm for Triangle {
    fn name(&self) -> &'static str {
        "triangle"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["per_vertex"]
    }

    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>> {
        let per_vertex = table.get("per_vertex").map_or(Some(false), |field| field.boolean(diagnostics))?;
        Some(Arc::new(Table { per_vertex }))
    }

    fn figures(&self, result: &Value) -> Vec<Figure> {
        figures::of_result(result)
    }

    fn sentences(&self, result: &Value) -> Vec<String> {
        let Some(triangles) = result["triangles"].as_number() else { return Vec::new() };
        let mut all = vec![format!("The graph has {} triangles.", group(&triangles.to_string()))];
        if let Some(closed) = result["transitivity"].as_f64() {
            all.push(format!("Of all paths of two edges {:.2} % are closed by a third.", 100.0 * closed));
        }
        all
    }

    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>> {
        recall::<Table>(table)
    }
}

/// `[triangle]`: what to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Also count per vertex, and write `out/triangles`, `out/degree` and `out/clustering`.
    pub per_vertex: bool,
}

/// The result: the fields of `results.triangle`, but for seconds and trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Triangles.
    pub triangles: u128,
    /// Units that they were counted in.
    pub units: u64,
    /// Wedges that were tested.
    pub probes: u128,
    /// Wedges of the graph, as its degrees have them.
    pub wedges: u128,
    /// Three times the triangles by the wedges.
    pub transitivity: f64,
}

impl Found {
    fn of(value: &Value) -> Result<Found> {
        serde_json::from_value(value.clone())
            .map_err(|e| Error::Validation(format!("the manifest's result is no count of triangles: {e}")))
    }
}

impl Task for Table {
    fn algorithm(&self) -> &'static dyn Algorithm {
        &Triangle
    }

    fn table(&self) -> Value {
        serde_json::json!({ "per_vertex": self.per_vertex })
    }

    fn on(&self) -> On<'_> {
        On::Graph(self)
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &PROGRAMS
    }

    fn verify_units(&self, units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String> {
        let found = found.map(Found::of).transpose()?;
        units::hold(units, found.as_ref())
    }

    fn so_far(&self, units: &[Record], total: u64) -> Value {
        figures::so_far(units, total)
    }

    fn answer(&self, found: &Value, _: &Value) -> Answer {
        let (triangles, transitivity) = match Found::of(found) {
            Ok(found) => (found.triangles.to_string(), format!("{:.6}", found.transitivity)),
            Err(_) => ("?".into(), "?".into()),
        };
        let more = format!("transitivity {transitivity}  counted");
        Answer { main: format!("triangles {triangles}"), more, block: None }
    }
}

impl GraphTask for Table {
    fn needs(&self) -> Needs {
        // Clustering coefficients are by degree.
        Needs { degrees: self.per_vertex, order: self.per_vertex, ..Needs::default() }
    }

    fn units(&self, blocks: u64) -> u64 {
        driver::units(blocks as usize)
    }

    fn least_gpu_memory(&self, row: u64, graph: &GraphSize<'_>, _: usize) -> Option<u64> {
        Some(Gpu::least_bytes(row, graph.vertices, self.per_vertex))
    }

    fn beside_rows(&self, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64> {
        let counts = if self.per_vertex { 8 * layout.rows() } else { 0 };
        Gpu::counts(layout, sizes, bytes, self.per_vertex).then_some(counts)
    }

    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
        cost::of(self, graph, crew)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
        let (sum, seconds, how) = match self.per_vertex {
            false => trial::count(graph, run).map(|(sum, seconds, pairs)| (sum, seconds, json!({ "pairs": pairs })))?,
            true => {
                per_vertex::count(graph, run).map(|(sum, seconds, clustering)| (sum, seconds, json!(clustering)))?
            }
        };
        let wedges = graph.stored.summary.wedges;
        let found = Found {
            triangles: sum.triangles,
            units: driver::units(graph.catalogue.len()),
            probes: sum.probes,
            wedges,
            transitivity: if wedges == 0 { 0.0 } else { 3.0 * sum.triangles as f64 / wedges as f64 },
        };
        let found = serde_json::to_value(&found).map_err(|e| Error::internal("note a count of triangles", e))?;
        Ok(Outcome { found, how, seconds })
    }

    fn verify(&self, results: &Results<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()> {
        match Found::of(found) {
            Ok(found) => recount::verify(self.per_vertex && results.done, results, &found, verdict),
            Err(e) => verdict.note("triangle", Err(e)),
        }
    }
}
