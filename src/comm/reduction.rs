//! Operations by which reductions over the ranks combine elements.

use crate::memory::Number;

/// Elements that [`fold`] combines at a time; they fit the first-level cache.
const BLOCK: usize = 512;

/// A commutative operation on two elements.
pub trait Operation<T>: Copy + Send + Sync {
    /// Combines `lower`, the result over lower ranks, with `higher`, the element of the next higher rank.
    fn combine(self, lower: T, higher: T) -> T;
}

/// Bitwise OR.
#[derive(Debug, Clone, Copy)]
pub struct Or;

/// Minimum. A NaN is ignored, unless all elements are NaN.
#[derive(Debug, Clone, Copy)]
pub struct Min;

/// Sum. Sums of integers saturate at the largest value of the type. Sums of `f32` are rounded after each rank, in the
/// order of ranks.
#[derive(Debug, Clone, Copy)]
pub struct Sum;

macro_rules! of_integers {
    ($($number:ty),*) => { $(
        impl Operation<$number> for Or {
            #[inline]
            fn combine(self, lower: $number, higher: $number) -> $number {
                lower | higher
            }
        }
        impl Operation<$number> for Min {
            #[inline]
            fn combine(self, lower: $number, higher: $number) -> $number {
                lower.min(higher)
            }
        }
        impl Operation<$number> for Sum {
            #[inline]
            fn combine(self, lower: $number, higher: $number) -> $number {
                lower.saturating_add(higher)
            }
        }
    )* };
}
of_integers!(u32, u64);

impl Operation<f32> for Min {
    #[inline]
    fn combine(self, lower: f32, higher: f32) -> f32 {
        lower.min(higher)
    }
}

impl Operation<f32> for Sum {
    #[inline]
    fn combine(self, lower: f32, higher: f32) -> f32 {
        lower + higher
    }
}

/// Combines `own`, the elements of rank `rank`, with the elements of the other ranks. `others` has one slice for each
/// other rank, in the order of ranks and each as long as `own`. It combines in the order of ranks, so that sums of
/// `f32` depend neither on the owner of an element nor on the order of arrival.
pub(super) fn fold<T: Number, O: Operation<T>>(how: O, rank: usize, own: &mut [T], others: &[&[T]]) {
    let (lower, higher) = others.split_at(rank.min(others.len()));
    let join = |into: &mut [T], more: &[T]| {
        into.iter_mut().zip(more).for_each(|(into, &more)| *into = how.combine(*into, more));
    };
    let mut before = [T::default(); BLOCK];
    for (number, own) in own.chunks_mut(BLOCK).enumerate() {
        let part = |of: &'_ &[T]| number * BLOCK..(number * BLOCK + own.len()).min(of.len());
        let (lower, higher) = (lower.iter().map(|of| (part(of), of)), higher.iter().map(|of| (part(of), of)));
        let (lower, higher): (Vec<_>, Vec<_>) = (lower.collect(), higher.collect());
        if let Some(((range, first), rest)) = lower.split_first() {
            let before = &mut before[..own.len()];
            before.copy_from_slice(&first[range.clone()]);
            rest.iter().for_each(|(range, of)| join(before, &of[range.clone()]));
            own.iter_mut().zip(before).for_each(|(own, before)| *own = how.combine(*before, *own));
        }
        higher.iter().for_each(|(range, of)| join(own, &of[range.clone()]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_sums_are_those_in_the_order_of_ranks_whoever_owns_the_elements() {
        // Any other order rounds differently.
        let of = |rank: usize, at: usize| [1e8f32, 1.0, -1e8, 3.0, 0.1][rank] * (1 + at % 7) as f32;
        for len in [0, 1, BLOCK, 2 * BLOCK + 5] {
            let all: Vec<Vec<f32>> = (0..5).map(|rank| (0..len).map(|at| of(rank, at)).collect()).collect();
            let expected: Vec<f32> =
                (0..len).map(|at| (1..5).fold(of(0, at), |sum, rank| sum + of(rank, at))).collect();
            for rank in 0..5 {
                let others: Vec<&[f32]> = (0..5).filter(|&r| r != rank).map(|r| all[r].as_slice()).collect();
                let mut own = all[rank].clone();
                fold(Sum, rank, &mut own, &others);
                assert_eq!(own, expected, "owner {rank}");
            }
        }
    }
}
