use super::derived::articulation::Articulation;
use super::derived::strong::Strong;
use super::record::{DfsTree, NONE};
use super::rows::SearchRows;
use super::saved::{self, DfsCounters};
use super::validate::validate;
use super::walk::DfsWalk;
use crate::algo::model_tests::{Model, budget};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::half::Half;
use crate::graph::stored;
use crate::memory::pages::is_random;
use crate::store::checkpoint::Checkpoint;
use proptest::prelude::*;

/// Parent, preorder number, postorder number and depth of every vertex.
type Numbers = Vec<[u32; 4]>;

fn plain(model: &Model, roots: &[u32]) -> Numbers {
    fn from(model: &Model, u: u32, counts: &mut [u32; 2], numbers: &mut Numbers) {
        for &v in &model.heads[u as usize] {
            if numbers[v as usize][0] == NONE {
                numbers[v as usize] = [u, counts[0], NONE, numbers[u as usize][3] + 1];
                counts[0] += 1;
                from(model, v, counts, numbers);
            }
        }
        numbers[u as usize][2] = counts[1];
        counts[1] += 1;
    }
    let (mut numbers, mut counts) = (vec![[NONE; 4]; model.heads.len()], [0; 2]);
    for &root in roots {
        if numbers[root as usize][0] == NONE {
            numbers[root as usize] = [root, counts[0], NONE, 0];
            counts[0] += 1;
            from(model, root, &mut counts, &mut numbers);
        }
    }
    numbers
}

fn numbers(tree: &DfsTree) -> Numbers {
    tree.numbers().as_chunks::<4>().0.to_vec()
}

/// Searches `model` from each of `roots`, about `steps` vertices at a time. If a folder is given, a checkpoint is saved
/// and loaded after each step.
fn walked(
    model: &Model,
    rows: &mut SearchRows<'_>,
    roots: &[u32],
    steps: u32,
    folder: Option<&std::path::Path>,
) -> DfsWalk {
    let leaves = model.heads.iter().zip(&model.tails).position(|(heads, tails)| match model.direction {
        Direction::Undirected => heads.len() == 1,
        Direction::Directed => heads.len() + tails.len() == 1,
    });
    let leaves = leaves.unwrap_or(model.heads.len()) as u32;
    let new = || DfsWalk::new(model.heads.len(), leaves, &budget(1 << 22)).unwrap();
    let mut walk = new();
    for &root in roots {
        if walk.is_seen(root) {
            continue;
        }
        walk.begin(rows, root);
        while !walk.advance(rows, steps) {
            walk.copy_rows(rows).unwrap();
            let Some(folder) = folder else { continue };
            let mut checkpoint = Checkpoint::new(folder.join("dfs"), 7);
            let counters = DfsCounters { next_root: root, trees: 3, seconds: 0.5 };
            saved::save(&mut checkpoint, &walk, counters).unwrap();
            let before = numbers(&walk.tree);
            walk = new();
            let loaded = saved::load(&checkpoint.load().unwrap().unwrap(), &mut walk).unwrap();
            assert_eq!((loaded.next_root, loaded.trees, loaded.seconds), (root, 3, 0.5));
            assert_eq!(numbers(&walk.tree), before);
        }
    }
    walk
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_search_equals_a_plain_recursion(
        edges in (2u32..300, 0usize..1200).prop_flat_map(|(n, m)| {
            let end = prop_oneof![2 => 0..n, 1 => 0..n.div_ceil(20)];
            prop::collection::vec((end.clone(), end).prop_map(|(u, v)| [u, v]), 1..=m.max(1))
        }),
        directed in any::<bool>(),
        source in prop::option::of(any::<u32>()),
        target in 1u64..3000,
        steps in 1u32..90,
        saves in any::<bool>(),
        memory in 0u64..20_000,
    ) {
        let model = Model::new(&edges, Direction::of(directed));
        prop_assume!(model.vertices() > 0);
        let folder = tempfile::tempdir().unwrap();
        let graph = model.graph(folder.path(), target);
        let mut rows = SearchRows::new(&graph).unwrap();
        rows.reserve_copies(&budget(memory)).unwrap();
        let source = source.map(|source| source % model.vertices());
        let roots = source.map_or((0..model.vertices()).collect(), |source| vec![source]);
        let walk = walked(&model, &mut rows, &roots, steps, saves.then_some(folder.path()));
        rows.drop_copies();
        let known = plain(&model, &roots);
        prop_assert_eq!(numbers(&walk.tree), known.clone());
        let trees = known.iter().zip(0..).filter(|(numbers, v)| numbers[0] == *v).count() as u32;
        prop_assert_eq!(validate(&walk.tree, &rows, source, 2, &budget(1 << 20)).unwrap(), Ok(trees));
    }

    /// Checks that a change of any value of any vertex is detected. That is possible because the lexicographic tree is
    /// unique.
    #[test]
    fn any_other_tree_is_refused(
        edges in prop::collection::vec((0u32..40, 0u32..40).prop_map(|(u, v)| [u, v]), 1..120),
        directed in any::<bool>(),
        source in prop::option::of(any::<u32>()),
        place in any::<prop::sample::Index>(),
        other in prop_oneof![4 => 0u32..50, 1 => any::<u32>(), 1 => Just(NONE)],
    ) {
        let model = Model::new(&edges, Direction::of(directed));
        prop_assume!(model.vertices() > 0);
        let folder = tempfile::tempdir().unwrap();
        let graph = model.graph(folder.path(), 50);
        let mut rows = SearchRows::new(&graph).unwrap();
        let source = source.map(|source| source % model.vertices());
        let roots = source.map_or((0..model.vertices()).collect(), |source| vec![source]);
        let mut walk = walked(&model, &mut rows, &roots, u32::MAX, None);
        let at = place.index(walk.tree.numbers().len());
        prop_assume!(walk.tree.numbers()[at] != other);
        // Numbers of unreached vertices are not part of the result.
        prop_assume!(walk.tree.numbers()[at - at % 4] != NONE || at % 4 < 2);
        walk.tree.numbers_mut()[at] = other;
        prop_assert!(validate(&walk.tree, &rows, source, 2, &budget(1 << 20)).unwrap().is_err());
    }
}

/// Checks that a call of `advance` is short even while the search backtracks, because signals are handled only between
/// calls.
#[test]
fn backtracking_is_done_in_steps() {
    let path: Vec<[u32; 2]> = (0..1000).map(|v| [v, v + 1]).collect();
    let model = Model::new(&path, Direction::Undirected);
    let folder = tempfile::tempdir().unwrap();
    let graph = model.graph(folder.path(), 100);
    let rows = SearchRows::new(&graph).unwrap();
    let mut walk = DfsWalk::new(1001, model.vertices(), &budget(1 << 20)).unwrap();
    walk.begin(&rows, model.map[0]);
    let mut before = 0;
    while !walk.advance(&rows, 50) {
        let now = walk.tree.reached + walk.tree.left;
        assert!((1..=100).contains(&(now - before)), "{now} after {before}");
        before = now;
    }
    assert!(before > 1900, "{before}");
}

/// Checks that a depth-first tree for another order of neighbours is refused only because it is not lexicographic, and
/// that a breadth-first tree is refused.
#[test]
fn trees_of_other_searches_are_refused() {
    // A cycle of four vertices with a chord: 0 and 1 have most edges.
    let model = Model::new(&[[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], Direction::Undirected);
    let folder = tempfile::tempdir().unwrap();
    let graph = model.graph(folder.path(), 50);
    let rows = SearchRows::new(&graph).unwrap();
    let check = |numbers: [[u32; 4]; 4]| {
        let mut tree = DfsTree::new(4, &budget(1 << 20)).unwrap();
        tree.numbers_mut().copy_from_slice(numbers.as_flattened());
        (tree.reached, tree.left) = (4, 4);
        validate(&tree, &rows, Some(0), 1, &budget(1 << 20))
            .unwrap()
            .map_err(|fault| fault.error(&|v| v.to_string()).to_string())
    };
    // The vertices in order have the ids 0, 2, 1, 3. By their indices in this order, the rows are 0: 1 2 3, 1: 0 2 3,
    // 2: 0 1, 3: 0 1.
    assert_eq!(check([[0, 0, 3, 0], [0, 1, 2, 1], [1, 2, 0, 2], [1, 3, 1, 2]]), Ok(1));
    let other = check([[0, 0, 3, 0], [0, 1, 2, 1], [1, 3, 1, 2], [1, 2, 0, 2]]).unwrap_err();
    assert!(
        other.contains("the search went from 1 to 2, where another neighbour comes first")
            || other.contains("comes first"),
        "{other}"
    );
    let breadth = check([[0, 0, 3, 0], [0, 1, 0, 1], [0, 2, 1, 1], [0, 3, 2, 1]]).unwrap_err();
    assert!(breadth.contains("was reached later and not below it"), "{breadth}");
}

/// Returns which vertices are reachable from vertex `from` without using vertex `without` or edge `cut`.
fn reachable(model: &Model, from: u32, without: Option<u32>, cut: Option<[u32; 2]>) -> Vec<bool> {
    let mut seen = vec![false; model.heads.len()];
    let mut way = vec![from];
    while let Some(u) = way.pop() {
        if Some(u) == without || std::mem::replace(&mut seen[u as usize], true) {
            continue;
        }
        way.extend(model.heads[u as usize].iter().filter(|&&v| cut != Some([u, v]) && cut != Some([v, u])));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn removing_articulation_points_and_bridges_disconnects_the_graph(
        edges in (2u32..40).prop_flat_map(|n| prop::collection::vec((0..n, 0..n).prop_map(|(u, v)| [u, v]), 1..60)),
        source in prop::option::of(any::<u32>()),
    ) {
        let model = Model::new(&edges, Direction::Undirected);
        prop_assume!(model.vertices() > 0);
        let folder = tempfile::tempdir().unwrap();
        let graph = model.graph(folder.path(), 50);
        let mut rows = SearchRows::new(&graph).unwrap();
        let roots = source.map_or((0..model.vertices()).collect(), |source| vec![source % model.vertices()]);
        let walk = walked(&model, &mut rows, &roots, u32::MAX, None);
        let found = Articulation::new(&walk.tree, &rows, 2, &budget(1 << 20)).unwrap();
        let is_reached = |v: &u32| walk.tree.parent(*v) != NONE;
        let (mut points, mut bridges) = (0, 0);
        for v in (0..model.vertices()).filter(is_reached) {
            let mut others = model.heads[v as usize].iter();
            let first = *others.next().unwrap();
            let left = reachable(&model, first, Some(v), None);
            let is_point = others.any(|&w| !left[w as usize]);
            prop_assert_eq!(found.is_point(v), is_point, "{}", v);
            points += u64::from(is_point);
            let parent = walk.tree.parent(v);
            let is_bridge = parent != v && !reachable(&model, v, None, Some([v, parent]))[parent as usize];
            prop_assert_eq!(found.is_bridge(v), is_bridge, "{}", v);
            bridges += u64::from(is_bridge);
        }
        prop_assert_eq!((found.points, found.bridges), (points, bridges));
    }

    #[test]
    fn strong_components_follow_from_reachability(
        edges in (2u32..30).prop_flat_map(|n| prop::collection::vec((0..n, 0..n).prop_map(|(u, v)| [u, v]), 1..50)),
        acyclic in any::<bool>(),
        source in prop::option::of(any::<u32>()),
    ) {
        let edges: Vec<[u32; 2]> =
            edges.into_iter().map(|[u, v]| if acyclic { [u.min(v), u.max(v)] } else { [u, v] }).collect();
        let model = Model::new(&edges, Direction::Directed);
        prop_assume!(model.vertices() > 0);
        let folder = tempfile::tempdir().unwrap();
        let graph = model.graph(folder.path(), 50);
        let mut rows = SearchRows::new(&graph).unwrap();
        let roots = source.map_or((0..model.vertices()).collect(), |source| vec![source % model.vertices()]);
        let walk = walked(&model, &mut rows, &roots, u32::MAX, None);
        let (tree, found) = (&walk.tree, Strong::new(&walk.tree, &rows, &budget(1 << 20)).unwrap());
        let leads: Vec<Vec<bool>> = (0..model.vertices()).map(|v| reachable(&model, v, None, None)).collect();
        let reached: Vec<u32> = (0..model.vertices()).filter(|&v| tree.parent(v) != NONE).collect();
        for &u in &reached {
            for &v in &reached {
                let is_one = leads[u as usize][v as usize] && leads[v as usize][u as usize];
                prop_assert_eq!(found.of(u) == found.of(v), is_one, "{} {}", u, v);
            }
            prop_assert!(tree.pre(found.of(u)) <= tree.pre(u));
        }
        let names: std::collections::BTreeSet<u32> = reached.iter().map(|&v| found.of(v)).collect();
        prop_assert_eq!(found.components, names.len() as u64);
        let size = |name: u32| reached.iter().filter(|&&v| found.of(v) == name).count() as u64;
        prop_assert_eq!(found.largest, names.iter().map(|&name| size(name)).max().unwrap());
        let cycle = found.cycle(tree, &budget(1 << 20)).unwrap();
        prop_assert_eq!(cycle.is_none(), names.len() == reached.len());
        for (place, &u) in cycle.iter().flat_map(|cycle| cycle.iter()).enumerate() {
            let cycle = cycle.as_ref().unwrap();
            prop_assert!(cycle.len() > 1 && model.heads[u as usize].contains(&cycle[(place + 1) % cycle.len()]));
        }
        if cycle.is_none() {
            for &u in &reached {
                prop_assert!(model.heads[u as usize].iter().all(|&v| tree.post(v) < tree.post(u)));
            }
        }
    }
}

/// Checks that the kernel does not read ahead while rows are read in random order, and reads ahead for later passes.
#[test]
fn the_system_reads_ahead_again_once_copies_are_dropped() {
    let edges: Vec<[u32; 2]> = (0..2000).map(|v| [v, (7 * v + 1) % 2000]).collect();
    let model = Model::new(&edges, Direction::Undirected);
    let folder = tempfile::tempdir().unwrap();
    let mut graph = model.graph(folder.path(), 1 << 20);
    let layout = graph.block_store.layout.clone();
    for b in 0..layout.blocks() {
        let block = graph.block_store.block(b);
        let _ = stored::write(folder.path(), 7, &layout, b, &[(&block.lengths(), block.targets)]).unwrap();
    }
    graph.block_store = BlockStore::open(folder.path(), 7, Half::Lower, layout).unwrap();
    let is_advised = || is_random(graph.block_store.block(0).targets);
    let mut rows = SearchRows::new(&graph).unwrap();
    assert!(!is_advised());
    // First with enough memory for copies of rows, then without.
    for free in [graph.block_store.bytes(), 1 << 12] {
        rows.reserve_copies(&budget(free)).unwrap();
        assert!(is_advised());
        rows.drop_copies();
        assert!(!is_advised());
    }
}
