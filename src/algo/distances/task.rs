//! Implements [`Algorithm`] for the table `[distances]`.

use super::options::{Distances, KEYS};
use super::output::{COLUMNS, DistancesOutput, figures_bytes};
use super::search::SOURCES;
use super::{driver, gpu, search, verify};
use crate::algo::searches::Origins;
use crate::algo::searches::options::DRAWN;
use crate::algo::searches::sentences::counted;
use crate::algo::sources::NamedVertex;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::{Axis, Figure, Marks, Spread, Unit};
use crate::comm::Comm;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;

/// Part of the time of a pass on one thread: nanoseconds per neighbour in the rows of all vertices.
const ENTRY: f64 = 6.0;
/// Time of a pass on a GPU (H200): nanoseconds per neighbour in the rows of all vertices.
const ENTRY_ON_GPU: f64 = 0.02;
/// Part of the time of a pass on one thread: nanoseconds per vertex.
const VERTEX: f64 = 60.0;
/// Time that one thread takes to write one row of all three result columns, in nanoseconds.
const COLUMNS_ROW: f64 = 40.0;
/// Typical number of levels per pass after which the ranks exchange the 64-bit words of all vertices.
const EXCHANGED: u64 = 6;

impl Algorithm for Distances {
    const NAME: &'static str = "distances";
    const ABOUT: &'static str =
        "sums up distances from many sources: closeness, eccentricities, bounds on the diameter";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;
    const COLUMNS: &'static [About] = COLUMNS;
    const ALTERNATIVES: &'static [&'static str] = &Origins::ALTERNATIVES;
    const PROGRAMS: &'static [&'static ProgramSource] = &[&gpu::PROGRAM];

    type Input = Graph;
    type Output = DistancesOutput;
    type Details = ();

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Distances> {
        Origins::parse(&DRAWN, table, diagnostics).map(|origins| Distances { origins })
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
        let pieces = if ranks > 1 { 8 * Comm::PIECE as u64 } else { 0 };
        let host_memory = search::bytes(graph.vertices) + figures_bytes(sources) + pieces;
        let passes = trials * sources.div_ceil(SOURCES as u64);
        let pass = match resources.on_gpu {
            true => ENTRY_ON_GPU * graph.entries() as f64,
            false => (ENTRY * graph.entries() as f64 + VERTEX * graph.vertices as f64) / resources.all_threads(),
        };
        let checkpoint = 16 * graph.vertices + (8 * driver::SOURCE_WORDS as u64 + 4) * sources;
        let no_trial = RankResources { trials: 0, ..*resources };
        Cost {
            disk: graph.column_and_checkpoints(resources, (8, 20), checkpoint)
                + 2 * graph.column_and_checkpoints(&no_trial, (4, 10), 0),
            exchange: passes * EXCHANGED * (ranks - 1) * 8 * graph.vertices,
            seconds: (passes as f64 * pass + COLUMNS_ROW * graph.column_rows as f64) / 1e9,
            ..Cost::of("distances", host_memory)
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Distances>> {
        driver::find(self, graph, run)
    }

    fn verify(&self, results: &Results<'_>, (output, ()): TrialRef<'_, Self>, verdict: &mut Verdict<'_>) -> Result<()> {
        let edges = results.edges_for_columns();
        match edges.and_then(|edges| verify::check_room(edges, results).map(|()| edges)) {
            Err(why) => verdict.skip("distances", why),
            Ok(edges) => verdict.note("distances", verify::compare(self, output, edges, results)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&DistancesOutput>) -> Result<String> {
        let saved = units.checkpoint()?;
        let (head, vertices) = (saved.words(0)?, saved.words(3)?);
        let sources = saved.words(1)?.as_chunks::<{ driver::SOURCE_WORDS }>();
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::wrapping_add);
        // Every distance is added to the sum of a source and to the sum of a vertex, so both totals are equal.
        let of_sources = sum(&mut sources.0.iter().map(|of| of[1]));
        let of_vertices = sum(&mut vertices.iter().step_by(2).copied());
        let lengths = (head.len(), sources.0.len() as u64, sources.1.len(), vertices.len() as u64);
        if lengths != (1, saved.done(), 0, 2 * units.vertices) || of_sources != of_vertices {
            return Err(saved.other("not distances of this graph"));
        }
        Ok(format!("sums of distances from {} of {} sources", saved.done(), self.origins.count()))
    }

    fn answer(&self, output: &DistancesOutput, _: Option<&()>) -> Answer {
        let sources = counted(output.sources.len() as u64, "source", "sources");
        let diameter = match output.diameter.upper {
            Some(upper) => format!("{} to {upper}", output.diameter.lower),
            None => format!("at least {}", output.diameter.lower),
        };
        Answer {
            main: format!("distances from {sources}"),
            more: format!("diameter {diameter}  searched"),
            block: None,
        }
    }

    fn sentences(output: &DistancesOutput) -> Vec<String> {
        let sources = counted(output.sources.len() as u64, "source", "sources");
        let pairs = counted(output.pairs, "pair", "pairs");
        let longest = counted(output.diameter.lower, "edge", "edges");
        let mut sentences = vec![format!(
            "Shortest paths lead from {sources} to other vertices in {pairs} of a source and a vertex; the longest have {longest}."
        )];
        if let (Some(upper), Some(vertices)) = (output.diameter.upper, output.diameter.vertices) {
            let vertices = counted(vertices, "vertex", "vertices");
            let upper = counted(upper, "edge", "edges");
            sentences.push(format!(
                "The components of the sources have {vertices}. No two vertices of one of them are more than {upper} apart."
            ));
        }
        let closest = output.sources.iter().reduce(|best, of| if of.closeness > best.closeness { of } else { best });
        if let Some(of) = closest {
            sentences
                .push(format!("Of the sources, vertex {} has the highest closeness, {:.6}.", of.source, of.closeness));
        }
        sentences
    }

    fn figures(output: &DistancesOutput, (): &()) -> Vec<Figure> {
        let closeness = output.sources.iter().map(|of| of.closeness).collect();
        let closeness = Spread::of("sources", closeness).filter(|_| output.sources.len() > 1);
        let caption = "Closeness: smallest, quartiles, median and largest.";
        let axes = [Axis::linear("closeness", Unit::Number), Axis::linear("sources", Unit::Text)];
        let figure = |spread| Figure::new("Closeness of the sources", caption, axes, Marks::Boxes(vec![spread]));
        closeness.map(figure).into_iter().collect()
    }
}
