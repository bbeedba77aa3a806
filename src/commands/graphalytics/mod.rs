//! `gpugraph graphalytics`: runs the algorithms that the properties file of an LDBC Graphalytics graph lists, as one
//! job. Writes their results as text, and checks them against the references next to the graph.
//!
//! | file | contains |
//! |---|---|
//! | `properties` | the properties file of a graph |
//! | `algorithm` | for each algorithm, the job-file table that computes it and the column with its result |
//! | `vertices` | finds the row of each vertex in the result columns, and writes the results as text |
//! | `reference` | comparison of a result with the reference |
#![allow(unsafe_code)] // MPI and CUDA are configured before there are threads

pub mod algorithm;
mod properties;
mod reference;
mod vertices;

use self::algorithm::Algorithm;
use self::properties::GraphProperties;
use self::vertices::Vertices;
use super::cli::GraphalyticsArgs;
use super::run::carry_out;
use crate::config::{self, Job};
use crate::error::{Error, Result};
use crate::job::input;
use crate::job::results::report::Report;
use crate::memory::Budget;
use crate::results::OutputFormat;
use crate::stdout;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use toml::{Table, Value as TomlValue};

/// `gpugraph graphalytics`: runs the algorithms of a graph, as a single process or as one of the ranks that a launcher
/// started.
///
/// # Safety
/// No other thread may run yet, because MPI and CUDA are configured by environment variables.
///
/// # Errors
/// [`Error::Input`] for mistakes in the properties or the graph, [`Error::Validation`] if a result differs from its
/// reference, and the errors of a job.
pub unsafe fn graphalytics(args: &GraphalyticsArgs) -> Result<()> {
    let (benchmark, job) = match Benchmark::read(args).and_then(|benchmark| Ok((benchmark.job(args)?, benchmark))) {
        Ok((job, benchmark)) => (Some(benchmark), Ok(job)),
        Err(e) => (None, Err(e)),
    };
    let described = benchmark.as_ref().zip(job.as_ref().ok().cloned());
    let finish = |report: &Report| {
        let Some((benchmark, job)) = described else { return Ok(()) };
        let figures = benchmark.finish(report, &job, args.output.as_deref())?;
        let text =
            if args.json { serde_json::to_string_pretty(&figures).unwrap_or_default() } else { figures.to_string() };
        // Report a failed check even if stdout is closed.
        let printed = stdout::print(text);
        figures.result().and(printed)
    };
    // SAFETY: the caller's promise.
    let done = unsafe { carry_out(job, &args.start, finish) };
    done.map_err(|e| benchmark.as_ref().and_then(|benchmark| benchmark.unknown_source(&e)).unwrap_or(e))
}

/// A Graphalytics graph, with the algorithms to run on it.
struct Benchmark {
    graph: GraphProperties,
    algorithms: Vec<Algorithm>,
    is_directed: bool,
    vertex_file: PathBuf,
    edge_file: PathBuf,
}

impl Benchmark {
    fn read(args: &GraphalyticsArgs) -> Result<Benchmark> {
        let graph = GraphProperties::read(&args.properties)?;
        let algorithms = Algorithm::of_graph(&graph, &args.algorithms)?;
        let is_directed = graph.value("directed", "true or false")?;
        let (vertex_file, edge_file) = (graph.path("vertex-file")?, graph.path("edge-file")?);
        Ok(Benchmark { graph, algorithms, is_directed, vertex_file, edge_file })
    }

    /// Returns the job that computes all algorithms on one prepared graph.
    fn job(&self, args: &GraphalyticsArgs) -> Result<Job> {
        // A `$` in a job file begins a variable, so it is doubled.
        let path = |path: &Path| TomlValue::String(path.to_string_lossy().replace('$', "$$"));
        let (mut columns, mut weights) = (vec![1, 2], "none");
        if self.algorithms.contains(&Algorithm::Sssp) {
            (columns, weights) = (vec![1, 2, self.graph.weight_column()?], "f64");
        }
        let columns: Vec<TomlValue> = columns.into_iter().map(TomlValue::Integer).collect();
        let input = [
            ("path", path(&self.edge_file)),
            ("vertices", path(&self.vertex_file)),
            ("format", "text".into()),
            ("columns", columns.into()),
            // The first line of an edge file is an edge.
            ("skip_lines", 0.into()),
            ("weights", weights.into()),
            ("directed", self.is_directed.into()),
        ];
        let mut tables = Table::new();
        let table = |keys: &[(&str, TomlValue)]| -> Table {
            keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
        };
        tables.insert("job".into(), table(&[("name", self.graph.name.as_str().into())]).into());
        tables.insert("input".into(), table(&input).into());
        for algorithm in &self.algorithms {
            tables.insert(algorithm.table().into(), algorithm.keys(&self.graph)?.into());
        }
        let job = config::of_text(&args.properties.to_string_lossy(), tables.to_string(), &args.start.set, None)?;
        match job.format {
            OutputFormat::Npy => Ok(job),
            _ => Err(Error::Usage(
                "output.format is for jobs: results of Graphalytics are text (--output FOLDER)".into(),
            )),
        }
    }

    /// Returns an error that names the key of a source vertex in the properties file, if `e` reports that this vertex
    /// is not in the graph; otherwise `None`.
    fn unknown_source(&self, e: &Error) -> Option<Error> {
        let Error::Input { found, .. } = e else { return None };
        let searches = self.algorithms.iter().filter(|algorithm| algorithm.searches());
        let mut keys = searches.map(|algorithm| format!("{}.source-vertex", algorithm.name()));
        let is_unknown =
            |key: &String| self.graph.value::<u64>(key, "").is_ok_and(|id| *found == format!("the source {id}"));
        self.graph.not_a_vertex(&keys.find(is_unknown)?, &self.vertex_file)
    }

    /// Writes the results as text to the folder `output`, if given, and checks them against the references. Returns
    /// the statistics of `job`, whose run `report` describes.
    fn finish(&self, report: &Report, job: &Job, output: Option<&Path>) -> Result<Figures> {
        let Job { workdir, input, .. } = job;
        let list = input::open(input)?.vertices;
        let list = list.ok_or_else(|| Error::internal("write results", "the vertices are not listed"))?;
        let mut vertices = Vertices::open(workdir)?;
        let (found, edges) = (vertices.ids().len() as u64, report.graph.as_ref().map_or(0, |graph| graph.edges));
        for (key, found) in [("vertices", found), ("edges", edges)] {
            if let Some(expected) = self.graph.size(key)?.filter(|&expected| expected != found) {
                tracing::warn!("{}: meta.{key} is {expected}, the graph has {found}", self.graph.name);
            }
        }
        let tables = Algorithm::ALL.map(Algorithm::table);
        let seconds = |is_wanted: &dyn Fn(&str) -> bool| -> f64 {
            report.stages.iter().filter(|stage| is_wanted(stage.name)).map(|stage| stage.figures.seconds).sum()
        };
        let load_seconds = seconds(&|stage| !tables.contains(&stage));
        let budget = Budget::new(report.limits.host_memory, 1)?;
        let mut figures = Vec::new();
        for &algorithm in &self.algorithms {
            let table = algorithm.table();
            let result = report.results.0.iter().find(|result| result.name == table);
            let processing_seconds = result.map_or(0.0, |result| result.seconds);
            // Count a single trial, because further trials only repeat the algorithm.
            let trials_seconds = result.map_or(0.0, |result| result.trials.iter().sum());
            let run_seconds = seconds(&|stage| stage == table) - trials_seconds + processing_seconds;
            let column = algorithm.column(workdir, &self.graph)?;
            let started = Instant::now();
            let file = output.map(|folder| folder.join(algorithm.file(&self.graph.name)));
            if let Some(file) = &file {
                vertices.write(&list, &column, file)?;
            }
            let makespan_seconds = load_seconds + run_seconds + started.elapsed().as_secs_f64();
            let reference = self.vertex_file.with_file_name(algorithm.file(&self.graph.name));
            let mismatches = match reference.is_file() {
                true => {
                    Some(reference::compare(&reference, (&column, algorithm.comparison()), &mut vertices, &budget)?)
                }
                false => None,
            };
            figures.push(AlgorithmFigures {
                algorithm: algorithm.name(),
                load_seconds,
                processing_seconds,
                makespan_seconds,
                eps: per_second(edges, processing_seconds),
                evps: per_second(found + edges, processing_seconds),
                validated: match &mismatches {
                    None => Validated::NoReference,
                    Some(mismatches) if mismatches.count == 0 => Validated::Yes,
                    Some(_) => Validated::No,
                },
                mismatches: mismatches.as_ref().map_or(0, |mismatches| mismatches.count),
                first_mismatches: mismatches.map_or_else(Vec::new, |mismatches| mismatches.described),
                reference: reference.is_file().then_some(reference),
                output: file,
            });
        }
        let (graph, directed) = (self.graph.name.clone(), self.is_directed);
        Ok(Figures { graph, directed, vertices: found, edges, algorithms: figures })
    }
}

/// Returns `count` per second; 0 if `seconds` is 0, as for a search from a vertex without edges.
fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Statistics that the command prints: sizes of the graph, and times and rates of each algorithm.
#[derive(Debug, Serialize)]
struct Figures {
    graph: String,
    directed: bool,
    vertices: u64,
    edges: u64,
    algorithms: Vec<AlgorithmFigures>,
}

/// Times and rates of one algorithm, and the result of its check against the reference.
#[derive(Debug, Serialize)]
struct AlgorithmFigures {
    algorithm: &'static str,
    /// Time to read and prepare the graph, in seconds.
    load_seconds: f64,
    /// Time of the algorithm alone, in seconds.
    processing_seconds: f64,
    /// Time that a run with only this algorithm would take, in seconds: load, processing and output.
    makespan_seconds: f64,
    /// Edges per second of processing time.
    eps: f64,
    /// Vertices plus edges per second of processing time.
    evps: f64,
    validated: Validated,
    mismatches: u64,
    first_mismatches: Vec<String>,
    reference: Option<PathBuf>,
    output: Option<PathBuf>,
}

/// Result of the check of an algorithm's values against the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Validated {
    Yes,
    No,
    #[serde(rename = "no reference")]
    NoReference,
}

impl Figures {
    /// Returns an error if a result differs from its reference.
    fn result(&self) -> Result<()> {
        let wrong = self.algorithms.iter().filter(|figures| figures.validated == Validated::No);
        let wrong: Vec<&str> = wrong.map(|figures| figures.algorithm).collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Error::Validation(format!("{} of {}: not the reference", wrong.join(", "), self.graph))),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.directed { "directed" } else { "undirected" };
        writeln!(f, "{}: {direction}, vertices {}, edges {}", self.graph, self.vertices, self.edges)?;
        let heads = ["algorithm", "load s", "processing s", "makespan s", "EPS", "EVPS"];
        let [algorithm, load, processing, makespan, eps, evps] = heads;
        writeln!(f, "{algorithm:<10}{load:>12}{processing:>14}{makespan:>12}{eps:>12}{evps:>12}  validated")?;
        for figures in &self.algorithms {
            let AlgorithmFigures { algorithm, load_seconds, processing_seconds, makespan_seconds, eps, evps, .. } =
                figures;
            write!(f, "{algorithm:<10}{load_seconds:>12.6}{processing_seconds:>14.6}{makespan_seconds:>12.6}")?;
            let validated = match figures.validated {
                Validated::Yes => "yes",
                Validated::No => "no",
                Validated::NoReference => "no reference",
            };
            writeln!(f, "{eps:>12.3e}{evps:>12.3e}  {validated}")?;
            for mismatch in &figures.first_mismatches {
                writeln!(f, "  {mismatch}")?;
            }
            if let Some(more) =
                figures.mismatches.checked_sub(figures.first_mismatches.len() as u64).filter(|&more| more > 0)
            {
                writeln!(f, "  and {more} more")?;
            }
        }
        Ok(())
    }
}
