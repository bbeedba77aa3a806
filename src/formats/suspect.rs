//! Detects files of binary id pairs that probably contain something else. By default, numpy writes 64-bit integers and
//! floats. Their bytes could also be read as pairs of ids, but the graph would be wrong.
//!
//! The first bytes of a file almost always confirm its type. Only if they do not, samples at other fixed offsets are
//! examined. If the user named the format, the file is read as that format, with a warning.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::{At, Error, Result};
use crate::formats::{Format, Part};

/// Number of samples of a file, including its start, that are examined if the start looks wrong.
const PLACES: u64 = 32;
/// Size in bytes of a sample of a file.
const WINDOW: usize = 4096;

/// Examines the start of a file of pairs and, if it looks wrong, samples at other offsets. `more` reads `buffer.len()`
/// bytes at an offset. `length` is the length of the file, if known.
///
/// # Errors
/// Bad input if the pairs probably have another type and the user did not name the format.
pub(super) fn check(
    part: &Part,
    warns: bool,
    start: &[u8],
    length: Option<u64>,
    more: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let (Format::U32 | Format::U64 | Format::Graph500) = part.format else { return Ok(()) };
    let mut words = words_of(start);
    let whole = length.is_none_or(|length| length.is_multiple_of(16));
    let wrong = words.iter().all(|word| *word == 0) || WordSample::of(&words, whole).kind(part.format).is_some();
    if let Some(length) = length.filter(|length| wrong && *length > start.len() as u64) {
        let mut window = vec![0; WINDOW.min(length as usize)];
        let last = length - window.len() as u64;
        for place in 1..PLACES {
            let offset = (u128::from(last) * u128::from(place) / u128::from(PLACES - 1)) as u64 / 16 * 16;
            more(offset, &mut window)?;
            words.extend(words_of(&window));
        }
    }
    match WordSample::of(&words, whole).kind(part.format) {
        None => Ok(()),
        Some(kind) if !part.named => Err(kind.error(part)),
        Some(kind) => {
            if warns && !part.warned.swap(true, Relaxed) {
                tracing::warn!("{}: {}, read as {} as it was named", part.path.display(), kind.found(), part.format);
            }
            Ok(())
        }
    }
}

/// The types that may be mistaken for pairs of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suspect {
    Ids64,
    Ids32,
    Swapped64,
    Swapped32,
    Float64,
    Float32,
}

impl Suspect {
    fn found(self) -> &'static str {
        match self {
            Suspect::Ids64 => "what looks like 64-bit ids: every second 32-bit word is 0",
            Suspect::Ids32 => "what looks like pairs of 32-bit ids: both halves of every 64-bit word are small",
            Suspect::Swapped64 => "what looks like big-endian 64-bit ids: every first 32-bit word is 0",
            Suspect::Swapped32 => {
                "what looks like big-endian 32-bit ids: they are small in that order, and huge in this one"
            }
            Suspect::Float64 => "what looks like 64-bit floats",
            Suspect::Float32 => "what looks like 32-bit floats",
        }
    }

    fn error(self, part: &Part) -> Error {
        let (path, format) = (&part.path, part.format);
        let convert = |kind: &str| {
            let name = path.display();
            let (word, ending) = if format == Format::Graph500 { ("<u4", "graph500") } else { ("<u8", "u64") };
            format!(
                "convert them: python3 -c \"import numpy as n; n.fromfile('{name}', '{kind}').astype('{word}').tofile('{name}.{ending}')\"; \
                 or if they are ids name the format: --set input.format={format} (in the job format = \"{format}\", for convert --from {format})"
            )
        };
        let remedy = match self {
            Suspect::Ids64 => "name the format: --set input.format=u64 (in the job format = \"u64\", for convert --from u64); or u32 if \
                            every edge does end at vertex 0"
                .into(),
            Suspect::Ids32 => "name the format: --set input.format=u32 (in the job format = \"u32\", for convert --from u32); or u64 if \
                            ids are that large"
                .into(),
            Suspect::Swapped64 => convert(">i8"),
            Suspect::Swapped32 => convert(">u4"),
            Suspect::Float64 => convert("<f8"),
            Suspect::Float32 => convert("<f4"),
        };
        Error::input(path, At::Byte(0), format!("pairs of whole numbers ({format})"), self.found(), remedy)
    }
}

/// Returns the complete 64-bit words of `bytes`, whose offset in the file is a multiple of 16.
fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// A sample of the 64-bit words of a file, also split into 32-bit halves.
struct WordSample<'a> {
    words: &'a [u64],
    halves: Vec<u32>,
    /// Whether the file's length allows it to consist of pairs of 64-bit words.
    whole: bool,
}

impl WordSample<'_> {
    fn of(words: &[u64], whole: bool) -> WordSample<'_> {
        WordSample { words, halves: words.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]).collect(), whole }
    }

    /// Returns true if `is` returns true for every word of the sample, and the file's length allows pairs of 64-bit
    /// words.
    fn all(&self, is: impl Fn(u64) -> bool) -> bool {
        self.whole && self.words.iter().all(|word| is(*word))
    }

    fn all_halves(&self, is: impl Fn(u32) -> bool) -> bool {
        self.halves.iter().all(|half| is(*half))
    }

    /// Returns true if each 64-bit word is probably an edge with two 32-bit ids rather than one id. Edges rarely
    /// repeat, but their ends do. Both halves of every word are below 2^28, which is unlikely for ids with random
    /// bits.
    fn are_edges(&self) -> bool {
        if !self.all_halves(|half| half < 1 << 28) {
            return false;
        }
        let two: Vec<u64> = self.words.iter().copied().filter(|word| *word as u32 != 0 && word >> 32 != 0).collect();
        let different = |half: &dyn Fn(u64) -> u64| two.iter().map(|&word| half(word)).collect::<HashSet<_>>().len();
        let (words, all) = (two.len(), different(&|word| word));
        words >= 4
            && words * 4 >= self.words.iter().filter(|word| **word != 0).count() * 3
            && all * 10 >= words * 9
            && different(&|word| word >> 32).min(different(&|word| word & 0xffff_ffff)) * 10 <= words * 8
    }

    /// Returns true if the 32-bit words are probably ids in the other byte order. After a byte swap, either at least 4
    /// words are nonzero and all are below 2^24, or at least 64 are nonzero and all are below 2^29. Without the swap,
    /// at least one word exceeds that bound.
    fn are_swapped32(&self, float32: bool) -> bool {
        let swapped = self.halves.iter().map(|half| half.swap_bytes()).max().unwrap_or(0);
        let (enough, here) = if swapped < 1 << 24 { (4, 1 << 24) } else { (64, 1 << 29) };
        let nonzero = self.halves.iter().filter(|half| **half != 0).count();
        swapped < 1 << 29 && nonzero >= enough && self.halves.iter().any(|half| *half >= here) && !float32
    }

    /// Returns the probable type of the pairs; `None` if it is `format`. A few floats without fractions are enough
    /// evidence, because ids rarely have such bits; with fractions, more floats are needed.
    fn kind(&self, format: Format) -> Option<Suspect> {
        let wide = format == Format::U64;
        let single = |half: u32| f64::from(f32::from_bits(half));
        let float32 = self.all_halves(|half| half == 0 || (LEAST..4.3e9).contains(&single(half)));
        let swapped32 = || self.are_swapped32(float32).then_some(Suspect::Swapped32);
        if format == Format::Graph500 {
            return swapped32();
        }
        let nonzero = self.words.iter().filter(|word| **word != 0).count();
        let nonzero32 = self.halves.iter().filter(|half| **half != 0).count();
        if nonzero == 0 {
            return None;
        }
        if self.all(|word| word >> 32 == 0) {
            return (!wide).then_some(Suspect::Ids64);
        }
        if wide && self.are_edges() {
            return Some(Suspect::Ids32);
        }
        if self.all(|word| word == 0 || (LEAST..1e15).contains(&f64::from_bits(word))) {
            let integral = self.all(|word| f64::from_bits(word).fract() == 0.0);
            // About half of all floats with a fraction have this bit set.
            let high = self.words.iter().any(|word| word & (1 << 31) != 0);
            if (integral && nonzero >= 2) || (high && nonzero >= 8) {
                return Some(Suspect::Float64);
            }
        }
        if !wide && nonzero >= 8 && self.all(|word| word as u32 == 0 && word >> 32 & 0xff == 0) {
            return Some(Suspect::Swapped64);
        }
        // The highest byte of a word is the lowest in the other byte order.
        let high_bytes = self.words.iter().filter(|word| **word >> 56 != 0).count();
        if wide && nonzero >= 4 && 2 * high_bytes > nonzero && self.all(|word| word as u32 == 0) {
            return Some(Suspect::Swapped64);
        }
        let integral32 = || self.all_halves(|half| single(half).fract() == 0.0);
        if float32 && (nonzero32 >= 16 || (nonzero32 >= 4 && integral32())) {
            return Some(Suspect::Float32);
        }
        swapped32()
    }
}

/// Smallest value that is plausible for a nonzero float in a file of floats: 2^-20.
const LEAST: f64 = 1.0 / (1 << 20) as f64;
