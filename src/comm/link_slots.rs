//! The trait of message transports for rounds: through shared memory or through MPI.

use super::waiting::Waiting;

/// Number of 64-bit words that each rank sends to all ranks in [`super::Rounds::gather`].
pub(super) const NUMBERS: usize = 7;
/// The numbers that one rank sends to all ranks in [`super::Rounds::gather`].
pub type RankNumbers = [u64; NUMBERS];

/// A message of a round that has arrived.
pub(super) struct Arrived<'a> {
    /// The words of a buffer that begins with the message.
    pub words: &'a [u64],
    /// Length of the message in bytes.
    pub bytes: usize,
    /// Whether the message ends the round of its sender.
    pub last: bool,
}

/// A transport for the messages of rounds. It has a few slots for messages from each rank to each other rank, and keeps
/// messages in order.
pub(super) trait LinkSlots: Send {
    /// Returns the maximum number of bytes in a message.
    fn room(&self) -> usize;

    /// Writes `bytes` to the next message to rank `to`, starting at byte `at` of the message. Returns false if no slot is
    /// free.
    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool;

    /// Sends the next message to rank `to`, which has `bytes` bytes. `last` says whether it ends the round. Returns false if
    /// no slot is free.
    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool;

    /// Returns the next message from rank `from`, if it has arrived. The caller must then call [`LinkSlots::release`].
    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>>;

    /// Frees the slot of the message that [`LinkSlots::arrived`] returned.
    fn release(&mut self, from: usize);

    /// Returns true if the messages of this rank leave without further calls to MPI. After a round the rank may compute for
    /// a long time without such calls.
    fn settled(&mut self) -> bool {
        true
    }

    /// Returns the numbers of every rank, indexed by rank. Collective.
    fn gather_numbers(&mut self, mine: RankNumbers, waiting: &mut Waiting) -> Vec<RankNumbers>;

    /// Closes the links. After a failure (`failed`) messages may still be in flight.
    fn close(&mut self, _failed: bool) {}
}
