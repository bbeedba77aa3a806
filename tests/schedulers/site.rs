//! A folder that jobs are submitted from, and the scheduler that runs them.
//!
//! Grid Engine is a real one, which `gridengine` beside this file starts. LSF and Flux are stand-ins: the scripts `lsf` and `flux`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::processes::{names, signal_all};
use crate::support::{Place, Ran, oracle, random_edges, root};

pub const REPO: &str = env!("CARGO_MANIFEST_DIR");

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    GridEngine,
    Lsf,
    Flux,
}

/// Gone with the test, jobs included.
pub struct Site {
    pub place: Place,
    kind: Kind,
    daemons: Option<Child>,
    ports: [u16; 2],
}

impl Site {
    /// Nothing where there is no Grid Engine, or no right to run one.
    pub fn start(kind: Kind) -> Option<Site> {
        let place = Place::new();
        for name in ["scheduler", "configs", "tests", "site.env"] {
            symlink(Path::new(REPO).join(name), place.path(name)).expect("a link");
        }
        for folder in ["bin", "server"] {
            fs::create_dir(place.path(folder)).expect("a folder");
        }
        let stand_in = |script: &str, names: &[&str]| {
            for name in names {
                symlink(Path::new(REPO).join("tests/schedulers").join(script), place.path("bin").join(name))
                    .expect("a link");
            }
        };
        let mut site = match kind {
            Kind::GridEngine => {
                let there = |name: &str| Command::new("which").arg(name).output().is_ok_and(|ran| ran.status.success());
                if !root() || !["sge_qmaster", "sge_execd", "qconf"].into_iter().all(there) {
                    println!(
                        "SKIPPED: no Grid Engine (Debian's gridengine-master and gridengine-exec) that root could start"
                    );
                    return None;
                }
                let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
                let ports = held.each_ref().map(|port| port.local_addr().expect("an address").port());
                Site { place, kind, daemons: None, ports }
            }
            // Scripts that are found by links look for server/ beside the link.
            Kind::Lsf => {
                stand_in("lsf", &["bsub", "bjobs", "bkill"]);
                Site { place, kind, daemons: None, ports: [0; 2] }
            }
            Kind::Flux => {
                stand_in("flux", &["flux"]);
                Site { place, kind, daemons: None, ports: [0; 2] }
            }
        };
        if kind == Kind::GridEngine {
            site.start_daemons();
        }
        Some(site)
    }

    fn start_daemons(&mut self) {
        let mut command = self.on("setpriv");
        command.args(["--pdeathsig", "KILL", "bash"]).arg(Path::new(REPO).join("tests/schedulers/gridengine"));
        command.arg(self.place.path("engine")).args(self.ports.map(|port| port.to_string()));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("start Grid Engine");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("read");
        self.daemons = Some(child);
        let said = fs::read_to_string(self.place.path("engine/start.log")).unwrap_or_default();
        assert_eq!(line, "ready\n", "{said}");
    }

    /// A command in the folder that jobs are submitted from, which finds the scheduler.
    pub fn on(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.place.path("")).stdin(Stdio::null());
        let foreign = ["SLURM_", "PBS_", "SGE_", "LSB_", "FLUX_", "GPUGRAPH_", "CUDA_VISIBLE_DEVICES", "STAGE"];
        for (name, _) in std::env::vars_os() {
            if foreign.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        let path = std::env::var("PATH").expect("a path");
        command.env("PATH", format!("{}:{path}", self.place.path("bin").display()));
        if self.kind == Kind::GridEngine {
            command.env("SGE_ROOT", self.place.path("engine/root")).env("SGE_CELL", "default");
            command.env("SGE_QMASTER_PORT", self.ports[0].to_string()).env("SGE_EXECD_PORT", self.ports[1].to_string());
        }
        command
    }

    /// Submits the job script with these variables and so many seconds of time; the job's number.
    #[track_caller]
    pub fn submit(&self, variables: &[(&str, &str)], seconds: u32, tasks: Option<(u32, u32)>) -> String {
        let named = |name: &str| variables.iter().any(|(other, _)| *other == name);
        let mut variables = variables.to_vec();
        if !named("GPUGRAPH") {
            variables.push(("GPUGRAPH", env!("CARGO_BIN_EXE_gpugraph")));
        }
        let text = match self.kind {
            Kind::GridEngine => {
                let list: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let mut qsub = self.on("qsub");
                qsub.args(["-terse", "-v", &list.join(","), "-l", &format!("h_rt={seconds}")]);
                if let Some((first, last)) = tasks {
                    qsub.args(["-t", &format!("{first}-{last}")]);
                }
                Ran::command(qsub.arg("scheduler/job.sge")).expect(0).out
            }
            Kind::Lsf => {
                let mut bsub = self.on("bsub");
                bsub.envs(variables).args(["-W", &format!("{:.4}", f64::from(seconds) / 60.0 + 0.001)]);
                if let Some((first, last)) = tasks {
                    bsub.args(["-J", &format!("gpugraph[{first}-{last}]")]);
                }
                bsub.stdin(fs::File::open(self.place.path("scheduler/job.lsf")).expect("the script"));
                Ran::command(&mut bsub).expect(0).out
            }
            Kind::Flux => {
                let submit = |task: Option<u32>| {
                    let mut flux = self.on("flux");
                    flux.envs(variables.iter().copied()).envs(task.map(|task| ("GPUGRAPH_TASK", task.to_string())));
                    flux.args(["batch", "-t", &format!("{seconds}s"), "scheduler/job.flux"]);
                    Ran::command(&mut flux).expect(0).out
                };
                match tasks {
                    Some((first, last)) => (first..=last).fold(String::new(), |_, task| submit(Some(task))),
                    None => submit(None),
                }
            }
        };
        text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty()).expect("a number").to_owned()
    }

    pub fn cancel(&self, job: &str) {
        let mut command = match self.kind {
            Kind::GridEngine => self.on("qdel"),
            Kind::Lsf => self.on("bkill"),
            Kind::Flux => self.on("flux"),
        };
        if self.kind == Kind::Flux {
            command.arg("cancel");
        }
        Ran::command(command.arg(job)).expect(0);
    }

    /// Whether the scheduler has no job, neither waiting nor running.
    fn is_idle(&self) -> bool {
        if self.kind == Kind::GridEngine {
            return Ran::command(&mut self.on("qstat")).out.is_empty();
        }
        let server = fs::read_dir(self.place.path("server")).expect("a folder").flatten();
        let mut scripts =
            server.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "script"));
        scripts.all(|script| script.with_extension("exit").exists())
    }

    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut(&Site) -> bool) {
        let end = Instant::now() + Duration::from_secs(180);
        while !holds(self) {
            assert!(Instant::now() < end, "no {what} within 180 s: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until all jobs are over, those that they gave rise to included; what their scripts said.
    #[track_caller]
    pub fn end(&self) -> String {
        self.until("end", Site::is_idle);
        self.log()
    }

    /// All logs of job scripts.
    pub fn log(&self) -> String {
        let read = |folder: &str| {
            let files = fs::read_dir(self.place.path(folder)).expect("a folder").flatten().map(|file| file.path());
            let logs = files.filter(|path| path.extension().is_some_and(|end| end == "log"));
            logs.filter_map(|path| fs::read_to_string(path).ok()).collect::<String>()
        };
        read("") + &read("server")
    }

    /// What the scripts say when the scheduler is to run the job once more.
    pub fn goes_on(&self) -> &'static str {
        if self.kind == Kind::Flux { "goes on as" } else { "requeued by exit code 99" }
    }

    pub fn command(&self, name: &str, text: &str) {
        let path = self.place.write(name, format!("#!/bin/bash\n{text}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    /// The command `name` that does as `text` says when asked to run, and as gpugraph for the rest.
    pub fn runs(&self, name: &str, text: &str) {
        self.command(name, &format!("[ \"$1\" = run ] || exec {} \"$@\"\n{text}", env!("CARGO_BIN_EXE_gpugraph")));
    }

    /// A graph of dozens of units, its job file, and the command `slow`: gpugraph that takes half a second for each unit, in the first
    /// `slices` slices. The answer.
    pub fn slow_job(&self, slices: u32) -> u64 {
        let edges = random_edges(3000, 100_000, 6);
        let path = self.place.u32("its edges.u32", &edges);
        self.place.job(&format!("path = '{}'", path.display()), "[job]\nworkdir = 'my work'\n");
        let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(500);")).collect();
        self.runs(
            "slow",
            &format!(
                "echo >>slices\nif [ $(wc -l <slices) -le {slices} ]; then export GPUGRAPH_FAILPOINTS='{rules}'; fi\nexec {} \"$@\"",
                env!("CARGO_BIN_EXE_gpugraph")
            ),
        );
        oracle(3000, &edges).0
    }

    pub fn triangles(&self, workdir: &str) -> u64 {
        let report = fs::read(self.place.path(workdir).join("report.json")).expect("a report");
        crate::support::triangles(&serde_json::from_slice(&report).expect("JSON"))
    }

    pub fn units(&self) -> u64 {
        let look = self.place.gpugraph(&["status", "job.toml", "--json"]);
        let look: serde_json::Value = serde_json::from_str(&look.out).unwrap_or_default();
        look["units"]["done"].as_u64().unwrap_or(0)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(daemons) = &mut self.daemons {
            let _ = daemons.kill();
            let _ = daemons.wait();
        }
        // Jobs and their keepers have the folder in their environment or on their command line.
        let mine = self.place.path("").display().to_string();
        let me = std::process::id().to_string();
        signal_all(libc::SIGKILL, |process| !process.ends_with(&me) && names(process, &mine));
    }
}
