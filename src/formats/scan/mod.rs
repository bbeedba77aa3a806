//! Makes one pass over all files of an input with many threads.
//!
//! Uncompressed files come first: threads take their chunks in order ([`plain`]). Meanwhile each compressed file is
//! decompressed by a separate thread, which sends blocks to the other threads through a bounded channel. If there are
//! as many compressed files as threads, every thread instead decompresses and parses one file after the other. If
//! several errors occur, the first one in the input is reported.

pub mod input_cache;
mod mirror;
pub mod packed;
pub mod plain;
pub mod records;
pub mod run;
pub mod share_result;
