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

const HEADERS: &[(&str, &str)] = &[("common.cuh", include_str!("../../kernels/common.cuh"))];

/// Prefix sums.
pub const SCAN: Source = Source { name: "scan.cu", text: include_str!("../../kernels/scan.cu"), headers: HEADERS };

/// Counting triangles.
pub const TRIANGLE: Source =
    Source { name: "triangle.cu", text: include_str!("../../kernels/triangle.cu"), headers: HEADERS };

/// Preparation: degrees, bins, rows.
pub const PREPARE: Source =
    Source { name: "prepare.cu", text: include_str!("../../kernels/prepare.cu"), headers: HEADERS };

/// All programs.
pub const ALL: [Source; 3] = [SCAN, TRIANGLE, PREPARE];
