//! Parses a job file as TOML: a tree of values with their places, and a report of every mistake at once.
//!
//! A [`Section`] reads a table and a [`Field`] reads a key; both add mistakes to [`Diagnostics`] and continue. serde
//! isn't used, because it stops at the first mistake. [`crate::config`] lists the tables; each algorithm reads its own
//! table.

pub mod advice;
pub mod diagnostics;
pub mod duration;
pub mod expand;
pub mod field;
pub mod key;
pub mod tree;

pub use diagnostics::Diagnostics;
pub use field::{Field, Section};
pub use key::{AnyKey, Key};
