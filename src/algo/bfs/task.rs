//! Implements the algorithm of the table `[bfs]`.

use super::output::BfsDetails;
use super::search::Searched;
use super::{Bfs, cost, engine, gpu, options};
use crate::algo::searches::graph500::Kernel;
use crate::algo::searches::results::{SearchDetails, Speed};
use crate::algo::searches::tree::{self, LevelOutput, LevelTask};
use crate::algo::searches::{self, Engine, Options, sentences};
use crate::algo::sources::Named;
use crate::algo::{Algorithm, Answer, Cost, Crew, GraphSize, Needs, Results, Run, StoredUnits, TrialOf, Verdict};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;
use crate::store::map::Mapped;

impl Algorithm for Bfs {
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str = "searches breadth-first from many sources";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;
    const COLUMNS: &'static [About] = &[About::PARENT, About::LEVEL];
    const ALTERNATIVES: &'static [&'static str] = &Options::ORIGINS;

    type Input = Graph;
    type Output = LevelOutput;
    type Details = SearchDetails<BfsDetails>;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Bfs> {
        Bfs::read(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        Needs { degrees: true, order: true, upper: true, direction: true, ..Needs::default() }
    }

    fn named(&self) -> Vec<Named> {
        self.options.sources.named()
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &gpu::PROGRAMS
    }

    fn units(&self, _: u64) -> u64 {
        self.options.count()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> Option<u64> {
        Some(gpu::least_bytes(graph.vertices, graph.edges, graph.direction))
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        gpu::least_bytes(vertices, edges, Direction::Undirected) <= bytes
    }

    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
        cost::of(self, graph, crew)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Bfs>> {
        searches::drive(self, graph, run)
    }

    fn verify(
        &self,
        results: &Results<'_>,
        trial: (&LevelOutput, &SearchDetails<BfsDetails>),
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        tree::verify_trial(self, results, trial, verdict)
    }

    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&LevelOutput>) -> Result<String> {
        tree::verify_units::<Bfs>(units, output)
    }

    fn answer(&self, output: &LevelOutput, details: Option<&SearchDetails<BfsDetails>>) -> Answer {
        let block = details.filter(|_| self.options.graph500);
        let block = block.and_then(|details| sentences::block(Kernel::Bfs, details));
        Answer { block, ..sentences::answer(Bfs::NAME, output, details) }
    }

    fn sentences(output: &LevelOutput) -> Vec<String> {
        tree::sentences_of(output)
    }

    fn figures(output: &LevelOutput, details: &SearchDetails<BfsDetails>) -> Vec<Figure> {
        tree::figures_of(output, details)
    }
}

impl LevelTask for Bfs {
    type Searched = Searched;
    type SourceDetails = BfsDetails;

    fn options(&self) -> &Options {
        &self.options
    }

    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<Engine<'a, [u32], Searched>> {
        engine::choose([self.alpha, self.beta], graph, degrees, run, spare)
    }

    fn details(searched: Searched, Speed { seconds, teps }: Speed, levels: usize) -> BfsDetails {
        let mut all = searched.levels;
        all.truncate(levels);
        BfsDetails { seconds, teps, levels: all }
    }
}
