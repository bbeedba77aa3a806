//! A bin in memory. A bin is a range of consecutive elements of a list. Links lead from an element to a later element
//! of the list, and may stand for several list steps.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::contraction::Contraction;
use super::files::{path, read_all};
use super::state::RankingState;
use crate::algo::listrank::index::Index;
use crate::algo::team::{gathered, team};
use crate::error::Result;
use crate::memory::Buffer;
use crate::store::disk_array::DiskArray;

/// Arrays for the links of one bin (a range of elements). They are reused for one bin after another.
pub struct BinArrays<I> {
    /// For each element, the target of its link and the number of list steps to this target.
    pub cells: Buffer<I>,
    /// For each element, its predecessor outside the bin and the number of steps from there. Instead of the predecessor
    /// there may be a mark: [`none`] or [`inner`].
    pub entries: Buffer<I>,
    /// For each chain (a path of links within the bin), the element outside the bin to which its last link leads.
    pub exits: Buffer<I>,
    /// First element of the bin.
    pub first: u64,
    /// Number of elements of the bin.
    pub len: usize,
}

/// Returns the mark of an element without a predecessor.
#[inline(always)]
pub fn none<I: Index>() -> I {
    I::END
}

/// Returns the mark of an element whose predecessor is in the same bin.
#[inline(always)]
pub fn inner<I: Index>() -> I {
    I::of(I::END.wide() - 1)
}

impl<I: Index> BinArrays<I> {
    /// Reserves arrays that are large enough for any bin of the ranking `work`.
    ///
    /// # Errors
    /// [`crate::error::Error::Limit`].
    pub fn new(work: &Contraction<'_>) -> Result<Self> {
        let len = work.sizes.shares.size as usize;
        let array = |words| work.budget.zeroed::<I>(len * words, "the elements of a bin");
        Ok(BinArrays { cells: array(2)?, entries: array(2)?, exits: array(1)?, first: 0, len: 0 })
    }

    /// Reads the links of a bin from its files. All later bins must already be eliminated. Returns false if two links
    /// lead to the same element, or if a link leads to or from an element of an eliminated bin.
    ///
    /// # Errors
    /// Read errors, and errors of `check_cancelled`.
    pub fn load(&mut self, bin: u64, state: &RankingState, work: &Contraction<'_>) -> Result<bool> {
        (self.first, self.len) = (work.sizes.first(bin), work.sizes.len(bin) as usize);
        let ranges = self.ranges(work);
        let arrays = SharedBin::<I> {
            cells: I::shared(&mut self.cells),
            entries: I::shared(&mut self.entries),
            first: self.first,
            len: self.len as u64,
        };
        team(work.threads, &|number| {
            ranges[number].clone().for_each(|i| arrays.clear(i));
            Ok(())
        })?;
        let (entered, all_exist) = (AtomicU64::new(0), AtomicBool::new(true));
        let end = self.first + self.len as u64;
        let add = |[x, u, steps]: [I; 3]| {
            if x.wide() >= end || u != I::END && u.wide() >= end {
                all_exist.store(false, Ordering::Relaxed);
            }
            arrays.add(x, u, steps)
        };
        read_links::<I, 2>("unit", bin, state.unit[bin as usize], work, &|links| {
            let into = links.iter().filter(|&&[x, u]| add([x, u, I::of(1)])).count();
            entered.fetch_add(into as u64, Ordering::Relaxed);
        })?;
        read_links::<I, 3>("weighted", bin, state.weighted[bin as usize], work, &|links| {
            let into = links.iter().filter(|&&link| add(link)).count();
            entered.fetch_add(into as u64, Ordering::Relaxed);
        })?;
        let has_entry = |i: &usize| I::get(&arrays.entries[2 * i]) != none();
        let with = gathered(work.threads, &|number| Ok(ranges[number].clone().filter(has_entry).count() as u64))?;
        Ok(all_exist.into_inner() && entered.into_inner() == with.iter().sum::<u64>())
    }

    /// Divides the elements of the bin into one range per thread.
    pub fn ranges(&self, work: &Contraction<'_>) -> Vec<Range<usize>> {
        let each = self.len.div_ceil(work.threads.max(1));
        (0..work.threads.max(1)).map(|t| (t * each).min(self.len)..((t + 1) * each).min(self.len)).collect()
    }
}

/// The arrays of a bin while threads fill them together.
struct SharedBin<'a, I: Index> {
    cells: &'a [I::Cell],
    entries: &'a [I::Cell],
    first: u64,
    len: u64,
}

impl<I: Index> SharedBin<'_, I> {
    fn clear(&self, i: usize) {
        I::set(&self.cells[2 * i], I::END);
        I::set(&self.entries[2 * i], none());
    }

    /// Adds the link from element `x` to element `u`, which stands for `steps` list steps. Returns true if `u` is in
    /// the bin.
    #[inline(always)]
    fn add(&self, x: I, u: I, steps: I) -> bool {
        let from = x.wide().wrapping_sub(self.first);
        let to = u.wide().wrapping_sub(self.first);
        if from < self.len {
            let at = 2 * from as usize;
            I::set(&self.cells[at], u);
            I::set(&self.cells[at + 1], steps);
        }
        if u == I::END || to >= self.len {
            return false;
        }
        let at = 2 * to as usize;
        if from < self.len {
            I::set(&self.entries[at], inner());
        } else {
            I::set(&self.entries[at], x);
            I::set(&self.entries[at + 1], steps);
        }
        true
    }
}

/// Reads the records in the first `bytes` bytes of a bin file with all threads, and passes them to `each`. A record
/// consists of `N` integers.
fn read_links<I: Index, const N: usize>(
    name: &str,
    bin: u64,
    bytes: u64,
    work: &Contraction<'_>,
    each: &(dyn Fn(&[[I; N]]) + Sync),
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let file = DiskArray::open(path(work.folder, name, bin), bytes)?;
    read_all(&file, bytes as usize / size_of::<I>(), work.piece::<I>(N), work, &|_, numbers: &[I]| {
        each(numbers.as_chunks::<N>().0);
        Ok(())
    })
}
