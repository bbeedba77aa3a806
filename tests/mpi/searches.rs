//! Searches by ranks: they leave what one process leaves, level by level, also where some own no vertex, and go on after deaths and stops.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::mpi::built;
use crate::support::{Place, complete, number, random_edges};
use crate::{KEEP, Ranks, error, one_mpi, same_files, signal_launcher};

/// The table of searches from these sources, and triangles, which are counted anyway.
fn table(sources: &[u64], more: &str) -> String {
    format!("{KEEP}[triangle]\n[bfs]\nsources = {sources:?}\nwrite = true\n{more}\n[run]\ndevice = 'cpu'\n")
}

/// The columns of all searches, by name.
fn columns(workdir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in fs::read_dir(workdir.join("out/bfs")).into_iter().flatten().flatten() {
        for name in ["parent", "level"] {
            let path = folder.path().join(format!("{name}.npy"));
            let key = format!("{}/{name}", folder.file_name().display());
            found.insert(key, fs::read(path).expect("a column"));
        }
    }
    found
}

/// The parents of a search, by the ids of the input.
fn parents(workdir: &Path, source: u64) -> Vec<i64> {
    let file = fs::read(workdir.join(format!("out/bfs/{source}/parent.npy"))).expect("a column");
    let (values, _) = file[128..].as_chunks();
    values.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()
}

/// The sources of a report, without times.
fn searched(report: &Value) -> Vec<Value> {
    let mut sources = report["results"]["bfs"]["sources"].as_array().expect("sources").clone();
    for source in &mut sources {
        let fields = source.as_object_mut().expect("fields");
        ["seconds", "teps"].into_iter().for_each(|field| drop(fields.remove(field)));
        for level in fields.get_mut("levels").and_then(Value::as_array_mut).into_iter().flatten() {
            level.as_object_mut().expect("fields").remove("seconds");
        }
    }
    sources
}

/// Runs the job by one process and by these ranks, each of so many threads: the same levels and columns. Returns the report of one process.
#[track_caller]
fn agree(what: &str, job: &Ranks, input: &str, table: &str, crews: &[(usize, usize)]) -> Value {
    job.place.job(input, table);
    job.forget();
    let alone = job.report(0, &["--set", "limits.threads=1"]);
    let known = columns(&job.place.workdir());
    assert!(!known.is_empty(), "{what}");
    for &(ranks, threads) in crews {
        let what = format!("{what} by {ranks} ranks of {threads} threads");
        job.forget();
        let report = job.report(ranks, &["--set", &format!("limits.threads={threads}")]);
        assert_eq!(number(&report, "ranks"), ranks as u64, "{what}");
        assert_eq!(searched(&report), searched(&alone), "{what}");
        same_files(&what, &columns(&job.place.workdir()), &known);
    }
    alone
}

/// A path 0 - 1 - ... - (n - 1).
fn path(n: u64) -> Vec<[u64; 2]> {
    (1..n).map(|v| [v - 1, v]).collect()
}

#[test]
fn few_vertices_and_deep_graphs() {
    let Some(job) = Ranks::new() else { return };
    let place = &job.place;
    // Of 8 ranks that own chunks of 512 vertices, 7 have none, or one has a few.
    place.u32("edge.u32", &[[5, 2]]);
    place.u32("clique.u32", &complete(20));
    place.u32("path.u32", &path(515));
    for (name, sources) in [("edge.u32", &[2, 5][..]), ("clique.u32", &[7]), ("path.u32", &[0, 514, 200])] {
        agree(name, &job, &format!("path = '{name}'"), &table(sources, ""), &[(8, 1), (3, 2)]);
    }
    place.u32("long.u32", &path(6000));
    let alone = agree("a long path", &job, "path = 'long.u32'", &table(&[0, 5999, 17], ""), &[(2, 2), (3, 1)]);
    let depths: Vec<u64> =
        alone["results"]["bfs"]["sources"].as_array().expect("sources").iter().map(|s| number(s, "depth")).collect();
    assert_eq!(depths, [5999, 5999, 5982]);
    let parents = parents(&place.workdir(), 0);
    assert!((1..6000).all(|v| parents[v] == v as i64 - 1));
    let grid = (0..90 * 70).flat_map(|v| [(v % 90 < 89).then_some([v, v + 1]), (v < 90 * 69).then_some([v, v + 90])]);
    place.u32("grid.u32", &grid.flatten().collect::<Vec<_>>());
    agree("a grid", &job, "path = 'grid.u32'", &table(&[0, 3000], ""), &[(3, 2)]);
}

/// Stars of 20,000 leaves: their rows are shared by all ranks, from the first step and from later ones. Leaves of both hang on the centre that
/// comes first.
#[test]
fn hubs_are_shared() {
    let Some(job) = Ranks::new() else { return };
    let leaves = 20_000;
    let mut edges: Vec<[u64; 2]> = (3..leaves).map(|leaf| [0, leaf]).collect();
    edges.extend((leaves / 2..2 * leaves).map(|leaf| [1, leaf]));
    // A path leads to the centres, and joins them.
    edges.extend([[2 * leaves, 2 * leaves + 1], [2 * leaves + 1, 0], [2 * leaves + 1, 1]]);
    job.place.u32("stars.u32", &edges);
    for more in ["", "alpha = 0.001"] {
        let sources = [0, 1, 3, 2 * leaves, leaves];
        agree("stars", &job, "path = 'stars.u32'", &table(&sources, more), &[(2, 1), (3, 2), (8, 1)]);
        let parents = parents(&job.place.workdir(), 2 * leaves);
        // The centre of most edges comes first.
        let both = leaves as usize / 2..leaves as usize;
        assert!(parents[both].iter().all(|&parent| parent == 1), "{more}");
    }
}

/// Every way in which what was reached is told, and both directions of steps, with either MPI.
#[test]
fn kronecker_random_and_directed_graphs_by_every_switch() {
    // Another MPI changes how ranks meet (tests/mpi/comm.rs), not what they compute: one crew shows that it does.
    let all = ([(2, 2), (3, 1), (8, 1)], [(2, 1), (3, 2)]);
    for (built, (crews, of_directed)) in
        built().into_iter().zip([(&all.0[..], &all.1[..]), (&all.0[1..2], &all.1[..1])])
    {
        let job = Ranks::of(built);
        let kronecker = "kronecker = { scale = 14, edge_factor = 16, seed = 1 }";
        for more in ["", "alpha = 0.0001", "alpha = 1000000\nbeta = 1"] {
            agree(&format!("kronecker, {more}"), &job, kronecker, &table(&[1, 2, 77], more), crews);
        }
        job.place.u32("directed.u32", &random_edges(9000, 40_000, 3));
        for more in ["", "alpha = 0.0001"] {
            let input = "path = 'directed.u32'\ndirected = true";
            agree(&format!("directed, {more}"), &job, input, &table(&[1, 8999], more), of_directed);
        }
    }
}

fn hits(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0)
}

/// Ranks die and are stopped in searches and between them: no source that was noted is searched from for new figures.
#[test]
fn ranks_that_die_or_stop_in_a_search_lose_one() {
    let Some(mut job) = Ranks::new() else { return };
    let sources: Vec<u64> = (1..10).collect();
    // No vertex is without an edge.
    job.place.u32("edges.u32", &random_edges(3000, 60_000, 4));
    job.place.job("path = 'edges.u32'", &table(&sources, ""));
    job.forget();
    let alone = job.report(0, &[]);
    let known = columns(&job.place.workdir());
    let file = job.place.path("hits");
    for (rank, rule, noted) in [
        (1, "bfs.ranks=4:kill", 3),
        (0, "bfs.ranks=6:kill", 5),
        (1, "bfs.ranks=2:stop", 1),
        (0, "bfs.source=3:stop", 3),
        (1, "bfs.ranks=5:eio", 4),
        (0, "bfs.check=1:kill", 9),
    ] {
        job.forget();
        job.failing(rank, rule);
        let ran = job.run(3, &["--quiet"]);
        let what = format!("{rule} on rank {rank}: {}", ran.err);
        match rule.rsplit_once(':').expect("an action").1 {
            "stop" => assert_eq!(ran.code, 75, "{what}"),
            "eio" => assert!(ran.code == 10 && error(&ran).contains("rank 1: "), "{what}"),
            _ => assert_ne!(ran.code, 0, "{what}"),
        }
        job.alike();
        job.hits = Some(file.clone());
        let report = job.report(2, &[]);
        job.hits = None;
        assert_eq!(hits(&file, "bfs.source"), sources.len() as u64 - noted, "{what}");
        let found = |report: &Value| searched(report).iter().map(|s| s["reached"].clone()).collect::<Vec<_>>();
        assert_eq!(found(&report), found(&alone), "{what}");
        same_files(&what, &columns(&job.place.workdir()), &known);
    }
}

/// A single search of more levels than any rank waits for.
#[test]
fn a_signal_stops_a_search_between_two_steps() {
    let Some(mut job) = Ranks::new() else { return };
    job.place.u32("path.u32", &path(3_000_000));
    job.place.job("path = 'path.u32'", "[bfs]\nsources = [0]\n[limits]\nthreads = 1\n[run]\ndevice = 'cpu'\n");
    job.alike();
    let mut started = job.start(2, &[]);
    assert!(started.until("bfs begins"));
    std::thread::sleep(Duration::from_millis(500));
    signal_launcher(&started, libc::SIGUSR1);
    let asked = Instant::now();
    let ran = started.end();
    assert_eq!(ran.code, 75, "{}", ran.err);
    assert!(asked.elapsed() < Duration::from_secs(12), "{:?}", asked.elapsed());
}

/// A rank takes no more than the plan says, and with less than the fewest bytes that it names the job is refused.
#[test]
fn ranks_take_what_is_planned_and_are_refused_with_less() {
    let Some(built) = one_mpi() else { return };
    let job = Ranks::at(Place::on_disk(), built);
    let text = format!(
        "{KEEP}[triangle]\n[bfs]\nroots = 3\n[traverse]\nroots = 3\n[limits]\nthreads = 2\n[run]\ndevice = 'cpu'\n"
    );
    job.place.job("kronecker = { scale = 17, edge_factor = 16, seed = 1 }", &text);
    for ranks in [2, 3] {
        // A plan where ingest is done already leaves out its memory, and `--fresh` does it again.
        job.forget();
        let number_of = ranks.to_string();
        let plan = |set: &str| job.place.gpugraph(&["plan", "job.toml", "--json", "--ranks", &number_of, "--set", set]);
        let mut limit = "limits.host_memory=1MiB".to_owned();
        for _ in 0..9 {
            let ran = plan(&limit);
            if ran.code == 0 {
                break;
            }
            let ran = ran.expect(7);
            let (_, rest) = ran.error().split_once("at least ").expect("a limit");
            limit = format!("limits.host_memory={}", rest.split(" is needed").next().expect("a limit"));
        }
        let planned: Value = serde_json::from_str(&plan(&limit).expect(0).out).expect("JSON");
        let report = job.report(ranks, &["--fresh", "--set", &limit]);
        for name in ["bfs", "traverse"] {
            let of = |stages: &Value, key: &str| {
                let stages = stages["stages"].as_array().expect("stages").clone();
                number(stages.iter().find(|stage| stage["name"] == name).expect("a stage"), key)
            };
            let (took, planned) = (of(&report, "host_memory_peak"), of(&planned, "host_memory"));
            assert!(took <= planned, "{name} by {ranks} ranks took {took} of {planned}");
        }
        let ran = job.run(ranks, &["--fresh", "--quiet", "--set", "limits.host_memory=8MiB"]);
        assert_eq!(ran.code, 7, "{}", ran.err);
    }
}

/// Where no meter can be read, as in most virtual machines, the report says so; either way all ranks search again for it, and nothing found differs.
#[test]
fn ranks_tell_the_energy_of_all_or_why_they_cannot() {
    let Some(mut job) = Ranks::new() else { return };
    job.place.u32("edges.u32", &random_edges(300, 2000, 7));
    job.place.job("path = 'edges.u32'", "[bfs]\nroots = 2\n[limits]\nthreads = 1\n[run]\ndevice = 'cpu'\n");
    job.alike();
    let plain = job.report(2, &[]);
    assert!(plain["results"]["bfs"].get("energy").is_none());
    let report = job.report(2, &["--fresh", "--set", "run.energy=true"]);
    let energy = &report["results"]["bfs"]["energy"];
    assert_eq!(searched(&report), searched(&plain));
    assert!(energy["seconds"].as_f64() >= Some(3.0) && energy["rounds"].as_u64() > Some(0), "{energy}");
    let note = energy["note"].as_str();
    match energy["joules"].as_f64() {
        Some(joules) => assert!(joules > 0.0 && note.is_none() && energy["mteps_per_watt"].is_number(), "{energy}"),
        None => {
            assert!(note.is_some_and(|note| note.contains("no energy could be read (no GPU is in use; ")), "{energy}")
        }
    }
}
