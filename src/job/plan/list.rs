//! The plan of a list-ranking job. The length of the list determines memory, disk space and time.

use crate::algo::{ByInput, ListSize};
use crate::config::Job;
use crate::job::plan::completed::CompletedWork;
use crate::job::plan::estimate::{SMALL_FILES, TaskCost};
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::TimeModel;
use crate::job::plan::stage::stacked;
use crate::job::plan::{Basis, Plan};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::Contents;
use crate::list::List;
use crate::size;

/// Returns the plan of a job on `list`. `manifest` records what earlier runs completed.
pub fn plan(job: &Job, machine: &Resources, list: &List, manifest: &Manifest) -> Plan {
    let done = CompletedWork::of(job, manifest, Contents::of_list(list.identity));
    let (length, source) = (list.length, &list.source);
    let reading = source.scratch_bytes(machine.threads);
    let size = ListSize { length, reading };
    let tasks = |machine: &Resources| TaskCost::of_all(job, machine, ByInput::List(&size));
    let clock = TimeModel::new(job, machine, machine.preparers(0), None, length);
    let plan = Plan {
        input: format!("{}, {}", source.name(), size::show(source.bytes())),
        basis: Basis::Length,
        elements: Some(length),
        ..Plan::empty(job, machine, &tasks(machine), 0)
    };
    let stages = |machine: &Resources| TaskCost::stages(&tasks(machine), machine, &clock, 1.0);
    plan.with_stages(machine, &done, |machine| stacked(stages(machine), SMALL_FILES).collect())
}
