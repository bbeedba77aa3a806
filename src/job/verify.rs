//! `gpugraph verify`: every stored file against its checksum, every result against an independent method.
//!
//! Nothing is changed, and a check that fails does not keep the others from being made. What is stored is checked
//! here and by `whole`, results by `recount`, straight from the input.

use super::graph::{Facts, Stored};
use super::journal::{self, distinct};
use super::lock::{Liveness, Lock};
use super::look::Place;
use super::manifest::{Manifest, Output};
use super::recount::{self, Counts, Source};
use super::report::Triangle;
use super::triangle::triangle_key;
use super::{corners, spool, whole};
use crate::algo::triangle::driver;
use crate::config::{self, InputSpec};
use crate::error::{At, Error, Result};
use crate::memory::Budget;
use serde::Serialize;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It holds.
    Ok,
    /// It does not.
    Failed,
    /// It could not be made.
    Skipped,
    /// No check, but something to know about all others.
    Warning,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub what: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found, in words.
    pub found: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "skipped",
            Outcome::Warning => "warning",
        };
        write!(f, "{outcome:8}{:22} {}", self.what, self.found)
    }
}

type Tell<'a> = Box<dyn Fn(&Check) -> Result<()> + 'a>;

/// All checks so far, each told as it is made.
pub struct Verdict<'a> {
    /// The checks in order.
    pub checks: Vec<Check>,
    tell: Tell<'a>,
    first: Option<Error>,
}

impl<'a> Verdict<'a> {
    /// No check yet; `tell` is called with each.
    pub fn new(tell: impl Fn(&Check) -> Result<()> + 'a) -> Self {
        Verdict { checks: Vec::new(), tell: Box::new(tell), first: None }
    }

    /// Notes a check: what was found in words, or the error that says what is wrong.
    ///
    /// # Errors
    /// Those of telling, and a stop by a signal.
    pub fn note(&mut self, what: &str, found: Result<String>) -> Result<()> {
        match found {
            Ok(found) => self.add(what, Outcome::Ok, found),
            Err(e @ Error::Stopped(_)) => Err(e),
            Err(Error::Io { path, source, .. }) if source.kind() == ErrorKind::NotFound => {
                self.note(what, Err(Error::corrupt(path, At::File, "missing, where the manifest has it")))
            }
            Err(e) => {
                let told = self.add(what, Outcome::Failed, e.to_string());
                self.first.get_or_insert(e);
                told
            }
        }
    }

    /// Notes a check that could not be made.
    ///
    /// # Errors
    /// Those of telling.
    pub fn skip(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, Outcome::Skipped, why.into())
    }

    /// Notes what is to be known of the other checks.
    ///
    /// # Errors
    /// Those of telling.
    pub fn warn(&mut self, what: &str, why: impl Into<String>) -> Result<()> {
        self.add(what, Outcome::Warning, why.into())
    }

    fn add(&mut self, what: &str, outcome: Outcome, found: String) -> Result<()> {
        let check = Check { what: what.to_owned(), outcome, found };
        (self.tell)(&check)?;
        self.checks.push(check);
        Ok(())
    }

    /// The first thing that was wrong, if any.
    ///
    /// # Errors
    /// That of the first check that failed.
    pub fn result(self) -> Result<()> {
        self.first.map_or(Ok(()), Err)
    }
}

/// Makes all checks that can be made.
///
/// # Errors
/// Those that keep all checks from being made: [`Error::Busy`], [`Error::Usage`] where no job has run, a signal. What a
/// check found wrong is in the verdict.
pub fn verify(place: &Place, verdict: &mut Verdict<'_>) -> Result<()> {
    let workdir = &place.workdir;
    if let Some(owner) = Lock::owner(workdir).filter(|owner| owner.liveness() == Liveness::Alive) {
        // Its files come and go.
        return Err(Error::Busy { workdir: workdir.clone(), owner: owner.to_string() });
    }
    let manifest = match place.manifest() {
        Ok(manifest) => manifest,
        Err(e @ Error::Corrupt { .. }) => return verdict.note("manifest.json", Err(e)),
        Err(e) => return Err(e),
    };
    verdict.note("manifest.json", Ok(format!("whole; {} stages done", manifest.stages.len())))?;
    if let Some(asked) = place.asked(&manifest) {
        verdict
            .warn("job", format!("the job file is of {asked}: the results are of {}, which ran last", manifest.job))?;
    }
    let limits = place.job.as_ref().map(|job| job.limits).unwrap_or_default();
    let threads = super::session::threads(limits.threads);
    let limit = limits.host_memory.unwrap_or_else(|| crate::process::host::memory().free / 5 * 4);
    let budget = Budget::new(limit, threads)?;

    let job = place.job.clone().map(|job| spool::looked_at(job, &manifest));
    let spec = job.as_ref().map(|job| &job.input).or(manifest.input.as_ref());
    let prepared = match spec {
        Some(InputSpec::Prepared(other)) => match whole::prepared_graph(other).map_err(|e| e.kept_in(other)) {
            Ok(graph) => {
                let found = format!("{}: {} blocks whole; rows ascend", other.display(), graph.catalogue.len());
                verdict.note("prepared graph", Ok(found))?;
                Some(graph)
            }
            Err(e) => {
                verdict.note("prepared graph", Err(e))?;
                None
            }
        },
        _ => None,
    };
    let (facts, stored) = match &prepared {
        Some(graph) => (Some(graph.facts.clone()), Some(graph.stored.clone())),
        None => {
            let facts: Option<Facts> = manifest.last("relabel");
            let stored = facts.as_ref().and_then(|facts| manifest.found("sort", facts.content));
            (facts, stored)
        }
    };
    match &facts {
        Some(facts) if prepared.is_none() => whole::stored_graph(workdir, &manifest, facts, &budget, verdict)?,
        Some(_) => {}
        None => verdict.skip("graph", "not prepared yet")?,
    }
    let result: Option<Triangle> = manifest.last("triangle");
    if let Some(facts) = &facts {
        let total = stored.as_ref().map(|stored: &Stored| driver::units(stored.blocks as usize));
        units(workdir, facts, total, result.as_ref(), verdict)?;
    }
    outputs(workdir, &manifest, verdict)?;
    let (Some(facts), Some(stored), Some(result)) = (&facts, &stored, &result) else {
        return verdict.skip("recount", "the job has no result yet");
    };
    let counts = Counts { workdir, manifest: &manifest, facts, stored, result };
    recount::consistent(&counts, verdict)?;
    match (&prepared, spec) {
        (Some(graph), _) => recount::again(&Source::Blocks(graph), &counts, &budget, threads, verdict),
        (None, _) if spool::is_gone(&manifest) => {
            let why = "the input came by a pipe and is gone; so the count itself was not checked";
            verdict.skip("recount", why)
        }
        (None, None) => verdict.skip("recount", "the manifest does not name the input; name the job file"),
        (None, Some(spec)) => match recount::unchanged(spec, facts) {
            Ok(input) => recount::again(&Source::Input(&input, facts), &counts, &budget, threads, verdict),
            Err(why) => verdict.skip("recount", format!("{why}; so the count itself was not checked")),
        },
    }
}

/// Journals and checkpoints; those of other work are said to be so, for a run discards them.
fn units(
    workdir: &Path,
    facts: &Facts,
    total: Option<u64>,
    result: Option<&Triangle>,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let folder = workdir.join("units");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    for name in names.iter().filter(|name| !name.contains(".tmp-")) {
        let path = folder.join(name);
        let key = |per_vertex| triangle_key(facts.content, &config::Triangle { per_vertex });
        let found = match name.split('.').next() {
            Some("triangle") => journal_holds(&path, key(false)?, total, result),
            Some("corners") => checkpoint_holds(&path, key(true)?, facts, total, result),
            _ => continue,
        };
        let what = format!("units/{name}");
        match found {
            Err(Error::Corrupt { at: At::Byte(16), .. }) => verdict.skip(&what, "of other work; a run discards it")?,
            found => verdict.note(&what, found)?,
        }
    }
    Ok(())
}

fn journal_holds(path: &Path, key: u64, total: Option<u64>, result: Option<&Triangle>) -> Result<String> {
    let peek = journal::peek(path, key)?;
    if let Some(byte) = peek.damaged_at {
        let what = "a record does not agree with its checksum";
        return Err(Error::corrupt(path, At::Byte(byte), what));
    }
    let records = distinct(&peek.records);
    let no_count = |unit| Error::corrupt(path, At::File, format!("the result of unit {unit} is no count of triangles"));
    let triangles = records.iter().map(|record| {
        record.words().map(|[triangles, _, _]| u128::from(triangles)).ok_or_else(|| no_count(record.unit))
    });
    let sum: u128 = triangles.sum::<Result<u128>>()?;
    complete_sum_agrees(path, records.len() as u64, sum, total, result)?;
    let torn = if peek.torn > 0 { ", and a torn one at its end" } else { "" };
    Ok(format!("whole; {} units with {sum} triangles{torn}", records.len()))
}

fn checkpoint_holds(
    path: &Path,
    key: u64,
    facts: &Facts,
    total: Option<u64>,
    result: Option<&Triangle>,
) -> Result<String> {
    let peek = corners::peek(path, key, facts.connected)?;
    if peek.corners != 3 * peek.triangles {
        let what = format!("{} corners of {} triangles, not three times as many", peek.corners, peek.triangles);
        return Err(Error::corrupt(path, At::File, what));
    }
    complete_sum_agrees(path, peek.units, peek.triangles, total, result)?;
    Ok(format!("whole; {} units with {} triangles", peek.units, peek.triangles))
}

/// Units that are all counted must have the result as their sum.
fn complete_sum_agrees(
    path: &Path,
    units: u64,
    sum: u128,
    total: Option<u64>,
    result: Option<&Triangle>,
) -> Result<()> {
    match result {
        Some(result) if total == Some(units) && sum != result.triangles => Err(Error::Validation(format!(
            "{}: all units have {sum} triangles, the manifest {}",
            path.display(),
            result.triangles
        ))),
        _ => Ok(()),
    }
}

/// Every file of results, as the manifest knows it.
fn outputs(workdir: &Path, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
    for (name, output) in &manifest.outputs {
        verdict.note(name, output_holds(&workdir.join(name), output))?;
    }
    if !manifest.outputs.contains_key("report.json") {
        verdict.skip("report.json", "the job has not come to its end")?;
    }
    Ok(())
}

fn output_holds(path: &Path, output: &Output) -> Result<String> {
    let (bytes, sum) = checksum(path).map_err(|e| Error::io("read", path, e))?;
    if bytes != output.bytes {
        let what = format!("{bytes} bytes, the manifest has {}", output.bytes);
        return Err(Error::corrupt(path, At::Byte(bytes.min(output.bytes)), what));
    }
    if sum != output.checksum {
        let what = format!("its checksum is {sum:016x}, the manifest has {:016x}", output.checksum);
        return Err(Error::corrupt(path, At::File, what));
    }
    Ok(format!("whole; {bytes} bytes"))
}

/// Whether every file of results but the report is as it was written: what `run` asks before it takes a job for done.
/// The report is written anew by every run.
pub fn outputs_are_whole(workdir: &Path, manifest: &Manifest) -> bool {
    let results = manifest.outputs.iter().filter(|(name, _)| *name != "report.json");
    results.into_iter().all(|(name, output)| output_holds(&workdir.join(name), output).is_ok())
}

/// Length and xxh3-64 of a file.
fn checksum(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::io::Read;
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut bytes, mut buffer) = (Xxh3::new(), 0, vec![0; 1 << 20]);
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((bytes, hash.digest()));
        }
        hash.update(&buffer[..n]);
        bytes += n as u64;
    }
}
