//! Job files: what they come to mean, and what is said of those that are wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gpugraph::internals::algo::triangle::Triangle;
use gpugraph::internals::algo::{self, Task};
use gpugraph::internals::config::spec::{Random, Run};
use gpugraph::internals::config::{self, Device, Expect, GpuSharing, InputSpec, Job, Limits};
use gpugraph::internals::error::Error;
use gpugraph::internals::formats::{Format, TextOptions, WeightsOption};
use gpugraph::internals::generate::{Shape, Ssca2, WeightedSpec};
use gpugraph::internals::graph::ids::FirstId;
use gpugraph::internals::results::OutputFormat;
use proptest::prelude::*;
use serde_json::json;

/// The task of a table `[triangle]`.
fn triangle(per_vertex: bool) -> Vec<Arc<dyn Task>> {
    vec![algo::task::task(Triangle { per_vertex, ..Triangle::default() })]
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn load_in(folder: &Path, text: &str, overrides: &[&str]) -> Result<Job, Error> {
    let file = folder.join("job.toml");
    std::fs::write(&file, text).expect("write the job file");
    config::load(&file, &overrides.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
}

/// The job of a text that is right.
fn job(text: &str, overrides: &[&str]) -> Job {
    load_in(folder().path(), text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// All that is said of a text that is wrong, the folder left out of the file's name.
fn report(text: &str, overrides: &[&str]) -> String {
    let folder = folder();
    match load_in(folder.path(), text, overrides) {
        Ok(job) => panic!("accepted: {job:?}"),
        Err(error) => {
            assert_eq!(error.exit_code(), 2);
            error.to_string().replace(&format!("{}/", folder.path().display()), "")
        }
    }
}

/// What is said, without where: the first line of each paragraph behind its place.
fn messages(text: &str, overrides: &[&str]) -> Vec<String> {
    let report = report(text, overrides);
    let heads = report.lines().filter(|line| line.starts_with("job.toml:") || line.starts_with("--set "));
    heads.map(|line| line.split_once(": ").map_or(line, |(_, message)| message).to_owned()).collect()
}

/// What is said of one more line in a table of a job that is right otherwise.
fn complaint(table: &str, line: &str) -> String {
    let mut text = String::from("[triangle]\n");
    if table != "input" {
        text.push_str("[input]\npath = 'x'\n");
    }
    let header = if table == "triangle" { String::new() } else { format!("[{table}]\n") };
    let text = if table == "triangle" {
        format!("[triangle]\n{line}\n[input]\npath = 'x'")
    } else {
        format!("{text}{header}{line}")
    };
    let messages = messages(&text, &[]);
    assert_eq!(messages.len(), 1, "{messages:#?}");
    messages[0].clone()
}

const MINIMAL: &str = "[input]\npath = 'a.txt'\n[triangle]\n";

#[test]
fn defaults() {
    let job = job(MINIMAL, &[]);
    assert_eq!(
        job,
        Job {
            name: "a".into(),
            workdir: "gpugraph.work/a".into(),
            scratch: None,
            keep: false,
            input: InputSpec::Files {
                paths: vec!["a.txt".into()],
                format: None,
                recursive: false,
                text: TextOptions::default(),
                vertices: None,
                weights: WeightsOption::Auto,
            },
            directed: false,
            first_id: FirstId(0),
            keeps_direction: false,
            keeps_weights: false,
            file: job.file.clone(),
            input_keys: job.input_keys.clone(),
            expect: None,
            limits: Limits { host_memory: None, gpu_memory: None, threads: 0 },
            run: Run {
                device: Device::Auto,
                gpu: None,
                gpu_sharing: GpuSharing::Split,
                trials: 1,
                log_interval: Duration::from_secs(30),
                disk_check: true,
                energy: false,
            },
            format: OutputFormat::default(),
            tasks: triangle(false),
        }
    );
}

#[test]
fn every_key() {
    let text = r#"
        [job]
        name = "s29 again"
        workdir = "$PATH/${PATH}s/$$x"
        keep = true
        [input]
        path = ["a", "b*"]
        format = "u64"
        expect = { edges = 7_000, ids = 90 }
        directed = false
        [limits]
        host_memory = "1.5 GiB"
        gpu_memory = 1000
        threads = 7
        [run]
        device = "gpu"
        gpu = 3
        trials = 5
        log_interval = "1m30s"
        disk_check = false
        energy = true
        [output]
        format = "csv"
        [triangle]
        per_vertex = true
    "#;
    let job = job(text, &[]);
    let path = std::env::var("PATH").expect("PATH is set");
    assert_eq!(job.name, "s29 again");
    assert_eq!(job.workdir, PathBuf::from(format!("{path}/{path}s/$x")));
    assert!(job.keep);
    assert_eq!(
        job.input,
        InputSpec::Files {
            paths: vec!["a".into(), "b*".into()],
            format: Some(Format::U64),
            recursive: false,
            text: TextOptions::default(),
            vertices: None,
            weights: WeightsOption::Auto,
        }
    );
    assert_eq!(job.expect, Some(Expect { edges: 7000, ids: 90 }));
    assert_eq!(job.limits, Limits { host_memory: Some(3 << 29), gpu_memory: Some(1000), threads: 7 });
    let run = Run {
        device: Device::Gpu,
        gpu: Some(3),
        gpu_sharing: GpuSharing::Split,
        trials: 5,
        log_interval: Duration::from_secs(90),
        disk_check: false,
        energy: true,
    };
    assert_eq!(job.run, run);
    assert_eq!(job.format, OutputFormat::Csv);
    assert_eq!(job.tasks, triangle(true));
}

#[test]
fn sources_of_edges() {
    let input = |line: &str| job(&format!("[triangle]\n[input]\n{line}"), &[]).input;
    let random = |scale, edge_factor, seed| Random { scale, edge_factor, seed };
    assert_eq!(input("prepared = 'other'"), InputSpec::Prepared("other".into()));
    assert_eq!(input("kronecker = { scale = 3 }"), InputSpec::Kronecker(random(3, 16.0, 1)));
    assert_eq!(
        input("[input.uniform]\nscale = 40\nedge_factor = 0.5\nseed = 18446744073709551615"),
        InputSpec::Uniform(random(40, 0.5, u64::MAX))
    );
    let weighted = |shape, least, most, seed| InputSpec::Weighted(WeightedSpec { shape, least, most, seed });
    assert_eq!(input("random = { vertices = 30 }"), weighted(Shape::Random { vertices: 30, edges: 300 }, 1, 1000, 1));
    assert_eq!(
        input("rmat = { scale = 4, edges = 9, a = 1, b = 0.0, c = 0.0, d = 0.0, seed = 5 }"),
        weighted(Shape::Rmat { scale: 4, edges: 9, quadrants: [1_000_000, 0, 0, 0] }, 1, 1000, 5)
    );
    assert_eq!(
        input("ssca2 = { vertices = 1000, one_way = 0.5, min_weight = 0 }"),
        weighted(Shape::Ssca2(Ssca2 { one_way: 0.5, ..Ssca2::of(1000) }), 0, 1000, 1)
    );
    assert_eq!(
        input("grid = { rows = 3, columns = 4, max_weight = 7 }"),
        weighted(Shape::Grid { rows: 3, columns: 4 }, 1, 7, 1)
    );
}

#[test]
fn without_an_algorithm_the_graph_is_kept() {
    assert_eq!(job("[input]\npath = 'x'\n[job]\nkeep = true", &[]).tasks, Vec::<Arc<dyn Task>>::new());
}

#[test]
fn shipped_jobs_load() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&configs).expect("configs") {
        let path = entry.expect("an entry of configs").path();
        let job = config::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        if matches!(job.input, InputSpec::Files { .. }) {
            // What they say of their files is no hindrance to another source.
            let other = ["input.kronecker.scale=9".to_owned()];
            let job = config::load(&path, &other).unwrap_or_else(|error| panic!("{error}"));
            assert!(matches!(job.input, InputSpec::Kronecker(_)), "{}", path.display());
        }
        // Those of algorithms, which explain keys, are looked through with the keys.
        if path.file_stem().and_then(|stem| stem.to_str()).and_then(algo::find).is_none() {
            names.push(job.name);
        }
    }
    names.sort();
    let shipped = ["graph500", "graph500-sssp", "hyperlink2012", "moore", "quickstart", "s28", "s29", "weak-scaling"];
    assert_eq!(names, shipped);
}

/// The job files of algorithms say of every key what its default is; a job that says nothing has to agree.
#[test]
fn the_explained_defaults_are_the_defaults() {
    let list = "[input]\npath = 'a.txt'\n[listrank]\n";
    let bfs = "[input]\npath = 'a.txt'\n[bfs]\n";
    for (name, minimal) in [("triangle.toml", MINIMAL), ("listrank.toml", list), ("bfs.toml", bfs)] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(name);
        let explained = config::load(&file, &["input.path=a.txt".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
        let folder = folder();
        let file = folder.path().join(name);
        std::fs::write(&file, minimal).expect("write the job file");
        let plain = config::load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        // What is written differs, and where.
        let (file, input_keys) = (plain.file.clone(), plain.input_keys.clone());
        assert_eq!(Job { file, input_keys, ..explained }, plain);
    }
}

#[test]
fn an_unknown_key() {
    let text = "[input]\npath = 'x'\n[limits]\n  host_memmory = \"56GiB\" # never exceeded\n[triangle]";
    assert_eq!(
        report(text, &[]),
        "\
job.toml:4:3: unknown key 'host_memmory' in [limits]; did you mean 'host_memory'?
4 |   host_memmory = \"56GiB\" # never exceeded
  |   ^^^^^^^^^^^^"
    );
}

#[test]
fn everything_at_once_in_the_order_of_the_file() {
    let text = r#"host_memory = "1GiB"
[job]
name = "a/b"
workdir = "/scratch/$GPUGRAPH_UNSET/x"
[input]
path = ["é", 5]
kronecker = { scale = 99, seeed = 1 }
[limits]
	threads = -1
[run]
device = "cpu"
gpu = 0
[triangels]
"#;
    assert_eq!(
        report(text, &["output.formt=csv", "run.trials=many"]),
        r#"job.toml:1:1: unknown key 'host_memory' before the first table; it belongs in [limits]
1 | host_memory = "1GiB"
  | ^^^^^^^^^^^
job.toml:3:8: job.name: a name can't contain a slash: choose the place with workdir
3 | name = "a/b"
  |        ^^^^^
job.toml:4:21: job.workdir: the environment variable GPUGRAPH_UNSET is not set
4 | workdir = "/scratch/$GPUGRAPH_UNSET/x"
  |                     ^^^^^^^^^^^^^^^
job.toml:6:14: input.path: expected strings in the array, found 5
6 | path = ["é", 5]
  |              ^
job.toml:7:1: input.kronecker and input.path (line 6) exclude each other: a job has one of them
7 | kronecker = { scale = 99, seeed = 1 }
  | ^^^^^^^^^
job.toml:7:23: input.kronecker.scale: expected a whole number from 1 to 40, found 99
7 | kronecker = { scale = 99, seeed = 1 }
  |                       ^^
job.toml:7:27: unknown key 'seeed' in input.kronecker; did you mean 'seed'?
7 | kronecker = { scale = 99, seeed = 1 }
  |                           ^^^^^
job.toml:9:12: limits.threads: expected a whole number from 0 to 65536, found -1
9 |  threads = -1
  |            ^^
job.toml:12:1: run.gpu and run.device = "cpu" (line 11) exclude each other: remove one of them
12 | gpu = 0
   | ^^^
job.toml:13:2: unknown table [triangels]; did you mean [triangle]?
13 | [triangels]
   |  ^^^^^^^^^
--set output.formt=csv: unknown key 'formt' in [output]; did you mean 'format'?
  | output.formt=csv
  |        ^^^^^
--set run.trials=many: run.trials: expected a whole number from 1 to 1000000, found the string "many"
  | run.trials=many
  |            ^^^^"#
    );
}

#[test]
fn broken_toml_hides_neither_other_breaks_nor_other_mistakes() {
    let text = "[input]\npath = a.txt\n[limits]\nhost_memory =\ngpu_memmory = 3\n[limits]\n";
    assert_eq!(
        report(text, &[]),
        r#"job.toml:2:8: this is not a TOML value; text needs quotes, as in "16GiB"
2 | path = a.txt
  |        ^^^^^
job.toml:4:14: a value is missing after the '='
4 | host_memory =
  |              ^
job.toml:5:1: unknown key 'gpu_memmory' in [limits]; did you mean 'gpu_memory'?
5 | gpu_memmory = 3
  | ^^^^^^^^^^^
job.toml:6:2: 'limits' is given twice
6 | [limits]
  |  ^^^^^^"#
    );
}

#[test]
fn what_may_only_follow_from_broken_toml_is_not_told() {
    // Were the header not broken, the key would stand in [limits].
    assert_eq!(
        messages("[job]\nkeeep = 1\n[limits\nthreads = 2\n", &["limits.x=1"]),
        ["unknown key 'keeep' in [job]; did you mean 'keep'?", "not TOML: unclosed table, expected `]`"]
    );
}

#[test]
fn an_override_of_any_depth_is_refused() {
    let deep = format!("{}b=1", "a.".repeat(50_000));
    assert!(report("[input]\npath = 'a.txt'\n", &[&deep]).contains("no table lies 8 tables deep"));
}

#[test]
fn an_edge_list_is_no_job() {
    let lines = report(&"1 2\n".repeat(5000), &[]);
    assert_eq!(lines.lines().count(), 32);
    assert!(lines.contains("job.toml: and 4990 more\n") && lines.ends_with("name it with [input] path"), "{lines}");
    // Broken, and yet one.
    assert!(!report("[input]\npath = x\n", &[]).contains("is it a graph?"));
    assert!(report(&"1 2\n".repeat(1 << 20), &[]).contains("found more than 2 MiB; is it a graph?"));
}

#[test]
fn each_kind_of_mistake() {
    for (table, line, said) in [
        ("job", "name = ''", "job.name: a name can't be empty"),
        ("job", "name = '..'", "job.name: a name can't begin with '.' or '-'"),
        ("job", "name = 3", "job.name: expected a string, found 3"),
        ("job", "keep = 'yes'", "job.keep: expected true or false, found the string \"yes\""),
        ("job", "workdir = '~/x'", "job.workdir: '~' is not expanded: write $HOME"),
        ("job", "workdir = ''", "job.workdir: expected a path, found an empty string"),
        (
            "job",
            "workdir = 'a$/b'",
            "job.workdir: no variable is named here: write $NAME or ${NAME}, and $$ for a dollar",
        ),
        ("job", "gpu = 1", "unknown key 'gpu' in [job]; it belongs in [run]"),
        ("job", "colour = 1", "unknown key 'colour' in [job]; there are name, workdir, scratch, keep"),
        ("input", "path = []", "input.path: expected at least one path, found an empty array"),
        (
            "input",
            "path = 2026-01-01",
            "input.path: expected a string or an array of strings, found the date or time 2026-01-01",
        ),
        ("input", "path = 'x'\nformat = 'u31'", "input.format: unknown value \"u31\"; did you mean \"u32\"?"),
        (
            "input",
            "path = 'x'\nformat = 'avro'",
            "input.format: unknown value \"avro\"; there are \"auto\", \"u32\", \"u64\", \"text\", \"mtx\", \"metis\", \
             \"gr\", \"graph500\", \"npy\", \"npz\", \"sg\", \"wsg\", \"parquet\", \"list\", \"i32\", \"i64\"",
        ),
        (
            "input",
            "prepared = 'w'\nexpect = { edges = 1, ids = 1 }",
            "input.expect is for input.path, and this job has none",
        ),
        ("input", "path = 'x'\nexpect = 5", "input.expect: expected a table, found 5"),
        (
            "input",
            "path = 'x'\nexpect = { edges = 5 }",
            "input.expect: ids is missing: write { edges = 1000000, ids = 50000 }",
        ),
        (
            "input",
            "path = 'x'\nexpect = { edges = 0, ids = 1 }",
            "input.expect.edges: expected a whole number from 1 to 281474976710656, found 0",
        ),
        (
            "input",
            "path = 'x'\nexpect = { edges = 5, ids = 1, edgs = 5 }",
            "unknown key 'edgs' in input.expect; did you mean 'edges'?",
        ),
        (
            "input",
            "grid = { rows = 2, columns = 2, width = 3 }",
            "unknown key 'width' in input.grid; there are rows, columns, min_weight, max_weight, seed",
        ),
        (
            "input",
            "format = 'u32'",
            "[input] names no edges: add path = \"FILE\", prepared = \"WORKDIR\", kronecker, uniform, random, rmat, ssca2 or grid",
        ),
        ("input", "prepared = 'x'\nformat = 'u32'", "input.format is for input.path, and this job has input.prepared"),
        (
            "input",
            "prepared = 'gpugraph.work/job'\n[job]\nname = 'job'",
            "input.prepared: is this job's own workdir: name that of the job that kept the graph",
        ),
        ("input", "grid = { rows = 2 }", "input.grid: columns is missing: add it"),
        (
            "input",
            "random = { vertices = 1 }",
            "input.random: random: expected a number of vertices from 2 to 1099511627776, found 1",
        ),
        (
            "input",
            "rmat = { scale = 3, a = 0.5 }",
            "input.rmat: rmat: expected four probabilities whose sum is 1, found a 0.5, b 0.15, c 0.15, d 0.25",
        ),
        (
            "input",
            "ssca2 = { vertices = 9, between = 2 }",
            "input.ssca2.between: expected a number from 0 to 1, found 2",
        ),
        ("input", "kronecker = 20", "input.kronecker: expected a table, found 20"),
        ("input", "uniform = {}", "input.uniform: scale is missing: add it, for a graph of 2^scale vertices"),
        (
            "input",
            "uniform = { scale = 3, edge_factor = nan }",
            "input.uniform.edge_factor: expected a number above 0 and at most 1048576, found nan",
        ),
        (
            "input",
            "uniform = { scale = 3, seed = -1 }",
            "input.uniform.seed: expected a whole number from 0 to 18446744073709551615, found -1",
        ),
        ("limits", "host_memory = 1.5", "limits.host_memory: expected a size such as \"16GiB\", found 1.5"),
        (
            "limits",
            "host_memory = 0",
            "limits.host_memory: expected a size above 0; leave the key out for what is free",
        ),
        (
            "limits",
            "gpu_memory = '16 gigs'",
            "limits.gpu_memory: expected a size such as \"16GiB\", found '16 gigs', whose unit is none of KiB, MiB, GiB, \
             TiB, kB, MB, GB, TB",
        ),
        ("limits", "threads = 2.0", "limits.threads: expected a whole number from 0 to 65536, found 2.0"),
        ("run", "trials = 0", "run.trials: expected a whole number from 1 to 1000000, found 0"),
        ("run", "device = 'gqu'", "run.device: unknown value \"gqu\"; did you mean \"gpu\"?"),
        ("run", "disk_check = 0", "run.disk_check: expected true or false, found 0"),
        ("run", "log_interval = 30", "run.log_interval: expected a duration such as \"30s\", found 30"),
        (
            "run",
            "log_interval = '30'",
            "run.log_interval: expected a duration such as \"30s\", found '30', which lacks a unit (d, h, m, s or ms)",
        ),
        (
            "run",
            "log_interval = '0s'",
            "run.log_interval: expected a duration from 100ms to 1d, found the string \"0s\"",
        ),
        ("output", "format = ['npy']", "output.format: expected one of \"npy\", \"csv\", \"parquet\", found an array"),
        ("triangle", "per_vertex = 1", "triangle.per_vertex: expected true or false, found 1"),
        (
            "triangle",
            "per_vertex = true\nclustering = 'directed'",
            "triangle.clustering excludes per_vertex = true: leave one of them out",
        ),
        (
            "triangle",
            "clustering = 'both'",
            "triangle.clustering: unknown value \"both\"; there are \"undirected\", \"directed\"",
        ),
        (
            "traverse",
            "strategy = 'sort'",
            "traverse.strategy: unknown value \"sort\"; there are \"sort-unique\", \"atomic\", \"auto\"",
        ),
        ("traverse", "owner = 'modul'", "traverse.owner: unknown value \"modul\"; did you mean \"modulo\"?"),
        ("traverse", "roots = 3\nsources = [1]", "traverse.roots: a table has roots or sources, not both"),
        ("traverse", "alpha = 3", "unknown key 'alpha' in [traverse]; it belongs in [bfs]"),
        ("bfs", "roots = 0", "bfs.roots: expected a whole number from 1 to 65536, found 0"),
        ("bfs", "roots = 3\nsources = [1]", "bfs.roots: a table has roots or sources, not both"),
        ("bfs", "sources = [7, 7]", "bfs.sources: 7 occurs twice"),
        ("bfs", "sources = []", "bfs.sources: expected a vertex to begin at, such as [1], found none"),
        ("bfs", "sources = [7, -1]", "bfs.sources: expected an id, such as 17 or \"name\", found -1"),
        ("bfs", "alpha = 0", "bfs.alpha: expected a number above 0 and at most 1000000000, found 0"),
        ("bfs", "root = 1", "unknown key 'root' in [bfs]; did you mean 'roots'?"),
    ] {
        assert_eq!(complaint(table, line), said);
    }
}

#[test]
fn an_empty_file_lacks_input_alone() {
    assert_eq!(messages("", &[]).len(), 1);
    // Without an algorithm the graph is prepared for other jobs.
    let job = job("[input]\npath = 'x'", &[]);
    assert!(job.keep && job.tasks.is_empty());
}

#[test]
fn a_table_that_is_none() {
    let said = "'triangle' is a table: write [triangle] once, its keys below it";
    assert_eq!(messages("triangle = 1\ninput.path = 'x'", &[]), [said]);
    assert_eq!(messages("input.path = 'x'\n[[triangle]]", &[]), [said]);
}

#[test]
fn headers_inline_tables_and_dotted_keys_are_one() {
    let headers = "[input]\npath = 5\n[input.kronecker]\nscale = 0\nseeed = 1\n[limits]\nthread = 1\n[triangle]\n";
    let inline = "input = { path = 5, kronecker = { scale = 0, seeed = 1 } }\nlimits = { thread = 1 }\ntriangle = {}\n";
    let dotted =
        "input.path = 5\ninput.kronecker.scale = 0\ninput.kronecker.seeed = 1\nlimits.thread = 1\ntriangle = {}\n";
    let said = |text| {
        let mut said = messages(text, &[]);
        said.iter_mut().for_each(|said| *said = said.replace("(line 2)", "(line 1)"));
        said
    };
    assert_eq!(said(headers).len(), 5);
    assert_eq!(said(headers), said(inline));
    assert_eq!(said(headers), said(dotted));
}

#[test]
fn overrides() {
    let job = job(
        "[input]\npath = 'a'\n[run]\ndevice = 'auto'\ngpu = 1\n[triangle]\n",
        &[
            "input.path=/data/my graph.txt",
            " limits . host_memory = 512MiB ",
            "limits.threads=1",
            "limits.threads=2",
            "run.device=cpu",
            "triangle={ per_vertex = true }",
            "job.name=2024",
        ],
    );
    assert_eq!(
        job.input,
        InputSpec::Files {
            paths: vec!["/data/my graph.txt".into()],
            format: None,
            recursive: false,
            text: TextOptions::default(),
            vertices: None,
            weights: WeightsOption::Auto,
        }
    );
    assert_eq!(job.limits, Limits { host_memory: Some(512 << 20), gpu_memory: None, threads: 2 });
    assert_eq!((job.run.device, job.run.gpu), (Device::Cpu, None));
    assert_eq!(job.tasks, triangle(true));
    assert_eq!(job.name, "2024");
}

#[test]
fn weights_are_asked_for_of_files() {
    let of = |weights: &str| match job(&format!("[input]\npath = 'a'\n{weights}\n[triangle]"), &[]).input {
        InputSpec::Files { weights, .. } => weights,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(""), WeightsOption::Auto);
    for (_, asked) in WeightsOption::NAMED {
        assert_eq!(of(&format!("weights = '{asked}'")), asked);
    }
    assert_eq!(
        messages("[input]\npath = 'a'\nweights = 'f16'\n[triangle]", &[]),
        ["input.weights: unknown value \"f16\"; there are \"auto\", \"none\", \"u32\", \"u64\", \"f32\", \"f64\""]
    );
    assert_eq!(
        messages("[input]\nkronecker = { scale = 4 }\nweights = 'u32'\n[triangle]", &[]),
        ["input.weights is for input.path, and this job has input.kronecker"]
    );
    assert_eq!(
        messages("[input]\npath = 'a'\nweights = 'u32'\n[listrank]", &[]),
        ["input.weights is for graphs, and this job ranks a list"]
    );
}

#[test]
fn an_override_names_another_source_of_edges() {
    let kronecker = "[input]\nkronecker = { scale = 18, seed = 5 }\n[triangle]";
    let random = |scale, seed| Random { scale, edge_factor: 16.0, seed };
    assert_eq!(
        job(kronecker, &["input.path=['a']"]).input,
        InputSpec::Files {
            paths: vec!["a".into()],
            format: None,
            recursive: false,
            text: TextOptions::default(),
            vertices: None,
            weights: WeightsOption::Auto
        }
    );
    assert_eq!(job(kronecker, &["input.kronecker.scale=9"]).input, InputSpec::Kronecker(random(9, 5)));
    let file = "[input]\npath = 'a'\nformat = 'u32'\n[triangle]";
    let all =
        "recursive = true\ncolumns = [1, 2]\nskip_lines = 1\nids = 'string'\nweights = 'none'\nvertices = 'v.txt'";
    let all = format!("[input]\npath = 'e.txt'\n{all}\nformat = 'text'\nexpect = {{ edges = 9 }}\n[components]");
    assert_eq!(job(&all, &["input.kronecker={scale=9,seed=5}"]).input, InputSpec::Kronecker(random(9, 5)));
    assert_eq!(job(file, &["input.uniform.scale=9", "input.uniform.seed=2"]).input, InputSpec::Uniform(random(9, 2)));
    assert_eq!(
        job(file, &["input.path=b"]).input,
        InputSpec::Files {
            paths: vec!["b".into()],
            format: Some(Format::U32),
            recursive: false,
            text: TextOptions::default(),
            vertices: None,
            weights: WeightsOption::Auto,
        }
    );
    assert_eq!(
        messages(file, &["input.path=b", "input.prepared=c"]),
        ["input.prepared and input.path (--set input.path=b) exclude each other: a job has one of them"]
    );
}

/// The job files that ship name where to search from, which `--set` can't unset.
#[test]
fn an_override_names_another_place_to_search_from() {
    let table = |name: &str, line: &str, overrides: &[&str]| {
        let job = job(&format!("[input]\npath = 'a'\n[{name}]\n{line}\n"), overrides);
        job.tasks[0].table()
    };
    for name in ["bfs", "traverse", "sssp"] {
        let by_sources = table(name, "roots = 3", &[&format!("{name}.sources=[5,6]")]);
        assert_eq!((&by_sources["roots"], &by_sources["sources"]), (&json!(0), &json!([5, 6])), "{name}");
        let by_roots = table(name, "sources = [5]", &[&format!("{name}.roots=3")]);
        assert_eq!((&by_roots["roots"], &by_roots["sources"]), (&json!(3), &json!([])), "{name}");
    }
    let forest = table("dfs", "source = 5", &["dfs.forest=true"]);
    assert_eq!(
        (&forest["source"], table("dfs", "forest = true", &["dfs.source=5"])["source"].clone()),
        (&json!(null), json!(5))
    );
    // It asks for nothing else, so the source stays.
    assert_eq!(table("dfs", "source = 5", &["dfs.forest=false"])["source"], json!(5));
    assert_eq!(
        messages("[input]\npath = 'a'\n[bfs]\n", &["bfs.roots=3", "bfs.sources=[1]"]),
        ["bfs.roots: a table has roots or sources, not both"]
    );
}

#[test]
fn overrides_that_are_none() {
    assert_eq!(
        report(MINIMAL, &["threads=2", "threads", "limits..threads=2", "[limits]\nthreads=2"]),
        "\
--set threads=2: unknown key 'threads' before the first table; it belongs in [limits]
  | threads=2
  | ^^^^^^^
--set threads: expected table.key=value, found no '='
  | threads
  | ^^^^^^^
--set limits..threads=2: expected table.key=value, found 'limits..threads' before the '='
  | limits..threads=2
  |        ^
--set [limits]\u{fffd}threads=2: expected table.key=value, found '[limits]\u{fffd}threads' before the '='
  | [limits]
  | ^^^^^^^^"
    );
}

#[test]
fn long_lines_are_shown_around_the_caret() {
    let text = format!("[triangle]\n[input]\npath = [{}3]", "'é', ".repeat(100));
    let report = report(&text, &[]);
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[0].starts_with("job.toml:3:509: "), "{report}");
    assert!(lines.iter().skip(1).all(|line| line.chars().count() < 130), "{report}");
    let caret = lines[2].chars().position(|c| c == '^').expect("a caret");
    assert_eq!(lines[1].chars().nth(caret), Some('3'));
}

#[test]
fn a_file_that_is_none() {
    let folder = folder();
    let missing = folder.path().join("no.toml");
    let error = config::load(&missing, &[]).expect_err("there is no such file");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("no.toml: can't read the job file: "), "{error}");
    assert_eq!(config::load(folder.path(), &[]).map_err(|error| error.exit_code()), Err(2));
    std::fs::write(&missing, b"[job]\n\xff\xfe").expect("write");
    let error = config::load(&missing, &[]).expect_err("that is not text");
    assert!(error.to_string().contains("found something else at byte 6"), "{error}");
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["[".repeat(100_000), format!("x = {}", "[".repeat(100_000)), format!("{}x = 1", "a.".repeat(100_000))]
    {
        report(&text, &[]);
    }
}

/// A job file with something of everything in it, to be mutated.
const RICH: &str = "[job]\nname = \"é\"\nkeep = true\n[input]\npath = ['$HOME/x', \"\"\"y\"\"\"]\nformat = 'auto'\n\
    kronecker = { scale = 3, edge_factor = 1.5e0, seed = 0x1F }\n[limits]\nhost_memory = '1GiB'\n[run]\nlog_interval = '3s'\n\
    [triangle]\nper_vertex = false\n[[bfs]]\n'sources' = [1, 2]\n";

const PIECES: [&str; 22] = [
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "\n",
    "\r\n",
    "$",
    "${",
    "é",
    "\u{0}",
    "#",
    ",",
    "-",
    "9999999999999999999999999999999999999999999",
    "[run]",
    "1979-05-27",
    "input",
];

fn only_usage(result: Result<Job, Error>) -> Result<(), TestCaseError> {
    match result {
        Ok(_) => Ok(()),
        Err(Error::Usage(text)) if !text.is_empty() => Ok(()),
        Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn mutated_jobs_load_or_are_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, prop::sample::select(&PIECES[..])), 1..8),
        overriding in "(input|limits|run)\\.[a-z]{0,3}[.=]{0,2}[^\u{0}]{0,5}",
    ) {
        let mut text: Vec<char> = RICH.chars().collect();
        for (at, removed, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        let folder = folder();
        only_usage(load_in(folder.path(), &text, &[]))?;
        only_usage(load_in(folder.path(), &text, &[&overriding]))?;
    }

    #[test]
    fn garbage_is_refused(bytes: Vec<u8>, overriding in "\\PC{0,12}") {
        let folder = folder();
        let file = folder.path().join("job.toml");
        std::fs::write(&file, &bytes).expect("write the job file");
        only_usage(config::load(&file, &[]))?;
        only_usage(config::load(&file, &[overriding]))?;
    }
}
