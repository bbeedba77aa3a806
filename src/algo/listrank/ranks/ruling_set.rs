//! Ranks a list with sparse ruling sets. All MPI processes walk the sublists together. Then each process ranks the
//! whole list of sublists for itself.

use super::RankFault;
use super::part::{ListShare, width};
use super::walk::{RankWalk, Sublist};
use crate::algo::listrank::cpu::ruling_set::rank_cells;
use crate::algo::listrank::cpu::{Context, Links, links_bytes};
use crate::algo::listrank::index::Index;
use crate::comm::Comm;
use crate::error::Result;
use crate::memory::{Budget, Buffer};

/// Base-2 logarithm of the number of elements per ruler. A ruler is an element at which a sublist begins.
const SHIFT: u32 = 6;
/// Number of 64-bit words with which a message describes a sublist.
const WORDS: usize = 3;

/// Returns the memory in bytes that a process takes to rank a list of `length` elements, in addition to its share. The
/// memory is for the sublists that end on the process, and for the links between all sublists.
pub fn memory(length: u64) -> u64 {
    let (width, sublists) = (width(length), most_sublists(length));
    sent_bytes(length) + 2 * width * sublists + links_bytes(sublists, width)
}

fn most_sublists(length: u64) -> u64 {
    2 * (length >> SHIFT) + 2
}

/// Returns the memory in bytes for the sublists that end on a process, and for a copy of them that it sends.
fn sent_bytes(length: u64) -> u64 {
    8 * WORDS as u64 * most_sublists(length)
}

/// Ranks a list of which this process owns `part`. Replaces the successors in `cells` by ranks. If the list can't be
/// ranked, returns the reason, and the contents of the cells are undefined. Collective.
///
/// # Source
/// P. Sanders and others on sparse ruling sets for list ranking in distributed memory; J. F. Sibeyn, "Ultimate parallel
/// list ranking?", HiPC 1999. Here walkers (messages that follow a sublist) are forwarded without rounds, and long
/// sublists are split.
///
/// # Errors
/// [`crate::Error::Limit`], errors of communication; [`crate::Error::Stopped`].
pub fn ruling_set<I: Index>(
    comm: &Comm,
    part: &ListShare,
    cells: &mut [I],
    context: &Context<'_>,
) -> Result<Option<RankFault>> {
    if part.length == 0 {
        return Ok(None);
    }
    if part.tails != 1 || part.head >= part.length {
        return Ok(Some(RankFault::List));
    }
    let Context { threads, budget, rounds, .. } = *context;
    let sent = budget.reserve(sent_bytes(part.length), "the sublists of a rank")?;
    let walk = RankWalk::new(comm, part, I::shared(cells), SHIFT);
    let head: I = walk.head_sublist();
    let walked = rounds.time("walk", part.length, || walk.run(threads))?;
    let mut failed = [walked == Err(RankFault::Numbers), walked.is_err()].map(u64::from);
    comm.all_max(&mut failed);
    let (Ok(sublists), [0, 0]) = (walked, failed) else {
        return Ok(Some(if failed[0] == 1 { RankFault::Numbers } else { RankFault::List }));
    };
    let mut links = gathered(comm, &sublists, budget)?;
    drop((sublists, sent));
    // If two sublists lead to the same one, or if sublists form a cycle, the list from the head does not reach all
    // sublists.
    if head.wide() >= links.len() as u64 / 2 {
        return Ok(Some(RankFault::List));
    }
    // The highest bit of a cell marks it as visited.
    let tag = |cell: I| cell.wide() & ((1 << (I::BITS - 1)) - 1);
    let is_path = rank_cells(I::shared(cells), &mut links, head.at(), part.length as usize, (SHIFT, tag), context)?;
    Ok((!is_path).then_some(RankFault::List))
}

/// Gathers the sublists of all processes. Returns the links between them, indexed by sublist.
fn gathered<I: Index>(comm: &Comm, sublists: &[Sublist<I>], budget: &Budget) -> Result<Buffer<I>> {
    let most = sublists.iter().map(|sublist| sublist.number.wide() + 1).max();
    let mut most = [most.unwrap_or(0)];
    comm.all_max(&mut most);
    let mut links = budget.zeroed::<I>(2 * most[0] as usize, "the links of sublists")?;
    let cells = I::shared(&mut links);
    // Links at unused indices have no next sublist.
    (0..most[0] as usize).for_each(|number| Links::<I>(cells).write(number, I::END, I::of(0)));
    let words: Vec<u64> = sublists.iter().flat_map(|s| [s.number.wide(), s.next.wide(), s.elements.wide()]).collect();
    let mut rest: Vec<Vec<u64>> = vec![Vec::new(); comm.ranks()];
    comm.gather_each(&words, |from, piece: &[u64]| {
        // A chunk that was received may end within the words of a sublist.
        let mut words = std::mem::take(&mut rest[from]);
        words.extend(piece);
        let whole = words.len() / WORDS * WORDS;
        for sublist in words[..whole].chunks_exact(WORDS) {
            Links::<I>(cells).write(sublist[0] as usize, I::of(sublist[1]), I::of(sublist[2]));
        }
        rest[from] = words.split_off(whole);
    });
    Ok(links)
}
