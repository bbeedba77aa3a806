//! What `submit` asks a scheduler for: memory, GPUs, ranks.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Ran, number, root, without_mpi};

/// What the script of `job.toml` asks Slurm for.
struct Asked {
    script: String,
    /// MiB of a node.
    memory: u64,
    /// The overrides of limits that the run gets.
    limits: Vec<String>,
}

fn submit(place: &Place, args: &[&str]) -> Ran {
    place.gpugraph(&[&["submit", "job.toml", "--scheduler", "slurm", "--print"], args].concat())
}

fn asked(place: &Place, args: &[&str]) -> Asked {
    let script = submit(place, args).expect(0).out;
    let memory = script.lines().find_map(|line| line.strip_prefix("#SBATCH --mem=")).expect("memory");
    let memory = memory.trim_end_matches('M').parse().expect("MiB");
    let limits = script.split("'limits").skip(1).map(|set| set.split('\'').next().expect("a word").to_owned());
    Asked { memory, limits: limits.collect(), script }
}

const SMALL: &str = "kronecker = { scale = 10, edge_factor = 8, seed = 3 }";

#[test]
fn the_memory_that_is_set_is_kept() {
    let place = Place::new();
    place.job(SMALL, "");
    // And what a process takes in addition: code, page tables, the shell.
    for set in [".host_memory=5GiB", "={ host_memory = \"5GiB\" }"] {
        let asked = asked(&place, &["--set", &format!("limits{set}")]);
        assert_eq!(asked.limits, [set]);
        assert!((5 * 1024..5 * 1024 + 64).contains(&asked.memory), "{}", asked.memory);
    }
    let planned = asked(&place, &[]);
    assert!(planned.limits.len() == 1 && planned.limits[0].starts_with(".host_memory="), "{:?}", planned.limits);
    assert!(planned.memory < 64, "{}", planned.memory);
    // The limit of the job file is no wish.
    place.job(SMALL, "[limits]\nhost_memory = \"5GiB\"\n");
    let same = asked(&place, &[]);
    assert_eq!((same.memory, same.limits), (planned.memory, planned.limits));
    let threads = asked(&place, &["--set", "limits.threads=2"]);
    assert!(threads.limits.len() == 2 && threads.memory < 64, "{}", threads.memory);
}

#[test]
fn no_gpu_is_asked_for_where_none_is_used() {
    let place = Place::new();
    place.job(SMALL, "");
    let script = |set: &[&str]| asked(&place, &set.iter().flat_map(|set| ["--set", *set]).collect::<Vec<_>>()).script;
    let small = script(&["run.device=auto"]);
    assert!(!small.contains("--gres=gpu") && small.contains("--time=00:0"), "{small}");
    assert!(script(&["run.device=gpu"]).contains("--gres=gpu:1"));
    let large = "input={ kronecker = { scale = 29, edge_factor = 16 } }";
    assert!(script(&[large, "run.disk_check=false"]).contains("--gres=gpu:1"));
    assert!(!script(&[large, "run.disk_check=false", "run.device=cpu"]).contains("--gres=gpu"));
    // Searching depth-first has no kernel.
    place.write("job.toml", "[input]\nkronecker = { scale = 29, edge_factor = 16 }\n[dfs]\nsource = 1\n");
    assert!(!script(&["run.disk_check=false"]).contains("--gres=gpu"));
    // Nor has what is left of a job whose other tasks are done.
    place.job(SMALL, "");
    place.run(&[]).expect(0);
    place.job(SMALL, "[dfs]\nforest = true\n");
    assert!(!script(&["run.device=auto"]).contains("--gres=gpu"));
    place.job(SMALL, "");
    for device in ["auto", "gpu"] {
        assert!(submit(&place, &["--set", &format!("run.device={device}")]).expect(0).out.contains("is done already"));
    }
}

#[test]
fn gpus_and_ranks_that_do_not_go_together_are_refused() {
    let place = Place::new();
    place.job(SMALL, "");
    for (args, found) in [
        (&["--gpus=4", "--ranks=2"][..], "--gpus 4 for --ranks 2"),
        (&["--gpus=0", "--set", "run.device=gpu"], "--gpus 0, but run.device"),
        (&["--gpus=1", "--ranks=2", "--set", "run.gpu_sharing=refuse"], "run.gpu_sharing"),
    ] {
        let ran = submit(&place, args).expect(2);
        assert!(ran.error().contains(found), "{args:?}: {}", ran.err);
    }
    if let Some(plain) = without_mpi() {
        let args = ["submit", "job.toml", "--scheduler=slurm", "--print", "--ranks=2"];
        let ran = Ran::command(&mut place.command_of(&plain, &args)).expect(2);
        let found = "2 ranks (1 nodes of 2), but this gpugraph was built for one";
        assert!(ran.error().contains(found), "{}", ran.err);
    }
    let script = asked(&place, &["--ranks=1", "--cpus=3"]).script;
    assert!(script.contains("#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task=3\n"), "{script}");
}

#[test]
fn a_run_is_told_to_save_a_tenth_of_the_walltime_ahead() {
    let place = Place::new();
    place.job(SMALL, "");
    for (walltime, seconds) in [("1m", 20), ("10m", 60), ("15m", 90), ("4h", 120)] {
        let script = asked(&place, &["--walltime", walltime]).script;
        assert!(script.contains(&format!("--signal=B:USR1@{seconds}\n")), "{walltime}: {script}");
        let script = place.gpugraph(&["submit", "job.toml", "--scheduler=pbs", "--print", "--walltime", walltime]);
        assert!(script.expect(0).out.contains(&format!("GRACE=${{GRACE:-{seconds}}}\n")), "{walltime}");
    }
}

#[test]
fn a_file_of_the_site_is_named_where_there_is_one() {
    let place = Place::new();
    place.job(SMALL, "");
    assert!(asked(&place, &[]).script.contains("\nSITE=\n"));
    let site = place.write("site.env", "");
    assert!(asked(&place, &[]).script.contains(&format!("\nSITE='{}'\n", site.display())));
}

/// A group of processes with a bound of memory; gone with the test.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(bytes: u64) -> Option<Cgroup> {
        let name = format!("gpugraph-test-{}-{bytes}", std::process::id());
        for (mount, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let folder = PathBuf::from(mount).join(&name);
            if root() && fs::create_dir(&folder).is_ok() {
                let group = Cgroup(folder);
                if group.0.join(limit).exists() && fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                    return Some(group);
                }
            }
        }
        println!("SKIPPED: no cgroup can be made to bound the memory of a run");
        None
    }

    fn run(&self, command: &Command) -> Ran {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ >\"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.0).arg(command.get_program());
        inside.args(command.get_args()).current_dir(command.get_current_dir().expect("a folder"));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        Ran::command(&mut inside)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Returns the bytes of the rows of the graph that a job kept.
fn rows(place: &Place) -> u64 {
    let files = fs::read_dir(place.path("work/graph")).expect("a folder").flatten();
    let blocks = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "block"));
    blocks.map(|file| file.metadata().expect("a size").len()).sum()
}

#[test]
fn a_run_keeps_within_the_memory_that_is_asked_for_and_uses_most_of_it() {
    let graph = |scale: u32| format!("kronecker = {{ scale = {scale}, edge_factor = 16, seed = 1 }}");
    let search = "[sssp]\nroots = 2\nweights = { uniform = [1, 1000] }\n";
    // Smaller jobs take less than the code and what a limit sets aside for the process.
    let most = |text: &str| text.contains("scale = 21");
    for text in [
        format!("[input]\n{}\n[triangle]\n", graph(10)),
        format!("[input]\n{}\n[triangle]\n", graph(21)),
        format!("[input]\n{}\n{search}", graph(16)),
        "[input]\nlist = { length = 1_000_000 }\n[listrank]\n".to_owned(),
        format!("[input]\n{}\n[bfs]\nroots = 2\n", graph(21)),
    ] {
        // On a disk, as pages of a file system in memory would count.
        let place = Place::on_disk();
        place.write("job.toml", format!("[job]\nworkdir = 'work'\nkeep = true\n{text}"));
        let Asked { script, memory, .. } = asked(&place, &["--cpus=2", "--set", "run.device=cpu"]);
        let Some(group) = Cgroup::new(memory << 20) else { return };
        let arguments = script.split("ARGS=(").nth(1).and_then(|rest| rest.split(")\n").next()).expect("arguments");
        let arguments: Vec<&str> = arguments.split([' ', '\'']).filter(|word| !word.is_empty()).collect();
        let ran = group.run(&place.command(&[&["run", "job.toml", "--quiet"], &arguments[..]].concat()));
        ran.expect(0);
        let report: Value = place.read_report();
        let peak = number(&report, "limits.host_memory_peak");
        let used = peak + if text.contains("[bfs]") { rows(&place) } else { 0 };
        assert!(!most(&text) || 3 * used >= 2 * (memory << 20), "{text}: {used} bytes of {memory} MiB");
    }
}

/// A cgroup counts page cache, and a search reads its rows in no order.
#[test]
fn the_rows_of_a_search_have_room_beside_what_it_takes_itself() {
    let place = Place::on_disk();
    let input =
        "[job]\nworkdir = 'work'\nkeep = true\n[input]\nkronecker = { scale = 18, edge_factor = 16, seed = 1 }\n";
    let here = ["--cpus=2", "--set", "run.device=cpu"];
    place.write("job.toml", format!("{input}[triangle]\n"));
    let counting = asked(&place, &here).memory << 20;
    place.write("job.toml", format!("{input}[bfs]\nroots = 2\n"));
    let searching = asked(&place, &here).memory << 20;
    // Within the limit of the job file there is less room.
    place.write("job.toml", format!("{input}[limits]\nhost_memory = '64MiB'\n[bfs]\nroots = 2\n"));
    let bounded = asked(&place, &here);
    assert!(bounded.memory <= 96, "{} MiB", bounded.memory);
    place.write("job.toml", format!("{input}[limits]\nthreads = 2\n[bfs]\nroots = 2\n"));
    let report = place.report(&["--quiet"]);
    let stages = report["stages"].as_array().expect("stages");
    let bfs = stages.iter().find(|stage| stage["name"] == "bfs").expect("bfs");
    let rows = rows(&place);
    assert!(rows > 30 << 20, "{rows} bytes of rows");
    assert!(number(bfs, "host_memory_peak") + rows <= searching, "{bfs:#}: {rows} of {searching}");
    assert!(counting + rows <= searching + (8 << 20), "{counting}, {searching}");
}
