//! Jobs of ranks on two nodes, which have no memory in common: each MPI starts its daemons as it would by ssh.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::mpi::{Built, built, mpirun};
use crate::support::nodes::Nodes;
use crate::support::{Place, Ran, Started, answer, cuda_on_cpu};
use crate::{CORNERS, DEATH, KEEP, Ranks, ended, error, files, same_files};

const ALL: [&str; 2] = ["graph", "out"];

/// A job, two nodes, and what one process leaves of it.
struct Cluster {
    nodes: Nodes,
    job: Ranks,
    known: Value,
    stored: BTreeMap<String, Vec<u8>>,
}

impl Cluster {
    /// A job on a file of edges. Its scratch is each node's own.
    fn new(built: &'static Built, scale: u32, more: &str) -> Option<Cluster> {
        // Nodes have a /dev/shm each.
        let job = Ranks::at(Place::on_disk(), built);
        let nodes = Nodes::start(job.place.path("cluster"))?;
        let args = ["generate", "kronecker", "--scale", &scale.to_string(), "--edge-factor", "16", "-o", "edges.u32"];
        job.place.gpugraph(&args).expect(0);
        let scratch = format!("{KEEP}scratch = '{}'\n", nodes.local().display());
        job.place.job("path = 'edges.u32'", &format!("{scratch}{more}"));
        let report = job.report(0, &[]);
        let stored = files(&job.place.workdir(), &ALL);
        job.forget();
        Some(Cluster { nodes, job, known: answer(&report), stored })
    }

    fn start(&self, slots: [usize; 2], more: &[&str]) -> Started {
        let args = [&["run", "job.toml", "--quiet"], more].concat();
        let command = self.job.command(slots.iter().sum(), &args);
        Started::new(&mut self.nodes.spread(self.job.built.kind, slots, &command))
    }

    fn run(&self, slots: [usize; 2], more: &[&str]) -> Ran {
        self.start(slots, more).end()
    }

    #[track_caller]
    fn same(&self, ran: &Ran, what: &str) {
        assert_eq!(ran.code, 0, "{:?} {what}: {}", self.job.built.kind, ran.err);
        assert_eq!(answer(&self.job.place.read_report()), self.known, "{:?} {what}", self.job.built.kind);
        same_files(what, &files(&self.job.place.workdir(), &ALL), &self.stored);
    }

    /// Ranks of this job on a node.
    fn ranks(&self, n: usize) -> Vec<u32> {
        let exe = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let gpugraph = std::fs::canonicalize(&self.job.built.gpugraph).ok();
        self.nodes.processes(n).into_iter().filter(|&pid| exe(pid) == gpugraph).collect()
    }

    #[track_caller]
    fn nobody_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(15);
        while let Some(left) = (0..2).flat_map(|n| self.ranks(n)).next() {
            assert!(Instant::now() < until, "process {left} is left behind");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn ranks_of_two_nodes_leave_what_one_process_leaves() {
    for built in built() {
        let Some(cluster) = Cluster::new(built, 14, &format!("{CORNERS}[limits]\nthreads = 2\n")) else { return };
        for slots in [[2, 2], [1, 1], [1, 3]] {
            cluster.job.forget();
            cluster.same(&cluster.run(slots, &[]), &format!("{slots:?}"));
        }
    }
}

#[test]
fn rounds_between_nodes_bring_what_those_within_one_bring() {
    for built in built() {
        let job = Ranks::at(Place::on_disk(), built);
        let Some(nodes) = Nodes::start(job.place.path("cluster")) else { return };
        for (slots, case) in [([1, 1], "rounds"), ([2, 1], "rounds"), ([2, 2], "rounds-memory"), ([2, 1], "place")] {
            let ranks: usize = slots.iter().sum();
            let inner = mpirun(&job.place, built, ranks, 300, &built.ranks, &[case]);
            let ran = Ran::command(&mut nodes.spread(built.kind, slots, &inner)).expect(0);
            let count = |what: &str| ran.out.lines().filter(|line| line.starts_with(what)).count();
            assert_eq!(count("passed "), ranks, "{:?} {slots:?} {case}: {}", built.kind, ran.err);
            assert_eq!(count("shared true"), 0, "{:?} {slots:?} {case}", built.kind);
            // The last number is that of nodes.
            let apart = ran.out.lines().filter(|line| line.starts_with("placed") && line.ends_with(" 2]")).count();
            assert_eq!(apart, if case == "place" { ranks } else { 0 }, "{:?}: {}", built.kind, ran.out);
        }
    }
}

#[test]
fn a_rank_that_is_alone_on_its_node_divides_cores_with_nobody() {
    for built in built() {
        let Some(cluster) = Cluster::new(built, 10, "") else { return };
        for slots in [[1, 2], [3, 1], [1, 1]] {
            cluster.job.forget();
            cluster.same(&cluster.run(slots, &[]), &format!("{slots:?}"));
        }
    }
}

/// What a rank looked for before another node wrote it would be missing there for a minute.
#[test]
fn a_workdir_on_a_network_is_nothing_to_wait_for() {
    for built in built() {
        let Some(cluster) = Cluster::new(built, 14, &format!("{CORNERS}[limits]\nthreads = 2\n")) else { return };
        let workdir = cluster.job.place.workdir();
        std::fs::create_dir(&workdir).expect("a workdir");
        if !cluster.nodes.share_by_network(&workdir) {
            return;
        }
        let began = Instant::now();
        cluster.same(&cluster.run([2, 2], &[]), "by a network");
        let mut bytes = cluster.stored["graph/lower.000003.block"].clone();
        bytes[5000] ^= 1;
        std::fs::write(workdir.join("graph/lower.000003.block"), &bytes).expect("damage");
        std::fs::remove_file(workdir.join("graph/order")).expect("a file");
        cluster.same(&cluster.run([1, 2], &[]), "damaged");
        assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    }
}

/// Each node's ranks spill to a disk of its own.
#[test]
fn ranks_of_two_nodes_spill_where_they_are() {
    let Some(built) = built().into_iter().next() else { return };
    let Some(cluster) = Cluster::new(built, 19, "[limits]\nthreads = 2\nhost_memory = '48MiB'\n") else { return };
    cluster.same(&cluster.run([2, 1], &[]), "spilled");
    let report = cluster.job.place.read_report();
    let stages = report["stages"].as_array().expect("stages");
    let partition = stages.iter().find(|stage| stage["name"] == "partition").expect("partition");
    assert!(partition["written"].as_u64() > Some(0), "{partition}");
}

#[test]
fn a_node_that_does_not_see_the_workdir_is_found_out() {
    let Some(built) = built().into_iter().next() else { return };
    let Some(cluster) = Cluster::new(built, 10, "") else { return };
    let workdir = cluster.job.place.workdir();
    std::fs::create_dir(&workdir).expect("a workdir");
    cluster.nodes.hide(1, &workdir);
    ended(&cluster.run([2, 2], &[]), 10, &["rank 2 on n2 does not see the workdir of rank 0"]);
}

#[test]
fn a_node_that_does_not_see_the_input_is_found_out() {
    let Some(built) = built().into_iter().next() else { return };
    let Some(cluster) = Cluster::new(built, 10, "") else { return };
    let folder = cluster.job.place.path("input");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::copy(cluster.job.place.path("edges.u32"), folder.join("edges.u32")).expect("a copy");
    cluster.nodes.hide(1, &folder);
    let ran = cluster.run([1, 1], &["--set", "input.path=input/edges.u32"]);
    assert!([3, 2].contains(&ran.code), "{}: {}", ran.code, ran.err);
    assert!(error(&ran).contains("rank 1") && error(&ran).contains("edges.u32"), "{}", ran.err);
}

#[test]
fn a_node_that_is_lost_ends_the_job_which_goes_on_elsewhere() {
    for built in built() {
        let Some(mut cluster) = Cluster::new(built, 18, "[limits]\nthreads = 1\n") else { return };
        cluster.job.limit = 60;
        let rules: String = (1..200).map(|n| format!("unit.done={n}:sleep(500);")).collect();
        cluster.job.on = (0..4).map(|rank| (rank, format!("export GPUGRAPH_FAILPOINTS='{rules}'"))).collect();
        let started = cluster.start([2, 2], &[]);
        let until = Instant::now() + Duration::from_secs(30);
        let counted = |cluster: &Cluster| {
            let units = files(&cluster.job.place.workdir(), &["units"]);
            units.values().any(|bytes| bytes.len() > 100)
        };
        while !counted(&cluster) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!((cluster.ranks(0).len(), cluster.ranks(1).len()), (2, 2));
        // Ranks, and what started them.
        cluster.nodes.lose(1);
        let died = Instant::now();
        let ran = started.end();
        assert!(died.elapsed() < Duration::from_secs(DEATH.into()), "{:?}: {}", died.elapsed(), ran.err);
        assert!(ran.code != 0 && !ran.err.contains("panicked"), "{}: {}", ran.code, ran.err);
        cluster.nobody_is_left();
        cluster.job.alike();
        let before = files(&cluster.job.place.workdir(), &["units"]);
        assert!(!before.is_empty());
        let report = cluster.job.report(3, &[]);
        assert_eq!((answer(&report), report["resumes"].as_u64()), (cluster.known.clone(), Some(1)));
        same_files("a lost node", &files(&cluster.job.place.workdir(), &ALL), &cluster.stored);
    }
}

/// Ranks read from each other's GPUs within a node, and send to those of another by the host.
#[test]
fn ranks_of_two_nodes_with_gpus_leave_the_same() {
    let (Some(built), Some(cuda)) = (built().into_iter().next(), cuda_on_cpu()) else { return };
    let limits = "[limits]\nthreads = 2\ngpu_memory = '64MiB'\n[run]\ndevice = 'cpu'\n";
    let Some(mut cluster) = Cluster::new(built, 13, &format!("{CORNERS}{limits}")) else { return };
    let gpu = |cluster: &Cluster, cuda: &Path, devices: u32| {
        let cache: PathBuf = cluster.job.place.path("cache");
        let found = format!("LD_LIBRARY_PATH={} XDG_CACHE_HOME={}", cuda.display(), cache.display());
        format!("export {found} CUDA_ON_CPU_IPC=1 CUDA_ON_CPU_DEVICES={devices} GPUGRAPH_LOG=debug")
    };
    for (slots, devices) in [([2, 2], 2), ([2, 1], 1), ([1, 1], 1)] {
        cluster.job.forget();
        let line = gpu(&cluster, &cuda, devices);
        cluster.job.on = (0..slots.iter().sum()).map(|rank| (rank, line.clone())).collect();
        let ran = cluster.run(slots, &["--set", "run.device=gpu"]);
        cluster.same(&ran, &format!("{devices} GPUs a node for {slots:?}"));
        assert_eq!(cluster.job.place.read_report()["device"], "gpu");
        let shared = ran.err.lines().filter(|line| line.contains("share a GPU")).count();
        assert_eq!(shared, usize::from(slots[0] > devices as usize), "{}", ran.err);
    }
    // The second node has none.
    cluster.job.forget();
    let line = gpu(&cluster, &cuda, 1);
    cluster.job.on = vec![(0, line)];
    let ran = cluster.run([1, 1], &["--set", "run.device=auto"]);
    cluster.same(&ran, "one GPU");
    let said = ran.err.lines().filter(|line| line.contains("computing on the CPU")).count();
    assert_eq!(said, 1, "{}", ran.err);
    let ran = cluster.run([1, 1], &["--fresh", "--set", "run.device=gpu"]);
    assert!([2, 9].contains(&ran.code) && error(&ran).contains("GPU"), "{}: {}", ran.code, ran.err);
}
