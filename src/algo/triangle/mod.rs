//! Exact triangle counting by pairs of blocks.
//!
//! Vertex ids are assigned in descending order of degree, and row `v` contains the neighbours of `v` with smaller ids.
//! This orientation (Chiba and Nishizeki, SIAM J. Comput. 14, 1985; Schank and Wagner, WEA 2005) limits a row to the
//! square root of 2 E entries, where E is the number of edges. A *wedge* `a < b < c` is a pair of entries `a` and `b`
//! of row `c`. It is a triangle if row `b` contains `a`.
//!
//! The unit of work is a pair of blocks: the *front* block contains the rows of the middle corners `b`, and the
//! *partner* block the rows of the largest corners `c`. For a unit, every wedge in the partner block is tested whose
//! row `b` is in the front block (after MGT, Hu, Tao and Chung, SIGMOD 2013). The count of a unit depends only on the
//! graph. The CPU backend keeps many front blocks in memory, and counts their units with one partner block together.
//!
//! The wedges of a unit are tested by two methods. Vertices with ids below [`cpu::count::HUBS`] are *hubs*:
//! * [`cpu::hubs`]: wedges whose `a` and `b` are hubs are tested 512 at a time, by ANDs of 512-bit words of a bit
//!   matrix of the edges between hubs (like LOTUS: Koohi Esfahani, Kilpatrick and Vandierendonck, PPoPP 2022).
//! * [`cpu::wedges`]: the other wedges are grouped by `b` ([`cpu::groups`]). The entries of row `b` are marked in a
//!   bitmap once. Then the *heads* of all rows `c` that contain `b` (their entries before `b`) are looked up in the
//!   bitmap. If row `b` is much longer than all its heads, it is searched instead. With a single head, the shorter of
//!   the two is marked.
//!
//! In partner blocks with few wedges per entry (as in road networks) neither method is used, and rows are searched one
//! by one ([`cpu::wedges`]). [`cpu::probe`] contains the inner loops for each instruction set, [`cpu::tally`] adds up
//! the triangles, [`units`] iterates over all units, and [`cpu`] is the CPU backend.
//!
//! # Data volume and times on CPUs
//! A Kronecker graph of scale 22 (2^22 vertices) with 16 edges per vertex has 7.2e9 wedges. 5.6e9 of them are between
//! hubs and are tested 512 at a time, in a bit matrix of 17 MB. The other 1.6e9 are looked up one by one in a bitmap of
//! 512 KiB per thread, which stays in the L2 cache, while the heads are read from memory (6 GB). `cargo bench --bench
//! triangle` generates such graphs and counts their triangles. Counting times with 16 edges per vertex:
//!
//! | machine | program | scale 20 | scale 22 |
//! |---|---|---|---|
//! | two Zen 4 cores | gpugraph | 0.37 s | 3.3 s |
//! | two Zen 4 cores | TriangleCounting (GraphChallenge 2017) | 2.2 s | 14.8 s |
//! | one thread | gpugraph, AVX-512 | 0.62 s | |
//! | one thread | gpugraph, AVX2 | 0.96 s | |
//! | one thread | gpugraph, plain instructions | 1.23 s | |
//!
//! # Many blocks
//! A graph of scale 29 with 10 edges per vertex has 581 blocks and 169,071 units of 31,000 entries on average. An
//! earlier version counted one unit after another: for a few entries it read all rows of the partner block four times,
//! and up to 4 MiB of cursors per thread three times. On 16 cores it counted 105 units per second. Now all front blocks
//! are counted with one partner block at a time. Each of the 5.3e9 entries is read twice and moved three times as a
//! record of 12 bytes, regardless of the number of blocks. That is 5e11 bytes, about half of them in caches.
//!
//! The remaining cost depends on the size of *tiles*, the ranges of a partner block's rows that are counted at a time.
//! A row `b` is fetched and marked once for each tile in which it occurs. Tiles are therefore at least 1/512 of a large
//! graph, which is 10 Mi entries in 125 MB here. The time with this size is not measured yet. Tiles larger than a block
//! would have to span several partner blocks. Times on one thread of a busy machine:
//!
//! | graph | version | time |
//! |---|---|---|
//! | scale 20, 481 blocks | one unit after another | 8.8 s |
//! | scale 20, 481 blocks | one partner block at a time | 3.8 s |
//! | scale 20, one block | one unit after another | 0.61 s |
//! | scale 20, one block | one partner block at a time | 0.62 s |
//! | scale 22 with 10 edges per vertex | tiles of 1/320 of the graph | 10.7 s |
//! | scale 22 with 10 edges per vertex | tiles of 1/80 of the graph | 7.7 s |
//! | scale 22 with 10 edges per vertex | tiles of 1/20 of the graph | 6.6 s |
//! | scale 22 with 10 edges per vertex | tiles of 1/5 of the graph | 6.0 s |
//!
//! # GPUs
//! On a GPU ([`gpu`]) all wedges are grouped by `b`, and row `b` is marked in shared memory. The 1.3e12 wedges of scale
//! 29 with 10 edges per vertex are 5.2 TB of ids to look up. On an H200, counting the triangles of stored blocks takes
//! 0.021 s at scale 22, 0.44 s at scale 26 and 3.1 s at scale 29.
//!
//! # Counts other than the total
//! With `clustering = "directed"`, [`cpu::links`] counts the same units of a directed graph. For each vertex it counts
//! the *links*: the directed edges between its neighbours. A GPU counts links from [`merged_rows`].
//!
//! With `per_edge = true` ([`per_edge`]) each triangle is added to the counters of its three edges ([`cpu::edges`]), by
//! the same units and tests. The index of an entry in its row is either known or the number of marks before it. Edges
//! from `c` to hubs have counters that stay in the cache until row `c` ends. Each thread has a one-byte counter for
//! every edge between hubs, because atomic additions to shared counters took twice the time. A graph of scale 20 with
//! 16 edges per vertex has 424e6 triangles. On one Zen 4 core, counting them takes 3.5 s per edge, 2.4 s per vertex and
//! 0.65 s in total only. Counting per edge takes at least three additions per triangle, two of them to counters far
//! from the caches. On a GPU the threads of a warp add to neighbouring entries of row `c` at once, and entries of row
//! `b` with small ids have counters in shared memory.
//!
//! With `comparisons = true`, [`comparisons`] counts the steps that merging rows would take, in separate passes on
//! CPUs.
//!
//! # Slower variants
//! These variants were tried and are slower:
//! * hub bit matrices of 4,096, 8,192 and 32,768 vertices (8.5, 7.3 and 7.5 s, and 5.9 s with 16,384 in an early
//!   version);
//! * a separate tile per thread (1.2e9 marks with tiles of 1 Mi entries);
//! * shared tiles of 4 to 16 Mi entries instead of 2 Mi (a tenth more CPU time);
//! * choosing the shorter row for every edge (1,575e6 lookups instead of 1,587e6);
//! * lookups with AVX2, which insert each vector element separately.

mod comparisons;
mod cost;
pub mod cpu;
mod driver;
mod figures;
pub mod gpu;
mod merged_rows;
mod options;
mod output;
mod per_edge;
mod per_vertex;
mod recount;
mod task;
#[cfg(test)]
mod tests;
pub mod units;
mod work;
mod work_queue;

pub use cpu::count::{Counter, Settings};
pub use cpu::probe::Isa;
pub use options::Triangle;
pub use output::{TriangleDetails, TriangleOutput};
pub use units::PairCount;
