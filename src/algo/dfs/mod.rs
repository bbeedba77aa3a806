//! Depth-first search: the lexicographic tree of a source, or the forest of all vertices.
//!
//! From each vertex the search goes on to the first neighbour, in the order of vertices, that it has not been at; where there is none it goes
//! back. So there is one tree, whatever computes it. It has for each vertex its parent, the number of vertices that were reached before it
//! (preorder), the number that were left before it (postorder), and its depth. In a forest, each tree begins at the first vertex that is in no
//! tree yet. Edges that have a direction are followed in it; then a forest is that of out-edges.
//!
//! A lexicographic search is one chain of decisions: no method is known that is fast on several threads (it is P-complete: Reif, Depth-first
//! search is inherently sequential, IPL 1985). It runs on one core of the host, also where there is a GPU.
//!
//! **Bytes moved.** Each entry is read once, 4 bytes, in the order of its row, with a look at a bit of its vertex (1.1 MB at scale 24, in a cache);
//! each vertex costs the first lines of a row that lies anywhere, and 16 bytes of numbers. The 521 M entries of scale 24 in 2.7 s are 5 ns each: it is
//! bound by the chain of looks, not by memory, so neighbours are tested 64 at a time and rows of the next ones fetched ahead.

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
