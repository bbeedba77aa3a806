//! The list of weights of 64 bits, and the codes that edges get by it, against a set of the weights.

use std::collections::BTreeSet;
use std::fs;

use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{Edges, FileSearch, Input, TextOptions, Unwatched, Visitor, WeightType, Weights};
use gpugraph::internals::graph::weights::stored::GraphWeights;
use gpugraph::internals::memory::{Budget, limit_leaving};
use gpugraph::internals::prepare::dictionary::NumberingVisitor;
use gpugraph::internals::prepare::weight_list::{WeightCodes, WeightValues};

use crate::support::Dice;

/// Keeps ends and codes of edges.
#[derive(Default)]
struct Codes(Vec<(u64, u32)>);

impl Visitor for Codes {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        assert_eq!(weights.len(), edges.len());
        let mut codes = weights.iter();
        edges.try_each(|u, _| {
            self.0.push((u, *codes.next().expect("a code")));
            Ok(())
        })
    }
}

/// Lists the weights in these texts, whose bits are known, and compares list and codes.
fn check(kind: WeightType, weights: &[(String, u64)], budget: &dyn Fn(&Input) -> Budget) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("edges.wel");
    let lines = weights.iter().enumerate().map(|(nth, (text, _))| format!("{nth} 0 {text}\n"));
    fs::write(&path, lines.collect::<String>()).expect("written");
    let text = TextOptions { skip_lines: Some(0), ..TextOptions::default() };
    let input = Input::find(&[path], None, FileSearch::default()).expect("open").with_text(text).expect("text");
    let input = input.with_chunk(1 << 16).with_weights(Weights::Read(kind));
    let budget = &budget(&input);
    let of = GraphWeights { kind, checksum: 0, key: 5, list: 6 };
    WeightCodes::build(&input, folder.path(), of, 2, budget, &Unwatched).expect("listed");
    let known: BTreeSet<u64> = weights.iter().map(|&(_, bits)| bits).collect();
    let known: Vec<u64> = known.into_iter().collect();
    let list = WeightCodes::open(folder.path(), of, budget).expect("open");
    assert_eq!(list.count(), known.len());
    assert!(WeightValues::open(folder.path(), Some(of)).expect("open").bits() == known);
    let mut visitors = [(); 2].map(|()| NumberingVisitor::new(None, Some(&list), "a test", Codes::default()));
    input.scan(&mut visitors, &Unwatched).expect("scanned");
    let codes = visitors.into_iter().flat_map(|visitor| visitor.inner.0);
    let mut seen = 0;
    for (nth, code) in codes {
        assert_eq!(known[code as usize], weights[nth as usize].1, "{}", weights[nth as usize].0);
        seen += 1;
    }
    assert_eq!(seen, weights.len());
    // A list of other weights or types.
    let other = GraphWeights { list: 7, ..of };
    assert_eq!(WeightCodes::open(folder.path(), other, budget).map(drop).expect_err("another key").exit_code(), 4);
    assert!(WeightValues::open(folder.path(), None).expect("none").bits().is_empty());
}

#[test]
fn every_weight_has_the_code_of_its_place() {
    let mut dice = Dice(5);
    let budget = |_: &Input| Budget::new(1 << 30, 2).expect("a budget");
    let f64s = |values: &[f64]| values.iter().map(|value| (format!("{value:?}"), value.to_bits())).collect::<Vec<_>>();
    let u64s = |values: &[u64]| values.iter().map(|value| (value.to_string(), *value)).collect::<Vec<_>>();
    check(WeightType::F64, &f64s(&[0.5]), &budget);
    check(WeightType::F64, &f64s(&[0.0, 5e-324, 1e300, f64::MAX, 0.1, 0.1, 1.0]), &budget);
    check(WeightType::U64, &u64s(&[0, u64::MAX, 1, u64::MAX, 1 << 63]), &budget);
    let close: Vec<f64> = (0..20_000).map(|_| 1000.0 + dice.below(5000) as f64 * 1e-12).collect();
    check(WeightType::F64, &f64s(&close), &budget);
    let spread: Vec<u64> = (0..20_000).map(|_| dice.roll() >> dice.below(64)).collect();
    check(WeightType::U64, &u64s(&spread), &budget);
}

#[test]
fn a_list_of_many_runs_is_the_same() {
    // Room for the fewest weights a thread gathers, 2^16: several runs to merge.
    let mut dice = Dice(6);
    let weights: Vec<_> = (0..400_000)
        .map(|_| dice.below(1 << 50) as f64 / 1024.0)
        .map(|value| (format!("{value:?}"), value.to_bits()))
        .collect();
    let tight = |input: &Input| Budget::new(limit_leaving(input.scratch_bytes(2) + (2 << 20), 2), 2).expect("a budget");
    check(WeightType::F64, &weights, &tight);
}
