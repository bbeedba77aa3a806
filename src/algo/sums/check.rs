//! Checks the sums of `[sums]` by another method. It reads the edges of the input or of a prepared graph, and drops
//! repeated edges by sorting.

use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Computes the total and the columns of `[sums]` again, and compares them with the result. Returns a sentence about
/// the check.
///
/// # Errors
/// [`Error::Validation`] if a sum differs; [`Error::Limit`]; errors of reading; [`Error::Stopped`].
pub(super) fn compare(edges: &EdgeSource<'_>, results: &Results<'_>, columns: bool, total: u64) -> Result<String> {
    let ids = if columns { Ids::open(results)? } else { Ids::without_columns(results)? };
    let _reserved = results.budget.reserve(16 * results.info.edges, "the edges of the input (16 bytes each)")?;
    let read = results.each_edge(edges, &ids, Vec::new(), |edges, ends| {
        edges.push(ends);
        Ok(())
    })?;
    let mut edges: Vec<[u64; 2]> = read.into_iter().flatten().collect();
    edges.iter_mut().for_each(|ends| ends.sort_unstable());
    edges.sort_unstable();
    edges.dedup();

    let (mut degrees, mut sums) = (HashMap::<u64, u64>::new(), HashMap::<u64, u64>::new());
    edges.iter().flatten().for_each(|&row| *degrees.entry(row).or_default() += 1);
    let mut expected = 0u64;
    for &[u, v] in &edges {
        expected = expected.wrapping_add(degrees[&u] * degrees[&v]);
        *sums.entry(u).or_default() += degrees[&v];
        *sums.entry(v).or_default() += degrees[&u];
    }
    if total != expected {
        return Err(Error::Validation(format!("{expected} by the edges of the input, the job has {total}")));
    }
    if columns {
        let degree = |row| degrees.get(&row).map_or(0, |&degree| degree as u32);
        results.check_column("out/degree_u32", &ids, (0, "neighbours by the edges"), degree)?;
        let sum = |row| sums.get(&row).copied().unwrap_or(0);
        results.check_column("out/sum_u64", &ids, (0, "as sum by the edges"), sum)?;
    }
    Ok(format!("{total} in all by the edges of the input, too"))
}
