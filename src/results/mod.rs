//! Results: columns with one value for each vertex, in the order of the input's ids, or for each edge ([`edges`]).
//! They are written as NumPy arrays, CSV or Parquet under `out/`.
//!
//! Algorithms identify vertices by their position in the order of degrees, not by their input ids. [`Columns`] writes
//! their values in the order of input ids ([`mod@write`]), and [`mod@read`] reads the values back for verification.
//! Every file is complete or absent, and is identified by its length and checksum ([`Output`]).

pub mod about;
mod column;
pub mod edges;
mod file;
pub mod mapped;
mod parquet;
pub mod read;
mod thrift;
pub mod value;
pub mod write;

pub use column::Column;
pub use file::{Output, ResultFile};
pub use read::{RowId, Values, column};
pub use value::Value;
pub use write::Columns;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Path, relative to the workdir, of the array of the input's sparse ids. Element i is the id of row i in every other
/// column.
pub const IDS: &str = "out/ids.npy";

/// Path, relative to the workdir, of the list of the input's string ids, one per line. The rows of all results are in
/// the order of this list.
pub const NAMES: &str = "out/ids.txt";

/// Returns a string as a CSV field, quoted if necessary.
pub fn csv_field(name: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = !name.iter().any(|c| matches!(c, b',' | b'"' | b'\r')) && name.trim_ascii().len() == name.len();
    if is_plain {
        return Cow::Borrowed(name);
    }
    let mut quoted = vec![b'"'];
    for &c in name {
        quoted.push(c);
        if c == b'"' {
            quoted.push(c);
        }
    }
    quoted.push(b'"');
    Cow::Owned(quoted)
}

/// `[output] format`: the format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// NumPy arrays, indexed by vertex id. If ids are sparse or strings, the index is the position in the list of ids.
    #[default]
    Npy,
    /// CSV text with an id column.
    Csv,
    /// Parquet tables: one for each algorithm or source, with an id column and all result columns.
    Parquet,
}

impl OutputFormat {
    /// Returns the extension of file names in this format.
    pub fn ending(self) -> &'static str {
        match self {
            OutputFormat::Npy => "npy",
            OutputFormat::Csv => "csv",
            OutputFormat::Parquet => "parquet",
        }
    }

    /// Returns an upper bound on the size in bytes of one row of a column. A value takes `width` bytes in binary and up
    /// to `digits` characters in text.
    pub fn row_bytes(self, width: u64, digits: u64) -> u64 {
        match self {
            OutputFormat::Npy => width,
            // A CSV row has an id of up to 20 digits, a comma and a newline.
            OutputFormat::Csv => 22 + digits,
            // A table with one column has an 8-byte id for each value. Page and row group headers take less than one
            // byte per row.
            OutputFormat::Parquet => width + 9,
        }
    }
}
