//! Trait for sending the messages of an exchange, either through shared memory or through MPI.

use crate::error::Result;

/// Callback that receives a message: the rank that sent it, and its words.
pub(super) type TakeMessage<'a> = &'a (dyn Fn(usize, &[u32]) -> Result<()> + Sync);

/// Result of [`Carrier::take`], which looks for a message.
pub(super) enum Delivery {
    /// A message with this number of words was passed to the callback.
    Message(usize),
    /// No message has arrived.
    Nothing,
    /// All messages have arrived; no more will come.
    Over,
}

/// Sends and receives the messages of an exchange. Any thread may call its methods.
pub(super) trait Carrier: Sync {
    /// Starts to send a message to another rank. Returns an empty buffer for reuse or, if there is no room, the message
    /// itself.
    fn send(&self, to: usize, message: Vec<u32>) -> Result<Vec<u32>, Vec<u32>>;

    /// Declares that this rank sends no more messages. It is called once.
    fn end(&self);

    /// Passes a message that has arrived, if there is one, to `take`. It never waits for a message.
    fn take(&self, take: TakeMessage<'_>) -> Result<Delivery>;
}
