//! Reads the columns of one source, and refuses what no search writes.

use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::places::Places;
use crate::algo::searches::tree::fault::{Fault, breaks};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;

/// Level of an unreached vertex. It exceeds every other level by more than 1.
pub(super) const UNREACHED: u32 = 1 << 31;
/// Parent of an unreached vertex, and of a root.
pub(super) const NOBODY: u32 = ISOLATED;

/// Number of rows between two checks for signals.
const STRIDE: u64 = 1 << 20;

/// Reader of the columns of one source.
pub(super) struct Reader<'a> {
    pub places: &'a Places,
    pub results: &'a Results<'a>,
    pub source: InputId,
    pub algorithm: &'static str,
}

impl Reader<'_> {
    /// Calls `put` with the place, the level and the parent of every vertex. Returns the place of the root.
    pub fn read(&self, put: impl Fn(u32, u32, u32)) -> Result<Option<u32>> {
        let (places, source, of_rows) = (self.places, self.source, self.places.of_rows()?);
        let place = |row: u64| of_rows.get(row as usize).copied().filter(|&place| place != ISOLATED);
        let wrong = |fault: Fault| fault.of_source(&source.to_string(), &|place| places.name(place));
        let root = places.ids.row_of(source).ok_or_else(|| differs(source, "no vertex of the input"))?;
        let folder = format!("out/{}/{source}", self.algorithm);
        let mut parents = self.results.column(&format!("{folder}/parent"), &places.ids, -1i64)?;
        let mut levels = self.results.column(&format!("{folder}/level"), &places.ids, -1i32)?;
        let mut row = 0;
        loop {
            let (parent, level) = match (parents.next().transpose()?, levels.next().transpose()?) {
                (Some(parent), Some(level)) => (parent, level),
                (None, None) => break,
                _ => return Err(differs(source, "its columns of parents and levels differ in length")),
            };
            let (name, vertex) = (places.ids.id(row), place(row));
            let parent_id = places.ids.named(parent, level >= 0);
            let refuse = |rule: u32, what: &str| Err(breaks(&source.to_string(), rule, what));
            if row == root {
                match (parent_id, level) {
                    (None, _) => return Err(wrong(Fault::Root { parent: None })),
                    (Some(parent), _) if parent != source => {
                        return refuse(1, &format!("the parent of the root is {parent} and not the root"));
                    }
                    (Some(_), 0) => vertex.into_iter().for_each(|vertex| put(vertex, 0, NOBODY)),
                    (Some(_), level) => return refuse(2, &format!("the root has level {level}")),
                }
            } else {
                match (parent_id, u32::try_from(level)) {
                    (None, Err(_)) if (parent, level) == (-1, -1) => {
                        vertex.into_iter().for_each(|vertex| put(vertex, UNREACHED, NOBODY));
                    }
                    (None, Err(_)) => {
                        return refuse(1, &format!("vertex {name} has parent {parent} and level {level}"));
                    }
                    (None, Ok(level)) => return refuse(1, &format!("vertex {name} has level {level} and no parent")),
                    (Some(parent), Err(_)) => {
                        return refuse(1, &format!("vertex {name} has parent {parent} and no level"));
                    }
                    (Some(_), Ok(0)) => return refuse(2, &format!("vertex {name} has level 0, and is not the root")),
                    (Some(parent), Ok(level)) => match (vertex, places.ids.row_of(parent).map(place)) {
                        (_, None) => {
                            return refuse(1, &format!("the parent of vertex {name} is {parent}, which is no vertex"));
                        }
                        (Some(vertex), Some(Some(at))) => put(vertex, level, at),
                        _ => return refuse(5, &format!("no edge leads to vertex {name} from its parent {parent}")),
                    },
                }
            }
            row += 1;
            if row % STRIDE == 0 {
                signals::check()?;
            }
        }
        Ok(place(root))
    }
}
