//! Estimates the largest id of a Parquet file, for plans.

use crate::formats::bytes::map::MappedFile;
use crate::formats::{LargestId, Part, Sink, Weights};
use std::sync::Arc;

use super::footer::IdColumns;
use super::limits;
use super::rows::{BATCH, RowGroupReader};
use crate::error::Result;

/// Number of row groups to sample if the footer has no statistics.
const GROUPS: usize = 32;

/// Returns 1 + the largest id of a Parquet file, from the statistics of the footer, or else from the first rows of some
/// row groups.
///
/// # Errors
/// Bad input if the file is damaged or not Parquet.
pub(crate) fn largest(part: &Part) -> Result<u64> {
    let table = IdColumns::read(part)?;
    let by_statistics = |column: usize| {
        let end = &table.ends[column];
        let largest = table.groups.iter().map(|group| group.chunks[column].largest);
        let id = |value: i64| match (end.signed, end.bytes) {
            (true, _) => value.max(0).cast_unsigned(),
            (false, 4) => u64::from(value as u32),
            (false, _) => value.cast_unsigned(),
        };
        largest.map(|largest| largest.map(id)).try_fold(0, |most, id| Some(most.max(id?)))
    };
    if let Some(largest) = by_statistics(0).zip(by_statistics(1)).map(|(u, v)| u.max(v)) {
        return Ok(if table.rows > 0 { largest.saturating_add(1) } else { 0 });
    }
    let (limits, map) = (limits::limits(part, &table)?, Arc::new(MappedFile::open(&part.path)?));
    let mut most = LargestId::default();
    for look in 0..GROUPS.min(table.groups.len()) {
        let number = look * table.groups.len() / GROUPS.min(table.groups.len());
        let mut rows = RowGroupReader::open(&table, &part.path, &map, number, limits);
        rows.step(BATCH, &mut Sink::new(&mut most, Weights::Skip))?;
    }
    Ok(most.0.map_or(0, |id| id.saturating_add(1)))
}
