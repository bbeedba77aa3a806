//! Reads generated edges as if they were a file.

use std::fmt::{Debug, Display};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::formats::{Edges, Seen, Share, Visitor, Watch};

/// A generator, whose edge `i` depends on its parameters and `i` alone. Its `Display` names the parameters.
pub trait EdgeGenerator: Debug + Display + Send + Sync {
    /// Returns the number of edges.
    fn edges(&self) -> u64;

    /// Returns a bound that all ids are below.
    fn vertices(&self) -> u64;

    /// Writes the edges from `first_edge` on to `out`; the range must lie below [`Self::edges`].
    fn fill(&self, first_edge: u64, out: &mut [[u64; 2]]);

    /// Does the same as [`Self::fill`] with 32-bit ids, for at most 2^32 vertices: higher bits are cut off.
    fn fill_narrow(&self, first_edge: u64, out: &mut [[u32; 2]]);

    /// Returns a hash of the parameters.
    fn identity(&self) -> u64;

    /// Returns the bytes of memory that it takes.
    fn scratch_bytes(&self) -> u64;
}

/// Edges of a batch: 128 KiB of narrow pairs.
const BATCH: u64 = 16 << 10;

/// Bytes that a thread allocates.
pub(crate) const SCRATCH: u64 = BATCH * 16;

/// Hands the edges of a share to the visitors, in chunks of `chunk` bytes of pairs.
pub(crate) fn scan<V: Visitor>(
    generator: &dyn EdgeGenerator,
    share: Share<'_>,
    chunk: usize,
    visitors: &mut [V],
    watch: &dyn Watch,
) -> Result<Seen> {
    let total = generator.edges();
    let per_chunk = (chunk as u64 / record(generator)).max(1);
    let queue = share.begin(total.div_ceil(per_chunk));
    let edges = |end: u64| total.min(end.saturating_mul(per_chunk));
    let all_made = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let failure: Mutex<Option<(u64, Error)>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for visitor in visitors {
            scope.spawn(|| {
                let mut made = Made::new(generator, per_chunk);
                let visitor = visitor;
                while !stop.load(Relaxed) {
                    let Some(number) = queue.take().or_else(|| queue.help(|_| true)) else { break };
                    let (first, last) = (edges(number), edges(number + 1));
                    all_made.fetch_add(last - first, Relaxed);
                    let done = made
                        .visit(generator, first, last, visitor)
                        .and_then(|()| visitor.chunk_done(number))
                        .and_then(|()| watch.advance((last - first) * record(generator)));
                    if let Err(error) = done {
                        let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        if failure.as_ref().is_none_or(|(before, _)| number < *before) {
                            *failure = Some((number, error));
                        }
                        stop.store(true, Relaxed);
                    }
                }
                if stop.load(Relaxed) {
                    visitor.stopped();
                }
            });
        }
    });
    if let Some((_, error)) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    Ok(Seen::generated(all_made.into_inner(), generator.vertices(), generator.identity()))
}

/// The buffer of a thread.
enum Made {
    Narrow(Vec<[u32; 2]>),
    Wide(Vec<[u64; 2]>),
}

impl Made {
    fn new(generator: &dyn EdgeGenerator, per_chunk: u64) -> Made {
        let batch = BATCH.min(per_chunk) as usize;
        if record(generator) == 8 { Made::Narrow(vec![[0; 2]; batch]) } else { Made::Wide(vec![[0; 2]; batch]) }
    }

    fn visit<V: Visitor>(
        &mut self,
        generator: &dyn EdgeGenerator,
        first: u64,
        last: u64,
        visitor: &mut V,
    ) -> Result<()> {
        let mut at = first;
        while at < last {
            at += match self {
                Made::Narrow(pairs) => {
                    let n = (last - at).min(pairs.len() as u64);
                    generator.fill_narrow(at, &mut pairs[..n as usize]);
                    visitor.visit(Edges::Narrow(&pairs[..n as usize]), &[])?;
                    n
                }
                Made::Wide(pairs) => {
                    let n = (last - at).min(pairs.len() as u64);
                    generator.fill(at, &mut pairs[..n as usize]);
                    visitor.visit(Edges::Wide(&pairs[..n as usize]), &[])?;
                    n
                }
            };
        }
        Ok(())
    }
}

/// Returns the bytes of a pair, in the size of file that the generator stands for.
pub(crate) fn record(generator: &dyn EdgeGenerator) -> u64 {
    if generator.vertices() > 1 << 32 { 16 } else { 8 }
}
