//! List ranking: how many elements are behind each element of a linked list.
//!
//! | file | contents |
//! |---|---|
//! | `task`, `options`, `output`, `cost` | the algorithm, its options and results, and its cost |
//! | `driver` | one trial, and the choice of device and method |
//! | `read`, `write`, `faults` | reading a list into memory with all checks except for cycles; writing ranks; errors |
//! | `cpu` | algorithms for CPUs: serial, pointer jumping, ruling sets |
//! | `gpu`, `on_gpu` | algorithms for GPUs; a trial on a GPU |
//! | `ranks` | pointer jumping and ruling sets by several processes, each with a share of the list |
//! | `external`, `by_files` | lists larger than memory: contraction with files, and a check of the computed ranks; a trial with files |
//! | `index`, `rounds` | indices of 32 and 64 bits, and shares of a list; rounds with their times |
//! | `figures` | figures of a result |
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

pub use options::ListRank;
