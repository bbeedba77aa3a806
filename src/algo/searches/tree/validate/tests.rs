use super::*;
use crate::algo::model_tests::{Model, budget};
use crate::algo::searches::NONE;
use crate::algo::searches::tree::levels::levels;
use crate::graph::direction::Direction;
use crate::graph::ids::Vertex;
use proptest::prelude::*;
use std::collections::VecDeque;

trait Searches {
    fn search(&self, root: u32) -> (Vec<Option<u32>>, Vec<u32>);
    fn figures(&self, levels: &[Option<u32>]) -> TreeFigures;
}

impl Searches for Model {
    /// Finds levels and parents with a simple queue, as an independent reference.
    fn search(&self, root: u32) -> (Vec<Option<u32>>, Vec<u32>) {
        let mut levels = vec![None; self.heads.len()];
        let mut queue = VecDeque::from([root]);
        levels[root as usize] = Some(0);
        while let Some(u) = queue.pop_front() {
            for &v in &self.heads[u as usize] {
                if levels[v as usize].is_none() {
                    levels[v as usize] = levels[u as usize].map(|level: u32| level + 1);
                    queue.push_back(v);
                }
            }
        }
        let parent = |v: usize| match levels[v] {
            None => NONE,
            Some(0) => root,
            Some(level) => *self.tails[v].iter().find(|&&w| levels[w as usize] == Some(level - 1)).unwrap(),
        };
        let parents = (0..levels.len()).map(parent).collect();
        (levels, parents)
    }

    fn figures(&self, levels: &[Option<u32>]) -> TreeFigures {
        TreeFigures {
            reached: levels.iter().flatten().count() as u64,
            depth: levels.iter().flatten().max().copied().unwrap_or(0).into(),
        }
    }
}

#[track_caller]
fn check(edges: &[[u32; 2]], direction: Direction, roots: &[u32], target: u64, threads: usize, free: u64) {
    let model = Model::new(edges, direction);
    if model.vertices() == 0 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let graph = model.graph(folder.path(), target);
    let roots: Vec<u32> = roots.iter().map(|root| root % model.vertices()).collect();
    let known: Vec<_> = roots.iter().map(|&root| model.search(root)).collect();
    let trees: Vec<_> =
        roots.iter().zip(&known).map(|(&root, (_, parents))| Tree { root: Vertex(root), parents }).collect();
    let expected: Vec<_> = known.iter().map(|(levels, _)| model.figures(levels)).collect();
    assert_eq!(validate(&graph, &trees, threads, &budget(free)).unwrap(), expected);
    for (tree, (known, _)) in trees.iter().zip(&known) {
        let found = levels(*tree, threads, &budget(1 << 24)).unwrap();
        let known = known.iter().map(|level| level.unwrap_or(NONE));
        assert!(found.iter().copied().eq(known));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn trees_of_a_plain_queue_pass(
        edges in (2u32..400, 0usize..1500).prop_flat_map(|(n, m)| {
            let end = prop_oneof![2 => 0..n, 1 => 0..n.div_ceil(20)];
            prop::collection::vec((end.clone(), end).prop_map(|(u, v)| [u, v]), 0..=m)
        }),
        directed in any::<bool>(),
        roots in prop::collection::vec(any::<u32>(), 0..90),
        target in 1u64..3000,
        threads in 1usize..4,
        free in prop_oneof![Just(1u64 << 24), Just(1 << 12)],
    ) {
        check(&edges, Direction::of(directed), &roots, target, threads, free);
    }
}

/// Returns a pseudorandom number that depends only on `i`.
fn mixed(i: u32) -> u32 {
    (i.wrapping_mul(0x9e37_79b9) >> 7) ^ i.wrapping_mul(0x85eb_ca6b)
}

/// Tests paths whose depth is at, below and above the largest level that fits in a byte. Vertices are numbered along
/// the path, and in random order.
#[test]
fn paths_may_be_deep() {
    for length in [1u32, 251, 252, 253, 254, 255, 256, 257, 3000, 70_000] {
        let along: Vec<[u32; 2]> = (0..length).map(|i| [i, i + 1]).collect();
        let mut places: Vec<u32> = (0..=length).collect();
        places.sort_by_key(|&i| mixed(i));
        let across: Vec<[u32; 2]> = along.iter().map(|edge| edge.map(|i| places[i as usize])).collect();
        for edges in [along, across] {
            for direction in [Direction::Undirected, Direction::Directed] {
                check(&edges, direction, &[0, length, length / 2, length / 3], 1 << 12, 3, 1 << 24);
            }
        }
    }
}

/// Tests a batch that contains trees whose levels need one byte each and trees whose levels need four. Memory is enough
/// for only some of the trees at a time.
#[test]
fn deep_and_shallow_trees_are_checked_together() {
    let mut edges: Vec<[u32; 2]> = (0..900).map(|i| [i, i + 1]).collect();
    edges.extend((2000..2400).map(|i| [2000 + mixed(i) % 50, i]));
    let roots: Vec<u32> = (0..80).map(mixed).collect();
    for direction in [Direction::Undirected, Direction::Directed] {
        for free in [1 << 24, 17 * 1400, 4 * 1400] {
            check(&edges, direction, &roots, 500, 2, free);
        }
    }
    let model = Model::new(&edges, Direction::Undirected);
    let folder = tempfile::tempdir().unwrap();
    let (_, parents) = model.search(0);
    let tree = Tree { root: Vertex(0), parents: &parents };
    let failed = validate(&model.graph(folder.path(), 500), &[tree], 1, &budget(1000)).unwrap_err();
    assert_eq!(failed.exit_code(), 7, "{failed}");
}

#[test]
fn bytes_are_those_of_whole_lines() {
    assert_eq!(bytes(100, 1, 3), 400);
    assert_eq!(bytes(100, 1, 252), 400);
    assert_eq!(bytes(100, 5, 252), 1600);
    assert_eq!(bytes(100, 64, 252), 6400);
    assert_eq!(bytes(100, 1, 253), 400);
    assert_eq!(bytes(100, 2, 253), 1600);
    assert_eq!(bytes(100, 64, 1000), 6400);
}

/// A graph for tests of wrong trees. A test makes one tree of a batch wrong and reads the error message of the check.
struct Broken {
    model: Model,
    graph: Graph,
    _folder: tempfile::TempDir,
}

impl Broken {
    fn of(edges: &[[u32; 2]], direction: Direction) -> Broken {
        let model = Model::new(edges, direction);
        let folder = tempfile::tempdir().unwrap();
        model.write_order(folder.path());
        Broken { graph: model.graph(folder.path(), 64), model, _folder: folder }
    }

    fn vertex(&self, id: u32) -> u32 {
        self.model.map[id as usize]
    }

    /// Returns the error message of the check after `changes`. Each change is a vertex and its wrong parent, both given
    /// by their ids.
    #[track_caller]
    fn said(&self, root: u32, changes: &[(u32, Option<u32>)]) -> String {
        let root = self.vertex(root);
        let (_, mut parents) = self.model.search(root);
        for &(id, parent) in changes {
            parents[self.vertex(id) as usize] =
                parent.map_or(NONE, |id| self.model.map.get(id as usize).copied().unwrap_or(id));
        }
        let right: Vec<_> = (0..self.model.vertices().min(40)).map(|root| (root, self.model.search(root).1)).collect();
        let mut trees: Vec<_> = right.iter().map(|(root, parents)| Tree { root: Vertex(*root), parents }).collect();
        trees.insert(trees.len() / 2, Tree { root: Vertex(root), parents: &parents });
        let said = [1, 3].map(|threads| {
            let failed = validate(&self.graph, &trees, threads, &budget(1 << 24)).unwrap_err();
            assert_eq!(failed.exit_code(), 8, "{failed}");
            failed.to_string()
        });
        assert_eq!(said[0], said[1]);
        said[0].strip_prefix("validation failed: ").unwrap().to_owned()
    }
}

/// Edges of a test graph: the path 0 - 1 - 2 - 3 - 4 - 5, a detour 1 - 6 - 3, and a separate edge 7 - 8.
const EDGES: [[u32; 2]; 8] = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [1, 6], [6, 3], [7, 8]];

#[test]
fn each_kind_of_wrong_parent_is_caught_by_its_rule() {
    let broken = Broken::of(&EDGES, Direction::Undirected);
    let rule = |rule: u32, found: &str| format!("source 0: {found} (rule {rule} of Graph500)");
    assert_eq!(broken.said(0, &[(0, Some(1))]), rule(1, "the parent of the root is 1 and not the root"));
    assert_eq!(broken.said(0, &[(0, None)]), rule(1, "the root was not reached"));
    assert_eq!(broken.said(0, &[(4, Some(5))]), rule(1, "the parents of vertex 4 go round in a cycle"));
    assert_eq!(broken.said(0, &[(5, Some(5))]), rule(1, "the parents of vertex 5 go round in a cycle"));
    assert_eq!(broken.said(0, &[(5, Some(77))]), rule(1, "the parent of vertex 5 is 77, which is no vertex"));
    assert_eq!(broken.said(0, &[(4, None)]), rule(1, "the parent of vertex 5 is 4, which was not reached"));
    // In the first check, 7 is a second root in another component. In the second check, 7 has a parent in this
    // component.
    assert_eq!(broken.said(0, &[(7, Some(7)), (8, Some(7))]), rule(1, "the parents of vertex 7 go round in a cycle"));
    assert_eq!(broken.said(0, &[(7, Some(0)), (8, Some(7))]), rule(5, "no edge leads to vertex 7 from its parent 0"));
    assert_eq!(broken.said(0, &[(5, None)]), rule(4, "an edge leads from 4, which was reached, to 5, which was not"));
    assert_eq!(broken.said(0, &[(5, Some(3))]), rule(5, "no edge leads to vertex 5 from its parent 3"));
    // 2 and 6 both precede 3 and have the same degree.
    assert_eq!(
        broken.said(0, &[(3, Some(6))]),
        "source 0: the parent of vertex 3 is 6, but 2 is in the same level and comes first"
    );
}

/// Tests a cycle of six vertices. A search from vertex 10 follows the cycle in both directions. A tree that follows it
/// too far in one direction is wrong.
#[test]
fn a_level_that_is_skipped_is_caught_by_rule_3() {
    let cycle = [[10, 11], [11, 12], [12, 13], [13, 14], [14, 15], [15, 10]];
    let broken = Broken::of(&cycle, Direction::Undirected);
    // Vertex 15 is next to the root, but has level 5 because its parent is 14.
    let said = broken.said(10, &[(13, Some(12)), (14, Some(13)), (15, Some(14))]);
    assert_eq!(said, "source 10: an edge leads from 10, level 0, to 15, level 5 (rule 3 of Graph500)");
}

#[test]
fn direction_counts() {
    // The cycle 0 -> 1 -> 2 -> 3 -> 0, and an edge 4 -> 0 from an unreachable vertex.
    let broken = Broken::of(&[[0, 1], [1, 2], [2, 3], [3, 0], [4, 0]], Direction::Directed);
    assert_eq!(
        broken.said(0, &[(4, Some(0))]),
        "source 0: no edge leads to vertex 4 from its parent 0 (rule 5 of Graph500)"
    );
    assert_eq!(
        broken.said(0, &[(3, Some(0))]),
        "source 0: no edge leads to vertex 3 from its parent 0 (rule 5 of Graph500)"
    );
    assert_eq!(
        broken.said(0, &[(3, None)]),
        "source 0: an edge leads from 2, which was reached, to 3, which was not (rule 4 of Graph500)"
    );
    let detour = Broken::of(&[[0, 1], [1, 2], [0, 2], [2, 3]], Direction::Directed);
    assert_eq!(
        detour.said(0, &[(2, Some(1))]),
        "source 0: an edge leads from 0, level 0, to 2, level 2 (rule 3 of Graph500)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    /// Tests that exactly one tree is accepted: the check rejects any other parent of any vertex.
    #[test]
    fn any_other_parent_is_refused(
        edges in prop::collection::vec((0u32..60, 0u32..60).prop_map(|(u, v)| [u, v]), 1..200),
        directed in any::<bool>(),
        root in any::<u32>(),
        v in any::<u32>(),
        parent in prop_oneof![6 => any::<u32>(), 1 => Just(NONE)],
    ) {
        let model = Model::new(&edges, Direction::of(directed));
        prop_assume!(model.vertices() > 0);
        let (root, v) = (root % model.vertices(), (v % model.vertices()) as usize);
        let (_, mut parents) = model.search(root);
        let parent = if parent == NONE { NONE } else { parent % model.vertices() };
        prop_assume!(parents[v] != parent);
        parents[v] = parent;
        let folder = tempfile::tempdir().unwrap();
        let graph = model.graph(folder.path(), 50);
        let failed = validate(&graph, &[Tree { root: Vertex(root), parents: &parents }], 2, &budget(1 << 20));
        prop_assert_eq!(failed.map_err(|e| e.exit_code()).err(), Some(8));
    }
}
