//! Connects breadth-first search to the driver of searches.

use crate::algo::Run;
use crate::algo::bfs::output::BfsDetails;
use crate::algo::bfs::search::{Search, Searched};
use crate::algo::bfs::{Bfs, engine};
use crate::algo::searches::Options;
use crate::algo::searches::results::Speed;
use crate::algo::searches::tree::LevelTask;
use crate::error::Result;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

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
    ) -> Result<Box<dyn Search<Searched = Searched> + 'a>> {
        engine::choose([self.alpha, self.beta], graph, degrees, run, spare)
    }

    fn details(searched: Searched, Speed { seconds, teps }: Speed, levels: usize) -> BfsDetails {
        let mut all = searched.levels;
        all.truncate(levels);
        BfsDetails { seconds, teps, levels: all }
    }
}
