//! Ranks small lists in many bins, and compares the ranks with the known ranks of generated lists.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::algo::listrank::cpu::tests::shuffled;
use crate::algo::listrank::rounds::Rounds;
use crate::error::Error;
use crate::memory::Budget;
use crate::store::disk_array::DiskArray;

/// Returns the successors of a list that visits the elements `places` in this order. The last successor is -1.
fn list_of(places: &[usize]) -> Vec<i64> {
    let mut list = vec![-1; places.len()];
    places.windows(2).for_each(|two| list[two[0]] = two[1] as i64);
    list
}

fn ranks_of(places: &[usize]) -> Vec<u64> {
    let mut ranks = vec![u64::MAX; places.len()];
    places.iter().rev().zip(0..).for_each(|(&place, rank)| ranks[place] = rank);
    ranks
}

/// Ranks a list that three threads scan in chunks of 7 elements. Returns the outcome, and stores the ranks in `ranks`.
fn attempt<I: Index>(
    list: &[i64],
    sizes: BinSizes,
    folder: &Path,
    check_cancelled: &(dyn Fn() -> Result<()> + Sync),
    ranks: &mut [u64],
) -> Result<std::result::Result<ContractionResult, ListFault>> {
    let scan = |take: &(dyn Fn(u64, &[i64]) -> Result<()> + Sync)| {
        let pieces: Vec<(u64, &[i64])> = (0..).step_by(7).zip(list.chunks(7)).collect();
        crate::algo::team::team(3, &|t| {
            pieces.iter().skip(t).step_by(3).try_for_each(|&(first, piece)| take(first, piece))
        })
    };
    let budget = Budget::new(crate::memory::limit_leaving(sizes.memory(size_of::<I>() as u64), 3), 3).unwrap();
    let threads = sizes.threads as usize;
    let rounds = Rounds::default();
    let bytes = Default::default();
    let work = Contraction {
        sizes,
        folder,
        key: 5,
        threads,
        budget: &budget,
        check_cancelled,
        moved: &|_| {},
        rounds: &rounds,
        bytes,
    };
    let mut next = None;
    let outcome = rank::<I>(&scan, &work)?;
    if outcome.is_err() {
        return Ok(outcome);
    }
    hand_over::<I>(&work, &mut |first, bin| {
        assert!(next.is_none_or(|next| next == first), "ranks come in order");
        next = Some(first + bin.len() as u64);
        ranks[first as usize..][..bin.len()].iter_mut().zip(bin).for_each(|(rank, bin)| *rank = bin.wide());
        Ok(())
    })?;
    Ok(outcome)
}

fn outcome<I: Index>(
    list: &[i64],
    bins: u64,
    buffer: u64,
    threads: usize,
) -> (std::result::Result<ContractionResult, ListFault>, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut ranks = vec![u64::MAX; list.len()];
    let sizes = BinSizes::of(list.len() as u64, bins, buffer, threads);
    let outcome = attempt::<I>(list, sizes, folder.path(), &|| Ok(()), &mut ranks).unwrap();
    (outcome, ranks)
}

fn is_ranked<I: Index>(places: &[usize], bins: u64, buffer: u64, threads: usize) {
    let (outcome, ranks) = outcome::<I>(&list_of(places), bins, buffer, threads);
    let Ok(found) = outcome else { panic!("{outcome:?}") };
    assert_eq!(found.head, places.first().map(|&head| head as u64));
    assert!(ranks == ranks_of(places), "{} elements in {bins} bins", places.len());
}

#[test]
fn lists_of_known_ranks() {
    for n in [0_usize, 1, 2, 3, 100, 1000] {
        let runs: Vec<usize> = (0..n.div_ceil(8)).rev().flat_map(|run| run * 8..n.min((run + 1) * 8)).collect();
        for places in [(0..n).collect(), (0..n).rev().collect(), runs, shuffled(n, 3)] {
            for bins in [1, 2, 3, 10] {
                is_ranked::<u32>(&places, bins, 64, 2);
                is_ranked::<u64>(&places, bins, 1 << 16, 3);
            }
        }
    }
}

#[test]
fn indices_up_to_the_end_of_their_type() {
    for n in [100, 250, 251, 252, 253] {
        for bins in [2, 3, 7, 100] {
            is_ranked::<u8>(&shuffled(n, bins), bins, 64, 2);
        }
    }
}

#[test]
fn faults_name_their_elements() {
    let places = shuffled(200, 8);
    for bins in [1, 2, 5, 20] {
        let bad = |change: &dyn Fn(&mut Vec<i64>)| {
            let mut list = list_of(&places);
            change(&mut list);
            outcome::<u32>(&list, bins, 64, 2).0.expect_err("it is not a list")
        };
        let (head, last) = (places[0], places[199]);
        assert_eq!(bad(&|list| list[last] = head as i64), ListFault::Tails { count: 0, element: None });
        let tails = ListFault::Tails { count: 2, element: Some(last.min(head) as u64) };
        assert_eq!(bad(&|list| list[head] = -1), tails);
        let tails = ListFault::Tails { count: 200, element: Some(0) };
        assert_eq!(bad(&|list| list.fill(-1)), tails);
        // Changes the successor of one element to an element further along the list. Then the elements between form a
        // cycle, or two elements have the same successor.
        for at in (1..199).step_by(if bins == 5 { 9 } else { 40 }) {
            // The list skips some elements, which form a cycle.
            let cycle = &places[at / 2 + 1..=at];
            let found = bad(&|list| {
                list[places[at / 2]] = places[at + 1] as i64;
                list[places[at]] = cycle[0] as i64;
            });
            let ListFault::Cycle { element: Some(element) } = found else { panic!("{found:?}") };
            assert!(cycle.contains(&(element as usize)), "{element} of {cycle:?}");
            let to = (at * 7) % 199 + 1;
            if to != at + 1 {
                let expected = ListFault::Twice { successor: places[to] as u64 };
                assert_eq!(bad(&|list| list[places[at]] = places[to] as i64), expected, "{bins} bins");
            }
        }
    }
}

/// Checks that a ranking that is stopped at any cancellation check and resumed has the same result as one that is not
/// stopped.
#[test]
fn a_ranking_stopped_anywhere_resumes() {
    let places = shuffled(500, 4);
    let list = list_of(&places);
    let sizes = BinSizes::of(500, 4, 64, 2);
    let resumed = AtomicU64::new(0);
    for stop in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let mut ranks = vec![u64::MAX; 500];
        let asked = AtomicU64::new(0);
        let check_cancelled = || match asked.fetch_add(1, Ordering::Relaxed) {
            n if n >= stop => Err(Error::Stopped("a test")),
            _ => Ok(()),
        };
        let first = attempt::<u32>(&list, sizes, folder.path(), &check_cancelled, &mut ranks);
        let ended = first.is_ok();
        let second = attempt::<u32>(&list, sizes, folder.path(), &|| Ok(()), &mut ranks).unwrap();
        let Ok(found) = second else { panic!("{second:?}") };
        resumed.fetch_max(found.resumed_rounds, Ordering::Relaxed);
        assert_eq!(found.head, Some(places[0] as u64));
        assert!(ranks == ranks_of(&places), "stopped at {stop}");
        if ended {
            assert_eq!(found.bytes, 0);
            break;
        }
    }
    assert_eq!(resumed.into_inner(), 8);
}

/// Opens the files of a ranking in `bins` bins, which must exist.
fn files_of(folder: &Path, bins: u64) -> Vec<DiskArray> {
    let all = files::NAMES.iter().flat_map(|name| (0..bins).map(|bin| files::path(folder, name, bin)));
    all.filter_map(|path| DiskArray::open(path, 0).ok()).collect()
}

/// Checks that bytes that a killed run has written after its last journal record are ignored.
#[test]
fn unrecorded_bytes_are_cut_off() {
    let places = shuffled(500, 6);
    let (list, sizes) = (list_of(&places), BinSizes::of(500, 4, 64, 2));
    let folder = tempfile::tempdir().unwrap();
    let mut ranks = vec![u64::MAX; 500];
    let asked = AtomicU64::new(0);
    let check_cancelled =
        || if asked.fetch_add(1, Ordering::Relaxed) > 60 { Err(Error::Stopped("a test")) } else { Ok(()) };
    attempt::<u32>(&list, sizes, folder.path(), &check_cancelled, &mut ranks).unwrap_err();
    let mut longer = 0;
    for file in files_of(folder.path(), 4) {
        file.write(&[1; 48], file.bytes().unwrap()).unwrap();
        longer += 1;
    }
    assert!(longer > 0);
    attempt::<u32>(&list, sizes, folder.path(), &|| Ok(()), &mut ranks).unwrap().unwrap();
    assert!(ranks == ranks_of(&places));
    // A ranking with other bin sizes ignores these files.
    let other = BinSizes::of(500, 3, 64, 2);
    let Ok(found) = attempt::<u32>(&list, other, folder.path(), &|| Ok(()), &mut ranks).unwrap() else {
        panic!("a list")
    };
    assert_eq!(found.resumed_rounds, 0);
}

#[test]
fn disk_use_and_traffic_stay_within_bounds() {
    let n = 20_000;
    let places = shuffled(n, 2);
    let folder = tempfile::tempdir().unwrap();
    let most = AtomicU64::new(0);
    let check_cancelled = || {
        let bytes = files_of(folder.path(), 8).iter().map(|file| file.bytes().unwrap()).sum();
        most.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    };
    let mut ranks = vec![0; n];
    let sizes = BinSizes::of(n as u64, 8, 4096, 2);
    let outcome = attempt::<u32>(&list_of(&places), sizes, folder.path(), &check_cancelled, &mut ranks).unwrap();
    let Ok(found) = outcome else { panic!("{outcome:?}") };
    assert!(most.into_inner() <= disk(n as u64, 4));
    assert!((volume(n as u64, 4) * 7 / 10..=volume(n as u64, 4)).contains(&found.bytes), "{}", found.bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_lists(
        places in (0_usize..2000).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
        bins in 1_u64..12,
        buffer in 8_u64..200,
        threads in 1_usize..4,
    ) {
        is_ranked::<u32>(&places, bins, buffer, threads);
    }
}
