//! Files that are complete or absent, and checked before they are trusted.

pub mod checkpoint;
pub mod file;
pub mod journal;
pub mod map;
pub mod os;
pub mod placed;
pub mod replace;
pub mod sync;
pub mod written;
