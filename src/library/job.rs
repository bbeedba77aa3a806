//! Jobs: `gpugraph run`, `plan` and `status` as functions.

use super::column::{Column, RowIds};
use super::context::{Calls, Canceller};
use super::graph::ids_of;
use super::triangles::Totals;
use crate::algo::about_column;
use crate::algo::triangle::TriangleOutput;
use crate::comm::Comm;
use crate::config;
use crate::error::Result;
use crate::job::plan::resources::Resources;
use crate::job::plan::{self, limits};
use crate::job::results::report;
use crate::job::run::{self, StartOptions};
use crate::job::status::{self, JobPlace, JobState};
use crate::results::about::About;
use crate::results::{IDS, Value};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A job, as a job file describes it.
///
/// ```
/// use gpugraph::Job;
///
/// # let folder = std::env::temp_dir().join(format!("gpugraph-doc-{}", std::process::id()));
/// # let workdir = folder.display();
/// let job = Job::builder()
///     .set("job.workdir", workdir)
///     .set("input.kronecker", "{ scale = 10, edge_factor = 8, seed = 1 }")
///     .set("triangle.per_vertex", true)
///     .build()?;
/// println!("{}", job.plan()?);
/// let report = job.run()?;
/// println!("{} triangles", report.triangles().expect("the job counts them").triangles);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Job {
    job: config::Job,
    start: StartOptions,
    calls: Arc<Calls>,
}

/// Builds a [`Job`] from a job file and from keys that are set one by one.
#[derive(Debug, Clone, Default)]
pub struct JobBuilder {
    file: Option<PathBuf>,
    text: String,
    set: Vec<String>,
    start: StartOptions,
}

impl JobBuilder {
    /// Sets a key of the job, as `--set KEY=VALUE` does: `set("bfs.roots", 64)`. The value is parsed as TOML. A value
    /// that is not valid TOML is a string. The key replaces the same key in the job file.
    pub fn set(mut self, key: &str, value: impl fmt::Display) -> JobBuilder {
        self.set.push(format!("{key}={value}"));
        self
    }

    /// Makes the job discard the results of earlier runs in the workdir before it runs. If the input is missing or has
    /// another format, the run fails and discards nothing.
    pub fn fresh(mut self, fresh: bool) -> JobBuilder {
        self.start.fresh = fresh;
        self
    }

    /// Makes the job wait while another process uses the workdir. Without this setting, the run fails with
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    pub fn wait(mut self, wait: bool) -> JobBuilder {
        self.start.wait = wait;
        self
    }

    /// Builds the job.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) whose message has one paragraph per mistake.
    pub fn build(self) -> Result<Job> {
        let job = match self.file {
            Some(file) => config::load(&file, &self.set),
            None => config::of_text("job", self.text, &self.set, None),
        }?;
        Ok(Job { job, start: self.start, calls: Arc::default() })
    }
}

impl Job {
    /// Returns a builder of a job without a job file; [`JobBuilder::set`] sets all its keys.
    pub fn builder() -> JobBuilder {
        JobBuilder::default()
    }

    /// Returns a builder of the job that the job file at `path` describes.
    pub fn from_file(path: impl AsRef<Path>) -> JobBuilder {
        JobBuilder { file: Some(path.as_ref().to_owned()), ..JobBuilder::default() }
    }

    /// Returns a builder of the job that `text` describes in the format of a job file.
    pub fn from_toml(text: impl Into<String>) -> JobBuilder {
        JobBuilder { text: text.into(), ..JobBuilder::default() }
    }

    /// Returns the workdir of the job.
    pub fn workdir(&self) -> &Path {
        &self.job.workdir
    }

    /// Returns a handle with which another thread can stop [`Job::run`]. Finished work is kept.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.calls))
    }

    /// Runs the job, or continues where an earlier run stopped. First waits until no other library call of the process
    /// is running. Under `mpirun` or `srun` all ranks must call this function.
    ///
    /// # Errors
    /// Errors of every kind. Finished work stays in the workdir, and another run continues from it.
    pub fn run(&self) -> Result<Report> {
        let comm = Comm::open()?;
        let report = self.calls.call(|| run::run(self.job.clone(), self.start, &comm))?;
        Ok(Report { report, workdir: self.job.workdir.clone() })
    }

    /// Returns the memory, disk space and time that the job will take, without running it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if the input can't be read.
    pub fn plan(&self) -> Result<Plan> {
        Ok(Plan(plan::Plan::of(&self.job, &Resources::here(&self.job, 1, 1)?)?))
    }

    /// Returns the progress of the job, even if another process runs it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the job never ran.
    pub fn status(&self) -> Result<JobStatus> {
        let place = JobPlace { workdir: self.job.workdir.clone(), job: Some(self.job.clone()) };
        Ok(JobStatus(status::read_status(&place)?))
    }
}

/// Report of a job's run. [`fmt::Display`] writes the text that `gpugraph run` prints.
#[derive(Debug, Clone)]
pub struct Report {
    report: report::Report,
    workdir: PathBuf,
}

impl Report {
    /// Returns the report as JSON, like the file `report.json` in the workdir.
    pub fn to_json(&self) -> String {
        to_json(&self.report)
    }

    /// Returns the workdir of the job.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// Returns the duration of this run in seconds.
    pub fn seconds(&self) -> f64 {
        self.report.seconds
    }

    /// Returns the triangle and wedge counts from the table `[triangle]`; `None` if the job has no such table.
    pub fn triangles(&self) -> Option<Totals> {
        let result = self.report.results.0.iter().find(|result| result.name == "triangle")?;
        let output: TriangleOutput = serde_json::from_value(result.fields.clone()).ok()?;
        Some(Totals::of(&output, result.seconds))
    }

    /// Memory-maps the result column in `out/NAME.npy`, such as `triangles` or `bfs/5/parent`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no such column,
    /// [`ErrorKind::Validation`](crate::ErrorKind::Validation) if its values have another type.
    pub fn column<T: Value>(&self, name: &str) -> Result<Column<T>> {
        let ids = self.workdir.join(IDS);
        let is_of_vertices = about_column(Path::new(name)).is_none_or(About::is_of_vertices);
        let ids = match (ids.is_file(), &self.report.input) {
            _ if !is_of_vertices => RowIds::Dense { first: 0 },
            (true, _) => RowIds::Sparse(ids_of(&ids)?),
            (false, report::InputReport::Edges { first_id, .. }) => RowIds::Dense { first: first_id.0 },
            (false, report::InputReport::List { .. }) => RowIds::Dense { first: 0 },
        };
        Column::open(&self.workdir.join("out").join(format!("{name}.npy")), &ids)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.report.answer(&self.workdir))
    }
}

/// The memory, disk space and time that a job will take. [`fmt::Display`] writes the text that `gpugraph plan` prints.
#[derive(Debug, Clone)]
pub struct Plan(plan::Plan);

impl Plan {
    /// Returns the smallest host memory limit, in bytes, with which the job can run.
    pub fn host_memory_needed(&self) -> u64 {
        self.0.host_memory_needed
    }

    /// Returns the predicted maximum size of the workdir, in bytes.
    pub fn disk(&self) -> u64 {
        self.0.disk
    }

    /// Returns the predicted duration of the job in seconds.
    pub fn seconds(&self) -> f64 {
        self.0.seconds
    }

    /// Returns an error if the job needs more than its memory limits or more than the free disk space.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::DiskFull`](crate::ErrorKind::DiskFull).
    pub fn check(&self) -> Result<()> {
        limits::refuse(&self.0)
    }

    /// Returns the JSON that `gpugraph plan --json` prints.
    pub fn to_json(&self) -> String {
        to_json(&self.0)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Progress of a job. [`fmt::Display`] writes the text that `gpugraph status` prints.
#[derive(Debug, Clone)]
pub struct JobStatus(status::JobStatus);

impl JobStatus {
    /// Returns true if a process is running the job.
    pub fn is_running(&self) -> bool {
        self.0.state == JobState::Running
    }

    /// Returns true if all tasks of the job are complete.
    pub fn is_finished(&self) -> bool {
        self.0.state == JobState::Finished
    }

    /// Returns the JSON that `gpugraph status --json` prints.
    pub fn to_json(&self) -> String {
        to_json(&self.0)
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn to_json(value: &impl Serialize) -> String {
    // Serialising cannot fail, because all maps have string keys.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
