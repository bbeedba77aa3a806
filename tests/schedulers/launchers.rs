//! Cray PALS, jsrun and `flux run`, all three stand-ins.

use crate::site::{Kind, Site};

/// In place of a launcher: says how it was called, and what each rank is.
const LAUNCHER: &str = "echo \"${0##*/} $*\"; exit 0";

#[test]
fn pals_is_told_ranks_of_a_node_and_their_cores() {
    let Some(site) = Site::start(Kind::Lsf) else { return };
    site.command("bin/mpiexec", LAUNCHER);
    site.place.job("path = 'x.u32'", "");
    site.submit(&[("CONFIG", "job.toml"), ("LAUNCHER", "pals"), ("RANKS", "4")], 3600, None);
    let log = site.end();
    assert!(log.contains("mpiexec -n 4 --ppn 4 --depth 2 --cpu-bind depth env NCPUS=2 GPUGRAPH_THREADS=2 "), "{log}");
}

#[test]
fn jsrun_gets_a_resource_set_for_each_rank() {
    for (gpus, ranks, expected) in [
        ("0,1", "", "jsrun -g 1 -n 2 -a 1 -c 4 -r 2 -b packed:4 env NCPUS=4 GPUGRAPH_THREADS=4 "),
        ("", "4", "jsrun -n 4 -a 1 -c 2 -r 4 -b packed:2 env NCPUS=2 GPUGRAPH_THREADS=2 "),
    ] {
        let Some(site) = Site::start(Kind::Lsf) else { return };
        site.command("bin/jsrun", LAUNCHER);
        site.place.job("path = 'x.u32'", "");
        let variables =
            [("CONFIG", "job.toml"), ("LAUNCHER", "jsrun"), ("CUDA_VISIBLE_DEVICES", gpus), ("RANKS", ranks)];
        site.submit(&variables, 3600, None);
        let log = site.end();
        assert!(log.contains(expected), "{expected}: {log}");
    }
}

#[test]
fn a_rank_that_a_launcher_lost_is_a_loss_and_the_job_goes_on() {
    let Some(site) = Site::start(Kind::Lsf) else { return };
    site.command("bin/mpiexec", "exit 143");
    site.place.job("path = 'x.u32'", "");
    site.submit(&[("CONFIG", "job.toml"), ("LAUNCHER", "pals"), ("RANKS", "2"), ("MAX_RESTARTS", "1")], 3600, None);
    let log = site.end();
    assert_eq!(log.matches("exit 9 after").count(), 2, "{log}");
}

#[test]
fn flux_starts_ranks_by_itself_and_tells_them_to_save() {
    let Some(site) = Site::start(Kind::Flux) else { return };
    site.runs("ranks", "echo \"rank $PMI_RANK of $PMI_SIZE has $NCPUS\"; trap 'exit 75' USR1; sleep 60 & wait");
    site.place.job("path = 'x.u32'", "");
    let variables = [
        ("CONFIG", "job.toml"),
        ("GPUGRAPH", "./ranks"),
        ("STAND_IN_GPUS", "2"),
        ("MAX_RESTARTS", "1"),
        ("GRACE", "8"),
    ];
    site.submit(&variables, 16, None);
    let log = site.end();
    for rank in [0, 1] {
        assert_eq!(log.matches(&format!("rank {rank} of 2 has 4")).count(), 2, "{log}");
    }
    assert!(log.contains("(launcher: flux)") && log.contains("goes on as 2"), "{log}");
    // What the command line of the first said is said again.
    let options = std::fs::read_to_string(site.place.path("server/2.options")).expect("options");
    for option in ["-N 1 -n 1 -c 8 ", "--dependency=afterany:1", "-g 2", "-t 16s"] {
        assert!(options.contains(option), "{option}: {options}");
    }
}

#[test]
fn mpirun_is_told_the_hosts_of_the_parallel_environment() {
    let Some(site) = Site::start(Kind::GridEngine) else { return };
    let mpirun = "if [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi\necho \"mpirun $*\"; cat \"${@:6:1}\"";
    site.command("bin/openmpi", mpirun);
    site.runs("done", "exit 0");
    site.place.job("path = 'x.u32'", "");
    site.submit(
        &[("CONFIG", "job.toml"), ("GPUGRAPH", "./done"), ("RANKS", "2"), ("MPIRUN", "bin/openmpi")],
        3600,
        None,
    );
    let log = site.end();
    assert!(
        log.contains("mpirun -n 2 --bind-to none -hostfile ") && log.contains("NCPUS=4 GPUGRAPH_THREADS=4"),
        "{log}"
    );
    assert!(log.contains("localhost slots=2\n"), "{log}");
}
