//! A trait for the links that transport the messages of [`super::Rounds`] between ranks. Links through shared memory
//! and links through MPI implement it.

use super::round_backoff::RoundBackoff;

/// Number of 64-bit words that each rank sends to all ranks in [`super::Rounds::gather`].
pub(super) const NUMBERS: usize = 7;
/// Numbers that each rank sends to all ranks in [`super::Rounds::gather`]. The caller defines their meaning.
pub type RankNumbers = [u64; NUMBERS];

/// A message that has arrived from another rank in a round of messages.
pub(super) struct Arrived<'a> {
    /// Buffer of 64-bit words. The message is in its first `bytes` bytes.
    pub words: &'a [u64],
    /// Length of the message in bytes.
    pub bytes: usize,
    /// Whether the message is the last one of its sender in this round.
    pub last: bool,
}

/// Sends and receives the messages of rounds, in order. For each ordered pair of ranks there are a few slots: buffers
/// for one message each.
pub(super) trait LinkSlots: Send {
    /// Returns the maximum number of bytes in a message.
    fn capacity(&self) -> usize;

    /// Writes `bytes` at byte offset `at` of the next message to rank `to`. Returns false if no slot (message buffer)
    /// is free.
    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool;

    /// Sends the next message, whose length is `bytes` bytes, to rank `to`. `last` is true for the last message of the
    /// round. Returns false if no slot (message buffer) is free.
    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool;

    /// Returns the next message from rank `from`; `None` if it has not arrived. After processing a message, the caller
    /// must call [`LinkSlots::release`].
    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>>;

    /// Frees the slot (buffer) of the message that [`LinkSlots::arrived`] returned.
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
