//! Values that belong to the process that made them.
#![allow(unsafe_code)] // a value is dropped here or never

use pyo3::Python;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// A value that only the process that made it drops. A forked process has neither the threads that a graph's drop would
/// wait for, nor the right to remove its files.
pub struct OfProcess<T: Send> {
    process: u32,
    value: ManuallyDrop<T>,
}

impl<T: Send> OfProcess<T> {
    pub fn new(value: T) -> OfProcess<T> {
        OfProcess { process: std::process::id(), value: ManuallyDrop::new(value) }
    }
}

impl<T: Send> Deref for OfProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        // SAFETY: nothing uses the value after this.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        let mut value = Some(value);
        // Removing a graph's files takes a while, in which other Python threads go on.
        let _ = Python::try_attach(|py| py.detach(|| drop(value.take())));
    }
}
