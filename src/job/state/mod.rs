//! State of a workdir: the manifest of completed stages and tasks, the lock of the run that uses the workdir, and
//! rules for removing files.
//!
//! | file | contents |
//! |---|---|
//! | `manifest`, `record`, `spooled` | what is complete: the stages, each task, and copies of streams |
//! | `key` | keys of stages and graphs |
//! | `finished`, `kept` | finished jobs, and graphs that other jobs kept |
//! | `lock` | the lock of the run that uses the workdir |
//! | `order_writer` | the degree order while it is written |
//! | `workdir`, `clean` | which folders a job may use, and what it removes there |

pub mod clean;
pub mod finished;
pub mod kept;
pub(crate) mod key;
pub mod lock;
pub mod manifest;
pub mod order_writer;
pub mod record;
pub mod spooled;
pub mod workdir;
