//! Durations as people write them: `"30s"`, `"500ms"`, `"2m"`, `"1h30m"`.
//!
//! The crate humantime, which formats timestamps here, accepts more than a job file should: in addition to `m`, a
//! minute, it reads `M` as a month. The durations that it writes contain blanks, which would need quotes in a shell.

use std::time::Duration;

use crate::quote::clip;

/// Units of time as (name, length in milliseconds), longest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration: the sum of integers or decimal numbers, each followed by a unit (`d h m s ms`), with optional
/// blanks. Fractions of a millisecond are dropped.
///
/// # Errors
/// The mistake, worded as the end of the sentence "expected a duration …, ".
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let shown = clip(text);
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() || text.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let tail = tail.trim_start();
        let unit_end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        if number.is_empty() {
            return Err(format!("found '{shown}', which is not numbers with units"));
        }
        let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(match unit {
                "" => format!("found '{shown}', which lacks a unit (d, h, m, s or ms)"),
                _ => format!("found '{shown}', whose unit '{}' is none of d, h, m, s, ms", clip(unit)),
            });
        };
        let part = milliseconds(number, scale).ok_or_else(|| format!("found '{shown}', whose number is malformed"))?;
        total = total.checked_add(part).ok_or_else(|| format!("found '{shown}', which is too long"))?;
        rest = tail.trim_start();
    }
    Ok(Duration::from_millis(total))
}

/// Formats a duration, in milliseconds if it is shorter than a second and in whole seconds otherwise: `500ms`, `30s`,
/// `1h30m`, `2d4h`. [`parse`] accepts the result.
pub fn show(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return match duration.as_millis() {
            0 => "0s".to_owned(),
            ms => format!("{ms}ms"),
        };
    }
    let mut rest = duration.as_secs();
    let mut text = String::new();
    for (name, scale) in &UNITS[..4] {
        let scale = scale / 1000;
        if rest >= scale {
            text.push_str(&format!("{}{name}", rest / scale));
            rest %= scale;
        }
    }
    text
}

/// Converts the decimal `number`, in a unit of `scale` milliseconds, to milliseconds. Returns `None` if it is
/// malformed or too large.
fn milliseconds(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    if fraction.contains('.') {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    // Further digits are below a millisecond, even in days.
    let digits = fraction.len().min(9);
    let part = if digits == 0 { 0 } else { fraction[..digits].parse::<u64>().ok()? };
    whole.checked_add(part * scale / 10_u64.pow(digits as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units() {
        for (text, ms) in [
            ("30s", 30_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1 h 30 m", 5_400_000),
            ("1.5s", 1_500),
            ("2d", 172_800_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in
            ["", "30", "s", "5 min", "-3s", "1..5s", "1.s", ".5s", "1h30", "99999999999999999999s", "9999999999999999d"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown() {
        for text in ["0s", "500ms", "30s", "1m30s", "1h30m", "2d4h1s"] {
            assert_eq!(parse(text).map(show).as_deref(), Ok(text));
        }
    }

    proptest! {
        #[test]
        fn whole_seconds_round_trip(seconds in 0..u64::MAX / 1000) {
            let duration = Duration::from_secs(seconds);
            prop_assert_eq!(parse(&show(duration)), Ok(duration));
        }

        #[test]
        fn any_text_ends(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
