//! Read-ahead of adjacency rows on a disk, or prefetch of rows in memory, before a top-down step processes them.

use super::graph::CpuGraph;
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::will_need;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of row entries that are requested from the disk but not yet processed, unless a single row has more.
/// With more entries, the operating system could evict pages before they are processed.
const ENTRIES: u64 = 1 << 17;
/// Maximum number of rows that are requested from the disk but not yet processed.
const ROWS: usize = 1 << 8;
/// Prefetch distance for adjacency rows in memory, in vertices of the frontier's list. Row offsets, and rows that are
/// stored in [`Heads`](super::heads::Heads), are prefetched at twice this distance.
const STEP: usize = 8;

/// State of the read-ahead of one thread: how many of the rows after the current vertex have been requested from the
/// disk.
#[derive(Debug, Default)]
pub struct ReadAhead {
    /// List index of the first vertex whose row has not been requested.
    next: usize,
    /// Number of row entries that have been requested but not yet processed.
    entries: u64,
}

impl ReadAhead {
    /// Requests the rows that are processed soon. Call it before the row of the vertex at list index `at` is processed,
    /// and increase `at` by one from call to call.
    #[inline]
    pub fn advance(&mut self, graph: &CpuGraph<'_>, listed: &[AtomicU32], at: usize) {
        if graph.on_disk {
            return self.request(graph, listed, at);
        }
        let vertex = |at: usize| listed.get(at).map(|v| v.load(Relaxed));
        let row = |v: u32| graph.direction.row(v, Out);
        match vertex(at + 2 * STEP) {
            Some(v) if graph.short_row(v).is_some() => graph.heads.prefetch(v),
            Some(v) => graph.rows.prefetch_starts(row(v)),
            None => {}
        }
        if let Some(v) = vertex(at + STEP).filter(|&v| graph.short_row(v).is_none()) {
            graph.rows.prefetch_neighbours(row(v));
        }
    }

    fn request(&mut self, graph: &CpuGraph<'_>, listed: &[AtomicU32], at: usize) {
        let until = listed.len().min(at + ROWS);
        while self.next < until && (self.next == at || self.entries < ENTRIES) {
            let v = listed[self.next].load(Relaxed);
            self.entries += graph.taken(v);
            graph.taken_row(v).into_iter().for_each(will_need);
            self.next += 1;
        }
        self.entries -= graph.taken(listed[at].load(Relaxed));
    }
}
