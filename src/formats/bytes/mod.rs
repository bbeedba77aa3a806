//! Access to the bytes of files, mapped or read, and the numbers and lines in them.

pub mod fault;
pub mod int;
pub mod map;
pub mod read;
pub mod tokens;
