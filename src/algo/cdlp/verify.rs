//! Checks the labels that label propagation found by computing them again. The check reads the distinct edges of the
//! input, identifies vertices by input ids, and sorts the labels of neighbours.

use super::options::Cdlp;
use super::output::CdlpOutput;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::graph::direction::EdgeDirection::{In, Out};
use crate::memory::Buffer;
use crate::process::signals;
use crate::results::read::READING;

/// Number of vertices that the check processes between two checks for signals.
const STRIDE: usize = 1 << 16;

/// Returns an error if free memory is too small for the check. The error says how much memory the check takes.
pub(super) fn check_room(edges: &EdgeSource<'_>, results: &Results<'_>) -> std::result::Result<(), String> {
    let ids = 12 * results.info.ids + 4 * results.info.connected;
    EdgeList::check_room(edges, results, (2, 1, ids))
}

/// Computes the labels again, and compares them with the reported statistics and the result column. Returns a sentence
/// about the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(
    options: &Cdlp,
    output: &CdlpOutput,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> Result<String> {
    let (info, budget, threads) = (results.info, results.budget, results.threads);
    let _reserved = budget.reserve(READING + EdgeList::batch_bytes(threads), "edges and a column")?;
    let ids = Ids::open(results)?;
    // A word contains a vertex in its upper half and a neighbour in its lower half. In a directed graph, there is a
    // list for each direction.
    let ways = if info.direction == Direction::Undirected { &[In][..] } else { &[In, Out] };
    let lists = ways.iter().map(|&way| EdgeList::of_rows(way, edges, &ids, results)).collect::<Result<Vec<_>>>()?;
    let purpose = "labels to verify by (12 bytes for each id)";
    let mut labels: Buffer<u32> = budget.zeroed(info.ids as usize, purpose)?;
    let mut next: Buffer<u32> = budget.zeroed(info.ids as usize, purpose)?;
    labels.iter_mut().zip(0..).for_each(|(label, row)| *label = row);
    let (mut done, mut changed) = (0, 0);
    while done < options.iterations && (done == 0 || changed > 0) {
        let mut rest: Vec<&[u64]> = lists.iter().map(EdgeList::edges).collect();
        let mut votes = Vec::new();
        for row in 0..labels.len() {
            if row.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            votes.clear();
            for words in &mut rest {
                let own = words.iter().take_while(|&&word| word >> 32 == row as u64).count();
                votes.extend(words[..own].iter().map(|&word| labels[word as u32 as usize]));
                *words = &words[own..];
            }
            votes.sort_unstable();
            // Of equally frequent labels, the smallest one comes last in the reversed order, and `max_by_key` returns
            // the last.
            let best = votes.chunk_by(|a, b| a == b).rev().max_by_key(|equal| equal.len());
            next[row] = best.map_or(labels[row], |equal| equal[0]);
        }
        changed = labels.iter().zip(&*next).filter(|(before, after)| before != after).count() as u64;
        std::mem::swap(&mut labels, &mut next);
        done += 1;
    }
    next.fill(0);
    labels.iter().for_each(|&label| next[label as usize] += 1);
    // Vertices that the input declares may have larger ids than any vertex of an edge.
    let found = CdlpOutput::new((done, changed), &next, info.rows() - info.ids);
    let name = edges.name();
    if *output != found {
        return Err(Error::Validation(format!("{found:?} by the edges of {name}, the job has {output:?}")));
    }
    let label = |row: u64| labels.get(row as usize).map_or(row, |&label| label.into());
    results.check_column("out/cdlp/label", &ids, (-1, "as label"), |row| ids.number(label(row)) as i64)?;
    let communities = found.communities;
    Ok(format!(
        "{communities} communities after {done} iterations along the edges of {name}, which have the same vertices"
    ))
}
