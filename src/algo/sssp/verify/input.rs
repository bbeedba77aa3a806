//! Reads the weighted edges of the input, and converts their ends to positions in the order of vertices. Repeated edges
//! occur as often as in the input.

use crate::algo::WeightSource;
use crate::algo::searches::places::{EdgeCheck, Places};
use crate::algo::sssp::validate::{EdgePass, NumberedFault, TreeBatch, TreeSum};
use crate::error::Result;
use crate::formats::{Input, WeightType, Weights};
use crate::graph::direction::Direction;
use crate::graph::ids::RawId;
use parking_lot::Mutex;

/// The weighted edges of an input, for a check of trees.
pub(super) struct InputEdges<'a> {
    input: Input,
    weights: WeightSource,
    places: &'a Places,
    direction: Direction,
    /// Whether edges of reached vertices are counted.
    counts: bool,
    /// For each tree checked so far, the number of edges that leave reached vertices or, in an undirected graph, the
    /// number of edges with both ends reached.
    counted: Mutex<Vec<u64>>,
}

impl<'a> InputEdges<'a> {
    /// Opens the edges of an input. `kind` is the type of the weights if they come from the input. Edges of reached
    /// vertices are counted if the graph is directed, or if `may_leave` says that an edge may lead from a reached
    /// vertex to an unreached one.
    pub fn new(
        input: &Input,
        weights: WeightSource,
        kind: WeightType,
        places: &'a Places,
        (direction, may_leave): (Direction, bool),
    ) -> InputEdges<'a> {
        let reads = if weights == WeightSource::File { Weights::Read(kind) } else { Weights::Skip };
        let input = input.clone().with_weights(reads);
        let counts = may_leave || direction == Direction::Directed;
        InputEdges { input, weights, places, direction, counts, counted: Mutex::default() }
    }

    /// Returns, for each tree, the number of edges that leave reached vertices or, in an undirected graph, the number
    /// of edges with both ends reached. Returns an empty list if edges were not counted.
    pub fn counted(self) -> Vec<u64> {
        self.counted.into_inner()
    }
}

impl EdgePass for InputEdges<'_> {
    fn vertices(&self) -> usize {
        self.places.vertices() as usize
    }

    fn has_wide_weights(&self) -> bool {
        matches!(self.input.weights(), Weights::Read(kind) if kind.is_wide())
    }

    fn pass<S: TreeSum, const W: usize>(
        &self,
        batch: &TreeBatch<'_, S, W>,
        threads: usize,
    ) -> Result<Result<(), NumberedFault>> {
        let trees = batch.trees.len();
        let new = || PathEdgeChecker { edges: self, batch, counted: vec![0; trees], wrong: None };
        let checkers = (0..threads.max(1)).map(|_| new()).collect();
        let checkers: Vec<PathEdgeChecker<'_, '_, S, W>> = self.places.each_edge(&self.input, checkers)?;
        if self.counts {
            let sums = (0..trees).map(|tree| checkers.iter().map(|checker| checker.counted[tree]).sum());
            self.counted.lock().extend(sums.collect::<Vec<u64>>());
        }
        let wrong = checkers.into_iter().filter_map(|checker| checker.wrong);
        let first = wrong.min_by_key(|&((number, _), ends)| (number, ends));
        Ok(first.map_or(Ok(()), |(wrong, _)| Err(wrong)))
    }

    fn name(&self, v: u32) -> String {
        self.places.name(v)
    }
}

/// State of one thread that checks edges against shortest-path trees.
struct PathEdgeChecker<'a, 'h, S, const W: usize> {
    edges: &'a InputEdges<'a>,
    batch: &'a TreeBatch<'h, S, W>,
    counted: Vec<u64>,
    /// The fault in the first faulty tree, and the ends of the smallest edge that shows this fault.
    wrong: Option<(NumberedFault, [u32; 2])>,
}

impl<S: TreeSum, const W: usize> EdgeCheck for PathEdgeChecker<'_, '_, S, W> {
    fn fetch(&self, place: u32) {
        self.batch.fetch(place);
    }

    fn weight(&self, [u, v]: [u64; 2], stored: Option<u64>) -> u64 {
        match self.edges.weights {
            WeightSource::File => stored.unwrap_or(0),
            WeightSource::Drawn(drawn) => drawn.of(self.edges.direction, RawId(u), RawId(v)).into(),
        }
    }

    fn edge(&mut self, [from, to]: [u32; 2], weight: u64) {
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
}

impl<S: TreeSum, const W: usize> PathEdgeChecker<'_, '_, S, W> {
    #[inline]
    fn check_direction(&mut self, from: u32, to: u32, weight: u64) {
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
