//! The upper half of rows against sets, whatever the memory; and its transpose, which is the lower half again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{Unwatched, Watch, WeightType};
use gpugraph::internals::graph::block_store::BlockStore;
use gpugraph::internals::graph::direction::Direction;
use gpugraph::internals::graph::half::Half;
use gpugraph::internals::graph::layout::Layout;
use gpugraph::internals::graph::order::DegreeRuns;
use gpugraph::internals::graph::stored;
use gpugraph::internals::graph::weights::stored::{self as stored_weights, GraphWeights, WeightsWriter};
use gpugraph::internals::memory::Budget;
use gpugraph::internals::prepare::transpose::{Destination, Transpose, TransposeMemory, TransposeShape, Transposed};
use gpugraph::internals::store::sync::Syncer;
use proptest::prelude::*;

const KEY: u64 = 7;
const WEIGHTS: GraphWeights = GraphWeights { kind: WeightType::U32, checksum: 0, key: 8, list: 0 };

/// The weight of the edge that a row of the lower half lists with this entry.
fn weight(row: u32, entry: u32) -> u32 {
    row.wrapping_mul(0x9e37_79b9) ^ entry.wrapping_mul(0x85eb_ca6b)
}

/// Adds up what it is told of.
struct Counted(AtomicU64);

impl Watch for Counted {
    fn advance(&self, entries: u64) -> Result<()> {
        self.0.fetch_add(entries, Ordering::Relaxed);
        Ok(())
    }
}

/// Rows of both halves as sets; vertices are in order of degree.
struct Rows {
    direction: Direction,
    lower: Vec<BTreeSet<u32>>,
    upper: Vec<BTreeSet<u32>>,
    runs: DegreeRuns,
}

/// Numbers the vertices that have edges by falling degree. Each has a row of all neighbours, or an out-row and an in-row.
fn rows(edges: &[[u32; 2]], direction: Direction) -> Rows {
    let mut neighbours: std::collections::BTreeMap<u32, [BTreeSet<u32>; 2]> = Default::default();
    let into = usize::from(direction == Direction::Directed);
    for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
        neighbours.entry(u).or_default()[0].insert(v);
        neighbours.entry(v).or_default()[into].insert(u);
    }
    let degree = |id: &u32| neighbours[id].iter().map(BTreeSet::len).sum::<usize>() as u32;
    let mut order: Vec<u32> = neighbours.keys().copied().collect();
    order.sort_by_key(|id| (std::cmp::Reverse(degree(id)), *id));
    let place: std::collections::BTreeMap<u32, u32> = order.iter().copied().zip(0..).collect();
    let of = |row: &BTreeSet<u32>| row.iter().map(|v| place[v]).collect::<BTreeSet<u32>>();
    let all: Vec<BTreeSet<u32>> = order.iter().flat_map(|id| neighbours[id][..=into].iter().map(of)).collect();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for degree in order.iter().map(degree) {
        match runs.last_mut() {
            Some((last, count)) if *last == degree => *count += 1,
            _ => runs.push((degree, 1)),
        }
    }
    let half = |keep: fn(u32, u32) -> bool| {
        let of = |(row, entries): (usize, &BTreeSet<u32>)| {
            let v = (row / (1 + into)) as u32;
            entries.iter().copied().filter(|&w| keep(w, v)).collect()
        };
        all.iter().enumerate().map(of).collect::<Vec<BTreeSet<u32>>>()
    };
    Rows { direction, lower: half(|w, v| w < v), upper: half(|w, v| w > v), runs: DegreeRuns::new(runs) }
}

impl Rows {
    fn degrees(&self) -> Vec<u32> {
        self.lower.iter().zip(&self.upper).map(|(lower, upper)| (lower.len() + upper.len()) as u32).collect()
    }

    /// The lower half in files of blocks of about `target` entries, with weights.
    fn stored(&self, folder: &Path, target: u64) -> BlockStore {
        let layout = Layout::of_half(&self.runs, target, Half::Lower, self.direction);
        for b in 0..layout.blocks() {
            let span = layout.block(b).rows;
            let rows = &self.lower[span.start as usize..span.end as usize];
            let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
            let targets: Vec<u32> = rows.iter().flatten().copied().collect();
            let of_row =
                |(row, entries): (u32, &BTreeSet<u32>)| entries.iter().map(|&v| weight(row, v)).collect::<Vec<_>>();
            let weights: Vec<u32> = (span.start as u32..).zip(rows).flat_map(of_row).collect();
            let _ = stored::write(folder, KEY, &layout, b, &[(&lengths, &targets)]).expect("written");
            let entries = weights.len() as u64;
            let mut file = WeightsWriter::create(folder, WEIGHTS, Half::Lower, &layout, b, entries).expect("a file");
            file.append(&weights).expect("room");
            let _ = file.finish().expect("written");
        }
        let lower = BlockStore::open(folder, KEY, Half::Lower, layout).expect("whole");
        lower.with_weights(folder, Half::Lower, Some(WEIGHTS)).expect("whole")
    }
}

/// How it is transposed: entries of a block and of a bin, and the memory.
#[derive(Debug, Clone, Copy)]
struct How {
    target: u64,
    bin: u64,
    memory: TransposeMemory,
}

const ROOMY: How =
    How { target: 1 << 20, bin: 1 << 12, memory: TransposeMemory { batch: 4096, row_builders: 2, window: 1 << 24 } };

fn transpose(
    folder: &Path,
    lower: &BlockStore,
    degrees: &[u32],
    runs: &DegreeRuns,
    how: How,
    weighted: bool,
) -> Result<Transposed> {
    let layout = Layout::of_half(runs, how.target, Half::Upper, lower.layout.direction());
    let syncer = Syncer::start().expect("a thread");
    let watch = Counted(AtomicU64::new(0));
    let done = Transpose {
        lower,
        degrees,
        layout: &layout,
        bins: &layout.bins(how.bin),
        wanted: &vec![true; layout.blocks()],
        to: Destination::Files { folder, key: KEY, syncer: &syncer },
        weights: weighted.then_some(WEIGHTS),
        memory: how.memory,
        budget: &Budget::new(1 << 30, 2).expect("a budget"),
    }
    .build(&watch)?;
    assert_eq!(watch.0.into_inner(), done.entries, "progress ends where the work does");
    syncer.wait().expect("synced");
    Ok(done)
}

/// The bytes of all blocks of the upper half, and those of their weights.
fn files(folder: &Path, weighted: bool) -> Vec<Vec<u8>> {
    let all = |path: &dyn Fn(usize) -> PathBuf| (0..).map_while(|b| fs::read(path(b)).ok()).collect::<Vec<_>>();
    let mut files = all(&|b| stored::path(folder, Half::Upper, b));
    let of_weights = all(&|b| stored_weights::path(folder, Half::Upper, b));
    assert_eq!(of_weights.len(), if weighted { files.len() } else { 0 });
    files.extend(of_weights);
    files
}

/// Transposes the graph of `edges`, and holds it against the sets; passes over the lower half.
#[track_caller]
fn check(edges: &[[u32; 2]], how: How) -> u64 {
    // Of those with direction and those without, one has weights.
    let weighted = how.target % 2 == 1;
    check_rows(&rows(edges, Direction::Directed), how, weighted);
    check_rows(&rows(edges, Direction::Undirected), how, !weighted)
}

#[track_caller]
fn check_rows(known: &Rows, how: How, weighted: bool) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let lower = known.stored(folder.path(), how.target);
    let done = transpose(folder.path(), &lower, &known.degrees(), &known.runs, how, weighted).expect("transposed");
    assert_eq!(done.entries, lower.edges(), "{how:?}");
    let layout = Layout::of_half(&known.runs, how.target, Half::Upper, known.direction);
    let upper = BlockStore::open(folder.path(), KEY, Half::Upper, layout).expect("whole");
    let upper = upper.with_weights(folder.path(), Half::Upper, weighted.then_some(WEIGHTS)).expect("whole");
    upper.verify(|| Ok(())).expect("rows ascend");
    assert_eq!((upper.edges(), done.bytes), (lower.edges(), upper.bytes() + upper.weights_bytes()), "{how:?}");
    // At random, and in streams.
    for (v, row) in known.upper.iter().enumerate() {
        assert!(upper.row(v as u32).iter().eq(row), "row {v}, {how:?}");
        assert!(lower.row(v as u32).iter().eq(&known.lower[v]), "row {v}");
    }
    let rows = known.upper.len() as u32;
    for range in [0..rows, rows / 3..rows / 2, rows.saturating_sub(1)..rows, 0..0] {
        let streamed: Vec<(u32, Vec<u32>)> = upper.rows(range.clone()).map(|(v, row)| (v, row.to_vec())).collect();
        let expected = range.map(|v| (v, known.upper[v as usize].iter().copied().collect::<Vec<_>>()));
        assert!(streamed.into_iter().eq(expected), "{how:?}");
    }
    for (v, row, weights) in upper.weighted_rows(0..if weighted { rows } else { 0 }) {
        let known = row.iter().map(|&w| weight(known.direction.opposite(v, w), known.direction.vertex(v)));
        assert!(weights.iter().copied().eq(known), "row {v}, {how:?}");
        assert_eq!(upper.weighted_row(v), (row, weights));
    }
    let mut again = vec![BTreeSet::new(); known.lower.len()];
    for (v, row) in upper.rows(0..rows) {
        let (direction, entry) = (known.direction, known.direction.vertex(v));
        let opposite = |w: u32| direction.opposite(v, w) as usize;
        row.iter().for_each(|&w| assert!(again[opposite(w)].insert(entry), "{v} {w} twice"));
    }
    assert_eq!(again, known.lower, "{how:?}");
    // Blocks are the same bytes however they were made.
    let made = files(folder.path(), weighted);
    let roomy = How { target: how.target, ..ROOMY };
    transpose(folder.path(), &lower, &known.degrees(), &known.runs, roomy, weighted).expect("transposed");
    let blocks = upper.len() * if weighted { 2 } else { 1 };
    assert!(made == files(folder.path(), weighted) && made.len() == blocks, "{how:?}");
    done.passes
}

fn some_how() -> impl Strategy<Value = How> {
    (1u64..4000, 1u64..2000, 1usize..3000, 1usize..5, 1u64..60_000).prop_map(
        |(target, bin, batch, row_builders, window)| How {
            target,
            bin,
            memory: TransposeMemory { batch, row_builders, window },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn upper_rows_are_those_of_sets(
        edges in (1u32..500).prop_flat_map(|n| {
            let end = prop_oneof![2 => 0..n, 1 => 0..n.div_ceil(20)];
            prop::collection::vec((end.clone(), end).prop_map(|(u, v)| [u, v]), 0..3000)
        }),
        how in some_how(),
    ) {
        check(&edges, how);
    }
}

/// Hubs whose rows are longer than a batch, a bin and a window; rows beyond the first 2^16 of a batch.
#[test]
fn rows_of_hubs_may_be_longer_than_anything() {
    let leaves = 150_000u32;
    let mut edges: Vec<[u32; 2]> = (3..leaves).map(|v| [v % 3, v]).collect();
    edges.extend((3..leaves).step_by(2).map(|v| [0, v]));
    edges.extend((3..20_000).map(|v| [v, v + 1]));
    for (window, at_least) in [(1 << 19, 2), (50_000, 7), (1 << 30, 1)] {
        let memory = TransposeMemory { batch: 1000, row_builders: 3, window };
        let passes = check(&edges, How { target: 1 << 16, bin: 1 << 12, memory });
        assert!(passes >= at_least, "{passes} passes with {window} bytes");
    }
    let memory = TransposeMemory { batch: 1 << 20, row_builders: 1, window: 1 << 30 };
    check(&edges, How { target: 1 << 24, bin: 1 << 20, memory });
}

/// Degrees that are not those of the rows are found, whichever vertex they are of.
#[test]
fn wrong_degrees_are_refused() {
    let edges: Vec<[u32; 2]> = (1..300).flat_map(|v| [[0, v], [v, v * 7 % 300]]).collect();
    let known = rows(&edges, Direction::Undirected);
    let folder = tempfile::tempdir().expect("a folder");
    let lower = known.stored(folder.path(), 1 << 10);
    for window in [1 << 24, 400] {
        let how = How { memory: TransposeMemory { window, ..ROOMY.memory }, bin: 16, ..ROOMY };
        for v in 0..known.lower.len() {
            for (more, less, weighted) in [(1, 0, false), (0, 1, false), (1, 0, true), (0, 1, true)] {
                let mut degrees = known.degrees();
                degrees[v] = degrees[v] + more - less;
                let error = transpose(folder.path(), &lower, &degrees, &known.runs, how, weighted).expect_err("wrong");
                assert_eq!(error.exit_code(), 4, "{v}: {error}");
            }
        }
    }
    let degrees = &known.degrees()[1..];
    assert_eq!(transpose(folder.path(), &lower, degrees, &known.runs, ROOMY, false).expect_err("short").exit_code(), 4);
}

/// The division of memory that a job makes keeps to the budget it was made for, at the least of it, too.
#[test]
fn the_least_memory_does() {
    let edges: Vec<[u32; 2]> = (0..60_000u32).map(|i| [i * 7919 % 9000, i * i % 8999]).collect();
    let known = rows(&edges, Direction::Undirected);
    let folder = tempfile::tempdir().expect("a folder");
    let lower = known.stored(folder.path(), 1 << 14);
    let layout = Layout::of_half(&known.runs, 1 << 14, Half::Upper, Direction::Undirected);
    let shape = |weighted| TransposeShape::and_bins(&layout, lower.edges(), lower.len() as u64, weighted);
    let mut made: Vec<Vec<Vec<u8>>> = Vec::new();
    // Those of graphs without weights come first: files of weights stay.
    for (times, weighted) in
        [false, true].into_iter().flat_map(|weighted| [1, 2, 1 << 12].map(|times| (times, weighted)))
    {
        let (shape, bins) = shape(weighted);
        let free = times * shape.least();
        let memory = TransposeMemory::new(&shape, 2, free).expect("this does");
        let budget = Budget::new(gpugraph::internals::memory::limit_leaving(free, 2), 2).expect("a budget");
        let syncer = Syncer::start().expect("a thread");
        let wanted = vec![true; layout.blocks()];
        let degrees = known.degrees();
        let transpose = Transpose {
            lower: &lower,
            degrees: &degrees,
            layout: &layout,
            bins: &bins,
            wanted: &wanted,
            to: Destination::Files { folder: folder.path(), key: KEY, syncer: &syncer },
            weights: weighted.then_some(WEIGHTS),
            memory,
            budget: &budget,
        };
        transpose.build(&Unwatched).expect("transposed");
        made.push(files(folder.path(), weighted));
    }
    assert!(made[..3].windows(2).all(|two| two[0] == two[1]) && made[0].len() == layout.blocks());
    assert!(made[3..].windows(2).all(|two| two[0] == two[1]) && made[3].len() == 2 * layout.blocks());
}
