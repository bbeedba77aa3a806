//! Files: complete or absent, checked before they are trusted.

pub mod file;
pub mod map;
pub mod os;
pub mod replace;
pub mod sync;
