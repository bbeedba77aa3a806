//! Tests wedges `a < b < c`, grouped by `b`. Row `b` is marked in a bitmap. Then the ids in the heads of all rows `c`
//! that contain `b` are looked up in it; a head is the part of row `c` before `b`. So each wedge is tested once.
//! Marking row `c` and looking up whole rows `b` would test several times as many ids. The entries of the partner block
//! must be grouped by `b` (`groups`).

use crate::algo::triangle::cpu::probe::{MARK_IDS, MARK_WORDS, Marks, Prober, prefetch};
use crate::algo::triangle::cpu::stop_poller::StopPoller;
use crate::algo::triangle::cpu::tally::{Places, RowPair, Tally};
use crate::algo::triangle::cpu::tile::{Tile, TileEntry};
use crate::algo::triangle::units::PairCount;
use crate::graph::csr::Block;
use crate::memory::prefetch as prefetch_line;

/// Prefetch distance: how many row entries ahead of the current one data is prefetched.
pub(super) const PREFETCH_DISTANCE: usize = 8;

/// Maximum number of neighbours of one vertex whose rows are prefetched together.
const AT_ONCE: usize = 16;

/// Maximum ratio of the length of a row to the number of ids to look up in it for which the row is marked. Longer rows
/// are searched instead, because marking touches every id of a row twice.
const SEARCH: usize = 8;

/// Creates a bitmap of marked ids for one thread, in which no id is marked.
pub fn new_marks() -> Box<Marks> {
    let marks: Box<[u64]> = vec![0; MARK_WORDS].into_boxed_slice();
    let Ok(marks) = marks.try_into() else { unreachable!("made with that length") };
    marks
}

/// State of one thread that tests wedges.
pub struct Tester<'a, 'p, T> {
    /// Inner loops for the instruction set in use.
    pub prober: Prober,
    /// Consecutive front blocks, which contain the rows of the corners `b`.
    pub fronts: &'a [Block<'a>],
    /// The partner block, which contains the rows of the corners `c`.
    pub partner: Block<'a>,
    /// Bitmap of the ids in the marked row. It is empty between two calls.
    pub marks: &'a mut Marks,
    /// Tally to which triangles (closed wedges) are added.
    pub tally: &'a mut T,
    /// Numbers of triangles found and of wedges tested, for each front block.
    pub counts: &'a mut [PairCount],
    /// Cancellation check of the thread.
    pub poller: &'a mut StopPoller<'p>,
}

impl<T: Tally> Tester<'_, '_, T> {
    /// Tests the wedges `a < b < c` of each row `c` in `tile` whose row `b` is in a `wanted` front block. Rows `b` are
    /// read in random order, so they are prefetched. Returns `None` if the count must stop.
    pub fn test_rows(&mut self, tile: Tile<'_>, wanted: &[bool]) -> Option<()> {
        let partner = tile.partner;
        let [mut rows, mut near, mut far] = [FrontRows::at(self.fronts, 0); 3];
        // The entries of a later row that have another entry before them.
        let later = |local: usize| {
            let row = if local < tile.end { partner.row(local) } else { &[] };
            row.iter().skip(1).take(AT_ONCE)
        };
        for local in tile.first..tile.end {
            // The offset of a row is prefetched long before the row itself, because the row's address is computed from
            // the offset.
            for (front, row) in later(local + 2 * PREFETCH_DISTANCE).filter_map(|&b| far.find_any(b)) {
                prefetch_line(front.offsets, row);
            }
            for (front, row) in later(local + PREFETCH_DISTANCE).filter_map(|&b| near.find_any(b)) {
                prefetch(front.row(row));
            }
            let (start, row_c) = (partner.entries(local).start, partner.row(local));
            for (len, &b) in row_c.iter().enumerate().skip(1) {
                let Some((front, row)) = rows.find_any(b).filter(|_| wanted[rows.at]) else { continue };
                let entry = TileEntry { middle: b, start: start as u32, len: len as u32 };
                let pair = RowPair { b, front: rows.at, row: front.entries(row).start, entry, partner };
                let triangles = searched(&row_c[..len], front.row(row), &pair, self.tally);
                self.tally.closed(triangles, &pair);
                self.counts[rows.at] += PairCount { triangles, probes: len as u64, links: 0 };
            }
            self.poller.advance(4 * row_c.len())?;
        }
        Some(())
    }

    /// Tests the wedges `a < b < c` whose corners `b` are in `entries`, which are sorted by `b`. Returns `None` if the
    /// count must stop.
    pub fn test(&mut self, entries: &[TileEntry]) -> Option<()> {
        let targets = self.partner.targets;
        let head_of = |entry: &TileEntry| &targets[entry.start as usize..][..entry.len as usize];
        let first = entries.first().map_or(0, |entry| entry.middle);
        let [mut rows, mut near, mut far] = [FrontRows::at(self.fronts, first); 3];
        // The offset of a row is prefetched long before the row itself, because the row's address is computed from the
        // offset.
        let mut ahead = |at: usize| {
            if let Some([before, entry]) = entries.get(at + 2 * PREFETCH_DISTANCE - 1..=at + 2 * PREFETCH_DISTANCE)
                && before.middle != entry.middle
            {
                let (front, local) = far.find(entry.middle);
                prefetch_line(front.offsets, local);
            }
            if let Some(later) = entries.get(at + PREFETCH_DISTANCE) {
                prefetch(head_of(later));
                if later.middle != entries[at + PREFETCH_DISTANCE - 1].middle {
                    let (front, local) = near.find(later.middle);
                    prefetch(front.row(local));
                }
            }
        };
        let mut start = 0;
        while start < entries.len() {
            let b = entries[start].middle;
            let (front, local) = rows.find(b);
            let row = front.row(local);
            let same = entries[start..].iter().take_while(|entry| entry.middle == b);
            let (heads, ids) = same.fold((0, 0), |(heads, ids), entry| (heads + 1, ids + entry.len as usize));
            let mut closed = 0;
            // If row `b` belongs to a single head, the shorter of the two is marked. The row is searched instead if
            // many ids would be marked for a few lookups.
            let search = SEARCH * ids < row.len();
            let swap = !search && heads == 1 && ids < row.len();
            let marked = if swap { head_of(&entries[start]) } else { row };
            let (low, high) = if search { (&[][..], &[][..]) } else { split(marked, b) };
            self.tally.mark(self.marks, low);
            for (at, &entry) in entries[start..start + heads].iter().enumerate() {
                ahead(start + at);
                let head = head_of(&entry);
                let pair = RowPair { b, front: rows.at, row: front.entries(local).start, entry, partner: self.partner };
                let triangles = if search {
                    searched(head, row, &pair, self.tally)
                } else {
                    let stream = if swap { row } else { head };
                    streamed((stream, swap), (low.len(), high), &pair, self.prober, self.marks, self.tally)
                };
                self.tally.closed(triangles, &pair);
                closed += triangles;
                self.poller.advance(head.len())?;
            }
            unmark(self.marks, low);
            if !swap {
                self.tally.end_row(rows.at, front.entries(local).start, low.len());
            }
            self.poller.advance(row.len())?;
            self.counts[rows.at].triangles += closed;
            self.counts[rows.at].probes += ids as u64;
            start += heads;
        }
        Some(())
    }
}

/// Cursor that finds the rows of vertices in the front blocks, in ascending order of ids.
#[derive(Clone, Copy)]
pub(super) struct FrontRows<'a> {
    fronts: &'a [Block<'a>],
    /// Index of the front block that contains the last row found.
    pub(super) at: usize,
}

impl<'a> FrontRows<'a> {
    /// Creates a cursor for the rows of vertices from `first` on.
    pub(super) fn at(fronts: &'a [Block<'a>], first: u32) -> Self {
        FrontRows { fronts, at: fronts.partition_point(|front| front.end_row() <= first) }
    }

    /// Returns the front block that contains row `b`, and the index of row `b` in that block.
    #[inline]
    pub(super) fn find(&mut self, b: u32) -> (Block<'a>, usize) {
        while self.fronts[self.at].end_row() <= b {
            self.at += 1;
        }
        let front = self.fronts[self.at];
        (front, (b - front.first_row) as usize)
    }

    /// Like [`Self::find`], but ids may come in any order. Returns `None` if no front block contains row `b`.
    #[inline]
    fn find_any(&mut self, b: u32) -> Option<(Block<'a>, usize)> {
        let has = |front: &&Block<'a>| (front.first_row..front.end_row()).contains(&b);
        if self.fronts.get(self.at).filter(has).is_none() {
            self.at = FrontRows::at(self.fronts, b).at;
        }
        let front = self.fronts.get(self.at).filter(has)?;
        Some((*front, (b - front.first_row) as usize))
    }
}

/// Returns the id of the vertex whose row in `partner` starts at index `start` of the block's targets.
pub(super) fn row_at(partner: Block<'_>, start: u32) -> u32 {
    // Empty rows have the same start as the row after them. The last of these rows is the one with entries.
    let local = partner.offsets.partition_point(|&offset| offset <= start) - 1;
    partner.first_row + local as u32
}

/// Looks up each id of `head` in `row` by exponential search, because most ids are low. Returns the number of ids
/// found, which is the number of triangles.
fn searched<T: Tally>(head: &[u32], row: &[u32], pair: &RowPair<'_>, tally: &mut T) -> u64 {
    let (mut closed, mut in_row) = (0, 0);
    for (in_head, &a) in head.iter().enumerate() {
        let rest = &row[in_row..];
        let mut reach = 1;
        while rest.get(reach).is_some_and(|&id| id < a) {
            reach *= 2;
        }
        let (from, to) = (reach / 2, rest.len().min(reach + 1));
        in_row += from + rest[from..to].partition_point(|&id| id < a);
        match row.get(in_row) {
            None => break,
            Some(&id) if id == a => {
                tally.triangle(a, Places { in_row, in_head }, pair);
                closed += 1;
            }
            Some(_) => {}
        }
    }
    closed
}

/// Looks up the ids of `stream` in the marked row, and returns the number found, which is the number of triangles. If
/// `is_row` is true, `stream` is row `b`, otherwise the head of row `c`. Ids too high for the bitmap are compared with
/// `high`, the ids of the marked row from index `marked` on.
#[inline]
fn streamed<T: Tally>(
    (stream, is_row): (&[u32], bool),
    (marked, high): (usize, &[u32]),
    pair: &RowPair<'_>,
    prober: Prober,
    marks: &Marks,
    tally: &mut T,
) -> u64 {
    let (low, rest) = split(stream, pair.b);
    let mut closed = tally.marked(prober, marks, low, is_row, pair);
    let mut high = (marked..).zip(high).peekable();
    for (in_stream, &a) in (low.len()..).zip(rest) {
        while high.next_if(|&(_, &id)| id < a).is_some() {}
        if let Some((in_marked, _)) = high.next_if(|&(_, &id)| id == a) {
            let (in_row, in_head) = if is_row { (in_stream, in_marked) } else { (in_marked, in_stream) };
            tally.triangle(a, Places { in_row, in_head }, pair);
            closed += 1;
        }
    }
    closed
}

/// Splits a row into the ids that the bitmap covers and the ids that are too high for it. All ids must be below `end`.
#[inline]
pub(super) fn split(row: &[u32], end: u32) -> (&[u32], &[u32]) {
    match row.last() {
        _ if end <= MARK_IDS => (row, &[]),
        Some(&last) if last >= MARK_IDS => row.split_at(row.partition_point(|&id| id < MARK_IDS)),
        _ => (row, &[]),
    }
}

#[inline]
pub(super) fn unmark(marks: &mut Marks, ids: &[u32]) {
    for &id in ids {
        marks[(id >> 6) as usize & (MARK_WORDS - 1)] = 0;
    }
}
