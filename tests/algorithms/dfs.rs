//! Depth-first search: the oracle, which is a plain recursion without a stack of its own kind, deep graphs, and searches that are broken off.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gpugraph::internals::job::state::manifest::Manifest;
use gpugraph::internals::results::Output;
use serde_json::{Value, json};

use crate::oracle::{Answer, Graph};
use crate::support::gpu::Gpu;
use crate::support::mpi::{built, mpirun};
use crate::support::{Dice, Place, Ran, npy, number, random_edges};
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
    put_in(&place.workdir(), column, bytes);
}

fn put_in(workdir: &Path, column: &str, bytes: &[u8]) {
    fs::write(workdir.join(column), bytes).expect("written");
    let mut manifest = Manifest::load(workdir).expect("read").expect("there");
    let outputs = &mut manifest.tasks.get_mut("dfs").expect("a task").outputs;
    *outputs.get_mut(column).expect("a file") = Output::of(bytes);
    manifest.save(workdir).expect("written");
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
        "directed = true\n[dfs]\nsource = 3\ncomponents = 'strong'\n",
        "3 strong components",
        &[
            ("topological", &[(2, 1)], "vertex 2 has topological 1"),
            ("topological", &[(1, 2), (2, 1)], "an edge leads from 1 to 2, which is before it in topological order"),
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
            ("cycle", &[(0, 3)], "vertex 3 is at position 0 (from 0) of the cycle"),
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
    assert!(ran.out.contains("articulation points 2  bridges 1 (repeated edges count once)"), "{}", ran.out);
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
    assert!(run(&place, "", &["job.workdir=other"]).expect(2).err.contains("directed"));
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
        ("source = 1\nmultigraph = true\n", "add articulation = true"),
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

/// The number of trees of a spanning forest of `edges`, but the one at `without`.
fn parts(edges: &[[u64; 2]], without: usize) -> usize {
    let mut name: BTreeMap<u64, u64> = edges.iter().flatten().map(|&id| (id, id)).collect();
    let mut parts = name.len();
    for [u, v] in edges.iter().enumerate().filter(|&(number, _)| number != without).map(|(_, edge)| edge) {
        let (from, to) = (name[u], name[v]);
        if from != to {
            name.values_mut().filter(|name| **name == from).for_each(|name| *name = to);
            parts -= 1;
        }
    }
    parts
}

/// The pairs of ends whose edge parts what was one when it is left out: each copy of a repeated edge is an edge.
fn bridges(edges: &[[u64; 2]]) -> BTreeSet<[u64; 2]> {
    let whole = parts(edges, edges.len());
    let is_one = |&(number, _): &(usize, &[u64; 2])| parts(edges, number) > whole;
    edges.iter().enumerate().filter(is_one).map(|(_, &[u, v])| [u.min(v), u.max(v)]).collect()
}

/// The edges to a parent that a job marked.
fn marked(place: &Place) -> BTreeSet<[u64; 2]> {
    let (parents, marks) = (place.npy::<i64>("dfs/parent"), place.npy::<i64>("dfs/bridge"));
    let edge = |(v, (&parent, _)): (u64, (&i64, _))| [v.min(parent as u64), v.max(parent as u64)];
    (0..).zip(parents.iter().zip(&marks)).filter(|(_, (_, mark))| **mark == 1).map(edge).collect()
}

/// Sparse graphs with repeats in both directions, in every way to list edges: bridges are those of the multigraph.
#[test]
fn an_edge_that_repeats_is_no_bridge_of_a_multigraph() {
    let place = Place::new();
    let mut dice = Dice(11);
    for number_of in 0..60 {
        let mut edges: Vec<[u64; 2]> = (0..14).map(|_| [dice.below(12), dice.below(12)]).collect();
        for _ in 0..5 {
            let [u, v] = edges[dice.below(14) as usize];
            edges.push(if dice.below(2) == 0 { [u, v] } else { [v, u] });
        }
        let rows = |edges: &[[u64; 2]]| -> String { edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect() };
        // METIS in three ways: each edge at both ends, each edge at one end, and each at both with a header that counts both.
        let kind = number_of % 6;
        let name = ["edges.txt", "edges.mtx", "edges.graph", "edges.sg", "once.graph", "both.graph"][kind];
        if name.ends_with(".graph") {
            // Loops are in no line of METIS.
            edges.retain(|[u, v]| u != v);
        }
        let listed = |v: u64| -> Vec<u64> {
            let both = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
            both.filter(|&[a, _]| a == v).map(|[_, b]| b).collect()
        };
        let bytes = match kind {
            0 => rows(&edges).into_bytes(),
            1 => {
                let lower: String = edges.iter().map(|[u, v]| format!("{} {}\n", u.max(v) + 1, u.min(v) + 1)).collect();
                format!("%%MatrixMarket matrix coordinate pattern symmetric\n12 12 {}\n{lower}", edges.len())
                    .into_bytes()
            }
            2 | 4 | 5 => {
                let once = |v: u64| edges.iter().filter(|&&[a, _]| a == v).map(|&[_, b]| b).collect();
                let lists: Vec<Vec<u64>> = (0..12).map(|v| if kind == 4 { once(v) } else { listed(v) }).collect();
                let line = |list: &Vec<u64>| list.iter().map(|w| format!("{} ", w + 1)).collect::<String>() + "\n";
                let declared = if kind == 5 { 2 * edges.len() } else { edges.len() };
                format!("12 {declared}\n{}", lists.iter().map(line).collect::<String>()).into_bytes()
            }
            _ => {
                let lists: Vec<Vec<u64>> = (0..12).map(listed).collect();
                let entries = lists.iter().map(Vec::len).sum::<usize>() as u64;
                let ends = lists.iter().scan(0, |end, list| {
                    *end += list.len() as u64;
                    Some(*end)
                });
                let words = [entries, 12, 0].into_iter().chain(ends).flat_map(u64::to_le_bytes);
                let lists = lists.iter().flatten().flat_map(|&w| (w as u32).to_le_bytes());
                [0].into_iter().chain(words).chain(lists).collect()
            }
        };
        place.write(name, bytes);
        let table = "[dfs]\nforest = true\narticulation = true\n";
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = '{name}'\n{table}"));
        let threads = format!("limits.threads={}", 1 + number_of % 3);
        let _ = fs::remove_dir_all(place.workdir());
        report(&place, &["dfs.multigraph=true", &threads]);
        let found = marked(&place);
        assert_eq!(found, bridges(&edges), "{name}: {edges:?}");
        place.gpugraph(&["verify", "job.toml", "--set", "dfs.multigraph=true"]).expect(0);
        let points: Vec<i64> = place.npy("dfs/articulation");
        // The job that counts repeats once has another answer, and the same articulation points.
        report(&place, &[]);
        let simple: BTreeSet<_> = edges.iter().filter(|[u, v]| u != v).map(|&[u, v]| [u.min(v), u.max(v)]).collect();
        assert_eq!(marked(&place), bridges(&simple.into_iter().collect::<Vec<_>>()));
        assert_eq!(place.npy::<i64>("dfs/articulation"), points);
    }
    place.write("two.txt", "0 1\n1 2\n2 1\n");
    let text = |path: &str| {
        let table = "[dfs]\nforest = true\narticulation = true\nmultigraph = true\n";
        place.write("job.toml", format!("[job]\nworkdir = 'two'\n[input]\n{path}\n{table}"));
    };
    text("path = 'two.txt'");
    let ran = run(&place, "", &[]).expect(0);
    assert!(ran.out.contains("bridges 1 (repeated edges are none)"), "{}", ran.out);
    // A column that says what is so of the simple graph.
    for (row, value) in [(0, 0i64), (2, 1)] {
        let column = "out/dfs/bridge.npy";
        let before = fs::read(place.path("two").join(column)).expect("read");
        let mut bytes = before.clone();
        bytes[128 + 8 * row..][..8].copy_from_slice(&value.to_le_bytes());
        put_in(&place.path("two"), column, &bytes);
        let ran = place.gpugraph(&["verify", "job.toml"]).expect(8);
        assert!(ran.out.contains(&format!("vertex {row} is ")), "{}", ran.out);
        put_in(&place.path("two"), column, &before);
    }
    // One edge from each end, and edges once, have no common count; a prepared graph has none at all.
    place.write("one.graph", "2 1\n2\n1\n");
    text("path = ['one.graph', 'two.txt']");
    assert!(run(&place, "", &["job.workdir=mixed"]).expect(2).err.contains("one.graph and two.txt"));
    place.write("once.graph", "2 1\n2\n\n");
    text("path = ['one.graph', 'once.graph']");
    assert!(run(&place, "", &["job.workdir=mixed"]).expect(2).err.contains("others list it once"));
    text("prepared = 'kept'");
    let ran = run(&place, "", &["job.workdir=other"]).expect(2);
    assert!(ran.err.contains("[dfs]") && ran.err.contains("name the input itself"), "{}", ran.err);
    // Killed before repeats are counted, it counts them the next time.
    text("path = 'two.txt'");
    run(&place, "input.again=1:kill", &["job.workdir=killed"]).expect(137);
    let ran = run(&place, "", &["job.workdir=killed"]).expect(0);
    assert!(ran.out.contains("bridges 1 "), "{}", ran.out);
}

/// A loop is a cycle of one, of the smallest id that has one and was reached, however the job runs; a longer cycle is told whole.
#[test]
fn loops_and_long_cycles_leave_no_topological_order() {
    let place = Place::new();
    let job = |edges: &[[u64; 2]], table: &str| {
        let _ = fs::remove_dir_all(place.workdir());
        let path = place.u64("edges.u64", edges);
        let input = format!("[input]\npath = '{}'\ndirected = true\n", path.display());
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n{input}[dfs]\ncomponents = 'strong'\n{table}"));
    };
    let cycle = |report: &Value| -> (Option<u64>, Vec<i64>) {
        let found = &report["results"]["dfs"];
        let path = place.workdir().join("out/dfs/cycle.npy");
        assert_ne!(
            path.is_file(),
            place.workdir().join("out/dfs/topological.npy").is_file() || found["cycle_length"].is_null()
        );
        let whole = if path.is_file() { npy(&path) } else { Vec::new() };
        let told: Vec<i64> =
            found["cycle"].as_array().expect("a cycle").iter().filter_map(Value::as_u64).map(|id| id as i64).collect();
        assert_eq!(told, whole[..whole.len().min(1000)]);
        (found["cycle_length"].as_u64(), whole)
    };
    // Two ways from 2, and loops at 9 (which 2 does not reach), at 5 and 6 (which it does), and at 8, which has nothing else.
    let acyclic = [[2, 5], [2, 6], [5, 6], [3, 9]];
    let with =
        |loops: &[u64]| -> Vec<[u64; 2]> { acyclic.iter().copied().chain(loops.iter().map(|&v| [v, v])).collect() };
    let (gpu, built) = (Gpu::new(), built().into_iter().next());
    for (loops, table, known) in [
        (&[9u64, 6, 5, 6][..], "forest = true\n", Some(5)),
        (&[9, 6, 5], "source = 2\n", Some(5)),
        (&[3, 6, 6], "source = 2\n", Some(6)),
        (&[3, 9], "source = 2\n", None),
        (&[8, 8], "source = 2\n", None),
        (&[8], "source = 2\n", None),
        (&[8, 3], "source = 8\n", Some(8)),
        (&[8], "source = 8\n", Some(8)),
        (&[8, 9], "forest = true\n", Some(8)),
        (&[], "forest = true\n", None),
    ] {
        for step in [1, u64::MAX / 12] {
            let edges: Vec<[u64; 2]> = with(loops).iter().map(|edge| edge.map(|id| id * step)).collect();
            let table = table.replace("source = 2", &format!("source = {}", 2 * step));
            let table = table.replace("source = 8", &format!("source = {}", 8 * step));
            let expected = (Some(known.is_some().into()), known.iter().map(|id| (id * step) as i64).collect());
            job(&edges, &table);
            let mut ways: Vec<(String, Value)> = Vec::new();
            assert_eq!(cycle(&report(&place, &["limits.threads=3"])), expected, "{edges:?} {table}");
            let ran = place.gpugraph(&["verify", "job.toml"]).expect(0);
            assert!(!ran.out.contains("FAILED"), "{}", ran.out);
            if let Some(gpu) = &gpu {
                fs::copy(place.path("edges.u64"), gpu.place.path("edges.u64")).expect("copied");
                let text = fs::read_to_string(place.path("job.toml")).expect("read");
                gpu.place.write("job.toml", text);
                ways.push(("a GPU".into(), gpu.fresh(&["run.device=gpu", "limits.gpu_memory=2MiB"])));
            }
            if let Some(built) = &built {
                let args = ["run", "job.toml", "--quiet", "--fresh", "--set", "run.device=cpu"];
                Ran::command(&mut mpirun(&place, built, 3, 120, &built.gpugraph, &args)).expect(0);
                ways.push(("3 ranks".into(), place.read_report()));
            }
            for (how, report) in ways {
                let found = &report["results"]["dfs"];
                assert_eq!(found["cycle_length"].as_u64(), expected.0, "{how}: {edges:?} {table}");
                assert_eq!(found["cycle"].as_array().map(Vec::len), Some(expected.1.len()), "{how}: {edges:?} {table}");
            }
        }
    }
    // A graph that was kept has the smallest loop alone.
    for (loops, table, known) in [
        (&[9u64, 5][..], "source = 2\n", Some((1, vec![5]))),
        (&[3, 9], "source = 2\n", None),
        (&[3], "source = 2\n", Some((0, vec![]))),
        (&[3, 9], "forest = true\n", Some((1, vec![3]))),
    ] {
        job(&with(loops), table);
        run(&place, "", &["job.keep=true", "job.workdir=kept"]).expect(0);
        place.write(
            "job.toml",
            format!("[job]\nworkdir = 'work'\n[input]\nprepared = 'kept'\n[dfs]\ncomponents = 'strong'\n{table}"),
        );
        let ran = run(&place, "", &[]).expect(0);
        let (length, list) = known.clone().unzip();
        assert_eq!(cycle(&place.read_report()), (length, list.unwrap_or_default()), "{loops:?} {table}");
        assert_eq!(ran.out.contains("the kept graph does not name"), known.is_none(), "{}", ran.out);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        fs::remove_dir_all(place.path("kept")).expect("removed");
    }
    // A cycle of 1500, whose list is changed in one place.
    let long: Vec<[u64; 2]> = (0..1500).map(|v| [v, (v + 1) % 1500]).chain([[1500, 3]]).collect();
    job(&long, "forest = true\n");
    let (length, whole) = cycle(&report(&place, &[]));
    assert_eq!((length, whole.len()), (Some(1500), 1500));
    let next = |at: usize| whole[(at + 1) % 1500];
    assert!((0..1500).all(|at| (whole[at] + 1) % 1500 == next(at)), "{whole:?}");
    let ran = run(&place, "", &[]).expect(0);
    assert!(ran.out.contains("a cycle of 1500"), "{}", ran.out);
    let column = "out/dfs/cycle.npy";
    let before = fs::read(place.workdir().join(column)).expect("read");
    for (row, value) in [(0, whole[1]), (1200, whole[0]), (1499, 1500), (1200, 77_777)] {
        let mut bytes = before.clone();
        bytes[128 + 8 * row..][..8].copy_from_slice(&value.to_le_bytes());
        put(&place, column, &bytes);
        place.gpugraph(&["verify", "job.toml"]).expect(8);
    }
    put(&place, column, &before);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    run(&place, "", &["output.format=csv"]).expect(0);
    let text = fs::read_to_string(place.workdir().join("out/dfs/cycle.csv")).expect("read");
    assert!(text.starts_with(&format!("place,cycle\n0,{}\n1,{}\n", whole[0], whole[1])), "{text}");
    place.gpugraph(&["verify", "job.toml", "--set", "output.format=csv"]).expect(0);
    // A table of columns is no cycle, whether there is one beside it or not.
    for edges in [&[[0, 1], [1, 0]][..], &[[0, 1]]] {
        job(edges, "forest = true\n");
        run(&place, "", &["output.format=parquet"]).expect(0);
        assert_eq!(place.workdir().join("out/dfs/cycle.parquet").is_file(), edges.len() == 2);
        place.gpugraph(&["verify", "job.toml", "--set", "output.format=parquet"]).expect(0);
    }
}
