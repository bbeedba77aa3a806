//! The stand-in: it sets PBS's variables, umask and bare PATH, starts jobs in $HOME, and at the walltime or qdel sends TERM to
//! every process and KILL ten seconds later. `qsub`, `qrls` and `ssh` next to this file are scripts, and refuse what the real ones do.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::processes::{signal_all, stat};
use crate::support::{Place, Ran, oracle, random_edges};

pub const REPO: &str = env!("CARGO_MANIFEST_DIR");
const QSTAT: &str = "cat \"$(dirname \"$0\")/../server/${2%%[!0-9]*}.attributes\"";

/// The server: jobs lie in its folder by number.
pub struct Pbs {
    pub place: Place,
}

/// A job that was submitted.
pub struct Submitted {
    pub number: usize,
    /// Of the command line and of the script's directives, the former above the latter, without `-l` and `-v`; those of
    /// `-W` by their own names.
    pub options: BTreeMap<String, String>,
    pub resources: BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    /// The time of `-a`, in seconds.
    pub after: Option<u64>,
    pub folder: PathBuf,
}

/// A job that runs, leader of a session of its own.
pub struct Running {
    child: Child,
    started: Instant,
    walltime: Duration,
}

impl Pbs {
    /// A site with GPUs that takes jobs from its compute nodes.
    pub fn new() -> Pbs {
        Pbs::at(Place::new())
    }

    pub fn at(place: Place) -> Pbs {
        for name in ["pbs", "scheduler", "configs", "tests"] {
            symlink(Path::new(REPO).join(name), place.path(name)).expect("a link");
        }
        for folder in ["bin", "home", "server"] {
            fs::create_dir(place.path(folder)).expect("a folder");
        }
        let pbs = Pbs { place };
        pbs.executable("bin/qsub", include_str!("qsub"));
        pbs.executable("bin/qrls", include_str!("qrls"));
        pbs.executable("bin/ssh", include_str!("ssh"));
        pbs.command("bin/qstat", QSTAT);
        pbs.site_has("flatuid");
        pbs.site_has("ngpus");
        let site = fs::read_to_string(Path::new(REPO).join("site.env")).expect("site.env");
        let (bin, gpugraph) = (pbs.place.path("bin"), env!("CARGO_BIN_EXE_gpugraph"));
        pbs.place.write("site.env", format!("{site}\nPATH={}:$PATH\n: \"${{GPUGRAPH:={gpugraph}}}\"\n", bin.display()));
        pbs
    }

    pub fn site_has(&self, what: &str) {
        self.place.write(&format!("server/{what}"), "");
    }

    pub fn site_lacks(&self, what: &str) {
        fs::remove_file(self.place.path(format!("server/{what}"))).expect("a file");
    }

    pub fn command(&self, name: &str, text: &str) {
        self.executable(name, &format!("#!/bin/bash\n{text}\n"));
    }

    /// The command `name` that does as `text` says when asked to run, and as gpugraph for the rest.
    pub fn runs(&self, name: &str, text: &str) {
        self.command(name, &format!("[ \"$1\" = run ] || exec {} \"$@\"\n{text}", env!("CARGO_BIN_EXE_gpugraph")));
    }

    /// The job script, asking for other resources in its own lines.
    pub fn script_asking(&self, directive: &str) -> String {
        let text = fs::read_to_string(Path::new(REPO).join("pbs/triangle.pbs")).expect("the script");
        let asks = |line: &str| line.starts_with("#PBS -l select=");
        assert_eq!(text.lines().filter(|line| asks(line)).count(), 1);
        let text: Vec<&str> = text.lines().map(|line| if asks(line) { directive } else { line }).collect();
        self.place.write("asks.pbs", text.join("\n") + "\n");
        "asks.pbs".into()
    }

    fn executable(&self, name: &str, text: &str) {
        let path = self.place.write(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    /// `qsub` as a user types it.
    #[track_caller]
    pub fn qsub(&self, args: &[&str]) -> Submitted {
        self.try_qsub(args).expect(0);
        self.next().expect("a job")
    }

    pub fn try_qsub(&self, args: &[&str]) -> Ran {
        let mut qsub = Command::new(self.place.path("bin/qsub"));
        Ran::command(qsub.args(args).current_dir(self.place.path("")).stdin(Stdio::null()))
    }

    /// The newest job, if it has not run yet.
    pub fn next(&self) -> Option<Submitted> {
        let file = |number: usize, end: &str| self.place.path(format!("server/{number}.{end}"));
        let number = (1..).take_while(|&n| file(n, "options").exists()).last()?;
        if file(number, "attributes").exists() {
            return None;
        }
        let read = |end: &str| fs::read_to_string(file(number, end)).expect("of qsub");
        let options = read("options");
        let options: Vec<&str> = options.split_terminator('\0').collect();
        let environment = read("env");
        let environment: BTreeMap<_, _> = environment.split('\0').filter_map(|line| line.split_once('=')).collect();
        let mut job = Submitted {
            number,
            options: BTreeMap::new(),
            resources: BTreeMap::new(),
            variables: BTreeMap::new(),
            after: fs::read_to_string(file(number, "after")).ok().map(|text| text.trim().parse().expect("seconds")),
            folder: read("folder").trim().into(),
        };
        for pair in options.chunks(2) {
            let [option, value] = pair else { panic!("an option without a value: {pair:?}") };
            match *option {
                "-l" => job.resources.extend(value.split(',').map(named)),
                "-W" => job.options.extend([named(value)]),
                "-v" => job.variables.extend(value.split(',').map(|variable| match variable.split_once('=') {
                    Some((name, value)) => (name.to_owned(), value.to_owned()),
                    None => (variable.to_owned(), environment.get(variable).expect("set").to_string()),
                })),
                _ => drop(job.options.insert((*option).to_owned(), (*value).to_owned())),
            }
        }
        Some(job)
    }

    /// What `qstat -f` tells, long lines broken as PBS does.
    fn attributes(&self, job: &Submitted, slots: &[&str]) -> String {
        let mut lines: BTreeMap<String, String> = BTreeMap::new();
        let mut put = |name: &str, value: &str| drop(lines.insert(name.to_owned(), value.to_owned()));
        for (name, value) in &job.resources {
            put(&format!("Resource_List.{name}"), value);
        }
        let asked: Vec<String> = job.resources.iter().map(|(name, value)| format!("-l {name}={value}")).collect();
        put("Submit_arguments", &asked.join(" "));
        // OpenPBS makes a select of what is asked for in other ways.
        let torque = self.place.path("server/torque").exists();
        let derived = || match job.resources.get("nodes").and_then(|nodes| nodes.split_once(":ppn=")) {
            Some((nodes, ppn)) => Some(format!("{nodes}:ncpus={ppn}:mpiprocs={ppn}")),
            None => job.resources.get("ncpus").map(|ncpus| format!("1:ncpus={ncpus}")),
        };
        let select = job.resources.get("select").cloned().or_else(|| derived().filter(|_| !torque));
        if let Some(select) = select {
            put("Resource_List.select", &select);
            put("Resource_List.place", "free");
            let chunks = chunks(&select);
            let mut hosts = slots.to_vec();
            hosts.dedup();
            let sum = |name: &str| chunks.iter().filter_map(|chunk| chunk.get(name)).sum::<u64>();
            for (name, unit) in [("ncpus", ""), ("ngpus", ""), ("mpiprocs", ""), ("mem", "mb")] {
                if sum(name) > 0 {
                    put(&format!("Resource_List.{name}"), &format!("{}{unit}", sum(name)));
                }
            }
            if hosts.len() == chunks.len() {
                let on = |what: &dyn Fn(&str, &BTreeMap<String, u64>) -> String| {
                    hosts.iter().zip(&chunks).map(|(host, chunk)| what(host, chunk)).collect::<Vec<_>>().join("+")
                };
                let of = |chunk: &BTreeMap<String, u64>, name: &str| chunk.get(name).copied().unwrap_or(0);
                put("exec_host", &on(&|host, chunk| format!("{host}/0*{}", of(chunk, "ncpus"))));
                put(
                    "exec_vnode",
                    &on(&|host, chunk| {
                        format!("({host}:ncpus={}:mem={}kb)", of(chunk, "ncpus"), of(chunk, "mem") << 10)
                    }),
                );
            }
        }
        let name = &job.options["-N"];
        let output = format!("login:{}/{name}.o{}", job.folder.display(), job.number);
        put("Job_Name", name);
        let mem = job.resources.get("mem");
        mem.into_iter().for_each(|mem| put("Resource_List.mem", mem));
        for (attribute, option, unless_said) in [
            ("Account_Name", "-A", "graphs"),
            ("project", "-P", "_pbs_project_default"),
            ("Priority", "-p", "0"),
            ("Mail_Points", "-m", "a"),
            ("Mail_Users", "-M", ""),
            ("Join_Path", "-j", "n"),
            ("Keep_Files", "-k", "n"),
            ("Output_Path", "-o", &output),
            ("umask", "umask", ""),
            ("group_list", "group_list", ""),
        ] {
            let value = job.options.get(option).map_or(unless_said, String::as_str);
            if !value.is_empty() {
                put(attribute, value);
            }
        }
        put("Rerunable", if job.options.get("-r").is_some_and(|r| r == "n") { "False" } else { "True" });
        let variables: String = job.variables.iter().map(|(name, value)| format!(",{name}={value}")).collect();
        put("Variable_List", &format!("PBS_O_HOME={}{variables}", self.place.path("home").display()));
        let broken = |line: String| {
            let parts: Vec<_> = line.as_bytes().chunks(70).map(String::from_utf8_lossy).collect();
            parts.join("\n\t") + "\n"
        };
        let lines = lines.into_iter().map(|(name, value)| broken(format!("    {name} = {value}")));
        format!("Job Id: {}\n{}", job.id(), lines.collect::<String>())
    }

    /// Starts a job on nodes of these names, a line for each slot.
    pub fn start(&self, job: &Submitted, slots: &[&str]) -> Running {
        let walltime = &job.resources["walltime"];
        let number = job.number;
        self.place.write(&format!("server/{number}.attributes"), self.attributes(job, slots));
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
        command.env("PBS_JOBID", job.id()).env("PBS_JOBNAME", &job.options["-N"]);
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
    pub fn run(&self, first: Submitted, slots: &[&str]) -> Vec<i32> {
        let mut codes = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            assert!(codes.len() < 20, "it never ends: {}", self.log());
            codes.push(self.start(&job, slots).end());
            next = self.next();
        }
        codes
    }

    /// The log of the first job and all that came of it.
    pub fn log(&self) -> String {
        let files = fs::read_dir(self.place.path("")).expect("a folder").flatten();
        let name = |file: fs::DirEntry| file.file_name().into_string().expect("a name");
        let logs: Vec<String> = files.map(name).filter(|name| name.ends_with(".log")).collect();
        let [log] = &logs[..] else { panic!("one log: {logs:?}") };
        fs::read_to_string(self.place.path(log)).expect("a log")
    }

    pub fn triangles(&self, workdir: &str) -> u64 {
        let report = fs::read(self.place.path(workdir).join("report.json")).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        report["results"]["triangle"]["triangles"].as_u64().expect("a count")
    }

    /// A graph of dozens of units, and the command `slow`: gpugraph that takes half a second for each of them, in the
    /// first `slices` jobs. The answer.
    pub fn slow_job(&self, slices: u32) -> u64 {
        let edges = random_edges(3000, 100_000, 6);
        let path = self.place.u32("edges.u32", &edges);
        self.place.job_on(&path, "");
        let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(500);")).collect();
        let slow = format!(
            "if [ $GPUGRAPH_RESTARTS -lt {slices} ]; then export GPUGRAPH_FAILPOINTS='{rules}'; fi\nexec {} \"$@\"",
            env!("CARGO_BIN_EXE_gpugraph")
        );
        self.command("slow", &slow);
        oracle(3000, &edges).0
    }

    pub fn status(&self) -> String {
        self.place.gpugraph(&["status", "job.toml"]).expect(0).out
    }
}

impl Submitted {
    /// As PBS writes it, which for a task of an array is `1[3].server`.
    fn id(&self) -> String {
        let task = self.variables.get("PBS_ARRAY_INDEX").filter(|_| !self.variables.contains_key("GPUGRAPH_TASK"));
        format!("{}{}.stand-in", self.number, task.map_or_else(String::new, |task| format!("[{task}]")))
    }
}

/// `name=value`.
fn named(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').expect("name=value");
    (name.to_owned(), value.to_owned())
}

/// The chunks of a select, each with its resources; memory in MiB.
fn chunks(select: &str) -> Vec<BTreeMap<String, u64>> {
    let number = |value: &str| {
        let digits = value.trim_end_matches(char::is_alphabetic);
        let number: u64 = digits.parse().expect("a number");
        if value.ends_with("gb") { number << 10 } else { number }
    };
    let parts = select.split('+').flat_map(|part| {
        let (count, resources) = part.split_once(':').expect("a chunk");
        let chunk: BTreeMap<_, _> =
            resources.split(':').map(named).map(|(name, value)| (name, number(&value))).collect();
        vec![chunk; count.parse().expect("chunks")]
    });
    parts.collect()
}

impl Running {
    /// Waits for the end, or makes it at the walltime; the exit code, or 256 + the signal.
    pub fn end(mut self) -> i32 {
        while self.child.try_wait().expect("a child").is_none() {
            if self.started.elapsed() >= self.walltime {
                return self.delete();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.code()
    }

    /// As qdel and the walltime do: TERM to every process, KILL ten seconds later.
    pub fn delete(mut self) -> i32 {
        self.signal(libc::SIGTERM);
        let start = Instant::now();
        while self.child.try_wait().expect("a child").is_none() && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.code()
    }

    fn code(&mut self) -> i32 {
        // What is left of the session is no job's.
        self.signal(libc::SIGKILL);
        let status = self.child.wait().expect("a child");
        status.code().unwrap_or_else(|| 256 + status.signal().expect("an end"))
    }

    /// To every process of the session, as PBS knows them.
    fn signal(&self, signal: i32) {
        signal_all(signal, |process| stat(process, 3) == Some(self.child.id()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }
}
