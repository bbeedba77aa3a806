//! Trait for links that send and receive the messages of [`super::Rounds`], through shared memory or through MPI.

use super::round_backoff::RoundBackoff;

/// Number of 64-bit words that each rank sends to all ranks in [`super::Rounds::gather`].
pub(super) const NUMBERS: usize = 7;
/// The numbers that each rank sends to all ranks in [`super::Rounds::gather`].
pub type RankNumbers = [u64; NUMBERS];

/// A message of a round that has arrived.
pub(super) struct Arrived<'a> {
    /// A buffer of words. The message is at its beginning and may be shorter.
    pub words: &'a [u64],
    /// Length of the message in bytes.
    pub bytes: usize,
    /// Whether the message is the last one of its sender in this round.
    pub last: bool,
}

/// Sends and receives the messages of rounds, in order. From each rank to each other rank there are a few slots, which
/// are buffers for one message each.
pub(super) trait LinkSlots: Send {
    /// Returns the maximum number of bytes in a message.
    fn capacity(&self) -> usize;

    /// Writes `bytes` into the next message to rank `to`, from byte `at` of the message on. Returns false if no slot is
    /// free for the message.
    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool;

    /// Sends the next message to rank `to`. It has `bytes` bytes, and `last` says whether it ends the round. Returns
    /// false if no slot is free.
    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool;

    /// Returns the next message from rank `from`, if it has arrived. The caller must then call [`LinkSlots::release`].
    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>>;

    /// Frees the slot of the message that [`LinkSlots::arrived`] returned.
    fn release(&mut self, from: usize);

    /// Returns true once all messages of this rank are sent without further calls to MPI. A round ends only then,
    /// because the rank may compute for a long time afterwards.
    fn all_sent(&mut self) -> bool {
        true
    }

    /// Returns the numbers of every rank, indexed by rank. Collective.
    fn gather_numbers(&mut self, mine: RankNumbers, backoff: &mut RoundBackoff) -> Vec<RankNumbers>;

    /// Closes the links. After a failure (`failed`) messages may still be in flight.
    fn close(&mut self, _failed: bool) {}
}
