//! Ranks a list with pointer jumping on CPUs, for comparison. The method is the published one, without improvements.

use super::Context;
use crate::algo::listrank::index::Index;
use crate::algo::team::team;
use crate::error::Result;

/// Number of elements that a thread processes between two calls of `check_cancelled`.
const STRIDE: usize = 1 << 16;

/// Replaces the successors in `list` by ranks, with pointer jumping. Returns false if the list has a cycle. In every
/// round each element adds the distance of its target to its own distance, and then points to the target of its target.
/// A round reads one array and writes another, so that its result does not depend on the number of threads. See [the
/// module](super) for the requirements on the input.
///
/// # Source
/// J. C. Wyllie, "The complexity of parallel computations", Cornell University, 1979.
///
/// # Errors
/// [`crate::error::Error::Limit`] if four times the memory of the list does not fit the budget; errors of
/// `check_cancelled`.
pub fn wyllie<I: Index>(list: &mut [I], _head: u64, context: &Context<'_>) -> Result<bool> {
    let n = list.len();
    // Pairs of an element's target and the number of steps to it. A pair is in one cache line.
    let mut from = context.budget.zeroed::<I>(2 * n, "pointers and distances of a round")?;
    let mut to = context.budget.zeroed::<I>(2 * n, "pointers and distances of the next round")?;
    for (pair, &next) in from.chunks_exact_mut(2).zip(list.iter()) {
        (pair[0], pair[1]) = (next, I::of(u64::from(next != I::END)));
    }
    let rounds = usize::BITS - n.leading_zeros();
    for _ in 0..rounds {
        context.rounds.time("jump", n as u64, || jump(&from, &mut to, context))?;
        std::mem::swap(&mut from, &mut to);
    }
    // After ⌈log2(n + 1)⌉ rounds every pointer has jumped over at least n elements. So all pointers have reached the
    // end, except on cycles.
    let mut path = true;
    for (pair, rank) in from.chunks_exact(2).zip(list.iter_mut()) {
        path &= pair[0] == I::END;
        *rank = pair[1];
    }
    Ok(path)
}

/// Runs one round of pointer jumping, which reads the pairs in `from` and writes the pairs in `to`.
fn jump<I: Index>(from: &[I], to: &mut [I], context: &Context<'_>) -> Result<()> {
    let Context { threads, check_cancelled, .. } = *context;
    let share = (from.len() / 2).div_ceil(threads.max(1)).max(1) * 2;
    let len = from.len();
    let to = I::shared(to);
    team(threads, &|number| {
        for first in (number * share..len.min((number + 1) * share)).step_by(2 * STRIDE) {
            check_cancelled()?;
            for at in (first..len.min((number + 1) * share).min(first + 2 * STRIDE)).step_by(2) {
                let (next, steps) = match from[at] {
                    end if end == I::END => (end, from[at + 1]),
                    ahead => (from[2 * ahead.at()], I::of(from[at + 1].wide() + from[2 * ahead.at() + 1].wide())),
                };
                I::set(&to[at], next);
                I::set(&to[at + 1], steps);
            }
        }
        Ok(())
    })
}
