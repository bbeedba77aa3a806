//! Implements [`Algorithm`] for every search table (`[bfs]`, `[sssp]`, ...), and estimates its cost.

use super::results::{SearchDetails, SearchOutput};
use super::sentences::{self, SOURCES};
use super::{Origins, SearchTable, SearchTask, consistency, drive, report_bytes, verify_units};
use crate::algo::sources::NamedVertex;
use crate::algo::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;

impl<T: SearchTask> Algorithm for T {
    const NAME: &'static str = <T as SearchTable>::NAME;
    const ABOUT: &'static str = <T as SearchTable>::ABOUT;
    const KEYS: &'static [&'static dyn AnyKey] = <T as SearchTable>::KEYS;
    const COLUMNS: &'static [About] = <T as SearchTask>::COLUMNS;
    const ALTERNATIVES: &'static [&'static str] = &Origins::ALTERNATIVES;

    type Input = Graph;
    type Output = SearchOutput<T::SourceOutput>;
    type Details = SearchDetails<T::SourceDetails>;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<T> {
        <T as SearchTable>::parse(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        let weights = self.reads_weights();
        Needs { degrees: true, order: true, upper: true, direction: true, weights, input: false }
    }

    fn named_vertices(&self) -> Vec<NamedVertex> {
        let sources = self.options().origins.sources.named_vertices().into_iter();
        sources.chain(self.target().map(|target| ("target", target))).collect()
    }

    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource> {
        SearchTable::programs(self, ranks)
    }

    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        SearchTable::rare_programs(self)
    }

    fn units(&self, _: u64) -> u64 {
        self.options().origins.count()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        Some(SearchTable::least_gpu_memory(self, graph, ranks))
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        SearchTable::takes_packed(self, vertices, edges, bytes)
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        cost(self, graph, resources)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<T>> {
        drive(self, graph, run)
    }

    fn verify(
        &self,
        results: &Results<'_>,
        (output, details): TrialRef<'_, Self>,
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        match consistency::sources(output, details) {
            Ok(sources) => {
                let agreed = consistency::check(self, results.info, (output, details), &sources);
                verdict.note("searches", agreed)?;
                consistency::check_trees(self, results, &sources, verdict)
            }
            Err(e) => verdict.note("searches", Err(e)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&Self::Output>) -> Result<String> {
        verify_units::<T>(units, output.map(|output| output.sources.as_slice()))
    }

    fn answer(&self, output: &Self::Output, details: Option<&Self::Details>) -> Answer {
        let lines = output.sources.iter().filter_map(T::more).map(|[line, _]| line);
        let block = details.filter(|_| self.options().graph500);
        let block = block.and_then(|details| sentences::block(T::KERNEL, details));
        let block: String = lines.chain(block).collect();
        sentences::answer(<T as SearchTable>::NAME, output, details, Some(block).filter(|block| !block.is_empty()))
    }

    fn sentences(output: &Self::Output) -> Vec<String> {
        let mut all = sentences::of_searches(&output.sources.iter().map(T::figures).collect::<Vec<_>>());
        all.extend(output.sources.iter().take(SOURCES).filter_map(T::more).map(|[_, sentence]| sentence));
        all
    }

    fn figures(output: &Self::Output, details: &Self::Details) -> Vec<Figure> {
        T::charts(output, details)
    }
}

/// Estimated time that a thread takes to write one row of a result column, in nanoseconds.
const COLUMN: f64 = 20.0;
/// Page size of the file system in bytes. Files occupy whole pages.
const PAGE: u64 = 4096;

/// Returns the estimated cost of a search table, including the checks of trees and the result columns. Only rank 0
/// checks the trees.
fn cost<T: SearchTask>(table: &T, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    let (options, search) = (table.options(), table.search_cost(graph, resources));
    let (vertices, rows, sources) = (graph.vertices, graph.column_rows, options.origins.count());
    let [most, fewest] = search.bytes;
    let fewest = (fewest + table.tree_bytes(vertices, 1)).max(report_bytes(sources, vertices));
    let trees = if options.validate { T::PLANNED.min(sources.max(1) as usize) } else { 1 };
    let wanted = (most + table.tree_bytes(vertices, trees)).max(fewest);
    let file = if wanted > resources.free { search.file } else { 0 };
    let columns = T::VALUES.map(|(width, digits)| resources.format.row_bytes(width, digits)).iter().sum::<u64>();
    let ids = if graph.sparse { 8 * rows + PAGE } else { 0 };
    let written = if options.write { sources * (columns * rows + 2 * PAGE) + ids } else { 0 };
    let trials = u64::from(resources.trials);
    let check = if options.validate { T::CHECK * 2.0 * graph.edges as f64 } else { 0.0 };
    let [prepare, each] = search.nanoseconds;
    let trial = prepare + sources as f64 * (each + check / resources.threads as f64);
    let columns = if options.write { sources as f64 * COLUMN * 2.0 * rows as f64 } else { 0.0 };
    Cost {
        host_memory: wanted.min(resources.free.max(fewest)),
        least_host_memory: fewest,
        disk: written + file + trials * sources * T::RECORD + PAGE,
        exchange: trials * sources * search.sent,
        cached: search.cached,
        seconds: (f64::from(resources.trials) * trial + columns) / 1e9,
        label: if options.validate { format!("{} validated", search.label) } else { search.label },
    }
}
