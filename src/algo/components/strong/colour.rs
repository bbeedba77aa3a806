//! Divides vertices into classes by colour, and finds a component in each class.
//!
//! Each vertex has a label, and takes the largest label that reaches it as its colour. Vertices of one component have
//! the same colour. The vertex with this label is the root of the colour: it reaches all vertices of the colour. The
//! vertices of the colour that also reach the root form the root's component. The other vertices of the colour become
//! a class of the next round. Classes shrink fast: on average, half of the vertices that reach a vertex get another
//! colour or join a component. So the number of rounds grows with the logarithm of the number of vertices. Labels are
//! hashes. If labels descended with the vertices, a chain of components would take one round per component.

use super::search::{Changed, LIVE, Search, Unpacked, View, Visited, Workers};
use crate::algo::rows::{Batch, FEW, SPARSE};
use crate::error::Result;
use crate::graph::direction::EdgeDirection::{In, Out};
use std::sync::atomic::Ordering::Relaxed;

/// Returns the label of a vertex. Labels are distinct, and greater than 0.
fn label(v: u32) -> u32 {
    let mut hash = (v + 1).wrapping_mul(0x9e37_79b1) & !LIVE;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b) & !LIVE;
    hash ^ hash >> 15
}

/// Assigns each live vertex (one that is in no component yet) to a new class, identified by the largest label that
/// reaches the vertex within its present class. In the first round only the pivot has a label, and vertices that it
/// does not reach are in class 0. Collective.
///
/// # Errors
/// [`crate::Error::Stopped`], on all ranks, with classes unchanged; [`crate::Error::Addresses`] if no thread can be
/// started.
pub(super) fn colour(search: &mut Search<'_>, is_first: bool, workers: Workers<'_>) -> Result<bool> {
    let pivot = if is_first { search.pivot() } else { None };
    match pivot {
        Some(pivot) => {
            search.marks[0].iter_mut().for_each(|colour| *colour.get_mut() = 0);
            *search.marks[0][pivot as usize].get_mut() = label(pivot);
            search.find(pivot);
        }
        None => {
            for &mut v in search.live.vertices() {
                *search.marks[0][v as usize].get_mut() = label(v);
            }
            search.step((Visited::Live, Out, Changed::Colours), workers, push_colour)?;
        }
    }
    let mut left = search.live.entries();
    while !search.list.vertices().is_empty() {
        if search.gives_up() {
            return Ok(false);
        }
        left = left.saturating_sub(search.list.entries());
        match pivot.filter(|_| search.list.entries() > FEW.max(left / SPARSE)) {
            Some(pivot) => {
                let (class, wanted) = (search.of[pivot as usize].load(Relaxed), label(pivot));
                search.step((Visited::Live, In, Changed::Colours), workers, |view, v, unpacked, batch| {
                    let colour = |u: u32| view.marks[0][u as usize].load(Relaxed);
                    let is_reached = |u: u32| colour(u) == wanted;
                    if colour(v) == 0 && view.of(v) == class && view.any(v, In, unpacked, is_reached) {
                        view.marks[0][v as usize].store(wanted, Relaxed);
                        batch.push(v, view.entries(v));
                    }
                })?;
            }
            None => search.step((Visited::Found, Out, Changed::Colours), workers, push_colour)?,
        }
    }
    for &mut v in search.live.vertices() {
        *search.of[v as usize].get_mut() = LIVE | *search.marks[0][v as usize].get_mut();
    }
    Ok(true)
}

/// Passes the colour of `v` on to each out-neighbour in the same class that has a smaller colour.
fn push_colour(view: &View<'_>, v: u32, unpacked: &mut Unpacked, batch: &mut Batch<'_>) {
    let (own, colour) = (view.of(v), view.marks[0][v as usize].load(Relaxed));
    view.rows.each(v, Out, unpacked, |w| {
        let of_other = &view.marks[0][w as usize];
        if view.of(w) == own
            && of_other.load(Relaxed) < colour
            && of_other.fetch_max(colour, Relaxed) < colour
            && view.queue(w)
        {
            batch.push(w, view.entries(w));
        }
    });
}

/// Makes one component per class, which consists of the root and of all vertices of the class that reach the root.
/// Collective.
///
/// # Errors
/// [`crate::Error::Stopped`], on all ranks, with classes unchanged; [`crate::Error::Addresses`] if no thread can be
/// started.
pub(super) fn assign(search: &mut Search<'_>, workers: Workers<'_>) -> Result<bool> {
    for at in 0..search.live.vertices().len() {
        let v = search.live.vertices()[at];
        let class = *search.of[v as usize].get_mut() & !LIVE;
        *search.marks[0][v as usize].get_mut() = class;
        if class == label(v) {
            *search.of[v as usize].get_mut() = v;
            search.find(v);
        }
    }
    let reached = reach_back(search, workers);
    if !matches!(reached, Ok(true)) {
        for &mut v in search.live.vertices() {
            *search.of[v as usize].get_mut() = LIVE | *search.marks[0][v as usize].get_mut();
        }
    }
    reached
}

/// Searches backwards from each root in `list`. Assigns each vertex that reaches the root within its class to the
/// component of the root.
fn reach_back(search: &mut Search<'_>, workers: Workers<'_>) -> Result<bool> {
    let root = if let [root] = *search.list.vertices() { Some(root) } else { None };
    let mut left = search.live.entries();
    while !search.list.vertices().is_empty() {
        if search.gives_up() {
            return Ok(false);
        }
        left = left.saturating_sub(search.list.entries());
        match root.filter(|_| search.list.entries() > FEW.max(left / SPARSE)) {
            Some(root) => {
                let class = LIVE | label(root);
                search.step((Visited::Live, Out, Changed::Components), workers, |view, v, unpacked, batch| {
                    let is_reached = |u: u32| view.of(u) == root;
                    if view.of(v) == class && view.any(v, Out, unpacked, is_reached) {
                        view.of[v as usize].store(root, Relaxed);
                        batch.push(v, view.entries(v));
                    }
                })?;
            }
            None => search.step((Visited::Found, In, Changed::Components), workers, |view, v, unpacked, batch| {
                let (root, class) = (view.of(v), LIVE | view.marks[0][v as usize].load(Relaxed));
                view.rows.each(v, In, unpacked, |w| {
                    if view.of(w) == class && view.assign(w, class, root) {
                        batch.push(w, view.entries(w));
                    }
                });
            })?,
        }
    }
    Ok(true)
}
