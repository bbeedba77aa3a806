//! Verifies the cycle in the columns and in the report by the edges of a graph. To verify self-loops, it reads the
//! input again.

use super::columns::DfsColumns;
use super::wrong;
use crate::algo::dfs::output::MOST_OF_CYCLE;
use crate::algo::dfs::output::StrongComponents;
use crate::algo::dfs::record::NONE;
use crate::algo::edges::each_edge;
use crate::algo::searches::places::Places;
use crate::algo::{EdgeSource, Results};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::memory::{Budget, Buffer};
use crate::results::{RowId, column};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The cycle in the columns, and which of its edges have been found in the graph.
pub(super) struct CycleCheck {
    /// The successor of each vertex of the cycle; [`NONE`] for other vertices. Empty unless the results contain a cycle
    /// of two or more vertices.
    next: Buffer<u32>,
    /// A bit per vertex, which is set once the edge from the vertex to its successor has been found.
    seen: Buffer<AtomicU32>,
}

impl CycleCheck {
    /// Reads the cycle from its column, and compares it with the report. For a self-loop, the column contains only its
    /// vertex.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] if the cycle in the column is impossible; [`crate::Error::Limit`]; read errors.
    pub fn read(columns: &DfsColumns<'_>, strong: &StrongComponents, budget: &Budget) -> Result<CycleCheck> {
        let length = strong.cycle_length.unwrap_or(0);
        let vertices = if length > 1 { columns.places.vertices() as usize } else { 0 };
        let mut next: Buffer<u32> = budget.zeroed(vertices, "the cycle to verify (4 bytes a vertex)")?;
        next.fill(NONE);
        let seen = budget.zeroed(vertices / 32 + 1, "bits of the cycle")?;
        let reported = strong.cycle.len() as u64;
        if reported != length.min(MOST_OF_CYCLE as u64) {
            return Err(wrong(&format!("{reported} vertices of a cycle of {length} in the report")));
        }
        let Some((_, file)) = columns.results.own_file("out/dfs/cycle") else {
            let missing = || Err(wrong("the file of the reported cycle is missing"));
            return if length == 0 { Ok(CycleCheck { next, seen }) } else { missing() };
        };
        let path = columns.results.workdir.join(file);
        let (mut first, mut last) = (NONE, NONE);
        for (read, value) in (0u64..).zip(column::<i64>(&path, ["place", "cycle"], length, RowId::Number)?) {
            let value = value?;
            let named = columns.places.ids.named(value, true);
            let row = |id| columns.places.ids.row_of(id);
            let is_other = |reported: &InputId| row(*reported) != named.and_then(row);
            if named.is_none() || strong.cycle.get(read as usize).is_some_and(is_other) {
                return Err(wrong(&format!(
                    "vertex {value} is at position {read} (from 0) of the cycle, where the report has another"
                )));
            }
            if length == 1 {
                continue;
            }
            let place = columns.place(value, true).filter(|&place| place != first && next[place as usize] == NONE);
            let place = place.filter(|&place| place != last);
            let place = place.ok_or_else(|| wrong(&format!("vertex {value} is in the cycle twice, or has no edge")))?;
            match last {
                NONE => first = place,
                last => next[last as usize] = place,
            }
            last = place;
        }
        if let Some(end) = next.get_mut(last as usize) {
            *end = first;
        }
        Ok(CycleCheck { next, seen })
    }

    /// Marks the edge `from` → `to` as found if it is an edge of the cycle.
    #[inline]
    pub fn edge(&self, from: u32, to: u32) {
        if self.next.get(from as usize) == Some(&to) {
            self.seen[from as usize / 32].fetch_or(1 << (from % 32), Relaxed);
        }
    }

    /// Returns the two ends of an edge of the cycle that was not found in the graph, if there is one.
    pub fn lacks(&self) -> Option<[u32; 2]> {
        let is_seen = |v: u32| self.seen[v as usize / 32].load(Relaxed) >> (v % 32) & 1 == 1;
        let lacks = |&(v, next): &(u32, u32)| next != NONE && !is_seen(v);
        (0..).zip(self.next.iter().copied()).find(lacks).map(|(v, next)| [v, next])
    }
}

/// Checks that the report names the first self-loop at a reached vertex, if any. Does nothing if the results contain a
/// cycle of two or more vertices. `counts` is called with the row index of a vertex that has a self-loop, and must
/// return true if the search has reached this vertex.
///
/// # Errors
/// [`crate::Error::Validation`] if the report differs; read errors; [`crate::Error::Stopped`].
pub(super) fn check_loops(
    strong: &StrongComponents,
    edges: &EdgeSource<'_>,
    (places, results): (&Places, &Results<'_>),
    counts: &(dyn Fn(u64) -> bool + Sync),
) -> Result<()> {
    let info = results.info;
    if strong.cycle_length.is_some_and(|length| length > 1) {
        return Ok(());
    }
    let first = match edges {
        _ if info.loops == 0 => Some(None),
        EdgeSource::Input(input) => {
            let (firsts, _) =
                each_edge(input, vec![None; results.threads.max(1)], |first: &mut Option<u64>, [u, v]| {
                    if u == v {
                        let row = places.ids.row(u).filter(|&row| first.is_none_or(|first| row < first));
                        *first = row.filter(|&row| counts(row)).or(*first);
                    }
                    Ok(())
                })?;
            Some(firsts.into_iter().flatten().min())
        }
        // A prepared graph stores only the self-loop with the smallest id.
        EdgeSource::Blocks(_) => match info.first_loop {
            Some(first) if counts(first) => Some(Some(first)),
            Some(_) if info.loops == 1 => Some(None),
            _ => None,
        },
    };
    let (length, id) = (first.map(|row| u64::from(row.is_some())), first.flatten().map(|row| places.ids.id(row)));
    if (length, id) == (strong.cycle_length, strong.cycle.first().copied()) {
        return Ok(());
    }
    let found = id.map_or("no loop".to_owned(), |id| format!("a loop at {id}"));
    Err(wrong(&format!(
        "{found} by the edges, the report has a cycle of {:?}: {:?}",
        strong.cycle_length, strong.cycle
    )))
}
