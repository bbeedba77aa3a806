//! Final checks of trees, after the pass over all edges. The pass must have seen the edge from every parent to its
//! child, and the reported statistics must match the result columns.

use super::SourceChecked;
use super::columns::TreeColumns;
use super::edges::PassResult;
use super::reader::UNREACHED;
use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::tree::fault::TreeFault;
use crate::error::Result;
use crate::graph::direction::Direction;
use crate::process::signals;
use std::ops::RangeInclusive;

/// Checks that the pass over all edges saw the edge from every parent to its child. Then compares the reported
/// statistics with the result columns.
///
/// # Errors
/// [`crate::Error::Validation`] if an edge is missing or a number differs.
pub(super) fn compare(columns: &TreeColumns<'_>, results: &Results<'_>, seen: &PassResult) -> Result<()> {
    let mut wrong = seen.wrong;
    let mut figures: Vec<TreeCounts> = columns.sources.iter().map(TreeCounts::new).collect();
    let mut vertices = 0..columns.places.vertices() as u32;
    for (degree, first, end) in columns.places.degrees().iter() {
        for vertex in vertices.by_ref().take((end - first) as usize) {
            for (number, &level) in columns.levels(vertex).iter().enumerate().filter(|(_, level)| **level != UNREACHED)
            {
                figures[number].add(level, degree);
                if columns.roots[number] != Some(vertex) && !seen.parent(vertex, number) {
                    let found = (number, TreeFault::NoEdge { vertex, parent: columns.parents(vertex)[number] });
                    wrong = Some(wrong.map_or(found, |wrong| wrong.min(found)));
                }
            }
        }
        signals::check()?;
    }
    if let Some((number, fault)) = wrong {
        return Err(columns.wrong(number, fault));
    }
    for (number, (figures, reported)) in figures.iter().zip(columns.sources).enumerate() {
        let edges = match results.info.direction {
            // In an undirected graph, both ends of an edge are reached, or neither is.
            Direction::Undirected => figures.degrees / 2..=figures.degrees / 2,
            // The reported number counts repeated edges once.
            Direction::Directed => seen.edges[number].saturating_sub(seen.repeats)..=seen.edges[number],
        };
        figures.check(reported, columns.roots[number].is_some(), &edges)?;
    }
    Ok(())
}

/// Statistics of one tree, counted in its result columns.
struct TreeCounts {
    reached: u64,
    depth: u64,
    degrees: u64,
    frontiers: Vec<u64>,
}

impl TreeCounts {
    fn new(reported: &SourceChecked) -> TreeCounts {
        TreeCounts { reached: 0, depth: 0, degrees: 0, frontiers: vec![0; reported.frontiers.len()] }
    }

    fn add(&mut self, level: u32, degree: u32) {
        self.reached += 1;
        self.depth = self.depth.max(level.into());
        self.degrees += u64::from(degree);
        if let Some(frontier) = self.frontiers.get_mut(level as usize) {
            *frontier += 1;
        }
    }

    fn check(&self, reported: &SourceChecked, has_edges: bool, edges: &RangeInclusive<u64>) -> Result<()> {
        let TreeCounts { reached, depth, .. } = *self;
        let SourceChecked { output: of_job, frontiers } = reported;
        let wrong = |what: String| Err(differs(of_job.source, &what));
        if !has_edges {
            // A root without edges has no place (position in the order of vertices).
            let is_alone = (of_job.reached, of_job.depth, of_job.edges, reached) == (1, 0, 0, 0);
            return if is_alone { Ok(()) } else { wrong("it has no edge but reached other vertices".into()) };
        }
        if (reached, depth) != (of_job.reached, of_job.depth) {
            return wrong(format!(
                "its columns have {reached} vertices and depth {depth}, the job reports {} and {}",
                of_job.reached, of_job.depth
            ));
        }
        if !edges.contains(&of_job.edges) {
            return wrong(format!("{} edges have a reached end, the job reports {}", edges.start(), of_job.edges));
        }
        match self.frontiers.iter().zip(frontiers).enumerate().find(|(_, (mine, of_job))| mine != of_job) {
            Some((level, (mine, of_job))) => {
                wrong(format!("{mine} vertices have level {level}, the job reports {of_job}"))
            }
            None => Ok(()),
        }
    }
}
