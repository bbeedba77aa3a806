//! Implements [`SearchTable`] for the table `[sssp]`: its keys, its cost, and its engine.

use super::options::{KEYS, METHOD, TARGET, WEIGHTS};
use super::search::{ShortestPathTree, SsspStats};
use super::{Sssp, cost, engine, gpu};
use crate::algo::searches::{EngineInput, EngineOf, Options, SearchCost, SearchTable};
use crate::algo::{GraphSize, RankResources, WeightSource};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Diagnostics, Section};

impl SearchTable for Sssp {
    const NAME: &'static str = "sssp";
    const ABOUT: &'static str = "finds shortest paths from many sources";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;

    type Tree = Box<ShortestPathTree>;
    type Stats = SsspStats;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Sssp> {
        let options = Options::parse(table, diagnostics);
        let (method, weights) = (METHOD.read(table, diagnostics), WEIGHTS.read(table, diagnostics));
        let target = TARGET.read(table, diagnostics);
        Some(Sssp { options: options?, method: method?, weights: weights?, target: target? })
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

    fn programs(&self, _: usize) -> Vec<&'static ProgramSource> {
        gpu::programs(self.weights, self.method)
    }

    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        gpu::rare_programs(self.weights)
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> u64 {
        gpu::least_bytes(graph.vertices, graph.direction)
    }

    fn search_cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost {
        cost::of(self, graph, resources)
    }

    fn engine<'a>(&self, input: EngineInput<'a, '_>) -> Result<EngineOf<'a, Sssp>> {
        engine::choose(self, input)
    }
}
