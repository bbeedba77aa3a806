//! Runs one trial of list ranking: chooses the method, reads and ranks the list, and writes the ranks.

use crate::algo::listrank::cost::{self, index_width};
use crate::algo::listrank::cpu::{self, Context};
use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::algo::listrank::options::{ListRank, Method};
use crate::algo::listrank::output::{ListRankDetails, ListRankOutput, Phases, Ranked};
use crate::algo::listrank::ranks::shared::SharedList;
use crate::algo::listrank::ranks::{self, ListShare, RankFault};
use crate::algo::listrank::read::{self, LoadedList};
use crate::algo::listrank::rounds::Rounds;
use crate::algo::listrank::write::Ranks;
use crate::algo::listrank::{by_files, external, gpu, on_gpu};
use crate::algo::{ChosenDevice, Lease, Run, Trial};
use crate::comm::on_leader;
use crate::error::{Error, Result};
use crate::list::List;
use crate::memory::{Budget, Number};
use crate::process::signals;
use std::time::Instant;

/// Runs one trial of list ranking. Collective.
///
/// # Errors
/// [`Error::Input`] if the input is not a list; [`Error::Limit`], disk errors, [`Error::Stopped`].
pub(super) fn rank(table: &ListRank, list: &List, run: &mut Run<'_>) -> Result<Ranked> {
    let outcome = ranked(table, list, run)?;
    if run.comm.is_leader() {
        // Remove files that an earlier run with less memory has left.
        run.units.remove_files()?;
    }
    Ok(outcome)
}

fn ranked(table: &ListRank, list: &List, run: &mut Run<'_>) -> Result<Ranked> {
    let (comm, length, free) = (run.comm, list.length, run.budget.free());
    let reading = list.source.scratch_bytes(run.threads);
    let has_room = |bytes: u64| comm.all(bytes <= free);
    // If the job requests a GPU, either a GPU ranks the list or the job is refused.
    let is_asked_for = comm.any(run.devices.workspace.is_some() && !run.devices.auto);
    let by = on_gpu::method(table);
    if is_asked_for && by.is_none() {
        let what = "listrank.method = \"serial\" runs only on CPUs, and run.device requests a GPU: change one of them";
        return Err(Error::Usage(what.into()));
    }
    if let Some(method) = by
        && (has_room(reading + on_gpu::memory(length, table)) || is_asked_for)
    {
        // The GPU of MPI rank 0 ranks the list, because it is faster than the CPUs of many processes. Other processes
        // only take part in this decision.
        let leads = comm.is_leader();
        let room =
            |mut lease| if leads { on_gpu::has_room(&mut lease, length, method).map(|()| lease) } else { Ok(lease) };
        match run.devices.choose(true, room, || Ok(()))? {
            ChosenDevice::Gpu(lease) => return by_gpu(table, list, run, Some(lease), method),
            ChosenDevice::Nothing => return by_gpu(table, list, run, None, method),
            ChosenDevice::Cpu(()) => {}
        }
    }
    let method = table.method.on_cpu(length);
    if comm.ranks() > 1 && method != Method::Serial {
        let in_shared_memory = method == Method::RulingSet && comm.nodes() == 1;
        if in_shared_memory && has_room(reading + ranks::shared::memory(length)) {
            let outcome = match ranks::shared::is_narrow(length) {
                true => by_shared_memory::<u32>(table, list, run)?,
                false => by_shared_memory::<u64>(table, list, run)?,
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
        let messages = ranks::messages_bytes(comm.ranks(), comm.nodes());
        if method == Method::Wyllie || has_room(reading + messages + ranks::memory(length, comm.ranks(), method)) {
            return match ranks::width(length) {
                4 => by_ranks::<u32>(table, list, run),
                _ => by_ranks::<u64>(table, list, run),
            };
        }
    }
    rank_on_one_process(table, list, run)
}

/// Ranks a list on MPI rank 0, in memory or with files. Collective.
fn rank_on_one_process(table: &ListRank, list: &List, run: &mut Run<'_>) -> Result<Ranked> {
    let (length, free, method) = (list.length, run.budget.free(), table.method.on_cpu(list.length));
    let reading = list.source.scratch_bytes(run.threads);
    on_leader(run.comm, || {
        let fits = method != Method::RulingSet || cost::single_process_bytes(length, reading, method) <= free;
        let width = by_files::width(length);
        match external::memory(length, width, free.saturating_sub(reading), run.threads).filter(|_| !fits) {
            Some(sizes) if width == 4 => by_files::rank::<u32>(table, list, run, sizes),
            Some(sizes) => by_files::rank::<u64>(table, list, run, sizes),
            // If memory is too small even for the smallest bins, the reservation below fails. Its error names the
            // smallest limit that works.
            None if index_width(length) == 4 => in_memory::<u32>(table, list, run),
            None => in_memory::<u64>(table, list, run),
        }
    })
}

/// Ranks a list on the GPU of MPI rank 0 while all other processes wait. Collective.
fn by_gpu(
    table: &ListRank,
    list: &List,
    run: &mut Run<'_>,
    lease: Option<Lease<'_>>,
    method: gpu::GpuMethod,
) -> Result<Ranked> {
    let lost = || Error::internal("rank a list on a GPU", "rank 0 has none");
    on_leader(run.comm, || {
        let mut lease = lease.ok_or_else(lost)?;
        match gpu::index_bytes(list.length, method) {
            4 => on_gpu::rank::<u32>(table, list, run, &mut lease, method),
            _ => on_gpu::rank::<u64>(table, list, run, &mut lease, method),
        }
    })
}

/// Ranks a list in memory that all processes of the job share. Returns `None` on all processes if they can't share
/// memory. Collective.
fn by_shared_memory<I: Index>(table: &ListRank, list: &List, run: &mut Run<'_>) -> Result<Option<Ranked>> {
    let comm = run.comm;
    let read = Instant::now();
    let Some(loaded) = SharedList::<I>::load(list, comm, run.threads, run.budget)? else { return Ok(None) };
    comm.barrier();
    let (read, started) = (read.elapsed().as_secs_f64(), Instant::now());
    let rounds = Rounds::default();
    let is_list = loaded.rank(comm, &context(run, &rounds))?;
    let seconds = started.elapsed().as_secs_f64();
    if !is_list {
        drop(loaded);
        // The input is not a list. Another pass over it finds out why.
        return rank_on_one_process(table, list, run).map(Some);
    }
    let (head, cells) = (Some(loaded.part.head), loaded.cells());
    let output = on_leader(comm, || Ranks::write_all(run, table.order, head, cells, |cell| I::get(cell).wide()))?;
    Ok(Some(Trial { output, details: details(Method::RulingSet, read, seconds, &rounds), seconds }))
}

/// Ranks a list that is divided among all processes of the job. Collective.
fn by_ranks<I: Index + Number>(table: &ListRank, list: &List, run: &mut Run<'_>) -> Result<Ranked> {
    let comm = run.comm;
    let messages = run.budget.reserve(ranks::messages_bytes(comm.ranks(), comm.nodes()), "messages of ranks")?;
    let read = Instant::now();
    let (part, mut cells) = ListShare::load::<I>(list, comm, run.threads, run.budget)?;
    comm.barrier();
    let (read, started) = (read.elapsed().as_secs_f64(), Instant::now());
    let method = table.method.on_cpu(list.length);
    let rounds = Rounds::default();
    let fault = match method {
        Method::Wyllie => ranks::wyllie(comm, &part, &mut cells, &context(run, &rounds))?,
        _ => ranks::ruling_set(comm, &part, &mut cells, &context(run, &rounds))?,
    };
    comm.barrier();
    let seconds = started.elapsed().as_secs_f64();
    drop(messages);
    match fault {
        None => {}
        Some(RankFault::Numbers) => {
            drop(cells);
            return by_ranks::<u64>(table, list, run);
        }
        Some(RankFault::List) => {
            drop(cells);
            // The input is not a list. Another pass over it finds out why.
            return rank_on_one_process(table, list, run);
        }
    }
    let mut ranks = Ranks::begin(run, table.order, list.length)?;
    let mut written = Ok(());
    for rank in 0..comm.ranks() {
        let mine: &[I] = if rank == comm.rank() { &cells } else { &[] };
        comm.gather_each(mine, |_, piece| {
            if comm.is_leader() && written.is_ok() {
                written =
                    ranks.push(piece, |rank| rank.wide(), run.threads, &|elements| run.progress.advance(elements));
            }
        });
    }
    let checksum = on_leader(comm, || written.and_then(|()| ranks.end(run)))?;
    let output = ListRankOutput { length: list.length, head: (list.length > 0).then_some(part.head), checksum };
    Ok(Trial { output, details: details(method, read, seconds, &rounds), seconds })
}

fn details(method: Method, read: f64, rank: f64, rounds: &Rounds) -> ListRankDetails {
    let phases = Phases { read, rank, ..Phases::default() };
    ListRankDetails { method: method.name().into(), bytes: 0, phases, rounds: rounds.take() }
}

fn context<'a>(run: &Run<'a>, rounds: &'a Rounds) -> Context<'a> {
    Context { threads: run.threads, budget: run.budget, check_cancelled: &signals::check, rounds }
}

fn in_memory<I: Index>(table: &ListRank, list: &List, run: &mut Run<'_>) -> Result<Ranked> {
    let read = Instant::now();
    let LoadedList { mut successors, head } = read::load::<I>(list, run.threads, run.budget)?;
    let read = read.elapsed().as_secs_f64();
    let started = Instant::now();
    let method = table.method.on_cpu(list.length);
    let engine = match method {
        Method::Serial => cpu::serial::serial::<I>,
        Method::Wyllie => cpu::wyllie::wyllie::<I>,
        Method::RulingSet | Method::Auto => cpu::ruling_set::ruling_set::<I>,
    };
    let rounds = Rounds::default();
    if !engine(&mut successors, head, &context(run, &rounds))? {
        drop(successors);
        return Err(cycle::<I>(list, run.threads, run.budget)?);
    }
    let seconds = started.elapsed().as_secs_f64();
    let head = (list.length > 0).then_some(head);
    let output = Ranks::write_all(run, table.order, head, &successors, |rank| rank.wide())?;
    Ok(Trial { output, details: details(method, read, seconds, &rounds), seconds })
}

/// Returns the error for a list with a cycle. The error names an element on the cycle, which is found by reading and
/// following the list again. It names no element if the list exceeds the memory budget, which can happen after ranking
/// on a GPU, because that needs less host memory.
pub(super) fn cycle<I: Index>(list: &List, threads: usize, budget: &Budget) -> Result<Error> {
    let on_cycle = || {
        let LoadedList { successors, head } = read::load::<I>(list, threads, budget)?;
        cpu::off_path(&successors, head, budget, &signals::check)
    };
    let element = match on_cycle() {
        Err(Error::Limit { .. }) => None,
        found => found?,
    };
    ListFault::Cycle { element }.error(list, threads)
}
