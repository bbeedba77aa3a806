//! The memory of a workdir: the manifest with the stages that are done, the lock of the run that works in it, and what may be removed.

pub mod clean;
pub mod finished;
pub mod kept;
pub mod lock;
pub mod manifest;
pub mod order_writer;
pub mod record;
pub mod spooled;
pub mod workdir;
