//! CUDA programs for shortest-path searches on a GPU.

use super::sums::SumKind;
use crate::algo::WeightSource;
use crate::algo::searches::gpu::{self as shared, BLOCK_SCAN, GRID_BARRIER, ROWS};
use crate::algo::sssp::options::Method;
use crate::formats::WeightType;
use crate::gpu::{COMMON, ProgramSource, SCAN, SPLITMIX};

pub(super) const SSSP: (&str, &str) = ("sssp.cuh", include_str!("../../../../kernels/sssp.cuh"));

const SEARCH_HEADERS: &[(&str, &str)] = &[
    COMMON,
    BLOCK_SCAN,
    GRID_BARRIER,
    ROWS,
    SSSP,
    ("sssp_queue.cuh", include_str!("../../../../kernels/sssp_queue.cuh")),
    ("sssp_deep.cuh", include_str!("../../../../kernels/sssp_deep.cuh")),
    ("sssp_walk.cuh", include_str!("../../../../kernels/sssp_walk.cuh")),
    ("sssp_pull.cuh", include_str!("../../../../kernels/sssp_pull.cuh")),
    ("sssp_parents.cuh", include_str!("../../../../kernels/sssp_parents.cuh")),
    ("sssp_search.cuh", include_str!("../../../../kernels/sssp_search.cuh")),
];

/// Declares the CUDA program that searches by buckets and finds parents, for one type of distances.
macro_rules! search {
    ($name:literal) => {
        ProgramSource {
            name: $name,
            text: include_str!(concat!("../../../../kernels/", $name)),
            headers: SEARCH_HEADERS,
        }
    };
}

/// The CUDA program that searches by buckets, for each type of distances, in the order of [`SumKind`]. A single program
/// for all types would take seconds to compile, and a job needs only one or two of them.
static SEARCHES: [ProgramSource; 5] = [
    search!("sssp_whole.cu"),
    search!("sssp_wide.cu"),
    search!("sssp_decimal.cu"),
    search!("sssp_coded.cu"),
    search!("sssp_double.cu"),
];

/// Returns the CUDA program that searches by buckets and finds parents, for distances of the type `sums`.
pub(super) fn search(sums: SumKind) -> &'static ProgramSource {
    &SEARCHES[sums as usize]
}

/// CUDA program that joins half rows (smaller or larger neighbours) to whole rows, and sorts them by weight.
pub(super) static PREPARE: ProgramSource = ProgramSource {
    name: "sssp_prepare.cu",
    text: include_str!("../../../../kernels/sssp_prepare.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, SPLITMIX, SSSP],
};

pub(super) const MOORE_HEADER: (&str, &str) = ("sssp_moore.cuh", include_str!("../../../../kernels/sssp_moore.cuh"));

const MOORE_HEADERS: &[(&str, &str)] = &[COMMON, GRID_BARRIER, ROWS, SSSP, MOORE_HEADER];

/// CUDA program of Moore's algorithm and of the baseline.
pub(super) static MOORE: ProgramSource = ProgramSource {
    name: "sssp_moore.cu",
    text: include_str!("../../../../kernels/sssp_moore.cu"),
    headers: MOORE_HEADERS,
};

/// CUDA program of Moore's algorithm and of the baseline, for 64-bit weights.
pub(super) static MOORE_CODED: ProgramSource = ProgramSource {
    name: "sssp_moore_coded.cu",
    text: include_str!("../../../../kernels/sssp_moore_coded.cu"),
    headers: MOORE_HEADERS,
};

/// Returns the CUDA programs that a search launches, for weights from `source` and the method `method`.
pub fn programs(source: WeightSource, method: Method) -> Vec<&'static ProgramSource> {
    let (sums, is_wide): (&[SumKind], bool) = match source {
        WeightSource::File => (&[SumKind::Whole, SumKind::Decimal], true),
        WeightSource::Drawn(drawn) => match drawn.kind() {
            WeightType::F32 => (&[SumKind::Decimal], false),
            _ => (&[SumKind::Whole], false),
        },
    };
    let rounds = matches!(method, Method::Moore | Method::BellmanFord);
    let of_rounds = [(&MOORE, rounds), (&MOORE_CODED, rounds && is_wide)];
    let of_rounds = of_rounds.into_iter().filter_map(|(program, launches)| launches.then_some(program));
    [&PREPARE, &SCAN, &shared::PROGRAM]
        .into_iter()
        .chain(sums.iter().map(|&sums| search(sums)))
        .chain(of_rounds)
        .collect()
}

/// Returns the CUDA programs that few graphs need, if weights come from `source`. They are for sums that do not fit in
/// 32 bits, and for 64-bit weights.
pub fn rare_programs(source: WeightSource) -> Vec<&'static ProgramSource> {
    let sums: &[SumKind] = match source {
        WeightSource::File => &[SumKind::Wide, SumKind::Coded, SumKind::Double],
        WeightSource::Drawn(drawn) if drawn.kind() == WeightType::F32 => &[],
        WeightSource::Drawn(_) => &[SumKind::Wide],
    };
    sums.iter().map(|&sums| search(sums)).collect()
}
