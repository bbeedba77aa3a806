//! Many-to-many messages between ranks. An exchange has limits for its messages, threads that take messages, and an
//! outbox that sends them.

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

/// Limits of the messages that an exchange has in flight on one rank. If all ranks are on one machine, `outgoing +
/// incoming` buffers are divided among rings in shared memory, one to each other rank. A send waits until the ring to
/// its receiver has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLimits {
    /// Maximum number of 32-bit words in a message. From about 10,000 words on, messages keep a network busy; 65,536
    /// words are 256 KiB.
    pub words: usize,
    /// Maximum number of outgoing messages in flight. If there are more, [`Outbox::send`] waits until one has left.
    pub outgoing: usize,
    /// Maximum number of messages that are arriving, waiting, or being taken. Sends of other ranks wait until there are
    /// fewer. The maximum should be a few more than `takers`.
    pub incoming: usize,
    /// Number of threads that take incoming messages.
    pub takers: usize,
}

impl MessageLimits {
    /// Returns the maximum number of bytes that an exchange takes on one of `ranks` ranks on `nodes` machines. Buffers
    /// that `work` has taken and not yet sent are not included.
    pub fn bytes(&self, ranks: usize, nodes: usize) -> u64 {
        match nodes {
            _ if ranks == 1 => 0,
            1 => self.ring(ranks).rank_bytes(ranks),
            _ => (self.outgoing + self.incoming) as u64 * self.words as u64 * 4,
        }
    }

    /// Returns the size of the ring of buffers from this rank to one other rank. The rings from a rank to all others
    /// together have room for about as many messages as the rank may have in flight.
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

/// Traffic of an exchange over this rank's network link. Messages from the rank to itself are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExchangeTraffic {
    /// Bytes sent to other ranks.
    pub sent_bytes: u64,
    /// Bytes received from other ranks.
    pub received_bytes: u64,
    /// Duration of the exchange in seconds.
    pub seconds: f64,
}

/// Handle through which the `work` of [`Comm::exchange`](super::Comm::exchange) sends messages, from any number of
/// threads.
pub struct Outbox<'a> {
    limits: MessageLimits,
    rank: usize,
    ranks: usize,
    take: TakeMessage<'a>,
    /// Buffers of messages that have been sent, for reuse.
    spare: Mutex<Vec<Vec<u32>>>,
    /// Transport of the messages, through shared memory or MPI; `None` in a job of one rank.
    carrier: Option<&'a dyn Carrier>,
    /// Whether the exchange has failed on this rank.
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

    /// Returns an empty buffer with room for a message of maximum size.
    pub fn buffer(&self) -> Vec<u32> {
        let spare = self.spare.lock().pop();
        spare.unwrap_or_else(|| Vec::with_capacity(self.limits.words))
    }

    /// Keeps a buffer for a later call of [`Outbox::buffer`].
    fn recycle(&self, mut buffer: Vec<u32>) {
        // Buffers of other sizes are dropped, because they would make memory grow.
        if (self.limits.words..=self.limits.words * 2).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.lock().push(buffer);
        }
    }

    /// Sends `message`, of at most `limits.words` words, to rank `to`. Waits while the maximum number of messages is in
    /// flight. An empty message is not sent.
    ///
    /// # Errors
    /// An error once the exchange has failed; the error of `take` for a message to this rank itself;
    /// [`Error::Internal`] for an invalid rank or a message that is too long.
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

    /// Takes messages until the work of every rank is done and no message is left. Returns the number of bytes
    /// received.
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

/// Runs the exchange of a job of one rank, which sends messages only to itself.
pub(super) fn run_single<T>(
    limits: MessageLimits,
    work: impl FnOnce(&Outbox<'_>) -> Result<T>,
    take: TakeMessage<'_>,
) -> Result<(T, ExchangeTraffic)> {
    let started = Instant::now();
    let done = work(&Outbox::new(limits, 0, 1, take, None))?;
    Ok((done, ExchangeTraffic { seconds: started.elapsed().as_secs_f64(), ..ExchangeTraffic::default() }))
}

/// Runs the exchange on one of several ranks, with one thread for the work and several threads that take messages.
/// Messages go through shared memory if all ranks share some, else through MPI.
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
        // All takers must be joined before the first error is returned.
        let taken: Vec<_> = takers.into_iter().map(|taker| taker.and_then(join)).collect();
        (done, taken.into_iter().sum::<Result<u64>>())
    });
    // Return the error of `take` first, because `work` may have failed only as a consequence.
    let received_bytes = taken?;
    let (sent_bytes, seconds) = (outbox.sent_bytes.into_inner(), started.elapsed().as_secs_f64());
    Ok((done?, ExchangeTraffic { sent_bytes, received_bytes, seconds }))
}
