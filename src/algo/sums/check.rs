//! Checks sums by another method: adds up the edges of the input, after it has dropped repeated edges by sorting.

use crate::algo::Results;
use crate::algo::edges::each_edge;
use crate::algo::verify::reread::{Ids, Tally};
use crate::error::{Error, Result};
use crate::formats::Input;
use std::collections::HashMap;

/// Computes the total and the columns again, and compares them. Returns a sentence about the result.
///
/// # Errors
/// [`Error::Validation`] if a sum differs; [`Error::Limit`]; errors of reading; [`Error::Stopped`].
pub(super) fn agree(input: &Input, results: &Results<'_>, columns: bool, total: u64) -> Result<String> {
    let ids = if columns { Ids::open(results)? } else { Ids::unlisted(results)? };
    let bytes = input.scratch_bytes(results.threads) + 16 * results.info.edges;
    let _reserved = results.budget.reserve(bytes, "the edges of the input (16 bytes each)")?;
    let states = vec![(Tally::default(), Vec::new()); results.threads.max(1)];
    let (read, scan) = each_edge(input, states, |(tally, edges), ends| {
        edges.extend(tally.edge(&ids, ends));
        Ok(())
    })?;
    Tally::check(read.iter().map(|&(tally, _)| tally), &scan, input, &ids, results.info)?;
    let mut edges: Vec<[u64; 2]> = read.into_iter().flat_map(|(_, edges)| edges).collect();
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
        for (name, expected) in [("out/degree_u32", &degrees), ("out/sum_u64", &sums)] {
            let wrong =
                |row| Error::Validation(format!("{name}: vertex {} has another value by the edges", ids.id(row)));
            let is_right = |row: u64, value: u64| expected.get(&row).copied().unwrap_or(0) == value;
            let first = match name {
                "out/sum_u64" => first_wrong(results.column::<u64>(name, &ids, 0)?, is_right)?,
                _ => first_wrong(results.column::<u32>(name, &ids, 0)?, is_right)?,
            };
            first.map_or(Ok(()), |row| Err(wrong(row)))?;
        }
    }
    Ok(format!("{total} in all by the edges of the input, too"))
}

/// Returns the first row of a column that has a wrong value.
fn first_wrong<T: Into<u64>>(
    mut column: impl Iterator<Item = Result<T>>,
    is_right: impl Fn(u64, u64) -> bool,
) -> Result<Option<u64>> {
    (0..).map_while(|row| column.next().map(|value| Ok((row, value?.into())))).try_fold(
        None,
        |first: Option<u64>, next| {
            let (row, value) = next?;
            Ok(first.or_else(|| (!is_right(row, value)).then_some(row)))
        },
    )
}
