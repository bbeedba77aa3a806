//! Sizes in bytes as people write them: `"16GiB"`, `"512 MiB"`, `"1.5GB"`, `"123456"`.
//!
//! The crate bytesize reads sizes through `f64`, which rounds beyond 2^53, and turns a size that is too large into
//! the largest possible one. This module parses sizes exactly, rejects a size that is too large, and reports what is
//! wrong.

use crate::quote::clip;

/// Units of size: the name in lower case, and the number of bytes. `K` and `KB` without an `i` are decimal, as disk
/// makers use them.
const UNITS: [(&str, u64); 15] = [
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("pib", 1 << 50),
];

/// Parses a size: a number with or without decimals, then optional blanks, then a unit in upper or lower case, or none.
/// `KiB MiB GiB TiB PiB` are powers of 1024; `kB MB GB TB`, also without the `B`, are powers of 1000. A fraction of a
/// byte is dropped.
///
/// # Errors
/// The mistake, as the end of the sentence "expected a size …, ".
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let shown = clip(text);
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = (text[..number_end].replace('_', ""), text[number_end..].trim().to_ascii_lowercase());
    if number.is_empty() {
        return Err(format!("found '{shown}', which does not begin with a number"));
    }
    let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("found '{shown}', whose unit is none of KiB, MiB, GiB, TiB, kB, MB, GB, TB"));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let not_a_number = || format!("found '{shown}', whose number is malformed");
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(not_a_number());
    }
    let too_large = || format!("found '{shown}', which is 16 EiB or more");
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    // With 18 digits, the result is finer than a byte even for the largest unit, and the product stays within 128 bits.
    let digits = fraction.len().min(18);
    let part: u128 = if digits == 0 { 0 } else { fraction[..digits].parse().map_err(|_| not_a_number())? };
    let part = part * u128::from(scale) / 10_u128.pow(digits as u32);
    let bytes = u128::from(whole) * u128::from(scale) + part;
    u64::try_from(bytes).map_err(|_| too_large())
}

/// Formats a size for people, in the largest binary unit that it reaches: `0 B`, `512 MiB`, `1.5 GiB`. It is rounded
/// to one decimal, which is left out if it is 0. [`exact`] does not round.
pub fn show(bytes: u64) -> String {
    const NAMES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = (bytes.max(1).ilog2() / 10) as usize;
    let mut tenths = rounded_tenths(bytes, unit);
    if tenths >= 10_240 && unit + 1 < NAMES.len() {
        // For example 1023.97 MiB, which rounds to 1024.0 MiB, is shown as 1 GiB.
        unit += 1;
        tenths = rounded_tenths(bytes, unit);
    }
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} {}", NAMES[unit]),
        (whole, tenth) => format!("{whole}.{tenth} {}", NAMES[unit]),
    }
}

/// Formats a size exactly, so that [`parse`] returns the same number, in the largest binary unit that divides it:
/// `1536MiB`.
pub fn exact(bytes: u64) -> String {
    const NAMES: [&str; 6] = ["", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = if bytes == 0 { 0 } else { (bytes.trailing_zeros() as usize / 10).min(NAMES.len() - 1) };
    format!("{}{}", bytes >> (10 * unit), NAMES[unit])
}

fn rounded_tenths(bytes: u64, unit: usize) -> u64 {
    let scale = 1_u128 << (10 * unit);
    ((u128::from(bytes) * 10 + scale / 2) / scale) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units() {
        for (text, bytes) in [
            ("0", 0),
            ("123456", 123_456),
            ("123_456 B", 123_456),
            ("800k", 800_000),
            ("800 kB", 800_000),
            ("1KiB", 1024),
            ("512 MiB", 512 << 20),
            ("16GiB", 16 << 30),
            ("16 gib", 16 << 30),
            ("1.5GB", 1_500_000_000),
            ("1.5GiB", 3 << 29),
            (" 0.25 TiB ", 1 << 38),
            ("1.0000000000000000000000001 B", 1),
            ("16383PiB", 16_383 << 50),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in
            ["", "GiB", "-1", "1.2.3", "1.", ".5", "1..", "5 GiBs", "five", "1e9", "16384PiB", "inf", "1 2", "٣"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"9".repeat(400)).is_err());
    }

    #[test]
    fn shown() {
        for (bytes, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 30) - 1, "1 GiB"),
            (3 << 29, "1.5 GiB"),
            (56 << 30, "56 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(show(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn exact_sizes_round_trip(bytes: u64, shift in 0_u32..64) {
            let bytes = bytes >> shift << (shift / 2);
            prop_assert_eq!(parse(&exact(bytes)), Ok(bytes));
        }

        #[test]
        fn shown_sizes_round_trip_within_a_tenth_of_their_unit(bytes in 0..1_u64 << 59) {
            let back = parse(&show(bytes));
            let unit = 1_u64 << (bytes.max(1).ilog2() / 10 * 10);
            prop_assert!(back.is_ok_and(|back| back.abs_diff(bytes) <= unit / 20 + 1), "{}", show(bytes));
        }

        #[test]
        fn any_text_ends(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
