//! Files that are either complete or absent, and are checked before they are trusted.
//!
//! | module | contents |
//! |---|---|
//! | `file`, `map` | sealed files: written once with a checksum, and mapped for reading |
//! | `journal`, `checkpoint` | the progress of a stage: its finished units, or a copy of its arrays |
//! | `disk_array` | files of work in progress, written and read at known offsets, or mapped |
//! | `scratch` | temporary files without a name, to which threads append |
//! | `regular` | opening regular files, and refusing anything else |
//! | `replace` | atomic replacement of small files |
//! | `durable`, `sync` | syncing files, except in temporary folders, at once or in the background |
//! | `os` | system calls |

pub mod checkpoint;
pub mod disk_array;
pub mod durable;
pub mod file;
pub mod journal;
pub mod map;
pub mod os;
pub mod regular;
pub mod replace;
pub mod scratch;
pub mod sync;
