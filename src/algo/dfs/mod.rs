//! Depth-first search: the lexicographic tree of a source, or the lexicographic forest of all vertices.
//!
//! From each vertex the search continues with the first unvisited neighbour in the order of vertices (by descending
//! degree, then by id). If there is none, it backtracks. So the tree is unique. The result contains for each vertex its
//! parent, its depth, its preorder number (how many vertices were reached before it) and its postorder number (how many
//! vertices were finished before it). A vertex is finished when the search returns from it to its parent. In a forest,
//! each tree begins at the first vertex that is not in a tree yet. In a directed graph the search follows out-edges.
//!
//! Each decision of a lexicographic search depends on the one before it. The problem is P-complete (Reif, Depth-first
//! search is inherently sequential, IPL 1985), and no method is known that is fast on several threads. So the search
//! runs on one core of the host, even if there is a GPU.
//!
//! **Memory traffic.** The search reads each row entry once (4 bytes), in the order of its row, and tests the
//! neighbour's bit in a bitmap of reached vertices. At scale 24 of Graph500 the bitmap takes 1.1 MB and stays in a
//! cache. For each vertex the search also reads the first cache lines of a row at a random address, and a record of 16
//! bytes. The 521 million entries of scale 24 take 2.7 s, which is 5 ns each. The time depends on the chain of
//! dependent tests, not on memory bandwidth. Therefore the search tests 64 neighbours at a time, and prefetches the
//! rows of the next neighbours.

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
pub use output::DfsOutput;
