//! Traversal as the driver of searches knows it.

use super::engine;
use super::search::{Search, Searched};
use super::task::Table;
use crate::algo::Run;
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
        engine::choose(self, graph, degrees, run, spare)
    }

    fn how(searched: Searched) -> Value {
        let Searched { compute_seconds, communication_seconds, expanded, sent, .. } = searched;
        let mut how = json!({
            "compute_seconds": compute_seconds,
            "communication_seconds": communication_seconds,
            "expanded": expanded,
            "pruned": sent.pruned,
            "sent_bytes": sent.sent_bytes,
            "unpruned_bytes": sent.unpruned_bytes,
            "levels": searched.levels,
        });
        if let Some(steps) = searched.steps {
            how["waiting_seconds"] = json!(searched.waiting_seconds);
            how["steps"] = json!(steps);
            how["ranks"] = json!(searched.ranks);
        }
        how
    }
}
