//! Counts triangles by colourful sampling (Pagh and Tsourakakis, Information Processing Letters 112, 2012).
//!
//! Every vertex gets one of N colours by a hash of its id. Only edges whose endpoints have the same colour are kept:
//! one in N. A triangle is kept with probability 1/N², so N² times the number of triangles among the kept edges is an
//! unbiased estimate. Two triangles are both kept with probability 1/N³ if they share an edge, and independently of
//! each other otherwise. If `k` pairs of triangles share an edge, the variance of the estimate for T triangles is
//! therefore T(N² - 1) + 2k(N - 1). With one colour the count is exact.
//!
//! This code is deliberately simple and independent of [`crate::algo`]: it sorts edges, orients them by degree, marks
//! the entries of a row, and looks up ids in the marks.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Number of sampled edges that a thread collects before it adds them to a shared sample.
const BATCH: usize = 4096;
/// Reason in the error that ends a pass over the edges when a sample is full.
const FULL: &str = "a full sample";

/// Returns the memory in bytes per sampled edge while `threads` threads count triangles. It consists of the edge, the
/// ids, degrees and rows of its endpoints, the marks of all threads and, if `corners` is true, the counts of both
/// endpoints.
pub(super) fn bytes_per_edge(threads: usize, corners: bool) -> u64 {
    16 + 16 + 8 + 16 + 8 + 8 * threads as u64 + if corners { 16 } else { 0 }
}

/// Memory in bytes that a sampled edge takes before triangles are counted.
pub(super) const WAITING: u64 = 16;

/// Samples of the edges of a graph, one sample per random colouring of the vertices. A sample contains the edges whose
/// endpoints have the same colour. The smaller id of an edge comes first.
pub(super) struct EdgeSamples {
    colours: u64,
    seeds: Vec<u64>,
    room: usize,
    kept: Vec<Mutex<Vec<[u64; 2]>>>,
}

impl EdgeSamples {
    /// Creates an empty sample for each seed, with capacity for `room` edges. `colours` must be a power of two.
    pub(super) fn new(colours: u64, seeds: Vec<u64>, room: usize) -> EdgeSamples {
        let kept = seeds.iter().map(|_| Mutex::new(Vec::with_capacity(room))).collect();
        EdgeSamples { colours, seeds, room, kept }
    }

    /// Creates the sampler of one thread, to which the thread passes the edges that it reads.
    pub(super) fn gatherer(&self) -> EdgeSampler<'_> {
        EdgeSampler { samples: self, batches: self.seeds.iter().map(|_| Vec::with_capacity(BATCH)).collect() }
    }

    /// Returns the edges of each sample.
    pub(super) fn into_edges(self) -> Vec<Vec<[u64; 2]>> {
        self.kept.into_iter().map(|set| set.into_inner()).collect()
    }
}

/// Maps 64 bits to 64 bits bijectively and without a visible pattern (the finalizer of SplitMix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Sampled edges of one thread that have not been added to the shared samples yet.
#[derive(Clone)]
pub(super) struct EdgeSampler<'a> {
    samples: &'a EdgeSamples,
    batches: Vec<Vec<[u64; 2]>>,
}

impl EdgeSampler<'_> {
    /// Adds the edge between `u` and `v` to each sample in which both have the same colour.
    pub(super) fn edge(&mut self, u: u64, v: u64) -> Result<()> {
        if u == v {
            return Ok(());
        }
        let mask = self.samples.colours - 1;
        for set in 0..self.batches.len() {
            let seed = mix(self.samples.seeds[set].wrapping_add(0x9e37_79b9_7f4a_7c15));
            if mask == 0 || (mix(mix(u ^ seed)) ^ mix(mix(v ^ seed))) & mask == 0 {
                self.batches[set].push([u.min(v), u.max(v)]);
                if self.batches[set].len() == BATCH {
                    self.hand_over(set)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the remaining edges to the shared samples.
    pub(super) fn finish(&mut self) -> Result<()> {
        (0..self.batches.len()).try_for_each(|set| self.hand_over(set))
    }

    fn hand_over(&mut self, set: usize) -> Result<()> {
        let mut kept = self.samples.kept[set].lock();
        if kept.len() + self.batches[set].len() > self.samples.room {
            return Err(Error::Stopped(FULL));
        }
        kept.append(&mut self.batches[set]);
        Ok(())
    }
}

/// Triangle counts and degrees of one sample of the edges.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SampleCounts {
    /// Number of distinct edges of the sample.
    pub edges: u64,
    /// Number of triangles of the sample.
    pub triangles: u64,
    /// Number of pairs of triangles that share an edge.
    pub pairs: f64,
    /// Number of wedges (pairs of edges that share a vertex).
    pub wedges: u128,
    /// Largest degree of a vertex in the sample.
    pub max_degree: u64,
    /// Ids of the vertices that have an edge, ascending. Like `degrees` and `corners`, empty unless triangles are
    /// counted per vertex.
    pub ids: Vec<u64>,
    /// Degree of each vertex in `ids`.
    pub degrees: Vec<u32>,
    /// Number of triangles of each vertex in `ids`.
    pub corners: Vec<u64>,
}

/// Counts the triangles of the graph with the edges `edges`, which may contain repeats. If `pairs` is true, also counts
/// the pairs of triangles that share an edge. If `corners` is true, also counts the triangles of each vertex. These two
/// options take most of the time. Uses rayon's current pool.
pub(super) fn count(mut edges: Vec<[u64; 2]>, pairs: bool, corners: bool) -> SampleCounts {
    edges.par_sort_unstable();
    edges.dedup();
    let mut ids: Vec<u64> = edges.iter().flatten().copied().collect();
    ids.par_sort_unstable();
    ids.dedup();
    // From here on a vertex is represented by its index in `ids`.
    edges.par_iter_mut().flatten().for_each(|id| *id = ids.partition_point(|&other| other < *id) as u64);
    let mut degrees = vec![0u32; ids.len()];
    edges.iter().flatten().for_each(|&v| degrees[v as usize] += 1);
    let rows = SampleRows::new(&edges, &degrees);
    drop(edges);
    let found = rows.triangles(if pairs { rows.targets.len() } else { 0 }, if corners { ids.len() } else { 0 });
    let degree = |d: &u32| u64::from(*d);
    let mut counted = SampleCounts {
        edges: rows.targets.len() as u64,
        triangles: found.triangles.into_inner(),
        pairs: found.of_edge.iter().map(|t| f64::from(t.load(Relaxed))).map(|t| t * (t - 1.0) / 2.0).sum(),
        wedges: degrees.iter().map(degree).map(|d| u128::from(d) * u128::from(d.saturating_sub(1)) / 2).sum(),
        max_degree: degrees.iter().map(degree).max().unwrap_or(0),
        ..SampleCounts::default()
    };
    if corners {
        // Converting the vector reuses the memory of the atomic counters.
        counted.corners = found.of_vertex.into_iter().map(AtomicU64::into_inner).collect();
        (counted.ids, counted.degrees) = (ids, degrees);
    }
    counted
}

/// Adjacency rows of a sample. Every edge is in the row of its endpoint with the smaller degree or, if both degrees are
/// equal, with the smaller id.
struct SampleRows {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

struct TriangleCounters {
    triangles: AtomicU64,
    of_edge: Vec<AtomicU32>,
    of_vertex: Vec<AtomicU64>,
}

impl SampleRows {
    fn new(edges: &[[u64; 2]], degrees: &[u32]) -> SampleRows {
        let oriented = |&[u, v]: &[u64; 2]| {
            let key = |x: u64| (degrees[x as usize], x);
            if key(u) < key(v) { (u as usize, v as u32) } else { (v as usize, u as u32) }
        };
        let mut starts = vec![0u32; degrees.len() + 2];
        edges.iter().map(oriented).for_each(|(from, _)| starts[from + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut targets = vec![0; edges.len()];
        for (from, to) in edges.iter().map(oriented) {
            targets[starts[from + 1] as usize] = to;
            starts[from + 1] += 1;
        }
        starts.pop();
        SampleRows { starts, targets }
    }

    fn row(&self, v: usize) -> std::ops::Range<usize> {
        self.starts[v] as usize..self.starts[v + 1] as usize
    }

    /// Counts triangles. For each vertex, marks the entries of its row with the indices of its edges, and looks up the
    /// rows of its neighbours in the marks. Also counts per edge if `edges` is not 0, and per vertex if `vertices` is
    /// not 0.
    fn triangles(&self, edges: usize, vertices: usize) -> TriangleCounters {
        let found = TriangleCounters {
            triangles: AtomicU64::new(0),
            of_edge: (0..edges).map(|_| AtomicU32::new(0)).collect(),
            of_vertex: (0..vertices).map(|_| AtomicU64::new(0)).collect(),
        };
        let all = self.starts.len() - 1;
        let next = AtomicU64::new(0);
        rayon::broadcast(|_| {
            let mut marks = vec![0u32; all];
            let mut sum = 0;
            loop {
                let first = next.fetch_add(256, Relaxed) as usize;
                if first >= all {
                    break;
                }
                for u in first..(first + 256).min(all) {
                    sum += self.of_one(u, &mut marks, &found);
                }
            }
            found.triangles.fetch_add(sum, Relaxed);
        });
        found
    }

    fn of_one(&self, u: usize, marks: &mut [u32], found: &TriangleCounters) -> u64 {
        let row = self.row(u);
        row.clone().for_each(|edge| marks[self.targets[edge] as usize] = edge as u32 + 1);
        let mut sum = 0;
        for uv in row.clone() {
            let v = self.targets[uv] as usize;
            let mut closed = 0;
            for vw in self.row(v) {
                let w = self.targets[vw] as usize;
                let uw = marks[w];
                if uw == 0 {
                    continue;
                }
                closed += 1;
                for edge in [vw, uw as usize - 1] {
                    found.of_edge.get(edge).iter().for_each(|count| _ = count.fetch_add(1, Relaxed));
                }
                if let Some(corner) = found.of_vertex.get(w) {
                    corner.fetch_add(1, Relaxed);
                }
            }
            if closed > 0 {
                found.of_edge.get(uv).iter().for_each(|count| _ = count.fetch_add(closed, Relaxed));
                for corner in [u, v] {
                    found
                        .of_vertex
                        .get(corner)
                        .iter()
                        .for_each(|count| _ = count.fetch_add(u64::from(closed), Relaxed));
                }
                sum += u64::from(closed);
            }
        }
        row.for_each(|edge| marks[self.targets[edge] as usize] = 0);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(edges: impl Iterator<Item = [u64; 2]>, colours: u64, seeds: Vec<u64>) -> Vec<SampleCounts> {
        let samples = EdgeSamples::new(colours, seeds, 1 << 22);
        let mut gatherer = samples.gatherer();
        edges.for_each(|[u, v]| gatherer.edge(u, v).unwrap());
        gatherer.finish().unwrap();
        drop(gatherer);
        samples.into_edges().into_iter().map(|kept| count(kept, true, true)).collect()
    }

    fn complete(n: u64) -> impl Iterator<Item = [u64; 2]> {
        (0..n).flat_map(move |u| (0..n).map(move |v| [u, v]))
    }

    #[test]
    fn one_colour_is_exact() {
        let n = 40;
        let found = sample(complete(n).map(|[u, v]| [u << 40, v << 40]), 1, vec![7]).remove(0);
        assert_eq!(
            (found.triangles, found.edges, found.max_degree),
            (n * (n - 1) * (n - 2) / 6, n * (n - 1) / 2, n - 1)
        );
        assert_eq!(found.wedges, u128::from(n * (n - 1) * (n - 2) / 2));
        assert!(found.corners.iter().all(|&count| count == (n - 1) * (n - 2) / 2));
        assert!(found.degrees.iter().all(|&degree| u64::from(degree) == n - 1));
        // Every edge of a complete graph is in n - 2 triangles.
        assert_eq!(found.pairs, (n * (n - 1) / 2) as f64 * ((n - 2) * (n - 3) / 2) as f64);
        assert_eq!(sample(std::iter::once([3, 3]), 1, vec![7]), [SampleCounts::default()]);
    }

    #[test]
    fn the_mean_and_the_variance_are_as_derived() {
        let n = 160;
        let (t, k) = ((n * (n - 1) * (n - 2) / 6) as f64, (n * (n - 1) / 2) as f64 * ((n - 2) * (n - 3) / 2) as f64);
        for colours in [2.0, 4.0, 8.0f64] {
            let found = sample(complete(n), colours as u64, (0..32).collect());
            let estimates: Vec<f64> = found.iter().map(|c| c.triangles as f64 * colours * colours).collect();
            let mean = estimates.iter().sum::<f64>() / 32.0;
            let variance = t * (colours * colours - 1.0) + 2.0 * k * (colours - 1.0);
            assert!((mean - t).abs() < 5.0 * (variance / 32.0).sqrt(), "{mean} of {t} at {colours}");
            let spread = estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 31.0;
            assert!((0.3..3.0).contains(&(spread / variance)), "{spread} of {variance} at {colours}");
            let pairs = found.iter().map(|c| c.pairs * colours.powi(3)).sum::<f64>() / 32.0;
            assert!((0.5..2.0).contains(&(pairs / k)), "{pairs} of {k}");
        }
    }

    #[test]
    fn too_many_edges_stop_the_pass() {
        let samples = EdgeSamples::new(1, vec![1], 10_000);
        let mut gatherer = samples.gatherer();
        assert!((0..20_000).try_for_each(|i| gatherer.edge(i, i + 1)).is_err());
    }
}
