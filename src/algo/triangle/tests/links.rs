//! Compares links (the directed edges between the neighbours of a vertex) with a count by their definition.

use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::cpu::links::{self, LinkCounter};
use crate::algo::triangle::cpu::probe::MARK_IDS;
use crate::algo::triangle::cpu::tile::Tile;
use crate::algo::triangle::tests::work_source::Taken;
use crate::algo::triangle::units::{self, Part, PartialUnits, Sum, total};
use crate::algo::triangle::{Settings, Triangle, merged_rows};
use crate::algo::{Algorithm, StoredUnits, UnitsContent};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::memory::{Budget, bytes_of};
use crate::store::checkpoint::{Checkpoint, Saved};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// A directed graph without self-loops and repeated edges.
struct Digraph {
    vertices: u32,
    edges: BTreeSet<(u32, u32)>,
}

impl Digraph {
    fn new(vertices: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Digraph {
        Digraph { vertices, edges: edges.into_iter().filter(|(u, v)| u != v).collect() }
    }

    /// Stores the lower halves of out-rows and in-rows in blocks of about `target` entries.
    fn stored(&self, target: u64) -> (BlockStore, tempfile::TempDir) {
        let mut rows = vec![Vec::new(); 2 * self.vertices as usize];
        for &(u, v) in &self.edges {
            // Edges are in ascending order, so the rows are as well.
            if v < u { rows[2 * u as usize].push(v) } else { rows[2 * v as usize + 1].push(u) }
        }
        let degree = rows.chunks(2).map(|rows| rows[0].len() + rows[1].len()).max().unwrap_or(0) as u32;
        let runs = DegreeRuns::new(vec![(degree, self.vertices)]);
        let layout = Layout::of_half(&runs, target, Half::Lower, Direction::Directed);
        let folder = tempfile::tempdir().expect("a folder");
        for b in 0..layout.blocks() {
            let span = layout.block(b).rows;
            let rows = &rows[span.start as usize..span.end as usize];
            let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
            let _ = stored::write(folder.path(), 1, &layout, b, &[(&lengths, &rows.concat())]).expect("written");
        }
        (BlockStore::open(folder.path(), 1, Half::Lower, layout).expect("whole"), folder)
    }

    /// Returns the links and the degree of each vertex that has an edge. Links are counted by their definition.
    fn oracle(&self) -> BTreeMap<u32, (u64, u32)> {
        let mut neighbours: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &(u, v) in &self.edges {
            neighbours.entry(u).or_default().insert(v);
            neighbours.entry(v).or_default().insert(u);
        }
        let of = |(&v, neighbours): (&u32, &BTreeSet<u32>)| {
            let pairs = neighbours.iter().flat_map(|&u| neighbours.iter().map(move |&w| (u, w)));
            (v, (pairs.filter(|pair| self.edges.contains(pair)).count() as u64, neighbours.len() as u32))
        };
        neighbours.iter().map(of).collect()
    }

    /// Counts links on `ranks` ranks, which stop after `stop` work items and then resume. Checks links, degrees and
    /// sums.
    fn check(&self, target: u64, (ranks, threads): (usize, usize), stop: u64) {
        let (graph, _folder) = self.stored(target);
        let counts: Vec<AtomicU64> = (0..self.vertices).map(|_| AtomicU64::new(0)).collect();
        let mut done = HashSet::new();
        let mut sum = Sum::default();
        for stop in [stop, u64::MAX] {
            let work_source = Taken::new(ranks, stop);
            let reported = Mutex::new((PartialUnits::default(), Vec::new()));
            let count = || {
                let budget = Budget::new(1 << 30, 1).expect("enough");
                let cpu = Cpu::of_links(&graph, threads, &budget, &counts, &|| None).expect("enough");
                let take = &mut |parts: &[Part]| {
                    let (gathering, found) = &mut *reported.lock().expect("no thread panics");
                    found.extend(parts.iter().filter_map(|part| gathering.add(&graph, part)));
                    Ok(())
                };
                let mut cpu = cpu.with_least_item(10);
                units::run(&graph, &done, &mut cpu, &work_source, take, &mut || Ok(())).expect("nothing stops it");
            };
            std::thread::scope(|scope| (0..ranks).for_each(|_| drop(scope.spawn(count))));
            let (gathering, found) = reported.into_inner().expect("no thread panics");
            assert!(gathering.is_empty());
            for (unit, count) in found {
                assert!(done.insert(unit), "a unit comes once");
                sum += count;
            }
        }
        assert_eq!(done.len() as u64, total(graph.len()));
        let budget = Budget::new(1 << 30, 1).expect("enough");
        let degrees = links::degrees(&graph, threads, self.vertices.into(), &budget).expect("enough");
        let found = (0..).zip(counts.into_iter().map(AtomicU64::into_inner).zip(degrees.iter().copied()));
        let found: BTreeMap<u32, (u64, u32)> = found.filter(|(_, (_, degree))| *degree > 0).collect();
        assert_eq!(found, self.oracle());
        assert_eq!(sum.links, found.values().map(|&(links, _)| u128::from(links)).sum());
        let directions = |u: u32, v: u32| self.edges.contains(&(u, v)) || self.edges.contains(&(v, u));
        let of = |c: u32| (0..c).flat_map(move |b| (0..b).map(move |a| [a, b, c]));
        let triangles = found.keys().filter(|_| self.vertices < 200).flat_map(|&c| of(c));
        let closed = triangles.filter(|&[a, b, c]| directions(a, b) && directions(a, c) && directions(b, c)).count();
        assert!(self.vertices >= 200 || sum.triangles == closed as u128, "{} of {closed}", sum.triangles);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Compares links with a count by their definition. Some edges go both ways, and some blocks end between the two
    /// rows of a vertex.
    #[test]
    fn links_are_those_of_the_definition(
        vertices in 1u32..60,
        edges in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>()), 0..400),
        target in prop::sample::select(vec![1u64, 7, 50, 300, u64::MAX]),
        ranks in prop::sample::select(vec![1usize, 3]),
        threads in prop::sample::select(vec![1usize, 2, 5]),
        stop in prop::sample::select(vec![1, 5, u64::MAX]),
    ) {
        // Low ids occur more often, so that there are vertices of high degree.
        let ends = |(u, v, w, back): (u32, u32, u32, bool)| {
            let (u, v) = ((u % vertices).min(v % vertices), w % vertices);
            [(u, v), if back { (v, u) } else { (u, v) }]
        };
        Digraph::new(vertices, edges.into_iter().flat_map(ends)).check(target, (ranks, threads), stop);
    }
}

#[test]
fn tiles_may_be_smaller_than_rows_and_stop() {
    for (n, stops) in [(40u32, false), (400, true)] {
        let edges = (0..n).flat_map(|u| (0..n).map(move |v| (u, v))).filter(|(u, v)| stops || (3 * u + 5 * v) % 7 < 4);
        let graph = Digraph::new(n, edges);
        let (store, _folder) = graph.stored(u64::MAX);
        let counts: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
        let block = store.block(0);
        let mut counter = LinkCounter::new(Settings { tile: 16, ..Settings::new(3, 1) }, u64::from(n));
        let found = counter.partner((&store, &[block]), Tile::whole(block), &[true], &counts, &|| stops);
        assert_eq!(found.is_none(), stops);
        let links = counts.into_iter().map(AtomicU64::into_inner);
        assert!(stops || links.eq(graph.oracle().values().map(|&(links, _)| links)));
    }
}

#[test]
fn ids_too_high_to_be_marked_are_compared() {
    let first = MARK_IDS / 2 - 4;
    let edges = (0..12u32).flat_map(|u| (0..12).map(move |v| (u, v))).filter(|(u, v)| (3 * u + 5 * v) % 7 < 4);
    Digraph::new(first + 12, edges.map(|(u, v)| (first + u, first + v))).check(u64::MAX, (1, 2), u64::MAX);
}

/// Checks that the merged row of each vertex consists of the codes of its neighbours with smaller ids, and that it is
/// in the block with the same index as the block of the vertex's out-row.
#[test]
fn merged_rows_have_the_blocks_of_the_out_rows() {
    let edges = (0..60u32).flat_map(|u| (0..60).map(move |v| (u, v))).filter(|(u, v)| (3 * u + 5 * v) % 7 < 4);
    let graph = Digraph::new(60, edges);
    let code = |u: u32, v: u32| match (graph.edges.contains(&(u, v)), graph.edges.contains(&(v, u))) {
        (false, false) => None,
        (one, other) => Some(2 * v + u32::from(one && other)),
    };
    for target in [1, 7, 50, 300, u64::MAX] {
        let (store, _folder) = graph.stored(target);
        let folder = tempfile::tempdir().expect("a folder");
        let budget = Budget::new(1 << 30, 1).expect("enough");
        let rows = merged_rows::build(&store, (folder.path(), 1), 2, &budget).expect("enough");
        assert_eq!(rows.len(), store.len());
        for v in 0..60u32 {
            assert_eq!(rows.layout.block_of(v), store.layout.block_of(2 * v), "{target}");
            assert_eq!(rows.row(v), (0..v).filter_map(|u| code(v, u)).collect::<Vec<_>>());
        }
        let mut last = 0;
        for block in 0..rows.len() {
            assert_eq!(rows.layout.block(block).rows.start, last, "{target}");
            last = rows.layout.block(block).rows.end;
        }
        assert_eq!(last, 60);
    }
}

#[test]
fn a_checkpoint_with_a_wrong_count_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("triangle.0.checkpoint");
    let table = Triangle { clustering: Direction::Directed, ..Triangle::default() };
    for (counts, is_right) in [([1u64, 1, 1], true), ([1, 1, 2], false)] {
        // Nanoseconds, triangles, tested wedges and links of a cycle of three vertices. All but the first are stored as
        // a low and a high half.
        let sections = [bytes_of(&[9u64, 1, 0, 1, 0, 3, 0]), bytes_of(&[0u64]), bytes_of(&counts)];
        Checkpoint::new(path.clone(), 7).save(1, 1, &sections).expect("saved");
        let saved = Saved::open(&path, 7).expect("whole");
        let units = StoredUnits { path: &path, vertices: 3, total: 1, content: UnitsContent::Checkpoint(&saved) };
        assert_eq!(table.verify_units(&units, None).is_ok(), is_right);
    }
}
