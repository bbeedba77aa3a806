//! Many-to-many messages between ranks. Each rank of an exchange has an outbox that sends messages, threads that
//! receive messages, and limits on messages in flight.

use super::carrier::{Carrier, Delivery, TakeMessage};
use super::mpi::Ranks;
use super::shm::{RingSize, Rings};
use crate::error::{Error, Result};
use crate::process::backoff::Backoff;
use crate::process::threads::{join, spawn};
use crate::process::traffic;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Limits on the messages that an exchange has in flight on one rank. If all ranks are on one machine, messages go
/// through ring buffers in shared memory, one for each other rank, which together have about `outgoing + incoming`
/// slots. A send then waits until the ring to its receiver has a free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLimits {
    /// Maximum number of 32-bit words in a message. Messages of about 10,000 words or more use the full bandwidth of a
    /// network; 65,536 words are 256 KiB.
    pub words: usize,
    /// Maximum number of outgoing messages in flight on this rank. At the maximum, [`Outbox::send`] waits until one of
    /// them has been sent.
    pub outgoing: usize,
    /// Maximum number of incoming messages that are arriving, queued or being processed on this rank. At the maximum,
    /// senders on other ranks wait. The limit should exceed the number of threads that process messages (`takers`) by a
    /// few.
    pub incoming: usize,
    /// Number of threads that process incoming messages.
    pub takers: usize,
}

impl MessageLimits {
    /// Returns the maximum memory, in bytes, that an exchange of messages needs on one rank, in a job of `ranks` ranks
    /// on `nodes` machines. Buffers that the sender has obtained from [`Outbox::buffer`] and not yet sent are not
    /// included.
    pub fn bytes(&self, ranks: usize, nodes: usize) -> u64 {
        match nodes {
            _ if ranks == 1 => 0,
            1 => self.ring(ranks).rank_bytes(ranks),
            _ => (self.outgoing + self.incoming) as u64 * self.words as u64 * 4,
        }
    }

    /// Returns the dimensions of the ring buffer for messages from this rank to one other rank. The rings from a rank
    /// to all others together have about as many slots as the rank may have messages in flight.
    fn ring(&self, ranks: usize) -> RingSize {
        RingSize::new(self.outgoing.saturating_add(self.incoming) / (ranks - 1), self.words * 4)
    }

    pub(super) fn checked(self) -> Result<Self> {
        let least = self.words.min(self.outgoing).min(self.incoming).min(self.takers);
        if least == 0 || self.words > i32::MAX as usize / 4 {
            return Err(Error::internal("exchange messages between ranks", format!("invalid limits {self:?}")));
        }
        Ok(self)
    }
}

/// Amount of data that this rank sent to and received from other ranks in an exchange of messages, and its duration.
/// Messages from the rank to itself are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExchangeTraffic {
    /// Number of bytes sent to other ranks.
    pub sent_bytes: u64,
    /// Number of bytes received from other ranks.
    pub received_bytes: u64,
    /// Duration of the exchange of messages in seconds.
    pub seconds: f64,
}

/// Handle with which any number of threads send messages in [`Comm::exchange`](super::Comm::exchange).
pub struct Outbox<'a> {
    limits: MessageLimits,
    rank: usize,
    ranks: usize,
    take: TakeMessage<'a>,
    /// Buffers of sent messages, for reuse.
    spare: Mutex<Vec<Vec<u32>>>,
    /// Transport of the messages, through shared memory or MPI; `None` in a job of one rank.
    carrier: Option<&'a dyn Carrier>,
    /// Whether the exchange of messages has failed on this rank.
    failed: AtomicBool,
    sent_bytes: AtomicU64,
}

impl<'a> Outbox<'a> {
    fn new(
        limits: MessageLimits,
        rank: usize,
        ranks: usize,
        take: TakeMessage<'a>,
        carrier: Option<&'a dyn Carrier>,
    ) -> Outbox<'a> {
        let (failed, sent_bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        Outbox { limits, rank, ranks, take, spare: Mutex::default(), carrier, failed, sent_bytes }
    }

    /// Returns an empty buffer with capacity for a message of the maximum size.
    pub fn buffer(&self) -> Vec<u32> {
        let spare = self.spare.lock().pop();
        spare.unwrap_or_else(|| Vec::with_capacity(self.limits.words))
    }

    /// Stores a buffer for reuse by [`Outbox::buffer`].
    fn recycle(&self, mut buffer: Vec<u32>) {
        // Buffers of other sizes are freed, because keeping them would increase memory use.
        if (self.limits.words..=self.limits.words * 2).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.lock().push(buffer);
        }
    }

    /// Sends `message`, of at most `limits.words` 32-bit words, to rank `to`. Waits while the maximum number of
    /// messages is in flight. Empty messages are dropped.
    ///
    /// # Errors
    /// [`Error::Internal`] if the exchange has failed, for an invalid rank, or for a message that is too long. For a
    /// message from this rank to itself, also the errors of the callback that receives it.
    pub fn send(&self, to: usize, mut message: Vec<u32>) -> Result<()> {
        if to >= self.ranks || message.len() > self.limits.words {
            let (words, ranks) = (message.len(), self.ranks);
            let why = format!("{words} words to rank {to}, expected at most {} to one of {ranks}", self.limits.words);
            return Err(Error::internal("send a message", why));
        }
        if to == self.rank && !message.is_empty() {
            (self.take)(to, &message)?;
        }
        if to == self.rank || message.is_empty() {
            self.recycle(message);
            return Ok(());
        }
        let mut backoff = Backoff::default();
        let bytes = 4 * message.len() as u64;
        traffic::count(bytes);
        self.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
        while let Some(carrier) = self.carrier.filter(|_| !self.failed.load(Ordering::SeqCst)) {
            match carrier.send(to, message) {
                Ok(free) => {
                    self.recycle(free);
                    return Ok(());
                }
                Err(back) => message = back,
            }
            backoff.take();
        }
        Err(Error::internal("send a message", "the exchange has failed"))
    }

    /// Receives messages until all ranks have sent their last message and all messages to this rank have been
    /// processed. Returns the number of bytes received by this thread.
    fn take_all(&self, carrier: &dyn Carrier) -> Result<u64> {
        let (mut backoff, mut bytes) = (Backoff::default(), 0);
        while !self.failed.load(Ordering::SeqCst) {
            match carrier.take(self.take)? {
                Delivery::Message(words) => {
                    bytes += 4 * words as u64;
                    backoff.reset();
                }
                Delivery::Nothing => backoff.take(),
                Delivery::Over => break,
            }
        }
        Ok(bytes)
    }
}

/// Runs an exchange in a job of one rank, which sends messages only to itself.
pub(super) fn run_single<T>(
    limits: MessageLimits,
    work: impl FnOnce(&Outbox<'_>) -> Result<T>,
    take: TakeMessage<'_>,
) -> Result<(T, ExchangeTraffic)> {
    let started = Instant::now();
    let done = work(&Outbox::new(limits, 0, 1, take, None))?;
    Ok((done, ExchangeTraffic { seconds: started.elapsed().as_secs_f64(), ..ExchangeTraffic::default() }))
}

/// Runs an exchange of messages on one of several ranks, with one thread that runs `work` and several threads that
/// receive messages. Messages go through shared memory if all ranks are on one machine, else through MPI.
pub(super) fn run_among<T: Send>(
    ranks: &Ranks,
    limits: MessageLimits,
    work: impl FnOnce(&Outbox<'_>) -> Result<T> + Send,
    take: TakeMessage<'_>,
) -> Result<(T, ExchangeTraffic)> {
    let (started, place) = (Instant::now(), ranks.position());
    let carrier: Box<dyn Carrier + '_> = match Rings::open(ranks, limits.ring(place.ranks)) {
        Some(rings) => Box::new(rings),
        None => ranks.pool(limits)?,
    };
    let outbox = Outbox::new(limits, place.rank, place.ranks, take, Some(&*carrier));
    let (done, taken) = std::thread::scope(|scope| {
        let take_all = || {
            let taken = outbox.take_all(&*carrier);
            outbox.failed.fetch_or(taken.is_err(), Ordering::SeqCst);
            taken
        };
        let takers: Vec<_> = (0..limits.takers).map(|_| spawn(scope, take_all)).collect();
        outbox.failed.fetch_or(takers.iter().any(Result::is_err), Ordering::SeqCst);
        let done = spawn(scope, || work(&outbox)).and_then(join);
        match done {
            Ok(_) if !outbox.failed.load(Ordering::SeqCst) => carrier.end(),
            Ok(_) => {}
            Err(_) => outbox.failed.store(true, Ordering::SeqCst),
        }
        // Join all receiver threads before returning the first error.
        let taken: Vec<_> = takers.into_iter().map(|taker| taker.and_then(join)).collect();
        (done, taken.into_iter().sum::<Result<u64>>())
    });
    // Return an error of `take` first, because an error of `work` may be only a consequence.
    let received_bytes = taken?;
    let (sent_bytes, seconds) = (outbox.sent_bytes.into_inner(), started.elapsed().as_secs_f64());
    Ok((done?, ExchangeTraffic { sent_bytes, received_bytes, seconds }))
}
