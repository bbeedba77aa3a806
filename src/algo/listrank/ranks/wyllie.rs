//! Pointer jumping by several MPI processes, without improvements over the published method. In each round every
//! element sends a request to its target, which replies with its own target and distance.

use super::part::ListShare;
use super::{RankFault, WORDS, lock, shape};
use crate::algo::listrank::cpu::Context;
use crate::algo::listrank::index::Index;
use crate::comm::{Comm, Outbox};
use crate::error::Result;
use crate::memory::Buffer;
use parking_lot::Mutex;

/// For each element that a process owns, its target and the distance to it.
struct Pointers<I: Index> {
    next: Buffer<I>,
    distance: Buffer<I>,
}

/// Ranks a list of which this process owns `part`. Replaces the successors in `cells` by ranks. If the list can't be
/// ranked, returns the reason. Collective.
///
/// # Source
/// J. C. Wyllie, "The complexity of parallel computations", 1979. Each round consists of two exchanges: requests, then
/// replies.
///
/// # Errors
/// [`crate::Error::Limit`], errors of communication; [`crate::Error::Stopped`].
pub fn wyllie<I: Index>(
    comm: &Comm,
    part: &ListShare,
    cells: &mut [I],
    context: &Context<'_>,
) -> Result<Option<RankFault>> {
    let budget = context.budget;
    if part.length == 0 {
        return Ok(None);
    }
    if part.tails != 1 || part.head >= part.length {
        return Ok(Some(RankFault::List));
    }
    let mut old =
        Pointers { next: budget.zeroed(cells.len(), "pointers")?, distance: budget.zeroed(cells.len(), "distances")? };
    for ((next, distance), &cell) in old.next.iter_mut().zip(old.distance.iter_mut()).zip(&*cells) {
        (*next, *distance) = (cell, I::of(u64::from(cell != I::END)));
    }
    let rounds = u64::BITS - (part.length - 1).leading_zeros();
    let _questions = budget.reserve(ASKED * cells.len() as u64, "questions of other ranks, and answers")?;
    for _ in 0..rounds {
        (context.check_cancelled)()?;
        context.rounds.time("jump", part.length, || jump(comm, part, &mut old))?;
    }
    // The pointers of elements on cycles never reach the end.
    if comm.any(old.next.iter().any(|&next| next != I::END)) {
        return Ok(Some(RankFault::List));
    }
    cells.copy_from_slice(&old.distance);
    Ok(None)
}

/// Memory in bytes per element for the messages of a round, which are a request and a reply.
const ASKED: u64 = 40;

/// Returns the memory in bytes that an MPI process with a share of `share` elements takes for pointers, distances and
/// messages. An index has `width` bytes.
pub fn memory(share: u64, width: u64) -> u64 {
    (2 * width + ASKED) * share
}

/// Runs one round of pointer jumping: each element gets the target of its target, and the distance to it.
fn jump<I: Index>(comm: &Comm, part: &ListShare, pointers: &mut Pointers<I>) -> Result<()> {
    let first = part.first;
    let questions: Mutex<Vec<[u64; 2]>> = Mutex::default();
    let ask = |outbox: &Outbox<'_>| {
        let mut outgoing = OutgoingMessages::new(comm, outbox);
        for (element, &next) in (first..).zip(pointers.next.iter()) {
            if next != I::END {
                outgoing.push(part.owner(next.wide()), &[next.wide(), element])?;
            }
        }
        outgoing.end()
    };
    let take = |_, words: &[u32]| {
        lock(&questions).extend(words.chunks_exact(4).map(|question| [wide(&question[..2]), wide(&question[2..])]));
        Ok(())
    };
    comm.exchange(shape(comm.ranks()), ask, take)?;
    let questions = questions.into_inner();
    let answers: Mutex<Vec<[u64; 3]>> = Mutex::default();
    let answer = |outbox: &Outbox<'_>| {
        let mut outgoing = OutgoingMessages::new(comm, outbox);
        for [target, asker] in questions {
            let at = (target - first) as usize;
            outgoing.push(part.owner(asker), &[asker, pointers.next[at].wide(), pointers.distance[at].wide()])?;
        }
        outgoing.end()
    };
    let take = |_, words: &[u32]| {
        let answer = |words: &[u32]| [wide(&words[..2]), wide(&words[2..4]), wide(&words[4..])];
        lock(&answers).extend(words.chunks_exact(6).map(answer));
        Ok(())
    };
    comm.exchange(shape(comm.ranks()), answer, take)?;
    for [element, next, distance] in answers.into_inner() {
        let at = (element - first) as usize;
        pointers.next[at] = I::of(next);
        pointers.distance[at] = I::of(pointers.distance[at].wide().wrapping_add(distance));
    }
    Ok(())
}

fn wide(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// Messages that are not full yet, one per destination process.
struct OutgoingMessages<'o> {
    outbox: &'o Outbox<'o>,
    messages: Vec<Vec<u32>>,
}

impl<'o> OutgoingMessages<'o> {
    fn new(comm: &Comm, outbox: &'o Outbox<'o>) -> OutgoingMessages<'o> {
        OutgoingMessages { outbox, messages: (0..comm.ranks()).map(|_| outbox.buffer()).collect() }
    }

    fn push(&mut self, to: usize, numbers: &[u64]) -> Result<()> {
        let message = &mut self.messages[to];
        message.extend(numbers.iter().flat_map(|&number| [number as u32, (number >> 32) as u32]));
        if message.len() + 6 > WORDS {
            let full = std::mem::replace(message, self.outbox.buffer());
            return self.outbox.send(to, full);
        }
        Ok(())
    }

    fn end(self) -> Result<()> {
        self.messages.into_iter().enumerate().try_for_each(|(to, message)| self.outbox.send(to, message))
    }
}
