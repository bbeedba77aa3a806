//! Results: columns with a value for each vertex, in the order of the input's ids, or for each edge ([`edges`]). They
//! are NumPy arrays, CSV or Parquet under `out/`.
//!
//! An algorithm numbers vertices by degree and knows no input ids. [`Columns`] writes its values ([`mod@write`]), and
//! [`mod@read`] reads them for verification. Every file is complete or absent, and is identified by its length and
//! checksum ([`Output`]).

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

/// Path in the workdir of the list of the input's sparse ids, which gives the order of the rows in results.
pub const IDS: &str = "out/ids.npy";

/// Path of the list of the input's strings, a line each, which gives the order of the rows in results.
pub const NAMES: &str = "out/ids.txt";

/// Returns a string as a field of CSV, in quotes if it needs them.
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
    /// NumPy arrays, indexed by vertex id.
    #[default]
    Npy,
    /// Text with a column of ids.
    Csv,
    /// Parquet tables: one for each algorithm or source, with a column of ids and all result columns.
    Parquet,
}

impl OutputFormat {
    /// Returns the file name extension.
    pub fn ending(self) -> &'static str {
        match self {
            OutputFormat::Npy => "npy",
            OutputFormat::Csv => "csv",
            OutputFormat::Parquet => "parquet",
        }
    }

    /// Returns an upper bound for the bytes of a row in a column. Its values take `width` bytes in binary and up to
    /// `digits` characters in text.
    pub fn row_bytes(self, width: u64, digits: u64) -> u64 {
        match self {
            OutputFormat::Npy => width,
            // A row of text has an id of up to 20 digits, a comma and a newline.
            OutputFormat::Csv => 22 + digits,
            // A table of one column has an id for each value. Headers of pages and groups take less than a byte a row.
            OutputFormat::Parquet => width + 9,
        }
    }
}
