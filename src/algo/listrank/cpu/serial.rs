//! The usual serial program, which others are compared with.

use super::{Means, Ranked};
use crate::algo::listrank::index::Index;
use crate::error::Result;

/// Elements between two questions whether to go on.
const STRIDE: u64 = 1 << 20;

/// Ranks a list with one thread, which follows it from `head`, writes ranks into a second array and copies that. The contract is that of
/// [the module](super); more threads are not used.
///
/// # Errors
/// [`crate::error::Error::Limit`] if the second array does not fit the budget, and those of `go_on`.
pub fn serial<I: Index>(list: &mut [I], head: u64, means: &Means<'_>) -> Result<Ranked> {
    let n = list.len() as u64;
    let mut ranks = means.budget.zeroed::<I>(list.len(), "the ranks of the list")?;
    let done = means.rounds.time("follow", n, || {
        let (mut element, mut done) = (if n == 0 { I::END } else { I::of(head) }, 0);
        while element != I::END {
            if done % STRIDE == 0 {
                (means.go_on)()?;
            }
            done += 1;
            ranks[element.at()] = I::of(n - done);
            element = list[element.at()];
        }
        Ok(done)
    })?;
    if done < n {
        return Ok(Ranked::Cycle);
    }
    list.copy_from_slice(&ranks);
    Ok(Ranked::Path)
}
