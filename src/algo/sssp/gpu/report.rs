//! Converts the final state of a search on a GPU into its results and statistics.

use super::kernel_structs::SsspState;
use crate::algo::sssp::distances::Distance;
use crate::algo::sssp::search::{SearchPhase, SsspStats};

// Indices of clock readings, in the order of `kernels/sssp_search.cuh`.
const BEGUN: usize = 0;
const CAPPED: usize = 1;
const PULLED: usize = 5;
const KNOWN: usize = 6;
const ENDED: usize = 7;

/// Returns the results and statistics of a search that took `seconds` seconds. `farthest` consists of the largest
/// distance and the bit pattern of the largest weight.
pub(super) fn of(state: &SsspState, farthest: (Distance, u64), seconds: f64) -> SsspStats {
    let between = |from: usize, to: usize| state.marks[to].saturating_sub(state.marks[from]) as f64 / 1e9;
    let phase =
        |kind: &str, rounds, relaxations, seconds| SearchPhase { kind: kind.into(), rounds, relaxations, seconds };
    let others = state.relaxations;
    let steps = state.steps.saturating_sub(2 * state.rounds);
    let phases = match state.rounds {
        0 => vec![
            phase("push", steps, state.pushed, between(BEGUN, KNOWN)),
            phase("parents", 1, others, between(KNOWN, ENDED)),
        ],
        rounds => vec![
            phase("push", steps, state.pushed, between(BEGUN, CAPPED)),
            phase("pull", rounds, others, between(CAPPED, PULLED)),
            phase("push", 0, 0, between(PULLED, KNOWN)),
            phase("parents", 1, 0, between(KNOWN, ENDED)),
        ],
    };
    SsspStats::new(state.reached, farthest, phases, seconds)
}
