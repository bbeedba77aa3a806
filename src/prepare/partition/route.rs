//! Sends lines (groups of 64 edges of one bin) to the rank that owns the bin.

use super::Partition;
use super::device_lines::{DeviceLines, LineRun};
use super::line::{EdgeLine, WEIGHTED_WORDS};
use crate::comm::Outbox;
use crate::error::{Error, Result};
use crate::graph::{Bins, DegreeRuns, Layout, assign_ranks};
use parking_lot::{Mutex, MutexGuard};
use std::ops::Range;

/// Value in place of the owner of a block that no rank builds, because the block is stored already.
pub const NOBODY: u32 = u32::MAX;
/// Number of 32-bit words before a run of lines (groups of 64 edges) in a message: the bin and the number of lines.
const RUN: usize = 2;
/// Bit that is set in the first word of a run if its lines (groups of 64 edges) are on a GPU. The message then contains
/// the index of the first line instead of the lines.
const ON_DEVICE: u32 = 1 << 31;
/// Number of 32-bit words of the smallest message.
pub const LEAST_MESSAGE: usize = RUN + WEIGHTED_WORDS;

/// Returns the estimated fraction of all edges that is sent to `rank`. `builders` lists the rank that builds each
/// block.
pub fn part(layout: &Layout, runs: &DegreeRuns, builders: &[u32], rank: usize) -> f64 {
    let expected = expected_edges(layout, runs);
    let mine = expected.iter().zip(builders).filter(|&(_, &builder)| builder == rank as u32).map(|(&edges, _)| edges);
    mine.sum::<f64>() / expected.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

/// Returns an estimate for `ranks` ranks that together build all blocks: the largest fraction of all edges that is sent
/// to any one rank.
pub fn largest_part(layout: &Layout, runs: &DegreeRuns, ranks: usize) -> f64 {
    let builders = builders(layout, runs, &vec![true; layout.blocks()], ranks);
    (0..ranks).map(|rank| part(layout, runs, &builders, rank)).fold(0.0, f64::max)
}

/// Returns, for each block, the rank that builds it, or [`NOBODY`] if it is not wanted. Each rank gets consecutive
/// blocks with about the same number of edges.
pub fn builders(layout: &Layout, runs: &DegreeRuns, wanted: &[bool], ranks: usize) -> Vec<u32> {
    let expected = expected_edges(layout, runs);
    let edges: Vec<f64> =
        expected.iter().zip(wanted).map(|(&edges, &wanted)| if wanted { edges } else { 0.0 }).collect();
    let ranks = assign_ranks(&edges, ranks).into_iter();
    ranks.zip(wanted).map(|(rank, &wanted)| if wanted { rank as u32 } else { NOBODY }).collect()
}

/// Estimates the relative number of edges in the rows of each block. In the model, both ends of an edge are drawn with
/// probabilities proportional to degree. So if earlier vertices have a fraction `f` of all edge ends, then a fraction
/// `f` of a vertex's edges have an earlier vertex as their other end. The upper bounds in the layout can't be used
/// instead: with them the first rank, which owns the hubs, would get half of its fair share.
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

/// Consecutive bins with the same owner, as (rank, range of bins).
pub(super) type OwnedBins = (usize, Range<usize>);

/// Sender of lines (groups of 64 edges of one bin) to the ranks that own their bins. It is shared by all threads that
/// make lines.
pub struct Route<'r, 'a> {
    partition: &'r Partition<'a>,
    /// For each bin, the rank that owns it, or [`NOBODY`].
    owners: &'r [u32],
    rank: u32,
    outbox: &'r Outbox<'r>,
    /// Messages that are not full yet, one for each pair of a destination rank and a lane (sending thread).
    messages: Vec<Mutex<Vec<u32>>>,
    lanes: usize,
    /// Maximum number of 32-bit words of a message.
    most: usize,
}

impl<'r, 'a> Route<'r, 'a> {
    /// Makes a route for `lanes` threads. It sends lines (groups of 64 edges) through `outbox` to the `owners` of their
    /// bins, in messages of at most `most` 32-bit words. This rank is `rank`, and its own bins are in `partition`.
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

    /// Returns the maximum size in bytes of the unsent messages of `lanes` threads to `ranks` ranks, with `most` 32-bit
    /// words per message.
    pub fn bytes(ranks: usize, lanes: usize, most: usize) -> u64 {
        if ranks == 1 { 0 } else { (4 * most.max(LEAST_MESSAGE) * ranks * lanes) as u64 }
    }

    /// Whether edges have weights.
    pub(super) fn weighted(&self) -> bool {
        self.partition.words == WEIGHTED_WORDS
    }

    pub(super) fn bins(&self) -> &Bins {
        self.partition.bins
    }

    /// Whether any rank needs the edges of `bin`.
    #[inline]
    pub(super) fn wants(&self, bin: usize) -> bool {
        self.owners[bin] != NOBODY
    }

    /// Sends a line (group of 64 edges) to bin `bin`, with its weights if edges have weights. `lane` is the index of
    /// the calling thread.
    pub(super) fn line(&self, lane: usize, bin: usize, line: &EdgeLine, weights: &[u32]) -> Result<()> {
        if self.owners[bin] == self.rank {
            return self.partition.append(bin, line, weights);
        }
        let mut words = [0; WEIGHTED_WORDS];
        let words = &mut words[..self.partition.words];
        line.write(weights, words);
        self.send(lane, bin, words)
    }

    /// Sends whole lines (groups of 64 edges), in the layout of a chunk, to bin `bin`. `lane` is the index of the
    /// calling thread.
    pub(super) fn lines(&self, lane: usize, bin: usize, words: &[u32]) -> Result<()> {
        if self.owners[bin] == self.rank {
            return self.partition.append_lines(bin, words);
        }
        self.send(lane, bin, words)
    }

    /// Adds a run of lines (groups of 64 edges) to bin `bin`. The lines are already on the GPU of the rank that owns
    /// the bin. If another rank owns the bin, sends it a message about the run.
    pub(super) fn send_run(&self, lane: usize, bin: usize, run: LineRun) -> Result<()> {
        if self.owners[bin] == self.rank {
            self.partition.add_run(bin, run);
            return Ok(());
        }
        let (to, mut message) = self.message(lane, bin);
        self.make_room(to, &mut message)?;
        message.extend([bin as u32 | ON_DEVICE, run.lines, run.first]);
        Ok(())
    }

    /// Returns the memory for edges on GPUs, and the bins grouped by owner; `None` if there is no such memory.
    pub(super) fn device_lines(&self) -> Option<(&'a DeviceLines, Vec<OwnedBins>)> {
        let device_lines = self.partition.device_lines?;
        let mut bin = 0;
        let groups = self.owners.chunk_by(|a, b| a == b).map(|group| {
            bin += group.len();
            (group[0] as usize, bin - group.len()..bin)
        });
        Some((device_lines, groups.filter(|&(owner, _)| owner != NOBODY as usize).collect()))
    }

    /// Returns the rank that owns `bin`, and the locked message that thread `lane` fills for this rank.
    fn message(&self, lane: usize, bin: usize) -> (usize, MutexGuard<'_, Vec<u32>>) {
        let to = self.owners[bin] as usize;
        (to, self.messages[to * self.lanes + lane].lock())
    }

    /// Sends `message` to rank `to` if it has no space for another line (group of 64 edges), and starts a new message.
    fn make_room(&self, to: usize, message: &mut Vec<u32>) -> Result<()> {
        if message.len() + RUN + self.partition.words > self.most {
            self.outbox.send(to, std::mem::take(message))?;
        }
        if message.capacity() == 0 {
            *message = self.outbox.buffer();
        }
        Ok(())
    }

    fn send(&self, lane: usize, bin: usize, mut words: &[u32]) -> Result<()> {
        let (to, mut message) = self.message(lane, bin);
        while !words.is_empty() {
            self.make_room(to, &mut message)?;
            let line = self.partition.words;
            let room = (self.most - message.len() - RUN) / line * line;
            let (now, later) = words.split_at(room.min(words.len()));
            message.extend([bin as u32, (now.len() / line) as u32]);
            message.extend_from_slice(now);
            words = later;
        }
        Ok(())
    }

    /// Sends all messages that are not empty.
    ///
    /// # Errors
    /// The error of the exchange of messages, if it has failed.
    pub fn flush(&self) -> Result<()> {
        for (i, message) in self.messages.iter().enumerate() {
            let message = std::mem::take(&mut *message.lock());
            if !message.is_empty() {
                self.outbox.send(i / self.lanes, message)?;
            }
        }
        Ok(())
    }
}

impl Partition<'_> {
    /// Adds the edges in a message from another rank to their bins.
    ///
    /// # Errors
    /// Errors of the spill file; a malformed message.
    pub fn take_message(&self, mut message: &[u32]) -> Result<()> {
        let malformed = || Error::internal("take edges of another rank", "a malformed message");
        while let [bin, lines, rest @ ..] = message {
            let on_device = bin & ON_DEVICE != 0;
            let words = rest.get(..if on_device { 1 } else { *lines as usize * self.words }).ok_or_else(malformed)?;
            let bin = Some((bin & !ON_DEVICE) as usize);
            let bin = bin.filter(|&bin| self.wanted.get(bin) == Some(&true)).ok_or_else(malformed)?;
            match on_device {
                true => self.add_run(bin, LineRun { first: words[0], lines: *lines }),
                false => self.append_lines(bin, words)?,
            }
            message = &rest[words.len()..];
        }
        if message.is_empty() { Ok(()) } else { Err(malformed()) }
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
            // Compute the same estimate vertex by vertex: the degree times the number of edge ends before the vertex.
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
