//! Times of the steps of a search on a GPU, which are told once the host waits for it anyway: waiting for each step would take longer than many of them.

use crate::algo::traverse::search::Steps;
use crate::error::Result;
use crate::gpu::{Event, Queue};
use std::time::Instant;

/// A step among all.
pub(super) type Step = fn(&mut Steps) -> &mut f64;

/// Marks from which the host should wait before it queues more.
const MANY: usize = 64;

/// Marks in a queue: its beginning, and the end of each step since.
pub(super) struct Clock {
    events: Vec<Event>,
    ends: Vec<Step>,
    begun: Option<Instant>,
}

impl Clock {
    /// Makes a clock that stands.
    pub fn new() -> Clock {
        Clock { events: Vec::new(), ends: Vec::new(), begun: None }
    }

    /// Begins, unless it goes already: what is queued from now on belongs to the next step that ends.
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

    /// Ends a step: all that was queued since the last one.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn end(&mut self, queue: &Queue, step: Step) -> Result<()> {
        self.ends.push(step);
        self.place(queue, self.ends.len())
    }

    /// Returns true if the host should wait for the GPU before it queues more.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= MANY
    }

    /// Waits for the GPU, and adds the times since the beginning to `steps`. The last step has the time of the host, too.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn settle(&mut self, queue: &Queue, steps: &mut Steps) -> Result<()> {
        queue.finish()?;
        let Some(begun) = self.begun.take() else { return Ok(()) };
        let (elapsed, mut told) = (begun.elapsed().as_secs_f64(), 0.0);
        for (number, step) in self.ends.iter().enumerate() {
            let seconds = self.events[number].until(&self.events[number + 1])?.as_secs_f64();
            *step(steps) += seconds;
            steps.kernels += seconds;
            told += seconds;
        }
        if let Some(last) = self.ends.last() {
            *last(steps) += (elapsed - told).max(0.0);
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
