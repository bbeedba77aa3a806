//! The table `[sssp]`.

use super::search::{Searched, ShortestPathTree};
use super::{Sssp, cost, engine, gpu, options};
use crate::algo::searches::{EngineOf, Options, SearchCost, SearchTable};
use crate::algo::{Crew, GraphSize, Run, WeightSource};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

impl SearchTable for Sssp {
    const NAME: &'static str = "sssp";
    const ABOUT: &'static str = "finds shortest paths from many sources";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;

    type Tree = Box<ShortestPathTree>;
    type Searched = Searched;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Sssp> {
        Sssp::read(table, diagnostics)
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn target(&self) -> Option<InputId> {
        self.target
    }

    fn reads_weights(&self) -> bool {
        self.weights == WeightSource::File
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &gpu::PROGRAMS
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> u64 {
        gpu::least_bytes(graph.vertices, graph.direction)
    }

    fn search_cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> SearchCost {
        cost::of(self, graph, crew)
    }

    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<EngineOf<'a, Sssp>> {
        engine::choose(self, graph, degrees, run, spare)
    }
}
