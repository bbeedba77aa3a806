//! Implements [`SearchTable`] for the job table `[traverse]`.

use super::options::{KEYS, OWNER, STRATEGY, Strategy};
use super::search::TraverseStats;
use super::{Traverse, cost, engine, gpu};
use crate::algo::bfs;
use crate::algo::searches::{EngineInput, EngineOf, Options, SearchCost, SearchTable};
use crate::algo::{GraphSize, RankResources};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::memory::Buffer;

impl SearchTable for Traverse {
    const NAME: &'static str = "traverse";
    const ABOUT: &'static str = "searches breadth-first by ranks that own vertices";
    const KEYS: &'static [&'static dyn AnyKey] = KEYS;

    type Tree = Buffer<u32>;
    type Stats = TraverseStats;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Traverse> {
        let options = Options::parse(table, diagnostics);
        let (strategy, owner) = (STRATEGY.read(table, diagnostics), OWNER.read(table, diagnostics));
        Some(Traverse { options: options?, strategy: strategy?, owner: owner? })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn programs(&self, ranks: usize) -> Vec<&'static ProgramSource> {
        match self.strategy {
            Strategy::Auto => bfs::gpu::programs(ranks, self.options.validate),
            _ => gpu::PROGRAMS.to_vec(),
        }
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, ranks: usize) -> u64 {
        if self.strategy == Strategy::Auto {
            return bfs::gpu::least_bytes(graph.vertices, graph.edges, graph.direction);
        }
        let [own, entries] = cost::own(self, graph, ranks);
        gpu::least_bytes(own, entries, ranks)
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        self.strategy == Strategy::Auto && bfs::gpu::least_bytes(vertices, edges, Direction::Undirected) <= bytes
    }

    fn search_cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost {
        cost::of(self, graph, resources)
    }

    fn engine<'a>(&self, input: EngineInput<'a, '_>) -> Result<EngineOf<'a, Traverse>> {
        engine::choose(self, input)
    }
}
