//! The links of rounds: through shared memory if all ranks share some, else through messages.

mod message_links;
mod shm_links;
mod waiting;

use super::Ranks;
use super::shm_reduce::ShmReduce;
use crate::comm::reduction::Operation;
use crate::comm::round_shape::RoundShape;
use crate::comm::rounds::{Line, TakeWords};
use crate::error::{Error, Result};
use crate::memory::Number;
use message_links::MessageLinks;
use shm_links::ShmLinks;
use std::sync::Arc;
use waiting::Waiting;

/// The links between this rank and each other rank, and memory for reductions of arrays.
pub(in crate::comm) struct Links {
    waiting: Waiting,
    transport: Transport,
}

enum Transport {
    Shm(ShmLinks, ShmReduce),
    Messages(MessageLinks),
}

impl Links {
    /// Opens the links. Collective.
    pub(in crate::comm) fn open(ranks: &Arc<Ranks>, shape: RoundShape) -> Links {
        let local_ranks = ranks.place().local_ranks;
        let shared = ShmLinks::open(ranks, shape).and_then(|links| {
            let reduce = ShmReduce::with(ranks, shape.reduction_bytes() / 2)?;
            Some(Transport::Shm(links, reduce))
        });
        let transport = shared.unwrap_or_else(|| Transport::Messages(MessageLinks::open(ranks, shape)));
        let waiting = match transport {
            Transport::Shm(..) => Waiting::in_memory(local_ranks),
            Transport::Messages(_) => Waiting::for_messages(local_ranks),
        };
        Links { waiting, transport }
    }

    /// Makes waits poll for some milliseconds before they yield the core.
    pub(in crate::comm) fn stay_awake(&mut self) {
        self.waiting.stay_awake();
    }

    /// Writes words to rank `to`, as many as there is room for. Returns the number of words written.
    pub(in crate::comm) fn push<T: Number>(&mut self, to: usize, words: &[T]) -> usize {
        match &mut self.transport {
            Transport::Shm(links, _) => links.push(to, words),
            Transport::Messages(links) => links.push(to, words),
        }
    }

    /// Ends the round towards rank `to`. Returns false if there is no room yet for the message that ends it.
    pub(in crate::comm) fn end(&mut self, to: usize) -> bool {
        match &mut self.transport {
            Transport::Shm(links, _) => {
                links.end(to);
                true
            }
            Transport::Messages(links) => links.end(to),
        }
    }

    /// Passes the words that have arrived from rank `from` to `take`. Returns whether there was progress, and whether
    /// that rank has ended the round.
    pub(in crate::comm) fn pull<T: Number>(&mut self, from: usize, take: TakeWords<'_, T>) -> Result<(bool, bool)> {
        match &mut self.transport {
            Transport::Shm(links, _) => links.pull(from, take),
            Transport::Messages(links) => links.pull(from, take),
        }
    }

    /// Waits for a moment, unless there was progress.
    pub(in crate::comm) fn wait_unless(&mut self, moved: bool) {
        if moved {
            self.waiting.reset();
        } else {
            self.waiting.take();
        }
    }

    /// Returns true if the messages of this rank need no further calls of MPI. The rank may compute for a long time
    /// after the round, and make none.
    pub(in crate::comm) fn settled(&mut self) -> bool {
        match &mut self.transport {
            Transport::Shm(..) => true,
            Transport::Messages(links) => links.settled(),
        }
    }

    /// Begins the next round, after this round has ended in both directions with all ranks.
    pub(in crate::comm) fn next_round(&mut self) {
        self.waiting.reset();
        if let Transport::Shm(links, _) = &mut self.transport {
            links.next_round();
        }
    }

    /// Returns the values of every rank, indexed by rank. Collective.
    pub(in crate::comm) fn gather_lines(&mut self, mine: Line) -> Vec<Line> {
        let waiting = &mut self.waiting;
        waiting.reset();
        match &mut self.transport {
            Transport::Shm(links, _) => links.gather_lines(mine, waiting),
            Transport::Messages(links) => links.gather_lines(mine, waiting),
        }
    }

    /// Combines this rank's share of an array over the ranks; with `everywhere`, all ranks get all shares. Collective.
    pub(in crate::comm) fn reduce<T: Number, O: Operation<T>>(&mut self, how: O, values: &mut [T], everywhere: bool) {
        let waiting = &mut self.waiting;
        waiting.reset();
        match &mut self.transport {
            Transport::Shm(_, reduce) => {
                reduce.combine(how, values);
                if everywhere {
                    reduce.gather(values, |_| true);
                }
            }
            Transport::Messages(links) => links.reduce(how, values, everywhere, waiting),
        }
    }

    /// Closes the links. After a failure (`failed`) messages may still be in flight.
    pub(in crate::comm) fn close(&mut self, failed: bool) {
        if let Transport::Messages(links) = &mut self.transport {
            links.close(failed);
        }
    }
}

/// Returns the error for bytes that are not whole words, because the sender sent words of another size.
fn other_words(from: usize, bytes: usize) -> Error {
    let why = format!("rank {from} sent {bytes} bytes of words of another size");
    Error::internal("take words in a round", why)
}
