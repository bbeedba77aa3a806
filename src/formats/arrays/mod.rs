//! Reads edges from arrays of numbers: numpy's `.npy` and `.npz`, and the serialized graphs of the GAP Benchmark Suite.
//!
//! The header of a file determines where the ends of the edges are stored ([`shape::EdgeArrays`]). Pairs in an
//! uncompressed `.npy` are read like any other file of fixed-size records ([`crate::formats::scan::records`]). Ends in
//! separate arrays, and adjacency lists, are read by [`walk`]. In an uncompressed file, any thread can read any range
//! of edges ([`plain`]). In a compressed file or an archive, one thread reads all edges from first to last
//! ([`stream`]).

mod gapbs;
mod npy;
mod npz;
mod numbers;
mod plain;
mod sample;
mod shape;
mod stream;
mod table;
mod walk;
mod weights;

pub(super) use plain::PlainArrays;
pub(super) use sample::largest;
pub(super) use stream::{MEMORY, read};
pub(super) use table::{have_weights, head, rows, table};
