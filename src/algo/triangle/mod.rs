//! Exact triangle counting by pairs of blocks.
//!
//! Vertices are numbered by descending degree and row `v` holds the neighbours smaller than `v`, so a triangle
//! `a < b < c` is a *wedge* of row `c` (two of its entries, `a` before `b`) that row `b` closes. The unit of work is a
//! pair of blocks: the *front* block holds the rows `b`, the *partner* block the rows `c`, and a unit tests every
//! wedge of the partner whose `b` is a row of the front. Its count depends on the graph alone.
//!
//! Two methods share a unit, divided at the id `b` = [`count::HUBS`]:
//! * [`hubs`]: wedges whose both ends are hubs, 512 at a time, by words of a bit matrix of the hub corner;
//! * [`wedges`]: the others grouped by `b` ([`groups`]), so that row `b` is marked once and the heads of all rows `c`
//!   stream past.
//!
//! [`probe`] has the inner loops, for the processor at hand; [`tally`] says what is summed. [`driver`] goes through all
//! units, [`cpu`] is the backend.
//!
//! Bytes and operations: at scale 22 with 16 edges a vertex there are 7.2e9 wedges. 5.6e9 of them are among hubs and are
//! tested 512 at a time, in bits that take 17 MB; the 1.6e9 others are looked up one by one in a bitmap of 512 KiB a
//! thread, which stays in L2, while the heads stream from memory (6 GB). Measured on two Zen 4 cores: 0.37 s at scale 20
//! and 3.3 s at 22, where TriangleCounting (GraphChallenge 2017) takes 2.2 s and 14.8 s on the same edges in turn;
//! `cargo bench --bench triangle` makes such graphs and counts them. AVX-512 to AVX2 to plain is 0.62 to 0.96 to 1.23 s on
//! one thread at scale 20.
//!
//! On a GPU ([`gpu`]) all wedges are grouped by `b`, and row `b` is marked in shared memory: 1.3e12 wedges at scale 29 with 10
//! edges are 5.2 TB of candidates. Measured on an H200, from stored blocks: 0.021 s at scale 22, 0.44 s at 26, 3.1 s at 29.
//!
//! What did not pay: hub corners of 4,096, 8,192 and 32,768 vertices (8.5, 7.3 and 7.5 s against 5.9 s with 16,384 in an
//! early version); tiles of a thread's own (1.2e9 marks at 1 Mi entries); shared tiles of 4 to 16 Mi entries instead of 2
//! (a tenth more processor time); choosing the shorter side of every edge (1,575e6 look-ups against 1,587e6); look-ups by
//! AVX2, which become one insert a lane; eight or more blocks at scale 20, whose pairs each look at all rows again (1.6
//! times slower).

pub mod count;
pub mod cpu;
pub mod driver;
pub mod gpu;
pub mod groups;
pub mod hubs;
pub mod parcels;
pub mod probe;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod wedges;

pub use count::{Counter, PairCount, Settings};
pub use probe::Isa;
