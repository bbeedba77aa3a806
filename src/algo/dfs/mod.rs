//! Depth-first search: the lexicographic tree of a source, or the forest of all vertices.
//!
//! From each vertex the search continues with the first unvisited neighbour in the order of vertices; if there is none,
//! it backtracks. So the tree is unique. It has for each vertex its parent, the number of vertices that were reached
//! before it (preorder), the number that were left before it (postorder), and its depth. In a forest, each tree begins
//! at the first vertex that is in no tree yet. Directed edges are followed in their direction, so a forest is that of
//! out-edges.
//!
//! A lexicographic search is one chain of decisions. No method is known that is fast on several threads (it is
//! P-complete: Reif, Depth-first search is inherently sequential, IPL 1985). It runs on one core of the host, even if
//! there is a GPU.
//!
//! **Bytes moved.** Each entry is read once, 4 bytes, in the order of its row, with a check of its vertex's bit (1.1 MB
//! at scale 24, in a cache). Each vertex costs the first cache lines of a row at a random address, and 16 bytes of
//! numbers. The 521 M entries of scale 24 in 2.7 s take 5 ns each. The search is bound by the chain of checks, not by
//! memory bandwidth, so neighbours are tested 64 at a time and the rows of the next ones are prefetched.

mod cost;
mod derived;
mod driver;
mod fault;
mod options;
mod output;
mod pairs;
mod record;
mod rows;
mod saved;
mod task;
#[cfg(test)]
mod tests;
mod validate;
mod verify;
mod walk;

pub use options::Dfs;
