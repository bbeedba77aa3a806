//! Checks that ranks that share work items count complete units (pairs of blocks), even if several ranks count parts of
//! the same unit.

use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::tests::OrientedRows;
use crate::algo::triangle::units::{self, Part, PartialUnits, WorkSource};
use crate::memory::Budget;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// A work source for threads that simulate ranks.
pub(super) struct Taken {
    ranks: usize,
    lists: Mutex<HashMap<u64, u64>>,
    /// Number of work items after which ranks must stop.
    stop: u64,
}

impl Taken {
    pub(super) fn new(ranks: usize, stop: u64) -> Taken {
        Taken { ranks, lists: Mutex::default(), stop }
    }
}

impl WorkSource for Taken {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn next(&self, list: u64, whole: u64) -> crate::error::Result<u64> {
        let mut lists = self.lists.lock().expect("no thread panics");
        let turn = lists.entry(list).or_default();
        if *turn >= self.stop && turn.is_multiple_of(whole) {
            return Ok(u64::MAX);
        }
        *turn += 1;
        Ok(*turn - 1)
    }
}

/// Checks that ranks count each unit (pair of blocks) exactly once, regardless of how its parts are distributed, and
/// that no unit is left partly counted when ranks stop.
#[test]
fn units_are_complete_however_parts_are_distributed() {
    // First a single block, then several blocks, the last of which is shorter.
    units_by_three_ranks(u64::MAX, u64::MAX);
    units_by_three_ranks(u64::MAX, 1);
    for stop in [1, 2, 3, 9, 14] {
        units_by_three_ranks(20_000, stop);
    }
}

fn units_by_three_ranks(target: u64, stop: u64) {
    let edges: Vec<(u32, u32)> =
        (0..60_000u32).map(|i| ((i * i) % 3001, i.wrapping_mul(2_654_435_761) % 700)).collect();
    let rows = OrientedRows::new(3001, &edges);
    let (graph, expected, _folder) = rows.stored(target);
    assert_eq!(graph.len() == 1, target == u64::MAX);
    let work_source = Taken::new(3, stop);
    let reported = Mutex::new((PartialUnits::default(), Vec::new(), HashMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let budget = Budget::new(1 << 30, 1).expect("enough");
                let mut cpu = Cpu::new(&graph, 3001, 1, &budget, None, &|| None).expect("enough").with_least_item(1000);
                let take = &mut |parts: &[Part]| {
                    let (gathering, seen, found) = &mut *reported.lock().expect("no thread panics");
                    seen.extend(parts.iter().map(|part| part.pairs));
                    let units = parts.iter().filter_map(|part| gathering.add(&graph, part));
                    units.for_each(|(unit, count)| assert_eq!(found.insert(unit, count), None, "a unit comes once"));
                    Ok(())
                };
                let none = HashSet::new();
                units::run(&graph, &none, &mut cpu, &work_source, take, &mut || Ok(())).expect("nothing stops it");
            });
        }
    });
    let (gathering, seen, found) = reported.into_inner().expect("no thread panics");
    assert!(gathering.is_empty(), "half counted, stopped after {stop}");
    assert!(found.iter().all(|(unit, count)| expected[unit] == *count));
    match stop {
        u64::MAX => assert!(found.len() == expected.len() && seen.len() > 20, "{} parts", seen.len()),
        _ => assert!(!found.is_empty(), "what was begun is done"),
    }
}
