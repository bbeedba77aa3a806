//! Lines of marks, compared as vectors: loops of constant length over plain arrays, which the compiler turns into vector instructions.

use crate::algo::searches::tree::levels::Mark;

/// The marks of one vertex, a place for each tree.
pub(super) type Line<M, const W: usize> = [M; W];

/// The edges of a row, as seen from its vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edges {
    /// They have no direction.
    Both,
    /// They leave it.
    Leave,
    /// They enter it.
    Enter,
}

/// Raises `gap` to how far the levels at the ends of an edge are apart: more than 1 breaks rule 3 or rule 4. The edge may lead down any
/// number of levels, or from a vertex that is not reached, if it has a direction.
#[inline(always)]
pub(super) fn widen<M: Mark, const W: usize>(gap: &mut Line<M, W>, edges: Edges, own: &Line<M, W>, other: &Line<M, W>) {
    for place in 0..W {
        let (own, other) = (own[place], other[place]);
        let apart = match edges {
            Edges::Both => own.max(other).less(own.min(other)),
            Edges::Leave => other.less(own),
            Edges::Enter => own.less(other),
        };
        gap[place] = gap[place].max(apart);
    }
}

/// Returns the first place where levels are too far apart.
pub(super) fn too_wide<M: Mark, const W: usize>(gap: &Line<M, W>) -> Option<usize> {
    let next = M::of_level(0);
    gap.iter().position(|&gap| gap > next)
}

/// Returns the marks of parents: one less than those of their children, 0 for the root and for vertices that are not reached.
#[inline(always)]
pub(super) fn above<M: Mark, const W: usize>(own: &Line<M, W>) -> Line<M, W> {
    let step = M::of_level(0);
    std::array::from_fn(|place| if own[place] == M::UNREACHED { M::default() } else { own[place].less(step) })
}

/// Returns true if some place has the same mark in both, which is never 0 in `line`.
#[inline(always)]
pub(super) fn meet<M: Mark, const W: usize>(line: &Line<M, W>, wanted: &Line<M, W>) -> bool {
    let mut met = false;
    for place in 0..W {
        met |= line[place] == wanted[place];
    }
    met
}

/// Returns a bit for each place that has the same mark in both.
#[inline(always)]
pub(super) fn meeting<M: Mark, const W: usize>(line: &Line<M, W>, wanted: &Line<M, W>) -> u64 {
    let same: [u8; W] = std::array::from_fn(|place| u8::from(line[place] == wanted[place]));
    let (eights, rest) = same.as_chunks::<8>();
    // Eight bytes of 0 or 1 become a byte of eight bits.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut all = 0;
    for (number, eight) in eights.iter().enumerate() {
        all |= bits(eight) << (8 * number);
    }
    rest.iter().enumerate().fold(all, |all, (place, &same)| all | u64::from(same) << place)
}

/// Returns true if some place is not 0.
#[inline(always)]
pub(super) fn any<M: Mark, const W: usize>(line: &Line<M, W>) -> bool {
    line.iter().fold(false, |any, &mark| any | (mark != M::default()))
}
