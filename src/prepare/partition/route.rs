//! Where full lines go: into the bins of this rank, or to the rank that has their bin.

use super::shelf::{Run, Shelf};
use super::{LINE, Line, Partition, Scatter, WORDS};
use crate::comm::Outbox;
use crate::error::{Error, Result};
use crate::graph::layout::{Bins, Layout};
use crate::graph::order::DegreeRuns;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// No rank: the block is stored already.
pub const NOBODY: u32 = u32::MAX;
/// Words before the lines of a run in a message: the bin, and how many lines.
const RUN: usize = 2;
/// Instead of lines, where they are on the shelf: the first word of a run has this bit.
const SHELVED: u32 = 1 << 31;
/// Words of the smallest message.
pub const LEAST_MESSAGE: usize = RUN + WORDS;

/// About what part of all edges goes to `rank`.
pub fn part(layout: &Layout, runs: &DegreeRuns, builders: &[u32], rank: usize) -> f64 {
    let expected = expected_edges(layout, runs);
    let mine = expected.iter().zip(builders).filter(|&(_, &builder)| builder == rank as u32).map(|(&edges, _)| edges);
    mine.sum::<f64>() / expected.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

/// About what part of all edges goes to the one of `ranks` ranks that gets most, if all blocks are to be built.
pub fn largest_part(layout: &Layout, runs: &DegreeRuns, ranks: usize) -> f64 {
    let builders = builders(layout, runs, &vec![true; layout.blocks()], ranks);
    (0..ranks).map(|rank| part(layout, runs, &builders, rank)).fold(0.0, f64::max)
}

/// The rank that builds each block: consecutive blocks of about as many edges for each. [`NOBODY`] where none is wanted.
pub fn builders(layout: &Layout, runs: &DegreeRuns, wanted: &[bool], ranks: usize) -> Vec<u32> {
    let expected = expected_edges(layout, runs);
    let edges: Vec<f64> =
        expected.iter().zip(wanted).map(|(&edges, &wanted)| if wanted { edges } else { 0.0 }).collect();
    let total = edges.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut before = 0.0;
    let builder = |(&edges, &wanted): (&f64, &bool)| {
        let middle = before + edges / 2.0;
        before += edges;
        let rank = ((middle / total * ranks as f64) as usize).min(ranks - 1);
        if wanted { rank as u32 } else { NOBODY }
    };
    edges.iter().zip(wanted).map(builder).collect()
}

/// About how many edges each block's rows get. The ends of an edge are drawn by degree, as it were: of the `d` edges of a
/// vertex, those to vertices before it are as many as these have of all ends. Bounds would give the first rank, with the
/// hubs, half of its share.
fn expected_edges(layout: &Layout, runs: &DegreeRuns) -> Vec<f64> {
    let mut runs = runs.iter().peekable();
    let (mut ends, mut at) = (0.0f64, 0);
    let blocks = (0..layout.blocks()).map(|b| layout.block(b));
    let expected = blocks.map(|block| {
        let before = ends;
        while at < block.rows.end {
            let Some(&(degree, _, end)) = runs.peek() else { break };
            let upto = end.min(block.rows.end);
            ends += f64::from(degree) * (upto - at) as f64;
            at = upto;
            if upto == end {
                runs.next();
            }
        }
        ends * ends - before * before
    });
    expected.collect()
}

/// A rank, and bins in a row that are its.
pub(super) type Group = (usize, Range<usize>);

/// The ways of lines, for all threads that make them.
pub struct Route<'r, 'a> {
    partition: &'r Partition<'a>,
    /// By bin, the rank that has it, or [`NOBODY`].
    owners: &'r [u32],
    rank: u32,
    outbox: &'r Outbox<'r>,
    /// What is gathered for other ranks, by rank and lane.
    messages: Vec<Mutex<Vec<u32>>>,
    lanes: usize,
    /// Words of a message.
    most: usize,
}

impl<'r, 'a> Route<'r, 'a> {
    /// Ways from `lanes` threads by `outbox`, in messages of at most `most` words, to the `owners` of bins; those of `rank`
    /// are in `partition`.
    pub fn new(
        partition: &'r Partition<'a>,
        owners: &'r [u32],
        rank: usize,
        ranks: usize,
        outbox: &'r Outbox<'r>,
        lanes: usize,
        most: usize,
    ) -> Self {
        let messages = if ranks == 1 { 0 } else { ranks * lanes };
        let messages = (0..messages).map(|_| Mutex::new(Vec::new())).collect();
        Route { partition, owners, rank: rank as u32, outbox, messages, lanes, most: most.max(LEAST_MESSAGE) }
    }

    /// Bytes that gathering messages takes, at most.
    pub fn bytes(ranks: usize, lanes: usize, most: usize) -> u64 {
        if ranks == 1 { 0 } else { (4 * most.max(LEAST_MESSAGE) * ranks * lanes) as u64 }
    }

    /// A visitor for one thread, which looks ids up in `map`.
    pub fn scatter<'p>(&'p self, lane: usize, map: &'p [u32], source: &'p str) -> Scatter<'p, 'r, 'a> {
        Scatter::new(self, lane, map, source)
    }

    pub(super) fn bins(&self) -> &Bins {
        self.partition.bins
    }

    /// Whether the edges of a bin go anywhere.
    #[inline]
    pub(super) fn wants(&self, bin: usize) -> bool {
        self.owners[bin] != NOBODY
    }

    pub(super) fn line(&self, lane: usize, bin: usize, line: &Line) -> Result<()> {
        if self.owners[bin] == self.rank {
            return self.partition.append(bin, line);
        }
        let mut words = [0; WORDS];
        line.write(&mut words);
        self.send(lane, bin, &words)
    }

    /// Whole lines, laid out as in a chunk.
    pub(super) fn lines(&self, lane: usize, bin: usize, words: &[u32]) -> Result<()> {
        if self.owners[bin] == self.rank {
            return self.partition.append_lines(bin, words);
        }
        self.send(lane, bin, words)
    }

    /// Notes lines that were put on the shelf of the rank that has their bin.
    pub(super) fn shelved(&self, lane: usize, bin: usize, run: Run) -> Result<()> {
        if self.owners[bin] == self.rank {
            self.partition.shelve(bin, run);
            return Ok(());
        }
        let to = self.owners[bin] as usize;
        let mut message = self.messages[to * self.lanes + lane].lock().unwrap_or_else(PoisonError::into_inner);
        self.make_room(to, &mut message)?;
        message.extend([bin as u32 | SHELVED, run.lines, run.first]);
        Ok(())
    }

    /// The shelf, and which bins in a row are whose.
    pub(super) fn shelf(&self) -> Option<(&'a Shelf, Vec<Group>)> {
        let shelf = self.partition.shelf?;
        let mut bin = 0;
        let groups = self.owners.chunk_by(|a, b| a == b).map(|group| {
            bin += group.len();
            (group[0] as usize, bin - group.len()..bin)
        });
        Some((shelf, groups.filter(|&(owner, _)| owner != NOBODY as usize).collect()))
    }

    /// Sends a message that has no room for a line more.
    fn make_room(&self, to: usize, message: &mut Vec<u32>) -> Result<()> {
        if message.len() + LEAST_MESSAGE > self.most {
            self.outbox.send(to, std::mem::take(message))?;
        }
        if message.capacity() == 0 {
            *message = self.outbox.buffer();
        }
        Ok(())
    }

    fn send(&self, lane: usize, bin: usize, mut words: &[u32]) -> Result<()> {
        let to = self.owners[bin] as usize;
        let mut message = self.messages[to * self.lanes + lane].lock().unwrap_or_else(PoisonError::into_inner);
        while !words.is_empty() {
            self.make_room(to, &mut message)?;
            let room = (self.most - message.len() - RUN) / WORDS * WORDS;
            let (now, later) = words.split_at(room.min(words.len()));
            message.extend([bin as u32, (now.len() / WORDS) as u32]);
            message.extend_from_slice(now);
            words = later;
        }
        Ok(())
    }

    /// Sends what is gathered.
    ///
    /// # Errors
    /// Where the exchange has failed.
    pub fn flush(&self) -> Result<()> {
        for (i, message) in self.messages.iter().enumerate() {
            let message = std::mem::take(&mut *message.lock().unwrap_or_else(PoisonError::into_inner));
            if !message.is_empty() {
                self.outbox.send(i / self.lanes, message)?;
            }
        }
        Ok(())
    }
}

impl Partition<'_> {
    /// Puts the lines of another rank's message into bins.
    ///
    /// # Errors
    /// Those of the spill file; a message that is none.
    pub fn take_message(&self, mut message: &[u32]) -> Result<()> {
        let torn = || Error::internal("take edges of another rank", "a message that is no run of lines");
        while let [bin, lines, rest @ ..] = message {
            let shelved = bin & SHELVED != 0;
            let words = rest.get(..if shelved { 1 } else { *lines as usize * WORDS }).ok_or_else(torn)?;
            let bin = Some((bin & !SHELVED) as usize);
            let bin = bin.filter(|&bin| self.wanted.get(bin) == Some(&true)).ok_or_else(torn)?;
            match shelved {
                true => self.shelve(bin, Run { first: words[0], lines: *lines }),
                false => self.append_lines(bin, words)?,
            }
            message = &rest[words.len()..];
        }
        if message.is_empty() { Ok(()) } else { Err(torn()) }
    }
}

impl Line {
    /// As it lies in a chunk.
    pub(super) fn write(&self, words: &mut [u32]) {
        let (lows, places) = words.split_at_mut(LINE);
        lows.copy_from_slice(&self.lows);
        let (below, above) = self.places.split_at(LINE / 2);
        for ((word, &below), &above) in places.iter_mut().zip(below).zip(above) {
            *word = u32::from(below) | (u32::from(above) << 16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_build_consecutive_blocks_and_about_as_many_edges(
            rows in 1u32..3000, degree in 1u32..60, target in 1u64..4000, ranks in 1usize..9, skip in 1usize..5,
        ) {
            let runs = DegreeRuns::new(vec![(2 * degree, rows), (degree, rows)]);
            let layout = Layout::with_target(&runs, target);
            let wanted: Vec<bool> = (0..layout.blocks()).map(|b| skip == 4 || b % skip == 0).collect();
            let builders = builders(&layout, &runs, &wanted, ranks);
            let some: Vec<u32> = builders.iter().copied().filter(|&rank| rank != NOBODY).collect();
            prop_assert!(some.is_sorted() && some.iter().all(|&rank| (rank as usize) < ranks));
            prop_assert!(builders.iter().zip(&wanted).all(|(&rank, &wanted)| (rank != NOBODY) == wanted));
            // Every vertex by itself: its degree times the ends before it.
            let ends = |v: u64| (2 * v.min(rows.into()) + v.saturating_sub(rows.into())) as f64 * f64::from(degree);
            let of = |b: usize| layout.block(b).rows.map(|v| ends(v + 1) * (ends(v + 1) - ends(v))).sum::<f64>();
            let sum = |wanted: &dyn Fn(u32) -> bool| (0..layout.blocks()).filter(|&b| wanted(builders[b])).map(of).sum::<f64>();
            let largest = (0..layout.blocks()).map(of).fold(0.0, f64::max);
            let fair = sum(&|rank| rank != NOBODY) / ranks as f64;
            for rank in 0..ranks as u32 {
                prop_assert!(sum(&|r| r == rank) <= 1.1 * fair + 1.1 * largest);
            }
        }
    }
}
