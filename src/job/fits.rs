//! Whether a plan fits the limits of its job and the disk.

use super::plan::{Basis, Plan};
use crate::error::{Error, Result};
use crate::gpu::{self, whole_pieces};
use crate::memory::at_least;
use crate::size;
use std::path::Path;

impl Plan {
    /// A stage's error with the limit that does for all stages in place of its own: one correction is enough.
    pub(super) fn name_limit(&self, error: Error) -> Error {
        match error {
            Error::Limit { limit: limit @ "host_memory", given, purpose, .. }
                if self.host_memory_needed > self.host_memory_limit =>
            {
                let purpose = format!("{purpose}{}", self.how_sure());
                Error::Limit { limit, given, needed: at_least(self.host_memory_needed), purpose }
            }
            other => other,
        }
    }

    /// Says what may not fit: its bound exceeds a limit. `gpu_memory` is that of the fewest bytes of GPU memory.
    pub(super) fn say_maybe(&mut self, gpu_memory: u64) {
        let (given, needed) = (self.host_memory_limit, self.host_memory_needed);
        if needed > given {
            let (given, needed) = (size::show(given), at_least(needed));
            self.maybe
                .push(format!("limits.host_memory = {given} may be too small: {needed} surely would do, a bound"));
        }
        if let Some(limit) = self.gpu_memory_limit.filter(|&limit| whole_pieces(limit) < gpu_memory) {
            let (given, needed) = (size::show(limit), gpu::at_least(gpu_memory));
            self.maybe.push(format!("limits.gpu_memory = {given} may be too small: {needed} surely would do, a bound"));
        }
        if self.disk > self.disk_free {
            let (needed, free) = (size::show(self.disk), size::show(self.disk_free));
            self.maybe.push(format!("the disk of the workdir may be too small: at most {needed} for {free} free"));
        }
        if let Some(free) = self.scratch_free.filter(|&free| free < self.scratch) {
            let (needed, free) = (size::show(self.scratch), size::show(free));
            self.maybe.push(format!("the disk of job.scratch may be too small: at most {needed} for {free} free"));
        }
    }

    /// Refuses what does not fit.
    ///
    /// # Errors
    /// [`Error::Limit`] naming the smallest that would do, [`Error::DiskFull`].
    pub fn refuse(&self) -> Result<()> {
        if self.surely.host_memory > self.host_memory_limit {
            return Err(Error::Limit {
                limit: "host_memory",
                given: size::show(self.host_memory_limit),
                needed: at_least(self.host_memory_needed.max(self.surely.host_memory)),
                purpose: format!("this input{}", self.how_sure()),
            });
        }
        if self.device == "gpu"
            && let Some(limit) = self.gpu_memory_limit.filter(|&limit| whole_pieces(limit) < self.surely.gpu_memory)
        {
            return Err(Error::Limit {
                limit: "gpu_memory",
                given: size::show(limit),
                needed: gpu::at_least(self.surely.gpu_memory),
                purpose: "counting triangles of this graph".into(),
            });
        }
        match self.full_disk() {
            Some(e) if self.disk_check => Err(e),
            _ => Ok(()),
        }
    }

    /// The error of a disk that has no room for the job.
    fn full_disk(&self) -> Option<Error> {
        const ANYWAY: &str = "run.disk_check = false begins all the same";
        let full = |path: &Path, taker: &str, most: u64, surely: u64, free: u64| {
            let surely = match surely {
                surely if surely == most => String::new(),
                surely => format!(" and surely {}", size::show(surely)),
            };
            let (most, free) = (size::show(most), size::show(free));
            let what = format!("{taker} at most {most}{surely} here, {free} is free ({ANYWAY})");
            Error::DiskFull { path: path.to_owned(), what }
        };
        if self.surely.disk > self.disk_free {
            return Some(full(&self.workdir, "the job takes", self.disk, self.surely.disk, self.disk_free));
        }
        let free = self.scratch_free.filter(|&free| free < self.surely.scratch)?;
        let path = self.scratch_path.as_deref().unwrap_or(Path::new(""));
        Some(full(path, "the ranks of a node take", self.scratch, self.surely.scratch, free))
    }

    /// Returns what a refusal says of the limit that it names.
    fn how_sure(&self) -> String {
        match self.is_bound() {
            true => {
                format!(" (a bound: once ingest has run less may do, {} at least)", at_least(self.surely.host_memory))
            }
            false => " (the smallest that does)".into(),
        }
    }

    /// Whether memory and disk are bounds that hold for any graph of such a size, as degrees are not known.
    pub(super) fn is_bound(&self) -> bool {
        matches!(self.basis, Basis::Size | Basis::Expected)
    }

    /// Says that the disk may fill up where the job file has it begin all the same.
    pub(super) fn warn_of_disk(&self) {
        if let Some(e) = self.full_disk().filter(|_| !self.disk_check) {
            tracing::warn!("{e}");
        }
    }
}
