//! The kernels' sources, as they stand in `kernels/`.

/// A program's source.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Name of its file.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// What it includes: names and texts.
    pub headers: &'static [(&'static str, &'static str)],
}

impl Source {
    /// All of its text, headers too.
    pub fn everything(&self) -> String {
        let mut all = self.text.to_owned();
        self.headers.iter().for_each(|(_, text)| all.push_str(text));
        all
    }
}

const fn source(name: &'static str, text: &'static str) -> Source {
    const HEADERS: &[(&str, &str)] = &[
        ("common.cuh", include_str!("../../kernels/common.cuh")),
        ("prepare.cuh", include_str!("../../kernels/prepare.cuh")),
        ("triangle_few.cuh", include_str!("../../kernels/triangle_few.cuh")),
        ("triangle_many.cuh", include_str!("../../kernels/triangle_many.cuh")),
        ("triangle_pair.cuh", include_str!("../../kernels/triangle_pair.cuh")),
    ];
    Source { name, text, headers: HEADERS }
}

/// Prefix sums.
pub const SCAN: Source = source("scan.cu", include_str!("../../kernels/scan.cu"));
/// Degrees of all ids.
pub const INGEST: Source = source("ingest.cu", include_str!("../../kernels/ingest.cu"));
/// Edges into bins of rows.
pub const PARTITION: Source = source("partition.cu", include_str!("../../kernels/partition.cu"));
/// Bins into rows.
pub const SORT: Source = source("sort.cu", include_str!("../../kernels/sort.cu"));
/// Counting triangles.
pub const TRIANGLE: Source = source("triangle.cu", include_str!("../../kernels/triangle.cu"));

/// All programs.
pub static ALL: [Source; 5] = [SCAN, INGEST, PARTITION, SORT, TRIANGLE];
