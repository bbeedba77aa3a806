//! Parses a job file as TOML: a tree of values with their positions, and a report of all mistakes at once.
//!
//! A [`Section`] reads a table and a [`Field`] reads a key; both add mistakes to [`Diagnostics`] and continue. serde
//! isn't used, because it stops at the first mistake. [`crate::config`] defines the tables; each algorithm reads its
//! own table.

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
