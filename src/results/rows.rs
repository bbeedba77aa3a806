//! Maps ids of edges that are read again to rows of the results.

use super::{IDS, Values, values};
use crate::error::{Error, Result};
use crate::graph::ids::{FirstId, InputId, RawId};
use crate::prepare::order;
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::relabel::ISOLATED;
use std::path::Path;

/// Map from the ids of edges that a verification reads again to rows of the results.
pub struct ResultRows {
    /// The raw ids, ascending, one for each row, if they are sparse.
    sparse: Option<Vec<u64>>,
    first_id: FirstId,
    /// The row of each vertex, if edges come from blocks, which number vertices by degree.
    of_blocks: Option<Vec<u32>>,
}

impl ResultRows {
    /// Opens the map for results in `workdir`, and for edges that come from `blocks`, or else from the input itself.
    ///
    /// # Errors
    /// Those of reading the ids and the degree order.
    pub fn open(workdir: &Path, info: &InputInfo, blocks: Option<&Graph>) -> Result<ResultRows> {
        let path = workdir.join(IDS);
        let sparse = info.sparse.then(|| raw_ids(&path, info.first_id)?.collect()).transpose()?;
        Ok(ResultRows { sparse, first_id: info.first_id, of_blocks: blocks.map(rows_of_blocks).transpose()? })
    }

    /// Returns the row of an edge's endpoint, if it has one, and its input id. Endpoints of edges from blocks are vertices.
    pub fn of(&self, counted: u64) -> (Option<usize>, InputId) {
        let (row, raw) = match (&self.of_blocks, &self.sparse) {
            (None, None) => (Some(counted as usize), Some(counted)),
            (None, Some(ids)) => (ids.binary_search(&counted).ok(), Some(counted)),
            (Some(rows), sparse) => {
                let row = rows.get(counted as usize).map(|&row| row as usize);
                let raw = match sparse {
                    Some(ids) => row.and_then(|row| ids.get(row)).copied(),
                    None => row.map(|row| row as u64),
                };
                (row, raw)
            }
        };
        (row, self.first_id.input(RawId(raw.unwrap_or(counted))))
    }
}

/// Reads the raw id of each row of results from the list of sparse ids at `path`.
///
/// # Errors
/// [`Error::Io`]; [`Error::Validation`] for a file that is no list of ids.
pub fn raw_ids(path: &Path, first_id: FirstId) -> Result<Values<'_, u64>> {
    let raw = move |id: u64| {
        let raw = first_id.raw(InputId(id)).map(|RawId(raw)| raw);
        raw.ok_or_else(|| Error::Validation(format!("{IDS}: {id}, which is no id of the input")))
    };
    Ok(Box::new(values::<u64>(path)?.map(move |id| raw(id?))))
}

/// Inverts the stored order of vertices.
fn rows_of_blocks(graph: &Graph) -> Result<Vec<u32>> {
    let order = order::map(&graph.folder, graph.info.content)?;
    let mut rows = vec![ISOLATED; graph.info.connected as usize];
    for (row, &vertex) in order.ids()?.iter().enumerate() {
        if let Some(place) = rows.get_mut(vertex as usize) {
            *place = row as u32;
        }
    }
    Ok(rows)
}
