//! Rows that go to a device together: as many blocks as fit, or a part of one that does not.

use crate::graph::catalogue::Catalogue;
use std::ops::Range;

/// Rows of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The block.
    pub block: usize,
    /// Rows, counted from the block's first.
    pub rows: Range<usize>,
    /// Their entries, counted from the block's first.
    pub entries: Range<usize>,
    /// Whether these are the last rows of the block.
    pub ends_block: bool,
}

impl Piece {
    /// Its first row, as an id.
    pub fn first_row(&self, graph: &Catalogue) -> u32 {
        graph.block(self.block).block().first_row + self.rows.start as u32
    }
}

/// Consecutive rows: whole blocks, or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parcel {
    /// In order of rows; all of consecutive blocks, unless it is only one.
    pub pieces: Vec<Piece>,
    /// Rows of all pieces.
    pub rows: u64,
    /// Entries of all pieces.
    pub entries: u64,
}

impl Parcel {
    fn push(&mut self, piece: Piece) {
        self.rows += piece.rows.len() as u64;
        self.entries += piece.entries.len() as u64;
        self.pieces.push(piece);
    }

    fn with(&self, piece: &Piece) -> Parcel {
        let mut longer = self.clone();
        longer.push(piece.clone());
        longer
    }

    /// First row of the first piece, as an id.
    pub fn first_row(&self, graph: &Catalogue) -> u32 {
        self.pieces.first().map_or(0, |piece| piece.first_row(graph))
    }

    /// Whether it is nothing but whole blocks.
    pub fn is_whole(&self) -> bool {
        self.pieces.iter().all(|piece| piece.rows.start == 0 && piece.ends_block)
    }
}

/// Cuts `blocks` into parcels that fit, as large as possible. `None` if not even one row fits. What fits must fit with
/// fewer rows, too.
pub fn parcels(graph: &Catalogue, blocks: Range<usize>, fits: impl Fn(&Parcel) -> bool) -> Option<Vec<Parcel>> {
    let mut all: Vec<Parcel> = Vec::new();
    let mut open = Parcel::default();
    for block in blocks {
        let offsets = graph.block(block).block().offsets;
        let rows = offsets.len() - 1;
        let piece = |rows: Range<usize>| Piece {
            block,
            entries: offsets[rows.start] as usize..offsets[rows.end] as usize,
            ends_block: rows.end + 1 == offsets.len(),
            rows,
        };
        let whole = piece(0..rows);
        let longer = open.with(&whole);
        if fits(&longer) {
            open = longer;
            continue;
        }
        if !open.pieces.is_empty() {
            all.push(std::mem::take(&mut open));
        }
        let alone = Parcel::default().with(&whole);
        if fits(&alone) {
            open = alone;
            continue;
        }
        let mut start = 0;
        while start < rows {
            let upto = |end| Parcel::default().with(&piece(start..end));
            // The first number of rows that is too many.
            let (mut fit, mut too_many) = (start, rows + 1);
            while too_many - fit > 1 {
                let middle = fit + (too_many - fit) / 2;
                if fits(&upto(middle)) { fit = middle } else { too_many = middle }
            }
            if fit == start {
                return None;
            }
            all.push(upto(fit));
            start = fit;
        }
    }
    if !open.pieces.is_empty() {
        all.push(open);
    }
    Some(all)
}
