//! Known answers: every number of ranks leaves the bytes that one process leaves.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::support::{Place, Ran, answer, complete, number, oracle, random_edges, reference_graphs, triangles};
use crate::{CORNERS, KEEP, Ranks, ended, files, same_files};

const ALL: [&str; 2] = ["graph", "out"];

/// Runs the job of this input by one process and by ranks: the same report and files, and `known` triangles.
#[track_caller]
fn agree(what: &str, job: &Ranks, input: &str, ranks: &[usize], known: Option<u64>) {
    job.place.job(input, &format!("{KEEP}{CORNERS}[limits]\nthreads = 2\n"));
    job.forget();
    let alone = job.report(0, &[]);
    let stored = files(&job.place.workdir(), &ALL);
    if let Some(known) = known {
        assert_eq!(triangles(&alone), known, "{what}");
    }
    for &n in ranks {
        job.forget();
        let report = job.report(n, &[]);
        let what = format!("{what} by {n} ranks");
        assert_eq!(answer(&report), answer(&alone), "{what}");
        assert_eq!(number(&report, "ranks"), n as u64, "{what}");
        same_files(&what, &files(&job.place.workdir(), &ALL), &stored);
    }
}

#[test]
fn published_graphs_of_every_format() {
    let (Some(job), Some(folder)) = (Ranks::new(), reference_graphs()) else { return };
    for (name, known, ranks) in [
        ("lagraph/karate.mtx", 45, &[1, 2][..]),
        ("cugraph/email-Eu-core.csv", 105_461, &[3]),
        ("networkit/jazz.graph", 17_899, &[3]),
        ("dimacs/rome99.gr", 132, &[2]),
        ("snap/wiki-Vote.txt", 608_389, &[2, 8]),
        ("snap/facebook_combined.txt.gz", 1_612_010, &[3]),
        ("gapbs/4.el", 105, &[2]),
    ] {
        agree(name, &job, &format!("path = '{}'", folder.join(name).display()), ranks, Some(known));
    }
}

#[test]
fn binary_packed_sparse_and_several_files() {
    let Some(job) = Ranks::new() else { return };
    let edges = random_edges(900, 30_000, 5);
    let known = Some(oracle(900, &edges).0);
    let place = &job.place;
    place.u32("edges.u32", &edges);
    agree("u32", &job, "path = 'edges.u32'", &[2, 8], known);
    let step = u64::MAX / 899;
    place.u64("sparse.u64", &edges.iter().map(|pair| pair.map(|id| id * step)).collect::<Vec<_>>());
    agree("sparse ids", &job, "path = 'sparse.u64'", &[3], known);
    let text = |part: &[[u64; 2]]| part.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>();
    fs::create_dir(place.path("parts")).expect("a folder");
    place.write("parts/a.txt", text(&edges[..10_000]));
    pack_gz(&place.path("parts/b.txt.gz"), &text(&edges[10_000..20_000]));
    place.write("parts/c.txt.zst", zstd::encode_all(text(&edges[20_000..]).as_bytes(), 1).expect("pack"));
    agree("a folder", &job, "path = 'parts'", &[3], known);
    agree("a list", &job, "path = ['parts/c.txt.zst', 'parts/a.txt', 'parts/b.txt.gz']", &[2], known);
}

/// The leader alone prints, and checks what it wrote. One of the vertices has no edge.
#[test]
fn a_graphalytics_graph() {
    let Some(job) = Ranks::new() else { return };
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["tiny.properties", "tiny.v", "tiny.e", "tiny-BFS"] {
        fs::copy(shipped.join(name), job.place.path(name)).expect("a copy");
    }
    let args = |folder| ["graphalytics", "tiny.properties", "--quiet", "--fresh", "--output", folder];
    job.place.gpugraph(&args("alone")).expect(0);
    let by_ranks = || Ran::command(&mut job.command(3, &args("ranks")));
    let ran = by_ranks().expect(0);
    assert_eq!(ran.out.matches(" yes\n").count(), 1, "{}", ran.out);
    let of = |folder: &str, name: &str| fs::read_to_string(job.place.path(folder).join(name)).expect("results");
    for name in ["BFS", "CDLP", "LCC", "PR", "SSSP", "WCC"].map(|name| format!("tiny-{name}")) {
        assert_eq!(of("ranks", &name), of("alone", &name), "{name}");
    }
    job.place.write("tiny-BFS", of("ranks", "tiny-BFS").replace(" 1\n", " 2\n"));
    ended(&by_ranks(), 8, &["bfs of tiny"]);
}

/// Weights of a graph that is kept for others, in a file of lines, beside packed edges, and with sparse ids; kept with direction, too.
#[test]
fn weights() {
    let Some(job) = Ranks::new() else { return };
    let edges = random_edges(900, 30_000, 5);
    let known = Some(oracle(900, &edges).0);
    let text = |step: u64, ending: &str| -> String {
        let line = |(i, [u, v]): (usize, &[u64; 2])| format!("{} {} {}{ending}\n", u * step, v * step, i % 100);
        edges.iter().enumerate().map(line).collect()
    };
    job.place.write("edges.wel", text(1, ""));
    agree("text", &job, "path = 'edges.wel'\nweights = 'u32'", &[2, 8], known);
    let stored = files(&job.place.workdir(), &ALL);
    assert!(stored.keys().any(|name| name.ends_with(".weights")), "{:?}", stored.keys());
    agree("with direction", &job, "path = 'edges.wel'\nweights = 'f32'\ndirected = true", &[3], known);
    job.place.write("sparse.wel", text(1 << 40, ".5"));
    agree("sparse ids", &job, "path = 'sparse.wel'\nweights = 'f32'", &[3], known);
    for name in ["edges.graph500", "edges.graph500.zst"] {
        job.place.gpugraph(&["convert", "edges.wel", name]).expect(0);
        agree(name, &job, &format!("path = '{name}'\nweights = 'u32'"), &[2, 3], known);
    }
}

fn pack_gz(path: &Path, text: &str) {
    let file = fs::File::create(path).expect("create");
    let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gz.write_all(text.as_bytes()).expect("write");
    gz.finish().expect("finish");
}

#[test]
fn generators() {
    let Some(job) = Ranks::new() else { return };
    agree("kronecker", &job, "kronecker = { scale = 14, edge_factor = 8, seed = 1 }", &[2, 3], None);
    agree("uniform", &job, "uniform = { scale = 12, edge_factor = 16, seed = 7 }", &[3], None);
}

/// Fewer edges, blocks and units than ranks.
#[test]
fn next_to_nothing_is_shared_too() {
    let Some(job) = Ranks::new() else { return };
    let place = &job.place;
    place.u32("empty.u32", &[]);
    place.write("empty.txt", "");
    place.u32("edge.u32", &[[5, 2]]);
    place.u32("loops.u32", &[[3, 3], [0, 0], [3, 3]]);
    place.u32("clique.u32", &complete(4));
    place.u64("sparse.u64", &[[1 << 60, 7], [7, 1 << 50], [1 << 50, 1 << 60]]);
    for (name, ranks, known) in [
        ("empty.u32", &[2][..], 0),
        ("empty.txt", &[3], 0),
        ("edge.u32", &[8], 0),
        ("loops.u32", &[3], 0),
        ("clique.u32", &[3], 4),
        ("sparse.u64", &[3], 1),
    ] {
        agree(name, &job, &format!("path = '{name}'"), ranks, Some(known));
    }
}

/// A graph without edges has no block that could be missing, and only its order of vertices is made again.
#[test]
fn ranks_wait_for_the_order_of_a_graph_without_edges() {
    let Some(mut job) = Ranks::new() else { return };
    job.place.u32("loops.u32", &[[3, 3], [0, 0]]);
    let of = |table: &str| format!("[job]\nworkdir = 'work'\n[input]\npath = 'loops.u32'\n[{table}]\n");
    job.place.write("job.toml", of("components"));
    job.report(0, &[]);
    job.place.write("job.toml", of("betweenness"));
    job.failing(0, "store.rename=1:sleep(500)");
    let report = job.report(3, &[]);
    assert_eq!(report["results"]["betweenness"]["pairs"], 0);
}

#[test]
fn every_algorithm_takes_an_input_without_vertices() {
    let Some(job) = Ranks::new() else { return };
    job.place.write("empty.txt", "# none");
    let tables =
        "[triangle]\n[components]\n[pagerank]\n[cdlp]\n[cores]\n[betweenness]\n[distances]\n[dfs]\nforest = true\n";
    job.place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = 'empty.txt'\n{tables}"));
    let alone = job.report(0, &[]);
    job.forget();
    let together = job.report(2, &[]);
    assert_eq!(together["results"].as_object().map(|all| all.len()), Some(8));
    assert_eq!(answer(&together), answer(&alone));
}

/// Sources that have only a self-loop: one process and ranks give the same answers, on the file and on a graph kept from it, which does
/// not contain the loop.
#[test]
fn a_source_with_only_a_self_loop() {
    let Some(job) = Ranks::new() else { return };
    job.place.write("edges.txt", "0 5\n5 9\n9 0\n9 2\n8 8\n3 3\n");
    let one = "sources = [8, 0, 3]\n";
    let tables = format!(
        "[bfs]\n{one}write = true\n[traverse]\n{one}write = true\n[sssp]\nweights = {{ unit = true }}\n{one}write = true\ntarget = 3\n\
         [betweenness]\n{one}[distances]\n{one}[pagerank]\npersonalised = [8, 0]\n[dfs]\nsource = 8\n"
    );
    for directed in [false, true] {
        let mut first = None;
        job.place.write(
            "keep.toml",
            format!("[job]\nworkdir = 'kept'\n[input]\npath = 'edges.txt'\ndirected = {directed}\n"),
        );
        job.place.gpugraph(&["run", "keep.toml", "--quiet", "--fresh"]).expect(0);
        for input in ["path = 'edges.txt'", "prepared = 'kept'"] {
            job.place.job(&format!("{input}\ndirected = {directed}"), &tables);
            for ranks in [0, 3] {
                job.forget();
                let report = job.report(ranks, &[]);
                for table in ["bfs", "traverse", "sssp", "distances"] {
                    let sources = report["results"][table]["sources"].as_array().expect("sources");
                    let reached: Vec<u64> = sources.iter().map(|source| number(source, "reached")).collect();
                    assert_eq!(reached, [1, 4, 1], "{table}, {input}, {ranks} ranks");
                }
                let found = files(&job.place.workdir(), &["out"]);
                let first = first.get_or_insert_with(|| found.clone());
                same_files(&format!("{input}, {ranks} ranks"), &found, first);
            }
        }
    }
}

/// The edges are 64 MiB.
#[test]
fn little_memory_makes_every_rank_spill_and_changes_nothing() {
    let Some(mut job) = Ranks::new() else { return };
    // Mapped files in memory would count as memory.
    job.place = Place::on_disk();
    job.place.job("kronecker = { scale = 19, edge_factor = 16, seed = 2 }", &format!("{KEEP}[limits]\nthreads = 2\n"));
    let alone = job.report(0, &[]);
    let stored = files(&job.place.workdir(), &["graph"]);
    job.forget();
    let report = job.report(3, &["--set", "limits.host_memory=48MiB"]);
    assert_eq!(answer(&report), answer(&alone), "3 ranks");
    same_files("spilled", &files(&job.place.workdir(), &["graph"]), &stored);
    let spilled = report["stages"].as_array().expect("stages").iter().find(|s| s["name"] == "partition");
    assert!(number(spilled.expect("partition"), "written") > 1 << 20, "it did not spill: {report:#}");
    assert!(
        number(&report, "limits.host_memory_peak") <= 48 << 20,
        "3 ranks went over their limit: {}",
        report["limits"]
    );
}

#[test]
fn trials_scratch_and_a_graph_that_another_job_kept() {
    let Some(job) = Ranks::new() else { return };
    let edges = random_edges(700, 24_000, 17);
    let (known, corners) = oracle(700, &edges);
    job.place.u32("edges.u32", &edges);
    fs::create_dir(job.place.path("scratch")).expect("a folder");
    job.place
        .job("path = 'edges.u32'", "[job]\nworkdir = 'work'\nkeep = true\nscratch = 'scratch'\n[run]\ntrials = 3\n");
    let report = job.report(3, &[]);
    assert_eq!(triangles(&report), known);
    assert_eq!(report["results"]["triangle"]["trials"].as_array().map(Vec::len), Some(3));
    assert_eq!(fs::read_dir(job.place.path("scratch")).expect("a folder").count(), 0, "scratch is left behind");
    fs::remove_file(job.place.path("edges.u32")).expect("remove");
    let kept = files(&job.place.workdir(), &["graph"]);
    for (n, workdir) in [(2, "two"), (0, "alone")] {
        let text = format!("[job]\nworkdir = '{workdir}'\n[input]\nprepared = 'work'\n{CORNERS}[run]\ntrials = 2\n");
        job.place.write("job.toml", text);
        let ran = job.run(n, &["--quiet"]);
        assert_eq!(ran.code, 0, "{n} ranks: {}", ran.err);
        let out = job.place.path(workdir).join("out/triangles.npy");
        assert_eq!(crate::support::npy::<u64>(&out), corners, "{n} ranks");
    }
    same_files("not theirs", &files(&job.place.workdir(), &["graph"]), &kept);
    // A damaged one is refused, by name.
    let block = job.place.workdir().join("graph/lower.000001.block");
    let mut bytes = fs::read(&block).expect("read");
    let half = bytes.len() / 2;
    bytes[half] ^= 1;
    fs::write(&block, bytes).expect("write");
    crate::ended(&job.run(3, &["--quiet", "--fresh"]), 4, &["lower.000001.block"]);
}

/// One of the ranks copies what comes by a pipe, and all read the copy.
#[test]
fn ranks_count_what_comes_by_a_pipe() {
    let Some(job) = Ranks::new() else { return };
    let edges = random_edges(300, 4000, 8);
    let text: String = edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
    job.place.write("edges.txt", &text);
    let pipe = job.place.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    job.place.job("path = 'pipe'\nformat = 'text'", "[job]\nworkdir = 'work'\n[limits]\nthreads = 1\n[triangle]\n");
    let known = oracle(300, &edges).0;
    for ranks in [3, 1] {
        job.forget();
        let (to, text) = (pipe.clone(), text.clone());
        let writer = std::thread::spawn(move || fs::write(to, text));
        assert_eq!(triangles(&job.report(ranks, &[])), known, "{ranks} ranks");
        writer.join().expect("no panic").expect("written");
        assert!(!job.place.workdir().join("spool").exists(), "the copy goes with the job's end");
    }
}

/// The line of README.md, as it stands there but for the path of the program.
#[test]
fn the_line_of_the_readme_runs_ranks() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md");
    let line = readme.lines().find(|line| line.starts_with("mpirun -n ")).expect("a line of mpirun");
    let Some(built) = crate::built().into_iter().find(|built| built.kind == crate::Kind::OpenMpi) else { return };
    let place = Place::new();
    fs::create_dir_all(place.path("tests/data")).unwrap();
    fs::create_dir(place.path("configs")).unwrap();
    for name in ["tests/data/karate.txt", "configs/triangle.toml"] {
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), place.path(name)).expect("copy");
    }
    let line = line.replace("target/release/gpugraph", built.gpugraph.to_str().expect("text"));
    let line = line.replacen("mpirun", &built.launcher, 1);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &format!("exec timeout 60 {line}")]).current_dir(place.path("")).env("TMPDIR", place.path(""));
    // Open MPI asks root whether it means it.
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let ran = Ran::command(&mut shell).expect(0);
    assert!(ran.out.starts_with("triangles 45 "), "{}", ran.out);
    let report = fs::read_to_string(place.path("gpugraph.work/karate/report.json")).expect("a report");
    assert!(report.contains("\"ranks\": 4"), "{report}");
}
