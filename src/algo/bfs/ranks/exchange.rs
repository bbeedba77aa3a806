//! The exchange of a search by ranks: claims of vertices to their owners, and to all the vertices that were reached.
//!
//! Both go as words of 64 bits. A message begins with its kind: a list of vertices, two in a word, or the bits of all vertices of one owner,
//! whichever is shorter.

use crate::algo::bfs::cpu::own::Own;
use crate::algo::bfs::cpu::peers::{Peers, Reached, Sums};
use crate::algo::bfs::cpu::shared::set;
use crate::algo::bfs::cpu::top_down::{Claims, Collector};
use crate::algo::bfs::search::NONE;
use crate::comm::{Comm, Round, RoundShape, Rounds};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Reservation};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kinds of messages.
const LIST: u64 = 0;
const BITS: u64 = 1;
/// Words before the vertices of a message about what was reached: the kind and three sums.
const HEADER: usize = 4;
/// Words that are put together before they are sent.
const PIECE: usize = 1 << 8;

/// Bytes of all links of a rank, and of a link at least and at most.
const LINKS: usize = 4 << 20;
const LINK: [usize; 2] = [16 << 10, 1 << 20];

/// The links between ranks, and who owns which vertices.
pub struct Exchange {
    own: Own,
    links: Mutex<Links>,
    _reserved: Reservation,
}

struct Links {
    rounds: Rounds,
    /// A message to all ranks.
    message: Buffer<u64>,
}

fn shape(ranks: usize) -> RoundShape {
    // Searches reduce single numbers alone.
    RoundShape { link: (LINKS / (ranks.max(2) - 1)).clamp(LINK[0], LINK[1]), reduction: 0 }
}

/// Returns the bytes of links among `ranks` ranks for one of them, of which there are `local` on its machine.
fn links_bytes(ranks: usize, nodes: usize, local: usize) -> u64 {
    let shared = if nodes == 1 { local.max(1) as u64 } else { 1 };
    let pieces = 8 * (PIECE * ranks) as u64;
    shape(ranks).bytes(ranks, nodes).div_ceil(shared) + pieces
}

/// Returns the bytes of an exchange on a rank that owns these vertices.
pub fn bytes(own: Own, nodes: usize) -> u64 {
    let ranks = own.ranks();
    links_bytes(ranks, nodes, ranks.div_ceil(nodes.max(1))) + 8 * (HEADER + own.words()) as u64
}

impl Exchange {
    /// Opens links between the ranks. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn open(comm: &Comm, own: Own, budget: &Budget) -> Result<Exchange> {
        let links = links_bytes(comm.ranks(), comm.nodes(), comm.local_ranks());
        let reserved = budget.reserve(links, "messages of ranks")?;
        let message = budget.zeroed(HEADER + own.words(), "what a rank has reached (a bit a vertex)")?;
        let links = Links { rounds: comm.rounds(shape(comm.ranks())), message };
        Ok(Exchange { own, links: Mutex::new(links), _reserved: reserved })
    }

    /// Waits for all ranks. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn meet(&self) -> Result<()> {
        self.links().rounds.any(false).map(drop)
    }

    /// Gathers the parents of all vertices on rank 0 in `parents`, of which other ranks have none. `own` are those of the own vertices.
    /// Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn gather(&self, own: &[u32], parents: &mut [u32]) -> Result<()> {
        let ranks = self.own.ranks();
        let mut to: Vec<&[u32]> = vec![&[]; ranks];
        to[0] = own;
        let mut next = vec![0; ranks];
        self.links().rounds.exchange(&to, |from, mut words| {
            let owner = self.own.of_rank(from);
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

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends claims to the other ranks as lists, in pieces.
    fn send_lists(&self, claims: &Claims<'_>, round: &mut Round<'_, u64>, take: Take<'_>) -> Result<()> {
        let mut pieces = vec![Piece::default(); self.own.ranks()];
        for v in claims.away.vertices() {
            let v = v.load(Relaxed);
            let owner = self.own.owner(v);
            let piece = &mut pieces[owner];
            if piece.words.is_empty() && !piece.begun {
                *piece = Piece { words: Vec::with_capacity(PIECE), begun: true, half: None };
                piece.words.push(LIST);
            }
            piece.push(v);
            if piece.words.len() == PIECE {
                round.send(owner, &piece.words, &mut *take)?;
                piece.words.clear();
            }
        }
        for (owner, piece) in pieces.iter_mut().enumerate() {
            piece.end();
            round.send(owner, &piece.words, &mut *take)?;
        }
        Ok(())
    }

    /// Sends claims to the other ranks as bits, in pieces.
    fn send_bits(&self, claims: &Claims<'_>, round: &mut Round<'_, u64>, take: Take<'_>) -> Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        for owner in (0..self.own.ranks()).filter(|&owner| owner != self.own.rank()) {
            piece.push(BITS);
            let its = self.own.of_rank(owner);
            for at in (0..its.words()).map(|word| its.word(word)) {
                piece.push(claims.claimed[at].load(Relaxed) & !claims.known[at].load(Relaxed));
                if piece.len() == PIECE {
                    round.send(owner, &piece, &mut *take)?;
                    piece.clear();
                }
            }
            round.send(owner, &piece, &mut *take)?;
            piece.clear();
        }
        Ok(())
    }
}

type Take<'a> = &'a mut dyn FnMut(usize, &[u64]) -> Result<()>;

/// A part of a list of vertices on its way.
#[derive(Clone, Default)]
struct Piece {
    words: Vec<u64>,
    begun: bool,
    /// A vertex that has no word yet.
    half: Option<u32>,
}

impl Piece {
    #[inline]
    fn push(&mut self, v: u32) {
        match self.half.take() {
            None => self.half = Some(v),
            Some(first) => self.words.push(pair(first, v)),
        }
    }

    fn end(&mut self) {
        if let Some(last) = self.half.take() {
            self.words.push(pair(last, NONE));
        }
    }
}

#[inline]
fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

/// Returns the vertices of a word of a list.
#[inline]
fn vertices(word: u64) -> impl Iterator<Item = u32> {
    [word as u32, (word >> 32) as u32].into_iter().filter(|&v| v != NONE)
}

/// Returns the vertices whose bits are set in word `at`.
#[inline]
fn set_bits(at: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(at as u32 * 64 + bit)
    })
}

fn misplaced(from: usize) -> Error {
    Error::internal("take vertices of another rank", format!("rank {from} sent some that are not there"))
}

/// The words of a message that came so far, from one rank.
#[derive(Clone, Default)]
struct Incoming {
    words: usize,
    kind: u64,
}

impl Incoming {
    /// Takes the next words of a message: the kind and `header` words behind it go to `first` with their number, and the rest is returned with
    /// its place.
    fn rest<'w>(&mut self, header: usize, words: &'w [u64], mut first: impl FnMut(usize, u64)) -> (usize, &'w [u64]) {
        let head = header.saturating_sub(self.words).min(words.len());
        for (number, &word) in (self.words..).zip(&words[..head]) {
            if number == 0 {
                self.kind = word;
            }
            first(number, word);
        }
        let place = (self.words + head).saturating_sub(header);
        self.words += words.len();
        (place, &words[head..])
    }
}

impl Peers for Exchange {
    fn tell_claims(&self, claims: &Claims<'_>) -> Result<()> {
        let mut links = self.links();
        let mut incoming = vec![Incoming::default(); self.own.ranks()];
        let mut found = Collector::new(claims.next);
        let mut take = |from: usize, words: &[u64]| {
            let (place, words) = incoming[from].rest(1, words, |_, _| {});
            if incoming[from].kind == LIST {
                let claimed = words.iter().flat_map(|&word| vertices(word)).filter(|&v| set(claims.claimed, v));
                claimed.for_each(|v| found.push(v));
                return Ok(());
            }
            for (own, &word) in (place..).zip(words) {
                let at = self.own.word(own);
                let all = claims.claimed.get(at).ok_or_else(|| misplaced(from))?;
                let before = all.load(Relaxed);
                all.store(before | word, Relaxed);
                set_bits(at, word & !before).for_each(|v| found.push(v));
            }
            Ok(())
        };
        let mut round = links.rounds.begin::<u64>()?;
        match claims.away.is_whole() {
            true => self.send_lists(claims, &mut round, &mut take)?,
            false => self.send_bits(claims, &mut round, &mut take)?,
        }
        round.finish(take)
    }

    fn tell_reached(&self, reached: &Reached<'_>, long: &mut Vec<u32>) -> Result<Sums> {
        let mut links = self.links();
        let Links { rounds, message } = &mut *links;
        let own = self.own.words();
        let Sums { vertices: count, edges, checked } = reached.sums;
        let is_list = count <= 2 * own as u64;
        message[..HEADER].copy_from_slice(&[if is_list { LIST } else { BITS }, count, edges, checked]);
        let content = &mut message[HEADER..];
        let words = match (is_list, reached.list) {
            (false, _) => {
                let now = |own: usize| reached.now[self.own.word(own)].load(Relaxed);
                content.iter_mut().enumerate().for_each(|(own, word)| *word = now(own));
                own
            }
            (true, Some(list)) => put_list(list.vertices().iter().map(|v| v.load(Relaxed)), content),
            (true, None) => {
                let new = |at: usize| reached.now[at].load(Relaxed) & !reached.before[at].load(Relaxed);
                let at = (0..own).map(|own| self.own.word(own));
                put_list(at.flat_map(|at| set_bits(at, new(at))), content)
            }
        };
        let message: &[u64] = &message[..HEADER + words];
        let to: Vec<&[u64]> =
            (0..self.own.ranks()).map(|rank| if rank == self.own.rank() { &[] } else { message }).collect();
        let mut sums = [0, count, edges, checked];
        let mut incoming = vec![Incoming::default(); self.own.ranks()];
        rounds.exchange(&to, |from, words| {
            let (place, words) = incoming[from].rest(HEADER, words, |number, word| sums[number] += word);
            if incoming[from].kind == LIST {
                for v in words.iter().flat_map(|&word| vertices(word)) {
                    [reached.before, reached.now].iter().for_each(|bits| _ = set(bits, v));
                    long.extend(reached.graph.is_long(v).then_some(v));
                }
                return Ok(());
            }
            let owner = self.own.of_rank(from);
            for (own, &word) in (place..).zip(words) {
                let at = owner.word(own);
                let before = reached.before.get(at).ok_or_else(|| misplaced(from))?;
                if at * 64 < reached.graph.hubs as usize {
                    long.extend(set_bits(at, word & !before.load(Relaxed)).filter(|&v| reached.graph.is_long(v)));
                }
                [before, &reached.now[at]].iter().for_each(|bits| add(bits, word));
            }
            Ok(())
        })?;
        let [_, vertices, edges, checked] = sums;
        Ok(Sums { vertices, edges, checked })
    }
}

/// Adds bits to a word that nobody else writes meanwhile.
#[inline]
fn add(bits: &AtomicU64, word: u64) {
    bits.store(bits.load(Relaxed) | word, Relaxed);
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
