//! Size of the memory of rounds between ranks, for opening them and for memory plans.

use super::share;

/// Limits of the memory of [`Rounds`](super::Rounds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundShape {
    /// Bytes that may be in flight from one rank to another, from 256 to 2^30. Above 2 MiB, rounds of long messages get
    /// no faster.
    pub link: usize,
    /// Bytes that a reduction moves at once on one rank, up to 2^30.
    pub reduction: usize,
}

impl RoundShape {
    const LEAST: usize = 256;
    /// MPI counts bytes in 31 bits.
    const GREATEST: usize = 1 << 30;
    /// Largest useful link and reduction, in bytes.
    const MOST: u64 = 4 << 20;
    /// Bytes of a pair of links in addition to their content: two cache lines of positions, or the headers and requests
    /// of messages; and a grain of a reduction in each of its buffers.
    const PEER_BYTES: u64 = 512 + 4 * share::GRAIN as u64 * 8;
    /// Bytes of a rank in addition to its links.
    const RANK_BYTES: u64 = 12 << 10;
    const HEAD_BYTES: u64 = 8 << 10;

    /// Returns the largest useful shape whose [`Self::bytes`] are within `budget` bytes for each of `ranks` ranks, or
    /// else the smallest shape. Half of the budget is for links, half for reductions.
    pub fn within(budget: u64, ranks: usize) -> RoundShape {
        let peers = ranks.max(2) as u64 - 1;
        let room = budget.saturating_sub(peers * Self::PEER_BYTES + Self::RANK_BYTES + Self::HEAD_BYTES);
        // Links are whole cache lines.
        let link = ((room / 2 / peers).min(Self::MOST) / 64 * 64).max(Self::LEAST as u64);
        // Even the shortest links may take more than half.
        let reduction = room.saturating_sub(link * peers).min(Self::MOST);
        RoundShape { link: link as usize, reduction: reduction as usize }
    }

    /// Returns the most bytes that rounds of this shape take among `ranks` ranks on `nodes` machines. On one machine
    /// that is the memory of all ranks together, because they share it; on several machines it is the memory of each
    /// rank.
    pub fn bytes(&self, ranks: usize, nodes: usize) -> u64 {
        let (ranks, link) = (ranks as u64, self.link_bytes() as u64);
        let each = ranks.saturating_sub(1) * (link + Self::PEER_BYTES) + self.reduction_bytes() as u64;
        match nodes {
            _ if ranks <= 1 => 0,
            1 => ranks * (each + Self::RANK_BYTES) + Self::HEAD_BYTES,
            _ => each + Self::RANK_BYTES,
        }
    }

    /// Returns the most bytes that rounds of this shape take of one of `ranks` ranks on `nodes` machines. On one machine
    /// a rank touches the links from it and those to it, and everything of reductions. The system counts shared memory
    /// for each process that touches it.
    pub fn rank_bytes(&self, ranks: usize, nodes: usize) -> u64 {
        let others = (ranks as u64).saturating_sub(1);
        let links_of_others = if nodes == 1 { others * others.saturating_sub(1) * self.link_bytes() as u64 } else { 0 };
        self.bytes(ranks, nodes) - links_of_others
    }

    /// Returns the bytes of a link, rounded up to whole cache lines.
    pub(super) fn link_bytes(&self) -> usize {
        self.link.clamp(Self::LEAST, Self::GREATEST).next_multiple_of(64)
    }

    /// Returns the bytes of the buffers of a reduction.
    pub(super) fn reduction_bytes(&self) -> usize {
        self.reduction.min(Self::GREATEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_takes_no_more_than_its_budget_and_nearly_all_of_a_small_one() {
        for ranks in [2, 3, 8, 64, 1000] {
            let least = RoundShape::within(0, ranks).bytes(ranks, 1).div_ceil(ranks as u64);
            for budget in [least, least + 1000, 1 << 20, 3 << 20, 100 << 20, 40 << 30].map(|some| some.max(least)) {
                let shape = RoundShape::within(budget, ranks);
                let (one, several) = (shape.bytes(ranks, 1), shape.bytes(ranks, ranks));
                assert!(one <= budget * ranks as u64, "{ranks}, {budget}: {shape:?} takes {one}");
                assert!(several <= budget, "{ranks}, {budget}: {shape:?} takes {several}");
                // The rest is less than a cache line for each link, and the heads, which the ranks of a machine share.
                let left = budget - several;
                let most = ranks as u64 * (64 + RoundShape::PEER_BYTES) + RoundShape::HEAD_BYTES + 1000;
                assert!(left < most || shape.reduction as u64 == RoundShape::MOST, "{ranks}, {budget}: {left} left");
            }
            assert_eq!(RoundShape { link: usize::MAX, reduction: usize::MAX }.link_bytes(), 1 << 30);
        }
        assert_eq!(RoundShape::within(1 << 30, 1).bytes(1, 1), 0);
    }
}
