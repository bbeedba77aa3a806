//! The plan of a job on a list. Its length determines all figures.

use crate::algo::{ByInput, ListSize};
use crate::config::Job;
use crate::error::Result;
use crate::job::plan::done::Done;
use crate::job::plan::estimate::{SMALL_FILES, TaskCost};
use crate::job::plan::limits::CertainNeeds;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::Clock;
use crate::job::plan::{Basis, Plan};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::Contents;
use crate::list::List;
use crate::size;

/// Opens the list of a job and returns its plan.
///
/// # Errors
/// [`crate::Error::Input`] if the list can't be read.
pub(super) fn open(job: &Job, machine: &Resources, manifest: &Manifest) -> Result<Plan> {
    let list = List::open(crate::job::input::list(&job.input)?, machine.threads)?;
    plan(job, machine, &list, manifest)
}

/// Returns the plan of a job on `list`. The manifest says what earlier runs completed.
///
/// # Errors
/// None in practice.
pub fn plan(job: &Job, machine: &Resources, list: &List, manifest: &Manifest) -> Result<Plan> {
    let done = Done::of(job, manifest, Contents::of_list(list.identity))?;
    let (length, source) = (list.length, &list.source);
    let reading = source.scratch_bytes(machine.threads);
    let size = ListSize { length, reading };
    let tasks = TaskCost::of_all(job, machine, ByInput::List(&size));
    let clock = Clock::new(job, machine, machine.preparers(0), None, length);
    let stages = |machine: &Resources| {
        let tasks = TaskCost::of_all(job, machine, ByInput::List(&size));
        TaskCost::stages(&tasks, machine, &clock, SMALL_FILES, 1.0)
    };
    let mut plan = Plan {
        input: format!("{}, {}", source.name(), size::show(source.bytes())),
        basis: Basis::Length,
        elements: Some(length),
        ..Plan::empty(job, machine, &tasks, 0)
    };
    plan.take(machine, &done, stages);
    let Plan { host_memory_needed: host_memory, gpu_memory_needed: gpu_memory, disk, .. } = plan;
    plan.certain = CertainNeeds { host_memory, gpu_memory, disk, scratch: 0 };
    Ok(plan)
}
