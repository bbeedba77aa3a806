//! The binaries of this package with the feature `mpi`, for each MPI that this machine has, and what starts them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::{Place, target};

/// Which MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    OpenMpi,
    Mpich,
}

pub const KINDS: [Kind; 2] = [Kind::OpenMpi, Kind::Mpich];

/// What was built for one MPI, with failpoints too.
#[derive(Debug, Clone)]
pub struct Built {
    pub kind: Kind,
    /// Its `mpirun`.
    pub launcher: String,
    pub gpugraph: PathBuf,
    /// tests/ranks.
    pub ranks: PathBuf,
}

/// Builds for every MPI there is, each once in a test run, into target/openmpi and target/mpich. Of those that are
/// missing it says so. What tests/run built for the first one is not built again.
pub fn built() -> Vec<&'static Built> {
    static BUILT: [OnceLock<Option<Built>>; 2] = [const { OnceLock::new() }; 2];
    KINDS.iter().zip(&BUILT).filter_map(|(&kind, built)| built.get_or_init(|| kind.build()).as_ref()).collect()
}

impl Kind {
    /// As Debian names them side by side, and what follows a command's name there.
    fn name(self) -> &'static str {
        match self {
            Kind::OpenMpi => "openmpi",
            Kind::Mpich => "mpich",
        }
    }

    /// The command for this MPI: by its own name, or the plain one where that belongs to it.
    fn tool(self, tool: &str) -> Option<String> {
        let says = |command: &str, args: &[&str]| {
            let ran = Command::new(command).args(args).stdin(Stdio::null()).output().ok()?;
            let text = [ran.stdout, ran.stderr].concat();
            ran.status.success().then(|| String::from_utf8_lossy(&text).to_lowercase())
        };
        let own = format!("{tool}.{}", self.name());
        if says(&own, &["--version"]).is_some() {
            return Some(own);
        }
        let plain = says("mpirun", &["--version"])?;
        let is_open = plain.contains("open mpi") || plain.contains("open-mpi");
        let mine = match self {
            Kind::OpenMpi => is_open,
            Kind::Mpich => !is_open && plain.contains("hydra"),
        };
        (mine && says(tool, &["--version"]).is_some()).then(|| tool.to_owned())
    }

    fn build(self) -> Option<Built> {
        let (Some(compiler), Some(launcher)) = (self.tool("mpicc"), self.tool("mpirun")) else {
            println!("SKIPPED: no {} (mpicc and mpirun) to run ranks with", self.name());
            return None;
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = target().join(self.name());
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--features", "mpi", "--bin", "gpugraph", "--example", "ranks"]);
        cargo.arg("--target-dir").arg(&folder).env("MPICC", compiler).current_dir(root).stdin(Stdio::null());
        // Packages that have nothing to do with MPI are those of the tests. For cargo the others are the same for every MPI, and made
        // anew when it changes, unless it builds them in another way.
        cargo.env("CARGO_BUILD_BUILD_DIR", target());
        // A few small jobs run on the second MPI, which wait for each other more than they compute: building it without optimisation
        // takes a fifth of the time. All else runs on the first, where that would take six times what it saves.
        if self == Kind::Mpich {
            cargo.args(["--config", "profile.dev.package.gpugraph.opt-level=0"]);
            cargo.args(["--config", "profile.dev.package.mpi-sys.codegen-units=1"]);
        }
        let ran = cargo.output().expect("cargo");
        let said = String::from_utf8_lossy(&ran.stderr);
        if said.contains("Unable to find libclang") {
            println!("SKIPPED: no libclang to build ranks with");
            return None;
        }
        assert!(ran.status.success(), "{said}");
        let folder = folder.join("debug");
        Some(Built { kind: self, launcher, gpugraph: folder.join("gpugraph"), ranks: folder.join("examples/ranks") })
    }
}

/// `mpirun -n RANKS PROGRAM ARGS` in `place`, on as few cores as there are, within `limit` seconds: a hang fails the test with
/// exit code 124.
pub fn mpirun(place: &Place, built: &Built, ranks: usize, limit: u32, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    // It passes the signals it catches on, TERM among them; USR1 kills it and reaches nobody: that one is for mpirun itself.
    command.args(["-k", "5", &limit.to_string(), &built.launcher]);
    command.args(["-n", &ranks.to_string()]);
    if built.kind == Kind::OpenMpi {
        // Open MPI would tie each rank, with all its threads, to one core.
        command.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]);
        // Looking for networks of clusters takes a third of the time in which ranks start.
        command.env("OMPI_MCA_pml", "ob1");
    }
    command.arg(program).args(args).stdin(Stdio::null()).current_dir(place.path(""));
    // What an MPI leaves behind where its ranks are killed goes with the place.
    let own = place.path("mpi");
    std::fs::create_dir_all(&own).expect("a folder");
    command.env("TMPDIR", &own).env("XDG_CACHE_HOME", place.cache());
    if place.is_in_memory() {
        command.env("OMPI_MCA_btl_vader_backing_directory", &own);
    }
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        // Of a job that the tests themselves run in.
        if ["SLURM_", "PMI_", "PMIX_", "OMPI_COMM_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    for name in [
        "GPUGRAPH_LOG",
        "GPUGRAPH_THREADS",
        "GPUGRAPH_SHARED_MEMORY",
        "PBS_NCPUS",
        "NCPUS",
        "PBS_NUM_PPN",
        "OMP_NUM_THREADS",
    ] {
        command.env_remove(name);
    }
    command
}
