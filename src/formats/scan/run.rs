//! Runs the threads of a pass.

use super::input_cache::CacheUse;
use super::packed::{self, Packed};
use super::plain::PlainFiles;
use crate::error::Result;
use crate::formats::{ScanState, Sink, Visitor};

/// Runs a pass with one thread per visitor, and returns its state with all counts. `visitors` must not be empty.
///
/// # Errors
/// The first error in the order of the input; [`crate::error::Error::Addresses`] if a thread can't be started.
pub(crate) fn run<'a>(
    shared: ScanState<'a>,
    cache: CacheUse<'_, '_>,
    visitors: &mut [&mut dyn Visitor],
) -> Result<ScanState<'a>> {
    let plain = PlainFiles::open(&shared, visitors.len())?;
    let packed = Packed::new(&shared, plain.chunks, visitors.len());
    std::thread::scope(|scope| {
        if let CacheUse::For(cache) = cache {
            for _ in 0..cache.begin(plain.queue.own.clone()) {
                let (shared, plain) = (&shared, &plain);
                let reading = cache.reader();
                shared.spawn(scope, move || {
                    let _reading = reading;
                    plain.read_ahead(shared, cache);
                });
            }
        }
        let (feed, blocks) = crossbeam::channel::bounded(packed::QUEUE);
        for _ in 0..packed.feeders {
            let feed = feed.clone();
            let packed = &packed;
            shared.spawn(scope, move || packed.feed(&feed));
        }
        drop(feed);
        for visitor in visitors {
            let blocks = blocks.clone();
            let (shared, plain, packed) = (&shared, &plain, &packed);
            shared.spawn(scope, move || {
                let mut sink = Sink::new(&mut **visitor, shared.weights).with_numbering(shared.numbering.clone());
                let done = plain
                    .work(shared, cache, &mut sink)
                    .and_then(|()| packed.work(blocks, &mut sink))
                    .and_then(|()| packed.work_alone(&mut sink))
                    .and_then(|()| plain.help(shared, &mut sink));
                if let Err(failure) = done {
                    shared.fail(failure.0, failure.1);
                }
                if shared.stopped() {
                    sink.visitor.stopped();
                }
            });
        }
        drop(blocks);
    });
    drop(plain);
    shared.check()?;
    Ok(shared)
}
