//! Puts edges into bins on the CPU. Each thread gathers the edges of a bin in a line of its own and stores full lines, so that the bins'
//! memory is written sequentially: software-managed write combining (Satish et al., SIGMOD 2010; Wassenberg & Sanders, Euro-Par 2011).

use super::route::Route;
use super::{LINE, NONE, Placing, changed};
use crate::error::Result;
use crate::formats::{Edges, Visitor};
use crate::graph::direction::Way;
use crate::memory::prefetch;
use crate::prepare::relabel::ISOLATED;

impl Placing for Vec<Scatter<'_, '_, '_>> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.iter_mut().map(|scatter| scatter as &mut dyn Visitor).collect()
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        self.into_iter().map(Scatter::finish).sum()
    }
}

/// A line of a bin that a thread gathers.
#[derive(Debug, Clone)]
pub(super) struct Line {
    lows: [u32; LINE],
    places: [u16; LINE],
}

impl Line {
    /// Writes the line as it lies in a chunk.
    pub(super) fn write(&self, words: &mut [u32]) {
        let (lows, places) = words.split_at_mut(LINE);
        lows.copy_from_slice(&self.lows);
        let (below, above) = self.places.split_at(LINE / 2);
        for ((word, &below), &above) in places.iter_mut().zip(below).zip(above) {
            *word = u32::from(below) | (u32::from(above) << 16);
        }
    }
}

/// Puts edges into bins, for one thread, with a line for each bin.
pub struct Scatter<'p, 'r, 'a> {
    route: &'p Route<'r, 'a>,
    lane: usize,
    map: &'p [u32],
    source: &'p str,
    /// First row of each bin.
    starts: Vec<u32>,
    lines: Vec<Line>,
    filled: Vec<u32>,
    loops: u64,
}

impl<'p, 'r, 'a> Scatter<'p, 'r, 'a> {
    pub(super) fn new(route: &'p Route<'r, 'a>, lane: usize, map: &'p [u32], source: &'p str) -> Self {
        let spans = &route.bins().spans;
        let starts = spans.iter().map(|span| span.rows.start as u32).collect();
        let lines = vec![Line { lows: [NONE; LINE], places: [0; LINE] }; spans.len()];
        Scatter { route, lane, map, source, starts, lines, filled: vec![0; spans.len()], loops: 0 }
    }

    /// Returns the bytes of one over `bins` bins.
    pub fn bytes(bins: usize) -> u64 {
        (bins * (size_of::<Line>() + 8)) as u64
    }

    /// Stores the lines that are left. Returns the number of loops met.
    ///
    /// # Errors
    /// Those of the spill file.
    pub fn finish(mut self) -> Result<u64> {
        for (bin, &filled) in self.filled.iter().enumerate().filter(|&(_, &filled)| filled > 0) {
            let line = &mut self.lines[bin];
            line.lows[filled as usize..].fill(NONE);
            self.route.line(self.lane, bin, line)?;
        }
        Ok(self.loops)
    }

    #[inline]
    fn push(&mut self, a: u32, b: u32) -> Result<()> {
        let way = if a > b { Way::Out } else { Way::In };
        let (row, low) = (self.route.bins().direction().row(a.max(b), way), a.min(b));
        let bin = self.route.bins().of(row);
        if !self.route.wants(bin) {
            return Ok(());
        }
        let (line, at) = (&mut self.lines[bin], self.filled[bin] as usize % LINE);
        line.lows[at] = low;
        line.places[at] = (row - self.starts[bin]) as u16;
        self.filled[bin] = (at as u32 + 1) % LINE as u32;
        if at + 1 == LINE {
            self.route.line(self.lane, bin, line)?;
        }
        Ok(())
    }

    #[inline]
    fn edge(&mut self, u: u64, v: u64) -> Result<()> {
        if u == v {
            self.loops += 1;
            return Ok(());
        }
        match (self.map.get(u as usize), self.map.get(v as usize)) {
            (Some(&a), Some(&b)) if a.max(b) != ISOLATED => self.push(a, b),
            _ => Err(changed(self.source)),
        }
    }
}

impl Scatter<'_, '_, '_> {
    /// Places edges. The look-ups are random, so those of later edges are prefetched while these are placed.
    fn edges<T: Copy + Into<u64>>(&mut self, edges: &[[T; 2]]) -> Result<()> {
        const AHEAD: usize = 32;
        for (i, &[u, v]) in edges.iter().enumerate() {
            if let Some(&[u, v]) = edges.get(i + AHEAD) {
                let (u, v): (u64, u64) = (u.into(), v.into());
                prefetch(self.map, u as usize);
                prefetch(self.map, v as usize);
            }
            self.edge(u.into(), v.into())?;
        }
        Ok(())
    }
}

impl Visitor for Scatter<'_, '_, '_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.edges(edges),
            Edges::Wide(edges) => self.edges(edges),
        }
    }
}
