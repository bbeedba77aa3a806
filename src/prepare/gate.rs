//! A shared value on which threads wait until it satisfies a condition. If one thread fails, the others stop waiting.

use crate::error::Result;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// A value that threads share. A thread waits until the value satisfies the thread's condition, for example until a
/// counter has reached the thread's index.
pub(super) struct Gate<T> {
    state: Mutex<GateState<T>>,
    changed: Condvar,
}

struct GateState<T> {
    value: T,
    failed: bool,
}

impl<T> Gate<T> {
    pub(super) fn new(value: T) -> Self {
        Gate { state: Mutex::new(GateState { value, failed: false }), changed: Condvar::new() }
    }

    /// Waits until `is_turn` returns true for the value, and then returns true. Returns false if a thread has failed.
    pub(super) fn wait(&self, is_turn: impl Fn(&T) -> bool) -> bool {
        self.turn(is_turn).is_some()
    }

    /// Waits until `is_turn` returns true for the value. Then calls `change` with the value, wakes the waiting threads,
    /// and returns the result of `change`. If a thread has failed, returns `None` instead, without calling `change`.
    pub(super) fn take<R>(&self, is_turn: impl Fn(&T) -> bool, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut state = self.turn(is_turn)?;
        let changed = change(&mut state.value);
        drop(state);
        self.changed.notify_all();
        Some(changed)
    }

    fn turn(&self, is_turn: impl Fn(&T) -> bool) -> Option<MutexGuard<'_, GateState<T>>> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| !state.failed && !is_turn(&state.value));
        (!state.failed).then_some(state)
    }

    /// Runs `work`, the work of one thread. If `work` fails or panics, all waiting threads stop waiting, and later
    /// calls to [`Self::wait`] and [`Self::take`] return at once.
    pub(super) fn run(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let guard = FailsOnDrop(self);
        work()?;
        std::mem::forget(guard);
        Ok(())
    }

    /// Consumes the gate, after all threads have ended, and returns the value.
    pub(super) fn into_inner(self) -> T {
        self.state.into_inner().value
    }
}

/// Guard that marks the gate as failed and wakes all threads when it is dropped. A thread that succeeds forgets its
/// guard ([`std::mem::forget`]), so that the guard is never dropped.
struct FailsOnDrop<'t, T>(&'t Gate<T>);

impl<T> Drop for FailsOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().failed = true;
        self.0.changed.notify_all();
    }
}
