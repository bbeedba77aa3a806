//! Generated lists. The successor of element `i` depends only on the parameters and on `i`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::shuffle::Shuffle;
use super::swapped::Swaps;
use crate::error::{Error, Result};
use crate::list::MAX_LENGTH;

/// Version of the generators. It is incremented whenever a generator produces a different list from the same
/// parameters.
const VERSION: u64 = 1;

/// Number of consecutive elements in a run, in a list of kind [`Kind::Runs`].
const RUN: u64 = 64;

/// A kind of generated list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The list of the published experiment on list ranking (`docs/reference/published.md`), for lengths whose last
    /// digit is 0, 2 or 4.
    Swapped,
    /// A list in random order.
    Random,
    /// A list in which each element `i` is followed by `i + 1`.
    Ordered,
    /// Runs of 64 consecutive elements, in random order. Within a run, each element `i` is followed by `i + 1`. The
    /// remaining elements (fewer than 64, with the largest ids) come last.
    Runs,
}

impl Kind {
    /// All kinds of generated lists, in the order of the documentation.
    pub const ALL: [Kind; 4] = [Kind::Swapped, Kind::Random, Kind::Ordered, Kind::Runs];

    /// Returns the name of the kind in job files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Swapped => "swapped",
            Kind::Random => "random",
            Kind::Ordered => "ordered",
            Kind::Runs => "runs",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("unknown kind of list {name:?}: one of {names}")
        })
    }
}

/// The parameters of a generated list. The same parameters produce the same list on any machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Generated {
    /// Number of elements of the list.
    pub length: u64,
    /// The order of the elements in the list.
    pub kind: Kind,
    /// Seed of a list in random order. Other kinds of lists ignore it.
    pub seed: u64,
}

impl Generated {
    /// Creates the list with these parameters, after checking the length.
    ///
    /// # Errors
    /// [`Error::Usage`] if the length exceeds [`MAX_LENGTH`], or if a list of kind [`Kind::Swapped`] can't have this
    /// length.
    pub fn new(length: u64, kind: Kind, seed: u64) -> Result<Generated> {
        if length > MAX_LENGTH {
            return Err(Error::Usage(format!("list: expected a length of at most {MAX_LENGTH}, found {length}")));
        }
        if kind == Kind::Swapped && Swaps::new(length).is_none() {
            let expected = "a length whose last digit is 0, 2 or 4 (else the published swaps move every element)";
            return Err(Error::Usage(format!("list of kind swapped: expected {expected}, found {length}")));
        }
        Ok(Generated { length, kind, seed })
    }

    /// Writes the successors of the elements from `first` on to `out`, with -1 for the last element of the list. `out`
    /// must not extend beyond the last element.
    pub fn fill(&self, first: u64, out: &mut [i64]) {
        match self.kind {
            Kind::Ordered => self.fill_ordered(first, out),
            Kind::Random => Shuffle::new(self.length, self.seed).successors(first, out),
            Kind::Runs => self.fill_runs(first, out),
            Kind::Swapped => match Swaps::new(self.length) {
                Some(swaps) => {
                    (first..).zip(out).for_each(|(element, successor)| *successor = swaps.successor(element));
                }
                None => unreachable!("such a length is refused"),
            },
        }
    }

    fn fill_ordered(&self, first: u64, out: &mut [i64]) {
        let behind = first + out.len() as u64;
        out.iter_mut().zip(first + 1..).for_each(|(successor, next)| *successor = next as i64);
        if let (true, Some(last)) = (behind == self.length, out.last_mut()) {
            *last = -1;
        }
    }

    fn fill_runs(&self, first: u64, out: &mut [i64]) {
        self.fill_ordered(first, out);
        let runs = self.length / RUN;
        let behind = runs * RUN;
        let end = (first + out.len() as u64).min(behind);
        if first >= end {
            return;
        }
        let shuffle = Shuffle::new(runs, self.seed);
        let mut followers = [0; 64];
        let (mut run, last) = (first / RUN, end / RUN);
        while run < last {
            let now = followers.len().min((last - run) as usize);
            shuffle.successors(run, &mut followers[..now]);
            for (run, follower) in (run..).zip(&followers[..now]) {
                let successor = match follower {
                    -1 if behind < self.length => behind as i64,
                    -1 => -1,
                    follower => follower * RUN as i64,
                };
                out[(run * RUN + RUN - 1 - first) as usize] = successor;
            }
            run += now as u64;
        }
    }

    /// Returns a hash of the list's parameters.
    pub fn identity(&self) -> u64 {
        let words = [VERSION, self.length, self.kind as u64, if self.is_seeded() { self.seed } else { 0 }];
        xxh3_64(words.map(u64::to_le_bytes).as_flattened())
    }

    fn is_seeded(&self) -> bool {
        matches!(self.kind, Kind::Random | Kind::Runs)
    }
}

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "list {} length {}", self.kind.name(), self.length)?;
        if self.is_seeded() { write!(f, " seed {}", self.seed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(length: u64, kind: Kind, seed: u64) -> Vec<i64> {
        let mut out = vec![0; length as usize];
        Generated::new(length, kind, seed).unwrap().fill(0, &mut out);
        out
    }

    /// Returns the elements in list order. The list is followed from the only element that is not a successor.
    fn order(successors: &[i64]) -> Vec<u64> {
        let mut heads = vec![true; successors.len()];
        successors.iter().filter(|next| **next >= 0).for_each(|next| heads[*next as usize] = false);
        let mut order: Vec<u64> = (0u64..).zip(heads).filter(|(_, head)| *head).map(|(element, _)| element).collect();
        assert_eq!(order.len(), successors.len().min(1), "one head");
        while let Some(next) = order.last().map(|last| successors[*last as usize]).filter(|next| *next >= 0) {
            order.push(next as u64);
        }
        assert_eq!(order.len(), successors.len());
        order
    }

    #[test]
    fn every_kind_is_one_list() {
        for length in (0..300).chain([1000, 4096, 4100, 10_004]) {
            for kind in Kind::ALL {
                if kind == Kind::Swapped && !matches!(length % 10, 0 | 2 | 4) {
                    assert_eq!(Generated::new(length, kind, 1).unwrap_err().exit_code(), 2);
                    continue;
                }
                let order = order(&made(length, kind, length));
                let runs = (length - length % RUN) as usize;
                match kind {
                    Kind::Ordered => assert!(order.into_iter().eq(0..length)),
                    Kind::Runs => {
                        assert!(order[runs..].iter().copied().eq(runs as u64..length));
                        let whole =
                            |run: &[u64]| run[0].is_multiple_of(RUN) && run.iter().copied().eq(run[0]..run[0] + RUN);
                        assert!(order[..runs].chunks(RUN as usize).all(whole));
                    }
                    _ => {}
                }
            }
        }
        assert_ne!(made(300, Kind::Random, 1), made(300, Kind::Random, 2));
        assert_ne!(made(3000, Kind::Runs, 1), made(3000, Kind::Runs, 2));
    }

    #[test]
    fn any_piece_can_be_made_alone() {
        for kind in Kind::ALL {
            let list = Generated::new(5024, kind, 7).unwrap();
            let whole = made(5024, kind, 7);
            for length in [1, 63, 64, 100, 1111] {
                for (index, piece) in whole.chunks(length).enumerate() {
                    let mut again = vec![0; piece.len()];
                    list.fill((index * length) as u64, &mut again);
                    assert_eq!(again, piece, "{list} {length}");
                }
            }
        }
    }

    #[test]
    fn the_longest_lists() {
        for kind in [Kind::Random, Kind::Ordered, Kind::Runs] {
            let list = Generated::new(MAX_LENGTH, kind, 1).unwrap();
            let mut out = [0; 100];
            list.fill(MAX_LENGTH - 100, &mut out);
            assert!(out.iter().all(|next| *next >= -1 && (*next as i128) < MAX_LENGTH as i128), "{list}");
        }
        let list = Generated::new(MAX_LENGTH - 3, Kind::Swapped, 1).unwrap();
        let mut out = [0; 100];
        list.fill(MAX_LENGTH - 103, &mut out);
        assert_eq!(out[99], MAX_LENGTH as i64 - 5, "the head is followed by the element before it");
        assert_eq!(Generated::new(MAX_LENGTH + 1, Kind::Random, 1).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn names() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("Random".parse::<Kind>().is_err());
        let [a, b] = [Generated::new(10, Kind::Ordered, 1), Generated::new(10, Kind::Ordered, 2)].map(Result::unwrap);
        assert_eq!((a.identity(), a.to_string().as_str()), (b.identity(), "list ordered length 10"));
        let [a, b] = [Generated::new(10, Kind::Runs, 1), Generated::new(10, Kind::Runs, 2)].map(Result::unwrap);
        assert_ne!(a.identity(), b.identity());
    }
}
