//! The result of a scan, and how the results of all shares are combined.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::mirror;
use crate::error::{At, Error, Result};
use crate::formats::pass::state::{ErrorPlace, PartState, word_of};
use crate::formats::text::CountsLine;
use crate::formats::weights::NONE_LACKING;
use crate::formats::{BodyLayout, Head, Part, ScanState, WeightType, Weights};

/// The result of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Number of edges in the input, including self-loops and repeats.
    pub edges: u64,
    /// The largest number of vertices that any header declares; the scan has checked the ids of each file against its
    /// header.
    pub declared_vertices: Option<u64>,
    /// Checksum of the input: xxh3 over the stored bytes in chunks of 8 MiB. The hash of each chunk is salted with its
    /// file index and chunk index, and the hashes are combined in order. The checksum does not depend on the number of
    /// threads. For a generator it is a hash of the parameters.
    pub checksum: u64,
    /// Checksum, like [`Self::checksum`], of the separate weights files if the scan reads or checks weights; otherwise
    /// 0.
    pub weights_checksum: u64,
    /// Type of the weights; `None` if no edge has a weight, or if weights are skipped. A scan that reads weights
    /// returns the type in which they are read. A scan that finds the type returns u32 if all weights are integers
    /// below 2^32, u64 if all are integers, and otherwise f32.
    pub weights: Option<WeightType>,
    /// How many files list only one direction of each edge: none, some or all.
    pub halves: Halves,
}

/// How many files of an undirected input list only one direction of each edge: none, some or all. Such files are
/// symmetric Matrix Market files, and METIS files that list each edge once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Halves {
    /// No file lists only one direction.
    #[default]
    None,
    /// Some files, but not all, list only one direction.
    Some,
    /// All files list only one direction.
    All,
}

/// The result of a scan of one share. Combined over all shares, it yields the [`Scan`] of the whole input.
#[derive(Debug)]
pub struct ShareResult {
    parts: Vec<(Part, Option<Head>)>,
    /// Number of threads that read this share.
    threads: usize,
    /// Numbers that are summed over all shares. First, for each of five quantities, one number per file: edges, vertex
    /// lines, edges with a weight, and the low and the high half of `EdgeCounts::balance`, which is 0 for symmetric
    /// adjacency lists. Then the hash of each chunk of the input (0 for chunks of other shares), and last the hashes
    /// of weights.
    sums: Vec<u64>,
    /// Number of hashes of weights at the end of `sums`.
    weights_hashes: usize,
    /// Numbers whose maximum over all shares is taken. First, 1 + the largest number of vertices that a header
    /// declares, or 0 if none does. Then the type of the weights, encoded by [`word_of`]. Last, the position of the
    /// first integer weight that f32 would round, encoded by [`word_of_place`].
    most: [u64; 3],
    weights: Weights,
    /// The error for the first integer weight in this share that f32 would round, and its position.
    rounded: Option<(ErrorPlace, Error)>,
    /// The checksum of a generator; `None` if it is computed from chunk hashes.
    checksum: Option<u64>,
}

impl ShareResult {
    /// Returns the result of a pass over files.
    pub(crate) fn files(state: ScanState<'_>) -> ShareResult {
        // The two halves of a balance are summed separately, so that sums over shares do not overflow.
        let seen = &state.seen;
        let of_parts = |number: fn(&PartState) -> u64| seen.iter().map(number);
        let sums = of_parts(|part| part.entries.load(Relaxed))
            .chain(of_parts(|part| part.rows.load(Relaxed)))
            .chain(of_parts(|part| part.weighted.load(Relaxed)))
            .chain(of_parts(|part| part.balance.load(Relaxed) & u64::from(u32::MAX)))
            .chain(of_parts(|part| part.balance.load(Relaxed) >> 32))
            .chain(seen.iter().flat_map(|part| &part.hashes).map(|hash| hash.load(Relaxed)))
            .chain(seen.iter().flat_map(|part| &part.weights_hashes).map(|hash| hash.load(Relaxed)))
            .collect();
        let weights_hashes = seen.iter().map(|part| part.weights_hashes.len()).sum();
        let heads = state.seen.into_iter().map(|part| part.head.into_inner());
        let parts: Vec<_> = state.parts.iter().cloned().zip(heads).collect();
        let rounded = state.rounded.into_inner();
        let declared = parts.iter().filter_map(|(_, head)| head.as_ref()?.vertices).max();
        let declared = declared.map_or(0, |n| n.saturating_add(1));
        let most = [declared, state.found.into_inner(), word_of_place(&rounded)];
        let (threads, weights) = (state.threads, state.weights);
        ShareResult { parts, threads, sums, weights_hashes, most, weights, rounded, checksum: None }
    }

    /// Returns the result for a generator that generated `edges` edges. `found` is the type of its weights, which is
    /// ignored if `weights` are skipped.
    pub(crate) fn generated(
        edges: u64,
        declared: Option<u64>,
        checksum: u64,
        (weights, found): (Weights, Option<WeightType>),
    ) -> ShareResult {
        let found = found.filter(|_| weights.is_wanted());
        let most = [declared.map_or(0, |n| n.saturating_add(1)), word_of(found), 0];
        let (parts, checksum) = (Vec::new(), Some(checksum));
        ShareResult { parts, threads: 0, sums: vec![edges], weights_hashes: 0, most, weights, rounded: None, checksum }
    }

    /// Returns the numbers of this share that the caller must replace by their sums over all shares.
    pub fn sums(&mut self) -> &mut [u64] {
        &mut self.sums
    }

    /// Returns the numbers of this share that the caller must replace by their maxima over all shares.
    pub fn most(&mut self) -> &mut [u64] {
        &mut self.most
    }

    /// Returns the result for all shares. The caller must have combined [`Self::sums`] and [`Self::most`] over them.
    ///
    /// # Errors
    /// Bad input if the contents of a file contradict its header, if an undirected file lists an edge at only one end,
    /// or if only some edges of the input have a weight.
    pub fn finish(self) -> Result<Scan> {
        let parts = self.parts.len();
        let declared_vertices = self.most[0].checked_sub(1);
        let (entries, rest) = self.sums.split_at(parts.max(1).min(self.sums.len()));
        let weights = match (self.weights, type_of(self.most[1])) {
            (Weights::Read(read), Some(_)) => Some(read),
            (_, found) => found,
        };
        if let Some(checksum) = self.checksum {
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
            halves += usize::from(head.is_half(entries[nth], balance == 0));
        }
        if weighted.iter().any(|weighted| *weighted > 0) {
            for (((part, _), &entries), &weighted) in self.parts.iter().zip(entries).zip(weighted) {
                check_weighted(&part.path, entries, weighted)?;
            }
        }
        warn_of_rounded(self.rounded, self.most[2], weights);
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

fn type_of(word: u64) -> Option<WeightType> {
    WeightType::ALL.into_iter().find(|found| word_of(Some(*found)) == word)
}

/// Encodes the position of an error as a number. Earlier positions have larger numbers; 0 stands for no error.
fn word_of_place(first: &Option<(ErrorPlace, Error)>) -> u64 {
    first.as_ref().map_or(0, |((part, chunk), _)| u64::MAX - ((*part as u64) << 40 | chunk))
}

/// If the weights are f32, logs a warning about the first integer that is rounded. `first` is the encoded position of
/// that integer in all shares. Only the share that contains this position logs it.
fn warn_of_rounded(rounded: Option<(ErrorPlace, Error)>, first: u64, weights: Option<WeightType>) {
    if weights == Some(WeightType::F32) && word_of_place(&rounded) == first {
        rounded.iter().for_each(|(_, error)| tracing::warn!("{error}"));
    }
}

/// Returns an error if some edges of the file have no weight, in an input in which other edges have one.
fn check_weighted(path: &Path, entries: u64, weighted: u64) -> Result<()> {
    if weighted == entries {
        return Ok(());
    }
    let found = format!("{} of {entries} without one, and others with", entries - weighted.min(entries));
    Err(Error::input(path, At::File, "a weight for every edge of the input, or for none", found, NONE_LACKING))
}

/// Checks the counts that a file declares in its header against the `entries` edges and `rows` vertex lines that were
/// read.
fn check_counts(path: &Path, head: &Head, entries: u64, rows: u64) -> Result<()> {
    const REMEDY: &str = "the file is cut short, or its header is wrong: fetch or make it again";
    let wrong = |expected: String, found: String| Err(Error::input(path, At::File, expected, found, REMEDY));
    let found = |counts: &CountsLine| Some((counts.line, counts.found(entries.checked_sub(1)?)?));
    if let Some((line, found)) = head.counts.as_ref().and_then(found) {
        return Err(Error::input(path, At::Line(line), CountsLine::EXPECTED, found, CountsLine::REMEDY));
    }
    match (&head.layout, head.entries) {
        (BodyLayout::Metis(adjacency), Some(edges)) => {
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
