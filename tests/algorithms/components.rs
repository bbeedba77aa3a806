//! Weakly connected components: the oracle, and jobs that are stopped, killed, or on graphs of few edges.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::oracle::{Answer, Graph};
use crate::support::Place;
use crate::{goes_on, job, report};

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
        let (number, [largest, by_size]) = (sizes.len(), largest_and_by_size(sizes));
        let found = json!({ "components": number, "largest": largest, "by_size": by_size });
        let column = self.rows.iter().flat_map(|id| components[id].to_le_bytes()).collect();
        self.of_columns(("components", "", directed), found, [("component", "<i8", column)])
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
