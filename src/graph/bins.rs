//! Histogram of vertices by a per-vertex number, such as the degree. Bins are fine enough for a chart with a
//! logarithmic axis.

use serde::{Deserialize, Serialize};

/// A bin of a histogram: a range of numbers, and the count of vertices whose number is in this range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Smallest number that belongs to the bin.
    pub from: u32,
    /// Largest number that belongs to the bin.
    pub to: u32,
    /// Number of vertices in the bin.
    pub vertices: u64,
}

impl Bin {
    /// Returns the bin that contains `number`, with a count of 0. Each number below 8 has its own bin. Above, each
    /// range from a power of two to the next is divided into four bins.
    pub fn of(number: u32) -> Bin {
        let width = 1 << number.max(1).ilog2().saturating_sub(2);
        let from = number / width * width;
        Bin { from, to: from + (width - 1), vertices: 0 }
    }

    /// Returns the index of the histogram bin that contains `number`.
    fn place(number: u32) -> usize {
        let power = number.max(1).ilog2();
        if power < 3 { number as usize } else { (4 * power - 4 + (number >> (power - 2) & 3)) as usize }
    }
}

/// Number of histogram bins that cover all `u32` numbers.
const BINS: usize = 124;

/// A histogram: the number of vertices in each bin.
#[derive(Debug, Clone)]
pub struct Bins([u64; BINS]);

impl Default for Bins {
    fn default() -> Bins {
        Bins([0; BINS])
    }
}

impl Bins {
    /// Adds `vertices` to the count of the histogram bin that contains `number`.
    #[inline]
    pub fn add(&mut self, number: u32, vertices: u64) {
        self.0[Bin::place(number)] += vertices;
    }

    /// Returns the histogram's bins that are not empty, in ascending order.
    pub fn finish(&self) -> Vec<Bin> {
        let mut next = Some(0);
        let bins = self.0.iter().map(|&vertices| {
            let bin = Bin::of(next.unwrap_or(u32::MAX));
            next = bin.to.checked_add(1);
            Bin { vertices, ..bin }
        });
        bins.filter(|bin| bin.vertices > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_number_once_and_are_fine_enough_for_a_picture() {
        let (mut next, mut bins) = (0_u64, 0);
        while next <= u64::from(u32::MAX) {
            let bin = Bin::of(next as u32);
            assert_eq!(u64::from(bin.from), next);
            assert!(bin.to < 8 && bin.to == bin.from || u64::from(bin.to) < next * 5 / 4, "{bin:?}");
            let within = [bin.from, bin.from + (bin.to - bin.from) / 2, bin.to];
            assert_eq!((within.map(Bin::of), within.map(Bin::place)), ([bin; 3], [bins; 3]));
            (next, bins) = (u64::from(bin.to) + 1, bins + 1);
        }
        assert_eq!(bins, BINS);
    }

    #[test]
    fn vertices_are_counted_in_the_bins_of_their_numbers() {
        let mut bins = Bins::default();
        [(100, 1), (97, 2), (95, 3), (3, 5), (0, 7), (u32::MAX, 9)]
            .into_iter()
            .for_each(|(n, vertices)| bins.add(n, vertices));
        let bin = |from, to, vertices| Bin { from, to, vertices };
        let last = bin(7 << 29, u32::MAX, 9);
        assert_eq!(bins.finish(), [bin(0, 0, 7), bin(3, 3, 5), bin(80, 95, 3), bin(96, 111, 3), last]);
        assert_eq!(Bins::default().finish(), []);
    }
}
