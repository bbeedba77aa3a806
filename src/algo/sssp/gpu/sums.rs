//! Types in which GPU kernels store distances. Kernels are compiled for each type.

use crate::formats::WeightType;

/// Type in which kernels store distances, which are sums of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SumKind {
    /// Integers of 32 bits.
    Whole,
    /// Integers of 64 bits, for sums of 32-bit weights.
    Wide,
    /// Floating-point numbers, stored as the bits of an f32.
    Decimal,
    /// Integers of 64 bits, for sums of 64-bit weights.
    Coded,
    /// Floating-point numbers, stored as the bits of an f64.
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

    /// Returns true if a distance of this type takes 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, SumKind::Wide | SumKind::Coded | SumKind::Double)
    }

    /// Returns the type that replaces this one once a sum does not fit in it.
    pub fn wider(self) -> SumKind {
        match self {
            SumKind::Whole | SumKind::Wide => SumKind::Wide,
            other => other,
        }
    }

    /// Returns the size of a distance of this type, in 32-bit words.
    pub fn words(self) -> u64 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// Returns true if weights have 64 bits, so that rows contain codes of weights.
    pub fn is_coded(self) -> bool {
        matches!(self, SumKind::Coded | SumKind::Double)
    }

    /// Returns the name of this type, with which the names of its kernels end.
    pub fn name(self) -> &'static str {
        match self {
            SumKind::Whole => "whole",
            SumKind::Wide => "wide",
            SumKind::Decimal => "decimal",
            SumKind::Coded => "coded",
            SumKind::Double => "double",
        }
    }
}
