//! Pushing: the vertices whose distances became smaller relax their out-edges. They are processed bucket by bucket
//! (delta-stepping), or in the order in which their distances became smaller (Moore's algorithm).
//!
//! Each thread has its own buckets, with an entry for each vertex to push from. In a round, all threads process the
//! entries of the first nonempty bucket. A thread begins with its own entries, and then helps other threads. If the
//! thread adds few entries to the same bucket meanwhile, it processes them immediately (bucket fusion, Zhang et al.
//! 2020), so that deep graphs need few rounds. In a narrow round, which has few edges
//! ([`crate::algo::team::serial_policy`]), the first thread processes the buckets of all threads while the others
//! sleep.

use super::arithmetic::Arithmetic;
use super::bins::{DistanceBins, NearerVertex};
use super::rounds::relax_all;
use super::rows::{Entries, RowRequest, SortedRow, neighbour, weight};
use super::slices::{RowSlices, Word};
use super::walk::{NextRound, PathWalk, ThreadState};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::team::serial_policy::SerialPolicy;
use crate::memory::prefetch_near;
use parking_lot::MutexGuard;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Number of bucket entries that a thread claims at a time.
const CHUNK: usize = 128;
/// Maximum number of entries that a thread may add to the current bucket and then process without a new round.
const FUSED: usize = 1 << 12;
/// Number of entries in a bucket from which the number of edges of its vertices is estimated instead of counted.
const COUNTED: usize = 1 << 12;
/// Maximum length of a row whose candidate paths are collected before any distance is updated.
const SHORT: usize = 32;
/// Number of candidate paths from which a thread stops collecting and updates distances.
const COLLECTED: usize = 32;
/// Prefetch distance of adjacency rows, in bucket entries.
const AHEAD: usize = 32;

/// Options of pushing: up to which path length, and in what order.
#[derive(Debug, Clone, Copy)]
pub struct PushOptions<S> {
    /// Whether all distances share one bucket, so that vertices are processed in the order in which their distances
    /// decreased.
    pub is_moore: bool,
    /// Exclusive upper bound on path lengths: only shorter paths are followed. Vertices that are farther away find
    /// their distances by pulling ([`super::pull`]).
    pub cap: Option<S>,
    /// Number of edges above which a bucket is wide: the sum over its vertices. Pushing ends before a wide bucket.
    pub wide: u64,
}

impl<S> PushOptions<S> {
    /// Returns the options for pushing bucket by bucket until no distance decreases any more.
    pub fn whole() -> PushOptions<S> {
        PushOptions { is_moore: false, cap: None, wide: u64::MAX }
    }
}

/// Reason why pushing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushOutcome {
    /// Pushing is complete: no distance can become smaller.
    Done,
    /// Pushing ended before a wide bucket (a bucket whose vertices have very many edges). The edges of its vertices
    /// were not relaxed. The value is the index of the bucket.
    Wide(u64),
}

/// The buckets that the first thread processes while it works alone: its own buckets, and those of each thread that has
/// entries. Each element consists of the index of a thread and the buckets of that thread.
type AllBins<'w, S> = Vec<(usize, MutexGuard<'w, DistanceBins<S>>)>;

/// Pushes from the vertices in the buckets until no distance decreases or the next bucket is wide (its vertices have
/// very many edges). `kind` is the name of this phase in the report. Returns `None` if an error or a POSIX signal ends
/// the search. All threads must call it.
pub fn push<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    here: &mut ThreadState,
    kind: &str,
    options: PushOptions<A::Sum>,
) -> Option<PushOutcome> {
    let (mut rounds, mut relaxed, mut list) = (0, 0, Vec::new());
    let cap = options.cap.unwrap_or(A::UNREACHED);
    let bucket_of = |sum: A::Sum| if options.is_moore { 0 } else { A::bucket(sum, walk.graph.width) };
    // No round handles a bucket after this one.
    let last = options.cap.map_or(u64::MAX - 1, |cap| bucket_of(cap) + 1);
    let (mut policy, mut all) = (SerialPolicy::new(walk.threads), AllBins::new());
    loop {
        let mut next_round = match here.is_alone {
            true => next_alone(walk, here, &mut all, last, options.wide)?,
            false => next(walk, here, &policy, last, options.wide)?,
        };
        let (mut is_over, bound) = (next_round.is_over(last), walk.bound.load(Relaxed));
        if here.is_alone && (is_over || next_round.edges >= policy.bound() || next_round.edges > options.wide) {
            // Wake the other threads, which have slept until now.
            all.clear();
            *walk.next_round.lock() = next_round;
            here.is_alone = false;
            if !walk.wait(here) {
                return None;
            }
        } else if !here.is_alone && !is_over && next_round.edges < bound && next_round.edges <= options.wide {
            if here.thread == 0 {
                here.is_alone = true;
                all.extend((0..walk.threads).map(|thread| (thread, walk.bins(thread))));
            } else if walk.wait(here) {
                next_round = *walk.next_round.lock();
                is_over = next_round.is_over(last);
            } else {
                return None;
            }
        }
        if here.thread == 0 {
            policy.begin(next_round.edges, here.is_alone);
        }
        let mut own;
        let (bins, others) = match all.split_first_mut() {
            Some(((_, bins), others)) => (&mut **bins, &*others),
            None => {
                own = walk.bins(here.thread);
                (&mut *own, &[][..])
            }
        };
        if next_round.number == 0 {
            return push_without_buckets(walk, here, bins);
        }
        let bucket = next_round.number - 1;
        if is_over {
            return walk.end_phase(here, kind, rounds, relaxed).then_some(PushOutcome::Done);
        }
        if next_round.edges > options.wide {
            let list = walk.lists[here.thread].entries.read();
            put_back(walk, &list, bins, bucket);
            return walk.end_phase(here, kind, rounds, relaxed).then_some(PushOutcome::Wide(bucket));
        }
        rounds += 1;
        let lists = if here.is_alone { 1 + others.len() } else { walk.threads };
        for nth in 0..lists {
            // While the first thread works alone, `others` contains the other threads that have entries.
            let thread = if here.is_alone && nth > 0 { others[nth - 1].0 } else { (here.thread + nth) % walk.threads };
            let listed = &walk.lists[thread];
            let list = listed.entries.read();
            loop {
                let first = listed.taken.fetch_add(CHUNK, Relaxed);
                if first >= list.len() {
                    break;
                }
                let some = &list[first..(first + CHUNK).min(list.len())];
                relaxed += relax_list(walk, bins, some, cap, bucket_of);
            }
        }
        if walk.is_shared() {
            let mut nearer = std::mem::take(&mut bins.unsent);
            if !walk.share(here, &mut nearer, |entry| bins.push(bucket_of(entry.sum), entry)) {
                return None;
            }
            continue;
        }
        while !options.is_moore && (1..=FUSED).contains(&bins.refilled()) {
            bins.take(bucket, &mut list);
            relaxed += relax_list(walk, bins, &list, cap, bucket_of);
        }
    }
}

/// Finds the bucket that the threads process in the next round. Moves each thread's entries in this bucket to the list
/// of the thread. Returns `None` if an error or a POSIX signal ends the search. All threads must call it.
fn next<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    here: &mut ThreadState,
    policy: &SerialPolicy,
    last: u64,
    wide: u64,
) -> Option<NextRound> {
    let (now, after) = (here.round & 1, (here.round + 1) & 1);
    let mut bins = walk.bins(here.thread);
    walk.next[now].fetch_min(bucket_number(&bins), Relaxed);
    if !walk.wait(here) || !walk.reduce(here, &walk.next[now], RankExchange::all_min) {
        return None;
    }
    let mut next_round = NextRound { number: walk.next[now].load(Relaxed), edges: 0 };
    let is_over = next_round.is_over(last);
    if !is_over {
        let edges = take_bucket(walk, here.thread, next_round.number - 1, &mut bins, wide);
        walk.edges[now].fetch_add(edges, Relaxed);
    }
    // The first thread may lock the buckets of this thread next.
    drop(bins);
    if here.thread == 0 {
        // All threads have read these values, and no thread writes them before the next barrier.
        walk.next[after].store(u64::MAX, Relaxed);
        walk.edges[after].store(0, Relaxed);
        walk.bound.store(policy.bound(), Relaxed);
    }
    here.round += 1;
    if !walk.wait(here) || wide < u64::MAX && !is_over && !walk.reduce(here, &walk.edges[now], RankExchange::sum) {
        return None;
    }
    next_round.edges = walk.edges[now].load(Relaxed);
    Some(next_round)
}

/// Like [`next`], but is called by the first thread alone, while the other threads wait.
fn next_alone<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    here: &mut ThreadState,
    all: &mut AllBins<'_, A::Sum>,
    last: u64,
    wide: u64,
) -> Option<NextRound> {
    let least = AtomicU64::new(u64::MAX);
    all.retain(|(thread, bins)| {
        let first = bucket_number(bins);
        least.fetch_min(first, Relaxed);
        let stays = *thread == 0 || first < u64::MAX;
        if !stays {
            walk.lists[*thread].entries.write().clear();
        }
        stays
    });
    if !walk.wait(here) || !walk.reduce(here, &least, RankExchange::all_min) {
        return None;
    }
    let mut next_round = NextRound { number: least.into_inner(), edges: 0 };
    if !next_round.is_over(last) {
        let edges =
            all.iter_mut().map(|(thread, bins)| take_bucket(walk, *thread, next_round.number - 1, bins, wide)).sum();
        let edges = AtomicU64::new(edges);
        if wide < u64::MAX && !walk.reduce(here, &edges, RankExchange::sum) {
            return None;
        }
        next_round.edges = edges.into_inner();
    }
    Some(next_round)
}

/// Returns the index of the first bucket that has an entry, in the encoding of [`NextRound::number`].
fn bucket_number<S: Copy>(bins: &DistanceBins<S>) -> u64 {
    if bins.is_out_of_memory() { 0 } else { bins.first().map_or(u64::MAX, |bucket| bucket + 1) }
}

/// Moves the entries of a bucket to the list of a thread. Returns the number of edges of the vertices in the bucket. In
/// a graph without hubs, this number is an estimate. In a graph with hubs, it is exact if the bucket has few entries or
/// if pushing must end before a wide bucket.
fn take_bucket<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    thread: usize,
    bucket: u64,
    bins: &mut DistanceBins<A::Sum>,
    wide: u64,
) -> u64 {
    let (graph, list) = (walk.graph, &walk.lists[thread]);
    let mut entries = list.entries.write();
    bins.take(bucket, &mut entries);
    list.taken.store(0, Relaxed);
    match graph.has_hubs && (wide < u64::MAX || entries.len() < COUNTED) {
        true => entries.iter().map(|entry| graph.out.degree(entry.vertex)).sum(),
        false => entries.len() as u64 * (graph.entries / u64::from(graph.vertices.max(1))).max(1),
    }
}

/// Continues the search without buckets, because memory is too small for them. Relaxes the edges of all vertices in
/// rounds until no distance decreases. Returns `None` if an error or a POSIX signal ends the search. All threads must
/// call it.
fn push_without_buckets<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    here: &mut ThreadState,
    bins: &mut DistanceBins<A::Sum>,
) -> Option<PushOutcome> {
    if here.thread == 0 {
        tracing::info!(
            "memory is too small for buckets of vertices: searching by rounds over all vertices, which takes longer"
        );
    }
    bins.free();
    *walk.lists[here.thread].entries.write() = Vec::new();
    relax_all(walk, here).then_some(PushOutcome::Done)
}

/// Puts the entries of `list` back into the bucket with index `bucket`, except outdated entries. Also lowers
/// `walk.least` to the smallest distance in `list`, outdated entries included, if that is smaller. All vertices nearer
/// than `walk.least` have already pushed.
fn put_back<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    list: &[NearerVertex<A::Sum>],
    bins: &mut DistanceBins<A::Sum>,
    bucket: u64,
) {
    let sum_of = |entry: &NearerVertex<A::Sum>| A::load(&walk.sums[entry.vertex as usize]);
    let mut least = A::UNREACHED;
    for &entry in list {
        least = if entry.sum < least { entry.sum } else { least };
        if sum_of(&entry) == entry.sum {
            bins.push(bucket, entry);
        }
    }
    // All threads share `walk.least`, so each thread updates it only once.
    walk.least.fetch_min(A::to_word(least), Relaxed);
}

/// A path to `vertex`, represented by its last edge.
#[derive(Clone, Copy)]
struct PathStep<W> {
    way: W,
    vertex: u32,
}

impl<W> PathStep<W> {
    /// Extends the path to `from` by one edge. `entry` is the entry of this edge in the row of `from`. It may contain
    /// an index in `values` instead of a weight.
    #[inline(always)]
    fn along<A: Arithmetic<CandidatePath = W>>(from: NearerVertex<A::Sum>, entry: u64, values: &[u64]) -> PathStep<W> {
        let sum = A::add(from.sum, weight(entry), values);
        PathStep { way: A::way(sum, from.vertex, from.sum), vertex: neighbour(entry) }
    }
}

/// Relaxes the out-edges of the vertices in `list` that lead to paths shorter than `cap`. Skips outdated entries of
/// `list`. Returns the number of relaxed edges.
fn relax_list<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    bins: &mut DistanceBins<A::Sum>,
    list: &[NearerVertex<A::Sum>],
    cap: A::Sum,
    bucket_of: impl Fn(A::Sum) -> u64,
) -> u64 {
    let (tails, sums) = (walk.graph.tails, walk.sums);
    let mut take = |steps: &[PathStep<A::CandidatePath>]| {
        for &PathStep { way, vertex } in steps {
            let cell = &sums[vertex as usize];
            if A::is_better(way, cell) && A::improve(cell, way) {
                let entry = NearerVertex { sum: A::sum(way), vertex };
                // With several ranks, an entry enters a bucket only when it is sent.
                if walk.is_shared() { bins.unsent.push(entry) } else { bins.push(bucket_of(entry.sum), entry) }
            }
        }
    };
    match &walk.graph.out.entries {
        Entries::Short(words) => along_words(walk, words.slices(), list, cap, take),
        Entries::Long(words) => along_words(walk, words.slices(), list, cap, take),
        Entries::OnDisk(..) => {
            let mut relaxed = 0;
            along_disk(walk, list, cap, |step| {
                relaxed += 1;
                if step.vertex < tails {
                    take(&[step]);
                }
            });
            relaxed
        }
    }
}

/// Relaxes the out-edges of the vertices in `list`, whose rows must be in memory. Calls `take` with each resulting path
/// that is shorter than `cap` and may shorten a distance. Skips outdated entries of `list`. Returns the number of
/// relaxed edges.
fn along_words<A: Arithmetic, W: Word>(
    walk: &PathWalk<'_, A>,
    rows: RowSlices<'_, W>,
    list: &[NearerVertex<A::Sum>],
    cap: A::Sum,
    mut take: impl FnMut(&[PathStep<A::CandidatePath>]),
) -> u64 {
    let (tails, sums, values) = (walk.graph.tails, walk.sums, walk.values);
    let mut relaxed = 0;
    // A processor does not move loads before an atomic operation. So better paths of several vertices are collected
    // before any cell changes. Each path is written, but only better ones are counted: this avoids a branch that is
    // hard to predict.
    let mut better = [PathStep { way: A::way(A::ZERO, 0, A::ZERO), vertex: 0 }; COLLECTED + SHORT];
    let mut count = 0;
    let expect = |entry: &NearerVertex<A::Sum>| {
        prefetch_near(sums, entry.vertex as usize);
        rows.prefetch_start(entry.vertex);
    };
    // Lists are short, so rows of their first entries must be prefetched too.
    list.iter().take(AHEAD).for_each(expect);
    list.iter().take(AHEAD / 2).for_each(|entry| rows.prefetch_row(entry.vertex));
    for (at, &NearerVertex { sum, vertex }) in list.iter().enumerate() {
        if let Some(ahead) = list.get(at + AHEAD) {
            expect(ahead);
        }
        if let Some(ahead) = list.get(at + AHEAD / 2) {
            rows.prefetch_row(ahead.vertex);
        }
        if A::load(&sums[vertex as usize]) != sum {
            continue;
        }
        let row = rows.row(vertex);
        // With a cap, most edges of a row give paths that are too long.
        if row.len() > SHORT || cap < A::UNREACHED {
            for entry in row.entries() {
                let step = PathStep::along::<A>(NearerVertex { sum, vertex }, entry, values);
                if A::sum(step.way) >= cap {
                    break;
                }
                relaxed += 1;
                if step.vertex < tails && A::is_better(step.way, &sums[step.vertex as usize]) {
                    take(&[step]);
                }
            }
            continue;
        }
        relaxed += row.len() as u64;
        for entry in row.entries() {
            let step = PathStep::along::<A>(NearerVertex { sum, vertex }, entry, values);
            better[count] = step;
            let is_better = A::is_better(step.way, &sums[step.vertex as usize]);
            count += usize::from(is_better & (step.vertex < tails));
        }
        if count >= COLLECTED {
            take(&better[..count]);
            count = 0;
        }
    }
    take(&better[..count]);
    relaxed
}

/// Calls `each` with each path that is shorter than `cap` and ends with an out-edge of a vertex in `list`. Skips
/// outdated entries of `list`. Rows must be on a disk. Requests the rows of many vertices from the disk before it reads
/// any of them.
fn along_disk<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    list: &[NearerVertex<A::Sum>],
    cap: A::Sum,
    mut each: impl FnMut(PathStep<A::CandidatePath>),
) {
    let rows = &walk.graph.out;
    let came_nearer = |entry: NearerVertex<A::Sum>| A::load(&walk.sums[entry.vertex as usize]) != entry.sum;
    let wanted = |from: NearerVertex<A::Sum>| match rows.row(from.vertex) {
        _ if came_nearer(from) => None,
        SortedRow::OnDisk(row) if cap < A::UNREACHED => {
            let is_long = row.last_near().is_some_and(|last| A::add(from.sum, weight(last), walk.values) >= cap);
            (!is_long).then_some(RowRequest::First(from.vertex))
        }
        _ => Some(RowRequest::All(from.vertex)),
    };
    rows.for_each_prefetched(list.iter().copied(), wanted, |from| {
        if came_nearer(from) {
            return;
        }
        rows.row(from.vertex).along(false, |entry| {
            let step = PathStep::along::<A>(from, entry, walk.values);
            let is_short = A::sum(step.way) < cap;
            if is_short {
                each(step);
            }
            is_short
        });
    });
}
