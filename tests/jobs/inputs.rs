//! Which files an input is, by the real binary: folders and patterns, many files, pipes, and files that change.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::support::{self, Place, Ran, Started, number, resumed, triangles};

/// Three files in two subfolders and one beside them; together a triangle and an edge.
fn nested() -> Place {
    let place = Place::new();
    for folder in ["in/a/deep", "in/b", "in/.git", "in/_temporary"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    for (name, text) in [
        ("in/top.csv", "0 1\n"),
        ("in/a/x.csv", "1 2\n"),
        ("in/a/deep/x.csv", "2 0\n"),
        ("in/b/y.csv", "2 3\n"),
        ("in/.git/x.csv", "7 8\n"),
        ("in/_temporary/x.csv", "7 9\n"),
        ("in/b/y.weights", "1\n"),
    ] {
        place.write(name, text);
    }
    place
}

/// The edges of an input, as `convert` writes them.
fn edges(place: &Place, args: &[&str]) -> Vec<String> {
    place.gpugraph(&[&["convert"], args, &["out.txt"]].concat()).expect(0);
    let text = fs::read_to_string(place.path("out.txt")).unwrap();
    fs::remove_file(place.path("out.txt")).unwrap();
    text.lines().map(|line| line.replace('\t', " ")).collect()
}

#[test]
fn subfolders_are_read_or_refused_and_never_left_out() {
    let place = nested();
    place.job("path = \"in\"", "[triangle]");
    let said = place.gpugraph(&["run", "job.toml", "--quiet"]).expect(3);
    assert!(
        said.error().contains("in: expected a folder of files alone, found 2 subfolders (a is the first)"),
        "{}",
        said.err
    );
    assert!(said.error().contains("recursive = true"), "{}", said.err);
    assert!(place.gpugraph(&["convert", "in", "out.txt"]).expect(3).error().contains("2 subfolders"));
    place.job("path = \"in\"\nrecursive = true", "[triangle]");
    let report = place.report(&["--quiet"]);
    assert_eq!((number(&report, "input.edges"), triangles(&report)), (4, 1));
    // In the order of their paths.
    assert_eq!(edges(&place, &["in", "--recursive"]), ["2 0", "1 2", "2 3", "0 1"]);
}

#[test]
fn patterns_in_folders() {
    let place = nested();
    // As in a shell; in folders, what begins with _ is left out.
    assert_eq!(edges(&place, &["in/*/x.csv"]), ["7 9", "1 2"]);
    assert_eq!(edges(&place, &["in/[a-z]/x.csv"]), ["1 2"]);
    assert_eq!(edges(&place, &["in/**/x.csv"]), ["2 0", "1 2"]);
    assert_eq!(edges(&place, &["in/**"]), ["2 0", "1 2", "2 3", "0 1"]);
    assert_eq!(edges(&place, &["in/**/*"]), ["2 0", "1 2", "2 3", "0 1"]);
    assert_eq!(edges(&place, &["i?/{a,b}/[xy].csv"]), ["1 2", "2 3"]);
    assert_eq!(edges(&place, &["./in/a/../*/y.*"]), ["2 3"]);
    // A name is itself before it is a pattern.
    place.write("in/a[1].csv", "5 6\n");
    place.write("in/a1.csv", "5 7\n");
    assert_eq!(edges(&place, &["in/a[1].csv"]), ["5 6"]);
    let refused = |pattern: &str, why: &str| {
        let said = place.gpugraph(&["convert", pattern, "out.txt"]).expect(3);
        assert!(said.error().contains(why), "{pattern}: {}", said.err);
    };
    refused("in/*", "expected a pattern of files alone, found 3 subfolders");
    refused("in/*/none", "expected files of this pattern, found none");
    refused("in/*/x.csv/*", "found none");
    refused("in/[a.csv", "expected a pattern, found unclosed character class");
}

#[test]
fn a_folder_that_cannot_be_looked_through_is_an_error() {
    let place = nested();
    symlink("..", place.path("in/b/up")).unwrap();
    let said = place.gpugraph(&["convert", "in", "out.txt", "--recursive"]).expect(3);
    assert!(said.error().contains("in/b/up: expected a folder below, found a link back to in"), "{}", said.err);
    place.gpugraph(&["convert", "in/**/y.csv", "out.txt"]).expect(3);
    fs::remove_file(place.path("in/b/up")).unwrap();
    symlink("nowhere", place.path("in/b/gone.csv")).unwrap();
    let said = place.gpugraph(&["convert", "in", "out.txt", "--recursive"]).expect(3);
    assert!(said.error().contains("in/b/gone.csv: expected a readable file"), "{}", said.err);
    fs::remove_file(place.path("in/b/gone.csv")).unwrap();
    if support::root() {
        return println!("SKIPPED: root reads any folder");
    }
    fs::set_permissions(place.path("in/b"), fs::Permissions::from_mode(0o000)).unwrap();
    for input in [&["in", "--recursive"][..], &["in/*/y.csv"], &["in/**/x.csv"]] {
        let said = place.gpugraph(&[&["convert"], input, &["out.txt"]].concat()).expect(3);
        assert!(said.error().contains("in/b: expected a readable"), "{}", said.err);
    }
    fs::set_permissions(place.path("in/b"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_jobs_write_is_no_part_of_an_input() {
    let place = nested();
    fs::write(place.path("in/job.toml"), "[input]\npath = \".\"\nrecursive = true\nformat = \"text\"\n[triangle]\n")
        .unwrap();
    fs::rename(place.path("in/job.toml"), place.path("job.toml")).unwrap();
    let run = || {
        let mut command = place.command(&["run", "../job.toml", "--quiet"]);
        Ran::command(command.current_dir(place.path("in"))).expect(0);
        let text = fs::read_to_string(place.path("in/gpugraph.work/job/report.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["input"]["edges"].as_u64()
    };
    assert_eq!([run(), run()], [Some(4); 2]);
}

/// Pairs of which all but the third are of two edges; the third closes a triangle or does not.
fn pairs(place: &Place, third: [u64; 2]) {
    let edges: Vec<_> = (0..1 << 17).map(|i| if i == 1300 { third } else { [[0, 1], [1, 2]][i % 2] }).collect();
    place.u32("edges.u32", &edges);
}

/// Puts another edge where no sample is taken, and the time of writing back.
fn edit(path: &Path, edge: [u32; 2], written: SystemTime) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&edge.map(u32::to_le_bytes).concat(), 1300 * 8).unwrap();
    file.set_modified(written).unwrap();
}

#[test]
fn an_edit_in_place_with_its_time_put_back_is_counted() {
    let place = Place::new();
    pairs(&place, [2, 0]);
    let path = place.path("edges.u32");
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    place.job_on(&path, "");
    assert_eq!(triangles(&place.report(&[])), 1);
    edit(&path, [2, 3], written);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
    assert_eq!(triangles(&place.report(&["--fresh"])), 0);
    edit(&path, [2, 0], written);
    // Whether it is counted anew or refused, it is not taken for the graph before.
    let ran = place.run(&[]);
    assert!(ran.code == 5 || triangles(&place.read_report()) == 1, "{}", ran.err);
}

#[test]
fn a_path_that_is_not_text_is_refused_before_anything_is_written() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let folder = place.path("").join(std::ffi::OsStr::from_bytes(b"n\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("edges.txt"), "0 1\n").unwrap();
    fs::write(folder.join("job.toml"), "[input]\npath = 'edges.txt'\n[triangle]\n").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpugraph"));
    let ran = Ran::command(command.args(["run", "job.toml"]).current_dir(&folder)).expect(2);
    assert!(ran.error().contains("UTF-8") && ran.error().contains("rename"), "{}", ran.err);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_touched_input_with_keys_of_the_same_effect_is_the_same() {
    let place = Place::new();
    pairs(&place, [2, 0]);
    let path = place.path("edges.u32");
    place.job_on(&path, "");
    place.report(&[]);
    let verify = |keys: &[&str]| {
        let sets = keys.iter().flat_map(|key| ["--set", key]);
        place.gpugraph(&["verify", "job.toml"].into_iter().chain(sets).collect::<Vec<_>>())
    };
    let same = ["input.format=u32", "input.directed=false", "input.first_id=0"];
    verify(&same).expect(0);
    fs::File::options().write(true).open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    verify(&[]).expect(0);
    verify(&same).expect(0);
    verify(&["input.format=u64"]).expect(5);
    // A kept graph is read in one way only.
    place.report(&["--set", "job.keep=true"]);
    place.write("other.toml", "[job]\nworkdir = 'other'\n[input]\nprepared = 'work'\n[bfs]\nroots = 1\n");
    place.gpugraph(&["run", "other.toml", "--quiet"]).expect(0);
    for (key, code) in [("input.first_id=0", 0), ("input.directed=false", 0)] {
        place.gpugraph(&["verify", "other.toml", "--set", key]).expect(code);
    }
}

#[test]
fn a_finished_job_whose_input_was_only_touched_is_not_counted_again() {
    let place = Place::new();
    pairs(&place, [2, 0]);
    let path = place.path("edges.u32");
    place.job_on(&path, "");
    place.report(&[]);
    let touch: [&dyn Fn(); 3] = [
        &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap(),
        &|| fs::hard_link(&path, place.path("link")).unwrap(),
        &|| fs::rename(place.path("link"), &path).unwrap(),
    ];
    for touch in touch {
        touch();
        let ran = place.run(&[]).expect(0);
        assert!(ran.err.contains("done already"), "{}", ran.err);
        let report = place.read_report();
        assert_eq!(triangles(&report), 1);
        assert!(!resumed(&report).is_empty(), "{report}");
        assert!(!place.workdir().join("graph").exists());
    }
}

#[test]
fn an_input_that_changed_under_a_run_is_read_anew_by_the_next() {
    let place = Place::new();
    pairs(&place, [2, 3]);
    let path = place.path("edges.u32");
    place.job_on(&path, "");
    let args = ["run", "job.toml", "--set", "run.device=cpu"];
    let mut command = place.command(&args);
    command.env("GPUGRAPH_FAILPOINTS", "partition.begin=1:sleep(3000)");
    command.env("GPUGRAPH_FAILPOINTS_COUNT", place.path("hits"));
    let running = Started::new(&mut command);
    let begun = Instant::now();
    while !fs::read_to_string(place.path("hits")).is_ok_and(|hits| hits.contains("partition.begin")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no partition began");
        std::thread::sleep(Duration::from_millis(5));
    }
    edit(&path, [2, 0], SystemTime::now());
    let ran = running.end().expect(3);
    assert!(ran.error().contains("the same content as in the first pass"), "{}", ran.err);
    let manifest = fs::read_to_string(place.workdir().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    // What its stages spent stands there all the same.
    assert_eq!(manifest["manifest"]["stages"], serde_json::json!({}), "{manifest}");
    assert_eq!(triangles(&place.report(&[])), 1);
}

#[test]
fn more_part_files_than_descriptors() {
    let place = Place::new();
    for folder in ["u32", "graph500", "text", "packed"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    // A wheel: each part is a spoke and the piece of the rim behind it.
    let parts = 300u32;
    for i in 0..parts {
        let edges = [[0, i + 1], [i + 1, (i + 1) % parts + 1]];
        let bytes: Vec<u8> = edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect();
        let packed = edges.iter().flat_map(|[u, v]| [u.to_le_bytes(), v.to_le_bytes(), [0; 4]]).flatten();
        let text: String = edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
        place.write(&format!("u32/{i:04}.u32"), bytes);
        place.write(&format!("graph500/{i:04}.graph500"), packed.collect::<Vec<u8>>());
        place.write(&format!("packed/{i:04}.txt.zst"), zstd::encode_all(text.as_bytes(), 1).unwrap());
        place.write(&format!("text/{i:04}.txt"), text);
    }
    for folder in ["u32", "graph500", "text", "packed"] {
        place.job(&format!("path = \"{folder}\""), &format!("[job]\nworkdir = \"work/{folder}\"\n[triangle]"));
        let script = format!(
            "ulimit -S -n 64; ulimit -H -n 64; exec \"{}\" run job.toml --set limits.threads=2 --set run.device=cpu",
            env!("CARGO_BIN_EXE_gpugraph")
        );
        let mut command = std::process::Command::new("bash");
        Ran::command(command.args(["-c", &script]).current_dir(place.path("."))).expect(0);
        let report = fs::read_to_string(place.workdir().join(folder).join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let parts = u64::from(parts);
        assert_eq!((number(&report, "input.edges"), triangles(&report)), (2 * parts, parts), "{folder}");
    }
    // Nor is a chunk's memory counted for each of them.
    place.job("path = \"u32\"", "[limits]\nhost_memory = '2GiB'\nthreads = 2\n[run]\ndevice = 'cpu'");
    let plan: serde_json::Value =
        serde_json::from_str(&place.gpugraph(&["plan", "job.toml", "--json"]).expect(0).out).unwrap();
    let stages = plan["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| stage["host_memory"].as_u64().unwrap() < 256 << 20), "{plan}");
}

/// Files of /proc say that they have 0 bytes, whatever they hold: as parts of a folder they are no empty ones.
#[test]
fn members_of_proc_in_a_folder_are_not_taken_for_empty() {
    let place = Place::new();
    let member = Path::new("/proc/sys/net/ipv4/ip_local_port_range");
    if !member.exists() {
        return println!("SKIPPED: no {}", member.display());
    }
    fs::create_dir(place.path("in")).unwrap();
    place.write("in/a.txt", "0 1\n");
    place.write("in/b.txt", "");
    symlink(member, place.path("in/c.txt")).unwrap();
    place.job("path = \"in\"", "[triangle]");
    for ran in [
        place.gpugraph(&["convert", "in", "out.txt"]),
        place.run(&["--quiet"]),
        place.gpugraph(&["convert", "in/c*", "out.txt"]),
    ] {
        let ran = ran.expect(3);
        assert!(ran.error().contains("in/c.txt: expected a file of known length"), "{}", ran.err);
        assert!(ran.error().contains("cat in/c.txt > "), "{}", ran.err);
    }
    fs::remove_file(place.path("in/c.txt")).unwrap();
    assert_eq!(edges(&place, &["in"]), ["0 1"]);
}

/// A key of `[input]` that says how edges are read either applies to the source of the job, or is refused by its name; it is never ignored.
#[test]
fn no_key_beside_another_source_is_ignored() {
    let place = Place::new();
    place.write("edges.txt", "0 1\n1 2\n2 0\n2 3\n");
    for directed in [false, true] {
        place.write(
            "keep.toml",
            format!("[job]\nworkdir = 'kept-{directed}'\n[input]\npath = 'edges.txt'\ndirected = {directed}\n"),
        );
        place.gpugraph(&["run", "keep.toml", "--quiet"]).expect(0);
    }
    let keys = [
        ("directed", "true"),
        ("directed", "false"),
        ("first_id", "0"),
        ("first_id", "1"),
        ("format", "'auto'"),
        ("weights", "'none'"),
        ("columns", "[2, 1]"),
        ("skip_lines", "0"),
        ("recursive", "false"),
        ("vertices", "'list.v'"),
        ("ids", "'number'"),
        ("expect", "{ edges = 4, ids = 4 }"),
    ];
    // The keys that apply to each source, with their values.
    for (source, table, applying) in [
        ("prepared = 'kept-false'", "[bfs]\nsources = [2]\n", &["directed = false", "first_id = 0"][..]),
        ("prepared = 'kept-true'", "[bfs]\nsources = [2]\n", &["directed = true", "first_id = 0"]),
        ("kronecker = { scale = 4 }", "[bfs]\nroots = 1\n", &["directed = true", "directed = false", "first_id = 0"]),
        ("list = { length = 9 }", "[listrank]\n", &[]),
    ] {
        for (key, value) in keys {
            let line = format!("{key} = {value}");
            place.job(&format!("{source}\n{line}"), table);
            let code = if applying.contains(&line.as_str()) { 0 } else { 2 };
            for args in [&["run", "job.toml", "--fresh", "--quiet"][..], &["plan", "job.toml"]] {
                let ran = place.gpugraph(args).expect(code);
                // A mistake of the job file is reported once.
                let reports = ran.err.matches(&format!("input.{key}")).count();
                assert!(code == 0 || ran.err.contains(key) && reports <= 1, "{source}, {line}: {}", ran.err);
            }
        }
    }
    let refused = |directed: &str, kept: &str| {
        place.job(&format!("prepared = 'kept-{kept}'\ndirected = {directed}"), "[bfs]\nsources = [2]\n");
        place.run(&["--quiet", "--fresh"]).expect(2).error().to_owned()
    };
    assert!(refused("false", "true").contains("kept-true: this is a directed graph"), "{}", refused("false", "true"));
    assert!(refused("true", "false").contains("kept-false: this is an undirected graph"));
    // A key that was changed since the results were computed.
    place.job("prepared = 'kept-true'", "[bfs]\nsources = [2]\n");
    place.run(&["--quiet", "--fresh"]).expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    place.job("prepared = 'kept-true'\ndirected = false", "[bfs]\nsources = [2]\n");
    let ran = place.gpugraph(&["verify", "job.toml"]).expect(2);
    assert!(ran.out.contains("this is a directed graph"), "{}", ran.out);
}

/// A job on a kept graph keeps none, also with `keep = true`, so another job can't read the graph from it.
#[test]
fn a_workdir_of_a_job_on_a_kept_graph_is_no_source() {
    let place = Place::new();
    place.write("edges.txt", "0 1\n1 2\n2 0\n");
    place.write("keep.toml", "[job]\nworkdir = 'kept'\n[input]\npath = 'edges.txt'\n");
    place.gpugraph(&["run", "keep.toml", "--quiet"]).expect(0);
    place
        .write("second.toml", "[job]\nworkdir = 'second'\nkeep = true\n[input]\nprepared = 'kept'\n[bfs]\nroots = 1\n");
    place.gpugraph(&["run", "second.toml", "--quiet"]).expect(0);
    place.job("prepared = 'second'", "[bfs]\nroots = 1\n");
    let ran = place.run(&["--quiet"]).expect(3);
    let expected = format!("found a job on the graph of {}; name that workdir", place.path("kept").display());
    assert!(ran.error().contains(&expected), "{}", ran.err);
}
