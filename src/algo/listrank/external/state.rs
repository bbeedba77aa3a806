//! The journal of a ranking with files. It records which rounds are finished, and the lengths of the files after each
//! round.

use std::path::PathBuf;

use super::contraction::Contraction;
use super::files::{NAMES, path};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::store::durable::sync_folder;
use crate::store::journal::{Journal, Record};
use crate::store::replace::remove_file;

/// State of a ranking with files after its last journal record.
#[derive(Debug, Clone, Default)]
pub struct RankingState {
    /// Whether all links of the list are in the bin files.
    pub scanned: bool,
    /// Number of bins (ranges of elements) that are not eliminated yet. It is at least 1, because bin 0 is never
    /// eliminated.
    pub left: u64,
    /// For each bin, the length in bytes of its file of links that stand for one list step.
    pub unit: Vec<u64>,
    /// For each bin, the length in bytes of its file of links that are stored with their number of list steps.
    pub weighted: Vec<u64>,
    /// For each eliminated bin, the number of its chains (paths of links within the bin) that lead to each lower bin,
    /// and to the end of the list.
    pub chains: Vec<Vec<u64>>,
    /// The first element of the list; `None` until the bin that contains it is eliminated or ranked.
    pub head: Option<u64>,
    /// First element of the list that remains after chains were eliminated from its beginning.
    pub current: Option<u64>,
    /// Number of list steps from the head to `current`.
    pub before: u64,
    /// Number of bins whose ranks are stored.
    pub ranked: u64,
}

/// Id of the journal record for a finished scan. The id for an eliminated bin is the bin's index plus 1.
const SCANNED: u64 = 0;
/// Id of the journal record for the ranks of bin 0. The id for the ranks of bin `b` is larger by `b`.
const RANKED: u64 = 1 << 32;

/// A ranking with files: its state, and the journal that stores the state.
pub struct StateJournal<'a> {
    /// The division of the list into bins, and the resources of the ranking.
    pub work: &'a Contraction<'a>,
    path: PathBuf,
    journal: Journal,
    /// State of the ranking after the last journal record.
    pub now: RankingState,
    /// Number of journal records from earlier runs.
    pub found: u64,
}

impl<'a> StateJournal<'a> {
    /// Restores the state that an earlier run left, if it had the same key, sizes, and integers of `word` bytes.
    /// Removes files that are not needed in this state.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn open(work: &'a Contraction<'a>, word: u64) -> Result<StateJournal<'a>> {
        let Contraction { folder, key, sizes, .. } = *work;
        let salt = [sizes.shares.length, sizes.shares.size, word]
            .iter()
            .fold(key, |h, x| (h ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let journal_path = folder.join("rounds");
        let (journal, records) = Journal::open(&journal_path, salt)?;
        let bins = sizes.bins as usize;
        let (unit, weighted) = (vec![0; bins], vec![0; bins]);
        let now = RankingState {
            left: sizes.bins,
            unit,
            weighted,
            chains: vec![Vec::new(); bins],
            ..RankingState::default()
        };
        let mut kept = StateJournal { work, path: journal_path, journal, now, found: records.len() as u64 };
        for record in &records {
            kept.apply(record)
                .ok_or_else(|| Error::internal("go on with a list ranking", "a record of another kind"))?;
        }
        kept.tidy()?;
        Ok(kept)
    }

    fn apply(&mut self, record: &Record) -> Option<()> {
        let (words, _) = record.result.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let bins = self.now.unit.len();
        let now = &mut self.now;
        match record.unit {
            SCANNED => {
                now.scanned = true;
                now.unit = words.get(..bins)?.to_vec();
                now.weighted = words.get(bins..2 * bins)?.to_vec();
            }
            ranked if ranked >= RANKED => {
                now.ranked = ranked - RANKED + 1;
                now.head = option(*words.first()?);
            }
            bin => {
                let bin = bin as usize - 1;
                now.left = bin as u64;
                (now.head, now.current, now.before) = (option(*words.first()?), option(*words.get(1)?), *words.get(2)?);
                now.weighted = words.get(3..3 + bins)?.to_vec();
                *now.chains.get_mut(bin)? = words.get(3 + bins..)?.to_vec();
            }
        }
        Some(())
    }

    /// Appends a journal record of a finished scan: all links of the list are in the bin files.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn note_scan(&mut self, unit: &[u64], weighted: &[u64]) -> Result<()> {
        self.note(Record::of_words(SCANNED, &[unit, weighted].concat()))
    }

    /// Appends a journal record of an eliminated bin.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn note_eliminated(&mut self, bin: u64, state: &RankingState, weighted: &[u64], chains: &[u64]) -> Result<()> {
        let mut lengths = self.now.weighted.clone();
        lengths[..weighted.len()].copy_from_slice(weighted);
        let head = [word(state.head), word(state.current), state.before];
        self.note(Record::of_words(bin + 1, &[&head, &lengths[..], chains].concat()))
    }

    /// Appends a journal record of a bin whose ranks are stored.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn note_ranked(&mut self, bin: u64, head: Option<u64>) -> Result<()> {
        self.note(Record::of_words(RANKED + bin, &[word(head)]))
    }

    fn note(&mut self, record: Record) -> Result<()> {
        failpoint::hit("listrank.round").map_err(|e| Error::io("note a round", &self.path, e))?;
        // The folder is synced, because a new file is durable only after its folder entry is.
        sync_folder(&self.path)?;
        self.journal.append(std::slice::from_ref(&record))?;
        self.journal.sync()?;
        self.apply(&record).ok_or_else(|| Error::internal("note a round", "a record of another kind"))?;
        self.tidy()
    }

    /// Removes the files that are not needed in the current state.
    fn tidy(&self) -> Result<()> {
        let (now, folder) = (&self.now, self.work.folder);
        for bin in 0..self.work.sizes.bins {
            let linked = now.scanned && if bin == 0 { now.ranked == 0 } else { bin < now.left };
            let chained = now.scanned && bin >= now.left.max(1) && bin >= now.ranked;
            for name in NAMES {
                let keep = match name {
                    "unit" | "weighted" => linked,
                    "ranks" => bin < now.ranked,
                    _ => chained,
                };
                if !keep {
                    remove_file(&path(folder, name, bin))?;
                }
            }
        }
        Ok(())
    }
}

/// Encodes an element as a 64-bit word of a journal record. `None` is encoded as the largest value, which is no
/// element's index.
fn word(element: Option<u64>) -> u64 {
    element.unwrap_or(u64::MAX)
}

fn option(word: u64) -> Option<u64> {
    Some(word).filter(|&word| word != u64::MAX)
}
