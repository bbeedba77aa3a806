//! plan, status, verify, clean, devices and man, by the real binary.

use gpugraph::internals::job::state::manifest::Manifest;
use gpugraph::internals::results::Output;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output as Ran, Stdio};
use std::time::{Duration, Instant};

/// A folder with a job file and what it leaves.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn new(text: &str) -> Job {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { folder };
        job.write(text);
        job
    }

    /// Writes the job file anew, with a name where it has none.
    fn write(&self, text: &str) {
        let name = "[job]\nname = \"job\"\n";
        let text = match (text.contains("[job]\nname"), text.contains("[job]\n")) {
            (true, _) => text.to_owned(),
            (_, true) => text.replace("[job]\n", name),
            _ => format!("{name}{text}"),
        };
        fs::write(self.folder.path().join("job.toml"), text).unwrap();
    }

    /// The workdir that the job file does not name.
    fn workdir(&self) -> PathBuf {
        self.folder.path().join("gpugraph.work/job")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpugraph"));
        command.args(args).current_dir(self.folder.path()).env_remove("GPUGRAPH_LOG");
        // What other runs took changes no plan here; kernels are compiled once for all tests.
        let cache =
            if args.first() == Some(&"plan") { self.folder.path() } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
        command.env("XDG_CACHE_HOME", cache.join("cache"));
        command
    }

    fn ran(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap()
    }

    /// Runs to success; returns stdout.
    fn does(&self, args: &[&str]) -> String {
        let ran = self.ran(args);
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.does(args)).unwrap()
    }

    /// Fails with this code and one line on stderr, which is returned.
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let ran = self.ran(args);
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {stderr}{}", String::from_utf8_lossy(&ran.stdout));
        // A machine without a GPU says so, too.
        let lines: Vec<_> = stderr.lines().filter(|line| !line.contains("computing on the CPU")).collect();
        assert_eq!(lines.len(), 1, "{args:?}: {stderr}");
        format!("{}\n", lines[0])
    }
}

const SMALL: &str = "[job]\nkeep = true\n[input]\nkronecker = { scale = 10, edge_factor = 8, seed = 3 }\n[triangle]\n";

fn flip(path: &Path, byte: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[byte] ^= 4;
    fs::write(path, bytes).unwrap();
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn plan_says_what_fits_and_runs_nothing() {
    let job = Job::new(SMALL);
    let plan = job.json(&["plan", "job.toml", "--json"]);
    assert_eq!((plan["basis"].as_str(), plan["edges"].as_u64()), (Some("size"), Some(8192)));
    assert!(!job.workdir().exists(), "a plan leaves nothing");
    let text = job.does(&["plan", "job.toml"]);
    for word in
        ["ingest", "relabel", "partition", "sort", "triangle", "host memory", "GPU memory", "disk", "time", "blocks"]
    {
        assert!(text.contains(word), "{word} in {text}");
    }

    let said = job.fails(7, &["plan", "job.toml", "--json", "--set", "limits.host_memory=4MiB"]);
    assert!(said.contains("host_memory") && said.contains("at least"), "{said}");
    assert_eq!(
        said,
        job.fails(7, &["run", "job.toml", "--quiet", "--set", "limits.host_memory=4MiB"]),
        "as the run says"
    );
    let needed = said.split("at least ").nth(1).unwrap().split(' ').next().unwrap();
    job.does(&["run", "job.toml", "--quiet", "--set", &format!("limits.host_memory={needed}")]);

    let after = job.json(&["plan", "job.toml", "--json"]);
    assert_eq!(after["basis"], "degrees");
    assert!(after["disk"].as_u64() <= plan["disk"].as_u64(), "the bound holds: {after} {plan}");
    assert!(after["stages"].as_array().unwrap().iter().all(|stage| stage["done"] == true), "{after}");
    let held: u64 = files_below(&job.workdir()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(held <= after["disk"].as_u64().unwrap(), "{held} in {after}");
}

#[test]
fn plan_of_inputs_of_every_kind() {
    let job = Job::new("[input]\npath = \"a.txt\"\n[triangle]\nper_vertex = true\n");
    job.fails(3, &["plan", "job.toml"]);
    fs::write(job.folder.path().join("a.txt"), "0 1\n1 2\n2 0\n5 6\n").unwrap();
    let plan = job.json(&["plan", "job.toml", "--json"]);
    assert_eq!(plan["ids"], 7);
    fs::write(job.folder.path().join("a.txt"), "0 1\n1 x\n").unwrap();
    assert!(job.fails(3, &["plan", "job.toml", "--json"]).contains("a.txt:2"));
    fs::write(job.folder.path().join("a.txt"), "").unwrap();
    job.does(&["plan", "job.toml"]);
    // Account numbers: a dictionary is planned.
    fs::write(job.folder.path().join("a.txt"), "10000000000 20000000000\n20000000000 30000000000\n").unwrap();
    let plan = job.json(&["plan", "job.toml", "--json"]);
    assert_eq!(plan["stages"][0]["name"], "dictionary", "{plan}");
    job.does(&["run", "job.toml", "--quiet"]);
}

#[test]
fn plan_of_many_ranks() {
    let job = Job::new(
        "[job]\nkeep = true\n[input]\nkronecker = { scale = 17, edge_factor = 31, seed = 3 }\n[limits]\nthreads = 1\n\
         host_memory = \"32MiB\"\n[run]\ndevice = \"cpu\"\n",
    );
    let plan = |more: &[&str]| job.json(&[&["plan", "job.toml", "--json"], more].concat());
    let sum = |plan: &serde_json::Value, key: &str| {
        plan["stages"].as_array().unwrap().iter().map(|stage| stage[key].as_u64().unwrap()).sum::<u64>()
    };
    let check = |alone: &serde_json::Value, many: &serde_json::Value| {
        assert_eq!((alone["ranks"].as_u64(), alone["nodes"].as_u64()), (Some(1), Some(1)));
        assert_eq!((many["ranks"].as_u64(), many["nodes"].as_u64()), (Some(8), Some(2)));
        assert_eq!(alone["host_memory_node"], alone["host_memory"]);
        assert_eq!(many["host_memory_node"].as_u64(), Some(4 * many["host_memory"].as_u64().unwrap()));
        assert_eq!((alone["exchange"].as_u64(), sum(alone, "exchange")), (Some(0), 0));
        // 6 bytes for seven of eight edges, and 4 for each id on seven ranks, four times.
        let (edges, ids) = (many["edges"].as_u64().unwrap(), many["ids"].as_u64().unwrap());
        let most = 6 * edges / 8 * 7 + 4 * 4 * 7 * ids;
        let sent = many["exchange"].as_u64().unwrap();
        assert!(sent == sum(many, "exchange") && sent <= most && sent > most / 2, "{sent} of {most}");
        let seconds = |plan: &serde_json::Value| plan["stages"][0]["seconds"].as_f64().unwrap();
        assert!(seconds(many) < seconds(alone) / 4.0, "{many}");
    };
    check(&plan(&[]), &plan(&["--ranks", "8", "--nodes", "2"]));
    // Nothing but the order of vertices is there.
    let ran =
        job.command(&["run", "job.toml", "--quiet"]).env("GPUGRAPH_FAILPOINTS", "partition.begin=1:enospc").output();
    assert_eq!(ran.unwrap().status.code(), Some(6));
    let (alone, many) = (plan(&[]), plan(&["--ranks", "8", "--nodes", "2"]));
    assert_eq!(alone["basis"], "degrees");
    let threads = |plan: &serde_json::Value| plan["threads"].as_u64();
    assert_eq!((threads(&alone), threads(&many)), (Some(1), Some(1)));
    // In the memory of one rank edges don't fit and spill; in that of eight they fit, and take no disk.
    let at_partition = |plan: &serde_json::Value| {
        let stage = |i: usize| plan["stages"][i]["disk"].as_u64().unwrap();
        stage(2) - stage(1)
    };
    assert!(at_partition(&alone) > 3 << 20 && at_partition(&many) == 0, "{alone} {many}");
    // With a scratch it lies there.
    let scratch = plan(&["--set", &format!("job.scratch={}", job.folder.path().display())]);
    assert_eq!(scratch["scratch"].as_u64(), Some(at_partition(&alone)), "{scratch}");
    assert!(at_partition(&scratch) == 0 && scratch["scratch_free"].as_u64().unwrap() > 0, "{scratch}");

    let text = job.does(&["plan", "job.toml", "--ranks", "8", "--nodes", "2"]);
    assert!(text.contains("8 of 1 threads on 2 nodes") && text.contains("sent"), "{text}");
    assert!(!job.does(&["plan", "job.toml"]).contains("sent"));
    assert!(job.fails(2, &["plan", "job.toml", "--ranks", "2", "--nodes", "3"]).contains("2 ranks on 3 nodes"));
    // Without a limit ranks of a node share what it has.
    let limit = |ranks: &str| {
        let kept = fs::read_to_string(job.folder.path().join("job.toml")).unwrap().replace("host_memory", "#");
        fs::write(job.folder.path().join("free.toml"), kept).unwrap();
        let plan = job.json(&["plan", "free.toml", "--json", "--ranks", ranks]);
        plan["host_memory_limit"].as_f64().unwrap()
    };
    assert!((1.5..2.7).contains(&(limit("1") / limit("2"))));
}

#[test]
fn plan_of_an_input_that_is_not_there_yet() {
    let job = Job::new(
        "[input]\npath = \"web.u32\"\nexpect = { edges = 1000000, ids = 70000 }\n[run]\ndevice = \"cpu\"\n[triangle]\n",
    );
    let plan = job.json(&["plan", "job.toml", "--json"]);
    assert_eq!((plan["basis"].as_str(), plan["edges"].as_u64()), (Some("expected"), Some(1_000_000)));
    assert_eq!(plan["ids"], 70_000);
    assert!(plan["maybe"].to_string().contains("web.u32 is not here"), "{plan}");
    assert!(plan["input"].as_str().unwrap().contains("7.6 MiB"), "8 bytes an edge: {plan}");
    assert!(job.fails(3, &["run", "job.toml", "--quiet"]).contains("web.u32"), "a run needs it");
    // What is there is looked at, and what can't be read is not passed over.
    fs::write(job.folder.path().join("web.u32"), [0u8; 80]).unwrap();
    let plan = job.json(&["plan", "job.toml", "--json"]);
    assert_eq!((plan["basis"].as_str(), plan["edges"].as_u64()), (Some("size"), Some(10)));
    fs::write(job.folder.path().join("web.u32"), [0u8; 81]).unwrap();
    job.fails(3, &["plan", "job.toml"]);
    fs::remove_file(job.folder.path().join("web.u32")).unwrap();
    fs::create_dir(job.folder.path().join("web.u32")).unwrap();
    job.fails(3, &["plan", "job.toml"]);
    // Ids beyond 32 bits take a dictionary.
    let set = ["--set", "input.path=none.u64", "--set", "input.expect={ edges = 1000, ids = 5000000000 }"];
    let plan = job.json(&[&["plan", "job.toml", "--json"], &set[..]].concat());
    assert_eq!((plan["stages"][0]["name"].as_str(), plan["ids"].as_u64()), (Some("dictionary"), Some(2000)));
}

/// The job that docs/guides/ranks-and-gpus.md shows the plan of: its arithmetic.
#[test]
fn plan_of_the_web_graph_that_ships() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/hyperlink2012.toml");
    let job = Job::new(&fs::read_to_string(shipped).unwrap());
    let plan = job.json(&["plan", "job.toml", "--json", "--ranks", "64", "--nodes", "16"]);
    let (edges, ids) = (225_000_000_000u64, 3_560_000_000u64);
    let stage = |name: &str, key: &str| {
        let stages = plan["stages"].as_array().unwrap();
        stages.iter().find(|stage| stage["name"] == name).unwrap()[key].as_u64().unwrap()
    };
    assert_eq!((plan["edges"].as_u64(), plan["ids"].as_u64()), (Some(edges), Some(ids)));
    // The map on every rank, and a 64th of the edges in bins; no rank needs a limit above that of the job.
    let sorting = 4 * ids + 6 * edges / 64;
    assert!((sorting..96 << 30).contains(&stage("partition", "host_memory")), "{plan}");
    assert!((4 * ids..48 << 30).contains(&plan["host_memory_needed"].as_u64().unwrap()), "{plan}");
    assert_eq!(stage("ingest", "exchange"), 63 * 4 * ids);
    assert!(stage("partition", "exchange").abs_diff(6 * edges / 64 * 63) < 1 << 20);
    // Order and blocks on the disk that nodes share, and no spill.
    assert!((4 * (ids + edges)..4 * (ids + edges) + (100 << 30)).contains(&plan["disk"].as_u64().unwrap()), "{plan}");
    assert!(stage("partition", "disk") < 5 * ids, "it spills: {plan}");
}

#[test]
fn plan_of_a_disk_that_is_too_small() {
    // Sixteen tebibytes of edges.
    let job = Job::new(
        "[input]\nkronecker = { scale = 36, edge_factor = 32, seed = 1 }\n[limits]\nhost_memory = \"1PiB\"\n[triangle]\n",
    );
    let said = job.fails(6, &["plan", "job.toml"]);
    assert!(said.contains("out of disk") && said.contains("is free"), "{said}");
    // What is free changes while other tests run.
    let but_free = |said: &str| {
        let (before, after) = said.split_once(" is free").expect("what is free");
        let (before, _) = before.rsplit_once(", ").expect("a number");
        format!("{before}{after}")
    };
    let refused = job.fails(6, &["run", "job.toml", "--quiet"]);
    assert_eq!(but_free(&said), but_free(&refused), "refused before work begins");
}

#[test]
fn status_of_nothing_of_a_finished_job_and_of_a_damaged_one() {
    let job = Job::new(SMALL);
    fs::create_dir(job.folder.path().join("empty")).unwrap();
    for command in ["status", "verify"] {
        assert!(job.fails(2, &[command, "job.toml"]).contains("gpugraph.work/job: no job ran here yet"));
        assert!(job.fails(2, &[command, "empty", "--json"]).contains("empty: no job ran here yet"));
        job.fails(2, &[command, "nowhere", "--json"]);
    }
    assert!(job.fails(2, &["clean", "empty"]).contains("empty: no job ran here yet"));
    job.fails(2, &["clean", "nowhere"]);
    for command in ["clean", "report"] {
        assert!(job.fails(2, &[command, "job.toml"]).contains("a file, where the workdir of a job is expected"));
    }
    // A workdir that is there and can't be read is another matter.
    fs::create_dir_all(job.folder.path().join("odd/manifest.json")).unwrap();
    for command in ["status", "verify"] {
        job.fails(10, &[command, "odd"]);
    }
    job.does(&["run", "job.toml", "--quiet"]);
    let before = files_below(&job.workdir());
    let status = job.json(&["status", "job.toml", "--json"]);
    assert_eq!((status["state"].as_str(), status["stopped"].as_str()), (Some("finished"), None), "{status}");
    assert!(status["units"].is_null(), "{status}");
    let workdir = job.workdir();
    let text = job.does(&["status", workdir.to_str().unwrap()]);
    assert!(text.contains("finished at 2") && text.contains("triangles"), "{text}");
    assert_eq!(files_below(&workdir), before, "looking changes nothing");
    flip(&workdir.join("manifest.json"), 40);
    assert!(job.fails(4, &["status", "job.toml", "--json"]).contains("manifest.json"));
}

#[test]
fn status_of_a_finished_job_tells_of_no_earlier_attempt() {
    let job = Job::new(SMALL);
    job.does(&["run", "job.toml", "--quiet"]);
    // As of an attempt at seven trials that was stopped in the last.
    let units = job.workdir().join("units");
    fs::copy(units.join("triangle.0"), units.join("triangle.6")).unwrap();
    let text = job.does(&["status", "job.toml"]);
    assert!(text.contains("finished at") && !text.contains("units"), "{text}");
}

#[test]
fn results_of_a_job_with_another_name_are_said_to_be_so() {
    let job = Job::new(SMALL);
    job.does(&["run", "job.toml", "--quiet"]);
    for command in ["status", "verify"] {
        assert!(!job.does(&[command, "job.toml"]).contains("warning"));
    }
    let other =
        |command| job.does(&[command, "job.toml", "--set", "job.name=new", "--set", "job.workdir=gpugraph.work/job"]);
    let said = other("status");
    assert!(said.contains("the job file is for new: this is the state of job"), "{said}");
    let said = other("verify");
    assert!(
        said.contains("warning job") && said.contains("the job file is for new: the results belong to job"),
        "{said}"
    );
    let path = job.workdir();
    assert!(!job.does(&["status", path.to_str().unwrap()]).contains("warning"), "a workdir was asked for");
}

#[test]
fn a_job_that_is_done_stays_done_where_an_attempt_comes_to_nothing() {
    let job = Job::new("[job]\nkeep = true\n[input]\npath = \"a.txt\"\n[triangle]\n");
    let input = job.folder.path().join("a.txt");
    fs::write(&input, "0 1\n1 2\n2 0\n").unwrap();
    job.does(&["run", "job.toml", "--quiet"]);
    let before = job.json(&["status", "job.toml", "--json"]);
    // Before the run is set up, and behind that.
    job.fails(7, &["run", "job.toml", "--set", "limits.host_memory=1MiB", "--quiet"]);
    assert_eq!(job.json(&["status", "job.toml", "--json"])["state"], "finished");
    job.fails(3, &["run", "job.toml", "--set", "input.path=none.txt", "--quiet"]);
    assert_eq!(job.json(&["status", "job.toml", "--json"])["state"], "finished");
    job.does(&["verify", "job.toml"]);
    job.does(&["run", "job.toml", "--quiet"]);
    let after = job.json(&["status", "job.toml", "--json"]);
    assert_eq!((&after["resumes"], &after["state"]), (&before["resumes"], &"finished".into()), "{after}");
    // A fresh one that can't start leaves it done.
    job.fails(7, &["run", "job.toml", "--fresh", "--set", "limits.host_memory=1MiB", "--quiet"]);
    assert_eq!(job.json(&["status", "job.toml", "--json"])["state"], "finished");
    // One that was never done is stopped, and so is one that was discarded.
    fs::write(&input, "0 1\n1 2\n2 x\n").unwrap();
    job.fails(3, &["run", "job.toml", "--set", "job.workdir=other", "--quiet"]);
    let text = job.does(&["status", "other"]);
    assert!(text.contains("stopped: ") && text.contains("a.txt:3"), "{text}");
    assert!(!text.contains("run the same line again"), "it stops there again: {text}");
    fs::write(&input, "0 1\n1 2\n2 0\n").unwrap();
    job.fails(3, &["run", "job.toml", "--fresh", "--set", "bfs.sources=[9]", "--quiet"]);
    let status = job.json(&["status", "job.toml", "--json"]);
    assert_eq!((status["state"].as_str(), status["exit_code"].as_u64()), (Some("stopped"), Some(3)), "{status}");
    assert!(!job.does(&["status", "job.toml"]).contains("run the same line again"));
}

fn wait_for(child: &mut Child, job: &Job, what: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        assert!(child.try_wait().unwrap().is_none(), "the job ended early");
        assert!(start.elapsed() < Duration::from_secs(60), "not within a minute");
        let ran = job.ran(&["status", "job.toml", "--json"]);
        match serde_json::from_slice(&ran.stdout) {
            Ok(status) if what(&status) => return status,
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

#[test]
fn status_of_a_job_that_runs_is_stopped_and_is_killed() {
    let job = Job::new(
        "[input]\nkronecker = { scale = 14, edge_factor = 16, seed = 3 }\n[run]\ntrials = 100000\n[triangle]\n",
    );
    let start =
        || job.command(&["run", "job.toml", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let signal = |child: &Child, name: &str| {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    };
    let mut child = start();
    let counting = |status: &Value| {
        status["state"] == "running" && status["units"]["done"].as_u64() > Some(0) && !status["now"].is_null()
    };
    let status = wait_for(&mut child, &job, counting);
    assert_eq!(status["owner"]["pid"].as_u64(), Some(child.id().into()), "{status}");
    let text = job.does(&["status", "job.toml"]);
    assert!(text.contains("running: pid") && text.contains("now ") && text.contains(" left, on "), "{text}");
    assert!(job.fails(5, &["verify", "job.toml"]).contains(&child.id().to_string()));
    let workdir = job.workdir();
    assert!(job.fails(5, &["clean", workdir.to_str().unwrap(), "--all"]).contains("in use by pid"));

    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(75));
    let status = job.json(&["status", "job.toml", "--json"]);
    assert_eq!(status["state"], "stopped");
    assert!(status["stopped"].as_str().unwrap().contains("SIGTERM"), "{status}");

    let mut child = start();
    wait_for(&mut child, &job, counting);
    signal(&child, "-KILL");
    child.wait().unwrap();
    let status = job.json(&["status", "job.toml", "--json"]);
    assert_eq!((status["state"].as_str(), status["resumes"].as_u64()), (Some("stopped"), Some(1)), "{status}");
    assert!(job.does(&["status", "job.toml"]).contains("killed or lost; run the same line again to carry on"));
    job.does(&["verify", "job.toml"]);
}

#[test]
fn verify_names_every_damaged_file() {
    let job = Job::new(&format!("{SMALL}per_vertex = true\n"));
    job.does(&["run", "job.toml", "--quiet"]);
    let workdir = job.workdir();
    let text = job.does(&["verify", "job.toml"]);
    assert!(text.contains("counted exactly") && text.contains("every vertex too"), "{text}");
    let checks = job.json(&["verify", workdir.to_str().unwrap(), "--json"]);
    assert!(checks.as_array().unwrap().iter().all(|check| check["outcome"] == "ok"), "{checks}");

    let unchecked = ["lock", "run.log", "status.json", "metrics.json", "report.html"];
    let name = |path: &Path| path.strip_prefix(&workdir).unwrap().to_str().unwrap().to_owned();
    let files: Vec<PathBuf> =
        files_below(&workdir).into_iter().filter(|p| !unchecked.contains(&&name(p)[..])).collect();
    for kind in [
        "graph/order",
        "graph/degrees",
        "graph/lower",
        "out/triangles",
        "out/degree",
        "out/clustering",
        "report.json",
        "manifest.json",
    ] {
        assert!(files.iter().any(|path| name(path).starts_with(kind)), "{kind} in {files:?}");
    }
    for path in files {
        let good = fs::read(&path).unwrap();
        for place in [0, good.len() / 3, good.len() / 2, good.len() - 1] {
            flip(&path, place);
            let said = job.fails(4, &["verify", "job.toml", "--json"]);
            assert!(said.contains(&name(&path)), "{said} should name {path:?}, byte {place}");
            fs::write(&path, &good).unwrap();
        }
        if name(&path) != "manifest.json" && !name(&path).starts_with("units") {
            fs::remove_file(&path).unwrap();
            let said = job.fails(4, &["verify", "job.toml"]);
            assert!(said.contains(&name(&path)) && said.contains("missing"), "{said}");
        }
        fs::write(&path, &good[..good.len() - 1]).unwrap();
        job.fails(4, &["verify", "job.toml"]);
        fs::write(&path, &good).unwrap();
    }
    job.does(&["verify", "job.toml"]);
}

#[test]
fn verify_of_a_journal_says_the_byte() {
    let job = Job::new(SMALL);
    job.does(&["run", "job.toml", "--quiet"]);
    let journal = job.workdir().join("units/triangle.0");
    for (place, byte) in [(70, 64), (64 + 48 + 3, 112), (20, 56)] {
        let good = fs::read(&journal).unwrap();
        flip(&journal, place);
        let said = job.fails(4, &["verify", "job.toml"]);
        assert!(said.contains("units/triangle.0") && said.contains(&format!("at byte {byte}")), "{said}");
        fs::write(&journal, good).unwrap();
    }
}

#[test]
fn verify_of_a_checkpoint() {
    let text = "[input]\nkronecker = { scale = 14, edge_factor = 16, seed = 3 }\n[run]\ntrials = 100000\n[triangle]\nper_vertex = true\n";
    let job = Job::new(text);
    let found = |path: &PathBuf| path.to_str().unwrap().ends_with(".checkpoint");
    let stopped = || {
        // What the run before said of itself is not to be taken for this one's.
        let _ = fs::remove_file(job.workdir().join("status.json"));
        let mut child = job.command(&["run", "job.toml", "--quiet"]).stderr(Stdio::null()).spawn().unwrap();
        wait_for(&mut child, &job, |status| status["now"]["stage"] == "triangle");
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(75));
        files_below(&job.workdir()).into_iter().find(found)
    };
    // A signal between two of the trials, or while results are written, leaves none.
    let checkpoint = (0..50).find_map(|_| stopped()).expect("a checkpoint");
    assert!(job.does(&["verify", "job.toml"]).contains("ok      units/triangle."));
    assert!(job.json(&["status", "job.toml", "--json"])["units"]["total"].as_u64() > Some(0));
    let middle = fs::metadata(&checkpoint).unwrap().len() as usize / 2;
    flip(&checkpoint, middle);
    assert!(job.fails(4, &["verify", "job.toml"]).contains("units/triangle."));
}

/// Changes what the manifest says of triangles, and report and sums with it.
fn cheat(workdir: &Path, by: u64) {
    let mut manifest = Manifest::load(workdir).unwrap().unwrap();
    let found = manifest.tasks.get_mut("triangle").unwrap().found.as_mut().unwrap();
    let (t, wedges) = (found["triangles"].as_u64().unwrap() + by, found["wedges"].as_u64().unwrap());
    found["triangles"] = t.into();
    found["transitivity"] = (3.0 * t as f64 / wedges as f64).into();
    let path = workdir.join("report.json");
    let mut report: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for key in ["triangles", "transitivity"] {
        report["results"]["triangle"][key] = found[key].clone();
    }
    report["results"]["triangle"]["answer"] = format!("triangles {t}").into();
    let text = serde_json::to_vec_pretty(&report).unwrap();
    fs::write(&path, &text).unwrap();
    manifest.outputs.insert("report.json".into(), Output::of(&text));
    manifest.save(workdir).unwrap();
}

#[test]
fn verify_finds_results_that_are_wrong_and_whole() {
    let job = Job::new(SMALL);
    job.does(&["run", "job.toml", "--quiet"]);
    fs::remove_dir_all(job.workdir().join("units")).unwrap();
    cheat(&job.workdir(), 1);
    assert!(job.fails(8, &["verify", "job.toml", "--json"]).contains("recount"));
    assert!(
        job.fails(8, &["verify", job.workdir().to_str().unwrap()]).contains("recount"),
        "without the job file, too"
    );
}

#[test]
fn verify_by_sampling_where_memory_is_short() {
    let job = Job::new("[input]\nkronecker = { scale = 16, edge_factor = 16, seed = 5 }\n[triangle]\n");
    job.does(&["run", "job.toml", "--quiet"]);
    let short = ["verify", "job.toml", "--set", "limits.host_memory=64MiB", "--set", "limits.threads=2"];
    let text = job.does(&short);
    assert!(text.contains("colourings of the input") && text.contains("±"), "{text}");
    fs::remove_dir_all(job.workdir().join("units")).unwrap();
    let text = job.does(&["status", "job.toml"]);
    let triangles: u64 = text.lines().find_map(|line| line.strip_prefix("triangles ")).unwrap().trim().parse().unwrap();
    cheat(&job.workdir(), triangles / 2);
    job.fails(8, &short);
}

#[test]
fn verify_says_what_it_could_not_check() {
    let job = Job::new("[input]\npath = \"a.txt\"\n[output]\nformat = \"csv\"\n[triangle]\nper_vertex = true\n");
    let input = job.folder.path().join("a.txt");
    fs::write(&input, "10000000000 20000000000\n20000000000 30000000000\n30000000000 10000000000\n").unwrap();
    job.does(&["run", "job.toml", "--quiet"]);
    let told = job.does(&["verify", "job.toml"]);
    assert!(told.contains("1 triangles in 3 edges") && told.contains("those of every vertex too"), "{told}");
    fs::remove_file(&input).unwrap();
    let text = job.does(&["verify", "job.toml"]);
    assert!(text.contains("skipped recount") && text.contains("the input is gone"), "{text}");
    fs::write(&input, "1 2\n").unwrap();
    assert!(job.does(&["verify", "job.toml"]).contains("is not what the job read"));
}

#[test]
fn a_prepared_graph_is_planned_seen_and_verified() {
    let job = Job::new("[job]\nkeep = true\n[input]\nkronecker = { scale = 10, edge_factor = 8, seed = 3 }\n");
    job.does(&["run", "job.toml", "--quiet"]);
    let second = "[job]\nworkdir = \"second\"\n[input]\nprepared = \"gpugraph.work/job\"\n[triangle]\n";
    fs::write(job.folder.path().join("second.toml"), second).unwrap();
    let plan = job.json(&["plan", "second.toml", "--json"]);
    assert_eq!(plan["basis"], "prepared");
    job.does(&["run", "second.toml", "--quiet"]);
    assert!(job.does(&["verify", "second"]).contains("edges of the blocks"));
    assert_eq!(job.json(&["status", "second", "--json"])["stages"].as_array().unwrap().len(), 1);
    flip(&job.workdir().join("graph/lower.000000.block"), 200);
    let advice = "run the job of gpugraph.work/job again, which keeps this graph, to write it again";
    for command in [&["verify", "second.toml"][..], &["run", "second.toml", "--fresh", "--quiet"]] {
        let said = job.fails(4, command);
        assert!(said.contains("lower.000000.block") && said.contains(advice), "{said}");
    }
    // The advice helps.
    job.does(&["run", "job.toml", "--quiet"]);
    job.does(&["run", "second.toml", "--quiet"]);
    job.does(&["verify", "second.toml"]);
}

#[test]
fn verify_says_how_to_count_an_input_that_changed_unseen() {
    let job = Job::new("[input]\npath = \"a.u32\"\n[triangle]\n");
    let input = job.folder.path().join("a.u32");
    let written = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    // The third edge lies between the samples that tell versions of a file apart.
    let write = |third: [u32; 2]| {
        let edges = (0..1 << 17).map(|i| if i == 1300 { third } else { [[0, 1], [1, 2]][i % 2] });
        let bytes: Vec<u8> = edges.flatten().flat_map(u32::to_le_bytes).collect();
        fs::write(&input, bytes).unwrap();
        fs::File::options().write(true).open(&input).unwrap().set_modified(written).unwrap();
    };
    write([2, 0]);
    job.does(&["run", "job.toml", "--quiet"]);
    write([2, 3]);
    let said = job.fails(3, &["verify", "job.toml"]);
    assert!(said.contains("`gpugraph run JOB.toml --fresh`"), "{said}");
    job.does(&["run", "job.toml", "--fresh", "--quiet"]);
    assert!(job.does(&["verify", "job.toml"]).contains("0 triangles in 3 edges"));
}

/// Triangles at each vertex of `edges`, by looking at every three of them.
fn triangles_at(edges: &[[u64; 2]]) -> BTreeMap<u64, u64> {
    let joined: BTreeSet<[u64; 2]> = edges.iter().flat_map(|&[u, v]| [[u, v], [v, u]]).collect();
    let ids: BTreeSet<u64> = edges.iter().flatten().copied().collect();
    let closed = |u, v, w| joined.contains(&[u, v]) && joined.contains(&[v, w]) && joined.contains(&[w, u]);
    let at = |u| ids.iter().flat_map(|v| ids.range(v + 1..).filter(|w| closed(u, *v, **w))).count() as u64;
    ids.iter().map(|&u| (u, at(u))).collect()
}

#[test]
fn verify_knows_the_vertices_of_a_prepared_graph() {
    let karate = include_str!("../data/karate.txt").lines().filter(|line| !line.starts_with('#'));
    let edges: Vec<[u64; 2]> = karate
        .map(|line| {
            let mut ids = line.split_whitespace().map(|id| id.parse().unwrap());
            [ids.next().unwrap(), ids.next().unwrap()]
        })
        .collect();
    // Dense ids, with some of no edge, and sparse ones of 64 bits.
    for spread in [|id: u64| 2 * id + 3, |id: u64| (id + 1) << 50] {
        let edges: Vec<[u64; 2]> = edges.iter().map(|edge| edge.map(spread)).collect();
        let job = Job::new("[job]\nkeep = true\n[input]\npath = \"a.txt\"\n");
        let text: String = edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
        fs::write(job.folder.path().join("a.txt"), text).unwrap();
        job.does(&["run", "job.toml", "--quiet"]);
        let second =
            "[job]\nworkdir = \"second\"\n[input]\nprepared = \"gpugraph.work/job\"\n[triangle]\nper_vertex = true\n";
        fs::write(job.folder.path().join("second.toml"), second).unwrap();
        job.does(&["run", "second.toml", "--quiet"]);
        let told = job.does(&["verify", "second"]);
        assert!(told.contains("edges of the blocks") && told.contains("those of every vertex too"), "{told}");

        // Two counts that change places leave the sum as it was: only a recount of every vertex tells.
        let path = job.folder.path().join("second/out/triangles.npy");
        let mut column = fs::read(&path).unwrap();
        let at = triangles_at(&edges);
        let row = |id: u64| match id < 1 << 32 {
            true => id as usize,
            false => at.keys().position(|&other| other == id).unwrap(),
        };
        // The header of numpy's arrays, a multiple of 64, is one of 128 for arrays as short as this.
        let head = 128;
        let place = |id| head + 8 * row(id)..head + 8 * row(id) + 8;
        for (&id, &count) in &at {
            assert_eq!(column[place(id)], count.to_le_bytes(), "vertex {id}");
        }
        let (first, last) = (spread(0), spread(33));
        let (mine, theirs) = (column[place(first)].to_vec(), column[place(last)].to_vec());
        column[place(first)].copy_from_slice(&theirs);
        column[place(last)].copy_from_slice(&mine);
        fs::write(&path, &column).unwrap();
        let mut manifest = Manifest::load(&job.folder.path().join("second")).unwrap().unwrap();
        let outputs = &mut manifest.tasks.get_mut("triangle").unwrap().outputs;
        outputs.insert("out/triangles.npy".into(), Output::of(&column));
        manifest.save(&job.folder.path().join("second")).unwrap();
        let said = job.fails(8, &["verify", "second", "--json"]);
        let right = |id: u64, other: u64| {
            format!(
                "vertex {id} has {} triangles by a recount of the blocks, out/triangles.npy has {}",
                at[&id], at[&other]
            )
        };
        assert!(said.contains(&right(first, last)) || said.contains(&right(last, first)), "{said}");
    }
}

#[test]
fn a_prepared_graph_is_not_read_while_its_job_runs() {
    let job = Job::new("[job]\nkeep = true\n[input]\nkronecker = { scale = 10, edge_factor = 8, seed = 3 }\n");
    job.does(&["run", "job.toml", "--quiet"]);
    let second = "[job]\nworkdir = \"second\"\n[input]\nprepared = \"gpugraph.work/job\"\n[triangle]\n";
    fs::write(job.folder.path().join("second.toml"), second).unwrap();
    let lock = gpugraph::internals::job::state::lock::Lock::acquire(&job.workdir()).unwrap();
    let said = job.fails(5, &["run", "second.toml"]);
    assert!(said.contains("in use by") && said.contains(&format!("pid {}", std::process::id())), "{said}");
    drop(lock);
    job.does(&["run", "second.toml", "--quiet"]);
}

#[test]
fn the_same_bytes_in_another_format_are_another_graph() {
    let job = Job::new("[job]\nkeep = true\n[input]\npath = \"a.u32\"\n");
    let words: Vec<u8> =
        [1u32, 1 << 31, 2, 1 << 31, 1, 1 << 31, 3, 1 << 31].iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(job.folder.path().join("a.u32"), &words).unwrap();
    let edges = |more: &[&str]| {
        job.does(&[&["run", "job.toml", "--quiet"], more].concat());
        let report = fs::read_to_string(job.workdir().join("report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        report["input"]["edges"].clone()
    };
    assert_eq!(edges(&[]), 4);
    // The same inode, size, time and bytes: only the ending says otherwise.
    fs::rename(job.folder.path().join("a.u32"), job.folder.path().join("a.u64")).unwrap();
    let toml = fs::read_to_string(job.folder.path().join("job.toml")).unwrap().replace("a.u32", "a.u64");
    fs::write(job.folder.path().join("job.toml"), toml).unwrap();
    assert!(job.fails(5, &["run", "job.toml", "--quiet"]).contains("--fresh"));
    assert_eq!(edges(&["--fresh"]), 2);
}

#[test]
fn threads_have_a_bound() {
    let job = Job::new("[input]\npath = \"a.txt\"\n");
    for line in [
        &["convert", "a.txt", "a.u32", "--threads", "65537"][..],
        &["generate", "kronecker", "--scale", "5", "-o", "a.u32", "--threads", "99999999999999999999"][..],
    ] {
        let ran = job.ran(line);
        assert_eq!(ran.status.code(), Some(2), "{line:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("65536"), "{line:?}");
    }
}

#[test]
fn clean_frees_what_can_be_made_again_and_nothing_else() {
    let job = Job::new(SMALL);
    job.does(&["run", "job.toml", "--quiet"]);
    let workdir = job.workdir();
    let folder = workdir.to_str().unwrap();
    fs::write(workdir.join("mine.txt"), "notes").unwrap();
    assert!(job.does(&["clean", folder]).contains("freed"));
    assert!(!workdir.join("graph").exists() && workdir.join("report.json").exists());
    // Results are checked without their journals.
    assert!(!workdir.join("units").exists());
    let checks = job.json(&["verify", "job.toml", "--json"]);
    let outcome =
        |what: &str| checks.as_array().unwrap().iter().find(|check| check["what"] == what).unwrap()["outcome"].clone();
    assert_eq!([outcome("recount"), outcome("report")], ["ok", "ok"], "{checks}");
    job.does(&["clean", folder, "--all"]);
    assert!(!workdir.join("manifest.json").exists() && workdir.join("mine.txt").exists());
    fs::create_dir_all(job.folder.path().join("other/graph")).unwrap();
    job.fails(2, &["clean", "other", "--all"]);
    assert!(job.folder.path().join("other/graph").is_dir());
}

#[test]
fn devices_man_and_help() {
    let job = Job::new(SMALL);
    let devices = job.json(&["devices", "--json"]);
    assert!(devices["cores"].as_u64() > Some(0) && devices["mpi"]["built_in"] == cfg!(feature = "mpi"), "{devices}");
    assert!(job.does(&["devices"]).contains("driver"));
    assert!(job.does(&["man"]).contains(".TH gpugraph"));
    assert!(job.does(&["completions", "bash"]).contains("gpugraph"));
    let commands = ["run", "plan", "status", "verify", "generate", "convert", "clean", "devices", "completions", "man"];
    for command in commands {
        assert!(job.does(&[command, "--help"]).contains("Example"), "{command}");
    }
    for kind in ["kronecker", "uniform", "product"] {
        assert!(job.does(&["generate", kind, "--help"]).contains("Example"), "{kind}");
    }
}
