//! Job scripts under a stand-in for PBS: it sets PBS's variables, umask and bare PATH, starts jobs in $HOME, and at the
//! walltime or qdel sends TERM to every process and KILL ten seconds later. qsub and qstat are scripts that record.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Place, Ran, oracle, random_edges};

const REPO: &str = env!("CARGO_MANIFEST_DIR");
/// Keeps what it was called with; the job's number is that of the file.
const QSUB: &str = "cd \"$(dirname \"$0\")/../server\" || exit 1\n\
    n=$(($(ls | grep -c '\\.args$') + 1))\n\
    for script; do :; done\n\
    cp \"$OLDPWD/$script\" $n.script 2>/dev/null || cp \"$script\" $n.script || exit 1\n\
    env -0 >$n.env; echo \"$OLDPWD\" >$n.folder; printf '%s\\0' \"$@\" >$n.args; echo $n.stand-in";
const QSTAT: &str = "cat \"$(dirname \"$0\")/../server/${2%%.*}.attributes\"";

/// The server: jobs lie in its folder by number.
struct Pbs {
    place: Place,
}

/// A job that was submitted.
struct Submitted {
    number: usize,
    /// Of the command line and of the script's directives, the former above the latter, without `-l` and `-v`.
    options: BTreeMap<String, String>,
    resources: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    folder: PathBuf,
}

/// A job that runs, leader of a session of its own.
struct Running {
    child: Child,
    started: Instant,
    walltime: Duration,
}

impl Pbs {
    fn new() -> Pbs {
        let place = Place::new();
        for name in ["pbs", "scheduler", "configs", "tests"] {
            symlink(Path::new(REPO).join(name), place.path(name)).expect("a link");
        }
        for folder in ["bin", "home", "server"] {
            fs::create_dir(place.path(folder)).expect("a folder");
        }
        let pbs = Pbs { place };
        pbs.command("bin/qsub", QSUB);
        pbs.command("bin/qstat", QSTAT);
        let site = fs::read_to_string(Path::new(REPO).join("site.env")).expect("site.env");
        let (bin, gpugraph) = (pbs.place.path("bin"), env!("CARGO_BIN_EXE_gpugraph"));
        pbs.place.write("site.env", format!("{site}\nPATH=$PATH:{}\n: \"${{GPUGRAPH:={gpugraph}}}\"\n", bin.display()));
        pbs
    }

    fn command(&self, name: &str, text: &str) {
        let path = self.place.write(name, format!("#!/bin/bash\n{text}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    /// `qsub` as a user types it.
    #[track_caller]
    fn qsub(&self, args: &[&str]) -> Submitted {
        let mut qsub = Command::new(self.place.path("bin/qsub"));
        Ran::command(qsub.args(args).current_dir(self.place.path(""))).expect(0);
        self.next().expect("a job")
    }

    /// The newest job, if it has not run yet.
    fn next(&self) -> Option<Submitted> {
        let file = |number: usize, end: &str| self.place.path(format!("server/{number}.{end}"));
        let number = (1..).take_while(|&n| file(n, "args").exists()).last()?;
        if file(number, "attributes").exists() {
            return None;
        }
        let read = |end: &str| fs::read_to_string(file(number, end)).expect("of qsub");
        let directives = read("script");
        let directives = directives.lines().filter_map(|line| line.strip_prefix("#PBS "));
        let directives: Vec<String> = directives.flat_map(str::split_whitespace).map(str::to_owned).collect();
        let args = read("args");
        let args: Vec<String> = args.split_terminator('\0').map(str::to_owned).collect();
        let environment = read("env");
        let environment: BTreeMap<_, _> = environment.split('\0').filter_map(|line| line.split_once('=')).collect();
        let mut job = Submitted {
            number,
            options: BTreeMap::new(),
            resources: BTreeMap::new(),
            variables: BTreeMap::new(),
            folder: read("folder").trim().into(),
        };
        for pair in directives.chunks(2).chain(args[..args.len() - 1].chunks(2)) {
            let [option, value] = pair else { panic!("an option without a value: {pair:?}") };
            match option.as_str() {
                "-l" => {
                    let (name, value) = value.split_once('=').expect("a resource");
                    job.resources.insert(name.to_owned(), value.to_owned());
                }
                "-v" => job.variables.extend(value.split(',').map(|variable| match variable.split_once('=') {
                    Some((name, value)) => (name.to_owned(), value.to_owned()),
                    None => (variable.to_owned(), environment.get(variable).expect("set").to_string()),
                })),
                _ => drop(job.options.insert(option.clone(), value.clone())),
            }
        }
        Some(job)
    }

    /// What `qstat -f` tells, long lines broken as PBS does.
    fn attributes(&self, job: &Submitted, walltime: &str) -> String {
        let variables: String = job.variables.iter().map(|(name, value)| format!(",{name}={value}")).collect();
        let mut text = format!("Job Id: {}.stand-in\n    Job_Name = {}\n", job.number, job.options["-N"]);
        for (name, value) in job.resources.iter().filter(|(name, _)| *name != "walltime") {
            text.push_str(&format!("    Resource_List.{name} = {value}\n"));
            // PBS adds up what a select of one chunk asks for.
            for part in value.split(':').filter(|_| name == "select").filter_map(|part| part.split_once('=')) {
                let chunks: u64 = value.split(':').next().and_then(|n| n.parse().ok()).expect("chunks");
                let digits = part.1.trim_end_matches(char::is_alphabetic);
                let sum = chunks * digits.parse::<u64>().expect("a number");
                text.push_str(&format!("    Resource_List.{} = {sum}{}\n", part.0, &part.1[digits.len()..]));
            }
        }
        let list = format!("    Variable_List = PBS_O_HOME={}{variables}", self.place.path("home").display());
        let broken: Vec<String> =
            list.as_bytes().chunks(70).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        format!("{text}    Resource_List.walltime = {walltime}\n    Account_Name = graphs\n{}\n", broken.join("\n\t"))
    }

    /// Starts a job on nodes of these names, a line for each slot.
    fn start(&self, job: &Submitted, slots: &[&str]) -> Running {
        let walltime = &job.resources["walltime"];
        let number = job.number;
        self.place.write(&format!("server/{number}.attributes"), self.attributes(job, walltime));
        let nodes = self.place.write(&format!("server/{number}.nodes"), slots.join("\n") + "\n");
        let script = self.place.path(format!("server/{number}.SC"));
        fs::copy(self.place.path(format!("server/{number}.script")), &script).expect("copy");
        let output = fs::File::create(self.place.path(format!("server/{number}.OU"))).expect("create");
        let mut command = Command::new("bash");
        command.args(["-c", "umask 0077; exec setsid bash \"$0\""]).arg(script).current_dir(self.place.path("home"));
        command
            .env_clear()
            .env("PATH", "/bin:/usr/bin")
            .env("HOME", self.place.path("home"))
            .env("PBS_NODEFILE", nodes);
        command.env("PBS_JOBID", format!("{number}.stand-in")).env("PBS_JOBNAME", &job.options["-N"]);
        command.env("PBS_QUEUE", "gpuq").env("PBS_O_WORKDIR", &job.folder).envs(&job.variables);
        command.stdin(Stdio::null()).stdout(output.try_clone().expect("a handle")).stderr(output);
        let seconds = walltime.split(':').fold(0, |sum, part| 60 * sum + part.parse::<u64>().expect("a number"));
        Running {
            child: command.spawn().expect("bash"),
            started: Instant::now(),
            walltime: Duration::from_secs(seconds),
        }
    }

    /// Runs a job and all that come of it: how each ended.
    fn run(&self, first: Submitted, slots: &[&str]) -> Vec<i32> {
        let mut codes = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            assert!(codes.len() < 20, "it never ends: {}", self.log());
            codes.push(self.start(&job, slots).end());
            next = self.next();
        }
        codes
    }

    fn log(&self) -> String {
        fs::read_to_string(self.place.path("triangle.1.log")).expect("a log")
    }

    fn triangles(&self, workdir: &str) -> u64 {
        let report = fs::read(self.place.path(workdir).join("report.json")).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        report["results"]["triangle"]["triangles"].as_u64().expect("a count")
    }

    /// A graph of dozens of units, and the command `slow`: gpugraph that takes half a second for each of them, in the
    /// first `slices` jobs. The answer.
    fn slow_job(&self, slices: u32) -> Option<u64> {
        if !cfg!(feature = "failpoints") {
            println!("SKIPPED: built without the feature failpoints");
            return None;
        }
        let edges = random_edges(3000, 100_000, 6);
        let path = self.place.u32("edges.u32", &edges);
        self.place.job_on(&path, "");
        let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(500);")).collect();
        let slow = format!(
            "if [ $GPUGRAPH_RESTARTS -lt {slices} ]; then export GPUGRAPH_FAILPOINTS='{rules}'; fi\nexec {} \"$@\"",
            env!("CARGO_BIN_EXE_gpugraph")
        );
        self.command("slow", &slow);
        Some(oracle(3000, &edges).0)
    }

    fn status(&self) -> String {
        self.place.gpugraph(&["status", "job.toml"]).expect(0).out
    }
}

impl Running {
    /// Waits for the end, or makes it at the walltime; the exit code, or 256 + the signal.
    fn end(mut self) -> i32 {
        while self.child.try_wait().expect("a child").is_none() {
            if self.started.elapsed() >= self.walltime {
                return self.delete();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.code()
    }

    /// As qdel and the walltime do: TERM to every process, KILL ten seconds later.
    fn delete(mut self) -> i32 {
        self.signal("-TERM");
        let start = Instant::now();
        while self.child.try_wait().expect("a child").is_none() && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.code()
    }

    fn code(&mut self) -> i32 {
        // What is left of the session is no job's.
        self.signal("-KILL");
        let status = self.child.wait().expect("a child");
        status.code().unwrap_or_else(|| 256 + status.signal().expect("an end"))
    }

    /// To every process of the session, as PBS knows them.
    fn signal(&self, signal: &str) {
        let session = self.child.id().to_string();
        let mut kill = Command::new("kill");
        kill.arg(signal).stderr(Stdio::null());
        for process in fs::read_dir("/proc").expect("/proc").flatten() {
            let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
            if fields.split_whitespace().nth(3) == Some(&session) {
                kill.arg(process.file_name());
            }
        }
        let _ = kill.status();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal("-KILL");
        let _ = self.child.wait();
    }
}

#[test]
fn bash_and_shellcheck_find_nothing() {
    let place = Place::new();
    place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let mut scripts: Vec<PathBuf> = Vec::new();
    for name in ["scheduler/run.sh", "slurm/triangle.sbatch", "pbs/triangle.pbs", "site.env"] {
        scripts.push(Path::new(REPO).join(name));
    }
    for scheduler in ["slurm", "pbs"] {
        let ran = place.gpugraph(&["submit", "job.toml", "--print", "--scheduler", scheduler, "--gpus=1"]);
        scripts.push(place.write(scheduler, ran.expect(0).out));
    }
    for script in &scripts {
        Ran::command(Command::new("bash").arg("-n").arg(script)).expect(0);
    }
    let mut shellcheck = Command::new("shellcheck");
    match shellcheck.arg("--external-sources").args(&scripts).current_dir(REPO).output() {
        Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout)),
        Err(_) => println!("SKIPPED: no shellcheck to look through the job scripts"),
    }
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
    let Some(answer) = pbs.slow_job(3) else { return };
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,GRACE=3,DATASET=web";
    let first =
        pbs.qsub(&["-l", "walltime=00:00:05", "-l", "select=1:ncpus=2:mem=4gb", "-v", variables, "pbs/triangle.pbs"]);
    let (mut codes, mut next, mut units) = (Vec::new(), Some(first), 0);
    while let Some(job) = next {
        if !codes.is_empty() {
            // What the first was given on its command line is not in the script.
            assert_eq!(
                (job.resources["walltime"].as_str(), job.resources["select"].as_str()),
                ("00:00:05", "1:ncpus=2:mem=4gb")
            );
            assert_eq!((job.options["-q"].as_str(), job.options["-A"].as_str()), ("gpuq", "graphs"));
            assert_eq!(job.options["-W"], format!("depend=afterany:{}.stand-in", job.number - 1));
            for (name, value) in [("CONFIG", "job.toml"), ("GPUGRAPH", "./slow"), ("DATASET", "web")] {
                assert_eq!(job.variables[name], value);
            }
        }
        codes.push(pbs.start(&job, &["n1"]).end());
        next = pbs.next();
        if next.is_some() {
            let status = pbs.status();
            assert!(status.contains("state     stopped: stopped by SIGUSR1"), "{status}");
            let look = pbs.place.gpugraph(&["status", "job.toml", "--json"]).expect(0).out;
            let look: Value = serde_json::from_str(&look).expect("JSON");
            let done = look["units"]["done"].as_u64().expect("units");
            assert!(done > units, "{done} units after {units}");
            units = done;
        }
    }
    assert_eq!(codes, [75, 75, 75, 0], "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
    // 4 GiB of the node, and 80 % of what is left of them: no more than PBS granted, whatever the machine has.
    let report: Value =
        serde_json::from_slice(&fs::read(pbs.place.workdir().join("report.json")).expect("a report")).expect("JSON");
    assert!(report["limits"]["host_memory"].as_u64().expect("a limit") <= (4 << 30) / 5 * 4, "{report}");
    // One log of all of them.
    assert_eq!(pbs.log().matches("exit 75 after").count(), 3);
}

#[test]
fn at_the_walltime_without_warning_it_still_goes_on() {
    let pbs = Pbs::new();
    let Some(answer) = pbs.slow_job(1) else { return };
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,GRACE=0";
    let job = pbs.qsub(&["-l", "walltime=00:00:04", "-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [75, 0], "{}", pbs.log());
    assert!(pbs.log().contains("ended by the scheduler"), "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
}

#[test]
fn a_deleted_job_stays_so_and_the_same_line_carries_on() {
    let pbs = Pbs::new();
    let Some(answer) = pbs.slow_job(1) else { return };
    let job = pbs.qsub(&["-v", "CONFIG=job.toml,GPUGRAPH=./slow", "pbs/triangle.pbs"]);
    let running = pbs.start(&job, &["n1"]);
    let end = Instant::now() + Duration::from_secs(20);
    while !pbs.place.gpugraph(&["status", "job.toml"]).out.contains("units     1 ") {
        assert!(Instant::now() < end, "no unit in 20 s: {}", pbs.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(running.delete(), 75);
    assert!(pbs.next().is_none(), "{}", pbs.log());
    assert!(pbs.log().contains("not submitted again"), "{}", pbs.log());
    assert!(pbs.status().contains("state     stopped: stopped by SIGTERM"), "{}", pbs.status());
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
                  echo \"mpirun $*\"; cat \"${@:6:1}\"";
    let slots = |nodes: &[&'static str], each| nodes.iter().flat_map(|&node| vec![node; each]).collect::<Vec<_>>();
    for (resources, slots, ranks, threads, hosts) in [
        ("select=2:ncpus=32:ngpus=4:mpiprocs=4", slots(&["n1", "n2"], 4), 8, 8, "n1 slots=4\nn2 slots=4\n"),
        ("nodes=2:ppn=6:gpus=2", slots(&["n1", "n2"], 6), 4, 3, "n1 slots=2\nn2 slots=2\n"),
        ("nodes=2:ppn=6", slots(&["n1", "n2"], 6), 2, 6, "n1 slots=1\nn2 slots=1\n"),
    ] {
        let pbs = Pbs::new();
        pbs.command("bin/openmpi", mpirun);
        pbs.place.write("job.toml", "");
        let variables = "CONFIG=job.toml,GPUGRAPH=gpugraph,PBS_NUM_PPN=6,LAUNCHER=mpirun,MPIRUN=bin/openmpi";
        pbs.command("bin/gpugraph", "exit 1");
        let mut job = pbs.qsub(&["-l", resources, "-v", variables, "pbs/triangle.pbs"]);
        if resources.starts_with("nodes") {
            job.resources.remove("select");
        }
        assert_eq!(pbs.run(job, &slots), [0], "{}", pbs.log());
        let log = pbs.log();
        let line = log.lines().find(|line| line.starts_with("mpirun ")).expect("a launch");
        assert!(line.starts_with(&format!("mpirun -n {ranks} --bind-to none -hostfile ")), "{line}");
        assert!(line.contains(&format!("NCPUS={threads} ")) && line.ends_with("gpugraph run job.toml"), "{line}");
        assert!(log.contains(hosts), "{log}");
    }
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
    assert_eq!(pbs.log().matches("task 3: run job3.toml --set job.workdir=w/3\n").count(), 3, "{}", pbs.log());
}

#[test]
fn submit_writes_a_script_that_runs() {
    let pbs = Pbs::new();
    let edges = random_edges(300, 3000, 4);
    let path = pbs.place.u32("it's a graph.u32", &edges);
    pbs.place.job(&format!("path = {path:?}"), "");
    let submit = |args: &[&str], path: &str| {
        let mut command = pbs.place.command(&[&["submit", "job.toml"], args].concat());
        Ran::command(command.env("PATH", path).env_remove("SITE"))
    };
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
    // Ranks need a gpugraph that has them.
    for (more, found) in [("--nodes=2", "2 ranks (2 nodes of 1)"), ("--gpus=4", "4 ranks (1 nodes of 4)")] {
        let ran = submit(&["--scheduler=pbs", "--print", more], &bin).expect(2);
        assert!(ran.error().contains(found) && ran.error().contains("--features mpi"), "{}", ran.err);
    }
    // Where there is no scheduler, it says what to do.
    let ran = submit(&[], "/nonexistent").expect(2);
    assert!(ran.error().contains("neither sbatch (Slurm) nor qsub (PBS) is on the path"), "{}", ran.err);
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
