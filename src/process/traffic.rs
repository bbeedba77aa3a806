//! Counter of the bytes that this process has sent to other ranks, through MPI or shared memory.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SENT: AtomicU64 = AtomicU64::new(0);

/// Counts `bytes` bytes as sent to other ranks.
pub fn count(bytes: u64) {
    SENT.fetch_add(bytes, Relaxed);
}

/// Returns the number of bytes that this process has sent to other ranks.
pub fn sent() -> u64 {
    SENT.load(Relaxed)
}
