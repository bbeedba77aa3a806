//! Statistics of searches in the format of the Graph500 reference code: with the same names, order and number format.

use crate::algo::energy::Energy;
use crate::prepare::prepared::InputInfo;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::BTreeMap;

/// Graph500 statistics by name, as the report stores them. Words in a name are separated by single blanks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(BTreeMap<String, Number>);

/// Replaces each run of blanks in the name of a statistic by one blank.
fn one_blank(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Size of a graph, and the time that it took to build.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Graph500Size {
    /// Base-2 logarithm of the number of vertices, rounded up.
    pub scale: u32,
    /// Number of input edges per vertex.
    pub edge_factor: u64,
    /// Number of MPI ranks.
    pub ranks: u64,
    /// Construction time in seconds: from reading the first edge until the graph is ready for searches. This includes
    /// the generation of edges, because they are generated while they are read.
    pub construction: f64,
}

impl Graph500Size {
    /// Returns the size of the graph that `info` describes, for a search on `ranks` ranks. The construction time is 0.
    pub fn of(info: &InputInfo, ranks: u64) -> Graph500Size {
        // The scale is the number of bits of the largest id. If ids are sparse, not all smaller ids are vertices.
        let largest = info.largest.unwrap_or(0).max(info.vertices.saturating_sub(1));
        let scale = u64::BITS - largest.leading_zeros();
        let edge_factor = (info.edges as f64 / f64::from(scale).exp2()).round() as u64;
        Graph500Size { scale, edge_factor, ranks, construction: 0.0 }
    }
}

/// Measurements of one search, from which the statistics are computed.
#[derive(Debug, Clone, Copy)]
pub struct SearchSample {
    /// Duration of the search, in seconds.
    pub seconds: f64,
    /// Number of input edges in the component of the root.
    pub edges: u64,
    /// Duration of the check of the tree, in seconds.
    pub validate: f64,
}

/// Computes the [`STATISTICS`] of `values` as the reference code does. Returns them in the same order.
fn statistics(values: impl Iterator<Item = f64>) -> [f64; 7] {
    let mut sorted: Vec<f64> = values.collect();
    let n = sorted.len();
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
    // The reference divides by zero if there is only one search.
    let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
    sorted.sort_by(f64::total_cmp);
    let between = |a: usize, b: usize| (sorted[a] + sorted[b]) * 0.5;
    let [first, median] = [between((n - 1) / 4, n / 4), between((n - 1) / 2, n / 2)];
    let third = between(n - 1 - (n - 1) / 4, n - 1 - n / 4);
    [sorted[0], first, median, third, sorted[n - 1], mean, deviation]
}

/// A kernel of the Graph500 benchmark that consists of searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graph500Kernel {
    /// Kernel 2: breadth-first search.
    Bfs,
    /// Kernel 3: single-source shortest paths.
    Sssp,
}

impl Graph500Kernel {
    /// Returns the prefix of the names of the kernel's statistics, padded to five characters.
    fn prefix(self) -> &'static str {
        match self {
            Graph500Kernel::Bfs => "bfs  ",
            Graph500Kernel::Sssp => "sssp ",
        }
    }
}

/// Names of the statistics that summarise times and edge counts, in the order of the reference code. For speeds, the
/// last two names are different ([`OF_TEPS`]).
const STATISTICS: [&str; 7] = ["min", "firstquartile", "median", "thirdquartile", "max", "mean", "stddev"];
const OF_TEPS: [&str; 7] =
    ["min", "firstquartile", "median", "thirdquartile", "max", "harmonic_mean", "harmonic_stddev"];
/// Names of the values that the reference code prints before the statistics.
const HEAD: [&str; 6] = ["SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes", "construction_time"];

/// Yields the name of each statistic, with its number of significant digits.
fn names(kernel: Graph500Kernel) -> impl Iterator<Item = (String, usize)> {
    let of = move |prefix: &'static str, statistics: [&'static str; 7], of: &'static str, digits: usize| {
        statistics.into_iter().map(move |statistic| (format!("{prefix}{statistic}_{of}"), digits))
    };
    let prefix = kernel.prefix();
    HEAD.into_iter()
        .map(|name| (name.to_owned(), 6))
        .chain(of(prefix, STATISTICS, "time", 6))
        .chain(of("", STATISTICS, "nedge", 11))
        .chain(of(prefix, OF_TEPS, "TEPS", 6))
        .chain(of(prefix, STATISTICS, "validate", 6))
}

/// Returns the harmonic mean of the speeds of all searches in traversed edges per second (TEPS), or 0 if there are no
/// searches.
pub fn harmonic_mean_teps(samples: &[SearchSample]) -> f64 {
    let seconds: f64 = samples.iter().map(|sample| sample.seconds / sample.edges as f64).sum();
    if seconds > 0.0 { samples.len() as f64 / seconds } else { 0.0 }
}

impl Fields {
    /// Computes the statistics from the measurements of all searches. Returns `None` if there are no searches. Every
    /// search must have traversed at least one edge. Infinite values and NaN are left out, because JSON can't represent
    /// them.
    pub fn new(kernel: Graph500Kernel, size: Graph500Size, samples: &[SearchSample]) -> Option<Fields> {
        if samples.is_empty() {
            return None;
        }
        let (scale, count) = (f64::from(size.scale), samples.len() as f64);
        let head = [scale, size.edge_factor as f64, count, 0.0, size.ranks as f64, size.construction];
        let times = statistics(samples.iter().map(|sample| sample.seconds));
        let edges = statistics(samples.iter().map(|sample| sample.edges as f64));
        let per_edge = statistics(samples.iter().map(|sample| sample.seconds / sample.edges as f64));
        let [min, first, median, third, max, mean, deviation] = per_edge;
        // Standard error of a harmonic mean: Norris, Annals of Mathematical Statistics 11 (1940).
        let error = match samples.len() {
            1 => 0.0,
            n => deviation / (mean * mean * ((n - 1) as f64).sqrt()),
        };
        let teps = [1.0 / max, 1.0 / third, 1.0 / median, 1.0 / first, 1.0 / min, 1.0 / mean, error];
        let checks = statistics(samples.iter().map(|sample| sample.validate));
        let values = head.into_iter().chain(times).chain(edges).chain(teps).chain(checks);
        let number = |name: &str, value: f64| match name {
            "SCALE" | "edgefactor" | "NBFS" | "num_mpi_processes" => Some((value as u64).into()),
            _ => Number::from_f64(value),
        };
        let field = |((name, _), value): ((String, usize), f64)| Some((one_blank(&name), number(&name, value)?));
        Some(Fields(names(kernel).zip(values).filter_map(field).collect()))
    }

    /// Returns the value of the statistic `name`, or `None` if there is no such statistic.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    /// Yields the names and values of all statistics.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)))
    }

    /// Returns the lines that the reference code prints for these statistics, in the same order. Returns `None` if a
    /// statistic is missing.
    pub fn block(&self, kernel: Graph500Kernel) -> Option<String> {
        let line = |(name, digits): (String, usize)| {
            let value = general(self.get(&one_blank(&name))?, digits);
            // The reference code marks the number by which the Graph500 list ranks machines.
            let (width, mark) = if name.ends_with(" harmonic_mean_TEPS") { (29, "!  ") } else { (32, "") };
            Some(format!("{:<width$}{mark}{value}\n", name + ":"))
        };
        names(kernel).map(line).collect()
    }
}

/// Returns two lines in the format of the Graph500 output: the joules of one search from every source, and the millions
/// of traversed edges per joule (MTEPS per watt). If no energy was measured, returns one line that gives the reason.
/// The reference code itself prints no such lines.
pub fn energy_lines(kernel: Graph500Kernel, energy: &Energy) -> String {
    let prefix = kernel.prefix();
    let all = format!("{prefix}joules_of_all:");
    match (energy.joules_per_round, energy.mteps_per_watt) {
        (Some(joules), Some(mteps)) => {
            let watt = format!("{prefix}MTEPS_per_W:");
            format!("{all:<32}{joules:.6}\n{watt:<32}{mteps:.6}\n")
        }
        _ => format!("{all:<32}{}\n", energy.note.as_deref().unwrap_or("not read")),
    }
}

/// Formats a number like the format `%.{digits}g` of C's `printf`.
fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { value.to_string() };
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    trim(&format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests number formats. The expected texts are the output of C's `printf`.
    #[test]
    fn numbers_are_formatted_as_c_does() {
        for (value, digits, text) in [
            (0.0, 6, "0"),
            (1.0, 6, "1"),
            (0.0001, 6, "0.0001"),
            (0.000_012_345_678, 6, "1.23457e-05"),
            (123_456.0, 6, "123456"),
            (1_234_567.0, 6, "1.23457e+06"),
            (999_999.5, 6, "1e+06"),
            (67_108_863.5, 11, "67108863.5"),
            (1_073_741_824.0, 11, "1073741824"),
            (123_456_789_012.0, 11, "1.2345678901e+11"),
            (1.913e12, 6, "1.913e+12"),
        ] {
            assert_eq!(general(value, digits), text);
        }
    }

    #[test]
    fn statistics_are_those_of_the_reference() {
        let of = |values: &[f64]| statistics(values.iter().copied());
        let five = of(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(five[..6], [1.0, 2.0, 3.0, 4.0, 5.0, 3.0]);
        assert!((five[6] - 2.5f64.sqrt()).abs() < 1e-12);
        let four = of(&[4.0, 3.0, 2.0, 1.0]);
        // With n = 4: (n - 1) / 4 = 0 and n / 4 = 1; n - 1 - 0 = 3 and n - 1 - 1 = 2.
        assert_eq!(four[..6], [1.0, 1.5, 2.5, 3.5, 4.0, 2.5]);
        assert_eq!(of(&[7.0]), [7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 0.0]);
    }

    #[test]
    fn the_block_is_as_the_reference_prints_it() {
        let size = Graph500Size { scale: 20, edge_factor: 16, ranks: 1, construction: 1.25 };
        let sample = |seconds| SearchSample { seconds, edges: 1000, validate: 0.5 };
        let samples = [0.5, 0.25].map(sample);
        let fields = Fields::new(Graph500Kernel::Bfs, size, &samples).unwrap();
        let text = fields.block(Graph500Kernel::Bfs).unwrap();
        assert!(
            text.starts_with("SCALE:                          20\nedgefactor:                     16\nNBFS:"),
            "{text}"
        );
        assert!(text.contains("\nbfs  harmonic_mean_TEPS:     !  2666.67\n"), "{text}");
        assert!(text.contains("\nconstruction_time:              1.25\n"), "{text}");
        assert!((harmonic_mean_teps(&samples) - 2000.0 / 0.75).abs() < 1e-9);
        assert_eq!(text.lines().count(), 6 + 4 * 7);
        assert!(Fields::new(Graph500Kernel::Bfs, size, &[]).is_none());
        assert!(fields.block(Graph500Kernel::Sssp).is_none());
        let text = Fields::new(Graph500Kernel::Sssp, size, &samples).unwrap().block(Graph500Kernel::Sssp).unwrap();
        assert!(text.contains("\nsssp harmonic_mean_TEPS:     !  2666.67\nsssp harmonic_stddev_TEPS:      "), "{text}");
    }
}
