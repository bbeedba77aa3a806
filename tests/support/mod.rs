//! What the tests of whole jobs share: a folder to work in, the real binary, graphs and answers made another way.
#![allow(dead_code, unused_imports)] // every test binary uses its own part of it

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

use serde_json::Value;

pub mod cuda_on_cpu;
pub mod gpu;
mod graphs;
pub mod mpi;
pub mod nodes;
pub mod processes;

pub use graphs::{Dice, complete, oracle, product, random_edges};

/// The folder of reference graphs that cannot be shipped, which `GPUGRAPH_TEST_DATA` names.
#[track_caller]
pub fn reference_graphs() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("GPUGRAPH_TEST_DATA").map(PathBuf::from) else {
        println!("SKIPPED: reference graphs: GPUGRAPH_TEST_DATA is not set");
        return None;
    };
    // Jobs run in other folders than the tests.
    let folder = std::path::absolute(folder).expect("a path");
    assert!(folder.join("MANIFEST.tsv").is_file(), "GPUGRAPH_TEST_DATA={}: no MANIFEST.tsv there", folder.display());
    Some(folder)
}

/// The folder with a libcuda.so and a libnvrtc.so that run all of `kernels/` on the CPU: run the binary with
/// `LD_LIBRARY_PATH` set to it. Without g++ it says so and is nothing.
pub fn cuda_on_cpu() -> Option<PathBuf> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    cuda_on_cpu::build("kernels", kernels.is_dir().then_some(kernels.as_path()))
}

/// The folder in which cargo built the tests.
pub fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder around that of tests")
}

/// The program without MPI. Where the tests have the feature `mpi`, so has theirs, and `tests/run` builds this one first.
pub fn without_mpi() -> Option<PathBuf> {
    if !cfg!(feature = "mpi") {
        return Some(env!("CARGO_BIN_EXE_gpugraph").into());
    }
    let path = target().join("plain/debug/gpugraph");
    if !path.is_file() {
        println!("SKIPPED: no gpugraph without the feature mpi, which tests/run builds as {}", path.display());
    }
    path.is_file().then_some(path)
}

/// Whether this process may mount, make cgroups and change owners.
pub fn root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uid.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}

/// Gives `command` what was set and unset in the environment of another.
pub fn environment_of(other: &Command, command: &mut Command) {
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// A file system in memory.
const MEMORY: &str = "/dev/shm";

/// A folder of its own, in which the binary runs; gone with the test.
pub struct Place {
    folder: tempfile::TempDir,
}

/// How a command ended.
pub struct Ran {
    /// Exit code; 128 + the signal that killed it.
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Runs a command to its end. A program that a test has just written may still be open in a process that another test
    /// is starting, so it is tried again.
    pub fn command(command: &mut Command) -> Ran {
        loop {
            match command.output() {
                Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                ran => return Ran::of(ran.expect("run gpugraph")),
            }
        }
    }

    /// Runs a command to its end, and looks every millisecond at the anonymous and shared memory that it has: returns the most that was seen.
    pub fn watched(command: &mut Command) -> (Ran, u64) {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("run");
        let (status, mut most) = (format!("/proc/{}/status", child.id()), 0);
        // Until it has a name of its own, the child may still have the memory of this process.
        let own = format!("Name:\t{}", fs::read_to_string("/proc/thread-self/comm").unwrap_or_default());
        while child.try_wait().expect("a child").is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            if text.starts_with(&own) {
                continue;
            }
            let kib = text.lines().filter_map(|line| {
                let rest = line.strip_prefix("RssAnon:").or(line.strip_prefix("RssShmem:"))?;
                rest.split_whitespace().next()?.parse::<u64>().ok()
            });
            most = most.max(kib.sum::<u64>() << 10);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        (Ran::of(child.wait_with_output().expect("output")), most)
    }

    pub fn of(output: Output) -> Ran {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().or_else(|| output.status.signal().map(|s| 128 + s));
        Ran { code: code.expect("an end"), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Fails the test unless the command ended so.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// The one line of cause.
    #[track_caller]
    pub fn error(&self) -> &str {
        let mut lines = self.err.lines().filter(|line| line.starts_with("error: "));
        let line = lines.next().unwrap_or_else(|| panic!("no error line in {}", self.err));
        assert_eq!(lines.next(), None, "{}", self.err);
        assert_eq!(self.err.lines().last(), Some(line), "the cause is the last line: {}", self.err);
        line
    }
}

impl Place {
    /// In memory where the machine has room for it: these jobs sync thousands of small files.
    pub fn new() -> Place {
        let memory = Path::new(MEMORY);
        if !gpugraph::internals::process::host::free_disk(memory).is_ok_and(|free| memory.is_dir() && free > 2 << 30) {
            return Place::on_disk();
        }
        Place { folder: tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).expect("a folder") }
    }

    /// For tests that look at memory: mapped files of a file system in memory count as memory of the process.
    pub fn on_disk() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Whether its files are memory.
    pub fn is_in_memory(&self) -> bool {
        self.folder.path().starts_with(MEMORY)
    }

    /// Beside what was built, which the nodes of a cluster share where anything is shared.
    pub fn on_shared_disk() -> Place {
        Place { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder") }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The workdir of [`Self::job`].
    pub fn workdir(&self) -> PathBuf {
        self.path("work")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("write");
        path
    }

    /// Edges as a file of u32 pairs.
    pub fn u32(&self, name: &str, edges: &[[u64; 2]]) -> PathBuf {
        let narrow = |&id: &u64| u32::try_from(id).expect("a small id").to_le_bytes();
        self.write(name, edges.iter().flatten().flat_map(narrow).collect::<Vec<u8>>())
    }

    /// Edges as a file of u64 pairs.
    pub fn u64(&self, name: &str, edges: &[[u64; 2]]) -> PathBuf {
        self.write(name, edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// A job file on `input` (the lines of that table) with `more` tables behind; its workdir is `work`.
    pub fn job(&self, input: &str, more: &str) {
        let triangle = if more.contains("[triangle]") { "" } else { "[triangle]\n" };
        let job = if more.contains("[job]") { "" } else { "[job]\nworkdir = 'work'\n" };
        self.write("job.toml", format!("{job}[input]\n{input}\n{more}\n{triangle}"));
    }

    /// A job on the file `path`.
    pub fn job_on(&self, path: &Path, more: &str) {
        self.job(&format!("path = '{}'", path.display()), more);
    }

    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_gpugraph")), args)
    }

    /// The same with another program, such as [`without_mpi`].
    pub fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        // What a developer or a scheduler has set must not decide a test.
        let threads =
            ["GPUGRAPH_THREADS", "SLURM_CPUS_PER_TASK", "PBS_NCPUS", "NCPUS", "PBS_NUM_PPN", "OMP_NUM_THREADS"];
        for name in threads.into_iter().chain(["GPUGRAPH_LOG", "VIRTUAL_ENV", "CONDA_PREFIX"]) {
            command.env_remove(name);
        }
        command.env("XDG_CACHE_HOME", self.cache());
        command
    }

    /// The folder of compiled kernels and of what earlier jobs took. It belongs to this place, because a job parses the figures of all jobs
    /// before it. A real GPU's kernels take seconds to compile, so all tests share them.
    pub fn cache(&self) -> PathBuf {
        match Path::new("/dev/nvidiactl").exists() {
            true => Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            false => self.path("cache"),
        }
    }

    /// The same with a stand-in for CUDA, from [`cuda_on_cpu`]. What it takes for compiled kernels stays in this place: no
    /// real GPU could load it.
    pub fn command_on(&self, cuda: &Path, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env("LD_LIBRARY_PATH", cuda).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// Starts the job, to be watched by its log.
    pub fn start(&self, more: &[&str]) -> Started {
        let args = [&["run", "job.toml"], more].concat();
        Started::new(&mut self.command(&args))
    }

    pub fn gpugraph(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("run gpugraph"))
    }

    /// `run job.toml` with more arguments.
    pub fn run(&self, more: &[&str]) -> Ran {
        self.gpugraph(&[&["run", "job.toml"], more].concat())
    }

    /// `run job.toml` with failpoints.
    pub fn run_failing(&self, failpoints: &str, more: &[&str]) -> Ran {
        let args = [&["run", "job.toml"], more].concat();
        Ran::of(self.command(&args).env("GPUGRAPH_FAILPOINTS", failpoints).output().expect("run gpugraph"))
    }

    /// Runs the job to its end; its report.
    #[track_caller]
    pub fn report(&self, more: &[&str]) -> Value {
        self.run(more).expect(0);
        self.read_report()
    }

    pub fn read_report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.workdir().join("report.json")).expect("a report")).expect("JSON")
    }

    /// A column of results.
    pub fn npy<T: Number>(&self, name: &str) -> Vec<T> {
        npy(&self.workdir().join("out").join(format!("{name}.npy")))
    }
}

/// A job that runs.
pub struct Started {
    child: Child,
    lines: mpsc::Receiver<String>,
    seen: String,
}

impl Started {
    /// Starts a command with a line in its log for each stage that begins.
    pub fn new(command: &mut Command) -> Started {
        let command = command.env("GPUGRAPH_LOG", "info,gpugraph::short_stages=debug");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start gpugraph");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Started { child, lines, seen: String::new() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until its log says so; false if it ends before.
    pub fn until(&mut self, text: &str) -> bool {
        while let Ok(line) = self.lines.recv() {
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(text) {
                return true;
            }
        }
        false
    }

    /// Sends a signal by number; it may be gone.
    pub fn signal(&self, number: i32) {
        let mut kill = Command::new("kill");
        kill.args([format!("-{number}"), self.id().to_string()])
            .stderr(Stdio::null())
            .status()
            .expect("the command kill");
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ran {
        while let Ok(line) = self.lines.recv() {
            self.seen.push_str(&line);
            self.seen.push('\n');
        }
        let status = self.child.wait().expect("its end");
        Ran::of(Output { status, stdout: Vec::new(), stderr: self.seen.into_bytes() })
    }
}

/// A number in a report, by its path: `number(&report, "graph.edges")`.
#[track_caller]
pub fn number(report: &Value, path: &str) -> u64 {
    let found = path.split('.').fold(report, |value, name| &value[name]);
    found.as_u64().unwrap_or_else(|| panic!("{path} is {found} in {report:#}"))
}

#[track_caller]
pub fn triangles(report: &Value) -> u64 {
    number(report, "results.triangle.triangles")
}

/// Of a report, what may not depend on how the job ran.
pub fn answer(report: &Value) -> Value {
    let mut report = report.clone();
    let tasks = report["results"].as_object_mut().into_iter().flat_map(|results| results.values_mut());
    for fields in tasks.filter_map(Value::as_object_mut) {
        fields.remove("seconds");
        fields.remove("trials");
        // Times of pairs of blocks.
        fields.remove("pairs");
    }
    serde_json::json!([report["results"], report["graph"], report["input"]])
}

/// The stages of a report that an earlier run did.
pub fn resumed(report: &Value) -> Vec<&str> {
    let stages = report["stages"].as_array().expect("stages").iter();
    stages.filter(|stage| stage["resumed"] == true).filter_map(|stage| stage["name"].as_str()).collect()
}

/// The files in these folders of a workdir and below, by their paths in it.
pub fn files(workdir: &Path, folders: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| workdir.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(workdir).expect("inside").display().to_string();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(found.insert(name, fs::read(&path).expect("read"))),
            }
        }
    }
    found
}

pub trait Number: Copy {
    const DESCR: &'static str;
    const BYTES: usize;
    fn from_le(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty, $descr:literal;)*) => {$(
        impl Number for $number {
            const DESCR: &'static str = $descr;
            const BYTES: usize = size_of::<$number>();
            fn from_le(bytes: &[u8]) -> $number {
                <$number>::from_le_bytes(bytes.try_into().expect("its bytes"))
            }
        }
    )*};
}

number! {
    u32, "<u4";
    u64, "<u8";
    f64, "<f8";
    i64, "<i8";
    i32, "<i4";
    f32, "<f4";
}

/// Reads a one-dimensional numpy file as numpy does: by its header.
pub fn npy<T: Number>(path: &Path) -> Vec<T> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + length]).expect("text");
    assert!(header.ends_with('\n') && (10 + length) % 64 == 0, "{header:?}");
    assert!(header.contains(&format!("'descr': '{}', 'fortran_order': False", T::DESCR)), "{header:?}");
    let values: Vec<T> = bytes[10 + length..].chunks_exact(T::BYTES).map(T::from_le).collect();
    assert!(header.contains(&format!("'shape': ({},)", values.len())), "{header:?}");
    values
}
