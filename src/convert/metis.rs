//! Writes METIS files, which list the neighbours of one vertex after the other, out of core.
//!
//! The format demands a simple, symmetric graph with dense ids: edges are written in the lists of both ends, loops and repeats are dropped,
//! and every id up to the largest gets a line. One pass finds the largest id, and one counts the neighbours of every vertex (4 bytes each);
//! then vertices are taken in ranges whose lists fit the memory, with a pass for each range. The header holds the number of edges without
//! repeats, so several ranges take two rounds, the first only to count.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::output::{Output, Turns};
use super::{count, encode};
use crate::error::{At, Error, Result};
use crate::formats::{Edges, Format, Input, Visitor, Watch};

/// Bytes of lines that are packed and written at once.
const PIECE: usize = 4 << 20;

/// Writes all lists. Returns the edges read and written.
pub(super) fn write(
    input: &Input,
    output: &Output,
    threads: usize,
    memory: u64,
    watch: &dyn Watch,
) -> Result<(u64, u64)> {
    let counts = count(input, threads, watch)?;
    if counts.vertices > 1 << 32 {
        let found = format!("{} vertices", counts.vertices);
        let remedy = "metis lists every id up to the largest: choose another format";
        return Err(Error::input(input.name(), At::File, "at most 2^32 vertices for metis", found, remedy));
    }
    let degrees = degrees(input, counts.vertices, threads, watch)?;
    let ranges = ranges(&degrees, memory);
    let turns = Turns::new(output);
    let mut next = 0;
    let mut entries = 0;
    if let [range] = ranges.as_slice() {
        let lists = Lists::read(input, range.clone(), &degrees, threads, watch)?;
        entries = lists.entries();
        output.header(encode::header(Format::Metis, counts.vertices, entries / 2).as_bytes())?;
        lists.write(&turns, &mut next)?;
    } else {
        for range in &ranges {
            entries += Lists::read(input, range.clone(), &degrees, threads, watch)?.entries();
        }
        output.header(encode::header(Format::Metis, counts.vertices, entries / 2).as_bytes())?;
        for range in ranges {
            Lists::read(input, range, &degrees, threads, watch)?.write(&turns, &mut next)?;
        }
    }
    Ok((counts.edges, entries / 2))
}

/// Cuts the vertices into ranges whose lists take at most `memory` bytes, or consist of one vertex.
fn ranges(degrees: &[AtomicU32], memory: u64) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let (mut start, mut taken) = (0, 0);
    for (vertex, degree) in (0..).zip(degrees) {
        // A vertex takes an entry in the list of offsets, and its neighbours.
        let bytes = 8 + 4 * u64::from(degree.load(Relaxed));
        if taken + bytes > memory && vertex > start {
            ranges.push(start..vertex);
            (start, taken) = (vertex, 0);
        }
        taken += bytes;
    }
    if start < degrees.len() as u64 {
        ranges.push(start..degrees.len() as u64);
    }
    ranges
}

/// Calls `each` with the ends of every edge that is not a loop, in both directions.
fn both_ways(edges: Edges<'_>, mut each: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let mut edge = |u, v| if u == v { Ok(()) } else { each(u, v).and_then(|()| each(v, u)) };
    match edges {
        Edges::Narrow(pairs) => pairs.iter().try_for_each(|[u, v]| edge((*u).into(), (*v).into())),
        Edges::Wide(pairs) => pairs.iter().try_for_each(|[u, v]| edge(*u, *v)),
    }
}

/// Returns the error of an input that has changed between passes.
fn changed(input: &Input) -> Error {
    let remedy = "leave the file alone while it is converted, and run again";
    Error::input(input.name(), At::File, "the same edges in every pass", "other ones", remedy)
}

/// Counts the neighbours of every vertex, repeats included.
fn degrees(input: &Input, vertices: u64, threads: usize, watch: &dyn Watch) -> Result<Vec<AtomicU32>> {
    struct Count<'a> {
        input: &'a Input,
        degrees: &'a [AtomicU32],
    }
    impl Visitor for Count<'_> {
        fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
            both_ways(edges, |u, _| {
                let degree = self.degrees.get(u as usize).ok_or_else(|| changed(self.input))?;
                if degree.fetch_add(1, Relaxed) == u32::MAX {
                    let remedy = "choose another format than metis, or drop repeated edges first";
                    let found = format!("more at vertex {u}");
                    return Err(Error::input(
                        self.input.name(),
                        At::File,
                        "at most 2^32 edges a vertex",
                        found,
                        remedy,
                    ));
                }
                Ok(())
            })
        }
    }
    let degrees: Vec<AtomicU32> = (0..vertices).map(|_| AtomicU32::new(0)).collect();
    let mut visitors: Vec<Count<'_>> = (0..threads).map(|_| Count { input, degrees: &degrees }).collect();
    input.scan(&mut visitors, watch)?;
    drop(visitors);
    Ok(degrees)
}

/// The sorted neighbours of a range of vertices.
struct Lists {
    /// The list of vertex i of the range ends here, and begins where the previous one ends.
    ends: Vec<u64>,
    neighbours: Vec<u32>,
}

impl Lists {
    fn read(
        input: &Input,
        range: Range<u64>,
        degrees: &[AtomicU32],
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Lists> {
        struct Fill<'a> {
            input: &'a Input,
            range: Range<u64>,
            next: &'a [AtomicU64],
            lists: &'a [AtomicU32],
        }
        impl Visitor for Fill<'_> {
            fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
                both_ways(edges, |u, v| {
                    if self.range.contains(&u) {
                        let place = self.next[(u - self.range.start) as usize].fetch_add(1, Relaxed);
                        let slot = self.lists.get(place as usize).ok_or_else(|| changed(self.input))?;
                        slot.store(v as u32, Relaxed);
                    }
                    Ok(())
                })
            }
        }
        let mut total = 0;
        let next: Vec<AtomicU64> = degrees[range.start as usize..range.end as usize]
            .iter()
            .map(|degree| {
                let start = AtomicU64::new(total);
                total += u64::from(degree.load(Relaxed));
                start
            })
            .collect();
        let lists: Vec<AtomicU32> = (0..total).map(|_| AtomicU32::new(0)).collect();
        let mut visitors: Vec<Fill<'_>> =
            (0..threads).map(|_| Fill { input, range: range.clone(), next: &next, lists: &lists }).collect();
        input.scan(&mut visitors, watch)?;
        drop(visitors);
        // Size and alignment are the same, so these collect in place.
        let ends = next.into_iter().map(AtomicU64::into_inner).collect();
        let neighbours = lists.into_iter().map(AtomicU32::into_inner).collect();
        let mut lists = Lists { ends, neighbours };
        lists.tidy();
        Ok(lists)
    }

    /// Sorts every list and drops repeats, closing the gaps.
    fn tidy(&mut self) {
        let (mut from, mut kept) = (0, 0);
        for end in &mut self.ends {
            let to = *end as usize;
            self.neighbours[from..to].sort_unstable();
            let start = kept;
            for index in from..to {
                let neighbour = self.neighbours[index];
                if kept == start || self.neighbours[kept - 1] != neighbour {
                    self.neighbours[kept] = neighbour;
                    kept += 1;
                }
            }
            from = to;
            *end = kept as u64;
        }
        self.neighbours.truncate(kept);
    }

    fn entries(&self) -> u64 {
        self.neighbours.len() as u64
    }

    fn write(&self, turns: &Turns<'_>, next: &mut u64) -> Result<()> {
        let mut lines = Vec::new();
        let mut start = 0;
        for end in &self.ends {
            let list = &self.neighbours[start..*end as usize];
            for neighbour in list {
                encode::number(&mut lines, u128::from(*neighbour) + 1);
                // A blank follows the last number, too: the reader of GAP misses a number at the end of a line.
                lines.push(b' ');
                if lines.len() >= PIECE {
                    put(turns, next, &mut lines)?;
                }
            }
            lines.push(b'\n');
            start = *end as usize;
        }
        put(turns, next, &mut lines)
    }
}

fn put(turns: &Turns<'_>, next: &mut u64, lines: &mut Vec<u8>) -> Result<()> {
    turns.append(*next, lines)?;
    *next += 1;
    lines.clear();
    Ok(())
}
