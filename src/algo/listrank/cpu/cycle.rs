//! Finds an element on a cycle, for error messages.

use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::memory::Budget;

/// Number of elements between two calls of `check_cancelled`.
const STRIDE: u64 = 1 << 20;

/// Returns the smallest element that can't be reached from `head`, or `None` if all can be reached. Such an element is
/// on a cycle. `list` contains the successor of each element, or [`Index::END`] for the last. One thread follows the
/// list from `head`.
///
/// # Errors
/// [`crate::error::Error::Limit`] if one bit per element does not fit the budget; errors of `check_cancelled`.
pub fn off_path<I: Index>(
    list: &[I],
    head: u64,
    budget: &Budget,
    check_cancelled: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Option<u64>> {
    let mut reached = budget.zeroed::<u64>(list.len().div_ceil(64), "marks of elements that were reached")?;
    let (mut element, mut done) = (if list.is_empty() { I::END } else { I::of(head) }, 0_u64);
    while element != I::END {
        if done.is_multiple_of(STRIDE) {
            check_cancelled()?;
        }
        done += 1;
        reached[element.at() / 64] |= 1 << (element.at() % 64);
        element = list[element.at()];
    }
    Ok((0..list.len()).find(|&i| reached[i / 64] >> (i % 64) & 1 == 0).map(|i| i as u64))
}
