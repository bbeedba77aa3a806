//! Columns of parents and levels, read for several sources: all of a vertex side by side, at its place.

use super::SourceChecked;
use super::reader::Reader;
use crate::algo::Results;
use crate::algo::searches::places::Places;
use crate::algo::searches::tree::fault::Fault;
use crate::algo::team::{Parts, team};
use crate::error::{Error, Result};
use crate::memory::{Buffer, cells};
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// The level of a vertex that is not reached: larger than one more than any other.
pub(super) const UNREACHED: u32 = 1 << 31;
/// The parent of such a vertex, and of a root.
pub(super) const NOBODY: u32 = ISOLATED;

/// Places that a thread takes at a time.
const PART: usize = 1 << 14;

/// The columns of some sources.
pub(super) struct Columns<'a> {
    pub places: &'a Places,
    pub sources: &'a [SourceChecked],
    /// The place of each source; `None` for one that has no edge.
    pub roots: Vec<Option<u32>>,
    /// The level in each tree of each vertex.
    levels: Buffer<u32>,
    /// The place of the parent.
    parents: Buffer<u32>,
}

impl<'a> Columns<'a> {
    /// Reads the columns of these sources. Each vertex has a level and a parent, or neither.
    ///
    /// # Errors
    /// [`Error::Validation`] for columns that no search leaves; [`Error::Limit`]; those of reading.
    pub fn read(
        places: &'a Places,
        results: &Results<'_>,
        sources: &'a [SourceChecked],
        algorithm: &'static str,
    ) -> Result<Columns<'a>> {
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
                let root = Reader { places, results, source: sources[number].source, algorithm }.read(put)?;
                roots.lock().unwrap_or_else(PoisonError::into_inner)[number] = root;
                Ok(())
            })
        })?;
        let roots = roots.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Columns { places, sources, roots, levels, parents })
    }

    /// Returns the levels of the vertex at a place.
    #[inline]
    pub fn levels(&self, place: u32) -> &[u32] {
        let of = self.sources.len();
        &self.levels[place as usize * of..][..of]
    }

    /// Returns the places of its parents.
    #[inline]
    pub fn parents(&self, place: u32) -> &[u32] {
        let of = self.sources.len();
        &self.parents[place as usize * of..][..of]
    }

    /// Returns a fault as an error.
    pub fn wrong(&self, number: usize, fault: Fault) -> Error {
        fault.of_source(&self.sources[number].source.to_string(), &|place| self.places.name(place))
    }

    /// Checks that the level of each vertex is one more than that of its parent, down to 0 at the root alone: so no parents go in a cycle.
    ///
    /// # Errors
    /// [`Error::Validation`], [`Error::Stopped`].
    pub fn lead_to_roots(&self, threads: usize) -> Result<()> {
        let first: Mutex<Option<(usize, Fault)>> = Mutex::default();
        let parts = Parts::new(self.places.vertices() as usize, PART);
        team(threads, &|_| {
            parts.each(|part| {
                signals::check()?;
                let faults = part.filter_map(|v| self.step(v as u32));
                if let Some(found) = faults.min() {
                    let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                    *first = Some(first.map_or(found, |first| first.min(found)));
                }
                Ok(())
            })
        })?;
        let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
        first.map_or(Ok(()), |(number, fault)| Err(self.wrong(number, fault)))
    }

    /// Returns the first tree in which the level of a vertex is not one more than that of its parent.
    fn step(&self, vertex: u32) -> Option<(usize, Fault)> {
        let steps = self.levels(vertex).iter().zip(self.parents(vertex)).enumerate();
        steps.filter(|(_, (level, _))| **level != UNREACHED).find_map(|(number, (&level, &parent))| {
            if self.roots[number] == Some(vertex) {
                return None;
            }
            let above = self.levels(parent)[number];
            match above {
                UNREACHED => Some((number, Fault::LostParent { vertex, parent })),
                _ if level == above + 1 => None,
                _ => Some((number, Fault::Level { vertex, level, parent, above })),
            }
        })
    }
}
