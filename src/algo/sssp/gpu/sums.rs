//! Types of distances on a GPU. Kernels are compiled for each type.

use crate::formats::WeightType;

/// Type of distances, which are sums of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SumKind {
    /// Whole numbers, in 32 bits.
    Whole,
    /// Whole numbers, in 64 bits.
    Wide,
    /// Decimal numbers, stored as the bits of an f32.
    Decimal,
}

impl SumKind {
    /// Returns the type with which a search begins, for weights of type `weights`.
    pub fn of(weights: WeightType) -> SumKind {
        match weights {
            WeightType::U32 => SumKind::Whole,
            WeightType::F32 => SumKind::Decimal,
        }
    }

    /// Returns true if a distance takes 64 bits.
    pub fn is_wide(self) -> bool {
        self == SumKind::Wide
    }

    /// Returns the type to use instead once a sum does not fit this type.
    pub fn wider(self) -> SumKind {
        match self {
            SumKind::Whole | SumKind::Wide => SumKind::Wide,
            SumKind::Decimal => SumKind::Decimal,
        }
    }

    /// Returns the size of a distance in 32-bit words.
    pub fn words(self) -> u64 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Returns the name of the kernel that searches by buckets with this type.
    pub fn kernel(self) -> &'static str {
        match self {
            SumKind::Whole => "sssp_whole",
            SumKind::Wide => "sssp_wide",
            SumKind::Decimal => "sssp_decimal",
        }
    }
}
