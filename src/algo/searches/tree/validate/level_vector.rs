//! Vector operations on lines. A line contains the levels of one vertex in all trees that are checked, as marks (the
//! level plus 1). The loops have constant length and run over plain arrays, so that the compiler vectorizes them.

use crate::algo::searches::tree::levels::Mark;

/// The marks (levels plus 1) of one vertex in all trees that are checked.
pub(super) type LevelVector<M, const W: usize> = [M; W];

/// Direction of the edges in a row, as seen from the row's vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeOrientation {
    /// Both directions, because the graph is undirected.
    Both,
    /// The edges leave the vertex.
    Leave,
    /// The edges enter the vertex.
    Enter,
}

/// For each tree, raises `gap` to the difference of the levels at the ends of an edge, if this difference is larger. A
/// difference above 1 violates rule 3 or rule 4 of Graph500. The head of a directed edge may have any smaller level,
/// and its tail may be unreached. In both cases the difference counts as 0.
#[inline(always)]
pub(super) fn widen<M: Mark, const W: usize>(
    gap: &mut LevelVector<M, W>,
    edges: EdgeOrientation,
    own: &LevelVector<M, W>,
    other: &LevelVector<M, W>,
) {
    for place in 0..W {
        let (own, other) = (own[place], other[place]);
        let apart = match edges {
            EdgeOrientation::Both => own.max(other).less(own.min(other)),
            EdgeOrientation::Leave => other.less(own),
            EdgeOrientation::Enter => own.less(other),
        };
        gap[place] = gap[place].max(apart);
    }
}

/// Returns the index of the first tree in which `gap` exceeds 1, because an edge joins levels that are too far apart.
/// Returns `None` if there is no such tree.
pub(super) fn too_wide<M: Mark, const W: usize>(gap: &LevelVector<M, W>) -> Option<usize> {
    let next = M::of_level(0);
    gap.iter().position(|&gap| gap > next)
}

/// Returns, for each tree, the mark (level plus 1) that the parent of a vertex must have. It is one less than the mark
/// of the vertex, or 0 if the vertex is the root or unreached.
#[inline(always)]
pub(super) fn above<M: Mark, const W: usize>(own: &LevelVector<M, W>) -> LevelVector<M, W> {
    let step = M::of_level(0);
    std::array::from_fn(|place| if own[place] == M::UNREACHED { M::default() } else { own[place].less(step) })
}

/// Returns true if `line` and `wanted` contain the same mark (level plus 1) for at least one tree. `line` must not
/// contain the mark 0.
#[inline(always)]
pub(super) fn any_equal<M: Mark, const W: usize>(line: &LevelVector<M, W>, wanted: &LevelVector<M, W>) -> bool {
    let mut met = false;
    for place in 0..W {
        met |= line[place] == wanted[place];
    }
    met
}

/// Returns a bitmap of the trees for which `line` and `wanted` contain the same mark (level plus 1).
#[inline(always)]
pub(super) fn equal_trees<M: Mark, const W: usize>(line: &LevelVector<M, W>, wanted: &LevelVector<M, W>) -> u64 {
    let same: [u8; W] = std::array::from_fn(|place| u8::from(line[place] == wanted[place]));
    let (eights, rest) = same.as_chunks::<8>();
    // Pack eight bytes that are 0 or 1 into eight bits.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut all = 0;
    for (number, eight) in eights.iter().enumerate() {
        all |= bits(eight) << (8 * number);
    }
    rest.iter().enumerate().fold(all, |all, (place, &same)| all | u64::from(same) << place)
}

/// Returns true if `line` contains a mark (level plus 1) other than 0.
#[inline(always)]
pub(super) fn any<M: Mark, const W: usize>(line: &LevelVector<M, W>) -> bool {
    line.iter().fold(false, |any, &mark| any | (mark != M::default()))
}
