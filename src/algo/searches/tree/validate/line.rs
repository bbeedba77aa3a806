//! Comparisons of lines of marks. The loops have constant length and run over plain arrays, so the compiler turns them
//! into vector instructions.

use crate::algo::searches::tree::levels::Mark;

/// Marks of one vertex in all trees.
pub(super) type Line<M, const W: usize> = [M; W];

/// Direction of the edges of a row, as seen from its vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeWay {
    /// The edges have no direction.
    Both,
    /// The edges leave the vertex.
    Leave,
    /// The edges enter the vertex.
    Enter,
}

/// Raises `gap` to the difference of the levels at the ends of an edge. A difference above 1 breaks rule 3 or rule 4.
/// An edge with a direction may lead down any number of levels, and may leave an unreached vertex.
#[inline(always)]
pub(super) fn widen<M: Mark, const W: usize>(
    gap: &mut Line<M, W>,
    edges: EdgeWay,
    own: &Line<M, W>,
    other: &Line<M, W>,
) {
    for place in 0..W {
        let (own, other) = (own[place], other[place]);
        let apart = match edges {
            EdgeWay::Both => own.max(other).less(own.min(other)),
            EdgeWay::Leave => other.less(own),
            EdgeWay::Enter => own.less(other),
        };
        gap[place] = gap[place].max(apart);
    }
}

/// Returns the first tree in which levels are too far apart.
pub(super) fn too_wide<M: Mark, const W: usize>(gap: &Line<M, W>) -> Option<usize> {
    let next = M::of_level(0);
    gap.iter().position(|&gap| gap > next)
}

/// Returns the marks of parents: one less than the marks of their children, and 0 for the root and for unreached
/// vertices.
#[inline(always)]
pub(super) fn above<M: Mark, const W: usize>(own: &Line<M, W>) -> Line<M, W> {
    let step = M::of_level(0);
    std::array::from_fn(|place| if own[place] == M::UNREACHED { M::default() } else { own[place].less(step) })
}

/// Returns true if the two lines have the same mark in some tree. `line` must not contain 0.
#[inline(always)]
pub(super) fn meet<M: Mark, const W: usize>(line: &Line<M, W>, wanted: &Line<M, W>) -> bool {
    let mut met = false;
    for place in 0..W {
        met |= line[place] == wanted[place];
    }
    met
}

/// Returns a bit for each tree in which the two lines have the same mark.
#[inline(always)]
pub(super) fn meeting<M: Mark, const W: usize>(line: &Line<M, W>, wanted: &Line<M, W>) -> u64 {
    let same: [u8; W] = std::array::from_fn(|place| u8::from(line[place] == wanted[place]));
    let (eights, rest) = same.as_chunks::<8>();
    // Eight bytes of 0 or 1 become one byte of eight bits.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut all = 0;
    for (number, eight) in eights.iter().enumerate() {
        all |= bits(eight) << (8 * number);
    }
    rest.iter().enumerate().fold(all, |all, (place, &same)| all | u64::from(same) << place)
}

/// Returns true if some mark is not 0.
#[inline(always)]
pub(super) fn any<M: Mark, const W: usize>(line: &Line<M, W>) -> bool {
    line.iter().fold(false, |any, &mark| any | (mark != M::default()))
}
