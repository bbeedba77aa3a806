//! Small graphs for tests, as sets of neighbours and as rows in memory.

use crate::formats::Halves;
use crate::graph::block_store::BlockStore;
use crate::graph::degrees::DegreeSummary;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::half::Half;
use crate::graph::host_block::{HostBlock, MemoryBlock};
use crate::graph::ids::FirstId;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::placement::BlockSize;
use crate::memory::Budget;
use crate::prepare::order;
use crate::prepare::prepared::{Graph, InputInfo, StoreInfo};
use crate::prepare::relabel::{ISOLATED, Relabelled};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Returns a memory budget with `free` free bytes.
pub fn budget(free: u64) -> Budget {
    Budget::new(crate::memory::limit_leaving(free, 4), 4).unwrap()
}

/// A small graph for tests. For each vertex, it stores the set of heads of its out-edges and the set of tails of its
/// in-edges.
pub struct Model {
    pub direction: Direction,
    pub heads: Vec<BTreeSet<u32>>,
    pub tails: Vec<BTreeSet<u32>>,
    runs: DegreeRuns,
    /// The vertex of each input id, or [`ISOLATED`] for an id without edges.
    pub map: Vec<u32>,
}

impl Model {
    pub fn new(edges: &[[u32; 2]], direction: Direction) -> Model {
        let mut ends: BTreeMap<u32, [BTreeSet<u32>; 2]> = BTreeMap::new();
        for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
            for (u, v) in if direction == Direction::Directed { vec![(u, v)] } else { vec![(u, v), (v, u)] } {
                ends.entry(u).or_default()[0].insert(v);
                ends.entry(v).or_default()[1].insert(u);
            }
        }
        let sides = 1 + usize::from(direction == Direction::Directed);
        let degree = |id: &u32| ends[id][..sides].iter().map(BTreeSet::len).sum::<usize>() as u32;
        let mut ids: Vec<u32> = ends.keys().copied().collect();
        ids.sort_by_key(|id| (std::cmp::Reverse(degree(id)), *id));
        let mut map = vec![ISOLATED; ids.iter().max().map_or(0, |&most| most as usize + 1)];
        ids.iter().zip(0..).for_each(|(&id, v)| map[id as usize] = v);
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for degree in ids.iter().map(degree) {
            match runs.last_mut() {
                Some((last, count)) if *last == degree => *count += 1,
                _ => runs.push((degree, 1)),
            }
        }
        let side = |side: usize| {
            let of = |id: &u32| ends[id][side].iter().map(|&other| map[other as usize]).collect();
            ids.iter().map(of).collect::<Vec<BTreeSet<u32>>>()
        };
        Model { direction, heads: side(0), tails: side(1), runs: DegreeRuns::new(runs), map }
    }

    pub fn vertices(&self) -> u32 {
        self.heads.len() as u32
    }

    /// Builds one half of the rows (the smaller or the larger neighbours) in memory, in blocks of about `target`
    /// neighbours.
    fn half(&self, half: Half, target: u64) -> BlockStore {
        let layout = Layout::of_half(&self.runs, target, half, self.direction);
        let row = |row: u64| {
            let v = self.direction.vertex(row as u32);
            let all = if row as u32 == self.direction.row(v, EdgeDirection::Out) { &self.heads } else { &self.tails };
            let keeps = move |w: &&u32| if half == Half::Lower { **w < v } else { **w > v };
            all[v as usize].iter().filter(keeps).copied().collect::<Vec<u32>>()
        };
        let (mut sizes, mut blocks) = (Vec::new(), Vec::new());
        for b in 0..layout.blocks() {
            let span = layout.block(b);
            let rows: Vec<Vec<u32>> = span.rows.clone().map(row).collect();
            let entries = rows.iter().map(Vec::len).sum::<usize>() as u64;
            let mut block = HostBlock::new(&span, entries, &budget(1 << 20)).unwrap();
            let (offsets, targets) = block.parts();
            let mut at = 0;
            for (row, offset) in rows.iter().zip(&mut offsets[1..]) {
                targets[at..at + row.len()].copy_from_slice(row);
                at += row.len();
                *offset = at as u32;
            }
            sizes.push(BlockSize { rows: rows.len() as u64, entries });
            blocks.push(MemoryBlock::Local(block));
        }
        BlockStore::in_memory(layout, sizes, blocks, true)
    }

    pub fn graph(&self, folder: &Path, target: u64) -> Graph {
        let block_store = self.half(Half::Lower, target);
        let ids = self.map.len() as u64;
        let info = InputInfo {
            weights: None,
            edges: block_store.edges(),
            loops: 0,
            first_loop: None,
            distinct_at_most: block_store.edges(),
            vertices: ids,
            declared: false,
            halves: Halves::None,
            largest: None,
            counts_from_one: false,
            first_id: FirstId::default(),
            ids,
            connected: self.vertices().into(),
            runs: self.runs.iter().count() as u64,
            degrees: Vec::new(),
            direction: self.direction,
            sparse: false,
            names: false,
            checksum: 0,
            identity: 0,
            reading: 0,
            content: 7,
            bytes: 0,
            source: "a test".into(),
        };
        let blocks = block_store.len() as u64;
        let stored = StoreInfo {
            edges: block_store.edges(),
            blocks,
            degrees: false,
            in_memory: false,
            summary: DegreeSummary::default(),
            weights: None,
        };
        let mut graph = Graph::new(folder.to_owned(), info, stored, block_store);
        graph.set_upper(self.half(Half::Upper, target)).unwrap();
        graph
    }

    /// Writes the mapping from input ids to vertices to `folder`. Messages need it to name vertices.
    pub fn write_order(&self, folder: &Path) {
        let mut map = budget(1 << 20).zeroed::<u32>(self.map.len(), "a test").unwrap();
        map.copy_from_slice(&self.map);
        let _ = order::write(folder, 7, &Relabelled { map, runs: self.runs.clone(), whole: true }, &|| true);
    }
}
