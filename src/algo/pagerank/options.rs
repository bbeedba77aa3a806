//! The options of PageRank, from the job-file table `[pagerank]`.

use crate::algo::sources::distinct_ids;
use crate::graph::ids::InputId;
use crate::jobfile::{AnyKey, Diagnostics, Field, Key, Section};
use serde::{Deserialize, Serialize};

/// Treatment of the PageRank of sinks (vertices without out-edges), and the condition that ends the iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// The variant of the GAP Benchmark Suite. The PageRank of sinks is lost. Iterations end when PageRank values
    /// change by less than the tolerance.
    Gap,
    /// The variant of LDBC Graphalytics. The PageRank of sinks is spread evenly over all vertices. The number of
    /// iterations is fixed.
    Graphalytics,
}

const VARIANTS: [(&str, Variant); 2] = [("gap", Variant::Gap), ("graphalytics", Variant::Graphalytics)];

/// Maximum number of iterations that a table `[pagerank]` may request.
const MOST: u64 = 1_000_000;
/// Default numbers of iterations: the maximum for the variant `gap`, and the fixed number for `graphalytics`.
const ITERATIONS: [u64; 2] = [1000, 10];
/// Default tolerance of the variant `gap`.
const TOLERANCE: f64 = 1e-4;
const DAMPING: f64 = 0.85;

/// Options of PageRank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pagerank {
    /// Damping factor: the probability that the random surfer follows an edge instead of teleporting. At least 0 and
    /// less than 1.
    pub damping: f64,
    /// Treatment of the PageRank of sinks (vertices without out-edges), and the condition that ends the iterations.
    pub variant: Variant,
    /// Iterations end when the sum of the changes of all PageRank values is below this tolerance; `None` if the number
    /// of iterations is fixed.
    pub tolerance: Option<f64>,
    /// Number of iterations; the maximum number if there is a tolerance.
    pub iterations: u64,
    /// Vertices to which the random surfer teleports, given by their ids in the input. If there are none, the surfer
    /// teleports to any vertex.
    pub personalised: Vec<InputId>,
}

/// The key `damping` of the table `[pagerank]`.
const DAMPING_KEY: Key<f64> = Key::new(
    "damping",
    ("a number from 0 to below 1", "0.85"),
    "probability of following an edge instead of teleporting",
    || DAMPING,
    |field, diagnostics| field.fraction(diagnostics),
);

/// The key `variant` of the table `[pagerank]`.
const VARIANT: Key<Variant> = Key::choice(
    "variant",
    &VARIANTS,
    "gap drops the ranks of vertices without out-edges and stops at `tolerance`; graphalytics spreads them evenly and runs all `iterations`",
);

/// The key `tolerance` of the table `[pagerank]`.
const TOLERANCE_KEY: Key<f64> = Key::new(
    "tolerance",
    ("a number above 0 and at most 1", "1e-4"),
    "`gap` stops when the changes of all ranks add up to less than this",
    || TOLERANCE,
    |field, diagnostics| field.positive(1, diagnostics),
);

/// The key `iterations` of the table `[pagerank]`.
const ITERATIONS_KEY: Key<Option<u64>> = Key::new(
    "iterations",
    ("a whole number above 0", "at most 1000 with gap, 10 with graphalytics"),
    "number of iterations: the maximum for gap, the exact number for graphalytics",
    || None,
    |field, diagnostics| field.integer(1..=MOST, diagnostics).map(Some),
);

/// The key `personalised` of the table `[pagerank]`.
const PERSONALISED: Key<Vec<InputId>> = Key::new(
    "personalised",
    ("an id, or a list such as [1, 5] or [\"one\", \"two\"]", "none"),
    "input ids of the vertices to teleport to, in place of all vertices",
    Vec::new,
    |field: &Field<'_>, diagnostics| distinct_ids(field, ("a vertex to jump to", "vertices"), diagnostics),
);

/// All keys of the table `[pagerank]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&DAMPING_KEY, &VARIANT, &TOLERANCE_KEY, &ITERATIONS_KEY, &PERSONALISED];

impl Pagerank {
    /// Parses the table `[pagerank]`. If there are mistakes, reports them to `diagnostics`.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Pagerank> {
        let damping = DAMPING_KEY.read(table, diagnostics);
        let variant = VARIANT.read(table, diagnostics);
        let tolerance = TOLERANCE_KEY.read(table, diagnostics);
        if let (Some(field), Some(Variant::Graphalytics)) = (TOLERANCE_KEY.field(table), variant) {
            field.error(
                "graphalytics has a fixed number of iterations: leave it out, or set variant = \"gap\"",
                diagnostics,
            );
        }
        let iterations = ITERATIONS_KEY.read(table, diagnostics);
        let personalised = PERSONALISED.read(table, diagnostics);
        let (variant, iterations) = (variant?, iterations?);
        let is_gap = variant == Variant::Gap;
        Some(Pagerank {
            damping: damping?,
            variant,
            tolerance: tolerance.map(|tolerance| is_gap.then_some(tolerance))?,
            iterations: iterations.unwrap_or(ITERATIONS[usize::from(!is_gap)]),
            personalised: personalised?,
        })
    }

    /// Returns true if no iteration follows after `done` iterations. `change` is the sum of the changes of all PageRank
    /// values in the last iteration.
    pub(super) fn ends(&self, done: u64, change: f64) -> bool {
        done >= self.iterations || done > 0 && self.is_converged(change)
    }

    /// Returns true if `change`, the sum of the changes of all PageRank values, is below the tolerance. Returns false
    /// if there is no tolerance.
    pub(super) fn is_converged(&self, change: f64) -> bool {
        self.tolerance.is_some_and(|tolerance| change < tolerance)
    }

    /// Returns an upper bound on the number of iterations. The sum of the changes in an iteration is at most `damping`
    /// times that of the previous iteration, and at most 2 in the first.
    pub(super) fn most_iterations(&self) -> u64 {
        let Some(tolerance) = self.tolerance else { return self.iterations };
        // Without damping the second iteration changes nothing.
        let needed = if self.damping > 0.0 { (tolerance / 2.0).ln() / self.damping.ln() } else { 0.0 };
        self.iterations.min((needed.max(0.0) as u64).saturating_add(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_iterations_is_as_if_every_change_were_the_largest_possible() {
        let options = |damping, tolerance| Pagerank {
            damping,
            variant: Variant::Gap,
            tolerance,
            iterations: 1000,
            personalised: Vec::new(),
        };
        for damping in [0.0, 0.1, 0.5, 0.85, 0.99] {
            for tolerance in [1.0, 1e-4, 1e-7] {
                let options = options(damping, Some(tolerance));
                let (mut done, mut change) = (1, 2.0);
                while !options.ends(done, change) {
                    (done, change) = (done + 1, change * damping);
                }
                let bound = options.most_iterations();
                assert!((done..=done + 1).contains(&bound), "{damping} {tolerance}: {done}, {bound}");
            }
        }
        assert_eq!(options(0.9, None).most_iterations(), 1000);
    }
}
