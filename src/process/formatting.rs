//! Human-readable formatting of sizes, durations and rates.

/// Unit in which a stage measures its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The stage counts bytes.
    Bytes,
    /// The stage counts units that the algorithm defines, such as pairs of blocks.
    Units,
    /// The stage counts edges.
    Edges,
    /// The stage counts elements of a list.
    Elements,
}

impl Unit {
    /// Returns the name of the unit as it appears in log lines.
    pub(super) fn word(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Units => "units",
            Unit::Edges => "edges",
            Unit::Elements => "elements",
        }
    }
}

/// Formats a size in bytes, such as `1.50 GiB`, in the binary units that job files use for limits.
pub(crate) fn bytes(n: u64) -> String {
    scaled(n as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Formats a duration in seconds, such as `90 s`, `12m03s` or `3h20m`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..100 => format!("{whole} s"),
        100..6000 => format!("{}m{:02}s", whole / 60, whole % 60),
        _ => format!("{}h{:02}m", whole / 3600, whole / 60 % 60),
    }
}

/// Formats an amount of work in the unit of its stage.
pub fn amount(n: u64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => bytes(n),
        _ => format!("{n} {}", unit.word()),
    }
}

/// Formats a rate per second, such as `1.43 GB/s` or `25.10 M edges/s`, with decimal prefixes.
pub fn per_second(rate: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => scaled(rate, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
        _ => format!("{} {}/s", scaled(rate, 1000.0, &["", "k", "M", "G", "T"]).trim_end(), unit.word()),
    }
}

fn scaled(mut value: f64, step: f64, names: &[&str]) -> String {
    let mut i = 0;
    while value >= step && i + 1 < names.len() {
        value /= step;
        i += 1;
    }
    if i == 0 && value.fract() == 0.0 { format!("{value} {}", names[0]) } else { format!("{value:.2} {}", names[i]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([bytes(0), bytes(1023), bytes(1536), bytes(56 << 30)], ["0 B", "1023 B", "1.50 KiB", "56.00 GiB"]);
        assert_eq!([duration(0.25), duration(59.6), duration(723.0)], ["0.2 s", "60 s", "12m03s"]);
        assert_eq!(duration(12_000.0), "3h20m");
        assert_eq!(per_second(1.43e9, Unit::Bytes), "1.43 GB/s");
        assert_eq!(per_second(25.1e6, Unit::Edges), "25.10 M edges/s");
        assert_eq!(per_second(12.345, Unit::Units), "12.35 units/s");
    }
}
