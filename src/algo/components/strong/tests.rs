//! Tests of the phases on graphs in memory. Results are compared with the sets of vertices that each vertex reaches.

use super::search::{LIVE, Search};
use super::{Engine, Progress, serial};
use crate::algo::model_tests::{Model, budget};
use crate::algo::rows::Neighbours;
use crate::comm::Comm;
use crate::graph::direction::Direction;
use crate::memory::plain;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Finds the components of a test graph by phases that do not give up. Returns the smallest vertex of each vertex's
/// component, and the number of rounds. Every phase starts from the data that a checkpoint contains.
fn by_phases(model: &Model, threads: usize) -> (Vec<u32>, u64) {
    let (graph, comm, budget) = (model.graph(Path::new("none"), 500), Comm::Solo, budget(1 << 26));
    let rows = model.heads.iter().zip(&model.tails);
    let degrees: Vec<u32> = rows.flat_map(|(heads, tails)| [heads.len() as u32, tails.len() as u32]).collect();
    let vertices = model.vertices() as usize;
    let rows = || Neighbours::new(&graph, &degrees, &comm, &budget);
    let (mut progress, mut of) = (Progress::default(), vec![LIVE; vertices]);
    loop {
        let mut search = Search::new(vertices, (&budget, (&comm, threads)), rows).unwrap();
        search.limit = None;
        plain(&mut search.of).copy_from_slice(&of);
        let mut engine = Engine::Cpu(Box::new(search));
        if engine.begin() == 0 {
            break;
        }
        assert!(progress.advance(&mut engine, (&comm, threads)).unwrap());
        of.copy_from_slice(engine.gather().unwrap());
    }
    (smallest_of(&of), progress.rounds)
}

/// Finds the components of a test graph by `phases` phases and then by the depth-first search, also if the phases do
/// not give up. Returns the smallest vertex of each vertex's component.
fn serially(model: &Model, phases: u32) -> Vec<u32> {
    let (graph, comm, budget) = (model.graph(Path::new("none"), 500), Comm::Solo, budget(1 << 26));
    let rows = model.heads.iter().zip(&model.tails);
    let degrees: Vec<u32> = rows.flat_map(|(heads, tails)| [heads.len() as u32, tails.len() as u32]).collect();
    let rows = || Neighbours::new(&graph, &degrees, &comm, &budget);
    let search = Search::new(model.vertices() as usize, (&budget, (&comm, 2)), rows).unwrap();
    let (mut progress, mut engine) = (Progress::default(), Engine::Cpu(Box::new(search)));
    for _ in 0..phases {
        engine.begin();
        progress.advance(&mut engine, (&comm, 2)).unwrap();
    }
    engine.begin();
    let Engine::Cpu(mut search) = engine else { unreachable!("a search on CPUs") };
    serial::find(&mut search).unwrap();
    smallest_of(plain(&mut search.of))
}

/// Returns the smallest vertex of each vertex's component.
fn smallest_of(of: &[u32]) -> Vec<u32> {
    let mut smallest: BTreeMap<u32, u32> = BTreeMap::new();
    for (v, &root) in (0..).zip(of) {
        assert_eq!(of[root as usize], root);
        smallest.entry(root).or_insert(v);
    }
    of.iter().map(|root| smallest[root]).collect()
}

/// Returns, for each vertex, the smallest vertex of its component. Computes it from the sets of vertices that each
/// vertex reaches.
fn by_reach(model: &Model) -> Vec<u32> {
    let reach = |first: u32| {
        let mut reached = vec![false; model.vertices() as usize];
        let mut next = vec![first];
        while let Some(v) = next.pop() {
            if !std::mem::replace(&mut reached[v as usize], true) {
                next.extend(&model.heads[v as usize]);
            }
        }
        reached
    };
    let reached: Vec<Vec<bool>> = (0..model.vertices()).map(reach).collect();
    let is_with = |v: usize, w: usize| reached[v][w] && reached[w][v];
    (0..reached.len()).map(|v| (0..=v).find(|&w| is_with(v, w)).unwrap() as u32).collect()
}

#[track_caller]
fn compare(edges: &[[u32; 2]]) {
    let model = Model::new(edges, Direction::Directed);
    let known = by_reach(&model);
    for threads in [1, 3] {
        assert_eq!(by_phases(&model, threads).0, known, "{threads} threads: {edges:?}");
    }
    for phases in 0..4 {
        assert_eq!(serially(&model, phases), known, "after {phases} phases: {edges:?}");
    }
}

#[test]
fn random_graphs_have_the_components_of_mutual_reach() {
    let mut state = 1u64;
    let mut dice = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    // With self-loops and repeated edges, around the density at which a large component appears.
    for (vertices, edges) in [(1, 3), (2, 3), (5, 9), (30, 30), (60, 75), (120, 200), (200, 240), (200, 500)] {
        for _ in 0..12 {
            compare(&(0..edges).map(|_| [dice(vertices), dice(vertices)]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn sinks_sources_and_small_components_are_found() {
    compare(&[]);
    compare(&[[0, 1], [1, 2], [0, 2]]);
    // A component between trees that lead to it and away from it.
    compare(&[[0, 1], [1, 2], [2, 0], [3, 4], [4, 0], [5, 4], [2, 6], [6, 7], [6, 8]]);
    // Two components of equal size, one of which leads to the other, and a component alone.
    compare(&[[0, 1], [1, 0], [1, 2], [2, 3], [3, 2], [7, 8], [8, 9], [9, 7]]);
}

#[test]
fn a_long_cycle_is_a_component_and_a_long_path_is_none() {
    let n = 100_000;
    let path: Vec<[u32; 2]> = (1..n).map(|v| [v - 1, v]).collect();
    let model = Model::new(&path, Direction::Directed);
    assert_eq!(serially(&model, 0), (0..n).collect::<Vec<u32>>());
    let (of, rounds) = by_phases(&model, 2);
    assert!(rounds == 0 && (0..).zip(&of).all(|(v, &of)| of == v));
    let cycle: Vec<[u32; 2]> = path.into_iter().chain([[n - 1, 0]]).collect();
    let model = Model::new(&cycle, Direction::Directed);
    assert_eq!(serially(&model, 0), vec![0; n as usize]);
    let (of, rounds) = by_phases(&model, 2);
    assert!(rounds == 1 && of.iter().all(|&of| of == 0));
}

/// Checks that a chain of components takes few rounds. If labels descended, each round would find only one component.
#[test]
fn a_chain_of_components_takes_few_rounds() {
    let pairs = 20_000;
    let edges: Vec<[u32; 2]> =
        (0..pairs).flat_map(|i| [[2 * i, 2 * i + 1], [2 * i + 1, 2 * i], [2 * i + 1, 2 * i + 2]]).collect();
    let model = Model::new(&edges, Direction::Directed);
    let (of, rounds) = by_phases(&model, 3);
    assert!(rounds < 60, "{rounds}");
    let of_pair = |i: u32| [2 * i, 2 * i + 1].map(|id| of[model.map[id as usize] as usize]);
    assert!((0..pairs).all(|i| of_pair(i)[0] == of_pair(i)[1]));
    assert_eq!(of.iter().collect::<BTreeSet<_>>().len(), pairs as usize + 1);
}

/// In a grid whose streets go in random directions, phases read rows again and again.
#[test]
fn phases_that_cost_too_much_give_up() {
    let (side, mut state) = (150, 7u64);
    let mut edges = Vec::new();
    for v in 0..side * side {
        for other in [Some(v + 1).filter(|w| w % side != 0), Some(v + side).filter(|w| *w < side * side)] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            edges.extend(other.map(|w| if state >> 63 == 0 { [v, w] } else { [w, v] }));
        }
    }
    let model = Model::new(&edges, Direction::Directed);
    let (graph, comm, budget) = (model.graph(Path::new("none"), 500), Comm::Solo, budget(1 << 26));
    let rows = model.heads.iter().zip(&model.tails);
    let degrees: Vec<u32> = rows.flat_map(|(heads, tails)| [heads.len() as u32, tails.len() as u32]).collect();
    let rows = || Neighbours::new(&graph, &degrees, &comm, &budget);
    let search = Search::new(model.vertices() as usize, (&budget, (&comm, 2)), rows).unwrap();
    let (mut progress, mut engine) = (Progress::default(), Engine::Cpu(Box::new(search)));
    let mut advanced = true;
    while advanced && engine.begin() > 0 {
        advanced = progress.advance(&mut engine, (&comm, 2)).unwrap();
    }
    assert!(!advanced && engine.begin() > 0);
    assert_eq!(serially(&model, 0), by_phases(&model, 2).0);
}
