//! Maps ids of edges that are read again to rows of the results.

use super::{IDS, Output, values};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::prepare::relabel::ISOLATED;
use std::collections::BTreeMap;
use std::path::Path;

/// Map from the ids of edges that a verification reads again to rows of the results.
pub struct ResultRows {
    /// The input's sparse ids, ascending, one for each row.
    sparse: Option<Vec<u64>>,
    /// The row of each vertex, if edges come from blocks, which number vertices by degree.
    of_blocks: Option<Vec<u32>>,
}

impl ResultRows {
    /// Opens the map for results in `workdir`, and for edges that come from `blocks`, or else from the input itself.
    ///
    /// # Errors
    /// Those of reading the ids and the degree order.
    pub fn open(workdir: &Path, outputs: &BTreeMap<String, Output>, blocks: Option<&Graph>) -> Result<ResultRows> {
        let list = || values(&workdir.join(IDS))?.collect::<Result<Vec<u64>>>();
        let sparse = outputs.contains_key(IDS).then(list).transpose()?;
        Ok(ResultRows { sparse, of_blocks: blocks.map(rows_of_blocks).transpose()? })
    }

    /// Returns the row of an edge's endpoint, if it has one, and its input id. Endpoints of edges from blocks are vertices.
    pub fn of(&self, counted: u64) -> (Option<usize>, InputId) {
        match (&self.of_blocks, &self.sparse) {
            (None, None) => (Some(counted as usize), InputId(counted)),
            (None, Some(ids)) => (ids.binary_search(&counted).ok(), InputId(counted)),
            (Some(rows), sparse) => {
                let row = rows.get(counted as usize).map(|&row| row as usize);
                let id = match sparse {
                    Some(ids) => row.and_then(|row| ids.get(row)).copied(),
                    None => row.map(|row| row as u64),
                };
                (row, InputId(id.unwrap_or(counted)))
            }
        }
    }
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
