//! Rows that go to a device together: as many blocks as fit, or a part of one that does not.

use crate::graph::catalogue::Catalogue;
use crate::graph::placement::BlockSize;
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
        graph.first_row(self.block) + self.rows.start as u32
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

/// Cuts `blocks` into parcels that fit, as large as possible. `None` if not even one row fits, or one block of a graph that is
/// not here, whose blocks are not cut. What fits must fit with fewer rows, too.
pub fn parcels(graph: &Catalogue, blocks: Range<usize>, fits: impl Fn(&Parcel) -> bool) -> Option<Vec<Parcel>> {
    let mut all: Vec<Parcel> = Vec::new();
    let mut open = Parcel::default();
    for block in blocks {
        let BlockSize { rows, entries } = graph.size(block);
        let (rows, entries) = (rows as usize, entries as usize);
        let whole = Piece { block, rows: 0..rows, entries: 0..entries, ends_block: true };
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
        if !graph.is_local() {
            return None;
        }
        let offsets = graph.block(block).offsets;
        let piece = |rows: Range<usize>| Piece {
            block,
            entries: offsets[rows.start] as usize..offsets[rows.end] as usize,
            ends_block: rows.end + 1 == offsets.len(),
            rows,
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::layout::Layout;
    use crate::graph::order::DegreeRuns;
    use crate::graph::stored;
    use proptest::prelude::*;

    /// A graph with these rows (or as much of them as a row can have), in blocks of about `target` entries.
    fn graph(rows: &[u32], target: u64) -> Catalogue {
        let folder = tempfile::tempdir().expect("a folder");
        let degree = rows.iter().copied().max().unwrap_or(0).max(1);
        let layout = Layout::with_target(&DegreeRuns::new(vec![(degree, rows.len() as u32)]), target);
        for b in 0..layout.blocks() {
            let span = layout.block(b).rows;
            let lengths: Vec<u32> = span.clone().map(|v| rows[v as usize].min(v as u32)).collect();
            let targets: Vec<u32> = lengths.iter().flat_map(|&length| 0..length).collect();
            let _ = stored::write(folder.path(), 1, b, span.start, &[(&lengths, &targets)]).expect("written");
        }
        // The blocks stay mapped.
        Catalogue::open(folder.path(), 1, layout).expect("whole")
    }

    fn row(graph: &Catalogue, block: usize, at: usize) -> Piece {
        let offsets = graph.block(block).offsets;
        Piece {
            block,
            rows: at..at + 1,
            entries: offsets[at] as usize..offsets[at + 1] as usize,
            ends_block: at + 2 == offsets.len(),
        }
    }

    /// Parcels hold every row once and in order, as many as fit: whole blocks, or a part of one.
    fn check(graph: &Catalogue, blocks: Range<usize>, fits: impl Fn(&Parcel) -> bool) -> Result<(), TestCaseError> {
        let rows = blocks.clone().flat_map(|b| (0..graph.block(b).rows()).map(move |at| (b, at)));
        let mut rows = rows.collect::<Vec<_>>().into_iter().peekable();
        let alone = |&(b, at): &(usize, usize)| fits(&Parcel::default().with(&row(graph, b, at)));
        let Some(all) = parcels(graph, blocks.clone(), &fits) else {
            prop_assert!(!rows.all(|at| alone(&at)), "every row fits alone");
            return Ok(());
        };
        for parcel in &all {
            prop_assert!(fits(parcel) && !parcel.pieces.is_empty());
            prop_assert!(parcel.is_whole() || parcel.pieces.len() == 1);
            let &(b, at) = rows.peek().expect("a row that is left");
            prop_assert_eq!(parcel.first_row(graph), graph.block(b).first_row + at as u32);
            let (mut count, mut entries) = (0, 0);
            for piece in &parcel.pieces {
                let offsets = graph.block(piece.block).offsets;
                prop_assert_eq!(piece.ends_block, piece.rows.end + 1 == offsets.len());
                let ends = [piece.rows.start, piece.rows.end].map(|at| offsets[at] as usize);
                prop_assert_eq!(ends, [piece.entries.start, piece.entries.end]);
                for at in piece.rows.clone() {
                    prop_assert_eq!(rows.next(), Some((piece.block, at)));
                }
                count += piece.rows.len() as u64;
                entries += piece.entries.len() as u64;
            }
            prop_assert_eq!((parcel.rows, parcel.entries), (count, entries));
            // What comes next would not have fitted: a row, or a block behind whole ones.
            let Some(&(b, at)) = rows.peek() else { continue };
            let end = if at > 0 { at + 1 } else { graph.block(b).rows() };
            let longer = (at..end).fold(parcel.clone(), |longer, at| longer.with(&row(graph, b, at)));
            // Pieces count, too: these rows would be one.
            let mut merged = Parcel { pieces: parcel.pieces.clone(), ..longer };
            merged.pieces.extend((at == 0).then(|| row(graph, b, 0)));
            prop_assert!(at == 0 && !parcel.is_whole() || !fits(&merged));
        }
        prop_assert_eq!(rows.next(), None);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn parcels_hold_every_row_once(
            rows in prop::collection::vec(prop_oneof![4 => 0u32..20, 1 => Just(0), 1 => 0u32..400], 1..700),
            target in 1u64..3000,
            most in 1u64..6000,
            pieces in 1usize..6,
        ) {
            let graph = graph(&rows, target);
            let weight = |parcel: &Parcel| 2 * parcel.rows + parcel.entries;
            for first in [0, graph.len() / 3] {
                check(&graph, first..graph.len(), |p| weight(p) <= most && p.pieces.len() <= pieces)?;
            }
            check(&graph, 0..graph.len(), |_| true)?;
        }
    }

    #[test]
    fn the_ends_of_what_fits() {
        let graph = graph(&[50; 400], 2000);
        let all = |fits: &dyn Fn(&Parcel) -> bool| parcels(&graph, 0..graph.len(), fits);
        assert!(graph.len() > 5);
        assert_eq!(all(&|_| false), None);
        assert_eq!(parcels(&graph, 2..2, |_| false), Some(Vec::new()));
        assert_eq!(all(&|_| true).map(|all| all.len()), Some(1));
        assert_eq!(all(&|p| p.pieces.len() <= 1).map(|all| all.len()), Some(graph.len()));
        assert_eq!(all(&|p| p.rows <= 1).map(|all| all.len()), Some(400));
        assert_eq!(all(&|p| p.entries <= 49), None, "a row has 50");
        let parts = all(&|p| p.entries <= 60).expect("a row each");
        assert_eq!(parts.iter().filter(|part| part.pieces[0].ends_block).count(), graph.len());
    }
}
