//! Brings results to the host, by all threads through pinned memory.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Uploader};

/// Copies all of `from`, which has `words` words for each element of `to`, to the host. `put` writes elements by their words.
///
/// # Errors
/// [`crate::Error::Lost`].
pub fn fetch<T: Send>(
    uploader: &mut Uploader,
    from: DeviceSlice<u32>,
    words: usize,
    to: &mut [T],
    put: impl Fn(&[u32], &mut [T]) + Sync,
) -> Result<()> {
    let mut lanes = uploader.lanes()?;
    let share = to.len().div_ceil(lanes.len()).max(LEAST_SHARE);
    let put = &put;
    std::thread::scope(|scope| {
        let threads = lanes.iter_mut().zip(to.chunks_mut(share)).zip(0u64..).map(|((lane, part), i)| {
            scope.spawn(move || {
                let first = i * (share * words) as u64;
                let mut filled = 0;
                lane.receive(from.part(first..first + (part.len() * words) as u64), words, |some| {
                    let elements = some.len() / words;
                    put(some, &mut part[filled..][..elements]);
                    filled += elements;
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

/// Fewest elements that are worth a thread.
const LEAST_SHARE: usize = 1 << 16;
