//! Copies results from a GPU to the host, with several threads and through pinned memory.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Uploader, on_threads};

/// Copies the whole slice `from` of GPU memory to `to`. `element` makes each element of `to` from `W` 32-bit words.
///
/// # Errors
/// [`crate::Error::Lost`].
pub fn fetch<T: Send, const W: usize>(
    uploader: &mut Uploader,
    from: DeviceSlice<u32>,
    to: &mut [T],
    element: impl Fn([u32; W]) -> T + Sync,
) -> Result<()> {
    let mut lanes = uploader.lanes()?;
    let share = to.len().div_ceil(lanes.len()).max(LEAST_SHARE);
    on_threads(lanes.iter_mut().zip(to.chunks_mut(share)).zip(0u64..), |((lane, part), i)| {
        let first = i * (share * W) as u64;
        let mut filled = 0;
        lane.receive(from.part(first..first + (part.len() * W) as u64), W, |words| {
            let (words, _) = words.as_chunks::<W>();
            part[filled..].iter_mut().zip(words).for_each(|(to, &words)| *to = element(words));
            filled += words.len();
            Ok(())
        })
    })
}

/// Copies the whole slice `from` of GPU memory to the host, `W` words for each element. `take` gets the index of an
/// element, and the words of this element and of those after it. It is called by several threads.
///
/// # Errors
/// [`crate::Error::Lost`].
pub fn receive<const W: usize>(
    uploader: &mut Uploader,
    from: DeviceSlice<u32>,
    take: impl Fn(usize, &[[u32; W]]) + Sync,
) -> Result<()> {
    let mut lanes = uploader.lanes()?;
    let elements = from.len() as usize / W;
    let share = elements.div_ceil(lanes.len()).max(LEAST_SHARE);
    on_threads(lanes.iter_mut().zip((0..elements).step_by(share)), |(lane, mut first)| {
        let end = elements.min(first + share);
        lane.receive(from.part((first * W) as u64..(end * W) as u64), W, |words| {
            let (words, _) = words.as_chunks::<W>();
            take(first, words);
            first += words.len();
            Ok(())
        })
    })
}

/// Joins two 32-bit words, the lower one first, to a 64-bit number.
#[inline]
pub fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Minimum number of elements for each thread.
const LEAST_SHARE: usize = 1 << 16;
