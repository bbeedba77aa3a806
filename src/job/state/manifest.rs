//! The manifest records which stages and tasks of a job are complete. It is one small JSON file, replaced as a whole,
//! whose last line is a checksum of the lines before.

use crate::algo::{ALGORITHMS, Task};
use crate::config::{InputKeys, InputSpec, Job};
use crate::error::{At, Error, Result};
use crate::job::state::key::hex;
use crate::job::state::record::TaskRecord;
use crate::job::state::spooled::Spool;
use crate::prepare::prepared::InputInfo;
use crate::process::measurements::{StageMeasurements, StageTotals};
use crate::results::Output;
use crate::store::regular;
use crate::store::replace::replace;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Version of the manifest's format. It changes when older manifests can't be read any more.
const SCHEMA: u32 = 2;

/// The manifest of a workdir.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    schema: u32,
    /// Name of the job.
    pub job: String,
    /// Input of the job, with absolute paths.
    pub input: Option<InputSpec>,
    /// Record of the copies of standard input and other streams.
    pub spool: Option<Spool>,
    /// Version of gpugraph that wrote the manifest.
    pub version: String,
    /// Number of times an incomplete job was resumed.
    pub resumes: u64,
    /// Total time in seconds of all runs before the current one.
    pub seconds: f64,
    /// Time in seconds of the current run up to the last save. For a killed run no later time is known.
    pub unfinished: f64,
    /// Number of runs started, including the current one. Starting a finished job again does not count.
    pub runs: u64,
    /// True while a run is in progress, and after a run that was killed.
    pub open: bool,
    /// Time spent and bytes transferred by all runs before the current one, including killed ones.
    pub spent: StageTotals,
    /// Time spent and bytes transferred by the current run, up to the last save.
    pub spending: StageTotals,
    /// Why the last run ended, unless it succeeded.
    pub stopped: Option<String>,
    /// Exit code of the last run, if it could record one.
    pub exit_code: Option<u8>,
    /// True if this manifest replaced a damaged one, and the result files that it does not list have not been removed
    /// yet.
    #[serde(default)]
    pub is_lost: bool,
    /// Completed stages of the preparation, by name.
    pub stages: BTreeMap<String, StageRecord>,
    /// Names of the tasks of the job that ran last, in order.
    pub asked: Vec<String>,
    /// Tasks that are complete or in progress, by the name of the algorithm.
    pub tasks: BTreeMap<String, TaskRecord>,
    /// Files of the job as a whole, by path relative to the workdir. Result files are recorded with their tasks.
    pub outputs: BTreeMap<String, Output>,
    /// Hash of the contents of the graph on which the results were computed.
    content: Option<String>,
    /// Keys of `[input]` of the job that computed the results; `None` in manifests of older versions.
    #[serde(default)]
    content_keys: Option<InputKeys>,
}

/// Record of a completed stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// Hash of everything that the stage's result depends on.
    pub key: String,
    /// Measurements of the stage, for the report.
    pub figures: StageMeasurements,
    /// Result of the stage, as the stage serialized it.
    pub found: serde_json::Value,
}

impl Manifest {
    /// Returns the path of the manifest of `workdir`.
    pub fn path(workdir: &Path) -> PathBuf {
        workdir.join("manifest.json")
    }

    /// Reads the manifest of `workdir`; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if any byte differs from what was written, [`Error::Usage`] for a manifest in another
    /// format version, [`Error::Io`].
    pub fn load(workdir: &Path) -> Result<Option<Self>> {
        let path = Self::path(workdir);
        let text = match regular::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read the manifest", &path, e)),
        };
        let corrupt = |what: String| Error::corrupt(&path, At::File, what);
        let body = text.len().checked_sub(tail(0).len()).map(|n| &text[..n]).unwrap_or_default();
        if text[body.len()..] != *tail(xxh3_64(body)).as_bytes() {
            return Err(corrupt("its text does not agree with its checksum".into()));
        }
        let mut file: serde_json::Value = serde_json::from_slice(&text).map_err(|e| corrupt(e.to_string()))?;
        let [schema, version] = ["schema", "version"].map(|field| &file["manifest"][field]);
        if !schema.is_u64() || !version.is_string() {
            return Err(corrupt("it has no schema or no version".into()));
        }
        if *schema != SCHEMA {
            return Err(Error::Usage(format!(
                "{}: gpugraph {} made this workdir (manifest {schema}, this version reads {SCHEMA}): go on with that version, \
                 name another workdir, or discard all in it with `gpugraph run JOB.toml --fresh`",
                workdir.display(),
                version.as_str().unwrap_or_default()
            )));
        }
        let manifest = serde_json::from_value(file["manifest"].take());
        Ok(Some(manifest.map_err(|e| corrupt(e.to_string()))?))
    }

    /// Replaces the manifest of `workdir`, durably.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn save(&mut self, workdir: &Path) -> Result<()> {
        self.schema = SCHEMA;
        self.version = env!("CARGO_PKG_VERSION").to_owned();
        let path = Self::path(workdir);
        let json = serde_json::to_string_pretty(self).map_err(|e| Error::io("write the manifest", &path, e.into()))?;
        let mut text = format!("{{\n\"manifest\": {json},\n");
        text.push_str(&tail(xxh3_64(text.as_bytes())));
        replace(&path, text.as_bytes())
    }

    /// Records that a run starts. If the previous run was killed, adds its time and bytes to the totals. `said` is
    /// what the status file contains: (number of the run that wrote the file, time of that run in seconds, time and
    /// bytes by stage). The status file is written more often than the manifest, so `said` is used if it is from the
    /// killed run and newer than the manifest.
    pub fn begin(&mut self, said: Option<(u64, f64, StageTotals)>) {
        let (mut seconds, mut spent) = (std::mem::take(&mut self.unfinished), std::mem::take(&mut self.spending));
        if let Some((_, later, all)) = said.filter(|said| self.open && said.0 == self.runs && said.1 >= seconds) {
            (seconds, spent) = (later, all);
        }
        self.seconds += seconds;
        self.spent.add(&spent);
        self.runs += 1;
        self.open = true;
    }

    /// Records that the current run ends, and adds its time and bytes to the totals.
    pub fn close(&mut self, seconds: f64, spent: &StageTotals) {
        (self.unfinished, self.spending, self.open) = (0.0, StageTotals::default(), false);
        self.seconds += seconds;
        self.spent.add(spent);
    }

    /// Records that a run of `job` has started. Until the run records how it ended, it is considered killed.
    pub fn mark_started(&mut self, job: &str) {
        self.job = job.to_owned();
        self.stopped = Some("killed or lost".into());
        self.exit_code = None;
    }

    /// Records how a run ended: with `error`, or successfully.
    pub fn ended(&mut self, error: Option<&Error>) {
        self.stopped = error.map(ToString::to_string);
        self.exit_code = error.map(Error::exit_code);
    }

    /// Returns the hash of the graph on which the results were computed; `None` if there is none.
    pub fn content(&self) -> Option<u64> {
        let graph = || self.last::<InputInfo>("relabel").map(|info| info.content);
        self.content.as_ref().and_then(|hash| u64::from_str_radix(hash, 16).ok()).or_else(graph)
    }

    /// Records the hash `content` of the graph on which the results were computed, and the `[input]` keys of the job
    /// that computed them.
    pub fn set_content(&mut self, content: u64, keys: &InputKeys) {
        (self.content, self.content_keys) = (Some(hex(content)), Some(keys.clone()));
    }

    /// Returns true if `key` of `[input]` has the same value in `job` as in the job that computed the results.
    pub fn is_of_key(&self, key: &str, job: &Job) -> bool {
        self.content_keys.as_ref().is_some_and(|keys| keys.get(key) == job.input_keys.get(key))
    }

    /// Returns the keys of `[input]` whose values differ between the job that computed the results and `job`. Each
    /// element is a pair of texts: the key with its value for the results, and with its value in `job`.
    pub fn other_keys(&self, job: &Job) -> Vec<[String; 2]> {
        self.content_keys.as_ref().map(|keys| keys.differences(&job.input_keys)).unwrap_or_default()
    }

    /// Returns the result of stage `name` if it is complete and its key is `key`.
    pub fn found<T: DeserializeOwned>(&self, name: &str, key: u64) -> Option<T> {
        let stage = self.stages.get(name).filter(|stage| stage.key == hex(key))?;
        serde_json::from_value(stage.found.clone()).ok()
    }

    /// Returns the last result of stage `name`, whatever its key.
    pub fn last<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.stages.get(name)?.found.clone()).ok()
    }

    /// Removes the entry of stage `name`, which is then no longer complete. It is called if the result of the stage
    /// is not valid any more.
    pub fn forget(&mut self, name: &str) {
        self.stages.remove(name);
    }

    /// Records that stage `name` is complete. `key` is its key, `figures` are its measurements, and `found` is its
    /// result.
    ///
    /// # Errors
    /// [`Error::Usage`] if `found` can't be serialised as JSON.
    pub fn done<T: Serialize>(&mut self, name: &str, key: u64, figures: StageMeasurements, found: &T) -> Result<()> {
        let found = serde_json::to_value(found).map_err(|e| Error::Usage(format!("internal: stage {name}: {e}")))?;
        self.stages.insert(name.to_owned(), StageRecord { key: hex(key), figures, found });
        Ok(())
    }

    /// Returns the task records in the registry's order. Records of algorithms that this version does not know come
    /// last.
    pub fn tasks_in_order(&self) -> impl Iterator<Item = (&str, &TaskRecord)> {
        let place = |name: &str| ALGORITHMS.iter().position(|algorithm| algorithm.name == name);
        let mut all: Vec<_> = self.tasks.iter().map(|(name, record)| (name.as_str(), record)).collect();
        all.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        all.into_iter()
    }

    /// Returns true if `task`, whose key is `key`, is complete for `job` and its result files are intact.
    pub(crate) fn is_done(&self, job: &Job, task: &dyn Task, key: u64) -> bool {
        let record = self.tasks.get(task.name());
        record.is_some_and(|record| record.is_done(key, job) && record.is_whole(&job.workdir))
    }

    /// Returns true if the workdir contains results. Results of another input must not be replaced unless the user
    /// requests it.
    pub fn has_results(&self) -> bool {
        !self.outputs.is_empty() || self.tasks.values().any(|task| task.done || !task.outputs.is_empty())
    }
}

/// Returns the last lines of the manifest file, which contain `checksum`, the checksum of all bytes before them. The
/// checksum protects these lines, too, because it determines every byte of them.
fn tail(checksum: u64) -> String {
    format!("\"checksum\": \"{checksum:016x}\"\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_round_trips_and_any_flipped_bit_is_detected() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Manifest::load(folder.path()).expect("no manifest is fine"), None);
        let mut manifest = Manifest { job: "a \"job\"".into(), ..Manifest::default() };
        let figures = StageMeasurements { seconds: 0.1, ..StageMeasurements::default() };
        manifest.done("ingest", 7, figures, &vec![1, 2, 3]).expect("plain");
        manifest.save(folder.path()).expect("written");
        let back = Manifest::load(folder.path()).expect("read").expect("there");
        assert_eq!(back, manifest);
        assert_eq!(back.found("ingest", 7), Some(vec![1, 2, 3]));
        assert_eq!(back.found::<Vec<i32>>("ingest", 8), None);

        // If reading a time back changed its value, the report of a finished job would change, too.
        let seconds: Vec<f64> = (1..500).map(|number| f64::from(number) / 7.3e7).collect();
        manifest.done("ingest", 7, StageMeasurements::default(), &seconds).expect("plain");
        manifest.save(folder.path()).expect("written");
        let back = Manifest::load(folder.path()).expect("read").expect("there");
        assert_eq!((back.found("ingest", 7), &back), (Some(seconds), &manifest));

        // Counts of wedges, triangles and probes may need more than 64 bits.
        let wide = crate::graph::degrees::DegreeSummary { max_degree: u64::from(u32::MAX), wedges: u128::MAX - 5 };
        manifest
            .done("sort", 8, StageMeasurements { seconds: 1e-7, ..StageMeasurements::default() }, &wide)
            .expect("any u128");
        manifest.save(folder.path()).expect("written");
        let back = Manifest::load(folder.path()).expect("read").expect("there");
        assert_eq!((back.found("sort", 8), &back), (Some(wide), &manifest));

        // The test reads the whole file once for each bit, so the long list is dropped.
        manifest.done("ingest", 7, StageMeasurements::default(), &vec![1, 2, 3]).expect("plain");
        manifest.save(folder.path()).expect("written");
        let path = Manifest::path(folder.path());
        let text = std::fs::read(&path).expect("read");
        for bit in 0..text.len() * 8 {
            let mut bad = text.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).expect("written");
            assert_eq!(Manifest::load(folder.path()).expect_err("damaged").exit_code(), 4, "bit {bit}");
        }
    }
}
