//! The stage that opens the list of a list-ranking job. Nothing is prepared, because tasks read the list themselves.

use crate::algo::ByInput;
use crate::error::Result;
use crate::job::context::Context;
use crate::job::input::{self, occupied};
use crate::job::plan::{self, limits};
use crate::job::ranks;
use crate::job::run_record::RunRecord;
use crate::job::stage::{Stage, StageResults};
use crate::job::state::finished::tasks_are_done;
use crate::job::state::record::Contents;
use crate::list::List;

/// The stage that opens the list of a job. No data is derived from the list.
pub(crate) struct OpenedList;

impl Stage for OpenedList {
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool> {
        let list = List::open(input::list(&context.job.input)?, context.threads)?;
        ranks::check_input(&context.comm, &list.source.name(), list.identity)?;
        let (job, manifest) = (&context.job, &record.manifest);
        if context.on_leader(|| Ok(tasks_are_done(job, manifest, Contents::of_list(list.identity))))? {
            tracing::info!("this job is done already; --fresh runs it again");
            results.finished = Some(ByInput::List(list));
            return Ok(true);
        }
        occupied::check_content(job, manifest, list.identity, None)?;
        context.begin_gpu()?;
        context.wait_for_gpu()?;
        context.gpu.connect_peers();
        let plan = plan::list::plan(&context.job, &context.machine(), &list, &record.manifest);
        limits::refuse(&plan)?;
        record.planned.clone_from(&plan.stages);
        (results.input, results.plan) = (Some(ByInput::List(list)), Some(plan));
        Ok(true)
    }
}
