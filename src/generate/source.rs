//! A generator read like a file.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::{Generator, record};
use crate::error::{Error, Result};
use crate::formats::{Edges, Seen, Share, Visitor, Watch};

/// Edges of a batch: 128 KiB of narrow pairs.
const BATCH: u64 = 16 << 10;

/// Bytes that a thread allocates.
pub(crate) const SCRATCH: u64 = BATCH * 16;

/// Hands the edges of a share to the visitors, in chunks of `chunk` bytes of pairs.
pub(crate) fn scan<V: Visitor>(
    generator: &Generator,
    share: Share<'_>,
    chunk: usize,
    visitors: &mut [V],
    watch: &dyn Watch,
) -> Result<Seen> {
    let total = generator.edges();
    let per_chunk = (chunk as u64 / record(generator)).max(1);
    let taking = share.begin(total.div_ceil(per_chunk));
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
                    let Some(number) = taking.take().or_else(|| taking.help(|_| true)) else { break };
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
    fn new(generator: &Generator, per_chunk: u64) -> Made {
        let batch = BATCH.min(per_chunk) as usize;
        if record(generator) == 8 { Made::Narrow(vec![[0; 2]; batch]) } else { Made::Wide(vec![[0; 2]; batch]) }
    }

    fn visit<V: Visitor>(&mut self, generator: &Generator, first: u64, last: u64, visitor: &mut V) -> Result<()> {
        let mut at = first;
        while at < last {
            at += match self {
                Made::Narrow(pairs) => {
                    let n = (last - at).min(pairs.len() as u64);
                    generator.fill_narrow(at, &mut pairs[..n as usize]);
                    visitor.visit(Edges::Narrow(&pairs[..n as usize]))?;
                    n
                }
                Made::Wide(pairs) => {
                    let n = (last - at).min(pairs.len() as u64);
                    generator.fill(at, &mut pairs[..n as usize]);
                    visitor.visit(Edges::Wide(&pairs[..n as usize]))?;
                    n
                }
            };
        }
        Ok(())
    }
}
