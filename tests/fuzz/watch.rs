//! Ends the test if a case hangs, and fails it if one takes memory that its few bytes do not justify.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Addresses that one case may add to those of this process: threads, chunks and windows of unpackers.
const ROOM: u64 = 1 << 30;

/// A thread that looks after the cases.
pub struct Watch {
    /// The number of the case that runs, plus one.
    case: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Watch {
    /// Starts it. A case has a minute at least, where most take milliseconds.
    pub fn start() -> Watch {
        let (case, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (case.clone(), over.clone());
        std::thread::spawn(move || {
            let (mut last, mut still) = (0, 0);
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(500));
                let now = seen.load(Ordering::Relaxed);
                still = if now == last { still + 1 } else { 0 };
                last = now;
                if now > 0 && still > 120 {
                    eprintln!("case {} hangs", now - 1);
                    std::process::abort();
                }
            }
        });
        Watch { case, over }
    }

    /// Runs case `number`.
    pub fn case<T>(&self, number: u64, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        self.case.store(number + 1, Ordering::Relaxed);
        let before = addresses();
        let ended = run();
        let more = addresses() - before;
        if more > ROOM { Err(format!("it took {} MiB of addresses", more >> 20)) } else { ended }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The most addresses that this process ever had, in bytes: memory asked for counts, touched or not.
fn addresses() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).expect("VmPeak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}
