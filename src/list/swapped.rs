//! The list of the published experiment on list ranking (`docs/reference/published.md`), computed by random access.
//!
//! The published program begins with the list `N-1 → N-2 → … → 0`. Then, for every even `i` in ascending order, the
//! elements that follow `i` and `j = (2i + N/5) mod N` are swapped in the list. Nothing happens if one of the two is
//! the last element, because no element follows it.
//!
//! If `N` and `N/5` (rounded down) are even, so are all `i` and `j`: even elements never move, and the odd elements
//! that follow them are permuted. With `M = N/2`, the element that follows `2u` is `2·order[u] - 1`, where `order` is
//! `1, 2, …, M-1` after the swaps of `order[u]` and `order[(2u + N/10) mod M]` for `u = 1, 2, …, M-1`. A place is an
//! index in `order`. At most three swaps touch a place, and they can be computed from the index. So a value can be
//! followed through its swaps, backwards or forwards in time, without the other values.

/// The swaps that the program of the published experiment (`docs/reference/published.md`) makes in a list of `2 · half`
/// elements.
#[derive(Debug, Clone)]
pub(super) struct Swaps {
    half: u64,
    shift: u64,
}

impl Swaps {
    /// Returns the swaps of a list of `length` elements, at most 2^63. Returns `None` if the swaps would also move even
    /// elements of a list of this length.
    pub fn new(length: u64) -> Option<Swaps> {
        let fifth = length / 5;
        (length.is_multiple_of(2) && fifth.is_multiple_of(2)).then_some(Swaps { half: length / 2, shift: fifth / 2 })
    }

    /// Returns the successor of `element` in the list; -1 for the last element.
    pub fn successor(&self, element: u64) -> i64 {
        let u = element.div_ceil(2);
        match (element, element % 2) {
            (0, _) => -1,
            (_, 0) => 2 * self.at(u) as i64 - 1,
            // The head of the list is never swapped.
            _ if u == self.half => 2 * (u as i64 - 1),
            _ => 2 * (self.place(u) as i64 - 1),
        }
    }

    /// Returns `order[place]` after all swaps, by following the value back from the last swap to its first place.
    fn at(&self, mut place: u64) -> u64 {
        let mut time = self.half;
        loop {
            match self.touching(place).into_iter().filter(|touch| *touch < time).max() {
                None | Some(0) => return place,
                Some(touch) => (place, time) = (self.other(place, touch), touch),
            }
        }
    }

    /// Returns the place (index in `order`) of the value `number` after all swaps, by following it forwards from its
    /// first place.
    fn place(&self, number: u64) -> u64 {
        let (mut place, mut time) = (number, 0);
        loop {
            match self.touching(place).into_iter().filter(|touch| *touch > time).min() {
                None => return place,
                Some(touch) => (place, time) = (self.other(place, touch), touch),
            }
        }
    }

    /// Returns the times of the swaps that touch `place`, with 0 for none. The swap of `order[u]` happens at time `u`.
    /// So a place is touched at the time equal to its own index, and at each time `t` with `2t + shift = place` modulo
    /// `half`.
    #[inline]
    fn touching(&self, place: u64) -> [u64; 3] {
        let own = if self.partner(place) == 0 { 0 } else { place };
        let twice = if place >= self.shift { place - self.shift } else { place + self.half - self.shift };
        let half_of = |number: u64| if number.is_multiple_of(2) && number < 2 * self.half { number / 2 } else { 0 };
        [own, half_of(twice), half_of(twice + self.half)]
    }

    /// Returns the place with which place `u` is swapped at time `u`; 0 if there is no swap at that time.
    #[inline]
    fn partner(&self, u: u64) -> u64 {
        let sum = 2 * u + self.shift;
        // The sum is less than three times the modulus.
        let less = if sum >= self.half { sum - self.half } else { sum };
        if less >= self.half { less - self.half } else { less }
    }

    /// Returns the place (index in `order`) to which the swap at `time` moves the value in `place`. The swap must touch
    /// `place`.
    #[inline]
    fn other(&self, place: u64, time: u64) -> u64 {
        if time == place { self.partner(time) } else { time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program of the published experiment on a doubly linked list, and returns the successor of each element.
    fn published(n: usize) -> Vec<i64> {
        let mut next: Vec<i64> = (0..n as i64).map(|i| i - 1).collect();
        let mut before: Vec<i64> = (1..=n as i64).map(|i| if i < n as i64 { i } else { -1 }).collect();
        for i in (0..n).step_by(2) {
            let j = (2 * i + n / 5) % n;
            let (a, b) = (next[i], next[j]);
            if a < 0 || b < 0 || a == b {
                continue;
            }
            // If i and j are even, a and b are not neighbours, so each can take over all links of the other.
            let (after_a, after_b) = (next[a as usize], next[b as usize]);
            assert!(after_a != b && after_b != a);
            (next[i], next[j]) = (b, a);
            (before[b as usize], before[a as usize]) = (i as i64, j as i64);
            (next[a as usize], next[b as usize]) = (after_b, after_a);
            for (node, of) in [(after_b, a), (after_a, b)] {
                if node >= 0 {
                    before[node as usize] = of;
                }
            }
        }
        next
    }

    #[test]
    fn successors_match_the_published_program() {
        let mut seen = 0;
        for n in (0..2000).chain([10_000, 100_002, 123_454]) {
            let Some(swaps) = Swaps::new(n) else { continue };
            let want = published(n as usize);
            assert!((0..n).all(|i| swaps.successor(i) == want[i as usize]), "{n}");
            seen += 1;
        }
        assert_eq!(seen, 600 + 3);
    }
}
