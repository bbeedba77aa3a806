//! Shortest paths against Dijkstra: by every method, kind of weight and number of threads, on graphs of all shapes and on those with known
//! answers.

mod wide;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gpugraph::internals::formats::{Format, WeightType};
use gpugraph::internals::job::state::manifest::Manifest;
use gpugraph::internals::results::Output;
use proptest::prelude::*;
use serde_json::Value;

use crate::dijkstra::{Found, Paths, Taken, Weighted};
use crate::oracle::Graph;
use crate::support::{Place, complete, number, random_edges, reference_graphs};
use crate::{job, outputs, report, run};

const METHODS: [&str; 4] = ["auto", "moore", "delta-stepping", "bellman-ford"];

/// Drawn weights of all kinds: some that add nothing, large ones, and decimals that get lost in sums.
const DRAWN: [Taken; 7] = [
    Taken::Unit,
    Taken::Whole(1, 255, 1),
    Taken::Whole(0, 2, 2),
    Taken::Whole(5, 5, 3),
    Taken::Whole(u32::MAX - 9, u32::MAX, 4),
    Taken::Decimal(0.0, 1.0, 5),
    Taken::Decimal(0.0, 2e-38, 6),
];

/// A file of edges, and jobs on it.
struct Checked {
    place: Place,
    input: String,
    weighted: Weighted,
    directed: bool,
}

impl Checked {
    /// On edges with whole weights.
    fn new(edges: &[(u64, u64, u32)], directed: bool) -> Checked {
        let place = Place::new();
        let weighted = Weighted::of(edges);
        let path = place.write("edges.wel", weighted.text());
        // The first of two edges, "2 1 0", could as well be the number of lines that follow.
        let input = format!("path = '{}'\nskip_lines = 0", path.display());
        Checked { input, place, weighted, directed }
    }

    /// On a file of edges, with direction if it is asked for and the file has one: a symmetric matrix has none.
    fn on(path: &Path, directed: bool) -> (Checked, Option<WeightType>) {
        let head = fs::read(path).expect("a graph");
        let head = String::from_utf8_lossy(&head[..head.len().min(100)]);
        let directed = directed && !head.lines().next().is_some_and(|line| line.ends_with("symmetric"));
        let (weighted, kind) = Weighted::read(path);
        let input = format!("path = '{}'", path.display());
        (Checked { place: Place::new(), input, weighted, directed }, kind)
    }

    /// On text whose weights are decimals.
    fn of_decimals(text: &str, directed: bool) -> Checked {
        let place = Place::new();
        let path = place.write("edges.wel", text);
        let (checked, kind) = Checked::on(&path, directed);
        assert_eq!(kind, Some(WeightType::F32));
        Checked { place, ..checked }
    }

    fn job(&self, taken: Taken, sources: &[u64], more: &str) {
        let Checked { input, directed, .. } = self;
        let table = format!("[sssp]\nsources = {sources:?}\nwrite = true\n{}{more}", taken.key());
        self.place
            .write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\ndirected = {directed}\n{table}"));
    }

    /// Runs the job with each of these settings, and compares what it leaves with what the oracle finds.
    #[track_caller]
    fn holds(&self, taken: Taken, sources: &[u64], sets: &[&[&str]]) {
        let rows = self.weighted.rows();
        let paths = Paths::new(&self.weighted.edges, rows, self.directed, taken);
        let known: Vec<Found> = sources.iter().map(|&source| paths.from(source, taken)).collect();
        for set in sets {
            let what = format!("{}, {taken:?}, {set:?}", self.input);
            let _ = fs::remove_dir_all(self.place.workdir());
            self.job(taken, sources, "");
            let report = report(&self.place, set);
            assert_eq!(report["results"]["sssp"]["validated"], true, "{what}");
            let files = outputs(&self.place.workdir());
            for (number_of, (source, known)) in sources.iter().zip(&known).enumerate() {
                let told = &report["results"]["sssp"]["sources"][number_of];
                assert_eq!(number(told, "reached"), known.reached, "{what}");
                assert_eq!(told["max_distance"].as_f64(), known.max_distance.as_f64(), "{what}");
                assert_eq!(number(told, "edges"), known.edges, "{what}");
                for (column, bytes) in [("distance", &known.distances), ("parent", &known.parents)] {
                    let file = &files[&format!("sssp/{source}/{column}.npy")];
                    assert!(file[128..] == bytes[..], "{what}: {column} from {source}");
                }
            }
        }
    }

    /// What the last run left, by whatever method.
    #[track_caller]
    fn verifies(&self) {
        let said = self.place.gpugraph(&["verify", "work"]).expect(0).out;
        assert!(said.contains("checked against the edges of the input and their weights"), "{said}");
    }
}

/// All methods, by one thread, and by several where auto chooses.
fn by_methods() -> Vec<Vec<String>> {
    let method = |method: &&str| vec![format!("sssp.method={method}"), "limits.threads=2".to_owned()];
    let mut sets: Vec<_> = METHODS.iter().map(method).collect();
    sets.push(vec!["limits.threads=1".into()]);
    sets.push(vec!["limits.threads=3".into(), "limits.host_memory=64MiB".into()]);
    sets
}

#[track_caller]
fn by_every_method(checked: &Checked, taken: Taken, sources: &[u64]) {
    let sets = by_methods();
    let sets: Vec<Vec<&str>> = sets.iter().map(|set| set.iter().map(String::as_str).collect()).collect();
    checked.holds(taken, sources, &sets.iter().map(Vec::as_slice).collect::<Vec<_>>());
}

fn weighed(edges: &[[u64; 2]], weight: impl Fn(usize) -> u32) -> Vec<(u64, u64, u32)> {
    edges.iter().enumerate().map(|(number, &[u, v])| (u, v, weight(number))).collect()
}

fn grid(rows: u64, columns: u64) -> Vec<[u64; 2]> {
    let cell = |v: u64| {
        [(v % columns + 1 < columns).then_some([v, v + 1]), (v / columns + 1 < rows).then_some([v, v + columns])]
    };
    (0..rows * columns).flat_map(cell).flatten().collect()
}

#[test]
fn shapes_by_every_method_and_kind_of_weight() {
    let path: Vec<[u64; 2]> = (0..400).map(|v| [v, v + 1]).collect();
    let star: Vec<[u64; 2]> = (1..300).map(|leaf| [0, leaf]).collect();
    let mut two = random_edges(200, 700, 1);
    two.extend(random_edges(150, 500, 2).iter().map(|edge| edge.map(|id| id + 300)));
    let shapes = [grid(17, 23), path, star, complete(40), two, random_edges(500, 4000, 3)];
    for (number, edges) in shapes.iter().enumerate() {
        // Of few different weights, many are equal.
        let checked = Checked::new(&weighed(edges, |edge| [3, 0, 7, 3, 90_000][edge * 7 % 5]), number % 2 == 1);
        by_every_method(&checked, Taken::File(WeightType::U32), &[0, 7, edges[edges.len() / 2][1]]);
        checked.verifies();
        for taken in DRAWN {
            checked.holds(taken, &[0, 11], &[&["limits.threads=2"]]);
            checked.verifies();
        }
    }
}

#[test]
fn a_path_of_a_million_edges_and_sums_past_32_bits() {
    let edges: Vec<(u64, u64, u32)> = (0..1_000_000).map(|v| (v, v + 1, u32::MAX - (v % 7) as u32)).collect();
    let checked = Checked::new(&edges, false);
    checked.holds(Taken::File(WeightType::U32), &[0, 400_000], &[&["limits.threads=2"]]);
    checked.holds(Taken::Unit, &[1_000_000], &[&["limits.threads=1"]]);
    checked.verifies();
}

/// A chain of layers, of a few vertices and of thousands in turn, with a path behind: rounds for one thread and for all follow each other, and most
/// have as many edges as decide between these, or nearly so.
fn layers() -> Vec<[u64; 2]> {
    let (mut edges, mut before, mut next) = (Vec::new(), 0..1, 1);
    for width in [1, 340, 1, 300, 380, 900, 2600, 900, 350, 330, 1, 1].repeat(3).into_iter().chain([1; 2000]) {
        let layer = next..next + width;
        let of = |v: u64, nth: u64| before.start + (v * 7 + nth * nth * 31) % (before.end - before.start);
        edges.extend(layer.clone().flat_map(|v| (0..3).map(move |nth| (v, nth))).map(|(v, nth)| [of(v, nth), v]));
        (before, next) = (layer.clone(), layer.end);
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[test]
fn rounds_for_one_thread_and_for_all_in_turn() {
    let edges = layers();
    let weighted = weighed(&edges, |edge| [3, 1, 7, 4, 250][edge * 7 % 5]);
    let set = |method: &str, threads: u32| [format!("sssp.method={method}"), format!("limits.threads={threads}")];
    let sets = [
        ("auto", 1),
        ("auto", 2),
        ("auto", 64),
        ("moore", 3),
        ("moore", 64),
        ("delta-stepping", 64),
        ("bellman-ford", 64),
    ];
    let sets: Vec<_> = sets.into_iter().map(|(method, threads)| set(method, threads)).collect();
    let sets: Vec<[&str; 2]> = sets.iter().map(|set| set.each_ref().map(String::as_str)).collect();
    let sets: Vec<&[&str]> = sets.iter().map(|set| &set[..]).collect();
    let checked = Checked::new(&weighted, false);
    checked.holds(Taken::File(WeightType::U32), &[0, 5000], &sets);
    checked.holds(Taken::Unit, &[700], &sets[1..3]);
    let known = outputs(&checked.place.workdir());
    for threads in [1, 2, 64] {
        let _ = fs::remove_dir_all(checked.place.workdir());
        let table = "[bfs]\nsources = [700]\nwrite = true\n";
        checked.place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{}\n{table}", checked.input));
        report(&checked.place, &[&format!("limits.threads={threads}")]);
        let parents = &outputs(&checked.place.workdir())["bfs/700/parent.npy"];
        assert!(*parents == known["sssp/700/parent.npy"], "{threads} threads");
    }
    // A hub, whose edges are counted.
    let hub = edges.iter().map(|edge| edge[1]).max().expect("edges") + 1;
    let with_hub = edges.iter().copied().chain((0..3000).map(|leaf| [hub, leaf * 2])).collect::<Vec<_>>();
    let checked = Checked::new(&weighed(&with_hub, |edge| [300, 1, 7, 4, 250][edge * 7 % 5]), false);
    checked.holds(Taken::File(WeightType::U32), &[0, hub], &sets);
}

/// All vertices push where no distance beyond the last pushed bucket fits.
#[test]
fn sums_near_the_largest_weight_are_found_by_all_methods() {
    let edges = [(0, 1, "2.05e38"), (1, 2, "1e38"), (0, 3, "3.3e38"), (2, 3, "1e36")];
    let leaves = (10..1510).map(|leaf| (2, leaf, "1e36"));
    let far = (5000..6500).map(|v| (v, v + 1, "2e38"));
    let text: String =
        edges.into_iter().chain(leaves).chain(far).map(|(u, v, weight)| format!("{u} {v} {weight}\n")).collect();
    by_every_method(&Checked::of_decimals(&text, true), Taken::File(WeightType::F32), &[0, 5000]);
}

/// A hub is found twice: first by a longer path, so that its entry there is outdated when its many edges end pushing.
#[test]
fn a_wide_bucket_may_have_outdated_entries_alone() {
    let to_hub = [(0, 1, 10), (0, 2, 0), (2, 1, 0)];
    let behind = [(1, 3, 20), (3, 4, 20), (4, 5, 20), (5, 6, 90), (3, 6, 200)];
    let leaves = (10..2010).flat_map(|leaf| [(1, leaf, 30), (leaf, leaf + 2000, 1)]);
    let edges: Vec<_> = to_hub.into_iter().chain(behind).chain(leaves).collect();
    by_every_method(&Checked::new(&edges, true), Taken::File(WeightType::U32), &[0]);
}

/// Threads that wait take no time of processors: a path has one vertex in each round.
#[test]
fn threads_without_work_take_no_processor_time() {
    let checked = Checked::new(&weighed(&(0..150_000).map(|v| [v, v + 1]).collect::<Vec<_>>(), |_| 3), false);
    let tables = "[bfs]\nsources = [0]\nvalidate = false\n[sssp]\nsources = [0]\nmethod = 'moore'\nvalidate = false\n";
    checked.place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{}\n{tables}", checked.input));
    let taken = |threads: u32| {
        let _ = fs::remove_dir_all(checked.place.workdir());
        let report = report(&checked.place, &[&format!("limits.threads={threads}")]);
        let stages = report["stages"].as_array().expect("stages").clone();
        ["bfs", "sssp"].map(|name| {
            let stage = stages.iter().find(|stage| stage["name"] == name).unwrap_or_else(|| panic!("{report:#}"));
            stage["cpu_seconds"][0].as_f64().unwrap_or_else(|| panic!("{stage:#}"))
        })
    };
    let alone = taken(1);
    for threads in [2, 64] {
        for (several, alone) in taken(threads).into_iter().zip(alone) {
            assert!(several <= 2.0 * alone + 0.3, "{threads} threads: {several} s, one: {alone} s");
        }
    }
}

#[test]
fn decimals_are_sums_along_paths_and_ties_are_broken_by_the_order_of_vertices() {
    // From 0 to 4 by 1, 2 or 3, all of length 1.5; 3 has most edges. 0.1 + 0.2 is not 0.3 in f32 arithmetic of every order.
    let text = "0 1 0.5\n0 2 1\n0 3 0.75\n1 4 1\n2 4 0.5\n3 4 0.75\n3 5 0.1\n3 6 0.2\n5 7 0.2\n6 7 0.1\n7 8 0.3\n4 8 0\n8 9 1e-9\n9 10 0\n10 9 1e-12\n";
    for directed in [false, true] {
        let checked = Checked::of_decimals(text, directed);
        by_every_method(&checked, Taken::File(WeightType::F32), &[0, 7, 9]);
        checked.verifies();
    }
}

/// As f32 has it, such a sum is infinite, and so is the distance of who is not reached.
#[test]
fn nobody_is_reached_by_a_sum_beyond_the_largest_f32() {
    // By a leaf, by a vertex with more edges behind it, and by two ways, one of which is short enough.
    let text = "0 1 3e38\n1 2 3e38\n1 3 3e38\n3 4 0.5\n4 5 0.5\n3 5 1\n1 6 1e38\n6 7 1e38\n0 7 2e38\n7 4 1.4e38\n";
    for directed in [false, true] {
        let checked = Checked::of_decimals(text, directed);
        by_every_method(&checked, Taken::File(WeightType::F32), &[0, 1, 2, 5]);
        checked.verifies();
    }
}

/// Vertices that became nearer and have no place in a bucket are found by rounds over all.
#[test]
fn buckets_that_memory_has_no_room_for() {
    let mut edges = random_edges(900, 5000, 7);
    edges.extend((0..900).map(|v| [900, v]));
    let checked = Checked::new(&weighed(&edges, |edge| [1, 9, 0, 30, 2][edge % 5]), true);
    checked.holds(Taken::File(WeightType::U32), &[3, 900], &[&["limits.threads=2"]]);
    let known = outputs(&checked.place.workdir());
    for (nth, method) in ["auto", "moore", "delta-stepping", "auto", "auto"].iter().enumerate() {
        for threads in [1, 3] {
            let _ = fs::remove_dir_all(checked.place.workdir());
            let rule = format!("sssp.buckets={}:enospc", 1 + nth * nth * 4);
            let sets = [format!("sssp.method={method}"), format!("limits.threads={threads}")];
            let ran = run(&checked.place, &rule, &sets.each_ref().map(String::as_str)).expect(0);
            assert!(outputs(&checked.place.workdir()) == known, "{rule}, {sets:?}: {}", ran.out);
            if nth < 2 {
                let log = fs::read_to_string(checked.place.workdir().join("run.log")).expect("a log");
                assert!(log.contains("searching by rounds over all vertices"), "{rule}, {sets:?}");
            }
        }
    }
}

#[test]
fn unit_weights_have_the_levels_of_breadth_first_search() {
    let (place, graph) = (Place::new(), Graph::new(700, 9000, 1));
    job(
        &place,
        &graph,
        "[bfs]\nsources = [5, 9]\nwrite = true\n[sssp]\nsources = [5, 9]\nweights = { unit = true }\nwrite = true\n",
    );
    report(&place, &[]);
    for source in [5, 9] {
        let levels: Vec<i32> = place.npy(&format!("bfs/{source}/level"));
        let distances: Vec<u64> = place.npy(&format!("sssp/{source}/distance"));
        assert!(levels.iter().zip(&distances).all(|(&level, &distance)| match level {
            -1 => distance == u64::MAX,
            level => distance == level as u64,
        }));
        let parents = |name: &str| place.npy::<i64>(&format!("{name}/{source}/parent"));
        assert_eq!(parents("bfs"), parents("sssp"));
    }
}

#[test]
fn the_path_to_a_target_is_told() {
    let edges = [(1, 2, 4), (2, 3, 4), (1, 3, 9), (3, 4, 1), (6, 7, 1)];
    let checked = Checked::new(&edges, false);
    checked.job(Taken::File(WeightType::U32), &[1, 6], "target = 4\n");
    let ran = run(&checked.place, "", &[]).expect(0);
    assert!(ran.out.contains("path 1 to 4: length 9  edges 3  vertices 1 2 3 4"), "{}", ran.out);
    assert!(ran.out.contains("path 6 to 4: none, 4 is unreachable"), "{}", ran.out);
    let report = checked.place.read_report();
    assert_eq!(report["results"]["sssp"]["sources"][0]["path"]["vertices"], serde_json::json!([1, 2, 3, 4]));
    checked.verifies();
    // By another way that is as long as it says, but for what the columns have.
    let mut manifest = Manifest::load(&checked.place.workdir()).expect("read").expect("there");
    let found = manifest.tasks.get_mut("sssp").and_then(|task| task.found.as_mut()).expect("a result");
    found["sources"][0]["path"]["vertices"][1] = 3.into();
    manifest.save(&checked.place.workdir()).expect("written");
    let ran = checked.place.gpugraph(&["verify", "job.toml"]).expect(8);
    assert!(ran.out.contains("source 1: the path to 4 is not that of its columns"), "{}", ran.out);
}

/// Every graph with known answers, with the weights that it has, and drawn ones.
#[test]
fn all_shared_graphs() {
    let Some(folder) = reference_graphs() else { return };
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).expect("a list");
    let names: Vec<&str> = manifest.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    assert!(names.len() > 10);
    let mut with_weights = 0;
    for (number, name) in names.iter().enumerate() {
        let path = folder.join(name);
        if Format::by_ending(&path).is_none() || !path.is_file() {
            println!("SKIPPED: {name}");
            continue;
        }
        let (checked, kind) = Checked::on(&path, number % 2 == 0);
        let Some(&([source, other], _)) = checked.weighted.edges.iter().find(|([u, v], _)| u != v) else { continue };
        if let Some(kind) = kind {
            with_weights += 1;
            checked.holds(Taken::File(kind), &[source, other], &[&["limits.threads=2"]]);
            checked.verifies();
        }
        let [some, more] = [DRAWN[1 + number % 3], DRAWN[4 + number % 3]];
        for taken in [some, more] {
            checked.holds(taken, &[source], &[&["limits.threads=2"]]);
        }
        checked.verifies();
    }
    assert!(with_weights > 2, "{with_weights}");
}

/// Distances by vertex, as files of references have them.
fn reference(path: &Path) -> BTreeMap<u64, f64> {
    let text = fs::read_to_string(path).expect("a reference");
    let line = |line: &str| {
        let (vertex, distance) = line.split_once(char::is_whitespace)?;
        Some((vertex.parse().ok()?, distance.trim().to_lowercase().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn published_distances() {
    let Some(folder) = reference_graphs() else { return };
    for (input, answer, source, directed) in [
        ("dimacs/rome99.gr", "dimacs/rome99.sssp-from-1.ref", 1, true),
        ("libgrape/p2p-31.e", "libgrape/p2p-31-SSSP", 6, false),
        ("graphalytics/sssp/dir-input.e", "graphalytics/sssp/dir-output", 1, true),
        ("graphalytics/sssp/undir-input.e", "graphalytics/sssp/undir-output", 1, false),
    ] {
        let place = Place::new();
        let (path, known) = (folder.join(input), reference(&folder.join(answer)));
        let is_gr = input.ends_with(".gr");
        let (format, read) = if is_gr { ("gr", Format::Gr) } else { ("text", Format::Text) };
        // DIMACS numbers vertices from 1, which are read from 0 on.
        let first = u64::from(is_gr);
        place.write("job.toml", format!(
            "[job]\nworkdir = 'work'\n[input]\npath = '{}'\nformat = '{format}'\ndirected = {directed}\n[sssp]\nsources = [{}]\nwrite = true\n",
            path.display(), source - first
        ));
        report(&place, &[]);
        let (_, kind) = Weighted::read_as(&path, Some(read));
        let name = format!("sssp/{}/distance", source - first);
        let found: Vec<f64> = match kind {
            Some(WeightType::F32) => place.npy::<f32>(&name).into_iter().map(f64::from).collect(),
            _ => place
                .npy::<u64>(&name)
                .into_iter()
                .map(|sum| if sum == u64::MAX { f64::INFINITY } else { sum as f64 })
                .collect(),
        };
        assert!(known.len() > 3, "{input}");
        for (vertex, known) in known {
            let found = found.get((vertex - first) as usize).copied().unwrap_or(f64::INFINITY);
            let is_far = found.is_infinite() && (known.is_infinite() || known > 1e300);
            assert!(
                is_far || (found - known).abs() <= 1e-5 * known.max(1.0),
                "{input}: {vertex} at {found}, not {known}"
            );
        }
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn small_graphs(
        edges in (2u64..40).prop_flat_map(|n| {
            let weight = prop_oneof![Just(0u32), 1u32..9, Just(u32::MAX)];
            prop::collection::vec((0..n, 0..n, weight), 1..90)
        }),
        directed in any::<bool>(),
        drawn in prop::option::of(prop::sample::select(&DRAWN[..])),
        method in prop::sample::select(&METHODS[..]),
        threads in 1usize..4,
        source in any::<prop::sample::Index>(),
    ) {
        let checked = Checked::new(&edges, directed);
        let source = source.get(&edges).0;
        let (method, threads) = (format!("sssp.method={method}"), format!("limits.threads={threads}"));
        checked.holds(drawn.unwrap_or(Taken::File(WeightType::U32)), &[source], &[&[&method, &threads]]);
        checked.verifies();
    }
}

#[test]
fn bad_weights_and_sources_are_refused_with_their_place() {
    for (line, found) in [("1 2 -3", "-3"), ("1 2 nan", "nan"), ("1 2 inf", "inf"), ("1 2 1e39", "1e39")] {
        let place = Place::new();
        place.write("edges.wel", format!("0 1 2\n{line}\n"));
        place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'edges.wel'\n[sssp]\nsources = [0]\n");
        let ran = run(&place, "", &[]).expect(3);
        assert!(ran.err.contains("edges.wel:2") && ran.err.contains(found), "{}", ran.err);
    }
    let checked = Checked::new(&[(0, 1, 5), (1, 2, 5)], false);
    checked.job(Taken::File(WeightType::U32), &[77], "");
    let ran = run(&checked.place, "", &[]).expect(3);
    assert!(ran.err.contains("the source 77") && ran.err.contains("ids are those of the input"), "{}", ran.err);
    let place = Place::new();
    place.u32("edges.u32", &[[0, 1], [1, 2]]);
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'edges.u32'\n[sssp]\nsources = [0]\n");
    let ran = run(&place, "", &[]).expect(2);
    assert!(["uniform", "unit = true", "[sssp]"].iter().all(|word| ran.err.contains(word)), "{}", ran.err);
    for weights in ["{ uniform = [3, 1] }", "{ uniform = [-1.0, 2.0] }", "\"edges\"", "{ unit = false }"] {
        place.write(
            "job.toml",
            format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.u32'\n[sssp]\nweights = {weights}\n"),
        );
        run(&place, "", &[]).expect(2);
    }
}

/// Changes an element of a column that is whole by its checksum.
fn change<const N: usize>(place: &Place, column: &str, row: usize, value: [u8; N]) -> Vec<u8> {
    let path = place.workdir().join(column);
    let before = fs::read(&path).expect("read");
    let mut bytes = before.clone();
    bytes[128 + N * row..][..N].copy_from_slice(&value);
    put(place, column, &bytes);
    before
}

fn put(place: &Place, column: &str, bytes: &[u8]) {
    fs::write(place.workdir().join(column), bytes).expect("written");
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    let outputs = &mut manifest.tasks.get_mut("sssp").expect("a task").outputs;
    *outputs.get_mut(column).expect("a file") = Output::of(bytes);
    manifest.save(&place.workdir()).expect("written");
}

/// Wrong distances and parents that are written are found by who reads the edges again, each by what it breaks.
#[test]
fn trees_that_were_changed_are_noticed_by_verify() {
    let edges = [(0, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 2), (0, 4, 9), (1, 5, 2), (5, 3, 2), (7, 8, 1)];
    let checked = Checked::new(&edges, false);
    checked.job(Taken::File(WeightType::U32), &[0], "");
    report(&checked.place, &[]);
    checked.verifies();
    let (distance, parent) = ("out/sssp/0/distance.npy", "out/sssp/0/parent.npy");
    for (column, row, value, said) in [
        (distance, 3, 7u64, "an edge of weight 2 leads from 2, distance 4, to 3, distance 7, and makes a shorter path"),
        (distance, 4, 7, "no edge from 3, distance 6, to its child 4, distance 7, adds up to that"),
        (distance, 0, 1, "the root is at distance 1 and not 0"),
        (distance, 7, 1, "vertex 7 is at distance 1 and has no parent"),
        (distance, 4, u64::MAX, "vertex 4 has parent 3 and no distance"),
        (parent, 3, 5, "the parent of vertex 3 is 5, but 2 qualifies and comes first"),
        (parent, 4, 0, "the parent of vertex 4 is 0, but 3 qualifies and comes first"),
        (parent, 2, 2, "the parents of vertex 2 go round in a cycle"),
        (parent, 2, 3, "vertex 2 is at distance 4, its parent 3 at 6"),
        (parent, 4, 7, "the parent of vertex 4 is 7, which was not reached"),
        (parent, 4, 99, "the parent of vertex 4 is 99, which is no vertex"),
        (parent, 6, 0, "vertex 6 was reached and has no edge"),
    ] {
        let before = change(&checked.place, column, row, value.to_le_bytes());
        let ran = checked.place.gpugraph(&["verify", "job.toml"]).expect(8);
        assert!(ran.out.contains(said), "{column} {row}: {}", ran.out);
        put(&checked.place, column, &before);
    }
    checked.verifies();
}

fn sources(report: &Value) -> Vec<Value> {
    let mut sources = report["results"]["sssp"]["sources"].as_array().expect("sources").clone();
    for source in &mut sources {
        let fields = source.as_object_mut().expect("fields");
        ["seconds", "teps", "phases", "relaxations"].into_iter().for_each(|field| drop(fields.remove(field)));
    }
    sources
}

#[test]
fn a_job_that_is_killed_between_searches_loses_one_at_most() {
    let (place, graph) = (Place::new(), Graph::new(2000, 9000, 1 << 40));
    job(&place, &graph, "[sssp]\nroots = 7\nwrite = true\nweights = { uniform = [1, 255], seed = 1 }\n");
    let lived = report(&place, &[]);
    let files = outputs(&place.workdir());
    assert_eq!(files.len(), 2 * 7 + 1);
    for rule in ["sssp.source=1", "sssp.source=5", "sssp.check=1", "out.rename=6"] {
        fs::remove_dir_all(place.workdir()).expect("removed");
        run(&place, &format!("{rule}:kill"), &[]).expect(137);
        run(&place, "", &[]).expect(0);
        assert_eq!(sources(&place.read_report()), sources(&lived), "{rule}");
        assert_eq!(outputs(&place.workdir()), files, "{rule}");
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}
