//! The vertices that each rank owns: consecutive ones, by the work that they make.

use crate::graph::order::DegreeRuns;
use std::ops::Range;

/// Vertices of a word of bits, which has one owner.
const WORD: u64 = 64;
/// The work of a vertex in entries, beside its row. Steps bottom-up come to every vertex and hardly go beyond its first neighbour; a row is
/// read as a whole in a step top-down alone.
const VERTEX: u64 = 64;

/// The division of vertices among ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// The first vertex of each rank, and the number of vertices.
    bounds: Vec<u32>,
}

impl Shares {
    /// Divides the vertices of these degrees among `ranks` ranks. Shares begin at multiples of 64, and those of small graphs may be empty.
    pub fn new(runs: &DegreeRuns, ranks: usize) -> Shares {
        let vertices = runs.vertices();
        let work = |degree: u32| VERTEX + u64::from(degree);
        let all: u128 =
            runs.iter().map(|(degree, first, end)| u128::from(work(degree)) * u128::from(end - first)).sum();
        let mut bounds = Vec::with_capacity(ranks + 1);
        let (mut runs, mut before) = (runs.iter().peekable(), 0);
        for rank in 0..=ranks {
            let wanted = all * rank as u128 / ranks as u128;
            let vertex = loop {
                let Some(&(degree, first, end)) = runs.peek() else { break vertices };
                let here = u128::from(work(degree)) * u128::from(end - first);
                if before + here > wanted {
                    break first + ((wanted - before) / u128::from(work(degree))) as u64;
                }
                before += here;
                runs.next();
            };
            bounds.push((vertex / WORD * WORD) as u32);
        }
        if let Some(last) = bounds.last_mut() {
            *last = vertices as u32;
        }
        Shares { bounds }
    }

    /// Returns the most vertices that a rank may own of a graph with these degrees, however they are spread.
    pub fn most(runs: &DegreeRuns, ranks: usize) -> u64 {
        let (vertices, ranks) = (runs.vertices(), ranks.max(1) as u64);
        let entries = runs.iter().fold(0u64, |sum, (degree, first, end)| sum + u64::from(degree) * (end - first));
        let work = (vertices + entries / VERTEX).div_ceil(ranks);
        vertices.min(work + 2 * WORD)
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the vertices of a rank.
    pub fn of(&self, rank: usize) -> Range<u32> {
        self.bounds[rank]..self.bounds[rank + 1]
    }

    /// Returns the rank that owns a vertex.
    #[inline]
    pub fn owner(&self, v: u32) -> usize {
        self.bounds.partition_point(|&first| first <= v) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::likely;

    #[test]
    fn every_vertex_has_one_owner_who_has_no_more_than_the_bound() {
        let star = DegreeRuns::new(vec![(1_000_000, 1), (1, 1_000_000)]);
        let few = DegreeRuns::new(vec![(7, 1), (2, 99)]);
        let graphs = [star, few, DegreeRuns::default(), likely::degrees(1 << 22, 1 << 18, likely::GRAPH500)];
        for runs in &graphs {
            for ranks in [1, 2, 3, 8, 64] {
                let (shares, most) = (Shares::new(runs, ranks), Shares::most(runs, ranks));
                let mut next = 0;
                for rank in 0..ranks {
                    let own = shares.of(rank);
                    assert_eq!(own.start, next, "{ranks}: {shares:?}");
                    assert!(own.len() as u64 <= most, "{ranks}: {own:?}, at most {most}");
                    assert!(own.is_empty() || own.start.is_multiple_of(64), "{ranks}: {shares:?}");
                    let some = [own.start, own.end.wrapping_sub(1)];
                    assert!(own.is_empty() || some.iter().all(|&v| shares.owner(v) == rank), "{ranks}: {shares:?}");
                    next = own.end;
                }
                assert_eq!(u64::from(next), runs.vertices());
            }
        }
    }

    #[test]
    fn shares_of_many_vertices_make_nearly_the_same_work() {
        let runs = likely::degrees(1 << 24, 1 << 20, likely::GRAPH500);
        let shares = Shares::new(&runs, 4);
        let work = |own: Range<u32>| -> u64 {
            let inside = |first: u64, end: u64| end.min(own.end.into()).saturating_sub(first.max(own.start.into()));
            runs.iter().map(|(degree, first, end)| inside(first, end) * (VERTEX + u64::from(degree))).sum()
        };
        let works: Vec<u64> = (0..4).map(|rank| work(shares.of(rank))).collect();
        let (least, most) = (works.iter().min().unwrap(), works.iter().max().unwrap());
        assert!(most - least < most / 50, "{works:?}");
    }
}
