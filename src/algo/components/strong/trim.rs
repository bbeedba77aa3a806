//! Finds vertices that are components by themselves, because no edge enters or no edge leaves them.
//!
//! A vertex without a live neighbour of its class in one direction is on no cycle. Its removal may leave a neighbour
//! without a live neighbour in that direction. For each vertex, one live neighbour in each direction is stored. The
//! next one is looked up in the row only when that neighbour is removed. So all steps together read each row once.

use super::search::{Changed::Components, LIVE, Search, Unpacked, View, Visited, Workers};
use crate::error::Result;
use crate::graph::direction::EdgeDirection::{self, In, Out};
use std::sync::atomic::Ordering::Relaxed;

/// Makes each vertex that has no live in-neighbour or no live out-neighbour in its class a component by itself, until
/// every remaining vertex has both. Collective.
///
/// # Errors
/// [`crate::Error::Stopped`], on all ranks; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn trim(search: &mut Search<'_>, workers: Workers<'_>) -> Result<bool> {
    for &mut v in search.live.vertices() {
        search.marks.iter_mut().for_each(|marks| *marks[v as usize].get_mut() = 0);
    }
    search.step((Visited::Live, Out, Components), workers, |view, v, unpacked, batch| {
        if [In, Out].into_iter().any(|way| is_removed(view, v, way, unpacked)) {
            batch.push(v, view.entries(v));
        }
    })?;
    while !search.list.vertices().is_empty() {
        if search.gives_up() {
            return Ok(false);
        }
        search.step((Visited::Found, Out, Components), workers, |view, v, unpacked, batch| {
            for (way, back) in [(Out, In), (In, Out)] {
                view.rows.each(v, way, unpacked, |w| {
                    if is_removed(view, w, back, &mut Unpacked::default()) {
                        batch.push(w, view.entries(w));
                    }
                });
            }
        })?;
    }
    Ok(true)
}

/// Makes a live vertex a component by itself if it has no live neighbour of its class in direction `way`. Returns true
/// if there is no such neighbour.
fn is_removed(view: &View<'_>, v: u32, way: EdgeDirection, unpacked: &mut Unpacked) -> bool {
    let (own, mark) = (view.of(v), &view.marks[usize::from(way == Out)][v as usize]);
    // Neighbours before the mark are not live. 0 is the mark of a vertex for which no neighbour was looked up yet.
    let from = mark.load(Relaxed);
    if own & LIVE == 0 || from != 0 && view.of(from) == own {
        return false;
    }
    for half in view.rows.row(view.rows.direction.row(v, way), unpacked) {
        let row = half.row(0);
        let rest = if from == 0 { row } else { &row[row.partition_point(|&u| u < from)..] };
        if let Some(&u) = rest.iter().find(|&&u| view.of(u) == own) {
            mark.store(u, Relaxed);
            return false;
        }
    }
    view.assign(v, own, v)
}
