//! Checks connected components by computing them again. The check reads the edges in the order of the input, identifies
//! vertices by input ids, and joins them in a separate forest.

use super::output::ComponentsOutput;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer};
use crate::results::read::READING;
use parking_lot::Mutex;

/// Number of edges that a thread collects before it locks the forest.
const BATCH: usize = 1 << 10;

/// Returns the memory, in bytes, for a check of components that reads the edges from the blocks of a prepared graph.
pub(super) fn bytes(ids: u64, threads: usize) -> u64 {
    8 * ids + scratch_bytes(threads)
}

fn scratch_bytes(threads: usize) -> u64 {
    READING + (16 * BATCH * threads) as u64
}

/// A forest over the rows of a result column, stored as the parent of each row. The root of a tree is its smallest row.
pub(in crate::algo) struct RowForest(Buffer<u32>);

impl RowForest {
    /// Creates a forest of `rows` trees, one for each row.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub(in crate::algo) fn new(rows: u64, budget: &Budget) -> Result<RowForest> {
        let mut parents: Buffer<u32> = budget.zeroed(rows as usize, "components to verify by (4 bytes for each id)")?;
        parents.iter_mut().zip(0..).for_each(|(parent, row)| *parent = row);
        Ok(RowForest(parents))
    }

    /// Returns the root of the tree of a row: the smallest row that is known to be connected with it.
    pub(in crate::algo) fn root(&mut self, row: u64) -> u32 {
        let mut row = row as u32;
        while self.0[row as usize] != row {
            self.0[row as usize] = self.0[self.0[row as usize] as usize];
            row = self.0[row as usize];
        }
        row
    }

    /// Joins the trees of two rows.
    pub(in crate::algo) fn join(&mut self, rows: [u64; 2]) {
        let [u, v] = rows.map(|row| self.root(row));
        self.0[u.max(v) as usize] = u.min(v);
    }
}

/// Finds the components again, and compares them with the reported sizes and the result column. Returns a sentence
/// about the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(output: &ComponentsOutput, edges: &EdgeSource<'_>, results: &Results<'_>) -> Result<String> {
    let (info, budget) = (results.info, results.budget);
    let _reserved = budget.reserve(scratch_bytes(results.threads), "edges and a column")?;
    let ids = Ids::open(results)?;
    let mut forest = RowForest::new(info.ids, budget)?;
    let shared = Mutex::new(&mut forest);
    let left = results.each_edge(edges, &ids, Vec::with_capacity(BATCH), |batch, ends| {
        batch.push(ends);
        if batch.len() == BATCH {
            let mut forest = shared.lock();
            batch.drain(..).for_each(|rows| forest.join(rows));
        }
        Ok(())
    })?;
    left.into_iter().flatten().for_each(|rows| forest.join(rows));
    for row in 0..info.ids {
        forest.0[row as usize] = forest.root(row);
    }
    compare_rows(output, &forest.0, &ids, (edges, results))
}

/// Compares `smallest`, which contains for each row the smallest row in its component, with the reported sizes and the
/// result column. Returns a sentence about the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything differs; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare_rows(
    output: &ComponentsOutput,
    smallest: &[u32],
    ids: &Ids,
    (edges, results): (&EdgeSource<'_>, &Results<'_>),
) -> Result<String> {
    let (info, budget) = (results.info, results.budget);
    let mut sizes: Buffer<u32> = budget.zeroed(smallest.len(), "sizes of components (4 bytes for each id)")?;
    smallest.iter().for_each(|&row| sizes[row as usize] += 1);
    let mut found = ComponentsOutput { strong: output.strong, ..ComponentsOutput::default() };
    sizes.iter().filter(|&&size| size > 0).for_each(|&size| found.add(size.into(), 1));
    // A header may declare vertices with larger ids than any vertex of an edge. Each is a component by itself.
    found.add(1, info.rows() - info.ids);
    if *output != found {
        return Err(Error::Validation(format!("{found:?} by the edges of {}, the job has {output:?}", edges.name())));
    }
    let smallest = |row: u64| smallest.get(row as usize).map_or(row, |&smallest| smallest.into());
    let what = (-1, "as smallest id of its component");
    results.check_column("out/components/component", ids, what, |row| ids.number(smallest(row)) as i64)?;
    Ok(format!("{} components by the edges of {}, which have the same vertices", found.components, edges.name()))
}
