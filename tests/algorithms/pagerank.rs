//! PageRank: the oracle, references of others, and jobs that are stopped, killed, refused, or on graphs of few edges.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::oracle::{Answer, Graph};
use crate::support::Place;
use crate::{goes_on, job, outputs, report};

/// The number of units in 1.
const UNITS: f64 = (1u64 << 62) as f64;

/// Options as a table has them.
#[derive(Clone)]
struct Options<'a> {
    damping: f64,
    tolerance: Option<f64>,
    iterations: u64,
    personalised: &'a [u64],
}

/// Out-neighbours and in-neighbours of every vertex, without loops and repeats.
fn neighbours(graph: &Graph, directed: bool) -> [BTreeMap<u64, BTreeSet<u64>>; 2] {
    let (mut out, mut into): (BTreeMap<u64, BTreeSet<u64>>, BTreeMap<u64, BTreeSet<u64>>) = Default::default();
    for &[u, v] in graph.edges.iter().filter(|[u, v]| u != v) {
        for (u, v) in [(u, v)].into_iter().chain((!directed).then_some((v, u))) {
            out.entry(u).or_default().insert(v);
            into.entry(v).or_default().insert(u);
        }
    }
    [out, into]
}

/// Ranks by the page of algorithms: the ranks, the number of iterations, the last change.
fn ranks(graph: &Graph, directed: bool, options: &Options<'_>) -> (BTreeMap<u64, f64>, u64, f64) {
    let [out, into] = neighbours(graph, directed);
    let degree = |id: u64| out.get(&id).map_or(0, BTreeSet::len);
    let number = graph.rows.len() as f64;
    let targets = if options.personalised.is_empty() { number } else { options.personalised.len() as f64 };
    let mut ranks: BTreeMap<u64, f64> = graph.rows.iter().map(|&id| (id, 1.0 / number)).collect();
    let (mut done, mut change) = (0, f64::INFINITY);
    while done < options.iterations && options.tolerance.is_none_or(|tolerance| change >= tolerance) {
        let sinks: u128 = graph.rows.iter().filter(|&&id| degree(id) == 0).map(|id| (ranks[id] * UNITS) as u128).sum();
        let sinks = if options.tolerance.is_some() { 0 } else { sinks };
        let base = ((1.0 - options.damping) + options.damping * (sinks as f64 / UNITS)) / targets;
        let part = |u: &u64| (ranks[u] / degree(*u) as f64 * UNITS) as u128;
        let next: BTreeMap<u64, f64> = graph
            .rows
            .iter()
            .map(|&id| {
                let sum: u128 = into.get(&id).into_iter().flatten().map(part).sum();
                let is_target = options.personalised.is_empty() || options.personalised.contains(&id);
                (id, if is_target { base } else { 0.0 } + options.damping * (sum as f64 / UNITS))
            })
            .collect();
        let changes: u128 = next.iter().map(|(id, rank)| ((rank - ranks[id]).abs() * UNITS) as u128).sum();
        (ranks, done, change) = (next, done + 1, changes as f64 / UNITS);
    }
    (ranks, done, change)
}

impl Graph {
    /// PageRank in one variant of each graph and direction: with the ranks of sinks lost, or spread over two vertices, one of which has a loop
    /// alone.
    pub fn pagerank(&self, directed: bool) -> Answer {
        let personalised = [self.rows[5], self.rows[self.rows.len() - 1]];
        let (options, keys) = match directed == self.sparse {
            true => {
                (Options { damping: 0.85, tolerance: Some(1e-4), iterations: 1000, personalised: &[] }, String::new())
            }
            false => (
                Options { damping: 0.9, tolerance: None, iterations: 7, personalised: &personalised },
                format!("variant = 'graphalytics'\ndamping = 0.9\niterations = 7\npersonalised = {personalised:?}\n"),
            ),
        };
        let (ranks, iterations, change) = ranks(self, directed, &options);
        let mut order: Vec<(u64, f64)> = ranks.iter().map(|(&id, &rank)| (id, rank)).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let largest: Vec<Value> = order[..10].iter().map(|(id, rank)| json!({ "vertex": id, "rank": rank })).collect();
        let sum: u128 = ranks.values().map(|rank| (rank * UNITS) as u128).sum();
        let found = json!({
            "iterations": iterations,
            "change": change,
            "sum": sum as f64 / UNITS,
            "largest": largest,
        });
        let column = ranks.values().flat_map(|rank| rank.to_le_bytes()).collect();
        self.of_columns(("pagerank", &keys, directed), found, [("rank", "<f8", column)])
    }
}

/// Runs a job on text, checks it, and returns the ranks.
fn column(place: &Place, edges: &str, input: &str, keys: &str) -> Vec<f64> {
    let _ = fs::remove_dir_all(place.workdir());
    place.write("edges.txt", edges);
    place.write(
        "job.toml",
        format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.txt'\n{input}\n[pagerank]\n{keys}"),
    );
    report(place, &[]);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(!said.contains("FAILED") && said.contains("find the same ranks, bit by bit"), "{said}");
    place.npy::<f64>("pagerank/rank")
}

/// Ranks by a plain power iteration in f64, which has nothing of fixed point.
fn plain(graph: &Graph, directed: bool, options: &Options<'_>) -> Vec<f64> {
    let [out, into] = neighbours(graph, directed);
    let degree = |id: u64| out.get(&id).map_or(0, BTreeSet::len) as f64;
    let number = graph.rows.len() as f64;
    let mut ranks: BTreeMap<u64, f64> = graph.rows.iter().map(|&id| (id, 1.0 / number)).collect();
    for _ in 0..options.iterations {
        let sinks: f64 = ranks.iter().filter(|&(&id, _)| degree(id) == 0.0).map(|(_, rank)| rank).sum();
        let jumps = 1.0 - options.damping + if options.tolerance.is_some() { 0.0 } else { options.damping * sinks };
        ranks = graph
            .rows
            .iter()
            .map(|&id| {
                let sum: f64 = into.get(&id).into_iter().flatten().map(|u| ranks[u] / degree(*u)).sum();
                (id, jumps / number + options.damping * sum)
            })
            .collect();
    }
    ranks.into_values().collect()
}

#[test]
fn fixed_point_is_as_near_to_a_power_iteration_as_documented() {
    for (sparse, directed) in [(1, false), (1, true), (1 << 40, true)] {
        let (place, graph) = (Place::new(), Graph::new(900, 6000, sparse));
        for (keys, tolerance) in [
            ("iterations = 30\ntolerance = 1e-300\n", Some(0.0)),
            ("iterations = 30\nvariant = 'graphalytics'\n", None),
        ] {
            let direction = if directed { "# direction = true\n" } else { "" };
            let _ = fs::remove_dir_all(place.workdir());
            job(&place, &graph, &format!("[pagerank]\n{keys}{direction}"));
            report(&place, &[]);
            let options = Options { damping: 0.85, tolerance, iterations: 30, personalised: &[] };
            let (found, known) = (place.npy::<f64>("pagerank/rank"), plain(&graph, directed, &options));
            assert_eq!(found.len(), known.len());
            for (found, known) in found.iter().zip(&known) {
                assert!((found - known).abs() <= 1e-13 * known, "{found} {known}");
            }
        }
    }
}

/// Ranks after ten iterations, as LDBC Graphalytics computes them, and the same by the formula of networkx.
#[test]
fn ranks_are_those_of_published_graphs() {
    let Ok(data) = std::env::var("GPUGRAPH_TEST_DATA") else {
        println!("SKIPPED: no published ranks without GPUGRAPH_TEST_DATA");
        return;
    };
    let place = Place::new();
    let path = |name: &str| std::path::Path::new(&data).join("libgrape").join(name);
    let (edges, known) = (fs::read_to_string(path("p2p-31.e")), fs::read_to_string(path("p2p-31-PR")));
    let (Ok(edges), Ok(known)) = (edges, known) else {
        println!("SKIPPED: no libgrape/p2p-31 in the test data");
        return;
    };
    let found = column(&place, &edges, "", "variant = 'graphalytics'\n");
    let mut compared = 0;
    for line in known.lines() {
        let (id, rank) = line.split_once(' ').expect("an id and a rank");
        let (id, rank): (usize, f64) = (id.parse().expect("an id"), rank.trim().parse().expect("a rank"));
        assert!((found[id] - rank).abs() <= 1e-4 * rank, "{id}: {} {rank}", found[id]);
        compared += 1;
    }
    assert!(compared > 60_000, "{compared}");
}

#[test]
fn a_job_that_is_stopped_or_killed_goes_on_at_the_next_iteration() {
    let (place, graph) = (Place::new(), Graph::new(20_000, 32_000, 1 << 40));
    for keys in ["", "# direction = true\nvariant = 'graphalytics'\n"] {
        job(&place, &graph, &format!("[pagerank]\n{keys}"));
        let iterations = report(&place, &[])["results"]["pagerank"]["iterations"].as_u64().expect("a number");
        fs::remove_dir_all(place.workdir()).expect("removed");
        let stops = [3, iterations, iterations + 1].map(|hit| (format!("{hit}:stop"), 75));
        let rules: Vec<_> = stops.into_iter().chain([("3:kill".to_owned(), 137)]).collect();
        goes_on(&place, "pagerank", &rules, "ranks of vertices with edges after");
    }
}

/// A star, a cycle, sinks, and vertices without edges, by hand.
#[test]
fn ranks_of_small_graphs_are_those_of_the_formula() {
    let place = Place::new();
    let near = |found: &[f64], known: &[f64]| {
        assert_eq!(found.len(), known.len());
        assert!(found.iter().zip(known).all(|(found, known)| (found - known).abs() < 1e-12), "{found:?} {known:?}");
    };
    // The middle of a star has half of what leaves, and gives a quarter of its rank to each of the others.
    let star = column(&place, "0 1\n0 2\n0 3\n0 4\n", "", "tolerance = 1e-14\n");
    let middle = (0.03 + 0.85 * 0.12) / (1.0 - 0.85 * 0.85);
    near(&star, &[&[middle][..], &[0.03 + 0.85 * middle / 4.0; 4]].concat());
    near(&column(&place, "0 1\n1 2\n2 0\n", "directed = true", "damping = 0.5\n"), &[1.0 / 3.0; 3]);
    // Vertex 1 has no out-edge: its rank is lost, or spread.
    let base = 0.15 / 2.0;
    near(&column(&place, "0 1\n0 1\n1 1\n", "directed = true", ""), &[base, base + 0.85 * base]);
    let spread = column(&place, "0 1\n", "directed = true", "variant = 'graphalytics'\niterations = 2\n");
    let first = [(0.15 + 0.85 * 0.5) / 2.0, (0.15 + 0.85 * 0.5) / 2.0 + 0.85 * 0.5];
    let base = (0.15 + 0.85 * first[1]) / 2.0;
    near(&spread, &[base, base + 0.85 * first[0]]);
    // Vertices 0, 1 and 4 have no edge; 3 and 5 have each other's.
    near(&column(&place, "3 5\n4 4\n", "", ""), &[0.025, 0.025, 0.025, 1.0 / 6.0, 0.025, 1.0 / 6.0]);
    // All jumps lead to an isolated vertex, and to one with an edge.
    let keys = "personalised = [4, 5]\ntolerance = 1e-14\n";
    let end = 0.075 / (1.0 - 0.85 * 0.85);
    near(&column(&place, "3 5\n4 4\n", "", keys), &[0.0, 0.0, 0.0, 0.85 * end, 0.075, end]);
    near(&column(&place, "4 4\n", "", "damping = 0\n"), &[0.2; 5]);
    near(&column(&place, "0 1\n", "", "damping = 0.0\nvariant = 'graphalytics'\niterations = 1\n"), &[0.5; 2]);
    assert!(column(&place, "", "", "").is_empty());
}

/// Vertices that the header declares, ids that count from 1, and strings.
#[test]
fn personalised_vertices_are_named_by_the_ids_of_the_input() {
    let place = Place::new();
    place.write("edges.mtx", "%%MatrixMarket matrix coordinate pattern general\n7 7 1\n3 2\n");
    let run = |input: &str, keys: &str| {
        let _ = fs::remove_dir_all(place.workdir());
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[pagerank]\n{keys}"));
        let largest = report(&place, &[])["results"]["pagerank"]["largest"].clone();
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(said.contains("bit by bit"), "{said}");
        largest.as_array().expect("a list").iter().map(|of| of["vertex"].clone()).collect::<Vec<_>>()
    };
    let keys = "personalised = [7, 2]\ndamping = 0.5\n";
    assert_eq!(run("path = 'edges.mtx'\nfirst_id = 1", keys), [2, 7, 3, 1, 4, 5, 6].map(|id| json!(id)));
    let found = place.npy::<f64>("pagerank/rank");
    assert!(found[0] == 0.0 && found[7] == 0.25 && found[2] > found[3] && found[1] == 0.0, "{found:?}");
    place.write("names.txt", "a b\nc a\nd d\n");
    let keys = "personalised = ['c', 'd']\ndamping = 0.5\n";
    assert_eq!(run("path = 'names.txt'\nids = 'string'", keys)[0], json!("c"));
}

#[test]
fn bad_keys_are_refused_with_their_place() {
    let place = Place::new();
    place.write("edges.txt", "0 1\n");
    for (keys, code, said) in [
        ("damping = 1", 2, "pagerank.damping: expected a number from 0 to below 1, found 1"),
        ("damping = -0.1", 2, "expected a number from 0 to below 1, found -0.1"),
        ("damping = nan", 2, "expected a number from 0 to below 1, found nan"),
        ("iterations = 0", 2, "pagerank.iterations: expected a whole number from 1 to 1000000, found 0"),
        ("tolerance = 0", 2, "pagerank.tolerance: expected a number above 0 and at most 1, found 0"),
        ("variant = 'gap2'", 2, "pagerank.variant: unknown value \"gap2\""),
        ("variant = 'graphalytics'\ntolerance = 0.1", 2, "leave it out, or set variant = \"gap\""),
        ("personalised = []", 2, "expected a vertex to jump to, such as [1], found none"),
        ("personalised = [1, 1]", 2, "1 occurs twice"),
        ("personalised = [9]", 3, "the personalised vertex 9"),
        ("personalised = ['a']", 3, "write them without quotes"),
    ] {
        let _ = fs::remove_dir_all(place.workdir());
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.txt'\n[pagerank]\n{keys}\n"));
        let ran = place.gpugraph(&["run", "job.toml", "--quiet"]);
        assert!(ran.code == code && ran.err.contains(said), "{keys}: {} {}", ran.code, ran.err);
        assert!(code == 3 || ran.err.contains("job.toml:"), "{keys}: {}", ran.err);
    }
}

/// Few iterations are not enough, which the answer says.
#[test]
fn ranks_that_did_not_converge_are_reported_as_such() {
    let (place, graph) = (Place::new(), Graph::new(300, 4000, 1));
    job(&place, &graph, "[pagerank]\niterations = 2\n");
    let found = report(&place, &[])["results"]["pagerank"].clone();
    assert_eq!((&found["iterations"], &found["converged"]), (&json!(2), &json!(false)));
    let ran = place.gpugraph(&["run", "job.toml"]).expect(0);
    assert!((ran.out + &ran.err).contains("not converged"));
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// Little memory allows for a check by one more iteration alone, whose edges are read in parts.
#[test]
fn a_check_within_little_memory_takes_one_more_iteration() {
    let place = Place::new();
    let graph = Graph::new(60_000, 1_000_000, 1);
    for directed in [false, true] {
        let direction = if directed { "# direction = true\n" } else { "" };
        for keys in ["", "variant = 'graphalytics'\niterations = 3\n"] {
            let _ = fs::remove_dir_all(place.workdir());
            job(&place, &graph, &format!("[pagerank]\n{keys}{direction}"));
            report(&place, &[]);
            let verify = |limit: &str| {
                let limit = format!("limits.host_memory={limit}");
                place.gpugraph(&["verify", "job.toml", "--set", &limit, "--set", "limits.threads=2"])
            };
            let said = verify("12MiB").expect(0).out;
            assert!(said.contains("one more iteration along the edges of the input"), "{said}");
            let (name, mut bytes) = ("pagerank/rank.npy", outputs(&place.workdir())["pagerank/rank.npy"].clone());
            let at = bytes.len() - 5000 * 8;
            let value = f64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
            bytes[at..at + 8].copy_from_slice(&(value + 0.9).to_le_bytes());
            crate::forged::put(&place, &format!("out/{name}"), &bytes);
            let ran = verify("12MiB");
            assert!(ran.code == 8 && ran.out.contains("changes ranks by"), "{}{}", ran.out, ran.err);
        }
    }
}
