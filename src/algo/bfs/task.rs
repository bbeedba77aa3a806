//! Implements [`SearchTable`] for the table `[bfs]`: its keys, its cost, and its engine.

use super::options::{ALPHA, BETA, KEYS};
use super::search::BfsStats;
use super::{Bfs, cost, engine, gpu};
use crate::algo::searches::{EngineInput, EngineOf, Options, SearchCost, SearchTable};
use crate::algo::{GraphSize, RankResources};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::memory::Buffer;

impl SearchTable for Bfs {
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str = "searches breadth-first from many sources";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;

    type Tree = Buffer<u32>;
    type Stats = BfsStats;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Bfs> {
        let options = Options::parse(table, diagnostics);
        let (alpha, beta) = (ALPHA.read(table, diagnostics), BETA.read(table, diagnostics));
        Some(Bfs { options: options?, alpha: alpha?, beta: beta? })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource> {
        gpu::programs(ranks, self.options.validate)
    }

    fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        gpu::RARE_PROGRAMS.to_vec()
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> u64 {
        gpu::least_bytes(graph.vertices, graph.edges, graph.direction)
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        gpu::least_bytes(vertices, edges, Direction::Undirected) <= bytes
    }

    fn search_cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost {
        cost::of("bfs", graph, resources)
    }

    fn engine<'a>(&self, input: EngineInput<'a, '_>) -> Result<EngineOf<'a, Bfs>> {
        engine::choose([self.alpha, self.beta], input)
    }
}
