//! A gate at which threads wait until a shared value lets them continue. If one thread fails, the others stop waiting.

use crate::error::Result;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// Gate with a value that determines which threads may continue.
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

    /// Waits until `is_turn` accepts the value. Returns false if a thread has failed.
    pub(super) fn wait(&self, is_turn: impl Fn(&T) -> bool) -> bool {
        self.turn(is_turn).is_some()
    }

    /// Waits until `is_turn` accepts the value, then calls `change` on it and returns the result of `change`. Returns
    /// `None` if a thread has failed.
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

    /// Runs the work of one thread. If the work fails or panics, all threads that wait at the gate, now or later, stop
    /// waiting.
    pub(super) fn run(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let guard = FailsOnDrop(self);
        work()?;
        std::mem::forget(guard);
        Ok(())
    }

    /// Returns the value after all threads have ended.
    pub(super) fn into_inner(self) -> T {
        self.state.into_inner().value
    }
}

/// Guard that marks the gate as failed and wakes all threads when it is dropped. A thread that succeeds forgets its
/// guard ([`std::mem::forget`]), so that it is never dropped.
struct FailsOnDrop<'t, T>(&'t Gate<T>);

impl<T> Drop for FailsOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().failed = true;
        self.0.changed.notify_all();
    }
}
