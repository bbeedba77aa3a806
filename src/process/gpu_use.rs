//! Counters of this process's GPU use: allocated GPU memory, and the GPU busy time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

static TAKEN: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);
static BUSY: AtomicU64 = AtomicU64::new(0);

/// Records that this process now has `bytes` bytes of GPU memory allocated.
pub fn take(bytes: u64) {
    TAKEN.store(bytes, Relaxed);
    MOST.fetch_max(bytes, Relaxed);
}

/// Returns the peak of allocated GPU memory since the previous call, in bytes.
pub fn most_taken() -> u64 {
    let now = TAKEN.load(Relaxed);
    MOST.swap(now, Relaxed).max(now)
}

/// Adds `time` to the GPU busy time.
pub fn add_busy(time: Duration) {
    BUSY.fetch_add(time.as_micros() as u64, Relaxed);
}

/// Returns the total GPU busy time measured so far.
pub fn busy() -> Duration {
    Duration::from_micros(BUSY.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_between_two_looks_is_seen_and_then_forgotten() {
        // Other tests of this process allocate GPU memory as well, but much less.
        const MUCH: u64 = 1 << 50;
        take(3 * MUCH);
        take(2 * MUCH);
        assert_eq!(most_taken(), 3 * MUCH);
        take(2 * MUCH);
        assert_eq!(most_taken(), 2 * MUCH);
        take(0);
        assert!(most_taken() <= 2 * MUCH && most_taken() < MUCH);
        let before = busy();
        add_busy(Duration::from_millis(5));
        assert!(busy() >= before + Duration::from_millis(5));
    }
}
