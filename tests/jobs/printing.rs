//! What commands print on stdout, and where that fails.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Place, Ran};
use serde_json::Value;

/// A job that is done, beside an edge list.
fn done() -> Place {
    let place = Place::new();
    let edges = place.write("a.txt", "0 1\n1 2\n2 0\n");
    place.job_on(&edges, "[run]\ndevice = 'cpu'");
    place.run(&["--quiet"]).expect(0);
    place
}

/// Every command that prints.
const LINES: [&[&str]; 11] = [
    &["run", "job.toml", "--quiet"],
    &["plan", "job.toml"],
    &["status", "job.toml", "--json"],
    &["verify", "job.toml"],
    &["verify", "job.toml", "--json"],
    &["submit", "job.toml", "--scheduler", "slurm", "--print"],
    &["convert", "a.txt", "b.txt"],
    &["generate", "uniform", "--scale", "4", "-o", "c.u32"],
    &["devices"],
    &["completions", "bash"],
    &["man"],
];

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let place = done();
    let into_nothing = |line: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Ran::command(place.command(line).stdout(writer))
    };
    for line in LINES {
        let ran = into_nothing(line).expect(0);
        assert!(!ran.err.contains("error"), "{line:?}: {}", ran.err);
    }
    // What a check found still counts.
    let result = place.workdir().join("report.json");
    fs::write(&result, "{}").unwrap();
    for line in [&["verify", "job.toml"][..], &["verify", "job.toml", "--json"]] {
        assert!(into_nothing(line).expect(4).error().contains("report.json"));
    }
    into_nothing(&["clean", "work", "--all"]).expect(0);
}

#[test]
fn a_stdout_that_is_full_is_not_taken_for_the_workdir() {
    let place = done();
    for line in LINES {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::command(place.command(line).stdout(Stdio::from(full)));
        if ["run", "convert", "generate"].contains(&line[0]) {
            // Their answer is a file, which is there.
            assert!(!ran.expect(0).err.contains("error"), "{line:?}");
            continue;
        }
        let ran = ran.expect(10);
        let error = ran.error();
        assert!(error.starts_with("error: stdout: ") && !error.contains("workdir"), "{line:?}: {error}");
    }
}

#[test]
fn man_prints_every_page_that_it_refers_to() {
    let text = Place::new().gpugraph(&["man"]).expect(0).out;
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(".TH ")?.split(' ').next()).collect();
    assert_eq!(titles[0], "gpugraph");
    let at =
        |name: &str| titles.iter().position(|title| *title == name).unwrap_or_else(|| panic!("{name}: {titles:?}"));
    let generate = at("gpugraph-generate");
    assert_eq!(titles[generate + 1], "gpugraph-generate-kronecker");
    assert_eq!(at("gpugraph-convert"), at("gpugraph-generate-list") + 1);
    // As in `gpugraph\-generate\-kronecker(1)`.
    for word in text.split_whitespace().filter_map(|word| word.strip_suffix("(1)")) {
        at(&word.replace('\\', ""));
    }
}

#[test]
fn the_error_that_ends_a_run_is_in_its_log_and_has_its_format() {
    let place = Place::new();
    let log = || fs::read_to_string(place.workdir().join("run.log")).unwrap();
    place.job("path = 'a.txt'", "[run]\ndevice = 'cpu'");
    place.write("a.txt", "0 1\n1 x\n");
    let ran = place.run(&[]).expect(3);
    let cause = ran.error().strip_prefix("error: ").unwrap();
    assert!(cause.contains("a.txt:2"), "{cause}");
    assert!(log().ends_with(&format!("ERROR {cause}\n")), "{}", log());
    assert_eq!(ran.err.matches(cause).count() + log().matches(cause).count(), 2, "{}{}", ran.err, log());

    // As JSON it is one of the lines, and the only one that neither --quiet nor the environment keeps back.
    let json = |more: &[&str], filter: &str| {
        fs::remove_file(place.workdir().join("run.log")).unwrap();
        let line = [&["run", "job.toml", "--log-format", "json"], more].concat();
        let ran = Ran::command(place.command(&line).env("GPUGRAPH_LOG", filter)).expect(3);
        let lines: Vec<Value> = ran.err.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let last = lines.last().unwrap();
        assert_eq!((last["level"].as_str(), last["message"].as_str()), (Some("ERROR"), Some(cause)), "{}", ran.err);
        // The two lines may have different times.
        let logged: Value = serde_json::from_str(log().lines().last().unwrap()).unwrap();
        assert!(ran.err.matches("ERROR").count() == 1 && logged["message"] == cause, "{}", log());
        lines.len()
    };
    assert!(json(&[], "info") > 1);
    assert_eq!(json(&["--quiet"], "warn"), 1);
    assert_eq!(json(&[], "off"), 1);

    // One that was not begun has no log, and no other's.
    let before = log();
    let ran = place.gpugraph(&["run", "none.toml", "--log-format", "json"]).expect(2);
    assert!(serde_json::from_str::<Value>(&ran.err).unwrap()["message"].as_str().unwrap().contains("none.toml"));
    assert_eq!(log(), before);
}

/// A launcher that sees the exit code before it reads the last line may drop that.
#[test]
fn a_process_of_a_launcher_stays_until_its_last_line_is_read() {
    let place = Place::new();
    let mut command = place.command(&["run", "none.toml"]);
    command.env("OMPI_COMM_WORLD_SIZE", "1").env("OMPI_COMM_WORLD_RANK", "0").stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut stderr = child.stderr.take().expect("a pipe");
    while gpugraph::internals::store::os::unread(&stderr).expect("a pipe") == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let printed = Instant::now();
    std::thread::sleep(Duration::from_millis(100));
    let ended = child.try_wait().expect("a state").is_some();
    // It waits a second, which a machine that is overloaded may take for this thread alone.
    assert!(!ended || printed.elapsed() > Duration::from_millis(900), "ended {:?} after it printed", printed.elapsed());
    let mut text = String::new();
    stderr.read_to_string(&mut text).expect("text");
    assert!(text.contains("none.toml"), "{text}");
    assert_eq!(child.wait().expect("an end").code(), Some(2));
}

#[test]
fn control_characters_of_an_input_reach_no_terminal() {
    let place = Place::new();
    let edges = place.write("names.txt", "a\u{1b}[2Jb c\nc d\nd a\u{1b}[2Jb\n");
    place.job_on(&edges, "[run]\ndevice = 'cpu'\n");
    let set = |key: &str| place.run(&["--set", "input.ids=string", "--set", key]);
    let clean = |ran: &Ran| {
        let shown = format!("{}{}", ran.out, ran.err);
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    };
    clean(&set("triangle.per_vertex=true").expect(0));
    let names = fs::read_to_string(place.workdir().join("out/ids.txt")).unwrap();
    assert!(names.starts_with("a\u{1b}[2Jb\n"), "data stay as they are: {names:?}");
    // Escaped in the job file, an absent source and one that is there.
    for (source, code) in [(r"e\u001b[2J", 3), (r"a\u001b[2Jb", 0)] {
        place.job_on(&edges, &format!("[bfs]\nsources = [\"{source}\"]\n[run]\ndevice = 'cpu'\n"));
        clean(&set("run.trials=1").expect(code));
        for command in ["plan", "status", "verify"] {
            clean(&place.gpugraph(&[command, "job.toml", "--set", "input.ids=string"]));
        }
    }
    let log = fs::read_to_string(place.workdir().join("run.log")).unwrap();
    assert!(!log.contains('\u{1b}'), "{log}");
}
