//! Ranks a list with one thread, for short lists and for comparison.

use super::Context;
use crate::algo::listrank::index::Index;
use crate::error::Result;

/// Number of elements between two calls of `check_cancelled`.
const STRIDE: u64 = 1 << 20;

/// Replaces the successors in `list` by ranks, with one thread even if `context` allows more. Returns false if the list
/// has a cycle. The thread follows the list from `head`, writes ranks to a second array, and copies them back to
/// `list`. See [the module](super) for the requirements on the input.
///
/// # Errors
/// [`crate::error::Error::Limit`] if the second array does not fit the budget; errors of `check_cancelled`.
pub fn serial<I: Index>(list: &mut [I], head: u64, context: &Context<'_>) -> Result<bool> {
    let n = list.len() as u64;
    let mut ranks = context.budget.zeroed::<I>(list.len(), "the ranks of the list")?;
    let done = context.rounds.time("follow", n, || {
        let (mut element, mut done) = (if n == 0 { I::END } else { I::of(head) }, 0);
        while element != I::END {
            if done % STRIDE == 0 {
                (context.check_cancelled)()?;
            }
            done += 1;
            ranks[element.at()] = I::of(n - done);
            element = list[element.at()];
        }
        Ok(done)
    })?;
    if done < n {
        return Ok(false);
    }
    list.copy_from_slice(&ranks);
    Ok(true)
}
