//! Checks that files of undirected edges list each edge equally often at both ends.
//!
//! A scan sums a hash of the two ends over all listed neighbours. The sign is plus in the list of the smaller id, and
//! minus in the list of the larger id. The sum of a symmetric file is 0. The sum of any other file is 0 with a
//! probability of 1 in 2^64. Weights are not part of the hash. If the sum is not 0, more passes search for the first
//! wrong edge: each pass divides the remaining candidates (id pairs) among buckets.

use std::io::BufReader;

use super::input_cache::CacheUse;
use super::run::run;
use crate::error::{At, Error, Result};
use crate::formats::pass::state::CHUNK;
use crate::formats::sink::{sign, signed};
use crate::formats::{
    Directions, EdgeVisitor, Format, Head, Part, ScanState, Share, Signals, UseOfDirection, Weights, erased, metis,
};

/// Number of buckets among which one pass divides the candidates for a wrong edge.
const BUCKETS: usize = 1 << 14;

/// Checks a file that lists `entries` neighbours, whose hashes sum to `balance`. If the sum is not 0, reads the file
/// again with `threads` threads to find the wrong edge.
///
/// # Errors
/// Bad input if an edge is listed at only one end. A file that lists every edge once is an error only if direction is
/// kept.
pub(crate) fn check(part: &Part, head: &Head, entries: u64, balance: u64, threads: usize) -> Result<()> {
    let is_half = head.is_half(entries, balance == 0);
    let is_checked = match head.directions {
        Directions::Listed | Directions::Half => false,
        Directions::Both => true,
        Directions::BothOrHalf => !is_half || part.use_of_direction == UseOfDirection::Followed,
    };
    if !is_checked || balance == 0 {
        return Ok(());
    }
    let (u, v) = one_sided(part, head.vertices.unwrap_or(0), threads)?;
    let (at, first) = match part.format {
        Format::Metis => (At::Line(line_of(part, u)?), 1),
        _ => (At::File, 0),
    };
    let (u, v) = (u + first, v + first);
    let found = format!("{v} in the list of vertex {u}, but {u} not in the list of {v}, or less often");
    let remedy = match (is_half, part.format) {
        (true, _) => "each edge is listed once, so leave direction out: directed = false in [input]",
        (false, Format::Metis) => {
            "list the edge at both ends; arcs are read from other formats, such as text or a general matrix (mtx)"
        }
        (false, _) => "write the graph again, with both directions of each edge, or as a directed one",
    };
    Err(Error::input(&part.path, at, "each edge in the lists of both ends, as it has no direction", found, remedy))
}

/// Returns the smallest edge that is listed at only one end, or more often at one end than at the other. The first
/// vertex of the result is the end at which the edge is listed, or listed more often.
fn one_sided(part: &Part, vertices: u64, threads: usize) -> Result<(u64, u64)> {
    let (parts, ids) = ([part.clone()], u128::from(vertices));
    let mut pairs = 0..ids * ids;
    loop {
        let width = (pairs.end - pairs.start).div_ceil(BUCKETS as u128);
        // Sums hashes per bucket of id pairs; each bucket covers `width` pairs. If `width` is 1, it sums signs
        // instead.
        let add = move |balances: &mut Vec<u64>, [u, v]: [u64; 2]| {
            let pair = u128::from(u.min(v)) * ids + u128::from(u.max(v));
            let bucket = pair.checked_sub(pairs.start).map_or(BUCKETS as u128, |pair| pair / width);
            if let Some(balance) = balances.get_mut(bucket.min(BUCKETS as u128) as usize) {
                *balance = balance.wrapping_add(if width == 1 { sign(u, v) } else { signed(u, v) });
            }
            Ok(())
        };
        let new = |_| EdgeVisitor { state: vec![0u64; BUCKETS], edge: add };
        let mut visitors: Vec<_> = (0..threads.max(1)).map(new).collect();
        let reading = (CHUNK, Weights::Skip);
        run(
            ScanState::new(&parts, reading, (Share::ALL, visitors.len()), false, &Signals),
            CacheUse::Nothing,
            &mut erased(&mut visitors),
        )?;
        let balance = |nth: usize| visitors.iter().fold(0u64, |sum, visitor| sum.wrapping_add(visitor.state[nth]));
        let first = (0..BUCKETS).map(|nth| (nth, balance(nth))).find(|(_, balance)| *balance != 0);
        let Some((nth, balance)) = first else {
            let remedy = "leave the file alone while it is read, and run again";
            return Err(Error::input(&part.path, At::File, "the same lists in every pass", "other ones", remedy));
        };
        let start = pairs.start + nth as u128 * width;
        if width == 1 {
            let (least, most) = ((start / ids) as u64, (start % ids) as u64);
            return Ok(if (balance as i64) > 0 { (least, most) } else { (most, least) });
        }
        pairs = start..pairs.end.min(start + width);
    }
}

/// Returns the 1-based line number of a vertex in a METIS file.
fn line_of(part: &Part, vertex: u64) -> Result<u64> {
    let mut unpacked = BufReader::with_capacity(1 << 16, part.unpacked()?);
    metis::line_of(vertex, &mut unpacked).map_err(|e| Error::unreadable(&part.path, &e))
}
