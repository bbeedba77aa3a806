//! Verification of breadth-first trees as they were written, against a plain queue: right ones pass, wrong ones of each kind don't.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;

use gpugraph::internals::algo::bfs::Bfs;
use gpugraph::internals::algo::bfs::output::BfsDetails;
use gpugraph::internals::algo::bfs::search::{BfsLevel, Step};
use gpugraph::internals::algo::searches::results::{SearchDetails, SearchOutput, Speed};
use gpugraph::internals::algo::searches::tree::verify::SourceOutput;
use gpugraph::internals::algo::searches::{Options, Origins};
use gpugraph::internals::algo::sources::Sources;
use gpugraph::internals::algo::verify::{Check, CheckOutcome};
use gpugraph::internals::algo::{Algorithm, EdgeSource, Results, Verdict};
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{Edges, FileSearch, Halves, Input, Unwatched, Visitor};
use gpugraph::internals::graph::degrees::DegreeSummary;
use gpugraph::internals::graph::direction::{Direction, EdgeDirection};
use gpugraph::internals::graph::ids::{FirstId, InputId};
use gpugraph::internals::graph::order::DegreeRuns;
use gpugraph::internals::graph::stored;
use gpugraph::internals::memory::{Budget, limit_leaving};
use gpugraph::internals::prepare::dictionary::{self, Dictionary};
use gpugraph::internals::prepare::order;
use gpugraph::internals::prepare::prepared::{Graph, InputInfo, StoreInfo};
use gpugraph::internals::prepare::relabel::{ISOLATED, Relabelled};
use gpugraph::internals::results::Output;
use proptest::prelude::*;

/// A graph of which nothing is known but its input.
fn nothing_stored() -> StoreInfo {
    let summary = DegreeSummary::default();
    StoreInfo { edges: 0, blocks: 0, degrees: false, in_memory: false, summary, weights: None }
}

struct Nobody;

impl Visitor for Nobody {
    fn visit(&mut self, _: Edges<'_>, _: &[u32]) -> Result<()> {
        Ok(())
    }
}

/// An input in a file, and what is known of it.
struct Case {
    folder: tempfile::TempDir,
    edges: Vec<[u64; 2]>,
    info: InputInfo,
    /// The input's ids by row.
    ids: Vec<u64>,
    heads: BTreeMap<u64, BTreeSet<u64>>,
    tails: BTreeMap<u64, BTreeSet<u64>>,
    /// Vertices that have edges, in their order, and their degrees.
    order: Vec<(u64, u32)>,
}

/// What a job reports of a search.
#[derive(Clone)]
struct SourceTold {
    source: InputId,
    reached: u64,
    depth: u64,
    edges: u64,
    speed: Speed,
    frontiers: Vec<u64>,
}

/// A column of parents and one of levels, by row.
type Columns = (Vec<i64>, Vec<i32>);

/// Returns the runs of equal degrees in the order of vertices.
fn runs(order: &[(u64, u32)]) -> DegreeRuns {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &(_, degree) in order {
        match runs.last_mut() {
            Some((last, count)) if *last == degree => *count += 1,
            _ => runs.push((degree, 1)),
        }
    }
    DegreeRuns::new(runs)
}

impl Case {
    /// `declared` vertices, or as many as the largest id says; sparse ids if so.
    fn new(edges: &[[u64; 2]], direction: Direction, sparse: bool, declared: u64) -> Case {
        let folder = tempfile::tempdir().expect("a folder");
        let is_declared = declared > 0 && !sparse;
        if is_declared {
            // A format whose header has the number of vertices.
            let vertices = edges.iter().flatten().map(|id| id + 1).chain([declared]).max().unwrap_or(0);
            let head =
                format!("%%MatrixMarket matrix coordinate pattern general\n{vertices} {vertices} {}\n", edges.len());
            let lines: String = edges.iter().map(|[u, v]| format!("{} {}\n", u + 1, v + 1)).collect();
            fs::write(folder.path().join("edges.mtx"), head + &lines).expect("written");
        } else {
            let bytes: Vec<u8> = edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect();
            fs::write(folder.path().join("edges.u64"), bytes).expect("written");
        }
        let mut degrees: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut heads, mut tails) = (BTreeMap::<_, BTreeSet<u64>>::new(), BTreeMap::<_, BTreeSet<u64>>::new());
        for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
            [u, v].into_iter().for_each(|end| *degrees.entry(end).or_default() += 1);
            for (u, v) in if direction == Direction::Directed { vec![(u, v)] } else { vec![(u, v), (v, u)] } {
                heads.entry(u).or_default().insert(v);
                tails.entry(v).or_default().insert(u);
            }
        }
        let mut order: Vec<(u64, u32)> = degrees.into_iter().collect();
        order.sort_by_key(|&(id, degree)| (Reverse(degree), id));
        let occurring: BTreeSet<u64> = edges.iter().flatten().copied().collect();
        let largest = occurring.last().map_or(0, |&id| id + 1);
        let ids: Vec<u64> = if sparse { occurring.into_iter().collect() } else { (0..largest.max(declared)).collect() };
        let mut info = InputInfo {
            names: false,
            weights: None,
            edges: edges.len() as u64,
            loops: edges.iter().filter(|[u, v]| u == v).count() as u64,
            first_loop: None,
            distinct_at_most: edges.len() as u64,
            vertices: ids.len() as u64,
            declared: is_declared,
            halves: Halves::None,
            largest: ids.last().copied(),
            counts_from_one: is_declared,
            first_id: FirstId::default(),
            ids: if sparse { ids.len() as u64 } else { largest },
            connected: order.len() as u64,
            runs: 0,
            degrees: runs(&order).bins(),
            direction,
            sparse,
            checksum: 0,
            identity: 0,
            reading: 0,
            content: 9,
            bytes: 16 * edges.len() as u64,
            source: "edges".into(),
        };
        let mut case = Case { folder, edges: edges.to_vec(), info: info.clone(), ids, heads, tails, order };
        info.checksum = case.input().scan(&mut [Nobody], &Unwatched).expect("read").checksum;
        case.info = info;
        if sparse {
            let ids = case.ids.clone();
            case.array("out/ids.npy", "<u8", ids.iter().map(|id| id.to_le_bytes().to_vec()).collect());
        }
        case
    }

    fn input(&self) -> Input {
        let name = if self.info.declared { "edges.mtx" } else { "edges.u64" };
        Input::find(&[self.path(name)], None, FileSearch::default()).expect("opened").with_direction()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> (String, Output) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
        (name.to_owned(), Output::of(bytes))
    }

    fn array(&self, name: &str, descr: &str, rows: Vec<Vec<u8>>) -> (String, Output) {
        let shape = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({},), }}", rows.len());
        let header = format!("{shape:<117}\n");
        self.put(name, &[b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), &rows.concat()].concat())
    }

    fn row(&self, id: u64) -> usize {
        self.ids.binary_search(&id).expect("a row")
    }

    /// Levels by a plain queue, and the first neighbour of each vertex in the level before.
    fn search(&self, source: u64) -> Columns {
        let mut levels = vec![-1; self.ids.len()];
        let mut parents = vec![-1; self.ids.len()];
        let mut queue = VecDeque::from([source]);
        (levels[self.row(source)], parents[self.row(source)]) = (0, source as i64);
        while let Some(u) = queue.pop_front() {
            for &v in self.heads.get(&u).into_iter().flatten() {
                if levels[self.row(v)] == -1 {
                    levels[self.row(v)] = levels[self.row(u)] + 1;
                    queue.push_back(v);
                }
            }
        }
        for (&v, tails) in &self.tails {
            if levels[self.row(v)] > 0 {
                let above = |u: &u64| tails.contains(u) && levels[self.row(*u)] == levels[self.row(v)] - 1;
                let parent = self.order.iter().map(|&(u, _)| u).find(above).expect("a parent");
                parents[self.row(v)] = parent as i64;
            }
        }
        (parents, levels)
    }

    fn told(&self, source: u64, (_, levels): &Columns) -> SourceTold {
        let depth = *levels.iter().max().expect("a level");
        let frontier = |level| levels.iter().filter(|other| **other == level).count() as u64;
        let is_reached = |id: u64| levels[self.row(id)] >= 0;
        let mut edges: Vec<&[u64; 2]> = self.edges.iter().filter(|&&[u, v]| u != v && is_reached(u)).collect();
        if self.info.direction == Direction::Directed {
            // A job tells those that are distinct.
            edges.sort_unstable();
            edges.dedup();
        }
        let edges = edges.len() as u64;
        SourceTold {
            source: InputId::Number(source),
            reached: levels.iter().filter(|level| **level >= 0).count() as u64,
            depth: depth as u64,
            edges,
            speed: Speed::of(edges, 0.25),
            frontiers: (0..=depth).map(frontier).collect(),
        }
    }

    /// Writes columns.
    fn write(&self, source: u64, (parents, levels): &Columns, csv: bool) -> [(String, Output); 2] {
        let name = |column: &str| format!("out/bfs/{source}/{column}.{}", if csv { "csv" } else { "npy" });
        if csv {
            let text = |column: &str, values: Vec<i64>| {
                let rows = self.ids.iter().zip(values);
                let lines: Vec<String> = rows.map(|(id, value)| format!("{id},{value}\n")).collect();
                self.put(&name(column), format!("id,{column}\n{}", lines.concat()).as_bytes())
            };
            let levels = levels.iter().map(|&level| level.into()).collect();
            return [text("parent", parents.clone()), text("level", levels)];
        }
        let parents = parents.iter().map(|parent| parent.to_le_bytes().to_vec()).collect();
        let levels = levels.iter().map(|level| level.to_le_bytes().to_vec()).collect();
        [self.array(&name("parent"), "<i8", parents), self.array(&name("level"), "<i4", levels)]
    }

    /// The graph as preparation stores it.
    fn graph(&self) -> Graph {
        let direction = self.info.direction;
        let runs = runs(&self.order);
        let budget = Budget::new(1 << 30, 1).expect("a budget");
        let mut map = budget.zeroed::<u32>(self.info.ids as usize, "a test").expect("room");
        map.fill(ISOLATED);
        for (place, &(id, _)) in (0..).zip(&self.order) {
            map[self.row(id)] = place;
        }
        let places: BTreeMap<u64, u32> = self.order.iter().map(|&(id, _)| id).zip(0..).collect();
        let folder = self.path("graph");
        fs::create_dir_all(&folder).expect("made");
        let layout = self.info.layout(&runs);
        let mut entries = 0;
        for b in 0..layout.blocks() {
            let row = |row: u64| {
                let v = direction.vertex(row as u32);
                let all = if row as u32 == direction.row(v, EdgeDirection::Out) { &self.heads } else { &self.tails };
                let all = all.get(&self.order[v as usize].0).into_iter().flatten();
                let smaller: BTreeSet<u32> = all.map(|id| places[id]).filter(|&w| w < v).collect();
                smaller.into_iter().collect::<Vec<u32>>()
            };
            let rows: Vec<Vec<u32>> = layout.block(b).rows.map(row).collect();
            let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
            let targets = rows.concat();
            entries += targets.len() as u64;
            let _ = stored::write(&folder, 9, &layout, b, &[(&lengths, &targets)]).expect("written");
        }
        let stored = StoreInfo {
            weights: None,
            edges: entries,
            blocks: layout.blocks() as u64,
            degrees: false,
            in_memory: false,
            summary: DegreeSummary::default(),
        };
        let order = Relabelled { map, runs, whole: true };
        let _ = order::write(&folder, 9, &order, &|| true).expect("written");
        if self.info.sparse {
            let ids = dictionary::path(&folder);
            let _ =
                Dictionary::build(&self.input(), &ids, self.info.identity, 1, &budget, &Unwatched).expect("written");
        }
        Graph::open(self.folder.path(), self.info.clone(), stored).expect("opened")
    }

    /// Verifies what is told of some sources against what is written of them.
    fn verify(&self, columns: &[(u64, Columns)], told: &[SourceTold], how: How) -> Vec<Check> {
        let files = columns.iter().flat_map(|(source, columns)| self.write(*source, columns, how.csv));
        let outputs = files.collect();
        let (input, graph) = (self.input(), how.blocks.then(|| self.graph()));
        let edges = graph.as_ref().map_or(EdgeSource::Input(&input), EdgeSource::Blocks);
        let reading = input.scratch_bytes(how.threads).max(how.threads as u64 * (2 << 20));
        // Room for columns of this many sources at a time.
        let room = 16 * self.info.ids + 8 * self.info.connected * (how.batch + 1);
        let budget = Budget::new(limit_leaving(reading + room, how.threads), how.threads).expect("a budget");
        let stored = nothing_stored();
        let options = options(told, true);
        let results = Results {
            names: None,
            workdir: self.folder.path(),
            info: &self.info,
            stored: &stored,
            outputs: &outputs,
            done: true,
            edges: Ok(edges),
            budget: &budget,
            threads: how.threads,
        };
        let mut verdict = Verdict::new(|_| Ok(()));
        let (output, details) = reported(told);
        let table = Bfs { options, alpha: None, beta: None };
        table.verify(&results, (&output, &details), &mut verdict).expect("no stop");
        verdict.checks
    }
}

/// Returns the keys of a table that asks for these sources.
fn options(told: &[SourceTold], write: bool) -> Options {
    let sources = Sources(told.iter().map(|of| of.source).collect());
    Options { origins: Origins { roots: 0, seed: 1, sources }, validate: true, write, graph500: false }
}

/// Returns what a job reports of searches with these figures.
fn reported(told: &[SourceTold]) -> (SearchOutput<SourceOutput>, SearchDetails<BfsDetails>) {
    let with_edges = told.iter().filter(|of| of.edges > 0);
    let per_edge: Vec<f64> = with_edges.map(|of| of.speed.seconds / of.edges as f64).collect();
    let mean = if per_edge.is_empty() { 0.0 } else { per_edge.len() as f64 / per_edge.iter().sum::<f64>() };
    let output =
        |of: &SourceTold| SourceOutput { source: of.source, reached: of.reached, depth: of.depth, edges: of.edges };
    let level =
        |&frontier: &u64| BfsLevel { frontier, edges_checked: 0, direction: Step::TopDown, seconds: 0.0, bytes: 0 };
    let details = |of: &SourceTold| BfsDetails {
        seconds: of.speed.seconds,
        teps: of.speed.teps,
        levels: of.frontiers.iter().map(level).collect(),
    };
    let sources = told.iter().map(details).collect();
    (
        SearchOutput { sources: told.iter().map(output).collect(), validated: true },
        SearchDetails { sources, harmonic_mean_teps: mean, graph500: None, energy: None },
    )
}

#[derive(Debug, Clone, Copy)]
struct How {
    csv: bool,
    blocks: bool,
    threads: usize,
    batch: u64,
}

const PLAIN: How = How { csv: false, blocks: false, threads: 2, batch: 64 };

#[track_caller]
fn pass(case: &Case, sources: &[u64], how: How) {
    let columns: Vec<_> = sources.iter().map(|&source| (source, case.search(source))).collect();
    let told: Vec<_> = columns.iter().map(|(source, columns)| case.told(*source, columns)).collect();
    for check in case.verify(&columns, &told, how) {
        assert_eq!(check.outcome, CheckOutcome::Ok, "{check}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn trees_of_a_plain_queue_pass(
        edges in (2u64..200, 1usize..600).prop_flat_map(|(n, m)| {
            let end = prop_oneof![2 => 0..n, 1 => 0..n.div_ceil(20)];
            prop::collection::vec((end.clone(), end).prop_map(|(u, v)| [u, v]), 1..=m)
        }),
        directed in any::<bool>(),
        sparse in any::<bool>(),
        declared in 0u64..300,
        sources in prop::collection::vec(any::<prop::sample::Index>(), 1..70),
        how in (any::<bool>(), any::<bool>(), 1usize..4, 1u64..5).prop_map(|(csv, blocks, threads, batch)| {
            How { csv, blocks, threads, batch }
        }),
    ) {
        let apart = |id: u64| if sparse { id * 0x1_0000_0001 + 5 } else { id };
        let edges: Vec<[u64; 2]> = edges.iter().map(|edge| edge.map(apart)).collect();
        let case = Case::new(&edges, Direction::of(directed), sparse, declared);
        let sources: BTreeSet<u64> = sources.iter().map(|source| case.ids[source.index(case.ids.len())]).collect();
        pass(&case, &sources.into_iter().collect::<Vec<_>>(), how);
    }
}

#[test]
fn deep_trees_pass() {
    let edges: Vec<[u64; 2]> = (0..4000).map(|i| [i * 7 % 4001, (i + 1) * 7 % 4001]).collect();
    for direction in [Direction::Undirected, Direction::Directed] {
        let case = Case::new(&edges, direction, false, 0);
        pass(&case, &[0, 7, 3000], PLAIN);
    }
}

/// 0 - 1 - 2 - 3 - 4 - 5, 1 - 6 - 3, 7 - 8 apart from it, and a vertex 9 with a loop alone.
const EDGES: [[u64; 2]; 10] = [[0, 1], [1, 2], [2, 3], [3, 4], [5, 4], [1, 6], [6, 3], [7, 8], [9, 9], [3, 2]];

/// Returns what is said of trees, that of 0 with these changes to parents and levels of ids among them.
#[track_caller]
fn said(case: &Case, changes: &[(u64, i64, i32)], blocks: bool) -> String {
    let sources = [8, 0, 5];
    let mut columns: Vec<_> = sources.map(|source| (source, case.search(source))).to_vec();
    let told: Vec<_> = columns.iter().map(|(source, columns)| case.told(*source, columns)).collect();
    let (parents, levels) = &mut columns[1].1;
    for &(id, parent, level) in changes {
        (parents[case.row(id)], levels[case.row(id)]) = (parent, level);
    }
    let checks = case.verify(&columns, &told, How { blocks, ..PLAIN });
    assert_eq!(checks[0].outcome, CheckOutcome::Ok, "{}", checks[0]);
    assert_eq!(checks[1].outcome, CheckOutcome::Failed, "{}", checks[1]);
    checks[1].found.strip_prefix("validation failed: ").expect("a validation").to_owned()
}

#[test]
fn each_kind_of_wrong_tree_is_caught_by_its_rule() {
    let case = Case::new(&EDGES, Direction::Undirected, false, 12);
    for blocks in [false, true] {
        let rule = |changes: &[(u64, i64, i32)], rule: u32, found: &str| {
            assert_eq!(said(&case, changes, blocks), format!("source 0: {found} (rule {rule} of Graph500)"));
        };
        rule(&[(0, 1, 0)], 1, "the parent of the root is 1 and not the root");
        rule(&[(0, -1, -1)], 1, "the root was not reached");
        rule(&[(0, 0, 1)], 2, "the root has level 1");
        rule(&[(5, 77, 5)], 1, "the parent of vertex 5 is 77, which is no vertex");
        rule(&[(5, 4, -1)], 1, "vertex 5 has parent 4 and no level");
        rule(&[(5, -1, 5)], 1, "vertex 5 has level 5 and no parent");
        rule(&[(5, -3, -1)], 1, "vertex 5 has parent -3 and level -1");
        rule(&[(4, -1, -1)], 1, "the parent of vertex 5 is 4, which was not reached");
        // A cycle can have no levels that rise along it.
        rule(&[(4, 5, 6)], 2, "vertex 5 has level 5, its parent 4 has 6");
        rule(&[(5, 5, 5)], 2, "vertex 5 has level 5, its parent 5 has 5");
        rule(&[(5, 4, 6)], 2, "vertex 5 has level 6, its parent 4 has 4");
        rule(&[(7, 7, 0), (8, 7, 1)], 2, "vertex 7 has level 0, and is not the root");
        rule(&[(5, -1, -1)], 4, "an edge leads from 4, which was reached, to 5, which was not");
        rule(&[(5, 3, 4)], 5, "no edge leads to vertex 5 from its parent 3");
        rule(&[(7, 0, 1), (8, 7, 2)], 5, "no edge leads to vertex 7 from its parent 0");
        rule(&[(9, 0, 1)], 5, "no edge leads to vertex 9 from its parent 0");
        rule(&[(11, 0, 1)], 5, "no edge leads to vertex 11 from its parent 0");
        rule(&[(5, 9, 5)], 5, "no edge leads to vertex 5 from its parent 9");
        // 2 has one edge more in the list than 6, so that it comes first.
        assert_eq!(
            said(&case, &[(3, 6, 3)], blocks),
            "source 0: the parent of vertex 3 is 6, but 2 is in the same level and comes first"
        );
    }
}

#[test]
fn a_detour_is_caught_by_rule_3() {
    let case = Case::new(&[[0, 5], [5, 2], [2, 3], [3, 4], [4, 8], [8, 0]], Direction::Undirected, false, 0);
    for blocks in [false, true] {
        assert_eq!(
            said(&case, &[(3, 2, 3), (4, 3, 4), (8, 4, 5)], blocks),
            "source 0: an edge leads from 0, level 0, to 8, level 5 (rule 3 of Graph500)"
        );
    }
}

#[test]
fn direction_counts() {
    // 0 -> 1 -> 2 -> 3, 0 -> 2, and 5 -> 0 -> 8: 5 reaches all, and nobody reaches 5.
    let case = Case::new(&[[0, 1], [1, 2], [2, 3], [0, 2], [5, 0], [0, 8]], Direction::Directed, false, 0);
    for blocks in [false, true] {
        let rule = |changes: &[(u64, i64, i32)], rule: u32, found: &str| {
            assert_eq!(said(&case, changes, blocks), format!("source 0: {found} (rule {rule} of Graph500)"));
        };
        rule(&[(5, 0, 1)], 5, "no edge leads to vertex 5 from its parent 0");
        rule(&[(3, -1, -1)], 4, "an edge leads from 2, which was reached, to 3, which was not");
        rule(&[(2, 1, 2), (3, 2, 3)], 3, "an edge leads from 0, level 0, to 2, level 2");
    }
}

#[test]
fn figures_are_held_against_columns_and_each_other() {
    let case = Case::new(&EDGES, Direction::Undirected, false, 12);
    let columns = case.search(0);
    let right = case.told(0, &columns);
    assert_eq!((right.reached, right.depth, right.edges), (7, 5, 8));
    let told = |change: &dyn Fn(&mut SourceTold), blocks: bool| {
        let mut told = right.clone();
        change(&mut told);
        case.verify(&[(0, columns.clone())], &[told], How { blocks, ..PLAIN })
    };
    // By themselves.
    let changes: [&dyn Fn(&mut SourceTold); 8] = [
        &|told| told.reached = 0,
        &|told| told.reached = 10,
        &|told| told.depth = 7,
        &|told| told.edges = 5,
        &|told| told.speed.teps *= 1.001,
        &|told| told.frontiers = vec![2, 1, 2, 1, 1],
        &|told| told.frontiers[5] += 1,
        &|told| told.frontiers.push(1),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let checks = told(change, false);
        assert_eq!((checks[0].outcome, checks[0].what.as_str()), (CheckOutcome::Failed, "searches"), "{number}");
    }
    // By what was written.
    let changes: [&dyn Fn(&mut SourceTold); 3] = [
        &|told| (told.reached, told.depth, told.frontiers) = (6, 4, vec![1, 1, 2, 1, 1]),
        &|told| (told.edges, told.speed.teps) = (7, 28.0),
        &|told| told.frontiers = vec![1, 2, 1, 1, 1, 1],
    ];
    for blocks in [false, true] {
        for (number, change) in changes.into_iter().enumerate() {
            let checks = told(change, blocks);
            let outcomes = (checks[0].outcome, checks[1].outcome);
            assert_eq!(outcomes, (CheckOutcome::Ok, CheckOutcome::Failed), "{number}: {} {}", checks[0], checks[1]);
        }
    }
    // Of a deep tree the first levels alone are told.
    assert!(told(&|told| told.frontiers.truncate(3), true).iter().all(|check| check.outcome == CheckOutcome::Ok));
}

#[test]
fn what_is_missing_cut_short_or_not_there_any_more_is_told() {
    let case = Case::new(&EDGES, Direction::Undirected, false, 12);
    let columns = case.search(0);
    let right = [case.told(0, &columns)];
    let short = |rows: usize| (columns.0[..rows].to_vec(), columns.1[..rows].to_vec());
    let check = |columns: &[(u64, Columns)], how: How| case.verify(columns, &right, how)[1].clone();
    let text = How { csv: true, ..PLAIN };
    assert!(check(&[(0, short(11))], PLAIN).found.contains("parent.npy: its header is not that of 12 numbers"));
    assert!(check(&[(0, short(11))], text).found.contains("parent.csv: 11 rows, where there should be 12"));
    let differing = (columns.0.clone(), short(11).1);
    assert!(check(&[(0, differing)], PLAIN).found.contains("level.npy: its header is not that of 12 numbers"));
    assert!(check(&[], PLAIN).found.contains("no file of the column out/bfs/0/parent"));
    // Other edges in a file of the same size.
    let text = fs::read_to_string(case.path("edges.mtx")).expect("read");
    fs::write(case.path("edges.mtx"), text.replace("\n1 2\n", "\n1 3\n")).expect("written");
    let check = check(&[(0, columns.clone())], PLAIN);
    assert!(check.outcome == CheckOutcome::Failed && check.found.contains("in a file of the same size"), "{check}");
}

#[test]
fn without_columns_or_edges_the_figures_are_checked_alone() {
    let case = Case::new(&EDGES, Direction::Undirected, false, 12);
    let right = [case.told(0, &case.search(0))];
    let budget = Budget::new(1 << 30, 1).expect("a budget");
    let stored = nothing_stored();
    for (write, why) in [(false, "write = false"), (true, "it is gone")] {
        let (workdir, outputs) = (case.folder.path(), BTreeMap::new());
        let edges = Err("it is gone".to_owned());
        let options = options(&right, write);
        let results = Results {
            names: None,
            workdir,
            info: &case.info,
            stored: &stored,
            outputs: &outputs,
            done: true,
            edges,
            budget: &budget,
            threads: 1,
        };
        let mut verdict = Verdict::new(|_| Ok(()));
        let (output, details) = reported(&right);
        let table = Bfs { options, alpha: None, beta: None };
        table.verify(&results, (&output, &details), &mut verdict).expect("no stop");
        let outcomes: Vec<_> = verdict.checks.iter().map(|check| check.outcome).collect();
        assert_eq!(outcomes, [CheckOutcome::Ok, CheckOutcome::Skipped]);
        assert!(verdict.checks[1].found.contains(why), "{}", verdict.checks[1]);
    }
}
