//! The stages of a plan that are already complete.

use crate::config::Job;
use crate::job::plan::cost_model::{MERGE_STAGE, TRANSPOSE_STAGE};
use crate::job::plan::stage::{PlannedStage, StageKind};
use crate::job::state::key::{merged_key, merged_weights};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, task_key};
use crate::prepare::prepared::{StoreInfo, UpperInfo};

/// Which parts of a job are complete: those that earlier runs completed, and those that this run completed before it
/// makes its plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompletedWork {
    /// True if the degree order is complete.
    order: bool,
    /// True if all blocks are stored or not needed.
    blocks: bool,
    /// True if the upper half of the rows is stored or not needed.
    upper: bool,
    /// True if the merged rows (all neighbours) are stored or not needed.
    merged: bool,
    /// For each of the job's tasks, whether it is complete.
    tasks: Vec<bool>,
}

impl CompletedWork {
    /// Returns which parts of `job` are complete on the graph or list `contents`, according to the manifest.
    pub(crate) fn of(job: &Job, manifest: &Manifest, contents: Contents) -> CompletedWork {
        let Contents { edges: content, weights, .. } = contents;
        let mut tasks = Vec::new();
        for task in &job.tasks {
            let (record, key) = (manifest.tasks.get(task.name()), task_key(&**task, contents));
            tasks.push(record.is_some_and(|record| record.is_done(key, job)));
        }
        let nothing_to_do = !job.keep && !tasks.is_empty() && !tasks.contains(&false);
        let stored: Option<StoreInfo> = manifest.found("sort", content);
        let has_weights = |stored: &StoreInfo| weights.is_none() || stored.weights == weights;
        let there = stored.as_ref().is_some_and(has_weights) && job.workdir.join("graph").is_dir();
        let upper = manifest.found::<UpperInfo>(TRANSPOSE_STAGE, content);
        let merged = manifest.found::<StoreInfo>(MERGE_STAGE, merged_key(content));
        let upper = upper.is_some_and(|upper| !job.upper_has_weights() || upper.weights == weights);
        let of_merged = weights.map(merged_weights);
        let merged = merged.is_some_and(|merged| !job.merged_has_weights() || merged.weights == of_merged);
        CompletedWork {
            order: true,
            blocks: there || nothing_to_do,
            upper: there && upper || nothing_to_do,
            merged: there && merged || nothing_to_do,
            tasks,
        }
    }

    /// Returns a copy in which the blocks and the rows derived from them are treated as missing.
    pub(crate) fn without_blocks(self) -> CompletedWork {
        CompletedWork { blocks: false, upper: false, merged: false, ..self }
    }

    /// Returns a copy for a workdir that lacks the degree order. The order is treated as complete if the blocks are
    /// complete, because only building the blocks needs it.
    pub(crate) fn without_order(self) -> CompletedWork {
        CompletedWork { order: self.blocks, ..self }
    }

    /// Sets `done` in each of `stages` to whether the stage is complete.
    pub(crate) fn mark(&self, stages: &mut [PlannedStage]) {
        for stage in stages {
            stage.done = match stage.kind {
                StageKind::Order => self.order,
                StageKind::Blocks => self.blocks,
                StageKind::Part if stage.name == MERGE_STAGE => self.merged,
                StageKind::Part => self.upper,
                StageKind::Again => false,
                StageKind::Task(place, _) => self.tasks.get(place).is_some_and(|&done| done),
            };
        }
    }
}
