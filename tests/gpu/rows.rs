//! Graphs of which both halves lie in files, for tests of searches.

use std::collections::{BTreeMap, BTreeSet};

use gpugraph::internals::formats::WeightType;
use gpugraph::internals::graph::block_store::BlockStore;
use gpugraph::internals::graph::direction::{self, Direction};
use gpugraph::internals::graph::half::Half;
use gpugraph::internals::graph::layout::Layout;
use gpugraph::internals::graph::order::DegreeRuns;
use gpugraph::internals::graph::packed::{Packer, pack_half};
use gpugraph::internals::graph::stored::BlockWriter;
use gpugraph::internals::graph::weights::stored::{GraphWeights, WeightsWriter};
use gpugraph::internals::memory::Budget;

const KEY: u64 = 7;

/// The weight of the edge from one vertex to another.
pub type Weight<'a> = &'a dyn Fn(u32, u32) -> u32;

/// A graph whose vertices are in order of degree: its rows as sets, and in files.
pub struct Rows {
    pub direction: Direction,
    pub all: Vec<BTreeSet<u32>>,
    /// Vertices by the numbers of the edges.
    pub place: BTreeMap<u32, u32>,
    pub halves: [BlockStore; 2],
    /// The same packed, without direction and weights.
    pub packed: Option<[BlockStore; 2]>,
    _folder: tempfile::TempDir,
}

impl Rows {
    pub fn new(edges: &[[u32; 2]], direction: Direction) -> Rows {
        Rows::weighted(edges, direction, None)
    }

    /// With weights that are stored: a type, and what each is.
    pub fn weighted(edges: &[[u32; 2]], direction: Direction, weights: Option<(WeightType, Weight<'_>)>) -> Rows {
        let mut neighbours: BTreeMap<u32, [BTreeSet<u32>; 2]> = BTreeMap::new();
        let into = usize::from(direction == Direction::Directed);
        for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
            neighbours.entry(u).or_default()[0].insert(v);
            neighbours.entry(v).or_default()[into].insert(u);
        }
        // As if the input repeated some edges, which count where vertices are put in order.
        let degree = |id: &u32| neighbours[id].iter().map(BTreeSet::len).sum::<usize>() as u32 + u32::from(id % 7 == 3);
        let mut order: Vec<u32> = neighbours.keys().copied().collect();
        order.sort_by_key(|id| (std::cmp::Reverse(degree(id)), *id));
        let place: BTreeMap<u32, u32> = order.iter().copied().zip(0..).collect();
        let of = |row: &BTreeSet<u32>| row.iter().map(|v| place[v]).collect::<BTreeSet<u32>>();
        let all: Vec<BTreeSet<u32>> = order.iter().flat_map(|id| neighbours[id][..=into].iter().map(of)).collect();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for degree in order.iter().map(degree) {
            match runs.last_mut() {
                Some((last, count)) if *last == degree => *count += 1,
                _ => runs.push((degree, 1)),
            }
        }
        let (runs, folder) = (DegreeRuns::new(runs), tempfile::tempdir().expect("a folder"));
        let half = |half: Half| {
            // Many blocks, of about a ninth of all edges.
            let target = edges.len() as u64 / 9 + 1;
            let layout = Layout::of_half(&runs, target, half, direction);
            for b in 0..layout.blocks() {
                let rows = layout.block(b).rows;
                let cut = rows.map(|row| {
                    let v = direction.vertex(row as u32);
                    let keep = |w: &&u32| if half == Half::Lower { **w < v } else { **w > v };
                    all[row as usize].iter().filter(keep).copied().collect::<Vec<u32>>()
                });
                let cut: Vec<Vec<u32>> = cut.collect();
                let lengths: Vec<u32> = cut.iter().map(|row| row.len() as u32).collect();
                let entries = lengths.iter().map(|&length| u64::from(length)).sum();
                let block = BlockWriter::create(folder.path(), KEY, half, &layout, b, entries);
                let mut block = block.expect("a block");
                block.lengths(&lengths).expect("written");
                block.targets(&cut.concat()).expect("written");
                let _ = block.finish().expect("written");
                let Some((kind, weight)) = weights else { continue };
                let of_row = |(row, targets): (u64, &Vec<u32>)| {
                    let (v, inward) = (direction.vertex(row as u32), direction == Direction::Directed && row % 2 == 1);
                    targets.iter().map(|&w| if inward { weight(w, v) } else { weight(v, w) }).collect::<Vec<u32>>()
                };
                let words: Vec<u32> = layout.block(b).rows.zip(&cut).flat_map(of_row).collect();
                let weights = GraphWeights { kind, checksum: 0, key: KEY, list: 0 };
                let entries = words.len() as u64;
                let mut file =
                    WeightsWriter::create(folder.path(), weights, half, &layout, b, entries).expect("a file");
                file.append(&words).expect("room");
                let _ = file.finish().expect("written");
            }
            let weights = weights.map(|(kind, _)| GraphWeights { kind, checksum: 0, key: KEY, list: 0 });
            let open = BlockStore::open(folder.path(), KEY, half, layout).expect("whole");
            open.with_weights(folder.path(), half, weights).expect("whole")
        };
        let halves = || [half(Half::Lower), half(Half::Upper)];
        let budget = Budget::new(64 << 20, 1).expect("room");
        let packed = |half: BlockStore| {
            let packer = Packer::new(half.len(), &budget).expect("addresses");
            pack_half(half, packer, || Ok(())).map_err(|(e, _)| e).expect("room")
        };
        let packs = direction == Direction::Undirected && weights.is_none();
        let packed = packs.then(|| halves().map(packed));
        Rows { direction, halves: halves(), packed, all, place, _folder: folder }
    }

    pub fn vertices(&self) -> usize {
        self.place.len()
    }

    pub fn row(&self, v: u32, way: direction::EdgeDirection) -> &BTreeSet<u32> {
        &self.all[self.direction.row(v, way) as usize]
    }
}
