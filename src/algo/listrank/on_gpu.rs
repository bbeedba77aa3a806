//! One trial on a GPU: reads the list into GPU memory, checks and ranks it there, and copies the ranks back.

use crate::algo::listrank::driver::cycle;
use crate::algo::listrank::gpu::{self, ListOnGpu};
use crate::algo::listrank::index::Index;
use crate::algo::listrank::options::{ListRank, Method};
use crate::algo::listrank::output::{ListRankDetails, Phases, Ranked};
use crate::algo::listrank::write::Ranks;
use crate::algo::{Lease, Run, Trial};
use crate::error::Result;
use crate::formats::Signals;
use crate::list::List;
use std::time::Instant;

/// Returns the method in `table` as a GPU method; `None` if it runs only on CPUs.
pub(super) fn method(table: &ListRank) -> Option<gpu::GpuMethod> {
    match table.method {
        Method::Serial => None,
        Method::Wyllie => Some(gpu::GpuMethod::Wyllie),
        Method::RulingSet | Method::Auto => Some(gpu::GpuMethod::RulingSet),
    }
}

/// Returns the host memory in bytes for the ranks of a trial on a GPU, without the memory for reading. A list without
/// random access is first read into the memory for ranks.
pub(super) fn memory(length: u64, table: &ListRank) -> u64 {
    length * gpu::index_bytes(length, method(table).unwrap_or(gpu::GpuMethod::RulingSet))
}

/// Checks that the GPU of `lease` has enough memory for a list of `length` elements.
///
/// # Errors
/// [`crate::Error::Limit`] naming the smallest limit that works; [`crate::Error::Usage`] if the method can't rank so
/// many elements.
pub(super) fn has_room(lease: &mut Lease<'_>, length: u64, method: gpu::GpuMethod) -> Result<()> {
    match gpu::index_bytes(length, method) {
        4 => ListOnGpu::<u32>::new(&mut lease.workspace, length, method).map(drop),
        _ => ListOnGpu::<u64>::new(&mut lease.workspace, length, method).map(drop),
    }
}

/// Ranks a list on the GPU of `lease`, which has enough memory for it.
///
/// # Errors
/// [`crate::Error::Input`] if the input is not a list; [`crate::Error::Limit`], [`crate::Error::Lost`], disk errors;
/// [`crate::Error::Stopped`].
pub(super) fn rank<I: Index>(
    table: &ListRank,
    list: &List,
    run: &mut Run<'_>,
    lease: &mut Lease<'_>,
    method: gpu::GpuMethod,
) -> Result<Ranked> {
    let mut phases = Phases::default();
    let mut memory = run.budget.zeroed::<I>(list.length as usize, "the ranks of the list")?;
    let mut on_gpu = ListOnGpu::<I>::new(&mut lease.workspace, list.length, method)?;
    let cells = I::shared(&mut memory);
    let started = Instant::now();
    let reading = run.budget.reserve(list.source.scratch_bytes(run.threads), "reading the list")?;
    fill(&mut on_gpu, list, cells, run.threads)?;
    drop(reading);
    phases.read = started.elapsed().as_secs_f64();
    let started = Instant::now();
    if let Some(fault) = on_gpu.check()?.first() {
        return Err(fault.error(list, run.threads)?);
    }
    phases.check = started.elapsed().as_secs_f64();
    let head = on_gpu.head();
    let started = Instant::now();
    let path = on_gpu.rank()?;
    phases.rank = started.elapsed().as_secs_f64();
    let rounds = on_gpu.rounds();
    if path.is_some() {
        drop(memory);
        return Err(cycle::<I>(list, run.threads, run.budget)?);
    }
    let started = Instant::now();
    let take = |first: u64, ranks: &[I]| {
        cells[first as usize..].iter().zip(ranks).for_each(|(cell, &rank)| I::set(cell, rank));
        Ok(())
    };
    on_gpu.fetch(&take)?;
    phases.fetch = started.elapsed().as_secs_f64();
    let output = Ranks::write_all(run, table.order, head, &memory, |rank| rank.wide())?;
    let seconds = phases.rank;
    let name = if method == gpu::GpuMethod::Wyllie { Method::Wyllie } else { Method::RulingSet };
    let details = ListRankDetails { method: name.name().into(), bytes: 0, phases, rounds };
    Ok(Trial { output, details, seconds })
}

/// Copies the successors to the GPU: directly if the input has random access, otherwise by way of the host memory
/// `cells`.
fn fill<I: Index>(on_gpu: &mut ListOnGpu<'_, I>, list: &List, cells: &[I::Cell], threads: usize) -> Result<()> {
    let successor = |value: i64| u64::try_from(value).map_or(I::END, I::of);
    if list.source.is_random_access() {
        let source = |first: u64, to: &mut [I]| {
            let to_cells = I::shared(to);
            list.source.scan(first..first + to_cells.len() as u64, 1, &Signals, &|from, values| {
                let at = (from - first) as usize;
                to_cells[at..].iter().zip(values).for_each(|(cell, &value)| I::set(cell, successor(value)));
                Ok(())
            })
        };
        return on_gpu.fill(&source);
    }
    list.source.scan(0..list.length, threads, &Signals, &|first, values| {
        cells[first as usize..].iter().zip(values).for_each(|(cell, &value)| I::set(cell, successor(value)));
        Ok(())
    })?;
    let source = |first: u64, to: &mut [I]| {
        cells[first as usize..].iter().zip(to).for_each(|(cell, to)| *to = I::get(cell));
        Ok(())
    };
    on_gpu.fill(&source)
}
