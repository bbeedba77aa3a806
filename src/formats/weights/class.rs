//! The effect of a weight on the type of all weights, and reasons why a weight is rejected.

use super::WeightType;
use crate::formats::Fault;

/// Effect of one weight on the type of all weights of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightClass {
    /// An integer below 2^32 that f32 represents exactly, as it does all integers up to 2^24.
    Whole,
    /// An integer below 2^32 that f32 can't represent exactly.
    Rounded,
    /// An integer from 2^32 on; `rounded` is true if f32 can't represent it exactly.
    Wide { rounded: bool },
    /// A number that is not an integer.
    Decimal,
}

impl WeightClass {
    /// Returns the class of an integer weight.
    #[inline]
    pub(super) fn whole(value: u64) -> WeightClass {
        if value <= 1 << f32::MANTISSA_DIGITS { WeightClass::Whole } else { WeightClass::large(value) }
    }

    fn large(value: u64) -> WeightClass {
        // The largest values round to 2^64, which does not fit in a u64.
        match (value >> 32, u128::from(value) != (value as f32) as u128) {
            (0, false) => WeightClass::Whole,
            (0, true) => WeightClass::Rounded,
            (_, rounded) => WeightClass::Wide { rounded },
        }
    }

    /// Returns the type for weights of this class, if the user names none.
    #[inline]
    pub fn kind(self) -> WeightType {
        match self {
            WeightClass::Whole | WeightClass::Rounded => WeightType::U32,
            WeightClass::Wide { .. } => WeightType::U64,
            WeightClass::Decimal => WeightType::F32,
        }
    }

    /// Returns true for an integer that f32 can't represent exactly.
    #[inline]
    pub fn is_rounded(self) -> bool {
        matches!(self, WeightClass::Rounded | WeightClass::Wide { rounded: true })
    }
}

/// Reason why a weight is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    Negative,
    NotFinite,
    /// The number is larger than the largest f32.
    TooLarge,
    /// The number is larger than the largest f64.
    BeyondF64,
    /// The number has a fraction or is at least 2^32, although the user requested u32.
    NotU32,
    /// The number has a fraction or is at least 2^64, although the weights are u64.
    NotU64,
    /// The number is an integer that f32 can't represent exactly, and another weight of the input has a fraction.
    Rounded,
    /// The number is an integer that f64 can't represent exactly, although the user requested f64.
    NotF64,
    NoNumber,
}

impl Mistake {
    /// Returns the text that follows "expected" in the error message.
    pub fn expected(self) -> &'static str {
        match self {
            Mistake::Negative => "weights from 0 on",
            Mistake::NotFinite | Mistake::NoNumber => "weights that are finite numbers",
            Mistake::TooLarge => "weights up to 3.4028235e38, the largest of f32",
            Mistake::BeyondF64 => "weights up to 1.7976931348623157e308, the largest of f64",
            Mistake::NotU32 => "whole weights below 2^32, as u32 is asked for",
            Mistake::NotU64 => "whole weights below 2^64",
            Mistake::Rounded => "weights that f32 represents exactly, as others have fractions",
            Mistake::NotF64 => "whole weights that f64 represents exactly",
        }
    }

    /// Returns the suggested fix for the error message.
    pub fn remedy(self) -> &'static str {
        match self {
            Mistake::NotU32 => {
                "read them as u64 or, with fractions, as f64: [input] weights = \"u64\", convert --weights u64"
            }
            Mistake::NotU64 => "read them as f64: [input] weights = \"f64\", convert --weights f64",
            Mistake::TooLarge => {
                "read them as f64: [input] weights = \"f64\", convert --weights f64; or read the edges without: weights = \"none\""
            }
            Mistake::Rounded => {
                "weights like this one are rounded to 24 bits. f64 keeps 53 bits: [input] weights = \"f64\", convert \
                 --weights f64; or confirm it with f32"
            }
            Mistake::NotF64 => {
                "read them as u64: [input] weights = \"u64\", convert --weights u64; or write it with a point, as 9007199254740993.0"
            }
            _ => {
                "correct the weight, or read the edges without weights: [input] weights = \"none\", convert --weights none"
            }
        }
    }

    /// Returns the parse error for a weight that is rejected for this reason. The weight is at byte offset `at`;
    /// `found` is its text.
    pub fn fault(self, at: usize, found: impl Into<String>) -> Fault {
        Fault::new(at, self.expected(), found, self.remedy())
    }
}
