//! Exact triangle counting by pairs of blocks.
//!
//! Vertex ids are assigned in descending order of degree, and row `v` contains the neighbours with ids smaller than
//! `v`. This orientation (Chiba and Nishizeki, SIAM J. Comput. 14, 1985; Schank and Wagner, WEA 2005) limits a row to
//! the square root of 2 E entries, where E is the number of edges. A *wedge* `a < b < c` is a pair of entries `a` and
//! `b` of row `c`. It is a triangle if row `b` contains `a`.
//!
//! The unit of work is a pair of blocks: the *front* block contains the rows of the middle corners `b`, and the
//! *partner* block contains the rows of the largest corners `c`. A unit tests every wedge in the partner whose row
//! `b` is in the front (after MGT, Hu, Tao and Chung, SIGMOD 2013, which streams one of two parts). The count of a
//! unit depends only on the graph. The CPU backend keeps many front blocks resident, and counts their units with one
//! partner together.
//!
//! The wedges of a unit are divided between two methods. Vertices with ids below [`cpu::count::HUBS`] are *hubs*:
//! * [`cpu::hubs`]: wedges whose `a` and `b` are hubs, 512 at a time, by ANDs of 512-bit words of a bit matrix of the
//!   edges between hubs, the *hub corner* (like LOTUS: Koohi Esfahani, Kilpatrick and Vandierendonck, PPoPP 2022);
//! * [`cpu::wedges`]: the other wedges, grouped by `b` ([`cpu::groups`]). Row `b` is marked once, and the *heads* of
//!   all rows `c` that contain `b` (their entries before `b`) stream past it. A row much longer than all its heads is
//!   searched instead. With a single head, the shorter of the two is marked.
//!
//! [`cpu::probe`] contains the inner loops for each instruction set, and [`cpu::tally`] adds up the triangles.
//! [`units`] iterates over all units, and [`cpu`] is the CPU backend.
//!
//! Partner blocks with few wedges per entry (as in road networks) use neither method. There, rows are searched one by
//! one ([`cpu::wedges`]).
//!
//! Data volume and operations: at scale 22 with 16 edges per vertex there are 7.2e9 wedges. 5.6e9 of them are among
//! hubs and are tested 512 at a time, in a bit matrix of 17 MB. The other 1.6e9 are looked up one by one in a bitmap
//! of 512 KiB per thread, which stays in L2, while the heads stream from memory (6 GB). On two Zen 4 cores counting
//! takes 0.37 s at scale 20 and 3.3 s at 22; TriangleCounting (GraphChallenge 2017) takes 2.2 s and 14.8 s on the
//! same edges. `cargo bench --bench triangle` generates such graphs and counts them. AVX-512, AVX2 and plain
//! instructions take 0.62, 0.96 and 1.23 s on one thread at scale 20.
//!
//! Many blocks: scale 29 with 10 edges per vertex has 581 blocks and 169,071 units of 31,000 entries on average. An
//! earlier version counted unit by unit. For a few entries it read all rows of the partner four times, and up to 4
//! MiB of cursors per thread three times: 105 units/s on 16 cores. Now all fronts are counted with one partner at a
//! time. Each of the 5.3e9 entries is read twice and moved three times as a record of 12 bytes, whatever the number
//! of blocks: 5e11 bytes, about half of them in caches. The remaining cost depends on the size of *tiles*, the ranges
//! of a partner's rows that are counted at a time. A row `b` is fetched and marked once for each tile in which it
//! occurs, at most once per entry, so it is prefetched. Tiles are therefore at least 1/512 of a large graph, here 10
//! Mi entries in 125 MB. That size is not measured yet. On one thread of a busy machine, scale 20 took 8.8 s before
//! and 3.8 s after with 481 blocks, and 0.61 and 0.62 s with one block. Tiles of 1/320, 1/80, 1/20 and 1/5 of scale
//! 22 with 10 edges took 10.7, 7.7, 6.6 and 6.0 s. Tiles larger than a block would have to span several partners.
//!
//! On a GPU ([`gpu`]) all wedges are grouped by `b`, and row `b` is marked in shared memory: the 1.3e12 wedges at
//! scale 29 with 10 edges are 5.2 TB of candidate ids. On an H200, from stored blocks, counting takes 0.021 s at
//! scale 22, 0.44 s at 26 and 3.1 s at 29.
//!
//! With `clustering = "directed"`, [`cpu::links`] counts the same units of a directed graph. For each vertex it
//! counts the *links*: the directed edges between its neighbours. A GPU counts them from [`merged_rows`].
//!
//! With `per_edge = true` ([`per_edge`]) each triangle is added to the counters of its three edges ([`cpu::edges`]),
//! by the same units and tests. The index of an entry in its row is either known or the number of marks before it.
//! Edges from `c` to hubs have counters that stay in cache until row `c` ends. Each thread has a one-byte counter for
//! every edge between hubs, because atomic additions to shared counters took twice the time. Scale 20 with 16 edges
//! per vertex has 424e6 triangles. Counting them per edge takes 3.5 s of one Zen 4 core, counting per vertex 2.4 s,
//! and counting alone 0.65 s. The lower bound is three additions for each triangle, two of them to counters far from
//! the caches. On a GPU the threads of a warp add to neighbouring entries of row `c` at once, and entries of row `b`
//! with small ids have counters in shared memory.
//!
//! With `comparisons = true`, [`comparisons`] counts the steps that merging rows would take, in separate passes on
//! CPUs.
//!
//! Tried, and slower: hub corners of 4,096, 8,192 and 32,768 vertices (8.5, 7.3 and 7.5 s, against 5.9 s with 16,384
//! in an early version); a separate tile per thread (1.2e9 marks at 1 Mi entries); shared tiles of 4 to 16 Mi entries
//! instead of 2 (a tenth more CPU time); choosing the shorter side of every edge (1,575e6 lookups against 1,587e6);
//! lookups with AVX2, which insert each vector element separately.

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
