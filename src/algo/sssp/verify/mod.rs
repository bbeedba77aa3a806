//! Checks the results that a job has written: compares the columns of distances and parents with the edges of the
//! input.
//!
//! The checks trust neither the search nor, if the input still exists, the prepared graph. They compute the order of
//! vertices again (`searches::places`), and read the columns in that order (`columns`). They compare all edges of the
//! input (`input`) with the columns, by the same rules as the checks during a job (`super::validate`).

mod columns;
mod counted;
mod input;

use super::output::SsspSource;
use super::validate::{self, PathTree};
use crate::algo::searches::places::Places;
use crate::algo::{EdgeSource, Results, WeightSource};
use crate::error::Result;
use crate::formats::WeightType;
use crate::graph::ids::Vertex;
use crate::results::read;
use columns::PathColumns;
use input::InputEdges;

/// Size, in bytes, of the buffers through which the two columns of a source are read.
const READING: u64 = 2 * read::READING;

/// Checks the result columns of all sources in `found` against the edges of the graph. Returns a sentence about the
/// result.
///
/// # Errors
/// [`crate::Error::Validation`] for a wrong tree; read errors; [`crate::Error::Stopped`].
pub fn trees(
    edges: &EdgeSource<'_>,
    weights: WeightSource,
    results: &Results<'_>,
    found: &[&SsspSource],
) -> Result<String> {
    let (budget, threads) = (results.budget, results.threads);
    let kind = weights.kind(results.stored.weights);
    let _reading = budget.reserve(edges.scratch_bytes(threads).max(READING), "reading edges and results again")?;
    let places = Places::new(edges, results)?;
    let vertices = places.vertices();
    // Size, in bytes, of the columns of a source.
    let of_source = super::distances::Distances::bytes(kind, vertices) + 4 * vertices;
    let fits = |&trees: &usize| of_source * trees as u64 + validate::bytes(vertices, trees, weights) <= budget.free();
    let batch = (1..=validate::MOST).rev().find(fits).unwrap_or(1);
    for sources in found.chunks(batch) {
        let read = |reported: &&SsspSource| PathColumns::read(&places, results, reported.source, kind);
        let columns = sources.iter().map(read).collect::<Result<Vec<PathColumns>>>()?;
        let (mut reported, mut of) = (Vec::new(), Vec::new());
        for (columns, source) in columns.iter().zip(sources) {
            match columns.root {
                Some(root) => {
                    reported.push(*source);
                    of.push(PathTree { root: Vertex(root), distances: &columns.distances, parents: &columns.parents });
                }
                None => counted::check_isolated(source, columns)?,
            }
        }
        // The largest weight is not known here, so 64-bit integers may always overflow.
        let heaviest = if kind == WeightType::U64 { u64::MAX } else { 0 };
        let may_leave = reported.iter().any(|reported| reported.max_distance.may_overflow(heaviest));
        let (figures, counted) = match edges {
            EdgeSource::Blocks(graph) => (validate::validate(graph, weights, &of, threads, budget)?, Vec::new()),
            EdgeSource::Input(input) => {
                let edges = InputEdges::new(input, weights, kind, &places, (results.info.direction, may_leave));
                (validate::check(&edges, &of, threads, budget)?, edges.counted())
            }
        };
        for (number, (reported, figures)) in reported.into_iter().zip(figures).enumerate() {
            let edges = (counted.get(number).copied(), may_leave);
            counted::compare(reported, of[number], figures, edges, &places, results)?;
        }
    }
    let reached = found.iter().map(|reported| reported.reached).sum::<u64>();
    Ok(format!(
        "{} checked against the edges of {} and their weights: {reached} vertices, each at its distance, with its first parent",
        found.len(),
        edges.name()
    ))
}
