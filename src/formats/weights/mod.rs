//! Weights of edges: their types, and how a scan treats them.
//!
//! A weight is an integer below 2^32, or a finite f32 from 0 on. Visitors get both as 32 bits that sort like the
//! weights.

mod asked;

pub use asked::{AskedWeights, Unread, missing};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::formats::Fault;
use crate::formats::bytes::tokens::number;

/// 2^53: from here on, every f64 is an integer.
const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// The type of the weights of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightType {
    /// Integers below 2^32.
    U32,
    /// Numbers from 0 on, rounded to the nearest f32.
    F32,
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
    /// Returns the name in job files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            WeightType::U32 => "u32",
            WeightType::F32 => "f32",
        }
    }
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

/// What a weight implies for the type of all weights of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightClass {
    /// An integer that f32 represents exactly, as it does all integers up to 2^24.
    Whole,
    /// An integer that f32 can't represent exactly.
    Rounded,
    /// An integer from 2^32 on; `rounded` is true if f32 can't represent it exactly.
    Wide { rounded: bool },
    /// A number that is not an integer.
    Decimal,
}

impl WeightClass {
    /// Returns what an integer weight implies for the type of all weights.
    #[inline]
    fn whole(value: u64) -> WeightClass {
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

    /// Returns the narrowest type for weights of this class.
    #[inline]
    pub fn kind(self) -> WeightType {
        if self == WeightClass::Decimal { WeightType::F32 } else { WeightType::U32 }
    }
}

/// The reason why a weight is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    Negative,
    NotFinite,
    /// The number is larger than the largest f32.
    TooLarge,
    /// The number is a decimal, or 2^32 or more, although the user asks for u32.
    NotU32,
    /// The number is 2^32 or more, and no weight of the input is a decimal.
    Wide,
    /// The number is an integer that f32 can't represent exactly, and another weight of the input is a decimal.
    Rounded,
    NoNumber,
}

impl Mistake {
    /// Returns the text after "expected" in a message.
    pub fn expected(self) -> &'static str {
        match self {
            Mistake::Negative => "weights from 0 on",
            Mistake::NotFinite | Mistake::NoNumber => "weights that are finite numbers",
            Mistake::TooLarge => "weights up to 3.4028235e38, the largest of f32",
            Mistake::NotU32 => "whole weights below 2^32, as u32 is asked for",
            Mistake::Wide => "whole weights below 2^32",
            Mistake::Rounded => "weights that f32 represents exactly, as others have fractions",
        }
    }

    /// Returns the remedy in a message.
    pub fn remedy(self) -> &'static str {
        match self {
            Mistake::NotU32 => "read them as f32: [input] weights = \"f32\", convert --weights f32",
            Mistake::Wide => {
                "scale the weights, or round them to 24 bits: [input] weights = \"f32\", convert --weights f32"
            }
            Mistake::Rounded => {
                "weights like this one are rounded to 24 bits: scale them, or confirm it: [input] weights = \"f32\", \
                 convert --weights f32"
            }
            _ => {
                "correct the weight, or read the edges without weights: [input] weights = \"none\", convert --weights none"
            }
        }
    }

    /// Makes a fault of this mistake, at offset `at`; `found` is the text there.
    pub fn fault(self, at: usize, found: impl Into<String>) -> Fault {
        Fault::new(at, self.expected(), found, self.remedy())
    }
}

/// The remedy for an input in which some edges have a weight and others do not.
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

    /// Checks a weight. Returns its bits, and what it implies for the type of all weights. The bits are meaningful only
    /// if visitors get weights.
    #[inline]
    pub(crate) fn take(self, weight: Weight<'_>) -> Result<(u32, WeightClass), Mistake> {
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
        let found = WeightClass::whole(whole);
        match (self, u32::try_from(whole)) {
            (Weights::Read(WeightType::F32), _) => Ok(((whole as f32).to_bits(), found)),
            (_, Ok(narrow)) => Ok((narrow, found)),
            (Weights::Read(WeightType::U32), Err(_)) => Err(Mistake::NotU32),
            (_, Err(_)) => Ok((0, found)),
        }
    }

    /// Returns the narrowest type for f32 weights with these bits. Returns `None` if some weight is invalid, or if
    /// visitors need weights of another type.
    pub(crate) fn take_floats(self, bits: &[u32]) -> Option<WeightType> {
        let as_they_are = match self {
            Weights::Skip | Weights::Find | Weights::Read(WeightType::F32) => true,
            Weights::Read(WeightType::U32) => false,
        };
        // Infinity, NaN and all negative floats have larger bits than the largest finite float.
        let largest = bits.iter().fold(0, |largest, &bits| bits.max(largest));
        let is_u32 = |&bits: &u32| is_u32(f32::from_bits(bits).into());
        (as_they_are && largest <= f32::MAX.to_bits())
            .then(|| if bits.iter().all(is_u32) { WeightType::U32 } else { WeightType::F32 })
    }

    #[inline(never)]
    fn take_text(self, text: &[u8]) -> Result<(u32, WeightClass), Mistake> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text).trim_ascii();
        let text = std::str::from_utf8(text).map_err(|_| Mistake::NoNumber)?;
        let value = text.parse::<f64>().map_err(|_| Mistake::NoNumber)?;
        // Rounding twice, first to f64, would sometimes miss the nearest f32.
        let nearest = text.parse::<f32>().map_err(|_| Mistake::NoNumber)?;
        if value.is_infinite() && text.bytes().any(|c| c.is_ascii_digit()) {
            return Err(if value < 0.0 { Mistake::Negative } else { Mistake::TooLarge });
        }
        let (bits, found) = self.take_float(value, nearest)?;
        // Digits alone are an integer, however many there are.
        let is_wide = value >= EXACT && text.bytes().all(|c| c.is_ascii_digit());
        Ok((bits, if is_wide { WeightClass::whole(value as u64) } else { found }))
    }

    /// Checks a weight `value`, whose nearest f32 is `nearest`. Returns its bits and its class.
    fn take_float(self, value: f64, nearest: f32) -> Result<(u32, WeightClass), Mistake> {
        if !value.is_finite() {
            return Err(if value < 0.0 { Mistake::Negative } else { Mistake::NotFinite });
        }
        if value < 0.0 {
            return Err(Mistake::Negative);
        }
        let is_u32 = is_u32(value);
        let is_whole = value.fract() == 0.0 && value < EXACT;
        let found = if is_whole { WeightClass::whole(value as u64) } else { WeightClass::Decimal };
        match self {
            Weights::Read(WeightType::U32) if is_u32 => Ok((value as u32, found)),
            Weights::Read(WeightType::U32) => Err(Mistake::NotU32),
            _ if nearest.is_infinite() => Err(Mistake::TooLarge),
            // Adding 0 turns -0 into 0.
            Weights::Read(WeightType::F32) => Ok(((nearest + 0.0).to_bits(), found)),
            Weights::Skip | Weights::Find => Ok((0, found)),
        }
    }
}

/// Returns true for integers below 2^32.
#[inline]
fn is_u32(value: f64) -> bool {
    // Larger numbers saturate at the largest u32, which they do not equal.
    f64::from(value as u32) == value
}

/// Returns the nearest f64 and the nearest f32 of a text of digits, a point and digits; `None` for other texts, and if
/// this method can't give the exact result.
///
/// Up to 15 digits and powers of ten up to 10^22 are exact in f64, so their quotient is rounded only once (Clinger, How
/// to Read Floating Point Numbers Accurately, 1990). Rounding it again to f32 is wrong only if it is halfway between
/// two f32.
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

#[cfg(test)]
mod tests {
    use super::*;

    const U32: Weights = Weights::Read(WeightType::U32);
    const F32: Weights = Weights::Read(WeightType::F32);

    #[test]
    fn floats_at_once() {
        let taken = [0.0, 1.0, 4_294_967_040.0, 4_294_967_296.0, 0.5, f32::MAX, f32::MIN_POSITIVE / 2.0];
        let not = [-0.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN];
        for (last, is_taken) in taken.map(|last| (last, true)).into_iter().chain(not.map(|last| (last, false))) {
            let weights = [3.0, last];
            let bits = weights.map(f32::to_bits);
            for mode in [F32, Weights::Find] {
                let each = weights.map(|weight| mode.take(Weight::Single(weight)));
                let kind = |each: Result<(u32, WeightClass), Mistake>| each.expect("a weight").1.kind();
                let expected = is_taken.then(|| each.map(kind).into_iter().max().unwrap());
                assert_eq!(mode.take_floats(&bits), expected, "{last}");
                if mode == F32 && is_taken {
                    assert_eq!(each.map(|each| each.unwrap().0), bits);
                }
            }
            assert_eq!(U32.take_floats(&bits), None);
        }
    }

    fn found(text: &str) -> Result<WeightType, Mistake> {
        Weights::Find.take(Weight::Text(text.as_bytes())).map(|(_, found)| found.kind())
    }

    #[test]
    fn whole_numbers_that_are_wide_or_rounded() {
        let found = |weight: Weight<'_>| Weights::Find.take(weight).expect("a weight").1;
        let (rounded, wide, both) =
            (WeightClass::Rounded, WeightClass::Wide { rounded: false }, WeightClass::Wide { rounded: true });
        for (text, want) in [
            ("16777216", WeightClass::Whole),
            ("16777217", rounded),
            ("16777217.0", rounded),
            ("4294967040", WeightClass::Whole),
            ("4294967295", rounded),
            ("4294967296", wide),
            ("4294967296.0", wide),
            ("1e11", both),
            ("1217567877123", both),
            ("9007199254740993", both),
            ("18446744073709551615", both),
            // As f64 these round to the largest u64.
            ("18446744073709551616", both),
            ("1e20", WeightClass::Decimal),
            ("16777217.5", WeightClass::Decimal),
        ] {
            assert_eq!(found(Weight::Text(text.as_bytes())), want, "{text}");
        }
        assert_eq!(found(Weight::Single(8_589_934_592.0)), WeightClass::Decimal);
        assert_eq!(found(Weight::Float(8_589_934_592.0)), wide);
        assert_eq!(found(Weight::Float(16_777_217.0)), rounded);
    }

    #[test]
    fn texts() {
        let bits = |mode: Weights, text: &str| mode.take(Weight::Text(text.as_bytes())).map(|(bits, _)| bits);
        for (text, whole) in
            [("0", 0), ("-0", 0), ("-0.0", 0), ("+3", 3), ("\"7\"", 7), ("1e3", 1000), ("5.", 5), ("4294967295.0", !0)]
        {
            assert_eq!((bits(U32, text), found(text)), (Ok(whole), Ok(WeightType::U32)), "{text}");
            assert_eq!(bits(F32, text), Ok((whole as f32).to_bits()), "{text}");
        }
        for text in ["0.5", "1e-60", "4294967296", "18446744073709551616", ".1", "16777217.5", "3.4028235e38"] {
            let nearest: f32 = text.parse().expect("a number");
            assert_eq!(bits(F32, text), Ok(nearest.to_bits()), "{text}");
            assert_eq!(bits(U32, text), Err(Mistake::NotU32), "{text}");
        }
        for (text, mistake) in [
            ("-1", Mistake::Negative),
            ("-1e-300", Mistake::Negative),
            ("-inf", Mistake::Negative),
            ("-1e999", Mistake::Negative),
            ("nan", Mistake::NotFinite),
            ("-NaN", Mistake::NotFinite),
            ("inf", Mistake::NotFinite),
            ("1e39", Mistake::TooLarge),
            ("1e999", Mistake::TooLarge),
            ("", Mistake::NoNumber),
        ] {
            assert_eq!((bits(F32, text), found(text)), (Err(mistake), Err(mistake)), "{text}");
        }
        let mut state = 1u64;
        for digits in 1..14usize {
            for point in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let number = format!("{:0>2}", (state >> 12) % 10u64.pow(digits as u32));
                let (whole, fraction) = number.split_at(1 + point % (number.len() - 1));
                let text = format!("{whole}.{fraction}");
                let nearest: f32 = text.parse().expect("a number");
                assert_eq!(bits(F32, &text), Ok(nearest.to_bits()), "{text}");
                let is_whole = fraction.bytes().all(|c| c == b'0');
                assert_eq!(found(&text), Ok(if is_whole { WeightType::U32 } else { WeightType::F32 }), "{text}");
            }
        }
        // Each is halfway between two f32, or its nearest f64 is.
        for (text, want) in
            [("16777217.0", 0x4b80_0000), ("16777219.0", 0x4b80_0002), ("0.50000002980232238769531250", 0x3f00_0000)]
        {
            assert_eq!(bits(F32, text), Ok(want), "{text}");
        }
        assert_eq!(bits(F32, "1.00000017881393432617187499"), Ok(0x3f80_0001));
    }

    #[test]
    fn numbers() {
        assert_eq!(U32.take(Weight::Signed(-1)), Err(Mistake::Negative));
        assert_eq!(U32.take(Weight::Whole(1 << 32)), Err(Mistake::NotU32));
        assert_eq!(F32.take(Weight::Whole(1 << 32)), Ok((0x4f80_0000, WeightClass::whole(1 << 32))));
        assert_eq!(F32.take(Weight::Float(-0.0)), Ok((0, WeightClass::whole(0))));
        assert_eq!(F32.take(Weight::Float(f64::NAN)), Err(Mistake::NotFinite));
        assert_eq!(Weights::Find.take(Weight::Float(1e300)), Err(Mistake::TooLarge));
    }
}
