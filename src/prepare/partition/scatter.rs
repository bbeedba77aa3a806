//! Puts edges in bins on the CPU. Each thread gathers the edges of a bin in its own line (buffer of 64 edges), and
//! stores only full lines. So it writes the bins' memory sequentially. This is software-managed write combining (Satish
//! et al., SIGMOD 2010; Wassenberg & Sanders, Euro-Par 2011).

use super::line::{EdgeLine, LINE, NONE};
use super::route::Route;
use super::{EdgePlacing, changed};
use crate::error::{Error, Result};
use crate::formats::{Edges, Visitor};
use crate::graph::EdgeDirection;
use crate::memory::prefetch;
use crate::prepare::relabel::ISOLATED;

/// Makes the visitors with which `threads` threads put edges in bins on the CPU. `map` maps ids to vertices, and
/// `source` names the input in errors.
pub fn placing<'p>(
    route: &'p Route<'_, '_>,
    threads: usize,
    map: &'p [u32],
    source: &'p str,
) -> Box<dyn EdgePlacing + 'p> {
    match route.weighted() {
        false => Box::new(scatters::<false>(route, threads, map, source)),
        true => Box::new(scatters::<true>(route, threads, map, source)),
    }
}

fn scatters<'p, 'r, 'a, const WEIGHTED: bool>(
    route: &'p Route<'r, 'a>,
    threads: usize,
    map: &'p [u32],
    source: &'p str,
) -> Vec<Scatter<'p, 'r, 'a, WEIGHTED>> {
    (0..threads).map(|lane| Scatter::new(route, lane, map, source)).collect()
}

impl<const WEIGHTED: bool> EdgePlacing for Vec<Scatter<'_, '_, '_, WEIGHTED>> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.iter_mut().map(|scatter| scatter as &mut dyn Visitor).collect()
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        self.into_iter().map(Scatter::finish).sum()
    }
}

/// Visitor that puts the edges that one thread reads into bins, with their weights if edges are `WEIGHTED`. It has a
/// partly filled line (buffer of 64 edges) for each bin.
pub struct Scatter<'p, 'r, 'a, const WEIGHTED: bool> {
    route: &'p Route<'r, 'a>,
    lane: usize,
    map: &'p [u32],
    source: &'p str,
    /// First row of each bin.
    starts: Vec<u32>,
    lines: Vec<EdgeLine>,
    /// Weights of the edges in each line (buffer of 64 edges), if edges have weights.
    weights: Vec<[u32; LINE]>,
    filled: Vec<u32>,
    loops: u64,
}

impl<'p, 'r, 'a, const WEIGHTED: bool> Scatter<'p, 'r, 'a, WEIGHTED> {
    pub(super) fn new(route: &'p Route<'r, 'a>, lane: usize, map: &'p [u32], source: &'p str) -> Self {
        let spans = &route.bins().spans;
        let starts = spans.iter().map(|span| span.rows.start as u32).collect();
        let lines = vec![EdgeLine { lows: [NONE; LINE], places: [0; LINE] }; spans.len()];
        let weights = vec![[0; LINE]; if WEIGHTED { spans.len() } else { 0 }];
        Scatter { route, lane, map, source, starts, lines, weights, filled: vec![0; spans.len()], loops: 0 }
    }

    /// Returns the size in bytes of the lines (buffers of 64 edges) of one thread, one for each of `bins` bins.
    pub fn bytes(bins: usize) -> u64 {
        let weights = if WEIGHTED { size_of::<[u32; LINE]>() } else { 0 };
        (bins * (size_of::<EdgeLine>() + weights + 8)) as u64
    }

    /// Stores the partly filled lines (buffers of 64 edges). Returns the number of self-loops.
    ///
    /// # Errors
    /// Errors of the spill file.
    pub fn finish(mut self) -> Result<u64> {
        for (bin, &filled) in self.filled.iter().enumerate().filter(|&(_, &filled)| filled > 0) {
            let line = &mut self.lines[bin];
            line.lows[filled as usize..].fill(NONE);
            self.route.line(self.lane, bin, line, self.weights.get(bin).map_or(&[], |weights| weights))?;
        }
        Ok(self.loops)
    }

    #[inline]
    fn push(&mut self, a: u32, b: u32, weight: u32) -> Result<()> {
        let way = if a > b { EdgeDirection::Out } else { EdgeDirection::In };
        let (row, low) = (self.route.bins().direction().row(a.max(b), way), a.min(b));
        let bin = self.route.bins().of(row);
        if !self.route.wants(bin) {
            return Ok(());
        }
        let (line, at) = (&mut self.lines[bin], self.filled[bin] as usize % LINE);
        line.lows[at] = low;
        line.places[at] = (row - self.starts[bin]) as u16;
        if WEIGHTED {
            self.weights[bin][at] = weight;
        }
        self.filled[bin] = (at as u32 + 1) % LINE as u32;
        if at + 1 == LINE {
            let weights: &[u32] = if WEIGHTED { &self.weights[bin] } else { &[] };
            self.route.line(self.lane, bin, line, weights)?;
        }
        Ok(())
    }

    #[inline]
    fn edge(&mut self, u: u64, v: u64, weight: u32) -> Result<()> {
        if u == v {
            self.loops += 1;
            return Ok(());
        }
        match (self.map.get(u as usize), self.map.get(v as usize)) {
            (Some(&a), Some(&b)) if a.max(b) != ISOLATED => self.push(a, b, weight),
            _ => Err(changed(self.source)),
        }
    }

    /// Puts edges in bins. It prefetches the map's elements for later edges, because look-ups are random.
    fn edges<T: Copy + Into<u64>>(&mut self, edges: &[[T; 2]], weights: &[u32]) -> Result<()> {
        const AHEAD: usize = 32;
        if WEIGHTED && weights.len() != edges.len() {
            return Err(Error::internal("place edges", "fewer weights than edges"));
        }
        for (i, &[u, v]) in edges.iter().enumerate() {
            if let Some(&[u, v]) = edges.get(i + AHEAD) {
                let (u, v): (u64, u64) = (u.into(), v.into());
                prefetch(self.map, u as usize);
                prefetch(self.map, v as usize);
            }
            self.edge(u.into(), v.into(), if WEIGHTED { weights[i] } else { 0 })?;
        }
        Ok(())
    }
}

impl<const WEIGHTED: bool> Visitor for Scatter<'_, '_, '_, WEIGHTED> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.edges(edges, weights),
            Edges::Wide(edges) => self.edges(edges, weights),
        }
    }
}
