//! Rows on a disk, which are asked for before a step top-down looks at them.

use super::shared::Graph;
use crate::memory::will_need;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Entries that a thread has asked for and not looked at, unless a single row has more: too much would push out of memory what was just read.
const ENTRIES: u64 = 1 << 17;
/// Rows that these are of, at most.
const ROWS: usize = 1 << 8;

/// How far ahead of the vertices of a list their rows are asked for.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The place in the list of the first vertex whose row is not.
    next: usize,
    /// Entries that were asked for and not looked at.
    entries: u64,
}

impl Ahead {
    /// Asks for the rows that come soon, before that of the vertex at `at` is looked at; nothing where rows are in memory. `at` goes up by one from
    /// call to call.
    #[inline]
    pub fn go(&mut self, graph: &Graph<'_>, listed: &[AtomicU32], at: usize) {
        if graph.on_disk {
            self.ask(graph, listed, at);
        }
    }

    fn ask(&mut self, graph: &Graph<'_>, listed: &[AtomicU32], at: usize) {
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
