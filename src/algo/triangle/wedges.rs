//! Wedges grouped by their middle: row `b` is marked in a bitmap, and the heads of all rows `c` that hold `b` (their
//! entries before `b`) stream past it. That tests each wedge once, where marking row `c` and streaming whole rows `b`
//! tests several times as many. It needs the entries of the partner grouped by `b`: a counting sort, tile by tile.

use super::count::Pace;
use super::groups::Groups;
use super::probe::{MARK_IDS, MARK_WORDS, Marks, Prober, prefetch};
use super::tally::Tally;
use crate::graph::csr::Block;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Middles that a thread takes at a time.
const MIDDLES: usize = 128;

/// Heads fetched this far ahead of their use.
const AHEAD: usize = 8;

/// Bitmap of one thread.
pub fn new_marks() -> Box<Marks> {
    let marks: Box<[u64]> = vec![0; MARK_WORDS].into_boxed_slice();
    let Ok(marks) = marks.try_into() else { unreachable!("made with that length") };
    marks
}

/// Rows of the partner, against rows of the front: some wedges of a unit.
#[derive(Debug, Clone, Copy)]
pub struct Tile<'a> {
    /// Has the rows `b`.
    pub front: Block<'a>,
    /// Has the rows `c`.
    pub partner: Block<'a>,
    /// First local row of the tile.
    pub first: usize,
    /// One past its last.
    pub end: usize,
}

/// What one thread tests wedges with.
pub struct Tester<'a, 'p, T> {
    /// The inner loops.
    pub prober: Prober,
    /// A bitmap without marks.
    pub marks: &'a mut Marks,
    /// Takes the closed wedges.
    pub tally: &'a mut T,
    /// Asked whether to go on.
    pub pace: &'a mut Pace<'p>,
}

impl<'a> Tile<'a> {
    /// The `part`-th of `parts` tiles that this one divides into, with about as many entries each.
    pub fn part(self, part: usize, parts: usize) -> Tile<'a> {
        let offsets = &self.partner.offsets[self.first..=self.end];
        let (start, end) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let cut = |part: usize| {
            let entry = start + (end - start) * part / parts;
            self.first + offsets.partition_point(|&offset| (offset as usize) < entry)
        };
        let end = if part + 1 == parts { self.end } else { cut(part + 1) };
        Tile { first: cut(part), end, ..self }
    }

    /// Local row, and the positions of its entries that lie in `ids`, for every row that has any.
    pub fn entries(self, ids: Range<u32>) -> impl Iterator<Item = (usize, Range<usize>)> {
        (self.first..self.end).filter_map(move |local| {
            let row = self.partner.row(local);
            if row.last().is_none_or(|&last| last < ids.start) || row.len() < 2 {
                return None;
            }
            let low = row.partition_point(|&id| id < ids.start).max(1);
            let high = if row[row.len() - 1] < ids.end { row.len() } else { row.partition_point(|&id| id < ids.end) };
            (low < high).then_some((local, low..high))
        })
    }

    /// Marks rows `b` of the window and streams the heads before them. Takes some middles at a time, until `next` says
    /// that all are taken.
    pub fn by_middle<T: Tally>(
        self,
        window: Range<u32>,
        groups: &Groups,
        next: &AtomicUsize,
        tester: Tester<'_, '_, T>,
    ) -> Option<u64> {
        let Tester { prober, marks, tally, pace } = tester;
        let targets = self.partner.targets;
        let unpack = |head: &AtomicU64| {
            let head = head.load(Relaxed);
            (head as u32, &targets[head as u32 as usize..][..(head >> 32) as usize])
        };
        let mut closed = 0;
        loop {
            let start = next.fetch_add(MIDDLES, Relaxed);
            if start >= window.len() {
                return Some(closed);
            }
            for local in start..window.len().min(start + MIDDLES) {
                let b = window.start + local as u32;
                let row = self.front.row((b - self.front.first_row) as usize);
                let heads = groups.of(local);
                if heads.is_empty() || row.is_empty() {
                    continue;
                }
                heads.iter().take(AHEAD).for_each(|head| prefetch(unpack(head).1));
                let (low, high) = split(row);
                mark(marks, low);
                for (i, head) in heads.iter().enumerate() {
                    if let Some(later) = heads.get(i + AHEAD) {
                        prefetch(unpack(later).1);
                    }
                    let (start, head) = unpack(head);
                    closed += test(head, high, b, || self.row_at(start), prober, marks, tally);
                    pace.advance(head.len())?;
                }
                unmark(marks, low);
                pace.advance(row.len())?;
            }
        }
    }

    /// Marks rows `c` and streams the rows `b` of their entries in the window. Takes a part of the rows at a time, until
    /// `next` says that all are taken.
    pub fn by_row<T: Tally>(self, window: Range<u32>, next: &AtomicUsize, tester: Tester<'_, '_, T>) -> Option<u64> {
        let Tester { prober, marks, tally, pace } = tester;
        const PARTS: usize = 256;
        let mut closed = 0;
        loop {
            let part = next.fetch_add(1, Relaxed);
            if part >= PARTS {
                return Some(closed);
            }
            for (local, at) in self.part(part, PARTS).entries(window.clone()) {
                let row = self.partner.row(local);
                let c = self.partner.first_row + local as u32;
                let (low, high) = split(&row[..at.end - 1]);
                mark(marks, low);
                for &b in &row[at] {
                    let stream = self.front.row((b - self.front.first_row) as usize);
                    closed += test(stream, high, b, || c, prober, marks, tally);
                    pace.advance(stream.len())?;
                }
                unmark(marks, low);
                pace.advance(row.len())?;
            }
        }
    }

    /// The id of the row whose targets start at `start`.
    fn row_at(self, start: u32) -> u32 {
        // Empty rows share a start with the row after them: the last of them is the one that has entries.
        let local = self.partner.offsets.partition_point(|&offset| offset <= start) - 1;
        self.partner.first_row + local as u32
    }
}

/// Tests the ids of `stream` against the marks and, where they are too high to be marked, against `high`.
#[inline]
fn test<T: Tally>(
    stream: &[u32],
    high: &[u32],
    b: u32,
    c: impl Fn() -> u32,
    prober: Prober,
    marks: &Marks,
    tally: &mut T,
) -> u64 {
    if stream.last().is_none_or(|&last| last < MARK_IDS) {
        return tally.marked(prober, marks, stream, b, c);
    }
    let (low, rest) = split(stream);
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

/// The ids that can be marked, and the others.
#[inline]
fn split(row: &[u32]) -> (&[u32], &[u32]) {
    match row.last() {
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
