//! Distances from many sources: the oracle, values of networkx, graphs of known distances, and jobs that are stopped, killed or refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::oracle::{Answer, Graph};
use crate::support::Place;
use crate::{goes_on, job, report, same_for_any_threads_and_limits};

/// The number of sources that reach a vertex, the sum and the largest of the distances from them.
type Sums = (u32, u64, u32);

/// Places in `ids` of the heads of the edges from each vertex, without loops.
fn rows(edges: &[[u64; 2]], directed: bool, ids: &[u64]) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); ids.len()];
    for &edge in edges.iter().filter(|[u, v]| u != v) {
        let [u, v] = edge.map(|id| ids.binary_search(&id).expect("an id"));
        rows[u].push(v);
        if !directed {
            rows[v].push(u);
        }
    }
    rows
}

/// Vertices that a vertex reaches, level by level, and their distances.
fn reached(rows: &[Vec<usize>], source: usize) -> Vec<(usize, u64)> {
    let (mut is_reached, mut reached, mut at) = (vec![false; rows.len()], vec![(source, 0)], 0);
    is_reached[source] = true;
    while let Some(&(u, distance)) = reached.get(at) {
        for &v in rows[u].iter().filter(|&&v| !std::mem::replace(&mut is_reached[v], true)) {
            reached.push((v, distance + 1));
        }
        at += 1;
    }
    reached
}

/// What the page of algorithms says of the distances from some sources in a graph with the vertices `ids`, which ascend.
fn known(edges: &[[u64; 2]], directed: bool, ids: &[u64], sources: &[u64]) -> (Value, Vec<Sums>) {
    let rows = rows(edges, directed, ids);
    let mut columns = vec![(0, 0, 0); ids.len()];
    let (mut figures, mut pairs, mut lower) = (Vec::new(), 0, 0);
    // By the first vertex of a component: number of vertices and of sources, least and largest eccentricity.
    let mut components: BTreeMap<usize, (usize, usize, u64, u64)> = BTreeMap::new();
    for &source in sources {
        let reached = reached(&rows, ids.binary_search(&source).expect("an id"));
        for &(v, distance) in &reached[1..] {
            let (sources, total, farthest): &mut Sums = &mut columns[v];
            (*sources, *total, *farthest) = (*sources + 1, *total + distance, (*farthest).max(distance as u32));
        }
        let levels = reached[1..].chunk_by(|a, b| a.1 == b.1);
        // The sum of nothing is -0.
        let harmonic = levels.map(|level| level.len() as f64 / level[0].1 as f64).sum::<f64>().abs();
        let (r, total) = (reached.len(), reached.iter().map(|of| of.1).sum::<u64>());
        let (eccentricity, others) = (reached[r - 1].1, (r - 1) as f64);
        let closeness = if r == 1 { 0.0 } else { others / total as f64 * (others / (ids.len() - 1) as f64) };
        figures.push(json!({
            "source": source,
            "reached": r,
            "total": total,
            "eccentricity": eccentricity,
            "harmonic": harmonic,
            "closeness": closeness,
        }));
        (pairs, lower) = (pairs + r - 1, lower.max(eccentricity));
        let first = reached.iter().map(|of| of.0).min().expect("the source");
        let of = components.entry(first).or_insert((r, 0, u64::MAX, 0));
        *of = (r, of.1 + 1, of.2.min(eccentricity), of.3.max(eccentricity));
    }
    let mut diameter = json!({ "lower": lower });
    if !directed {
        let bound = |&(vertices, sources, least, largest): &(usize, usize, u64, u64)| {
            if vertices == sources { largest } else { 2 * least }
        };
        diameter["upper"] = json!(components.values().map(bound).max().unwrap_or(0));
        diameter["vertices"] = json!(components.values().map(|of| of.0).sum::<usize>());
    }
    (json!({ "sources": figures, "pairs": pairs, "diameter": diameter }), columns)
}

impl Graph {
    /// Distances from more than 64 sources, one of which has a loop alone.
    pub fn distances(&self, directed: bool) -> Answer {
        let mut sources: Vec<u64> = self.rows.iter().rev().step_by(4).copied().collect();
        sources.truncate(70);
        let (found, columns) = known(&self.edges, directed, &self.rows, &sources);
        let keys = format!("sources = {sources:?}\n");
        let columns = [
            ("sources", "<u4", columns.iter().flat_map(|of| of.0.to_le_bytes()).collect()),
            ("total", "<u8", columns.iter().flat_map(|of| of.1.to_le_bytes()).collect()),
            ("farthest", "<u4", columns.iter().flat_map(|of| of.2.to_le_bytes()).collect()),
        ];
        self.of_columns(("distances", &keys, directed), found, columns)
    }
}

/// Runs a job on a file or a generator, checks it, and returns what it found, and its columns.
fn run_on(place: &Place, input: &str, keys: &str) -> (Value, Vec<Sums>) {
    let _ = fs::remove_dir_all(place.workdir());
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[distances]\n{keys}"));
    let mut found = report(place, &[])["results"]["distances"].take();
    let fields = found.as_object_mut().expect("fields");
    fields.retain(|field, _| ["sources", "pairs", "diameter"].contains(&field.as_str()));
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(!said.contains("FAILED") && said.contains("distances, those from"), "{said}");
    let [sources, farthest] =
        ["sources", "farthest"].map(|name| place.npy::<u32>(&format!("distances/{name}")).into_iter());
    let columns = sources.zip(place.npy::<u64>("distances/total")).zip(farthest);
    (found, columns.map(|((sources, total), farthest)| (sources, total, farthest)).collect())
}

/// The values of a field of all sources.
fn of(found: &Value, field: &str) -> Vec<f64> {
    found["sources"].as_array().expect("a list").iter().map(|of| of[field].as_f64().expect("a number")).collect()
}

/// Writes edges as text, as which they are an input.
fn text(place: &Place, edges: &[[u64; 2]]) -> &'static str {
    place.write("edges.txt", edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>());
    "path = 'edges.txt'\n"
}

/// Values of networkx 3.6.1: `closeness_centrality` and `harmonic_centrality` of the first eight vertices of the karate club, and
/// `closeness_centrality` of the reverse of its directed edges.
const CLOSENESS: [f64; 8] = [
    0.5689655172413793,
    0.4852941176470588,
    0.559322033898305,
    0.4647887323943662,
    0.3793103448275862,
    0.38372093023255816,
    0.38372093023255816,
    0.44,
];
const HARMONIC: [f64; 8] = [
    23.16666666666666,
    19.16666666666667,
    21.0,
    17.66666666666667,
    14.66666666666667,
    15.16666666666667,
    15.16666666666667,
    16.41666666666667,
];
const REVERSED: [f64; 8] = [
    0.5343434343434345,
    0.3103030303030303,
    0.2727272727272727,
    0.09696969696969698,
    0.06818181818181818,
    0.09090909090909091,
    0.030303030303030304,
    0.0,
];

#[test]
fn figures_of_sources_are_those_of_networkx() {
    let place = Place::new();
    let karate = concat!("path = '", env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.txt'\n");
    let all: Vec<u64> = (0..34).collect();
    let (found, columns) = run_on(&place, karate, &format!("sources = {all:?}\n"));
    assert_eq!(of(&found, "closeness")[..8], CLOSENESS);
    assert!(of(&found, "harmonic").iter().zip(HARMONIC).all(|(found, known)| (found - known).abs() < 1e-13));
    assert_eq!(of(&found, "eccentricity")[..8], [3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0]);
    assert_eq!(found["diameter"], json!({ "lower": 5, "upper": 5, "vertices": 34 }));
    // Without direction, the columns have the sums of the sources.
    let sums: Vec<f64> = columns.iter().map(|of| of.1 as f64).collect();
    assert_eq!(of(&found, "total"), sums);
    assert!(columns.iter().all(|of| of.0 == 33));
    let (found, _) = run_on(&place, &format!("{karate}directed = true\n"), &format!("sources = {all:?}\n"));
    assert!(of(&found, "closeness").iter().zip(REVERSED).all(|(found, known)| (found - known).abs() < 1e-15));
    assert_eq!(found["diameter"].as_object().expect("bounds").len(), 1);
    // One of the centre of a component is enough for a bound.
    let (found, _) = run_on(&place, karate, "sources = [0]\n");
    assert_eq!(found["diameter"], json!({ "lower": 3, "upper": 6, "vertices": 34 }));
}

#[test]
fn graphs_of_several_components_are_as_the_oracle_says() {
    let place = Place::new();
    for (vertices, edges, number) in [(150, 110, 130), (400, 700, 65), (90, 300, 64), (50, 20, 7)] {
        let graph = Graph::new(vertices, edges, 1);
        // Ids that no edge has are refused. A loop is an edge.
        let ends: BTreeSet<u64> = graph.edges.iter().flatten().copied().collect();
        let sources: Vec<u64> = ends.into_iter().rev().take(number).collect();
        for directed in [false, true] {
            let (result, columns) = known(&graph.edges, directed, &graph.rows, &sources);
            let input = format!("{}directed = {directed}\n", text(&place, &graph.edges));
            let (found, of_job) = run_on(&place, &input, &format!("sources = {sources:?}\n"));
            assert!(found == result, "{vertices} {directed}");
            assert!(of_job == columns, "{vertices} {directed}");
        }
    }
}

#[test]
fn stars_paths_and_graphs_of_no_edge_have_distances() {
    let place = Place::new();
    let star = text(&place, &(1..40_000).map(|leaf| [0, leaf]).collect::<Vec<_>>());
    let (found, columns) = run_on(&place, star, "roots = 100\n");
    assert_eq!(
        found["diameter"],
        json!({ "lower": 2, "upper": if columns[0].0 == 99 { 2 } else { 4 }, "vertices": 40_000 })
    );
    assert!(columns[1..].iter().all(|&(sources, _, farthest)| sources >= 99 && farthest == 2));
    let (found, columns) = run_on(&place, &format!("{star}directed = true\n"), "sources = [0, 7]\n");
    assert!(found["pairs"] == 39_999 && columns[1..].iter().all(|&of| of == (1, 1, 1)) && columns[0] == (0, 0, 0));
    // A path of 100,000 vertices, three passes, and a loop at the end of the ids.
    let mut edges: Vec<[u64; 2]> = (0..99_999).map(|v| [v, v + 1]).collect();
    edges.push([100_001; 2]);
    let path = text(&place, &edges);
    let sources: Vec<u64> = (0..130).map(|number| number * 769).chain([100_001]).collect();
    let (found, columns) = run_on(&place, path, &format!("sources = {sources:?}\n"));
    for (v, &(of, total, farthest)) in columns[..100_000].iter().enumerate() {
        let distances = || sources[..130].iter().map(|&source| source.abs_diff(v as u64));
        assert_eq!((total, Some(u64::from(farthest))), (distances().sum::<u64>(), distances().max()), "{v}");
        assert_eq!(of, 130 - u32::from(v % 769 == 0 && v < 130 * 769), "{v}");
    }
    assert!(columns[100_000..] == [(0, 0, 0); 2] && found["sources"][130]["reached"] == 1);
    let center = sources[..130].iter().map(|&source| source.max(99_999 - source)).min();
    assert_eq!(found["diameter"], json!({ "lower": 99_999, "upper": center.map(|of| 2 * of), "vertices": 100_001 }));
    for empty in [&[][..], &[[4, 4]]] {
        let input = text(&place, empty);
        let (found, columns) = run_on(&place, input, "");
        assert!(found["sources"] == json!([]) && columns.iter().all(|&of| of == (0, 0, 0)));
        assert_eq!(found["diameter"], json!({ "lower": 0, "upper": 0, "vertices": 0 }));
    }
}

/// Some levels of a grid with hubs are pulled and others are pushed by threads.
#[test]
fn levels_that_are_pulled_and_pushed_find_the_same() {
    let place = Place::new();
    let side = 300u64;
    let mut edges: Vec<[u64; 2]> = Vec::new();
    for v in 0..side * side {
        edges.extend((v % side > 0).then(|| [v - 1, v]));
        edges.extend((v >= side).then(|| [v - side, v]));
    }
    // From the far corner on, a tree of 40 branches, each of which has 900 leaves.
    let first = side * side;
    edges.extend((0..40).map(|branch| [first - 1, first + branch]));
    edges.extend((0..36_000).map(|leaf| [first + leaf % 40, first + 40 + leaf]));
    let ids: Vec<u64> = (0..first + 36_040).collect();
    let sources: Vec<u64> = (0..70).map(|number| number * 1801).collect();
    for directed in [false, true] {
        let (result, columns) = known(&edges, directed, &ids, &sources);
        let input = format!("{}directed = {directed}\n", text(&place, &edges));
        let (found, of_job) = run_on(&place, &input, &format!("sources = {sources:?}\n"));
        assert!(found == result, "{directed}");
        assert!(of_job == columns, "{directed}");
    }
}

#[test]
fn distances_are_the_same_bytes_for_any_threads_and_limits() {
    same_for_any_threads_and_limits("distances", "roots = 150\n");
}

#[test]
fn a_job_that_is_stopped_or_killed_goes_on_at_the_next_pass() {
    let (place, graph) = (Place::new(), Graph::new(20_000, 32_000, 1 << 40));
    let rules = [("1:stop", 75), ("2:stop", 75), ("2:kill", 137), ("4:stop", 75), ("5:kill", 137)];
    let rules = rules.map(|(rule, code)| (rule.to_owned(), code));
    for keys in ["", "# direction = true\n"] {
        job(&place, &graph, &format!("[distances]\nroots = 150\n{keys}"));
        goes_on(&place, "distances", &rules, "sums of distances from");
    }
}

#[test]
fn wrong_keys_are_refused() {
    crate::wrong_keys_are_refused(
        "distances",
        &["roots = 0", "roots = 2\nsources = [1]", "sources = []", "sources = [1, 1]", "roots = 65537"],
    );
}
