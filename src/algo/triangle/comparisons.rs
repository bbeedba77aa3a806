//! Counts the comparisons that a plain merge of sorted adjacency rows makes, in two orders of the vertices. The counts
//! show how many comparisons each order takes in a program that intersects rows by merging them.
//!
//! In an order of the vertices, row `u` contains the neighbours of `u` that come after `u`. For each edge from `u` to a
//! later `v`, two lists are merged: `A`, the entries of row `u` after `v`, and `B`, row `v`. Each step compares the
//! next entries of both lists and passes the smaller one, or both if they are equal. The merge ends when one list ends.
//! Lists whose ranges of values do not overlap are not merged. Of the rules that were tried, only this one yields the
//! published counts of the SNAP graph email-Eu-core, 745,528 and 370,279 (docs/reference/algorithms.md). The published
//! order by degree is ascending. The degree of a vertex is the number of edge endpoints at it, so a self-loop counts
//! twice. Ties are in the order of ids.
//!
//! The steps are computed without merging. A merge ends at the smaller of the two last entries, `m`. Its number of
//! steps is the number of entries of `A` up to `m`, plus the number of entries of `B` up to `m`, minus the number of
//! common entries. Over all edges, the common entries are the triangles.
//! * If `B` ends first, both numbers follow from row `u` and from the length and the last entry of row `v`.
//! * Otherwise row `u` yields the number of entries of `A`. Row `v` yields the number of entries of `B`, up to the
//!   last entry of row `u`.
//!
//! So one pass over the rows finds the first entry, last entry and length of each (12 bytes per vertex), and a second
//! pass looks these up for all neighbours. Both passes read every row completely, in any order. A table maps each
//! vertex of a row to its position in the order (4 bytes per vertex). Both orders together read 32 bytes of rows for
//! each edge: 170 GB for a file of 40 GiB, which has 5.4e9 edges. Storing rows in the order of ids would need another
//! partition and sort of the input, and merging them would read rows at random.

use crate::algo::edges::{self, EdgeVisitor};
use crate::algo::round::{self, RoundEnd};
use crate::algo::rows::{Neighbours, each_value};
use crate::algo::team::{WorkList, gathered, share};
use crate::algo::triangle::output::Comparisons;
use crate::algo::{GraphSize, Run};
use crate::comm::{Comm, on_leader, reports_for_node};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::Signals;
use crate::graph::RawId;
use crate::memory::{Buffer, bytes_of};
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::store::checkpoint::{Checkpoint, Saved};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

/// Error message for a directed graph. Counting comparisons needs both halves of the undirected rows, but only the
/// lower halves are stored for a directed graph.
pub(super) const NEEDS_UNDIRECTED: &str =
    "[triangle] comparisons needs undirected edges; remove directed from [input], or remove comparisons";

/// Number of rounds in which the comparisons for one vertex order are counted. A checkpoint may be saved after each
/// round.
const ROUNDS: usize = 64;
/// Minimum number of vertex ranges that are counted in one round.
const LEAST_PARTS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Ascending ids.
    Input,
    /// Ascending degree; ties by ascending id. The degree counts every endpoint of an edge in the input.
    Degree,
}

/// The vertex orders for which comparisons are counted, one after the other.
const ORDERS: [Order; 2] = [Order::Input, Order::Degree];

/// Progress of counting comparisons. `sums` contains, for each of [`ORDERS`], the number of row entries that all merges
/// so far have read.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct MergedEntries {
    sums: [u128; 2],
    /// Number of vertex ranges that are counted, added up over both orders.
    done: usize,
    /// Counting time in seconds, including earlier runs.
    pub(super) seconds: f64,
}

impl MergedEntries {
    /// Returns the numbers of comparisons in both vertex orders, for a graph with `triangles` triangles.
    pub(super) fn comparisons(&self, triangles: u128) -> Comparisons {
        // A merge reads each common entry in both rows, but passes both copies with one comparison.
        let [input, degree] = self.sums.map(|entries| entries.saturating_sub(triangles));
        Comparisons::new(input, degree)
    }
}

/// Returns the memory in bytes that counting comparisons takes with `threads` threads.
pub(super) fn bytes(graph: &GraphSize<'_>, threads: usize) -> u64 {
    let GraphSize { vertices, ids, reading, longest_whole_row, .. } = *graph;
    let passes = 12 * vertices + row_bytes(longest_whole_row.min(vertices), threads);
    4 * vertices + passes.max(4 * ids + reading)
}

fn row_bytes(longest: u64, threads: usize) -> u64 {
    4 * longest * threads as u64
}

/// Counts the row entries that all merges read, or resumes a count that an earlier run began. Collective.
///
/// # Errors
/// [`Error::Usage`] for a directed graph, and if self-loops must be counted but the job reads no input;
/// [`Error::Limit`]; errors of reading the rows and the input; disk errors; [`Error::Stopped`].
pub(super) fn count(graph: &Graph, run: &Run<'_>) -> Result<MergedEntries> {
    let Run { comm, threads, budget, .. } = *run;
    if reports_for_node(comm, run.devices.workspace.is_some()) {
        tracing::warn!("counting comparisons on the CPU: no GPU counts them");
    }
    graph.upper().map_err(|_| Error::Usage(NEEDS_UNDIRECTED.into()))?;
    if graph.info.loops > 0 && run.input.is_none() {
        return Err(no_loops());
    }
    let file = graph.degrees()?;
    // Reserve this memory while `Neighbours` decides how to read rows, so that it leaves this memory free.
    let others = budget.reserve(16 * graph.info.connected, "places and ends of rows (16 bytes for each vertex)")?;
    // All ranks have the same list of vertex ranges, so rounds do not depend on the number of ranks.
    let rows = Neighbours::new(graph, file.body_as_u32()?, &Comm::Solo, budget)?;
    drop(others);
    let mut checkpoint = Checkpoint::new(run.units.files()?.join("comparisons"), run.units.key);
    let all = rows.parts.len();
    let saved = round::load(comm, &checkpoint, |saved| load(saved, all))?;
    let mut counted = on_leader(comm, || Ok(saved.unwrap_or_default()))?;
    let (started, before) = (Instant::now(), counted.seconds);
    for (nth, order) in ORDERS.into_iter().enumerate() {
        let end = (nth + 1) * all;
        if counted.done >= end {
            continue;
        }
        let prepared = places(order, graph, run).and_then(|places| {
            let row = budget.reserve(row_bytes(rows.longest, threads), "rows in another order")?;
            Ok((RowEnds::find(&rows, &places, run)?, places, row))
        });
        let (ends, places, _row) = match prepared {
            Err(Error::Stopped(_)) => {
                on_leader(comm, || save(&mut checkpoint, &counted, all))?;
                return Err(round::stopped(comm));
            }
            prepared => prepared?,
        };
        let order = RowsInOrder { ends, rows: &rows, places: &places };
        while counted.done < end {
            let first = counted.done - nth * all;
            let round = first..all.min(first + all.div_ceil(ROUNDS).max(LEAST_PARTS));
            let entries = order.entries(&rows.parts[own(&round, comm)], threads);
            let (is_whole, mut words) = match entries {
                Err(Error::Stopped(_)) => (false, [0; 3]),
                entries => entries.map(|sum| (true, [sum & 0xffff_ffff, sum >> 32 & 0xffff_ffff, sum >> 64]))?,
            };
            failpoint::hit("triangle.comparisons").map_err(|e| Error::io("merge rows", run.units.folder, e))?;
            let RoundEnd { is_cut, stops, is_due } = RoundEnd::agree(comm, is_whole, &checkpoint);
            if !is_cut {
                let mut sums = words.map(|word| word as u64);
                comm.all_sum(&mut sums);
                words = sums.map(u128::from);
                counted.sums[nth] += words[0] + (words[1] << 32) + (words[2] << 64);
                counted.done += round.len();
            }
            counted.seconds = before + started.elapsed().as_secs_f64();
            if comm.is_leader() && (stops || is_due) {
                save(&mut checkpoint, &counted, all)?;
            }
            if stops {
                return Err(round::stopped(comm));
            }
        }
    }
    on_leader(comm, || if checkpoint.is_worth_it() { save(&mut checkpoint, &counted, all) } else { Ok(()) })?;
    Ok(counted)
}

fn save(checkpoint: &mut Checkpoint, counted: &MergedEntries, all: usize) -> Result<()> {
    let [input, degree] = counted.sums.map(|sum| [sum as u64, (sum >> 64) as u64]);
    let words = [[all as u64, counted.seconds.to_bits()], input, degree];
    checkpoint.save(counted.done as u64, 2 * all as u64, &[bytes_of(words.as_flattened())])
}

fn load(saved: &Saved, all: usize) -> Result<MergedEntries> {
    match *saved.words(0)? {
        [of, seconds, input, input_high, degree, degree_high] if of == all as u64 && saved.done() <= 2 * of => {
            let sum = |low: u64, high: u64| u128::from(low) | u128::from(high) << 64;
            let sums = [sum(input, input_high), sum(degree, degree_high)];
            Ok(MergedEntries { sums, done: saved.done() as usize, seconds: f64::from_bits(seconds) })
        }
        _ => Err(saved.other("not comparisons of this graph")),
    }
}

/// Returns this rank's share of `parts`, a range of indices of row parts.
fn own(parts: &Range<usize>, comm: &Comm) -> Range<usize> {
    let own = share(parts.len(), comm.rank(), comm.ranks());
    parts.start + own.start..parts.start + own.end
}

/// Returns the position of each vertex in the vertex order `order`. Collective.
fn places(order: Order, graph: &Graph, run: &Run<'_>) -> Result<Buffer<u32>> {
    let Graph { folder, info, .. } = graph;
    let mut places: Buffer<u32> =
        run.budget.zeroed(info.connected as usize, "places of vertices (4 bytes for each)")?;
    let map = order::map(folder, info.content)?;
    let ids = map.ids()?;
    let vertices = || ids.iter().enumerate().filter(|&(_, &v)| u64::from(v) < info.connected);
    if order == Order::Input {
        vertices().zip(0..).for_each(|((_, &v), place)| places[v as usize] = place);
        return Ok(places);
    }
    // Vertices are in descending order of degree. Vertices of equal degree are in ascending order of id.
    let runs: Vec<_> = order::read_runs(folder, info.content)?.iter().collect();
    if info.loops == 0 {
        for &(_, start, end) in &runs {
            (start..end).for_each(|v| places[v as usize] = (info.connected - end + (v - start)) as u32);
        }
        return Ok(places);
    }
    let loops = loops(graph, run)?;
    let degree = |id: usize, v: u32| {
        let run = runs.partition_point(|&(_, _, end)| end <= u64::from(v));
        u64::from(runs[run].0) + 2 * u64::from(loops[id])
    };
    // A counting sort: first the number of vertices of each degree, then the next position for each degree.
    let mut next: BTreeMap<u64, u32> = BTreeMap::new();
    vertices().for_each(|(id, &v)| *next.entry(degree(id, v)).or_default() += 1);
    next.values_mut().fold(0, |first, next| first + std::mem::replace(next, first));
    for (id, &v) in vertices() {
        let next = next.entry(degree(id, v)).or_default();
        places[v as usize] = *next;
        *next += 1;
    }
    Ok(places)
}

/// Returns the error for a prepared graph whose input had self-loops. A job that reads only the prepared graph can't
/// count them.
fn no_loops() -> Error {
    let why = "[triangle] comparisons counts the loops of the input, which a prepared graph lacks";
    Error::Usage(format!("{why}: name the input itself as path in [input], in place of prepared"))
}

/// Returns the number of self-loops of each dense id. Rows contain no self-loops, so this reads the input again.
/// Collective.
fn loops(graph: &Graph, run: &Run<'_>) -> Result<Buffer<u32>> {
    let Run { comm, threads, budget, .. } = *run;
    let open = run.input.ok_or_else(no_loops)?;
    let (input, info) = (open()?, &graph.info);
    let loops: Buffer<AtomicU32> = budget.zeroed(info.ids as usize, "loops of vertices (4 bytes an id)")?;
    let _reading = budget.reserve(input.scratch_bytes(threads), "reading the input once more")?;
    let open = || Dictionary::open(&dictionary::path(&graph.folder), info.identity, budget);
    let dictionary = info.sparse.then(open).transpose()?;
    let id = |raw: u64| match &dictionary {
        Some(dictionary) => dictionary.find(RawId(raw)).map(|id| id.index()),
        None => Some(raw as usize),
    };
    let edge = |(): &mut (), [u, v]: [u64; 2]| {
        if u == v
            && let Some(loops) = id(u).and_then(|id| loops.get(id))
        {
            loops.fetch_add(1, Relaxed);
        }
        Ok(())
    };
    let mut visitors: Vec<_> = (0..threads.max(1)).map(|_| EdgeVisitor { state: (), edge }).collect();
    edges::read_again(&input, &graph.info, &mut visitors, comm, &Signals)?;
    drop(visitors);
    Ok(summed(loops, comm))
}

/// Adds up an array over all ranks, element by element, and returns the sums on every rank. Collective.
fn summed(values: Buffer<AtomicU32>, comm: &Comm) -> Buffer<u32> {
    let mut values = values.into_plain();
    comm.reduce_scatter(&mut values);
    comm.all_gather_shares(&mut values);
    values
}

/// First entry, last entry and length of each adjacency row in one vertex order, indexed by the position of the row's
/// vertex. All three are 0 for an empty row.
struct RowEnds(Buffer<u32>);

impl RowEnds {
    /// Reads all rows, and finds the first entry, last entry and length of each. Collective.
    fn find(rows: &Neighbours<'_>, places: &[u32], run: &Run<'_>) -> Result<RowEnds> {
        let purpose = "ends of rows in another order (12 bytes for each vertex)";
        let ends: Buffer<AtomicU32> = run.budget.zeroed(3 * places.len(), purpose)?;
        let found = pass(rows, &rows.parts[own(&(0..rows.parts.len()), run.comm)], places, run.threads, |at, row| {
            let after = || row.iter().copied().filter(|&v| v > at);
            if let Some((first, last)) = after().min().zip(after().max()) {
                let slot = ends[3 * at as usize..].iter();
                slot.zip([first, last, after().count() as u32]).for_each(|(slot, value)| slot.store(value, Relaxed));
            }
            0
        });
        round::agree(run.comm, found)?;
        Ok(RowEnds(summed(ends, run.comm)))
    }

    #[inline]
    fn of(&self, place: u32) -> [u32; 3] {
        self.0[3 * place as usize..].first_chunk().copied().unwrap_or_default()
    }
}

/// The adjacency rows, and the position of each vertex in one vertex order.
struct RowsInOrder<'a> {
    rows: &'a Neighbours<'a>,
    places: &'a [u32],
    ends: RowEnds,
}

impl RowsInOrder<'_> {
    /// Returns the sum of [`Self::entries_of_row`] over the rows in `parts`.
    fn entries(&self, parts: &[Range<usize>], threads: usize) -> Result<u128> {
        pass(self.rows, parts, self.places, threads, |at, row| {
            row.sort_unstable();
            let (before, after) = row.split_at(row.partition_point(|&v| v < at));
            self.entries_of_row(at, before, after)
        })
    }

    /// Returns how many entries merges read because of one row: the row of the vertex at position `at`. `before` and
    /// `after` contain the positions of this vertex's neighbours before and after it, ascending.
    fn entries_of_row(&self, at: u32, before: &[u32], after: &[u32]) -> u128 {
        let Some(&last) = after.last() else { return 0 };
        let up_to = |row: &[u32], end: u32| row.partition_point(|&v| v <= end);
        let mut sum = 0;
        // Merges of row `v` with the entries of this row after `v`, called the rest.
        for (place, &v) in (1..).zip(&after[..after.len() - 1]) {
            let (rest, [first_of_v, last_of_v, length]) = (&after[place..], self.ends.of(v));
            sum += match length {
                0 => 0,
                // Row `v` ends first. The merge takes place if an entry of the rest is not above the last entry of row
                // `v`.
                _ if last_of_v < last => match up_to(rest, last_of_v) {
                    0 => 0,
                    entries => entries + length as usize,
                },
                _ if first_of_v <= last => rest.len(),
                _ => 0,
            } as u128;
        }
        // Merges of the rest of row `u` with this row, if row `u` ends first. The rest is empty if this vertex is the
        // last entry of row `u`.
        for &u in before {
            let [_, last_of_u, _] = self.ends.of(u);
            if last_of_u > at && last_of_u <= last {
                sum += up_to(after, last_of_u) as u128;
            }
        }
        sum
    }
}

/// Calls `each` for all vertices in `parts`, in any order, with the position of the vertex and the positions of its
/// neighbours. Returns the sum of the results.
fn pass(
    rows: &Neighbours<'_>,
    parts: &[Range<usize>],
    places: &[u32],
    threads: usize,
    each: impl Fn(u32, &mut Vec<u32>) -> u128 + Sync,
) -> Result<u128> {
    let (left, work) = (rows.parts_of_blocks(parts), WorkList::new(parts.to_vec()));
    let sums = gathered(threads, &|_| {
        let (mut row, mut unpacked, mut sum) = (Vec::with_capacity(rows.longest as usize), Default::default(), 0);
        while let Some(part) = work.take() {
            signals::check()?;
            for v in part.clone() {
                row.clear();
                each_value(rows.of(v, &mut unpacked), places, |place| row.push(place));
                sum += each(places[v], &mut row);
            }
            rows.release(&part, &left);
        }
        Ok(sum)
    })?;
    Ok(sums.into_iter().sum())
}
