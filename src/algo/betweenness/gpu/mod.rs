//! Betweenness searches from several sources at once on a GPU. `kernels/betweenness.cu` describes the method.

mod kernel_structs;
mod long_rows;
mod state;

use super::search::Extent;
use crate::algo::Lease;
use crate::error::Result;
use crate::graph::BlockStore;
use crate::graph::direction::Direction;
use crate::process::signals;
use state::{Pull, SHARES, State, Step};

pub(super) use kernel_structs::{PROGRAMS, SOURCES};
pub(super) use state::least_bytes;

/// Inverse of the threshold for pulling, which reads the rows of all vertices that a source has not reached. The search
/// from a source pulls if the rows of its last level have more than n / `SPARSE` neighbours, and more than [`FEW`].
/// Here n is the number of vertices plus the number of neighbours in the rows of unreached vertices.
const SPARSE: u64 = 32;
/// Number of neighbours in the rows of a level up to which the search from its source pushes.
const FEW: u64 = 1 << 12;

/// Inverse of a threshold for tests before reads. If fewer than 1/`LOOKED_UP` of all neighbours have values that are
/// needed, a kernel first tests which neighbours these are, and reads only their values.
const LOOKED_UP: u64 = 4;

/// Progress of the search from one source.
#[derive(Debug, Clone, Copy, Default)]
struct Front {
    /// Index of the step in which the search found the last level of the source.
    step: usize,
    levels: u64,
    /// Number of vertices that the source has reached.
    reached: u64,
    /// Total out-degree of the vertices in the last level of the source.
    leaving: u64,
    /// Total in-degree of the vertices that the source has not reached.
    unreached: u64,
}

/// Betweenness searches from several sources on a GPU, which also stores the sum of the dependencies of each vertex.
pub(super) struct GpuSearch<'g> {
    state: State<'g>,
    /// Number of neighbours in all rows, in one direction of edges.
    entries: u64,
}

impl<'g> GpuSearch<'g> {
    /// Copies the rows of the graph, and the `totals` of earlier searches, to GPU memory.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the rows do not fit; [`crate::Error::Lost`]; errors of reading blocks;
    /// [`crate::Error::Stopped`].
    pub(super) fn new(
        halves: [&'g BlockStore; 2],
        (degrees, direction): (&[u32], Direction),
        totals: &[f64],
        gpu: Lease<'g>,
    ) -> Result<GpuSearch<'g>> {
        let entries = halves.iter().map(|half| half.edges()).sum::<u64>() >> direction.shift();
        Ok(GpuSearch { state: State::new(halves, (degrees, direction), totals, gpu)?, entries })
    }

    /// Computes the dependencies of all vertices on up to [`SOURCES`] sources. A source without edges reaches only
    /// itself. Returns `None` if a count of shortest paths is too large for f64.
    ///
    /// # Errors
    /// [`crate::Error::Lost`], [`crate::Error::Stopped`].
    pub(super) fn run(&mut self, sources: &[Option<u32>]) -> Result<Option<Extent>> {
        let roots: [u32; SOURCES] = std::array::from_fn(|s| sources.get(s).copied().flatten().unwrap_or(0));
        let all = mask((0..sources.len()).filter(|&s| sources[s].is_some()));
        self.state.begin(roots, all)?;
        let Some((steps, fronts)) = self.count(all)? else { return Ok(None) };
        // For each source, the step of the next deeper level, if any.
        let mut next: [Option<&Step>; SOURCES] = [None; SOURCES];
        for (number, step) in steps.iter().enumerate().rev() {
            signals::check()?;
            // Vertices in the deepest level of a source have no successors, and the dependency of the source itself
            // does not count.
            let leaves = mask(members(step.sources).filter(|&s| next[s].is_none() || number == 0));
            let after = || members(step.sources).filter_map(|s| next[s]);
            let first = after().map(|next| next.first).min().unwrap_or(0);
            let looks = after().all(|next| next.entering < step.leaving / LOOKED_UP);
            members(step.sources).for_each(|s| next[s] = Some(step));
            let sums = step.sources & !leaves;
            if sums != 0 {
                self.state.pull(Pull::Shares { first, looks }, self.state.listed(step, sums))?;
            }
            self.state.settle(self.state.listed(step, step.sources), SHARES, leaves)?;
        }
        self.state.finish()?;
        let alone = sources.iter().filter(|root| root.is_none()).count();
        let reached = fronts.iter().map(|front| front.reached).sum::<u64>() as usize + alone;
        let levels = fronts.iter().map(|front| front.levels).max().unwrap_or(0);
        Ok(Some(Extent { reached, depth: levels.saturating_sub(1) }))
    }

    /// Finds the levels of the sources in the bit mask `all`, and counts the shortest paths to every vertex. Returns
    /// the steps and the progress of each source, or `None` if a count is too large for f64.
    ///
    /// The search from a source pushes along the rows of its last level if that level is small. If it is large, the
    /// search pulls along the rows of all vertices that the source has not reached. It first waits until every source
    /// has a large level, because a single step then pulls for all of them.
    fn count(&mut self, all: u32) -> Result<Option<(Vec<Step>, [Front; SOURCES])>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut fronts = [Front { unreached: self.entries, ..Front::default() }; SOURCES];
        let (mut active, mut stepping) = (all, all);
        loop {
            signals::check()?;
            let [longs, shorts] = steps.last().map_or([0, 0], |step| step.places.each_ref().map(|list| list.end));
            let found = self.state.collect([longs, shorts])?;
            let reaching = mask(members(stepping).filter(|&s| found.reached[s] > 0));
            active &= !stepping | reaching;
            for s in members(reaching) {
                let Front { levels, reached, unreached, .. } = fronts[s];
                fronts[s] = Front {
                    step: steps.len(),
                    levels: levels + 1,
                    reached: reached + found.reached[s],
                    leaving: found.leaving[s],
                    unreached: unreached.saturating_sub(found.entering[s]),
                };
            }
            if reaching != 0 {
                let places = [longs..longs + found.longs, shorts..shorts + found.shorts];
                let step = Step {
                    places,
                    sources: reaching,
                    first: self.state.vertices() - found.span,
                    leaving: found.leaving.iter().sum(),
                    entering: found.entering.iter().sum(),
                };
                if found.inexact != 0 && !self.state.recount(self.state.listed(&step, reaching))? {
                    return Ok(None);
                }
                steps.push(step);
            }
            if active == 0 {
                return Ok(Some((steps, fronts)));
            }
            let is_small = |&s: &usize| {
                let there = fronts[s].unreached + u64::from(self.state.vertices());
                fronts[s].leaving <= FEW.max(there / SPARSE)
            };
            let small = mask(members(active).filter(is_small));
            if small == 0 {
                stepping = active;
                let leaving: u64 = members(active).map(|s| fronts[s].leaving).sum();
                let entries = self.entries * u64::from(active.count_ones());
                self.state.count_unreached(active, leaving < entries / LOOKED_UP)?;
                continue;
            }
            stepping = small;
            let mut left = small;
            while let Some(first) = members(left).next() {
                let step = fronts[first].step;
                let together = mask(members(left).filter(|&s| fronts[s].step == step));
                self.state.push(self.state.listed(&steps[step], together))?;
                left &= !together;
            }
        }
    }

    /// Adds the dependency of every vertex on each source to the vertex's total, for one source after the other.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn add(&self) -> Result<()> {
        self.state.add()
    }

    /// Copies the sum of the dependencies of every vertex to `to`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, to: &mut [f64]) -> Result<()> {
        self.state.fetch(to)
    }
}

/// Returns the bit mask of `sources`: bit `i` is set if source `i` is among them.
fn mask(sources: impl Iterator<Item = usize>) -> u32 {
    sources.fold(0, |mask, s| mask | 1 << s)
}

/// Yields the indices of the sources in a bit mask of sources.
fn members(mask: u32) -> impl Iterator<Item = usize> {
    (0..SOURCES).filter(move |s| mask >> s & 1 == 1)
}
