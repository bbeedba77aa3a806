//! What carries the messages of rounds, through shared memory or through MPI.

use super::waiting::Waiting;

/// Number of 64-bit words that each rank gives to all in [`super::Rounds::gather`].
pub(super) const NUMBERS: usize = 7;
/// The numbers of one rank in [`super::Rounds::gather`].
pub type RankNumbers = [u64; NUMBERS];

/// A message of a link that has arrived.
pub(super) struct Arrived<'a> {
    /// Words that begin with the message.
    pub words: &'a [u64],
    /// Length of the message in bytes.
    pub bytes: usize,
    /// Whether the message ends the round of its sender.
    pub last: bool,
}

/// Carries the messages of rounds: a few slots for messages from each rank to each other rank, in order.
pub(super) trait LinkSlots: Send {
    /// Returns the number of bytes that a message has room for.
    fn room(&self) -> usize;

    /// Writes bytes to the next message to rank `to`, from byte `at` on. Returns false if no slot is free.
    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool;

    /// Sends the next message to rank `to`, which has `bytes` bytes. Returns false if no slot is free.
    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool;

    /// Returns the next message of rank `from`, if it has arrived. [`LinkSlots::release`] must follow.
    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>>;

    /// Frees the slot of the message that [`LinkSlots::arrived`] returned.
    fn release(&mut self, from: usize);

    /// Returns true if the messages of this rank need no further calls of MPI. The rank may compute for a long time
    /// after the round, and make none.
    fn settled(&mut self) -> bool {
        true
    }

    /// Returns the numbers of every rank, indexed by rank. Collective.
    fn gather_numbers(&mut self, mine: RankNumbers, waiting: &mut Waiting) -> Vec<RankNumbers>;

    /// Closes the links. After a failure (`failed`) messages may still be in flight.
    fn close(&mut self, _failed: bool) {}
}
