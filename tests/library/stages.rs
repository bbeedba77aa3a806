//! Each stage of preparation on random multigraphs, against an oracle of maps and sets: whatever the threads, the
//! memory and the size of blocks, rows are the same, and blocks are the same bytes for the same layout.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gpugraph::internals::comm::{Comm, MessageLimits, Outbox};
use gpugraph::internals::formats::{CacheUse, FileSearch, Input, TextOptions, Unwatched, WeightType, Weights};
use gpugraph::internals::graph::block_store::BlockStore;
use gpugraph::internals::graph::degrees::{DegreeSummary, Degrees};
use gpugraph::internals::graph::direction::Direction;
use gpugraph::internals::graph::half::Half;
use gpugraph::internals::graph::ids::{DenseId, RawId};
use gpugraph::internals::graph::layout::Layout;
use gpugraph::internals::graph::weights::stored::GraphWeights;
use gpugraph::internals::memory::{Budget, limit_leaving};
use gpugraph::internals::prepare::blocks::{BlockFiles, Builder};
use gpugraph::internals::prepare::dictionary::Dictionary;
use gpugraph::internals::prepare::ingest::{self, Ingest, Ingested};
use gpugraph::internals::prepare::memory_plan::{LayoutShape, MemoryDemand, Sizes};
use gpugraph::internals::prepare::order;
use gpugraph::internals::prepare::partition::route::Route;
use gpugraph::internals::prepare::partition::{Partition, scatter};
use gpugraph::internals::prepare::relabel::{ISOLATED, Relabelled, relabel};
use gpugraph::internals::prepare::sort::sorters;
use gpugraph::internals::store::sync::Syncer;
use proptest::prelude::*;

const KEY: u64 = 0x1234_5678;

fn roomy(threads: usize) -> Budget {
    Budget::new(1 << 30, threads).expect("a budget")
}

/// The edges as a file in chunks of a few edges, so that all threads get some.
fn input(folder: &Path, edges: &[[u64; 2]]) -> Input {
    let path = folder.join("edges.u64");
    fs::write(&path, edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()).expect("write");
    Input::find(&[path], None, FileSearch::default()).expect("open").with_chunk(512)
}

/// The same as text, with weights, which are read.
fn weighted(folder: &Path, edges: &[[u64; 2]]) -> Input {
    let path = folder.join("edges.wel");
    let line = |(i, [u, v]): (usize, &[u64; 2])| format!("{u} {v} {}\n", weight(i));
    fs::write(&path, edges.iter().enumerate().map(line).collect::<String>()).expect("write");
    let text = TextOptions { skip_lines: Some(0), ..TextOptions::default() };
    let input =
        Input::find(&[path], None, FileSearch::default()).expect("open").with_text(text).expect("text").with_chunk(512);
    if edges.is_empty() { input } else { input.with_weights(Weights::Read(WeightType::U32)) }
}

/// The weight of the edge at this place: the smallest and the largest often.
fn weight(place: usize) -> u32 {
    (place as u32).wrapping_mul(0x9e37_79b9) % 6 * 858_993_459
}

fn first(input: &Input, threads: usize, budget: &Budget) -> gpugraph::internals::error::Result<Ingested> {
    let (cache, comm) = (CacheUse::Nothing, &Comm::Solo);
    Ingest { input, cache, dictionary: None, threads, budget, comm, stealing: None, connect_gpus: &|| () }
        .run(None, &Unwatched)
}

fn first_pass(input: &Input, threads: usize) -> Ingested {
    first(input, threads, &roomy(threads)).expect("ingest")
}

/// Counters of many threads could take all there is: what degrees need is kept for them, also in a sorted input, where
/// the last ids come last.
#[test]
fn degrees_fit_whatever_the_counters_of_threads_would_take() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = 3 << 19;
    let input = input(folder.path(), &(1..ids).map(|i| [i - 1, i]).collect::<Vec<_>>()).with_chunk(1 << 16);
    for threads in [1, 8] {
        let reading = input.scratch_bytes(threads) + ingest::samples_bytes(threads, &input);
        let leaving = |bytes: u64| Budget::new(limit_leaving(reading + bytes, threads), threads).expect("a budget");
        let budget = leaving(ingest::degrees_bytes(ids));
        let found = first(&input, threads, &budget).expect("ingest");
        assert_eq!(found.degrees.len() as u64, ids);
        assert!(found.degrees.iter().enumerate().all(|(i, &d)| d == 2 - u32::from(i == 0 || i as u64 == ids - 1)));
        let budget = leaving(1 << 20);
        assert_eq!(first(&input, threads, &budget).expect_err("too little").exit_code(), 7);
    }
}

/// What the order of vertices must be: by falling degree, ties by id; degrees count repeats but no loops.
struct Oracle {
    degrees: BTreeMap<u64, u32>,
    /// Old ids in their new order.
    order: Vec<u64>,
    /// For each vertex in the new order, its smaller neighbours, each with the smallest weight.
    rows: Vec<BTreeMap<u32, u32>>,
}

fn oracle(edges: &[[u64; 2]]) -> Oracle {
    let mut degrees: BTreeMap<u64, u32> = BTreeMap::new();
    let simple = || edges.iter().filter(|[u, v]| u != v);
    for id in simple().flatten() {
        *degrees.entry(*id).or_default() += 1;
    }
    let mut order: Vec<u64> = degrees.keys().copied().collect();
    order.sort_by_key(|id| (std::cmp::Reverse(degrees[id]), *id));
    let place: BTreeMap<u64, u32> = order.iter().copied().zip(0..).collect();
    let mut rows = vec![BTreeMap::new(); order.len()];
    for (i, [u, v]) in edges.iter().enumerate().filter(|(_, [u, v])| u != v) {
        let (a, b) = (place[u], place[v]);
        let least = rows[a.max(b) as usize].entry(a.min(b)).or_insert(u32::MAX);
        *least = weight(i).min(*least);
    }
    Oracle { degrees, order, rows }
}

/// How to prepare: what may change nothing.
#[derive(Debug, Clone, Copy)]
struct How {
    threads: usize,
    /// Bytes beyond the smallest number that does.
    spare: u64,
    /// Entries of a block; `None` for what a job takes.
    target: Option<u64>,
    /// Whether weights are carried.
    weighted: bool,
}

const WEIGHTS: GraphWeights = GraphWeights { kind: WeightType::U32, checksum: 0, key: KEY + 1, list: 0 };

/// A row: neighbours with weights, which are 0 if none are carried.
type Row = Vec<(u32, u32)>;

/// Rows and the simple graph's degrees; whether it spilled.
fn prepare(folder: &Path, input: &Input, how: How) -> (Vec<Row>, Vec<u32>, bool) {
    let found = first_pass(input, how.threads);
    let budget = roomy(how.threads);
    let (edges, loops) = (found.edges, found.loops);
    let ids = found.degrees.len() as u64;
    let Relabelled { map, runs, .. } =
        relabel(found.degrees, found.edges, how.threads, &budget, &Comm::Solo).expect("relabel");
    let layout = match how.target {
        Some(target) => Layout::of_half(&runs, target, Half::Lower, Direction::Undirected),
        None => Layout::new(&runs, edges - loops, Direction::Undirected),
    };
    let How { threads, weighted, .. } = how;
    let needs =
        MemoryDemand { edges: edges - loops, likely: edges - loops, ids, reading: 0, messages: 0, threads, weighted };
    let (shape, bins) = LayoutShape::and_bins(&layout);
    let smallest = Sizes::new(shape, needs, 0).expect_err("nothing does not do");
    assert!(Sizes::new(shape, needs, smallest - 1).is_err(), "{smallest} should be the smallest");
    let sizes = Sizes::new(shape, needs, smallest + how.spare).expect("this does");
    assert!(sizes.partitioning.max(sizes.sorting) <= smallest + how.spare, "{sizes:?}");
    let wanted = vec![true; bins.spans.len()];
    let mut memory = budget.zeroed(sizes.pool, "chunks").expect("memory");
    let (chunk, spill) = (sizes.chunk, folder.join("spill"));
    let partition = Partition::new(&bins, &wanted, weighted, &mut memory, chunk, &spill, None).expect("bins");
    let owners = vec![0; bins.spans.len()];
    let place = |outbox: &Outbox<'_>| {
        let route = Route::new(&partition, &owners, 0, 1, outbox, how.threads, 0);
        let mut placing = scatter::placing(&route, threads, &map, "edges");
        input.scan(&mut placing.visitors(), &Unwatched)?;
        placing.finish()
    };
    let shape = MessageLimits { words: 1, outgoing: 1, incoming: 1, takers: 1 };
    let (met, _): (u64, _) = Comm::Solo.exchange(shape, place, |_, _| Ok(())).expect("scatter");
    assert_eq!(met, loops);
    let spilled = partition.spilled();
    assert!(spilled <= sizes.spill, "{spilled} bytes spilled where {} were planned", sizes.spill);

    let degrees = Degrees::new(runs.vertices(), &budget).expect("degrees");
    let syncer = Syncer::start().expect("a thread");
    let blocks = vec![true; layout.blocks()];
    let builder = Builder {
        partition: &partition,
        bins: &bins,
        wanted: &blocks,
        degrees: &degrees,
        files: BlockFiles { folder, key: KEY, layout: &layout, weights: weighted.then_some(WEIGHTS), syncer: &syncer },
        in_flight: sizes.in_flight,
    };
    let built = builder.build(sorters(threads, weighted), &Unwatched).expect("build");
    syncer.wait().expect("synced");
    let block_store = BlockStore::open(folder, KEY, Half::Lower, layout).expect("open");
    let block_store = block_store.with_weights(folder, Half::Lower, weighted.then_some(WEIGHTS)).expect("open");
    block_store.verify(|| Ok(())).expect("whole");
    assert_eq!(built.entries, block_store.edges());
    let mut rows = Vec::new();
    for b in 0..block_store.len() {
        let block = block_store.block(b);
        assert_eq!(block.first_row as usize, rows.len());
        rows.extend((0..block.rows()).map(|r| block.row(r).iter().map(|&v| (v, 0)).collect::<Row>()));
    }
    if weighted {
        let all: Vec<(u32, Row)> = block_store
            .weighted_rows(0..rows.len() as u32)
            .map(|(v, targets, weights)| (v, targets.iter().copied().zip(weights.iter().copied()).collect()))
            .collect();
        assert!(
            all.iter().zip(&rows).all(|((_, with), row)| with.iter().map(|(v, _)| v).eq(row.iter().map(|(v, _)| v)))
        );
        for (v, row) in &all {
            let (targets, weights) = block_store.weighted_row(*v);
            assert!(targets.iter().copied().zip(weights.iter().copied()).eq(row.iter().copied()));
        }
        rows = all.into_iter().map(|(_, row)| row).collect();
    }
    (rows, degrees.finish().to_vec(), spilled > 0)
}

fn check(edges: &[[u64; 2]], how: How) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let known = oracle(edges);
    let input = if how.weighted { weighted(folder.path(), edges) } else { input(folder.path(), edges) };
    let (rows, degrees, spilled) = prepare(folder.path(), &input, how);
    let of = |(&v, &weight): (&u32, &u32)| (v, if how.weighted { weight } else { 0 });
    let expected: Vec<Row> = known.rows.iter().map(|row| row.iter().map(of).collect()).collect();
    assert_eq!(rows, expected, "{how:?}");
    let mut simple = vec![0u32; rows.len()];
    for (v, row) in rows.iter().enumerate() {
        simple[v] += row.len() as u32;
        row.iter().for_each(|&(u, _)| simple[u as usize] += 1);
    }
    assert_eq!(degrees, simple, "{how:?}");
    let summary = DegreeSummary::of(&degrees);
    let of = |d: u32| u128::from(d) * u128::from(d.saturating_sub(1)) / 2;
    assert_eq!(summary.wedges, simple.iter().map(|&d| of(d)).sum::<u128>());
    assert_eq!(summary.max_degree, u64::from(simple.iter().copied().max().unwrap_or(0)));
    spilled
}

/// Multigraphs: few vertices for many repeats, many for isolated ones; skewed ends for hubs.
fn multigraph(edges: usize) -> impl Strategy<Value = Vec<[u64; 2]>> {
    (1u64..400).prop_flat_map(move |n| {
        let end = prop_oneof![2 => 0..n, 1 => 0..n.div_ceil(20)];
        prop::collection::vec((end.clone(), end).prop_map(|(u, v)| [u, v]), 0..edges)
    })
}

fn some_how() -> impl Strategy<Value = How> {
    let threads = prop_oneof![Just(1), Just(2), Just(7)];
    let target = prop_oneof![Just(None), (1u64..3000).prop_map(Some)];
    let spare = prop_oneof![Just(0), 0u64..100_000, Just(1 << 28)];
    let how = (threads, spare, target, any::<bool>());
    how.prop_map(|(threads, spare, target, weighted)| How { threads, spare, target, weighted })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ingest_counts_degrees_loops_and_the_largest_id(edges in multigraph(2000), threads in 1usize..8) {
        let folder = tempfile::tempdir().expect("a folder");
        let found = first_pass(&input(folder.path(), &edges), threads);
        let known = oracle(&edges);
        prop_assert_eq!(found.edges, edges.len() as u64);
        prop_assert_eq!(found.loops, edges.iter().filter(|[u, v]| u == v).count() as u64);
        prop_assert_eq!(found.largest, edges.iter().flatten().copied().max());
        let length = found.largest.map_or(0, |id| id as usize + 1);
        // Few edges far apart are sparse, and have no degrees until they are numbered.
        if !gpugraph::internals::prepare::ingest::sparse(found.largest.unwrap_or(0), found.edges, true, false) {
            prop_assert_eq!(found.degrees.len(), length);
            for (id, &degree) in found.degrees.iter().enumerate() {
                prop_assert_eq!(degree, known.degrees.get(&(id as u64)).copied().unwrap_or(0));
            }
        }
        let distinct: BTreeSet<_> =
            edges.iter().filter(|[u, v]| u != v).map(|&[u, v]| (u.min(v), u.max(v))).collect();
        // So few that the sample holds all of them: the bound is the number itself.
        prop_assert_eq!(found.distinct_at_most, distinct.len() as u64);
    }

    #[test]
    fn the_order_is_by_degree_then_id_and_comes_back_from_disk(edges in multigraph(3000), threads in 1usize..8) {
        prop_assume!(!edges.is_empty());
        let folder = tempfile::tempdir().expect("a folder");
        let found = first_pass(&input(folder.path(), &edges), threads);
        prop_assume!(!found.degrees.is_empty());
        let budget = roomy(threads);
        let ids = found.degrees.len();
        let relabelled = relabel(found.degrees, found.edges, threads, &budget, &Comm::Solo).expect("relabel");
        let known = oracle(&edges);
        let mut place = vec![ISOLATED; ids];
        known.order.iter().zip(0..).for_each(|(&id, new)| place[id as usize] = new);
        prop_assert_eq!(&relabelled.map[..], &place[..]);
        prop_assert_eq!(relabelled.runs.vertices(), known.order.len() as u64);
        for (degree, first, end) in relabelled.runs.iter() {
            for new in first..end {
                prop_assert_eq!(known.degrees[&known.order[new as usize]], degree);
            }
        }
        let syncer = Syncer::start().expect("a thread");
        syncer.push(order::write(folder.path(), KEY, &relabelled, &|| true).expect("write"));
        syncer.wait().expect("synced");
        let back = order::read(folder.path(), KEY, &budget).expect("read");
        prop_assert_eq!(&back.map[..], &relabelled.map[..]);
        prop_assert_eq!(&back.runs, &relabelled.runs);
        prop_assert_eq!(order::read(folder.path(), KEY + 1, &budget).expect_err("another graph").exit_code(), 4);
    }

    #[test]
    fn blocks_hold_the_rows_of_the_oracle(edges in multigraph(6000), how in some_how()) {
        let sparse = gpugraph::internals::prepare::ingest::sparse(
            edges.iter().flatten().copied().max().unwrap_or(0), edges.len() as u64, true, false);
        prop_assume!(!sparse);
        check(&edges, how);
    }

    #[test]
    fn the_dictionary_is_the_sorted_set_of_ids(
        edges in prop::collection::vec(prop_oneof![any::<[u64; 2]>(), (0u64..50, 0u64..50).prop_map(|(u, v)| [u, v])], 1..3000),
        threads in 1usize..4,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ids");
        let budget = roomy(threads);
        let input = input(folder.path(), &edges);
        Dictionary::build(&input, &path, KEY, threads, &budget, &Unwatched).expect("build");
        let dictionary = Dictionary::open(&path, KEY, &budget).expect("open");
        let known: BTreeSet<u64> = edges.iter().flatten().copied().collect();
        prop_assert!(dictionary.ids().iter().eq(known.iter()));
        for (place, &id) in known.iter().enumerate() {
            prop_assert_eq!(dictionary.find(RawId(id)), Some(DenseId(place as u32)));
            for near in [id.wrapping_sub(1), id.wrapping_add(1)] {
                prop_assert_eq!(dictionary.find(RawId(near)).is_some(), known.contains(&near));
            }
        }
    }
}

#[test]
fn memory_threads_and_spills_do_not_show_in_the_bytes_of_blocks() {
    // 200,000 edges: more chunks than the smallest pool has, so that the tight ones must spill.
    let edges = support::random_edges(5000, 200_000, 77);
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [input(folder.path(), &edges), weighted(folder.path(), &edges)].map(|input| input.with_chunk(1 << 14));
    let mut first: Option<Vec<(String, Vec<u8>)>> = None;
    // Of graphs with weights.
    let mut weights: Option<Vec<(String, Vec<u8>)>> = None;
    let mut spills = BTreeSet::new();
    for (threads, weighted) in
        [1, 2, 7].into_iter().flat_map(|threads| [false, true].map(|weighted| (threads, weighted)))
    {
        for spare in [0, 4096, 300_000, 1 << 24] {
            let out = tempfile::tempdir().expect("a folder");
            let (_, _, spilled) =
                prepare(out.path(), &inputs[usize::from(weighted)], How { threads, spare, target: None, weighted });
            spills.insert((weighted, spilled));
            let mut blocks: Vec<_> = fs::read_dir(out.path())
                .expect("a folder")
                .map(|entry| entry.expect("an entry").path())
                .map(|path| {
                    (path.file_name().expect("a name").to_string_lossy().into_owned(), fs::read(path).expect("read"))
                })
                .collect();
            blocks.sort();
            assert!(blocks.len() > 3);
            let (of_weights, blocks) = blocks.into_iter().partition(|(name, _)| name.ends_with(".weights"));
            let files = if weighted {
                vec![(&mut first, blocks), (&mut weights, of_weights)]
            } else {
                vec![(&mut first, blocks)]
            };
            for (known, files) in files {
                match known {
                    None => *known = Some(files),
                    Some(known) => assert!(*known == files, "threads {threads}, {spare} bytes to spare: other bytes"),
                }
            }
        }
    }
    assert_eq!(spills.len(), 4, "some should spill and some not: {spills:?}");
    assert!(weights.map(|files| files.len()) == first.map(|files| files.len()));
    for (target, weighted) in
        [1, 100, 1 << 14, 1 << 20].into_iter().flat_map(|target| [false, true].map(|w| (target, w)))
    {
        check(&edges, How { threads: 2, spare: 10_000, target: Some(target), weighted });
    }
}

#[test]
fn the_estimate_of_distinct_edges_is_a_bound_and_not_far_off() {
    // A million edges, of which about a third are repeats: more than the sample holds.
    let edges = support::random_edges(2000, 1_000_000, 5);
    let folder = tempfile::tempdir().expect("a folder");
    let input = input(folder.path(), &edges).with_chunk(1 << 16);
    let distinct: BTreeSet<_> = edges.iter().filter(|[u, v]| u != v).map(|&[u, v]| (u.min(v), u.max(v))).collect();
    let found = first_pass(&input, 2).distinct_at_most;
    let known = distinct.len() as u64;
    assert!(found >= known && found <= known + known / 10, "{found} for {known}");
}

#[test]
fn a_dictionary_of_many_runs_is_the_same() {
    // Room for the fewest ids a thread gathers, 2^16: several runs to merge.
    let mut dice = support::Dice(3);
    let edges: Vec<[u64; 2]> = (0..300_000).map(|_| [dice.roll(), dice.below(1000) << 40]).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let input = input(folder.path(), &edges).with_chunk(1 << 16);
    let path = folder.path().join("ids");
    let tight = Budget::new(limit_leaving(input.scratch_bytes(2) + (2 << 20), 2), 2);
    Dictionary::build(&input, &path, KEY, 2, &tight.expect("a budget"), &Unwatched).expect("build");
    let dictionary = Dictionary::open(&path, KEY, &roomy(2)).expect("open");
    let known: BTreeSet<u64> = edges.iter().flatten().copied().collect();
    assert!(dictionary.ids().iter().eq(known.iter()));
    let left: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left.len(), 2, "runs have no names: {left:?}");
}
