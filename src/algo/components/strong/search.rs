//! The arrays of a search for strongly connected components, and the step of which all of its phases consist.

use crate::algo::bits::{set, set_alone};
use crate::algo::round::{self, agree};
use crate::algo::rows::{Batch, CHECKED, FEW, Neighbours, VertexList, span};
use crate::algo::team::{WorkList, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::block_store;
use crate::graph::direction::EdgeDirection::{self, In, Out};
use crate::memory::{Budget, Buffer, prefetch_near};
use crate::process::signals;
use std::cmp::Reverse;
use std::mem::swap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bit that is set in [`Search::of`] while a vertex is *live*, that is, in no component yet. The other bits are then
/// its class. A directed graph has fewer than 2^31 vertices, because each has two rows.
pub(super) const LIVE: u32 = 1 << 31;

/// Cost of a vertex in a step, besides its row entries. The unit of all costs is the time in which a depth-first search
/// reads a row entry, about 10 ns.
const VERTEX: u64 = 6;
/// Constant part of the cost of a narrow step, which one thread executes.
const STEP: u64 = 32;
/// Cost of starting a thread for a wide step.
const START: u64 = 1 << 12;
/// Number of row entries with cost 1 in a wide step. They are read in order, and often only the first few of a row.
const ENTRIES: u64 = 16;

/// Returns the memory in bytes that a search of `vertices` vertices takes.
pub(super) fn bytes(vertices: u64) -> u64 {
    6 * 4 * vertices + 8 * vertices.div_ceil(64)
}

/// Returns the cost of reading the rows of all vertices in `list` on one thread, by depth-first search or in narrow
/// steps.
fn serial_cost(list: &VertexList) -> u64 {
    VERTEX * list.len() as u64 + list.entries()
}

/// Returns the cost of reading the rows of all vertices in `list` in a wide step of `threads` threads.
fn wide_cost(list: &VertexList, threads: u64) -> u64 {
    (VERTEX * list.len() as u64 + list.entries() / ENTRIES) / threads + START * threads
}

/// Buffers into which both halves of a row are unpacked.
pub(super) type Unpacked = [block_store::Unpacked; 2];

/// The ranks, and the number of threads of this rank.
pub(super) type Workers<'c> = (&'c Comm, usize);

/// State that all threads read and change in a step. Components only replace classes and colours only grow, so the
/// order of changes does not matter.
pub(super) struct View<'s> {
    pub rows: &'s Neighbours<'s>,
    pub of: &'s [AtomicU32],
    pub marks: [&'s [AtomicU32]; 2],
    queued: &'s [AtomicU64],
}

impl View<'_> {
    /// Returns the element of [`Search::of`] for vertex `v`.
    #[inline]
    pub(super) fn of(&self, v: u32) -> u32 {
        self.of[v as usize].load(Relaxed)
    }

    /// Returns the number of entries in the rows of vertex `v`.
    #[inline]
    pub(super) fn entries(&self, v: u32) -> u64 {
        self.rows.entries(v as usize)
    }

    /// Moves vertex `v` to the component of `root` if its element of [`Search::of`] still is `own`. Returns false if
    /// another thread has changed the element.
    #[inline]
    pub(super) fn assign(&self, v: u32, own: u32, root: u32) -> bool {
        self.of[v as usize].compare_exchange(own, root, Relaxed, Relaxed).is_ok()
    }

    /// Marks vertex `v` as a member of the next list. Returns true if it was not marked before.
    #[inline]
    pub(super) fn queue(&self, v: u32) -> bool {
        set(self.queued, v)
    }

    /// Returns true if `is_wanted` returns true for some neighbour of `v` in direction `way`.
    #[inline]
    pub(super) fn any(
        &self,
        v: u32,
        way: EdgeDirection,
        unpacked: &mut Unpacked,
        is_wanted: impl Fn(u32) -> bool,
    ) -> bool {
        let rows = self.rows.row(self.rows.direction.row(v, way), unpacked);
        rows.iter().any(|row| row.row(0).iter().any(|&u| is_wanted(u)))
    }
}

/// The list of vertices that a step processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visited {
    /// The vertices that the last step found.
    Found,
    /// All vertices that were live when the phase began.
    Live,
}

/// The value per vertex that a step changes, and that ranks send each other after the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    /// The component of the vertex, which replaces its class.
    Components,
    /// The colour of the vertex, which only increases.
    Colours,
}

/// The arrays of a search, and the rows that it reads. After each step the arrays are the same on all ranks, except
/// `marks` while the search trims.
pub(super) struct Search<'g> {
    pub rows: Neighbours<'g>,
    /// For each vertex in a component, the vertex that represents the component. For other vertices, [`LIVE`] and the
    /// class. Vertices of one component have the same class, so the search ignores edges between classes.
    pub of: Buffer<AtomicU32>,
    /// While the search trims, one live in-neighbour and one live out-neighbour of each vertex. Otherwise the first
    /// array contains the colours, and the second is unused.
    pub marks: [Buffer<AtomicU32>; 2],
    /// Vertices that were live when the phase began, ascending.
    pub live: VertexList,
    /// Vertices that the last step found.
    pub list: VertexList,
    pub next: VertexList,
    /// Bitmap of the vertices in `next`, for steps that may find a vertex more than once.
    queued: Buffer<AtomicU64>,
    /// Whether large lists are sorted before a step. They are sorted if not all blocks fit in the memory of some
    /// rank.
    sorts: bool,
    steps: u64,
    /// Number of threads of all ranks.
    threads: u64,
    /// Cost of the steps so far.
    spent: u64,
    /// Largest cost of the steps with which the search goes on. `None` if it can't give up, because some rank does not
    /// have all rows in memory.
    pub limit: Option<u64>,
}

impl<'g> Search<'g> {
    /// Allocates the arrays, with every vertex live (in no component yet), and then calls `rows`, which must divide
    /// the vertices among the ranks and return the rows. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; the error of `rows`.
    pub(super) fn new(
        vertices: usize,
        (budget, (comm, threads)): (&Budget, Workers<'_>),
        rows: impl FnOnce() -> Result<Neighbours<'g>>,
    ) -> Result<Search<'g>> {
        let purpose = "classes and colours of vertices (12 bytes each)";
        let mut of: Buffer<AtomicU32> = budget.zeroed(vertices, purpose)?;
        of.iter_mut().for_each(|of| *of.get_mut() = LIVE);
        let marks = [budget.zeroed(vertices, purpose)?, budget.zeroed(vertices, purpose)?];
        let list = || VertexList::new(vertices, "lists of vertices (4 bytes for each)", budget);
        let (live, list, next) = (list()?, list()?, list()?);
        live.append((0..vertices as u32).map(|v| (v, 0)));
        let queued = budget.zeroed(vertices.div_ceil(64), "queued vertices (a bit each)")?;
        let rows = rows()?;
        let sorts = comm.any(rows.releases);
        let limit = comm.all(rows.in_memory().is_some()).then_some(0);
        let mut all_threads = [threads as u64];
        comm.all_sum(&mut all_threads);
        let (steps, [threads], spent) = (0, all_threads, 0);
        Ok(Search { rows, of, marks, live, list, next, queued, sorts, steps, threads, spent, limit })
    }

    /// Begins a phase: removes vertices that are no longer live from `live`. Returns the number of remaining vertices.
    pub(super) fn begin(&mut self) -> usize {
        let Search { rows, of, live, list, next, .. } = self;
        list.clear();
        next.clear();
        let is_live = |v: &u32| of[*v as usize].load(Relaxed) & LIVE != 0;
        next.append(live.vertices().iter().copied().filter(is_live).map(|v| (v, rows.entries(v as usize))));
        swap(live, next);
        self.limit = self.limit.map(|_| serial_cost(live).saturating_sub(wide_cost(live, self.threads)));
        live.len()
    }

    /// Returns true once the steps so far and another one of all live vertices cost more than the depth-first search of
    /// these vertices would. So a search takes at most about twice as long as the depth-first search alone, and one
    /// that advances well ends before. Returns the same on all ranks.
    pub(super) fn gives_up(&self) -> bool {
        self.limit.is_some_and(|limit| self.spent > limit)
    }

    /// Appends a vertex to the list that the next step processes.
    pub(super) fn find(&mut self, v: u32) {
        self.list.batch().push(v, self.rows.entries(v as usize));
    }

    /// Returns the live vertex with the largest product of in-degree and out-degree, which is likely to be in the
    /// largest component.
    pub(super) fn pivot(&mut self) -> Option<u32> {
        let Search { rows, live, .. } = self;
        let pairs = |v: u32| rows.degree_of(v, In) * rows.degree_of(v, Out);
        live.vertices().iter().copied().max_by_key(|&v| (pairs(v), Reverse(v)))
    }

    /// Executes a step: calls `visit` with each vertex of the list that `visited` selects. `visit` must read the row
    /// of the vertex in direction `way`, and append the vertices that it finds to the given batch. Afterwards `list`
    /// contains all vertices that were found. Every rank processes the whole list if it is small. A large list is
    /// divided among the ranks. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], on all ranks; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn step(
        &mut self,
        (visited, way, changed): (Visited, EdgeDirection, Changed),
        (comm, own_threads): Workers<'_>,
        visit: impl Fn(&View<'_>, u32, &mut Unpacked, &mut Batch<'_>) + Sync,
    ) -> Result<()> {
        let Search { rows, of, marks, live, list, next, queued, sorts, steps, threads, spent, .. } = self;
        if comm.ranks() == 1 || steps.is_multiple_of(CHECKED) {
            agree(comm, signals::check())?;
        }
        *steps += 1;
        next.clear();
        let source = if visited == Visited::Live { live } else { &mut *list };
        let is_few = source.entries() <= FEW;
        *spent += if is_few { serial_cost(source) + STEP } else { wide_cost(source, *threads) };
        let source = source.vertices();
        if *sorts && !is_few {
            source.sort_unstable();
        }
        let source = &*source;
        let view = View { rows, of, marks: marks.each_ref().map(|marks| &**marks), queued };
        let visit_part = |part: &[u32], unpacked: &mut Unpacked| {
            let mut batch = next.batch();
            let expect = |w: u32| prefetch_near(view.of, w as usize);
            rows.each_of((part, way), expect, |v| visit(&view, v, unpacked, &mut batch));
        };
        if is_few {
            visit_part(source, &mut Unpacked::default());
        } else {
            let parts = rows.divide(source, way);
            let place = |rank: usize| parts.len() * rank / comm.ranks();
            let own = &parts[place(comm.rank())..place(comm.rank() + 1)];
            let ranges: Vec<Range<usize>> = own.iter().map(|part| span(part)).collect();
            let left = rows.releases.then(|| rows.parts_of_blocks(&ranges));
            let work = WorkList::new(own.iter().copied().zip(&ranges).collect());
            let visited = team(own_threads, &|_| {
                let mut unpacked = Unpacked::default();
                while let Some((part, range)) = work.take() {
                    round::check(comm)?;
                    visit_part(part, &mut unpacked);
                    left.iter().for_each(|left| rows.release(range, left));
                }
                Ok(())
            });
            agree(comm, visited.and(signals::check()))?;
        }
        rows.have_read(source.len());
        swap(list, next);
        if !is_few && comm.ranks() > 1 {
            self.exchange(changed, comm);
        }
        for &mut v in self.list.vertices() {
            *self.queued[v as usize / 64].get_mut() &= !(1 << (v % 64));
        }
        Ok(())
    }

    /// Sends the components or colours of the vertices that this rank has found to all other ranks, and receives
    /// theirs. Collective.
    fn exchange(&mut self, changed: Changed, comm: &Comm) {
        let Search { rows, of, marks, list, next, queued, .. } = self;
        for &mut v in list.vertices() {
            *queued[v as usize / 64].get_mut() &= !(1 << (v % 64));
        }
        let values = if changed == Changed::Components { &**of } else { &*marks[0] };
        let mut longest = [list.len() as u64];
        comm.all_max(&mut longest);
        next.clear();
        let mut batch = next.batch();
        for at in (0..longest[0] as usize).step_by(Comm::PIECE) {
            let piece = list.vertices().get(at..).unwrap_or_default();
            let piece = &piece[..piece.len().min(Comm::PIECE)];
            let word = |&v: &u32| u64::from(v) << 32 | u64::from(values[v as usize].load(Relaxed));
            let mine: Vec<u64> = piece.iter().map(word).collect();
            comm.gather_each(&mine, |_, words: &[u64]| {
                for (v, value) in words.iter().map(|&word| ((word >> 32) as u32, word as u32)) {
                    match changed {
                        Changed::Components => values[v as usize].fetch_min(value, Relaxed),
                        Changed::Colours => values[v as usize].fetch_max(value, Relaxed),
                    };
                    if set_alone(queued, v) {
                        batch.push(v, rows.entries(v as usize));
                    }
                }
            });
        }
        drop(batch);
        swap(list, next);
    }
}
