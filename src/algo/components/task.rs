//! Implements [`Algorithm`] for the table `[components]`.

use super::forest::Forest;
use super::merge;
use super::options::{Components, KEYS, STRONG};
use super::output::{COLUMNS, ComponentsOutput, size_figure};
use super::{driver, gpu, strong, verify};
use crate::algo::searches::sentences::counted;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::layout::Layout;
use crate::graph::placement::BlockSize;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;

/// Time per neighbour in a row to find weakly connected components, in nanoseconds, on one thread.
const ENTRY: f64 = 0.5;
/// Time per row to find weakly connected components, in nanoseconds, on one thread.
const ROW: f64 = 20.0;
/// Time to write one row of the result column, in nanoseconds, on one thread.
const COLUMN: f64 = 20.0;
/// Time per neighbour in a row to find strongly connected components, in nanoseconds, on one thread.
const STRONG_ENTRY: f64 = 4.0;
/// Time per vertex to find strongly connected components, in nanoseconds, on one thread.
const STRONG_VERTEX: f64 = 60.0;
/// Time per neighbour in a row to find strongly connected components on a GPU, in nanoseconds.
const STRONG_ENTRY_ON_GPU: f64 = 0.02;
/// Time to stream one neighbour in a row through GPU memory, in nanoseconds: four bytes at 40 GB/s (H200). Rows that
/// are already in GPU memory take less.
const ENTRY_ON_GPU: f64 = 0.1;

impl Algorithm for Components {
    const NAME: &'static str = "components";
    const ABOUT: &'static str = "finds weakly or strongly connected components";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;
    const COLUMNS: &'static [About] = COLUMNS;

    type Input = Graph;
    type Output = ComponentsOutput;
    type Details = ();

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Components> {
        Some(Components { strong: STRONG.read(table, diagnostics)? })
    }

    fn needs(&self) -> Needs {
        // The lower halves of out-rows and in-rows together contain each edge once, like the lower half of an
        // undirected graph.
        Needs { order: true, direction: true, upper: self.strong, degrees: self.strong, ..Needs::default() }
    }

    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource> {
        // If there are several ranks, they find strongly connected components on CPUs.
        match (self.strong, ranks) {
            (false, _) => vec![&gpu::PROGRAM],
            (true, 1) => vec![&strong::gpu::PROGRAM],
            (true, _) => Vec::new(),
        }
    }

    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        // In an undirected graph, strongly connected components are weakly connected components.
        if self.strong { vec![&gpu::PROGRAM] } else { Vec::new() }
    }

    fn units(&self, blocks: u64) -> u64 {
        blocks
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        match self.is_strong(graph.direction) {
            false => Some(gpu::least_bytes(graph.vertices)),
            true => (ranks == 1).then(|| strong::gpu::least_bytes(graph.vertices, graph.edges, graph.blocks)),
        }
    }

    fn extra_host_bytes(&self, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64> {
        let vertices = layout.rows() >> layout.direction().shift();
        let streams = !self.is_strong(layout.direction()) && gpu::takes_uncut(vertices, sizes, bytes);
        streams.then(|| 2 * Forest::bytes(vertices))
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        if self.is_strong(graph.direction) {
            return strong_cost(graph, resources);
        }
        let (forest, ranks, trials) =
            (Forest::bytes(graph.vertices), resources.ranks as u64, u64::from(resources.trials));
        let merging = merge::bytes(resources.ranks, resources.nodes);
        // The memory limit of a job must also be enough to verify its results.
        let host_memory = (2 * forest + merging).max(verify::bytes(graph.ids, resources.threads));
        let joining = if resources.on_gpu {
            ENTRY_ON_GPU * graph.edges as f64 / ranks as f64
        } else {
            (ENTRY * graph.edges as f64 + ROW * graph.vertices as f64) / resources.all_threads()
        };
        Cost {
            disk: graph.column_and_checkpoints(resources, (8, 20), forest),
            exchange: trials * merge::sent(resources.ranks, forest),
            seconds: (f64::from(resources.trials) * joining + COLUMN * graph.column_rows as f64) / 1e9,
            ..Cost::of("components", host_memory)
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Components>> {
        match self.is_strong(graph.info.direction) {
            true => strong::find(graph, run),
            false => driver::find(graph, run),
        }
    }

    fn verify(&self, results: &Results<'_>, (output, ()): TrialRef<'_, Self>, verdict: &mut Verdict<'_>) -> Result<()> {
        let is_strong = self.is_strong(results.info.direction);
        let has_room = |edges| if is_strong { strong::verify::check_room(edges, results) } else { Ok(()) };
        match results.edges_for_columns().and_then(|edges| has_room(edges).map(|()| edges)) {
            Err(why) => verdict.skip("components", why),
            Ok(edges) if is_strong => verdict.note("components", strong::verify::compare(output, edges, results)),
            Ok(edges) => verdict.note("components", verify::compare(output, edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&ComponentsOutput>) -> Result<String> {
        let saved = units.checkpoint()?;
        if self.strong && saved.words(0)?.len() > 1 {
            let components = strong::components_of(saved, units.vertices)?;
            return Ok(format!("{components} strong components of vertices with edges so far"));
        }
        let parents = saved.words_u32(1)?;
        if parents.len() as u64 != units.vertices || (0..).zip(parents).any(|(v, &parent)| parent > v) {
            return Err(saved.other("not components of this graph"));
        }
        let roots = (0..).zip(parents).filter(|&(v, &parent)| parent == v).count();
        Ok(format!("{roots} components of vertices with edges, after {} of {} blocks", saved.done(), units.total))
    }

    fn answer(&self, output: &ComponentsOutput, _: Option<&()>) -> Answer {
        let largest = output.largest.first().copied().unwrap_or(0);
        Answer {
            main: format!("{}components {}", if output.strong { "strong " } else { "" }, output.components),
            more: format!("the largest has {}  found", counted(largest, "vertex", "vertices")),
            block: None,
        }
    }

    fn sentences(output: &ComponentsOutput) -> Vec<String> {
        let [one, many] = match output.strong {
            true => ["strongly connected component", "strongly connected components"],
            false => ["weakly connected component", "weakly connected components"],
        };
        let components = counted(output.components, one, many);
        let largest = counted(output.largest.first().copied().unwrap_or(0), "vertex", "vertices");
        vec![format!("The graph has {components}; the largest has {largest}.")]
    }

    fn figures(output: &ComponentsOutput, (): &()) -> Vec<Figure> {
        vec![size_figure("components", &output.by_size)]
    }
}

/// Returns the cost of finding the strongly connected components of a directed graph.
fn strong_cost(graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    // A GPU may leave a phase to CPUs, which start from its classes.
    let classes = if resources.on_gpu { 4 * graph.vertices } else { 0 };
    let host_memory = classes + strong::bytes(graph.vertices, resources.ranks);
    let (entries, trials) = (2 * graph.edges, u64::from(resources.trials));
    let finding = match resources.on_gpu {
        true => STRONG_ENTRY_ON_GPU * entries as f64,
        false => (STRONG_ENTRY * entries as f64 + STRONG_VERTEX * graph.vertices as f64) / resources.all_threads(),
    };
    Cost {
        disk: graph.column_and_checkpoints(resources, (8, 20), 4 * graph.vertices),
        exchange: trials * strong::sent(graph.vertices, resources.ranks),
        seconds: (trials as f64 * finding + COLUMN * graph.column_rows as f64) / 1e9,
        ..Cost::of("strong components", host_memory)
    }
}
