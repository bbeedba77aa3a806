//! Two nodes on one machine: each a network, mounts and a host name of its own, with a cable between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::mpi::Kind;
use super::processes::signal_all;
use super::{environment_of, root};

/// As they are called; the first is where jobs are started.
pub const NAMES: [&str; 2] = ["n1", "n2"];
pub const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// Two nodes, which share all files but `/dev/shm`, `local` and what is hidden. Gone with the test, processes and all.
pub struct Nodes {
    folder: PathBuf,
    holders: Vec<Child>,
}

impl Nodes {
    /// Their files go to `folder`; nothing where this machine can't have namespaces.
    pub fn start(folder: PathBuf) -> Option<Nodes> {
        let there = |command: &str| Command::new(command).arg("-V").output().is_ok_and(|ran| ran.status.success());
        if !root() || !["unshare", "nsenter", "ip"].into_iter().all(there) {
            println!("SKIPPED: two nodes need root, unshare, nsenter and ip (iproute2)");
            return None;
        }
        fs::create_dir_all(folder.join("local")).expect("a folder");
        let hosts: String = NAMES.iter().zip(ADDRESSES).map(|(name, address)| format!("{address} {name}\n")).collect();
        fs::write(folder.join("hosts"), format!("127.0.0.1 localhost\n{hosts}")).expect("hosts");
        let mut nodes = Nodes { folder, holders: Vec::new() };
        for name in NAMES {
            nodes.hold(name);
        }
        let made = ["ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", &nodes.pid(1)];
        let cable = nodes.enter(0, &made).output().expect("ip");
        if !cable.status.success() {
            println!("SKIPPED: no cable between two nodes: {}", String::from_utf8_lossy(&cable.stderr).trim());
            return None;
        }
        for (n, address) in ADDRESSES.iter().enumerate() {
            let up = format!("ip addr add {address}/24 dev cable && ip link set cable up && ip link set lo up");
            assert!(nodes.enter(n, &["sh", "-c", &up]).status().expect("ip").success(), "{up}");
        }
        // What a daemon is started with on a node, by `AGENT [-OPTION..] NODE COMMAND..`.
        let of = |n: usize| format!("{}) pid={} ;;\n", NAMES[n], nodes.pid(n));
        nodes.script(
            "agent",
            &format!(
                "while [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1; shift\ncase $host in\n{}{}esac\n\
                 exec nsenter -t $pid -u -m -n --wd=. sh -c \"$*\"",
                of(0),
                of(1)
            ),
        );
        Some(nodes)
    }

    /// Starts the process that namespaces belong to, and waits for them.
    fn hold(&mut self, name: &str) {
        let here = self.folder.display();
        let script = format!(
            "mount -t tmpfs none {here}/local && mount -t tmpfs none /dev/shm && mount --bind {here}/hosts /etc/hosts && hostname {name} && exec sleep infinity"
        );
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "-u", "-m", "-n", "sh", "-c", &script]).stdin(Stdio::null());
        let holder = command.spawn().expect("unshare");
        let comm = format!("/proc/{}/comm", holder.id());
        self.holders.push(holder);
        let until = Instant::now() + Duration::from_secs(20);
        while fs::read_to_string(&comm).is_ok_and(|comm| comm.trim() != "sleep") {
            assert!(Instant::now() < until, "{name} is not up");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn pid(&self, n: usize) -> String {
        self.holders[n].id().to_string()
    }

    /// A folder that each node has for itself.
    pub fn local(&self) -> PathBuf {
        self.folder.join("local")
    }

    pub fn agent(&self) -> PathBuf {
        self.folder.join("agent")
    }

    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    /// A command on a node.
    pub fn enter(&self, n: usize, args: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid(n), "-u", "-m", "-n", "--wd=."]).args(args).stdin(Stdio::null());
        command
    }

    /// The same command on a node, with its environment and in its folder.
    pub fn inside(&self, n: usize, command: &Command) -> Command {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<&str> = words.map(|word| word.to_str().expect("text")).collect();
        let mut inside = self.enter(n, &words);
        environment_of(command, &mut inside);
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside
    }

    /// The same mpirun with so many slots on the first node and on the second; as if it were by ssh.
    pub fn spread(&self, kind: Kind, slots: [usize; 2], mpirun: &Command) -> Command {
        let hosts = self.folder.join("slots");
        let line = |(name, slots): (&&str, usize)| match kind {
            Kind::OpenMpi => format!("{name} slots={slots}\n"),
            Kind::Mpich => format!("{name}:{slots}\n"),
        };
        fs::write(&hosts, NAMES.iter().zip(slots).map(line).collect::<String>()).expect("write");
        let mut command = self.inside(0, mpirun);
        match kind {
            Kind::OpenMpi => {
                command.env("OMPI_MCA_plm_rsh_agent", self.agent()).env("OMPI_MCA_orte_default_hostfile", &hosts);
                // As root, and two to a core.
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Kind::Mpich => {
                command.env("HYDRA_HOST_FILE", &hosts).env("HYDRA_LAUNCHER", "ssh");
                command.env("HYDRA_LAUNCHER_EXEC", self.agent());
            }
        }
        command
    }

    /// From here on a node sees an empty folder there.
    pub fn hide(&self, n: usize, folder: &Path) {
        let hidden = self.enter(n, &["mount", "-t", "tmpfs", "none", folder.to_str().expect("text")]).status();
        assert!(hidden.expect("mount").success());
    }

    /// From here on nodes see `folder` by way of a file system each (bindfs, in FUSE) that holds what it knows of names and files to be
    /// true for a minute, as NFS does for half of one. False, and said, where that can't be.
    pub fn share_by_network(&self, folder: &Path) -> bool {
        let folder = folder.to_str().expect("text");
        let options = "nonempty,attr_timeout=60,entry_timeout=60,negative_timeout=60,ac_attr_timeout=60";
        let there = Command::new("bindfs").arg("--version").output().is_ok_and(|ran| ran.status.success());
        let mounted =
            |n| self.enter(n, &["bindfs", "-o", options, folder, folder]).output().expect("nsenter").status.success();
        let shared = there && Path::new("/dev/fuse").exists() && (0..NAMES.len()).all(mounted);
        if !shared {
            println!("SKIPPED: no bindfs to share a folder between two nodes with");
        }
        shared
    }

    /// Processes on a node, but for the one that holds it.
    pub fn processes(&self, n: usize) -> Vec<u32> {
        let pids = fs::read_dir("/proc").expect("processes").flatten();
        let pids = pids.filter(|entry| self.is_on(n, &entry.path()));
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// All processes on a node are lost at once, but for the one that holds it.
    pub fn lose(&self, n: usize) {
        signal_all(libc::SIGKILL, |process| self.is_on(n, process));
    }

    /// Whether a process, by its folder in /proc, is on a node and does not hold it.
    fn is_on(&self, n: usize, process: &Path) -> bool {
        let holder = Path::new("/proc").join(self.pid(n));
        let network = |process: &Path| fs::read_link(process.join("ns/net")).ok();
        process != holder && network(process) == Some(network(&holder).expect("a node"))
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        (0..self.holders.len()).for_each(|n| self.lose(n));
        for holder in &mut self.holders {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}
