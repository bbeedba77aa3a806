//! Compares the triangle counts of edges with the numbers of common neighbours of their endpoints.

use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::cpu::edges::{EdgeCounters, UnitCounters};
use crate::algo::triangle::cpu::probe::MARK_IDS;
use crate::algo::triangle::cpu::tile::Tile;
use crate::algo::triangle::gpu::{Counted, Gpu, edges_on_gpu};
use crate::algo::triangle::tests::work_source::Taken;
use crate::algo::triangle::tests::{OrientedRows, complete, graph, settings};
use crate::algo::triangle::units::{self, PairCount, number};
use crate::algo::triangle::{Counter, Isa, Settings};
use crate::graph::csr::Block;
use crate::memory::Budget;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Returns the number of triangles of each edge, in the order of the entries of all rows.
fn oracle(rows: &OrientedRows) -> Vec<u32> {
    let mut neighbours = vec![HashSet::new(); rows.0.len()];
    for (v, row) in rows.0.iter().enumerate() {
        for &u in row {
            neighbours[v].insert(u);
            neighbours[u as usize].insert(v as u32);
        }
    }
    let common = |v: usize, u: u32| neighbours[v].intersection(&neighbours[u as usize]).count() as u32;
    rows.0.iter().enumerate().flat_map(|(v, row)| row.iter().map(move |&u| (v, u))).map(|(v, u)| common(v, u)).collect()
}

/// Counts the triangles of each edge and all triangles. Blocks have `block` entries, and edges are counted for `group`
/// blocks at a time.
fn count(rows: &OrientedRows, block: usize, group: usize, settings: Settings) -> (Vec<u32>, PairCount) {
    let blocks = rows.blocks(block);
    let blocks: Vec<Block> =
        blocks.iter().map(|(first_row, offsets, targets)| Block { first_row: *first_row, offsets, targets }).collect();
    let max_row = rows.0.iter().map(Vec::len).max().unwrap_or(0) as u64;
    let mut counter = Counter::new(settings, rows.0.len() as u64, max_row);
    let mut fronts = counter.fronts(blocks.clone());
    let (mut supports, mut sum) = (Vec::new(), PairCount::default());
    for first in (0..blocks.len()).step_by(group) {
        let here = first..blocks.len().min(first + group);
        let cells: Vec<Vec<AtomicU32>> =
            blocks.iter().map(|block| block.targets.iter().map(|_| AtomicU32::new(0)).collect()).collect();
        let of = |at: usize| Some(cells[at].as_slice()).filter(|_| here.contains(&at));
        let of_fronts: Vec<_> = (0..blocks.len()).map(of).collect();
        for (at, &partner) in blocks.iter().enumerate() {
            let wanted: Vec<bool> =
                (0..blocks.len()).map(|front| front <= at && (here.contains(&front) || here.contains(&at))).collect();
            let counters = UnitCounters { fronts: &of_fronts, partner: of(at) };
            let counts = fronts.partner_edges(Tile::whole(partner), &wanted, counters, &|| false);
            let counts = counts.expect("nothing stops it");
            assert_eq!(fronts.partner(Tile::whole(partner), &wanted, None, &|| false).as_ref(), Some(&counts));
            if here.contains(&at) {
                counts.into_iter().for_each(|count| sum += count);
            }
        }
        supports.extend(here.flat_map(|at| &cells[at]).map(|cell| cell.load(Relaxed)));
    }
    (supports, sum)
}

#[test]
fn closed_forms() {
    for n in [1, 2, 3, 30, 620] {
        let rows = OrientedRows::new(n, &complete(n));
        for hubs in [0, 64, 600, 1 << 14] {
            let (supports, sum) = count(&rows, 20_000, 2, Settings { hubs, ..settings() });
            assert_eq!(supports.len() as u32, n * (n - 1) / 2);
            assert!(supports.iter().all(|&support| support == n - 2), "{n}, {hubs} hubs");
            assert_eq!(3 * sum.triangles, supports.iter().map(|&support| u64::from(support)).sum::<u64>());
        }
    }
    let star: Vec<_> = (1..1000).map(|v| (0, v)).collect();
    assert_eq!(count(&OrientedRows::new(1000, &star), 100, 1, settings()).0, vec![0; 999]);
}

#[test]
fn ids_too_high_to_be_marked() {
    // Some rows have common entries on both sides of the highest id that the bitmap covers.
    let ids = MARK_IDS - 70..MARK_IDS + 70;
    let row =
        |v: u32| (ids.start..v).filter(|&u| (u * 7 + v * 3) % 5 < 3 || v.is_multiple_of(11)).collect::<Vec<u32>>();
    let mut rows = OrientedRows(vec![Vec::new(); ids.start as usize]);
    rows.0.extend(ids.clone().map(row));
    let supports = count(&rows, usize::MAX, 1, settings()).0;
    assert!(supports == oracle(&rows) && supports.iter().any(|&support| support > 9));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn common_neighbours(
        (vertices, edges) in graph(),
        block in prop::sample::select(vec![1usize, 7, 50, 300, usize::MAX]),
        group in prop::sample::select(vec![1usize, 2, 5, 1000]),
        threads in prop::sample::select(vec![1usize, 2, 4, 7]),
        isa in prop::sample::select(vec![Isa::Avx512, Isa::Avx2, Isa::Plain]),
        hubs in prop::sample::select(vec![0u32, 1, 8, 40, 1 << 14]),
        tile in prop::sample::select(vec![1usize, 16, 200, 1 << 20]),
    ) {
        let rows = OrientedRows::new(vertices, &edges);
        let (supports, sum) = count(&rows, block, group, Settings { threads, isa, hubs, tile });
        prop_assert_eq!(&supports, &oracle(&rows));
        prop_assert_eq!(sum.probes, rows.wedges());
        prop_assert_eq!(3 * sum.triangles, supports.iter().map(|&support| u64::from(support)).sum::<u64>());
    }
}

/// Checks that the edge counters of a group of blocks leave enough GPU memory for rows, and that a group is never
/// smaller than the largest block.
#[test]
fn groups_of_edges_fit_a_gpu() {
    for (block, row) in [(1 << 12, 300), (1 << 12, 60_000), (1 << 24, 1 << 20)] {
        let least = Gpu::least_bytes(Counted::Edges, 0, row, block);
        for bytes in [least, least + (1 << 20), 2 * least, 100 * least] {
            let edges = edges_on_gpu(1 << 40, block, row, bytes);
            assert!(edges >= block && Gpu::least_bytes(Counted::Edges, 0, row, edges) <= bytes + 256, "{bytes}");
        }
        assert_eq!(edges_on_gpu(5, 5, row, least), 5);
    }
}

/// Checks counts per edge if only some of the blocks have counters and few front blocks are resident at a time.
#[test]
fn blocks_of_a_stored_graph() {
    let row = |v: u32| (0..v).filter(|&u| v - u <= 40 || (u * 7 + v) % 97 < 3).collect::<Vec<u32>>();
    let rows = OrientedRows((0..900).map(row).collect());
    let (graph, expected, _folder) = rows.stored(1500);
    let all = oracle(&rows);
    for (blocks, room) in
        [(0..graph.len(), 1 << 30), (3..9, 1 << 30), (graph.len() - 1..graph.len(), 5 << 20), (0..2, 5 << 20)]
    {
        let edges = |blocks: std::ops::Range<usize>| blocks.map(|b| graph.size(b).entries as usize).sum::<usize>();
        let cells: Vec<AtomicU32> = (0..edges(blocks.clone())).map(|_| AtomicU32::new(0)).collect();
        let counters = EdgeCounters::new(&graph, blocks.clone(), &cells);
        let budget = Budget::new(crate::memory::limit_leaving(room, 2), 2).expect("enough");
        let mut cpu = Cpu::of_edges(&graph, 900, 2, &budget, &counters, &|| None).expect("enough");
        let touches = |unit: &u64| {
            let (front, partner) = units::blocks_of(*unit);
            blocks.contains(&(front as usize)) || blocks.contains(&(partner as usize))
        };
        let done: HashSet<u64> = (0..units::total(graph.len())).filter(|unit| !touches(unit)).collect();
        let found = &mut |parts: &[units::Part]| {
            assert!(parts.iter().all(|part| expected[&number(part.front, part.partner)] == part.count));
            Ok(())
        };
        units::run(&graph, &done, &mut cpu, &Taken::new(1, u64::MAX), found, &mut || Ok(())).expect("nothing stops it");
        let first = edges(0..blocks.start);
        let supports: Vec<u32> = cells.into_iter().map(AtomicU32::into_inner).collect();
        assert_eq!(supports, all[first..first + supports.len()], "{blocks:?}");
    }
}
