//! Rounds: an exchange that is opened once and used thousands of times, for example by a search that goes level by
//! level. It also has reductions.
//!
//! A round is over on a rank when the rank has taken everything that any rank sent it in the round. Ranks are never
//! more than one round apart. A rank that waits for others polls for some 50 µs (3 ms if it is to stay awake), then
//! yields its core, then sleeps for up to a millisecond at a time. Without shared memory it polls only a few times,
//! because each poll is a call of MPI. A signal does not end a wait: the rank that notices the signal ends the job.

use super::mpi;
use super::reduction::Operation;
use crate::error::{Error, Result};
use crate::memory::{Number, bytes_of, bytes_of_mut};
use crate::process::traffic;
use std::marker::PhantomData;

/// Number of 64-bit words that ranks send each other in a short reduction.
pub(super) const LINE: usize = 7;
/// The values of one rank in a short reduction.
pub type Line = [u64; LINE];

/// Function that takes words. Its arguments are the rank that sent them, and the next of its words, in order.
pub(super) type TakeWords<'a, T> = &'a mut dyn FnMut(usize, &[T]) -> Result<()>;

/// The links of this rank to all other ranks. [`Comm::rounds`](super::Comm::rounds) opens them.
pub struct Rounds {
    rank: usize,
    ranks: usize,
    /// `None` for a process by itself.
    links: Option<mpi::Links>,
    /// Ranks that have not ended the current round towards this rank, and ranks towards which this rank has not ended
    /// it.
    open_from: Vec<usize>,
    open_to: Vec<usize>,
    /// True from the beginning of a round to its end, and forever if it fails.
    unfinished: bool,
}

impl Rounds {
    pub(super) fn among(rank: usize, ranks: usize, links: Option<mpi::Links>) -> Rounds {
        Rounds { rank, ranks, links, open_from: Vec::new(), open_to: Vec::new(), unfinished: false }
    }

    /// Makes every wait poll for some milliseconds before it yields the core, if each rank of the machine has a core.
    /// It is for ranks whose GPUs compute in the meantime: a rank that sleeps would wake too late to go on with the
    /// others.
    pub fn stay_awake(&mut self) {
        self.links.iter_mut().for_each(mpi::Links::stay_awake);
    }

    /// Begins a round of words of 4 or 8 bytes. If it is dropped before its end, the rounds have failed. Collective.
    ///
    /// # Errors
    /// [`Error::Io`] if an earlier round or reduction failed. The job must then be ended on all ranks.
    pub fn begin<T: Number>(&mut self) -> Result<Round<'_, T>> {
        self.begin_operation()?;
        // Each rank begins with another one, so that not all send to the same rank.
        let others = (1..self.ranks).map(|turn| (self.rank + turn) % self.ranks);
        self.open_to = others.collect();
        self.open_from.clone_from(&self.open_to);
        Ok(Round { rounds: self, kind: PhantomData })
    }

    /// Runs a round that sends `to[r]` to each rank `r`. Calls `take` with what arrives, like [`Round::send`].
    /// Collective.
    ///
    /// # Errors
    /// Errors of [`Self::begin`] and [`Round::send`]; [`Error::Io`] if `to` does not have one slice for each rank.
    pub fn exchange<T: Number>(&mut self, to: &[&[T]], mut take: impl FnMut(usize, &[T]) -> Result<()>) -> Result<()> {
        if to.len() != self.ranks {
            let why = format!("{} slices for {} ranks", to.len(), self.ranks);
            return Err(Error::internal("exchange words in a round", why));
        }
        let mut round = self.begin()?;
        round.rounds.take_own(&mut take, to[round.rounds.rank])?;
        round.flow(&mut to.to_vec(), &mut take)
    }

    /// Returns, on every rank, whether `flag` is true on any rank. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::all_reduce`].
    pub fn any(&mut self, flag: bool) -> Result<bool> {
        Ok(self.lines([u64::from(flag), 0, 0, 0, 0, 0, 0])?.iter().any(|line| line[0] != 0))
    }

    /// Returns, on every rank, whether `flag` is true on all ranks. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::all_reduce`].
    pub fn all(&mut self, flag: bool) -> Result<bool> {
        Ok(!self.any(!flag)?)
    }

    /// Returns the seven numbers that every rank passes, indexed by rank. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::all_reduce`].
    pub fn gather(&mut self, mine: Line) -> Result<Vec<Line>> {
        self.lines(mine)
    }

    /// Replaces each element by its combination over the ranks, in the order of ranks. All ranks pass the same number
    /// of elements. Collective.
    ///
    /// # Errors
    /// [`Error::Io`] if an earlier round or reduction failed. The job must then be ended on all ranks.
    pub fn all_reduce<T: Number, O: Operation<T>>(&mut self, how: O, values: &mut [T]) -> Result<()> {
        self.reduce(how, values, true)
    }

    /// Combines elements like [`Self::all_reduce`], but each rank gets only the results in `values[comm.share(len)]`;
    /// other elements are undefined afterwards. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::all_reduce`].
    pub fn reduce_scatter<T: Number, O: Operation<T>>(&mut self, how: O, values: &mut [T]) -> Result<()> {
        self.reduce(how, values, false)
    }

    fn reduce<T: Number, O: Operation<T>>(&mut self, how: O, values: &mut [T], everywhere: bool) -> Result<()> {
        if size_of_val(values) > size_of::<Line>() {
            self.begin_operation()?;
            if let Some(links) = &mut self.links {
                links.reduce(how, values, everywhere);
            }
            self.unfinished = false;
            return Ok(());
        }
        let mut mine = Line::default();
        let bytes = size_of_val(values);
        bytes_of_mut(&mut mine)[..bytes].copy_from_slice(bytes_of(values));
        for (rank, line) in self.lines(mine)?.iter().enumerate() {
            let theirs = crate::memory::numbers_of::<T>(&bytes_of(line)[..bytes]);
            let combine =
                |(value, theirs): (&mut T, T)| *value = if rank == 0 { theirs } else { how.combine(*value, theirs) };
            values.iter_mut().zip(theirs).for_each(combine);
        }
        Ok(())
    }

    fn lines(&mut self, mine: Line) -> Result<Vec<Line>> {
        self.begin_operation()?;
        let lines = match &mut self.links {
            None => vec![mine],
            Some(links) => links.gather_lines(mine),
        };
        self.unfinished = false;
        Ok(lines)
    }

    fn begin_operation(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.unfinished, true) {
            return Err(Error::internal("begin a round between ranks", "an earlier round or reduction failed"));
        }
        Ok(())
    }

    /// Pushes words into the link to rank `to`. Returns the number of words that the link took.
    fn push<T: Number>(&mut self, to: usize, words: &[T]) -> usize {
        let pushed = self.links.as_mut().map_or(words.len(), |links| links.push(to, words));
        if pushed > 0 {
            traffic::count((pushed * size_of::<T>()) as u64);
        }
        pushed
    }

    /// Passes the words that this rank sends to itself to `take`.
    fn take_own<T>(&self, take: TakeWords<'_, T>, words: &[T]) -> Result<()> {
        if words.is_empty() { Ok(()) } else { take(self.rank, words) }
    }

    /// Passes the words that have arrived to `take`. Returns true if there was progress.
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
            links.close(self.unfinished);
        }
    }
}

/// A round in progress. Its methods also take what arrives, so no order of sends can deadlock.
pub struct Round<'a, T> {
    rounds: &'a mut Rounds,
    kind: PhantomData<T>,
}

impl<T: Number> Round<'_, T> {
    /// Sends words to rank `to`, possibly this rank. While the link is full, it waits, and calls `take(from, words)`
    /// with what arrives: each rank's words in order, in pieces of any length. Sent words arrive by the end of the
    /// round at the latest.
    ///
    /// # Errors
    /// The error of `take`; [`Error::Io`] for an invalid rank. The round has then failed, and the job must be ended
    /// on all ranks.
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

    /// Ends the round. Returns once this rank has taken everything that any rank sent it.
    ///
    /// # Errors
    /// Errors of [`Self::send`].
    pub fn finish(mut self, mut take: impl FnMut(usize, &[T]) -> Result<()>) -> Result<()> {
        let nothing: &[T] = &[];
        let mut rest = vec![nothing; self.rounds.ranks];
        self.flow(&mut rest, &mut take)
    }

    /// Sends `rest` to all ranks in turns, and takes what arrives, until the round is over.
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
            if rounds.open_to.is_empty() && rounds.open_from.is_empty() && links.settled() {
                links.next_round();
                break;
            }
            links.wait_unless(moved);
        }
        rounds.unfinished = false;
        Ok(())
    }
}
