//! Distances from many sources: closeness, harmonic centrality and eccentricity of the sources, sums of distances for
//! every vertex, and bounds on the diameter.
//!
//! One pass is a breadth-first search from up to 64 sources at once. A 64-bit word per vertex stores which sources
//! have reached the vertex: one bit per source. In each level, a vertex receives the bits that reached its
//! in-neighbours in the previous level. A level reads either the rows of all vertices (pull), or only the rows of the
//! vertices in the previous level (push). The order in which bits are combined does not matter, so statistics and
//! columns are the same, byte for byte, on any number of threads and ranks, and on a GPU.
//!
//! | file | holds |
//! |---|---|
//! | `options` | the keys of the table |
//! | `engine` | a pass: the levels of 64 searches, on CPUs or a GPU |
//! | `search`, `gpu` | the words of all vertices, and the search of one level, on CPUs and on a GPU |
//! | `level` | pull, push, and the update of sums, on several threads |
//! | `counts` | for each of the 64 bit positions, the number of words in which the bit is set |
//! | `driver` | a trial: passes, checkpoints, statistics and result columns |
//! | `output` | the result |
//! | `task` | the job table, its cost model, and its checks |
//! | `verify` | computes the distances again from the edges of the input |

mod counts;
mod driver;
mod engine;
mod gpu;
mod level;
mod options;
mod output;
mod search;
mod task;
mod verify;

pub use options::Distances;
pub use output::{Diameter, DistancesOutput, SourceDistances};
