//! Job scripts under a real Slurm: one node with fake GPUs, or two, started by each test in a folder of its own.
//!
//! Slurm looks at walltimes twice a minute, and holds a requeued job for some seconds; so these tests wait a lot and
//! compute little.

#[path = "../support/mod.rs"]
mod support;

mod daemons;
mod listrank;
mod nodes;
mod settings;
mod signals;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use daemons::Slurm;
use serde_json::Value;
use support::processes::{names, signal_all};
use support::{Place, Ran, oracle, random_edges};

/// A graph of dozens of units, its job file, and the command `slow`: gpugraph that takes a second and a half for each of
/// them, in the first `slices` slices. The answer.
fn slow_job(place: &Place, slices: u32) -> u64 {
    let edges = random_edges(3000, 100_000, 5);
    let path = place.u32("edges.u32", &edges);
    place.job_on(&path, "");
    let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(1500);")).collect();
    let gpugraph = env!("CARGO_BIN_EXE_gpugraph");
    command(
        place,
        "slow",
        &format!(
            "if [ ${{SLURM_RESTART_COUNT:-0}} -lt {slices} ]; then export GPUGRAPH_FAILPOINTS='{rules}'; fi\nexec {gpugraph} \"$@\""
        ),
    );
    oracle(3000, &edges).0
}

fn command(place: &Place, name: &str, text: &str) -> PathBuf {
    let path = place.write(name, format!("#!/bin/bash\n{text}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// The files part1.u32, part2.u32 and so on, whose edges it returns, and a job file for them whose path is to be set.
fn parts(place: &Place, count: u64) -> Vec<Vec<[u64; 2]>> {
    place.job("path = 'to be set'", "");
    let part = |n| {
        let edges = random_edges(300, 3000, n);
        place.u32(&format!("part{n}.u32"), &edges);
        edges
    };
    (1..=count).map(part).collect()
}

fn report(place: &Place, workdir: &str) -> Value {
    serde_json::from_slice(&fs::read(place.path(workdir).join("report.json")).expect("a report")).expect("JSON")
}

fn triangles(report: &Value) -> u64 {
    report["results"]["triangle"]["triangles"].as_u64().expect("a count")
}

#[test]
fn the_script_runs_as_it_stands() {
    let Some(slurm) = Slurm::start() else { return };
    let job = slurm.submit(&[], &["slurm/triangle.sbatch"]);
    slurm.ends(&job, "COMPLETED", 30);
    // Zachary's karate club.
    assert_eq!(triangles(&report(&slurm.place, "gpugraph.work/karate")), 45);
    let log = slurm.log("triangle", &job);
    assert!(log.contains("1 ranks of 8 threads (launcher: none), restart 0"), "{log}");
    assert_eq!(slurm.field(&job, "ExitCode"), "0:0");
    // From another folder it says what to do.
    let folder = slurm.place.path("elsewhere");
    fs::create_dir(&folder).expect("a folder");
    let chdir = format!("--chdir={}", folder.display());
    let mut sbatch = slurm.command("sbatch");
    sbatch.current_dir(&folder).args(["--parsable", "--output=log", &chdir, "../slurm/triangle.sbatch"]);
    let job = Ran::command(&mut sbatch).expect(0).out.trim().to_owned();
    slurm.ends(&job, "FAILED", 30);
    let log = fs::read_to_string(folder.join("log")).expect("a log");
    assert!(log.contains("set GPUGRAPH_HOME to it"), "{log}");
    assert_eq!(slurm.field(&job, "ExitCode"), "2:0");
}

#[test]
fn the_script_for_any_job_file_runs_one_and_asks_for_it() {
    let Some(slurm) = Slurm::start() else { return };
    // Of no algorithm: its graph is prepared.
    slurm
        .place
        .write("graph.toml", "[job]\nworkdir = 'work'\n[input]\nuniform = { scale = 8, edge_factor = 4, seed = 1 }\n");
    let job = slurm.submit(&[("CONFIG", "graph.toml")], &["slurm/job.sbatch"]);
    slurm.ends(&job, "COMPLETED", 30);
    assert!(slurm.place.path("work/graph").is_dir());
    let job = slurm.submit(&[], &["slurm/job.sbatch"]);
    slurm.ends(&job, "FAILED", 30);
    let log = slurm.log("gpugraph", &job);
    assert!(log.contains("no job file: name it by CONFIG"), "{log}");
    assert_eq!(slurm.field(&job, "ExitCode"), "2:0");
}

#[test]
fn a_job_longer_than_its_walltime_is_requeued_until_it_is_done() {
    let Some(slurm) = Slurm::start() else { return };
    let answer = slow_job(&slurm.place, 3);
    let queued = ["--hold", "--time=1", "slurm/triangle.sbatch"];
    let job = slurm.submit(&[("GPUGRAPH", "./slow"), ("CONFIG", "job.toml")], &queued);
    let ran = slurm.status();
    assert!(ran.code == 2 && ran.err.contains("no job ran here yet"), "{}", ran.err);
    slurm.output("scontrol", &["release", &job]);
    let mut units = 0;
    for slice in 0..3_u32 {
        slurm.until("further unit", 60, |slurm| {
            slurm.field(&job, "Restarts") == slice.to_string() && slurm.units() > units
        });
        let running = slurm.status().expect(0).out;
        assert!(
            running.contains("state     running") && running.contains(&format!("(scheduler job {job})")),
            "{running}"
        );
        if slice > 0 {
            // Once by the clock, 20 s before the walltime of a minute. Told twice, the run saves at once.
            for _ in 0..2 {
                slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
                std::thread::sleep(Duration::from_millis(500));
            }
        }
        slurm.until("requeue", 60, |slurm| slurm.field(&job, "Restarts") == (slice + 1).to_string());
        let stopped = slurm.status().expect(0).out;
        assert!(stopped.contains("state     stopped by SIGUSR1"), "{stopped}");
        assert!(slurm.units() > units, "{stopped}");
        units = slurm.units();
    }
    slurm.ends(&job, "COMPLETED", 60);
    let report = report(&slurm.place, "work");
    assert_eq!(triangles(&report), answer);
    assert!(report["resumes"].as_u64() >= Some(3), "{report}");
    let finished = slurm.status().expect(0).out;
    assert!(finished.contains("state     finished") && finished.contains(&format!("triangles {answer}")), "{finished}");
    // One log of all slices. On a busy machine Slurm may deliver a signal to the next slice, so that there is one more.
    let log = slurm.log("triangle", &job);
    let times = |text: &str| log.matches(text).count();
    let stops = times("exit 75");
    assert!(stops >= 3 && times("exit 0") == 1, "{log}");
    assert_eq!((times("the walltime is near"), times("requeued: restart")), (stops, stops), "{log}");
    let first = log.split("exit 75 after ").nth(1).and_then(|rest| rest.split(' ').next()).expect("seconds");
    assert!((35..60).contains(&first.parse::<u32>().expect("seconds")), "{log}");
    slurm.place.gpugraph(&["verify", "job.toml"]).expect(0);
}

#[test]
fn a_cancelled_job_stays_so_and_the_same_line_carries_on() {
    let Some(slurm) = Slurm::start() else { return };
    let answer = slow_job(&slurm.place, 1);
    let environment = [("GPUGRAPH", "./slow"), ("CONFIG", "job.toml")];
    let job = slurm.submit(&environment, &["slurm/triangle.sbatch"]);
    slurm.until("unit", 30, |slurm| slurm.units() > 0);
    slurm.output("scancel", &[&job]);
    slurm.until("end", 30, |slurm| slurm.log("triangle", &job).contains("not requeued"));
    slurm.ends(&job, "CANCELLED", 30);
    assert_eq!(slurm.output("squeue", &["-h"]), "");
    let stopped = slurm.status().expect(0).out;
    assert!(stopped.contains("state     stopped by SIGTERM"), "{stopped}");
    let units = slurm.units();
    let job = slurm.submit(&[("CONFIG", "job.toml")], &["slurm/triangle.sbatch"]);
    slurm.ends(&job, "COMPLETED", 60);
    let report = report(&slurm.place, "work");
    assert_eq!((triangles(&report), report["resumes"].as_u64()), (answer, Some(1)));
    assert!(units > 0 && report["results"]["triangle"]["units"].as_u64() > Some(units));
}

#[test]
fn the_tasks_of_an_array_have_workdirs_of_their_own() {
    let Some(slurm) = Slurm::start() else { return };
    let graphs = parts(&slurm.place, 3);
    let set = "job.workdir=work/%a input.path=part%a.u32";
    let array =
        slurm.submit(&[("CONFIG", "job.toml"), ("SET", set)], &["--array=1-3", "--gres=none", "slurm/job.sbatch"]);
    for (n, edges) in graphs.iter().enumerate() {
        slurm.ends(&format!("{array}_{}", n + 1), "COMPLETED", 30);
        assert_eq!(triangles(&report(&slurm.place, &format!("work/{}", n + 1))), oracle(300, edges).0);
    }
}

#[test]
fn submit_writes_a_script_by_the_plan_and_submits_it() {
    let Some(slurm) = Slurm::start() else { return };
    let edges = random_edges(300, 3000, 9);
    slurm.place.u32("it's a \"graph\" of $HOME.u32", &edges);
    slurm.place.job("path = 'to be set'", "");
    fs::rename(slurm.place.path("job.toml"), slurm.place.path("a job; of 'mine'.toml")).expect("rename");
    let args = [
        "submit",
        "a job; of 'mine'.toml",
        "--walltime=2h",
        "--gpus=1",
        "--cpus=4",
        "--set",
        "input.path=it's a \"graph\" of $$HOME.u32",
        "--",
        "--comment=tried",
        "--ntasks-per-node=1",
    ];
    let mut submit = slurm.command(env!("CARGO_BIN_EXE_gpugraph"));
    let out = Ran::command(submit.args(args)).expect(0).out;
    let job = out.lines().next().and_then(|line| line.strip_prefix("Submitted batch job ")).expect("an id").to_owned();
    slurm.ends(&job, "COMPLETED", 30);
    assert_eq!(triangles(&report(&slurm.place, "work")), oracle(300, &edges).0);
    for (field, value) in
        [("TimeLimit", "02:00:00"), ("Comment", "tried"), ("TresPerNode", "gres:gpu:1"), ("CPUs/Task", "4")]
    {
        assert_eq!(slurm.field(&job, field), value, "{field}");
    }
    // What is printed is what was submitted, as long as the job is not done.
    let submitted = fs::read_to_string(slurm.place.path("work/submit.sbatch")).expect("the script");
    fs::remove_dir_all(slurm.place.path("work")).expect("a folder");
    let mut submit = slurm.command(env!("CARGO_BIN_EXE_gpugraph"));
    let printed = Ran::command(submit.arg("submit").arg("--print").args(&args[1..])).expect(0).out;
    assert_eq!(printed, submitted);
    let mut submit = slurm.command(env!("CARGO_BIN_EXE_gpugraph"));
    let ran = Ran::command(submit.args(&args[..8]).args(["--partition=none"])).expect(2);
    assert!(ran.error().contains("invalid partition"), "{}", ran.err);
}

#[test]
fn ranks_are_started_by_srun_and_a_killed_one_is_lost() {
    let Some(slurm) = Slurm::start() else { return };
    // In place of a gpugraph with MPI: first stopped, then one rank killed, then one fails.
    let ranks = "[ \"$1\" = run ] || exit 2\n\
                 echo \"rank $SLURM_PROCID of $SLURM_NTASKS has $NCPUS: $*\"\n\
                 trap 'exit 75' USR1 TERM\n\
                 [ \"$SLURM_RESTART_COUNT$SLURM_PROCID\" = 21 ] && exit 3\n\
                 echo $$ >pid.$SLURM_RESTART_COUNT.$SLURM_PROCID\n\
                 for i in {1..600}; do sleep 0.1; done";
    command(&slurm.place, "ranks", ranks);
    slurm.place.job("path = 'x'", "");
    let size = ["--ntasks-per-node=2", "--cpus-per-task=3", "--gres=gpu:2"];
    let environment = [("GPUGRAPH", "./ranks"), ("CONFIG", "job.toml"), ("MAX_RESTARTS", "9")];
    let job = slurm.submit(&environment, &[&size[..], &["slurm/triangle.sbatch"]].concat());
    let pid = |name: &str| fs::read_to_string(slurm.place.path(name)).ok().filter(|pid| pid.ends_with('\n'));
    slurm.until("two ranks", 30, |_| pid("pid..0").is_some() && pid("pid..1").is_some());
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    slurm.until("two ranks again", 40, |_| pid("pid.1.0").is_some() && pid("pid.1.1").is_some());
    let rank = pid("pid.1.1").expect("a process");
    let here = slurm.place.path("").display().to_string();
    signal_all(libc::SIGKILL, |process| process.ends_with(rank.trim()) && names(process, &here));
    slurm.ends(&job, "FAILED", 40);
    // The other rank was ended for that, and saved: 75, which is higher.
    assert_eq!(slurm.field(&job, "ExitCode"), "3:0");
    let log = slurm.log("triangle", &job);
    assert!(log.contains("2 ranks of 3 threads (launcher: srun)"), "{log}");
    assert!(log.contains("rank 1 of 2 has 3: run --wait job.toml"), "{log}");
    assert!(log.contains("exit 75 after") && log.contains("was killed (kill -9, or out of memory): exit 9"), "{log}");
}

#[test]
fn three_slices_that_bring_the_job_no_further_end_it() {
    let Some(slurm) = Slurm::start() else { return };
    let idle = "[ \"$1\" = run ] || exec GPUGRAPH \"$@\"\n\
                trap 'exit 75' USR1; : >began.$SLURM_RESTART_COUNT; sleep 60 & wait";
    command(&slurm.place, "idle", &idle.replace("GPUGRAPH", env!("CARGO_BIN_EXE_gpugraph")));
    slurm.place.job("path = 'x'", "");
    let environment = [("GPUGRAPH", "./idle"), ("CONFIG", "job.toml")];
    let job = slurm.submit(&environment, &["slurm/job.sbatch"]);
    for slice in ["", "1", "2"] {
        slurm.until("slice", 40, |slurm| slurm.place.path(format!("began.{slice}")).exists());
        // As Slurm does ahead of the walltime.
        slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    }
    slurm.ends(&job, "FAILED", 40);
    assert_eq!((slurm.field(&job, "ExitCode").as_str(), slurm.field(&job, "Restarts").as_str()), ("75:0", "2"));
    let log = slurm.log("gpugraph", &job);
    assert_eq!(log.matches("3 slices in a row brought the job no further").count(), 1, "{log}");
    // What was noted between them is gone.
    assert!(!slurm.place.path(format!(".gpugraph.{job}.idle")).exists());
}

/// As it does where it can't make the folders of its MPI plugin.
#[test]
fn a_step_that_srun_could_not_start_is_no_success() {
    let Some(slurm) = Slurm::start() else { return };
    command(&slurm.place, "srun", "echo 'srun: Job step aborted' >&2; exit 0");
    slurm.place.job("path = 'x'", "");
    let path = format!("{}:{}", slurm.place.path("").display(), std::env::var("PATH").expect("a path"));
    let environment = [("PATH", &*path), ("CONFIG", "job.toml"), ("RANKS", "2"), ("REQUEUE_ON_LOSS", "no")];
    let job = slurm.submit(&environment, &["slurm/triangle.sbatch"]);
    slurm.ends(&job, "FAILED", 30);
    assert_eq!(slurm.field(&job, "ExitCode"), "9:0");
    let log = slurm.log("triangle", &job);
    assert!(log.contains("srun started no rank: exit 9"), "{log}");
}
