//! Collective operations and small messages.

use super::random;
use gpugraph::internals::comm::{Comm, WorkStealing};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

const LENGTHS: [usize; 9] = [0, 1, 7, 16, 17, 100, 1023, 2048, 5001];

/// Every operation on arrays of up to `longest` elements.
pub fn all(comm: &Comm, longest: usize) {
    for len in LENGTHS.into_iter().filter(|&len| len <= longest) {
        broadcast(comm, len);
        gather(comm, len);
        reductions(comm, len);
        shares(comm, len);
        wide_shares(comm, len);
        to_leader(comm, len);
        if random([len as u64, 0, 1]) % 2 == comm.rank() as u64 % 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        comm.barrier();
    }
}

fn bytes(rank: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| random([rank as u64, at as u64, 3]) as u8).collect()
}

fn broadcast(comm: &Comm, len: usize) {
    // What others give does not matter, its length neither.
    let mine = if comm.is_leader() { bytes(0, len) } else { bytes(9, comm.rank() * 3) };
    assert_eq!(comm.broadcast(mine), bytes(0, len));
}

fn gather(comm: &Comm, len: usize) {
    let of = |rank: usize| bytes(rank, if rank.is_multiple_of(2) { len } else { len / 3 * rank });
    let expected: Vec<_> = (0..comm.ranks()).map(of).collect();
    assert_eq!(comm.all_gather(&of(comm.rank())), expected);
    let of = |rank: usize| counts(rank, if rank.is_multiple_of(2) { len } else { len / 3 * rank });
    let mut found = vec![Vec::new(); comm.ranks()];
    comm.gather_each(&of(comm.rank()), |rank, some| found[rank].extend_from_slice(some));
    assert_eq!(found, (0..comm.ranks()).map(of).collect::<Vec<_>>());
}

fn counts(rank: usize, len: usize) -> Vec<u64> {
    (0..len).map(|at| random([rank as u64, at as u64, 5]) >> 8).collect()
}

fn reductions(comm: &Comm, len: usize) {
    let per_rank: Vec<_> = (0..comm.ranks()).map(|rank| counts(rank, len)).collect();
    let column = |at: usize| per_rank.iter().map(move |values| values[at]);
    let mut values = counts(comm.rank(), len);
    comm.all_sum(&mut values);
    assert_eq!(values, (0..len).map(|at| column(at).sum()).collect::<Vec<u64>>());
    let mut values = counts(comm.rank(), len);
    comm.all_max(&mut values);
    assert_eq!(values, (0..len).filter_map(|at| column(at).max()).collect::<Vec<u64>>());
    let mut values = counts(comm.rank(), len);
    comm.all_min(&mut values);
    assert_eq!(values, (0..len).filter_map(|at| column(at).min()).collect::<Vec<u64>>());
}

/// Some so large that sums stop at the largest u32.
fn degree(rank: usize, at: usize) -> u32 {
    let value = random([rank as u64, at as u64, 7]);
    (value >> if at.is_multiple_of(5) { 32 } else { 48 }) as u32
}

fn sum(ranks: usize, at: usize) -> u32 {
    (0..ranks).map(|rank| u64::from(degree(rank, at))).sum::<u64>().min(u32::MAX.into()) as u32
}

fn shares(comm: &Comm, len: usize) {
    let expected: Vec<u32> = (0..len).map(|at| sum(comm.ranks(), at)).collect();
    let mut values: Vec<u32> = (0..len).map(|at| degree(comm.rank(), at)).collect();
    comm.reduce_scatter(&mut values);
    let mine = comm.share(len);
    assert_eq!(values[mine.clone()], expected[mine.clone()]);
    // What the others' shares hold must come from them alone.
    for (at, value) in values.iter_mut().enumerate() {
        if !mine.contains(&at) {
            *value = 0xDEAD_BEEF;
        }
    }
    comm.all_gather_shares(&mut values);
    assert_eq!(values, expected);
}

/// Sums beyond 32 bits, which have to be exact.
fn wide_shares(comm: &Comm, len: usize) {
    let value = |rank: usize, at: usize| (rank as u64 + 1) << 40 | at as u64;
    let expected: Vec<u64> = (0..len).map(|at| (0..comm.ranks()).map(|rank| value(rank, at)).sum()).collect();
    let mut values: Vec<u64> = (0..len).map(|at| value(comm.rank(), at)).collect();
    comm.reduce_scatter(&mut values);
    let mine = comm.share(len);
    assert_eq!(values[mine.clone()], expected[mine.clone()]);
    values[..mine.start].fill(u64::MAX);
    values[mine.end..].fill(u64::MAX);
    comm.all_gather_shares(&mut values);
    assert_eq!(values, expected);
}

fn to_leader(comm: &Comm, len: usize) {
    let mut values = counts(comm.rank(), len);
    comm.reduce_to_root(&mut values);
    if comm.is_leader() {
        let expected = |at| (0..comm.ranks()).map(|rank| counts(rank, len)[at]).sum();
        // Each of the others' columns anew would take the square of the length.
        let some: Vec<usize> = (0..len).step_by((len / 50).max(1)).collect();
        assert_eq!(
            some.iter().map(|&at| values[at]).collect::<Vec<u64>>(),
            some.into_iter().map(expected).collect::<Vec<u64>>()
        );
    }
}

/// Whether the process has a segment of shared memory mapped at some time during `work`.
pub fn sees_shared_memory(work: impl FnOnce()) -> bool {
    let (done, seen) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(SeqCst) && !seen.load(SeqCst) {
                let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
                seen.fetch_or(maps.contains("/dev/shm/gpugraph-"), SeqCst);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        work();
        done.store(true, SeqCst);
    });
    seen.load(SeqCst)
}

/// Arrays longer than the chunk that is used: several windows of pieces.
pub fn large(comm: &Comm) {
    let len = Comm::SCRATCH / 4 + 12_345;
    shares(comm, len);
    let mut values = vec![comm.rank() as u64 + 1; len];
    values[len - 1] = u64::MAX - 1;
    comm.reduce_to_root(&mut values);
    if comm.is_leader() {
        let ranks = comm.ranks() as u64;
        assert!(values[..len - 1].iter().all(|&value| value == ranks * (ranks + 1) / 2));
        assert_eq!(values[len - 1], if ranks == 1 { u64::MAX - 1 } else { u64::MAX });
    }
    assert_eq!(comm.broadcast(bytes(0, if comm.is_leader() { len } else { 0 })), bytes(0, len));
    gather(comm, len);
}

/// In every pass some rank begins late: each piece of all shares is taken once, and the last of its own by others.
pub fn stealing(comm: &Comm) {
    let Some(stealing) = WorkStealing::open(comm) else { return };
    let len = |rank: usize| 300 + 37 * rank as u64;
    for late in 0..2 * comm.ranks() {
        let pass = stealing.begin();
        if late % comm.ranks() == comm.rank() {
            std::thread::sleep(Duration::from_millis(30));
        }
        let mine: Vec<u64> = std::thread::scope(|scope| {
            let work = || {
                let mut mine = Vec::new();
                while let Some(front) = pass.take(len(comm.rank())) {
                    mine.extend([comm.rank() as u64, front]);
                }
                while let Some(taken) = pass.most_left(len) {
                    if pass.help(taken) {
                        mine.extend([taken.rank as u64, len(taken.rank) - 1 - taken.back]);
                    }
                }
                mine
            };
            let threads = [(); 2].map(|()| scope.spawn(work));
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
        });
        let mut all = vec![Vec::new(); comm.ranks()];
        comm.gather_each(&mine, |from, words| all[from].extend_from_slice(words));
        let mut pieces: Vec<[u64; 2]> = all.iter().flat_map(|words| words.as_chunks::<2>().0).copied().collect();
        pieces.sort_unstable();
        let expected: Vec<[u64; 2]> =
            (0..comm.ranks()).flat_map(|rank| (0..len(rank)).map(move |piece| [rank as u64, piece])).collect();
        assert!(pieces == expected, "rank {} late: {} of {}", late % comm.ranks(), pieces.len(), expected.len());
    }
}

/// Every rank sends to every rank, itself too, from two threads, and answers what it gets.
pub fn mail(comm: &Comm) {
    let (rank, ranks) = (comm.rank(), comm.ranks());
    let letter = |from: usize, to: usize, number: usize| {
        let length = if number % 10 == 9 { 3000 } else { number % 7 };
        let mut letter = vec![from as u8, to as u8, number as u8];
        letter.extend(bytes(from * 100 + to, length));
        letter
    };
    const LETTERS: usize = 50;
    let mut next = vec![0; ranks];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..LETTERS {
                (0..ranks).for_each(|to| comm.send(to, &letter(rank, to, number)));
            }
        });
        // Beside collective operations.
        for round in 0..5u64 {
            let mut values = [round + rank as u64];
            comm.all_max(&mut values);
            assert_eq!(values, [round + ranks as u64 - 1]);
        }
        let until = Instant::now() + Duration::from_secs(60);
        while next.iter().any(|&count| count < LETTERS) {
            match comm.receive() {
                Some((from, text)) => {
                    assert_eq!(text, letter(from, rank, next[from]), "in order");
                    next[from] += 1;
                }
                None => assert!(Instant::now() < until, "letters are missing: {next:?}"),
            }
        }
    });
    comm.barrier();
    assert_eq!(comm.receive(), None);
    // Letters that nobody reads are no trouble at the end, long ones neither.
    comm.barrier();
    comm.send((rank + 1) % ranks, &vec![1; 100_000]);
}
