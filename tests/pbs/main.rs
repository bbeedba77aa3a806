//! Job scripts under a stand-in for PBS (`server.rs`), and under a real one where its qsub is installed.

#[path = "../support/mod.rs"]
mod support;

mod chains;
mod going_on;
mod listrank;
mod real;
mod server;
mod submit;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use server::{Pbs, REPO};
use support::{Place, Ran};

#[test]
fn bash_and_shellcheck_find_nothing() {
    let place = Place::new();
    place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let mut scripts: Vec<PathBuf> = [
        "site.env",
        "tests/pbs/qsub",
        "tests/pbs/qrls",
        "tests/pbs/ssh",
        "tests/schedulers/lsf",
        "tests/schedulers/flux",
        "tests/schedulers/gridengine",
    ]
    .map(|name| Path::new(REPO).join(name))
    .to_vec();
    for (folder, ending) in [
        ("scheduler", "sh"),
        ("scheduler", "sge"),
        ("scheduler", "lsf"),
        ("scheduler", "flux"),
        ("slurm", "sbatch"),
        ("pbs", "pbs"),
        ("benches", "sh"),
    ] {
        let files = fs::read_dir(Path::new(REPO).join(folder)).expect("a folder of scripts");
        let files = files.map(|entry| entry.expect("an entry").path());
        let before = scripts.len();
        scripts.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == ending)));
        assert!(scripts.len() > before, "no script in {folder}");
    }
    for scheduler in ["slurm", "pbs"] {
        let ran = place.gpugraph(&["submit", "job.toml", "--print", "--scheduler", scheduler, "--gpus=1"]);
        scripts.push(place.write(scheduler, ran.expect(0).out));
    }
    for script in &scripts {
        Ran::command(Command::new("bash").arg("-n").arg(script)).expect(0);
    }
    // The scripts of one algorithm source the one for any job file, which is looked through with all that it sources: once.
    let (one, all): (Vec<_>, Vec<_>) = scripts.into_iter().partition(|script| {
        let text = fs::read_to_string(script).expect("a script");
        text.contains("# shellcheck source=pbs/job.pbs\n") || text.contains("# shellcheck source=slurm/job.sbatch\n")
    });
    assert!(one.len() >= 10, "{one:?}");
    for (how, scripts) in [("--external-sources", all), ("--exclude=SC1091", one)] {
        match Command::new("shellcheck").arg(how).args(&scripts).current_dir(REPO).output() {
            Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout)),
            Err(_) => return println!("SKIPPED: no shellcheck to look through the job scripts"),
        }
    }
}

/// A scheduler reads the lines of the script that it is given alone.
#[test]
fn the_scripts_of_one_algorithm_ask_for_what_the_one_for_any_job_file_does() {
    // List ranking has a rank for each core.
    let pbs = [("mpiprocs=1", "mpiprocs=8")];
    let slurm = [("--ntasks-per-node=1", "--ntasks-per-node=8"), ("--cpus-per-task=8", "--cpus-per-task=1")];
    for (any, one, directive, ranks) in [
        ("pbs/job.pbs", "pbs/triangle.pbs", "#PBS ", &pbs[..0]),
        ("pbs/job.pbs", "pbs/listrank.pbs", "#PBS ", &pbs),
        ("slurm/job.sbatch", "slurm/triangle.sbatch", "#SBATCH ", &slurm[..0]),
        ("slurm/job.sbatch", "slurm/listrank.sbatch", "#SBATCH ", &slurm),
    ] {
        let asks = |script: &str, ranks: &[(&str, &str)]| {
            let mut text = fs::read_to_string(Path::new(REPO).join(script)).expect("the script");
            ranks.iter().for_each(|(from, to)| text = text.replace(from, to));
            let (names, others): (Vec<_>, Vec<_>) = (text.lines().filter(|line| line.starts_with(directive)))
                .map(str::to_owned)
                .partition(|line| line.contains("-N ") || line.contains("--job-name="));
            assert_eq!(names.len(), 1, "{script}");
            others
        };
        let asked = asks(any, ranks);
        assert!(asked.len() > 4 && asked == asks(one, &[]), "{any} and {one}");
    }
}

#[test]
fn the_script_for_any_job_file_goes_on_to_its_end() {
    let pbs = Pbs::new();
    let answer = pbs.slow_job(1);
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,GRACE=8";
    let job = pbs.qsub(&["-l", "walltime=00:00:16", "-v", variables, "pbs/job.pbs"]);
    assert_eq!(job.resources["select"], "1:ncpus=8:ngpus=1:mpiprocs=1:mem=32gb");
    assert_eq!(pbs.run(job, &["n1"]), [75, 0], "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
    assert!(pbs.place.path("gpugraph.1.log").is_file());

    // Of no algorithm: its graph is prepared.
    let pbs = Pbs::new();
    pbs.place
        .write("graph.toml", "[job]\nworkdir = 'work'\n[input]\nuniform = { scale = 8, edge_factor = 4, seed = 1 }\n");
    let job = pbs.qsub(&["-v", "CONFIG=graph.toml", "pbs/job.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [0], "{}", pbs.log());
    assert!(pbs.place.path("work/graph").is_dir(), "{}", pbs.log());

    let pbs = Pbs::new();
    let job = pbs.qsub(&["pbs/job.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [2]);
    assert!(pbs.log().contains("no job file: name it by CONFIG"), "{}", pbs.log());
}

#[test]
fn the_script_runs_as_it_stands() {
    let pbs = Pbs::new();
    let job = pbs.qsub(&["pbs/triangle.pbs"]);
    assert_eq!(job.resources["select"], "1:ncpus=8:ngpus=1:mpiprocs=1:mem=32gb");
    assert_eq!(pbs.run(job, &["n1"]), [0]);
    // Zachary's karate club.
    assert_eq!(pbs.triangles("gpugraph.work/karate"), 45);
    let log = pbs.log();
    assert!(log.contains("1 nodes, 1 ranks of 8 threads (launcher: none), restart 0"), "{log}");
    // As PBS's umask has it.
    let mode = fs::metadata(pbs.place.path("triangle.1.log")).expect("a log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_job_longer_than_its_walltime_submits_itself_until_it_is_done() {
    let pbs = Pbs::new();
    let answer = pbs.slow_job(2);
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,GRACE=8,DATASET=web";
    let first =
        pbs.qsub(&["-l", "walltime=00:00:16", "-l", "select=1:ncpus=2:mem=4gb", "-v", variables, "pbs/triangle.pbs"]);
    let (mut codes, mut next, mut units) = (Vec::new(), Some(first), 0);
    while let Some(job) = next {
        if !codes.is_empty() {
            // What the first was given on its command line is not in the script.
            assert_eq!(
                (job.resources["walltime"].as_str(), job.resources["select"].as_str()),
                ("00:00:16", "1:ncpus=2:mem=4gb")
            );
            assert_eq!((job.options["-q"].as_str(), job.options["-A"].as_str()), ("gpuq", "graphs"));
            assert_eq!(job.options["depend"], format!("afterany:{}.stand-in", job.number - 1));
            for (name, value) in [("CONFIG", "job.toml"), ("GPUGRAPH", "./slow"), ("DATASET", "web")] {
                assert_eq!(job.variables[name], value);
            }
        }
        codes.push(pbs.start(&job, &["n1"]).end());
        next = pbs.next();
        if next.is_some() {
            let status = pbs.status();
            assert!(status.contains("state     stopped by SIGUSR1"), "{status}");
            let look = pbs.place.gpugraph(&["status", "job.toml", "--json"]).expect(0).out;
            let look: Value = serde_json::from_str(&look).expect("JSON");
            let done = look["units"]["done"].as_u64().expect("units");
            assert!(done > units, "{done} units after {units}");
            units = done;
        }
    }
    assert_eq!(codes, [75, 75, 0], "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
    // 4 GiB of the node, and 80 % of what is left of them: no more than PBS granted, whatever the machine has.
    let report: Value =
        serde_json::from_slice(&fs::read(pbs.place.workdir().join("report.json")).expect("a report")).expect("JSON");
    assert!(report["limits"]["host_memory"].as_u64().expect("a limit") <= (4 << 30) / 5 * 4, "{report}");
    // One log of all of them.
    assert_eq!(pbs.log().matches("exit 75 after").count(), 2);
}

#[test]
fn at_the_walltime_without_warning_it_still_goes_on() {
    let pbs = Pbs::new();
    let answer = pbs.slow_job(1);
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,GRACE=0";
    let job = pbs.qsub(&["-l", "walltime=00:00:04", "-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [75, 0], "{}", pbs.log());
    assert!(pbs.log().contains("ended by the scheduler"), "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
}

#[test]
fn a_deleted_job_stays_so_and_the_same_line_carries_on() {
    let pbs = Pbs::new();
    let answer = pbs.slow_job(1);
    let job = pbs.qsub(&["-v", "CONFIG=job.toml,GPUGRAPH=./slow", "pbs/triangle.pbs"]);
    let running = pbs.start(&job, &["n1"]);
    let end = Instant::now() + Duration::from_secs(60);
    while !pbs.place.gpugraph(&["status", "job.toml"]).out.contains("units     1 ") {
        assert!(Instant::now() < end, "no unit in 60 s: {}", pbs.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(running.delete(), 75);
    assert!(pbs.next().is_none(), "{}", pbs.log());
    assert!(pbs.log().contains("not submitted again"), "{}", pbs.log());
    assert!(pbs.status().contains("state     stopped by SIGTERM"), "{}", pbs.status());
    let job = pbs.qsub(&["-v", "CONFIG=job.toml", "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [0]);
    assert_eq!(pbs.triangles("work"), answer);
}

#[test]
fn restarts_are_bounded() {
    // In place of gpugraph: how it ends, the variables, and how often it runs.
    for (text, variables, runs) in [
        ("exit 75", "MAX_RESTARTS=2", vec![75, 75, 75]),
        ("exit 75", "MAX_RESTARTS=0", vec![75]),
        ("exit 75", "MAX_RESTARTS=1,GPUGRAPH_RESTARTS=many", vec![75]),
        ("exit 9", "MAX_RESTARTS=1", vec![9, 9]),
        ("exit 9", "REQUEUE_ON_LOSS=no", vec![9]),
        ("kill -9 $$", "MAX_RESTARTS=1", vec![9, 9]),
        ("exit 3", "MAX_RESTARTS=9", vec![3]),
        ("kill -USR1 $PPID; kill -USR1 $$", "MAX_RESTARTS=1", vec![75, 75]),
    ] {
        let pbs = Pbs::new();
        pbs.command("ends", text);
        pbs.place.write("job.toml", "");
        let variables = format!("CONFIG=job.toml,GPUGRAPH=./ends,{variables}");
        let job = pbs.qsub(&["-v", &variables, "pbs/triangle.pbs"]);
        assert_eq!(pbs.run(job, &["n1"]), runs, "{text}, {variables}: {}", pbs.log());
        assert_eq!(pbs.log().contains("is reached"), ![3, 9].contains(&runs[0]) || runs.len() > 1, "{}", pbs.log());
    }
}

#[test]
fn ranks_are_those_of_either_dialect() {
    // In place of Open MPI.
    let mpirun = "if [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi\n\
                  echo \"mpirun $*\"; echo \"tree: $OMPI_MCA_plm_rsh_no_tree_spawn, attached: $OMPI_MCA_orte_leave_session_attached, agent: $OMPI_MCA_plm_rsh_agent\"; cat \"${@:6:1}\"";
    let slots = |nodes: &[(&'static str, usize)]| -> Vec<&str> {
        nodes.iter().flat_map(|&(node, lines)| vec![node; lines]).collect()
    };
    let two = |lines| slots(&[("n1", lines), ("n2", lines)]);
    for (torque, resources, slots, ranks, threads, hosts) in [
        (false, "select=2:ncpus=32:ngpus=4:mpiprocs=4", two(4), 8, 8, "n1 slots=4\nn2 slots=4\n"),
        // A rank for each mpiprocs, though they are as many as the cores.
        (false, "select=1:ncpus=2:mpiprocs=2", slots(&[("n1", 2)]), 2, 1, "n1 slots=2\n"),
        (
            false,
            "select=1:ncpus=6:mpiprocs=3:mem=4gb+1:ncpus=4:mpiprocs=1:mem=1gb",
            slots(&[("n1", 3), ("n2", 1)]),
            4,
            2,
            "n1 slots=3\nn2 slots=1\n",
        ),
        (false, "nodes=2:ppn=6", two(6), 2, 6, "n1 slots=1\nn2 slots=1\n"),
        (true, "nodes=2:ppn=6:gpus=2", two(6), 4, 3, "n1 slots=2\nn2 slots=2\n"),
        (true, "nodes=2:ppn=6", two(6), 2, 6, "n1 slots=1\nn2 slots=1\n"),
    ] {
        let pbs = Pbs::new();
        pbs.command("bin/openmpi", mpirun);
        pbs.command("bin/pbs_tmrsh", "exit 1");
        pbs.command("bin/ompi_info", "echo 'MCA plm: rsh'");
        pbs.place.write("job.toml", "");
        let mut variables = "CONFIG=job.toml,GPUGRAPH=gpugraph,LAUNCHER=mpirun,MPIRUN=bin/openmpi".to_owned();
        if torque {
            pbs.site_has("torque");
            variables += ",PBS_NUM_PPN=6";
        }
        pbs.command("bin/gpugraph", "exit 1");
        let script = pbs.script_asking(&format!("#PBS -l {resources}"));
        let job = pbs.qsub(&["-v", &variables, &script]);
        assert_eq!(pbs.run(job, &slots), [0], "{}", pbs.log());
        let log = pbs.log();
        let line = log.lines().find(|line| line.starts_with("mpirun ")).expect("a launch");
        assert!(line.starts_with(&format!("mpirun -n {ranks} --bind-to none -hostfile ")), "{resources}: {line}");
        assert!(
            line.contains(&format!(" NCPUS={threads} GPUGRAPH_THREADS={threads} "))
                && line.ends_with("gpugraph run --wait job.toml"),
            "{resources}: {line}"
        );
        // No node may run into the bound of its own memory.
        assert!(!resources.contains('+') || line.contains("GPUGRAPH_NODE_MEMORY=1073741824 "), "{resources}: {line}");
        assert!(log.contains(hosts), "{resources}: {log}");
        // The agent is a file of this node: daemons on others look for its command, and beyond 64 nodes would start it.
        let agent = log.lines().find(|line| line.starts_with("tree: ")).expect("a line");
        let alone = !hosts.contains("n2");
        let by_bash = agent.contains(" agent: bash /") && agent.ends_with("/tmrsh");
        assert_eq!((agent.starts_with("tree: 1, attached: 1"), by_bash), (!alone, !alone), "{resources}: {agent}");
    }
}

/// Seen of Open MPI 4.1: a daemon had died, and at USR1 its mpirun gave up with 0.
#[test]
fn an_mpirun_that_says_0_of_a_job_that_is_not_done_is_not_believed() {
    let pbs = Pbs::new();
    pbs.command(
        "bin/openmpi",
        "if [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi\ntrap 'exit 0' USR1; sleep 60 & wait",
    );
    pbs.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let variables = "CONFIG=job.toml,LAUNCHER=mpirun,MPIRUN=bin/openmpi,GRACE=8,MAX_RESTARTS=1";
    let job = pbs.qsub(&["-l", "walltime=00:00:16", "-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [75, 75], "{}", pbs.log());
    assert_eq!(pbs.log().matches("mpirun said 0, but the job is not done").count(), 2, "{}", pbs.log());
    // That of one that is done is.
    pbs.place.run(&[]).expect(0);
    pbs.command("bin/openmpi", "[ \"$1\" = --version ] || exit 0");
    let job = pbs.qsub(&["-v", &variables.replace("RESTARTS=1", "RESTARTS=0"), "pbs/triangle.pbs"]);
    assert_eq!(pbs.start(&job, &["n1"]).end(), 0);
}

#[test]
fn a_task_of_an_array_goes_on_as_itself() {
    let pbs = Pbs::new();
    pbs.command("ends", "echo \"task $PBS_ARRAY_INDEX: $*\"; exit 75");
    pbs.place.write("job3.toml", "");
    let mut job =
        pbs.qsub(&["-v", "CONFIG=job%a.toml,GPUGRAPH=./ends,MAX_RESTARTS=2,SET=job.workdir=w/%a", "pbs/triangle.pbs"]);
    job.variables.insert("PBS_ARRAY_INDEX".into(), "3".into());
    assert_eq!(pbs.run(job, &["n1"]), [75, 75, 75]);
    assert_eq!(pbs.log().matches("task 3: run --wait job3.toml --set job.workdir=w/3\n").count(), 3, "{}", pbs.log());
}
