//! The frontier (the last level) of a search. From it, every thread of every rank derives the same next step.

use crate::algo::bfs::cpu::top_down::StepCounts;
use crate::algo::bfs::search::{Step, Switch};
use crate::algo::team::serial_policy;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Number of edges below which a frontier is narrow. A step from a narrow frontier is taken by one thread of each rank,
/// because waking the other threads would take longer.
pub const NARROW: u64 = serial_policy::LEAST;

/// The frontier of a search: its last level. All threads of all ranks compute the same values.
#[derive(Clone, Copy)]
pub struct Frontier {
    /// Number of vertices in the frontier.
    pub vertices: u64,
    /// Number of edges that leave the frontier, or the maximum value if this number is unknown.
    pub edges: u64,
    /// Number of out-edges of the vertices that no top-down step has reached yet.
    pub unexplored: u64,
    /// Whether the frontier has more vertices than the level before it.
    pub grows: bool,
    /// Direction of the step that reached the frontier.
    pub step: Step,
    /// Index (0 or 1) of the bitmap of the vertices that were reached before the frontier. The other bitmap also
    /// contains the frontier.
    pub known: usize,
    /// Whether the vertices of the frontier are also stored as a list. If so, both bitmaps contain them.
    pub is_listed: bool,
}

impl Frontier {
    /// Returns the frontier that a step in direction `step` from this frontier reaches. `found` contains the counts of
    /// the step.
    pub fn after(self, step: Step, found: StepCounts, is_listed: bool) -> Frontier {
        Frontier {
            vertices: found.vertices,
            // A bottom-up step does not count the edges of the vertices that it reaches.
            edges: if step == Step::TopDown { found.edges } else { u64::MAX },
            unexplored: self.unexplored.saturating_sub(found.edges),
            grows: found.vertices > self.vertices,
            step,
            known: self.known ^ usize::from(step == Step::BottomUp),
            is_listed,
        }
    }

    /// Returns the direction of the next step, in a graph of `vertices` vertices.
    pub fn next_step(&self, Switch { alpha, beta }: Switch, vertices: usize) -> Step {
        let many = self.edges as f64 > self.unexplored as f64 / alpha;
        let few = (self.vertices as f64) < vertices as f64 / beta;
        match self.step {
            Step::TopDown if many && self.grows && self.edges > NARROW => Step::BottomUp,
            Step::BottomUp if few && !self.grows => Step::TopDown,
            stays => stays,
        }
    }
}

/// Counts of one step, added up over threads, in the order of [`StepCounts::numbers`].
#[derive(Default)]
pub struct StepSums([AtomicU64; 4]);

impl StepSums {
    /// Returns the counts added up so far.
    pub fn get(&self) -> StepCounts {
        let [vertices, edges, checked, bytes] = self.0.each_ref().map(|sum| sum.load(Relaxed));
        StepCounts { vertices, edges, checked, bytes }
    }

    /// Replaces all counts by `counts`.
    pub fn set(&self, counts: StepCounts) {
        self.0.iter().zip(counts.numbers()).for_each(|(sum, count)| sum.store(count, Relaxed));
    }

    /// Adds the counts of one thread.
    pub fn add(&self, counts: StepCounts) {
        self.0.iter().zip(counts.numbers()).for_each(|(sum, count)| _ = sum.fetch_add(count, Relaxed));
    }
}
