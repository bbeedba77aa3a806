//! Implements [`Algorithm`] for the table `[cores]`.

use super::output::{COLUMNS, CoresOutput};
use super::{driver, gpu, peeling, verify};
use crate::algo::searches::sentences::counted;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;
use serde::{Deserialize, Serialize};

/// Options of the table `[cores]`, which has no keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cores {}

/// Peeling time on one thread, in nanoseconds per neighbour in the rows of all vertices.
const ENTRY: f64 = 12.0;
/// Peeling time on a GPU (H200), in nanoseconds per neighbour in the rows of all vertices.
const ENTRY_ON_GPU: f64 = 0.05;
/// Time that one thread takes to write one row of all result columns, in nanoseconds.
const COLUMN: f64 = 30.0;

impl Algorithm for Cores {
    const NAME: &'static str = "cores";
    const ABOUT: &'static str = "finds core numbers";
    const KEYS: &'static [&'static dyn AnyKey] = &[];
    const COLUMNS: &'static [About] = COLUMNS;
    const PROGRAMS: &'static [&'static ProgramSource] = &[&gpu::PROGRAM];

    type Input = Graph;
    type Output = CoresOutput;
    type Details = ();

    fn parse(_: &Section<'_>, _: &mut Diagnostics) -> Option<Cores> {
        Some(Cores {})
    }

    fn needs(&self) -> Needs {
        Needs { order: true, direction: true, degrees: true, upper: true, ..Needs::default() }
    }

    fn units(&self, _: u64) -> u64 {
        driver::UNITS
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        // If there are several ranks, they use their CPUs.
        let rows = graph.direction.rows(graph.vertices);
        (ranks == 1).then(|| gpu::least_bytes(graph.vertices, rows, graph.edges, graph.blocks))
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        let RankResources { ranks, nodes, threads, .. } = *resources;
        let longest = (graph.longest_whole_row << graph.direction.shift()).min(2 * graph.vertices);
        // The memory limit of a job must also be enough to verify its results.
        let host_memory = peeling::bytes(graph.vertices, longest, ranks, nodes)
            .max(graph.reading + verify::least_bytes(graph.ids, graph.edges, threads));
        let trials = f64::from(resources.trials);
        let of_entry = if resources.on_gpu { ENTRY_ON_GPU } else { ENTRY / resources.all_threads() };
        let (entries, checkpoint) = (2 * graph.edges, 8 * graph.vertices);
        let away = entries - entries / ranks as u64;
        Cost {
            // There are two columns. A checkpoint contains the values of both.
            disk: graph.column_and_checkpoints(resources, (8, 20), checkpoint)
                + graph.column_and_checkpoints(&RankResources { trials: 0, ..*resources }, (8, 20), 0),
            exchange: u64::from(resources.trials) * 4 * away,
            seconds: (trials * entries as f64 * of_entry + COLUMN * graph.column_rows as f64) / 1e9,
            ..Cost::of("cores", host_memory)
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Cores>> {
        driver::find(graph, run)
    }

    fn verify(&self, results: &Results<'_>, (output, ()): TrialRef<'_, Self>, verdict: &mut Verdict<'_>) -> Result<()> {
        match results.edges_for_columns() {
            Err(why) => verdict.skip("cores", why),
            Ok(edges) => verdict.note("cores", verify::compare(output, edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&CoresOutput>) -> Result<String> {
        let saved = units.checkpoint()?;
        let (layers, &[_, level, layer]) = (saved.words_u32(2)?, saved.words(0)?) else {
            return Err(saved.other("not layers of this graph"));
        };
        let is_right = layers.len() as u64 == units.vertices && layers.iter().all(|&of| u64::from(of) <= layer);
        if !is_right || saved.words_u32(1)?.len() != layers.len() {
            return Err(saved.other("not layers of this graph"));
        }
        let removed = layers.iter().filter(|&&of| of > 0).count();
        Ok(format!("{removed} of {} vertices with edges in {layer} layers, up to core number {level}", layers.len()))
    }

    fn answer(&self, output: &CoresOutput, _: Option<&()>) -> Answer {
        Answer {
            main: format!("degeneracy {}", output.degeneracy),
            more: format!("{} in the innermost core  found", counted(output.innermost, "vertex", "vertices")),
            block: None,
        }
    }

    fn sentences(output: &CoresOutput) -> Vec<String> {
        let innermost = counted(output.innermost, "vertex has", "vertices have");
        let layers = counted(output.layers, "layer", "layers");
        vec![format!(
            "The largest core number is {}, which {innermost}. Peeling removes the vertices in {layers}.",
            output.degeneracy
        )]
    }

    fn figures(output: &CoresOutput, (): &()) -> Vec<Figure> {
        let of = |(bin, &vertices): (i32, &u64)| match bin {
            0 => (0.0, 0.0, vertices as f64),
            _ => (2f64.powi(bin - 1), 2f64.powi(bin) - 1.0, vertices as f64),
        };
        let bins: Vec<_> = (0..).zip(&output.by_core).map(of).filter(|&(_, _, vertices)| vertices > 0.0).collect();
        let caption = "How many vertices have which core numbers, both by logarithm.";
        vec![Figure::distribution("Core numbers", caption, "vertices", "core number", &bins)]
    }
}
