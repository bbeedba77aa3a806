//! Rounds, and numbers that ranks give each other between them.

use super::{kill_myself, random};
use gpugraph::internals::comm::{Comm, Rounds};
use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::memory::Number;
use std::time::Duration;

/// Bytes of the smallest links, those that short words fit, and long ones.
const LINKS: [usize; 3] = [0, 10_000, 256 << 10];

pub fn all(comm: &Comm) -> Result<()> {
    for link in LINKS {
        let mut rounds = comm.rounds(link);
        // Each pattern of lengths four times.
        for number in 0..24 {
            one(comm, &mut rounds, number, |number| number)?;
            one(comm, &mut rounds, number, |number| (number >> 7) as u32)?;
            one(comm, &mut rounds, number, |number| (number >> 50) as f32)?;
            flags(comm, &mut rounds, number)?;
        }
        for number in 0..100 {
            numbers(comm, &mut rounds, number)?;
        }
        many(comm, &mut rounds)?;
    }
    // Two at a time, dropped in another order than opened.
    let (mut a, mut b) = (comm.rounds(LINKS[0]), comm.rounds(LINKS[1]));
    for number in 0..10 {
        one(comm, &mut a, number, |number| number)?;
        one(comm, &mut b, number + 100, |number| number)?;
    }
    drop(a);
    one(comm, &mut b, 7, |number| number)?;
    assert!(comm.rounds(LINKS[0]).exchange::<u32>(&[], |_, _| Ok(())).is_err());
    Ok(())
}

/// How many words a rank sends to another in a round.
fn length(from: usize, to: usize, ranks: usize, number: u64) -> usize {
    let random = random([(from * ranks + to) as u64, number, 23]) as usize;
    match number % 6 {
        // Anything, some nothing, all to one, one to all, nothing, much.
        0 => random % 300,
        1 => random % 2 * 3,
        2 if to == number as usize / 6 % ranks => 5000,
        3 if from == number as usize / 6 % ranks => 5000,
        5 => random % 20_000,
        _ => 0,
    }
}

fn one<T: Number + PartialEq + std::fmt::Debug>(
    comm: &Comm,
    rounds: &mut Rounds,
    number: u64,
    word: impl Fn(u64) -> T,
) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.ranks());
    let words = |from: usize, to: usize| -> Vec<T> {
        let len = length(from, to, ranks, number) as u64;
        (0..len).map(|at| word(random([(from * ranks + to) as u64, at, number]))).collect()
    };
    let to: Vec<_> = (0..ranks).map(|to| words(rank, to)).collect();
    let mut taken = vec![Vec::new(); ranks];
    let take = |from: usize, words: &[T]| {
        assert!(!words.is_empty());
        // One that is slow.
        if from == 0 && random([rank as u64, number, words.len() as u64]).is_multiple_of(64) {
            std::thread::sleep(Duration::from_micros(500));
        }
        taken[from].extend_from_slice(words);
        Ok(())
    };
    if number.is_multiple_of(2) {
        let to: Vec<_> = to.iter().map(Vec::as_slice).collect();
        rounds.exchange(&to, take)?;
    } else {
        // In pieces, the others in turns.
        let mut take = take;
        let mut round = rounds.begin()?;
        for piece in 0..to.iter().map(Vec::len).max().unwrap_or(0).div_ceil(777) {
            for (to, words) in to.iter().enumerate() {
                round.send(to, words.chunks(777).nth(piece).unwrap_or(&[]), &mut take)?;
            }
        }
        round.finish(take)?;
    }
    for (from, taken) in taken.into_iter().enumerate() {
        assert!(taken == words(from, rank), "round {number} from {from}");
    }
    Ok(())
}

fn flags(comm: &Comm, rounds: &mut Rounds, number: u64) -> Result<()> {
    let flag = |rank: usize| random([rank as u64, number, 29]).is_multiple_of(3);
    let mut all = (0..comm.ranks()).map(flag);
    assert_eq!(rounds.any(flag(comm.rank()))?, all.any(|flag| flag));
    Ok(())
}

fn numbers(comm: &Comm, rounds: &mut Rounds, number: u64) -> Result<()> {
    let line = |rank: usize| std::array::from_fn(|at| random([rank as u64, at as u64, number]));
    assert_eq!(rounds.gather(line(comm.rank()))?, (0..comm.ranks()).map(line).collect::<Vec<_>>());
    Ok(())
}

/// A thousand short rounds, to some of which ranks are late.
fn many(comm: &Comm, rounds: &mut Rounds) -> Result<()> {
    let (rank, ranks) = (comm.rank() as u64, comm.ranks() as u64);
    for number in 0..1000u64 {
        if random([rank, number, 37]).is_multiple_of(150) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let words: Vec<[u64; 1]> = (0..ranks).map(|to| [number * 100 + rank * 10 + to]).collect();
        let to: Vec<_> = words.iter().map(|word| &word[..number as usize % 2]).collect();
        let (mut sum, mut count) = (0, 0);
        rounds.exchange(&to, |from, words| {
            assert_eq!(words, [number * 100 + from as u64 * 10 + rank]);
            (sum, count) = (sum + from, count + 1);
            Ok(())
        })?;
        let expected = if number % 2 == 1 { ((0..comm.ranks()).sum(), ranks) } else { (0, 0) };
        assert_eq!((sum, count), expected, "round {number}");
    }
    Ok(())
}

/// Rounds for a minute; after some, `then` happens on the last rank as it takes words.
fn for_long(comm: &Comm, then: impl Fn() -> Result<()>) -> Result<()> {
    let mut rounds = comm.rounds(LINKS[1]);
    for number in 0..60_000u32 {
        let words = vec![number; 1000];
        rounds.exchange(&vec![words.as_slice(); comm.ranks()], |from, words| {
            let last = comm.rank() + 1 == comm.ranks();
            if last && from == 0 && words[0] > 50 { then() } else { Ok(()) }
        })?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

pub fn failing_take(comm: &Comm) -> Result<()> {
    for_long(comm, || Err(Error::DiskFull { path: "spill".into(), what: "no bin has room".into() }))
}

/// The last rank takes numbers of 8 bytes for those of 4 that rank 0 sends. The others send nothing.
pub fn other_words(comm: &Comm) -> Result<()> {
    let (rank, last) = (comm.rank(), comm.ranks() - 1);
    let mut rounds = comm.rounds(LINKS[1]);
    if rank == last {
        let to: Vec<&[u64]> = vec![&[]; last + 1];
        return rounds.exchange(&to, |_, _| Ok(()));
    }
    let mut to: Vec<&[u32]> = vec![&[]; last + 1];
    if rank == 0 {
        to[last] = &[1, 2, 3];
    }
    rounds.exchange(&to, |_, _| Ok(()))
}

pub fn killed(comm: &Comm) -> Result<()> {
    for_long(comm, || {
        kill_myself();
        Ok(())
    })
}

/// The last rank never comes; a signal stops it, and the job with those that wait.
pub fn waiting(comm: &Comm) -> Result<()> {
    let mut rounds = comm.rounds(LINKS[1]);
    println!("waiting {}", comm.rank());
    if comm.rank() + 1 == comm.ranks() {
        for _ in 0..6000 {
            gpugraph::internals::process::signals::check()?;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    rounds.any(true).map(|_| ())
}
