//! Storage: files that are either complete or absent, and are checked before their contents are used.
//!
//! | module | contents |
//! |---|---|
//! | `file`, `map` | sealed files: written once with a checksum, and memory-mapped for reading |
//! | `journal`, `checkpoint` | the progress of a stage: its completed units, or a copy of its arrays |
//! | `disk_array` | files for work in progress, written and read at given offsets, or memory-mapped |
//! | `scratch` | temporary files without a name, to which threads append |
//! | `regular` | opens regular files, and refuses pipes, devices and other kinds of files |
//! | `replace` | atomic replacement of small files |
//! | `durable`, `sync` | fsync of files and folders, at once or in the background |
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
