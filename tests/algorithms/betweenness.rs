//! Betweenness centrality: the oracle, values of networkx, graphs of known scores, and jobs that are stopped, killed or refused.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;

use serde_json::{Value, json};

use crate::oracle::{Answer, Graph};
use crate::support::Place;
use crate::{goes_on, job, report, same_for_any_threads_and_limits};

/// The place of every vertex in descending order of degree in the input, and by id.
fn places(graph: &Graph) -> BTreeMap<u64, (Reverse<usize>, u64)> {
    let mut degrees: BTreeMap<u64, usize> = BTreeMap::new();
    let ends = graph.edges.iter().filter(|[u, v]| u != v).flatten();
    ends.for_each(|&end| *degrees.entry(end).or_default() += 1);
    degrees.into_iter().map(|(v, degree)| (v, (Reverse(degree), v))).collect()
}

/// Neighbours of every vertex along edges and against them, without loops and repeats, in descending order of degree in the input.
fn rows(graph: &Graph, directed: bool) -> [BTreeMap<u64, Vec<u64>>; 2] {
    let places = places(graph);
    let (mut out, mut into): (BTreeMap<u64, BTreeSet<u64>>, BTreeMap<u64, BTreeSet<u64>>) = Default::default();
    for &[u, v] in graph.edges.iter().filter(|[u, v]| u != v) {
        for (u, v) in [(u, v)].into_iter().chain((!directed).then_some((v, u))) {
            out.entry(u).or_default().insert(v);
            into.entry(v).or_default().insert(u);
        }
    }
    [out, into].map(|rows| {
        let sorted = |(u, row): (u64, BTreeSet<u64>)| {
            let mut row: Vec<u64> = row.into_iter().collect();
            row.sort_by_key(|v| places[v]);
            (u, row)
        };
        rows.into_iter().map(sorted).collect()
    })
}

/// Distances from a vertex.
fn distances(out: &BTreeMap<u64, Vec<u64>>, source: u64) -> BTreeMap<u64, u64> {
    let (mut distances, mut queue) = (BTreeMap::from([(source, 0)]), VecDeque::from([source]));
    while let Some(u) = queue.pop_front() {
        for &v in out.get(&u).into_iter().flatten() {
            if !distances.contains_key(&v) {
                distances.insert(v, distances[&u] + 1);
                queue.push_back(v);
            }
        }
    }
    distances
}

/// The sum of the values of a row, as the page of algorithms says. The first `before` neighbours are before the vertex.
fn added_up(row: &[f64], before: usize) -> f64 {
    let sum = |values: &[f64]| values.iter().fold(0.0, |sum, value| sum + value);
    let pieces = row[..before].chunks(128).chain(row[before..].chunks(128));
    pieces.fold(0.0, |total, piece| total + sum(piece))
}

/// Scores, pairs and depth by the page of algorithms.
fn scores(graph: &Graph, directed: bool, sources: &[u64]) -> (BTreeMap<u64, f64>, usize, u64) {
    let ([out, into], places) = (rows(graph, directed), places(graph));
    let earlier = |row: &[u64], v: u64| row.iter().filter(|u| places[*u] < places[&v]).count();
    let mut totals: BTreeMap<u64, f64> = graph.rows.iter().map(|&id| (id, 0.0)).collect();
    let (mut pairs, mut depth) = (0, 0);
    for &source in sources {
        let distances = distances(&out, source);
        let mut levels: Vec<(u64, u64)> = distances.iter().map(|(&v, &distance)| (distance, v)).collect();
        levels.sort_unstable();
        let mut paths = BTreeMap::from([(source, 1.0)]);
        for &(distance, v) in &levels[1..] {
            let before = |u: &u64| distances.get(u) == Some(&(distance - 1));
            let counts = into[&v].iter().map(|u| if before(u) { paths[u] } else { 0.0 });
            paths.insert(v, added_up(&counts.collect::<Vec<_>>(), earlier(&into[&v], v)));
        }
        let mut dependencies: BTreeMap<u64, f64> = BTreeMap::new();
        for &(distance, v) in levels[1..].iter().rev() {
            let share = |w: &u64| if distances[w] == distance + 1 { (1.0 + dependencies[w]) / paths[w] } else { 0.0 };
            let row: &[u64] = out.get(&v).map_or(&[], Vec::as_slice);
            let shares: Vec<f64> = row.iter().map(share).collect();
            dependencies.insert(v, paths[&v] * added_up(&shares, earlier(row, v)));
        }
        dependencies.into_iter().for_each(|(v, dependency)| *totals.entry(v).or_default() += dependency);
        (pairs, depth) = (pairs + levels.len() - 1, depth.max(levels[levels.len() - 1].0));
    }
    (totals, pairs, depth)
}

impl Graph {
    /// Scores from some sources, one of which has a loop alone.
    pub fn betweenness(&self, directed: bool) -> Answer {
        let sources = [self.rows[7], self.rows[self.rows.len() - 1], self.rows[2], self.rows[11]];
        let (mut scores, pairs, depth) = scores(self, directed, &sources);
        let (word, divisor) = match directed == self.sparse {
            true => ("largest", scores.values().copied().fold(0.0, f64::max)),
            false => ("pairs", (self.rows.len() - 1) as f64 * (self.rows.len() - 2) as f64),
        };
        scores.values_mut().for_each(|score| *score /= divisor);
        let mut order: Vec<(u64, f64)> = scores.iter().map(|(&id, &score)| (id, score)).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let largest: Vec<Value> =
            order[..10].iter().map(|(id, score)| json!({ "vertex": id, "centrality": score })).collect();
        let found = json!({
            "sources": sources,
            "pairs": pairs,
            "depth": depth,
            "divisor": divisor,
            "largest": largest,
        });
        let column = scores.values().flat_map(|score| score.to_le_bytes()).collect();
        let keys = format!("sources = {sources:?}\nnormalise = '{word}'\n");
        self.of_columns(("betweenness", &keys, directed), found, [("centrality", "<f8", column)])
    }
}

/// Runs a job on a file or a generator, checks it, and returns its result and scores.
fn run_on(place: &Place, input: &str, keys: &str) -> (Value, Vec<f64>) {
    let _ = fs::remove_dir_all(place.workdir());
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[betweenness]\n{keys}"));
    let found = report(place, &[])["results"]["betweenness"].clone();
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(!said.contains("FAILED") && said.contains("whose scores differ by less than"), "{said}");
    (found, place.npy::<f64>("betweenness/centrality"))
}

#[track_caller]
fn near(found: &[f64], known: &[f64], tolerance: f64) {
    assert_eq!(found.len(), known.len());
    for (v, (found, known)) in found.iter().zip(known).enumerate() {
        assert!((found - known).abs() <= tolerance * known.abs().max(1.0), "{v}: {found}, not {known}");
    }
}

/// Scores of networkx 3.6.1, `betweenness_centrality(karate_club_graph(), normalized=False)`, twice.
const KARATE: [f64; 34] = [
    462.1428571428572,
    56.95714285714285,
    151.70158730158732,
    12.576190476190474,
    0.6666666666666666,
    31.666666666666668,
    31.666666666666664,
    0.0,
    59.058730158730164,
    0.8952380952380953,
    0.6666666666666666,
    0.0,
    0.0,
    48.43174603174603,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    34.2936507936508,
    0.0,
    0.0,
    0.0,
    18.599999999999998,
    2.333333333333333,
    4.055555555555555,
    0.0,
    23.58412698412698,
    1.8952380952380952,
    3.0857142857142854,
    15.219047619047615,
    146.01904761904757,
    153.38095238095238,
    321.1031746031746,
];

#[test]
fn scores_of_all_sources_are_those_of_networkx() {
    let place = Place::new();
    let karate = concat!("path = '", env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.txt'");
    let all: Vec<u64> = (0..34).collect();
    for keys in ["roots = 34\n".to_owned(), format!("sources = {all:?}\n"), "roots = 99\nseed = 5\n".to_owned()] {
        let (found, scores) = run_on(&place, karate, &keys);
        near(&scores, &KARATE, 1e-12);
        assert_eq!((&found["pairs"], &found["depth"], &found["divisor"]), (&json!(34 * 33), &json!(5), &json!(1.0)));
        assert_eq!(found["largest"][0]["vertex"], 0);
    }
    for (word, divisor) in [("pairs", 33.0 * 32.0), ("largest", KARATE[0])] {
        let (_, scores) = run_on(&place, karate, &format!("roots = 34\nnormalise = '{word}'\n"));
        near(&scores, &KARATE.map(|score| score / divisor), 1e-12);
    }
}

/// Counts of pairs and paths by distances between all vertices, which have nothing of dependencies.
#[test]
fn scores_are_shares_of_shortest_paths() {
    for directed in [false, true] {
        let (place, graph) = (Place::new(), Graph::new(60, 150, 1));
        let [out, into] = rows(&graph, directed);
        let all: BTreeMap<u64, BTreeMap<u64, u64>> =
            graph.rows.iter().map(|&source| (source, distances(&out, source))).collect();
        let paths = |source: u64| {
            let mut levels: Vec<(u64, u64)> = all[&source].iter().map(|(&v, &distance)| (distance, v)).collect();
            levels.sort_unstable();
            let mut paths = BTreeMap::from([(source, 1.0)]);
            for &(distance, v) in &levels[1..] {
                let before = into[&v].iter().filter(|u| all[&source].get(u) == Some(&(distance - 1)));
                paths.insert(v, before.map(|u| paths[u]).sum::<f64>());
            }
            paths
        };
        let counts: BTreeMap<u64, BTreeMap<u64, f64>> = graph.rows.iter().map(|&v| (v, paths(v))).collect();
        let sources = [1, 5, 30, 31];
        let of = |v: &u64| {
            let mut score = 0.0;
            for s in sources.iter().filter(|&s| s != v) {
                for (t, distance) in all[s].iter().filter(|&(t, _)| t != v && t != s) {
                    let Some(first) = all[s].get(v) else { continue };
                    if all[v].get(t).is_some_and(|second| first + second == *distance) {
                        score += counts[s][v] * counts[v][t] / counts[s][t];
                    }
                }
            }
            score
        };
        let known: Vec<f64> = graph.rows.iter().map(of).collect();
        let direction = if directed { "# direction = true\n" } else { "" };
        job(&place, &graph, &format!("[betweenness]\nsources = {sources:?}\n{direction}"));
        report(&place, &[]);
        near(&place.npy::<f64>("betweenness/centrality"), &known, 1e-12);
    }
}

#[test]
fn stars_paths_and_graphs_of_no_edge_have_scores() {
    let place = Place::new();
    let text = |edges: String| {
        place.write("edges.txt", edges);
        "path = 'edges.txt'\n"
    };
    let star = text((1..3000).map(|leaf| format!("0 {leaf}\n")).collect());
    let (_, scores) = run_on(&place, star, "sources = [0, 7]\n");
    assert!(scores[0] == 2998.0 && scores[1..].iter().all(|&score| score == 0.0));
    let (found, scores) = run_on(&place, &format!("{star}directed = true\n"), "sources = [0, 7]\n");
    assert!(found["pairs"] == 2999 && scores.iter().all(|&score| score == 0.0));
    // The last vertex is declared, and a loop is no edge.
    let path = text((0..99_999).map(|v| format!("{v} {}\n", v + 1)).chain(["100001 100001\n".into()]).collect());
    let (found, scores) = run_on(&place, path, "sources = [0]\n");
    assert_eq!((&found["depth"], scores.len()), (&json!(99_999), 100_002));
    assert!((1..99_999).all(|v| scores[v] == (99_999 - v) as f64) && scores[0] == 0.0 && scores[99_999..] == [0.0; 3]);
    let (found, scores) = run_on(&place, path, "sources = [100001]\nnormalise = 'largest'\n");
    assert!(found["pairs"] == 0 && found["divisor"] == 1.0 && scores.iter().all(|&score| score == 0.0));
    // A source without an edge adds nothing, whatever came before it.
    let (found, scores) = run_on(&place, path, "sources = [0, 100001, 99999]\n");
    assert!(found["pairs"] == 2 * 99_999 && (1..99_999).all(|v| scores[v] == 99_999.0) && scores[0] == 0.0);
    for empty in ["", "4 4\n"] {
        let input = text(empty.into());
        let (found, scores) = run_on(&place, input, "normalise = 'pairs'\n");
        assert!(found["sources"] == json!([]) && scores.iter().all(|&score| score == 0.0));
    }
}

/// The number of shortest paths between the corners of a grid of n by n vertices is the binomial of 2(n - 1) over n - 1, so
/// 1,100 rows have more than f64 counts. All vertices on the edge have one path, so no common scale has room for them.
#[test]
fn more_paths_than_f64_counts_have_scores() {
    let place = Place::new();
    // 2^1057 shortest paths from corner to corner.
    let n = 532;
    let (found, scores) = run_on(&place, &format!("grid = {{ rows = {n}, columns = {n} }}\n"), "sources = [0, 1]\n");
    assert_eq!((found["pairs"].clone(), found["depth"].clone()), (json!(2 * (n * n - 1)), json!(2 * n - 2)));
    // Dependencies on a source add up to the distances of all targets, less one each.
    let distances =
        |column: i64| -> i64 { (0..n).flat_map(|i| (0..n).map(move |j| (i + (j - column).abs() - 1).max(0))).sum() };
    let known = (distances(0) + distances(1)) as f64;
    let sum: f64 = scores.iter().sum();
    assert!((sum / known - 1.0).abs() < 1e-8, "{sum} {known}");
    assert!(scores.iter().all(|score| score.is_finite()));
}

#[test]
fn scores_are_the_same_bytes_for_any_threads_and_limits() {
    same_for_any_threads_and_limits("betweenness", "roots = 6\n");
}

#[test]
fn a_job_that_is_stopped_or_killed_goes_on_at_the_next_source() {
    let (place, graph) = (Place::new(), Graph::new(20_000, 32_000, 1 << 40));
    let rules = [("1:stop", 75), ("3:stop", 75), ("3:kill", 137), ("6:stop", 75), ("7:kill", 137)];
    let rules = rules.map(|(rule, code)| (rule.to_owned(), code));
    for keys in ["", "# direction = true\n"] {
        job(&place, &graph, &format!("[betweenness]\nroots = 4\n{keys}"));
        goes_on(&place, "betweenness", &rules, "dependencies of vertices with edges on");
    }
}

#[test]
fn wrong_keys_are_refused() {
    crate::wrong_keys_are_refused(
        "betweenness",
        &["roots = 0", "roots = 2\nsources = [1]", "sources = []", "sources = [1, 1]", "normalise = 'most'"],
    );
}
