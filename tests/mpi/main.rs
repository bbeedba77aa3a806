//! Jobs of several ranks: the real binary under the real mpirun leaves what one process leaves, byte by byte, however it is
//! stopped, killed and resumed. Without MPI these tests skip themselves.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod comm;
mod deaths;
mod devices;
mod kinds;
mod nodes;
mod paths;
mod plan;
mod refused;
mod report;
mod resume;
mod searches;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::mpi::{Built, Kind, built, mpirun};
use support::processes::{signal_all, stat};
use support::{Place, Ran, Started, files};

/// More than any of these jobs takes; a hang ends here.
const LIMIT: u32 = 120;
/// A job must not outlive one of its ranks for longer, in seconds.
const DEATH: u32 = 30;

/// Keeps what is made, so that it can be compared.
const KEEP: &str = "[job]\nworkdir = 'work'\nkeep = true\n";
const CORNERS: &str = "[triangle]\nper_vertex = true\n";

/// A place with a job, and an MPI to run it with.
struct Ranks {
    place: Place,
    built: &'static Built,
    /// Lines of the shell by rank, before it begins: `export NAME=value`.
    on: Vec<(usize, String)>,
    /// Where the leader, or one process without MPI, writes how often it passed each failpoint.
    hits: Option<PathBuf>,
    /// Seconds that a run may take.
    limit: u32,
    /// Whether Open MPI is to wait for ranks that it told to end by SIGTERM.
    patient: bool,
}

/// The MPI that most of these tests use: Open MPI, where it is installed.
fn one_mpi() -> Option<&'static Built> {
    built().into_iter().next()
}

impl Ranks {
    /// Nothing where there is no MPI.
    fn new() -> Option<Ranks> {
        Some(Ranks::of(one_mpi()?))
    }

    fn of(built: &'static Built) -> Ranks {
        Ranks::at(Place::new(), built)
    }

    fn at(place: Place, built: &'static Built) -> Ranks {
        Ranks { place, built, on: Vec::new(), hits: None, limit: LIMIT, patient: false }
    }

    /// From here on ranks are as any other, and a run may take as long as it takes.
    fn alike(&mut self) {
        self.on.clear();
        self.limit = LIMIT;
    }

    /// Failpoints of one rank, for the runs until [`Self::alike`], which must end in time.
    fn failing(&mut self, rank: usize, rules: &str) {
        self.alike();
        self.limit = DEATH;
        self.on.push((rank, format!("export GPUGRAPH_FAILPOINTS='{rules}'")));
    }

    fn command(&self, ranks: usize, args: &[&str]) -> Command {
        let counts = |path: &PathBuf| (0, format!("export GPUGRAPH_FAILPOINTS_COUNT={}", path.display()));
        let on: Vec<_> = self.on.iter().cloned().chain(self.hits.iter().map(counts)).collect();
        let lines = on.iter().map(|(rank, line)| format!("[ $rank != {rank} ] || {{ {line}; }}\n"));
        let script =
            format!("rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\n{}exec \"$0\" \"$@\"", lines.collect::<String>());
        let program = self.built.gpugraph.to_str().expect("text");
        let args = [&["-c", &script, program], args].concat();
        let mut command = mpirun(&self.place, self.built, ranks, self.limit, Path::new("sh"), &args);
        if self.patient {
            // Unless said 1, which it waits before TERM and before KILL, whether or not ranks are gone already.
            command.env("OMPI_MCA_odls_base_sigkill_timeout", "8");
        }
        command
    }

    /// `run job.toml` by so many ranks; 0 is one process without MPI.
    fn run(&self, ranks: usize, more: &[&str]) -> Ran {
        let args = [&["run", "job.toml"], more].concat();
        match ranks {
            0 => {
                let mut command = self.place.command(&args);
                let hits = self.hits.iter().map(|path| ("GPUGRAPH_FAILPOINTS_COUNT", path));
                Ran::command(command.envs(hits))
            }
            _ => Ran::command(&mut self.command(ranks, &args)),
        }
    }

    /// The same, to be watched by the log.
    fn start(&self, ranks: usize, more: &[&str]) -> Started {
        let args = [&["run", "job.toml"], more].concat();
        match ranks {
            0 => self.place.start(more),
            _ => Started::new(&mut self.command(ranks, &args)),
        }
    }

    /// Runs the job to its end; its report.
    #[track_caller]
    fn report(&self, ranks: usize, more: &[&str]) -> Value {
        let ran = self.run(ranks, &[&["--quiet"], more].concat());
        assert_eq!(ran.code, 0, "{ranks} ranks: {}", ran.err);
        self.place.read_report()
    }

    /// Removes the workdir.
    fn forget(&self) {
        let _ = fs::remove_dir_all(self.place.workdir());
    }
}

/// Sends a signal to the launcher of a job by ranks, as a scheduler does; `timeout` stands before it.
fn signal_launcher(job: &Started, signal: i32) {
    signal_all(signal, |process| stat(process, 1) == Some(job.id()));
}

/// The one line of cause; MPI may add lines of its own.
#[track_caller]
fn error(ran: &Ran) -> &str {
    let mut lines = ran.err.lines().filter(|line| line.starts_with("error: "));
    let line = lines.next().unwrap_or_else(|| panic!("no error line in {}", ran.err));
    assert_eq!(lines.next(), None, "{}", ran.err);
    line
}

/// Ended with this code and one line that has these words.
#[track_caller]
fn ended(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.err);
    let line = error(ran);
    words.iter().for_each(|word| assert!(line.contains(word), "{word} is not in {line}"));
}

/// Fails unless both hold the same files with the same bytes.
#[track_caller]
fn same_files(what: &str, found: &BTreeMap<String, Vec<u8>>, known: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), known.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in known {
        assert!(&found[name] == bytes, "{what}: {name} has other bytes");
    }
}
