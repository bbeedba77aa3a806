//! Stages of a plan that earlier runs did.

use crate::config::Job;
use crate::error::Result;
use crate::job::plan::Plan;
use crate::job::plan::cost_model::MERGE_STAGE;
use crate::job::plan::estimate::StageKind;
use crate::job::state::manifest::{Manifest, merged_key};
use crate::job::state::record::task_key;
use crate::prepare::prepared::StoreInfo;
use serde_json::Value;

/// Marks the stages that earlier runs did on a graph of these contents.
///
/// # Errors
/// None in practice; see [`task_key`].
pub(crate) fn mark(plan: &mut Plan, job: &Job, manifest: &Manifest, content: u64) -> Result<()> {
    let mut tasks = Vec::new();
    for task in &job.tasks {
        let (record, key) = (manifest.tasks.get(task.algorithm().name()), task_key(&**task, content)?);
        tasks.push(record.is_some_and(|record| record.is_done(key, job)));
    }
    let nothing_to_do = !job.keep && !tasks.is_empty() && !tasks.contains(&false);
    let there = manifest.found::<StoreInfo>("sort", content).is_some() && plan.workdir.join("graph").is_dir();
    for stage in &mut plan.stages {
        stage.done = match stage.kind {
            StageKind::Order => true,
            StageKind::Blocks => there || nothing_to_do,
            StageKind::Part => {
                let key = if stage.name == MERGE_STAGE { merged_key(content)? } else { content };
                (there && manifest.found::<Value>(stage.name, key).is_some()) || nothing_to_do
            }
            StageKind::Task(place, _) => tasks[place],
        };
    }
    plan.sum_seconds();
    Ok(())
}
