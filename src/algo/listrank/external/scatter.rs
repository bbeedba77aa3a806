//! Writes the links of a list to files, one file per bin (a range of elements). A link between two bins is written to
//! the file of the higher bin.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::contraction::{Contraction, ListScan};
use super::files::{BinBuffers, BinFiles};
use super::state::StateJournal;
use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::error::{Error, Result};

/// Number of elements between two calls of `check_cancelled`.
const STRIDE: usize = 1 << 16;

/// Elements without a successor.
struct Tails {
    count: AtomicU64,
    /// The smallest element without a successor.
    first: AtomicU64,
}

/// Writes the links of the list to the bin files. Returns a fault unless exactly one element has no successor.
///
/// # Errors
/// Errors of the scan, of writing and of `check_cancelled`; [`Error::Limit`].
pub fn scatter<I: Index>(scan: ListScan<'_>, kept: &mut StateJournal<'_>) -> Result<Option<ListFault>> {
    let (work, sizes) = (kept.work, &kept.work.sizes);
    let unit = BinFiles::create(work.folder, "unit", &vec![0; sizes.bins as usize])?;
    let weighted = BinFiles::create(work.folder, "weighted", &vec![0; sizes.bins as usize])?;
    // Buffers that no thread of the scan is using.
    let sets = Mutex::new(Vec::new());
    let (elements, tails) = (AtomicU64::new(0), Tails { count: AtomicU64::new(0), first: AtomicU64::new(u64::MAX) });
    scan(&|first, successors| {
        let free = sets.lock().pop();
        let mut lines = free.map_or_else(|| BinBuffers::<I>::new(&unit, 2, work), Ok)?;
        let done = add(first, successors, &mut lines, &tails, work);
        sets.lock().push(lines);
        elements.fetch_add(successors.len() as u64, Ordering::Relaxed);
        done
    })?;
    let found = elements.into_inner();
    if found != sizes.shares.length {
        return Err(Error::internal(
            "rank a list",
            format!("{found} of {} elements were scanned", sizes.shares.length),
        ));
    }
    let (count, end) = (tails.count.into_inner(), tails.first.into_inner());
    if count != 1 {
        return Ok(Some(ListFault::Tails { count, element: (count > 0).then_some(end) }));
    }
    let mut sets = sets.into_inner();
    sets.iter_mut().try_for_each(BinBuffers::finish)?;
    drop(sets);
    let mut last = BinBuffers::<I>::new(&weighted, 3, work)?;
    last.push(sizes.bin(end), [I::of(end), I::END, I::of(0)])?;
    last.finish()?;
    drop(last);
    unit.sync(work)?;
    weighted.sync(work)?;
    kept.note_scan(&unit.ends(), &weighted.ends()).map(|()| None)
}

/// Adds the links of consecutive elements, from element `first` on, to `lines`, the buffers for the bin files. Adds
/// elements without a successor to `tails`.
fn add<I: Index>(
    first: u64,
    successors: &[i64],
    lines: &mut BinBuffers<'_, I>,
    tails: &Tails,
    work: &Contraction<'_>,
) -> Result<()> {
    for (start, part) in (first..).step_by(STRIDE).zip(successors.chunks(STRIDE)) {
        (work.check_cancelled)()?;
        for (element, &successor) in (start..).zip(part) {
            if successor >= 0 {
                let successor = successor as u64;
                lines.push(work.sizes.bin(element.max(successor)), [I::of(element), I::of(successor)])?;
                continue;
            }
            tails.count.fetch_add(1, Ordering::Relaxed);
            tails.first.fetch_min(element, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Finds the smallest element that is the successor of two elements, by scanning the list. Returns an internal error if
/// there is none. Scans the list several times if one bit per element does not fit in memory.
///
/// # Errors
/// Errors of the scan; [`Error::Limit`].
pub fn find_shared(scan: ListScan<'_>, work: &Contraction<'_>) -> Result<ListFault> {
    let n = work.sizes.shares.length;
    let window = (work.budget.free() / 2).max(1 << 16).saturating_mul(8).min(n).next_multiple_of(64);
    for start in (0..n).step_by(window as usize) {
        let marks = work.budget.zeroed::<AtomicU64>(window as usize / 64, "marks of successors")?;
        let smallest = AtomicU64::new(u64::MAX);
        scan(&|_, successors| {
            (work.check_cancelled)()?;
            for &successor in successors {
                let place = (successor as u64).wrapping_sub(start);
                if successor >= 0 && place < window {
                    let bit = 1 << (place % 64);
                    if marks[place as usize / 64].fetch_or(bit, Ordering::Relaxed) & bit != 0 {
                        smallest.fetch_min(successor as u64, Ordering::Relaxed);
                    }
                }
            }
            Ok(())
        })?;
        let successor = smallest.into_inner();
        if successor != u64::MAX {
            return Ok(ListFault::Twice { successor });
        }
    }
    Err(Error::internal("rank a list", "its links do not form a list, but no two elements have the same successor"))
}
