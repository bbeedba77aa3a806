//! Tests of triangle counting.

mod edges;
mod links;
mod work_source;

use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::cpu::tile::Tile;
use crate::algo::triangle::tests::work_source::Taken;
use crate::algo::triangle::units::{self, Part, PartialUnits, number, total};
use crate::algo::triangle::{Counter, Isa, PairCount, Settings};
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::memory::{Budget, limit_leaving};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Rows of a graph whose vertices have ids in descending order of degree, as in stored graphs.
pub(super) struct OrientedRows(Vec<Vec<u32>>);

impl OrientedRows {
    pub(super) fn new(vertices: u32, edges: &[(u32, u32)]) -> OrientedRows {
        let mut degrees = vec![0u32; vertices as usize];
        for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        let mut order: Vec<u32> = (0..vertices).collect();
        order.sort_by_key(|&v| (std::cmp::Reverse(degrees[v as usize]), v));
        let mut ids = vec![0; vertices as usize];
        for (id, &v) in order.iter().enumerate() {
            ids[v as usize] = id as u32;
        }
        let mut rows = vec![BTreeSet::new(); vertices as usize];
        for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
            let (u, v) = (ids[u as usize], ids[v as usize]);
            rows[u.max(v) as usize].insert(u.min(v));
        }
        OrientedRows(rows.into_iter().map(|row| row.into_iter().collect()).collect())
    }

    /// Returns the number of triangles of each vertex, computed from the adjacency matrix `A`. It is half the sum of
    /// the entries of `A²` at the edges of the vertex.
    fn oracle(&self) -> Vec<u64> {
        let n = self.0.len();
        let mut adjacent = vec![vec![false; n]; n];
        for (v, row) in self.0.iter().enumerate() {
            for &u in row {
                adjacent[v][u as usize] = true;
                adjacent[u as usize][v] = true;
            }
        }
        let closed = |v: usize| -> u64 {
            let neighbours: Vec<usize> = (0..n).filter(|&u| adjacent[v][u]).collect();
            let pairs = neighbours.iter().map(|&u| neighbours.iter().filter(|&&w| adjacent[u][w]).count() as u64);
            pairs.sum::<u64>() / 2
        };
        (0..n).map(closed).collect()
    }

    fn wedges(&self) -> u64 {
        self.0.iter().map(|row| row.len() as u64).map(|d| d * d.saturating_sub(1) / 2).sum()
    }

    /// Divides the rows into blocks of at most `targets` entries. A longer row is a block by itself.
    fn blocks(&self, targets: usize) -> Vec<(u32, Vec<u32>, Vec<u32>)> {
        let mut blocks: Vec<(u32, Vec<u32>, Vec<u32>)> = Vec::new();
        for (v, row) in self.0.iter().enumerate() {
            match blocks.last_mut() {
                Some((_, offsets, all)) if all.len() + row.len() <= targets => {
                    all.extend(row);
                    offsets.push(all.len() as u32);
                }
                _ => blocks.push((v as u32, vec![0, row.len() as u32], row.clone())),
            }
        }
        blocks
    }

    /// Stores the rows in block files of about `target` entries. Returns the block store, the expected count of each
    /// pair of blocks, and the folder that contains the files.
    pub(super) fn stored(&self, target: u64) -> (BlockStore, HashMap<u64, PairCount>, tempfile::TempDir) {
        let degree = self.0.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let layout = Layout::with_target(&DegreeRuns::new(vec![(degree, self.0.len() as u32)]), target);
        let folder = tempfile::tempdir().expect("a folder");
        let spans: Vec<Range<u64>> = (0..layout.blocks()).map(|b| layout.block(b).rows).collect();
        for (b, span) in spans.iter().enumerate() {
            let rows = &self.0[span.start as usize..span.end as usize];
            let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
            let _ = stored::write(folder.path(), 1, &layout, b, &[(&lengths, &rows.concat())]).expect("written");
        }
        let graph = BlockStore::open(folder.path(), 1, Half::Lower, layout).expect("whole");
        let cuts = spans.iter().map(|span| span.start as u32..span.end as u32).collect::<Vec<_>>();
        (graph, self.units(&cuts), folder)
    }

    /// Counts the triangles of each pair of blocks, wedge by wedge. `blocks` contains the range of rows of each block.
    fn units(&self, blocks: &[Range<u32>]) -> HashMap<u64, PairCount> {
        let block_of = |v: u32| blocks.iter().position(|rows| rows.contains(&v)).expect("every row is in a block");
        let pairs = (0..blocks.len()).flat_map(|partner| (0..=partner).map(move |front| number(front, partner)));
        let mut units: HashMap<u64, PairCount> = pairs.map(|unit| (unit, PairCount::default())).collect();
        for (c, row) in self.0.iter().enumerate() {
            let partner = block_of(c as u32);
            for (place, &b) in row.iter().enumerate() {
                let count = units.get_mut(&number(block_of(b), partner)).expect("a unit");
                count.probes += place as u64;
                count.triangles += row[..place].iter().filter(|&a| self.0[b as usize].contains(a)).count() as u64;
            }
        }
        units
    }

    /// Counts the triangles of every pair of blocks, in total and per vertex.
    fn count(&self, block: usize, settings: Settings) -> (PairCount, Vec<u64>) {
        let blocks = self.blocks(block);
        let blocks: Vec<Block> = blocks
            .iter()
            .map(|(first_row, offsets, targets)| Block { first_row: *first_row, offsets, targets })
            .collect();
        let per_vertex: Vec<AtomicU64> = self.0.iter().map(|_| AtomicU64::new(0)).collect();
        let max_row = self.0.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let mut counter = Counter::new(settings, self.0.len() as u64, max_row);
        let mut sum = PairCount::default();
        let mut fronts = counter.fronts(blocks.clone());
        for (at, &partner) in blocks.iter().enumerate() {
            let wanted: Vec<bool> = (0..blocks.len()).map(|front| front <= at).collect();
            let counts = fronts.partner(Tile::whole(partner), &wanted, None, &|| false).expect("nothing stops it");
            let again = fronts.partner(Tile::whole(partner), &wanted, Some(&per_vertex), &|| false);
            assert_eq!(again.as_ref(), Some(&counts));
            counts.into_iter().for_each(|count| sum += count);
        }
        (sum, per_vertex.into_iter().map(AtomicU64::into_inner).collect())
    }

    fn check(&self, block: usize, settings: Settings, triangles: u64) {
        let (sum, per_vertex) = self.count(block, settings);
        assert_eq!(sum, PairCount { triangles, probes: self.wedges(), links: 0 });
        assert_eq!(per_vertex.iter().sum::<u64>(), 3 * triangles);
    }
}

fn settings() -> Settings {
    Settings { threads: 2, isa: Isa::detect(), ..Settings::new(2, 1 << 24) }
}

fn complete(n: u32) -> Vec<(u32, u32)> {
    (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect()
}

#[test]
fn closed_forms() {
    let choose_3 = |n: u64| n * (n - 1) * (n - 2) / 6;
    let wheel = |n: u32| (1..n).flat_map(|v| [(0, v), (v, if v + 1 < n { v + 1 } else { 1 })]).collect::<Vec<_>>();
    let tripartite: Vec<_> = complete(90).into_iter().filter(|(u, v)| u % 3 != v % 3).collect();
    let hypercube: Vec<_> = (0..256u32).flat_map(|v| (0..8).map(move |bit| (v, v ^ 1 << bit))).collect();
    let star: Vec<_> = (1..1000).map(|v| (0, v)).collect();
    let path: Vec<_> = (1..1000).map(|v| (v - 1, v)).collect();
    let cases = [
        ("nothing", 1, vec![], 0),
        ("a loop", 1, vec![(0, 0)], 0),
        ("complete", 620, complete(620), choose_3(620)),
        ("wheel", 500, wheel(500), 499),
        ("tripartite", 90, tripartite, 30 * 30 * 30),
        ("hypercube", 256, hypercube, 0),
        ("star", 1000, star, 0),
        ("path", 1000, path, 0),
    ];
    for (name, vertices, edges, triangles) in cases {
        let rows = OrientedRows::new(vertices, &edges);
        let (small, whole) = (20_000, usize::MAX);
        for (hubs, block) in [(0, small), (0, whole), (64, whole), (512, small), (600, whole), (1 << 14, small)] {
            println!("{name}, {hubs} hubs, blocks of {block}");
            rows.check(block, Settings { hubs, ..settings() }, triangles);
        }
    }
}

#[test]
fn ids_too_high_to_be_marked() {
    // Three rows share entries that are too high for the bitmap and are therefore found by merging.
    let high = crate::algo::triangle::cpu::probe::MARK_IDS;
    let rows = [vec![high - 1, high, high + 2], vec![high - 1, high, high + 2, high + 4], vec![high + 2, high + 4]];
    let mut offsets = vec![0];
    let mut targets = Vec::new();
    let first_row = high - 1;
    for row in [&[][..], &[high - 1], &[], &[high - 1, high], &[], &rows[0], &rows[1], &rows[2]] {
        targets.extend_from_slice(row);
        offsets.push(targets.len() as u32);
    }
    let block = Block { first_row, offsets: &offsets, targets: &targets };
    let has = |v: u32, u: u32| v >= first_row && block.row((v - first_row) as usize).contains(&u);
    let ids = first_row..block.end_row();
    let mut expected = 0;
    for c in ids.clone() {
        for b in ids.clone().filter(|&b| has(c, b)) {
            expected += ids.clone().filter(|&a| has(c, a) && has(b, a)).count() as u64;
        }
    }
    assert!(expected > 3);
    let mut counter = Counter::new(settings(), u64::from(block.end_row()), 8);
    let counts =
        counter.fronts(vec![block]).partner(Tile::whole(block), &[true], None, &|| false).expect("nothing stops it");
    assert_eq!(counts[0].triangles, expected);
}

#[test]
fn a_count_stops_on_request() {
    let n = 3000u32;
    let offsets: Vec<u32> = (0..=n).map(|v| v * v.saturating_sub(1) / 2).collect();
    let targets: Vec<u32> = (0..n).flat_map(|v| 0..v).collect();
    let block = Block { first_row: 0, offsets: &offsets, targets: &targets };
    for hubs in [0, 1 << 14] {
        let asked = AtomicUsize::new(0);
        let mut counter = Counter::new(Settings { hubs, ..settings() }, 3000, 3000);
        let count =
            counter.fronts(vec![block]).partner(Tile::whole(block), &[true], None, &|| asked.fetch_add(1, Relaxed) > 0);
        assert!(asked.load(Relaxed) > 0, "asked {asked:?} times");
        assert_eq!(count, None);
    }
}

#[test]
fn scratch_memory_is_bounded() {
    let few = Counter::scratch_bytes(&Settings::new(3, 20), 10, 3);
    let many = Counter::scratch_bytes(&Settings::new(3, 1 << 40), 1 << 32, 1 << 17);
    assert!(few < 2 << 20 && many < 256 << 20, "{few} {many}");
}

#[test]
fn scratch_memory_takes_at_most_half_down_to_a_small_minimum() {
    for (threads, entries, vertices, row) in [(1, 1 << 24, 1 << 19, 1 << 13), (16, 1 << 36, 1 << 30, 1 << 18)] {
        let bytes = |free: u64| {
            let settings = Settings::within(threads, entries, vertices, row, free);
            Counter::scratch_bytes(&settings, vertices, row)
        };
        let (least, most) = (bytes(0), bytes(1 << 40));
        assert_eq!(most, Counter::scratch_bytes(&Settings::new(threads, entries), vertices, row));
        assert!(least < (1 << 20) + 12 * row + threads as u64 * (2 << 20), "{least}");
        for free in (20..40).map(|bits| 1 << bits) {
            assert!(
                bytes(free) <= least.max(free / 2) && bytes(free) >= most.min(free / 6),
                "{} of {free}",
                bytes(free)
            );
        }
    }
}

prop_compose! {
    /// Random graphs whose edges favour vertices with low ids, so that there are hubs. Half of the graphs have so few
    /// wedges that their rows are searched one after another.
    fn graph()(vertices in 1u32..120, most in prop::sample::select(vec![150usize, 1500]))(
        edges in prop::collection::vec((0..vertices, 0..vertices, 0..vertices), 0..most),
        vertices in Just(vertices),
    ) -> (u32, Vec<(u32, u32)>) {
        (vertices, edges.into_iter().map(|(u, v, w)| (u.min(v), w)).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn agrees_with_the_matrix(
        (vertices, edges) in graph(),
        block in prop::sample::select(vec![1usize, 7, 50, 300, usize::MAX]),
        threads in prop::sample::select(vec![1usize, 2, 7]),
        isa in prop::sample::select(vec![Isa::Avx512, Isa::Avx2, Isa::Plain]),
        hubs in prop::sample::select(vec![0u32, 1, 8, 40, 1 << 14]),
        tile in prop::sample::select(vec![1usize, 16, 200, 1 << 20]),
    ) {
        let rows = OrientedRows::new(vertices, &edges);
        let (sum, per_vertex) = rows.count(block, Settings { threads, isa, hubs, tile });
        let expected = rows.oracle();
        prop_assert_eq!(sum.triangles, expected.iter().sum::<u64>() / 3);
        prop_assert_eq!(sum.probes, rows.wedges());
        prop_assert_eq!(per_vertex, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Checks that the count of a pair of blocks depends neither on which front blocks are resident together, nor on
    /// which pairs an earlier run has counted.
    #[test]
    fn units_have_their_own_wedges(
        (vertices, edges) in graph(),
        block in prop::sample::select(vec![1usize, 7, 50, 300]),
        threads in prop::sample::select(vec![1usize, 2, 7]),
        hubs in prop::sample::select(vec![0u32, 8, 40, 1 << 14]),
        tile in prop::sample::select(vec![1usize, 16, 200]),
        in_hand in prop::sample::select(vec![1usize, 3, 1000]),
        picks in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        let rows = OrientedRows::new(vertices, &edges);
        let blocks = rows.blocks(block);
        let blocks: Vec<Block> =
            blocks.iter().map(|(first_row, offsets, targets)| Block { first_row: *first_row, offsets, targets }).collect();
        let spans: Vec<Range<u32>> = blocks.iter().map(|block| block.first_row..block.end_row()).collect();
        let longest = rows.0.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let settings = Settings { threads, hubs, tile, ..settings() };
        let mut counter = Counter::new(settings, u64::from(vertices), longest);
        let per_vertex: Vec<AtomicU64> = rows.0.iter().map(|_| AtomicU64::new(0)).collect();
        let mut found = HashMap::new();
        for run in [true, false] {
            for first in (0..blocks.len()).step_by(in_hand) {
                let fronts = first..blocks.len().min(first + in_hand);
                let mut counter = counter.fronts(blocks[fronts.clone()].to_vec());
                for partner in first..blocks.len() {
                    let picked = |front| picks[number(front, partner) as usize % picks.len()] == run;
                    let wanted: Vec<bool> = fronts.clone().map(|front| front <= partner && picked(front)).collect();
                    let counts = counter.partner(Tile::whole(blocks[partner]), &wanted, Some(&per_vertex), &|| false);
                    let counts = counts.expect("nothing stops it");
                    let again = counter.partner(Tile::whole(blocks[partner]), &wanted, None, &|| false);
                    prop_assert_eq!(Some(&counts), again.as_ref());
                    for ((front, count), wanted) in fronts.clone().zip(counts).zip(wanted) {
                        if wanted {
                            prop_assert_eq!(found.insert(number(front, partner), count), None);
                        } else {
                            prop_assert_eq!(count, PairCount::default());
                        }
                    }
                }
            }
        }
        prop_assert_eq!(found, rows.units(&spans));
        let per_vertex: Vec<u64> = per_vertex.into_iter().map(AtomicU64::into_inner).collect();
        prop_assert_eq!(per_vertex, rows.oracle());
    }
}

#[test]
fn fronts_fill_the_memory_that_is_left() {
    // Every row contains the 40 vertices before it and some others. This results in about 40 blocks.
    let row = |v: u32| (0..v).filter(|&u| v - u <= 40 || (u * 7 + v) % 97 < 3).collect::<BTreeSet<u32>>();
    let rows = OrientedRows((0..900).map(|v| row(v).into_iter().collect()).collect());
    let (graph, expected, _folder) = rows.stored(1500);
    assert!(graph.len() > 30 && expected.len() as u64 == total(graph.len()));

    let least = Settings::within(2, graph.edges(), 900, graph.extremes().row, 0);
    let scratch = Counter::scratch_bytes(&least, 900, graph.extremes().row);
    let block = graph.bytes_of(0).max(graph.bytes_of(graph.len() - 1));
    let mut calls = Vec::new();
    for more in [0, 4 * block, 1 << 30] {
        let budget = Budget::new(limit_leaving(scratch + more, 2), 2).expect("enough");
        let mut cpu = Cpu::new(&graph, 900, 2, &budget, None, &|| None).expect("enough");
        let (mut found, mut call) = (HashMap::new(), 0);
        let done: HashSet<u64> = (1..total(graph.len())).step_by(5).collect();
        let (work_source, mut gathering) = (Taken::new(1, u64::MAX), PartialUnits::default());
        let take = &mut |parts: &[Part]| {
            call += 1;
            let units = parts.iter().filter_map(|part| gathering.add(&graph, part));
            units.for_each(|(unit, count)| assert_eq!(found.insert(unit, count), None, "a unit comes once"));
            Ok(())
        };
        units::run(&graph, &done, &mut cpu, &work_source, take, &mut || Ok(())).expect("nothing stops it");
        assert!(gathering.is_empty());
        let expected: HashMap<_, _> = expected.clone().into_iter().filter(|(unit, _)| !done.contains(unit)).collect();
        assert_eq!(found, expected);
        calls.push(call);
    }
    // Three settings: one resident front block at a time, several, and all.
    assert!(calls[0] > calls[1] && calls[1] > calls[2] && calls[2] == graph.len(), "{calls:?}");
}

#[test]
fn a_unit_with_repeated_rows_is_never_complete() {
    let rows = OrientedRows((0..90).map(|v| (0..v).collect()).collect());
    let (graph, ..) = rows.stored(600);
    let all = (graph.layout.block(0).len() * graph.layout.block(1).len()) as u64;
    let part = |pairs| Part { front: 0, partner: 1, pairs, count: PairCount::default() };
    let mut gathering = PartialUnits::default();
    assert_eq!(gathering.add(&graph, &part(all - 1)), None);
    assert_eq!(gathering.add(&graph, &part(2)), None);
    assert!(!gathering.is_empty());
    let mut gathering = PartialUnits::default();
    assert_eq!([all - 1, 1].map(|pairs| gathering.add(&graph, &part(pairs)).is_some()), [false, true]);
    assert!(gathering.is_empty());
}
