//! The published experiment on list ranking, from one submission.

use std::fs;

use crate::command;
use crate::daemons::Slurm;

/// Places a command `ranks`: a gpugraph that takes itself to have ranks, of which the first is a process alone and the others end at once.
/// In the first slice it hangs at pointer jumping until it is told to save.
fn place_ranks(slurm: &Slurm) {
    let real = env!("CARGO_BIN_EXE_gpugraph");
    command(
        &slurm.place,
        "ranks",
        &format!(
            "if [ \"$1\" = devices ]; then echo '{{ \"gpus\": [], \"built_in\": true }}'; exit; fi\n\
             [ \"$1\" = run ] || exec {real} \"$@\"\n\
             if [ \"${{SLURM_STEP_NUM_TASKS:-1}}\" -gt 1 ]; then echo \"rank $SLURM_PROCID\"; fi\n\
             [ \"${{SLURM_PROCID:-0}}\" = 0 ] || exit 0\n\
             if [[ -z $SLURM_RESTART_COUNT && $* = *method=wyllie* ]]; then\n\
                 trap 'exit 75' USR1; : >hangs; sleep 60 & wait\n\
             fi\nexec env -u SLURM_STEP_NUM_TASKS {real} \"$@\""
        ),
    );
}

#[test]
fn the_experiment_goes_on_to_its_end() {
    let Some(slurm) = Slurm::start() else { return };
    place_ranks(&slurm);
    let job = slurm.submit(&[("GPUGRAPH", "./ranks"), ("LENGTH", "20000")], &["slurm/listrank.sbatch"]);
    slurm.until("pointer jumping", 40, |slurm| slurm.place.path("hangs").exists());
    // As Slurm does ahead of the walltime.
    slurm.output("scancel", &["--batch", "--signal=USR1", &job]);
    slurm.ends(&job, "COMPLETED", 90);
    let log = slurm.log("listrank", &job);
    for (text, times) in [
        ("exit 75 after", 1),
        ("requeued: restart 1", 1),
        ("serial: done already", 1),
        ("done already", 1),
        ("rank 7", 2),
    ] {
        assert_eq!(log.matches(text).count(), times, "{text} in {log}");
    }
    let table =
        fs::read_to_string(slurm.place.path("gpugraph.work/listrank-swapped-20000/times.txt")).expect("a table");
    assert!(log.contains(&table), "{log}");
    let has =
        |words: &[&str]| table.lines().any(|line| line.split_whitespace().take(words.len()).eq(words.iter().copied()));
    for variant in [
        ["serial", "serial", "1", "1"],
        ["wyllie", "wyllie", "1", "8"],
        ["cpu", "ruling-set", "1", "8"],
        ["ranks-wyllie", "wyllie", "8", "1"],
        ["ranks", "ruling-set", "8", "1"],
    ] {
        assert!(has(&variant), "{variant:?} in {table}");
    }
    assert!(
        has(&["gpu", "left", "out:", "no", "GPU"]) && table.contains("all ranks are the same: checksum "),
        "{table}"
    );
}
