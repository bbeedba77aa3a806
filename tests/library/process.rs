//! Locks, signals and the log, seen from outside the process.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gpugraph::internals::comm::Comm;
use gpugraph::internals::error::Error;
use gpugraph::internals::formats::{Edges, FileSearch, Input, Unwatched, Visitor};
use gpugraph::internals::generate::Generator;
use gpugraph::internals::job::state::lock::{Liveness, Lock, Owner};
use gpugraph::internals::list::{Generated, Kind, ListSource};
use gpugraph::internals::memory::Budget;
use gpugraph::internals::prepare::relabel::relabel;
use gpugraph::internals::process::log::Format;
use gpugraph::internals::process::progress::{Progress, Unit};
use gpugraph::internals::process::{log, signals};

/// Silence of an owner elsewhere that counts as death.
const SILENCE: Duration = Duration::from_secs(20);

/// Takes edges and does nothing with them.
struct Nothing;

impl Visitor for Nothing {
    fn visit(&mut self, _: Edges<'_>, _: &[u32]) -> gpugraph::Result<()> {
        Ok(())
    }
}

/// What the tests below run in a process of its own. Says `ready` on stdout when it has come to its place.
#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child() {
    let (Ok(what), Some(dir)) = (std::env::var("CHILD"), std::env::var_os("CHILD_DIR")) else { return };
    let dir = PathBuf::from(dir);
    match what.as_str() {
        "hold" => {
            let _lock = Lock::acquire(&dir).unwrap();
            println!("ready");
            std::thread::sleep(Duration::from_secs(60));
        }
        "wait" => {
            signals::install().unwrap();
            println!("ready");
            loop {
                if let Err(error) = signals::check() {
                    println!("{error}");
                    // Work that never ends, unless a second signal comes.
                    std::thread::sleep(Duration::from_secs(if dir.join("stubborn").exists() { 60 } else { 1 }));
                    std::process::exit(error.exit_code().into());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        "text" | "json" | "quiet" => {
            log::init(if what == "json" { Format::Json } else { Format::Text }, what == "quiet", true);
            tracing::info!("before the workdir is known");
            log::attach(&dir).expect("a log");
            tracing::warn!(key = "value", "beware");
            let progress = Progress::new(Duration::from_millis(300));
            progress.set_run(&dir, 0, Instant::now());
            let stage = progress.stage("count", 1000, Unit::Units);
            stage.advance(250);
            std::thread::sleep(Duration::from_millis(800));
            stage.advance(750);
            stage.finish();
            drop(progress.stage("fail", 0, Unit::Bytes));
        }
        "threads" => {
            let input = |name: &str, text: &[u8]| {
                fs::write(dir.join(name), text).unwrap();
                Input::find(&[dir.join(name)], None, FileSearch::default()).unwrap()
            };
            let packed = zstd::encode_all(&b"0 1\n"[..], 1).unwrap();
            let lines = "2 3 4 5 6 7 8\n".repeat(8);
            let inputs = [
                input("a.txt", b"0 1\n"),
                input("a.txt.zst", &packed),
                input("a.graph", format!("8 28\n{lines}").as_bytes()).with_chunk(16),
                Input::generated(Generator::kronecker(4, 2.0, 1).unwrap()),
            ];
            for input in inputs {
                let error = input.scan(&mut [Nothing, Nothing], &Unwatched).unwrap_err();
                assert_eq!(error.exit_code(), 7, "{error}");
            }
            let list = ListSource::generated(Generated::new(1 << 12, Kind::Random, 1).unwrap()).with_chunk(1 << 10);
            let error = list.scan(0..1 << 12, 2, &Unwatched, &|_, _| Ok(())).unwrap_err();
            assert_eq!(error.exit_code(), 7, "{error}");
            let budget = Budget::new(1 << 30, 2).unwrap();
            let degrees = budget.zeroed(4, "degrees").unwrap();
            let error = relabel(degrees, 1, 2, &budget, &Comm::Solo).unwrap_err();
            assert_eq!(error.exit_code(), 7, "{error}");
            println!("ready");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn threads_that_do_not_start_are_errors_and_no_panics() {
    let dir = tempfile::tempdir().unwrap();
    // No stack has that size. The test itself runs in the thread of `main`.
    let mut child = command("threads", dir.path());
    let output = child.arg("--test-threads=1").env("RUST_MIN_STACK", "1152921504606846976").output().unwrap();
    assert!(output.status.success() && output.stdout.windows(5).any(|word| word == b"ready"), "{output:?}");
}

fn command(what: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process::child", "--ignored", "--nocapture"]);
    command.env("CHILD", what).env("CHILD_DIR", dir).env_remove("GPUGRAPH_LOG");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts the child and waits until it is in its place.
fn start(what: &str, dir: &Path) -> Child {
    let mut child = command(what, dir).spawn().unwrap();
    until(&mut child, b"ready\n");
    child
}

/// Reads what the child prints, up to `end`.
fn until(child: &mut Child, end: &[u8]) {
    // Byte by byte, so that nothing of what follows is swallowed by a buffer.
    let stdout = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(end) {
        let mut byte = [0];
        stdout.read_exact(&mut byte).expect("the child ended early");
        seen.push(byte[0]);
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap();
    assert!(status.success());
}

fn wait(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
            panic!("the child did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn busy_owner(workdir: &Path) -> String {
    match Lock::acquire(workdir) {
        Err(error @ Error::Busy { .. }) => {
            assert_eq!(error.exit_code(), 5);
            error.to_string()
        }
        other => panic!("expected Busy, got {other:?}"),
    }
}

#[test]
fn a_held_workdir_is_refused_with_host_and_pid_and_taken_over_from_a_killed_owner() {
    let dir = tempfile::tempdir().unwrap();
    let workdir = dir.path().join("deep/work");
    let holder = start("hold", &workdir);
    let said = busy_owner(&workdir);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(said.contains(&format!("pid {} on host {}", holder.id(), host.trim())), "{said}");
    let owner = Lock::owner(&workdir).unwrap();
    assert_eq!((owner.pid, owner.liveness()), (holder.id(), Liveness::Alive));

    signal(&holder, "KILL");
    assert_eq!(wait(holder).status.signal(), Some(9));
    assert_eq!(Lock::owner(&workdir).unwrap().liveness(), Liveness::Dead);
    let start = Instant::now();
    let lock = acquire(&workdir).unwrap();
    assert!(start.elapsed() < SILENCE, "a dead process of this host is known at once");
    assert_eq!(Lock::owner(&workdir).unwrap().pid, std::process::id());
    let said = busy_owner(&workdir);
    assert!(said.contains(&format!("pid {}", std::process::id())), "not even the same process twice: {said}");
    drop(lock);
    assert_eq!(Lock::owner(&workdir), None);
    drop(acquire(&workdir).unwrap());
}

#[test]
fn of_many_threads_one_gets_the_workdir() {
    let dir = tempfile::tempdir().unwrap();
    let barrier = std::sync::Barrier::new(8);
    let got: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| (barrier.wait(), Lock::acquire(dir.path())).1)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(got.iter().filter(|lock| lock.is_ok()).count(), 1);
}

/// Takes the lock, which is not free for a moment where another test starts a process just then: until that begins it has
/// all files of this one.
fn acquire(workdir: &Path) -> gpugraph::Result<Lock> {
    let again = || {
        std::thread::sleep(Duration::from_millis(50));
        Lock::acquire(workdir)
    };
    (0..10).fold(Lock::acquire(workdir), |taken, _| taken.or_else(|_| again()))
}

/// Leaves the record of an owner elsewhere, made from this process's own.
fn leave_record(workdir: &Path, change: impl Fn(&mut Owner)) {
    let lock = acquire(workdir).unwrap();
    let mut owner = Lock::owner(workdir).unwrap();
    drop(lock);
    change(&mut owner);
    fs::write(workdir.join("lock.owner.json"), serde_json::to_vec(&owner).unwrap()).unwrap();
}

#[test]
fn owners_that_must_be_dead_are_known_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let known_at_once = |what: &str, change: fn(&mut Owner)| {
        leave_record(dir.path(), change);
        let start = Instant::now();
        assert!(acquire(dir.path()).is_ok(), "{what}");
        assert!(start.elapsed() < SILENCE, "{what}");
    };
    known_at_once("a pid used again", |o| o.start += 1);
    known_at_once("a restart of the machine", |o| o.boot = "another".into());
    known_at_once("a container that is gone", |o| o.namespace = "pid:[1]".into());
    known_at_once("no such process", |o| o.pid = 4_194_305);
    for torn in ["", "{", "null", "{\"host\": 1}"] {
        fs::write(dir.path().join("lock.owner.json"), torn).unwrap();
        assert!(acquire(dir.path()).is_ok(), "record {torn:?}");
    }
}

#[test]
fn an_owner_on_another_host_lives_as_long_as_its_heart_beats() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = |owner: &mut Owner| {
        owner.host = "elsewhere".into();
        owner.boot = "another".into();
        owner.scheduler_job = Some("12".into());
    };
    leave_record(dir.path(), elsewhere);
    assert_eq!(Lock::owner(dir.path()).unwrap().liveness(), Liveness::Unknown);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            fs::write(dir.path().join("lock"), "00000000000000000042\n").unwrap();
        });
        busy_owner(dir.path())
    });
    assert!(said.contains("on host elsewhere") && said.contains("scheduler job 12"), "{said}");
    let start = Instant::now();
    let lock = acquire(dir.path()).unwrap();
    assert!(start.elapsed() >= SILENCE, "silence must last before it counts");
    assert_eq!(Lock::owner(dir.path()).unwrap().pid, std::process::id());
    drop(lock);
}

#[test]
fn the_first_signal_asks_and_the_second_ends() {
    for name in ["TERM", "INT", "USR1", "XCPU", "HUP"] {
        let dir = tempfile::tempdir().unwrap();
        let child = start("wait", dir.path());
        signal(&child, name);
        let output = wait(child);
        assert_eq!(output.status.code(), Some(75), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(&format!("stopped by SIG{name}")), "{output:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("stubborn"), "").unwrap();
    let mut child = start("wait", dir.path());
    // Twice within a second, as `timeout` and job scripts do it, is once.
    signal(&child, "TERM");
    signal(&child, "TERM");
    until(&mut child, b"\n");
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "TERM");
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "INT");
    let start = Instant::now();
    assert_eq!(wait(child).status.code(), Some(75));
    // It would sleep for a minute.
    assert!(start.elapsed() < Duration::from_secs(30));
}

fn lines(text: &[u8]) -> Vec<String> {
    // The test harness prints on stdout only, so stderr is the log alone.
    BufReader::new(text).lines().map(Result::unwrap).collect()
}

#[test]
fn the_log_is_on_stderr_and_in_the_workdir() {
    let dir = tempfile::tempdir().unwrap();
    let output = command("text", dir.path()).output().unwrap();
    let text = lines(&output.stderr);
    let stamp = regex_free_stamp(&text[0]);
    assert!(stamp.ends_with("  INFO before the workdir is known"), "{text:?}");
    assert!(text[1].ends_with("Z  WARN beware key=\"value\""), "{text:?}");
    let has = |part: &str| assert!(text.iter().any(|line| line.contains(part)), "{part}: {text:#?}");
    has(" INFO count 25.0 % rate=");
    has(" INFO fail stopped early");
    let ticks = text.iter().filter(|line| line.contains("count 25.0 %")).count();
    assert!((1..=3).contains(&ticks), "one line an interval: {text:#?}");
    let log = || fs::read(dir.path().join("run.log")).unwrap();
    // Stages that take less than two seconds begin and end in `run.log` alone.
    let in_log = lines(&log());
    for part in ["count begins work=1000 units", "count done work=1000 units time="] {
        assert!(
            in_log.iter().any(|line| line.contains(part)) && !text.iter().any(|line| line.contains(part)),
            "{part}"
        );
    }
    // A line gets its time where it is written, which may be a millisecond later.
    let said: Vec<&str> = text.iter().map(|line| regex_free_stamp(line)).collect();
    let of_stderr: Vec<&str> =
        in_log.iter().map(|line| regex_free_stamp(line)).filter(|line| said.contains(line)).collect();
    assert_eq!(said, of_stderr, "run.log has every line");

    let quiet = command("quiet", dir.path()).output().unwrap();
    assert_eq!(lines(&quiet.stderr).len(), 1, "{quiet:?}");
    let after = lines(&log());
    assert_eq!(after[..in_log.len()], in_log, "a resumed job appends");
    assert!(after.len() > in_log.len() + 3, "run.log has what --quiet kept from stderr");

    fs::remove_file(dir.path().join("run.log")).unwrap();
    let json = command("json", dir.path()).output().unwrap();
    let json: Vec<serde_json::Value> = lines(&json.stderr).iter().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(
        (&json[1]["level"], &json[1]["message"], &json[1]["key"]),
        (&"WARN".into(), &"beware".into(), &"value".into())
    );
    let tick = json.iter().find(|line| line["message"] == "progress").unwrap();
    assert_eq!((&tick["stage"], &tick["percent"], &tick["done"]), (&"count".into(), &25.0.into(), &250.into()));
    assert!(tick["memory"].as_u64().unwrap() > 0 && tick["timestamp"].as_str().unwrap().ends_with('Z'));
}

/// Checks that a line begins with a time and returns the rest of it.
fn regex_free_stamp(line: &str) -> &str {
    let (stamp, rest) = line.split_at(24);
    let shape: String = stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{line}");
    rest
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("run.log")).unwrap();
    let output = command("text", dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = lines(&output.stderr);
    assert_eq!(text.iter().filter(|line| line.contains("can't write the log")).count(), 1, "{text:?}");
    assert!(text.iter().any(|line| line.contains("fail stopped early")));
}
