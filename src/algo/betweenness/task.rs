//! Implements [`Algorithm`] for the table `[betweenness]`.

use super::options::{Betweenness, KEYS, NORMALISE, ROOTS};
use super::output::{BetweennessOutput, COLUMNS};
use super::{driver, gpu, search, verify};
use crate::algo::pagerank::RankBin;
use crate::algo::searches::Origins;
use crate::algo::searches::sentences::counted;
use crate::algo::sources::NamedVertex;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::{Figure, Unit};
use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;

/// Time to process one neighbour in a row, in nanoseconds, on one thread. For each source, every neighbour is processed
/// twice: to count paths, and to compute dependencies.
const ENTRY: f64 = 4.0;
/// Time per vertex in a search from one source, in nanoseconds, on one thread.
const VERTEX: f64 = 40.0;
/// Time to write one row of the result column, in nanoseconds, on one thread.
const COLUMN: f64 = 20.0;
/// Time per source for each neighbour in a row, in nanoseconds, on a GPU (H200).
const ENTRY_ON_GPU: f64 = 0.006;
/// Host memory, in bytes, per source: for its id in the result, and for the random choice of sources.
const SOURCE: u64 = 128;

impl Algorithm for Betweenness {
    const NAME: &'static str = "betweenness";
    const ABOUT: &'static str = "scores vertices by betweenness centrality";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;
    const COLUMNS: &'static [About] = COLUMNS;
    const ALTERNATIVES: &'static [&'static str] = &Origins::ALTERNATIVES;
    const PROGRAMS: &'static [&'static ProgramSource] = &gpu::PROGRAMS;

    type Input = Graph;
    type Output = BetweennessOutput;
    type Details = ();

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Betweenness> {
        let origins = Origins::parse(&ROOTS, table, diagnostics);
        let normalise = NORMALISE.read(table, diagnostics);
        Some(Betweenness { origins: origins?, normalise: normalise? })
    }

    fn needs(&self) -> Needs {
        Needs { order: true, direction: true, degrees: true, upper: true, ..Needs::default() }
    }

    fn named_vertices(&self) -> Vec<NamedVertex> {
        self.origins.sources.named_vertices()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        // If there are several ranks, they use their CPUs.
        let rows = graph.direction.rows(graph.vertices);
        (ranks == 1).then(|| gpu::least_bytes(graph.vertices, rows, graph.edges, graph.blocks))
    }

    fn units(&self, _: u64) -> u64 {
        self.origins.count()
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        let (ranks, trials, sources) = (resources.ranks as u64, u64::from(resources.trials), self.origins.count());
        let state = search::bytes(graph.vertices) + 8 * graph.vertices + SOURCE * sources;
        let pieces = if ranks > 1 { 8 * Comm::PIECE as u64 } else { 0 };
        let host_memory = state + pieces;
        let searching = match resources.on_gpu {
            true => ENTRY_ON_GPU * graph.entries() as f64,
            false => (2.0 * ENTRY * graph.entries() as f64 + VERTEX * graph.vertices as f64) / resources.all_threads(),
        };
        Cost {
            disk: graph.column_and_checkpoints(resources, (8, 24), 8 * graph.vertices),
            exchange: trials * sources * (ranks - 1) * 17 * graph.vertices,
            seconds: (trials as f64 * sources as f64 * searching + COLUMN * graph.column_rows as f64) / 1e9,
            ..Cost::of("betweenness", host_memory)
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Betweenness>> {
        driver::find(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, (output, ()): TrialRef<'_, Self>, verdict: &mut Verdict<'_>) -> Result<()> {
        let edges = results.edges_for_columns();
        match edges.and_then(|edges| verify::check_room(edges, results).map(|()| edges)) {
            Err(why) => verdict.skip("betweenness", why),
            Ok(edges) => verdict.note("betweenness", verify::compare(self, output, edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&BetweennessOutput>) -> Result<String> {
        let saved = units.checkpoint()?;
        let is_score = |&bits: &u64| f64::from_bits(bits) >= 0.0 && f64::from_bits(bits).is_finite();
        let (head, totals) = (saved.words(0)?, saved.words(1)?);
        if head.len() != 4 || totals.len() as u64 != units.vertices || !totals.iter().all(is_score) {
            return Err(saved.other("not scores of this graph"));
        }
        Ok(format!("dependencies of vertices with edges on {} of {} sources", saved.done(), self.origins.count()))
    }

    fn answer(&self, output: &BetweennessOutput, _: Option<&()>) -> Answer {
        let highest = output.largest.first().map_or_else(|| "none".to_owned(), |of| format!("{}", of.vertex));
        let sources = counted(output.sources.len() as u64, "source", "sources");
        Answer {
            main: format!("betweenness from {sources}"),
            more: format!("highest {highest}  depth {}  summed", output.depth),
            block: None,
        }
    }

    fn sentences(output: &BetweennessOutput) -> Vec<String> {
        let sources = counted(output.sources.len() as u64, "source", "sources");
        let pairs = counted(output.pairs, "pair", "pairs");
        let mut sentences = vec![format!(
            "Shortest paths lead from {sources} to other vertices in {pairs} of a source and a vertex; the longest have {}.",
            counted(output.depth, "edge", "edges")
        )];
        if let Some(of) = output.largest.first() {
            sentences.push(format!("Vertex {} has the highest betweenness, {:.6e}.", of.vertex, of.centrality));
        }
        sentences
    }

    fn figures(output: &BetweennessOutput, (): &()) -> Vec<Figure> {
        let bin = |bin: &RankBin| {
            let from = bin.from * output.divisor;
            (from, 2.0 * from, bin.vertices as f64)
        };
        let bins: Vec<_> = output.by_score.iter().map(bin).collect();
        let caption = "Vertices by the sum of their dependencies, both by logarithm.";
        let mut figure =
            Figure::distribution("Betweenness of vertices", caption, "vertices", "sum of dependencies", &bins);
        figure.x.unit = Unit::Number;
        vec![figure]
    }
}
