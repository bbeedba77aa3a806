//! A trait for transports of messages between ranks, with one implementation for shared memory and one for MPI.

use crate::error::Result;

/// Callback `take(from, words)`, called once per message with the rank that sent the message and its 32-bit words.
pub(super) type TakeMessage<'a> = &'a (dyn Fn(usize, &[u32]) -> Result<()> + Sync);

/// Result of [`Carrier::take`].
pub(super) enum Delivery {
    /// A message was passed to the callback. The value is its number of words.
    Message(usize),
    /// No message has arrived yet.
    Nothing,
    /// All messages have been delivered; no more will arrive.
    Over,
}

/// Sends and receives the messages of an exchange. Any thread may call the methods.
pub(super) trait Carrier: Sync {
    /// Starts to send a message to another rank. Returns `Ok` with a buffer for reuse or, if the message can't be sent
    /// yet, `Err` with the message itself.
    fn send(&self, to: usize, message: Vec<u32>) -> Result<Vec<u32>, Vec<u32>>;

    /// Declares that this rank sends no more messages in the exchange. It must be called exactly once.
    fn end(&self);

    /// Passes one arrived message, if any, to the callback `take`. Never waits for a message.
    fn take(&self, take: TakeMessage<'_>) -> Result<Delivery>;
}
