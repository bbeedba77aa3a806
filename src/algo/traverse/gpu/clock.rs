//! Measures the durations of the steps of a search on a GPU. To read a duration, the host must wait for the GPU. Such a
//! wait takes longer than many of the steps, so durations are read only when the host waits for another reason.

use crate::algo::traverse::search::StepTimes;
use crate::error::Result;
use crate::gpu::{Event, Queue};
use std::time::Instant;

/// Function that selects a field of [`StepTimes`].
pub(super) type Step = fn(&mut StepTimes) -> &mut f64;

/// Number of measured steps at which the host should wait for the GPU before it queues more work.
const MANY: usize = 64;

/// CUDA events that measure steps in a GPU queue: one event at the start, and one at the end of each step.
pub(super) struct StepClock {
    events: Vec<Event>,
    ends: Vec<Step>,
    begun: Option<Instant>,
}

impl StepClock {
    /// Creates a clock that is not running.
    pub fn new() -> StepClock {
        StepClock { events: Vec::new(), ends: Vec::new(), begun: None }
    }

    /// Starts the clock unless it is running. The duration of the next step includes all work that is queued after this
    /// call.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn begin(&mut self, queue: &Queue) -> Result<()> {
        if self.begun.is_none() {
            self.begun = Some(Instant::now());
            self.place(queue, 0)?;
        }
        Ok(())
    }

    /// Ends a step. The duration of all work that was queued since the previous step ended will be added to the field
    /// that `step` selects.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn end(&mut self, queue: &Queue, step: Step) -> Result<()> {
        self.ends.push(step);
        self.place(queue, self.ends.len())
    }

    /// Returns true if the host should wait for the GPU before it queues more work, because many steps are not read
    /// yet.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= MANY
    }

    /// Waits for the GPU, and adds the durations of all steps since the start to `steps`. The remaining time, which the
    /// host spent outside these steps, is added to the last step.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn synchronize(&mut self, queue: &Queue, steps: &mut StepTimes) -> Result<()> {
        queue.finish()?;
        let Some(begun) = self.begun.take() else { return Ok(()) };
        let (elapsed, mut measured) = (begun.elapsed().as_secs_f64(), 0.0);
        for (number, step) in self.ends.iter().enumerate() {
            let seconds = self.events[number].until(&self.events[number + 1])?.as_secs_f64();
            *step(steps) += seconds;
            steps.kernels += seconds;
            measured += seconds;
        }
        if let Some(last) = self.ends.last() {
            *last(steps) += (elapsed - measured).max(0.0);
        }
        self.ends.clear();
        Ok(())
    }

    fn place(&mut self, queue: &Queue, number: usize) -> Result<()> {
        match self.events.get(number) {
            Some(event) => queue.mark(event),
            None => {
                self.events.push(queue.record_timed()?);
                Ok(())
            }
        }
    }
}
