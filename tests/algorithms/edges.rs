//! Triangles of each edge: known graphs, formats, groups of edges, and strings as ids. The oracle has the other graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use gpugraph::internals::results::csv_field;

use crate::support::{Place, number, triangles};
use crate::{outputs, report};

const SUPPORTS: &str = "[triangle]\nper_edge = true\n";

/// The files of edges, as ends and support.
fn edges(place: &Place) -> Vec<([i64; 2], u32)> {
    let (source, target) = (place.npy::<i64>("triangle/source"), place.npy::<i64>("triangle/target"));
    let support = place.npy::<u32>("triangle/support");
    assert!(source.len() == support.len() && target.len() == support.len());
    source.into_iter().zip(target).zip(support).map(|((u, v), support)| ([u, v], support)).collect()
}

/// The number of common neighbours of the ends of each edge.
fn common_neighbours(edges: &[[u64; 2]]) -> BTreeMap<[i64; 2], u32> {
    let mut neighbours: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
        neighbours.entry(u).or_default().insert(v);
        neighbours.entry(v).or_default().insert(u);
    }
    let common = |&[u, v]: &[u64; 2]| neighbours[&u].intersection(&neighbours[&v]).count() as u32;
    let ends = |&[u, v]: &[u64; 2]| [u.min(v) as i64, u.max(v) as i64];
    edges.iter().filter(|[u, v]| u != v).map(|edge| (ends(edge), common(edge))).collect()
}

#[test]
fn small_graphs() {
    let clique = |n: u64| (0..n).flat_map(|v| (0..v).map(move |u| [u, v])).collect::<Vec<_>>();
    let star: Vec<_> = (1..50).map(|v| [0, v]).collect();
    let with_repeats = vec![[1, 0], [0, 1], [1, 2], [2, 0], [2, 2], [7, 7], [0, 2], [2, 9]];
    for graph in [vec![], vec![[3, 3]], vec![[0, 1]], clique(3), clique(60), star, with_repeats] {
        let place = Place::new();
        place.job_on(&place.u64("edges.u64", &graph), &format!("{SUPPORTS}per_vertex = true\n"));
        let report = report(&place, &[]);
        let right = common_neighbours(&graph);
        let found = edges(&place);
        assert_eq!((found.len(), found.into_iter().collect::<BTreeMap<_, _>>()), (right.len(), right.clone()));
        let figures = &report["results"]["triangle"]["support"];
        assert_eq!(number(figures, "edges"), right.len() as u64);
        assert_eq!(number(figures, "largest"), u64::from(right.values().copied().max().unwrap_or(0)));
        assert_eq!(3 * triangles(&report), right.values().map(|&support| u64::from(support)).sum::<u64>());
        let of_vertices: Vec<u64> = place.npy("triangles");
        place.job_on(&place.path("edges.u64"), "[triangle]\nper_vertex = true\n");
        crate::report(&place, &[]);
        assert_eq!(place.npy::<u64>("triangles"), of_vertices);
    }
}

/// Groups of edges are as large as memory allows. The files are the same, and jobs say which edges they have counted.
#[test]
fn groups_of_edges() {
    let place = Place::new();
    place.job("kronecker = { scale = 16, edge_factor = 16, seed = 5 }", SUPPORTS);
    let plan = place.gpugraph(&["plan", "job.toml", "--json"]).expect(0);
    let plan: serde_json::Value = serde_json::from_str(&plan.out).expect("JSON");
    let least = format!("limits.host_memory={}", number(&plan, "host_memory_needed").next_multiple_of(1 << 20));
    let lived = report(&place, &["limits.threads=4"]);
    let files = outputs(&place.workdir());
    for (set, rule) in [
        (&["limits.threads=1"][..], ""),
        (&["limits.threads=2", &least], ""),
        (&["limits.threads=2", &least], "unit.done=20:kill"),
        (&["limits.threads=2", &least], "unit.done=20:stop"),
        (&["limits.threads=2", &least], "store.rename=12:kill"),
    ] {
        fs::remove_dir_all(place.workdir()).expect("removed");
        let ran = crate::run(&place, rule, set);
        let ends = [("kill", 137), ("stop", 75)].into_iter().find(|(how, _)| rule.ends_with(how));
        assert_eq!(ran.code, ends.map_or(0, |(_, code)| code), "{rule}: {}", ran.err);
        // It goes on with another limit.
        let after = if rule.is_empty() { place.read_report() } else { report(&place, &["limits.threads=3"]) };
        assert_eq!(outputs(&place.workdir()), files, "{set:?} {rule}");
        assert_eq!(after["results"]["triangle"]["support"], lived["results"]["triangle"]["support"]);
        assert_eq!(number(&after, "resumes"), u64::from(!rule.is_empty()));
        assert!(
            fs::read_dir(place.workdir().join("units"))
                .expect("units")
                .flatten()
                .all(|file| { file.file_type().is_ok_and(|of| of.is_file()) })
        );
    }
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// Text and tables have the edges of the arrays. gpugraph reads both as an input.
#[test]
fn formats() {
    let place = Place::new();
    place.job("kronecker = { scale = 10, edge_factor = 8, seed = 2 }", SUPPORTS);
    let lived = report(&place, &[]);
    let all = edges(&place);
    for format in ["csv", "parquet"] {
        let set = format!("output.format={format}");
        report(&place, &[&set]);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        let file = place.workdir().join(format!("out/triangle/edges.{format}"));
        if format == "csv" {
            let lines: String = all.iter().map(|([u, v], support)| format!("{u},{v},{support}\n")).collect();
            assert!(fs::read_to_string(&file).expect("text") == format!("source,target,support\n{lines}"));
        }
        let other = Place::new();
        other.job_on(&file, &format!("[output]\n{SUPPORTS}"));
        let again = report(&other, &[]);
        assert_eq!(triangles(&again), triangles(&lived));
        let supports = |of: Vec<([i64; 2], u32)>| of.into_iter().collect::<BTreeMap<_, _>>();
        assert_eq!(supports(edges(&other)), supports(all.clone()));
    }
}

#[test]
fn strings() {
    let names = ["b", "a,1", "say \"x\"", " blank", "\u{4e2d}", "c"];
    let graph = [[0, 1], [1, 2], [0, 2], [2, 3], [3, 0], [4, 5], [5, 4]];
    let text = |id: u64| String::from_utf8(csv_field(names[id as usize].as_bytes()).into()).expect("UTF-8");
    let lines: String = graph.iter().map(|&[u, v]| format!("{},{}\n", text(u), text(v))).collect();
    let place = Place::new();
    let path = place.write("edges.csv", lines);
    place.job(&format!("path = '{}'\nids = 'string'", path.display()), SUPPORTS);
    let mut sorted = names.map(str::as_bytes);
    sorted.sort_unstable();
    let row = |id: u64| sorted.iter().position(|name| *name == names[id as usize].as_bytes()).expect("a row") as u64;
    let right = common_neighbours(&graph.map(|edge| edge.map(row)));
    report(&place, &[]);
    assert_eq!(edges(&place).into_iter().collect::<BTreeMap<_, _>>(), right);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    for format in ["csv", "parquet"] {
        report(&place, &[&format!("output.format={format}")]);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
    let arrays = right.iter().map(|([u, v], support)| {
        let name = |row: i64| String::from_utf8(csv_field(sorted[row as usize]).into()).expect("UTF-8");
        format!("{},{},{support}", name(*u), name(*v))
    });
    report(&place, &["output.format=csv"]);
    let csv = fs::read_to_string(place.workdir().join("out/triangle/edges.csv")).expect("text");
    assert_eq!(csv.lines().skip(1).map(str::to_owned).collect::<BTreeSet<_>>(), arrays.collect());
}

#[test]
fn wrong_keys_are_refused() {
    let place = Place::new();
    let path = place.u64("edges.u64", &[[0, 1]]);
    for (keys, error) in [("per_edge = 3", "per_edge"), ("per_edge = true\nclustering = 'directed'", "excludes")] {
        place.job_on(&path, &format!("[triangle]\n{keys}\n"));
        assert!(place.run(&[]).expect(2).err.contains(error));
    }
}
