//! Lines of edges. A line is a group of 64 edges of one bin that are stored together.

/// Number of edges in a line. Lines are stored as a whole, so that a lock is acquired only once per line.
pub const LINE: usize = 64;
/// Number of 32-bit words of a line (group of 64 edges). The first `LINE` words are the end with the smaller id of each
/// edge. The others are the 16-bit index, in the bin, of each edge's row: word `k` of these contains the index of edge
/// `k` in its low half, and of edge `k + 32` in its high half.
pub const WORDS: usize = LINE + LINE / 2;
/// Number of 32-bit words of a line (group of 64 edges) with weights. The weights follow the row indices.
pub const WEIGHTED_WORDS: usize = WORDS + LINE;
/// Value that marks an unused element of a partly filled line (group of 64 edges). It stands in place of an edge's end
/// with the smaller id.
pub(super) const NONE: u32 = u32::MAX;

/// Returns the number of 32-bit words of a line (group of 64 edges); `weighted` says whether edges have weights.
pub const fn line_words(weighted: bool) -> usize {
    if weighted { WEIGHTED_WORDS } else { WORDS }
}

/// Returns the size in bytes of an edge in its bin; `weighted` says whether edges have weights.
pub const fn edge_bytes(weighted: bool) -> u64 {
    (line_words(weighted) * 4 / LINE) as u64
}

/// A line (group of 64 edges of one bin) that a thread is filling.
#[derive(Debug, Clone)]
pub(super) struct EdgeLine {
    pub(super) lows: [u32; LINE],
    pub(super) places: [u16; LINE],
}

impl EdgeLine {
    /// Writes the line to `words` in the layout of [`WORDS`] or [`WEIGHTED_WORDS`]; `weights` is empty if edges have no
    /// weights.
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
