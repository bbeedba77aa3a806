//! Elimination of a bin (a range of elements). A chain is a path of links within the bin. Each chain is replaced by one
//! link from the element before the chain to the element after it.

use super::bin::{BinArrays, inner, none};
use super::contraction::Contraction;
use super::files::{BinBuffers, BinFiles, path, write_all};
use super::state::{RankingState, StateJournal};
use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::algo::team::{Parts, gathered, team};
use crate::error::Result;
use crate::store::disk_array::DiskArray;

/// Number of elements that a thread processes at a time.
const PART: usize = 1 << 14;

/// Eliminates a bin other than bin 0: replaces each chain of the bin by a single link. If the input is found not to be
/// a list, returns the fault. `Some(None)` means that two elements have the same successor, but it is not known which.
///
/// # Errors
/// Errors of reading, of writing and of `check_cancelled`; [`crate::error::Error::Limit`].
pub fn eliminate<I: Index>(
    bin: u64,
    arrays: &mut BinArrays<I>,
    kept: &mut StateJournal<'_>,
) -> Result<Option<Option<ListFault>>> {
    let work = kept.work;
    if !arrays.load(bin, &kept.now, work)? {
        return Ok(Some(None));
    }
    let chains = number_exits(bin, arrays, work)?;
    let weighted = BinFiles::create(work.folder, "weighted", &kept.now.weighted[..bin as usize])?;
    let walked = walk(arrays, &weighted, work)?;
    let mut state = kept.now.clone();
    if !advance_beginning(&walked, arrays, &mut state, work) {
        return Ok(Some(None));
    }
    if walked.elements < arrays.len {
        let element = (0..arrays.len).find(|&i| arrays.cells[2 * i].at() < arrays.len).unwrap_or_default();
        return Ok(Some(Some(ListFault::Cycle { element: Some(arrays.first + element as u64) })));
    }
    let numbers = chains.iter().sum::<u64>() as usize;
    let cells = DiskArray::create(path(work.folder, "chains", bin), 0)?;
    write_all(&cells, &arrays.cells[..2 * arrays.len], work)?;
    let requests = DiskArray::create(path(work.folder, "requests", bin), 0)?;
    write_all(&requests, &arrays.exits[..numbers], work)?;
    // The answer for the chain at the end of the list is never written, so it stays zero.
    let answers = DiskArray::create(path(work.folder, "answers", bin), (numbers * size_of::<I>()) as u64)?;
    [&cells, &requests, &answers].into_iter().try_for_each(DiskArray::sync)?;
    weighted.sync(work)?;
    kept.note_eliminated(bin, &state, &weighted.ends(), &chains).map(|()| None)
}

/// Assigns indices to the links that leave the bin, called exits. Exits to bin 0 come first, then exits to bins 1, 2
/// and so on, and the end of the list last. In each cell, the target is replaced by the target's index in the bin or,
/// for an exit, by the bin's length plus the exit's index. Returns the number of exits to each lower bin and to the end
/// of the list.
fn number_exits<I: Index>(bin: u64, arrays: &mut BinArrays<I>, work: &Contraction<'_>) -> Result<Vec<u64>> {
    let ranges = arrays.ranges(work);
    let (first, len) = (arrays.first, arrays.len as u64);
    let (cells, exits) = (I::shared(&mut arrays.cells), I::shared(&mut arrays.exits));
    // The index of this bin stands for exits to the end of the list.
    let target = |next: I| if next == I::END { bin as usize } else { work.sizes.bin(next.wide()) as usize };
    let inside = |next: I| next != I::END && next.wide().wrapping_sub(first) < len;
    let mut counts = gathered(work.threads, &|number| {
        let mut counts = vec![0; bin as usize + 1];
        for i in ranges[number].clone() {
            let next = I::get(&cells[2 * i]);
            if !inside(next) {
                counts[target(next)] += 1;
            }
        }
        Ok(counts)
    })?;
    let mut sum = 0;
    let mut chains = vec![0; bin as usize + 1];
    for (target, total) in chains.iter_mut().enumerate() {
        for counts in &mut counts {
            *total += counts[target];
            sum += std::mem::replace(&mut counts[target], sum);
        }
    }
    team(work.threads, &|number| {
        let mut numbers = counts[number].clone();
        for i in ranges[number].clone() {
            let next = I::get(&cells[2 * i]);
            if inside(next) {
                I::set(&cells[2 * i], I::of(next.wide() - first));
                continue;
            }
            let exit = &mut numbers[target(next)];
            I::set(&exits[*exit as usize], next);
            I::set(&cells[2 * i], I::of(len + *exit));
            *exit += 1;
        }
        Ok(())
    })?;
    Ok(chains)
}

/// Result of walking all chains of a bin.
#[derive(Default)]
struct ChainWalkResult {
    elements: usize,
    /// The elements without a predecessor, as (element, element after its chain, number of list steps between the two).
    /// Each thread stores at most two.
    beginnings: Vec<(u64, Option<u64>, u64)>,
}

/// Walks all chains of a bin. Writes two numbers to the cell of each element: the bin's length plus the index of the
/// element's chain, and the number of list steps to the element after the chain. Replaces each link that leads to a
/// chain by a link to the element after the chain.
fn walk<I: Index>(arrays: &mut BinArrays<I>, weighted: &BinFiles, work: &Contraction<'_>) -> Result<ChainWalkResult> {
    let (first, len) = (arrays.first, arrays.len);
    let (cells, entries, exits) = (I::shared(&mut arrays.cells), &arrays.entries, &arrays.exits);
    let parts = Parts::new(len, PART);
    let walked = gathered(work.threads, &|_| {
        let mut lines = BinBuffers::<I>::new(weighted, 3, work)?;
        let mut walked = ChainWalkResult::default();
        parts.each(|part| {
            (work.check_cancelled)()?;
            for start in part {
                let (before, steps) = (entries[2 * start], entries[2 * start + 1]);
                if before == inner() {
                    continue;
                }
                let (exit, sum) = walk_chain::<I>(cells, len, start, &mut walked.elements);
                let ahead = exits[exit];
                if before == none() {
                    if walked.beginnings.len() < 2 {
                        let target = Some(ahead.wide()).filter(|_| ahead != I::END);
                        walked.beginnings.push((first + start as u64, target, sum));
                    }
                    continue;
                }
                let higher = if ahead == I::END { before } else { before.max(ahead) };
                lines.push(work.sizes.bin(higher.wide()), [before, ahead, I::of(steps.wide() + sum)])?;
            }
            Ok(())
        })?;
        lines.finish()?;
        Ok(walked)
    })?;
    Ok(ChainWalkResult {
        elements: walked.iter().map(|walked| walked.elements).sum(),
        beginnings: walked.into_iter().flat_map(|walked| walked.beginnings).collect(),
    })
}

/// Walks the chain that begins at `start` twice: first to add up its list steps, then to write to each element the
/// number of steps that are left. Returns the index of the chain and its total number of steps.
#[inline(always)]
fn walk_chain<I: Index>(cells: &[I::Cell], len: usize, start: usize, walked: &mut usize) -> (usize, u64) {
    let cell = |i: usize| (I::get(&cells[2 * i]).at(), I::get(&cells[2 * i + 1]).wide());
    let (mut i, mut sum) = (start, 0);
    let exit = loop {
        let (next, steps) = cell(i);
        sum += steps;
        *walked += 1;
        if next >= len {
            break next;
        }
        i = next;
    };
    let (mut i, mut left) = (start, sum);
    loop {
        let (next, steps) = cell(i);
        I::set(&cells[2 * i], I::of(exit as u64));
        I::set(&cells[2 * i + 1], I::of(left));
        if next >= len {
            return (exit - len, sum);
        }
        (i, left) = (next, left - steps);
    }
}

/// If the remaining list begins with a chain of this bin, records that it now begins after this chain. Returns false if
/// another element has no predecessor, which means that two elements have the same successor.
fn advance_beginning<I: Index>(
    walked: &ChainWalkResult,
    arrays: &BinArrays<I>,
    state: &mut RankingState,
    work: &Contraction<'_>,
) -> bool {
    let here = state.current.is_some_and(|element| work.sizes.bin(element) == work.sizes.bin(arrays.first));
    match *walked.beginnings {
        [] => !here,
        [(element, ahead, steps)] if state.head.is_none() || here && state.current == Some(element) => {
            state.head.get_or_insert(element);
            (state.current, state.before) = (ahead, state.before + steps);
            true
        }
        _ => false,
    }
}
