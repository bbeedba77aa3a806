//! The daemons of a Slurm, in a folder of their own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::nodes::{self, Nodes};
use crate::support::processes::{names, signal_all};
use crate::support::{Place, Ran, root};

const REPO: &str = env!("CARGO_MANIFEST_DIR");

/// How a Slurm knows which processes belong to a job, which decides whom it signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracking {
    /// By cgroups, as most sites do: it signals what its own daemon has started, which is the script and the tasks of `srun`.
    Cgroup,
    /// By their parents: it signals all processes of the job.
    Parents,
}

/// A Slurm, and the folder that its jobs are submitted from. Gone with the test, jobs included.
pub struct Slurm {
    pub place: Place,
    daemons: Vec<Child>,
    pub nodes: Option<Nodes>,
    /// Folder of its cgroups.
    cgroup: Option<PathBuf>,
}

impl Slurm {
    /// One node. Nothing where there is no Slurm, or no right to run one.
    pub fn start() -> Option<Slurm> {
        Slurm::tracking(Tracking::Cgroup)
    }

    /// One node, which knows processes in this way, or by their parents where no cgroup can be made.
    pub fn tracking(tracking: Tracking) -> Option<Slurm> {
        Slurm::begin(Place::new(), None, tracking)
    }

    /// Two nodes, and jobs submitted from the first.
    pub fn of_two_nodes() -> Option<Slurm> {
        let place = Place::on_disk();
        let nodes = Nodes::start(place.path("cluster"))?;
        Slurm::begin(place, Some(nodes), Tracking::Cgroup)
    }

    fn begin(place: Place, nodes: Option<Nodes>, tracking: Tracking) -> Option<Slurm> {
        let there = |command: &str| Command::new(command).arg("-V").output().is_ok_and(|ran| ran.status.success());
        if !root() || !there("slurmctld") || !there("slurmd") {
            println!("SKIPPED: no Slurm (Debian's slurm-wlm) that root could start");
            return None;
        }
        for name in ["slurm", "scheduler", "configs", "tests", "site.env"] {
            symlink(Path::new(REPO).join(name), place.path(name)).expect("a link");
        }
        let folder = place.path("spool");
        for name in ["state", "n1", "n2", "localhost"] {
            fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        let hosts: Vec<(&str, &str)> = match nodes {
            Some(_) => nodes::NAMES.into_iter().zip(nodes::ADDRESSES).collect(),
            None => vec![("localhost", "127.0.0.1")],
        };
        let mut gpus = Vec::new();
        for n in 0..2 {
            // Slurm wants character devices.
            let gpu = folder.join(format!("gpu{n}"));
            let made = Command::new("mknod").arg(&gpu).args(["c", "1", "3"]).status();
            assert!(made.is_ok_and(|status| status.success()), "mknod");
            gpus.push(format!("Name=gpu File={}\n", gpu.display()));
        }
        place.write("spool/gres.conf", gpus.concat());
        let ports = [(); 2].map(|()| free_port());
        let cgroup = Some(()).filter(|()| tracking == Tracking::Cgroup).and_then(|()| cgroup(&place));
        place.write("spool/slurm.conf", config(&place, &hosts, &ports, cgroup.is_some()));
        let mut slurm = Slurm { place, daemons: Vec::new(), nodes, cgroup };
        slurm.daemon(0, &["slurmctld", "-D", "-i"]);
        for (n, (name, _)) in hosts.iter().enumerate() {
            slurm.daemon(n, &["slurmd", "-D", "-N", name]);
        }
        let idle =
            |slurm: &Slurm| slurm.output("sinfo", &["-h", "-N", "-p", "main", "-o", "%T"]).matches("idle").count();
        slurm.until("idle nodes", 20, |slurm| idle(slurm) == hosts.len());
        Some(slurm)
    }

    fn daemon(&mut self, node: usize, words: &[&str]) {
        // Should the test be killed, its Slurm ends with it.
        let mut command = self.on(node, "setpriv");
        command.args(["--pdeathsig", "KILL"]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().expect("start Slurm"));
    }

    /// A command of Slurm, or one that submits by it, in the folder that jobs are submitted from.
    pub fn command(&self, name: &str) -> Command {
        self.on(0, name)
    }

    fn on(&self, node: usize, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.place.path("")).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let named = name.to_string_lossy();
            if ["SLURM_", "PBS_", "GPUGRAPH_"].iter().any(|prefix| named.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        // What Open MPI leaves behind where its ranks are killed goes with the place.
        command.env("TMPDIR", self.place.path(""));
        command.env("SLURM_CONF", self.place.path("spool/slurm.conf"));
        command.env("GPUGRAPH", env!("CARGO_BIN_EXE_gpugraph"));
        match &self.nodes {
            Some(nodes) => nodes.inside(node, &command),
            None => command,
        }
    }

    pub fn output(&self, name: &str, args: &[&str]) -> String {
        Ran::command(self.command(name).args(args)).out
    }

    /// Submits; the job's id.
    #[track_caller]
    pub fn submit(&self, environment: &[(&str, &str)], args: &[&str]) -> String {
        let mut sbatch = self.command("sbatch");
        sbatch.envs(environment.iter().copied()).arg("--parsable").args(args);
        Ran::command(&mut sbatch).expect(0).out.trim().to_owned()
    }

    /// Waits until `holds`, for twice `seconds`: that is for a machine that is busy.
    #[track_caller]
    pub fn until(&self, what: &str, seconds: u64, mut holds: impl FnMut(&Slurm) -> bool) {
        let end = Instant::now() + Duration::from_secs(2 * seconds);
        while !holds(self) {
            assert!(Instant::now() < end, "no {what} within twice {seconds} s: {}", self.logs());
            std::thread::sleep(Duration::from_millis(250));
        }
    }

    /// A field of `scontrol show job`.
    pub fn field(&self, job: &str, name: &str) -> String {
        let text = self.output("scontrol", &["--oneliner", "show", "job", job]);
        let field = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        field.unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn ends(&self, job: &str, state: &str, seconds: u64) {
        self.until(state, seconds, |slurm| slurm.field(job, "JobState") == state);
    }

    /// All logs of jobs, and what Slurm says.
    pub fn logs(&self) -> String {
        let files = fs::read_dir(self.place.path("")).expect("a folder").map(|entry| entry.expect("an entry").path());
        let logs = files.filter(|path| path.extension().is_some_and(|end| end == "log"));
        let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let daemons =
            fs::read_dir(self.place.path("spool")).expect("a folder").map(|entry| entry.expect("an entry").path());
        logs.chain(daemons.filter(|path| path.extension().is_some_and(|end| end == "log")))
            .map(text)
            .collect::<String>()
            + &self.output("scontrol", &["show", "job"])
    }

    pub fn log(&self, name: &str, job: &str) -> String {
        fs::read_to_string(self.place.path(format!("{name}.{job}.log"))).expect("a log")
    }

    /// `gpugraph status` of a job file.
    pub fn status(&self) -> Ran {
        self.place.gpugraph(&["status", "job.toml"])
    }

    pub fn units(&self) -> u64 {
        let look = self.place.gpugraph(&["status", "job.toml", "--json"]);
        let look: Value = serde_json::from_str(&look.out).unwrap_or_default();
        look["units"]["done"].as_u64().unwrap_or(0)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--signal=KILL", "--full", "--me"]).output();
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        // What jobs and their keepers have left is known by the configuration in its environment.
        let mine = self.place.path("spool/slurm.conf").display().to_string();
        signal_all(libc::SIGKILL, |process| names(process, &mine));
        if let Some(cgroup) = &self.cgroup {
            // Folders of cgroups are removed from the inside, and only when their processes are gone.
            for _ in 0..20 {
                let _ = Command::new("find")
                    .arg(cgroup)
                    .args(["-depth", "-type", "d", "-delete"])
                    .stderr(Stdio::null())
                    .status();
                if !cgroup.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// A port that nobody has, below those that the system hands out: one of these may be gone before Slurm takes it.
fn free_port() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id() * 64;
    let mut ports = (0..).map(|_| 10_000 + ((first + COUNT.fetch_add(1, Relaxed)) % 20_000) as u16);
    ports.find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok()).expect("a port")
}

/// Makes a cgroup for one Slurm, of version 1, and has Slurm use it. Nothing where none can be made.
fn cgroup(place: &Place) -> Option<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Relaxed);
    let folder = PathBuf::from(format!("/sys/fs/cgroup/freezer/gpugraph-{}-{number}", std::process::id()));
    if let Err(why) = fs::create_dir(&folder) {
        println!(
            "SKIPPED: no cgroup of version 1 for Slurm ({}: {why}), which signals all processes then",
            folder.display()
        );
        return None;
    }
    fs::create_dir(place.path("spool/cgroup")).expect("a folder");
    symlink(&folder, place.path("spool/cgroup/freezer")).expect("a link");
    let mounted = place.path("spool/cgroup");
    let text = format!("CgroupAutomount=no\nCgroupMountpoint={}\nCgroupPlugin=cgroup/v1\n", mounted.display());
    place.write("spool/cgroup.conf", text);
    Some(folder)
}

/// As small as it works: no authentication, no accounting; more cores and memory than there are. Jobs in the partition `urgent` have
/// those in `main` requeued.
fn config(place: &Place, hosts: &[(&str, &str)], ports: &[u16; 2], cgroup: bool) -> String {
    let (folder, local) = (place.path("spool"), place.path(if hosts.len() > 1 { "cluster/local" } else { "spool" }));
    let (folder, local) = (folder.display(), local.display());
    let ([controller, node], (name, address)) = (ports, hosts[0]);
    let tracking = if cgroup { "cgroup" } else { "linuxproc" };
    let more = "CPUs=32 RealMemory=100000 Gres=gpu:2";
    let nodes: String =
        hosts.iter().map(|(name, address)| format!("NodeName={name} NodeAddr={address} {more}\n")).collect();
    format!(
        "ClusterName=test\nSlurmctldHost={name}({address})\nSlurmctldPort={controller}\nSlurmdPort={node}\nSlurmUser=root\n\
         AuthType=auth/none\nCredType=cred/none\nAuthInfo=cred_expire=5\nStateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/%n\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.%n.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd.%n.log\nProctrackType=proctrack/{tracking}\n\
         TaskPlugin=task/none\nReturnToService=2\nMpiDefault=none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         SlurmdParameters=config_overrides\nSchedulerParameters=batch_sched_delay=0,sched_interval=1\nKillWait=10\n\
         PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n\
         TmpFS={local}\nGresTypes=gpu\n{nodes}PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n\
         PartitionName=urgent Nodes=ALL PriorityTier=9 MaxTime=INFINITE State=UP\n"
    )
}
