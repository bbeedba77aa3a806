//! Blocks in the memory of GPUs: where each lies. Every GPU has the offsets of its blocks first, then their targets.

use crate::gpu::{Span, span_bytes};

/// Rows and entries of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub rows: u64,
    /// Entries.
    pub entries: u64,
}

/// A block in the memory of a GPU: one offset a row and one more, and the targets.
#[derive(Debug, Clone, Copy)]
pub struct Home {
    /// Offsets of the block's rows among its targets.
    pub offsets: Span<u32>,
    /// Targets of all rows.
    pub targets: Span<u32>,
}

/// Where all blocks of a graph lie, in the memory of this GPU or another.
#[derive(Debug, Clone, Default)]
pub struct Homes(Vec<Home>);

impl Homes {
    /// Blocks of these sizes, of which rank `ranks[b]` has block `b`: `span` gives the words of a rank's GPU from a byte on.
    pub fn new(sizes: &[Size], ranks: &[u32], mut span: impl FnMut(u32, u64, u64) -> Span<u32>) -> Homes {
        let mut homes = vec![Home { offsets: Span::default(), targets: Span::default() }; sizes.len()];
        let most = ranks.iter().max().map_or(0, |&most| most + 1);
        for rank in 0..most {
            let blocks: Vec<usize> = (0..sizes.len()).filter(|&b| ranks[b] == rank).collect();
            let mut at = 0;
            let mut next = |words: u64| {
                let here = span(rank, at, words);
                at += span_bytes::<u32>(words);
                here
            };
            blocks.iter().for_each(|&b| homes[b].offsets = next(sizes[b].rows + 1));
            blocks.iter().for_each(|&b| homes[b].targets = next(sizes[b].entries));
        }
        Homes(homes)
    }

    /// Bytes of blocks of these sizes.
    pub fn bytes(sizes: impl Iterator<Item = Size>) -> u64 {
        sizes.map(|size| span_bytes::<u32>(size.rows + 1) + span_bytes::<u32>(size.entries)).sum()
    }

    /// Block `b`.
    pub fn of(&self, b: usize) -> Home {
        self.0[b]
    }
}
