//! What a plan says beside what the job then takes: blocks, units, disk, limits, time.

use crate::support::{self, Place, Ran, number};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A job and a cache folder of its own: what runs note there is seen by this job's plans alone.
struct Job(Place);

impl Job {
    fn new(input: &str, more: &str) -> Job {
        let place = Place::on_disk();
        place.job(input, &format!("[job]\nworkdir = 'work'\nkeep = true\n{more}"));
        let text = std::fs::read_to_string(place.path("job.toml")).expect("a job");
        place.write("job.toml", text.replace("[input]", "[run]\ndevice = 'cpu'\n[input]"));
        Job(place)
    }

    fn ran(&self, args: &[&str]) -> Ran {
        Ran::command(self.0.command(args).env("XDG_CACHE_HOME", self.0.path("cache")))
    }

    fn plan(&self, more: &[&str]) -> Value {
        let ran = self.ran(&[&["plan", "job.toml", "--json"], more].concat()).expect(0);
        serde_json::from_str(&ran.out).expect("JSON")
    }

    fn run(&self) -> Value {
        self.ran(&["run", "job.toml", "--quiet"]).expect(0);
        self.0.read_report()
    }

    fn speeds(&self) -> PathBuf {
        self.0.path("cache").join("gpugraph/speeds.json")
    }
}

/// Bytes that a folder takes on the disk.
fn on_disk(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|e| if e.path().is_dir() { on_disk(&e.path()) } else { e.metadata().expect("there").blocks() * 512 })
        .sum()
}

fn graphs() -> Vec<String> {
    let mut inputs: Vec<String> = [
        "kronecker = { scale = 10, edge_factor = 16, seed = 5 }",
        "kronecker = { scale = 14, edge_factor = 64, seed = 5 }",
        "kronecker = { scale = 16, edge_factor = 8, seed = 5 }",
        "kronecker = { scale = 17, edge_factor = 20, seed = 5 }",
        "uniform = { scale = 14, edge_factor = 9, seed = 5 }",
        "uniform = { scale = 17, edge_factor = 16, seed = 5 }",
    ]
    .map(str::to_owned)
    .into();
    let Some(shared) = support::reference_graphs() else { return inputs };
    let files = ["snap/ca-AstroPh.txt.gz", "snap/wiki-Vote.txt", "libgrape/p2p-31.e", "networkit/power.graph"];
    inputs.extend(files.map(|file| format!("path = '{}'", shared.join(file).display())));
    inputs
}

#[test]
fn blocks_and_units_are_right_within_two_before_ingest_and_exact_after_it() {
    for input in graphs() {
        let job = Job::new(&input, "");
        let before = job.plan(&[]);
        let report = job.run();
        let units = number(&report, "results.triangle.units") as f64;
        let said = number(&before, "units") as f64;
        assert_eq!(before["basis"], "size");
        assert!((0.5..=2.0).contains(&(said / units)), "{input}: {said} units said, {units} counted");
        let after = job.plan(&[]);
        assert_eq!(after["basis"], "degrees", "{input}");
        assert_eq!(number(&after, "units") as f64, units, "{input}");
        assert_eq!(number(&after, "blocks"), number(&report, "graph.blocks"), "{input}");
    }
}

#[test]
fn the_disk_of_results_per_vertex_is_in_the_plan_and_not_much_more_than_it_takes() {
    for input in [
        "kronecker = { scale = 16, edge_factor = 16, seed = 5 }",
        "uniform = { scale = 17, edge_factor = 4, seed = 5 }",
    ] {
        let job = Job::new(input, "[triangle]\nper_vertex = true\n");
        let before = job.plan(&[]);
        job.run();
        let (after, held) = (job.plan(&[]), on_disk(&job.0.workdir()));
        let said = |plan: &Value| number(plan, "disk");
        assert!(said(&before) >= said(&after) && said(&after) >= held, "{before:#} {after:#} {held}");
        // Beside what is there at the end: a checkpoint of 8 bytes a vertex, which only long counts write, and small files.
        let vertices = number(&job.0.read_report(), "graph.vertices");
        let most = held as f64 * 1.3 + 8.0 * vertices as f64 + f64::from(1 << 20);
        assert!((said(&after) as f64) < most, "{} said, {held} taken", said(&after));
        let without = job.plan(&["--set", "triangle.per_vertex=false"]);
        assert!(said(&after) - said(&without) >= 16 * vertices, "two columns of 8 bytes");
        let seconds = |plan: &Value| plan["stages"][4]["seconds"].as_f64().expect("seconds");
        assert!(seconds(&before) > 0.0 && before["stages"][4]["name"] == "triangle");
    }
}

#[test]
fn counts_per_vertex_take_longer_in_a_plan() {
    let job = Job::new("kronecker = { scale = 20, edge_factor = 16, seed = 5 }", "");
    let seconds = |per_vertex: &str| {
        let plan = job.plan(&["--set", &format!("triangle.per_vertex={per_vertex}")]);
        plan["stages"][4]["seconds"].as_f64().expect("seconds")
    };
    let [without, with] = ["false", "true"].map(seconds);
    // 0.55 and 1.5 s with two threads of the machine that the rates are of.
    assert!((1.8..4.0).contains(&(with / without)), "{without} {with}");
}

#[test]
fn the_smallest_limit_does_and_a_twentieth_less_does_not() {
    for per_vertex in [false, true] {
        let job = Job::new(
            "kronecker = { scale = 18, edge_factor = 16, seed = 5 }",
            &format!("[limits]\nthreads = 2\n[triangle]\nper_vertex = {per_vertex}\n"),
        );
        let limited = |bytes: u64, more: &[&str]| {
            let set = format!("limits.host_memory={bytes}");
            job.ran(&[&["run", "job.toml", "--quiet", "--set", &set], more].concat())
        };
        // Before the degrees are known, one that is too small for any is named with a bound, and that one does.
        let refused = limited(1 << 20, &[]).expect(7);
        assert!(refused.error().contains("upper bound"), "{}", refused.error());
        limited(named(refused.error()), &[]).expect(0);
        let report = job.run();
        // Of a job that is done nothing is left to need memory: what the plan has once degrees are known.
        let _ = std::fs::remove_dir_all(job.0.workdir());
        let stopped = job.0.run_failing("partition.begin=1:enospc", &["--quiet"]);
        assert_eq!(stopped.code, 6, "{}", stopped.err);
        let exact = number(&job.plan(&[]), "host_memory_needed");
        let (needed, less) = (exact.next_multiple_of(1 << 20), exact / 20 * 19);
        let refused = job.ran(&["plan", "job.toml", "--set", &format!("limits.host_memory={less}")]).expect(7);
        assert_eq!(named(refused.error()), needed, "{}", refused.error());
        limited(less, &[]).expect(7);
        limited(needed, &[]).expect(0);
        let again = job.0.read_report();
        assert_eq!(support::triangles(&again), support::triangles(&report));
        assert!(number(&again, "limits.host_memory_peak") <= needed);
    }
}

/// Bytes of the limit that a refusal names.
#[track_caller]
fn named(error: &str) -> u64 {
    let (_, rest) = error.rsplit_once("at least ").unwrap_or_else(|| panic!("no limit in {error}"));
    let mib = rest.split_once("MiB is needed").unwrap_or_else(|| panic!("no MiB in {error}")).0;
    mib.parse::<u64>().expect("a number") << 20
}

#[test]
fn memory_of_mpi_that_is_only_estimated_is_no_reason_to_refuse() {
    let job = Job::new("kronecker = { scale = 12, edge_factor = 8, seed = 5 }", "[limits]\nthreads = 1\n");
    let stopped = job.0.run_failing("partition.begin=1:enospc", &["--quiet"]);
    assert_eq!(stopped.code, 6, "{}", stopped.err);
    let needed = number(&job.plan(&["--ranks", "2"]), "host_memory_needed");
    let limited =
        |bytes: u64| job.ran(&["plan", "job.toml", "--ranks", "2", "--set", &format!("limits.host_memory={bytes}")]);
    let ran = limited(needed - 1).expect(0);
    assert!(ran.out.contains("may be too small: ") && ran.out.contains("is enough (upper bound)"), "{}", ran.out);
    assert!(!limited(needed).expect(0).out.contains("may be too small"));
    let refused = limited(1 << 20).expect(7);
    assert!(refused.error().contains("once MPI has started"), "{}", refused.error());
    assert_eq!(named(refused.error()), needed.next_multiple_of(1 << 20));
}

#[test]
fn a_refusal_says_whether_it_is_a_bound() {
    let job = Job::new("kronecker = { scale = 18, edge_factor = 16, seed = 5 }", "[limits]\nthreads = 2\n");
    let limited = |command: &str| job.ran(&[command, "job.toml", "--set", "limits.host_memory=8MiB"]).expect(7);
    assert!(limited("plan").error().contains("upper bound"), "{}", limited("plan").err);
    let text = job.ran(&["plan", "job.toml"]).expect(0).out;
    assert!(text.contains("(upper bound)") && text.contains("at most"), "{text}");
    let stopped = job.0.run_failing("partition.begin=1:enospc", &["--quiet"]);
    assert_eq!(stopped.code, 6, "{}", stopped.err);
    let known = limited("plan");
    assert!(!known.error().contains("bound") && known.error().contains("the smallest that works"), "{}", known.err);
    let text = job.ran(&["plan", "job.toml"]).expect(0).out;
    assert!(text.contains("is the smallest that works") && !text.contains("bound"), "{text}");
}

/// Eight tebibytes: whatever repeats there are, half of the bound is surely taken.
#[test]
fn without_the_check_of_the_disk_a_job_begins_that_may_not_fit() {
    let job =
        Job::new("uniform = { scale = 22, edge_factor = 1_000_000, seed = 5 }", "[limits]\nhost_memory = '1TiB'\n");
    let refused = job.ran(&["plan", "job.toml"]).expect(6);
    for word in ["at most", "surely", "is free", "run.disk_check = false"] {
        assert!(refused.error().contains(word), "{word} in {}", refused.error());
    }
    // How much is free changes meanwhile.
    let before = |error: &str| error.split(" here, ").next().map(str::to_owned);
    assert_eq!(before(job.ran(&["run", "job.toml", "--quiet"]).expect(6).error()), before(refused.error()));
    let unchecked = ["--set", "run.disk_check=false"];
    job.ran(&[&["plan", "job.toml"], &unchecked[..]].concat()).expect(0);
    let mut run = job.0.command(&[&["run", "job.toml"], &unchecked[..]].concat());
    let mut started = support::Started::new(run.env("XDG_CACHE_HOME", job.0.path("cache")));
    assert!(started.until("ingest begins"));
    started.signal(15);
    let ended = started.end().expect(75);
    assert!(ended.err.contains("the disk of the workdir may be too small: at most"), "{}", ended.err);
}

/// As on a login node, or where a job file is for a larger machine.
#[test]
fn a_limit_beyond_what_is_free_is_told() {
    let place = Place::new();
    place.job("kronecker = { scale = 18, edge_factor = 16, seed = 5 }", "[run]\ndevice = 'cpu'\n[triangle]\n");
    let warned = |free: u64, limit: &str| {
        let mut plan = place.command(&["plan", "job.toml", "--set", &format!("limits.host_memory={limit}")]);
        let said = Ran::command(plan.env("GPUGRAPH_NODE_MEMORY", (free << 20).to_string())).expect(0).out;
        said.contains(&format!(
            "warning: limits.host_memory = {limit} is more than this machine has free: the job takes "
        ))
    };
    assert_eq!(
        [(60, "1 GiB"), (2000, "1 GiB"), (120, "70 MiB")].map(|(free, limit)| warned(free, limit)),
        [true, false, false]
    );
}

#[test]
fn figures_of_an_earlier_run_change_the_plans_time_and_nothing_else() {
    let job = Job::new("kronecker = { scale = 18, edge_factor = 16, seed = 5 }", "[limits]\nthreads = 2\n");
    let unknown = job.plan(&[]);
    let range = |plan: &Value| {
        ["0", "1"].map(|end| plan["seconds_range"][end.parse::<usize>().expect("0 or 1")].as_f64().expect("seconds"))
    };
    let seconds = |plan: &Value| plan["seconds"].as_f64().expect("seconds");
    assert!(range(&unknown)[0] < seconds(&unknown) && seconds(&unknown) < range(&unknown)[1], "{unknown:#}");
    let report = job.run();
    let noted: Value = serde_json::from_slice(&std::fs::read(job.speeds()).expect("noted")).expect("JSON");
    let records = noted["records"].as_array().expect("records");
    let stages: Vec<_> = records.iter().map(|record| record["stage"].as_str().expect("a name")).collect();
    assert!(stages.contains(&"triangle") && stages.contains(&"sort"), "{stages:?}");
    // As if it had taken so many times what it should.
    let with = |ratio: f64| {
        let mut noted = noted.clone();
        for record in noted["records"].as_array_mut().expect("records") {
            record["ratio"] = ratio.into();
        }
        std::fs::write(job.speeds(), noted.to_string()).expect("written");
        job.plan(&["--set", "job.workdir=elsewhere"])
    };
    let (slow, fast) = (with(30.0), with(0.5));
    assert!((59.0..61.0).contains(&(seconds(&slow) / seconds(&fast))), "{slow:#} {fast:#}");
    let wide = |plan: &Value| range(plan)[1] / range(plan)[0];
    assert!(wide(&fast) < wide(&unknown), "what was measured is closer");
    for key in ["disk", "host_memory", "blocks", "units"] {
        assert_eq!(slow[key], unknown[key], "{key}");
    }
    // Another number of threads has other figures, and a damaged file none.
    for damaged in ["", "{", "{\"schema\":1,\"records\":[{}]}", "{\"schema\":99,\"records\":[]}", "\0\0\0"] {
        std::fs::write(job.speeds(), damaged).expect("written");
        let plan = job.plan(&["--set", "job.workdir=elsewhere"]);
        assert!((seconds(&plan) / seconds(&unknown) - 1.0).abs() < 1e-9, "{damaged:?}: {plan:#}");
    }
    // No part of any key: what is done stays done, and its report as it was.
    assert_eq!(job.run(), report);
}

/// The 30 and 40 GiB graphs are planned by what their job files say of them, before anybody makes the files.
#[test]
fn the_large_graphs_are_planned_without_their_files() {
    let place = Place::new();
    for (name, edges) in [("s28", 15u64 << 28), ("s29", 10 << 29)] {
        let config = format!("{}/configs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let ran = place.gpugraph(&["plan", &config, "--json", "--set", "run.device=cpu"]).expect(0);
        let plan: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!((plan["edges"].as_u64(), plan["basis"].as_str()), (Some(edges), Some("expected")), "{plan:#}");
        assert!(plan["maybe"].to_string().contains("is not here: figures are for input.expect"), "{plan:#}");
    }
}
