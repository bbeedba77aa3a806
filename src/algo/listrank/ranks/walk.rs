//! Walks the sublists of a list across MPI processes. A walker is a message that follows a sublist. It is sent to the
//! process that owns the next element of the sublist.
//!
//! Each process starts walkers at its rulers (the elements at which sublists begin), and forwards incoming walkers. A
//! process has many walkers at a time, so it seldom waits for memory or messages. A walker overwrites the successor of
//! each element that it visits with the index of the sublist, the offset of the element, and a bit that marks the
//! element as visited. The walk is complete when all walkers have ended. A process without walkers reports to MPI rank
//! 0 how many have ended on it.

use super::part::ListShare;
use super::{RankFault, WORDS, lock, shape};
use crate::algo::listrank::cpu::Rulers;
use crate::algo::listrank::index::Index;
use crate::algo::team::team;
use crate::comm::{Comm, Outbox};
use crate::error::Result;
use crate::memory::prefetch;
use crate::process::backoff::Backoff;
use crate::process::signals;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Maximum number of walkers (messages that follow sublists) that a thread forwards in one round.
const MAX_BATCH: usize = 1 << 14;
/// Prefetch distance: how many walkers (messages that follow sublists) ahead of the current one an element is
/// prefetched.
const PREFETCH_DISTANCE: usize = 24;

/// A sublist that was walked to its end: its index (`number`), the index of the next sublist ([`Index::END`] for the
/// last), and its number of elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sublist<I> {
    pub number: I,
    pub next: I,
    pub elements: I,
}

/// A message that follows a sublist. It contains the element to visit next, the index of the sublist and the offset of
/// the element in it. `tag` consists of the index and the offset.
#[derive(Debug, Clone, Copy)]
struct Walker {
    at: u64,
    tag: u64,
}

impl Walker {
    /// Appends the walker to a message.
    #[inline(always)]
    fn put<I: Index>(self, message: &mut Vec<u32>) {
        let Walker { at, tag } = self;
        for number in [at, tag] {
            message.push(number as u32);
            if I::BITS > 32 {
                message.push((number >> 32) as u32);
            }
        }
    }

    /// Decodes a walker from the 32-bit words of a message.
    #[inline(always)]
    fn get(words: &[u32]) -> Walker {
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        match *words {
            [at, tag] => Walker { at: at.into(), tag: tag.into() },
            [at, above, tag, above_tag] => Walker { at: wide(at, above), tag: wide(tag, above_tag) },
            _ => Walker { at: 0, tag: 0 },
        }
    }
}

/// State of one process while all processes walk the sublists of a list.
pub struct RankWalk<'a, I: Index> {
    comm: &'a Comm,
    part: &'a ListShare,
    cells: &'a [I::Cell],
    rulers: Rulers,
    shift: u32,
    /// Index of the next block of elements whose ruler this process looks for.
    next_block: AtomicUsize,
    /// End of the range of blocks whose rulers this process looks for.
    blocks: usize,
    /// Number of times that this process has split a sublist because it was too long.
    fresh: AtomicU64,
    inbox: Mutex<Vec<Vec<u32>>>,
    sublists: Mutex<Vec<Sublist<I>>>,
    /// Number of walkers that all processes start in total.
    walkers: u64,
    /// Number of walkers that ended on this process.
    ended: AtomicU64,
    failure: Mutex<Option<RankFault>>,
    over: AtomicBool,
}

/// Returns the bit that marks the cell of an element as visited.
fn visited<I: Index>() -> u64 {
    1 << (I::BITS - 1)
}

impl<'a, I: Index> RankWalk<'a, I> {
    /// Prepares the walk over a list of which this process owns the share `part`, whose successors are in `cells`.
    /// Sublists begin at the head and at one ruler in each 2^`shift` elements.
    pub fn new(comm: &'a Comm, part: &'a ListShare, cells: &'a [I::Cell], shift: u32) -> RankWalk<'a, I> {
        let rulers = Rulers::new(part.length as usize, shift);
        let elements = part.elements();
        // A block may be divided between two shares. The process that owns the ruler of the block starts its walker.
        let blocks = rulers.block(elements.start as usize)..(elements.end as usize).div_ceil(1 << shift);
        RankWalk {
            comm,
            part,
            cells,
            rulers,
            shift,
            next_block: AtomicUsize::new(blocks.start),
            blocks: if elements.is_empty() { blocks.start } else { blocks.end },
            fresh: AtomicU64::new(0),
            inbox: Mutex::default(),
            sublists: Mutex::default(),
            walkers: rulers.count() + u64::from(!rulers.contains(part.head as usize)),
            ended: AtomicU64::new(0),
            failure: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Returns the index of the sublist that begins at the head.
    pub fn head_sublist(&self) -> I {
        I::of(self.rulers.sublist(I::of(self.part.head)) as u64)
    }

    /// Walks all sublists with `threads` threads on this process. Returns the sublists that ended on this process, or
    /// the reason why the list can't be ranked. Collective.
    ///
    /// # Errors
    /// Communication errors; [`crate::Error::Stopped`].
    pub fn run(self, threads: usize) -> Result<std::result::Result<Vec<Sublist<I>>, RankFault>> {
        let work = |outbox: &Outbox<'_>| {
            team(threads, &|number| {
                let outcome = self.work(outbox, number == 0);
                // When a thread returns, with or without an error, the other threads must end.
                self.over.store(true, Relaxed);
                outcome
            })
        };
        let take = |_, words: &[u32]| {
            lock(&self.inbox).push(words.to_vec());
            Ok(())
        };
        self.comm.exchange(shape(self.comm.ranks()), work, take)?;
        let failure = lock(&self.failure).take();
        let sublists = std::mem::take(&mut *lock(&self.sublists));
        Ok(failure.map_or(Ok(sublists), Err))
    }

    /// Forwards walkers until all walkers of all processes have ended. Only the thread with `speaks` = true, one per
    /// process, communicates with other processes to find out whether that is the case.
    fn work(&self, outbox: &Outbox<'_>, speaks: bool) -> Result<()> {
        let mut team = Walkers::new(self, outbox);
        let (mut detector, mut backoff) = (TerminationDetector::new(self.comm), Backoff::default());
        if speaks {
            team.start_head();
        }
        while !self.over.load(Relaxed) {
            team.start();
            if team.forward()? {
                backoff.reset();
                continue;
            }
            if speaks && detector.is_terminated(self) {
                return Ok(());
            }
            backoff.take();
        }
        Ok(())
    }

    /// Returns an unused index for the rest of a sublist that is split. Each process takes every n-th index, where n is
    /// the number of processes, so that no two processes use the same one.
    fn number(&self) -> u64 {
        let (rank, ranks) = (self.comm.rank() as u64, self.comm.ranks() as u64);
        self.rulers.blocks() as u64 + 1 + self.fresh.fetch_add(1, Relaxed) * ranks + rank
    }

    fn fail(&self, failure: RankFault) {
        lock(&self.failure).get_or_insert(failure);
    }
}

/// The walkers of one thread, encoded as 32-bit words of messages.
struct Walkers<'w, 'a, I: Index> {
    walk: &'w RankWalk<'a, I>,
    outbox: &'w Outbox<'w>,
    /// Walkers whose next element this process owns.
    here: Vec<u32>,
    /// An empty buffer that is swapped with `here`.
    spare: Vec<u32>,
    /// Number of 32-bit words in the messages that this thread took in the last round.
    came: usize,
    leaving: Vec<Vec<u32>>,
    sublists: Vec<Sublist<I>>,
}

/// Returns the number of 32-bit words of an index. A walker consists of two such numbers.
const fn words<I: Index>() -> usize {
    if I::BITS > 32 { 2 } else { 1 }
}

impl<'w, 'a, I: Index> Walkers<'w, 'a, I> {
    fn new(walk: &'w RankWalk<'a, I>, outbox: &'w Outbox<'w>) -> Self {
        let leaving = (0..walk.comm.ranks()).map(|_| Vec::new()).collect();
        Walkers { walk, outbox, here: Vec::new(), spare: Vec::new(), came: 0, leaving, sublists: Vec::new() }
    }

    /// Starts walkers until the thread has `MAX_BATCH` walkers or no rulers are left.
    fn start(&mut self) {
        const BLOCKS: usize = 256;
        let walk = self.walk;
        let elements = walk.part.elements();
        while self.here.len() + self.came < MAX_BATCH * 2 * words::<I>() {
            let from = walk.next_block.fetch_add(BLOCKS, Relaxed);
            if from >= walk.blocks {
                return;
            }
            for block in from..(from + BLOCKS).min(walk.blocks) {
                if let Some(ruler) = walk.rulers.of_block(block).filter(|&ruler| elements.contains(&(ruler as u64))) {
                    Walker { at: ruler as u64, tag: (block as u64) << walk.shift }.put::<I>(&mut self.here);
                }
            }
        }
    }

    /// Starts a walker at the head if this process owns the head and the head is not a ruler.
    fn start_head(&mut self) {
        let (walk, head) = (self.walk, self.walk.part.head);
        if walk.part.elements().contains(&head) && !walk.rulers.contains(head as usize) {
            let tag = (walk.rulers.blocks() as u64) << walk.shift;
            Walker { at: head, tag }.put::<I>(&mut self.here);
        }
    }

    /// Moves every walker of this thread and every walker in messages that have arrived by one element. Sends the
    /// walkers whose next elements other processes own. Returns false if there were no walkers.
    fn forward(&mut self) -> Result<bool> {
        signals::check()?;
        let batch = std::mem::replace(&mut self.here, std::mem::take(&mut self.spare));
        let mut ended = self.visit_all(&batch)?;
        self.came = 0;
        while let Some(message) = { lock(&self.walk.inbox).pop() } {
            self.came += message.len();
            ended += self.visit_all(&message)?;
        }
        if !self.sublists.is_empty() {
            lock(&self.walk.sublists).append(&mut self.sublists);
        }
        for to in 0..self.leaving.len() {
            if !self.leaving[to].is_empty() {
                self.send(to)?;
            }
        }
        // Walkers are counted as ended only after everything that they wrote is stored.
        self.walk.ended.fetch_add(ended, Relaxed);
        let some = self.came > 0 || !batch.is_empty();
        self.spare = batch;
        self.spare.clear();
        Ok(some)
    }

    /// Moves each walker in `batch` by one element. Returns how many walkers ended.
    fn visit_all(&mut self, batch: &[u32]) -> Result<u64> {
        let (part, cells) = (*self.walk.part, self.walk.cells);
        let step = 2 * words::<I>();
        let expect = |walker: &[u32]| prefetch(cells, (Walker::get(walker).at - part.first) as usize);
        batch.chunks_exact(step).take(PREFETCH_DISTANCE).for_each(expect);
        let mut ended = 0;
        for (i, walker) in batch.chunks_exact(step).enumerate() {
            if let Some(ahead) = batch.get((i + PREFETCH_DISTANCE) * step..(i + PREFETCH_DISTANCE + 1) * step) {
                expect(ahead);
            }
            ended += u64::from(self.visit(Walker::get(walker))?);
        }
        Ok(ended)
    }

    /// Visits the element at which the walker is. Returns true if the walker ended there.
    #[inline(always)]
    fn visit(&mut self, Walker { at, tag }: Walker) -> Result<bool> {
        let walk = self.walk;
        let cell = &walk.cells[(at - walk.part.first) as usize];
        let successor = I::get(cell);
        if successor != I::END && successor.wide() & visited::<I>() != 0 {
            walk.fail(RankFault::List);
            return Ok(true);
        }
        I::set(cell, I::of(tag | visited::<I>()));
        let (number, elements) = (tag >> walk.shift, (tag & ((1 << walk.shift) - 1)) + 1);
        let is_last = successor == I::END;
        if is_last || walk.rulers.contains(successor.at()) {
            let next = if is_last { I::END } else { I::of(walk.rulers.block(successor.at()) as u64) };
            self.sublists.push(Sublist { number: I::of(number), next, elements: I::of(elements) });
            return Ok(true);
        }
        let mut tag = tag + 1;
        if elements == 1 << walk.shift {
            let fresh = walk.number();
            self.sublists.push(Sublist { number: I::of(number), next: I::of(fresh), elements: I::of(elements) });
            if fresh >= (visited::<I>() >> walk.shift) - 1 {
                walk.fail(RankFault::Numbers);
                return Ok(true);
            }
            tag = fresh << walk.shift;
        }
        let walker = Walker { at: successor.wide(), tag };
        if walk.part.holds(walker.at) {
            walker.put::<I>(&mut self.here);
            return Ok(false);
        }
        let to = walk.part.owner(walker.at);
        walker.put::<I>(&mut self.leaving[to]);
        if self.leaving[to].len() + 4 > WORDS {
            self.send(to)?;
        }
        Ok(false)
    }

    fn send(&mut self, to: usize) -> Result<()> {
        let message = std::mem::replace(&mut self.leaving[to], self.outbox.buffer());
        self.outbox.send(to, message)
    }
}

/// Detects when the walkers of all processes have ended.
struct TerminationDetector {
    /// For each process, the number of walkers that ended on it, according to its last report. Only MPI rank 0 uses
    /// this.
    reported: Vec<u64>,
    /// Number of ended walkers that this process has reported last.
    last: u64,
}

impl TerminationDetector {
    fn new(comm: &Comm) -> TerminationDetector {
        let reported = if comm.is_leader() { vec![0; comm.ranks()] } else { Vec::new() };
        TerminationDetector { reported, last: 0 }
    }

    /// Returns true once the walkers of all processes have ended. It must be called only when this process has no
    /// walkers.
    fn is_terminated<I: Index>(&mut self, walk: &RankWalk<'_, I>) -> bool {
        let (comm, ended) = (walk.comm, walk.ended.load(Relaxed));
        if !comm.is_leader() {
            if ended != self.last {
                self.last = ended;
                comm.send(0, &ended.to_le_bytes());
            }
            return comm.receive().is_some();
        }
        self.reported[0] = ended;
        while let Some((from, words)) = comm.receive() {
            self.reported[from] = words.try_into().map_or(0, u64::from_le_bytes);
        }
        let is_over = self.reported.iter().sum::<u64>() == walk.walkers;
        if is_over {
            (1..comm.ranks()).for_each(|rank| comm.send(rank, b"over"));
        }
        is_over
    }
}
