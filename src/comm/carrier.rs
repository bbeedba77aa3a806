//! The trait of message transports for an exchange: through shared memory or through MPI.

use crate::error::Result;

/// Function that takes a message. Its arguments are the rank that sent the message, and the words.
pub(super) type TakeMessage<'a> = &'a (dyn Fn(usize, &[u32]) -> Result<()> + Sync);

/// Result of [`Carrier::take`].
pub(super) enum Delivery {
    /// The call took a message with this number of words.
    Message(usize),
    /// No message has arrived.
    Nothing,
    /// No message will arrive any more.
    Over,
}

/// A transport for the messages of an exchange. Any thread may call its methods.
pub(super) trait Carrier: Sync {
    /// Starts to send a message to another rank. Returns a free buffer or, if there is no room, the message itself.
    fn send(&self, to: usize, message: Vec<u32>) -> Result<Vec<u32>, Vec<u32>>;

    /// Declares that this rank sends no more messages. Called once.
    fn end(&self);

    /// Passes a message that has arrived to `take`. Never waits for a message.
    fn take(&self, take: TakeMessage<'_>) -> Result<Delivery>;
}
