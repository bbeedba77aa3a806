//! Lists ranked on a GPU, held against a plain walk: on the stand-in for CUDA, which shuffles what a GPU leaves open.

use std::sync::Mutex;

use gpugraph::Error;
use gpugraph::internals::algo::listrank::faults::ListFault as Fault;
use gpugraph::internals::algo::listrank::gpu::{GpuMethod as Method, ListOnGpu, PROGRAM, least_bytes};
use gpugraph::internals::algo::listrank::index::Index;
use gpugraph::internals::gpu::Workspace;
use gpugraph::internals::memory::Budget;
use gpugraph::internals::process::signals::{self, StopRequest};

use crate::support::Dice;
use crate::workspace;

const NONE: u32 = u32::MAX;
const METHODS: [Method; 2] = [Method::RulingSet, Method::Wyllie];

/// The base-2 logarithm of the places for each splitter, and the successors that a pass of the check looks for.
type Settings = Option<(u32, u64)>;

/// Runs `body` with 32 MiB of the stand-in's memory and small slots: this test, which is `name`, once for each order.
fn on_gpu(name: &str, body: impl Fn(&mut Workspace)) {
    for seed in ["0", "1", "29"] {
        let open = || {
            let budget = Budget::new(64 << 20, 3).expect("room");
            Workspace::open(None, Some(32 << 20), 3, &[&PROGRAM], &budget, &()).expect("a GPU")
        };
        let Some(mut gpu) = workspace::with(name, &[("CUDA_ON_CPU_SEED", seed)], open) else { continue };
        body(&mut gpu);
        return;
    }
}

/// An index of either type.
trait Any: Index {
    fn of_u32(index: u32) -> Self;
}

impl Any for u32 {
    fn of_u32(index: u32) -> u32 {
        index
    }
}

impl Any for u64 {
    fn of_u32(index: u32) -> u64 {
        if index == NONE { u64::MAX } else { index.into() }
    }
}

/// What `work` returns while a stop is requested of this process, in which no other test runs.
fn stopped<T>(work: impl FnOnce() -> T) -> T {
    signals::request_stop(StopRequest::Cancelled);
    let done = work();
    signals::withdraw_stop(StopRequest::Cancelled);
    done
}

/// Room for a list, with settings of its own or those of its length.
fn open<I: Any>(gpu: &mut Workspace, length: u64, method: Method, settings: Settings) -> ListOnGpu<'_, I> {
    let list = match settings {
        Some((shift, seen)) => ListOnGpu::with_spacing(gpu, length, method, shift, seen),
        None => ListOnGpu::new(gpu, length, method),
    };
    list.expect("room")
}

fn fill<I: Any>(list: &mut ListOnGpu<'_, I>, next: &[u32]) {
    let source = |first: u64, slot: &mut [I]| {
        for (to, &from) in slot.iter_mut().zip(&next[first as usize..]) {
            *to = I::of_u32(from);
        }
        assert!(first as usize + slot.len() <= next.len());
        Ok(())
    };
    list.fill(&source).expect("filled");
}

/// The ranks, or the faults.
fn rank<I: Any>(gpu: &mut Workspace, next: &[u32], method: Method, settings: Settings) -> Result<Vec<u64>, Vec<Fault>> {
    let mut list = open::<I>(gpu, next.len() as u64, method, settings);
    fill(&mut list, next);
    let faults = list.check().expect("looked at");
    if !faults.is_empty() {
        assert!(list.rank().is_err(), "what has faults is not ranked");
        return Err(faults);
    }
    // In place of an element of the cycle, the fault has the number of elements before it.
    if let Some(in_list) = list.rank().expect("ranked") {
        return Err(vec![Fault::Cycle { element: Some(in_list) }]);
    }
    let ranks = Mutex::new(vec![u64::MAX; next.len()]);
    let take = |first: u64, part: &[I]| {
        let mut ranks = ranks.lock().expect("no panic");
        for (to, &rank) in ranks[first as usize..][..part.len()].iter_mut().zip(part) {
            assert_eq!(*to, u64::MAX, "a rank comes once");
            *to = rank.wide();
        }
        Ok(())
    };
    list.fetch(&take).expect("fetched");
    Ok(ranks.into_inner().expect("no panic"))
}

/// The successors of a list in this order.
fn list_of(order: &[u32]) -> Vec<u32> {
    let mut next = vec![NONE; order.len()];
    for pair in order.windows(2) {
        next[pair[0] as usize] = pair[1];
    }
    next
}

/// By a plain walk.
fn ranks_of(order: &[u32]) -> Vec<u64> {
    let mut ranks = vec![0; order.len()];
    for (before, &element) in order.iter().enumerate() {
        ranks[element as usize] = (order.len() - 1 - before) as u64;
    }
    ranks
}

fn shuffled(n: u32, dice: &mut Dice) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, dice.below(i as u64 + 1) as usize);
    }
    order
}

/// Orders of every kind.
fn orders(n: u32) -> Vec<Vec<u32>> {
    let runs = shuffled(n.div_ceil(64), &mut Dice(u64::from(n) + 1));
    let runs = runs.iter().flat_map(|&run| (64 * run..(64 * run + 64).min(n)).rev());
    vec![(0..n).collect(), (0..n).rev().collect(), shuffled(n, &mut Dice(u64::from(n))), runs.collect()]
}

#[test]
fn ranks_are_those_of_a_walk() {
    on_gpu("listrank::ranks_are_those_of_a_walk", |gpu| {
        for n in [0, 1, 2, 255, 256, 257, 5000] {
            for order in orders(n) {
                let (next, ranks) = (list_of(&order), ranks_of(&order));
                for method in METHODS {
                    // With wide spacing sublists have many parts; with narrow spacing few elements are in any.
                    for shift in [0, 3, 7, 8, 11] {
                        let settings = Some((shift, 32 << shift));
                        let found = rank::<u32>(gpu, &next, method, settings);
                        assert!(found.as_ref() == Ok(&ranks), "{n} {method:?} {settings:?}");
                    }
                }
                for settings in [None, Some((0, 32)), Some((11, 1 << 12))] {
                    let wide = rank::<u64>(gpu, &next, Method::RulingSet, settings);
                    assert!(wide.as_ref() == Ok(&ranks), "{n} wide {settings:?}");
                }
            }
        }
    });
}

#[test]
fn no_length_or_setting_is_special() {
    on_gpu("listrank::no_length_or_setting_is_special", |gpu| {
        let mut dice = Dice(77);
        for case in 0..150 {
            let bits = 1 + dice.below(12);
            let order = shuffled(dice.below(1 << bits) as u32, &mut dice);
            let method = METHODS[usize::from(dice.below(4) == 0)];
            let settings = Some((dice.below(13) as u32, 32 << dice.below(9)));
            let found = match method == Method::RulingSet && dice.below(3) == 0 {
                true => rank::<u64>(gpu, &list_of(&order), method, settings),
                false => rank::<u32>(gpu, &list_of(&order), method, settings),
            };
            assert!(found == Ok(ranks_of(&order)), "{case}: {} {method:?} {settings:?}", order.len());
        }
    });
}

/// More than a slot has.
#[test]
fn longer_lists_are_ranked() {
    on_gpu("listrank::longer_lists_are_ranked", |gpu| {
        let order = shuffled(100_000, &mut Dice(3));
        let (next, ranks) = (list_of(&order), ranks_of(&order));
        for method in METHODS {
            assert!(rank::<u32>(gpu, &next, method, None).as_ref() == Ok(&ranks), "{method:?}");
        }
        assert!(rank::<u64>(gpu, &next, Method::RulingSet, None).as_ref() == Ok(&ranks));
        // Few sublists, and many parts of each.
        let order: Vec<u32> = (0..70_000).collect();
        let found = rank::<u32>(gpu, &list_of(&order), Method::RulingSet, Some((16, 1 << 10)));
        assert!(found == Ok(ranks_of(&order)));
    });
}

#[test]
fn faults_are_named_by_the_smallest_index() {
    on_gpu("listrank::faults_are_named_by_the_smallest_index", |gpu| {
        let good = list_of(&shuffled(5000, &mut Dice(9)));
        let tail = good.iter().position(|&next| next == NONE).expect("a tail");
        let head = (0..5000).find(|element| !good.contains(element)).expect("a head");
        let of = |gpu: &mut Workspace, changes: &[(usize, u32)]| {
            let mut next = good.clone();
            changes.iter().for_each(|&(element, to)| next[element] = to);
            let narrow = rank::<u32>(gpu, &next, Method::RulingSet, None).expect_err("a fault");
            assert_eq!(rank::<u64>(gpu, &next, Method::RulingSet, None), Err(narrow.clone()));
            assert_eq!(rank::<u32>(gpu, &next, Method::Wyllie, None), Err(narrow.clone()));
            narrow
        };
        assert_eq!(of(gpu, &[(77, 5000), (4000, NONE - 1)]), [Fault::Range { element: 77 }]);
        let (a, b) = (good[4998], good[4999]);
        assert_eq!(of(gpu, &[(3, a), (4, b)]), [Fault::Twice { successor: a.min(b).into() }]);
        let two = |x: usize| Fault::Tails { count: 2, element: Some(x.min(tail) as u64) };
        assert_eq!(of(gpu, &[(1, NONE)]), [two(1)]);
        // The tail leads back to the head: all is one cycle.
        assert_eq!(of(gpu, &[(tail, head)]), [Fault::Tails { count: 0, element: None }]);
        let all = of(gpu, &[(10, 6000), (11, good[12]), (13, NONE)]);
        assert_eq!(all, [Fault::Range { element: 10 }, Fault::Twice { successor: good[12].into() }, two(13)]);
        // One that starts over elsewhere.
        assert!(matches!(of(gpu, &[(tail, good[5])])[..], [Fault::Twice { .. }, Fault::Tails { count: 0, .. }]));
    });
}

#[test]
fn cycles_beside_a_list_are_noticed() {
    on_gpu("listrank::cycles_beside_a_list_are_noticed", |gpu| {
        for (n, in_list) in [(2u32, 1u32), (3, 1), (500, 499), (500, 498), (5000, 100), (5000, 1), (5000, 4000)] {
            let order = shuffled(n, &mut Dice(u64::from(n + in_list)));
            let (list, cycle) = order.split_at(in_list as usize);
            let mut next = list_of(&order);
            next[list[list.len() - 1] as usize] = NONE;
            next[cycle[cycle.len() - 1] as usize] = cycle[0];
            for method in METHODS {
                for shift in [8, 2] {
                    let settings = Some((shift, 1 << 10));
                    let found = rank::<u32>(gpu, &next, method, settings);
                    let expected = Fault::Cycle { element: Some(in_list.into()) };
                    assert!(found == Err(vec![expected]), "{in_list} of {n}, {method:?} {shift}");
                }
            }
            let found = rank::<u64>(gpu, &next, Method::RulingSet, None);
            assert_eq!(found, Err(vec![Fault::Cycle { element: Some(in_list.into()) }]));
        }
    });
}

#[test]
fn memory_that_just_fits_does() {
    on_gpu("listrank::memory_that_just_fits_does", |gpu| {
        let order = shuffled(70_000, &mut Dice(1));
        let (next, ranks) = (list_of(&order), ranks_of(&order));
        let n = next.len() as u64;
        // Smaller and smaller, as an arena does not grow again.
        for method in [Method::Wyllie, Method::RulingSet] {
            let bytes = least_bytes(n, method).expect("few");
            gpu.arena.reset(0);
            gpu.arena.trim(bytes);
            assert_eq!(gpu.arena.bytes(), bytes);
            assert!(rank::<u32>(gpu, &next, method, None).as_ref() == Ok(&ranks), "{method:?}");
        }
        gpu.arena.reset(0);
        gpu.arena.trim(gpu.arena.bytes() - 256);
        for method in METHODS {
            let refused = ListOnGpu::<u32>::new(gpu, n, method).map(drop);
            assert!(matches!(refused, Err(Error::Limit { limit: "gpu_memory", .. })), "{refused:?}");
        }
        let refused = ListOnGpu::<u64>::new(gpu, n, Method::Wyllie).map(drop);
        assert!(matches!(refused, Err(Error::Usage(_))), "{refused:?}");
    });
}

/// The first error ends a phase, and the list can be filled again.
#[test]
fn errors_of_others_end_a_phase() {
    on_gpu("listrank::errors_of_others_end_a_phase", |gpu| {
        let order = shuffled(60_000, &mut Dice(1));
        let next = list_of(&order);
        let mut list = ListOnGpu::<u32>::new(gpu, 60_000, Method::RulingSet).expect("room");
        let source = |first: u64, slot: &mut [u32]| {
            slot.copy_from_slice(&next[first as usize..][..slot.len()]);
            if first > 0 { Err(Error::Usage("no more".into())) } else { Ok(()) }
        };
        assert!(matches!(list.fill(&source), Err(Error::Usage(_))));
        assert!(matches!(stopped(|| list.fill(&source)), Err(Error::Stopped(_))));
        fill(&mut list, &next);
        assert!(list.rank().is_err(), "it was not checked");
        assert!(matches!(stopped(|| list.check()), Err(Error::Stopped(_))));
        assert_eq!(list.check().expect("looked at"), []);
        assert_eq!(list.head(), Some(order[0].into()));
        assert_eq!(list.rank().expect("ranked"), None);
        let take = |_: u64, _: &[u32]| Err(Error::Usage("no more".into()));
        assert!(matches!(list.fetch(&take), Err(Error::Usage(_))));
        assert!(matches!(stopped(|| list.fetch(&|_, _| Ok(()))), Err(Error::Stopped(_))));
    });
}
