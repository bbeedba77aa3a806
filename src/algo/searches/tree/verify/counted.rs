//! Last checks of trees, after a pass over all edges: an edge from every parent was seen, and the job reports the
//! figures of its columns.

use super::SourceChecked;
use super::columns::Columns;
use super::edges::PassResult;
use super::reader::UNREACHED;
use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::tree::fault::Fault;
use crate::error::Result;
use crate::graph::direction::Direction;
use crate::process::signals;
use std::ops::RangeInclusive;

/// Checks that an edge from its parent to every vertex was seen, and compares the reported figures with the columns.
///
/// # Errors
/// [`Error::Validation`](crate::error::Error::Validation).
pub(super) fn agree(columns: &Columns<'_>, results: &Results<'_>, seen: &PassResult) -> Result<()> {
    let mut wrong = seen.wrong;
    let mut figures: Vec<Figures> = columns.sources.iter().map(Figures::new).collect();
    let mut vertices = 0..columns.places.vertices() as u32;
    for (degree, first, end) in columns.places.degrees().iter() {
        for vertex in vertices.by_ref().take((end - first) as usize) {
            for (number, &level) in columns.levels(vertex).iter().enumerate().filter(|(_, level)| **level != UNREACHED)
            {
                figures[number].add(level, degree);
                if columns.roots[number] != Some(vertex) && !seen.parent(vertex, number) {
                    let found = (number, Fault::NoEdge { vertex, parent: columns.parents(vertex)[number] });
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
            // Both ends of an edge are reached, or neither.
            Direction::Undirected => figures.degrees / 2..=figures.degrees / 2,
            // The job reports distinct edges.
            Direction::Directed => seen.edges[number].saturating_sub(seen.repeats)..=seen.edges[number],
        };
        figures.check(reported, columns.roots[number].is_some(), &edges)?;
    }
    Ok(())
}

/// Figures of a tree, counted in its columns.
struct Figures {
    reached: u64,
    depth: u64,
    degrees: u64,
    frontiers: Vec<u64>,
}

impl Figures {
    fn new(reported: &SourceChecked) -> Figures {
        Figures { reached: 0, depth: 0, degrees: 0, frontiers: vec![0; reported.frontiers.len()] }
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
        let Figures { reached, depth, .. } = *self;
        if !has_edges {
            // A root without an edge has no place.
            let alone = reported.reached == 1 && reported.depth == 0 && reported.edges == 0 && reached == 0;
            return if alone {
                Ok(())
            } else {
                Err(differs(reported.source, "it has no edge but reached other vertices"))
            };
        }
        if (reached, depth) != (reported.reached, reported.depth) {
            let (reported_reached, reported_depth) = (reported.reached, reported.depth);
            let what = format!(
                "its columns have {reached} vertices and depth {depth}, the job reports {reported_reached} and {reported_depth}"
            );
            return Err(differs(reported.source, &what));
        }
        if !edges.contains(&reported.edges) {
            let what = format!("{} edges have a reached end, the job reports {}", edges.start(), reported.edges);
            return Err(differs(reported.source, &what));
        }
        let differing = self.frontiers.iter().zip(&reported.frontiers).position(|(mine, reported)| mine != reported);
        differing.map_or(Ok(()), |level| {
            let (mine, job) = (self.frontiers[level], reported.frontiers[level]);
            Err(differs(reported.source, &format!("{mine} vertices have level {level}, the job reports {job}")))
        })
    }
}
