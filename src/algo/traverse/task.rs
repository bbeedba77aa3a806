//! Implements the algorithm of the table `[traverse]`.

use super::options::Strategy;
use super::output::TraverseDetails;
use super::search::Searched;
use super::{Traverse, cost, engine, gpu, options};
use crate::algo::bfs;
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

impl Algorithm for Traverse {
    const NAME: &'static str = "traverse";
    const ABOUT: &'static str = "searches breadth-first by ranks that own vertices";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;
    const COLUMNS: &'static [About] = &[About::PARENT, About::LEVEL];
    const ALTERNATIVES: &'static [&'static str] = &Options::ORIGINS;

    type Input = Graph;
    type Output = LevelOutput;
    type Details = SearchDetails<TraverseDetails>;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Traverse> {
        Traverse::read(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        Needs { degrees: true, order: true, upper: true, direction: true, ..Needs::default() }
    }

    fn named(&self) -> Vec<Named> {
        self.options.sources.named()
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        match self.strategy {
            Strategy::Auto => &bfs::gpu::PROGRAMS,
            _ => &gpu::PROGRAMS,
        }
    }

    fn units(&self, _: u64) -> u64 {
        self.options.count()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> Option<u64> {
        Some(match self.strategy {
            Strategy::Auto => bfs::gpu::least_bytes(graph.vertices, graph.edges, graph.direction),
            _ => {
                let [own, entries] = cost::own(self, graph, ranks);
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

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Traverse>> {
        searches::drive(self, graph, run)
    }

    fn verify(
        &self,
        results: &Results<'_>,
        trial: (&LevelOutput, &SearchDetails<TraverseDetails>),
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        tree::verify_trial(self, results, trial, verdict)
    }

    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&LevelOutput>) -> Result<String> {
        tree::verify_units::<Traverse>(units, output)
    }

    fn answer(&self, output: &LevelOutput, details: Option<&SearchDetails<TraverseDetails>>) -> Answer {
        sentences::answer(Traverse::NAME, output, details)
    }

    fn sentences(output: &LevelOutput) -> Vec<String> {
        tree::sentences_of(output)
    }

    fn figures(output: &LevelOutput, details: &SearchDetails<TraverseDetails>) -> Vec<Figure> {
        tree::figures_of(output, details)
    }
}

impl LevelTask for Traverse {
    type Searched = Searched;
    type SourceDetails = TraverseDetails;

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
        engine::choose(self, graph, degrees, run, spare)
    }

    fn details(searched: Searched, speed: Speed, levels: usize) -> TraverseDetails {
        TraverseDetails::of(searched, speed, levels)
    }
}
