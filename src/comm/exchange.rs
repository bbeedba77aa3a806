//! Many-to-many messages: what the program that sends and takes them sees. How they travel is in `mpi`.

use crate::error::{Error, Result};
use std::sync::{Mutex, PoisonError};

/// What a rank's part of shared memory takes beside messages and cells of queues: heads, and the rest of a page.
const SEGMENT: u64 = 12 << 10;

/// How much an exchange may have under way on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Most words of a message. Some 10,000 and more keep a network busy; 65,536 are 256 KiB.
    pub words: usize,
    /// Messages that were sent and have not left: more wait in [`Outbox::send`].
    pub outgoing: usize,
    /// Messages that are arriving, wait to be taken or are being taken: the others' sends wait for more. A few more than
    /// `takers`.
    pub incoming: usize,
    /// Threads that take.
    pub takers: usize,
}

impl Shape {
    /// Most bytes that an exchange among `ranks` on `nodes` machines holds on one of them. On one machine that is what all
    /// ranks share, as each comes to use most of it. Buffers that `work` has taken and not yet sent come on top.
    pub fn bytes(&self, ranks: usize, nodes: usize) -> u64 {
        let (ranks, messages) = (ranks as u64, (self.outgoing + self.incoming) as u64);
        let one = messages * self.words as u64 * 4;
        match nodes {
            _ if ranks == 1 => 0,
            // And queues: at most two cells for each message, of three words.
            1 => ranks * (one + 48 * messages * (ranks + 1) + SEGMENT),
            _ => one,
        }
    }

    pub(super) fn checked(self) -> Result<Self> {
        let least = self.words.min(self.outgoing).min(self.incoming).min(self.takers);
        if least == 0 || self.words > i32::MAX as usize / 4 {
            return Err(Error::internal("exchange messages between ranks", format!("no exchange has {self:?}")));
        }
        Ok(self)
    }
}

/// What an exchange moved over this rank's side of the network; messages to itself are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Exchanged {
    /// Bytes sent to other ranks.
    pub sent_bytes: u64,
    /// Bytes received from other ranks.
    pub received_bytes: u64,
    /// From the call to its return.
    pub seconds: f64,
}

/// What takes a message: by whom it was sent, and its words.
pub(super) type Take<'a> = &'a (dyn Fn(usize, &[u32]) -> Result<()> + Sync);

/// What sends a message to another rank, once there is room for it. A buffer that it is done with comes back.
pub(super) type Away<'a> = &'a (dyn Fn(usize, Vec<u32>) -> Result<Option<Vec<u32>>> + Sync);

/// What `send` says once the exchange has failed.
pub(super) fn refused() -> Error {
    Error::internal("send a message", "the exchange has failed")
}

/// Where `work` of [`Comm::exchange`](super::Comm::exchange) sends its messages; for any number of threads.
pub struct Outbox<'a> {
    pub(super) shape: Shape,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) take: Take<'a>,
    /// Buffers whose message has left.
    pub(super) spare: Mutex<Vec<Vec<u32>>>,
    pub(super) away: Away<'a>,
}

impl Outbox<'_> {
    /// An empty buffer with room for a message.
    pub fn buffer(&self) -> Vec<u32> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Vec::with_capacity(self.shape.words))
    }

    /// Gives a buffer of [`Outbox::buffer`] back.
    pub(super) fn recycle(&self, mut buffer: Vec<u32>) {
        // Others than its own would make memory grow.
        if (self.shape.words..=self.shape.words * 2).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }

    /// Sends `message`, at most `shape.words` words, to rank `to`; waits while too much is under way. An empty message is
    /// not sent.
    ///
    /// # Errors
    /// Once the exchange has failed, and what `take` says of a message to this rank itself; [`Error::Io`] for a rank that
    /// is none and a message too long.
    pub fn send(&self, to: usize, message: Vec<u32>) -> Result<()> {
        if to >= self.ranks || message.len() > self.shape.words {
            let (words, ranks) = (message.len(), self.ranks);
            let why = format!("{words} words to rank {to}, expected at most {} to one of {ranks}", self.shape.words);
            return Err(Error::internal("send a message", why));
        }
        if to == self.rank {
            if !message.is_empty() {
                (self.take)(to, &message)?;
            }
            self.recycle(message);
            return Ok(());
        }
        if message.is_empty() {
            self.recycle(message);
            return Ok(());
        }
        if let Some(free) = (self.away)(to, message)? {
            self.recycle(free);
        }
        Ok(())
    }
}

/// The exchange of a process by itself: it takes what it sends to itself.
pub(super) fn alone<T>(
    shape: Shape,
    work: impl FnOnce(&Outbox<'_>) -> Result<T>,
    take: Take<'_>,
) -> Result<(T, Exchanged)> {
    let started = std::time::Instant::now();
    let outbox = Outbox { shape, rank: 0, ranks: 1, take, spare: Mutex::default(), away: &|_, _| Err(refused()) };
    let done = work(&outbox)?;
    Ok((done, Exchanged { seconds: started.elapsed().as_secs_f64(), ..Exchanged::default() }))
}
