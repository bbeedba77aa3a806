//! The stage `triangle`: trials, units that are journalled as they are counted, results.

use super::graph::{Facts, Graph};
use super::journal::{Journal, Record, distinct};
use super::manifest::key;
use super::report::{self, Triangle};
use super::session::{Moved, Session};
use super::together::Together;
use super::{corners, outputs};
use crate::algo::triangle::PairCount;
use crate::algo::triangle::driver::{self, Backend, Sum};
use crate::error::{Error, Result};
use crate::process::progress::Unit;
use crate::process::signals;
use crate::{config, failpoint};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

impl Session {
    /// Counts the triangles of `graph`, or takes the count of an earlier run.
    ///
    /// # Errors
    /// Those of counting and of the disk.
    pub fn triangle(&mut self, graph: &Graph, table: &config::Triangle) -> Result<Triangle> {
        let key = triangle_key(graph.facts.content, table)?;
        if let Some(found) = self.agreed(|| self.counted(&graph.facts, table))? {
            if self.comm.leads() {
                self.forget_units(table)?;
            }
            self.skipped("triangle");
            return Ok(found);
        }
        self.forget_results()?;
        self.manifest.counts("triangle", key);
        let units = driver::units(graph.catalogue.len());
        let trials = self.job.run.trials;
        let mut seconds = Vec::new();
        let mut first: Option<Sum> = None;
        for trial in 0..trials {
            // Of counts at vertices those of the last trial are needed. Journals tell of all trials without them.
            let more = table.per_vertex && trial + 1 < trials;
            if let Some((sum, time)) = self.manifest.trial(key, trial).filter(|_| more) {
                first.get_or_insert(sum);
                seconds.push(time);
                continue;
            }
            let (sum, time) = self.stage("triangle", units, Unit::Units, |s, progress| {
                let trial = Trial { session: s, graph, key, trial };
                let read = if s.comm.leads() { graph.catalogue.bytes() } else { 0 };
                progress.reads(read);
                if !table.per_vertex {
                    return Ok((trial.count(progress)?, Moved { read, written: 0 }));
                }
                let (sum, seconds, counts) = corners::count(&trial, progress)?;
                let outputs = s.agreed(|| outputs::write_triangles(s, graph, &counts, sum.triangles))?;
                let written = outputs.values().map(|output| output.bytes).sum();
                s.manifest.outputs.extend(outputs);
                Ok(((sum, seconds), Moved { read, written }))
            })?;
            if *first.get_or_insert(sum) != sum {
                return Err(Error::Validation(format!("trial {trial} counted {sum:?}, the first {first:?}")));
            }
            seconds.push(time);
            if more {
                self.manifest.trial_done(key, trial, &sum, time)?;
                self.save_manifest()?;
            }
        }
        // A block that could not be made durable may have been read back as something else than was written. Waiting for
        // the disk is for those who keep the graph: the others throw it away now.
        let durable = if self.job.keep { self.syncer.wait() } else { self.syncer.check() };
        // All ranks wrote blocks; who could not ends the job before the others take it for done.
        self.comm.barrier();
        if let Err(e) = durable {
            let units = units_folder(self)?;
            std::fs::remove_dir_all(&units).map_err(|e| Error::io("remove", &units, e))?;
            return Err(e);
        }
        let sum = first.unwrap_or_default();
        let wedges = graph.stored.summary.wedges;
        let found = Triangle {
            triangles: sum.triangles,
            seconds: report::median(&seconds),
            trials: seconds,
            units,
            probes: sum.probes,
            wedges,
            transitivity: if wedges == 0 { 0.0 } else { 3.0 * sum.triangles as f64 / wedges as f64 },
        };
        let figures = self.last_figures();
        self.manifest.done("triangle", key, figures, &found)?;
        self.manifest.trials = None;
        self.manifest.device = Some(self.device_name().into());
        self.save_manifest()?;
        Ok(found)
    }

    /// The count of an earlier run, if it had trials enough and its files of results are there, in this job's format.
    ///
    /// # Errors
    /// As [`triangle_key`].
    pub(super) fn counted(&self, facts: &Facts, table: &config::Triangle) -> Result<Option<Triangle>> {
        let key = triangle_key(facts.content, table)?;
        let trials = self.job.run.trials as usize;
        let found = self.manifest.found::<Triangle>("triangle", key).filter(|found| found.trials.len() >= trials);
        let files = if table.per_vertex { outputs::names(self.job.output.format, facts.sparse) } else { Vec::new() };
        let is_whole = |name: &String| {
            self.manifest.outputs.get(name).is_some_and(|output| output.is_of(&self.job.workdir.join(name)))
        };
        Ok(found.filter(|_| files.iter().all(is_whole)).map(|found| found.first(trials)))
    }

    /// Removes journals or checkpoints of a count that is done, which nobody reads and nobody would repair.
    fn forget_units(&self, table: &config::Triangle) -> Result<()> {
        let prefix = if table.per_vertex { "corners." } else { "triangle." };
        let entries = std::fs::read_dir(self.job.workdir.join("units")).into_iter().flatten().flatten();
        for path in entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix)).map(|e| e.path()) {
            std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
        Ok(())
    }

    /// Removes results of another input or config, so that none of them is taken for one of this job.
    fn forget_results(&mut self) -> Result<()> {
        let outputs = std::mem::take(&mut self.manifest.outputs);
        let names = outputs.into_keys().filter(|name| self.comm.leads() && name.starts_with("out/"));
        for name in names {
            let path = self.job.workdir.join(name);
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("remove", &path, e)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The key of a count: of the graph's contents and of what is counted. Bound to neither limits nor device.
///
/// # Errors
/// None in practice; see [`key`].
pub fn triangle_key(content: u64, table: &config::Triangle) -> Result<u64> {
    key("triangle", &(content, table))
}

/// Bytes of a unit's result in the journal: triangles, probes and nanoseconds.
pub(super) const RESULT_BYTES: u64 = 24;

/// One count of all units.
pub(super) struct Trial<'a> {
    pub(super) session: &'a Session,
    pub(super) graph: &'a Graph,
    pub(super) key: u64,
    pub(super) trial: u32,
}

impl Trial<'_> {
    /// Counts what the journal does not have; returns the sum and the seconds that all units took, earlier runs included.
    fn count(&self, progress: &crate::process::progress::StageProgress) -> Result<(Sum, f64)> {
        let Trial { session, graph, .. } = self;
        let (mut book, done) = match session.comm.leads() {
            true => Book::open(self, progress).map(|(book, done)| (Some(book), done))?,
            false => (None, Vec::new()),
        };
        let done: HashSet<u64> = session.agreed(|| Ok(done))?.into_iter().collect();
        let stop = signals::stop_requested;
        let mut counter = session.counter(&graph.catalogue, graph.facts.connected, None, &stop)?;
        let together = Together { comm: &session.comm, graph: &graph.catalogue, done: &done };
        let keep = &mut |units: &[(u64, PairCount)]| book.as_mut().map_or(Ok(()), |book| book.keep(units));
        let counted = together.count(backend(&mut counter), keep, None);
        drop(counter);
        let sum = book.map_or(Ok(None), |book| book.close().map(Some));
        counted?;
        let (sum, blocks) = (sum?, graph.catalogue.len());
        session.agreed(|| {
            let (sum, seconds, units) = sum.ok_or_else(|| Error::internal("sum up", "the leader has no book"))?;
            match driver::units(blocks) {
                all if units == all => Ok((sum, seconds)),
                all => Err(Error::Validation(format!("{units} pairs of blocks were counted, of {all}"))),
            }
        })
    }
}

/// A counter as the trait it is.
pub(super) fn backend<'b, 'a>(counter: &'b mut Option<Box<dyn Backend + 'a>>) -> Option<&'b mut dyn Backend> {
    match counter {
        Some(counter) => Some(&mut **counter),
        None => None,
    }
}

/// The journal and the sums of a count.
struct Book<'a> {
    journal: Journal,
    folder: PathBuf,
    sum: Sum,
    nanos: u64,
    units: u64,
    last: Instant,
    progress: &'a crate::process::progress::StageProgress,
}

impl<'a> Book<'a> {
    /// Opens it, with the units that are in it.
    fn open(trial: &Trial<'_>, progress: &'a crate::process::progress::StageProgress) -> Result<(Self, Vec<u64>)> {
        let folder = units_folder(trial.session)?;
        // Trials repeat the work, so each has its own journal.
        let (journal, records) = Journal::open(&folder.join(format!("triangle.{}", trial.trial)), trial.key)?;
        let records = distinct(&records);
        let (mut sum, mut nanos) = (Sum::default(), 0);
        for record in &records {
            let wrong = || Error::internal("read the journal", format!("a result of {} bytes", record.result.len()));
            let [triangles, probes, spent] = record.words().ok_or_else(wrong)?;
            sum += PairCount { triangles, probes };
            nanos += spent;
        }
        progress.resume_at(records.len() as u64);
        let done: Vec<u64> = records.iter().map(|record| record.unit).collect();
        let units = done.len() as u64;
        Ok((Book { journal, folder, sum, nanos, units, last: Instant::now(), progress }, done))
    }

    fn keep(&mut self, units: &[(u64, PairCount)]) -> Result<()> {
        let now = Instant::now();
        let mut left = (now - self.last).as_nanos() as u64;
        // What was no unit yet takes its time, too.
        self.last = if units.is_empty() { self.last } else { now };
        // Those that were counted together took that time together.
        let records = units.iter().enumerate().map(|(i, &(unit, count))| {
            let spent = left / (units.len() - i) as u64;
            left -= spent;
            (spent, Record::of_words(unit, &[count.triangles, count.probes, spent]))
        });
        let (times, records): (Vec<u64>, Vec<Record>) = records.unzip();
        if !records.is_empty() {
            self.journal.append(&records)?;
        }
        for (spent, &(_, count)) in times.into_iter().zip(units) {
            failpoint::hit("unit.done").map_err(|e| Error::io("count a unit", &self.folder, e))?;
            self.sum += count;
            self.nanos += spent;
            self.units += 1;
            self.progress.advance(1);
        }
        signals::check()
    }

    /// The sum, the seconds that all units took, and how many these are.
    fn close(mut self) -> Result<(Sum, f64, u64)> {
        self.journal.sync()?;
        Ok((self.sum, self.nanos as f64 / 1e9, self.units))
    }
}

/// The folder of journals and checkpoints, made if need be.
pub(super) fn units_folder(session: &Session) -> Result<std::path::PathBuf> {
    let folder = session.job.workdir.join("units");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))?;
    Ok(folder)
}
