//! Reads the result columns (parents and levels) of several sources. The values of a vertex for all sources are stored
//! side by side, and vertices are in the order of descending degree.

use super::SourceChecked;
use super::reader::{self, UNREACHED};
use crate::algo::Results;
use crate::algo::searches::places::Places;
use crate::algo::searches::tree::fault::{NumberedFault, TreeFault};
use crate::algo::team::{Parts, check_parts, team};
use crate::error::{Error, Result};
use crate::memory::{Buffer, cells};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Number of vertices that a thread processes at a time.
const PART: usize = 1 << 14;

/// The parents and levels of several sources, as read from their columns.
pub(super) struct TreeColumns<'a> {
    pub places: &'a Places,
    pub sources: &'a [SourceChecked],
    /// Root of each source's tree, as a place (a position in the order of vertices); `None` for a source without edges.
    pub roots: Vec<Option<u32>>,
    /// Level of each vertex, for all sources side by side.
    levels: Buffer<u32>,
    /// Parent of each vertex as a place (a position in the order of vertices), for all sources side by side.
    parents: Buffer<u32>,
}

impl<'a> TreeColumns<'a> {
    /// Reads the result columns of `sources`. Checks that each vertex has either both a level and a parent, or neither.
    ///
    /// # Errors
    /// [`Error::Validation`] for columns that no search can have written; [`Error::Limit`]; read errors.
    pub fn read(
        places: &'a Places,
        results: &Results<'_>,
        sources: &'a [SourceChecked],
        algorithm: &'static str,
    ) -> Result<TreeColumns<'a>> {
        let length = places.vertices() as usize * sources.len();
        let budget = results.budget;
        let mut levels: Buffer<u32> = budget.zeroed(length, "levels to verify (4 bytes a vertex and source)")?;
        let mut parents: Buffer<u32> = budget.zeroed(length, "parents to verify (4 bytes a vertex and source)")?;
        let roots = Mutex::new(vec![None; sources.len()]);
        let (level_cells, parent_cells) = (cells(&mut levels), cells(&mut parents));
        let parts = Parts::new(sources.len(), 1);
        team(results.threads, &|_| {
            parts.each(|part| {
                let number = part.start;
                let cell = |place: u32| place as usize * sources.len() + number;
                let put = |place: u32, level: u32, parent: u32| {
                    level_cells[cell(place)].store(level, Relaxed);
                    parent_cells[cell(place)].store(parent, Relaxed);
                };
                let root = reader::read(places, results, (algorithm, sources[number].output.source), put)?;
                roots.lock()[number] = root;
                Ok(())
            })
        })?;
        let roots = roots.into_inner();
        Ok(TreeColumns { places, sources, roots, levels, parents })
    }

    /// Returns the levels of the vertex at `place` (its position in the order of vertices), one level for each source.
    #[inline]
    pub fn levels(&self, place: u32) -> &[u32] {
        let of = self.sources.len();
        &self.levels[place as usize * of..][..of]
    }

    /// Returns the parents of the vertex at `place` (its position in the order of vertices), one parent for each
    /// source. The parents are places, too.
    #[inline]
    pub fn parents(&self, place: u32) -> &[u32] {
        let of = self.sources.len();
        &self.parents[place as usize * of..][..of]
    }

    /// Converts `fault`, a fault in the tree with index `number`, into an error.
    pub fn wrong(&self, number: usize, fault: TreeFault) -> Error {
        fault.of_source(&self.sources[number].output.source.to_string(), &|place| self.places.name(place))
    }

    /// Checks that the level of each vertex is one more than the level of its parent. The parents then form no cycle,
    /// because only the root has level 0.
    ///
    /// # Errors
    /// [`Error::Validation`], [`Error::Stopped`].
    pub fn check_parent_chains(&self, threads: usize) -> Result<()> {
        let check = |part: Range<usize>, least: &mut Option<NumberedFault>| {
            *least = part.filter_map(|v| self.step(v as u32)).chain(*least).min();
            Ok::<(), Error>(())
        };
        let least = check_parts(threads, self.places.vertices() as usize, PART, || None, check)??;
        least.into_iter().flatten().min().map_or(Ok(()), |(number, fault)| Err(self.wrong(number, fault)))
    }

    /// Returns the index of the first tree in which the level of `vertex` is not one more than the level of its parent,
    /// together with the fault.
    fn step(&self, vertex: u32) -> Option<NumberedFault> {
        let steps = self.levels(vertex).iter().zip(self.parents(vertex)).enumerate();
        steps.filter(|(_, (level, _))| **level != UNREACHED).find_map(|(number, (&level, &parent))| {
            if self.roots[number] == Some(vertex) {
                return None;
            }
            let above = self.levels(parent)[number];
            match above {
                UNREACHED => Some((number, TreeFault::LostParent { vertex, parent })),
                _ if level == above + 1 => None,
                _ => Some((number, TreeFault::Level { vertex, level, parent, above })),
            }
        })
    }
}
