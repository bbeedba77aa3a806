//! Results of vertices as `verify` reads them back, and which of their rows is whose.

use super::graph::Graph;
use super::manifest::Manifest;
use crate::error::{Error, Result};
use crate::prepare::order;
use crate::prepare::relabel::ISOLATED;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The numbers of `out/NAME.npy` (of 8 bytes each) or of the second column of `out/NAME.csv`.
///
/// # Errors
/// [`Error::Io`], [`Error::Validation`] for a line without a number.
pub(super) fn column(path: &Path) -> Result<Vec<u64>> {
    let failed = |e| Error::io("read", path, e);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    if path.extension().is_some_and(|ending| ending == "csv") {
        let number = |line: String| line.split(',').nth(1).and_then(|number| number.parse().ok());
        let lines = file.lines().skip(1).map(|line| line.map_err(failed));
        return lines
            .map(|line| {
                number(line?).ok_or_else(|| Error::Validation(format!("{}: a row without a count", path.display())))
            })
            .collect();
    }
    let mut head = [0; 10];
    file.read_exact(&mut head).map_err(failed)?;
    let mut shape = vec![0; usize::from(u16::from_le_bytes([head[8], head[9]]))];
    file.read_exact(&mut shape).map_err(failed)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// From the ids of edges that were counted again to rows of the results.
pub(super) struct Rows {
    /// The input's sparse ids, ascending: a row for each.
    sparse: Option<Vec<u64>>,
    /// Where edges come from blocks, which number vertices by degree: the row of each of these numbers.
    of_blocks: Option<Vec<u32>>,
}

impl Rows {
    /// The rows of results in `workdir`, for edges that come from `blocks`, or else from the input itself.
    ///
    /// # Errors
    /// Those of reading the ids and the order of vertices.
    pub(super) fn open(workdir: &Path, manifest: &Manifest, blocks: Option<&Graph>) -> Result<Rows> {
        let ids = "out/ids.npy";
        let sparse = manifest.outputs.contains_key(ids).then(|| column(&workdir.join(ids))).transpose()?;
        Ok(Rows { sparse, of_blocks: blocks.map(rows_of_blocks).transpose()? })
    }

    /// The row of a vertex, if it has one, and its id in the input.
    pub(super) fn of(&self, vertex: u64) -> (Option<usize>, u64) {
        match (&self.of_blocks, &self.sparse) {
            (None, None) => (Some(vertex as usize), vertex),
            (None, Some(ids)) => (ids.binary_search(&vertex).ok(), vertex),
            (Some(rows), sparse) => {
                let row = rows.get(vertex as usize).map(|&row| row as usize);
                let id = match sparse {
                    Some(ids) => row.and_then(|row| ids.get(row)).copied(),
                    None => row.map(|row| row as u64),
                };
                (row, id.unwrap_or(vertex))
            }
        }
    }
}

/// The stored order of vertices, the other way round.
fn rows_of_blocks(graph: &Graph) -> Result<Vec<u32>> {
    let order = order::map(&graph.folder, graph.facts.content)?;
    let mut rows = vec![ISOLATED; graph.facts.connected as usize];
    for (row, &vertex) in order.ids()?.iter().enumerate() {
        if let Some(place) = rows.get_mut(vertex as usize) {
            *place = row as u32;
        }
    }
    Ok(rows)
}
