//! Implementation of [`Algorithm`] for the table `[sssp]`.

use super::output::{SourceOutput, SsspDetails, SsspOutput};
use super::search::Searched;
use super::verify::SourceChecked;
use super::{Sssp, cost, figures, gpu, options, verify};
use crate::algo::searches::agreement::{self, Reported};
use crate::algo::searches::graph500::Kernel;
use crate::algo::searches::results::{SearchDetails, SourceDetails};
use crate::algo::searches::{self, Options, sentences};
use crate::algo::sources::Named;
use crate::algo::{
    Algorithm, Answer, Cost, Crew, GraphSize, Needs, Results, Run, StoredUnits, TrialOf, Verdict, WeightSource,
};
use crate::chart::Figure;
use crate::error::{Error, Result};
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::results::about::About;
use std::fmt::Write;

/// The column of distances.
const DISTANCE: About =
    About::new("distance", "sum of weights on the shortest path from the source", "2^64 - 1, or inf: not reached");

impl Algorithm for Sssp {
    const NAME: &'static str = "sssp";
    const ABOUT: &'static str = "finds shortest paths from many sources";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;
    const COLUMNS: &'static [About] = &[DISTANCE, About::PARENT];
    const ALTERNATIVES: &'static [&'static str] = &Options::ORIGINS;

    type Input = Graph;
    type Output = SsspOutput;
    type Details = SearchDetails<SsspDetails>;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Sssp> {
        Sssp::read(table, diagnostics)
    }

    fn needs(&self) -> Needs {
        let weights = self.weights == WeightSource::File;
        Needs { degrees: true, order: true, upper: true, direction: true, weights, input: false }
    }

    fn named(&self) -> Vec<Named> {
        self.options.sources.named().into_iter().chain(self.target.map(|target| ("target", target))).collect()
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &gpu::PROGRAMS
    }

    fn units(&self, _: u64) -> u64 {
        self.options.count()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> Option<u64> {
        Some(gpu::least_bytes(graph.vertices, graph.direction))
    }

    fn cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
        cost::of(self, graph, crew)
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Sssp>> {
        searches::drive(self, graph, run)
    }

    fn verify(
        &self,
        results: &Results<'_>,
        (output, details): (&SsspOutput, &SearchDetails<SsspDetails>),
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        let reported = Reported::of(&self.options, Kernel::Sssp, output, details);
        match agreement::sources(output, details) {
            Ok(sources) => {
                let source = |(output, details): (&SourceOutput, &SsspDetails)| SourceChecked {
                    output: output.clone(),
                    speed: details.speed(),
                };
                verify::verify((&reported, self.weights), results, &sources.map(source).collect::<Vec<_>>(), verdict)
            }
            Err(e) => verdict.note("searches", Err(e)),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&SsspOutput>) -> Result<String> {
        let sources = output.map(|output| output.sources.as_slice());
        searches::verify_units(units, sources, |searched: &Searched, edges, output: &SourceOutput| {
            let found = (searched.reached, searched.max_distance, edges);
            if found != (output.reached, output.max_distance, output.edges) {
                let what = format!(
                    "(reached, max_distance, edges) {found:?}, which differs from the result of {}",
                    output.source
                );
                return Err(Error::Validation(what));
            }
            Ok(())
        })
    }

    fn answer(&self, output: &SsspOutput, details: Option<&SearchDetails<SsspDetails>>) -> Answer {
        let of_graph500 = details.filter(|_| self.options.graph500);
        let of_graph500 = of_graph500.and_then(|details| sentences::block(Kernel::Sssp, details));
        let block = paths(output) + &of_graph500.unwrap_or_default();
        Answer {
            block: Some(block).filter(|block| !block.is_empty()),
            ..sentences::answer(Sssp::NAME, output, details)
        }
    }

    fn sentences(output: &SsspOutput) -> Vec<String> {
        figures::sentences(output)
    }

    fn figures(output: &SsspOutput, details: &SearchDetails<SsspDetails>) -> Vec<Figure> {
        figures::figures(output, details)
    }
}

/// Returns a line with the path to the target for each source.
fn paths(output: &SsspOutput) -> String {
    let mut lines = String::new();
    for source in &output.sources {
        if let Some(path) = &source.path {
            // Writing to a string can't fail.
            let _ = writeln!(lines, "path {} to {}: {path}", source.source, path.target);
        }
    }
    lines
}
