//! Triangles of each vertex: the counts of finished units on the host, and those that a GPU has added since.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Queue};
use crate::process::signals;
use rayon::prelude::*;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Number of counts that are copied at once.
const AT_ONCE: usize = 1 << 20;
/// Counts stay on the GPU for at least this many times as long as it takes to move them.
const STAYING: u32 = 20;

/// Counts of all vertices.
pub struct VertexCounts<'a> {
    on_host: &'a [AtomicU64],
    pub on_gpu: DeviceSlice<u64>,
    /// When counts were last moved to the host, and how long that took.
    moved: Option<(Instant, Duration)>,
}

impl<'a> VertexCounts<'a> {
    /// Begins with counts on the host. `on_gpu` has no memory yet.
    pub fn new(on_host: &'a [AtomicU64]) -> VertexCounts<'a> {
        VertexCounts { on_host, on_gpu: DeviceSlice::default(), moved: None }
    }

    /// Returns true if the counts should be moved to the host, so that units can be reported: now and then, and before the
    /// job stops.
    pub fn is_due(&self) -> bool {
        signals::stop_requested().is_some() || self.moved.is_none_or(|(end, took)| end.elapsed() >= STAYING * took)
    }

    /// Adds the counts on the GPU to those on the host, and sets them to zero on the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn move_to_host(&mut self, queue: &Queue) -> Result<()> {
        let started = Instant::now();
        let mut some = vec![0u64; AT_ONCE.min(self.on_host.len())];
        for (i, counts) in self.on_host.chunks(AT_ONCE).enumerate() {
            let some = &mut some[..counts.len()];
            queue.read(self.on_gpu.part((i * AT_ONCE) as u64..u64::MAX), some)?;
            counts.par_iter().zip(some.par_iter()).filter(|&(_, &more)| more > 0).for_each(|(count, &more)| {
                count.fetch_add(more, Relaxed);
            });
        }
        queue.fill(self.on_gpu, 0)?;
        self.moved = Some((Instant::now(), started.elapsed()));
        Ok(())
    }
}
