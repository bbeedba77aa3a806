//! Wedges grouped by their middle: row `b` is marked in a bitmap, and the heads of all rows `c` that hold `b` (their
//! entries before `b`) stream past it. That tests each wedge once, where marking row `c` and streaming whole rows `b`
//! tests several times as many. It needs the entries of the partner grouped by `b` (`groups`).

use crate::algo::triangle::cpu::count::{Pace, PairCount};
use crate::algo::triangle::cpu::groups::Entry;
use crate::algo::triangle::cpu::probe::{MARK_IDS, MARK_WORDS, Marks, Prober, prefetch};
use crate::algo::triangle::cpu::tally::Tally;
use crate::graph::csr::Block;
use crate::memory::prefetch as prefetch_line;
use std::ops::Range;

/// Heads fetched this far ahead of their use.
const AHEAD: usize = 8;

/// A row is searched for what is sought where that is so many times shorter: marking looks at every id twice.
const SEARCH: usize = 8;

/// Bitmap of one thread.
pub fn new_marks() -> Box<Marks> {
    let marks: Box<[u64]> = vec![0; MARK_WORDS].into_boxed_slice();
    let Ok(marks) = marks.try_into() else { unreachable!("made with that length") };
    marks
}

/// Rows of the partner.
#[derive(Debug, Clone, Copy)]
pub struct Tile<'a> {
    /// Has the rows `c`.
    pub partner: Block<'a>,
    /// First local row of the tile.
    pub first: usize,
    /// One past its last.
    pub end: usize,
}

impl<'a> Tile<'a> {
    /// All rows of `partner`.
    pub fn whole(partner: Block<'a>) -> Tile<'a> {
        Tile { partner, first: 0, end: partner.rows() }
    }

    /// Number of its entries.
    pub fn entries(self) -> usize {
        (self.partner.offsets[self.end] - self.partner.offsets[self.first]) as usize
    }

    /// The `part`-th of `parts` tiles that this one divides into, with about as many entries each.
    pub fn part(self, part: usize, parts: usize) -> Tile<'a> {
        let offsets = &self.partner.offsets[self.first..=self.end];
        let start = offsets[0] as usize;
        let cut = |part: usize| {
            let entry = start + self.entries() * part / parts;
            self.first + offsets.partition_point(|&offset| (offset as usize) < entry)
        };
        let end = if part + 1 == parts { self.end } else { cut(part + 1) };
        Tile { first: cut(part), end, ..self }
    }

    /// Calls `take` with each entry in `ids`, ascending ranges, that has others before it.
    #[inline]
    pub fn each(self, ids: &[Range<u32>], mut take: impl FnMut(Entry)) {
        for local in self.first..self.end {
            let (start, row) = (self.partner.offsets[local], self.partner.row(local));
            if row.len() < 2 || row[row.len() - 1] < ids[0].start {
                continue;
            }
            for ids in ids {
                let (low, high) = (position(row, ids.start).max(1), position(row, ids.end));
                for (len, &middle) in row.iter().enumerate().take(high).skip(low) {
                    take(Entry { middle, start, len: len as u32 });
                }
            }
        }
    }
}

/// Returns the place at which `id` is or would be in `row`.
#[inline]
pub fn position(row: &[u32], id: u32) -> usize {
    match (row.first(), row.last()) {
        (Some(&first), _) if first >= id => 0,
        (_, Some(&last)) if last < id => row.len(),
        _ => row.partition_point(|&entry| entry < id),
    }
}

/// The memory in which one thread tests wedges.
pub struct Tester<'a, 'p, T> {
    /// The inner loops.
    pub prober: Prober,
    /// Have the rows `b`; consecutive.
    pub fronts: &'a [Block<'a>],
    /// Has the rows `c`.
    pub partner: Block<'a>,
    /// A bitmap without marks.
    pub marks: &'a mut Marks,
    /// Takes the closed wedges.
    pub tally: &'a mut T,
    /// The result with each front.
    pub counts: &'a mut [PairCount],
    /// Asked whether to go on.
    pub pace: &'a mut Pace<'p>,
}

impl<T: Tally> Tester<'_, '_, T> {
    /// Tests the wedges of these entries, which are sorted by middle.
    pub fn test(&mut self, entries: &[Entry]) -> Option<()> {
        let targets = self.partner.targets;
        let head_of = |entry: &Entry| &targets[entry.start as usize..][..entry.len as usize];
        let [mut rows, mut near, mut far] = [FrontRows::at(self.fronts, entries); 3];
        // Each line is asked for in time, and only once what tells where it lies is there.
        let mut ahead = |at: usize| {
            if let Some([before, entry]) = entries.get(at + 2 * AHEAD - 1..=at + 2 * AHEAD)
                && before.middle != entry.middle
            {
                let (front, local) = far.find(entry.middle);
                prefetch_line(front.offsets, local);
            }
            if let Some(later) = entries.get(at + AHEAD) {
                prefetch(head_of(later));
                if later.middle != entries[at + AHEAD - 1].middle {
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
            // One head and one row: the shorter is marked. Many ids marked for a few are searched instead.
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

/// Finds rows of fronts whose ids ascend.
#[derive(Clone, Copy)]
struct FrontRows<'a> {
    fronts: &'a [Block<'a>],
    at: usize,
}

impl<'a> FrontRows<'a> {
    fn at(fronts: &'a [Block<'a>], entries: &[Entry]) -> Self {
        let first = entries.first().map_or(0, |entry| entry.middle);
        FrontRows { fronts, at: fronts.partition_point(|front| front.end_row() <= first) }
    }

    /// The front of row `b`, and its place there.
    #[inline]
    fn find(&mut self, b: u32) -> (Block<'a>, usize) {
        while self.fronts[self.at].end_row() <= b {
            self.at += 1;
        }
        let front = self.fronts[self.at];
        (front, (b - front.first_row) as usize)
    }
}

/// The id of the row of `partner` whose targets start at `start`.
fn row_at(partner: Block<'_>, start: u32) -> u32 {
    // Empty rows share a start with the row after them: the last of them is the one that has entries.
    let local = partner.offsets.partition_point(|&offset| offset <= start) - 1;
    partner.first_row + local as u32
}

/// Tests the ids of `head` by looking for each in `row`, in steps that double: most ids are low.
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

/// Tests the ids of `stream` against the marks and, where they are too high to be marked, against `high`.
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

/// The ids that can be marked, and the others, where all are below `end`.
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
