//! Lines of edges. A line is a group of edges of one bin that are stored together.

/// Number of edges in a line (group of edges of one bin). Storing a line takes a lock once.
pub const LINE: usize = 64;
/// Number of 32-bit words of a line (group of edges): the smaller neighbour of each edge, then the offset of each
/// edge's row in the bin. Word `k` of the offsets has two of them: for edge `k` in its low half, and for edge `k + 32`
/// in its high half.
pub const WORDS: usize = LINE + LINE / 2;
/// Number of words of a line (group of edges) with weights. The weights follow the offsets of rows.
pub const WEIGHTED_WORDS: usize = WORDS + LINE;
/// Value in place of the smaller neighbour that marks an unused element of a partly filled line.
pub(super) const NONE: u32 = u32::MAX;

/// Returns the number of words of a line (group of edges of one bin); `weighted` says whether edges have weights.
pub const fn line_words(weighted: bool) -> usize {
    if weighted { WEIGHTED_WORDS } else { WORDS }
}

/// Returns the bytes that an edge takes in its bin; `weighted` says whether edges have weights.
pub const fn edge_bytes(weighted: bool) -> u64 {
    (line_words(weighted) * 4 / LINE) as u64
}

/// A line (group of edges of one bin) that a thread is filling.
#[derive(Debug, Clone)]
pub(super) struct EdgeLine {
    pub(super) lows: [u32; LINE],
    pub(super) places: [u16; LINE],
}

impl EdgeLine {
    /// Writes the line to `words` in the layout of a chunk, with the weights of its edges if they have some.
    pub(super) fn write(&self, weights: &[u32], words: &mut [u32]) {
        let (edges, after) = words.split_at_mut(WORDS);
        after.copy_from_slice(weights);
        let (lows, places) = edges.split_at_mut(LINE);
        lows.copy_from_slice(&self.lows);
        let (below, above) = self.places.split_at(LINE / 2);
        for ((word, &below), &above) in places.iter_mut().zip(below).zip(above) {
            *word = u32::from(below) | (u32::from(above) << 16);
        }
    }
}
