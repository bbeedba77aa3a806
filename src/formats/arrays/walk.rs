//! Assembles batches of edges from the numbers in arrays.

use super::numbers::{ArrayReader, BATCH};
use super::shape::ListKind;
use super::weights::WeightNumbers;
use crate::error::{Error, Result};
use crate::formats::Sink;

/// Readers of the arrays that contain the ends of the edges.
pub(super) enum EndpointArrays<'a> {
    /// A single array, in which the two ends of an edge follow each other.
    Rows(ArrayReader<'a>),
    Columns(ArrayReader<'a>, ArrayReader<'a>),
    Lists(AdjacencyListReader<'a>, ListKind),
}

/// Reader of edges from adjacency lists.
pub(super) struct AdjacencyListReader<'a> {
    /// Reader of the offsets at which adjacency lists start. The next offset that it returns is the end of the next
    /// list.
    pub offsets: ArrayReader<'a>,
    pub neighbours: ArrayReader<'a>,
    /// The vertex whose adjacency list is being read.
    pub row: u64,
    /// End of the adjacency list of `row`, as an index in `neighbours`.
    pub end: u64,
    pub rows: u64,
    /// Number of edges in the whole file.
    pub edges: u64,
    pub ahead: Vec<u64>,
    pub taken: usize,
}

/// Reader of a range of a file's edges.
pub(super) struct EdgeWalk<'a> {
    pub ends: EndpointArrays<'a>,
    /// Index of the next edge. The range ends before edge `end`.
    pub next: u64,
    pub end: u64,
    pub vertices: Option<u64>,
    pub first: Vec<u64>,
    pub second: Vec<u64>,
    /// Reader of the weights, if the pass needs them and the file has weights.
    pub weights: Option<WeightNumbers<'a>>,
}

impl<'a> EdgeWalk<'a> {
    pub fn new(
        (ends, weights): (EndpointArrays<'a>, Option<WeightNumbers<'a>>),
        next: u64,
        end: u64,
        vertices: Option<u64>,
    ) -> EdgeWalk<'a> {
        EdgeWalk { ends, next, end, vertices, first: Vec::new(), second: Vec::new(), weights }
    }

    /// Passes the next batch of edges to `sink`. Returns false if no edge is left.
    ///
    /// # Errors
    /// Bad input, and any error that the visitor returns.
    pub fn step(&mut self, sink: &mut Sink<'_>) -> Result<bool> {
        let count = (self.end - self.next).min(BATCH as u64) as usize;
        if count == 0 {
            return Ok(false);
        }
        let below = self.vertices.unwrap_or(u64::MAX);
        let check = |numbers: &ArrayReader<'_>, ids: &[u64]| match ids.iter().position(|id| *id >= below) {
            Some(nth) if self.vertices.is_some() => {
                Err(numbers.wrong(nth, ids.len(), format!("ids below {below}"), ids[nth].to_string()))
            }
            _ => Ok(()),
        };
        let (first, second) = (&mut self.first, &mut self.second);
        let weights = &mut self.weights;
        weights.iter_mut().try_for_each(|weights| weights.read(count))?;
        let push = |nth: usize, u: u64, v: u64, sink: &mut Sink<'_>| match &*weights {
            Some(weights) => weights.push(nth, (u, v), sink),
            None => sink.push(u, v),
        };
        match &mut self.ends {
            EndpointArrays::Rows(numbers) => {
                numbers.read(2 * count, first)?;
                check(numbers, first)?;
                let mut pairs = first.as_chunks::<2>().0.iter().enumerate();
                pairs.try_for_each(|(nth, [u, v])| push(nth, *u, *v, sink))?;
            }
            EndpointArrays::Columns(from, to) => {
                from.read(count, first)?;
                to.read(count, second)?;
                check(from, first)?;
                check(to, second)?;
                let mut pairs = first.iter().zip(second.iter()).enumerate();
                pairs.try_for_each(|(nth, (u, v))| push(nth, *u, *v, sink))?;
            }
            EndpointArrays::Lists(lists, kind) => {
                lists.neighbours.read(count, second)?;
                check(&lists.neighbours, second)?;
                for (nth, v) in second.iter().enumerate() {
                    while self.next + nth as u64 >= lists.end {
                        lists.advance()?;
                    }
                    match kind {
                        ListKind::Outgoing => push(nth, lists.row, *v, sink)?,
                        ListKind::Incoming => push(nth, *v, lists.row, sink)?,
                        ListKind::Mutual => {
                            sink.list(lists.row, *v);
                            push(nth, lists.row, *v, sink)?;
                        }
                    }
                }
            }
        }
        self.next += count as u64;
        Ok(true)
    }

    /// Checks, after the last edge of the file, that the lists of all vertices have ended.
    ///
    /// # Errors
    /// Bad input if an offset is out of order, or a list extends beyond the last edge.
    pub fn finish(&mut self) -> Result<()> {
        if let EndpointArrays::Lists(lists, _) = &mut self.ends {
            while lists.row.wrapping_add(1) < lists.rows {
                lists.advance()?;
            }
            if lists.end != lists.edges {
                return Err(lists.wrong(lists.end));
            }
        }
        Ok(())
    }
}

impl<'a> AdjacencyListReader<'a> {
    /// Creates a reader that begins at the first adjacency list. `offsets` must be positioned at the first offset.
    ///
    /// # Errors
    /// Bad input if the first offset is not 0.
    pub fn begin(
        mut offsets: ArrayReader<'a>,
        neighbours: ArrayReader<'a>,
        rows: u64,
        edges: u64,
    ) -> Result<AdjacencyListReader<'a>> {
        let mut ahead = Vec::new();
        offsets.read(1, &mut ahead)?;
        let lists = AdjacencyListReader::at(offsets, neighbours, (0, 0), rows, edges);
        if ahead[0] == 0 { Ok(lists) } else { Err(lists.wrong(ahead[0])) }
    }

    /// Creates a reader that begins at the adjacency list of vertex `row`, whose first edge has the index `start`. The
    /// next number of `offsets` must be the end of that list.
    pub fn at(
        offsets: ArrayReader<'a>,
        neighbours: ArrayReader<'a>,
        (row, start): (u64, u64),
        rows: u64,
        edges: u64,
    ) -> AdjacencyListReader<'a> {
        // No list is open yet: the first step advances to the list of `row`.
        let row = row.wrapping_sub(1);
        AdjacencyListReader { offsets, neighbours, row, end: start, rows, edges, ahead: Vec::new(), taken: 0 }
    }

    /// Advances to the adjacency list of the next vertex.
    fn advance(&mut self) -> Result<()> {
        self.row = self.row.wrapping_add(1);
        if self.row >= self.rows {
            return Err(self.wrong(self.end));
        }
        if self.taken == self.ahead.len() {
            let count = (self.rows - self.row).min(BATCH as u64) as usize;
            self.offsets.read(count, &mut self.ahead)?;
            self.taken = 0;
        }
        let end = self.ahead[self.taken];
        self.taken += 1;
        if end < self.end || end > self.edges {
            return Err(self.wrong(end));
        }
        self.end = end;
        Ok(())
    }

    fn wrong(&self, found: u64) -> Error {
        let expected = format!("offsets that ascend from 0 to {}, one for each of {} lists", self.edges, self.rows);
        self.offsets.wrong(self.taken.saturating_sub(1), self.ahead.len(), expected, found.to_string())
    }
}
