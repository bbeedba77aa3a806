//! Jobs on a GPU: on the stand-in for CUDA, unless the machine has a real one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Place, Ran, Started, cuda_on_cpu};

/// Bytes of the results per vertex, then of those per edge.
pub type Columns = Vec<Option<Vec<u8>>>;

/// A place with a GPU.
pub struct Gpu {
    /// The stand-in's folder; nothing for a real GPU.
    pub cuda: Option<PathBuf>,
    pub place: Place,
    /// Blocks of threads run in the order that this shuffles.
    pub seed: u64,
}

impl Gpu {
    /// The machine's GPU. Where it has none, or the environment has `GPUGRAPH_TEST_STAND_IN`, the stand-in.
    pub fn new() -> Option<Gpu> {
        let real = Path::new("/dev/nvidiactl").exists() && std::env::var_os("GPUGRAPH_TEST_STAND_IN").is_none();
        if real { Some(Gpu { cuda: None, place: Place::new(), seed: 0 }) } else { Gpu::stand_in() }
    }

    /// For what only the stand-in can be told to do. Nothing where it can't be built.
    pub fn stand_in() -> Option<Gpu> {
        Some(Gpu { cuda: Some(cuda_on_cpu()?), place: Place::new(), seed: 0 })
    }

    /// A job on these edges, with more tables. It keeps their direction if it counts links.
    pub fn job(&self, edges: &[[u64; 2]], more: &str) {
        let path = self.place.u32("edges.u32", edges);
        let directed = more.contains("clustering = 'directed'");
        self.place.job(&format!("path = '{}'\ndirected = {directed}\n", path.display()), more);
    }

    fn command(&self, env: &[(&str, &str)], args: &[&str]) -> std::process::Command {
        let mut command = match &self.cuda {
            Some(cuda) => self.place.command_on(cuda, args),
            None => self.place.command(args),
        };
        command.env("CUDA_ON_CPU_SEED", self.seed.to_string()).envs(env.iter().copied());
        command
    }

    /// A command with variables of the environment.
    pub fn with(&self, env: &[(&str, &str)], args: &[&str]) -> Ran {
        Ran::command(&mut self.command(env, args))
    }

    /// Runs the job without progress, with keys set: `["run.device=gpu"]`.
    pub fn run(&self, env: &[(&str, &str)], set: &[&str]) -> Ran {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        self.with(env, &["run", "job.toml", "--quiet"].into_iter().chain(sets).collect::<Vec<_>>())
    }

    /// The same from the start, to its end; the report.
    #[track_caller]
    pub fn fresh(&self, set: &[&str]) -> Value {
        self.forget();
        self.run(&[], set).expect(0);
        self.place.read_report()
    }

    /// The result of a table without times, and one of its columns.
    pub fn found(&self, table: &str, column: &str) -> (Value, Vec<u8>) {
        let mut result = self.place.read_report()["results"][table].clone();
        for time in ["seconds", "trials", "device"] {
            result.as_object_mut().expect("fields").remove(time);
        }
        let column = format!("out/{table}/{column}.npy");
        (result, fs::read(self.place.workdir().join(column)).expect("a column"))
    }

    /// Runs the job on a processor, on the GPU, and, if `stop` is a failpoint, first on one until it stops there and then on the other. All of
    /// them leave the same result and the same columns of a table.
    #[track_caller]
    pub fn does_as_a_processor(&self, table: &str, columns: &[&str], stop: Option<&str>) {
        let cpu: &[&str] = &["run.device=cpu", "run.trials=1"];
        let gpu: &[&str] = &["run.device=gpu", "limits.gpu_memory=64MiB"];
        let found = || columns.iter().map(|column| self.found(table, column)).collect::<Vec<_>>();
        self.fresh(cpu);
        let of_processor = found();
        assert_eq!(self.fresh(gpu)["device"], "gpu");
        assert!(found() == of_processor, "{table} on a GPU");
        for (stop, first, second) in stop.into_iter().flat_map(|stop| [(stop, cpu, gpu), (stop, gpu, cpu)]) {
            self.forget();
            self.run(&[("GPUGRAPH_FAILPOINTS", stop)], first).expect(75);
            self.run(&[], second).expect(0);
            assert!(found() == of_processor, "{table} with {first:?}, then {second:?}");
        }
    }

    /// Runs a table that needs all rows on the GPU with too little memory, on edges that `input` describes: where the job asks for a GPU it is
    /// refused, and otherwise done by a processor; its result.
    #[track_caller]
    pub fn needs_room_for_all_rows(&self, table: &str, keys: &str, input: &str) -> Value {
        let path = self.place.u32("edges.u32", &super::random_edges(20_000, 400_000, 7));
        self.place.job(&format!("path = '{}'\n{input}", path.display()), &format!("[{table}]\n{keys}"));
        let little = "limits.gpu_memory=2MiB";
        let refused = self.run(&[], &["run.device=gpu", little]).expect(7);
        assert!(refused.err.contains("gpu_memory") && refused.err.contains(table), "{}", refused.err);
        self.run(&[], &["run.device=auto", little]).expect(0);
        self.place.read_report()["results"][table].clone()
    }

    /// Counts again, in the graph that [`Self::fresh`] kept, so that nothing but counting runs; the report. The job needs
    /// `keep = true`; this other one works in `count`.
    #[track_caller]
    pub fn count(&self, env: &[(&str, &str)], set: &[&str], more: &str) -> (Ran, Value, Columns) {
        let job = "[job]\nworkdir = 'count'\n[input]\nprepared = 'work'\n";
        self.place.write(
            "count.toml",
            format!("{job}{more}\n{}", if more.contains("[triangle]") { "" } else { "[triangle]" }),
        );
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let ran = self.with(env, &["run", "count.toml", "--quiet"].into_iter().chain(sets).collect::<Vec<_>>());
        let folder = self.place.path("count");
        let report = fs::read(folder.join("report.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let columns = columns(&folder);
        if ran.code == 0 {
            fs::remove_dir_all(folder).expect("removed");
        }
        (ran, report.unwrap_or_default(), columns)
    }

    /// Starts the job, to be watched by its log.
    pub fn start(&self, set: &[&str]) -> Started {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        Started::new(&mut self.command(&[], &["run", "job.toml"].into_iter().chain(sets).collect::<Vec<_>>()))
    }

    /// Removes the workdir.
    pub fn forget(&self) {
        let _ = fs::remove_dir_all(self.place.workdir());
    }

    /// Results per vertex and per edge, where the job has them.
    pub fn columns(&self) -> Columns {
        columns(&self.place.workdir())
    }
}

fn columns(workdir: &Path) -> Columns {
    let of_edges = ["triangle/source.npy", "triangle/target.npy", "triangle/support.npy"];
    let names = ["triangles.npy", "degree.npy", "clustering.npy", "links.npy"].into_iter().chain(of_edges);
    names.map(|name| fs::read(workdir.join("out").join(name)).ok()).collect()
}
