//! Files that are complete or absent, and checked before they are trusted.
//!
//! | file | holds |
//! |---|---|
//! | `file`, `map` | files that are sealed by a checksum once they are whole, and mapped to be read |
//! | `journal`, `checkpoint` | what a stage has done so far: units one by one, or all arrays at once |
//! | `placed`, `written` | work in progress, written and read at places that are known |
//! | `regular` | opening files, and refusing what is no regular file |
//! | `replace`, `sync` | small files replaced as a whole, and files synced in the background |
//! | `os` | system calls |

pub mod checkpoint;
pub mod file;
pub mod journal;
pub mod map;
pub mod os;
pub mod placed;
pub mod regular;
pub mod replace;
pub mod sync;
pub mod written;
