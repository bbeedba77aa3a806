//! Connects traversal to the driver of searches.

use super::output::TraverseDetails;
use super::search::{Search, Searched};
use super::{Traverse, engine};
use crate::algo::Run;
use crate::algo::searches::Options;
use crate::algo::searches::results::Speed;
use crate::algo::searches::tree::LevelTask;
use crate::error::Result;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

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
    ) -> Result<Box<dyn Search<Searched = Searched> + 'a>> {
        engine::choose(self, graph, degrees, run, spare)
    }

    fn details(searched: Searched, speed: Speed, levels: usize) -> TraverseDetails {
        TraverseDetails::of(searched, speed, levels)
    }
}
