//! Rounds of messages between ranks, over links that are opened once and used thousands of times, for example in each
//! step of a search. Ranks can also all-gather a few numbers.
//!
//! In a round, every rank may send numbers of 4 or 8 bytes ("words") to every rank. The round ends on a rank when the
//! rank has received all words that any rank sent to it. Ranks are never more than one round apart. A rank that waits
//! for others polls for some 50 µs (3 ms after [`Rounds::poll_longer`]), then yields its core, then sleeps for up to a
//! millisecond at a time. Without shared memory it polls only a few times, because each poll is a call to MPI. A
//! signal does not end a wait: the rank that notices the signal ends the job.
#![allow(unsafe_code)] // a view of words as numbers

use super::link_slots::{Arrived, LinkSlots, RankNumbers};
use super::mpi::Ranks;
use super::round_backoff::RoundBackoff;
use super::shm::RingLinks;
use crate::error::{Error, Result};
use crate::memory::{Number, bytes_of};
use crate::process::traffic;
use std::marker::PhantomData;
use std::sync::Arc;

/// Minimum and maximum number of bytes that a link from one rank to another may have in flight. The maximum is due to
/// MPI, whose counts are 32-bit signed integers.
const LINK_BYTES: [usize; 2] = [256, 1 << 30];
/// Memory in bytes that MPI links between two ranks take in addition to the messages: for headers and requests.
const PEER_BYTES: u64 = 512;

/// Callback `take(from, words)` that receives words from rank `from`, in the order in which that rank sent them.
type TakeWords<'a, T> = &'a mut dyn FnMut(usize, &[T]) -> Result<()>;

/// Links of this rank to all other ranks: through shared memory if all ranks are on one machine, else through MPI.
struct RoundLinks {
    slots: Box<dyn LinkSlots>,
    /// For each rank, the number of bytes that the next message to that rank contains so far.
    filled: Vec<usize>,
    backoff: RoundBackoff,
}

impl RoundLinks {
    fn open(ranks: &Arc<Ranks>, link: usize) -> RoundLinks {
        let (link, place) = (link.clamp(LINK_BYTES[0], LINK_BYTES[1]), ranks.position());
        let (slots, backoff): (Box<dyn LinkSlots>, _) = match RingLinks::open(ranks, link) {
            Some(links) => (Box::new(links), RoundBackoff::in_memory(place.local_ranks)),
            None => (ranks.windows(link), RoundBackoff::for_messages(place.local_ranks)),
        };
        RoundLinks { slots, filled: vec![0; place.ranks], backoff }
    }

    /// Appends as many of `words` as fit to the current message to rank `to`, and sends the message if it is full.
    /// Returns the number of words appended.
    fn push<T: Number>(&mut self, to: usize, words: &[T]) -> usize {
        let (capacity, filled) = (self.slots.capacity(), &mut self.filled[to]);
        let count = ((capacity - *filled) / size_of::<T>()).min(words.len());
        if count == 0 || !self.slots.write(to, *filled, bytes_of(&words[..count])) {
            return 0;
        }
        *filled += count * size_of::<T>();
        if *filled + size_of::<T>() > capacity {
            self.slots.publish(to, std::mem::take(filled), false);
        }
        count
    }

    /// Sends this rank's last message of the round to rank `to`. Returns false if no slot (message buffer) is free.
    fn end(&mut self, to: usize) -> bool {
        let ended = self.slots.publish(to, self.filled[to], true);
        if ended {
            self.filled[to] = 0;
        }
        ended
    }

    /// Passes the words of the next message from rank `from`, if any has arrived, to `take`. Returns two flags:
    /// whether there was a message, and whether it was that rank's last message in this round.
    fn pull<T: Number>(&mut self, from: usize, take: TakeWords<'_, T>) -> Result<(bool, bool)> {
        let Some(Arrived { words, bytes, last }) = self.slots.arrived(from) else { return Ok((false, false)) };
        if bytes > size_of_val(words) || !bytes.is_multiple_of(size_of::<T>()) {
            let why = format!("rank {from} sent {bytes} bytes of words of another size");
            return Err(Error::internal("take words in a round", why));
        }
        if bytes > 0 {
            take(from, numbers_in(words, bytes))?;
        }
        self.slots.release(from);
        Ok((true, last))
    }

    /// Restarts the back-off of a waiting rank if there was progress (`moved`). Otherwise performs one step of the
    /// back-off.
    fn wait_unless(&mut self, moved: bool) {
        if moved {
            self.backoff.reset();
        } else {
            self.backoff.take();
        }
    }
}

/// Returns the first `bytes` bytes of `words` as a slice of numbers.
fn numbers_in<T: Number>(words: &[u64], bytes: usize) -> &[T] {
    let len = bytes.min(size_of_val(words)) / size_of::<T>();
    // SAFETY: `words` has at least this many bytes, at a multiple of 8; any bytes are valid numbers.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), len) }
}

/// Links of this rank to all other ranks, for many rounds of messages. [`Comm::rounds`](super::Comm::rounds) opens
/// them.
pub struct Rounds {
    rank: usize,
    ranks: usize,
    /// Links to the other ranks; `None` in a job of one rank.
    links: Option<RoundLinks>,
    /// Ranks whose last message of the current round has not arrived yet.
    open_from: Vec<usize>,
    /// Ranks to which this rank has not sent its last message of the current round yet.
    open_to: Vec<usize>,
    /// Whether a round of messages is in progress or has failed. It stays true after a failure.
    unfinished: bool,
}

impl Rounds {
    /// Opens links from rank `rank` to each other rank. Each link can have up to `link` bytes in flight.
    pub(super) fn open(rank: usize, ranks: usize, others: Option<&Arc<Ranks>>, link: usize) -> Rounds {
        let links = others.map(|ranks| RoundLinks::open(ranks, link));
        Rounds { rank, ranks, links, open_from: Vec::new(), open_to: Vec::new(), unfinished: false }
    }

    /// Returns the maximum memory, in bytes, of the links on one of `ranks` ranks on `nodes` machines, if each link may
    /// have `link` bytes in flight. On one machine, a rank's memory includes its links in both directions, because the
    /// kernel counts shared memory for each process that touches it.
    pub fn bytes(link: usize, ranks: usize, nodes: usize) -> u64 {
        let link = link.clamp(LINK_BYTES[0], LINK_BYTES[1]);
        match nodes {
            _ if ranks <= 1 => 0,
            1 => RingLinks::size(link).rank_bytes(ranks),
            _ => (ranks as u64 - 1) * (link as u64 + PEER_BYTES),
        }
    }

    /// Makes a waiting rank poll for some milliseconds before it yields its core, provided that each rank of the
    /// machine has a core. It is for ranks that wait while their GPUs compute: a sleeping rank would wake too late to
    /// keep up with the others.
    pub fn poll_longer(&mut self) {
        self.links.iter_mut().for_each(|links| links.backoff.poll_longer());
    }

    /// Begins a round in which ranks send numbers of type `T` (4 or 8 bytes). If the returned [`Round`] is dropped
    /// before it is finished, all later rounds fail. Collective.
    ///
    /// # Errors
    /// [`Error::Internal`] if an earlier round failed. The job must then be ended on all ranks.
    pub fn begin<T: Number>(&mut self) -> Result<Round<'_, T>> {
        self.begin_operation()?;
        // Each rank begins with a different peer, so that not all ranks send to the same rank at once.
        let others = (1..self.ranks).map(|turn| (self.rank + turn) % self.ranks);
        self.open_to = others.collect();
        self.open_from.clone_from(&self.open_to);
        Ok(Round { rounds: self, kind: PhantomData })
    }

    /// Runs a whole round, in which this rank sends the slice `to[r]` to each rank `r`. Calls `take(from, words)` for
    /// arriving words, like [`Round::send`]. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::begin`] and [`Round::send`]; [`Error::Internal`] if `to` does not have one slice for each
    /// rank.
    pub fn exchange<T: Number>(&mut self, to: &[&[T]], mut take: impl FnMut(usize, &[T]) -> Result<()>) -> Result<()> {
        if to.len() != self.ranks {
            let why = format!("{} slices for {} ranks", to.len(), self.ranks);
            return Err(Error::internal("exchange words in a round", why));
        }
        let mut round = self.begin()?;
        round.rounds.take_own(&mut take, to[round.rounds.rank])?;
        round.flow(&mut to.to_vec(), &mut take)
    }

    /// Logical or: returns, on every rank, whether `flag` is true on any rank. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::gather`].
    pub fn any(&mut self, flag: bool) -> Result<bool> {
        Ok(self.gather([u64::from(flag), 0, 0, 0, 0, 0, 0])?.iter().any(|line| line[0] != 0))
    }

    /// All-gathers seven numbers per rank. Returns the numbers of every rank, indexed by rank. Collective.
    ///
    /// # Errors
    /// [`Error::Internal`] if an earlier round failed. The job must then be ended on all ranks.
    pub fn gather(&mut self, mine: RankNumbers) -> Result<Vec<RankNumbers>> {
        self.begin_operation()?;
        let lines = match &mut self.links {
            None => vec![mine],
            Some(RoundLinks { slots, backoff, .. }) => {
                backoff.reset();
                slots.gather_numbers(mine, backoff)
            }
        };
        self.unfinished = false;
        Ok(lines)
    }

    fn begin_operation(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.unfinished, true) {
            return Err(Error::internal("begin a round between ranks", "an earlier round failed"));
        }
        Ok(())
    }

    /// Appends as many of `words` as fit to the current message to rank `to`. Returns the number of words appended.
    fn push<T: Number>(&mut self, to: usize, words: &[T]) -> usize {
        let pushed = self.links.as_mut().map_or(words.len(), |links| links.push(to, words));
        if pushed > 0 {
            traffic::count((pushed * size_of::<T>()) as u64);
        }
        pushed
    }

    /// Passes `words`, which this rank sends to itself, to `take`.
    fn take_own<T>(&self, take: TakeWords<'_, T>, words: &[T]) -> Result<()> {
        if words.is_empty() { Ok(()) } else { take(self.rank, words) }
    }

    /// Passes the words of all messages that have arrived to `take`. Returns true if any message had arrived.
    fn pull<T: Number>(&mut self, take: TakeWords<'_, T>) -> Result<bool> {
        let (mut moved, mut at) = (false, 0);
        while let (Some(links), Some(&from)) = (&mut self.links, self.open_from.get(at)) {
            let (some, ended) = links.pull(from, take)?;
            moved |= some;
            if ended {
                self.open_from.swap_remove(at);
            } else {
                at += 1;
            }
        }
        Ok(moved)
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        if let Some(links) = &mut self.links {
            links.slots.close(self.unfinished);
        }
    }
}

/// A round of messages in progress. Methods that send also receive, so no order of sends can deadlock.
pub struct Round<'a, T> {
    rounds: &'a mut Rounds,
    kind: PhantomData<T>,
}

impl<T: Number> Round<'_, T> {
    /// Sends words to rank `to`, which may be this rank. While the link is full, it waits and calls `take(from,
    /// words)` for arriving words. The words of each sender arrive in order, in slices of any length, by the end of
    /// the round at the latest.
    ///
    /// # Errors
    /// The error of `take`; [`Error::Internal`] for an invalid rank. The round has then failed, and the job must be
    /// ended on all ranks.
    pub fn send(&mut self, to: usize, mut words: &[T], mut take: impl FnMut(usize, &[T]) -> Result<()>) -> Result<()> {
        if to == self.rounds.rank {
            return self.rounds.take_own(&mut take, words);
        }
        if to >= self.rounds.ranks {
            return Err(Error::internal("send in a round", format!("rank {to} is not one of {}", self.rounds.ranks)));
        }
        while self.rounds.links.is_some() {
            let pushed = self.rounds.push(to, words);
            words = &words[pushed..];
            if words.is_empty() {
                break;
            }
            let moved = self.rounds.pull(&mut take)? || pushed > 0;
            if let Some(links) = &mut self.rounds.links {
                links.wait_unless(moved);
            }
        }
        Ok(())
    }

    /// Ends the round of messages. Calls `take(from, words)` for arriving words, and returns when this rank has
    /// received all words that any rank sent to it.
    ///
    /// # Errors
    /// Errors of [`Self::send`].
    pub fn finish(mut self, mut take: impl FnMut(usize, &[T]) -> Result<()>) -> Result<()> {
        let nothing: &[T] = &[];
        let mut rest = vec![nothing; self.rounds.ranks];
        self.flow(&mut rest, &mut take)
    }

    /// Sends the remaining words `rest[r]` to each rank `r`. Receives words until the round ends.
    fn flow(&mut self, rest: &mut [&[T]], take: TakeWords<'_, T>) -> Result<()> {
        let rounds = &mut *self.rounds;
        loop {
            let (mut moved, mut at) = (false, 0);
            while let Some(&to) = rounds.open_to.get(at) {
                let pushed = rounds.push(to, rest[to]);
                rest[to] = &rest[to][pushed..];
                moved |= pushed > 0;
                if rest[to].is_empty() && rounds.links.as_mut().is_none_or(|links| links.end(to)) {
                    moved = true;
                    rounds.open_to.swap_remove(at);
                } else {
                    at += 1;
                }
            }
            moved |= rounds.pull(take)?;
            let Some(links) = &mut rounds.links else { break };
            if rounds.open_to.is_empty() && rounds.open_from.is_empty() && links.slots.all_sent() {
                links.backoff.reset();
                break;
            }
            links.wait_unless(moved);
        }
        rounds.unfinished = false;
        Ok(())
    }
}
