//! The exchange of a search by ranks: claims of vertices to their owners, and to all the vertices that were reached.
//!
//! All goes as words of 64 bits. A claim is a vertex and its parent. A message about what was reached has the sums of its rank, and then a
//! list of vertices, two in a word, or the bits of all its own vertices, whichever is shorter.

use crate::algo::bfs::cpu::frontier::NARROW;
use crate::algo::bfs::cpu::shared::{Graph, ones, set_alone};
use crate::algo::bfs::cpu::top_down::{Found, Parents};
use crate::algo::bfs::search::{Exchanged, NONE};
use crate::algo::bits::is_set;
use crate::algo::own::Own;
use crate::comm::{Comm, Round, RoundShape, Rounds};
use crate::error::{Error, Result};
use crate::graph::direction::Way;
use crate::memory::{Budget, Buffer, Reservation, prefetch};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Forms of what was reached.
const LIST: u64 = 0;
const BITS: u64 = 1;
/// Words of a message about what was reached before its vertices: the form and four sums.
const HEADER: usize = 5;
/// Claims ahead whose memory is prefetched.
const AHEAD: usize = 16;
/// Claims to one rank that are put together before they are sent.
const PIECE: usize = 1 << 8;

/// Bytes of all links of a rank, and of a link at least and at most.
const LINKS: usize = 4 << 20;
const LINK: [usize; 2] = [16 << 10, 1 << 20];

/// The links of a rank to the others.
pub struct Exchange {
    own: Own,
    rounds: Rounds,
    /// Claims that go to each rank.
    pieces: Vec<Vec<u64>>,
    /// A message to all ranks.
    message: Buffer<u64>,
    exchanged: Exchanged,
    _reserved: Reservation,
}

fn shape(ranks: usize) -> RoundShape {
    // Searches reduce single numbers alone.
    RoundShape { link: (LINKS / (ranks.max(2) - 1)).clamp(LINK[0], LINK[1]), reduction: 0 }
}

/// Returns the bytes of links and pieces of a rank, of which there are `local` on its machine.
fn links_bytes(ranks: usize, nodes: usize, local: usize) -> u64 {
    let shared = if nodes == 1 { local.max(1) as u64 } else { 1 };
    shape(ranks).bytes(ranks, nodes).div_ceil(shared) + 8 * (PIECE * ranks) as u64
}

/// Returns the words of the longest message. A narrow step is told by a list.
fn message_words(own: Own) -> usize {
    HEADER + own.words().max(NARROW as usize / 2)
}

/// Returns the bytes of an exchange on a rank that owns these vertices.
pub fn bytes(own: Own, nodes: usize) -> u64 {
    let ranks = own.ranks();
    links_bytes(ranks, nodes, ranks.div_ceil(nodes.max(1))) + 8 * message_words(own) as u64
}

impl Exchange {
    /// Opens links between the ranks. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn open(comm: &Comm, own: Own, budget: &Budget) -> Result<Exchange> {
        let links = links_bytes(comm.ranks(), comm.nodes(), comm.local_ranks());
        let reserved = budget.reserve(links, "messages of ranks")?;
        let message = budget.zeroed(message_words(own), "what a rank has reached (a bit a vertex)")?;
        let pieces = vec![Vec::new(); comm.ranks()];
        Ok(Exchange {
            own,
            rounds: comm.rounds(shape(comm.ranks())),
            pieces,
            message,
            exchanged: Exchanged::default(),
            _reserved: reserved,
        })
    }

    /// Returns what was exchanged since this was asked for the last time.
    pub fn take_exchanged(&mut self) -> Exchanged {
        std::mem::take(&mut self.exchanged)
    }

    /// Waits for all ranks. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn meet(&mut self) -> Result<()> {
        self.rounds.any(false).map(drop)
    }

    /// Gathers the parents of all vertices on rank 0 in `parents`, of which other ranks have none. `own` are those of the own vertices.
    /// Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn gather(&mut self, own: &[u32], parents: &mut [u32]) -> Result<()> {
        let ranks = self.own.ranks();
        let mut to: Vec<&[u32]> = vec![&[]; ranks];
        to[0] = own;
        let mut next = vec![0; ranks];
        let owner = self.own;
        self.rounds.exchange(&to, |from, mut words| {
            let owner = owner.of_rank(from);
            while !words.is_empty() {
                // As far as vertices follow each other.
                let place: usize = next[from];
                let first = owner.word(place / 64) * 64 + place % 64;
                let (some, rest) = words.split_at(words.len().min(64 - place % 64));
                let to = parents.get_mut(first..first + some.len());
                to.ok_or_else(|| misplaced(from))?.copy_from_slice(some);
                next[from] += some.len();
                words = rest;
            }
            Ok(())
        })
    }

    /// Begins the claims of a step, in which own vertices get `parents` and are set in `reached` by those who claim them here; they are listed if
    /// the step is narrow. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn claims<'x>(
        &'x mut self,
        graph: &'x Graph<'x>,
        reached: &'x [AtomicU64],
        parents: Parents<'x>,
        is_narrow: bool,
    ) -> Result<ClaimRound<'x>> {
        let list = is_narrow.then(Vec::new);
        let arriving = Arriving { graph, reached, parents, found: Found::default(), list };
        let (pieces, exchanged) = (&mut self.pieces, &mut self.exchanged);
        Ok(ClaimRound { round: self.rounds.begin()?, pieces, arriving, exchanged })
    }

    /// Tells all ranks which own vertices a step reached, and sets the bits of those that others reached. Returns the sums over all ranks, and
    /// after a narrow step those of other ranks whose rows are shared. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn tell_reached(&mut self, reached: &Reached<'_>) -> Result<(Found, Vec<u32>)> {
        let (own, words) = (self.own, self.own.words());
        let Found { vertices: count, edges, checked, bytes } = reached.sums;
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
        let to: Vec<&[u64]> = (0..own.ranks()).map(|rank| if rank == own.rank() { &[][..] } else { message }).collect();
        let mut sums = [0, count, edges, checked, bytes];
        let mut incoming = vec![Incoming::default(); own.ranks()];
        let mut shared = Vec::new();
        let started = Instant::now();
        self.exchanged.sent_bytes += to.iter().map(|words| size_of_val(*words) as u64).sum::<u64>();
        self.rounds.exchange(&to, |from, words| {
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
                // Nobody else writes meanwhile.
                bits.store(bits.load(Relaxed) | word, Relaxed);
            }
            Ok(())
        })?;
        self.exchanged.seconds += started.elapsed().as_secs_f64();
        let [_, vertices, edges, checked, bytes] = sums;
        Ok((Found { vertices, edges, checked, bytes }, shared))
    }
}

/// The outcome of a step on this rank.
pub struct Reached<'s> {
    /// The graph.
    pub graph: &'s Graph<'s>,
    /// Its sums.
    pub sums: Found,
    /// The bits of the vertices that were reached before it, or of all if they are listed.
    pub before: &'s [AtomicU64],
    /// The bits of all that are reached now.
    pub now: &'s [AtomicU64],
    /// The list of the vertices that it reached, after a narrow step.
    pub list: Option<&'s [AtomicU32]>,
}

/// The claims of a step, in progress: it takes what arrives while it sends.
pub struct ClaimRound<'x> {
    round: Round<'x, u64>,
    pieces: &'x mut [Vec<u64>],
    arriving: Arriving<'x>,
    exchanged: &'x mut Exchanged,
}

impl ClaimRound<'_> {
    /// Sends the claim of a vertex to its owner.
    ///
    /// # Errors
    /// Those of the exchange.
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

    /// Ends the claims of all ranks. Returns what others claimed here first, and the vertices that others claimed, if the step is narrow.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn finish(mut self) -> Result<(Found, Option<Vec<u32>>)> {
        (0..self.pieces.len()).try_for_each(|owner| self.flush(owner))?;
        let started = Instant::now();
        let mut arriving = self.arriving;
        self.round.finish(|_, claims| arriving.take(claims))?;
        self.exchanged.seconds += started.elapsed().as_secs_f64();
        Ok((arriving.found, arriving.list))
    }
}

/// Claims of own vertices by other ranks.
struct Arriving<'x> {
    graph: &'x Graph<'x>,
    reached: &'x [AtomicU64],
    parents: Parents<'x>,
    found: Found,
    list: Option<Vec<u32>>,
}

impl Arriving<'_> {
    fn take(&mut self, claims: &[u64]) -> Result<()> {
        let Graph { own, direction, degrees, .. } = self.graph;
        for (at, &claim) in claims.iter().enumerate() {
            if let Some(&ahead) = claims.get(at + AHEAD) {
                prefetch(self.parents.cells, own.place(ahead as u32));
                prefetch(degrees, direction.row(ahead as u32, Way::Out) as usize);
            }
            let (v, parent) = (claim as u32, (claim >> 32) as u32);
            let place = own.place(v);
            if let Some(list) = self.list.as_mut().filter(|_| !is_set(self.parents.arrived, place as u32)) {
                list.push(v);
            }
            if self.parents.arrive(place, parent, is_set(self.reached, v)) {
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

fn misplaced(from: usize) -> Error {
    Error::internal("take vertices of another rank", format!("rank {from} sent some that are not there"))
}

/// The words of a message that came so far, from one rank.
#[derive(Clone, Default)]
struct Incoming {
    words: usize,
    form: u64,
}

impl Incoming {
    /// Takes the next words of a message: those of the header go to `header` with their number, but for the form; the rest is returned with its
    /// place.
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

/// Writes vertices to `words` as a list, and returns the number of words.
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
