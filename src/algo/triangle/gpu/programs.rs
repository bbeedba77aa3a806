//! The GPU programs of triangle counting, and what they count.

use crate::gpu::{COMMON, ProgramSource, SCAN, slice_bytes};

/// GPU program that groups the heads of partner rows by front row. A head is the part of a row before an entry.
pub(super) static PROGRAM: ProgramSource =
    ProgramSource { name: "triangle.cu", text: TEXT, headers: &[COMMON, COUNT_HEADERS[1]] };
const COUNT_HEADERS: &[(&str, &str)] = &[
    COMMON,
    ("triangle_pair.cuh", PAIR),
    ("triangle_few.cuh", include_str!("../../../../kernels/triangle_few.cuh")),
    ("triangle_many.cuh", MANY),
];
/// The GPU programs that count triangles, one for each value of [`Counted`].
pub(super) static COUNT: [ProgramSource; 4] = [
    by_rows("triangle_count.cu", include_str!("../../../../kernels/triangle_count.cu")),
    by_rows("triangle_corners.cu", include_str!("../../../../kernels/triangle_corners.cu")),
    by_rows("triangle_edges.cu", include_str!("../../../../kernels/triangle_edges.cu")),
    ProgramSource {
        name: "triangle_links.cu",
        text: include_str!("../../../../kernels/triangle_links.cu"),
        headers: &[COMMON, COUNT_HEADERS[1]],
    },
];
pub(super) const TEXT: &str = include_str!("../../../../kernels/triangle.cu");
pub(super) const MANY: &str = include_str!("../../../../kernels/triangle_many.cuh");
pub(super) const PAIR: &str = include_str!("../../../../kernels/triangle_pair.cuh");

/// Returns the program `name` with the source `text` and the headers of kernels that process the rows of a front batch.
const fn by_rows(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: COUNT_HEADERS }
}

/// What a GPU counts in addition to the triangles of each pair of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Only the triangles of each pair of blocks.
    Total,
    /// Also the triangles of each vertex.
    Vertices,
    /// Also the triangles of each edge of some blocks.
    Edges,
    /// Also the links of each vertex: the directed edges between its neighbours. Rows contain codes, as in
    /// [`merged_rows`](crate::algo::triangle::merged_rows).
    Links,
}

impl Counted {
    /// Returns the minimum GPU memory in bytes for the counters of a graph with `vertices` vertices, whose largest
    /// block has `block` entries.
    pub(super) fn least_bytes(self, vertices: u64, block: u64) -> u64 {
        match self {
            Counted::Total => 0,
            Counted::Vertices | Counted::Links => slice_bytes::<u64>(vertices),
            Counted::Edges => slice_bytes::<u32>(block),
        }
    }
}

/// Returns the GPU programs that triangle counting launches.
pub fn programs(counted: Counted) -> Vec<&'static ProgramSource> {
    vec![&SCAN, &PROGRAM, &COUNT[counted as usize]]
}
