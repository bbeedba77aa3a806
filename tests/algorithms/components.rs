//! Weakly and strongly connected components: the oracles, and jobs that are stopped, killed, or on graphs of few edges.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::oracle::{Answer, Graph};
use crate::support::Place;
use crate::{goes_on, job, report, same_for_any_threads_and_limits};

/// The ten largest sizes, and the number of those from 2^i to 2^(i+1) - 1.
pub fn largest_and_by_size(mut sizes: Vec<u64>) -> [Vec<u64>; 2] {
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let power = |size: u64| (0..64).rfind(|&power| 1 << power <= size).expect("a vertex");
    let with = |wanted: u32| sizes.iter().filter(|&&size| power(size) == wanted).count() as u64;
    let by_size = (0..=power(sizes[0])).map(with).collect();
    sizes.truncate(10);
    [sizes, by_size]
}

impl Graph {
    /// Components, which direction does not change: each begins at the smallest id that no other has reached.
    pub fn components(&self, directed: bool) -> Answer {
        let mut components: BTreeMap<u64, u64> = BTreeMap::new();
        let mut sizes: Vec<u64> = Vec::new();
        for &first in &self.rows {
            let mut next = vec![first];
            let reached = components.len();
            while let Some(id) = next.pop() {
                if components.contains_key(&id) {
                    continue;
                }
                components.insert(id, first);
                next.extend(self.of(id));
            }
            sizes.extend(Some((components.len() - reached) as u64).filter(|&size| size > 0));
        }
        self.of_components("", directed, &components, sizes)
    }

    /// Strongly connected components: the vertices that the smallest vertex reaches and that reach it.
    pub fn strong_components(&self, directed: bool) -> Answer {
        let mut ways: [BTreeMap<u64, Vec<u64>>; 2] = Default::default();
        for &[u, v] in &self.edges {
            let [out, into] = &mut ways;
            out.entry(u).or_default().push(v);
            into.entry(v).or_default().push(u);
            if !directed {
                out.entry(v).or_default().push(u);
                into.entry(u).or_default().push(v);
            }
        }
        let (mut components, mut sizes): (BTreeMap<u64, u64>, Vec<u64>) = Default::default();
        for &first in &self.rows {
            if components.contains_key(&first) {
                continue;
            }
            let reach = |way: &BTreeMap<u64, Vec<u64>>| {
                let (mut reached, mut next) = (BTreeSet::new(), vec![first]);
                while let Some(id) = next.pop() {
                    if !components.contains_key(&id) && reached.insert(id) {
                        next.extend(way.get(&id).into_iter().flatten());
                    }
                }
                reached
            };
            let [out, into] = ways.each_ref().map(reach);
            let both: Vec<u64> = out.intersection(&into).copied().collect();
            sizes.push(both.len() as u64);
            components.extend(both.into_iter().map(|id| (id, first)));
        }
        self.of_components("strong = true\n", directed, &components, sizes)
    }

    fn of_components(&self, keys: &str, directed: bool, components: &BTreeMap<u64, u64>, sizes: Vec<u64>) -> Answer {
        let (number, [largest, by_size]) = (sizes.len(), largest_and_by_size(sizes));
        let found = json!({ "components": number, "largest": largest, "by_size": by_size });
        let column = self.rows.iter().flat_map(|id| components[id].to_le_bytes()).collect();
        self.of_columns(("components", keys, directed), found, [("component", "<i8", column)])
    }
}

#[test]
fn a_job_that_is_stopped_or_killed_goes_on_at_the_next_block() {
    // A graph of eight blocks or more.
    let (place, graph) = (Place::new(), Graph::new(20_000, 32_000, 1 << 40));
    for keys in ["", "# direction = true\n"] {
        job(&place, &graph, &format!("[components]\n{keys}"));
        let rules = [("3:stop", 75), ("3:kill", 137), ("8:stop", 75), ("9:stop", 75), ("14:stop", 75)];
        let saved = "components of vertices with edges, after";
        goes_on(&place, "components", &rules.map(|(rule, code)| (rule.into(), code)), saved);
    }
}

#[test]
fn a_job_of_strong_components_goes_on_at_the_next_phase() {
    // With so many edges, phases find the large component. After the first round, a depth-first search finds the chain
    // of small ones next to it.
    let (place, mut graph) = (Place::new(), Graph::new(20_000, 400_000, 1 << 40));
    let chain = (15_000..15_500).map(|i| 2 * i).flat_map(|v| [[v, v + 1], [v + 1, v], [v + 1, v + 2]]);
    graph.edges.extend(chain.map(|edge| edge.map(|id| id << 40)));
    job(&place, &graph, "[components]\nstrong = true\n# direction = true\n");
    let rules = ["1:stop", "2:stop", "3:stop", "4:stop", "5:stop", "6:stop"].map(|rule| (rule.to_owned(), 75));
    let kills = ["2:kill", "5:kill"].map(|rule| (rule.to_owned(), 137));
    let saved = "strong components of vertices with edges so far";
    goes_on(&place, "components", &[&rules[..], &kills].concat(), saved);
}

#[test]
fn strong_components_are_the_same_for_any_threads_and_limits() {
    same_for_any_threads_and_limits("components", "strong = true\n");
}

/// By the search of `[dfs]`, which has one thread and another method.
#[test]
fn strong_components_are_those_of_a_depth_first_search() {
    let place = Place::new();
    for input in [
        "kronecker = { scale = 15, edge_factor = 8, seed = 5 }",
        "uniform = { scale = 15, edge_factor = 2, seed = 6 }",
        "rmat = { scale = 14, edges = 90000, seed = 7 }",
    ] {
        let _ = fs::remove_dir_all(place.workdir());
        let tables = "[components]\nstrong = true\n[dfs]\nforest = true\ncomponents = 'strong'\n";
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\ndirected = true\n{tables}"));
        let found = report(&place, &["limits.threads=3"])["results"].clone();
        let [by_phases, by_search] = ["components", "dfs"].map(|table| place.npy::<i64>(&format!("{table}/component")));
        // The search goes to no vertex without an edge, and names components by their first vertices.
        let mut smallest: BTreeMap<i64, i64> = BTreeMap::new();
        for (id, (&of, &first)) in (0..).zip(by_phases.iter().zip(&by_search)) {
            let known = if first < 0 { id } else { *smallest.entry(first).or_insert(id) };
            assert_eq!(of, known, "{id} of {input}");
        }
        let isolated = by_search.iter().filter(|&&first| first < 0).count() as u64;
        let number = |found: &Value| found["components"].as_u64();
        assert_eq!(number(&found["components"]), number(&found["dfs"]).map(|number| number + isolated), "{input}");
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(!said.contains("FAILED") && said.contains("which have the same vertices"), "{said}");
    }
}

#[test]
fn vertices_without_edges_are_components() {
    let place = Place::new();
    let column = || place.npy::<i64>("components/component");
    let job = |input: &str| {
        let _ = fs::remove_dir_all(place.workdir());
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[components]\n"));
        let found = report(&place, &[])["results"]["components"].clone();
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(!said.contains("FAILED") && said.contains("which have the same vertices"), "{said}");
        (found["components"].clone(), found["largest"].clone())
    };
    place.write("edges.txt", "5 2\n3 3\n2 6\n");
    assert_eq!(job("path = 'edges.txt'"), (json!(5), json!([3, 1, 1, 1, 1])));
    assert_eq!(column(), [0, 1, 2, 3, 4, 2, 2]);
    // Vertices 4 and 5 are declared alone, and row 0 is of no vertex.
    place.write("edges.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 1\n3 2\n");
    assert_eq!(job("path = 'edges.mtx'\nfirst_id = 1"), (json!(4), json!([2, 1, 1, 1])));
    assert_eq!(column(), [-1, 1, 2, 2, 4, 5]);
    place.write("edges.txt", "4 4\n");
    assert_eq!(job("path = 'edges.txt'"), (json!(5), json!([1, 1, 1, 1, 1])));
    place.write("edges.txt", "");
    assert_eq!(job("path = 'edges.txt'"), (json!(0), json!([])));
}

/// A kept graph is checked by its blocks.
#[test]
fn a_wrong_figure_is_found_by_the_blocks_of_a_kept_graph() {
    let (place, graph) = (Place::new(), Graph::new(300, 400, 1 << 40));
    let path = place.u64("edges.u64", &graph.edges);
    let input = format!("path = '{}'\ndirected = true", path.display());
    place.write("kept.toml", format!("[job]\nworkdir = 'kept'\n[input]\n{input}\n"));
    place.gpugraph(&["run", "kept.toml", "--quiet"]).expect(0);
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\nprepared = 'kept'\n[components]\n");
    report(&place, &[]);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(said.contains("components by the edges of the blocks"), "{said}");
    let manifest = place.workdir().join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("read");
    let at = text.find("\"components\":").and_then(|at| text[at..].find("\"largest\"").map(|more| at + more));
    let (before, after) = text.split_at(at.expect("a result"));
    fs::write(&manifest, format!("{before}{}", after.replacen('[', "[9,", 1))).expect("written");
    assert_ne!(place.gpugraph(&["verify", "job.toml"]).code, 0);
}
