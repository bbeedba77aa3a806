//! The stage that opens a graph from another job's workdir, where that job kept it, as the input of this job.

use super::{derived, merge, named, transpose};
use crate::algo::ByInput;
use crate::error::Result;
use crate::job::context::Context;
use crate::job::input::occupied;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::RunRecord;
use crate::job::stage::{Stage, StageResults};
use crate::job::state::kept;
use crate::job::state::lock::Reader;
use crate::prepare::prepared::Graph;
use std::path::PathBuf;

/// The stage that opens the graph that another job kept in its workdir. It builds nothing.
pub(crate) struct KeptGraph {
    /// Workdir of the job that kept the graph.
    pub(crate) workdir: PathBuf,
    /// Record in the workdir of the kept graph that this job reads the graph. It prevents other jobs from removing
    /// the graph while this job runs.
    pub(crate) reader: Option<Reader>,
}

impl Stage for KeptGraph {
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool> {
        let other = &self.workdir;
        self.reader = if context.comm.is_leader() { Reader::enter(other, &context.job.workdir) } else { None };
        context.begin_gpu()?;
        // Waits here already, because there is no input to read while the GPU is being opened.
        context.wait_for_gpu()?;
        context.gpu.connect_peers();
        // The leader checks on behalf of all ranks that the graph is intact.
        context.on_leader(|| kept::check(other))?;
        let graph = kept::open_for(&context.job, other)?;
        let Graph { info, stored, folder, .. } = &graph;
        named::check(context, record, info, folder, None, None)?;
        let (job, manifest) = (&context.job, &record.manifest);
        occupied::check_content(job, manifest, info.content, None)?;
        occupied::check_weights(job, manifest, info.content, stored.weights)?;
        limits::refuse(&Plan::prepared(job, &context.machine(), other, &graph, manifest)?)?;
        results.input = Some(ByInput::Graph(Box::new(graph)));
        Ok(true)
    }

    /// Removes the rows that this job derived from the kept graph. The kept graph itself remains.
    fn remove(&mut self, context: &Context, record: &mut RunRecord) -> Result<()> {
        derived::remove::<transpose::UpperHalf>(context, record)?;
        derived::remove::<merge::MergedRows>(context, record)
    }
}
