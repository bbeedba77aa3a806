//! Distances of vertices from a source: sums of whole numbers, or of decimals.

use crate::error::Result;
use crate::formats::WeightType;
use crate::memory::{Budget, Buffer, populate};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::fmt;

/// Distances from a root to every vertex, in the order of vertices.
pub enum Distances {
    /// Sums of whole numbers; `u64::MAX` where a vertex is not reached.
    Whole(Buffer<u64>),
    /// Sums of f32; infinity where it is not reached.
    Decimal(Buffer<f32>),
}

impl Distances {
    /// Returns the bytes of those of `vertices` vertices.
    pub fn bytes(kind: WeightType, vertices: u64) -> u64 {
        match kind {
            WeightType::U32 => 8 * vertices,
            WeightType::F32 => 4 * vertices,
        }
    }

    /// Makes room for those of `vertices` vertices by weights of this type, in memory that was touched.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(kind: WeightType, vertices: usize, budget: &Budget) -> Result<Distances> {
        let purpose = "the distances of vertices";
        let mut distances = match kind {
            WeightType::U32 => Distances::Whole(budget.zeroed(vertices, purpose)?),
            WeightType::F32 => Distances::Decimal(budget.zeroed(vertices, purpose)?),
        };
        match &mut distances {
            Distances::Whole(of) => populate(of),
            Distances::Decimal(of) => populate(of),
        }
        Ok(distances)
    }

    /// Returns the distance of vertex `v`; `None` if it is not reached.
    pub fn of(&self, v: u32) -> Option<Distance> {
        match self {
            Distances::Whole(of) => Some(of[v as usize]).filter(|&sum| sum != u64::MAX).map(Distance::Whole),
            Distances::Decimal(of) => Some(of[v as usize]).filter(|sum| sum.is_finite()).map(Distance::Decimal),
        }
    }

    /// Makes all vertices unreached.
    pub fn forget(&mut self) {
        match self {
            Distances::Whole(of) => of.fill(u64::MAX),
            Distances::Decimal(of) => of.fill(f32::INFINITY),
        }
    }
}

/// One distance, as the report has it: a number, with a point if it is of decimals.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub enum Distance {
    /// A sum of whole numbers.
    Whole(u64),
    /// A sum of f32.
    Decimal(f32),
}

impl Distance {
    /// Returns the distance of a source from itself.
    pub fn zero(kind: WeightType) -> Distance {
        match kind {
            WeightType::U32 => Distance::Whole(0),
            WeightType::F32 => Distance::Decimal(0.0),
        }
    }
}

impl From<Distance> for Number {
    fn from(distance: Distance) -> Number {
        match distance {
            Distance::Whole(sum) => sum.into(),
            Distance::Decimal(sum) => Number::from_f64(sum.into()).unwrap_or_else(|| 0.into()),
        }
    }
}

impl TryFrom<Number> for Distance {
    type Error = String;

    fn try_from(number: Number) -> std::result::Result<Distance, String> {
        let whole = number.as_u64().map(Distance::Whole);
        let decimal = || number.as_f64().map(|sum| Distance::Decimal(sum as f32));
        whole.or_else(decimal).ok_or_else(|| format!("{number} is no distance"))
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distance::Whole(sum) => sum.fmt(f),
            Distance::Decimal(sum) => sum.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_comes_back_from_the_report_as_it_was() {
        for distance in [0, 7, u64::MAX - 1].map(Distance::Whole) {
            let text = serde_json::to_string(&distance).unwrap();
            assert_eq!(serde_json::from_str::<Distance>(&text).unwrap(), distance, "{text}");
        }
        for distance in [0.0, 0.1, 3.0, 1e-40, f32::MAX].map(Distance::Decimal) {
            let value = serde_json::to_value(distance).unwrap();
            assert_eq!(serde_json::from_value::<Distance>(value.clone()).unwrap(), distance, "{value}");
            assert_eq!(serde_json::from_str::<Distance>(&value.to_string()).unwrap(), distance, "{value}");
        }
    }
}
