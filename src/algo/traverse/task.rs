//! The table `[traverse]`.

use super::options::Strategy;
use super::search::Searched;
use super::{Traverse, cost, engine, gpu, options};
use crate::algo::bfs;
use crate::algo::searches::{EngineOf, Options, SearchCost, SearchTable};
use crate::algo::{Crew, GraphSize, Run};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::memory::Buffer;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

impl SearchTable for Traverse {
    const NAME: &'static str = "traverse";
    const ABOUT: &'static str = "searches breadth-first by ranks that own vertices";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;

    type Tree = Buffer<u32>;
    type Searched = Searched;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Traverse> {
        Traverse::read(table, diagnostics)
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        match self.strategy {
            Strategy::Auto => &bfs::gpu::PROGRAMS,
            _ => &gpu::PROGRAMS,
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

    fn search_cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> SearchCost {
        cost::of(self, graph, crew)
    }

    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<EngineOf<'a, Traverse>> {
        engine::choose(self, graph, degrees, run, spare)
    }
}
