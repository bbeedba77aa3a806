//! Computes the levels of vertices from the parents in trees, and from nothing else.
//!
//! Vertices are taken in order. Parents mostly come before their children, and then the level is one more than the
//! parent's. If the level of the parent is not known yet, parents are followed to a vertex whose level is. All vertices
//! on the way get their levels, so that long paths are followed once. Several threads do so at the same time. Where
//! they meet, they write the same values.
//!
//! The levels of several trees lie side by side, in a *line* for each vertex, because checks of edges need the levels
//! of all trees at both ends.

use super::fault::TreeFault;
use crate::algo::searches::NONE;
use crate::algo::team::first;
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::memory::{Budget, Buffer, Plain, byte_cells, cells};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

/// Parents of one search, as searches write them.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// Root of the search.
    pub root: Vertex,
    /// Parent of every vertex; [`NONE`] for an unreached one.
    pub parents: &'a [u32],
}

/// A level plus 1, or 0 while the level is unknown. Every level differs from [`Mark::UNREACHED`] by more than 1.
pub(super) trait Mark: Plain + Copy + Ord + Default + Send + Sync {
    /// Mark of an unreached vertex.
    const UNREACHED: Self;
    /// Largest level that a mark can hold.
    const DEEPEST: u32;
    /// A mark that several threads may write.
    type Cell: Sync;
    fn cells(marks: &mut [Self]) -> &[Self::Cell];
    fn read(cell: &Self::Cell) -> Self;
    fn write(self, cell: &Self::Cell);
    fn of_level(level: u32) -> Self;
    /// Returns the level. The mark must be that of a level.
    fn level(self) -> u32;
    fn less(self, other: Self) -> Self;
}

macro_rules! mark {
    ($($number:ty, $cell:ty, $cells:path;)*) => {$(
        impl Mark for $number {
            const UNREACHED: Self = Self::MAX;
            const DEEPEST: u32 = Self::MAX as u32 - 3;
            type Cell = $cell;

            fn cells(marks: &mut [Self]) -> &[$cell] {
                $cells(marks)
            }

            #[inline]
            fn read(cell: &$cell) -> Self {
                cell.load(Relaxed)
            }

            #[inline]
            fn write(self, cell: &$cell) {
                cell.store(self, Relaxed);
            }

            #[inline]
            fn of_level(level: u32) -> Self {
                level as Self + 1
            }

            #[inline]
            fn level(self) -> u32 {
                u32::from(self) - 1
            }

            /// Returns the difference, or 0 if `other` is larger.
            #[inline]
            fn less(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }
    )*};
}

mark! {
    u8, AtomicU8, byte_cells;
    u32, AtomicU32, cells;
}

/// Outcome of marking levels.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// Every vertex has its mark in every tree.
    All,
    /// Trees with levels that are too large for marks, as a flag for each tree.
    Deep(Vec<bool>),
    /// One of the trees is wrong.
    Wrong {
        /// Number of the tree.
        tree: usize,
        /// Fault in the tree.
        fault: TreeFault,
    },
}

/// Number of vertices that a thread takes at a time. Their lines fit the first-level cache, except with many deep
/// trees.
const PART: usize = 256;

/// Marks the levels of up to `W` trees in `lines`, which must be zero. Positions of a line without a tree become
/// unreached.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Addresses`] if no thread can be started.
pub(super) fn mark<M: Mark, const W: usize>(
    lines: &mut [[M; W]],
    trees: &[Tree<'_>],
    threads: usize,
) -> Result<Marked> {
    let vertices = lines.len();
    for (tree, of) in trees.iter().enumerate() {
        let parent = of.parents.get(of.root.index()).copied();
        if parent != Some(of.root.0) {
            return Ok(Marked::Wrong {
                tree,
                fault: TreeFault::Root { parent: parent.filter(|&parent| parent != NONE) },
            });
        }
        lines[of.root.index()][tree] = M::of_level(0);
    }
    let marking = Marking::<M> {
        cells: M::cells(lines.as_flattened_mut()),
        width: W,
        trees,
        deep: trees.iter().map(|_| AtomicBool::new(false)).collect(),
    };
    if let Some((tree, fault)) = first(threads, vertices, PART, |part| marking.part(part))? {
        return Ok(Marked::Wrong { tree, fault });
    }
    let deep: Vec<bool> = marking.deep.into_iter().map(AtomicBool::into_inner).collect();
    Ok(if deep.contains(&true) { Marked::Deep(deep) } else { Marked::All })
}

/// State that all threads share.
struct Marking<'a, M: Mark> {
    cells: &'a [M::Cell],
    width: usize,
    trees: &'a [Tree<'a>],
    deep: Vec<AtomicBool>,
}

/// Why a vertex gets no mark.
enum Unmarked {
    Deep,
    Wrong(TreeFault),
}

impl<M: Mark> Marking<'_, M> {
    /// Marks a part of the vertices. Returns the first fault with the number of the tree.
    fn part(&self, part: Range<usize>) -> Option<(usize, TreeFault)> {
        for (number, tree) in self.trees.iter().enumerate() {
            if self.deep[number].load(Relaxed) {
                continue;
            }
            // The root is marked already.
            let root = tree.root.index();
            let others =
                if part.contains(&root) { [part.start..root, root + 1..part.end] } else { [part.clone(), 0..0] };
            for vertices in others {
                match self.mark(number, tree, vertices) {
                    Ok(()) => {}
                    Err(Unmarked::Deep) => self.deep[number].store(true, Relaxed),
                    Err(Unmarked::Wrong(fault)) => return Some((number, fault)),
                }
            }
        }
        for v in part {
            for place in self.trees.len()..self.width {
                M::UNREACHED.write(&self.cells[v * self.width + place]);
            }
        }
        None
    }

    fn cell(&self, number: usize, v: usize) -> Option<&M::Cell> {
        self.cells.get(v * self.width + number)
    }

    #[inline]
    fn mark(&self, number: usize, tree: &Tree<'_>, vertices: Range<usize>) -> Result<(), Unmarked> {
        let (known, last) = (M::of_level(0), M::of_level(M::DEEPEST));
        for (v, &parent) in vertices.clone().zip(&tree.parents[vertices]) {
            let mark = match self.cell(number, parent as usize).map(M::read) {
                _ if parent == NONE => M::UNREACHED,
                Some(above) if above >= known && above < last => M::of_level(above.level() + 1),
                _ => self.follow(number, tree, v)?,
            };
            mark.write(&self.cells[v * self.width + number]);
        }
        Ok(())
    }

    /// Follows parents from `v` to a vertex with a mark, and marks all vertices on the way. The vertex must have a
    /// parent.
    #[cold]
    fn follow(&self, number: usize, tree: &Tree<'_>, v: usize) -> Result<M, Unmarked> {
        let (mut at, mut steps) = (v, 0u64);
        // Brent's cycle detection (1980): the walk meets the vertex `waiting` once that lies on the cycle and stays for
        // as many steps as the cycle has.
        let (mut waiting, mut until) = (v, 1);
        let above = loop {
            let (vertex, parent) = (at as u32, tree.parents[at]);
            let read = match self.cell(number, parent as usize) {
                None => return Err(Unmarked::Wrong(TreeFault::NoVertex { vertex, parent: parent.into() })),
                Some(cell) => M::read(cell),
            };
            steps += 1;
            if read == M::UNREACHED || tree.parents[parent as usize] == NONE {
                return Err(Unmarked::Wrong(TreeFault::LostParent { vertex, parent }));
            }
            if read != M::default() {
                break u64::from(read.level());
            }
            if parent as usize == waiting {
                return Err(Unmarked::Wrong(TreeFault::Cycle { vertex: v as u32 }));
            }
            if steps == until {
                (waiting, until) = (parent as usize, 2 * until);
            }
            at = parent as usize;
        };
        if above + steps > u64::from(M::DEEPEST) {
            return Err(Unmarked::Deep);
        }
        let mark = |steps: u64| M::of_level((above + steps) as u32);
        let mut at = v;
        for steps in (1..=steps).rev() {
            mark(steps).write(&self.cells[at * self.width + number]);
            at = tree.parents[at] as usize;
        }
        Ok(mark(steps))
    }
}

/// Returns the level of every vertex of a tree; [`NONE`] for an unreached one.
///
/// # Errors
/// [`Error::Validation`] if the parents do not form a tree; [`Error::Limit`] if 4 bytes a vertex do not fit;
/// [`Error::Stopped`].
pub fn levels(tree: Tree<'_>, threads: usize, budget: &Budget) -> Result<Buffer<u32>> {
    let mut levels: Buffer<u32> = budget.zeroed(tree.parents.len(), "levels of vertices (4 bytes each)")?;
    let (lines, _) = levels.as_chunks_mut::<1>();
    match mark(lines, &[tree], threads)? {
        Marked::All => {}
        // A tree has fewer vertices than the deepest mark.
        Marked::Deep(_) => return Err(Error::internal("work out levels", "a tree deeper than it has vertices")),
        Marked::Wrong { fault, .. } => {
            let name = |v: u32| format!("{v} in the order of vertices");
            return Err(fault.of_source(&name(tree.root.0), &name));
        }
    }
    for level in levels.iter_mut() {
        *level = if *level == u32::UNREACHED { NONE } else { level.level() };
    }
    Ok(levels)
}
