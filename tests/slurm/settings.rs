//! What users and sites set: how jobs are submitted, together or from elsewhere, and settings that are wrong.

use std::fs;

use crate::daemons::Slurm;
use crate::support::{Ran, oracle, random_edges};
use crate::{command, parts, report, slow_job, triangles};

#[test]
fn a_task_of_an_array_is_requeued_alone() {
    let Some(slurm) = Slurm::start() else { return };
    let answer = slow_job(&slurm.place, 1);
    // One is told to save, one fails, one is done when the first is requeued. The last task has the id of the whole array.
    let slow = "case $SLURM_ARRAY_TASK_ID:$1 in 2:run) exit 3 ;; 1:run) : >>began.1; exec GPUGRAPH \"$@\" ;; esac\n: >>began.3; exec ./slow \"$@\"";
    command(&slurm.place, "tasks", &slow.replace("GPUGRAPH", env!("CARGO_BIN_EXE_gpugraph")));
    let environment = [("GPUGRAPH", "./tasks"), ("CONFIG", "job.toml"), ("SET", "job.workdir=work%a")];
    let options = ["--array=1-3", "--gres=none", "--output=%x.%A_%a.log", "slurm/job.sbatch"];
    let array = slurm.submit(&environment, &options);
    let task = |n: u32| format!("{array}_{n}");
    slurm.ends(&task(1), "COMPLETED", 40);
    slurm.ends(&task(2), "FAILED", 40);
    slurm.until("unit", 40, |slurm| {
        let look = slurm.place.gpugraph(&["status", "work3", "--json"]);
        !look.out.contains("\"done\": 0,") && look.out.contains("\"done\": ")
    });
    slurm.output("scancel", &["--batch", "--signal=USR1", &task(3)]);
    slurm.until("requeue", 60, |slurm| slurm.field(&task(3), "Restarts") == "1");
    slurm.ends(&task(3), "COMPLETED", 60);
    assert_eq!(triangles(&report(&slurm.place, "work3")), answer);
    assert_eq!(report(&slurm.place, "work3")["resumes"], 1);
    for (n, runs) in [(1, 1), (2, 1), (3, 2)] {
        let log = slurm.log("gpugraph", &task(n));
        assert_eq!(log.matches("gpugraph: job ").count() + log.matches("slurm: job ").count(), runs, "task {n}: {log}");
        assert!(log.contains(&format!("job {} on 1 nodes", task(n))), "{log}");
    }
}

#[test]
fn scripts_run_with_any_export() {
    let Some(slurm) = Slurm::start() else { return };
    let ranks = "[ \"$1\" = run ] || exit 2\necho \"rank $SLURM_PROCID of $SLURM_NTASKS\"";
    let ranks = command(&slurm.place, "ranks", ranks);
    slurm.place.job("path = 'x'", "");
    for export in ["NONE", "CONFIG=job.toml", "ALL,CONFIG=job.toml"] {
        // What is exported is all that the script has.
        slurm.place.write("site.here", format!("CONFIG=job.toml GPUGRAPH={}\n", ranks.display()));
        let site = format!("SITE={}", slurm.place.path("site.here").display());
        let export = format!("--export={export}{}", if export == "NONE" { String::new() } else { format!(",{site}") });
        let mut environment = vec![("LAUNCHER", "srun")];
        if export.ends_with("NONE") {
            fs::remove_file(slurm.place.path("site.env")).expect("a link");
            fs::copy(slurm.place.path("site.here"), slurm.place.path("site.env")).expect("a file");
            environment.clear();
        }
        let size = ["--ntasks-per-node=3", "--cpus-per-task=1", "--gres=none", &export, "slurm/job.sbatch"];
        let job = slurm.submit(&environment, &size);
        slurm.ends(&job, "COMPLETED", 30);
        let log = slurm.log("gpugraph", &job);
        for n in 0..3 {
            assert!(log.contains(&format!("rank {n} of 3")), "{export}: {log}");
        }
    }
}

#[test]
fn shipped_scripts_submitted_together_all_finish() {
    let Some(slurm) = Slurm::start() else { return };
    let names = [
        "triangle",
        "bfs",
        "sssp",
        "traverse",
        "dfs",
        "components",
        "cdlp",
        "cores",
        "pagerank",
        "betweenness",
        "distances",
    ];
    let jobs = names.map(|name| slurm.submit(&[], &["--gres=none", &format!("slurm/{name}.sbatch")]));
    for (name, job) in names.iter().zip(&jobs) {
        slurm.ends(job, "COMPLETED", 90);
        assert!(report(&slurm.place, "gpugraph.work/karate")["results"][name].is_object(), "{name}");
    }
}

#[test]
fn a_job_that_waits_for_another_in_its_workdir_can_be_told_to_save() {
    let Some(slurm) = Slurm::start() else { return };
    slow_job(&slurm.place, 1);
    let first = slurm.submit(&[("GPUGRAPH", "./slow"), ("CONFIG", "job.toml")], &["slurm/triangle.sbatch"]);
    slurm.until("unit", 40, |slurm| slurm.units() > 0);
    let environment = [("CONFIG", "job.toml"), ("MAX_RESTARTS", "0")];
    let second = slurm.submit(&environment, &["--job-name=second", "slurm/triangle.sbatch"]);
    slurm.until("wait", 40, |slurm| slurm.logs().contains("waiting for work, which is in use by pid "));
    slurm.output("scancel", &["--batch", "--signal=USR1", &second]);
    slurm.ends(&second, "FAILED", 20);
    assert_eq!(slurm.field(&second, "ExitCode"), "75:0", "{}", slurm.logs());
    assert_eq!(slurm.field(&first, "JobState"), "RUNNING");
}

#[test]
fn shipped_job_files_run_from_another_folder() {
    let Some(slurm) = Slurm::start() else { return };
    let folder = slurm.place.path("else where");
    fs::create_dir(&folder).expect("a folder");
    let home = slurm.place.path("").display().to_string();
    let mut sbatch = slurm.command("sbatch");
    sbatch.current_dir(&folder).env("GPUGRAPH_HOME", &home);
    let chdir = format!("--chdir={}", folder.display());
    sbatch.args(["--parsable", "--output=log", &chdir, "../slurm/triangle.sbatch"]);
    let job = Ran::command(&mut sbatch).expect(0).out.trim().to_owned();
    slurm.ends(&job, "COMPLETED", 30);
    assert_eq!(triangles(&report(&slurm.place, "else where/gpugraph.work/karate")), 45);
}

#[test]
fn wrong_settings_are_refused() {
    let Some(slurm) = Slurm::start() else { return };
    let gpugraph = env!("CARGO_BIN_EXE_gpugraph");
    let modules = |load: &str| {
        format!("module() {{ [ \"$2\" = there ] || return 1; }}\n{load}\n: \"${{GPUGRAPH:={gpugraph}}}\"\n")
    };
    slurm.place.write("good.env", modules("module load there"));
    slurm.place.write("bad.env", modules("module load cuda there\nmodule load there"));
    slurm.place.write("broken.env", "if true; then\n");
    slurm.place.u32("edges.u32", &random_edges(300, 3000, 9));
    slurm.place.job("path = 'edges.u32'", "");
    for (environment, expected) in [
        (&[("SITE", "./bad.env")][..], "bad.env: line 2 failed: module load cuda there"),
        (&[("SITE", "./broken.env")], "broken.env: not read"),
        (&[("SITE", "/nosuch")], "SITE=/nosuch: can't be read"),
        (&[("GPUGRAPH", "/nosuch")], "/nosuch: not found"),
        (&[("RANKS", "3"), ("LAUNCHER", "mpirun")], "RANKS=3, but Slurm granted 1 tasks: submit with --ntasks=3"),
        (&[("LAUNCHER", "ssh")], "LAUNCHER=ssh: expected "),
    ] {
        let environment = [&[("CONFIG", "job.toml")][..], environment].concat();
        let job = slurm.submit(&environment, &["--gres=none", "slurm/job.sbatch"]);
        slurm.ends(&job, "FAILED", 30);
        assert_eq!(slurm.field(&job, "ExitCode"), "2:0", "{expected}: {}", slurm.logs());
        let log = slurm.log("gpugraph", &job);
        assert!(log.contains(expected), "{expected} in {log}");
    }
    let job = slurm.submit(&[("CONFIG", "job.toml"), ("SITE", "./good.env")], &["--gres=none", "slurm/job.sbatch"]);
    slurm.ends(&job, "COMPLETED", 30);
    assert_eq!(triangles(&report(&slurm.place, "work")), oracle(300, &random_edges(300, 3000, 9)).0);
}

#[test]
fn submit_takes_arrays_whose_tasks_have_workdirs_of_their_own() {
    let Some(slurm) = Slurm::start() else { return };
    let graphs = parts(&slurm.place, 2);
    let submit = |more: &[&str]| {
        let mut command = slurm.command(env!("CARGO_BIN_EXE_gpugraph"));
        let args = ["submit", "job.toml", "--cpus=1", "--set", "input.path=part%a.u32"];
        Ran::command(command.args(args).args(more))
    };
    // All tasks would work in one folder. The job is named after the input of the first.
    let ran = submit(&["--", "--array=1-2"]).expect(2);
    assert!(ran.error().contains("job.workdir=work/%a"), "{}", ran.err);
    let out = submit(&["--set", "job.workdir=work/%a", "--", "--array=1-2"]).expect(0).out;
    let array =
        out.lines().next().and_then(|line| line.strip_prefix("Submitted batch job ")).expect("an id").to_owned();
    for (n, edges) in graphs.iter().enumerate() {
        let task = format!("{array}_{}", n + 1);
        slurm.ends(&task, "COMPLETED", 30);
        assert_eq!(triangles(&report(&slurm.place, &format!("work/{}", n + 1))), oracle(300, edges).0);
        assert!(slurm.log("part1", &task).contains(&format!("job {task} on 1 nodes")), "{}", slurm.logs());
    }
}
