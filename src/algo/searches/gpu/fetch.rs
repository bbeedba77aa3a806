//! Copies results from a GPU to the host, with several threads and through pinned memory.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Uploader, on_threads};

/// Copies the whole slice `from` of GPU memory to `to`. Each element of `to` comes from `words` words. `put` converts
/// words into elements.
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
    on_threads(lanes.iter_mut().zip(to.chunks_mut(share)).zip(0u64..), |((lane, part), i)| {
        let first = i * (share * words) as u64;
        let mut filled = 0;
        lane.receive(from.part(first..first + (part.len() * words) as u64), words, |some| {
            let elements = some.len() / words;
            put(some, &mut part[filled..][..elements]);
            filled += elements;
            Ok(())
        })
    })
}

/// Minimum number of elements for each thread.
const LEAST_SHARE: usize = 1 << 16;
