//! Wedges grouped by their middle: row `b` is marked in a bitmap, and the heads of all rows `c` that hold `b` (their
//! entries before `b`) stream past it. That tests each wedge once, where marking row `c` and streaming whole rows `b`
//! tests several times as many. It needs the entries of the partner grouped by `b`: a counting sort, tile by tile.

use super::count::Pace;
use super::probe::{MARK_IDS, MARK_WORDS, Marks, Prober, prefetch};
use super::tally::Tally;
use crate::graph::csr::Block;
use std::ops::Range;

/// Rows of the front that are grouped at a time: bounds the cursors however short the rows are.
pub const WINDOW_ROWS: usize = 1 << 21;

/// The entries of a row `c` before `b`: a range of the partner's targets.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    start: u32,
    len: u32,
}

/// What one thread works with.
#[derive(Debug)]
pub struct Scratch {
    heads: Vec<Head>,
    cursors: Vec<u32>,
    marks: Box<Marks>,
}

impl Scratch {
    /// Bytes for tiles of `entries` entries and fronts of `front_rows` rows.
    pub fn bytes(entries: u64, front_rows: u64) -> u64 {
        entries * size_of::<Head>() as u64 + (front_rows.min(WINDOW_ROWS as u64) + 1) * 4 + size_of::<Marks>() as u64
    }

    /// Room for tiles of `entries` entries and fronts of `front_rows` rows.
    pub fn new(entries: usize, front_rows: usize) -> Scratch {
        let marks: Box<[u64]> = vec![0; MARK_WORDS].into_boxed_slice();
        let Ok(marks) = marks.try_into() else { unreachable!("made with that length") };
        Scratch {
            heads: Vec::with_capacity(entries),
            cursors: Vec::with_capacity(front_rows.min(WINDOW_ROWS) + 1),
            marks,
        }
    }
}

/// One tile of a unit: rows `tile` (local) of the partner, against the rows of the front from `from` on.
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

impl<'a> Tile<'a> {
    /// Local row, and the positions of its entries that lie in `ids`, for every row that has any.
    fn entries(self, ids: Range<u32>) -> impl Iterator<Item = (usize, Range<usize>)> {
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

    /// Counts the closed wedges of the tile whose middle is a row of the front and at least `from`.
    /// `None` if `pace` was told to stop.
    pub fn count<T: Tally>(
        self,
        from: u32,
        prober: Prober,
        scratch: &mut Scratch,
        tally: &mut T,
        pace: &mut Pace<'_>,
    ) -> Option<u64> {
        let mut closed = 0;
        let (mut start, end) = (from.max(self.front.first_row), self.front.end_row());
        while start < end {
            let window = start..end.min(start.saturating_add(WINDOW_ROWS as u32));
            start = window.end;
            closed += match self.group(window.clone(), scratch) {
                Order::Empty => 0,
                Order::ByMiddle => self.by_middle(window, prober, scratch, tally, pace)?,
                Order::ByRow => self.by_row(window, prober, scratch, tally, pace)?,
            };
        }
        Some(closed)
    }

    /// Counts the entries of each middle in the window, chooses the cheaper order, and groups the heads if it needs them.
    fn group(self, window: Range<u32>, scratch: &mut Scratch) -> Order {
        let rows = (window.end - window.start) as usize;
        let cursors = &mut scratch.cursors;
        let sparse = self.entries(window.clone()).map(|(_, at)| at.len()).sum::<usize>();
        if sparse == 0 {
            return Order::Empty;
        }
        if sparse < rows / 2 && self.by_row_is_cheaper(window.clone()) {
            return Order::ByRow;
        }
        cursors.clear();
        cursors.resize(rows + 1, 0);
        for (local, at) in self.entries(window.clone()) {
            for &b in &self.partner.row(local)[at] {
                cursors[(b - window.start) as usize] += 1;
            }
        }
        let mut total = 0;
        for cursor in cursors.iter_mut() {
            total += std::mem::replace(cursor, total);
        }
        scratch.heads.clear();
        scratch.heads.resize(total as usize, Head::default());
        for (local, at) in self.entries(window.clone()) {
            let start = self.partner.offsets[local];
            for (len, &b) in at.clone().zip(&self.partner.row(local)[at]) {
                let cursor = &mut cursors[(b - window.start) as usize];
                scratch.heads[*cursor as usize] = Head { start, len: len as u32 };
                *cursor += 1;
            }
        }
        Order::ByMiddle
    }

    /// Whether marking rows `c` and streaming whole rows `b` tests less than grouping by `b` costs in all.
    fn by_row_is_cheaper(self, window: Range<u32>) -> bool {
        let (mut streams, mut heads, mut marks) = (0, 0, 0);
        for (local, at) in self.entries(window.clone()) {
            marks += at.end;
            for (len, &b) in at.clone().zip(&self.partner.row(local)[at]) {
                heads += len;
                streams += self.front.row((b - self.front.first_row) as usize).len();
            }
        }
        streams + 2 * marks < heads + 2 * streams + window.len()
    }

    /// Marks each row `b` and streams the heads before it.
    fn by_middle<T: Tally>(
        self,
        window: Range<u32>,
        prober: Prober,
        scratch: &mut Scratch,
        tally: &mut T,
        pace: &mut Pace<'_>,
    ) -> Option<u64> {
        const AHEAD: usize = 6;
        let Scratch { heads, cursors, marks } = scratch;
        let head_of = |head: Head| &self.partner.targets[head.start as usize..(head.start + head.len) as usize];
        let (mut closed, mut at) = (0, 0);
        for (local, &end) in cursors[..window.len()].iter().enumerate() {
            let b = window.start + local as u32;
            let row = self.front.row((b - self.front.first_row) as usize);
            let here = at..end as usize;
            at = here.end;
            if here.is_empty() || row.is_empty() {
                continue;
            }
            let (low, high) = split(row);
            mark(marks, low);
            for i in here {
                if let Some(&next) = heads.get(i + AHEAD) {
                    prefetch(head_of(next));
                }
                let head = head_of(heads[i]);
                let c = || self.row_at(heads[i].start);
                closed += test(head, high, b, c, prober, marks, tally);
                pace.advance(head.len())?;
            }
            unmark(marks, low);
            pace.advance(row.len())?;
        }
        Some(closed)
    }

    /// Marks each row `c` and streams the rows `b` of its entries.
    fn by_row<T: Tally>(
        self,
        window: Range<u32>,
        prober: Prober,
        scratch: &mut Scratch,
        tally: &mut T,
        pace: &mut Pace<'_>,
    ) -> Option<u64> {
        let mut closed = 0;
        for (local, at) in self.entries(window) {
            let row = self.partner.row(local);
            let c = self.partner.first_row + local as u32;
            let (low, high) = split(&row[..at.end - 1]);
            mark(&mut scratch.marks, low);
            for &b in &row[at] {
                let stream = self.front.row((b - self.front.first_row) as usize);
                closed += test(stream, high, b, || c, prober, &scratch.marks, tally);
                pace.advance(stream.len())?;
            }
            unmark(&mut scratch.marks, low);
            pace.advance(row.len())?;
        }
        Some(closed)
    }

    /// The id of the row whose targets start at `start`.
    fn row_at(self, start: u32) -> u32 {
        // Empty rows share a start with the row after them: the last of them is the one that has entries.
        let local = self.partner.offsets.partition_point(|&offset| offset <= start) - 1;
        self.partner.first_row + local as u32
    }
}

enum Order {
    Empty,
    ByMiddle,
    ByRow,
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
