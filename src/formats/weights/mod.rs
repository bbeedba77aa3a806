//! Edge weights: their types, and how a scan treats them.
//!
//! A weight is a 32-bit or 64-bit integer, or a finite nonnegative f32 or f64. A visitor gets each weight as 32 or 64
//! bits that sort like the weights.

mod class;
#[cfg(test)]
mod tests;
mod weights_option;

pub(crate) use class::{Mistake, WeightClass};
pub use weights_option::{UnreadColumns, WeightsOption, missing};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::formats::bytes::tokens::number;

/// 2^53: from here on, every f64 is an integer.
const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// The type of the weights of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightType {
    /// Unsigned integers of 32 bits.
    U32,
    /// Unsigned integers of 64 bits.
    U64,
    /// Nonnegative numbers, rounded to the nearest f32.
    F32,
    /// Nonnegative numbers, rounded to the nearest f64.
    F64,
}

/// How a scan treats weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Weights {
    /// The scan does not read weights.
    #[default]
    Skip,
    /// The scan checks weights and finds their type, but visitors get no weights.
    Find,
    /// Visitors get a weight of this type with each edge.
    Read(WeightType),
}

impl WeightType {
    /// All types. A later type can represent all weights of an earlier one, perhaps rounded.
    pub const ALL: [WeightType; 4] = [WeightType::U32, WeightType::U64, WeightType::F32, WeightType::F64];

    /// Returns the name used in job files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            WeightType::U32 => "u32",
            WeightType::U64 => "u64",
            WeightType::F32 => "f32",
            WeightType::F64 => "f64",
        }
    }

    /// Returns true if a weight has 64 bits.
    #[inline]
    pub fn is_wide(self) -> bool {
        matches!(self, WeightType::U64 | WeightType::F64)
    }

    /// Returns the number of 32-bit words in which a weight is passed to visitors.
    #[inline]
    pub fn words(self) -> usize {
        if self.is_wide() { 2 } else { 1 }
    }
}

/// Returns the bits of the weights in `words`. Each weight consists of `size` words: 1, or 2 with the lower half
/// first.
pub(crate) fn bits_of(words: &[u32], size: usize) -> impl Iterator<Item = u64> {
    words.chunks_exact(size.max(1)).map(bits_of_one)
}

/// Returns the bits of one weight, which consists of one or two 32-bit words.
#[inline]
pub(crate) fn bits_of_one(words: &[u32]) -> u64 {
    words.iter().rev().fold(0, |bits, &word| bits << 32 | u64::from(word))
}

impl fmt::Display for WeightType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A weight as it is stored in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Weight<'a> {
    Whole(u64),
    Signed(i64),
    /// A weight that is stored as f32. The type of such weights is f32, unless all are integers below 2^32.
    Single(f32),
    Float(f64),
    /// A number as text, perhaps in quotes.
    Text(&'a [u8]),
}

/// Suggested fix in the error message if only some edges of the input have a weight.
pub(crate) const NONE_LACKING: &str =
    "give every edge one, or read the edges without: [input] weights = \"none\", convert --weights none";

impl Weights {
    /// Returns true if weights are read or checked.
    pub fn is_wanted(self) -> bool {
        self != Weights::Skip
    }

    /// Returns true if visitors get weights.
    pub fn is_read(self) -> bool {
        matches!(self, Weights::Read(_))
    }

    /// Checks a weight. Returns its bits, and its class, which determines the type of all weights. The bits are
    /// meaningful only if visitors get weights.
    #[inline]
    pub(crate) fn take(self, weight: Weight<'_>) -> Result<(u64, WeightClass), Mistake> {
        let whole = match weight {
            Weight::Whole(value) => value,
            Weight::Signed(value) => u64::try_from(value).map_err(|_| Mistake::Negative)?,
            Weight::Text(text) => match number(text, 0) {
                Some((value, end)) if end == text.len() => value,
                _ => match decimal(text) {
                    Some((value, nearest)) => return self.take_float(value, nearest),
                    None => return self.take_text(text),
                },
            },
            Weight::Single(value) => {
                let (bits, found) = self.take_float(value.into(), value)?;
                return Ok((
                    bits,
                    if matches!(found, WeightClass::Wide { .. }) { WeightClass::Decimal } else { found },
                ));
            }
            Weight::Float(value) => return self.take_float(value, value as f32),
        };
        let bits = match self {
            Weights::Skip | Weights::Find | Weights::Read(WeightType::U64) => whole,
            Weights::Read(WeightType::U32) if whole >> 32 == 0 => whole,
            Weights::Read(WeightType::U32) => return Err(Mistake::NotU32),
            Weights::Read(WeightType::F32) => (whole as f32).to_bits().into(),
            Weights::Read(WeightType::F64) if (whole as f64) as u128 == u128::from(whole) => (whole as f64).to_bits(),
            Weights::Read(WeightType::F64) => return Err(Mistake::NotF64),
        };
        Ok((bits, WeightClass::whole(whole)))
    }

    /// Returns the narrowest type for f32 weights with these bits: u32 if all are integers below 2^32, otherwise f32.
    /// Returns `None` if a weight is invalid, or if visitors need weights of another type.
    pub(crate) fn take_floats(self, bits: &[u32]) -> Option<WeightType> {
        let as_they_are = match self {
            Weights::Skip | Weights::Find | Weights::Read(WeightType::F32) => true,
            Weights::Read(WeightType::U32 | WeightType::U64 | WeightType::F64) => false,
        };
        // Infinity, NaN and all negative floats have larger bits than the largest finite float.
        let largest = bits.iter().fold(0, |largest, &bits| bits.max(largest));
        let is_u32 = |&bits: &u32| is_u32(f32::from_bits(bits).into());
        (as_they_are && largest <= f32::MAX.to_bits())
            .then(|| if bits.iter().all(is_u32) { WeightType::U32 } else { WeightType::F32 })
    }

    #[inline(never)]
    fn take_text(self, text: &[u8]) -> Result<(u64, WeightClass), Mistake> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text).trim_ascii();
        let text = std::str::from_utf8(text).map_err(|_| Mistake::NoNumber)?;
        let value = text.parse::<f64>().map_err(|_| Mistake::NoNumber)?;
        // Rounding twice, first to f64, would sometimes miss the nearest f32.
        let nearest = text.parse::<f32>().map_err(|_| Mistake::NoNumber)?;
        if value.is_infinite() && text.bytes().any(|c| c.is_ascii_digit()) {
            return Err(match self {
                _ if value < 0.0 => Mistake::Negative,
                Weights::Read(WeightType::F64) => Mistake::BeyondF64,
                _ => Mistake::TooLarge,
            });
        }
        // A text of digits is an integer, however many there are.
        let is_wide = value >= EXACT && text.bytes().all(|c| c.is_ascii_digit());
        match (self, text.parse::<u64>()) {
            (Weights::Read(WeightType::U64 | WeightType::F64), Ok(whole)) if is_wide => {
                return self.take(Weight::Whole(whole));
            }
            (Weights::Find, Err(_)) if is_wide => return Err(Mistake::NotU64),
            (Weights::Read(WeightType::F64), _) if is_wide && text.parse::<u128>() != Ok(value as u128) => {
                return Err(Mistake::NotF64);
            }
            _ => {}
        }
        let (bits, found) = self.take_float(value, nearest)?;
        Ok((bits, if is_wide { WeightClass::whole(value as u64) } else { found }))
    }

    /// Checks a weight `value`, whose nearest f32 is `nearest`. Returns its bits and its class.
    fn take_float(self, value: f64, nearest: f32) -> Result<(u64, WeightClass), Mistake> {
        if !value.is_finite() {
            return Err(if value < 0.0 { Mistake::Negative } else { Mistake::NotFinite });
        }
        if value < 0.0 {
            return Err(Mistake::Negative);
        }
        let is_whole = value.fract() == 0.0 && value < EXACT;
        let found = if is_whole { WeightClass::whole(value as u64) } else { WeightClass::Decimal };
        // Adding 0 turns -0 into 0.
        let bits = match self {
            Weights::Read(WeightType::U32) if is_u32(value) => value as u64,
            Weights::Read(WeightType::U32) => return Err(Mistake::NotU32),
            Weights::Read(WeightType::U64) if is_whole => value as u64,
            Weights::Read(WeightType::U64) => return Err(Mistake::NotU64),
            Weights::Read(WeightType::F64) => (value + 0.0).to_bits(),
            _ if nearest.is_infinite() => return Err(Mistake::TooLarge),
            Weights::Read(WeightType::F32) => (nearest + 0.0).to_bits().into(),
            Weights::Skip | Weights::Find => 0,
        };
        Ok((bits, found))
    }
}

/// Returns true if the number is an integer below 2^32.
#[inline]
fn is_u32(value: f64) -> bool {
    // Larger numbers saturate at the largest u32, which they do not equal.
    f64::from(value as u32) == value
}

/// Returns the nearest f64 and the nearest f32 of a text of digits, a point and digits; `None` for other texts, and if
/// this method can't compute the exact result.
///
/// Up to 15 digits and powers of ten up to 10^22 are exact in f64, so their quotient is rounded only once (Clinger,
/// How to Read Floating Point Numbers Accurately, 1990). Rounding it again to f32 is wrong only if it is halfway
/// between two f32.
#[inline]
fn decimal(text: &[u8]) -> Option<(f64, f32)> {
    const DIGITS: usize = 15;
    const HALFWAY: u64 = 1 << 28;
    let (whole, point) = number(text, 0)?;
    if text.len() > DIGITS + 1 || text.get(point) != Some(&b'.') {
        return None;
    }
    let (fraction, end) = number(text, point + 1)?;
    let power = 10u64.pow((end - point - 1) as u32);
    let value = (whole * power + fraction) as f64 / power as f64;
    (end == text.len() && value.to_bits() & (2 * HALFWAY - 1) != HALFWAY).then_some((value, value as f32))
}
