//! Kinds of distances on a GPU. Kernels are compiled for each kind.

use crate::formats::WeightType;

/// Type of the sums of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SumKind {
    /// Whole numbers of 32 bits.
    Whole,
    /// Whole numbers of 64 bits.
    Wide,
    /// The bits of f32.
    Decimal,
}

impl SumKind {
    /// Returns the kind of sums with which a search by weights of type `weights` begins.
    pub fn of(weights: WeightType) -> SumKind {
        match weights {
            WeightType::U32 => SumKind::Whole,
            WeightType::F32 => SumKind::Decimal,
        }
    }

    /// Returns true if a sum takes 64 bits.
    pub fn is_wide(self) -> bool {
        self == SumKind::Wide
    }

    /// Returns the kind to continue with if a sum of this kind does not fit.
    pub fn wider(self) -> SumKind {
        match self {
            SumKind::Whole | SumKind::Wide => SumKind::Wide,
            SumKind::Decimal => SumKind::Decimal,
        }
    }

    /// Returns the size of a sum in words of 32 bits.
    pub fn words(self) -> u64 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Returns the name of the kernel that searches by buckets.
    pub fn kernel(self) -> &'static str {
        match self {
            SumKind::Whole => "sssp_whole",
            SumKind::Wide => "sssp_wide",
            SumKind::Decimal => "sssp_decimal",
        }
    }
}
