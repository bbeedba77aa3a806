//! Input by standard input, pipes and process substitution, by the real binary: the same answer as of a file, also after kills.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, Place, Ran, Started, answer, environment_of, random_edges, triangles};

const SEED: u64 = 41;

/// A place with a graph as text, and a job of that text by standard input.
fn piped() -> (Place, PathBuf, Vec<[u64; 2]>) {
    let place = Place::new();
    let edges = random_edges(300, 6000, SEED);
    let text = edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>();
    let file = place.write("edges.txt", text);
    place.job("path = '-'\nformat = 'text'", "");
    (place, file, edges)
}

/// Runs the job with a file as its standard input.
fn run_from(place: &Place, stdin: &Path, more: &[&str]) -> Ran {
    run_failing_from(place, stdin, "", more)
}

fn run_failing_from(place: &Place, stdin: &Path, failpoints: &str, more: &[&str]) -> Ran {
    let mut command = place.command(&[&["run", "job.toml"], more].concat());
    Ran::command(command.env("GPUGRAPH_FAILPOINTS", failpoints).stdin(File::open(stdin).unwrap()))
}

/// Runs a line of a shell in the place, where `gpugraph` is the binary.
fn bash(place: &Place, line: &str) -> Ran {
    let mut command = Command::new("bash");
    environment_of(&place.command(&[]), &mut command);
    let line = format!("set -o pipefail; gpugraph() {{ {} \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_gpugraph"));
    Ran::command(command.args(["-c", &line]).current_dir(place.path("")).stdin(Stdio::null()))
}

/// The answer of a job on the file itself.
fn of_file(file: &Path) -> serde_json::Value {
    let other = Place::new();
    other.job_on(file, "");
    other.report(&["--quiet"])
}

/// What may not depend on how the edges came: all but the names of inputs.
fn same_graph(found: &serde_json::Value, expected: &serde_json::Value) {
    let [mut found, mut expected] = [answer(found), answer(expected)];
    for report in [&mut found, &mut expected] {
        report[2].as_object_mut().unwrap().remove("path");
    }
    assert_eq!(found, expected);
}

#[test]
fn a_run_from_standard_input_has_the_answer_of_the_file() {
    let (place, file, edges) = piped();
    run_from(&place, &file, &[]).expect(0);
    let report = place.read_report();
    same_graph(&report, &of_file(&file));
    assert_eq!(triangles(&report), support::oracle(300, &edges).0);
    assert_eq!(report["input"]["path"], "-");
    assert!(!place.workdir().join("spool").exists());
    // By a pipe, packed, and by the other names.
    for line in [
        "gzip -c edges.txt | gpugraph run job.toml --fresh",
        "cat edges.txt | gpugraph run job.toml --fresh --set input.path=/dev/stdin",
        "gpugraph run job.toml --fresh --set input.path=<(gzip -dc <(gzip -c edges.txt))",
    ] {
        bash(&place, line).expect(0);
        let found = place.read_report();
        assert_eq!(answer(&found)[0], answer(&report)[0], "{line}");
        assert_eq!(answer(&found)[1], answer(&report)[1], "{line}");
    }
}

#[test]
fn a_run_from_a_named_pipe_and_one_of_a_list() {
    let (place, file, edges) = piped();
    Command::new("mkfifo").arg(place.path("pipe.txt")).status().unwrap();
    place.job("path = 'pipe.txt'", "");
    bash(&place, "cat edges.txt > pipe.txt & gpugraph run job.toml; code=$?; wait; exit $code").expect(0);
    same_graph(&place.read_report(), &of_file(&file));
    let (half, other) = edges.split_at(edges.len() / 2);
    let text = |edges: &[[u64; 2]]| edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>();
    place.write("half.txt", text(half));
    let other = place.write("other.txt", text(other));
    place.job("path = ['half.txt', '-']\nformat = 'text'", "[job]\nworkdir = 'list'");
    run_from(&place, &other, &[]).expect(0);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(place.path("list/report.json")).unwrap()).unwrap();
    assert_eq!(triangles(&report), support::oracle(300, &edges).0);
    place.job("path = ['-', '/dev/stdin']\nformat = 'text'", "[job]\nworkdir = 'twice'");
    assert!(run_from(&place, &other, &[]).expect(2).error().contains("standard input twice"));
}

#[test]
fn killed_while_counting_it_carries_on_without_its_input() {
    let (place, file, edges) = piped();
    for place_of_death in ["partition.begin=1:kill", "unit.done=1:kill"] {
        run_failing_from(&place, &file, place_of_death, &["--fresh"]).expect(137);
        assert!(place.workdir().join("spool/0.txt").is_file());
        let ran = place.run(&[]).expect(0);
        assert!(ran.err.contains("that came from standard input before"), "{}", ran.err);
        assert_eq!(triangles(&place.read_report()), support::oracle(300, &edges).0);
        assert!(!place.workdir().join("spool").exists());
    }
}

#[test]
fn something_else_piped_into_an_unfinished_job_is_refused() {
    let (place, file, edges) = piped();
    run_failing_from(&place, &file, "partition.begin=1:kill", &[]).expect(137);
    let mut longer = fs::read(&file).unwrap();
    longer.extend_from_slice(b"0 1\n");
    let other = place.write("longer.txt", &longer);
    let ran = run_from(&place, &other, &[]).expect(5);
    assert!(ran.error().contains(&format!("differ at byte {}", longer.len() - 4)), "{}", ran.err);
    longer[0] ^= 1;
    place.write("longer.txt", &longer[..100]);
    assert!(run_from(&place, &other, &[]).expect(5).error().contains("differ at byte 0"));
    // The same again, and then it is done.
    run_from(&place, &file, &[]).expect(0);
    assert_eq!(triangles(&place.read_report()), support::oracle(300, &edges).0);
}

#[test]
fn killed_while_it_reads_the_incomplete_copy_is_thrown_away() {
    let (place, file, edges) = piped();
    for place_of_death in ["spool.read=1:kill", "spool.fsync=1:kill", "spool.rename=1:kill"] {
        run_failing_from(&place, &file, place_of_death, &[]).expect(137);
        let left: Vec<_> = fs::read_dir(place.workdir().join("spool")).unwrap().flatten().collect();
        assert!(left.len() == 1 && left[0].file_name().to_str().unwrap().starts_with("0.tmp-"), "{left:?}");
        // Nothing is piped in this time: what was read is not taken for all.
        let ran = place.run(&[]).expect(3);
        assert!(ran.error().contains("standard input: expected edges, found no bytes"), "{}", ran.err);
        assert!(ran.err.contains("an incomplete copy of an earlier run is deleted"), "{}", ran.err);
    }
    run_failing_from(&place, &file, "spool.fsync=1:eio", &[]).expect(10);
    run_failing_from(&place, &file, "spool.fsync=1:enospc", &[]).expect(6);
    assert!(!place.workdir().join("spool").exists());
    run_from(&place, &file, &[]).expect(0);
    assert_eq!(triangles(&place.read_report()), support::oracle(300, &edges).0);
}

#[test]
fn a_copy_that_was_damaged_is_not_counted() {
    let (place, file, edges) = piped();
    run_failing_from(&place, &file, "partition.begin=1:kill", &[]).expect(137);
    let copy = place.workdir().join("spool/0.txt");
    let mut bytes = fs::read(&copy).unwrap();
    bytes[500] ^= 1;
    fs::write(&copy, bytes).unwrap();
    let ran = run_from(&place, &file, &[]).expect(0);
    assert!(ran.err.contains("is not as it was written"), "{}", ran.err);
    assert_eq!(triangles(&place.read_report()), support::oracle(300, &edges).0);
}

#[test]
fn a_finished_job_answers_for_what_is_piped_in_now() {
    let (place, file, _) = piped();
    run_from(&place, &file, &[]).expect(0);
    let before = fs::read(place.workdir().join("report.json")).unwrap();
    let unchanged = |ran: Ran, code: i32, what: &str| {
        let ran = ran.expect(code);
        assert!(ran.err.contains(what), "{}", ran.err);
        assert_eq!(fs::read(place.workdir().join("report.json")).unwrap(), before);
        assert!(!place.workdir().join("spool").exists());
    };
    // The same, or nothing: done already. Something else, also as long: refused.
    unchanged(run_from(&place, &file, &[]), 0, "done already");
    unchanged(place.run(&[]), 0, "done already");
    let mut other = fs::read(&file).unwrap();
    other.truncate(other.len() - 20);
    let path = place.write("other.txt", &other);
    unchanged(run_from(&place, &path, &[]), 5, "finished results of");
    other = fs::read(&file).unwrap();
    let digit = other.iter().position(|c| *c == b'1').unwrap();
    other[digit] = b'2';
    place.write("other.txt", &other);
    unchanged(run_from(&place, &path, &[]), 5, "finished results of");
    unchanged(run_from(&place, &file, &[]), 0, "done already");
    // More than was counted can't be, without its input.
    let ran = place.run(&["--set", "triangle.per_vertex=true"]).expect(3);
    assert!(ran.error().contains("standard input: expected edges"), "{}", ran.err);
    let verdict = place.gpugraph(&["verify", "job.toml"]).expect(0);
    assert!(verdict.out.contains("the input came by a pipe and is gone"), "{}", verdict.out);
    run_from(&place, &path, &["--fresh"]).expect(0);
}

#[test]
fn a_finished_job_that_reads_its_pipe_in_another_way_has_no_old_answer() {
    let place = Place::new();
    let path = place.write("path.txt", "0 1\n1 2\n2 3\n");
    let nothing = place.write("nothing.txt", "");
    place.write("ids.txt", "0\n1\n2\n3\n");
    place.write("more.txt", "0 2\n");
    let set = |keys: &[&str]| keys.iter().flat_map(|key| ["--set".to_owned(), (*key).to_owned()]).collect::<Vec<_>>();
    let run = |stdin: &Path, keys: &[&str]| {
        let set = set(keys);
        run_from(&place, stdin, &set.iter().map(String::as_str).collect::<Vec<_>>())
    };
    place.job("path = '-'\nformat = 'text'", "[bfs]\nsources = [1]\nwrite = true\n");
    run(&path, &[]).expect(0);
    run(&path, &[]).expect(0);
    run(&nothing, &[]).expect(0);
    run(&path, &["input.directed=true"]).expect(5);
    run(&nothing, &["input.directed=true"]).expect(3);
    let said = place.gpugraph(&["verify", "job.toml", "--set", "input.directed=true"]);
    assert_eq!(said.code, 5, "{}{}", said.out, said.err);
    // Files beside the stream may have changed, at the same size.
    for [key, file, other] in
        [["vertices = 'ids.txt'", "ids.txt", "0\n1\n2\n3\n7\n"], ["path = ['-', 'more.txt']", "more.txt", "0 3\n"]]
    {
        fs::remove_dir_all(place.workdir()).unwrap();
        let input = if key.starts_with("path") { key.to_owned() } else { format!("path = '-'\n{key}") };
        place.job(&format!("{input}\nformat = 'text'"), "[bfs]\nsources = [1]\nwrite = true\n");
        run(&path, &[]).expect(0);
        run(&path, &[]).expect(0);
        place.write(file, other);
        run(&path, &[]).expect(5);
        run(&nothing, &[]).expect(3);
    }
}

#[test]
fn a_signal_ends_the_waiting_for_a_pipe_that_stays_open() {
    let (place, ..) = piped();
    for (number, format) in [(15, "text"), (2, "u32")] {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = place.command(&["run", "job.toml", "--set", &format!("input.format={format}")]);
        let mut job = Started::new(command.stdin(reader));
        assert!(job.until("reading standard input"));
        let begun = Instant::now();
        job.signal(number);
        let ran = job.end().expect(75);
        assert!(begun.elapsed() < Duration::from_secs(8), "{}", ran.err);
        drop(writer);
        let status = place.gpugraph(&["status", "job.toml"]).expect(0);
        assert!(status.out.contains("stopped by"), "{}", status.out);
    }
}

#[test]
fn a_plan_reads_nothing_of_standard_input() {
    let (place, file, _) = piped();
    let ran = bash(&place, "{ gpugraph plan job.toml; echo $?; cat > rest.txt; } < edges.txt").expect(0);
    assert!(
        ran.out.ends_with("2\n") && ran.err.contains("standard input: can't be planned"),
        "{} {}",
        ran.out,
        ran.err
    );
    assert_eq!(fs::read(place.path("rest.txt")).unwrap(), fs::read(&file).unwrap());
    place.gpugraph(&["plan", "job.toml", "--set", "input.expect={ edges = 6000, ids = 300 }"]).expect(0);
    let ran = place.gpugraph(&["run", "job.toml", "--set", "input.format=auto"]).expect(2);
    assert!(ran.error().contains("standard input: its format is unknown"), "{}", ran.err);
}

#[test]
fn convert_from_standard_input_writes_what_it_writes_of_the_file() {
    let (place, file, _) = piped();
    for out in ["out.u32", "out.txt", "out.graph", "out.mtx", "out.npy", "out.u64.gz"] {
        place.gpugraph(&["convert", "edges.txt", out]).expect(0);
        let expected = fs::read(place.path(out)).unwrap();
        fs::remove_file(place.path(out)).unwrap();
        let mut command = place.command(&["convert", "-", out, "--from", "text"]);
        Ran::command(command.stdin(File::open(&file).unwrap())).expect(0);
        assert_eq!(fs::read(place.path(out)).unwrap(), expected, "{out}");
        bash(&place, &format!("gzip -c edges.txt | gpugraph convert - {out} --from text")).expect(0);
        assert_eq!(fs::read(place.path(out)).unwrap(), expected, "{out}");
    }
    let hidden = |place: &Place| {
        let names = fs::read_dir(place.path("")).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).count()
    };
    assert_eq!(hidden(&place), 0);
    let ran = bash(&place, "printf '0 1\\n1 2\\nx y\\n' | gpugraph convert - bad.u32 --from text").expect(3);
    assert!(ran.error().contains("standard input:3: "), "{}", ran.err);
    assert!(place.gpugraph(&["convert", "-", "no.u32"]).expect(2).error().contains("--from"));
    assert!(place.gpugraph(&["convert", "-", "no.u32", "--from", "u32"]).expect(3).error().contains("expected edges"));
    // What a kill leaves goes with the next run of the line.
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut child = place.command(&["convert", "-", "out.u32", "--from", "text"]).stdin(reader).spawn().unwrap();
    writer.write_all(b"0 1\n").unwrap();
    let begun = Instant::now();
    while hidden(&place) == 0 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(hidden(&place), 1);
    place.gpugraph(&["convert", "edges.txt", "out.u32"]).expect(0);
    assert_eq!(hidden(&place), 0);
}

#[test]
fn a_size_0_file_of_proc_is_read() {
    let place = Place::new();
    // Two numbers on a line.
    let map = Path::new("/proc/sys/net/ipv4/ip_local_port_range");
    let Ok(text) = fs::read_to_string(map) else { return println!("SKIPPED: no {}", map.display()) };
    assert_eq!(map.metadata().unwrap().len(), 0);
    let file = place.write("map.txt", &text);
    let convert = |from: &Path, to: &str| {
        let from = from.display().to_string();
        place.gpugraph(&["convert", &from, to, "--from", "text", "--to", "text"]).expect(0);
        fs::read_to_string(place.path(to)).unwrap()
    };
    let found = convert(map, "a.txt");
    assert_eq!(found, convert(&file, "b.txt"));
    assert_eq!(found.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn a_job_whose_input_is_piped_in_is_not_submitted() {
    let (place, _, _) = piped();
    let submit = ["submit", "job.toml", "--scheduler", "slurm", "--print"];
    let ran = bash(&place, &format!("gpugraph {} < edges.txt", submit.join(" "))).expect(2);
    assert!(ran.error().contains("can't pipe the input into a job"), "{}", ran.err);
    assert_eq!(ran.out, "");
    place.gpugraph(&[&submit[..], &["--set", "input.path=edges.txt"]].concat()).expect(0);
}
