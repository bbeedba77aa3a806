//! The memory of a workdir: the manifest with the stages that are done, the lock of the run that works in it, and what may be removed.
//!
//! | file | holds |
//! |---|---|
//! | `manifest`, `record`, `spooled` | what is done: the stages, each task, and copies of streams |
//! | `finished`, `kept` | jobs of which all is done, and a graph that another job kept |
//! | `lock` | the run that works in it |
//! | `order_writer` | the order of vertices while it is written |
//! | `workdir`, `clean` | which folders a job takes, and what it removes there |

pub mod clean;
pub mod finished;
pub mod kept;
pub mod lock;
pub mod manifest;
pub mod order_writer;
pub mod record;
pub mod spooled;
pub mod workdir;
