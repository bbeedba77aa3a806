//! Reads the input again to find out whether certain pairs of vertices are edges, and whether the input repeats these
//! edges. Adjacency rows do not show this, because they contain neither repeated edges nor self-loops.
//!
//! A pair consists of a vertex and its partner. Each vertex has at most one partner. To look for repeated bridges, the
//! partner of a vertex is its parent in the tree. To look for self-loops, a vertex is its own partner. All threads of
//! all ranks read the input once, and determine for each pair whether it is an edge, and whether that edge is repeated.

use crate::algo::edges::{self, EdgeVisitor};
use crate::algo::{GraphSize, Run};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::formats::{Halves, Input, Signals};
use crate::graph::ids::DenseId;
use crate::memory::{Budget, Buffer};
use crate::prepare::dictionary::{self, Dictionary, NumberingVisitor};
use crate::prepare::prepared::{Graph, InputInfo};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Mark bit of a vertex that has a partner.
const HAS_PARTNER: u32 = 1;
/// Mark bit of a vertex: the input contains the edge from the vertex to its partner.
const FORTH: u32 = 2;
/// Mark bit of a vertex: the input contains the edge from the partner to the vertex.
const BACK: u32 = 4;
/// Mark bit of a vertex: the input contains the edge to its partner more than once.
const AGAIN: u32 = 8;
/// Number of mark bits of a vertex.
const BITS: u32 = 4;
/// Number of vertices whose marks share a 32-bit word.
const OF_WORD: u32 = 8;
/// Mask for a 32-bit word of marks: the bits `FORTH` and `BACK` of all vertices in the word.
const SEEN: u32 = 0x6666_6666;

/// Marks that say for each vertex whether the input contains an edge to its partner, and whether it repeats that edge.
pub(super) struct PairCounts {
    marks: Buffer<u32>,
}

/// Returns true if the input lists each edge from both ends, so that two entries are one edge. `info` describes the
/// graph that was built from this input.
///
/// # Errors
/// [`Error::Usage`] if only some files of the input list each edge from both ends; bad input if a file can't be read.
pub(super) fn lists_both_ends(input: &Input, info: &InputInfo) -> Result<bool> {
    match (input.lists_both_ends()?, info.halves) {
        (true, Halves::Some) => Err(Error::Usage(format!(
            "{}: some files list each edge from both ends and others list it once, so repeats can't be counted; convert \
             all to one format",
            input.name()
        ))),
        (by_format, halves) => Ok(by_format && halves == Halves::None),
    }
}

impl PairCounts {
    /// Returns the memory in bytes that [`Self::count`] takes on each rank.
    pub fn bytes(graph: &GraphSize<'_>, ranks: usize) -> u64 {
        let marks = 4 * (graph.ids / u64::from(OF_WORD) + 1);
        4 * graph.ids + if ranks > 1 { 2 * marks } else { marks } + graph.reading
    }

    /// Looks for pairs of vertices in the input. On rank 0, `fill` writes the partners: for each dense id, 1 plus the
    /// dense id of the partner, or 0 if there is none. Collective.
    ///
    /// # Errors
    /// Errors of reading the input, including that it has changed since the graph was built; [`Error::Limit`];
    /// [`Error::Stopped`].
    pub fn count(graph: &Graph, run: &Run<'_>, fill: impl FnOnce(&mut [u32]) -> Result<()>) -> Result<PairCounts> {
        let Run { comm, threads, budget, .. } = *run;
        let open = run.input.ok_or_else(|| Error::internal("read the input once more", "the job lends none"))?;
        let (input, info) = (open()?, &graph.info);
        let ids = info.ids as usize;
        let mut partners: Buffer<u32> = budget.zeroed(ids, "pairs to look for (4 bytes an id)")?;
        if comm.is_leader() {
            fill(&mut partners)?;
        }
        // Sends the partners to all ranks. The other ranks contribute zeros, so the sum over all ranks is the partners
        // of rank 0.
        comm.reduce_scatter(&mut partners);
        comm.all_gather_shares(&mut partners);
        let marks: Buffer<AtomicU32> = budget.zeroed(ids / OF_WORD as usize + 1, "marks of pairs (4 bits an id)")?;
        for (id, _) in partners.iter().enumerate().filter(|&(_, &partner)| partner > 0) {
            let (word, shift) = place(id as u32);
            marks[word].fetch_or(HAS_PARTNER << shift, Relaxed);
        }
        let _reading = budget.reserve(input.scratch_bytes(threads), "reading the input once more")?;
        let open = || Dictionary::open(&dictionary::path(&graph.folder), info.identity, budget);
        let dictionary = info.sparse.then(open).transpose()?;
        let (name, both_ends) = (input.name(), lists_both_ends(&input, info)?);
        let visitor = |_| EdgeVisitor {
            state: PairCounter { partners: &partners, marks: &marks, both_ends },
            edge: |counter: &mut PairCounter<'_>, [u, v]: [u64; 2]| {
                counter.edge(u, v);
                Ok(())
            },
        };
        let numbered = |visitor| NumberingVisitor::new(dictionary.as_ref(), None, &name, visitor);
        let mut counters: Vec<_> = (0..threads.max(1)).map(visitor).map(numbered).collect();
        edges::read_again(&input, info, &mut counters, comm, &Signals)?;
        drop(counters);
        Ok(PairCounts { marks: all(comm, marks.into_plain(), budget)? })
    }

    /// Returns true if the input contains an edge between the vertex with dense id `id` and its partner.
    pub fn occurs(&self, id: DenseId) -> bool {
        self.of(id) & (FORTH | BACK) != 0
    }

    /// Returns true if the input repeats the edge between the vertex with dense id `id` and its partner.
    pub fn repeats(&self, id: DenseId) -> bool {
        self.of(id) & AGAIN != 0
    }

    fn of(&self, DenseId(id): DenseId) -> u32 {
        let (word, shift) = place(id);
        self.marks[word] >> shift
    }
}

/// Returns the index of the 32-bit word with the marks of dense id `id`, and the bit offset of the marks in the word.
#[inline]
fn place(id: u32) -> (usize, u32) {
    ((id / OF_WORD) as usize, BITS * (id % OF_WORD))
}

/// Combines the marks that all ranks have set, and returns the result on every rank. Collective.
fn all(comm: &Comm, mine: Buffer<u32>, budget: &Budget) -> Result<Buffer<u32>> {
    if comm.ranks() == 1 {
        return Ok(mine);
    }
    let mut sums: Buffer<u32> = budget.zeroed(mine.len(), "marks of pairs of all ranks (4 bits an id)")?;
    let (mut from, mut at) = (0, 0);
    comm.gather_each(&mine, |rank, words| {
        if rank != from {
            (from, at) = (rank, 0);
        }
        for (sum, word) in sums[at..at + words.len()].iter_mut().zip(words) {
            let twice = *sum & word & SEEN;
            // Bit AGAIN of a vertex is two bits above its bit FORTH, and one bit above its bit BACK.
            *sum |= word | (twice << 2 | twice << 1) & (AGAIN * 0x1111_1111);
        }
        at += words.len();
    });
    Ok(sums)
}

/// Looks for pairs among the edges that one thread reads. The endpoints of these edges are dense ids.
struct PairCounter<'a> {
    partners: &'a [u32],
    marks: &'a [AtomicU32],
    /// Whether the input lists each edge twice, once from each end. The two entries then count as one edge.
    both_ends: bool,
}

impl PairCounter<'_> {
    #[inline]
    fn edge(&self, u: u64, v: u64) {
        if self.is_pair(u, v) {
            self.mark(u as u32, FORTH);
        } else if self.is_pair(v, u) {
            self.mark(v as u32, if self.both_ends { BACK } else { FORTH });
        }
    }

    /// Returns true if `other` is the partner of `id`. Tests a mark bit first, because most vertices have no partner
    /// and mark bits take less memory than partners.
    #[inline]
    fn is_pair(&self, id: u64, other: u64) -> bool {
        let (word, shift) = place(id as u32);
        let has_partner = self.marks.get(word).is_some_and(|word| word.load(Relaxed) >> shift & HAS_PARTNER != 0);
        has_partner && self.partners.get(id as usize).is_some_and(|&partner| u64::from(partner) == other + 1)
    }

    fn mark(&self, id: u32, mark: u32) {
        let (word, shift) = place(id);
        let (word, mark) = (&self.marks[word], mark << shift);
        if word.fetch_or(mark, Relaxed) & mark != 0 {
            word.fetch_or(AGAIN << shift, Relaxed);
        }
    }
}
