//! The sums of weights that a search keeps on a GPU. Kernels are compiled for each kind.

use crate::formats::WeightType;

/// A kind of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sums {
    /// Whole numbers of 32 bits.
    Whole,
    /// Whole numbers of 64 bits.
    Wide,
    /// The bits of f32.
    Decimal,
}

impl Sums {
    /// Returns the sums that a search by weights of this type begins with.
    pub fn of(weights: WeightType) -> Sums {
        match weights {
            WeightType::U32 => Sums::Whole,
            WeightType::F32 => Sums::Decimal,
        }
    }

    /// Returns true if a sum takes 64 bits.
    pub fn is_wide(self) -> bool {
        self == Sums::Wide
    }

    /// Returns the sums to go on with where one of these does not fit.
    pub fn wider(self) -> Sums {
        match self {
            Sums::Whole | Sums::Wide => Sums::Wide,
            Sums::Decimal => Sums::Decimal,
        }
    }

    /// Returns the words of 32 bits that a sum takes.
    pub fn words(self) -> u64 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Returns the kernel that searches by buckets.
    pub fn kernel(self) -> &'static str {
        match self {
            Sums::Whole => "sssp_whole",
            Sums::Wide => "sssp_wide",
            Sums::Decimal => "sssp_decimal",
        }
    }
}
