//! What `gpugraph submit` writes, under the stand-in for PBS.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::server::Pbs;
use crate::support::{Ran, oracle, random_edges, without_mpi};

#[test]
fn submit_writes_a_script_that_runs() {
    let pbs = Pbs::new();
    let edges = random_edges(300, 3000, 4);
    let path = pbs.place.u32("it's a graph.u32", &edges);
    pbs.place.job(&format!("path = {path:?}"), "");
    let submit_by = |program: &Path, args: &[&str], path: &str| {
        let mut command = pbs.place.command_of(program, &[&["submit", "job.toml"], args].concat());
        Ran::command(command.env("PATH", path).env_remove("SITE"))
    };
    let submit = |args: &[&str], path: &str| submit_by(Path::new(env!("CARGO_BIN_EXE_gpugraph")), args, path);
    let bin = format!("{}:/bin:/usr/bin", pbs.place.path("bin").display());
    submit(&["--scheduler=pbs", "--gpus=1", "--cpus=3", "--walltime=90m", "--", "-P", "x"], &bin).expect(0);
    let job = pbs.next().expect("a job");
    assert!(job.resources["select"].starts_with("1:ncpus=3:ngpus=1:mpiprocs=1:mem="), "{:?}", job.resources);
    assert_eq!((job.resources["walltime"].as_str(), job.options["-P"].as_str()), ("01:30:00", "x"));
    // Memory: what the plan has, and a margin.
    let plan =
        pbs.place.gpugraph(&["plan", "job.toml", "--json", "--set", "limits.threads=3", "--set", "run.device=cpu"]);
    let plan: Value = serde_json::from_str(&plan.expect(0).out).expect("JSON");
    let memory = job.resources["select"].rsplit_once("mem=").expect("memory").1.trim_end_matches("mb");
    assert!(memory.parse::<u64>().expect("MiB") << 20 >= plan["host_memory"].as_u64().expect("bytes"), "{memory}");
    fs::remove_dir_all(pbs.place.path("server")).expect("a folder");
    fs::create_dir(pbs.place.path("server")).expect("a folder");
    submit(&["--scheduler=pbs", "--gpus=0"], &bin).expect(0);
    let job = pbs.next().expect("a job");
    assert!(!job.resources["select"].contains("ngpus"), "{:?}", job.resources);
    let running = pbs.start(&job, &["n1"]);
    assert_eq!(running.end(), 0);
    assert_eq!(pbs.triangles("work"), oracle(300, &edges).0);
    // Ranks need a gpugraph that has them. A job that is done is not submitted.
    fs::remove_dir_all(pbs.place.path("work")).expect("a folder");
    if let Some(plain) = without_mpi() {
        for (more, found) in [("--nodes=2", "2 ranks (2 nodes of 1)"), ("--gpus=4", "4 ranks (1 nodes of 4)")] {
            let ran = submit_by(&plain, &["--scheduler=pbs", "--print", more], &bin).expect(2);
            assert!(ran.error().contains(found) && ran.error().contains("--features mpi"), "{}", ran.err);
        }
    }
    // Where there is no scheduler, it says what to do.
    let ran = submit(&[], "/nonexistent").expect(2);
    assert!(ran.error().contains("neither sbatch (Slurm) nor qsub (PBS) is on the path"), "{}", ran.err);
    // Grid Engine has a qsub, too.
    pbs.command("server/qconf", "exit 0");
    pbs.command("server/qsub", "exit 0");
    let ran = submit(&[], pbs.place.path("server").to_str().expect("text")).expect(2);
    assert!(ran.error().contains("use scheduler/job.sge"), "{}", ran.err);
    let ran = submit(&["--scheduler=slurm"], "/nonexistent").expect(2);
    assert!(ran.error().contains("sbatch is not on the path"), "{}", ran.err);
    for (args, what) in [
        (&["--print", "--scheduler=pbs", "--", "-A", "a b"][..], "option"),
        (&["--print", "--scheduler=pbs", "--set", "job.name=\"a\\nb\"", "--set", "input.path=a\nb"], "--set"),
    ] {
        let ran = submit(args, &bin);
        assert!(ran.code == 2 && ran.err.contains(what), "{args:?}: {}", ran.err);
    }
}

#[test]
fn submit_prints_a_path_that_can_be_pasted() {
    let pbs = Pbs::new();
    pbs.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "[job]\nworkdir = \"it's a folder\"\n");
    let mut submit = pbs.place.command(&["submit", "job.toml", "--scheduler=pbs", "--gpus=1"]);
    let path = format!("{}:/bin:/usr/bin", pbs.place.path("bin").display());
    let out = Ran::command(submit.env("PATH", path)).expect(0).out;
    let (_, rest) = out.split_once("script ").expect("a path");
    let (word, _) = rest.split_once("; `gpugraph status").expect("a path");
    let ran = Ran::command(Command::new("bash").args(["-c", &format!("cat {word}")])).expect(0);
    assert!(ran.out.starts_with("#!/bin/bash\n"), "{out}");
}

/// The line that shows how far a job is, as `submit` prints it, run by a shell with `gpugraph` on its path.
fn pasted_status(pbs: &Pbs, args: &[&str]) -> Ran {
    let path = format!("{}:/bin:/usr/bin", pbs.place.path("bin").display());
    let mut submit = pbs.place.command(&[&["submit", "job.toml", "--scheduler=pbs", "--gpus=0"], args].concat());
    let out = Ran::command(submit.env("PATH", &path)).expect(0).out;
    let line = out.split('`').nth(1).unwrap_or_else(|| panic!("no line: {out}")).to_owned();
    let line = line.replacen("gpugraph", env!("CARGO_BIN_EXE_gpugraph"), 1);
    Ran::command(Command::new("bash").args(["-c", &line]).current_dir(pbs.place.path("")))
}

#[test]
fn the_status_that_submit_prints_is_that_of_the_workdir_that_was_set() {
    let pbs = Pbs::new();
    pbs.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let workdir = "it's \"here\" & there";
    let set = format!("job.workdir={workdir}");
    pbs.place.gpugraph(&["run", "job.toml", "--set", &set]).expect(0);
    // It is done there, and not in the workdir of the job file.
    let done = pbs.place.gpugraph(&["submit", "job.toml", "--scheduler=pbs", "--print", "--set", &set]).expect(0).out;
    assert!(done.starts_with("job.toml is done already"), "{done}");
    let status = pasted_status(&pbs, &["--set", &set, "--set", "triangle.per_vertex=true"]).expect(0).out;
    assert!(status.contains(workdir), "{status}");
}

#[test]
fn the_tasks_of_an_array_need_workdirs_of_their_own() {
    let pbs = Pbs::new();
    let graphs: Vec<_> = [4, 5].map(|seed| random_edges(300, 3000, seed)).into();
    for (n, edges) in graphs.iter().enumerate() {
        pbs.place.u32(&format!("part{}.u32", n + 4), edges);
    }
    pbs.place.job("path = 'to be set'", "");
    let submit = |job: &str, scheduler: &str, args: &[&str]| {
        let scheduler = format!("--scheduler={scheduler}");
        let mut command = pbs.place.command(&[&["submit", job, &scheduler, "--gpus=0"], args].concat());
        Ran::command(command.env("PATH", format!("{}:/bin:/usr/bin", pbs.place.path("bin").display())))
    };
    let input = ["--set", "input.path=part%a.u32"];
    for (scheduler, array) in [("pbs", &["-J", "4-5"][..]), ("pbs", &["-t4-5"]), ("slurm", &["--array=4-5"])] {
        let refused = submit("job.toml", scheduler, &[&input, &["--print", "--"], array].concat()).expect(2);
        let said = refused.error();
        assert!(said.contains("a workdir for each task") && said.contains("job.workdir=work/%a"), "{said}");
    }
    // One task has its workdir to itself.
    submit("job.toml", "pbs", &["--print", "--set", "input.path=part4.u32", "--", "-J", "4-4"]).expect(0);
    let workdir = ["--set", "job.workdir=w/%a"];
    let slurm = submit("job.toml", "slurm", &[&input[..], &workdir, &["--print", "--", "-a", "4-5"]].concat());
    let slurm = slurm.expect(0).out;
    assert!(slurm.contains("#SBATCH --output=%x.%A_%a.log\n") && slurm.contains("#SBATCH -a 4-5\n"), "{slurm}");

    let out = submit("job.toml", "pbs", &[&input[..], &workdir, &["--", "-J", "4-5"]].concat()).expect(0).out;
    assert!(out.contains("`gpugraph status w/4` shows the progress of the first task"), "{out}");
    assert!(pbs.place.path("w").is_dir() && !pbs.place.path("w/%a").exists(), "{out}");
    let mut job = pbs.next().expect("an array");
    assert_eq!(job.options["-J"], "4-5");
    for (n, edges) in graphs.iter().enumerate() {
        job.variables.insert("PBS_ARRAY_INDEX".into(), (n + 4).to_string());
        assert_eq!(pbs.start(&job, &["n1"]).end(), 0);
        assert_eq!(pbs.triangles(&format!("w/{}", n + 4)), oracle(300, edges).0);
    }

    // Of the job file: its name, or its own workdir.
    for task in [4, 5] {
        let toml = format!("[job]\nworkdir = 'own/{task}'\n[input]\npath = 'part{task}.u32'\n[triangle]\n");
        pbs.place.write(&format!("job{task}.toml"), toml);
    }
    submit("job%a.toml", "pbs", &["--print", "--", "-J", "4-5"]).expect(0);
    pbs.place.write("one.toml", "[job]\nworkdir = 'one/%a'\n[input]\npath = 'to be set'\n[triangle]\n");
    submit("one.toml", "pbs", &[&input[..], &["--", "-J", "4-5"]].concat()).expect(0);
    let mut job = pbs.next().expect("an array");
    job.variables.insert("PBS_ARRAY_INDEX".into(), "5".into());
    assert_eq!(pbs.start(&job, &["n1"]).end(), 0);
    assert_eq!(pbs.triangles("one/5"), oracle(300, &graphs[1]).0);
}
