//! Bytes that this process gave to other ranks, as messages or in memory that they share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SENT: AtomicU64 = AtomicU64::new(0);

/// Counts bytes that are sent.
pub fn count(bytes: u64) {
    SENT.fetch_add(bytes, Relaxed);
}

/// Returns the bytes that were sent so far.
pub fn sent() -> u64 {
    SENT.load(Relaxed)
}
