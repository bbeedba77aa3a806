//! Recognises pairs of ids that are probably something else. By default numpy writes 64-bit integers and floats, whose
//! bytes can also be read as pairs of ids, which would give a wrong graph.
//!
//! The first bytes of a file almost always confirm its type. Only if they do not, more places are examined, always the
//! same ones. If the user named the format, the file is read with a warning.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::{At, Error, Result};
use crate::formats::{Format, Part};

/// Number of places that are examined if the start of a file looks wrong, and number of bytes at each.
const PLACES: u64 = 32;
const WINDOW: usize = 4096;

/// Examines the start of a file of pairs and, if it looks wrong, more places. `more` reads `buffer.len()` bytes at an
/// offset. `length` is the length of the file, if it is known.
///
/// # Errors
/// Bad input if the pairs are probably of another type and the format was not named.
pub(super) fn check(
    part: &Part,
    warns: bool,
    start: &[u8],
    length: Option<u64>,
    more: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let (Format::U32 | Format::U64 | Format::Graph500) = part.format else { return Ok(()) };
    let mut seen = WordStatistics::new(length.is_none_or(|length| length.is_multiple_of(16)));
    seen.examine(start);
    let wrong = seen.kind(part.format).is_some() || seen.nonzero == 0;
    if let Some(length) = length.filter(|length| wrong && *length > start.len() as u64) {
        let mut window = vec![0; WINDOW.min(length as usize)];
        let last = length - window.len() as u64;
        for place in 1..PLACES {
            let offset = (u128::from(last) * u128::from(place) / u128::from(PLACES - 1)) as u64 / 16 * 16;
            more(offset, &mut window)?;
            seen.examine(&window);
        }
    }
    match seen.kind(part.format) {
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
enum Kind {
    Ids64,
    Ids32,
    Swapped64,
    Swapped32,
    Float64,
    Float32,
}

impl Kind {
    fn found(self) -> &'static str {
        match self {
            Kind::Ids64 => "what looks like 64-bit ids: every second 32-bit word is 0",
            Kind::Ids32 => "what looks like pairs of 32-bit ids: both halves of every 64-bit word are small",
            Kind::Swapped64 => "what looks like big-endian 64-bit ids: every first 32-bit word is 0",
            Kind::Swapped32 => {
                "what looks like big-endian 32-bit ids: they are small in that order, and huge in this one"
            }
            Kind::Float64 => "what looks like 64-bit floats",
            Kind::Float32 => "what looks like 32-bit floats",
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
            Kind::Ids64 => "name the format: --set input.format=u64 (in the job format = \"u64\", for convert --from u64); or u32 if \
                            every edge does end at vertex 0"
                .into(),
            Kind::Ids32 => "name the format: --set input.format=u32 (in the job format = \"u32\", for convert --from u32); or u64 if \
                            ids are that large"
                .into(),
            Kind::Swapped64 => convert(">i8"),
            Kind::Swapped32 => convert(">u4"),
            Kind::Float64 => convert("<f8"),
            Kind::Float32 => convert("<f4"),
        };
        Error::input(path, At::Byte(0), format!("pairs of whole numbers ({format})"), self.found(), remedy)
    }
}

/// The properties that all examined words share.
#[derive(Debug)]
struct WordStatistics {
    /// Number of nonzero 64-bit words, and of nonzero 32-bit words.
    nonzero: u64,
    nonzero32: u64,
    /// Whether the file consists of 64-bit pairs, and every id is below 2^32.
    ids64: bool,
    /// Whether both halves of every 64-bit word are below 2^28, and the words whose halves are both nonzero. (Ids with
    /// random bits are rarely that small.)
    small_halves: bool,
    two_halves: Vec<u64>,
    /// Whether the low half of every 64-bit word is 0; the number of words whose highest byte is nonzero, which is the
    /// lowest byte in the other byte order; and whether the high half is below 2^24 in that order.
    low_zero: bool,
    high_bytes: u64,
    swapped64: bool,
    /// Whether every 32-bit word is below 2^29 in the other byte order, and the largest word in either order.
    swapped32: bool,
    largest_swapped: u32,
    largest32: u32,
    /// Whether all words are floats that are 0 or of a usual size, and whether these are integral.
    float64: bool,
    whole64: bool,
    float32: bool,
    whole32: bool,
    /// Whether the low half of some 64-bit word has its highest bit set, which is true of half of all fractions.
    high: bool,
}

impl WordStatistics {
    fn new(whole: bool) -> WordStatistics {
        let (nonzero, nonzero32) = (0, 0);
        WordStatistics {
            nonzero,
            nonzero32,
            ids64: whole,
            small_halves: true,
            two_halves: Vec::new(),
            low_zero: whole,
            high_bytes: 0,
            swapped64: whole,
            swapped32: true,
            largest_swapped: 0,
            largest32: 0,
            float64: whole,
            whole64: whole,
            float32: true,
            whole32: true,
            high: false,
        }
    }

    /// Examines the whole words of `bytes`, whose offset in the file is a multiple of 16.
    fn examine(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks::<8>().0 {
            let halves = self.small_halves || self.low_zero || self.swapped32;
            if !(self.ids64 || halves || self.float64 || self.float32) {
                return;
            }
            let word = u64::from_le_bytes(*word);
            self.nonzero += u64::from(word != 0);
            self.ids64 &= word >> 32 == 0;
            let [low, high] = [word as u32, (word >> 32) as u32];
            self.small_halves &= low < 1 << 28 && high < 1 << 28;
            if self.small_halves && low != 0 && high != 0 {
                self.two_halves.push(word);
            }
            self.low_zero &= low == 0;
            self.high_bytes += u64::from(high >> 24 != 0);
            self.swapped64 &= low == 0 && high & 0xff == 0;
            self.high |= word & (1 << 31) != 0;
            let double = f64::from_bits(word);
            self.float64 &= word == 0 || (LEAST..1e15).contains(&double);
            self.whole64 &= double.fract() == 0.0;
            for half in [low, high] {
                let single = f64::from(f32::from_bits(half));
                self.nonzero32 += u64::from(half != 0);
                self.swapped32 &= half.swap_bytes() < 1 << 29;
                self.largest_swapped = self.largest_swapped.max(half.swap_bytes());
                self.largest32 = self.largest32.max(half);
                self.float32 &= half == 0 || (LEAST..4.3e9).contains(&single);
                self.whole32 &= single.fract() == 0.0;
            }
        }
    }

    /// Returns true if 64-bit words are edges rather than ids: edges rarely repeat, but their halves do.
    fn are_edges(&self) -> bool {
        let different = |half: &dyn Fn(u64) -> u64| {
            self.two_halves.iter().map(|&word| half(word)).collect::<HashSet<_>>().len() as u64
        };
        let (words, all) = (self.two_halves.len() as u64, different(&|word| word));
        words >= 4
            && words * 4 >= self.nonzero * 3
            && all * 10 >= words * 9
            && different(&|word| word >> 32).min(different(&|word| word & 0xffff_ffff)) * 10 <= words * 8
    }

    /// Returns true if 32-bit words are ids in the other byte order: each is below 2^24 in that order, or many are
    /// below 2^29 in that order but not in ours.
    fn are_swapped32(&self) -> bool {
        let enough = if self.largest_swapped < 1 << 24 { 4 } else { 64 };
        let here = if self.largest_swapped < 1 << 24 { 1 << 24 } else { 1 << 29 };
        self.swapped32 && self.nonzero32 >= enough && self.largest32 >= here && !self.float32
    }

    /// Returns the probable type of the pairs, if it is not `format`. Integral floats have bits that ids would not have
    /// by chance; fractions need more evidence.
    fn kind(&self, format: Format) -> Option<Kind> {
        let wide = format == Format::U64;
        if format == Format::Graph500 {
            return self.are_swapped32().then_some(Kind::Swapped32);
        }
        match self {
            WordStatistics { nonzero: 0, .. } => None,
            WordStatistics { ids64: true, .. } => (!wide).then_some(Kind::Ids64),
            WordStatistics { small_halves: true, .. } if wide && self.are_edges() => Some(Kind::Ids32),
            WordStatistics { float64: true, whole64: true, nonzero: 2.., .. } => Some(Kind::Float64),
            WordStatistics { float64: true, high: true, nonzero: 8.., .. } => Some(Kind::Float64),
            WordStatistics { swapped64: true, nonzero: 8.., .. } if !wide => Some(Kind::Swapped64),
            WordStatistics { low_zero: true, nonzero: 4.., .. } if wide && 2 * self.high_bytes > self.nonzero => {
                Some(Kind::Swapped64)
            }
            WordStatistics { float32: true, whole32: true, nonzero32: 4.., .. } => Some(Kind::Float32),
            WordStatistics { float32: true, nonzero32: 16.., .. } => Some(Kind::Float32),
            _ if self.are_swapped32() => Some(Kind::Swapped32),
            _ => None,
        }
    }
}

/// The smallest nonzero float that is considered to be of a usual size: 2^-20.
const LEAST: f64 = 1.0 / (1 << 20) as f64;
