//! Whether a plan fits the limits of its job and the disk.

use super::plan::Plan;
use crate::config::size;
use crate::error::{Error, Result};
use crate::gpu::{self, whole_pieces};
use crate::memory::at_least;

impl Plan {
    /// A stage's error with the limit that does for all stages in place of its own: one correction is enough.
    pub(super) fn name_limit(&self, error: Error) -> Error {
        match error {
            Error::Limit { limit: limit @ "host_memory", given, purpose, .. }
                if self.host_memory_needed > self.host_memory_limit =>
            {
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
            self.maybe.push(format!("limits.host_memory = {given} may be too small: {needed} surely would do"));
        }
        if let Some(limit) = self.gpu_memory_limit.filter(|&limit| whole_pieces(limit) < gpu_memory) {
            let (given, needed) = (size::show(limit), gpu::at_least(gpu_memory));
            self.maybe.push(format!("limits.gpu_memory = {given} may be too small: {needed} surely would do"));
        }
        if self.disk > self.disk_free {
            let (needed, free) = (size::show(self.disk), size::show(self.disk_free));
            self.maybe.push(format!("the disk of the workdir may be too small: up to {needed} for {free} free"));
        }
        if let Some(free) = self.scratch_free.filter(|&free| free < self.scratch) {
            let (needed, free) = (size::show(self.scratch), size::show(free));
            self.maybe.push(format!("the disk of job.scratch may be too small: up to {needed} for {free} free"));
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
                purpose: "this input".into(),
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
        if self.surely.disk > self.disk_free {
            let (needed, free) = (size::show(self.disk), size::show(self.disk_free));
            let what = format!("the job takes {needed} here, {free} is free");
            return Err(Error::DiskFull { path: self.workdir.clone(), what });
        }
        if let Some(free) = self.scratch_free.filter(|&free| free < self.surely.scratch) {
            let what = format!("the ranks of a node take {} of job.scratch", size::show(self.surely.scratch));
            let what = format!("{what}, {} is free", size::show(free));
            return Err(Error::DiskFull { path: self.scratch_path.clone().unwrap_or_default(), what });
        }
        Ok(())
    }
}
