//! Pieces of work that ranks share out while they work.

use super::{Comm, Marks};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many pieces of each rank's share were taken, from its front and from its end, in one pass after another. A rank takes its own
/// from the front; who has none left takes others' from the end.
pub struct Claims {
    words: Words,
    rank: usize,
    ranks: usize,
    passes: AtomicU64,
}

/// A word for each rank, or for this one alone.
enum Words {
    Here(Arc<[AtomicU64]>),
    Shared(Marks),
}

/// Bits of a count.
const COUNT: u32 = 28;
const MASK: u64 = (1 << COUNT) - 1;

/// An end of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its own rank takes from here.
    Front,
    /// Others do.
    Back,
}

impl Claims {
    /// Of the ranks of `comm`; where they share no memory, each takes its own share alone. Collective.
    pub fn open(comm: &Comm) -> Claims {
        let here = || Words::Here([AtomicU64::new(0)].into());
        let words = comm.marks(1).map_or_else(here, Words::Shared);
        Claims { words, rank: comm.rank(), ranks: comm.ranks(), passes: AtomicU64::new(0) }
    }

    /// Of `ranks` ranks within this process.
    pub fn within(ranks: usize) -> Vec<Claims> {
        let words: Arc<[AtomicU64]> = (0..ranks).map(|_| AtomicU64::new(0)).collect();
        let of = |rank| Claims { words: Words::Here(words.clone()), rank, ranks, passes: AtomicU64::new(0) };
        (0..ranks).map(of).collect()
    }

    /// The next pass, over other pieces or the same. All ranks begin as many, and none before all others have ended the one before.
    pub fn begin(&self) -> Pass<'_> {
        Pass { claims: self, number: (self.passes.fetch_add(1, Relaxed) + 1) & 0xff }
    }

    fn word(&self, rank: usize) -> &AtomicU64 {
        match &self.words {
            Words::Here(words) => &words[rank % words.len()],
            Words::Shared(marks) => marks.word(rank, 0),
        }
    }

    fn sees_others(&self) -> bool {
        match &self.words {
            Words::Here(words) => words.len() == self.ranks,
            Words::Shared(_) => true,
        }
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

/// One pass over the pieces.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'c> {
    claims: &'c Claims,
    number: u64,
}

impl Pass<'_> {
    /// Takes a piece of a rank's share, which has `len` (fewer than 2^28). How many were taken from that end before it; none
    /// if all are taken.
    pub fn take(&self, rank: usize, len: u64, end: End) -> Option<u64> {
        let word = self.claims.word(rank);
        // What a piece is made of is no other rank's doing, so nothing has to be seen beside the count.
        let mut seen = word.load(Relaxed);
        loop {
            let [front, back] = self.taken(seen);
            if front + back >= len {
                return None;
            }
            let (front_then, back_then) = match end {
                End::Front => (front + 1, back),
                End::Back => (front, back + 1),
            };
            let then = (self.number << (2 * COUNT)) | (back_then << COUNT) | front_then;
            match word.compare_exchange_weak(seen, then, Relaxed, Relaxed) {
                Ok(_) if end == End::Front => return Some(front),
                Ok(_) => return Some(back),
                Err(now) => seen = now,
            }
        }
    }

    /// The other rank that has most left of its share, whose length `len` tells, and how many of it were taken from the end; none
    /// if no other has any.
    pub fn behind(&self, len: impl Fn(usize) -> u64) -> Option<(usize, u64)> {
        let Claims { rank: own, ranks, .. } = *self.claims;
        let others = (0..ranks).filter(|&rank| rank != own && self.claims.sees_others());
        let left = others.map(|rank| {
            let [front, back] = self.taken(self.claims.word(rank).load(Relaxed));
            (len(rank).saturating_sub(front + back), rank, back)
        });
        left.max().filter(|&(left, ..)| left > 0).map(|(_, rank, back)| (rank, back))
    }

    /// From the front and from the end. A rank that has not begun this pass has the counts of one before.
    fn taken(&self, word: u64) -> [u64; 2] {
        if word >> (2 * COUNT) == self.number { [word & MASK, (word >> COUNT) & MASK] } else { [0, 0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_taken_once_in_every_pass_whoever_is_fast() {
        let lens = [40u64, 0, 1, 100];
        let claims = Claims::within(lens.len());
        for idle in 0..lens.len() {
            let taken: Vec<Vec<(usize, u64)>> = std::thread::scope(|scope| {
                // A rank that is idle begins as many passes, but takes nothing: others do all of it.
                let work = |rank: usize, pass: Pass<'_>| {
                    let mut mine = Vec::new();
                    while let Some(front) = pass.take(rank, lens[rank], End::Front) {
                        mine.push((rank, front));
                    }
                    while let Some((other, _)) = pass.behind(|rank| lens[rank]) {
                        let back = pass.take(other, lens[other], End::Back);
                        mine.extend(back.map(|back| (other, lens[other] - 1 - back)));
                    }
                    mine
                };
                let passes: Vec<_> = claims.iter().map(Claims::begin).enumerate().collect();
                let busy = passes.into_iter().filter(|&(rank, _)| rank != idle);
                let ranks: Vec<_> = busy.map(|(rank, pass)| scope.spawn(move || work(rank, pass))).collect();
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            let mut all = taken.concat();
            all.sort_unstable();
            let want: Vec<_> =
                lens.iter().enumerate().flat_map(|(rank, &len)| (0..len).map(move |n| (rank, n))).collect();
            assert_eq!(all, want, "{idle} idle");
        }
    }

    #[test]
    fn a_process_by_itself_helps_nobody() {
        let claims = Claims::open(&Comm::Solo);
        for _ in 0..300 {
            let pass = claims.begin();
            assert_eq!([0; 3].map(|_| pass.take(0, 2, End::Front)), [Some(0), Some(1), None]);
            assert_eq!(pass.behind(|_| 7), None);
        }
    }
}
