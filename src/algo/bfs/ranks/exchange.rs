//! Messages between the ranks in a search. A rank that reaches another rank's vertex sends a claim to the owner of the
//! vertex. After each step, every rank sends the vertices that it reached to all other ranks.
//!
//! Messages consist of 64-bit words. A claim is a vertex and its proposed parent. A message about reached vertices
//! starts with a format code and the counts of the sending rank. They are followed by a list of vertices, two per word,
//! or by a bitmap of the vertices that the rank owns, whichever is shorter.

use crate::algo::bfs::cpu::frontier::NARROW;
use crate::algo::bfs::cpu::graph::CpuGraph;
use crate::algo::bfs::cpu::top_down::{Parents, StepCounts};
use crate::algo::bfs::search::{NONE, RankTraffic};
use crate::algo::bits::{is_set, ones, set_alone};
use crate::algo::searches::ranks::{RankExchange, VertexOwnership, misplaced};
use crate::comm::{Comm, Round};
use crate::error::Result;
use crate::graph::direction::EdgeDirection;
use crate::memory::{Budget, Buffer, prefetch};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Format code of a message that lists the reached vertices.
const LIST: u64 = 0;
/// Format code of a message that contains the reached vertices as a bitmap.
const BITS: u64 = 1;
/// Number of words before the vertices in a message about reached vertices: the format code and four counts.
const HEADER: usize = 5;
/// Prefetch distance, in claims of a message.
const PREFETCH_DISTANCE: usize = 16;
/// Number of claims that are collected for a rank before they are sent to it.
const PIECE: usize = 1 << 8;

/// Exchange of claims and of reached vertices between this rank and the other ranks. A claim is a vertex and its
/// proposed parent.
pub struct ClaimExchange {
    /// Links to the other ranks.
    pub ranks: RankExchange,
    /// For each rank, the claims that are collected for it.
    pieces: Vec<Vec<u64>>,
    /// Buffer for a message to all ranks.
    message: Buffer<u64>,
    exchanged: RankTraffic,
}

/// Returns the size, in bytes, of the buffers that collect claims for `ranks` ranks.
fn claims_bytes(ranks: usize) -> u64 {
    8 * (PIECE * ranks) as u64
}

/// Returns the maximum length, in 64-bit words, of a message about reached vertices. This length is also enough after a
/// narrow step (a step of few edges), when ranks always send a list.
fn message_words(own: VertexOwnership) -> usize {
    HEADER + own.words().max(NARROW as usize / 2)
}

/// Returns the host memory, in bytes, that a [`ClaimExchange`] takes on each rank of a job on `nodes` machines. `own`
/// says which vertices the rank owns.
pub fn bytes(own: VertexOwnership, nodes: usize) -> u64 {
    let ranks = own.ranks;
    RankExchange::bytes(ranks, nodes) + claims_bytes(ranks) + 8 * message_words(own) as u64
}

impl ClaimExchange {
    /// Opens the links between all ranks of a search. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn open(comm: &Comm, own: VertexOwnership, budget: &Budget) -> Result<ClaimExchange> {
        let ranks = RankExchange::open(comm, own, claims_bytes(comm.ranks()), budget)?;
        let message = budget.zeroed(message_words(own), "what a rank has reached (a bit a vertex)")?;
        let pieces = vec![Vec::new(); comm.ranks()];
        Ok(ClaimExchange { ranks, pieces, message, exchanged: RankTraffic::default() })
    }

    /// Returns the statistics of the exchange with other ranks since the last call, and resets them to 0.
    pub fn take_exchanged(&mut self) -> RankTraffic {
        std::mem::take(&mut self.exchanged)
    }

    /// Begins the exchange of claims in a top-down step. If another rank claims a vertex that this rank owns, the
    /// exchange writes the parent to `parents`; the caller must set the vertex's bit in `reached`. In a narrow step (a
    /// step of few edges), the exchange also lists the claimed vertices. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn claims<'x>(
        &'x mut self,
        graph: &'x CpuGraph<'x>,
        reached: &'x [AtomicU64],
        parents: Parents<'x>,
        is_narrow: bool,
    ) -> Result<ClaimRound<'x>> {
        let list = is_narrow.then(Vec::new);
        let arriving = ArrivingClaims { graph, reached, parents, found: StepCounts::default(), list };
        let (pieces, exchanged) = (&mut self.pieces, &mut self.exchanged);
        Ok(ClaimRound { round: self.ranks.rounds.begin()?, pieces, arriving, exchanged })
    }

    /// Sends the vertices that a step reached on this rank to all other ranks, as a list or as a bitmap, and sets the
    /// bits of the vertices that other ranks reached. Returns the sum of the counts of all ranks. After a narrow step
    /// (a step of few edges), also returns the vertices that other ranks reached and whose rows the ranks divide among
    /// themselves. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn send_reached(&mut self, reached: &StepReached<'_>) -> Result<(StepCounts, Vec<u32>)> {
        let own = self.ranks.ownership;
        let words = own.words();
        let StepCounts { vertices: count, edges, checked, bytes } = reached.sums;
        let is_list = reached.list.is_some() || count <= 2 * words as u64;
        self.message[..HEADER].copy_from_slice(&[if is_list { LIST } else { BITS }, count, edges, checked, bytes]);
        let content = &mut self.message[HEADER..];
        let length = match (is_list, reached.list) {
            (true, Some(list)) => put_list(list.iter().map(|v| v.load(Relaxed)), content),
            (true, None) => {
                let new = |at: usize| reached.now[at].load(Relaxed) & !reached.before[at].load(Relaxed);
                let bits = |at: usize| ones(new(at)).map(move |bit| at as u32 * 64 + bit);
                put_list((0..words).flat_map(|at| bits(own.word(at))), content)
            }
            (false, _) => {
                let now = |at: usize| reached.now[own.word(at)].load(Relaxed);
                content.iter_mut().zip(0..words).for_each(|(word, at)| *word = now(at));
                words
            }
        };
        let message: &[u64] = &self.message[..HEADER + length];
        let mut sums = [0, count, edges, checked, bytes];
        let mut incoming = vec![Incoming::default(); own.ranks];
        let mut shared = Vec::new();
        let started = Instant::now();
        self.exchanged.sent_bytes += size_of_val(message) as u64 * (own.ranks as u64 - 1);
        self.ranks.send_to_others(message, |from, words| {
            let (place, words) = incoming[from].rest(words, |number, word| sums[number] += word);
            if incoming[from].form == LIST {
                for v in words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).filter(|&v| v != NONE) {
                    set_alone(reached.now, v);
                    if reached.list.is_some() {
                        set_alone(reached.before, v);
                        shared.extend(reached.graph.is_shared(v).then_some(v));
                    }
                }
                return Ok(());
            }
            let owner = own.of_rank(from);
            for (at, &word) in (place..).zip(words) {
                let bits = reached.now.get(owner.word(at)).ok_or_else(|| misplaced(from))?;
                // No other thread writes these bits at the same time.
                bits.store(bits.load(Relaxed) | word, Relaxed);
            }
            Ok(())
        })?;
        self.exchanged.seconds += started.elapsed().as_secs_f64();
        let [_, vertices, edges, checked, bytes] = sums;
        Ok((StepCounts { vertices, edges, checked, bytes }, shared))
    }
}

/// The vertices that a step reached on this rank, and the counts of the step on this rank.
pub struct StepReached<'s> {
    /// The graph that the ranks search.
    pub graph: &'s CpuGraph<'s>,
    /// Counts of the step on this rank.
    pub sums: StepCounts,
    /// Bitmap of the vertices that were reached before the step. After a narrow step (a step of few edges) it also
    /// contains the vertices that the step reached.
    pub before: &'s [AtomicU64],
    /// Bitmap of all vertices that were reached so far.
    pub now: &'s [AtomicU64],
    /// List of the vertices that the step reached; `None` unless the step is narrow (a step of few edges).
    pub list: Option<&'s [AtomicU32]>,
}

/// Exchange of the claims of one step. Processes incoming claims while it sends claims.
pub struct ClaimRound<'x> {
    round: Round<'x, u64>,
    pieces: &'x mut [Vec<u64>],
    arriving: ArrivingClaims<'x>,
    exchanged: &'x mut RankTraffic,
}

impl ClaimRound<'_> {
    /// Collects a claim of vertex `v` for the owner of `v`. Sends the collected claims once there are enough for a
    /// message.
    ///
    /// # Errors
    /// Errors of the exchange.
    #[inline]
    pub fn send(&mut self, v: u32, parent: u32) -> Result<()> {
        let owner = self.arriving.graph.own.owner(v);
        self.pieces[owner].push(pair(v, parent));
        if self.pieces[owner].len() < PIECE { Ok(()) } else { self.flush(owner) }
    }

    fn flush(&mut self, owner: usize) -> Result<()> {
        let started = Instant::now();
        let arriving = &mut self.arriving;
        self.round.send(owner, &self.pieces[owner], |_, claims| arriving.take(claims))?;
        self.exchanged.sent_bytes += size_of_val(self.pieces[owner].as_slice()) as u64;
        self.exchanged.seconds += started.elapsed().as_secs_f64();
        self.pieces[owner].clear();
        Ok(())
    }

    /// Sends the remaining claims, and processes the claims from all ranks. Returns the counts of the vertices that
    /// only other ranks claimed. In a narrow step (a step of few edges), also returns the vertices that other ranks
    /// claimed.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn finish(mut self) -> Result<(StepCounts, Option<Vec<u32>>)> {
        (0..self.pieces.len()).try_for_each(|owner| self.flush(owner))?;
        let started = Instant::now();
        let mut arriving = self.arriving;
        self.round.finish(|_, claims| arriving.take(claims))?;
        self.exchanged.seconds += started.elapsed().as_secs_f64();
        Ok((arriving.found, arriving.list))
    }
}

/// Processes the claims that arrive from other ranks, for vertices that this rank owns.
struct ArrivingClaims<'x> {
    graph: &'x CpuGraph<'x>,
    reached: &'x [AtomicU64],
    parents: Parents<'x>,
    found: StepCounts,
    list: Option<Vec<u32>>,
}

impl ArrivingClaims<'_> {
    fn take(&mut self, claims: &[u64]) -> Result<()> {
        let CpuGraph { own, direction, degrees, .. } = self.graph;
        for (at, &claim) in claims.iter().enumerate() {
            if let Some(&ahead) = claims.get(at + PREFETCH_DISTANCE) {
                prefetch(self.parents.cells, own.local_index(ahead as u32));
                prefetch(degrees, direction.row(ahead as u32, EdgeDirection::Out) as usize);
            }
            let (v, parent) = (claim as u32, (claim >> 32) as u32);
            let local_index = own.local_index(v);
            if let Some(list) = self.list.as_mut().filter(|_| !is_set(self.parents.arrived, local_index as u32)) {
                list.push(v);
            }
            if self.parents.apply_claim(local_index, parent, is_set(self.reached, v)) {
                self.found.vertices += 1;
                self.found.edges += self.graph.degree(v);
            }
        }
        Ok(())
    }
}

#[inline]
fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

/// Progress in reading a message from one rank, which arrives in parts.
#[derive(Clone, Default)]
struct Incoming {
    words: usize,
    form: u64,
}

impl Incoming {
    /// Reads the next words of a message. Calls `header(index, word)` for each header word after the format code.
    /// Returns the words that follow the header, and the index of the first of them in the message body.
    fn rest<'w>(&mut self, words: &'w [u64], mut header: impl FnMut(usize, u64)) -> (usize, &'w [u64]) {
        let head = HEADER.saturating_sub(self.words).min(words.len());
        for (number, &word) in (self.words..).zip(&words[..head]) {
            if number == 0 { self.form = word } else { header(number, word) }
        }
        let place = (self.words + head).saturating_sub(HEADER);
        self.words += words.len();
        (place, &words[head..])
    }
}

/// Writes vertices to `words` as a list, two per word. Returns the number of words written.
fn put_list(vertices: impl Iterator<Item = u32>, words: &mut [u64]) -> usize {
    let mut count = 0;
    for v in vertices {
        match count % 2 {
            0 => words[count / 2] = pair(v, NONE),
            _ => words[count / 2] = pair(words[count / 2] as u32, v),
        }
        count += 1;
    }
    count.div_ceil(2)
}
