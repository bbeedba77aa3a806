//! Types of distances on a GPU. Kernels are compiled for each type.

use super::programs::{CODED, PROGRAM};
use crate::formats::WeightType;
use crate::gpu::ProgramSource;

/// Type of distances, which are sums of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SumKind {
    /// Whole numbers, in 32 bits.
    Whole,
    /// Whole numbers, in 64 bits.
    Wide,
    /// Decimal numbers, stored as the bits of an f32.
    Decimal,
    /// Whole numbers in 64 bits, as sums of weights of 64 bits.
    Coded,
    /// Decimal numbers, stored as the bits of an f64.
    Double,
}

impl SumKind {
    /// Returns the type with which a search begins, for weights of type `weights`.
    pub fn of(weights: WeightType) -> SumKind {
        match weights {
            WeightType::U32 => SumKind::Whole,
            WeightType::F32 => SumKind::Decimal,
            WeightType::U64 => SumKind::Coded,
            WeightType::F64 => SumKind::Double,
        }
    }

    /// Returns true if a distance takes 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, SumKind::Wide | SumKind::Coded | SumKind::Double)
    }

    /// Returns the type to use instead once a sum does not fit this type.
    pub fn wider(self) -> SumKind {
        match self {
            SumKind::Whole | SumKind::Wide => SumKind::Wide,
            other => other,
        }
    }

    /// Returns the size of a distance in 32-bit words.
    pub fn words(self) -> u64 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Returns the program and the name of the kernel that searches by buckets with this type.
    pub fn kernel(self) -> (&'static ProgramSource, &'static str) {
        match self {
            SumKind::Whole => (&PROGRAM, "sssp_whole"),
            SumKind::Wide => (&PROGRAM, "sssp_wide"),
            SumKind::Decimal => (&PROGRAM, "sssp_decimal"),
            SumKind::Coded => (&CODED, "sssp_coded"),
            SumKind::Double => (&CODED, "sssp_double"),
        }
    }
}
