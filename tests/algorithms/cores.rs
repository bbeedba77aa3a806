//! Core numbers: the oracle, jobs that are stopped or killed, and graphs whose layers are known.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::oracle::{Answer, Graph};
use crate::support::Place;
use crate::{goes_on, job, report};

impl Graph {
    /// Core numbers and layers by their definition: at each level, all vertices with at most so many neighbours go at once.
    pub fn cores(&self, directed: bool) -> Answer {
        let mut left: BTreeMap<u64, u64> = self.rows.iter().map(|&id| (id, self.degree(id))).collect();
        let mut found: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        let (mut level, mut layers) = (0, 0);
        while let Some(&least) = left.values().min() {
            level = level.max(least);
            layers += 1;
            let layer: Vec<u64> = left.iter().filter(|(_, count)| **count <= level).map(|(&id, _)| id).collect();
            for id in &layer {
                left.remove(id);
                found.insert(*id, [level, layers]);
            }
            for u in layer.iter().flat_map(|&id| self.of(id)) {
                left.entry(u).and_modify(|count| *count -= 1);
            }
        }
        let innermost = found.values().filter(|of| of[0] == level).count();
        let bin = |core: u64| if core == 0 { 0 } else { 1 + core.ilog2() as usize };
        let mut by_core = vec![0; bin(level) + 1];
        found.values().for_each(|of| by_core[bin(of[0])] += 1);
        let figures = json!({ "degeneracy": level, "innermost": innermost, "layers": layers, "by_core": by_core });
        let column = |which: usize| self.rows.iter().flat_map(|id| found[id][which].to_le_bytes()).collect();
        let columns = [("core", "<i8", column(0)), ("layer", "<i8", column(1))];
        self.of_columns(("cores", "", directed), figures, columns)
    }
}

#[test]
fn a_job_that_is_stopped_or_killed_goes_on_at_the_next_layer() {
    let (place, mut graph) = (Place::new(), Graph::new(20_000, 32_000, 1 << 40));
    // A path of 400 layers, after each 64 of which a job looks whether to stop.
    graph.edges.extend((0..800).map(|at| [(1 << 41) + at, (1 << 41) + at + 1]));
    job(&place, &graph, "[cores]\n");
    let rules = [("1:stop", 75), ("1:kill", 137), ("4:stop", 75), ("6:kill", 137), ("9:stop", 75), ("12:kill", 137)];
    goes_on(&place, "cores", &rules.map(|(rule, code)| (rule.into(), code)), "vertices with edges in");
}

/// The layers of paths, cliques and their like, also where vertices are declared alone.
#[test]
fn layers_of_known_graphs() {
    let place = Place::new();
    let column = |name: &str| place.npy::<i64>(&format!("cores/{name}"));
    let job = |input: &str| {
        let _ = fs::remove_dir_all(place.workdir());
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[cores]\n"));
        let found = report(&place, &[])["results"]["cores"].clone();
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(!said.contains("FAILED") && said.contains("and the core numbers follow"), "{said}");
        ["degeneracy", "innermost", "layers"].map(|field| found[field].as_u64().expect("a number"))
    };
    let edges = |text: String, kind: &str| {
        place.write("edges.txt", text);
        job(&format!("path = 'edges.txt'\n{kind}"))
    };
    // A path loses both ends in each layer.
    let path = |last: u64| (0..last).map(|v| format!("{v} {}\n", v + 1)).collect::<String>();
    assert_eq!(edges(path(100_000), ""), [1, 100_001, 50_001]);
    assert!(column("layer").iter().zip(0..).all(|(&layer, v)| layer == 1 + v.min(100_000 - v)));
    // A cycle is removed at once, although its edges are there in both directions or twice.
    let cycle = path(9) + "9 0\n0 9\n3 4\n";
    assert_eq!(edges(cycle.clone(), ""), [2, 10, 1]);
    assert_eq!(edges(cycle, "directed = true"), [2, 10, 1]);
    // A clique of five with a tail, and a star. Vertex 30 has a loop alone, and those between have no edge.
    let clique = (0..5).flat_map(|u| (0..u).map(move |v| format!("{u} {v}\n"))).collect::<String>();
    let star = (11..20).map(|leaf| format!("10 {leaf}\n")).collect::<String>();
    assert_eq!(edges(clique + "4 5\n5 6\n" + &star + "30 30\n", ""), [4, 5, 4]);
    assert_eq!(column("core")[..11], [4, 4, 4, 4, 4, 1, 1, 0, 0, 0, 1]);
    assert_eq!(column("layer")[..12], [4, 4, 4, 4, 4, 3, 2, 1, 1, 1, 3, 2]);
    // Vertices 4 and 5 are declared alone, and row 0 is of no vertex.
    place.write("edges.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 1\n3 2\n");
    assert_eq!(job("path = 'edges.mtx'\nfirst_id = 1"), [1, 2, 2]);
    assert_eq!((column("core"), column("layer")), (vec![-1, 0, 1, 1, 0, 0], vec![-1, 1, 2, 2, 1, 1]));
    assert_eq!(edges("4 4\n".into(), ""), [0, 5, 1]);
    assert_eq!(edges(String::new(), ""), [0, 0, 0]);
}

/// Where the edges do not fit in memory, a check reads them in parts.
#[test]
fn a_check_within_little_memory_finds_the_same() {
    let place = Place::new();
    let graph = Graph::new(3000, 400_000, 1 << 40);
    job(&place, &graph, "[cores]\n");
    report(&place, &[]);
    for limit in ["", "24MiB"] {
        let set = format!("limits.host_memory={limit}");
        let set = if limit.is_empty() { vec![] } else { vec!["--set", &set] };
        let said = place.gpugraph(&[&["verify", "job.toml"][..], &set].concat()).expect(0).out;
        assert!(said.contains("and the core numbers follow"), "{said}");
    }
}
