//! Compares the ranks that the engines compute with the known ranks of generated lists.

use proptest::prelude::*;
use std::sync::LazyLock;

use super::ruling_set::rank_spaced;
use super::*;
use crate::algo::listrank::index::Index;
use crate::error::Error;

fn budget() -> Budget {
    Budget::new(1 << 30, 8).unwrap()
}

fn on() -> Result<()> {
    Ok(())
}

fn context<'a>(
    threads: usize,
    budget: &'a Budget,
    check_cancelled: &'a (dyn Fn() -> Result<()> + Sync),
) -> Context<'a> {
    static ROUNDS: LazyLock<Rounds> = LazyLock::new(Rounds::default);
    Context { threads, budget, check_cancelled, rounds: &ROUNDS }
}

/// Builds successors for the elements in `places`. The first `path` of them form a list in this order. The others form
/// cycles, whose lengths are `cycles`. Returns the successors and the head.
fn list_of<I: Index>(places: &[usize], path: usize, cycles: &[usize]) -> (Vec<I>, u64) {
    let mut list = vec![I::END; places.len()];
    let mut link = |from: usize, to: usize| list[places[from]] = I::of(places[to] as u64);
    (1..path).for_each(|i| link(i - 1, i));
    let mut first = path;
    for &length in cycles {
        (0..length).for_each(|i| link(first + i, first + (i + 1) % length));
        first += length;
    }
    assert_eq!(first.max(path), places.len());
    (list, places.first().map_or(0, |&place| place as u64))
}

/// Returns the ranks of a list from the order in which it was built. Unlike the engines, it does not follow successors.
fn ranks_of<I: Index>(places: &[usize]) -> Vec<I> {
    let mut ranks = vec![I::END; places.len()];
    places.iter().rev().enumerate().for_each(|(rank, &place)| ranks[place] = I::of(rank as u64));
    ranks
}

type Engine<I> = fn(&mut [I], u64, &Context<'_>) -> Result<bool>;

fn engines<I: Index>() -> [(&'static str, Engine<I>); 6] {
    [
        ("serial", serial::serial),
        ("wyllie", wyllie::wyllie),
        ("ruling_set", ruling_set::ruling_set),
        ("spacing 2", |l, h, m| rank_spaced(l, h, 1, m)),
        ("spacing 4", |l, h, m| rank_spaced(l, h, 2, m)),
        ("spacing 16", |l, h, m| rank_spaced(l, h, 4, m)),
    ]
}

fn all_rank<I: Index>(places: &[usize]) {
    let (list, head) = list_of::<I>(places, places.len(), &[]);
    let expected = ranks_of::<I>(places);
    for (name, engine) in engines::<I>() {
        for threads in [1, 2, 3, 7] {
            let mut ranked = list.clone();
            assert!(engine(&mut ranked, head, &context(threads, &budget(), &on)).unwrap(), "{name}, {threads}");
            assert!(ranked == expected, "{name} by {threads} threads of {} elements", places.len());
        }
    }
    assert_eq!(off_path(&list, head, &budget(), &on).unwrap(), None);
}

fn all_find_cycles<I: Index>(places: &[usize], path: usize, cycles: &[usize]) {
    let (list, head) = list_of::<I>(places, path, cycles);
    for (name, engine) in engines::<I>() {
        for threads in [1, 2] {
            let found = engine(&mut list.clone(), head, &context(threads, &budget(), &on)).unwrap();
            assert!(!found, "{name}: {path} of {}, {cycles:?}", places.len());
        }
    }
    let smallest = places[path..].iter().min().map(|&place| place as u64);
    assert_eq!(off_path(&list, head, &budget(), &on).unwrap(), smallest);
}

/// Returns the numbers below `n` in a pseudorandom order that depends on `seed`.
pub fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..n).collect();
    let mut state = seed | 1;
    for i in (1..n).rev() {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        places.swap(i, (state >> 33) as usize % (i + 1));
    }
    places
}

#[test]
fn lists_of_known_ranks() {
    for n in [0, 1, 2, 3, 255, 256, 257, 5000] {
        let ordered: Vec<usize> = (0..n).collect();
        let reversed: Vec<usize> = (0..n).rev().collect();
        let runs: Vec<usize> = (0..n.div_ceil(64)).rev().flat_map(|run| run * 64..n.min((run + 1) * 64)).collect();
        for places in [ordered, reversed, runs] {
            all_rank::<u32>(&places);
            all_rank::<u64>(&places);
        }
    }
    let (mut list, head) = list_of::<u32>(&[0, 1, 2], 3, &[]);
    ruling_set::ruling_set(&mut list, head, &context(1, &budget(), &on)).unwrap();
    assert_eq!(list, [2, 1, 0]);
}

/// Ranks lists with 8-bit indices. Only in short lists do a sublist index and an offset fit one cell. The longest list
/// has the largest index below `END`.
#[test]
fn indices_up_to_the_end_of_their_type() {
    for n in (100..140).chain(240..256) {
        all_rank::<u8>(&shuffled(n, n as u64));
        all_rank::<u8>(&(0..n).collect::<Vec<_>>());
        all_find_cycles::<u8>(&shuffled(n, n as u64), n / 2, &[1, n - n / 2 - 1]);
    }
}

#[test]
fn cycles_are_reported_and_not_followed() {
    let n = 3000;
    let places = shuffled(n, 5);
    for (path, cycles) in
        [(1, vec![n - 1]), (n - 1, vec![1]), (n - 2, vec![1, 1]), (n / 2, vec![n / 2]), (10, vec![230; 13])]
    {
        all_find_cycles::<u32>(&places, path, &cycles);
        all_find_cycles::<u64>(&places, path, &cycles);
    }
    // Each element in turn becomes a cycle of one element, so that this element is a ruler in some cases and not in
    // others.
    for alone in 0..40 {
        let places: Vec<usize> = (0..40).filter(|&place| place != alone).chain([alone]).collect();
        all_find_cycles::<u32>(&places, 39, &[1]);
    }
}

/// Ranks a list with so many sublists that the list of sublists is also ranked by sublists.
#[test]
fn many_sublists() {
    let places = shuffled(120_000, 9);
    let (mut list, head) = list_of::<u32>(&places, places.len(), &[]);
    let rounds = Rounds::default();
    assert!(rank_spaced(&mut list, head, 1, &Context { rounds: &rounds, ..context(3, &budget(), &on) }).unwrap());
    assert!(list == ranks_of::<u32>(&places));
    let taken: Vec<_> = rounds.take().into_iter().map(|round| (round.step.into_owned(), round.elements)).collect();
    // One ruler in two elements, then one in 64 links, until few links are left. Another sublist begins at the head.
    let [all, some] = [taken[1].1, taken[2].1];
    let names = ["walk", "add up links", "follow links", "rank links", "rank"].map(str::to_owned);
    assert_eq!(taken, names.into_iter().zip([120_000, all, some, all, 120_000]).collect::<Vec<_>>());
    assert!(all > 60_000 && all <= 120_000 && some == all.div_ceil(64) + 1, "{taken:?}");
    all_find_cycles::<u32>(&places, 60_000, &[30_000, 30_000]);
}

#[test]
fn links_of_any_weight() {
    let (places, weights) = (shuffled(50_000, 3), shuffled(50_000, 4));
    let (list, head) = list_of::<u64>(&places, 40_000, &[10_000]);
    let mut links: Vec<u64> = list.iter().zip(&weights).flat_map(|(&next, &weight)| [next, weight as u64]).collect();
    let total = links::rank_links(&mut links, head, &context(3, &budget(), &on)).unwrap();
    let mut sum = 0;
    for &place in places[..40_000].iter().rev() {
        sum += weights[place] as u64;
        assert_eq!(links[2 * place + 1], sum);
    }
    assert_eq!(total, sum);
}

/// Checks that each engine ends as soon as `check_cancelled` returns an error.
#[test]
fn engines_stop_on_request() {
    let (list, head) = list_of::<u32>(&shuffled(200_000, 7), 200_000, &[]);
    for (name, engine) in engines::<u32>() {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let stop = || Err(Error::Stopped("a test"));
        assert!(engine(&mut list.clone(), head, &context(2, &budget(), &stop)).is_err(), "{name}");
        let count = || {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        };
        engine(&mut list.clone(), head, &context(2, &budget(), &count)).unwrap();
        assert!(asked.into_inner() > 0, "{name}");
    }
}

#[test]
fn a_limit_that_is_too_small_is_an_error() {
    let (list, head) = list_of::<u32>(&shuffled(200_000, 7), 200_000, &[]);
    let small = Budget::new(crate::memory::limit_leaving(4000, 2), 2).unwrap();
    for (name, engine) in engines::<u32>() {
        let e = engine(&mut list.clone(), head, &context(2, &small, &on)).unwrap_err();
        assert_eq!(e.exit_code(), 7, "{name}");
    }
}

#[test]
fn the_planned_memory_is_enough() {
    for n in [1, 1000, 300_000] {
        let (mut list, head) = list_of::<u32>(&shuffled(n, 7), n, &[]);
        let budget = Budget::new(crate::memory::limit_leaving(ruling_set::bytes(n as u64, 4), 2), 2).unwrap();
        assert!(ruling_set::ruling_set(&mut list, head, &context(2, &budget, &on)).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_lists(places in (0_usize..3000).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle())) {
        all_rank::<u32>(&places);
        all_rank::<u64>(&places);
    }

    #[test]
    fn random_cycles(
        places in (2_usize..600).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
        path in 0.0..1.0,
        first in 0.0..1.0,
    ) {
        let path = 1 + ((places.len() - 2) as f64 * path) as usize;
        let rest = places.len() - path;
        let first = 1 + ((rest - 1) as f64 * first) as usize;
        let cycles = if first < rest { vec![first, rest - first] } else { vec![rest] };
        all_find_cycles::<u32>(&places, path, &cycles);
    }
}
