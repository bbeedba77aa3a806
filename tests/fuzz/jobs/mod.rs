//! Random jobs, seeded: small graphs of every shape in every format, all tables and their keys, held against answers found here (`answers`).
//! Each job then runs in another way: by other threads or ranks, within the smallest limit, as text, killed and run again, on a graph that was
//! kept, on the input in another format, with other tables or another direction in the same workdir, on an input that changed. At last one
//! value of a column is forged, which `verify` has to notice.
//!
//! `GPUGRAPH_FUZZ_JOBS=10000 cargo test --release --target-dir target/tests --test fuzz random_jobs -- --nocapture` tries more of them, and
//! `GPUGRAPH_FUZZ_FROM` says at which number to begin. A job that fails leaves its folder in `target/tmp/fuzz-jobs/NUMBER`, with a script.

mod answers;
mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use gpugraph::internals::job::state::manifest::Manifest;
use gpugraph::internals::results::Output;
use serde_json::Value;

use crate::corpus::one;
use crate::setting;
use crate::support::mpi::{built, mpirun};
use crate::support::{Dice, Place, Ran, files, number};
use answers::{Column, Seen, Task};
use graph::{Graph, Kind, Weights};

/// Jobs, unless the environment says another number.
const JOBS: u64 = 200;
/// Every so many jobs one runs by ranks too.
const BY_RANKS: u64 = 40;

#[test]
fn random_jobs_have_the_answers_of_the_oracle_however_they_run() {
    let (jobs, from) = (setting("GPUGRAPH_FUZZ_JOBS").unwrap_or(JOBS), setting("GPUGRAPH_FUZZ_FROM").unwrap_or(0));
    let (next, wrong, ways) = (AtomicU64::new(from), Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
    let work = || {
        while let number @ 0.. = next.fetch_add(1, Relaxed)
            && number < from + jobs
        {
            let mut trial = Trial::new(number);
            let ended = catch_unwind(AssertUnwindSafe(|| trial.run()));
            let ended = ended.unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                Err(format!("the test panicked: {}", text.unwrap_or_default()))
            });
            match ended {
                Ok(way) => *ways.lock().expect("no panic").entry(way).or_insert(0u64) += 1,
                Err(what) => {
                    let left = trial.leave();
                    wrong.lock().expect("no panic").push(format!("job {number}: {what}\n    sh {}", left.display()));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(2, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    let (wrong, ways) = (wrong.into_inner().expect("no panic"), ways.into_inner().expect("no panic"));
    println!("{jobs} random jobs: {ways:?}");
    assert!(wrong.is_empty(), "{} of {jobs}:\n{}", wrong.len(), wrong.join("\n"));
    // All ways were gone.
    assert!(jobs < JOBS || ways.len() >= WAYS.len(), "{ways:?}");
}

/// Whether the graph of a job keeps the direction of edges: if some table needs it.
fn keeps_direction(directed: bool, tasks: &[Task]) -> bool {
    directed && tasks.iter().any(|task| !matches!(task, Task::Triangle { .. }))
}

/// One more way to run a job.
type EdgeDirection = fn(&mut Trial) -> Result<(), String>;

const WAYS: [(&str, EdgeDirection); 9] = [
    ("other threads", Trial::other_threads),
    ("the smallest limit", Trial::smallest_limit),
    ("as text", Trial::as_text),
    ("killed", Trial::killed),
    ("kept", Trial::kept),
    ("converted", Trial::converted),
    ("other tables", Trial::other_tables),
    ("the other direction", Trial::other_direction),
    ("another input", Trial::another_input),
];

/// A random job.
struct Trial {
    number: u64,
    dice: Dice,
    place: Place,
    graph: Graph,
    tasks: Vec<Task>,
    /// Tables that an earlier job file had in the same workdir, and whether it kept direction: their results stay.
    others: Vec<(Task, bool)>,
    /// Commands so far, as a shell takes them.
    script: String,
}

impl Trial {
    fn new(number: u64) -> Trial {
        let mut dice = Dice(number.wrapping_mul(0x1000_0000_01b3));
        let graph = Graph::draw(&mut dice);
        let tasks = tasks(&mut dice, &graph);
        let place = Place::new();
        for (name, bytes) in graph.files() {
            place.write(name, bytes);
        }
        Trial { number, dice, place, graph, tasks, others: Vec::new(), script: "cd \"$(dirname \"$0\")\"\n".into() }
    }

    /// Runs the job, and then in another way; returns its name.
    fn run(&mut self) -> Result<&'static str, String> {
        let threads = 1 + self.dice.below(3);
        self.job("job.toml", &format!("[job]\nworkdir = 'work'\n[limits]\nthreads = {threads}\n"), &self.tasks.clone());
        self.gpugraph(&["run", "job.toml"], 0)?;
        self.answered("work", &self.graph.clone(), &self.tasks.clone(), None)?;
        self.verified("job.toml", 0)?;
        let before = files(&self.place.workdir(), &["out"]);
        if self.number.is_multiple_of(BY_RANKS) {
            self.by_ranks(&before)?;
        }
        let (name, way) = one(&mut self.dice, &WAYS);
        way(self).map_err(|what| format!("{name}: {what}"))?;
        self.forged().map_err(|what| format!("after {name}, forged: {what}"))?;
        Ok(name)
    }

    /// Writes a job on the graph.
    fn job(&mut self, name: &str, more: &str, tasks: &[Task]) {
        let input = format!("[input]\npath = '{}'\n{}", self.graph.name(), self.graph.options());
        let directed = if self.graph.directed { "directed = true\n" } else { "" };
        self.write_job(name, more, &format!("{input}{directed}"), tasks);
    }

    fn write_job(&mut self, name: &str, more: &str, input: &str, tasks: &[Task]) {
        let tables: String = tasks.iter().map(Task::table).collect();
        let job = format!("{more}{input}[run]\ndevice = 'cpu'\n{tables}");
        self.script += &format!("cat > {name} <<'END'\n{job}END\n");
        self.place.write(name, job);
    }

    /// Runs the program, which has to end so.
    fn gpugraph(&mut self, args: &[&str], code: i32) -> Result<Ran, String> {
        self.gpugraph_with(args, &[], &[code])
    }

    fn gpugraph_with(&mut self, args: &[&str], env: &[(&str, &str)], codes: &[i32]) -> Result<Ran, String> {
        let set: String = env.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        self.script += &format!("{set}gpugraph {}\n", quoted.join(" "));
        let ran = Ran::command(self.place.command(args).envs(env.iter().copied()).env("GPUGRAPH_LOG", "warn"));
        if codes.contains(&ran.code) && !ran.err.contains("panicked") {
            return Ok(ran);
        }
        Err(format!("{args:?} ends with {}, not {codes:?}: {}{}", ran.code, ran.out, ran.err))
    }

    fn verified(&mut self, job: &str, code: i32) -> Result<(), String> {
        self.gpugraph(&["verify", job], code).map(drop)
    }

    /// Holds what lies in a workdir against the oracle.
    fn answered(&self, workdir: &str, graph: &Graph, tasks: &[Task], kept: Option<&str>) -> Result<(), String> {
        let workdir = self.place.path(workdir);
        let report = fs::read(workdir.join("report.json")).map_err(|e| format!("no report: {e}"))?;
        let report: Value = serde_json::from_slice(&report).map_err(|e| e.to_string())?;
        let mut columns = columns(&workdir)?;
        let sparse = columns.remove("ids").is_some();
        for (name, column) in columns.iter().filter(|(name, _)| *name != "dfs/cycle") {
            let (ids, rows): (BTreeSet<u64>, _) = (column.keys().copied().collect(), answers::rows(graph, sparse));
            if ids != rows {
                return Err(format!("{name} has the rows {ids:?}, not {rows:?}"));
            }
        }
        let seen = Seen::new(graph, graph.directed);
        let keeps_direction = keeps_direction(graph.directed, tasks);
        for task in tasks {
            let (name, found) = (task.name(), &report["results"][task.name()]);
            task.check(&seen, found, &mut columns, kept.is_some()).map_err(|what| format!("[{name}] {what}"))?;
        }
        for (task, directed) in &self.others {
            let (name, found) = (task.name(), &report["results"][task.name()]);
            if !found["from"].is_object() && (!found.is_null() || *directed == keeps_direction) {
                return Err(format!("[{name}] of another job file is {found}"));
            }
            if !found.is_null() {
                let seen = Seen::new(graph, *directed);
                task.check(&seen, found, &mut columns, kept.is_some())
                    .map_err(|what| format!("other [{name}] {what}"))?;
            }
        }
        let of_job = |name: &str| tasks.iter().any(|task| task.name() == name);
        let known = |name: &str| of_job(name) || self.others.iter().any(|(task, _)| task.name() == name);
        let results = || report["results"].as_object().into_iter().flatten();
        let is_wrong = |(name, found): (&String, &Value)| !known(name) || of_job(name) && !found["from"].is_null();
        if results().any(is_wrong) || !columns.is_empty() {
            let names: Vec<_> = results().map(|(name, _)| name).collect();
            return Err(format!("results of {names:?}, and the columns {:?} beside", columns.keys()));
        }
        let is_simple = !graph.directed && kept.is_none();
        match number(&report, "graph.edges") {
            edges if is_simple && edges != seen.distinct() as u64 => {
                Err(format!("{edges} edges, not {}", seen.distinct()))
            }
            _ => Ok(()),
        }
    }

    /// Holds a workdir against the oracle, and its files against those of another run.
    fn same(&self, workdir: &str, before: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        self.answered(workdir, &self.graph, &self.tasks, None)?;
        let after = files(&self.place.path(workdir), &["out"]);
        match before.iter().find(|(name, bytes)| after.get(*name) != Some(bytes)) {
            Some((name, _)) => Err(format!("{name} differs")),
            None => Ok(()),
        }
    }

    fn out(&self) -> BTreeMap<String, Vec<u8>> {
        files(&self.place.workdir(), &["out"])
    }

    fn by_ranks(&mut self, before: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        let Some(built) = built().into_iter().next() else { return Ok(()) };
        let ranks = 2 + self.dice.below(2) as usize;
        let args = ["run", "job.toml", "--fresh"];
        self.script += &format!("mpirun -n {ranks} gpugraph {}\n", args.join(" "));
        let ran = Ran::command(&mut mpirun(&self.place, built, ranks, 120, &built.gpugraph, &args));
        if ran.code != 0 {
            return Err(format!("{ranks} ranks end with {}: {}", ran.code, ran.err));
        }
        self.same("work", before).map_err(|what| format!("{ranks} ranks: {what}"))
    }

    fn other_threads(&mut self) -> Result<(), String> {
        let (before, threads) = (self.out(), format!("limits.threads={}", 1 + self.dice.below(5)));
        self.gpugraph(&["run", "job.toml", "--fresh", "--set", &threads], 0)?;
        self.same("work", &before)
    }

    fn smallest_limit(&mut self) -> Result<(), String> {
        let before = self.out();
        let plan = self.gpugraph(&["plan", "job.toml", "--json", "--set", "job.workdir=planned"], 0)?;
        let plan: Value = serde_json::from_str(&plan.out).map_err(|e| e.to_string())?;
        let limit = format!("limits.host_memory={}", number(&plan, "host_memory_needed"));
        self.gpugraph(&["run", "job.toml", "--fresh", "--set", &limit], 0)?;
        self.same("work", &before)
    }

    fn as_text(&mut self) -> Result<(), String> {
        self.gpugraph(&["run", "job.toml", "--set", "output.format=csv"], 0)?;
        self.answered("work", &self.graph, &self.tasks, None)?;
        self.verified("job.toml", 0)
    }

    fn killed(&mut self) -> Result<(), String> {
        let before = self.out();
        let hits = self.place.path("hits");
        let count = hits.display().to_string();
        let fresh = ["run", "job.toml", "--fresh"];
        self.gpugraph_with(&fresh, &[("GPUGRAPH_FAILPOINTS_COUNT", &count)], &[0])?;
        let text = fs::read_to_string(&hits).map_err(|e| e.to_string())?;
        let places: Vec<(&str, u64)> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| !name.ends_with(".short"))
            .map(|(name, hits)| (name, hits.parse().expect("a number")))
            .collect();
        let (name, hits) = one(&mut self.dice, &places);
        let action = one(&mut self.dice, &["kill", "stop", "eio", "enospc"]);
        let rule = format!("{name}={}:{action}", 1 + self.dice.below(hits));
        // What is not told, as a mistake in passing, need not end the job.
        self.gpugraph_with(&fresh, &[("GPUGRAPH_FAILPOINTS", &rule)], &[0, 4, 6, 10, 75, 137])?;
        self.gpugraph(&["run", "job.toml"], 0).map_err(|what| format!("{rule}: {what}"))?;
        self.same("work", &before).map_err(|what| format!("{rule}: {what}"))?;
        self.verified("job.toml", 0).map_err(|what| format!("{rule}: {what}"))
    }

    fn kept(&mut self) -> Result<(), String> {
        let weights = match self.graph.weights {
            Weights::None => "none",
            Weights::Whole => "u32",
            Weights::Decimal => "f32",
        };
        let (keep, weights) = ("job.keep=true", format!("input.weights={weights}"));
        self.gpugraph(&["run", "job.toml", "--set", "job.workdir=graph", "--set", keep, "--set", &weights], 0)?;
        self.tasks.retain(|task| !matches!(task, Task::Dfs { multigraph: true, .. }));
        // A vertex of loops alone is not in a graph that was kept.
        let seen = Seen::new(&self.graph, self.graph.directed);
        self.tasks.retain(|task| task.names().into_iter().all(|id| seen.has(id)));
        if self.tasks.is_empty() {
            self.tasks.push(Task::Triangle { per_vertex: true });
        }
        let tasks = self.tasks.clone();
        self.write_job("job.toml", "[job]\nworkdir = 'prepared'\n", "[input]\nprepared = 'graph'\n", &tasks);
        self.gpugraph(&["run", "job.toml"], 0)?;
        self.answered("prepared", &self.graph, &tasks, Some("graph"))?;
        self.verified("job.toml", 0)?;
        fs::remove_dir_all(self.place.workdir()).map_err(|e| e.to_string())?;
        fs::rename(self.place.path("prepared"), self.place.workdir()).map_err(|e| e.to_string())?;
        self.script += "rm -r work; mv prepared work\n";
        self.write_job("job.toml", "[job]\nworkdir = 'work'\n", "[input]\nprepared = 'graph'\n", &tasks);
        Ok(())
    }

    fn converted(&mut self) -> Result<(), String> {
        // Repeats are counted as a file lists them, which another may do otherwise.
        self.tasks.retain(|task| !matches!(task, Task::Dfs { multigraph: true, .. }));
        let reads = self.tasks.iter().any(Task::reads_weights);
        let name = one(&mut self.dice, if reads { &["b.wel", "b.csv"] } else { &["b.u64", "b.txt", "b.csv", "b.npy"] });
        if self.graph.edges.is_empty() || self.tasks.is_empty() {
            return Ok(());
        }
        self.gpugraph(&["convert", self.graph.name(), name], 0)?;
        let mut graph = Graph { declared: None, ..self.graph.clone() };
        if matches!(graph.kind, Kind::Metis) || (graph.kind == Kind::Gap && !graph.directed) {
            let back: Vec<_> = graph.edges.iter().map(|&[u, v]| [v, u]).collect();
            graph.edges.extend(back);
            graph.texts.extend(self.graph.texts.clone());
        }
        let columns = match name {
            "b.txt" => "columns = [1, 2]\nskip_lines = 0\n",
            "b.wel" => "columns = [1, 2, 3]\nskip_lines = 0\n",
            _ => "",
        };
        let directed = if graph.directed { "directed = true\n" } else { "" };
        let tasks = self.tasks.clone();
        let _ = fs::remove_dir_all(self.place.workdir());
        self.script += "rm -r work\n";
        self.write_job(
            "job.toml",
            "[job]\nworkdir = 'work'\n",
            &format!("[input]\npath = '{name}'\n{columns}{directed}"),
            &tasks,
        );
        self.gpugraph(&["run", "job.toml"], 0)?;
        self.answered("work", &graph, &tasks, None)?;
        self.verified("job.toml", 0)
    }

    fn other_tables(&mut self) -> Result<(), String> {
        let before = std::mem::take(&mut self.tasks);
        self.tasks = tasks(&mut self.dice, &self.graph);
        self.stay(before, self.graph.directed);
        self.job("job.toml", "[job]\nworkdir = 'work'\n", &self.tasks.clone());
        self.gpugraph(&["run", "job.toml"], 0)?;
        self.answered("work", &self.graph, &self.tasks, None)?;
        self.verified("job.toml", 0)
    }

    /// Notes the tables of the job file before that this one does not have.
    fn stay(&mut self, before: Vec<Task>, directed: bool) {
        let directed = keeps_direction(directed, &before);
        let is_here = |task: &Task| self.tasks.iter().any(|other| other.name() == task.name());
        self.others = before.into_iter().filter(|task| !is_here(task)).map(|task| (task, directed)).collect();
    }

    fn other_direction(&mut self) -> Result<(), String> {
        let mut turned = Graph { directed: !self.graph.directed, ..self.graph.clone() };
        // These files say themselves whether edges have a direction, or have none.
        if matches!(turned.kind, Kind::Half | Kind::Metis | Kind::Gap) {
            turned = self.graph.clone();
        }
        let (before, directed) = (self.tasks.clone(), self.graph.directed);
        self.tasks.retain(|task| task.is_of(turned.directed));
        if self.tasks.is_empty() {
            self.tasks.push(Task::Triangle { per_vertex: true });
        }
        self.graph = turned;
        self.job("job.toml", "[job]\nworkdir = 'work'\n", &self.tasks.clone());
        let ran = self.gpugraph_with(&["run", "job.toml"], &[], &[0, 5])?;
        if ran.code == 5 {
            if !ran.err.contains("directed") {
                return Err(format!("the key that changed is not named: {}", ran.err));
            }
            self.gpugraph(&["run", "job.toml", "--fresh"], 0)?;
        } else {
            self.stay(before, directed);
        }
        self.answered("work", &self.graph, &self.tasks, None)?;
        self.verified("job.toml", 0)
    }

    fn another_input(&mut self) -> Result<(), String> {
        let mut other = Graph::draw(&mut self.dice);
        while other.kind != self.graph.kind || other.edges == self.graph.edges {
            other = Graph::draw(&mut self.dice);
        }
        for (name, bytes) in other.files() {
            self.script += &format!("# {name} is now {}\n", bytes.escape_ascii());
            self.place.write(name, bytes);
        }
        (self.tasks, self.graph) = (tasks(&mut self.dice, &other), other);
        self.job("job.toml", "[job]\nworkdir = 'work'\n", &self.tasks.clone());
        self.gpugraph(&["run", "job.toml", "--fresh"], 0)?;
        self.answered("work", &self.graph, &self.tasks, None)?;
        self.verified("job.toml", 0)
    }

    /// Forges a value of a column, whole by its checksum: `verify` notices it.
    fn forged(&mut self) -> Result<(), String> {
        let workdir = self.place.workdir();
        let all = files(&workdir, &["out"]);
        let columns: Vec<&String> = all.keys().filter(|name| !name.starts_with("out/ids.")).collect();
        if columns.is_empty() {
            return Ok(());
        }
        let name = (*one(&mut self.dice, &columns)).clone();
        let Some((bytes, what)) = forge(&mut self.dice, &name, &all[&name]) else { return Ok(()) };
        fs::write(workdir.join(&name), &bytes).map_err(|e| e.to_string())?;
        let mut manifest = Manifest::load(&workdir).ok().flatten().ok_or("no manifest")?;
        let outputs = manifest.tasks.values_mut().filter_map(|task| task.outputs.get_mut(&name));
        outputs.for_each(|output| *output = Output::of(&bytes));
        manifest.save(&workdir).map_err(|e| e.to_string())?;
        self.script += &format!("# {name} is forged: {what}\n");
        self.verified("job.toml", 8).map_err(|why| format!("{name}, {what}: {why}"))
    }

    /// Leaves the folder of a job that failed; returns the script in it.
    fn leave(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-jobs").join(self.number.to_string());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for entry in
            fs::read_dir(self.place.path("")).expect("a folder").flatten().filter(|entry| entry.path().is_file())
        {
            fs::copy(entry.path(), folder.join(entry.file_name())).expect("copied");
        }
        let script = folder.join("again.sh");
        fs::write(&script, &self.script).expect("written");
        script
    }
}

/// One to three different tables.
fn tasks(dice: &mut Dice, graph: &Graph) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let task = Task::draw(dice, graph);
        if tasks.iter().all(|other| other.name() != task.name()) {
            tasks.push(task);
        }
    }
    tasks
}

/// The columns of a workdir, by their names below `out`: arrays or text.
fn columns(workdir: &Path) -> Result<BTreeMap<String, Column>, String> {
    let all = files(workdir, &["out"]);
    let ids: Option<Vec<u64>> =
        all.get("out/ids.npy").map(|bytes| values(bytes).iter().map(|id| id.parse().expect("an id")).collect());
    let mut columns = BTreeMap::new();
    for (path, bytes) in &all {
        let (name, ending) = path["out/".len()..].rsplit_once('.').ok_or("a name without an ending")?;
        let is_list = name == "dfs/cycle" || name == "ids";
        let column: Column = match ending {
            "npy" => {
                let id = |row: usize| {
                    ids.as_ref().filter(|_| !is_list).map_or(Some(row as u64), |ids| ids.get(row).copied())
                };
                let rows = values(bytes).into_iter().enumerate();
                rows.map(|(row, value)| Some((id(row)?, value))).collect::<Option<_>>().ok_or("more rows than ids")?
            }
            "csv" => {
                let text = String::from_utf8_lossy(bytes);
                let line = |line: &str| {
                    let (id, value) = line.split_once(',')?;
                    Some((id.parse().ok()?, value.to_owned()))
                };
                text.lines().skip(1).map(line).collect::<Option<_>>().ok_or(format!("{path}: {text}"))?
            }
            _ => return Err(format!("{path} is of no format")),
        };
        columns.insert(name.to_owned(), column);
    }
    Ok(columns)
}

/// The place where the values of an array begin, and their type.
fn head(bytes: &[u8]) -> (usize, String) {
    let length = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..length]);
    (length, header.split('\'').nth(3).unwrap_or_default().to_owned())
}

/// The values of an array, as text has them.
fn values(bytes: &[u8]) -> Vec<String> {
    let (start, descr) = head(bytes);
    let width = descr[2..].parse().expect("a width");
    let text = |value: &[u8]| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(value);
        let bits = u64::from_le_bytes(word);
        match descr.as_str() {
            "<f8" => f64::from_bits(bits).to_string(),
            "<f4" => f64::from(f32::from_bits(bits as u32)).to_string(),
            "<i4" => (bits as u32 as i32).to_string(),
            "<i8" => (bits as i64).to_string(),
            _ => bits.to_string(),
        }
    };
    bytes[start..].chunks_exact(width).map(text).collect()
}

/// A column with another value in one row; nothing if it has no row.
fn forge(dice: &mut Dice, name: &str, bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    if name.ends_with(".csv") {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() < 2 {
            return None;
        }
        let line = 1 + dice.below(lines.len() as u64 - 1) as usize;
        let (id, value) = lines[line].split_once(',')?;
        let other = if value == "0" { "1" } else { "0" };
        let what = format!("{id} has {other} for {value}");
        lines[line] = format!("{id},{other}");
        return Some(((lines.join("\n") + "\n").into_bytes(), what));
    }
    let (start, descr) = head(bytes);
    let width: usize = descr[2..].parse().ok()?;
    let rows = (bytes.len() - start) / width;
    if rows == 0 {
        return None;
    }
    let (row, mut forged) = (dice.below(rows as u64) as usize, bytes.to_vec());
    let value = &mut forged[start + row * width..][..width];
    let before = value.to_vec();
    match dice.below(3) {
        0 => value[0] ^= 1,
        1 => value.fill(0),
        // Minus one, or no number.
        _ => value.fill(255),
    }
    if value == before {
        value[0] ^= 1;
    }
    let what = format!("row {row} has {value:?} for {before:?}");
    Some((forged, what))
}
