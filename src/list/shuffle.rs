//! A pseudorandom order of `0..n`: a bijection that is computed, in both directions, from a key and an index.
//!
//! It is a Feistel network over two digits with different bases (as in Black & Rogaway: Ciphers with arbitrary finite
//! domains, CT-RSA 2002). A number is `left · b + right` with `left < a`, `right < b` and `a · b` just above `n`, and
//! each round adds a keyed hash of one digit to the other. The few results that are not below `n` are mapped again
//! until they are (cycle walking). Digits have 32 bits for any `n`, so that one vector instruction processes many
//! elements.
#![allow(unsafe_code)] // vector instructions that not every processor has

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Number of rounds of the Feistel network; each round changes one digit.
const ROUNDS: usize = 8;

/// Number of lanes: elements whose successors are computed at the same time by vector instructions.
const LANES: usize = 64;

/// Marks a successor that the vector loop does not compute. [`Shuffle::successor`] computes it instead.
const LEFT_OVER: i64 = -2;

/// A pseudorandom order of the numbers below `n`.
#[derive(Debug, Clone)]
pub(super) struct Shuffle {
    n: u64,
    a: u32,
    b: u32,
    keys: [u32; ROUNDS],
}

impl Shuffle {
    /// Returns the pseudorandom order of the numbers below `n` (at most 2^63) for a seed.
    pub fn new(n: u64, seed: u64) -> Shuffle {
        let mut a = n.isqrt();
        a += u64::from(a * a < n);
        let a = a.max(1);
        let keys = std::array::from_fn(|round| xxh3_64_with_seed(&(round as u64).to_le_bytes(), seed) as u32);
        Shuffle { n, a: a as u32, b: n.div_ceil(a).max(1) as u32, keys }
    }

    /// Returns the number at position `place` of the pseudorandom order.
    pub fn at(&self, place: u64) -> u64 {
        self.walk(place, |left, right| self.forward(left, right))
    }

    /// Returns the position of `number` in the pseudorandom order.
    pub fn place(&self, number: u64) -> u64 {
        self.walk(number, |left, right| self.backward(left, right))
    }

    /// Returns the number after `number` in the pseudorandom order; -1 after the last.
    pub fn successor(&self, number: u64) -> i64 {
        match self.place(number) + 1 {
            end if end == self.n => -1,
            place => self.at(place) as i64,
        }
    }

    /// Writes the successors of `first`, `first + 1` and so on, all of which must be below `n`.
    pub fn successors(&self, first: u64, out: &mut [i64]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions.
            unsafe { self.by_avx512(first, out) }
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            unsafe { self.by_avx2(first, out) }
        } else {
            self.by_vectors(first, out);
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.by_vectors(first, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn by_avx2(&self, first: u64, out: &mut [i64]) {
        self.by_vectors(first, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn by_avx512(&self, first: u64, out: &mut [i64]) {
        self.by_vectors(first, out);
    }

    #[inline(always)]
    fn by_vectors(&self, first: u64, out: &mut [i64]) {
        let (mut at, b) = (0, u64::from(self.b));
        while at < out.len() {
            // A run is consecutive numbers with the same left digit.
            let (left, right) = ((first + at as u64) / b, (first + at as u64) % b);
            let run = (out.len() - at).min((b - right) as usize);
            let now = &mut out[at..at + run];
            self.run(left as u32, right as u32, now);
            for (number, value) in (first + at as u64..).zip(now).filter(|(_, value)| **value == LEFT_OVER) {
                *value = self.successor(number);
            }
            at += run;
        }
    }

    #[inline(always)]
    fn run(&self, left: u32, right: u32, out: &mut [i64]) {
        let (whole, rest) = out.as_chunks_mut::<LANES>();
        let mut first = right;
        for values in whole {
            *values = self.lanes(left, first);
            first = first.wrapping_add(LANES as u32);
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&self.lanes(left, first)[..rest.len()]);
        }
    }

    /// Returns the successors of [`LANES`] numbers with the same left digit. If a right digit is not below `b`, the
    /// successor in that lane is arbitrary.
    #[inline(always)]
    fn lanes(&self, left: u32, first: u32) -> [i64; LANES] {
        let (b, last) = (u64::from(self.b), self.n - 1);
        let (mut l, mut r) = ([left; LANES], std::array::from_fn(|lane| first.wrapping_add(lane as u32)));
        for keys in self.keys.as_chunks::<2>().0.iter().rev() {
            each(&mut r, &l, |right, left| difference(right, hash(left, keys[1], self.b), self.b));
            each(&mut l, &r, |left, right| difference(left, hash(right, keys[0], self.a), self.a));
        }
        let mut left_over = [false; LANES];
        for lane in 0..LANES {
            left_over[lane] = u64::from(l[lane]) * b + u64::from(r[lane]) >= last;
            let carry = r[lane].wrapping_add(1) == self.b;
            l[lane] = l[lane].wrapping_add(u32::from(carry));
            r[lane] = if carry { 0 } else { r[lane].wrapping_add(1) };
        }
        for keys in self.keys.as_chunks::<2>().0 {
            each(&mut l, &r, |left, right| sum(left, hash(right, keys[0], self.a), self.a));
            each(&mut r, &l, |right, left| sum(right, hash(left, keys[1], self.b), self.b));
        }
        std::array::from_fn(|lane| {
            let next = u64::from(l[lane]) * b + u64::from(r[lane]);
            // `successor` computes only few successors: that of the last number in the order, which is -1, and those
            // that need cycle walking.
            if left_over[lane] || next > last { LEFT_OVER } else { next as i64 }
        })
    }

    #[inline(always)]
    fn walk(&self, mut number: u64, step: impl Fn(u32, u32) -> (u32, u32)) -> u64 {
        let b = u64::from(self.b);
        loop {
            let (left, right) = step((number / b) as u32, (number % b) as u32);
            number = u64::from(left) * b + u64::from(right);
            if number < self.n {
                return number;
            }
        }
    }

    #[inline(always)]
    fn forward(&self, mut left: u32, mut right: u32) -> (u32, u32) {
        for keys in self.keys.as_chunks::<2>().0 {
            left = sum(left, hash(right, keys[0], self.a), self.a);
            right = sum(right, hash(left, keys[1], self.b), self.b);
        }
        (left, right)
    }

    #[inline(always)]
    fn backward(&self, mut left: u32, mut right: u32) -> (u32, u32) {
        for keys in self.keys.as_chunks::<2>().0.iter().rev() {
            right = difference(right, hash(left, keys[1], self.b), self.b);
            left = difference(left, hash(right, keys[0], self.a), self.a);
        }
        (left, right)
    }
}

/// Replaces each digit in `of` by the result of `round` for this digit and the other digit of the same number.
#[inline(always)]
fn each(of: &mut [u32; LANES], others: &[u32; LANES], round: impl Fn(u32, u32) -> u32) {
    for (digit, other) in of.iter_mut().zip(others) {
        *digit = round(*digit, *other);
    }
}

/// Returns `x + y` modulo `m`; both must be below `m`.
#[inline(always)]
fn sum(x: u32, y: u32, m: u32) -> u32 {
    let rest = m.wrapping_sub(y);
    if x >= rest { x.wrapping_sub(rest) } else { x.wrapping_add(y) }
}

/// Returns `x - y` modulo `m`; both must be below `m`.
#[inline(always)]
fn difference(x: u32, y: u32, m: u32) -> u32 {
    let less = x.wrapping_sub(y);
    if x >= y { less } else { less.wrapping_add(m) }
}

/// Returns a hash, below `end`, of a digit. The multipliers are those of Wellons' `lowbias32`. Its last step is
/// omitted, because it would only change low bits, which the scaling drops.
#[inline(always)]
fn hash(digit: u32, key: u32, end: u32) -> u32 {
    let mut x = digit.wrapping_add(key);
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    ((u64::from(x) * u64::from(end)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_with_its_inverse() {
        for n in (1..70).chain([255, 256, 257, 4095, 4097, 10_000]) {
            let shuffle = Shuffle::new(n, n);
            let mut order: Vec<u64> = (0..n).map(|place| shuffle.at(place)).collect();
            assert!((0..n).all(|place| shuffle.place(order[place as usize]) == place), "{n}");
            order.sort_unstable();
            assert!(order.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn vectorised_and_single_successors_agree() {
        for n in [1, 2, 3, 7, 1000, 65_537, 1 << 31, (1 << 32) + 5, 1 << 40, 1 << 62, (1 << 63) - 1] {
            let shuffle = Shuffle::new(n, 3);
            for first in [0, n / 3, n.saturating_sub(300)] {
                let mut out = vec![0; (n - first).min(300) as usize];
                shuffle.successors(first, &mut out);
                let singles: Vec<i64> = (first..).take(out.len()).map(|number| shuffle.successor(number)).collect();
                assert_eq!(out, singles, "{n} {first}");
                assert!(out.iter().all(|value| (-1..n as i64).contains(value)));
            }
        }
    }

    /// Checks that over many seeds, all pairs of a number and its successor occur about equally often.
    #[test]
    fn every_pair_of_neighbours_is_as_likely() {
        let n = 64u64;
        let mut counts = vec![0.0f64; (n * n) as usize];
        for seed in 0..64 * 100 {
            let shuffle = Shuffle::new(n, seed);
            let mut out = vec![0; n as usize];
            shuffle.successors(0, &mut out);
            for (number, next) in out.iter().enumerate().filter(|(_, next)| **next >= 0) {
                counts[number * n as usize + *next as usize] += 1.0;
            }
        }
        // There are 64 · 63 pairs, and each list has 63 of them.
        let mean = 100.0f64;
        let chi: f64 = (0..n * n)
            .filter(|pair| pair / n != pair % n)
            .map(|pair| (counts[pair as usize] - mean).powi(2) / mean)
            .sum();
        let degrees = (n * (n - 1)) as f64;
        assert!((chi - degrees).abs() < 6.0 * (2.0 * degrees).sqrt(), "{chi}");
    }
}
