//! Brings parents to the host, by all threads through pinned memory.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Uploader};

/// Copies all of `from` to `to`, which is as long.
pub(super) fn fetch(uploader: &mut Uploader, from: DeviceSlice<u32>, to: &mut [u32]) -> Result<()> {
    let mut lanes = uploader.lanes()?;
    let share = to.len().div_ceil(lanes.len()).max(LEAST_SHARE);
    std::thread::scope(|scope| {
        let threads = lanes.iter_mut().zip(to.chunks_mut(share)).zip(0u64..).map(|((lane, part), i)| {
            scope.spawn(move || {
                let first = i * share as u64;
                let mut filled = 0;
                lane.receive(from.part(first..first + part.len() as u64), 1, |words| {
                    part[filled..][..words.len()].copy_from_slice(words);
                    filled += words.len();
                    Ok(())
                })
            })
        });
        let threads: Vec<_> = threads.collect();
        // All are waited for before the first error is returned.
        let ends = threads.into_iter().map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let ends: Vec<Result<()>> = ends.collect();
        ends.into_iter().collect()
    })
}

/// Fewest words that are worth a thread.
const LEAST_SHARE: usize = 1 << 16;
