//! What `plan --ranks` says beforehand is what ranks then take.

use std::fs;

use serde_json::Value;

use crate::support::mpi::{Built, built};
use crate::support::{Place, Ran, number, random_edges, triangles};
use crate::{CORNERS, KEEP, Ranks, one_mpi};

const KRONECKER: &str = "kronecker = { scale = 19, edge_factor = 32, seed = 5 }";
const SMALLER: &str = "kronecker = { scale = 17, edge_factor = 32, seed = 5 }";

fn plan(job: &Ranks, ranks: usize, more: &[&str]) -> Value {
    let ranks = ranks.to_string();
    let args = [&["plan", "job.toml", "--json", "--ranks", &ranks], more].concat();
    serde_json::from_str(&job.place.gpugraph(&args).expect(0).out).expect("JSON")
}

fn stage<'a>(of: &'a Value, name: &str) -> &'a Value {
    let stages = of["stages"].as_array().expect("stages");
    stages.iter().find(|stage| stage["name"] == name).unwrap_or_else(|| panic!("no {name} in {of:#}"))
}

/// A size as the log shows it, in bytes.
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), "B"));
    let unit = ["B", "KiB", "MiB", "GiB"].iter().position(|u| *u == unit).unwrap_or_else(|| panic!("size {text}"));
    number.parse::<f64>().expect("a number") * 1024f64.powi(unit as i32)
}

/// On a disk: mapped files of a file system in memory count as memory of the process.
fn on_disk(built: &'static Built) -> Ranks {
    Ranks::at(Place::on_disk(), built)
}

#[test]
fn no_rank_takes_more_than_planned_and_as_much_is_sent() {
    let Some(job) = one_mpi().map(on_disk) else { return };
    // In small limits edges are spilled. What many ranks share is most beside what each has.
    for (ranks, limit) in [(2, "256MiB"), (8, "72MiB"), (2, "64MiB")] {
        job.place.job(KRONECKER, &format!("{KEEP}{CORNERS}[limits]\nthreads = 1\nhost_memory = '{limit}'\n"));
        job.forget();
        let before = plan(&job, ranks, &[]);
        let report = job.report(ranks, &[]);
        let after = plan(&job, ranks, &[]);
        assert_eq!((before["basis"].as_str(), after["basis"].as_str()), (Some("size"), Some("degrees")));
        for name in ["ingest", "relabel", "partition", "sort", "triangle"] {
            let took = number(stage(&report, name), "host_memory_peak");
            for plan in [&before, &after] {
                let planned = number(stage(plan, name), "host_memory");
                assert!(took <= planned, "{name} by {ranks} ranks took {took} of {planned}");
            }
            let planned = number(stage(&after, name), "host_memory");
            // What is set aside for the process and for MPI is hardly touched.
            assert!(name == "triangle" || planned < 4 * took + (48 << 20), "{name}: {planned} planned, {took} taken");
        }
        let spilled = number(stage(&report, "partition"), "written");
        let order = number(stage(&after, "relabel"), "disk");
        assert!(spilled <= number(stage(&after, "partition"), "disk") - order, "{spilled} spilled: {after:#}");
        assert_eq!(spilled > 0, limit != "256MiB", "{spilled}");
        if limit == "256MiB" {
            // What the leader sends and receives is all there is.
            let log = fs::read_to_string(job.place.workdir().join("run.log")).expect("the log");
            let line = log.lines().find(|line| line.contains("edges exchanged")).expect("a line");
            let of = |name: &str| {
                let rest = line.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("no {name}: {line}")).1;
                let end = rest.find('=').map_or(rest, |end| rest[..end].rsplit_once(' ').expect("a name").0);
                bytes(end.trim_matches('"').trim_end_matches('"'))
            };
            let (moved, planned) = (of("sent") + of("received"), number(stage(&after, "partition"), "exchange") as f64);
            assert!((0.8..1.25).contains(&(moved / planned)), "{moved} moved, {planned} planned: {line}");
        }
    }
}

#[test]
fn the_limit_that_a_plan_of_ranks_names_does_for_them() {
    // The second MPI is built without optimisation.
    for (built, (ranks, graph)) in built().into_iter().zip([(3, KRONECKER), (8, SMALLER)]) {
        named_limit_does(&on_disk(built), ranks, graph);
    }
}

fn named_limit_does(job: &Ranks, ranks: usize, graph: &str) {
    let limits = |limit: &str| format!("limits.host_memory={limit}");
    job.place.job(graph, &format!("{KEEP}[triangle]\n[limits]\nthreads = 2\n"));
    let known = triangles(&job.report(0, &[]));
    // Of a job that is done nothing is left to need memory.
    job.forget();
    let mut limit = "1MiB".to_owned();
    for _ in 0..9 {
        let ranks = ranks.to_string();
        let ran = job.place.gpugraph(&["plan", "job.toml", "--ranks", &ranks, "--set", &limits(&limit)]);
        if ran.code == 0 {
            break;
        }
        let ran = ran.expect(7);
        let (_, rest) = ran.error().split_once("at least ").expect("a limit");
        limit = rest.split(" is needed").next().expect("a limit").to_owned();
    }
    let planned = plan(job, ranks, &["--set", &limits(&limit)]);
    let report = job.report(ranks, &["--set", &limits(&limit)]);
    assert_eq!(triangles(&report), known);
    let (peak, limit) = (number(&report, "limits.host_memory_peak"), number(&report, "limits.host_memory"));
    assert!(peak <= limit && limit < 128 << 20, "{peak} bytes at the peak within {limit}");
    for name in ["ingest", "relabel", "partition", "sort", "triangle"] {
        let [took, planned] =
            [(&report, "host_memory_peak"), (&planned, "host_memory")].map(|(of, key)| number(stage(of, name), key));
        assert!(took <= planned, "{name} by {ranks} ranks took {took} of {planned}");
    }
}

/// MPI's memory is only estimated in a plan, so a limit that is too small for the estimate is a warning.
#[test]
fn a_plan_refuses_no_limit_that_ranks_can_run_in() {
    let Some(job) = one_mpi().map(on_disk) else { return };
    job.place.u32("edges.u32", &random_edges(300, 4000, 6));
    job.place.job("path = 'edges.u32'", "[limits]\nthreads = 1\n");
    let set = |mib: u64| format!("limits.host_memory={mib}MiB");
    let least = (4..64).find(|&mib| {
        job.forget();
        job.run(2, &["--set", &set(mib)]).code == 0
    });
    let set = set(least.expect("a limit that is enough"));
    let planned = || job.place.gpugraph(&["plan", "job.toml", "--ranks", "2", "--set", &set]).expect(0).out;
    job.forget();
    assert!(planned().contains("may be too small: "), "{set}: {}", planned());
    job.run(2, &["--set", &set, "--set", "job.keep=true"]).expect(0);
    planned();
}

#[test]
fn each_of_two_ranks_takes_little_more_than_half_of_what_one_takes() {
    let Some(job) = one_mpi().map(on_disk) else { return };
    job.place.job(
        "kronecker = { scale = 21, edge_factor = 16, seed = 1 }",
        &format!("{KEEP}[limits]\nhost_memory = '2GiB'\n"),
    );
    // Beside the map from ids, which each has.
    let beside = |ranks, threads| {
        let report = job.report(ranks, &["--fresh", "--set", &format!("limits.threads={threads}")]);
        number(&report, "limits.host_memory_peak") - (4 << 21)
    };
    let [one, each] = [beside(0, 2), beside(2, 1)];
    assert!(10 * each <= 6 * one, "{each} bytes on each of two ranks, {one} on one");
}

#[test]
fn submit_asks_for_what_the_plan_of_all_ranks_has() {
    let Some(job) = Ranks::new() else { return };
    job.place.job(KRONECKER, "[limits]\nhost_memory = '96MiB'\n[run]\ndevice = 'cpu'\n");
    let mut submit = std::process::Command::new(&job.built.gpugraph);
    submit.args(["submit", "job.toml", "--print", "--scheduler", "pbs", "--nodes=2", "--ranks=4", "--cpus=3"]);
    let script = Ran::command(submit.current_dir(job.place.path(""))).expect(0).out;
    let select = script.lines().find_map(|line| line.strip_prefix("#PBS -l select=")).expect("a request");
    let memory = select.strip_prefix("2:ncpus=12:mpiprocs=4:mem=").unwrap_or_else(|| panic!("{select}"));
    let memory: u64 = memory.trim_end_matches("mb").parse().expect("MiB");
    let limit = script.split("'limits.host_memory=").nth(1).and_then(|rest| rest.split("MiB").next()).expect("a limit");
    let limit: u64 = limit.parse().expect("MiB");
    // Within this limit the plan of all ranks fits, and each takes some code and page tables in addition.
    let plan = plan(
        &job,
        8,
        &["--nodes", "2", "--set", "limits.threads=3", "--set", &format!("limits.host_memory={limit}MiB")],
    );
    assert!(number(&plan, "host_memory_node") <= (4 * limit) << 20 && limit <= 96, "{limit} MiB each: {plan}");
    assert!((4 * limit..=4 * (limit + 48)).contains(&memory), "{memory} MiB asked for, {limit} each");
    assert!(script.contains("--set 'limits.host_memory="), "{script}");
}
