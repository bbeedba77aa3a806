//! Counts the links of each vertex of a directed graph on the CPU. Links are the directed edges between its neighbours.
//!
//! A triangle `a < b < c` of the graph without directions adds to each corner the number of directed edges between the
//! other two corners: one, or two if both directions exist. The work is divided into the same units and tiles as for
//! counting triangles. The vertices of a block are those whose out-rows are in the block.
//!
//! The lower halves of a vertex's out-row and in-row (its neighbours with smaller ids) are merged into one row of
//! *codes*. A code is twice the neighbour's id, plus 1 if the edge goes both ways. The codes of a tile are grouped by
//! `b` (`groups`), so row `b` is merged and marked once for each tile in which it occurs. Its marks have two bits,
//! because a code stands for one edge or two.

use crate::algo::triangle::cpu::count::{HUBS, MAX_FRONTS, Settings, middles};
use crate::algo::triangle::cpu::groups::{EntrySorter, Groups};
use crate::algo::triangle::cpu::probe::{MARK_WORDS, Marks, prefetch};
use crate::algo::triangle::cpu::stop_poller::StopPoller;
use crate::algo::triangle::cpu::tally::Corners;
use crate::algo::triangle::cpu::tile::{Tile, TileEntry};
use crate::algo::triangle::cpu::wedges::{FrontRows, PREFETCH_DISTANCE, new_marks, row_at, split, unmark};
use crate::algo::triangle::units::PairCount;
use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::graph::degrees::{DegreeCounter, Degrees};
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer};
use crate::prepare::merge::merge_rows;
use crate::process::signals;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Counts links (directed edges between the neighbours of a vertex), one partner block after another. All threads
/// work on the same partner block.
#[derive(Debug)]
pub struct LinkCounter {
    settings: Settings,
    /// For each vertex of the tile, the end of its row in `codes`, after a leading 0.
    offsets: Vec<u32>,
    /// Merged rows of all vertices of the tile, as codes (see the module).
    codes: Vec<u32>,
    groups: Groups,
    workers: Vec<(EntrySorter, LinkTester)>,
}

impl LinkCounter {
    /// Returns the fastest settings whose scratch memory takes at most half of `free` bytes. If no settings fit,
    /// returns those that need the least memory.
    pub fn settings(threads: usize, entries: u64, max_row: u64, free: u64) -> Settings {
        Settings::new(threads, entries).within_bytes(free, |settings| LinkCounter::scratch_bytes(settings, max_row))
    }

    /// Returns the scratch memory in bytes for counting links with rows of at most `max_row` entries.
    pub fn scratch_bytes(settings: &Settings, max_row: u64) -> u64 {
        // The last vertex of a tile may have the longest out-row and the longest in-row.
        let entries = settings.tile as u64 + 2 * max_row;
        // Each thread merges rows into an array of its own. Then these arrays are copied into one.
        let merged = 2 * 4 * (entries + settings.tile as u64 + 2);
        let worker = EntrySorter::bytes(settings.sorted())
            + size_of::<Marks>() as u64
            + 4 * 2 * max_row
            + (MAX_FRONTS * size_of::<PairCount>()) as u64
            + 8 * u64::from(HUBS);
        merged + Groups::bytes(entries, settings.threads) + settings.threads as u64 * worker
    }

    /// Creates a counter for a graph whose rows have at most `max_row` entries.
    pub fn new(settings: Settings, max_row: u64) -> LinkCounter {
        let entries = settings.tile + 2 * max_row as usize;
        let tester = || LinkTester {
            marks: new_marks(),
            row: Vec::with_capacity(2 * max_row as usize),
            counts: Vec::with_capacity(MAX_FRONTS),
        };
        LinkCounter {
            settings,
            offsets: Vec::with_capacity(settings.tile + 1),
            codes: Vec::with_capacity(entries),
            groups: Groups::new(entries, settings.threads),
            workers: (0..settings.threads).map(|_| (EntrySorter::new(settings.sorted()), tester())).collect(),
        }
    }

    /// Finds the triangles `a < b < c` with `c` in `partner` and `b` in a front block that is `wanted`, and adds their
    /// edges to the `links` of the opposite corners, indexed by vertex. Returns one count per front block. If `stop`
    /// returns true, returns `None`, and only some links have been added.
    pub fn partner(
        &mut self,
        (graph, fronts): (&BlockStore, &[Block<'_>]),
        partner: Tile<'_>,
        wanted: &[bool],
        links: &[AtomicU64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<Vec<PairCount>> {
        let LinkCounter { settings, offsets, codes, groups, workers: workers_of } = self;
        let stopped = AtomicBool::new(false);
        let mut workers: Vec<_> = workers_of
            .iter_mut()
            .map(|(sorter, tester)| {
                tester.counts.clear();
                tester.counts.resize(fronts.len(), PairCount::default());
                (sorter, tester, Corners::new(links, HUBS), StopPoller::new(stop, &stopped))
            })
            .collect();
        // The code of `b` is the index of its out-row, plus 1 if the edge goes both ways.
        let ids = middles(fronts, wanted, 0..partner.partner.end_row()).into_iter();
        let ids = ids.map(|rows| rows.start.next_multiple_of(2)..rows.end.next_multiple_of(2));
        let ids: Vec<Range<u32>> = ids.filter(|ids| !ids.is_empty()).collect();
        let mut first = partner.first;
        while first < partner.end && !ids.is_empty() {
            let tile = Tile { first, end: end_of_tile(partner, first, settings.tile), ..partner };
            first = tile.end;
            let parts = (0..settings.threads).into_par_iter().map(|part| {
                let part = tile.part(part, settings.threads);
                let row = |local: usize| part.partner.first_row + local as u32;
                merged(graph, vertices(row(part.first)..row(part.end)))
            });
            let parts: Vec<(Vec<u32>, Vec<u32>)> = parts.collect();
            offsets.clear();
            offsets.push(0);
            codes.clear();
            for (ends, of_part) in parts {
                let before = codes.len() as u32;
                offsets.extend(ends.into_iter().map(|end| before + end));
                codes.extend(of_part);
            }
            let first_row = (partner.partner.first_row + tile.first as u32).div_ceil(2);
            let rows = Block { first_row, offsets, targets: codes };
            groups.fill(Tile::whole(rows), &ids);
            let (groups, next) = (&*groups, AtomicUsize::new(0));
            workers.par_iter_mut().with_max_len(1).try_for_each(|(sorter, tester, tally, poller)| {
                loop {
                    let bucket = next.fetch_add(1, Relaxed);
                    if bucket >= groups.buckets() {
                        return Some(());
                    }
                    let test = |entries: &[TileEntry]| tester.test((graph, fronts), rows, entries, tally, poller);
                    sorter.sorted(groups.bucket(bucket), test)?;
                }
            })?;
        }
        let mut counts = vec![PairCount::default(); fronts.len()];
        for (_, tester, ..) in &workers {
            counts.iter_mut().zip(&tester.counts).for_each(|(sum, &count)| *sum += count);
        }
        Some(counts)
    }
}

/// Returns the exclusive end of the tile that begins with row `first` of `all`. The tile has at most `most` rows. It
/// also has at most `most` entries, unless its first row has more.
fn end_of_tile(all: Tile<'_>, first: usize, most: usize) -> usize {
    let offsets = &all.partner.offsets[first..=all.end];
    let rows = offsets.partition_point(|&end| (end - offsets[0]) as usize <= most) - 1;
    first + rows.clamp(1, most)
}

/// Returns the vertices whose out-rows are among `rows`.
fn vertices(rows: Range<u32>) -> Range<u32> {
    rows.start.div_ceil(2)..rows.end.div_ceil(2)
}

/// Merges the out-row and the in-row of each of the `vertices` into a row of codes (see the module). Returns the end of
/// each vertex's row in the array of codes, and the array.
pub fn merged(graph: &BlockStore, vertices: Range<u32>) -> (Vec<u32>, Vec<u32>) {
    let all = || graph.rows(2 * vertices.start..2 * vertices.end);
    let mut codes = Vec::with_capacity(all().map(|(_, row)| row.len()).sum());
    let mut ends = Vec::with_capacity(vertices.len());
    let mut rows = all();
    while let (Some((_, out)), Some((_, into))) = (rows.next(), rows.next()) {
        merge_codes(out, into, &mut codes);
        ends.push(codes.len() as u32);
    }
    (ends, codes)
}

/// Merges two ascending rows of one vertex, and appends the codes (see the module) of the neighbours to `to`.
fn merge_codes(out: &[u32], into: &[u32], to: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    // Written without a branch on which row comes next, because that is hard to predict.
    while i < out.len() && j < into.len() {
        let (x, y) = (out[i], into[j]);
        to.push(2 * x.min(y) + u32::from(x == y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    to.extend(out[i..].iter().chain(&into[j..]).map(|x| 2 * x));
}

/// Returns how many directed edges connect two vertices: 0, 1 or 2. The lowest two bits of `mark` are 0 if there is no
/// edge, 1 for one direction and 3 for both. Its other bits are ignored.
#[inline(always)]
fn edges_of(mark: u64) -> u64 {
    (mark & 3).div_ceil(2)
}

/// Returns the number of directed edges between a vertex and the neighbour that `code` stands for.
#[inline(always)]
fn edges_to(code: u32) -> u64 {
    1 + u64::from(code & 1)
}

/// State of one thread that counts links (directed edges between neighbours).
#[derive(Debug)]
struct LinkTester {
    /// Bitmap of the neighbours of `b`, with two bits per neighbour. Empty between two calls of `test`.
    marks: Box<Marks>,
    /// Merged row of vertex `b`, as codes (see the module).
    row: Vec<u32>,
    /// Numbers of triangles found, wedges tested and links found so far, for each front block.
    counts: Vec<PairCount>,
}

impl LinkTester {
    /// Tests the wedges `a < b < c` whose entries `b` of rows `c` are in `entries`, ascending. `partner` contains the
    /// rows `c` as codes (see the module). Returns `None` if the count must stop.
    fn test(
        &mut self,
        (graph, fronts): (&BlockStore, &[Block<'_>]),
        partner: Block<'_>,
        entries: &[TileEntry],
        tally: &mut Corners<'_>,
        poller: &mut StopPoller<'_>,
    ) -> Option<()> {
        let head_of = |entry: &TileEntry| &partner.targets[entry.start as usize..][..entry.len as usize];
        let out_row = |entry: &TileEntry| entry.middle & !1;
        let mut rows = FrontRows::at(fronts, entries.first().map_or(0, out_row));
        let mut ahead = entries.iter().skip(PREFETCH_DISTANCE);
        for same in entries.chunk_by(|a, b| out_row(a) == out_row(b)) {
            let number = out_row(&same[0]);
            let (front, local) = rows.find(number);
            // The in-row of a vertex may be the first row of the next block.
            let into = if local + 1 < front.rows() { front.row(local + 1) } else { graph.row(number + 1) };
            self.row.clear();
            merge_codes(front.row(local), into, &mut self.row);
            let (low, high) = split(&self.row, number);
            for &code in low {
                self.marks[(code >> 6) as usize & (MARK_WORDS - 1)] |= (1 + 2 * u64::from(code & 1)) << (code & 62);
            }
            let (mut found, mut of_b) = (PairCount::default(), 0);
            for entry in same {
                ahead.next().into_iter().for_each(|later| prefetch(head_of(later)));
                let (head, between) = (head_of(entry), edges_to(entry.middle));
                let (mut triangles, mut of_c, before) = (0, 0, of_b);
                let mut close = |code: u32, edges: u64| {
                    tally.add(code >> 1, between);
                    of_b += edges_to(code);
                    of_c += edges;
                    triangles += 1;
                };
                let (marked, rest) = split(head, number);
                for &code in marked {
                    let edges = edges_of(self.marks[(code >> 6) as usize & (MARK_WORDS - 1)] >> (code & 62));
                    if edges > 0 {
                        close(code, edges);
                    }
                }
                // Codes that are too high for the bitmap are found by merging.
                let mut high = high.iter().peekable();
                for &code in rest {
                    while high.next_if(|&&other| other >> 1 < code >> 1).is_some() {}
                    if let Some(&other) = high.next_if(|&&other| other >> 1 == code >> 1) {
                        close(code, edges_to(other));
                    }
                }
                if triangles > 0 {
                    tally.add(row_at(partner, entry.start), of_c);
                }
                let links = triangles * between + of_c + of_b - before;
                found += PairCount { triangles, probes: head.len() as u64, links };
                poller.advance(head.len())?;
            }
            if of_b > 0 {
                tally.add(number >> 1, of_b);
            }
            unmark(&mut self.marks, low);
            poller.advance(self.row.len())?;
            self.counts[rows.at] += found;
        }
        Some(())
    }
}

/// Returns the memory in bytes that [`degrees`] takes for rows of at most `max_row` entries.
pub fn degrees_bytes(threads: usize, vertices: u64, max_row: u64) -> u64 {
    4 * vertices + threads as u64 * (4 * 2 * max_row + DegreeCounter::bytes(vertices))
}

/// Counts the distinct neighbours of each vertex of a directed graph, which has `vertices` vertices.
///
/// # Errors
/// [`crate::Error::Limit`]; [`crate::Error::Stopped`].
pub fn degrees(graph: &BlockStore, threads: usize, vertices: u64, budget: &Budget) -> Result<Buffer<u32>> {
    let max_row = graph.extremes().row;
    let bytes = degrees_bytes(threads, vertices, max_row) - 4 * vertices;
    let _scratch = budget.reserve(bytes, "counting neighbours")?;
    let degrees = Degrees::new(vertices, budget)?;
    (0..graph.len()).into_par_iter().try_for_each(|b| {
        signals::check()?;
        let mut counter = degrees.counter(Direction::Undirected);
        let mut row = Vec::with_capacity(2 * max_row as usize);
        let of_block = vertices_of(graph, b);
        let mut rows = graph.rows(2 * of_block.start..2 * of_block.end);
        for v in of_block {
            let (Some((_, out)), Some((_, into))) = (rows.next(), rows.next()) else { break };
            row.clear();
            merge_rows::<false>((out, &[]), (into, &[]), &mut row, &mut Vec::new());
            counter.rows(v, std::iter::once(row.len() as u32), &row);
        }
        graph.release(b);
        Ok(())
    })?;
    Ok(degrees.finish())
}

/// Returns the vertices whose out-rows are in block `b`.
fn vertices_of(graph: &BlockStore, b: usize) -> Range<u32> {
    let rows = graph.layout.block(b).rows;
    vertices(rows.start as u32..rows.end as u32)
}
