//! Transport of the messages of [`super::Rounds`]: a trait that links through shared memory and links through MPI
//! implement.

use super::round_backoff::RoundBackoff;

/// Number of 64-bit words that each rank sends to all ranks in [`super::Rounds::gather`].
pub(super) const NUMBERS: usize = 7;
/// Numbers that each rank sends to all ranks in [`super::Rounds::gather`].
pub type RankNumbers = [u64; NUMBERS];

/// A message that has arrived in a round.
pub(super) struct Arrived<'a> {
    /// Buffer of 64-bit words. The message is its first `bytes` bytes.
    pub words: &'a [u64],
    /// Length of the message in bytes.
    pub bytes: usize,
    /// Whether the message is the last one of its sender in this round.
    pub last: bool,
}

/// Sends and receives the messages of rounds, in order. Each ordered pair of ranks has a few slots. A slot is a buffer
/// for one message.
pub(super) trait LinkSlots: Send {
    /// Returns the maximum number of bytes in a message.
    fn capacity(&self) -> usize;

    /// Writes `bytes` at byte offset `at` of the next message to rank `to`. Returns false if no slot is free for the
    /// message.
    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool;

    /// Sends the next message, of `bytes` bytes, to rank `to`. `last` is true for the last message of the round.
    /// Returns false if no slot is free.
    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool;

    /// Returns the next message from rank `from`; `None` if it has not arrived. After processing a message, the caller
    /// must call [`LinkSlots::release`].
    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>>;

    /// Frees the slot of the message that [`LinkSlots::arrived`] returned.
    fn release(&mut self, from: usize);

    /// Returns true if all messages of this rank have been sent, or will be sent without further calls to MPI. A round
    /// ends only then, because the rank may compute for a long time before its next call to MPI.
    fn all_sent(&mut self) -> bool {
        true
    }

    /// Sends `mine` to all ranks, and returns the numbers of every rank, indexed by rank. Collective.
    fn gather_numbers(&mut self, mine: RankNumbers, backoff: &mut RoundBackoff) -> Vec<RankNumbers>;

    /// Closes the links. After a failure (`failed`) messages may still be in flight.
    fn close(&mut self, _failed: bool) {}
}
