//! Strategy `atomic`, a simple method for comparison. Threads expand the frontier. They claim the neighbours that this
//! rank owns with atomic minimum operations. They append all other neighbours to the pairs to send, at positions that
//! an atomic counter assigns. No repeats are dropped.

use super::Candidates;
use super::rows::Expansion;
use super::update::SharedClaims;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::team::{Parts, team};
use crate::algo::traverse::levels::{lap, pair};
use crate::algo::traverse::search::StepTimes;
use crate::error::Result;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Number of frontier vertices that a thread processes at a time.
const PART: usize = 64;

/// Expands a piece (a range of the frontier's edges). Claims the neighbours that this rank owns, and writes the
/// candidates for other ranks to `pairs`.
pub(super) fn expand(
    expansion: &Expansion<'_>,
    ownership: &VertexOwnership,
    claims: SharedClaims<'_>,
    piece: Range<u64>,
    pairs: &[AtomicU64],
    threads: usize,
    steps: &mut StepTimes,
) -> Result<Candidates> {
    let mut lapped = Instant::now();
    let ranks = ownership.ranks;
    let next: Vec<AtomicU64> = (0..ranks).map(|_| AtomicU64::new(0)).collect();
    let each = |visit: &(dyn Fn(Range<u64>) + Sync)| {
        let first = expansion.offsets().partition_point(|&before| before <= piece.start).saturating_sub(1);
        let end = expansion.offsets().partition_point(|&before| before < piece.end).max(first);
        let parts = Parts::new(end - first, PART);
        team(threads, &|_| {
            parts.each(|part| {
                let [from, to] = [part.start, part.end].map(|at| expansion.offsets[first + at]);
                visit(from.max(piece.start)..to.min(piece.end));
                signals::check()
            })
        })
    };
    if ranks > 1 {
        each(&|entries| {
            expansion.each(entries, |neighbour, _| {
                next[ownership.locate(neighbour).0 as usize].fetch_add(1, Relaxed);
            });
        })?;
    }
    let rank = ownership.rank;
    next[rank].store(0, Relaxed);
    let mut end = 0;
    for next in &next {
        end += next.swap(end, Relaxed);
    }
    let starts: Vec<u64> = next.iter().map(|next| next.load(Relaxed)).collect();
    each(&|entries| {
        expansion.each(entries, |neighbour, v| {
            let (owner, local_index) = ownership.locate(neighbour);
            if owner as usize == rank {
                claims.claim(local_index as usize, v);
            } else {
                let at = next[owner as usize].fetch_add(1, Relaxed);
                pairs[at as usize].store(pair(owner * ownership.stride + local_index, v), Relaxed);
            }
        });
    })?;
    lap(&mut lapped, &mut steps.search);
    let to = starts.iter().zip(&next).map(|(&from, to)| from as usize..to.load(Relaxed) as usize).collect();
    Ok(Candidates { to, pruned: 0, away: end })
}
