//! Depth-first search: the oracle, which is a plain recursion without a stack of its own kind, deep graphs, and searches that are broken off.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use gpugraph::job::state::manifest::Manifest;
use gpugraph::results::Output;
use serde_json::{Value, json};

use crate::oracle::{Answer, Graph};
use crate::support::{Place, number, random_edges};
use crate::{job, outputs, report, run};

/// The four numbers of a vertex: parent, preorder, postorder and depth.
type Numbers = [i64; 4];

/// Searches from a source, or from all vertices; returns the numbers of what was reached and how many trees there are.
fn searched(edges: &[[u64; 2]], directed: bool, source: Option<u64>) -> (BTreeMap<u64, Numbers>, u64) {
    let mut degrees: BTreeMap<u64, u64> = BTreeMap::new();
    let mut out: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
        out.entry(u).or_default().insert(v);
        if !directed {
            out.entry(v).or_default().insert(u);
        }
        [u, v].iter().for_each(|id| *degrees.entry(*id).or_default() += 1);
    }
    let place = |id: &u64| (Reverse(degrees[id]), *id);
    let row = |id: u64| {
        let mut row: Vec<u64> = out.get(&id).into_iter().flatten().copied().collect();
        row.sort_by_key(place);
        row.into_iter()
    };
    let mut order: Vec<u64> = degrees.keys().copied().collect();
    order.sort_by_key(place);
    let mut found: BTreeMap<u64, Numbers> = BTreeMap::new();
    let (mut left, mut trees) = (0, 0);
    for root in source.map_or(order, |source| vec![source]) {
        if found.contains_key(&root) {
            continue;
        }
        trees += 1;
        found.insert(root, [root as i64, found.len() as i64, 0, 0]);
        let mut way = vec![(root, row(root))];
        while let Some((u, neighbours)) = way.last_mut() {
            let u = *u;
            match neighbours.find(|v| !found.contains_key(v)) {
                Some(v) => {
                    let numbers = [u as i64, found.len() as i64, 0, way.len() as i64];
                    found.insert(v, numbers);
                    way.push((v, row(v)));
                }
                None => {
                    found.entry(u).and_modify(|numbers| numbers[2] = left);
                    left += 1;
                    way.pop();
                }
            }
        }
    }
    (found, trees)
}

const NAMES: [&str; 4] = ["parent", "preorder", "postorder", "depth"];

/// The columns of a search, by their names below `out`.
fn columns(found: &BTreeMap<u64, Numbers>, rows: &[u64]) -> Vec<(String, Vec<u8>)> {
    let column = |number: usize| -> Vec<u8> {
        rows.iter().flat_map(|id| found.get(id).map_or(-1, |numbers| numbers[number]).to_le_bytes()).collect()
    };
    NAMES.iter().enumerate().map(|(number, name)| (format!("dfs/{name}"), column(number))).collect()
}

impl Graph {
    /// Depth-first search: from a source, and where direction is kept, the forest.
    pub fn depth_first(&self, directed: bool) -> Answer {
        let source = (!directed).then_some(self.rows[5]);
        let (found, trees) = searched(&self.edges, directed, source);
        let table = match source {
            Some(source) => format!("[dfs]\nsource = {source}\n"),
            None => "[dfs]\n# direction = true\nforest = true\n".into(),
        };
        let depth = found.values().map(|numbers| numbers[3]).max();
        let known =
            json!({ "source": source, "trees": trees, "reached": found.len(), "max_depth": depth, "validated": true });
        let mut columns: BTreeMap<_, _> =
            columns(&found, &self.rows).into_iter().map(|(name, bytes)| (name, ("<i8", bytes))).collect();
        if self.sparse {
            columns.insert("ids".into(), ("<u8", self.rows.iter().flat_map(|id| id.to_le_bytes()).collect()));
        }
        Answer { table, found: known, columns }
    }
}

/// Runs a job on these edges and compares all columns.
#[track_caller]
fn holds(edges: &[[u64; 2]], directed: bool, source: Option<u64>) -> Value {
    let place = Place::new();
    let path = place.u64("edges.u64", edges);
    let table = source.map_or("forest = true".into(), |source| format!("source = {source}"));
    let input = format!("path = '{}'\ndirected = {directed}", path.display());
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[dfs]\n{table}\n"));
    let report = report(&place, &[]);
    let (found, trees) = searched(edges, directed, source);
    let rows: Vec<u64> = edges.iter().flatten().max().map_or(Vec::new(), |&last| (0..=last).collect());
    let files = outputs(&place.workdir());
    for (name, bytes) in columns(&found, &rows) {
        assert!(files[&format!("{name}.npy")][128..] == bytes[..], "{name} of {source:?}, directed {directed}");
    }
    assert_eq!(number(&report["results"]["dfs"], "trees"), trees);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    let checked = ["holds against the edges of the input", "the source has no edge"];
    assert!(!said.contains("FAILED") && checked.iter().any(|checked| said.contains(checked)), "{said}");
    report
}

#[test]
fn shapes() {
    let path: Vec<[u64; 2]> = (0..300_000).map(|v| [v, v + 1]).collect();
    let report = holds(&path, false, Some(0));
    assert_eq!(number(&report["results"]["dfs"], "max_depth"), 300_000);
    let complete: Vec<[u64; 2]> = (0..90).flat_map(|u| (0..u).map(move |v| [u, v])).collect();
    let cycle: Vec<[u64; 2]> = (0..500).map(|v| [v, (v + 1) % 500]).collect();
    let bipartite: Vec<[u64; 2]> = (0..40).flat_map(|u| (0..30).map(move |v| [u, 40 + v])).collect();
    let tree: Vec<[u64; 2]> = (1..2000).map(|v| [v, (v - 1) / 3]).collect();
    let acyclic: Vec<[u64; 2]> = random_edges(400, 3000, 5).into_iter().map(|[u, v]| [u.min(v), u.max(v)]).collect();
    let mut two = random_edges(300, 1500, 6);
    two.extend(random_edges(200, 400, 7).iter().map(|edge| edge.map(|id| id + 400)));
    for edges in [complete, cycle, bipartite, tree, acyclic, two, vec![[3, 3], [5, 5]], vec![[4, 2]]] {
        for directed in [false, true] {
            holds(&edges, directed, Some(edges[0][0]));
            holds(&edges, directed, None);
        }
    }
    holds(&[], false, None);
}

#[test]
fn a_search_that_is_stopped_goes_on_where_it_was() {
    let (place, graph) = (Place::new(), Graph::new(60_000, 200_000, 1 << 40));
    for table in [format!("[dfs]\nsource = {}\n", graph.rows[5]), "[dfs]\nforest = true\n".into()] {
        let _ = fs::remove_dir_all(place.workdir());
        job(&place, &graph, &table);
        report(&place, &[]);
        let files = outputs(&place.workdir());
        assert_eq!(files.len(), 5);
        fs::remove_dir_all(place.workdir()).expect("removed");
        // A stop between two steps saves the search, and the run goes on with what was saved.
        run(&place, "dfs.step=3:stop", &[]).expect(75);
        assert!(place.workdir().join("units/dfs.0.checkpoint").is_file());
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        report(&place, &[]);
        assert_eq!(outputs(&place.workdir()), files);
    }
}

/// Replaces a column by one that is whole by its checksum.
fn put(place: &Place, column: &str, bytes: &[u8]) {
    fs::write(place.workdir().join(column), bytes).expect("written");
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    let outputs = &mut manifest.tasks.get_mut("dfs").expect("a task").outputs;
    *outputs.get_mut(column).expect("a file") = Output::of(bytes);
    manifest.save(&place.workdir()).expect("written");
}

/// Wrong numbers that are written, and whole by their checksums, are found by who reads the edges again.
#[test]
fn trees_that_were_changed_are_noticed_by_verify() {
    let place = Place::new();
    // 1 and 2 have most edges: 1 - 2 - 0, 2 - 3 - 4, and 1 - 5.
    let edges = [[1, 2], [2, 0], [0, 1], [2, 3], [3, 4], [1, 5], [7, 7]];
    let path = place.u64("edges.u64", &edges);
    place.write(
        "job.toml",
        format!("[job]\nworkdir = 'work'\n[input]\npath = '{}'\n[dfs]\nsource = 1\n", path.display()),
    );
    report(&place, &[]);
    let columns = NAMES.map(|name| format!("out/dfs/{name}.npy"));
    let before = columns.clone().map(|name| fs::read(place.workdir().join(name)).expect("read"));
    let put = |number: usize, bytes: &[u8]| put(&place, &columns[number], bytes);
    for (number, row, value, said) in [
        (0, 4, 2i64, "the postorder of vertex 3 is not that of its subtree"),
        (0, 1, 2, "was not reached before it"),
        (0, 7, 1, "vertex 7 has no edge, and parent 1"),
        (0, 4, 77, "vertex 4 has parent 77"),
        (1, 4, 0, "the preorder of vertex"),
        (2, 4, 5, "the postorder of vertex"),
        (3, 4, 1, "the depth of vertex 4"),
        (3, 0, -1, "the depth of vertex 0"),
    ] {
        let mut bytes = before[number].clone();
        bytes[128 + 8 * row..][..8].copy_from_slice(&value.to_le_bytes());
        put(number, &bytes);
        let ran = place.gpugraph(&["verify", "job.toml"]).expect(8);
        assert!(ran.out.contains(said), "{number} {row}: {}", ran.out);
        put(number, &before[number]);
    }
    // A whole tree that is depth-first and goes on to 5 before 2: parent, preorder, postorder, depth of 0, 1, 2, 3, 4 and 5.
    let other = [[2, 3, 1, 2], [1, 0, 5, 0], [1, 2, 4, 1], [2, 4, 3, 2], [3, 5, 2, 3], [1, 1, 0, 1]];
    for (number, before) in before.iter().enumerate() {
        let mut bytes = before.clone();
        for (row, numbers) in other.iter().enumerate() {
            bytes[128 + 8 * row..][..8].copy_from_slice(&i64::to_le_bytes(numbers[number]));
        }
        put(number, &bytes);
    }
    let ran = place.gpugraph(&["verify", "job.toml"]).expect(8);
    assert!(ran.out.contains("the search went from 1 to 5, where another neighbour comes first"), "{}", ran.out);
    before.iter().enumerate().for_each(|(number, before)| put(number, before));
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// A column, rows of it with other numbers, and what is said of them.
type Change<'c> = (&'c str, &'c [(usize, i64)], &'c str);

/// So is what was found by a tree: articulation points and bridges, components and a topological order.
#[test]
fn findings_that_were_changed_are_noticed_by_verify() {
    let place = Place::new();
    let verified = |edges: &[[u64; 2]], table: &str, said: &str, changes: &[Change<'_>]| {
        let _ = fs::remove_dir_all(place.workdir());
        let path = place.u64("edges.u64", edges);
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = '{}'\n{table}", path.display()));
        report(&place, &[]);
        let ran = place.gpugraph(&["verify", "job.toml"]).expect(0);
        assert!(ran.out.contains(said), "{}", ran.out);
        for &(name, values, said) in changes {
            let column = format!("out/dfs/{name}.npy");
            let before = fs::read(place.workdir().join(&column)).expect("read");
            let mut bytes = before.clone();
            for &(row, value) in values {
                bytes[128 + 8 * row..][..8].copy_from_slice(&value.to_le_bytes());
            }
            put(&place, &column, &bytes);
            let ran = place.gpugraph(&["verify", "job.toml"]).expect(8);
            assert!(ran.out.contains(said), "{name} {values:?}: {}", ran.out);
            put(&place, &column, &before);
        }
    };
    // Two triangles that an edge joins, twice, and a path.
    let edges = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 5], [5, 3], [3, 2], [7, 8], [8, 9]];
    verified(
        &edges,
        "[dfs]\nforest = true\narticulation = true\n",
        "3 articulation points, 3 bridges",
        &[
            ("articulation", &[(2, 0)], "vertex 2 is an articulation point, its column says otherwise"),
            ("articulation", &[(4, 1)], "vertex 4 is not an articulation point, its column says otherwise"),
            ("articulation", &[(6, 0)], "vertex 6 has no edge, and articulation 0"),
            ("articulation", &[(1, 2)], "vertex 1 has articulation 2"),
            ("bridge", &[(5, 1)], "vertex 5 is not below a bridge, its column says otherwise"),
            ("bridge", &[(9, 0)], "vertex 9 is below a bridge, its column says otherwise"),
        ],
    );
    // A cycle of three, one of two behind it, and a vertex behind that.
    let edges = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 3], [4, 5], [3, 4]];
    verified(
        &edges,
        "directed = true\n[dfs]\nsource = 0\ncomponents = 'strong'\n",
        "3 strong components",
        &[
            ("component", &[(5, 3)], "vertex 5 is not of the component of 3"),
            ("component", &[(1, 1)], "an edge leads from 1 to 2, the component of which should come first"),
            ("component", &[(4, 0)], "an edge leads from 3 to 4, the component of which should come first"),
            ("component", &[(4, 99)], "vertex 4 has component 99"),
        ],
    );
    let edges = [[0, 1], [1, 2], [0, 2], [3, 1], [5, 5]];
    verified(
        &edges,
        "directed = true\n[dfs]\nforest = true\ncomponents = 'strong'\n",
        "4 strong components",
        &[
            ("topological", &[(2, 1)], "vertex 2 has topological 1"),
            ("topological", &[(1, 3), (2, 2)], "an edge leads from 1 to 2, which is before it in topological order"),
            ("topological", &[(5, 4)], "vertex 5 has no edge, and topological 4"),
            ("topological", &[(0, 77)], "vertex 0 has topological 77"),
        ],
    );
    // Of a source without an edge, too.
    verified(
        &edges,
        "directed = true\n[dfs]\nsource = 5\ncomponents = 'strong'\n",
        "the source has no edge",
        &[
            ("depth", &[(5, 1)], "vertex 5 has no edge, and depth 1"),
            ("component", &[(0, 0)], "vertex 0 has component 0"),
        ],
    );
}

/// Two triangles that a bridge joins, by which both its ends are articulation points; and a cycle behind which a path goes on.
#[test]
fn what_a_search_shows_beside_the_tree() {
    let place = Place::new();
    let text = |input: &str, table: &str| {
        place.write(
            "job.toml",
            format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.txt'\n{input}\n[dfs]\n{table}"),
        );
    };
    place.write("edges.txt", "0 1\n1 2\n2 0\n2 3\n3 4\n4 5\n5 3\n");
    text("", "source = 0\narticulation = true\n");
    let ran = run(&place, "", &[]).expect(0);
    assert!(ran.out.contains("articulation points 2  bridges 1"), "{}", ran.out);
    assert_eq!(place.npy::<i64>("dfs/articulation"), [0, 0, 1, 1, 0, 0]);
    assert_eq!(place.npy::<i64>("dfs/bridge").iter().sum::<i64>(), 1);
    run(&place, "", &["job.workdir=text", "output.format=csv"]).expect(0);
    assert!(fs::read_to_string(place.path("text/out/dfs/bridge.csv")).expect("read").starts_with("id,bridge\n0,0\n"));
    text("", "source = 0\ncomponents = 'strong'\n");
    assert!(run(&place, "", &["job.workdir=other"]).expect(2).err.contains("add directed = true"));
    fs::remove_dir_all(place.workdir()).expect("removed");
    text("directed = true", "forest = true\ncomponents = 'strong'\n");
    let report = report(&place, &[]);
    let found = &report["results"]["dfs"];
    assert_eq!((number(found, "components"), number(found, "largest_component")), (2, 3));
    let cycle: Vec<u64> = found["cycle"].as_array().expect("a cycle").iter().filter_map(Value::as_u64).collect();
    assert!(cycle.len() == 3 && (cycle.contains(&0) || cycle.contains(&3)), "{cycle:?}");
    let components: Vec<i64> = place.npy("dfs/component");
    assert!(components[0] == components[2] && components[3] == components[5] && components[0] != components[3]);
    text("directed = true", "source = 0\narticulation = true\n");
    assert!(run(&place, "", &["job.workdir=other"]).expect(2).err.contains("leave out [input] directed"));
    place.write("edges.txt", "0 1\n1 2\n0 2\n2 3\n5 1\n");
    text("directed = true", "forest = true\ncomponents = 'strong'\n");
    let ran = run(&place, "", &["job.workdir=third"]).expect(0);
    assert!(ran.out.contains("strong components 5  no cycle"), "{}", ran.out);
    let order: Vec<i64> = crate::support::npy(&place.path("third/out/dfs/topological.npy"));
    assert!([[0, 1], [1, 2], [0, 2], [2, 3], [5, 1]].iter().all(|&[u, v]| order[u as usize] < order[v as usize]));
}

#[test]
fn tables_that_are_wrong() {
    let place = Place::new();
    place.u32("edges.u32", &[[0, 1], [1, 2]]);
    for (table, said) in [
        ("", "[dfs] names no vertex to begin at: add source = ID, or forest = true for all trees"),
        ("source = 1\nforest = true\n", "a table has source or forest, not both"),
        ("source = 1\norder = 'first'\n", "dfs.order"),
        ("source = 1\ncomponents = 'strong'\n", "add directed = true to [input]"),
    ] {
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.u32'\n[dfs]\n{table}"));
        let ran = run(&place, "", &[]).expect(2);
        assert!(ran.err.contains(said), "{}", ran.err);
        assert!(!place.workdir().exists(), "nothing is prepared before");
    }
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'edges.u32'\n[dfs]\nsource = 9\n");
    let ran = run(&place, "", &[]).expect(3);
    assert!(ran.err.contains("the source 9"), "{}", ran.err);
}
