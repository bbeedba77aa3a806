//! Linked lists, in files and generated: the successor of each element, by the element's number.
//!
//! [`ListSource::open`] finds the format of a file and [`ListSource::scan`] hands its successors over in pieces, by many threads in fixed
//! memory. Every successor is checked to be an element or -1, which ends the list; that all elements are in one list is found out by who
//! ranks them.
//!
//! | file | holds |
//! |---|---|
//! | `format` | the formats' names and endings |
//! | `source` | a list to read: its length, its version, the pass |
//! | `opened` | a list with its length and version, as jobs have it |
//! | `plain`, `binary`, `text` | chunks of plain files; arrays of numbers; numbers in text |
//! | `packed` | packed files |
//! | `generate`, `shuffle`, `swapped` | generated lists; a random order; the order of the published experiment |

mod binary;
mod contents;
mod format;
mod generate;
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
pub use opened::List;
pub(crate) use plain::each_chunk;
pub use source::{ListSource, Visit};

/// Most elements of a list.
pub const MAX_LENGTH: u64 = i64::MAX as u64;

/// Most elements of a list in numbers of 32 bits.
pub const MAX_NARROW: u64 = i32::MAX as u64;
