//! The second phase of ranking a list with files: computes the ranks of all bins (ranges of elements), from the first
//! to the last.

use super::OrderedSink;
use super::bin::{BinArrays, none};
use super::contraction::Contraction;
use super::files::{path, read, read_all, write, write_all};
use super::state::StateJournal;
use crate::algo::listrank::cpu::{Context, rank_links};
use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::algo::listrank::rounds::Rounds;
use crate::algo::team::{Parts, team};
use crate::error::{At, Error, Result};
use crate::store::disk_array::DiskArray;

/// Ranks the elements of bin 0 after all other bins were eliminated. If the input is not a list, returns the fault.
/// `Some(None)` means that two elements have the same successor.
///
/// # Errors
/// Errors of reading, of writing and of `check_cancelled`; [`crate::error::Error::Limit`].
pub fn rank_first<I: Index>(
    arrays: &mut BinArrays<I>,
    kept: &mut StateJournal<'_>,
) -> Result<Option<Option<ListFault>>> {
    let work = kept.work;
    if !arrays.load(0, &kept.now, work)? {
        return Ok(Some(None));
    }
    let mut beginnings = (0..arrays.len).filter(|&i| arrays.entries[2 * i] == none()).map(|i| i as u64);
    let (begin, other) = (beginnings.next(), beginnings.next());
    let expected = if kept.now.head.is_none() { begin } else { kept.now.current };
    if other.is_some() || begin != expected {
        return Ok(Some(None));
    }
    // Without a first element, all remaining elements are on cycles.
    let Some(begin) = begin else { return Ok(Some(Some(ListFault::Cycle { element: Some(0) }))) };
    // Bin 0 has no chains, so the memory for chains is used for sublists.
    arrays.exits = work.budget.zeroed(0, "no chains")?;
    let links = &mut arrays.cells[..2 * arrays.len];
    let context = Context {
        threads: work.threads,
        budget: work.budget,
        check_cancelled: work.check_cancelled,
        rounds: &Rounds::default(),
    };
    let total = rank_links(links, I::of(begin), &context)?;
    arrays.exits = work.budget.zeroed(work.sizes.shares.size as usize, "the chains of a bin")?;
    if kept.now.before + total.wide() != work.sizes.shares.length - 1 {
        return Ok(Some(Some(ListFault::Cycle { element: Some(off_path(arrays, begin as usize)) })));
    }
    for i in 0..arrays.len {
        arrays.entries[i] = arrays.cells[2 * i + 1];
    }
    let head = kept.now.head.or(Some(begin));
    finish(0, arrays, head, kept).map(|()| None)
}

/// Returns the smallest element of bin 0 that the list from element `begin` does not reach.
fn off_path<I: Index>(arrays: &mut BinArrays<I>, begin: usize) -> u64 {
    arrays.entries.fill(I::of(0));
    let mut element = I::of(begin as u64);
    while element != I::END {
        arrays.entries[element.at()] = I::of(1);
        element = arrays.cells[2 * element.at()];
    }
    (0..arrays.len).find(|&i| arrays.entries[i] == I::of(0)).unwrap_or_default() as u64
}

/// Computes the ranks of the elements of an eliminated bin. Earlier rounds have written the ranks of the elements after
/// its chains (paths of links within the bin) to the bin's `answers` file.
///
/// # Errors
/// Errors of [`rank_first`].
pub fn rank_next<I: Index>(bin: u64, arrays: &mut BinArrays<I>, kept: &mut StateJournal<'_>) -> Result<()> {
    let work = kept.work;
    (arrays.first, arrays.len) = (work.sizes.first(bin), work.sizes.len(bin) as usize);
    let (len, word) = (arrays.len, size_of::<I>() as u64);
    let numbers = kept.now.chains[bin as usize].iter().sum::<u64>() as usize;
    let answers = DiskArray::open(path(work.folder, "answers", bin), numbers as u64 * word)?;
    let chains = DiskArray::open(path(work.folder, "chains", bin), 2 * len as u64 * word)?;
    let (chain_ranks, ranks) = (I::shared(&mut arrays.exits), I::shared(&mut arrays.entries));
    let piece = work.piece::<I>(2);
    read_all(&answers, numbers, piece, work, &|at, read: &[I]| {
        read.iter().zip(&chain_ranks[at..]).for_each(|(&rank, cell)| I::set(cell, rank));
        Ok(())
    })?;
    let damaged = || damaged(work, "chains", bin);
    read_all(&chains, 2 * len, piece, work, &|at, read: &[I]| {
        for (pair, rank) in read.chunks_exact(2).zip(&ranks[at / 2..]) {
            let exit = pair[0].at().checked_sub(len).and_then(|at| chain_ranks.get(at)).ok_or_else(damaged)?;
            I::set(rank, I::of(I::get(exit).wide().wrapping_add(pair[1].wide())));
        }
        Ok(())
    })?;
    let head = kept.now.head;
    finish(bin, arrays, head, kept)
}

/// Returns the error for a damaged file that contains an index beyond the last element.
fn damaged(work: &Contraction<'_>, name: &str, bin: u64) -> Error {
    Error::corrupt(path(work.folder, name, bin), At::File, "an index of an element that does not exist")
}

/// Reads the ranks in the `ranks` file of a bin and passes them to `sink`.
///
/// # Errors
/// Read errors, and errors of `check_cancelled` and of `sink`; [`crate::error::Error::Limit`].
pub fn read_back<I: Index>(bin: u64, work: &Contraction<'_>, sink: &mut OrderedSink<'_, I>) -> Result<()> {
    let (first, len) = (work.sizes.first(bin), work.sizes.len(bin) as usize);
    let file = DiskArray::open(path(work.folder, "ranks", bin), (len * size_of::<I>()) as u64)?;
    let mut piece = work.budget.zeroed::<I>(work.piece::<I>(1), "a piece of a file")?;
    for at in (0..len).step_by(piece.len()) {
        (work.check_cancelled)()?;
        let count = piece.len().min(len - at);
        let numbers = &mut piece[..count];
        read(&file, numbers, (at * size_of::<I>()) as u64, work)?;
        sink(first + at as u64, numbers)?;
    }
    Ok(())
}

/// Writes the ranks of a bin, which are in `arrays.entries`, to the bin's `ranks` file. Writes the ranks that higher
/// bins have requested to their `answers` files.
fn finish<I: Index>(bin: u64, arrays: &BinArrays<I>, head: Option<u64>, kept: &mut StateJournal<'_>) -> Result<()> {
    let (work, ranks) = (kept.work, &arrays.entries[..arrays.len]);
    answer(bin, ranks, arrays.first, kept)?;
    let file = DiskArray::create(path(work.folder, "ranks", bin), size_of_val(ranks) as u64)?;
    write_all(&file, ranks, work)?;
    file.sync()?;
    kept.note_ranked(bin, head)
}

/// Writes the ranks of this bin's elements that higher bins have requested to the `answers` files of those bins.
fn answer<I: Index>(bin: u64, ranks: &[I], first: u64, kept: &StateJournal<'_>) -> Result<()> {
    let (work, word) = (kept.work, size_of::<I>() as u64);
    let piece = work.piece::<I>(1);
    // Ranges of requests, as (index of the requesting bin, index of the first request, number of requests).
    let mut pieces = Vec::new();
    for asking in bin + 1..work.sizes.bins {
        let chains = &kept.now.chains[asking as usize];
        let (start, count) = (chains[..bin as usize].iter().sum::<u64>(), chains[bin as usize]);
        pieces.extend((0..count).step_by(piece).map(|at| (asking, start + at, piece.min((count - at) as usize))));
    }
    let parts = Parts::new(pieces.len(), 1);
    team(work.threads, &|_| {
        let mut numbers = work.budget.zeroed::<I>(piece, "a piece of requests")?;
        parts.each(|part| {
            for &(asking, at, count) in &pieces[part] {
                (work.check_cancelled)()?;
                let numbers = &mut numbers[..count];
                let bytes = (at + count as u64) * word;
                let requests = DiskArray::open(path(work.folder, "requests", asking), bytes)?;
                read(&requests, numbers, at * word, work)?;
                for number in &mut *numbers {
                    let rank = number.wide().checked_sub(first).and_then(|at| ranks.get(at as usize));
                    *number = *rank.ok_or_else(|| damaged(work, "requests", asking))?;
                }
                let answers = DiskArray::open(path(work.folder, "answers", asking), bytes)?;
                write(&answers, numbers, at * word, work)?;
            }
            Ok(())
        })
    })?;
    pieces.dedup_by_key(|&mut (asking, ..)| asking);
    let parts = Parts::new(pieces.len(), 1);
    team(work.threads, &|_| {
        parts.each(|part| {
            pieces[part]
                .iter()
                .try_for_each(|&(asking, ..)| DiskArray::open(path(work.folder, "answers", asking), 0)?.sync())
        })
    })
}
