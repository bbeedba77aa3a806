//! Reads Parquet: two integer columns of a table, decoded by the crate `parquet`, in builds with the feature of that
//! name.
//!
//! The units of work are row groups: a thread reads both columns of a row group, one page of each at a time. This
//! module finds, checks and unpacks pages (`pages`), because their headers decide what is allocated. The crate
//! decodes the pages and the footer. If a page of a file is very large, one thread reads the whole file.
//!
//! | file | what it contains |
//! |---|---|
//! | `footer`, `schema` | the footer, checked against the file; which columns are the ids |
//! | `limits` | limits of page sizes, and the memory that pages need |
//! | `header`, `thrift`, `pages`, `codec` | the pages of a column, unpacked |
//! | `rows` | batches of edges from the columns of a row group |
//! | `units` | the assignment of row groups to threads |
//! | `absent` | the replacement for all of this in builds without the feature |

#[cfg(feature = "parquet")]
mod codec;
#[cfg(feature = "parquet")]
mod footer;
#[cfg(feature = "parquet")]
mod header;
#[cfg(feature = "parquet")]
mod largest;
#[cfg(feature = "parquet")]
mod limits;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod schema;
#[cfg(feature = "parquet")]
mod thrift;
#[cfg(feature = "parquet")]
mod units;

#[cfg(not(feature = "parquet"))]
mod absent;
#[cfg(not(feature = "parquet"))]
pub(super) use absent::{BUILT_IN, Units, largest, summary, unread};
#[cfg(feature = "parquet")]
pub(super) use {footer::unread, largest::largest, limits::summary, units::Units};

use std::cmp::Reverse;
use std::path::Path;

use crate::error::{At, Error};
use crate::formats::{Format, Part, foreign};

/// Whether this build reads Parquet.
#[cfg(feature = "parquet")]
pub(super) const BUILT_IN: bool = true;

/// The first and the last bytes of a Parquet file.
pub(super) const MAGIC: &[u8] = b"PAR1";

/// Facts about a file that are known before its pages are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summary {
    /// Number of rows in all row groups.
    pub edges: u64,
    /// Whether both ids have 32 bits.
    pub narrow: bool,
    /// Number of threads that can read the file at the same time.
    pub readers: u64,
    /// Memory that each of these threads needs, in bytes.
    pub memory: u64,
    /// Memory in bytes for opening the file, and for keeping it open.
    pub opening: u64,
    pub open: u64,
}

/// Returns an upper bound in bytes of the memory for reading the Parquet files among `parts`, with `threads` threads
/// that keep `open` files open.
pub(super) fn scratch_bytes(parts: &[Part], threads: usize, open: usize) -> u64 {
    let tables = parts.iter().filter(|part| part.format() == Format::Parquet).filter_map(Part::summary);
    let mut tables: Vec<Summary> = tables.collect();
    let opening = tables.iter().map(|table| table.opening).max().unwrap_or(0);
    tables.sort_unstable_by_key(|table| Reverse(table.open));
    let open: u64 = tables.iter().take(open.max(threads)).map(|table| table.open).sum();
    tables.sort_unstable_by_key(|table| Reverse(table.memory));
    let (mut left, mut reading) = (threads as u64, 0);
    for table in tables {
        let readers = table.readers.min(left);
        reading += readers * table.memory;
        left -= readers;
    }
    opening + open + reading
}

/// Returns the error of a build without the feature.
pub(super) fn refused(path: &Path) -> Error {
    Error::input(path, At::File, "a format that this build reads", "Parquet", remedy(path))
}

/// Returns the remedy for a file that is Parquet according to its first bytes.
pub(super) fn remedy(path: &Path) -> String {
    if BUILT_IN {
        return "give the file the ending .parquet, or name the format parquet".into();
    }
    format!(
        "build gpugraph with it: cargo build --release --features parquet; or {}",
        conversion(&foreign::typed(path))
    )
}

/// Returns the advice for a table whose weights are wanted; its ids are in the columns `u` and `v`.
#[cfg(feature = "parquet")]
fn with_weights(path: &Path, [u, v, weight]: [&str; 3]) -> String {
    let is_plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ' '));
    let [u, v, weight] = [u, v, weight].map(|name| if is_plain(name) { name } else { "NAME" });
    let file = foreign::typed(path);
    format!(
        "weights of Parquet are not read, so write a table with a column of that name: python3 -c \"import pandas as p; \
         p.read_parquet('{file}', columns=['{u}', '{v}', '{weight}']).set_axis(['source', 'target', 'weight'], \
         axis=1).to_csv('{file}.csv', index=False)\""
    )
}

/// Returns the command that converts a file for a gpugraph built without Parquet.
fn conversion(file: &str) -> String {
    format!(
        "convert the file, where source and target are its columns of ids: python3 -c \"import pandas as p, numpy as n; \
         n.save('{file}.npy', p.read_parquet('{file}', columns=['source', 'target']).to_numpy())\""
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_parquet_prints_the_conversion_command() {
        let line = conversion("a.parquet");
        let wanted = "n.save('a.parquet.npy', p.read_parquet('a.parquet', columns=['source', 'target']).to_numpy())\"";
        assert!(line.ends_with(wanted) && !line.contains('\n') && !line.contains("  "), "{line}");
    }
}
