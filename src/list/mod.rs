//! Linked lists, in files and generated. A list of n elements, which are the integers from 0 to n - 1, is an array of
//! their successors.
//!
//! [`ListSource::open`] finds the format of a file. [`ListSource::scan`] reads the successors with many threads in
//! fixed memory, and passes them to a function, up to 2,048 at a time. It checks that every successor is an element or
//! -1, which ends the list. The ranking algorithm checks that all elements are in one list.
//!
//! | file | contents |
//! |---|---|
//! | `format` | the names of the formats, and their file name extensions |
//! | `source` | a list to read: its length, its identity hash, and scans over it |
//! | `opened` | an open list with its length and identity hash, as jobs use it |
//! | `plain`, `binary`, `text` | reading plain files in chunks; decoding binary arrays; parsing text |
//! | `packed` | reading packed files |
//! | `memory` | a list that a program has in memory |
//! | `generate`, `shuffle`, `swapped` | generated lists; a random permutation; the list of the published experiment |

mod binary;
mod contents;
mod format;
mod generate;
pub mod memory;
mod opened;
mod packed;
mod plain;
mod refusals;
mod shuffle;
mod source;
mod swapped;
mod text;

pub use format::ListFormat;
pub use generate::{Generated, Kind};
pub use memory::MemoryList;
pub use opened::List;
pub use plain::Visit;
pub(crate) use plain::each_chunk;
pub use source::ListSource;

/// Maximum number of elements in a list.
pub const MAX_LENGTH: u64 = i64::MAX as u64;

/// Maximum number of elements in a list of 32-bit numbers.
pub const MAX_NARROW: u64 = i32::MAX as u64;
