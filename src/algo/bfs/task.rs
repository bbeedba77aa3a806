//! The table `[bfs]`.

use super::search::Searched;
use super::{Bfs, cost, engine, gpu, options};
use crate::algo::searches::{EngineOf, Options, SearchCost, SearchTable};
use crate::algo::{Crew, GraphSize, Run};
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::memory::Buffer;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

impl SearchTable for Bfs {
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str = "searches breadth-first from many sources";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;

    type Tree = Buffer<u32>;
    type Searched = Searched;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Bfs> {
        Bfs::read(table, diagnostics)
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &gpu::PROGRAMS
    }

    fn least_gpu_memory(&self, graph: &GraphSize<'_>, _: usize) -> u64 {
        gpu::least_bytes(graph.vertices, graph.edges, graph.direction)
    }

    fn takes_packed(&self, vertices: u64, edges: u64, bytes: u64) -> bool {
        gpu::least_bytes(vertices, edges, Direction::Undirected) <= bytes
    }

    fn search_cost(&self, graph: &GraphSize<'_>, crew: &Crew) -> SearchCost {
        cost::of("bfs", graph, crew)
    }

    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<EngineOf<'a, Bfs>> {
        engine::choose([self.alpha, self.beta], graph, degrees, run, spare)
    }
}
