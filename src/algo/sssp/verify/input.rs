//! The edges of the input with their weights, as edges between places of vertices. Repeated edges occur as often as in
//! the input.

use crate::algo::WeightSource;
use crate::algo::searches::places::Places;
use crate::algo::sssp::validate::{EdgePass, Sum, TreeBatch, Wrong};
use crate::error::Result;
use crate::formats::{Edges, Input, Signals, Visitor, WeightType, Weights};
use crate::graph::direction::Direction;
use crate::graph::ids::RawId;
use crate::prepare::relabel::ISOLATED;
use std::sync::{Mutex, PoisonError};

/// Number of edges whose places are looked up before the first is checked, so that memory is read ahead.
const AT_ONCE: usize = 32;

/// The edges of an input.
pub(super) struct InputEdges<'a> {
    input: Input,
    weights: WeightSource,
    places: &'a Places,
    of_rows: &'a [u32],
    direction: Direction,
    /// True if edges are counted.
    counts: bool,
    /// For each tree so far, the number of edges that leave reached vertices; without direction, of edges with both
    /// ends reached.
    counted: Mutex<Vec<u64>>,
}

impl<'a> InputEdges<'a> {
    /// Returns the edges of an input. `kind` is the type of the weights if they come from the input. Edges are counted
    /// if they have a direction, or if an edge may lead from a reached vertex to an unreached one (`may_leave`).
    ///
    /// # Errors
    /// None in practice, because places were read before.
    pub fn new(
        input: &Input,
        weights: WeightSource,
        kind: WeightType,
        places: &'a Places,
        (direction, may_leave): (Direction, bool),
    ) -> Result<InputEdges<'a>> {
        let reads = if weights == WeightSource::File { Weights::Read(kind) } else { Weights::Skip };
        let (input, of_rows) = (input.clone().with_weights(reads), places.of_rows()?);
        let counts = may_leave || direction == Direction::Directed;
        Ok(InputEdges { input, weights, places, of_rows, direction, counts, counted: Mutex::default() })
    }

    /// Returns for each tree the number of edges that leave reached vertices; without direction, of edges with both
    /// ends reached. Empty if edges were not counted.
    pub fn counted(self) -> Vec<u64> {
        self.counted.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EdgePass for InputEdges<'_> {
    fn vertices(&self) -> usize {
        self.places.vertices() as usize
    }

    fn pass<S: Sum, const W: usize>(&self, batch: &TreeBatch<'_, S, W>, threads: usize) -> Result<Result<(), Wrong>> {
        let trees = batch.trees.len();
        let new = || EdgeChecker { edges: self, batch, counted: vec![0; trees], wrong: None };
        let mut checkers: Vec<_> = (0..threads.max(1)).map(|_| new()).collect();
        self.input.scan(&mut checkers, &Signals)?;
        if self.counts {
            let sums = (0..trees).map(|tree| checkers.iter().map(|checker| checker.counted[tree]).sum());
            self.counted.lock().unwrap_or_else(PoisonError::into_inner).extend(sums.collect::<Vec<u64>>());
        }
        let wrong = checkers.into_iter().filter_map(|checker| checker.wrong);
        let first = wrong.min_by_key(|&((number, _), ends)| (number, ends));
        Ok(first.map_or(Ok(()), |(wrong, _)| Err(wrong)))
    }

    fn name(&self, v: u32) -> String {
        self.places.name(v)
    }
}

/// Checks edges against trees, in one thread.
struct EdgeChecker<'a, 'h, S, const W: usize> {
    edges: &'a InputEdges<'a>,
    batch: &'a TreeBatch<'h, S, W>,
    counted: Vec<u64>,
    /// The fault in the first tree that has one, with the ends of the first edge that shows it.
    wrong: Option<(Wrong, [u32; 2])>,
}

impl<S: Sum, const W: usize> EdgeChecker<'_, '_, S, W> {
    fn all(&mut self, edges: impl Iterator<Item = [u64; 2]>, weights: &[u32]) {
        let (mut found, mut number) = ([([0; 2], 0); AT_ONCE], 0);
        for (entry, [u, v]) in edges.enumerate().filter(|(_, [u, v])| u != v) {
            let place =
                |id| self.edges.places.ids.row(id).and_then(|row| self.edges.of_rows.get(row as usize)).copied();
            let ends = [place(u).unwrap_or(ISOLATED), place(v).unwrap_or(ISOLATED)];
            if ends.contains(&ISOLATED) {
                // Places exist for the ends of all edges that were counted. Another edge occurs only if the input
                // changes while it is read.
                continue;
            }
            let weight = match self.edges.weights {
                WeightSource::File => weights.get(entry).copied().unwrap_or(0),
                WeightSource::Drawn(drawn) => drawn.of(self.edges.direction, RawId(u), RawId(v)),
            };
            ends.iter().for_each(|&end| self.batch.fetch(end));
            found[number] = (ends, weight);
            number += 1;
            if number == AT_ONCE {
                found.iter().for_each(|&(ends, weight)| self.check_edge(ends, weight));
                number = 0;
            }
        }
        found[..number].iter().for_each(|&(ends, weight)| self.check_edge(ends, weight));
    }

    fn check_edge(&mut self, [from, to]: [u32; 2], weight: u32) {
        self.check_direction(from, to, weight);
        let is_directed = self.edges.direction == Direction::Directed;
        if !is_directed {
            self.check_direction(to, from, weight);
        }
        if self.edges.counts {
            let reached = self.batch.reached(from) & if is_directed { !0 } else { self.batch.reached(to) };
            for (number, counted) in self.counted.iter_mut().enumerate() {
                *counted += u64::from(reached >> number & 1);
            }
        }
    }

    #[inline]
    fn check_direction(&mut self, from: u32, to: u32, weight: u32) {
        match self.batch.edge(from, to, weight) {
            Ok(0) => {}
            Ok(met) => self.batch.note(to, met),
            Err(wrong) => {
                let found = (wrong, [from, to]);
                let is_first = self.wrong.is_none_or(|((number, _), ends)| (found.0.0, found.1) < (number, ends));
                self.wrong = if is_first { Some(found) } else { self.wrong };
            }
        }
    }
}

impl<S: Sum, const W: usize> Visitor for EdgeChecker<'_, '_, S, W> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.all(edges.iter().map(|edge| edge.map(u64::from)), weights),
            Edges::Wide(edges) => self.all(edges.iter().copied(), weights),
        }
        Ok(())
    }
}
