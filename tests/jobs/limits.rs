//! `limits.host_memory` holds: in what the report says, and under a memory cgroup that kills whoever takes more.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Place, Ran, answer, number, oracle, random_edges, root, triangles};

/// Many vertices, so that a few bytes more for each are seen, and few edges, for time.
const KRONECKER: &str = "kronecker = { scale = 19, edge_factor = 4, seed = 7 }";

fn limit_of(text: &str, threads: usize) -> String {
    format!("[limits]\nhost_memory = '{text}'\nthreads = {threads}\n")
}

/// The limit that a message of exit code 7 names as the smallest, as a job file takes it.
fn named(error: &str) -> &str {
    let (_, rest) = error.split_once("at least ").unwrap_or_else(|| panic!("no limit in {error}"));
    rest.split(" is needed").next().expect("a limit")
}

#[test]
fn the_peak_stays_within_every_limit_and_the_answer_is_the_same() {
    let place = Place::on_disk();
    let mut first = None;
    for (limit, bytes, threads, per_vertex) in [
        ("32MiB", 32 << 20, 2, false),
        ("20MiB", 20 << 20, 1, true),
        ("64MiB", 64 << 20, 7, true),
        ("1GiB", 1u64 << 30, 2, false),
    ] {
        place.job(KRONECKER, &format!("{}[triangle]\nper_vertex = {per_vertex}\n", limit_of(limit, threads)));
        let report = place.report(&["--fresh", "--quiet"]);
        let peak = number(&report, "limits.host_memory_peak");
        assert_eq!(number(&report, "limits.host_memory"), bytes);
        assert!(peak <= bytes, "{limit}, per vertex {per_vertex}: {peak} bytes at the peak: {report:#}");
        assert!(peak > 8 << 20, "not looked at: {peak}");
        let total = triangles(&report);
        assert_eq!(*first.get_or_insert(total), total, "{limit}");
    }
}

/// Runs under ever larger limits, each the one that the last refusal named, until it is accepted; that limit.
#[track_caller]
fn smallest(place: &Place, threads: usize, start: &str) -> (String, serde_json::Value) {
    let mut limit = start.to_owned();
    let set = |limit: &str| {
        [
            "--set".to_owned(),
            format!("limits.host_memory={limit}"),
            "--set".to_owned(),
            format!("limits.threads={threads}"),
        ]
    };
    for _ in 0..12 {
        let sets = set(&limit);
        let args: Vec<&str> = sets.iter().map(String::as_str).chain(["--fresh", "--quiet"]).collect();
        let ran = place.run(&args);
        if ran.code == 0 {
            return (limit, place.read_report());
        }
        let ran = ran.expect(7);
        let error = ran.error();
        assert!(error.contains("limits.host_memory"), "{error}");
        assert_ne!(named(error), limit, "the limit named is refused: {error}");
        limit = named(error).to_owned();
    }
    panic!("twelve limits named, and none of them does: {limit}");
}

#[test]
fn below_the_smallest_limit_it_says_which_would_do_and_that_one_does() {
    let edges = random_edges(20_000, 300_000, 6);
    let sparse: Vec<_> = edges.iter().map(|pair| pair.map(|id| id * 0x3_0000_0001)).collect();
    for (name, per_vertex) in [("edges.u32", false), ("edges.u64", true), ("kronecker", false), ("kronecker", true)] {
        let place = Place::on_disk();
        let more = format!("[triangle]\nper_vertex = {per_vertex}\n");
        match name {
            "edges.u32" => place.job_on(&place.u32(name, &edges), &more),
            "edges.u64" => place.job_on(&place.u64(name, &sparse), &more),
            _ => place.job(KRONECKER, &more),
        }
        let known = triangles(&place.report(&["--quiet"]));
        for threads in [1, 2] {
            let (limit, report) = smallest(&place, threads, "1MiB");
            assert_eq!(triangles(&report), known, "{name} in {limit}");
            let (peak, limit) = (number(&report, "limits.host_memory_peak"), number(&report, "limits.host_memory"));
            assert!(peak <= limit, "{name}, {threads} threads: {peak} bytes at the peak within {limit}");
        }
    }
}

/// `verify` of a kept graph works under the smallest limit of the job, whatever that computed.
#[test]
fn verify_of_a_kept_graph_needs_no_more_memory_than_the_job() {
    let place = Place::on_disk();
    let edges = random_edges(200_000, 1_000_000, 8).into_iter().map(|pair| pair.map(|id| id * 0x3_0000_0001));
    let sparse = place.u64("edges.u64", &edges.collect::<Vec<_>>());
    let searched = "roots = 2\nwrite = true\n";
    let undirected = [
        "[triangle]\nper_vertex = true\n".to_owned(),
        format!("[bfs]\n{searched}"),
        format!("[traverse]\n{searched}"),
        format!("[sssp]\n{searched}weights = {{ uniform = [1, 9], seed = 2 }}\n"),
        "[dfs]\nforest = true\narticulation = true\n".to_owned(),
        "[components]\n".to_owned(),
        "[cdlp]\n".to_owned(),
        "[cores]\n".to_owned(),
        "[pagerank]\n".to_owned(),
        "[betweenness]\n".to_owned(),
        "[distances]\n".to_owned(),
    ];
    let directed = [
        "[dfs]\nforest = true\ncomponents = 'strong'\n",
        "[pagerank]\n",
        "[triangle]\nclustering = 'directed'\n",
        "[components]\nstrong = true\n",
    ]
    .map(str::to_owned);
    for (input, tables) in [
        (format!("path = '{}'\n", sparse.display()), &undirected[..2]),
        (format!("{KRONECKER}\n"), &undirected[1..]),
        (format!("{KRONECKER}\ndirected = true\n"), &directed),
    ] {
        place.write("kept.toml", format!("[job]\nworkdir = 'kept'\nkeep = true\n[input]\n{input}"));
        place.gpugraph(&["run", "kept.toml", "--fresh", "--quiet"]).expect(0);
        for table in tables {
            place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\nprepared = 'kept'\n{table}"));
            let (limit, _) = smallest(&place, 2, "1MiB");
            let limit = format!("limits.host_memory={limit}");
            let ran = place.gpugraph(&["verify", "job.toml", "--set", &limit, "--set", "limits.threads=2"]);
            assert_eq!(ran.code, 0, "{limit} of {table}{}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn a_limit_that_does_not_hold_the_process_names_what_the_job_takes() {
    let place = Place::on_disk();
    place.job_on(&place.u32("edges.u32", &random_edges(20_000, 300_000, 6)), "[triangle]\n");
    let refused = |limit: &str| {
        let ran = place.run(&["--set", &format!("limits.host_memory={limit}"), "--set", "limits.threads=2"]).expect(7);
        named(ran.error()).to_owned()
    };
    assert_eq!(refused("1MiB"), refused("4MiB"));
}

/// A job file on a shape of a graph, or a list: the edges as a file, or a generator's key.
fn shapes(place: &Place) -> Vec<(&'static str, String)> {
    let path = |path: PathBuf| format!("path = '{}'", path.display());
    let star: Vec<_> = (1..3000).map(|v| [0, v]).collect();
    let sparse: Vec<_> = random_edges(900, 4000, 3).into_iter().map(|pair| pair.map(|id| id * 0x3_0000_0001)).collect();
    let text: String = random_edges(600, 1500, 8).iter().map(|[u, v]| format!("{u} {v}\n")).collect();
    let ids: String = (0..700).map(|id| format!("{id}\n")).collect();
    let mut packed = liblzma::write::XzEncoder::new(vec![], 6);
    packed.write_all(ids.as_bytes()).expect("packed");
    let listed = place.write("ids.txt.xz", packed.finish().expect("packed"));
    vec![
        ("karate", format!("path = '{}/tests/data/karate.txt'", env!("CARGO_MANIFEST_DIR"))),
        ("path", path(place.u32("path.u32", &(1..20_000).map(|v| [v - 1, v]).collect::<Vec<_>>()))),
        ("star", path(place.u32("star.u32", &star))),
        ("sparse", path(place.u64("sparse.u64", &sparse))),
        ("text", format!("{}\nvertices = '{}'", path(place.write("edges.txt", text)), listed.display())),
        ("loops", path(place.u32("loops.u32", &[[3, 3], [9, 9]]))),
        ("skewed", "kronecker = { scale = 13, edge_factor = 16, seed = 3 }".into()),
        ("even", "uniform = { scale = 15, edge_factor = 6, seed = 3 }".into()),
    ]
}

/// Every table, each in two ways if it has keys.
const TABLES: [&str; 20] = [
    "[triangle]\n",
    "[triangle]\nper_vertex = true\n[output]\nformat = 'csv'\n",
    "[bfs]\nroots = 5\nwrite = true\n",
    "[bfs]\nroots = 1\nvalidate = false\n",
    "[sssp]\nroots = 3\nwrite = true\nweights = { uniform = [1, 900], seed = 1 }\n",
    "[sssp]\nroots = 1\nmethod = 'moore'\nweights = { uniform = [0.0, 1.0], seed = 1 }\n",
    "[dfs]\nforest = true\narticulation = true\n",
    "[dfs]\nforest = true\norder = 'any'\nvalidate = false\n",
    "[components]\n",
    "[cdlp]\n",
    "[cores]\n",
    "[betweenness]\nroots = 3\n",
    "[pagerank]\n",
    "[pagerank]\nvariant = 'graphalytics'\n[output]\nformat = 'csv'\n",
    "[traverse]\nroots = 2\nwrite = true\nstrategy = 'sort-unique'\n",
    "[traverse]\nroots = 1\nstrategy = 'atomic'\n",
    "[triangle]\n[bfs]\nroots = 2\n[sssp]\nroots = 1\nweights = { unit = true }\n[dfs]\nforest = true\n",
    "[job]\nkeep = true\n",
    "[distances]\nroots = 130\n",
    "[triangle]\nclustering = 'directed'\n",
];

/// What a plan names is enough to the byte, before ingest and after it; a byte less is refused once degrees are known. And what the system says
/// that the process has is no more than that, at any time.
#[test]
fn what_a_plan_names_is_enough_to_the_byte_and_the_memory_of_the_process_keeps_to_it() {
    let place = Place::on_disk();
    let shapes = shapes(&place);
    for (nth, table) in TABLES.iter().enumerate() {
        // Each table on two shapes and each shape under three tables.
        for (shape, input) in [&shapes[nth % shapes.len()], &shapes[(3 * nth + 5) % shapes.len()]] {
            let threads = [1u64, 2, 7][nth % 3];
            let about = format!("{shape}, {table:?}, {threads} threads");
            let (job, more) = match table.strip_prefix("[job]\n") {
                Some(key) => (key, ""),
                None => ("", *table),
            };
            let is_directed = nth % 4 == 2 && !table.contains("articulation") || table.contains("'directed'");
            let directed = if is_directed { "directed = true\n" } else { "" };
            let limits = format!("[limits]\nthreads = {threads}\n[run]\ndevice = 'cpu'\n");
            place
                .write("job.toml", format!("[job]\nworkdir = 'work'\n{job}[input]\n{input}\n{directed}{limits}{more}"));
            let _ = fs::remove_dir_all(place.workdir());
            let set = |bytes: u64| ["--set".to_owned(), format!("limits.host_memory={bytes}")];
            let command = |name: &str, bytes: u64, more: &[&str]| {
                let set = set(bytes);
                place.command(&[&[name, "job.toml"], &set.each_ref().map(String::as_str)[..], more].concat())
            };
            let needed = || {
                let ran = Ran::command(&mut command("plan", 1 << 30, &["--json"])).expect(0);
                number(&serde_json::from_str(&ran.out).expect("JSON"), "host_memory_needed")
            };
            let kept = |bytes: u64| {
                let (ran, most) = Ran::watched(&mut command("run", bytes, &["--quiet"]));
                assert_eq!(ran.code, 0, "{about}: {}", ran.err);
                assert!(most <= bytes, "{about}: {most} bytes seen within {bytes}");
            };
            let bound = needed();
            assert!(*shape != "karate" || bound <= (6 << 20) + (threads - 1) * (512 << 10), "{about}: {bound}");
            kept(bound);
            // Nothing but the order of vertices is there.
            let _ = fs::remove_dir_all(place.workdir());
            let stopped =
                command("run", 1 << 30, &["--quiet"]).env("GPUGRAPH_FAILPOINTS", "partition.begin=1:enospc").output();
            assert_eq!(Ran::of(stopped.expect("run")).code, 6, "{about}");
            let exact = needed();
            assert!(exact <= bound, "{about}: {exact} after ingest, {bound} before");
            let refused = Ran::command(&mut command("run", exact - 1, &["--quiet"]));
            assert_eq!(refused.code, 7, "{about} within {exact} - 1: {}", refused.err);
            assert_eq!(named(refused.error()), format!("{}MiB", exact.div_ceil(1 << 20)), "{about}");
            Ran::command(&mut command("plan", exact - 1, &[])).expect(7);
            kept(exact);
        }
    }
}

#[test]
fn threads_change_nothing() {
    let place = Place::on_disk();
    place.job("uniform = { scale = 14, edge_factor = 30, seed = 3 }", "[triangle]\nper_vertex = true\n");
    let mut first = None;
    for threads in ["1", "2", "7"] {
        let report = place.report(&["--fresh", "--quiet", "--set", &format!("limits.threads={threads}")]);
        let found = (answer(&report), place.npy::<u64>("triangles"));
        assert!(*first.get_or_insert_with(|| found.clone()) == found, "threads {threads}");
    }
}

/// A memory cgroup of version 1 or 2, removed with the test.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(bytes: u64) -> Option<Cgroup> {
        let name = format!("gpugraph-test-{}", std::process::id());
        let limits = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        for (root, file) in limits {
            let folder = PathBuf::from(root).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Cgroup(folder.clone());
            if fs::write(folder.join(file), bytes.to_string()).is_ok() {
                // Where there is swap it must not help.
                let _ = fs::write(folder.join("memory.swap.max"), "0");
                return Some(group);
            }
        }
        None
    }

    /// What the kernel counted at most, where it says.
    fn peak(&self) -> Option<u64> {
        let files = ["memory.max_usage_in_bytes", "memory.peak"];
        files.iter().find_map(|file| fs::read_to_string(self.0.join(file)).ok()?.trim().parse().ok())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn it_finishes_in_a_cgroup_of_its_limit_and_64_mib() {
    let limit = 64u64 << 20;
    let group = if root() { Cgroup::new(limit + (64 << 20)) } else { None };
    let Some(group) = group else {
        println!("SKIPPED: no memory cgroup may be made here");
        return;
    };
    let place = Place::on_disk();
    // The input as a file, whose pages count in the cgroup as long as they are in its cache.
    place.job("kronecker = { scale = 19, edge_factor = 16, seed = 7 }", "");
    let known = triangles(&place.report(&["--quiet"]));
    place.gpugraph(&["generate", "kronecker", "--scale", "19", "--seed", "7", "-o", "s19.u32"]).expect(0);
    let input = if place.path("s19.u32").exists() {
        "path = 's19.u32'"
    } else {
        "kronecker = { scale = 19, edge_factor = 16, seed = 7 }"
    };
    place.job(input, "[limits]\nhost_memory = '64MiB'\n[triangle]\nper_vertex = true\n");
    // The shell joins the group, then becomes the job: everything it touches is counted.
    let mut shell = Command::new("bash");
    shell.args(["-c", "echo $$ > \"$1/cgroup.procs\" && exec \"$0\" run job.toml --fresh --quiet"]);
    shell.arg(env!("CARGO_BIN_EXE_gpugraph")).arg(&group.0).current_dir(place.path(""));
    let output = shell.output().expect("run");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let report = place.read_report();
    assert_eq!(triangles(&report), known);
    assert!(number(&report, "limits.host_memory_peak") <= limit);
    let peak = group.peak().expect("a peak");
    assert!(peak > 32 << 20, "the job ran outside of its cgroup: {peak} bytes");
}

#[test]
fn addresses_that_ulimit_bounds_are_kept_to_or_named() {
    let place = Place::new();
    let edges = random_edges(2000, 200_000, 4);
    place.job_on(&place.u32("edges.u32", &edges), "[limits]\nthreads = 2\n[run]\ndevice = 'cpu'\n");
    let known = oracle(2000, &edges).0;
    let run = |more: &str| {
        let line = format!("ulimit -v 1000000; exec {} run job.toml --fresh {more}", env!("CARGO_BIN_EXE_gpugraph"));
        let mut shell = std::process::Command::new("bash");
        Ran::of(shell.args(["-c", &line]).current_dir(place.path("")).output().expect("run bash"))
    };
    let ran = run("").expect(0);
    assert!(ran.out.starts_with(&format!("triangles {known}  ")), "{}", ran.out);
    let report = place.read_report();
    assert!(number(&report, "limits.host_memory") < 1_000_000 << 10);
    // What can't be had is not promised.
    let ran = run("--set limits.host_memory=8GiB").expect(7);
    for word in ["ulimit -v", "8 GiB", "limits.host_memory", "unlimited"] {
        assert!(ran.error().contains(word), "{word} is not in {}", ran.err);
    }
}

/// A file of text that is larger than the addresses that are left can't be mapped, whatever the limit is.
#[test]
fn text_that_ulimit_leaves_no_addresses_for_is_refused_with_a_sentence() {
    let place = Place::on_disk();
    let lines = "0 1\n1 2\n0 2\n".repeat(1 << 20);
    let file = fs::File::create(place.path("edges.txt")).unwrap();
    for _ in 0..24 {
        std::io::Write::write_all(&mut &file, lines.as_bytes()).unwrap();
    }
    place.job("path = 'edges.txt'", "[limits]\nthreads = 1\n[run]\ndevice = 'cpu'\n");
    let under = |kib: u64, line: &str| {
        let line = format!("ulimit -v {kib}; exec {} {line}", env!("CARGO_BIN_EXE_gpugraph"));
        let mut shell = Command::new("bash");
        Ran::of(shell.args(["-c", &line]).current_dir(place.path("")).output().expect("run bash"))
    };
    for line in
        ["run job.toml", "plan job.toml", "convert edges.txt edges.u32", "run job.toml --set limits.host_memory=64MiB"]
    {
        let ran = under(290_000, line).expect(7);
        for word in ["edges.txt, which is mapped, takes 288 MiB of addresses", "`ulimit -v` leaves it ", "zstd"] {
            assert!(ran.error().contains(word), "{line}: {word} is not in {}", ran.err);
        }
    }
    // What is not mapped is read: the remedy is one.
    let packed = zstd::encode_all(lines.as_bytes(), 1).unwrap();
    place.write("edges.txt.zst", packed);
    let set = "--set input.path=edges.txt.zst";
    under(290_000, &format!("run job.toml {set} --set limits.host_memory=80MiB")).expect(0);
    // An explicit limit is refused by the plan, too, and the default names what made it so small.
    for command in ["plan job.toml", "run job.toml --fresh"] {
        let ran = under(1_000_000, &format!("{command} --set limits.host_memory=8GiB")).expect(7);
        assert!(ran.error().contains("limits.host_memory takes 8 GiB of addresses"), "{}", ran.err);
        let ran = under(60_000, &format!("{command} {set} --set limits.host_memory=96MiB")).expect(7);
        assert!(ran.error().contains("limits.host_memory takes 96 MiB of addresses"), "{}", ran.err);
        let ran = under(60_000, &format!("{command} {set}")).expect(7);
        assert!(ran.error().contains("half of what `ulimit -v` leaves"), "{}", ran.err);
    }
}

#[test]
fn commands_with_more_threads_than_addresses_are_refused_with_a_sentence() {
    let place = Place::new();
    place.write("edges.txt", "0 1\n1 2\n0 2\n".repeat(1 << 18));
    for line in [
        "convert edges.txt edges.u32",
        "generate uniform --scale 16 -o made.u32",
        "generate list --length 10 --kind swapped -o a.list",
    ] {
        for (kib, threads, code) in [(160_000, 512, 7), (400_000, 512, 7), (160_000, 8, 0)] {
            let run = format!("exec {} {line} --threads {threads}", env!("CARGO_BIN_EXE_gpugraph"));
            let mut shell = Command::new("bash");
            shell.args(["-c", &format!("ulimit -v {kib}; {run}")]);
            let ran = Ran::command(shell.current_dir(place.path(""))).expect(code);
            assert!(code == 0 || ran.error().contains("a thread takes"), "{}", ran.err);
        }
    }
}

#[test]
fn threads_that_the_system_does_not_start_are_a_sentence() {
    let place = Place::new();
    place.job(
        "kronecker = { scale = 12, edge_factor = 8, seed = 1 }",
        "[limits]\nhost_memory = '256MiB'\nthreads = 8\n",
    );
    // The first thread does not start, or a later one: stacks of the second size take all addresses together.
    for stack in ["8000000000", "700000000"] {
        let run = format!("exec {} run job.toml --set run.device=cpu", env!("CARGO_BIN_EXE_gpugraph"));
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("ulimit -v 3500000; {run}")]).env("RUST_MIN_STACK", stack);
        let ran = Ran::command(shell.current_dir(place.path(""))).expect(7);
        assert!(ran.err.contains("a thread takes") && ran.err.contains("limits.threads"), "{}", ran.err);
    }
    place.run(&["--set", "limits.threads=2"]).expect(0);
}
