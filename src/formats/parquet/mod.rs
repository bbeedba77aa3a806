//! Reads Parquet: two integer or string columns of a table, decoded by the crate `parquet`, in builds with the feature
//! of that name.
//!
//! The units of work are row groups: a thread reads both columns of a row group, one page of each at a time. This
//! module finds, checks and decompresses pages (`pages`), because their headers determine how much memory is allocated.
//! The crate decodes the pages and the footer. If a page of a file is very large, one thread reads the whole file.
//!
//! | file | what it contains |
//! |---|---|
//! | `footer`, `schema` | the footer, checked against the file; selection of the id columns |
//! | `limits` | limits on page sizes, and the memory that pages need |
//! | `header`, `thrift`, `pages`, `codec` | the pages of a column, decompressed |
//! | `rows` | batches of edges from the columns of a row group |
//! | `units` | the assignment of row groups to threads |
//! | `absent` | replacement for all of this in builds without the feature |

mod codec;
mod footer;
mod header;
mod largest;
mod limits;
mod pages;
mod rows;
mod schema;
mod thrift;
mod units;

pub(super) use {footer::unread, largest::largest, limits::summary, units::Units};

use crate::formats::part::TableSummary;
use crate::formats::{Format, Part};

/// Returns the summary of the footer of a Parquet file. Reads the footer only once. Returns `None` if the file is not
/// Parquet, or if the footer can't be read; in the second case the scan reports the error.
pub(super) fn summary_of(part: &Part) -> Option<TableSummary> {
    if part.format != Format::Parquet {
        return None;
    }
    *part.summary.get_or_init(|| summary(part).ok())
}
