//! Times of rounds beside those of MPI's own operations and of a copy in memory: for people, on an idle machine; no test asks for it.
//! `mpirun -n 2 --bind-to none target/mpi/release/examples/ranks rounds-speed [KIB]`, KiB of a link: 1024 unless said, as of searches by two ranks

#![allow(unsafe_code)] // calls MPI to compare with it

use gpugraph::internals::comm::Comm;
use gpugraph::internals::error::Result;
use gpugraph::internals::memory::{Budget, Buffer, bytes_of, bytes_of_mut};
use mpi::ffi;
use std::hint::black_box;
use std::time::Instant;

const LONG: usize = 64 << 20;

/// Runs the operations in turn, `times` each, each of them after `together`, so that none waits for ranks that the one before kept. Returns the median and the least time of each, in microseconds.
fn in_turn(times: usize, together: &dyn Fn(), operations: &mut [&mut dyn FnMut()]) -> Vec<(f64, f64)> {
    let mut took = vec![Vec::new(); operations.len()];
    for _ in 0..times {
        for (operation, took) in operations.iter_mut().zip(&mut took) {
            together();
            let start = Instant::now();
            operation();
            took.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    took.iter_mut().for_each(|took| took.sort_by(f64::total_cmp));
    took.iter().map(|took| (took[took.len() / 2], took[0])).collect()
}

/// Calls MPI_Alltoallv with the same bytes from each rank to each other.
fn alltoallv(ranks: usize, rank: usize, bytes: usize, from: &[u8], to: &mut [u8]) {
    let counts: Vec<i32> = (0..ranks).map(|other| if other == rank { 0 } else { bytes as i32 }).collect();
    let places: Vec<i32> = (0..ranks).map(|other| (other * bytes) as i32).collect();
    // SAFETY: both buffers have `bytes` for each rank; no other thread calls MPI.
    let status = unsafe {
        let (kind, world) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD);
        let (at, target) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
        ffi::MPI_Alltoallv(
            at,
            counts.as_ptr(),
            places.as_ptr(),
            kind,
            target,
            counts.as_ptr(),
            places.as_ptr(),
            kind,
            world,
        )
    };
    assert_eq!(status, 0);
}

fn allreduce(values: &mut [u64]) {
    let mine = values.to_vec();
    // SAFETY: both have as many numbers; no other thread calls MPI.
    let status = unsafe {
        let (kind, how, world) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM, ffi::RSMPI_COMM_WORLD);
        ffi::MPI_Allreduce(mine.as_ptr().cast(), values.as_mut_ptr().cast(), mine.len() as i32, kind, how, world)
    };
    assert_eq!(status, 0);
}

/// Returns so many bytes of words, all of them `value`, where searches have theirs: in a mapping of its own. Copies from and to a `Vec`, which
/// lies 16 bytes behind a page, take longer.
fn words(bytes: usize, value: u32) -> Result<Buffer<u32>> {
    let mut words = Budget::new(1 << 40, 1)?.zeroed(bytes / 4, "words of rounds")?;
    words.fill(value);
    Ok(words)
}

pub fn speed(comm: &Comm) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.ranks());
    let kib: usize = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(1024);
    let mut rounds = comm.rounds(kib << 10);
    let rounds = std::cell::RefCell::new(&mut rounds);
    let together = || assert!(rounds.borrow_mut().any(false).is_ok());
    let say = |what: &str, times: &[(f64, f64)], names: &[&str]| {
        if rank == 0 {
            let each = names.iter().zip(times).map(|(name, (half, least))| format!("{name} {half:.2} ({least:.2})"));
            println!("{what}, us, median (least): {}", each.collect::<Vec<_>>().join(", "));
        }
    };
    for (bytes, times) in [(1 << 10, 20_000), (LONG, 21)] {
        let (from, mut taken) = (words(bytes, 1)?, words(bytes * ranks, 0)?);
        let (mpi_from, mut mpi_to) = (words(bytes * ranks, 1)?, words(bytes * ranks, 0)?);
        let (source, mut target) = (words(bytes, 1)?, words(bytes, 0)?);
        let nothing: &[u32] = &[];
        let to: Vec<_> = (0..ranks).map(|to| if to == rank { nothing } else { &from[..] }).collect();
        let mut ours = || {
            let mut at: Vec<usize> = (0..ranks).map(|rank| rank * bytes / 4).collect();
            let done = rounds.borrow_mut().exchange(&to, |from, words: &[u32]| {
                taken[at[from]..][..words.len()].copy_from_slice(words);
                at[from] += words.len();
                Ok(())
            });
            assert!(done.is_ok());
        };
        let mut theirs = || alltoallv(ranks, rank, bytes, bytes_of(&mpi_from), bytes_of_mut(&mut mpi_to));
        let mut copy = || black_box(&mut *target).copy_from_slice(black_box(&*source));
        let took = in_turn(times, &together, &mut [&mut ours, &mut theirs, &mut copy]);
        say(&format!("{bytes} bytes to each"), &took, &["round", "MPI_Alltoallv", "copy by all ranks at once"]);
    }
    let mut ours = || assert!(rounds.borrow_mut().any(true).is_ok());
    let mut theirs = || allreduce(&mut [1]);
    say("a flag", &in_turn(20_000, &together, &mut [&mut ours, &mut theirs]), &["any", "MPI_Allreduce"]);
    Ok(())
}
