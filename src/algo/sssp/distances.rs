//! Distances of vertices from a source. A distance is a sum of edge weights, as an integer or a floating-point number.

use super::validate::TreeSum;
use crate::error::Result;
use crate::formats::WeightType;
use crate::memory::{Budget, Buffer, populate};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::cmp::Ordering;
use std::fmt;

/// One interval of the distribution of distances, with the number of vertices in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DistanceBin {
    /// Upper end of the interval of distances. Only the last interval of the distribution includes it.
    pub to: f64,
    /// Number of vertices whose distances are in the interval.
    pub vertices: u64,
}

/// Number of intervals in the distribution of distances.
const BINS: usize = 40;

/// Distances from a root to all vertices, indexed by vertex. Vertices are in the order of descending degree.
pub enum Distances {
    /// Distances for integer weights; `u64::MAX` for an unreached vertex.
    Whole(Buffer<u64>),
    /// Distances for f32 weights; infinity for an unreached vertex.
    Decimal(Buffer<f32>),
    /// Distances for f64 weights; infinity for an unreached vertex.
    Double(Buffer<f64>),
}

/// Evaluates an expression with the buffer of a [`Distances`], for any element type of the buffer.
macro_rules! of_any_type {
    ($distances:expr, $of:ident => $value:expr) => {
        match $distances {
            Distances::Whole($of) => $value,
            Distances::Decimal($of) => $value,
            Distances::Double($of) => $value,
        }
    };
}
pub(super) use of_any_type;

impl Distances {
    /// Returns the size, in bytes, of the distances of `vertices` vertices, if weights have the type `kind`.
    pub fn bytes(kind: WeightType, vertices: u64) -> u64 {
        match kind {
            WeightType::U32 | WeightType::U64 | WeightType::F64 => 8 * vertices,
            WeightType::F32 => 4 * vertices,
        }
    }

    /// Allocates the distances of `vertices` vertices, if weights have the type `kind`. Touches all pages, so that
    /// later writes cause no page faults.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(kind: WeightType, vertices: usize, budget: &Budget) -> Result<Distances> {
        let purpose = "the distances of vertices";
        let mut distances = match kind {
            WeightType::U32 | WeightType::U64 => Distances::Whole(budget.zeroed(vertices, purpose)?),
            WeightType::F32 => Distances::Decimal(budget.zeroed(vertices, purpose)?),
            WeightType::F64 => Distances::Double(budget.zeroed(vertices, purpose)?),
        };
        of_any_type!(&mut distances, of => populate(of));
        Ok(distances)
    }

    fn len(&self) -> usize {
        of_any_type!(self, of => of.len())
    }

    /// Converts the 64-bit word in which a search stores a distance (an integer, or the bits of an f32 or f64) into the
    /// distance.
    pub fn of_word(&self, word: u64) -> Distance {
        match self {
            Distances::Whole(_) => Distance::Whole(word),
            Distances::Decimal(_) => Distance::Decimal(f32::from_bits(word as u32)),
            Distances::Double(_) => Distance::Double(f64::from_bits(word)),
        }
    }

    /// Returns the distance of a source from itself, which is zero.
    pub fn zero(&self) -> Distance {
        self.of_word(0)
    }

    /// Returns the distance of vertex `v`, or `None` if it is unreached.
    pub fn of(&self, v: u32) -> Option<Distance> {
        match self {
            Distances::Whole(of) => Some(of[v as usize]).filter(|&sum| sum != u64::MAX).map(Distance::Whole),
            Distances::Decimal(of) => Some(of[v as usize]).filter(|sum| sum.is_finite()).map(Distance::Decimal),
            Distances::Double(of) => Some(of[v as usize]).filter(|sum| sum.is_finite()).map(Distance::Double),
        }
    }

    /// Returns the distribution of the distances of reached vertices over intervals of equal width. `largest` is the
    /// largest of these distances.
    pub fn bins(&self, largest: f64) -> Vec<DistanceBin> {
        // If all distances are 0, there is one interval.
        let bins = if largest > 0.0 { BINS } else { 1 };
        let place = |distance: f64| ((distance / largest * bins as f64) as usize).min(bins - 1);
        let add = |mut counts: Vec<u64>, distance: f64| {
            counts[place(distance)] += 1;
            counts
        };
        let none = || vec![0_u64; bins];
        let both = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let reached = (0..self.len() as u32).into_par_iter().filter_map(|v| self.of(v)).map(Distance::number);
        let counts: Vec<u64> = reached.fold(none, add).reduce(none, both);
        let end = |at: usize| {
            let end = largest * (at + 1) as f64 / bins as f64;
            // The product may be infinite.
            if end.is_finite() { end } else { (largest / bins as f64 * (at + 1) as f64).min(largest) }
        };
        let bin = |(at, vertices): (usize, u64)| DistanceBin { to: end(at), vertices };
        counts.into_iter().enumerate().map(bin).collect()
    }

    /// Marks all vertices as unreached.
    pub fn forget(&mut self) {
        of_any_type!(self, of => of.fill(TreeSum::UNREACHED));
    }
}

/// The distance of one vertex. The report shows it as a number, with a decimal point if it is a sum of f32 or f64
/// weights.
///
/// When a number with a decimal point is read back, it becomes an f32 if an f32 has exactly this value. It compares
/// equal to an f64 with the same value.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub enum Distance {
    /// A distance that is a sum of integer weights.
    Whole(u64),
    /// A distance that is a sum of f32 weights.
    Decimal(f32),
    /// A distance that is a sum of f64 weights.
    Double(f64),
}

/// 2^103: half of the unit in the last place of the largest f32. Adding less than that to a finite f32 never gives
/// infinity.
const OVERFLOWS: f32 = f32::from_bits((127 + 103) << 23);
/// 2^970: half of the unit in the last place of the largest f64. Adding less than that to a finite f64 never gives
/// infinity.
const OVERFLOWS_F64: f64 = f64::from_bits((1023 + 970) << 52);

impl PartialEq for Distance {
    fn eq(&self, other: &Distance) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Distance {
    fn partial_cmp(&self, other: &Distance) -> Option<Ordering> {
        match (self, other) {
            (Distance::Whole(sum), Distance::Whole(other)) => sum.partial_cmp(other),
            // Any integer is less than any floating-point number.
            (Distance::Whole(_), _) => Some(Ordering::Less),
            (_, Distance::Whole(_)) => Some(Ordering::Greater),
            _ => self.number().partial_cmp(&other.number()),
        }
    }
}

impl Distance {
    /// Returns true if the sum of this distance and a weight up to `heaviest` may overflow. For floating-point
    /// distances, `heaviest` is ignored.
    pub fn may_overflow(self, heaviest: u64) -> bool {
        match self {
            Distance::Whole(sum) => sum.saturating_add(heaviest) == u64::MAX,
            Distance::Decimal(sum) => sum >= OVERFLOWS,
            Distance::Double(sum) => sum >= OVERFLOWS_F64,
        }
    }

    /// Returns the distance as an f64.
    pub fn number(self) -> f64 {
        match self {
            Distance::Whole(sum) => sum as f64,
            Distance::Decimal(sum) => sum.into(),
            Distance::Double(sum) => sum,
        }
    }
}

impl From<Distance> for Number {
    fn from(distance: Distance) -> Number {
        match distance {
            Distance::Whole(sum) => sum.into(),
            decimal => Number::from_f64(decimal.number()).unwrap_or_else(|| 0.into()),
        }
    }
}

impl TryFrom<Number> for Distance {
    type Error = String;

    fn try_from(number: Number) -> std::result::Result<Distance, String> {
        let whole = number.as_u64().map(Distance::Whole);
        let decimal = || {
            let sum = number.as_f64()?;
            let is_single = f64::from(sum as f32) == sum;
            Some(if is_single { Distance::Decimal(sum as f32) } else { Distance::Double(sum) })
        };
        whole.or_else(decimal).ok_or_else(|| format!("{number} is not a distance"))
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distance::Whole(sum) => sum.fmt(f),
            Distance::Decimal(sum) => sum.fmt(f),
            // Numbers outside this range would be shown with up to hundreds of digits.
            Distance::Double(sum) if *sum != 0.0 && !(1e-9..1e21).contains(sum) => write!(f, "{sum:e}"),
            Distance::Double(sum) => sum.fmt(f),
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
        let doubles = [0.0, 0.1, 3.0, 5e-324, 1e300, 0.1f32.into(), f64::MAX].map(Distance::Double);
        for distance in [0.0, 0.1, 3.0, 1e-40, f32::MAX].map(Distance::Decimal).into_iter().chain(doubles) {
            let value = serde_json::to_value(distance).unwrap();
            assert_eq!(serde_json::from_value::<Distance>(value.clone()).unwrap(), distance, "{value}");
            assert_eq!(serde_json::from_str::<Distance>(&value.to_string()).unwrap(), distance, "{value}");
        }
    }

    #[test]
    fn every_vertex_that_is_reached_is_in_one_bin() {
        let budget = Budget::new(1 << 30, 1).expect("room");
        let told = |distances: &Distances, largest: f64| -> Vec<(f64, u64)> {
            let bins = distances.bins(largest).into_iter().filter(|bin| bin.vertices > 0);
            bins.map(|bin| (bin.to, bin.vertices)).collect()
        };
        let mut whole = Distances::new(WeightType::U32, 6, &budget).expect("room");
        if let Distances::Whole(of) = &mut whole {
            of.copy_from_slice(&[0, 1, 10, 399, 400, u64::MAX]);
        }
        assert_eq!(told(&whole, 400.0), [(10.0, 2), (20.0, 1), (400.0, 2)]);
        let mut decimal = Distances::new(WeightType::F32, 3, &budget).expect("room");
        decimal.forget();
        assert_eq!(told(&decimal, 0.0), []);
        if let Distances::Decimal(of) = &mut decimal {
            of.copy_from_slice(&[0.0, f32::INFINITY, 0.0]);
        }
        assert_eq!(told(&decimal, 0.0), [(0.0, 2)]);
        let mut double = Distances::new(WeightType::F64, 3, &budget).expect("room");
        if let Distances::Double(of) = &mut double {
            of.copy_from_slice(&[0.0, f64::MAX, f64::MAX / 2.0]);
        }
        assert!(double.bins(f64::MAX).iter().all(|bin| bin.to.is_finite()));
        assert_eq!(double.bins(f64::MAX).iter().map(|bin| bin.vertices).sum::<u64>(), 3);
    }
}
