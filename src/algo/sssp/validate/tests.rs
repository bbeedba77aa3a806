use super::*;
use crate::algo::model_tests::{Model, budget};
use crate::algo::sssp::search::NONE;
use crate::graph::direction::Direction;
use crate::graph::ids::RawId;
use crate::graph::weights::drawn::DrawnWeights;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const UNIFORM: WeightSource = WeightSource::Drawn(DrawnWeights::Whole { least: 1, most: 9, seed: 3 });
/// Weights of 0 or 1, so that about half of all edges add nothing.
const ZEROS: WeightSource = WeightSource::Drawn(DrawnWeights::Whole { least: 0, most: 1, seed: 3 });
const LARGE: WeightSource = WeightSource::Drawn(DrawnWeights::Whole { least: 1 << 31, most: u32::MAX, seed: 3 });
const DECIMAL: WeightSource = WeightSource::Drawn(DrawnWeights::Decimal { least: 0.0, most: 1.0, seed: 3 });
/// Tiny f32 weights. The smallest ones do not change a larger sum to which they are added.
const ABSORBED: WeightSource = WeightSource::Drawn(DrawnWeights::Decimal { least: 0.0, most: 1e-38, seed: 3 });
const UNIT: WeightSource = WeightSource::Drawn(DrawnWeights::Unit);
const ALL: [WeightSource; 6] = [UNIFORM, ZEROS, LARGE, DECIMAL, ABSORBED, UNIT];

/// A correct shortest-path tree, in the order of vertices. A test may change it to make it wrong.
#[derive(Clone)]
struct Known<S> {
    root: u32,
    distances: Vec<S>,
    parents: Vec<u32>,
}

trait Paths {
    fn weights(&self, source: WeightSource) -> BTreeMap<(u32, u32), u32>;
    fn shortest<S: TreeSum>(&self, root: u32, weights: &BTreeMap<(u32, u32), u32>) -> Known<S>;
}

impl Paths for Model {
    /// Returns the weights of all edges, by tail and head.
    fn weights(&self, source: WeightSource) -> BTreeMap<(u32, u32), u32> {
        let WeightSource::Drawn(drawn) = source else { panic!("drawn") };
        let id = |v: u32| RawId(self.map.iter().position(|&vertex| vertex == v).unwrap() as u64);
        let ids: Vec<RawId> = (0..self.vertices()).map(id).collect();
        let edges = (0..self.vertices()).flat_map(|u| self.heads[u as usize].iter().map(move |&v| (u, v)));
        edges.map(|(u, v)| ((u, v), drawn.of(self.direction, ids[u as usize], ids[v as usize]))).collect()
    }

    /// Finds distances by relaxing all edges until no distance changes, and parents directly by their definition.
    fn shortest<S: TreeSum>(&self, root: u32, weights: &BTreeMap<(u32, u32), u32>) -> Known<S> {
        let mut distances = vec![S::UNREACHED; self.heads.len()];
        distances[root as usize] = S::default();
        let mut changes = true;
        while std::mem::take(&mut changes) {
            for (&(u, v), &weight) in weights {
                let sum = distances[u as usize].plus(weight.into());
                if sum < distances[v as usize] {
                    distances[v as usize] = sum;
                    changes = true;
                }
            }
        }
        let of = |v: u32| distances[v as usize];
        let tight = |u: u32, v: u32| of(u) != S::UNREACHED && of(u).plus(weights[&(u, v)].into()) == of(v);
        let mut parents = vec![NONE; distances.len()];
        parents[root as usize] = root;
        for v in (0..self.vertices()).filter(|&v| v != root) {
            let nearer = self.tails[v as usize].iter().find(|&&u| tight(u, v) && of(u) < of(v));
            parents[v as usize] = nearer.copied().unwrap_or(NONE);
        }
        // Find the steps of vertices on plateaus.
        let mut steps: BTreeMap<u32, u32> =
            (0..self.vertices()).filter(|&v| parents[v as usize] != NONE).map(|v| (v, 0)).collect();
        let mut queue: VecDeque<u32> = steps.keys().copied().collect();
        while let Some(u) = queue.pop_front() {
            for &v in self.heads[u as usize].iter().filter(|&&v| of(u) == of(v) && tight(u, v)) {
                if !steps.contains_key(&v) {
                    steps.insert(v, steps[&u] + 1);
                    queue.push_back(v);
                }
            }
        }
        for (&v, &step) in steps.iter().filter(|(_, step)| **step > 0) {
            let one_nearer = |u: &&u32| of(**u) == of(v) && tight(**u, v) && steps.get(u) == Some(&(step - 1));
            parents[v as usize] = *self.tails[v as usize].iter().find(one_nearer).unwrap();
        }
        Known { root, distances, parents }
    }
}

trait IntoDistances: TreeSum {
    fn distances_of(all: &[Self]) -> Distances;
}

impl IntoDistances for u64 {
    fn distances_of(all: &[u64]) -> Distances {
        let mut buffer = budget(1 << 24).zeroed(all.len(), "a test").unwrap();
        buffer.copy_from_slice(all);
        Distances::Whole(buffer)
    }
}

impl IntoDistances for f32 {
    fn distances_of(all: &[f32]) -> Distances {
        let mut buffer = budget(1 << 24).zeroed(all.len(), "a test").unwrap();
        buffer.copy_from_slice(all);
        Distances::Decimal(buffer)
    }
}

impl<S: IntoDistances> Known<S> {
    fn figures(&self) -> PathFigures {
        let reached = self.distances.iter().filter(|&&distance| distance != S::UNREACHED);
        let most = reached.clone().copied().fold(S::default(), |most, sum| if sum > most { sum } else { most });
        PathFigures { reached: reached.count() as u64, max_distance: most.distance() }
    }
}

fn is_decimal(source: WeightSource) -> bool {
    matches!(source, WeightSource::Drawn(DrawnWeights::Decimal { .. }))
}

/// A graph on which tests check trees, with its weights.
struct Checked {
    model: Model,
    graph: Graph,
    source: WeightSource,
    weights: BTreeMap<(u32, u32), u32>,
    _folder: tempfile::TempDir,
}

impl Checked {
    fn new(edges: &[[u32; 2]], direction: Direction, source: WeightSource, target: u64) -> Checked {
        let model = Model::new(edges, direction);
        let folder = tempfile::tempdir().unwrap();
        model.write_order(folder.path());
        let (graph, weights) = (model.graph(folder.path(), target), model.weights(source));
        Checked { model, graph, source, weights, _folder: folder }
    }

    fn check<S: IntoDistances>(&self, trees: &[Known<S>], threads: usize, free: u64) -> Result<Vec<PathFigures>> {
        let distances: Vec<Distances> = trees.iter().map(|tree| S::distances_of(&tree.distances)).collect();
        let trees: Vec<PathTree<'_>> = trees
            .iter()
            .zip(&distances)
            .map(|(tree, distances)| PathTree { root: Vertex(tree.root), distances, parents: &tree.parents })
            .collect();
        validate(&self.graph, self.source, &trees, threads, &budget(free))
    }

    #[track_caller]
    fn passes<S: IntoDistances>(&self, roots: &[u32], threads: usize, free: u64) {
        let known: Vec<Known<S>> = roots.iter().map(|&root| self.model.shortest(root, &self.weights)).collect();
        let expected: Vec<PathFigures> = known.iter().map(Known::figures).collect();
        assert_eq!(self.check(&known, threads, free).unwrap(), expected);
    }

    fn vertex(&self, id: u32) -> usize {
        self.model.map[id as usize] as usize
    }

    /// Returns the error message of a check of several trees, of which `change` made one wrong. The other trees are
    /// correct.
    #[track_caller]
    fn said<S: IntoDistances>(&self, root: u32, change: impl Fn(&mut Known<S>)) -> String {
        let right = |root: u32| self.model.shortest::<S>(root, &self.weights);
        let mut broken = right(self.vertex(root) as u32);
        change(&mut broken);
        let mut said = Vec::new();
        for others in [0, 2, 7] {
            let mut trees: Vec<Known<S>> = (0..others).map(|v| right(v % self.model.vertices())).collect();
            trees.insert(trees.len() / 2, broken.clone());
            for threads in [1, 3] {
                let failed = self.check(&trees, threads, 1 << 24).unwrap_err();
                assert_eq!(failed.exit_code(), 8, "{failed}");
                said.push(failed.to_string());
            }
        }
        assert!(said.iter().all(|other| *other == said[0]), "{said:?}");
        said[0].strip_prefix(&format!("validation failed: source {root}: ")).unwrap().to_owned()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn trees_by_plain_relaxation_pass(
        edges in (2u32..120, 0usize..400).prop_flat_map(|(n, m)| {
            let end = prop_oneof![2 => 0..n, 1 => 0..n.div_ceil(20)];
            prop::collection::vec((end.clone(), end).prop_map(|(u, v)| [u, v]), 1..=m.max(1))
        }),
        directed in any::<bool>(),
        source in prop::sample::select(&ALL[..]),
        roots in prop::collection::vec(any::<u32>(), 0..20),
        target in 1u64..3000,
        threads in 1usize..4,
        free in prop_oneof![Just(1u64 << 24), Just(2 << 10)],
    ) {
        let checked = Checked::new(&edges, Direction::of(directed), source, target);
        prop_assume!(checked.model.vertices() > 0);
        let roots: Vec<u32> = roots.iter().map(|root| root % checked.model.vertices()).collect();
        match is_decimal(source) {
            true => checked.passes::<f32>(&roots, threads, free),
            false => checked.passes::<u64>(&roots, threads, free),
        }
    }

    /// Tests that exactly one tree is accepted: the check refuses any other parent and any other distance of any
    /// vertex.
    #[test]
    fn anything_else_is_refused(
        edges in prop::collection::vec((0u32..40, 0u32..40).prop_map(|(u, v)| [u, v]), 1..120),
        directed in any::<bool>(),
        source in prop::sample::select(&ALL[..]),
        root in any::<u32>(),
        v in any::<u32>(),
        parent in prop_oneof![6 => any::<u32>().prop_map(Some), 1 => Just(None)],
        more in prop_oneof![Just(1i64), Just(-1), Just(i64::MAX), any::<i64>()],
        breaks_parent in any::<bool>(),
    ) {
        let checked = Checked::new(&edges, Direction::of(directed), source, 50);
        let vertices = checked.model.vertices();
        prop_assume!(vertices > 0);
        let (root, v) = (root % vertices, (v % vertices) as usize);
        let parent = parent.map_or(NONE, |parent| parent % vertices);
        let failed = match is_decimal(source) {
            true => {
                let mut tree = checked.model.shortest::<f32>(root, &checked.weights);
                let before = tree.clone();
                if breaks_parent { tree.parents[v] = parent } else { tree.distances[v] = f32::from_bits(tree.distances[v].to_bits().wrapping_add(more as u32)) }
                prop_assume!(tree.parents != before.parents || tree.distances[v].to_bits() != before.distances[v].to_bits());
                checked.check(&[tree], 2, 1 << 20)
            }
            false => {
                let mut tree = checked.model.shortest::<u64>(root, &checked.weights);
                let before = tree.clone();
                if breaks_parent { tree.parents[v] = parent } else { tree.distances[v] = tree.distances[v].wrapping_add(more as u64) }
                prop_assume!(tree.parents != before.parents || tree.distances != before.distances);
                checked.check(&[tree], 2, 1 << 20)
            }
        };
        prop_assert_eq!(failed.map_err(|e| e.exit_code()).err(), Some(8));
    }
}

/// Edges of a test graph: the path 0 - 1 - 2 - 3 - 4 - 5, a detour 1 - 6 - 3, and a separate edge 7 - 8.
const EDGES: [[u32; 2]; 8] = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [1, 6], [6, 3], [7, 8]];

#[test]
fn each_kind_of_wrong_tree_is_reported() {
    let checked = Checked::new(&EDGES, Direction::Undirected, UNIT, 64);
    let v = |id: u32| checked.vertex(id);
    let parent = |id: u32, parent: u32| {
        checked.said::<u64>(0, |tree| {
            tree.parents[v(id)] = checked.model.map.get(parent as usize).copied().unwrap_or(parent)
        })
    };
    let distance = |id: u32, distance: u64| checked.said::<u64>(0, |tree| tree.distances[v(id)] = distance);
    assert_eq!(parent(0, 1), "the parent of the root is 1 and not the root");
    assert_eq!(parent(0, NONE), "the root was not reached");
    assert_eq!(distance(0, 3), "the root is at distance 3 and not 0");
    assert_eq!(parent(5, 77), "the parent of vertex 5 is 77, which is no vertex");
    assert_eq!(parent(5, NONE), "vertex 5 is at distance 5 and has no parent");
    assert_eq!(parent(7, 0), "vertex 7 has parent 0 and no distance");
    assert_eq!(distance(7, 1), "vertex 7 is at distance 1 and has no parent");
    assert_eq!(distance(4, u64::MAX), "vertex 4 has parent 3 and no distance");
    assert_eq!(parent(5, 7), "the parent of vertex 5 is 7, which was not reached");
    assert_eq!(parent(4, 5), "vertex 4 is at distance 4, its parent 5 at 5");
    assert_eq!(parent(5, 5), "the parents of vertex 5 go round in a cycle");
    assert_eq!(
        distance(5, 6),
        "an edge of weight 1 leads from 4, distance 4, to 5, distance 6, and makes a shorter path"
    );
    assert_eq!(parent(5, 3), "no edge from 3, distance 3, to its child 5, distance 5, adds up to that");
    // 2 and 6 both precede 3 and have the same degree.
    assert_eq!(parent(3, 6), "the parent of vertex 3 is 6, but 2 qualifies and comes first");
    let unreached = checked.said::<u64>(0, |tree| (tree.parents[v(5)], tree.distances[v(5)]) = (NONE, u64::MAX));
    assert_eq!(unreached, "an edge leads from 4, which was reached, to 5, which was not");
    // Vertex 5 gets the distance of its parent 4.
    let near = checked.said::<u64>(0, |tree| tree.distances[v(5)] = 4);
    assert_eq!(near, "no edge from 4, distance 4, to its child 5, distance 4, adds up to that");
}

/// Tests a plateau: all edges have weight 0, so all vertices of the component are at distance 0. Two paths lead from
/// vertex 1 to vertex 3.
#[test]
fn parents_on_plateaus_form_a_tree() {
    let nothing = WeightSource::Drawn(DrawnWeights::Whole { least: 0, most: 0, seed: 1 });
    let checked = Checked::new(&EDGES, Direction::Undirected, nothing, 64);
    let v = |id: u32| checked.vertex(id);
    let parent = |id: u32, parent: u32| checked.said::<u64>(0, |tree| tree.parents[v(id)] = v(parent) as u32);
    assert_eq!(parent(4, 5), "the parents of vertex 4 go round in a cycle");
    assert_eq!(parent(3, 6), "the parent of vertex 3 is 6, but 2 qualifies and comes first");
    // The path to 6 through 3 is two steps longer than necessary.
    assert_eq!(parent(6, 3), "the parent of vertex 6 is 3, but 1 qualifies and comes first");
    let apart = checked.said::<u64>(0, |tree| {
        for (id, parent) in [(7, 8), (8, 7)] {
            (tree.distances[v(id)], tree.parents[v(id)]) = (0, v(parent) as u32);
        }
    });
    assert_eq!(apart, "the parents of vertex 7 go round in a cycle");
}

#[test]
fn decimals_that_are_not_numbers_are_refused() {
    let checked = Checked::new(&EDGES, Direction::Undirected, DECIMAL, 64);
    for wrong in [f32::NAN, -1.0, f32::NEG_INFINITY, f32::INFINITY] {
        checked.said::<f32>(0, |tree| tree.distances[checked.vertex(3)] = wrong);
    }
}

#[test]
fn little_memory_is_enough_for_one_tree_at_a_time() {
    let edges: Vec<[u32; 2]> = (0..700).map(|i| [i, i + 1]).collect();
    for source in [UNIFORM, DECIMAL] {
        let checked = Checked::new(&edges, Direction::Undirected, source, 500);
        let roots: Vec<u32> = (0..18).map(|root| root * 35).collect();
        for free in [1 << 24, 701 * 40, 701 * 9] {
            match is_decimal(source) {
                true => checked.passes::<f32>(&roots[..3], 2, free),
                false => checked.passes::<u64>(&roots[..3], 2, free),
            }
        }
        let known = checked.model.shortest::<u64>(0, &checked.weights);
        let failed = checked.check(&[known], 1, 1000).unwrap_err();
        assert_eq!(failed.exit_code(), 7, "{failed}");
    }
    assert_eq!(bytes(100, 1, UNIT), 400);
    assert_eq!(bytes(100, 2, UNIFORM), 1600 + 400 + 400);
    assert_eq!(bytes(100, 2, ZEROS), 1600 + 400 + 400 + 400);
    assert_eq!(bytes(100, 16, WeightSource::File), 6400 + 400 + 400);
}
