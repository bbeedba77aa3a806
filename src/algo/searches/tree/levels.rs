//! Computes the level of every vertex of a breadth-first tree from the parents alone.
//!
//! Threads process vertices in ascending order. Most parents come before their children, so the level of a child is the
//! known level of its parent plus one. Otherwise the thread follows parents to a vertex with a known level, and sets
//! the levels of all vertices on the way. So each long path is followed only once. Several threads may set the level of
//! a vertex, but they write the same value.
//!
//! The levels of a vertex in several trees are stored side by side, in one *line* per vertex, because checks of edges
//! compare both ends in all trees.

use super::fault::{NumberedFault, TreeFault};
use crate::algo::searches::NONE;
use crate::algo::team::first;
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::memory::{Budget, Buffer, Plain, byte_cells, cells};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

/// The breadth-first tree that a search wrote.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// Root of the search.
    pub root: Vertex,
    /// Parent of every vertex; [`NONE`] for an unreached vertex.
    pub parents: &'a [u32],
}

/// A *mark* encodes the level of a vertex as a small number: the level plus 1, or 0 while the level is unknown. The
/// marks of all levels differ from [`Mark::UNREACHED`] by more than 1.
pub(super) trait Mark: Plain + Copy + Ord + Default + Send + Sync {
    /// The mark of an unreached vertex.
    const UNREACHED: Self;
    /// Largest level that a mark can represent.
    const DEEPEST: u32;
    /// Atomic form of a mark, which several threads may write.
    type Cell: Sync;
    fn cells(marks: &mut [Self]) -> &[Self::Cell];
    fn read(cell: &Self::Cell) -> Self;
    fn write(self, cell: &Self::Cell);
    fn of_level(level: u32) -> Self;
    /// Returns the level that the mark encodes. The mark must be neither 0 nor [`Mark::UNREACHED`].
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

            /// Returns `self` minus `other`, or 0 if `other` is larger.
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

/// Number of vertices that a thread processes at a time. The levels of so many vertices fit in the first-level cache,
/// unless many trees are deep.
const PART: usize = 256;

/// Computes the levels of all vertices in up to `W` trees. `lines` contains a line for each vertex, and a line contains
/// a mark (the level plus 1) for each tree. All marks must be zero before. If a line has more marks than there are
/// trees, the other marks are set to [`Mark::UNREACHED`]. Returns the indices of the trees whose levels do not fit in
/// marks of this size, or the first fault of a tree.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Addresses`] if no thread can be started.
pub(super) fn mark<M: Mark, const W: usize>(
    lines: &mut [[M; W]],
    trees: &[Tree<'_>],
    threads: usize,
) -> Result<Result<Vec<usize>, NumberedFault>> {
    let vertices = lines.len();
    for (tree, of) in trees.iter().enumerate() {
        let parent = of.parents.get(of.root.index()).copied();
        if parent != Some(of.root.0) {
            return Ok(Err((tree, TreeFault::Root { parent: parent.filter(|&parent| parent != NONE) })));
        }
        lines[of.root.index()][tree] = M::of_level(0);
    }
    let marking = Marking::<M> {
        cells: M::cells(lines.as_flattened_mut()),
        width: W,
        trees,
        deep: trees.iter().map(|_| AtomicBool::new(false)).collect(),
    };
    if let Some(wrong) = first(threads, vertices, PART, |part| marking.part(part))? {
        return Ok(Err(wrong));
    }
    let deep = marking.deep.into_iter().map(AtomicBool::into_inner).enumerate();
    Ok(Ok(deep.filter(|&(_, is_deep)| is_deep).map(|(tree, _)| tree).collect()))
}

/// State of [`mark()`] that its threads share.
struct Marking<'a, M: Mark> {
    cells: &'a [M::Cell],
    width: usize,
    trees: &'a [Tree<'a>],
    deep: Vec<AtomicBool>,
}

/// Reason why the level of a vertex could not be set.
enum Unmarked {
    Deep,
    Wrong(TreeFault),
}

impl<M: Mark> Marking<'_, M> {
    /// Sets the levels of the vertices `part` in all trees. Returns the first fault, if any.
    fn part(&self, part: Range<usize>) -> Option<NumberedFault> {
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

    /// Follows the parents from `v` to a vertex with a known level, and sets the levels of all vertices on the way. `v`
    /// must have a parent. Returns the mark of `v` (its level plus 1).
    #[cold]
    fn follow(&self, number: usize, tree: &Tree<'_>, v: usize) -> Result<M, Unmarked> {
        let (mut at, mut steps) = (v, 0u64);
        // Brent's cycle detection (1980): `waiting` stays at a vertex for 1, 2, 4, ... steps. Once it stays on a cycle
        // for at least the length of the cycle, the walk returns to it.
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

/// Returns the level of every vertex of a tree; [`NONE`] for an unreached vertex.
///
/// # Errors
/// [`Error::Validation`] if the parents do not form a tree; [`Error::Limit`] if memory is too small for 4 bytes a
/// vertex; [`Error::Stopped`].
pub fn levels(tree: Tree<'_>, threads: usize, budget: &Budget) -> Result<Buffer<u32>> {
    let mut levels: Buffer<u32> = budget.zeroed(tree.parents.len(), "levels of vertices (4 bytes each)")?;
    let (lines, _) = levels.as_chunks_mut::<1>();
    let name = |v: u32| format!("{v} in the order of vertices");
    let deep = mark(lines, &[tree], threads)?.map_err(|(_, fault)| fault.of_source(&name(tree.root.0), &name))?;
    if !deep.is_empty() {
        // No level exceeds the number of vertices, so levels always fit 32 bits.
        return Err(Error::internal("work out levels", "a tree deeper than it has vertices"));
    }
    for level in levels.iter_mut() {
        *level = if *level == u32::UNREACHED { NONE } else { level.level() };
    }
    Ok(levels)
}
