//! Peeling: each rank owns some vertices, and all ranks together remove layers of vertices.
//!
//! A rank counts the remaining neighbours of each vertex that it owns, and removes the vertices with few of them. It
//! reads the row of every removed vertex once. For each neighbour that it owns, it decrements the count. For each other
//! neighbour, it sends a message to the owner.

use crate::algo::rows::{Batch, VertexList};
use crate::algo::searches::ranks::{RankExchange, VertexOwnership, misplaced};
use crate::algo::team::{Parts, gathered, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::Direction;
use crate::graph::direction::EdgeDirection::{In, Out};
use crate::graph::half::Half;
use crate::memory::{Budget, Buffer, plain, prefetch_near};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of vertices of a layer that a thread claims at a time.
const PART: usize = 1 << 6;
/// Minimum number of neighbours, or of vertices, that a thread processes. With fewer, starting another thread does not
/// pay off.
const SHARE: u64 = 1 << 15;
/// Number of vertices whose remaining neighbours a thread checks at a time.
const RANGE: usize = 1 << 13;
/// Prefetch distance, in neighbours of a row.
const AHEAD: usize = 16;
/// Prefetch distance, in vertices, of the data of a vertex's neighbours. Rows are prefetched twice as far ahead.
const ROWS_AHEAD: usize = 2;
/// Number of neighbours that a rank reads before it sends messages, unless a single vertex has more.
const CHUNK: u64 = 1 << 20;
/// Upper bound on the number of threads that decrement the count of one vertex at the same time.
const THREADS: u32 = 1 << 16;

/// State of a peeling: the graph, and which of its vertices are left.
pub(super) struct Peeling<'g> {
    rows: Adjacency<'g>,
    direction: Direction,
    /// Number of neighbours in each row.
    degrees: &'g [u32],
    /// Whether rows of neighbours are in files that are read from disk on access.
    on_disk: bool,
    own: VertexOwnership,
    /// For each vertex that this rank owns, the number of remaining neighbours; its core number once it is removed.
    left: Buffer<AtomicU32>,
    /// For each vertex that this rank owns, the 1-based layer in which it was removed; 0 while it is not removed.
    layers: Buffer<AtomicU32>,
    /// Vertices of this rank that were removed, followed by those that will be removed next.
    queue: VertexList,
    /// Number of this rank's vertices that were removed.
    taken: usize,
    /// Number of this rank's vertices, from the first on, that must still be checked. All later ones are removed or in
    /// the queue.
    end: usize,
    /// Current level of the peeling: vertices with at most this many remaining neighbours are removed.
    pub level: u32,
    /// Number of layers that were removed so far.
    pub layer: u32,
    /// On rank 0 of several ranks, buffers into which the arrays `left` and `layers` of all ranks are gathered.
    all: [Buffer<u32>; 2],
}

/// Returns the memory, in bytes, that peeling takes on each of `ranks` ranks on `nodes` machines, for a graph of
/// `vertices` vertices that have up to `longest` neighbours each.
pub(super) fn bytes(vertices: u64, longest: u64, ranks: usize, nodes: usize) -> u64 {
    let own = VertexOwnership::blocks(vertices as usize, 0, ranks).len() as u64;
    // Ranks gather counts and layers of all vertices on rank 0.
    let (messages, gathered) = if ranks > 1 { (message_bytes(longest), 8 * vertices) } else { (0, 0) };
    12 * own + RankExchange::bytes(ranks, nodes) + messages + gathered
}

/// Returns an upper bound on the size, in bytes, of the messages for one chunk of vertices. A vector may allocate twice
/// the memory of its elements.
fn message_bytes(longest: u64) -> u64 {
    2 * 4 * (CHUNK + longest)
}

/// State from which a peeling begins: the whole graph, or the graph without the layers that an earlier run has removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin<'s> {
    pub level: u32,
    /// Number of layers that an earlier run has removed.
    pub layer: u32,
    /// Arrays that [`Peeling::gather`] returned in the earlier run; empty on ranks other than 0.
    pub saved: [&'s [u32]; 2],
}

impl<'g> Peeling<'g> {
    /// Begins a peeling with the whole graph, or with the state that rank 0 has loaded from a checkpoint. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub(super) fn new(
        (graph, degrees): (&'g Graph, &'g [u32]),
        &Begin { level, layer, saved }: &Begin<'_>,
        comm: &Comm,
        (budget, threads): (&Budget, usize),
    ) -> Result<Peeling<'g>> {
        let own = VertexOwnership::blocks(graph.info.connected as usize, comm.rank(), comm.ranks());
        let purpose = "neighbours that are left, and layers (8 bytes for each vertex)";
        let [left, layers] = [budget.zeroed(own.len(), purpose)?, budget.zeroed(own.len(), purpose)?];
        let fill = |cells: &Buffer<AtomicU32>, of: &[u32]| {
            cells.iter().zip(0..).for_each(|(cell, place)| cell.store(of[own.vertex(place) as usize], Relaxed));
        };
        if layer > 0 && comm.ranks() == 1 {
            fill(&left, saved[0]);
            fill(&layers, saved[1]);
        } else if layer > 0 {
            for (cells, saved) in [&left, &layers].into_iter().zip(saved) {
                let mut all: Buffer<u32> = budget.zeroed(own.vertices, purpose)?;
                all[..saved.len()].copy_from_slice(saved);
                comm.broadcast_numbers(&mut all);
                fill(cells, &all);
            }
        }
        let queue = VertexList::new(own.len(), "vertices in the order of their removal (4 bytes each)", budget)?;
        queue
            .append((0..).zip(layers.iter()).filter(|(_, layer)| layer.load(Relaxed) > 0).map(|(place, _)| (place, 0)));
        let (taken, end) = (queue.len(), own.len());
        let halves = [&graph.block_store, graph.upper()?];
        let on_disk = halves.iter().map(|half| half.bytes()).sum::<u64>() > budget.free();
        let mut rows = Adjacency::new(halves[0], halves[1]);
        if on_disk {
            rows.expect_random_access();
        }
        let all = if comm.ranks() > 1 && comm.is_leader() { own.vertices } else { 0 };
        let all = [budget.zeroed(all, purpose)?, budget.zeroed(all, purpose)?];
        let direction = graph.info.direction;
        let peeling =
            Peeling { rows, direction, degrees, on_disk, own, left, layers, queue, taken, end, level, layer, all };
        if layer == 0 {
            peeling.count_neighbours(threads)?;
        }
        let is_next =
            |place: &usize| peeling.layers[*place].load(Relaxed) == 0 && peeling.left[*place].load(Relaxed) <= level;
        peeling.queue.append((0..own.len()).filter(is_next).map(|place| (place as u32, peeling.entries(place).into())));
        Ok(peeling)
    }

    /// Counts the distinct neighbours of each vertex that this rank owns.
    fn count_neighbours(&self, threads: usize) -> Result<()> {
        let parts = Parts::new(self.own.len(), RANGE);
        team(threads, &|_| {
            parts.each(|range| {
                signals::check()?;
                for place in range {
                    let mut neighbours = self.entries(place);
                    if self.direction == Direction::Directed {
                        neighbours = 0;
                        self.rows_of(place)
                            .into_iter()
                            .for_each(|rows| each_distinct(rows, |_| {}, |_| neighbours += 1));
                    }
                    self.left[place].store(neighbours, Relaxed);
                }
                Ok(())
            })
        })
    }

    /// Opens links to the other ranks for messages about removed vertices. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub(super) fn exchange(&self, comm: &Comm, budget: &Budget) -> Result<RankExchange> {
        let longest = (0..self.own.len()).map(|place| self.entries(place)).max().unwrap_or(0);
        let messages = if comm.ranks() > 1 { message_bytes(longest.into()) } else { 0 };
        RankExchange::open(comm, self.own, messages, budget)
    }

    /// Returns the number of threads to start for `items` vertices or neighbours: at most `threads`, and one if there
    /// are few items.
    fn threads(threads: usize, items: u64) -> usize {
        (items / SHARE).clamp(1, threads as u64) as usize
    }

    /// Returns the number of this rank's vertices that were removed.
    pub(super) fn removed(&self) -> usize {
        self.taken
    }

    /// Finds the vertices of the next layer, after [`Self::remove`] or at the beginning. Returns the number of these
    /// vertices over all ranks, which is 0 if no vertex is left. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn find(&mut self, comm: &Comm, threads: usize) -> Result<u64> {
        let mut found = [(self.queue.len() - self.taken) as u64];
        comm.all_sum(&mut found);
        // Nearly always, the next level has vertices.
        let mut next = self.level + 1;
        while found[0] == 0 {
            let mut least = [self.find_at(next, threads)?.into()];
            comm.all_min(&mut least);
            if least[0] == u64::from(u32::MAX) {
                break;
            }
            if least[0] == u64::from(next) {
                self.level = next;
                found = [(self.queue.len() - self.taken) as u64];
                comm.all_sum(&mut found);
            }
            next = least[0] as u32;
        }
        Ok(found[0])
    }

    /// Appends this rank's vertices with exactly `next` remaining neighbours to the queue. Returns the smallest number
    /// of remaining neighbours among this rank's vertices that are left, or `u32::MAX` if none is left. All vertices of
    /// the current level must have been removed.
    fn find_at(&mut self, next: u32, threads: usize) -> Result<u32> {
        while self.end > 0 && *self.left[self.end - 1].get_mut() <= self.level {
            self.end -= 1;
        }
        let (left, level, parts) = (&self.left[..self.end], self.level, Parts::new(self.end, RANGE));
        let least = gathered(Self::threads(threads, self.end as u64), &|_| {
            let (mut batch, mut least) = (self.queue.batch(), u32::MAX);
            parts.each(|range| {
                for place in range {
                    let left = left[place].load(Relaxed);
                    if left > level {
                        least = least.min(left);
                        if left == next {
                            batch.push(place as u32, self.entries(place).into());
                        }
                    }
                }
                Ok(())
            })?;
            Ok(least)
        })?;
        Ok(least.into_iter().min().unwrap_or(u32::MAX))
    }

    /// Returns the number of neighbours in the rows of the vertex with local index `place`.
    fn entries(&self, place: usize) -> u32 {
        let v = self.own.vertex(place as u32) as usize;
        self.degrees[v << self.direction.shift()..(v + 1) << self.direction.shift()].iter().sum()
    }

    /// Removes the vertices of the next layer. Collective.
    ///
    /// # Errors
    /// Errors of the exchange; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn remove(&mut self, exchange: &mut RankExchange, threads: usize) -> Result<()> {
        self.layer += 1;
        let layer = std::mem::replace(&mut self.taken, self.queue.len())..self.queue.len();
        let entries = self.queue.take_entries();
        let threads = Self::threads(threads, entries);
        if self.own.ranks == 1 {
            let (layer, parts) = (self.queue.at(layer.clone()), Parts::new(layer.len(), PART));
            return team(threads, &|_| {
                let mut batch = self.queue.batch();
                parts.each(|part| {
                    let fetch = |u: u32| prefetch_near(&self.left, u as usize);
                    self.each_neighbour(&layer[part], fetch, |u| self.lose(u as usize, &mut batch));
                    Ok(())
                })
            });
        }
        let (mut rest, mut received) = (self.queue.at(layer), self.queue.batch());
        let mut take = |from: usize, places: &[u32]| {
            let is_misplaced = places.iter().any(|&place| place as usize >= self.left.len());
            places.iter().filter(|_| !is_misplaced).for_each(|&place| self.lose(place as usize, &mut received));
            if is_misplaced { Err(misplaced(from)) } else { Ok(()) }
        };
        let mut round = exchange.rounds.begin::<u32>()?;
        while !rest.is_empty() {
            let chunk = rest.split_off(..self.chunk(rest)).unwrap_or_default();
            for to in self.remove_chunk(chunk, threads)? {
                to.iter().enumerate().try_for_each(|(rank, places)| round.send(rank, places, &mut take))?;
            }
        }
        round.finish(&mut take)
    }

    /// Returns how many vertices at the start of `layer` this rank removes before it sends messages.
    fn chunk(&self, layer: &[AtomicU32]) -> usize {
        let mut entries = 0;
        let fits = |place: &&AtomicU32| {
            entries += u64::from(self.entries(place.load(Relaxed) as usize));
            entries <= CHUNK
        };
        layer.iter().take_while(fits).count().max(1)
    }

    /// Removes the vertices of `chunk`, which are in one layer. Returns, for each thread, a message to each rank: the
    /// local indices of that rank's vertices that lose a neighbour, once for each lost neighbour.
    fn remove_chunk(&self, chunk: &[AtomicU32], threads: usize) -> Result<Vec<Vec<Vec<u32>>>> {
        let parts = Parts::new(chunk.len(), PART);
        gathered(threads, &|_| {
            let (mut batch, mut to) = (self.queue.batch(), vec![Vec::new(); self.own.ranks]);
            parts.each(|part| {
                self.each_neighbour(
                    &chunk[part],
                    |_| {},
                    |u| match self.own.locate(u) {
                        (rank, place) if rank as usize == self.own.rank => self.lose(place as usize, &mut batch),
                        (rank, place) => to[rank as usize].push(place),
                    },
                );
                Ok(())
            })?;
            Ok(to)
        })
    }

    /// Returns the rows of the vertex with local index `place`: for each half, the row of out-neighbours and the row of
    /// in-neighbours. In an undirected graph, the first row has all neighbours, and the second is empty.
    #[inline]
    fn rows_of(&self, place: usize) -> [[&'g [u32]; 2]; 2] {
        let v = self.own.vertex(place as u32);
        let [lower, upper] = self.rows.halves(self.direction.row(v, Out));
        let [more, above] = match self.direction {
            Direction::Undirected => [&[][..]; 2],
            Direction::Directed => self.rows.halves(self.direction.row(v, In)),
        };
        [[lower, more], [upper, above]]
    }

    /// Stores the current layer for this rank's vertices with the local indices in `places`, and calls `each` with all
    /// of their neighbours. For most neighbours, calls `fetch` before, which must prefetch the data that `each` needs.
    #[inline]
    fn each_neighbour(&self, places: &[AtomicU32], fetch: impl Fn(u32), mut each: impl FnMut(u32)) {
        let rows = |place: &AtomicU32| self.rows_of(place.load(Relaxed) as usize).into_iter().flatten();
        if self.on_disk {
            let ways = if self.direction == Direction::Directed { &[Out, In][..] } else { &[Out] };
            for (&way, half) in ways.iter().flat_map(|way| [(way, Half::Lower), (way, Half::Upper)]) {
                let row = |place: &AtomicU32| self.direction.row(self.own.vertex(place.load(Relaxed)), way);
                self.rows.read_ahead(half, places.iter().map(row), false);
            }
        }
        for (at, place) in places.iter().enumerate() {
            // Most rows are short, so the data of later rows is prefetched as well.
            if let Some(later) = places.get(at + 2 * ROWS_AHEAD) {
                rows(later).for_each(|row| prefetch_near(row, 0));
            }
            if let Some(later) = places.get(at + ROWS_AHEAD) {
                rows(later).flat_map(|row| row.iter().take(AHEAD)).for_each(|&u| fetch(u));
            }
            let place = place.load(Relaxed) as usize;
            self.layers[place].store(self.layer, Relaxed);
            self.rows_of(place).into_iter().for_each(|rows| each_distinct(rows, &fetch, &mut each));
        }
    }

    /// Decrements the number of remaining neighbours of this rank's vertex with local index `place`. Appends the vertex
    /// to the queue if the number is now equal to the level.
    #[inline]
    fn lose(&self, place: usize, batch: &mut Batch<'_>) {
        if lose(&self.left[place], self.level) {
            batch.push(place as u32, self.entries(place).into());
        }
    }

    /// Returns two arrays for all vertices: the number of remaining neighbours, or the core number if the vertex is
    /// removed; and the layer, or 0 if it is not removed. The arrays are empty on ranks other than 0. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub(super) fn gather(&mut self, exchange: &mut RankExchange) -> Result<[&[u32]; 2]> {
        let own = [plain(&mut self.left), plain(&mut self.layers)];
        if self.own.ranks == 1 {
            return Ok(own.map(|own| &*own));
        }
        for (own, all) in own.into_iter().zip(&mut self.all) {
            exchange.gather_parents([&*own], all)?;
        }
        Ok(self.all.each_ref().map(|all| &**all))
    }

    /// Returns the core numbers and the layers of all vertices, once no vertex is left. The arrays are empty on ranks
    /// other than 0. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub(super) fn finish(mut self, exchange: &mut RankExchange) -> Result<[Buffer<u32>; 2]> {
        self.gather(exchange)?;
        Ok(if self.own.ranks == 1 { [self.left, self.layers].map(Buffer::into_plain) } else { self.all })
    }
}

/// Calls `each` with the entries of two ascending rows. An entry that is in both rows is passed once. Calls `fetch`
/// with entries before, for prefetching.
#[inline]
fn each_distinct([one, other]: [&[u32]; 2], fetch: impl Fn(u32), mut each: impl FnMut(u32)) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&u), Some(&v)) = (one.get(i), other.get(j)) {
        i += usize::from(u <= v);
        j += usize::from(v <= u);
        each(u.min(v));
    }
    for row in [&one[i..], &other[j..]] {
        for (at, &u) in row.iter().enumerate() {
            if let Some(&later) = row.get(at + AHEAD) {
                fetch(later);
            }
            each(u);
        }
    }
}

/// Decrements `left`, a number of remaining neighbours, if it is above `level`. Returns true if it is now equal to
/// `level`.
#[inline]
fn lose(left: &AtomicU32, level: u32) -> bool {
    // If several threads subtract before they add again, the number may briefly wrap below 0, by at most `THREADS`.
    let is_above = |number: u32| number.wrapping_add(THREADS) > level + THREADS;
    if !is_above(left.load(Relaxed)) {
        return false;
    }
    let before = left.fetch_sub(1, Relaxed);
    if !is_above(before) {
        // Another thread was faster, so the vertex is in the queue already.
        left.fetch_add(1, Relaxed);
    }
    before == level + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_neighbours_with_32_bits() {
        let left = AtomicU32::new((1 << 31) + 5);
        assert!(!lose(&left, 3) && left.load(Relaxed) == (1 << 31) + 4);
        for (before, level, after, is_queued) in [(5, 3, 4, false), (4, 3, 3, true), (3, 3, 3, false), (0, 0, 0, false)]
        {
            let left = AtomicU32::new(before);
            assert_eq!((lose(&left, level), left.into_inner()), (is_queued, after), "{before} at {level}");
        }
    }
}
