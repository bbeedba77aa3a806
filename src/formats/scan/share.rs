//! The share of one rank in a scan, and how the results of all shares are combined.

use std::ops::Range;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::comm::{Pass, WorkStealing};
use crate::error::{At, Error, Result};
use crate::formats::scan::layout::{Head, Layout};
use crate::formats::scan::sink::UnfitWeights;
use crate::formats::scan::{ErrorPlace, Halves, Next};
use crate::formats::text::Counts;
use crate::formats::weights::NONE_LACKING;
use crate::formats::{Part, Scan, WeightType, Weights, mirror};

/// One of `ranks` shares of an input. Plain files and generators are divided by chunks; packed files are not divided.
#[derive(Debug, Clone, Copy)]
pub struct Share<'c> {
    /// Index of the share, from 0.
    pub rank: usize,
    /// Number of shares, at least 1.
    pub ranks: usize,
    /// The record of the chunks that each rank has begun, if ranks that are done help others.
    pub helping: Option<&'c WorkStealing>,
}

impl<'c> Share<'c> {
    /// The share that is the whole input.
    pub const ALL: Share<'static> = Share::of(0, 1);

    /// Returns the share of `rank`, without help for others.
    pub const fn of(rank: usize, ranks: usize) -> Share<'c> {
        Share { rank, ranks, helping: None }
    }

    /// Returns the range of `rank`'s share of `chunks` chunks.
    fn range(self, rank: usize, chunks: u64) -> Range<u64> {
        let start = |rank: usize| (u128::from(chunks) * rank as u128 / self.ranks as u128) as u64;
        start(rank)..start(rank + 1)
    }

    /// Begins a pass over this share of `chunks` chunks.
    pub(crate) fn begin(self, chunks: u64) -> ChunkQueue<'c> {
        let own = self.range(self.rank, chunks);
        let pass = self.helping.filter(|_| chunks <= WorkStealing::MOST).map(WorkStealing::begin);
        ChunkQueue { share: self, chunks, next: Next::new(own.start), own, pass }
    }

    /// Returns true if the `nth` packed file is in this share.
    pub fn has(self, nth: usize) -> bool {
        nth % self.ranks == self.rank
    }
}

/// The chunks that a rank's threads take in a pass: first those of its own share in order, then the last chunks of
/// ranks that are behind.
pub(crate) struct ChunkQueue<'c> {
    share: Share<'c>,
    chunks: u64,
    own: Range<u64>,
    /// The next chunk of its own share, if ranks do not help each other.
    next: Next,
    pass: Option<Pass<'c>>,
}

impl ChunkQueue<'_> {
    /// Returns the numbers of the chunks in its own share.
    pub fn own(&self) -> Range<u64> {
        self.own.clone()
    }

    /// Returns the next chunk of its own share.
    pub fn take(&self) -> Option<u64> {
        let Some(pass) = self.pass else {
            return Some(self.next.take()).filter(|number| self.own.contains(number));
        };
        pass.take(self.own.end - self.own.start).map(|taken| self.own.start + taken)
    }

    /// Returns the last chunk that is left to the rank that is furthest behind, if it is `worth` taking.
    pub fn help(&self, worth: impl Fn(u64) -> bool) -> Option<u64> {
        let pass = self.pass?;
        let share = |rank| self.share.range(rank, self.chunks);
        while let Some(taken) = pass.most_left(|rank| share(rank).end - share(rank).start) {
            let last = share(taken.rank).end - 1 - taken.back;
            if !worth(last) {
                break;
            }
            if pass.help(taken) {
                return Some(last);
            }
        }
        None
    }
}

/// The results of a scan of a share. Combined over all shares, they give the [`Scan`] of the whole input.
#[derive(Debug)]
pub struct Seen {
    parts: Vec<(Part, Option<Head>)>,
    /// The number of threads of the scan.
    threads: usize,
    /// Counts of each part: entries, vertex lines, weighted edges, low halves of the balances, and high halves of the
    /// balances. Then the hash of each chunk of the input, which is zero for chunks of other shares, and the hashes of
    /// weights.
    sums: Vec<u64>,
    /// The number of hashes of weights.
    weights_hashes: usize,
    /// The largest number of vertices that a header declares, plus one; the type of weights, encoded by [`word_of`];
    /// and the places of the first integer weights that are too wide or rounded, encoded by [`word_of_place`].
    most: [u64; 4],
    weights: Weights,
    /// The errors for these first weights in this share.
    noted: UnfitWeights<Option<(ErrorPlace, Error)>>,
    checksum: Checksum,
}

#[derive(Debug)]
enum Checksum {
    /// The checksum is computed from the hashes of chunks.
    Chunks,
    /// The checksum is known.
    Is(u64),
}

impl Seen {
    pub(crate) fn files(
        (parts, threads): (Vec<(Part, Option<Head>)>, usize),
        sums: Vec<u64>,
        weights_hashes: usize,
        (weights, found): (Weights, u64),
        noted: UnfitWeights<Option<(ErrorPlace, Error)>>,
    ) -> Seen {
        let declared = parts.iter().filter_map(|(_, head)| head.as_ref()?.vertices).max();
        let declared = declared.map_or(0, |n| n.saturating_add(1));
        let most = [declared, found, word_of_place(&noted.wide), word_of_place(&noted.rounded)];
        Seen { parts, threads, sums, weights_hashes, most, weights, noted, checksum: Checksum::Chunks }
    }

    /// Returns the results for a generator that made `edges` edges, with weights of type `found` if `weights` says that
    /// they are wanted.
    pub(crate) fn generated(
        edges: u64,
        vertices: u64,
        checksum: u64,
        (weights, found): (Weights, Option<WeightType>),
    ) -> Seen {
        let found = found.filter(|_| weights.is_wanted());
        let most = [vertices.saturating_add(1), word_of(found), 0, 0];
        let (parts, noted, checksum) = (Vec::new(), UnfitWeights::default(), Checksum::Is(checksum));
        Seen { parts, threads: 0, sums: vec![edges], weights_hashes: 0, most, weights, noted, checksum }
    }

    /// Returns the numbers that must be summed over all shares.
    pub fn sums(&mut self) -> &mut [u64] {
        &mut self.sums
    }

    /// Returns the numbers whose maximum over all shares must be taken.
    pub fn most(&mut self) -> &mut [u64] {
        &mut self.most
    }

    /// Returns the result for all shares. Their numbers must have been combined before.
    ///
    /// # Errors
    /// Bad input if a header of this share declares other counts, or if no type can represent one of the weights of
    /// this share.
    pub fn finish(self) -> Result<Scan> {
        let parts = self.parts.len();
        let declared_vertices = self.most[0].checked_sub(1);
        let (entries, rest) = self.sums.split_at(parts.max(1).min(self.sums.len()));
        let weights = match (self.weights, type_of(self.most[1])) {
            (Weights::Read(read), Some(_)) => Some(read),
            (_, found) => found,
        };
        if let Checksum::Is(checksum) = self.checksum {
            let edges = entries.iter().sum();
            return Ok(Scan { edges, declared_vertices, checksum, weights_checksum: 0, weights, halves: Halves::None });
        }
        let (by_part, hashes) = rest.split_at(4 * parts);
        let [rows, weighted, low, high] = [0, 1, 2, 3].map(|nth| &by_part[nth * parts..(nth + 1) * parts]);
        let (mut seen, mut halves) = (0, 0);
        for (nth, (part, head)) in self.parts.iter().enumerate() {
            let Some(head) = head else { continue };
            check_counts(&part.path, head, entries[nth], rows[nth])?;
            let balance = low[nth].wrapping_add(high[nth] << 32);
            mirror::check(part, head, entries[nth], balance, self.threads)?;
            seen += 1;
            halves += usize::from(head.is_half(entries[nth]));
        }
        if weighted.iter().any(|weighted| *weighted > 0) {
            for (((part, _), &entries), &weighted) in self.parts.iter().zip(entries).zip(weighted) {
                check_weighted(&part.path, entries, weighted)?;
            }
        }
        check_unfit(self.noted, self.most, weights)?;
        let halves = match halves {
            0 => Halves::None,
            halves if halves == seen => Halves::All,
            _ => Halves::Some,
        };
        let combined = |hashes: &[u64]| {
            let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
            xxh3_64_with_seed(&bytes, parts as u64)
        };
        let (hashes, of_weights) = hashes.split_at(hashes.len() - self.weights_hashes);
        let weights_checksum = if of_weights.is_empty() { 0 } else { combined(of_weights) };
        let edges = entries.iter().sum();
        Ok(Scan { edges, declared_vertices, checksum: combined(hashes), weights_checksum, weights, halves })
    }
}

/// Returns a number for a type of weights; a type that can represent more has a larger number. 0 stands for no weights.
pub(super) fn word_of(weights: Option<WeightType>) -> u64 {
    match weights {
        None => 0,
        Some(WeightType::U32) => 1,
        Some(WeightType::F32) => 2,
    }
}

fn type_of(word: u64) -> Option<WeightType> {
    [WeightType::U32, WeightType::F32].into_iter().find(|found| word_of(Some(*found)) == word)
}

/// Returns a number for the place of an error; earlier places have larger numbers. 0 stands for no error.
fn word_of_place(first: &Option<(ErrorPlace, Error)>) -> u64 {
    first.as_ref().map_or(0, |((part, chunk), _)| u64::MAX - ((*part as u64) << 40 | chunk))
}

/// Refuses integer weights from 2^32 on if all weights are integers. If the type is f32, warns of weights that are
/// rounded. `most` contains the places of the first such weights in all shares, and only the share with that place
/// reports it.
fn check_unfit(
    noted: UnfitWeights<Option<(ErrorPlace, Error)>>,
    most: [u64; 4],
    weights: Option<WeightType>,
) -> Result<()> {
    let [_, _, wide, rounded] = most;
    let is_first = |first: &Option<(ErrorPlace, Error)>, word: u64| word_of_place(first) == word;
    match weights {
        Some(WeightType::F32) if is_first(&noted.rounded, rounded) => {
            noted.rounded.iter().for_each(|(_, error)| tracing::warn!("{error}"));
            Ok(())
        }
        Some(WeightType::U32) if is_first(&noted.wide, wide) => noted.wide.map_or(Ok(()), |(_, error)| Err(error)),
        _ => Ok(()),
    }
}

/// Refuses a file with edges that have no weight, if other edges of the input have one.
fn check_weighted(path: &Path, entries: u64, weighted: u64) -> Result<()> {
    if weighted == entries {
        return Ok(());
    }
    let found = format!("{} of {entries} without one, and others with", entries - weighted.min(entries));
    Err(Error::input(path, At::File, "a weight for every edge of the input, or for none", found, NONE_LACKING))
}

/// Checks the counts in the header against those of the body.
fn check_counts(path: &Path, head: &Head, entries: u64, rows: u64) -> Result<()> {
    const REMEDY: &str = "the file is cut short, or its header is wrong: fetch or make it again";
    let wrong = |expected: String, found: String| Err(Error::input(path, At::File, expected, found, REMEDY));
    let found = |counts: &Counts| Some((counts.line, counts.found(entries.checked_sub(1)?)?));
    if let Some((line, found)) = head.layout.counts().and_then(found) {
        return Err(Error::input(path, At::Line(line), Counts::EXPECTED, found, Counts::REMEDY));
    }
    match (&head.layout, head.entries) {
        (Layout::Metis(adjacency), Some(edges)) => {
            if rows < adjacency.vertices {
                return wrong(
                    format!("{} lines of vertices, as the header says", adjacency.vertices),
                    rows.to_string(),
                );
            }
            if entries != edges && Some(entries) != edges.checked_mul(2) {
                let expected = format!("{edges} edges, as the header says, listed twice or once each");
                return wrong(expected, format!("{entries} neighbours"));
            }
        }
        (_, Some(declared)) if declared != entries => {
            return wrong(format!("{declared} entries, as the header says"), entries.to_string());
        }
        _ => {}
    }
    Ok(())
}
