//! Stages of a plan that earlier runs did.

use crate::config::Job;
use crate::error::Result;
use crate::job::plan::Plan;
use crate::job::plan::cost_model::{MERGE_STAGE, TRANSPOSE_STAGE};
use crate::job::plan::estimate::StageKind;
use crate::job::state::manifest::{Manifest, merged_key, merged_weights};
use crate::job::state::record::{Contents, task_key};
use crate::prepare::prepared::{StoreInfo, UpperInfo};

/// Marks the stages that earlier runs did on a graph of these contents.
///
/// # Errors
/// None in practice; see [`task_key`].
pub(crate) fn mark(plan: &mut Plan, job: &Job, manifest: &Manifest, contents: Contents) -> Result<()> {
    let Contents { edges: content, weights, .. } = contents;
    let mut tasks = Vec::new();
    for task in &job.tasks {
        let (record, key) = (manifest.tasks.get(task.algorithm().name()), task_key(&**task, contents)?);
        tasks.push(record.is_some_and(|record| record.is_done(key, job)));
    }
    let nothing_to_do = !job.keep && !tasks.is_empty() && !tasks.contains(&false);
    let stored: Option<StoreInfo> = manifest.found("sort", content);
    let has_weights = |stored: &StoreInfo| weights.is_none() || stored.weights == weights;
    let there = stored.as_ref().is_some_and(has_weights) && plan.workdir.join("graph").is_dir();
    let upper = manifest.found::<UpperInfo>(TRANSPOSE_STAGE, content);
    let merged = manifest.found::<StoreInfo>(MERGE_STAGE, merged_key(content)?);
    let upper = upper.is_some_and(|upper| !job.upper_has_weights() || upper.weights == weights);
    let of_merged = weights.map(merged_weights).transpose()?;
    let merged = merged.is_some_and(|merged| !job.merged_has_weights() || merged.weights == of_merged);
    for stage in &mut plan.stages {
        stage.done = match stage.kind {
            StageKind::Order => true,
            StageKind::Blocks => there || nothing_to_do,
            StageKind::Part => (there && if stage.name == MERGE_STAGE { merged } else { upper }) || nothing_to_do,
            StageKind::Task(place, _) => tasks[place],
        };
    }
    plan.sum_seconds();
    Ok(())
}
