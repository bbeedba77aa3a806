//! Implements [`Algorithm`] for the table `[cdlp]`.

use super::labels;
use super::options::{Cdlp, ITERATIONS};
use super::output::{COLUMNS, CdlpOutput};
use super::{driver, gpu, verify};
use crate::algo::components::size_figure;
use crate::algo::searches::sentences::counted;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::Figure;
use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;

/// Time per neighbour in the rows of all vertices and per iteration, in nanoseconds, on one thread.
const ENTRY: f64 = 6.0;
/// Time to write one row of the result column, in nanoseconds, on one thread.
const COLUMN: f64 = 20.0;

impl Algorithm for Cdlp {
    const NAME: &'static str = "cdlp";
    const ABOUT: &'static str = "finds communities by label propagation";
    const KEYS: &'static [&'static dyn AnyKey] = &[&ITERATIONS];
    const COLUMNS: &'static [About] = COLUMNS;
    const PROGRAMS: &'static [&'static ProgramSource] = &[&gpu::PROGRAM];

    type Input = Graph;
    type Output = CdlpOutput;
    type Details = ();

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Cdlp> {
        Some(Cdlp { iterations: ITERATIONS.read(table, diagnostics)? })
    }

    fn needs(&self) -> Needs {
        Needs { order: true, direction: true, degrees: true, upper: true, ..Needs::default() }
    }

    fn units(&self, _: u64) -> u64 {
        self.iterations
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        // If there are several ranks, they use their CPUs.
        let longest = longest(graph);
        (ranks == 1).then(|| gpu::least_bytes(graph.vertices, 2 * graph.edges, (graph.blocks, longest)))
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        let labels = labels::bytes(graph.vertices, longest(graph), resources.threads);
        let (ranks, trials) = (resources.ranks as u64, u64::from(resources.trials));
        let pieces = if ranks > 1 { 4 * Comm::PIECE as u64 } else { 0 };
        let host_memory = (labels + pieces).max(4 * graph.vertices + 4 * graph.ids);
        let counting = trials as f64 * self.iterations as f64 * ENTRY * graph.entries() as f64;
        Cost {
            disk: graph.column_and_checkpoints(resources, (8, 20), 4 * graph.vertices),
            exchange: trials * self.iterations * (ranks - 1) * 4 * graph.vertices,
            seconds: (counting / resources.all_threads() + COLUMN * graph.column_rows as f64) / 1e9,
            ..Cost::of("cdlp", host_memory)
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Cdlp>> {
        driver::find(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, (output, ()): TrialRef<'_, Self>, verdict: &mut Verdict<'_>) -> Result<()> {
        let edges = results.edges_for_columns();
        match edges.and_then(|edges| verify::check_room(edges, results).map(|()| edges)) {
            Err(why) => verdict.skip("cdlp", why),
            Ok(edges) => verdict.note("cdlp", verify::compare(self, output, edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&CdlpOutput>) -> Result<String> {
        let saved = units.checkpoint()?;
        if saved.words_u32(1)?.len() as u64 != units.vertices {
            return Err(saved.other("not labels of this graph"));
        }
        Ok(format!("labels of vertices with edges after {} of {} iterations", saved.done(), self.iterations))
    }

    fn answer(&self, output: &CdlpOutput, _: Option<&()>) -> Answer {
        let largest = output.largest.first().copied().unwrap_or(0);
        let iterations = counted(output.iterations, "iteration", "iterations");
        Answer {
            main: format!("cdlp {}", counted(output.communities, "community", "communities")),
            more: format!("the largest has {}  after {iterations}  found", counted(largest, "vertex", "vertices")),
            block: None,
        }
    }

    fn sentences(output: &CdlpOutput) -> Vec<String> {
        let iterations = counted(output.iterations, "iteration", "iterations");
        let communities = counted(output.communities, "community", "communities");
        let largest = counted(output.largest.first().copied().unwrap_or(0), "vertex", "vertices");
        let changed = counted(output.changed, "vertex", "vertices");
        vec![format!(
            "After {iterations} of label propagation there are {communities}; the largest has {largest}. The last iteration \
             changed the label of {changed}."
        )]
    }

    fn figures(output: &CdlpOutput, (): &()) -> Vec<Figure> {
        vec![size_figure("communities", &output.by_size)]
    }
}

/// Returns an upper bound on the number of neighbours of a vertex.
fn longest(graph: &GraphSize<'_>) -> u64 {
    (graph.longest_whole_row << graph.direction.shift()).min(2 * graph.vertices)
}
