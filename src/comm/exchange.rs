//! Interface of many-to-many messages for the code that sends and receives them. The module `mpi` transports them.

use crate::error::{Error, Result};
use crate::process::traffic;
use std::sync::{Mutex, PoisonError};

/// Bytes of a rank's shared memory in addition to messages and queue cells: heads, and the rest of a page.
const SEGMENT: u64 = 12 << 10;

/// Limits of the messages that an exchange has in flight on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Most words of a message. From about 10,000 words on, messages keep a network busy; 65,536 words are 256 KiB.
    pub words: usize,
    /// Most outgoing messages in flight. If there are more, [`Outbox::send`] waits until one has left.
    pub outgoing: usize,
    /// Most messages that are arriving, waiting or being taken; other ranks' sends wait until there are fewer. It
    /// should be a few more than `takers`.
    pub incoming: usize,
    /// Number of threads that take messages.
    pub takers: usize,
}

impl Shape {
    /// Returns the most bytes that an exchange among `ranks` ranks on `nodes` machines takes of one rank. With one
    /// machine, that is the memory that all ranks share, because each rank touches most of it. Buffers that `work` has
    /// taken and not yet sent are not included.
    pub fn bytes(&self, ranks: usize, nodes: usize) -> u64 {
        let (ranks, messages) = (ranks as u64, (self.outgoing + self.incoming) as u64);
        let one = messages * self.words as u64 * 4;
        match nodes {
            _ if ranks == 1 => 0,
            // Queues have at most two cells of three words for each message.
            1 => ranks * (one + 48 * messages * (ranks + 1) + SEGMENT),
            _ => one,
        }
    }

    pub(super) fn checked(self) -> Result<Self> {
        let least = self.words.min(self.outgoing).min(self.incoming).min(self.takers);
        if least == 0 || self.words > i32::MAX as usize / 4 {
            return Err(Error::internal("exchange messages between ranks", format!("invalid shape {self:?}")));
        }
        Ok(self)
    }
}

/// Traffic of an exchange over this rank's network link. Messages of the rank to itself are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Exchanged {
    /// Bytes sent to other ranks.
    pub sent_bytes: u64,
    /// Bytes received from other ranks.
    pub received_bytes: u64,
    /// Duration of the call in seconds.
    pub seconds: f64,
}

/// Function that takes a message. Its arguments are the rank that sent the message, and the words.
pub(super) type Take<'a> = &'a (dyn Fn(usize, &[u32]) -> Result<()> + Sync);

/// Function that sends a message to another rank as soon as there is room. It may return a free buffer.
pub(super) type Transport<'a> = &'a (dyn Fn(usize, Vec<u32>) -> Result<Option<Vec<u32>>> + Sync);

/// Returns the error of `send` after the exchange has failed.
pub(super) fn refused() -> Error {
    Error::internal("send a message", "the exchange has failed")
}

/// Handle by which the `work` of [`Comm::exchange`](super::Comm::exchange) sends messages, from any number of threads.
pub struct Outbox<'a> {
    pub(super) shape: Shape,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) take: Take<'a>,
    /// Buffers of messages that have left.
    pub(super) spare: Mutex<Vec<Vec<u32>>>,
    pub(super) transport: Transport<'a>,
}

impl Outbox<'_> {
    /// Returns an empty buffer with room for a message.
    pub fn buffer(&self) -> Vec<u32> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Vec::with_capacity(self.shape.words))
    }

    /// Keeps a buffer for a later [`Outbox::buffer`].
    pub(super) fn recycle(&self, mut buffer: Vec<u32>) {
        // Buffers of other sizes are dropped; they would make memory grow.
        if (self.shape.words..=self.shape.words * 2).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }

    /// Sends `message`, of at most `shape.words` words, to rank `to`. Waits while too many messages are in flight. An
    /// empty message is not sent.
    ///
    /// # Errors
    /// An error once the exchange has failed; the error of `take` for a message to this rank itself; [`Error::Io`]
    /// for an invalid rank or a message that is too long.
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
        traffic::count(4 * message.len() as u64);
        if let Some(free) = (self.transport)(to, message)? {
            self.recycle(free);
        }
        Ok(())
    }
}

/// Runs the exchange of a process by itself, which takes the messages that it sends to itself.
pub(super) fn alone<T>(
    shape: Shape,
    work: impl FnOnce(&Outbox<'_>) -> Result<T>,
    take: Take<'_>,
) -> Result<(T, Exchanged)> {
    let started = std::time::Instant::now();
    let outbox = Outbox { shape, rank: 0, ranks: 1, take, spare: Mutex::default(), transport: &|_, _| Err(refused()) };
    let done = work(&outbox)?;
    Ok((done, Exchanged { seconds: started.elapsed().as_secs_f64(), ..Exchanged::default() }))
}
