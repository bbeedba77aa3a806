//! Divides the partner blocks of a front batch into batches, before anything is copied to the GPU.

use super::arena_plan::ArenaPlan;
use crate::algo::triangle::units::Work;
use crate::stream::location::SegmentPlace;
use crate::stream::{Cut, RowBatch, Segment, batches};
use std::ops::Range;

/// Target number of partner batches per rank and front batch, if there are several ranks. More batches balance the
/// work better but mark the rows of the front more often. (At scale 29 four ranks take 1.16 s with 4 batches, 1.24
/// with 8, 1.5 with 16, 2.4 with 32.)
const TURNS: u64 = 4;

/// Divisor for the size of partner batches inside a front batch. The first one has at most 1/`EARLY` of the front's
/// entries, or [`LEAST_EARLY`] entries if that is more. A later batch may also be as large as the part of the front
/// before it. So a batch can be counted while the rest of the front is copied from the host.
const EARLY: u64 = 32;
/// Lower bound on the maximum size of a partner batch inside a front batch, in entries.
const LEAST_EARLY: u64 = 8 << 20;

/// Threshold for dividing a partner batch: the number of memory reads that the division must save for each front row,
/// because every front row is then marked once more. If a partner batch fits the GPU's cache, only the first front row
/// reads it from memory. (At scale 29: 0.31 ps per read, 17 ns per marked row.)
const WORTH: u64 = 55_000;
/// Cost of one more partner batch (1 ms), as the number of front rows that are marked in that time.
const PARTNER: u64 = 60_000;

/// The partner batches of a front batch.
pub(super) struct Partners {
    /// Partner batches that are already in GPU memory, as parts of the front batch.
    pub(super) inside: Vec<RowBatch>,
    /// Partner batches that are copied to GPU memory one after another.
    pub(super) outside: Vec<RowBatch>,
}

/// Data that determines how partner blocks are divided into batches. It is the same on every rank.
pub(super) struct BatchDivision<'c, 'w> {
    pub(super) work: &'c Work<'w>,
    pub(super) front: &'c RowBatch,
    pub(super) plan: ArenaPlan,
    /// Total cache size of the GPUs of all ranks, in bytes.
    pub(super) cache: u64,
    /// Whether the front batch is copied from GPUs instead of the host.
    pub(super) from_gpus: bool,
    /// Whether counts per vertex are requested. After a stop, they can be saved only if no unit is partly counted.
    pub(super) per_vertex: bool,
}

impl BatchDivision<'_, '_> {
    /// Divides all partner blocks that still have to be counted into batches. Returns `None` if a row does not fit.
    pub(super) fn partners(&self) -> Option<Partners> {
        let fronts = &self.work.fronts;
        // Partner blocks within the front batch are in GPU memory, so they are not copied again.
        let within = if self.front.is_whole() { fronts.clone() } else { fronts.start..fronts.start };
        let outside = within.end..self.work.graph.len();
        let inside = self.cut(within, |partner| {
            self.is_early(partner) && self.suits_cache(partner) && self.plan.fits_resident(self.front, partner)
        })?;
        let outside = self.cut(outside, |partner| self.plan.fits_partner(self.front, partner))?;
        Some(Partners { inside, outside })
    }

    fn cut(&self, blocks: Range<usize>, fits: impl Fn(&RowBatch) -> bool) -> Option<Vec<RowBatch>> {
        let all = batches(self.work.graph, blocks, Cut::Rows, |partner| self.is_short(partner) && fits(partner))?;
        let wanted = |batch: &RowBatch| self.work.wants_any(batch.segments.iter().map(|segment| segment.block));
        Some(all.into_iter().filter(wanted).collect())
    }

    /// Returns true if the partner batch is so short that each rank gets several batches, or if it can't be divided
    /// further.
    fn is_short(&self, partner: &RowBatch) -> bool {
        let graph = self.work.graph;
        let most = match self.work.work_source.ranks() {
            1 => return true,
            ranks => (graph.edges() / (TURNS * ranks as u64)).max(graph.layout.longest_row()),
        };
        let uncut = self.per_vertex || !graph.is_local();
        partner.entries <= most || uncut && partner.segments.len() == 1 && partner.is_whole()
    }

    /// Returns true if the partner batch is short enough to be counted while the rest of the front batch is copied from
    /// the host.
    fn is_early(&self, partner: &RowBatch) -> bool {
        let before = partner.segments.first().map_or(0, |first| entry_in_front(self.front, first));
        let least = (self.front.entries / EARLY).max(LEAST_EARLY);
        self.from_gpus || partner.segments.len() == 1 || partner.entries <= before.max(least)
    }

    /// Returns true if the partner batch fits the GPU's cache, or if dividing it so that it fits would not pay off.
    fn suits_cache(&self, partner: &RowBatch) -> bool {
        let (graph, entries) = (self.work.graph, self.cache / 4);
        // Number of rows of the front that may be entries of the partner batch.
        let marked = u64::from(partner.first_row(graph)) + partner.rows - u64::from(self.front.first_row(graph));
        let is_worth_it = entries / 2 * (partner.entries / partner.rows.max(1)) > WORTH * (marked + PARTNER);
        partner.entries <= entries || partner.segments.len() == 1 || !is_worth_it
    }
}

/// Returns the index in `front` of the first entry of `segment`. The front batch consists of whole blocks.
pub(super) fn entry_in_front(front: &RowBatch, segment: &Segment) -> u64 {
    let before = front.segments.iter().take_while(|s| s.block < segment.block).map(|s| s.entries.len() as u64);
    before.sum::<u64>() + segment.entries.start as u64
}

/// Divides the segments of a front batch into groups that are copied one after another. A group has enough bytes to
/// keep all threads busy, or an eighth of all bytes if that is more. It ends where a partner batch within the front
/// ends, so that this batch is counted while the next group is copied.
pub(super) fn steps<'s, 'b>(
    places: &'s [(&'b Segment, SegmentPlace)],
    inside: &[RowBatch],
) -> Vec<&'s [(&'b Segment, SegmentPlace)]> {
    let bytes = |(_, place): &(&Segment, SegmentPlace)| place.starts.bytes() + place.targets.bytes();
    let enough = (places.iter().map(bytes).sum::<u64>() / 8).max(32 << 20);
    let ends = |block| inside.iter().any(|batch| batch.segments.last().is_some_and(|last| last.block == block));
    let mut sum = 0;
    let together = |before: &(&Segment, SegmentPlace), _: &(&Segment, SegmentPlace)| {
        sum += bytes(before);
        let open = sum < enough && !ends(before.0.block);
        sum = if open { sum } else { 0 };
        open
    };
    places.chunk_by(together).collect()
}
