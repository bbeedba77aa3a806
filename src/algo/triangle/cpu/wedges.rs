//! Tests wedges grouped by their middle: row `b` is marked in a bitmap, and the heads of all rows `c` that contain `b`
//! (their entries before `b`) stream past it. Each wedge is tested once. Marking row `c` and streaming whole rows `b`
//! would test several times as many. The entries of the partner must be grouped by `b` (`groups`).

use crate::algo::triangle::cpu::pace::Pace;
use crate::algo::triangle::cpu::probe::{MARK_IDS, MARK_WORDS, Marks, Prober, prefetch};
use crate::algo::triangle::cpu::tally::Tally;
use crate::algo::triangle::cpu::tile::TileEntry;
use crate::algo::triangle::units::PairCount;
use crate::graph::csr::Block;
use crate::memory::prefetch as prefetch_line;

/// Prefetch distance, in heads.
const PREFETCH_DISTANCE: usize = 8;

/// Ratio of the length of a row to the number of ids looked up in it, above which the row is searched instead of
/// marked. Marking touches every id twice.
const SEARCH: usize = 8;

/// Creates the bitmap of one thread, without marks.
pub fn new_marks() -> Box<Marks> {
    let marks: Box<[u64]> = vec![0; MARK_WORDS].into_boxed_slice();
    let Ok(marks) = marks.try_into() else { unreachable!("made with that length") };
    marks
}

/// State of one thread that tests wedges.
pub struct Tester<'a, 'p, T> {
    /// The inner loops, with the instruction set in use.
    pub prober: Prober,
    /// Consecutive front blocks, which have the rows `b`.
    pub fronts: &'a [Block<'a>],
    /// The partner block, which has the rows `c`.
    pub partner: Block<'a>,
    /// Bitmap, initially without marks.
    pub marks: &'a mut Marks,
    /// Adds up the closed wedges (triangles).
    pub tally: &'a mut T,
    /// Triangles and tested wedges, one count per front block.
    pub counts: &'a mut [PairCount],
    /// Checks from time to time whether to stop.
    pub pace: &'a mut Pace<'p>,
}

impl<T: Tally> Tester<'_, '_, T> {
    /// Tests the wedges whose middles are in `entries`, sorted by middle. Returns `None` if the work must stop.
    pub fn test(&mut self, entries: &[TileEntry]) -> Option<()> {
        let targets = self.partner.targets;
        let head_of = |entry: &TileEntry| &targets[entry.start as usize..][..entry.len as usize];
        let [mut rows, mut near, mut far] = [FrontRows::at(self.fronts, entries); 3];
        // Each line is prefetched in time, but only after its address has arrived.
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
            // If there is one head and one row, the shorter is marked. If many ids would be marked for a few lookups,
            // the row is searched instead.
            let search = SEARCH * ids < row.len();
            let swap = !search && heads == 1 && ids < row.len();
            let marked = if swap { head_of(&entries[start]) } else { row };
            let (low, high) = if search { (&[][..], &[][..]) } else { split(marked, b) };
            mark(self.marks, low);
            for (at, entry) in entries[start..start + heads].iter().enumerate() {
                ahead(start + at);
                let (head, c) = (head_of(entry), || row_at(self.partner, entry.start));
                closed += if search {
                    searched(head, row, b, c, self.tally)
                } else {
                    let stream = if swap { row } else { head };
                    streamed(stream, high, b, c, self.prober, self.marks, self.tally)
                };
                self.pace.advance(head.len())?;
            }
            unmark(self.marks, low);
            self.pace.advance(row.len())?;
            self.counts[rows.at].triangles += closed;
            self.counts[rows.at].probes += ids as u64;
            start += heads;
        }
        Some(())
    }
}

/// A cursor that finds the rows of ascending ids in the fronts.
#[derive(Clone, Copy)]
struct FrontRows<'a> {
    fronts: &'a [Block<'a>],
    at: usize,
}

impl<'a> FrontRows<'a> {
    fn at(fronts: &'a [Block<'a>], entries: &[TileEntry]) -> Self {
        let first = entries.first().map_or(0, |entry| entry.middle);
        FrontRows { fronts, at: fronts.partition_point(|front| front.end_row() <= first) }
    }

    /// Returns the front that has row `b`, and the index of the row in that front.
    #[inline]
    fn find(&mut self, b: u32) -> (Block<'a>, usize) {
        while self.fronts[self.at].end_row() <= b {
            self.at += 1;
        }
        let front = self.fronts[self.at];
        (front, (b - front.first_row) as usize)
    }
}

/// Returns the id of the row of `partner` whose targets start at `start`.
fn row_at(partner: Block<'_>, start: u32) -> u32 {
    // Empty rows have the same start as the row after them. The last of these rows is the one with entries.
    let local = partner.offsets.partition_point(|&offset| offset <= start) - 1;
    partner.first_row + local as u32
}

/// Tests the ids of `head` by an exponential search for each in `row`, because most ids are low. Returns the number of
/// triangles.
fn searched<T: Tally>(head: &[u32], mut row: &[u32], b: u32, c: impl Fn() -> u32, tally: &mut T) -> u64 {
    let mut closed = 0;
    for &a in head {
        let mut reach = 1;
        while row.get(reach).is_some_and(|&id| id < a) {
            reach *= 2;
        }
        let (from, to) = (reach / 2, row.len().min(reach + 1));
        row = &row[from + row[from..to].partition_point(|&id| id < a)..];
        match row.first() {
            None => break,
            Some(&id) if id == a => closed += tally.triangle(a, b, c()),
            Some(_) => {}
        }
    }
    closed
}

/// Tests the ids of `stream` against the marks, and ids too high to be marked against `high`. Returns the number of
/// triangles.
#[inline]
fn streamed<T: Tally>(
    stream: &[u32],
    high: &[u32],
    b: u32,
    c: impl Fn() -> u32,
    prober: Prober,
    marks: &Marks,
    tally: &mut T,
) -> u64 {
    let (low, rest) = split(stream, b);
    let mut closed = tally.marked(prober, marks, low, b, &c);
    let mut high = high.iter().peekable();
    for &a in rest {
        while high.next_if(|&&id| id < a).is_some() {}
        if high.next_if(|&&id| id == a).is_some() {
            closed += tally.triangle(a, b, c());
        }
    }
    closed
}

/// Divides a row into the ids that can be marked and the ids that are too high. All ids are below `end`.
#[inline]
fn split(row: &[u32], end: u32) -> (&[u32], &[u32]) {
    match row.last() {
        _ if end <= MARK_IDS => (row, &[]),
        Some(&last) if last >= MARK_IDS => row.split_at(row.partition_point(|&id| id < MARK_IDS)),
        _ => (row, &[]),
    }
}

#[inline]
fn mark(marks: &mut Marks, ids: &[u32]) {
    for &id in ids {
        marks[(id >> 6) as usize & (MARK_WORDS - 1)] |= 1 << (id & 63);
    }
}

#[inline]
fn unmark(marks: &mut Marks, ids: &[u32]) {
    for &id in ids {
        marks[(id >> 6) as usize & (MARK_WORDS - 1)] = 0;
    }
}
