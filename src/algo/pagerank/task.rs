//! Implements [`Algorithm`] for the table `[pagerank]`.

use super::options::{KEYS, Pagerank};
use super::output::{COLUMNS, PagerankOutput, RankBin};
use super::state::State;
use super::{driver, gpu, verify};
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

/// Time per neighbour in a row in an iteration, in nanoseconds, on one thread.
const ENTRY: f64 = 3.0;
/// Time per vertex in an iteration, in nanoseconds, on one thread.
const VERTEX: f64 = 10.0;
/// Time to write one row of the result column, in nanoseconds, on one thread.
const COLUMN: f64 = 20.0;

impl Algorithm for Pagerank {
    const NAME: &'static str = "pagerank";
    const ABOUT: &'static str = "ranks vertices by PageRank";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;
    const COLUMNS: &'static [About] = COLUMNS;
    const PROGRAMS: &'static [&'static ProgramSource] = &[&gpu::PROGRAM];

    type Input = Graph;
    type Output = PagerankOutput;
    type Details = ();

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Pagerank> {
        Pagerank::read(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        Needs { order: true, direction: true, degrees: true, upper: true, ..Needs::default() }
    }

    fn named_vertices(&self) -> Vec<NamedVertex> {
        self.personalised.iter().map(|&id| ("personalised vertex", id)).collect()
    }

    fn units(&self, _: u64) -> u64 {
        self.most_iterations()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        // If there are several ranks, they use their CPUs.
        (ranks == 1).then(|| gpu::least_bytes(graph.vertices, self.personalised.len() as u64))
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        let (state, ranks, trials) =
            (State::bytes(graph.vertices), resources.ranks as u64, u64::from(resources.trials));
        let pieces = if ranks > 1 { 16 * Comm::PIECE as u64 } else { 0 };
        // The memory limit of a job must also be enough to verify its results.
        let verify = verify::least_bytes(graph.ids, graph.edges, resources.threads) + graph.reading;
        let host_memory = (state + pieces).max(verify);
        let iterations = trials as f64 * self.most_iterations() as f64;
        let pulling = (ENTRY * graph.entries() as f64 + VERTEX * graph.vertices as f64) / resources.all_threads();
        Cost {
            disk: graph.column_and_checkpoints(resources, (8, 24), 8 * graph.vertices),
            exchange: trials * self.most_iterations() * (ranks - 1) * 16 * graph.vertices,
            seconds: (iterations * pulling + COLUMN * graph.column_rows as f64) / 1e9,
            ..Cost::of("pagerank", host_memory)
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Pagerank>> {
        driver::find(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, (output, ()): TrialRef<'_, Self>, verdict: &mut Verdict<'_>) -> Result<()> {
        match results.edges_for_columns() {
            Err(why) => verdict.skip("pagerank", why),
            Ok(edges) => verdict.note("pagerank", verify::compare(self, output, edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&PagerankOutput>) -> Result<String> {
        let saved = units.checkpoint()?;
        let is_rank = |&bits: &u64| (0.0..=1.0).contains(&f64::from_bits(bits));
        let (head, ranks) = (saved.words(0)?, saved.words(1)?);
        let sum: f64 = ranks.iter().map(|&bits| f64::from_bits(bits)).sum();
        // The additions are rounded, so the sum may be slightly more than 1.
        if head.len() != 4 || ranks.len() as u64 != units.vertices || !ranks.iter().all(is_rank) || sum > 1.0 + 1e-6 {
            return Err(saved.other("not ranks of this graph"));
        }
        Ok(format!("ranks of vertices with edges after {} of at most {} iterations", saved.done(), self.iterations))
    }

    fn answer(&self, output: &PagerankOutput, _: Option<&()>) -> Answer {
        let largest = output.largest.first().map_or_else(|| "none".to_owned(), |of| format!("{}", of.vertex));
        let iterations = counted(output.iterations, "iteration", "iterations");
        let converged = if output.converged == Some(false) { "  not converged" } else { "" };
        Answer {
            main: format!("pagerank {iterations}"),
            more: format!("change {:.3e}{converged}  highest {largest}  ranked", output.change),
            block: None,
        }
    }

    fn sentences(output: &PagerankOutput) -> Vec<String> {
        let iterations = counted(output.iterations, "iteration", "iterations");
        let mut sentences = vec![format!(
            "After {iterations} of PageRank, the ranks of all vertices add up to {:.6}. The last iteration changed them by \
             {:.3e} in all.",
            output.sum, output.change
        )];
        if output.converged == Some(false) {
            sentences.push("The ranks still changed by more than the tolerance.".into());
        }
        if let Some(of) = output.largest.first() {
            sentences.push(format!("Vertex {} has the highest rank, {:.6e}.", of.vertex, of.rank));
        }
        sentences
    }

    fn figures(output: &PagerankOutput, (): &()) -> Vec<Figure> {
        // PageRank values are tiny, so the chart shows them as multiples of the mean.
        let vertices: u64 = output.by_rank.iter().map(|bin| bin.vertices).sum();
        let bin = |bin: &RankBin| {
            let from = bin.from * vertices as f64;
            (from, 2.0 * from, bin.vertices as f64)
        };
        let bins: Vec<_> = output.by_rank.iter().map(bin).collect();
        let caption = "Vertices by their rank as a multiple of 1 / n, both by logarithm.";
        let mut figure = Figure::distribution("Ranks of vertices", caption, "vertices", "rank times vertices", &bins);
        figure.x.unit = Unit::Number;
        vec![figure]
    }
}
