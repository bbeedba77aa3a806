//! Types of distances for checks of trees: u32, u64, f32 and f64.

use crate::algo::sssp::distances::Distance;
use crate::memory::Plain;

/// Type of the distances that a check of trees compares. Weights can be added to a value of such a type.
pub trait TreeSum: Plain + Copy + PartialOrd + Default + Send + Sync {
    /// Distance of an unreached vertex; larger than any sum.
    const UNREACHED: Self;

    /// Returns this distance plus the weight with the bit pattern `weight`. An unreached distance stays unreached. A
    /// sum beyond the largest u64, f32 or f64 becomes unreached. A sum that does not fit in u32 becomes the largest
    /// reached distance, `u32::MAX - 1`.
    fn plus(self, weight: u64) -> Self;

    /// Converts the distance to the type in which results contain it.
    fn distance(self) -> Distance;
}

impl TreeSum for u32 {
    const UNREACHED: Self = Self::MAX;

    #[inline(always)]
    fn plus(self, weight: u64) -> Self {
        let weight = if weight >> u32::BITS == 0 { weight as u32 } else { Self::MAX };
        let sum = self.saturating_add(weight).min(Self::MAX - 1);
        if self == Self::MAX { self } else { sum }
    }

    fn distance(self) -> Distance {
        Distance::Whole(self.into())
    }
}

impl TreeSum for u64 {
    const UNREACHED: Self = Self::MAX;

    #[inline(always)]
    fn plus(self, weight: u64) -> Self {
        self.saturating_add(weight)
    }

    fn distance(self) -> Distance {
        Distance::Whole(self)
    }
}

impl TreeSum for f32 {
    const UNREACHED: Self = f32::INFINITY;

    #[inline(always)]
    fn plus(self, weight: u64) -> Self {
        self + f32::from_bits(weight as u32)
    }

    fn distance(self) -> Distance {
        Distance::Decimal(self)
    }
}

impl TreeSum for f64 {
    const UNREACHED: Self = f64::INFINITY;

    #[inline(always)]
    fn plus(self, weight: u64) -> Self {
        self + f64::from_bits(weight)
    }

    fn distance(self) -> Distance {
        Distance::Double(self)
    }
}
