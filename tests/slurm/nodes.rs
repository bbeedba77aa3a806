//! Real ranks on two nodes.

use std::fs;
use std::time::{Duration, Instant};

use crate::daemons::Slurm;
use crate::support::mpi::{Kind, built};
use crate::support::processes::signal_all;
use crate::support::{oracle, random_edges};
use crate::{command, report, triangles};

/// Real ranks under a real Slurm: told to save, one killed, ended by Slurm, done.
fn saved_requeued_and_done(kind: Kind, launcher: &str) {
    let Some(built) = built().into_iter().find(|built| built.kind == kind) else { return };
    let Some(slurm) = Slurm::of_two_nodes() else { return };
    let edges = random_edges(3000, 100_000, 5);
    slurm.place.u32("edges.u32", &edges);
    slurm.place.job("path = 'edges.u32'", "");
    // The leader sleeps for the units of all ranks, and must be done with that before a launcher loses patience.
    let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(500);")).collect();
    let gpugraph = built.gpugraph.display();
    let slow = format!(
        "if [ ${{SLURM_RESTART_COUNT:-0}} -lt 3 ]; then export GPUGRAPH_FAILPOINTS='{rules}'; fi\nexec {gpugraph} \"$@\""
    );
    command(&slurm.place, "slow", &slow);
    // By default this Slurm starts ranks that can't find each other: the script asks for the plugin of gpugraph's MPI.
    let mpirun = match kind {
        Kind::OpenMpi => "mpirun.openmpi --allow-run-as-root",
        Kind::Mpich => "mpirun.mpich",
    };
    let named = [("LAUNCHER", launcher), ("MPIRUN", mpirun)];
    let environment = [&[("GPUGRAPH", "./slow"), ("CONFIG", "job.toml")][..], &named].concat();
    let size = ["--nodes=2", "--ntasks-per-node=2", "--cpus-per-task=1", "--gres=none"];
    let job = slurm.submit(&environment, &[&size[..], &["slurm/triangle.sbatch"]].concat());
    slurm.until("unit", 40, |slurm| slurm.units() > 0);
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    slurm.until("first restart", 60, |slurm| slurm.field(&job, "Restarts") == "1");
    let units = slurm.units();
    slurm.until("further unit", 60, |slurm| slurm.units() > units);
    let nodes = slurm.nodes.as_ref().expect("nodes");
    let is_rank = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == built.gpugraph);
    let ranks: Vec<Vec<u32>> = (0..2).map(|n| nodes.processes(n).into_iter().filter(is_rank).collect()).collect();
    assert_eq!([ranks[0].len(), ranks[1].len()], [2, 2], "{}", slurm.logs());
    signal_all(libc::SIGKILL, |process| process.ends_with(ranks[1][0].to_string()) && is_rank(&ranks[1][0]));
    let died = Instant::now();
    slurm.until("second restart", 40, |slurm| slurm.field(&job, "Restarts") == "2");
    assert!(died.elapsed() < Duration::from_secs(30), "{:?} after a death", died.elapsed());
    // Slurm ends the run itself, which saves.
    let units = slurm.units();
    slurm.until("further unit", 60, |slurm| slurm.units() > units);
    slurm.output("scontrol", &["requeue", &job]);
    slurm.until("third restart", 40, |slurm| slurm.field(&job, "Restarts") == "3");
    slurm.until("save", 10, |slurm| slurm.status().out.contains("state     stopped by SIG"));
    slurm.ends(&job, "COMPLETED", 60);
    let report = report(&slurm.place, "work");
    assert_eq!(triangles(&report), oracle(3000, &edges).0);
    assert_eq!((&report["ranks"], &report["resumes"]), (&4.into(), &3.into()));
    let log = slurm.log("triangle", &job);
    let begun = format!("on 2 nodes, 4 ranks of 1 threads (launcher: {launcher})");
    for (text, times) in [(&*begun, 4), ("exit 9 after", 1), ("exit 0 after", 1)] {
        assert_eq!(log.matches(text).count(), times, "{text} in {log}");
    }
    // mpirun may take longer to end than Slurm leaves the script after TERM.
    assert!((1..=2).contains(&log.matches("exit 75 after").count()), "{log}");
}

#[test]
fn open_mpi_by_srun() {
    saved_requeued_and_done(Kind::OpenMpi, "srun");
}

#[test]
fn open_mpi_by_mpirun() {
    saved_requeued_and_done(Kind::OpenMpi, "mpirun");
}

#[test]
fn mpich_by_srun() {
    saved_requeued_and_done(Kind::Mpich, "srun");
}

#[test]
fn mpich_by_mpirun() {
    saved_requeued_and_done(Kind::Mpich, "mpirun");
}
