//! Copies results from a GPU to the host through pinned memory, with several threads.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Uploader};
use crate::process::threads::on_threads;

/// Copies the slice `from` of GPU memory to `to`. `element` makes an element of `to` from `W` 32-bit words.
///
/// # Errors
/// [`crate::Error::Lost`].
pub fn fetch<T: Send, const W: usize>(
    uploader: &mut Uploader,
    from: DeviceSlice<u32>,
    to: &mut [T],
    element: impl Fn([u32; W]) -> T + Sync,
) -> Result<()> {
    receive(
        uploader,
        from,
        to.len(),
        |share| to.chunks_mut(share).map(|part| part.iter_mut()),
        |to, words| *to = element(words),
    )
}

/// Copies the slice `from` of GPU memory to the host, with several threads. The slice consists of `elements` elements
/// of `W` 32-bit words each. `divide(n)` must return the destinations of the elements in chunks of `n` (the last chunk
/// may be shorter). Calls `take` with the destination and the words of each element.
///
/// # Errors
/// [`crate::Error::Lost`].
pub fn receive<P: Iterator + Send, I: Iterator<Item = P>, const W: usize>(
    uploader: &mut Uploader,
    from: DeviceSlice<u32>,
    elements: usize,
    divide: impl FnOnce(usize) -> I,
    take: impl Fn(P::Item, [u32; W]) + Sync,
) -> Result<()> {
    let mut lanes = uploader.lanes()?;
    let share = elements.div_ceil(lanes.len()).max(LEAST_SHARE);
    let firsts = (0..elements).step_by(share);
    on_threads(lanes.iter_mut().zip(divide(share)).zip(firsts), |((lane, mut part), first)| {
        let words = (W * first) as u64..(W * elements.min(first + share)) as u64;
        lane.receive(from.part(words), W, |words| {
            let (words, _) = words.as_chunks::<W>();
            words.iter().zip(part.by_ref()).for_each(|(&words, to)| take(to, words));
            Ok(())
        })
    })
}

/// Combines two 32-bit words, of which the low word comes first, into a 64-bit number.
#[inline]
pub fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Minimum number of elements that each thread copies.
const LEAST_SHARE: usize = 1 << 16;
