//! The plan of a job on a list: its length tells all.

use crate::config::Job;
use crate::error::Result;
use crate::job::plan::estimate::{SMALL_FILES, TaskCost};
use crate::job::plan::limits::Surely;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::Clock;
use crate::job::plan::{Basis, Plan, done};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::Contents;
use crate::list::List;
use crate::size;

/// Opens the list of a job, and returns its plan.
///
/// # Errors
/// [`crate::Error::Input`] where the list can't be read.
pub(super) fn open(job: &Job, machine: &Resources, manifest: &Manifest) -> Result<Plan> {
    let list = List::open(crate::job::input::list(&job.input)?, machine.threads)?;
    let mut plan = plan(job, machine, &list);
    done::mark(&mut plan, job, manifest, Contents::of_list(list.identity))?;
    Ok(plan)
}

/// Returns the plan of a job on `list`.
pub fn plan(job: &Job, machine: &Resources, list: &List) -> Plan {
    let (length, source) = (list.length, &list.source);
    let tasks = TaskCost::of_list(job, machine, length, source.scratch_bytes(machine.threads));
    let clock = Clock::new(job, machine, machine.preparers(0), None, length);
    let least = tasks.iter().map(|task| task.cost.least_host_memory).max().unwrap_or(0);
    let mut plan = Plan {
        input: format!("{}, {}", source.name(), size::show(source.bytes())),
        basis: Basis::Length,
        elements: Some(length),
        host_memory_needed: machine.smallest(least, 0),
        ..Plan::empty(job, machine, &tasks, 0)
    };
    plan.take(TaskCost::stages(&tasks, machine, &clock, SMALL_FILES, 1.0));
    let Plan { host_memory_needed: host_memory, gpu_memory_needed: gpu_memory, disk, .. } = plan;
    plan.surely = Surely { host_memory, gpu_memory, disk, scratch: 0 };
    plan
}
