//! Breadth-first search as the driver of searches knows it.

use crate::algo::Run;
use crate::algo::bfs::engine;
use crate::algo::bfs::search::{Search, Searched};
use crate::algo::bfs::task::Table;
use crate::algo::searches::Options;
use crate::algo::searches::tree::LevelTask;
use crate::error::Result;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;
use serde_json::{Value, json};

impl LevelTask for Table {
    type Searched = Searched;

    fn options(&self) -> &Options {
        &self.options
    }

    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<Box<dyn Search<Searched = Searched> + 'a>> {
        engine::choose([self.alpha, self.beta], graph, degrees, run, spare)
    }

    fn how(searched: Searched) -> Value {
        json!({ "levels": searched.levels })
    }
}
