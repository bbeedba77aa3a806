//! Units of the quantities in charts, and formatting of numbers in these units for people.

use crate::process::formatting::{bytes, duration};
use serde::{Serialize, Serializer};

/// The unit of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things, without a unit.
    Count,
    /// Any other number without a unit.
    Number,
    /// A time in seconds.
    Seconds,
    /// A number of bytes.
    Bytes,
    /// A rate in bytes per second.
    BytesPerSecond,
    /// A rate in traversed edges per second.
    Teps,
    /// A fraction of 1, shown in percent.
    Share,
    /// A power in watts.
    Watts,
    /// An energy in joules.
    Joules,
    /// Text instead of a number.
    Text,
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

const DECIMAL: [(f64, &str); 6] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")];
const BINARY: [(f64, &str); 6] = [
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
    (1_125_899_906_842_624.0, "PiB"),
];
const TIMES: [(f64, &str); 6] = [(1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"), (86_400.0, "d")];

impl Unit {
    /// Returns the name of the base unit, for programs that read a table.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count | Unit::Number => "1",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::Teps => "TEPS",
            Unit::Share => "share",
            Unit::Watts => "W",
            Unit::Joules => "J",
            Unit::Text => "text",
        }
    }

    /// Returns the unit in which an axis for values up to `most` is labelled, as its size in base units and its name.
    pub(super) fn along(self, most: f64) -> (f64, String) {
        let largest = |units: &[(f64, &'static str)], least: f64| {
            units.iter().rev().find(|(factor, _)| most >= factor * least).copied().unwrap_or(units[0])
        };
        let named = |name: &str| {
            let (factor, prefix) = largest(&DECIMAL, 1.0);
            (factor, format!("{prefix}{name}"))
        };
        match self {
            Unit::Count | Unit::Number | Unit::Text => named(""),
            Unit::Seconds => {
                // A time below two minutes, hours or days is shown in the next smaller unit.
                let units = if most < 2.0 { &TIMES[..3] } else { &TIMES };
                let (factor, name) = largest(units, if most < 2.0 { 1.0 } else { 2.0 });
                (factor, name.to_owned())
            }
            Unit::Bytes => {
                let (factor, name) = largest(&BINARY, 1.0);
                (factor, name.to_owned())
            }
            Unit::Share => (0.01, "%".to_owned()),
            Unit::BytesPerSecond | Unit::Teps | Unit::Watts | Unit::Joules => named(self.name()),
        }
    }

    /// Formats a value with its unit, for people.
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".to_owned();
        }
        // An empty sum of floats is -0; adding 0 makes it 0.
        let value = value + 0.0;
        match self {
            Unit::Bytes => bytes(value.max(0.0) as u64),
            Unit::Seconds if value < 1.0 => scaled(value, &TIMES[..3]),
            Unit::Seconds if value < 100.0 => format!("{} s", digits(value)),
            Unit::Seconds => duration(value),
            Unit::Share => format!("{} %", digits(100.0 * value)),
            Unit::Count => grouped(value),
            Unit::Number | Unit::Text => digits(value),
            Unit::BytesPerSecond | Unit::Teps | Unit::Watts | Unit::Joules => scaled(value, &DECIMAL) + self.name(),
        }
    }
}

/// Formats a value in the largest unit that is not larger than the rounded value. If the name of this unit is empty or
/// only a prefix such as `k`, the caller appends the name of the base unit.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // From this fraction of a unit on, a value in the next smaller unit would be rounded to 1000.
    const ROUNDED: f64 = 0.9995;
    let fits = units.iter().rev().find(|(factor, _)| value.abs() >= factor * ROUNDED);
    let (factor, name) = fits.unwrap_or(&units[0]);
    format!("{} {name}", digits(value / factor))
}

/// Formats a number with three significant digits, or with all digits before its decimal point.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        0.0 => 0,
        size if size < 1.0 => (2 - size.log10().floor() as i32).clamp(2, 9),
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.*}", places as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats an integer with commas between groups of three digits, and other numbers as [`digits`] does.
fn grouped(value: f64) -> String {
    if value.fract() == 0.0 { group(&format!("{value:.0}")) } else { digits(value) }
}

/// Inserts commas between groups of three digits into the whole part of a number.
pub fn group(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |number| ("-", number));
    let (whole, rest) = number.split_at(number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
    let mut text = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// Formats a value for a tick of an axis whose unit is `factor` base units.
pub(super) fn tick(value: f64, factor: f64) -> String {
    digits(value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_in_every_unit() {
        let shown = |unit: Unit, values: &[f64]| values.iter().map(|&value| unit.show(value)).collect::<Vec<_>>();
        assert_eq!(shown(Unit::Seconds, &[-0.0]), ["0 µs"]);
        assert_eq!(shown(Unit::Count, &[0.0, 999.0, 1234567.0, 2.5]), ["0", "999", "1,234,567", "2.5"]);
        assert_eq!(
            shown(Unit::Seconds, &[0.0, 4e-6, 0.0123, 1.5, 59.94]),
            ["0 µs", "4 µs", "12.3 ms", "1.5 s", "59.9 s"]
        );
        assert_eq!(shown(Unit::Seconds, &[100.0, 12_000.0]), ["1m40s", "3h20m"]);
        assert_eq!(shown(Unit::Seconds, &[0.000_999_4, 0.000_999_7, 0.999_9]), ["999 µs", "1 ms", "1 s"]);
        assert_eq!(shown(Unit::Bytes, &[0.0, 1536.0]), ["0 B", "1.50 KiB"]);
        assert_eq!(shown(Unit::Share, &[0.5, 0.987654, 0.0001]), ["50 %", "98.8 %", "0.01 %"]);
        assert_eq!(shown(Unit::Teps, &[1.74e12, 325e9]), ["1.74 TTEPS", "325 GTEPS"]);
        assert_eq!(shown(Unit::Number, &[0.255682, f64::NAN]), ["0.256", "–"]);
        assert_eq!(["-1234", "1234.5", "inf", "1e20"].map(group), ["-1,234", "1,234.5", "inf", "1e20"]);
    }

    #[test]
    fn axes_have_one_unit() {
        assert_eq!(Unit::Bytes.along(3.0 * 1024.0 * 1024.0), (1_048_576.0, "MiB".into()));
        assert_eq!([1.03, 90.0].map(|most| Unit::Seconds.along(most)), [(1.0, "s".to_owned()), (1.0, "s".into())]);
        assert_eq!(Unit::Seconds.along(0.02), (1e-3, "ms".into()));
        assert_eq!(Unit::Seconds.along(4.0 * 86_400.0), (86_400.0, "d".into()));
        assert_eq!(Unit::Teps.along(2e9), (1e9, "GTEPS".into()));
        assert_eq!(Unit::Count.along(0.0), (1.0, String::new()));
    }
}
