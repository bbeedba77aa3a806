//! A stage in progress: its counters, and the rate, remaining time and measurements that are computed from them.

use super::{StageMoment, Unit};
use crate::process::formatting::{amount, bytes, duration, per_second};
use crate::process::log;
use crate::process::measurements::StageMeasurements;
use indicatif::ProgressBar;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Number of samples, taken once per second, over which the rate is averaged.
const WINDOW: usize = 30;

/// Counters of a stage, which its worker threads increment.
pub(super) struct RunningStage {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) total: AtomicU64,
    pub(super) done: AtomicU64,
    /// Part of `done` that earlier runs completed. It does not count towards the rate.
    pub(super) before: AtomicU64,
    pub(super) started: Instant,
    pub(super) peak: AtomicU64,
    /// Total number of bytes that the stage reads, if its unit is not bytes.
    pub(super) reads: AtomicU64,
    /// Number of bytes that the stage has written so far.
    pub(super) wrote: AtomicU64,
    pub(super) bar: Option<ProgressBar>,
    pub(super) is_logged: AtomicBool,
    pub(super) samples: Mutex<VecDeque<(Instant, u64)>>,
}

impl RunningStage {
    /// Returns the work that this run has completed so far, without the work of earlier runs.
    pub(super) fn done_now(&self) -> u64 {
        let done = self.done.load(Relaxed);
        done - self.before.load(Relaxed).min(done)
    }

    /// Returns the stage's measurements so far. If the unit is not bytes, the number of bytes read so far is estimated
    /// from the total in proportion to the completed work.
    pub(super) fn figures(&self) -> StageMeasurements {
        let (now, total) = (self.done_now(), self.total.load(Relaxed).max(1));
        let read = match self.unit {
            Unit::Bytes => now,
            _ => (u128::from(self.reads.load(Relaxed)) * u128::from(now.min(total)) / u128::from(total)) as u64,
        };
        StageMeasurements {
            seconds: self.started.elapsed().as_secs_f64(),
            read,
            written: self.wrote.load(Relaxed),
            host_memory_peak: self.peak.load(Relaxed),
        }
    }

    /// Returns the current progress of the stage.
    pub(super) fn moment(&self) -> StageMoment<'_> {
        StageMoment { stage: &self.name, done: self.done.load(Relaxed), total: self.total.load(Relaxed) }
    }

    pub(super) fn rate(&self) -> f64 {
        let samples = self.samples.lock();
        let Some(&(then, done_then)) = samples.front() else { return 0.0 };
        let seconds = then.elapsed().as_secs_f64();
        self.done.load(Relaxed).saturating_sub(done_then) as f64 / seconds.max(1e-9)
    }

    pub(super) fn add_sample(&self) {
        let mut samples = self.samples.lock();
        samples.push_back((Instant::now(), self.done.load(Relaxed)));
        if samples.len() > WINDOW {
            samples.pop_front();
        }
    }

    pub(super) fn seconds_left(&self, rate: f64) -> Option<f64> {
        let left = self.total.load(Relaxed).checked_sub(self.done.load(Relaxed))?;
        (rate > 0.0 && self.total.load(Relaxed) > 0).then(|| left as f64 / rate)
    }

    /// Returns the completed work in percent, or `None` if the total is unknown. It stays at 100 while an input is
    /// read a second time.
    pub(super) fn percent(&self) -> Option<f64> {
        let total = self.total.load(Relaxed);
        (total > 0).then(|| (100.0 * self.done.load(Relaxed) as f64 / total as f64).min(100.0))
    }

    pub(super) fn log_line(&self, memory: u64, limit: u64) {
        let (rate, done, total) = (self.rate(), self.done.load(Relaxed), self.total.load(Relaxed));
        let left = self.seconds_left(rate);
        if log::is_json() {
            tracing::info!(
                stage = self.name,
                percent = self.percent(),
                done,
                total,
                unit = self.unit.word(),
                rate,
                eta_seconds = left,
                memory,
                memory_limit = (limit > 0).then_some(limit),
                "progress"
            );
            return;
        }
        let percent = self.percent().map_or_else(|| amount(done, self.unit), |p| format!("{p:.1} %"));
        let left = left.map_or_else(|| "?".into(), duration);
        let memory = if limit > 0 { format!("{} of {}", bytes(memory), bytes(limit)) } else { bytes(memory) };
        tracing::info!(rate = %per_second(rate, self.unit), left = %left, memory = %memory, "{} {percent}", self.name);
    }

    pub(super) fn draw(&self, memory: u64) {
        let Some(bar) = &self.bar else { return };
        let rate = self.rate();
        let left = self.seconds_left(rate).map_or_else(|| "?".into(), duration);
        bar.set_length(self.total.load(Relaxed).max(1));
        bar.set_position(self.done.load(Relaxed));
        bar.set_message(format!("{}, {left} left, {}", per_second(rate, self.unit), bytes(memory)));
    }
}
