//! List ranking: computes for each element of a linked list how many elements are after it.
//!
//! | file | contents |
//! |---|---|
//! | `task`, `options`, `output`, `cost` | the algorithm, its options and results, and its cost |
//! | `driver` | one trial, and the choice of device and method |
//! | `read`, `write`, `faults` | reading a list, with every check except for cycles; writing ranks; errors |
//! | `cpu` | algorithms for CPUs: serial, pointer jumping, ruling sets |
//! | `gpu`, `on_gpu` | algorithms for GPUs; a trial on a GPU |
//! | `ranks` | pointer jumping and ruling sets on several MPI processes, each of which owns a share of the list |
//! | `external`, `by_files` | lists larger than memory: contraction with files; a trial of this method |
//! | `index`, `rounds` | 32-bit and 64-bit indices, and the division of a list into shares; times of the rounds |
//! | `figures` | charts of a result |
//! | `verify` | independent check of ranks |

mod by_files;
mod cost;
pub mod cpu;
mod driver;
pub mod external;
pub mod faults;
mod figures;
pub mod gpu;
pub mod index;
mod on_gpu;
mod options;
mod output;
mod ranks;
mod read;
pub mod rounds;
mod task;
mod verify;
mod write;

pub use options::{ListRank, Method, RankOrder};
pub use output::ListRankOutput;
