//! Kinds of distances on a GPU. Kernels are compiled for each kind.

use crate::formats::WeightType;

/// Type of the sums of weights.
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
    /// Returns the kind of sums with which a search by weights of type `weights` begins.
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

    /// Returns the kind to continue with if a sum of this kind does not fit.
    pub fn wider(self) -> Sums {
        match self {
            Sums::Whole | Sums::Wide => Sums::Wide,
            Sums::Decimal => Sums::Decimal,
        }
    }

    /// Returns the size of a sum in words of 32 bits.
    pub fn words(self) -> u64 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Returns the name of the kernel that searches by buckets.
    pub fn kernel(self) -> &'static str {
        match self {
            Sums::Whole => "sssp_whole",
            Sums::Wide => "sssp_wide",
            Sums::Decimal => "sssp_decimal",
        }
    }
}
