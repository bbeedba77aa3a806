//! Shortest paths by the oracle: Dijkstra with a heap for distances, and for parents the rule that the documentation gives.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::fmt::Debug;
use std::path::Path;

use gpugraph::internals::formats::{Edges, FileSearch, Format, Input, Unwatched, Visitor, WeightType, Weights};
use serde_json::{Value, json};

use crate::oracle::{Graph, Known, drawn_hash};

/// A sum of weights.
pub trait Sum: Copy + PartialOrd + Debug {
    const ZERO: Self;
    const UNREACHED: Self;
    const DESCR: &'static str;
    /// By the bits of a weight.
    fn plus(self, weight: u64) -> Self;
    fn bytes(self) -> Vec<u8>;
    fn json(self) -> Value;
}

impl Sum for u64 {
    const ZERO: u64 = 0;
    const UNREACHED: u64 = u64::MAX;
    const DESCR: &'static str = "<u8";

    /// A sum beyond the largest is that of who is not reached.
    fn plus(self, weight: u64) -> u64 {
        self.saturating_add(weight)
    }

    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().into()
    }

    fn json(self) -> Value {
        json!(self)
    }
}

impl Sum for f32 {
    const ZERO: f32 = 0.0;
    const UNREACHED: f32 = f32::INFINITY;
    const DESCR: &'static str = "<f4";

    fn plus(self, weight: u64) -> f32 {
        self + f32::from_bits(weight as u32)
    }

    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().into()
    }

    fn json(self) -> Value {
        json!(f64::from(self))
    }
}

impl Sum for f64 {
    const ZERO: f64 = 0.0;
    const UNREACHED: f64 = f64::INFINITY;
    const DESCR: &'static str = "<f8";

    fn plus(self, weight: u64) -> f64 {
        self + f64::from_bits(weight)
    }

    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().into()
    }

    fn json(self) -> Value {
        json!(self)
    }
}

/// The weights that a table takes.
#[derive(Clone, Copy, Debug)]
pub enum Taken {
    /// Those of the edges, of this type.
    File(WeightType),
    Unit,
    Whole(u32, u32, u64),
    Decimal(f32, f32, u64),
}

impl Taken {
    /// The key of a table.
    pub fn key(self) -> String {
        match self {
            Taken::File(_) => "weights = \"file\"\n".into(),
            Taken::Unit => "weights = { unit = true }\n".into(),
            Taken::Whole(least, most, seed) => format!("weights = {{ uniform = [{least}, {most}], seed = {seed} }}\n"),
            Taken::Decimal(least, most, seed) => {
                format!("weights = {{ uniform = [{least:?}, {most:?}], seed = {seed} }}\n")
            }
        }
    }

    fn of(self, directed: bool, [u, v]: [u64; 2], own: u64) -> u64 {
        let ends = if directed || u < v { [u, v] } else { [v, u] };
        match self {
            Taken::File(_) => own,
            Taken::Unit => 1,
            Taken::Whole(least, most, seed) => {
                u64::from(least) + (((drawn_hash(seed, ends) >> 32) * (u64::from(most - least) + 1)) >> 32)
            }
            Taken::Decimal(least, most, seed) => {
                let part = (drawn_hash(seed, ends) >> 40) as f32 / 16_777_216.0;
                (least + part * (most - least)).min(most).to_bits().into()
            }
        }
    }
}

/// Edges with the bits of their weights, loops and repeats included.
#[derive(Clone, Default)]
pub struct Weighted {
    pub edges: Vec<([u64; 2], u64)>,
    /// Vertices that are declared, or the largest id + 1.
    pub declared: u64,
}

impl Visitor for Weighted {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> gpugraph::Result<()> {
        let words = weights.chunks_exact((weights.len() / edges.len().max(1)).max(1));
        let bits = words.map(|words| words.iter().rev().fold(0, |bits, &word| bits << 32 | u64::from(word)));
        let weights = bits.chain(std::iter::repeat(0));
        match edges {
            Edges::Narrow(pairs) => self.edges.extend(pairs.iter().map(|pair| pair.map(u64::from)).zip(weights)),
            Edges::Wide(pairs) => self.edges.extend(pairs.iter().copied().zip(weights)),
        }
        Ok(())
    }
}

impl Weighted {
    /// Those of whole weights.
    pub fn of(edges: &[(u64, u64, u32)]) -> Weighted {
        let edges: Vec<_> = edges.iter().map(|&(u, v, weight)| ([u, v], weight.into())).collect();
        let declared = edges.iter().flat_map(|(ends, _)| ends).max().map_or(0, |most| most + 1);
        Weighted { edges, declared }
    }

    /// Reads a file, and says of which type its weights are.
    pub fn read(path: &Path) -> (Weighted, Option<WeightType>) {
        Self::read_as(path, None)
    }

    /// Reads a file in a format.
    pub fn read_as(path: &Path, format: Option<Format>) -> (Weighted, Option<WeightType>) {
        let input = Input::find(&[path.to_owned()], format, FileSearch::default()).expect("open");
        let found = input.clone().with_weights(Weights::Find).scan(&mut [Weighted::default()], &Unwatched);
        let kind = found.expect("read").weights;
        let mut all = [Weighted::default()];
        let scan = input.with_weights(kind.map_or(Weights::Skip, Weights::Read)).scan(&mut all, &Unwatched);
        let [mut all] = all;
        let largest = all.edges.iter().flat_map(|(ends, _)| ends).max().map_or(0, |most| most + 1);
        all.declared = scan.expect("read").declared_vertices.unwrap_or(0).max(largest);
        (all, kind)
    }

    /// The id of each row of results: all up to the largest, or of sparse ids those that occur.
    pub fn rows(&self) -> Vec<u64> {
        if self.declared <= 8 * self.edges.len() as u64 + 1 {
            return (0..self.declared).collect();
        }
        let ids: BTreeSet<u64> = self.edges.iter().flat_map(|(ends, _)| *ends).collect();
        ids.into_iter().collect()
    }

    /// The edges as text with whole weights.
    pub fn text(&self) -> String {
        self.edges.iter().map(|([u, v], weight)| format!("{u} {v} {weight}\n")).collect()
    }
}

/// What a search from a source must find, a row for each vertex.
pub struct Found {
    pub reached: u64,
    pub max_distance: Value,
    pub edges: u64,
    pub descr: &'static str,
    pub distances: Vec<u8>,
    pub parents: Vec<u8>,
}

/// Vertices by their ids, with the edges that leave and enter them.
pub struct Paths {
    rows: Vec<u64>,
    out: Vec<Vec<(usize, u64)>>,
    into: Vec<Vec<(usize, u64)>>,
    /// The place of each in the order of vertices.
    places: Vec<usize>,
    directed: bool,
}

/// An entry of the heap: the nearest comes first.
struct Near<S>(S, usize);

impl<S: Sum> PartialEq for Near<S> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<S: Sum> Eq for Near<S> {}

impl<S: Sum> PartialOrd for Near<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<S: Sum> Ord for Near<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.partial_cmp(&self.0).expect("numbers").then(other.1.cmp(&self.1))
    }
}

impl Paths {
    /// `rows` are the ids of all vertices, ascending.
    pub fn new(edges: &[([u64; 2], u64)], rows: Vec<u64>, directed: bool, taken: Taken) -> Paths {
        let (mut out, mut into) = (vec![Vec::new(); rows.len()], vec![Vec::new(); rows.len()]);
        let mut degrees = vec![0u64; rows.len()];
        let row = |id: u64| rows.binary_search(&id).expect("a row");
        for &([u, v], own) in edges.iter().filter(|([u, v], _)| u != v) {
            let weight = taken.of(directed, [u, v], own);
            let (u, v) = (row(u), row(v));
            [u, v].iter().for_each(|&end| degrees[end] += 1);
            for (u, v) in [(u, v), (v, u)].into_iter().take(if directed { 1 } else { 2 }) {
                out[u].push((v, weight));
                into[v].push((u, weight));
            }
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&row| (Reverse(degrees[row]), row));
        let mut places = vec![0; rows.len()];
        order.iter().enumerate().for_each(|(place, &row)| places[row] = place);
        Paths { rows, out, into, places, directed }
    }

    fn distances<S: Sum>(&self, root: usize) -> Vec<S> {
        let mut distances = vec![S::UNREACHED; self.rows.len()];
        distances[root] = S::ZERO;
        let mut heap = BinaryHeap::from([Near(S::ZERO, root)]);
        while let Some(Near(distance, u)) = heap.pop() {
            if distance > distances[u] {
                continue;
            }
            for &(v, weight) in &self.out[u] {
                let sum = distance.plus(weight);
                if sum < distances[v] {
                    distances[v] = sum;
                    heap.push(Near(sum, v));
                }
            }
        }
        distances
    }

    /// The smallest nearer vertex with an edge that adds up; on a plateau, the smallest that is a step nearer.
    fn parents<S: Sum>(&self, root: usize, distances: &[S]) -> Vec<Option<usize>> {
        let of = |v: usize| distances[v];
        let is_reached = |v: usize| of(v) < S::UNREACHED;
        let tight =
            |&(u, weight): &(usize, u64), v: usize| is_reached(u) && is_reached(v) && of(u).plus(weight) == of(v);
        let first = |v: usize, fits: &dyn Fn(usize) -> bool| {
            let before = self.into[v].iter().filter(|edge| tight(edge, v) && fits(edge.0));
            before.map(|&(u, _)| u).min_by_key(|&u| self.places[u])
        };
        let mut parents: Vec<Option<usize>> =
            (0..self.rows.len()).map(|v| if v == root { Some(v) } else { first(v, &|u| of(u) < of(v)) }).collect();
        let mut steps: Vec<Option<u64>> = parents.iter().map(|parent| parent.map(|_| 0)).collect();
        let mut queue: VecDeque<usize> = (0..steps.len()).filter(|&v| steps[v].is_some()).collect();
        while let Some(u) = queue.pop_front() {
            for &(v, weight) in &self.out[u] {
                if of(u) == of(v) && tight(&(u, weight), v) && steps[v].is_none() {
                    steps[v] = steps[u].map(|step| step + 1);
                    queue.push_back(v);
                }
            }
        }
        for v in (0..steps.len()).filter(|&v| steps[v] > Some(0)) {
            parents[v] = first(v, &|u| of(u) == of(v) && steps[u].map(|step| step + 1) == steps[v]);
        }
        parents
    }

    fn found<S: Sum>(&self, root: usize) -> Found {
        let distances = self.distances::<S>(root);
        let parents = self.parents(root, &distances);
        let is_reached = |&v: &usize| distances[v] < S::UNREACHED;
        let reached: Vec<usize> = (0..self.rows.len()).filter(is_reached).collect();
        assert!(reached.iter().all(|&v| parents[v].is_some()));
        let most = reached.iter().map(|&v| distances[v]).fold(S::ZERO, |most, sum| if sum > most { sum } else { most });
        let distinct = |v: usize| {
            let mut heads: Vec<usize> = self.out[v].iter().map(|&(head, _)| head).collect();
            heads.sort_unstable();
            heads.dedup();
            heads.len() as u64
        };
        let edges = match self.directed {
            true => reached.iter().map(|&v| distinct(v)).sum(),
            // Where sums are infinite, an edge may lead from a vertex that is reached to one that is not.
            false => {
                let inside = |&v: &usize| self.out[v].iter().filter(|(head, _)| is_reached(head)).count() as u64;
                reached.iter().map(inside).sum::<u64>() / 2
            }
        };
        let parent = |parent: &Option<usize>| parent.map_or(-1, |parent| self.rows[parent] as i64).to_le_bytes();
        Found {
            reached: reached.len() as u64,
            max_distance: most.json(),
            edges,
            descr: S::DESCR,
            distances: distances.iter().flat_map(|sum| sum.bytes()).collect(),
            parents: parents.iter().flat_map(parent).collect(),
        }
    }

    /// Searches from a vertex.
    pub fn from(&self, source: u64, taken: Taken) -> Found {
        let root = self.rows.binary_search(&source).expect("a vertex");
        match taken {
            Taken::File(WeightType::F32) | Taken::Decimal(..) => self.found::<f32>(root),
            Taken::File(WeightType::F64) => self.found::<f64>(root),
            _ => self.found::<u64>(root),
        }
    }
}

impl Graph {
    /// Shortest paths from three sources: a vertex, one with a loop alone, and one more.
    pub fn paths(&self, directed: bool) -> Vec<Known> {
        let sources = [self.rows[5], self.rows[self.rows.len() - 1], self.rows[self.rows.len() / 2]];
        let of_file = if self.sparse { WeightType::F32 } else { WeightType::U32 };
        let taken = match directed {
            false => [Taken::File(of_file), Taken::Decimal(0.0, 1.0, 7), Taken::Whole(0, 3, 7)],
            true => [Taken::File(of_file), Taken::Whole(1, 255, 7), Taken::Unit],
        };
        let known = |taken: Taken| {
            let edges: Vec<_> = self.weighted().into_iter().map(|(ends, weight)| (ends, weight.into())).collect();
            let paths = Paths::new(&edges, self.rows.clone(), directed, taken);
            let (mut found, mut files) = (Vec::new(), Vec::new());
            for source in sources {
                let Found { reached, max_distance, edges, descr, distances, parents } = paths.from(source, taken);
                files.push((format!("sssp/{source}/distance"), descr, distances));
                files.push((format!("sssp/{source}/parent"), "<i8", parents));
                found.push(
                    json!({ "source": source, "reached": reached, "max_distance": max_distance, "edges": edges }),
                );
            }
            let direction = if directed { "# direction = true\n" } else { "" };
            let table = format!("[sssp]\n{direction}sources = {sources:?}\n{}", taken.key());
            ([table.clone(), format!("{table}write = true\n")], json!({ "sources": found, "validated": true }), files)
        };
        taken.map(known).into()
    }
}
