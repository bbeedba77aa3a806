//! Jobs that traverse graphs: the trees of `[bfs]` by every strategy and owner, in pieces, on shared graphs and after kills; what they tell.

use std::collections::BTreeMap;
use std::fs;

use gpugraph::internals::formats::Format;
use serde_json::Value;

use crate::oracle::Graph;
use crate::support::mpi::{built, mpirun};
use crate::support::{Place, Ran, number, reference_graphs};
use crate::{job, outputs, report, run};

const STRATEGIES: [&str; 3] = ["sort-unique", "atomic", "auto"];
const OWNERS: [&str; 2] = ["modulo", "blocks"];

/// The columns of an algorithm, by source and name.
fn columns(place: &Place, algorithm: &str) -> BTreeMap<String, Vec<u8>> {
    let prefix = format!("{algorithm}/");
    let files = outputs(&place.workdir()).into_iter();
    files.filter_map(|(name, bytes)| Some((name.strip_prefix(&prefix)?.to_owned(), bytes))).collect()
}

/// For each source what was reached, the depth, the edges and the vertices of each level.
fn found(report: &Value, algorithm: &str) -> Vec<(u64, u64, u64, u64, Vec<u64>)> {
    let sources = report["results"][algorithm]["sources"].as_array().expect("sources");
    let of = |source: &Value| {
        let levels = source["levels"].as_array().expect("levels").iter().map(|level| number(level, "frontier"));
        let [id, reached, depth, edges] = ["source", "reached", "depth", "edges"].map(|key| number(source, key));
        (id, reached, depth, edges, levels.collect())
    };
    sources.iter().map(of).collect()
}

/// Runs the traversal of a job of both tables by a strategy and an owner: its trees must be those of `[bfs]`. Returns the report.
#[track_caller]
fn holds(place: &Place, strategy: &str, owner: &str, set: &[&str]) -> Value {
    let (strategy, owner) = (format!("traverse.strategy={strategy}"), format!("traverse.owner={owner}"));
    let set: Vec<&str> = [strategy.as_str(), &owner].into_iter().chain(set.iter().copied()).collect();
    let report = report(place, &set);
    assert_eq!(found(&report, "traverse"), found(&report, "bfs"), "{set:?}");
    assert!(columns(place, "traverse") == columns(place, "bfs"), "{set:?}: other trees");
    assert!(!columns(place, "bfs").is_empty());
    report
}

/// Checks that sums of a source are those of its levels, and that times add up.
#[track_caller]
fn adds_up(report: &Value, ranks: u64) {
    for source in report["results"]["traverse"]["sources"].as_array().expect("sources") {
        let levels = source["levels"].as_array().expect("levels");
        for key in ["expanded", "pruned", "sent_bytes", "unpruned_bytes"] {
            let sum: u64 = levels.iter().map(|level| number(level, key)).sum();
            assert_eq!(sum, number(source, key), "{key}: {source}");
        }
        let seconds = |value: &Value| value.as_f64().expect("seconds");
        let times = source["ranks"].as_array().expect("ranks");
        assert_eq!(times.len() as u64, ranks);
        let most = times.iter().map(|rank| seconds(&rank["compute_seconds"])).fold(0.0, f64::max);
        assert!((most - seconds(&source["compute_seconds"])).abs() < 1e-9, "{source}");
        let steps = &source["steps"];
        let computed: f64 =
            ["prefix_sum", "search", "sort", "unique", "update"].iter().map(|step| seconds(&steps[*step])).sum();
        let mean = times.iter().map(|rank| seconds(&rank["compute_seconds"])).sum::<f64>() / ranks as f64;
        assert!((mean - computed).abs() < 1e-9, "{source}");
        // The time of a search is told by the first rank, whose parts lie within it; others may begin to wait before.
        let first = ["compute_seconds", "exchange_seconds", "waiting_seconds"].map(|part| seconds(&times[0][part]));
        assert!(first.iter().sum::<f64>() <= seconds(&source["seconds"]) * 1.05 + 1e-3, "{source}");
    }
}

/// Levels of few edges and of many; those of many in one piece, and in several where memory is short.
#[test]
fn trees_are_those_of_bfs_by_every_strategy_and_owner() {
    for directed in [false, true] {
        let (place, graph) = (Place::new(), Graph::new(3000, 150_000, 1));
        let tables = "sources = [5, 17]\nwrite = true\n";
        let direction = if directed { "# direction = true\n" } else { "" };
        job(
            &place,
            &graph,
            &format!("[job]\nworkdir = 'work'\nkeep = true\n[bfs]\n{direction}{tables}[traverse]\n{tables}"),
        );
        for strategy in STRATEGIES {
            for owner in OWNERS {
                let threads = if owner == "modulo" { "limits.threads=1" } else { "limits.threads=3" };
                let report = holds(&place, strategy, owner, &[threads]);
                if strategy == "auto" {
                    continue;
                }
                adds_up(&report, 1);
                let source = &report["results"]["traverse"]["sources"][0];
                // Each edge of what is reached is a candidate at both ends, or at its tail; alone, nobody sends anything.
                let ends = if directed { 1 } else { 2 };
                assert!(number(source, "expanded") <= ends * number(source, "edges"));
                assert!(number(source, "expanded") > 65_536, "a level of several pieces");
                assert_eq!(number(source, "sent_bytes"), 0);
                assert_eq!(number(source, "pruned") > 0, strategy == "sort-unique", "{source}");
            }
        }
        let plan = place.gpugraph(&["plan", "job.toml", "--json", "--set", "run.device=cpu"]).expect(0);
        let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
        let least = format!("limits.host_memory={}", number(&plan, "host_memory_needed").next_multiple_of(1 << 20));
        holds(&place, "sort-unique", "blocks", &["limits.threads=2", &least, "traverse.seed=2"]);
        let said = place.gpugraph(&["verify", "work"]).expect(0).out;
        assert!(said.contains("by the five rules of Graph500"), "{said}");
    }
}

#[test]
fn ranks_leave_the_same_trees_and_send_less_where_repeats_are_dropped() {
    let Some(built) = built().into_iter().next() else { return };
    let (place, graph) = (Place::new(), Graph::new(3000, 40_000, 1));
    let tables = "sources = [5, 17]\nwrite = true\n";
    job(&place, &graph, &format!("[job]\nworkdir = 'work'\nkeep = true\n[bfs]\n{tables}[traverse]\n{tables}"));
    report(&place, &[]);
    let mut sent = BTreeMap::new();
    for (strategy, owner, ranks) in [
        ("sort-unique", "modulo", 2),
        ("atomic", "modulo", 2),
        ("sort-unique", "blocks", 8),
        ("atomic", "blocks", 3),
        ("auto", "modulo", 2),
    ] {
        let sets = [
            format!("traverse.strategy={strategy}"),
            format!("traverse.owner={owner}"),
            format!("limits.threads={}", 1 + ranks % 2),
            "traverse.seed=2".into(),
        ];
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> =
            ["run", "job.toml", "--quiet", "--set", "run.device=cpu"].into_iter().chain(sets).collect();
        let mut command = mpirun(&place, built, ranks, 120, &built.gpugraph, &args);
        Ran::command(&mut command).expect(0);
        let report = place.read_report();
        let what = format!("{strategy} {owner} {ranks}");
        assert_eq!(found(&report, "traverse"), found(&report, "bfs"), "{what}");
        assert!(columns(&place, "traverse") == columns(&place, "bfs"), "{what}: other trees");
        let source = &report["results"]["traverse"]["sources"][0];
        if strategy != "auto" {
            adds_up(&report, ranks as u64);
            assert!(number(source, "sent_bytes") > 0, "{what}: {source}");
            assert_eq!(
                strategy == "atomic",
                number(source, "sent_bytes") == number(source, "unpruned_bytes"),
                "{source}"
            );
            sent.insert((strategy, ranks), number(source, "sent_bytes"));
        }
        assert!(source["communication_seconds"].as_f64() > Some(0.0), "{what}: {source}");
    }
    assert!(2 * sent[&("sort-unique", 2)] < sent[&("atomic", 2)], "{sent:?}");
}

/// Every graph with known answers, against a plain queue's trees, which `[bfs]` is tested by.
#[test]
fn all_shared_graphs() {
    let Some(folder) = reference_graphs() else { return };
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).expect("a list");
    let names: Vec<&str> = manifest.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let mut searched = 0;
    for (number, name) in names.iter().enumerate() {
        let path = folder.join(name);
        if Format::by_ending(&path).is_none() || !path.is_file() {
            println!("SKIPPED: {name}");
            continue;
        }
        let place = Place::new();
        place.write("job.toml", format!(
            "[job]\nworkdir = 'work'\nkeep = true\n[input]\npath = '{}'\n[bfs]\nroots = 2\nwrite = true\n[traverse]\nroots = 2\nwrite = true\n",
            path.display()
        ));
        let owner = OWNERS[number % 2];
        let ran = run(&place, "", &[&format!("traverse.owner={owner}")]).expect(0);
        assert!(ran.out.contains("traverse "), "{name}: {}", ran.out);
        if columns(&place, "bfs").is_empty() {
            continue;
        }
        searched += 1;
        holds(&place, "sort-unique", owner, &[]);
        holds(&place, "atomic", OWNERS[1 - number % 2], &["limits.threads=2"]);
    }
    assert!(searched > 10, "{searched}");
}

#[test]
fn a_job_that_is_killed_between_searches_loses_one_at_most() {
    let (place, graph) = (Place::new(), Graph::new(2000, 9000, 1 << 40));
    job(&place, &graph, "[traverse]\nroots = 5\nwrite = true\n");
    let lived = report(&place, &[]);
    let files = outputs(&place.workdir());
    assert_eq!(files.len(), 2 * 5 + 1);
    for (rule, again) in [("traverse.source=1", 4), ("traverse.source=4", 1), ("traverse.check=1", 0)] {
        fs::remove_dir_all(place.workdir()).expect("removed");
        run(&place, &format!("{rule}:kill"), &[]).expect(137);
        let count = place.path("hits");
        let args = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"];
        Ran::command(place.command(&args).env("GPUGRAPH_FAILPOINTS_COUNT", &count)).expect(0);
        let hits = fs::read_to_string(&count).expect("counts");
        let line = hits.lines().find_map(|line| line.strip_prefix("traverse.source "));
        assert_eq!(line.map_or(0, |n| n.trim().parse::<u64>().expect("a number")), again, "{rule}");
        assert_eq!(found(&place.read_report(), "traverse"), found(&lived, "traverse"), "{rule}");
        assert_eq!(outputs(&place.workdir()), files, "{rule}");
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}

/// A wrong parent is found by the check of the run, before it is written, and by `verify`, which reads the edges again.
#[test]
fn a_tree_that_was_changed_is_noticed_by_verify() {
    let (place, graph) = (Place::new(), Graph::new(300, 1200, 1));
    job(&place, &graph, "[traverse]\nsources = [5]\nwrite = true\n");
    report(&place, &[]);
    let name = "out/traverse/5/parent.npy";
    let path = place.workdir().join(name);
    let mut bytes = fs::read(&path).expect("read");
    let row = (0..graph.rows.len()).rev().find(|row| bytes[128 + 8 * row] != 0xff && *row != 5).expect("a vertex");
    bytes[128 + 8 * row..136 + 8 * row].copy_from_slice(&(row as i64).to_le_bytes());
    fs::write(&path, &bytes).expect("written");
    let mut loaded =
        gpugraph::internals::job::state::manifest::Manifest::load(&place.workdir()).expect("read").expect("there");
    let outputs = &mut loaded.tasks.get_mut("traverse").expect("a task").outputs;
    *outputs.get_mut(name).expect("a file") = gpugraph::internals::results::Output::of(&bytes);
    loaded.save(&place.workdir()).expect("written");
    let said = place.gpugraph(&["verify", "job.toml"]).expect(8);
    assert!(said.out.contains("(rule 2 of Graph500)"), "{}", said.out);
}

/// A path hangs on a graph of many edges: levels of one vertex behind levels of many, and the other way around.
#[test]
fn thousands_of_narrow_levels() {
    let (place, mut graph) = (Place::new(), Graph::new(700, 9000, 1));
    let (first, long) = (10_000, 3000);
    graph.edges.extend((first..first + long).map(|id| [id, id + 1]));
    graph.edges.push([5, first]);
    let sources = format!("sources = [5, {}]\nwrite = true\n", first + long);
    job(&place, &graph, &format!("[job]\nworkdir = 'work'\nkeep = true\n[bfs]\n{sources}[traverse]\n{sources}"));
    for strategy in STRATEGIES {
        holds(&place, strategy, "modulo", &["limits.threads=2"]);
    }
}
