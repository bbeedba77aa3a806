//! Signals reach the run however Slurm tracks processes, and what Slurm does to a job by itself is told as it is.

use std::fs;

use crate::daemons::{Slurm, Tracking};
use crate::{command, report, slow_job, triangles};

/// In place of a gpugraph with MPI: each rank notes which signals it gets, and saves.
fn place_ranks(slurm: &Slurm) {
    let ranks = "[ \"$1\" = run ] || exit 2\n\
                 for s in USR1 TERM; do trap \"trap '' USR1 TERM; echo rank $SLURM_PROCID got $s; exit 75\" $s; done\n\
                 : >began.$SLURM_RESTART_COUNT.$SLURM_PROCID\n\
                 for i in {1..600}; do sleep 0.1; done";
    command(&slurm.place, "ranks", ranks);
    slurm.place.job("path = 'x'", "");
}

fn began(slurm: &Slurm, name: &str) {
    slurm.until(name, 40, |slurm| slurm.place.path(name).exists());
}

/// One process: told to save, it goes on; requeued by hand, it saves and goes on; cancelled, it saves and stays so.
fn one_process(tracking: Tracking) {
    let Some(slurm) = Slurm::tracking(tracking) else { return };
    let answer = slow_job(&slurm.place, 3);
    let job = slurm.submit(&[("GPUGRAPH", "./slow"), ("CONFIG", "job.toml")], &["slurm/triangle.sbatch"]);
    let mut units = 0;
    for (slice, signal) in [("0", "USR1"), ("1", "requeue"), ("2", "scancel")] {
        slurm.until("further unit", 60, |slurm| slurm.field(&job, "Restarts") == slice && slurm.units() > units);
        match signal {
            "USR1" => drop(slurm.output("scancel", &["--batch", "--signal=USR1", &job])),
            "requeue" => drop(slurm.output("scontrol", &["requeue", &job])),
            _ => drop(slurm.output("scancel", &[&job])),
        }
        slurm.until("save", 8, |slurm| slurm.status().out.contains("state     stopped by SIG"));
        units = slurm.units();
    }
    slurm.ends(&job, "CANCELLED", 30);
    let log = slurm.log("triangle", &job);
    for (text, times) in [("exit 75 after", 3), ("Slurm has requeued the job: restart 2", 1), ("not requeued", 1)] {
        assert_eq!(log.matches(text).count(), times, "{text} in {log}");
    }
    assert!(!log.contains("submit it again") && !log.contains("was killed"), "{log}");
    let job = slurm.submit(&[("CONFIG", "job.toml")], &["slurm/triangle.sbatch"]);
    slurm.ends(&job, "COMPLETED", 60);
    let report = report(&slurm.place, "work");
    assert_eq!((triangles(&report), report["resumes"].as_u64()), (answer, Some(3)));
}

#[test]
fn one_process_is_told_where_slurm_tracks_by_cgroup() {
    one_process(Tracking::Cgroup);
}

#[test]
fn one_process_is_told_where_slurm_tracks_by_parents() {
    one_process(Tracking::Parents);
}

/// Ranks of srun are told to save, and are when the job is cancelled.
fn ranks_of_srun(tracking: Tracking) {
    let Some(slurm) = Slurm::tracking(tracking) else { return };
    place_ranks(&slurm);
    let environment = [("GPUGRAPH", "./ranks"), ("CONFIG", "job.toml")];
    let size = ["--ntasks-per-node=2", "--cpus-per-task=1", "--gres=none", "slurm/triangle.sbatch"];
    let job = slurm.submit(&environment, &size);
    began(&slurm, "began..0");
    began(&slurm, "began..1");
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    began(&slurm, "began.1.0");
    began(&slurm, "began.1.1");
    slurm.output("scancel", &[&job]);
    slurm.ends(&job, "CANCELLED", 30);
    let log = slurm.log("triangle", &job);
    // When the job is cancelled Slurm sends TERM, and the script USR1.
    for text in ["rank 0 got ", "rank 1 got "] {
        assert_eq!(log.matches(text).count(), 2, "{text} in {log}");
    }
    assert_eq!((log.matches("exit 75 after").count(), log.matches("not requeued").count()), (2, 1), "{log}");
}

#[test]
fn ranks_are_told_where_slurm_tracks_by_cgroup() {
    ranks_of_srun(Tracking::Cgroup);
}

#[test]
fn ranks_are_told_where_slurm_tracks_by_parents() {
    ranks_of_srun(Tracking::Parents);
}

#[test]
fn a_job_that_makes_room_for_another_is_said_to_go_on() {
    let Some(slurm) = Slurm::start() else { return };
    let answer = slow_job(&slurm.place, 1);
    let job =
        slurm.submit(&[("GPUGRAPH", "./slow"), ("CONFIG", "job.toml")], &["--exclusive", "slurm/triangle.sbatch"]);
    slurm.until("unit", 40, |slurm| slurm.units() > 0);
    slurm.submit(&[], &["--partition=urgent", "--exclusive", "--output=urgent", "--wrap=sleep 2"]);
    slurm.ends(&job, "COMPLETED", 90);
    let report = report(&slurm.place, "work");
    assert_eq!((triangles(&report), report["resumes"].as_u64()), (answer, Some(1)));
    let log = slurm.log("triangle", &job);
    assert_eq!(log.matches("Slurm has requeued the job: restart 1").count(), 1, "{log}");
    assert!(!log.contains("not requeued") && !log.contains("submit it again"), "{log}");
}

/// Of a walltime of two minutes all would be gone if Slurm's signal, which comes two minutes ahead, counted.
#[test]
fn a_short_walltime_is_used_to_twenty_seconds_before_its_end() {
    let Some(slurm) = Slurm::start() else { return };
    place_ranks(&slurm);
    let job = slurm.submit(
        &[("GPUGRAPH", "./ranks"), ("CONFIG", "job.toml"), ("MAX_RESTARTS", "0")],
        &["--time=2", "slurm/triangle.sbatch"],
    );
    began(&slurm, "began..0");
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    slurm.until("word", 10, |slurm| slurm.log("triangle", &job).contains("told to save: it will, 20 s before"));
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(!slurm.log("triangle", &job).contains("got USR1"), "{}", slurm.logs());
    // Told again, by its own timer or by a user.
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    slurm.ends(&job, "FAILED", 30);
    let log = slurm.log("triangle", &job);
    assert_eq!((log.matches("got USR1").count(), log.matches("exit 75 after").count()), (1, 1), "{log}");
    // With a grace that leaves no more than a few seconds of it, the timer alone does it.
    let job = slurm.submit(
        &[("GPUGRAPH", "./ranks"), ("CONFIG", "job.toml"), ("MAX_RESTARTS", "0"), ("GRACE", "55")],
        &["--time=1", "slurm/triangle.sbatch"],
    );
    slurm.ends(&job, "FAILED", 50);
    assert!(slurm.log("triangle", &job).contains("got USR1"), "{}", slurm.logs());
}

#[test]
fn a_first_stage_that_never_ends_is_given_up_after_three_slices() {
    let Some(slurm) = Slurm::start() else { return };
    // Reading it takes longer than any slice here.
    slurm.place.job(
        "kronecker = { scale = 27, edge_factor = 16, seed = 1 }",
        "[run]\ndisk_check = false\n[limits]\nhost_memory = '2GiB'\n",
    );
    let gpugraph = env!("CARGO_BIN_EXE_gpugraph");
    let text = format!("if [ \"$1\" = run ]; then : >began.$SLURM_RESTART_COUNT; fi\nexec {gpugraph} \"$@\"");
    command(&slurm.place, "reads", &text);
    let job = slurm.submit(&[("GPUGRAPH", "./reads"), ("CONFIG", "job.toml")], &["slurm/job.sbatch"]);
    for slice in ["", "1", "2"] {
        began(&slurm, &format!("began.{slice}"));
        slurm.until("first stage", 20, |slurm| slurm.status().out.contains("state     running"));
        std::thread::sleep(std::time::Duration::from_secs(1));
        slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    }
    slurm.ends(&job, "FAILED", 60);
    assert_eq!((slurm.field(&job, "ExitCode").as_str(), slurm.field(&job, "Restarts").as_str()), ("75:0", "2"));
    let log = slurm.log("gpugraph", &job);
    assert_eq!(log.matches("3 slices in a row brought the job no further").count(), 1, "{log}");
    assert!(fs::read_dir(slurm.place.path("work")).is_ok_and(|files| files.count() > 1), "a run was there");
}
