//! Communities by label propagation: the oracle, published labels, and jobs that are stopped or killed.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::components::largest_and_by_size;
use crate::oracle::{Answer, Graph};
use crate::support::{Place, reference_graphs};
use crate::{goes_on, job, report};

impl Graph {
    /// Communities after the default number of iterations.
    pub fn communities(&self, directed: bool) -> Answer {
        // With direction, each way of an edge is a neighbour of its own.
        let mut neighbours: BTreeMap<u64, Vec<u64>> = self.rows.iter().map(|&id| (id, Vec::new())).collect();
        let mut ways: Vec<(u64, u64)> = self.edges.iter().map(|&[u, v]| (u, v)).filter(|(u, v)| u != v).collect();
        if !directed {
            ways.iter_mut().for_each(|way| *way = (way.0.min(way.1), way.0.max(way.1)));
        }
        ways.sort_unstable();
        ways.dedup();
        for (u, v) in ways {
            neighbours.entry(u).or_default().push(v);
            neighbours.entry(v).or_default().push(u);
        }
        let mut labels: BTreeMap<u64, u64> = self.rows.iter().map(|&id| (id, id)).collect();
        let (mut iterations, mut changed) = (0, 0);
        while iterations < 10 && (iterations == 0 || changed > 0) {
            let next = |(&id, of): (&u64, &Vec<u64>)| {
                let mut votes: BTreeMap<u64, usize> = BTreeMap::new();
                of.iter().for_each(|u| *votes.entry(labels[u]).or_default() += 1);
                let most = votes.values().max().copied().unwrap_or(0);
                let label = votes.into_iter().find(|&(_, count)| count == most).map_or(id, |(label, _)| label);
                (id, label)
            };
            let after: BTreeMap<u64, u64> = neighbours.iter().map(next).collect();
            changed = after.iter().filter(|(id, label)| labels[id] != **label).count();
            (labels, iterations) = (after, iterations + 1);
        }
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        labels.values().for_each(|&label| *sizes.entry(label).or_default() += 1);
        let (number, [largest, by_size]) = (sizes.len(), largest_and_by_size(sizes.into_values().collect()));
        let found = json!({
            "iterations": iterations, "changed": changed, "communities": number, "largest": largest, "by_size": by_size,
        });
        let column = self.rows.iter().flat_map(|id| labels[id].to_le_bytes()).collect();
        self.of_columns(("cdlp", "", directed), found, [("label", "<i8", column)])
    }
}

#[test]
fn a_job_that_is_stopped_or_killed_goes_on_at_the_next_iteration() {
    let (place, graph) = (Place::new(), Graph::new(20_000, 32_000, 1 << 40));
    for keys in ["", "# direction = true\n"] {
        job(&place, &graph, &format!("[cdlp]\niterations = 4\n{keys}"));
        let rules = [("1:stop", 75), ("3:stop", 75), ("3:kill", 137), ("6:stop", 75), ("7:kill", 137)];
        goes_on(&place, "cdlp", &rules.map(|(rule, code)| (rule.into(), code)), "labels of vertices with edges after");
    }
}

/// The labels that LDBC publishes for a graph of a peer-to-peer network.
#[test]
fn labels_are_those_that_graphalytics_publishes() {
    let Some(folder) = reference_graphs().map(|data| data.join("libgrape")) else { return };
    let place = Place::new();
    let published = fs::read_to_string(folder.join("p2p-31-CDLP")).expect("read");
    for directed in [false, true] {
        let path = folder.join("p2p-31.e");
        place.write(
            "job.toml",
            format!(
                "[job]\nworkdir = 'work'\n[input]\npath = '{}'\nformat = 'text'\ndirected = {directed}\n[cdlp]\n",
                path.display()
            ),
        );
        report(&place, &["run.trials=1"]);
        let labels = place.npy::<i64>("cdlp/label");
        for line in published.lines() {
            let (id, label) = line.split_once(' ').expect("two numbers");
            let id: usize = id.parse().expect("a number");
            assert_eq!(Ok(labels[id]), label.trim().parse(), "{id}");
        }
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(said.contains("communities after 10 iterations along the edges"), "{said}");
        fs::remove_dir_all(place.workdir()).expect("removed");
    }
}

#[test]
fn stars_paths_and_graphs_of_no_edge_have_labels() {
    let place = Place::new();
    let job = |text: &str, keys: &str| {
        let _ = fs::remove_dir_all(place.workdir());
        place.write("edges.txt", text);
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.txt'\n[cdlp]\n{keys}"));
        let found = report(&place, &[])["results"]["cdlp"].clone();
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(!said.contains("FAILED") && said.contains("which have the same vertices"), "{said}");
        (found["iterations"].clone(), found["communities"].clone(), place.npy::<i64>("cdlp/label"))
    };
    // The centre and the leaves of a star exchange labels for ever.
    let star: String = (1..2000).map(|leaf| format!("0 {leaf}\n")).collect();
    for (iterations, of_centre, of_leaves) in [(1, 1, 0), (2, 0, 1), (3, 1, 0)] {
        let (done, communities, labels) = job(&star, &format!("iterations = {iterations}\n"));
        assert_eq!((done, communities), (json!(iterations), json!(2)));
        assert!(labels[0] == of_centre && labels[1..].iter().all(|&label| label == of_leaves), "{iterations}");
    }
    // A triangle settles, and then no iteration is left to compute.
    assert_eq!(job("0 1\n1 2\n2 0\n4 4\n", "iterations = 1000000\n"), (json!(3), json!(3), vec![0, 0, 0, 3, 4]));
    assert_eq!(job("4 4\n", "").2, [0, 1, 2, 3, 4]);
    assert_eq!(job("", ""), (json!(1), json!(0), vec![]));
}

#[test]
fn wrong_keys_are_refused() {
    let (place, graph) = (Place::new(), Graph::new(30, 40, 1 << 40));
    for wrong in ["iterations = 0", "iterations = -1", "iterations = 1.5", "iteration = 3"] {
        job(&place, &graph, &format!("[cdlp]\n{wrong}\n"));
        let ran = place.run(&[]).expect(2);
        assert!(ran.err.contains("cdlp.iteration") || ran.err.contains("'iteration'"), "{}", ran.err);
    }
}
