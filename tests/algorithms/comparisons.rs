//! Comparisons of merges: published numbers, small graphs, kills, and what is refused. The oracle has the other graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::support::mpi::{built, mpirun};
use crate::support::{Place, Ran, number};
use crate::{report, run};

const TABLE: &str = "[triangle]\ncomparisons = true\n";

/// The steps of a merge of two rows, one by one.
fn steps(a: &[usize], b: &[usize]) -> u64 {
    match (a.first().zip(a.last()), b.first().zip(b.last())) {
        (Some((first_a, last_a)), Some((first_b, last_b))) if first_a <= last_b && first_b <= last_a => {}
        _ => return 0,
    }
    let (mut a, mut b, mut steps) = (a.iter().peekable(), b.iter().peekable(), 0);
    while let (Some(of_a), Some(of_b)) = (a.peek().copied(), b.peek().copied()) {
        if of_a <= of_b {
            a.next();
        }
        if of_b <= of_a {
            b.next();
        }
        steps += 1;
    }
    steps
}

/// The steps of the merges of all edges, if vertices are in this order.
fn steps_in(order: &[u64], edges: &[[u64; 2]]) -> u64 {
    let place: BTreeMap<u64, usize> = order.iter().copied().zip(0..).collect();
    let mut rows: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for [u, v] in edges.iter().map(|edge| edge.map(|id| place[&id])).filter(|[u, v]| u != v) {
        rows.entry(u.min(v)).or_default().insert(u.max(v));
    }
    let row = |u: usize, after: usize| -> Vec<usize> {
        rows.get(&u).into_iter().flat_map(|row| row.range(after + 1..)).copied().collect()
    };
    rows.iter().flat_map(|(&u, all)| all.iter().map(move |&v| (u, v))).map(|(u, v)| steps(&row(u, v), &row(v, v))).sum()
}

/// What the report must have of edges.
pub fn of(edges: &[[u64; 2]]) -> Value {
    let mut degrees: BTreeMap<u64, u64> = BTreeMap::new();
    edges.iter().flatten().for_each(|&id| *degrees.entry(id).or_default() += 1);
    let mut order: Vec<u64> = degrees.keys().copied().collect();
    let by_id = steps_in(&order, edges);
    order.sort_by_key(|id| (degrees[id], *id));
    let by_degree = steps_in(&order, edges);
    let ratio = if by_degree == 0 { 0.0 } else { by_id as f64 / by_degree as f64 };
    json!({ "input_order": by_id, "degree_order": by_degree, "ratio": ratio })
}

#[test]
fn small_graphs() {
    let clique = |n: u64| (0..n).flat_map(|v| (0..v).map(move |u| [u, v])).collect::<Vec<_>>();
    let star: Vec<_> = (1..50).map(|v| [0, v]).collect();
    // The rows of the edge between 0 and 1 are 2 and 3: their ranges do not overlap.
    let apart = vec![[0, 1], [0, 2], [1, 3]];
    // Loops and repeats change the order of degree.
    let with_loops = vec![[3, 3], [3, 3], [2, 0], [0, 1], [1, 2], [1, 2], [0, 3], [1, 3], [7, 7], [4, 0], [4, 1]];
    for graph in [vec![], vec![[3, 3]], vec![[0, 1]], clique(3), clique(60), star, apart, with_loops] {
        let place = Place::new();
        place.job_on(&place.u64("edges.u64", &graph), TABLE);
        assert_eq!(report(&place, &[])["results"]["triangle"]["comparisons"], of(&graph), "{graph:?}");
        let verified = place.gpugraph(&["verify", "job.toml"]).expect(0);
        assert!(verified.out.contains("ok      comparisons"), "{}", verified.out);
    }
    // A path in the order of ids: each row has an entry, and its rest is empty.
    let path: Vec<_> = (0..9).map(|v| [v, v + 1]).collect();
    assert_eq!(of(&path)["input_order"], 0);
    assert_eq!(of(&clique(4))["input_order"], 2 + 1 + 1);
}

#[test]
fn published_comparisons() {
    let Some(data) = crate::support::reference_graphs() else { return };
    let place = Place::new();
    place.job_on(&data.join("snap/email-Eu-core.txt.gz"), TABLE);
    let found = report(&place, &["limits.threads=2"]);
    let found = &found["results"]["triangle"]["comparisons"];
    assert_eq!((number(found, "input_order"), number(found, "degree_order")), (745_528, 370_279));
    assert!(place.gpugraph(&["verify", "job.toml"]).expect(0).out.contains("745528 by id and 370279 by degree"));
}

/// The order of ids is that of strings.
#[test]
fn strings() {
    let edges = crate::support::random_edges(40, 300, 7);
    let name = |id: u64| format!("n{id}");
    let mut names: Vec<String> = edges.iter().flatten().map(|&id| name(id)).collect();
    names.sort();
    names.dedup();
    let row = |id: u64| names.binary_search(&name(id)).expect("a row") as u64;
    let right = of(&edges.iter().map(|edge| edge.map(row)).collect::<Vec<_>>());
    let lines: String = edges.iter().map(|&[u, v]| format!("{} {}\n", name(u), name(v))).collect();
    let place = Place::new();
    let path = place.write("edges.txt", lines);
    place.job(&format!("path = '{}'\nids = 'string'", path.display()), TABLE);
    assert_eq!(report(&place, &[])["results"]["triangle"]["comparisons"], right);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// After each round a stop saves the sums, and another number of threads or ranks goes on.
#[test]
fn stopped_and_killed() {
    let place = Place::new();
    place.job("kronecker = { scale = 14, edge_factor = 32, seed = 5 }", TABLE);
    let rule = |at: u32, how: &str| format!("triangle.comparisons={at}:{how}");
    // The last round, and no further one.
    let rounds = (1..64).find(|&at| {
        let _ = fs::remove_dir_all(place.workdir());
        run(&place, &rule(at, "kill"), &["limits.threads=3"]).code == 0
    });
    let rounds = rounds.expect("an end") - 1;
    assert!(rounds >= 4 && rounds.is_multiple_of(2), "{rounds} rounds");
    let lived = place.read_report()["results"]["triangle"].clone();
    for stopped in 1..=rounds {
        fs::remove_dir_all(place.workdir()).expect("removed");
        run(&place, &rule(stopped, "stop"), &["limits.threads=2"]).expect(75);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        if stopped < rounds {
            run(&place, &rule(rounds - stopped, "kill"), &["limits.threads=1"]).expect(137);
        }
        // No round is left but those that were not saved.
        let after = rule(rounds - stopped + 1, "kill");
        match built().into_iter().next().filter(|_| stopped == 2) {
            Some(built) => {
                let args = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"];
                Ran::command(&mut mpirun(&place, built, 2, 120, &built.gpugraph, &args)).expect(0);
            }
            None => drop(run(&place, &after, &["limits.threads=3"]).expect(0)),
        }
        let result = &place.read_report()["results"]["triangle"];
        assert_eq!(result["comparisons"], lived["comparisons"], "{stopped}");
    }
    // Killed in the count of triangles, which comes next.
    fs::remove_dir_all(place.workdir()).expect("removed");
    run(&place, "unit.done=1:kill", &["triangle.per_edge=true"]).expect(137);
    let after = report(&place, &["triangle.per_edge=true"]);
    assert_eq!(after["results"]["triangle"]["comparisons"], lived["comparisons"]);
    assert!(!place.workdir().join("units/triangle.0.files").exists());
}

#[test]
fn wrong_keys_direction_and_unknown_loops_are_refused() {
    let place = Place::new();
    let loops = [[0, 1], [1, 2], [2, 0], [1, 1]];
    let path = place.u64("edges.u64", &loops);
    for (keys, error) in
        [("comparisons = 3", "comparisons"), ("comparisons = true\nclustering = 'directed'", "excludes")]
    {
        place.job_on(&path, &format!("[triangle]\n{keys}\n"));
        assert!(place.run(&[]).expect(2).err.contains(error));
    }
    place.job(&format!("path = '{}'\ndirected = true", path.display()), TABLE);
    assert!(place.run(&[]).expect(2).err.contains("needs undirected edges"));
    for (edges, directed, code, error) in [
        (&loops[..], false, 2, "in place of prepared"),
        (&loops[..3], true, 2, "needs undirected edges"),
        (&loops[..3], false, 0, ""),
    ] {
        let kept = Place::new();
        let path = kept.u64("edges.u64", edges);
        let input = format!("[input]\npath = '{}'\ndirected = {directed}\n", path.display());
        kept.write("kept.toml", format!("[job]\nworkdir = 'kept'\nkeep = true\n{input}"));
        kept.gpugraph(&["run", "kept.toml"]).expect(0);
        kept.job("prepared = 'kept'", TABLE);
        let ran = run(&kept, "", &[]).expect(code);
        assert!(ran.err.contains(error), "{}", ran.err);
    }
}
