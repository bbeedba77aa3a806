//! Types of distances that checks compare: whole numbers of 32 or 64 bits, and f32.

use crate::algo::sssp::distances::Distance;
use crate::memory::Plain;

/// Type of the distances that a check compares. Weights can be added to them.
pub trait TreeSum: Plain + Copy + PartialOrd + Default + Send + Sync {
    /// Distance of an unreached vertex; larger than any sum.
    const UNREACHED: Self;

    /// Returns this distance plus a weight, which is given as its stored bits. An unreached distance stays unreached. A
    /// sum beyond the largest f32 becomes unreached.
    fn plus(self, weight: u32) -> Self;

    /// Converts the distance into the form of results.
    fn distance(self) -> Distance;

    /// Converts a stored weight into the form of a distance.
    fn weight(weight: u32) -> Distance;
}

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl TreeSum for $number {
            const UNREACHED: Self = Self::MAX;

            #[inline(always)]
            fn plus(self, weight: u32) -> Self {
                let sum = self.saturating_add(weight.into()).min(Self::MAX - 1);
                if self == Self::MAX { self } else { sum }
            }

            fn distance(self) -> Distance {
                Distance::Whole(self.into())
            }

            fn weight(weight: u32) -> Distance {
                Distance::Whole(weight.into())
            }
        }
    )*};
}

whole!(u32, u64);

impl TreeSum for f32 {
    const UNREACHED: Self = f32::INFINITY;

    #[inline(always)]
    fn plus(self, weight: u32) -> Self {
        self + f32::from_bits(weight)
    }

    fn distance(self) -> Distance {
        Distance::Decimal(self)
    }

    fn weight(weight: u32) -> Distance {
        Distance::Decimal(f32::from_bits(weight))
    }
}
