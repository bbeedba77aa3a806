//! Shortest paths on a GPU, held against Dijkstra's algorithm: on the stand-in for CUDA, which shuffles what a GPU leaves open.

use parking_lot::Mutex;
use std::collections::BinaryHeap;

use gpugraph::Error;
use gpugraph::internals::algo::sssp::gpu::{self, GpuSearch, Tuning, Weights};
use gpugraph::internals::algo::sssp::options::Method;
use gpugraph::internals::algo::sssp::search::{NONE, Search, ShortestPathTree, SsspStats};
use gpugraph::internals::algo::sssp::{Distance, Distances, WeightScale};
use gpugraph::internals::algo::{Lease, WeightSource};
use gpugraph::internals::formats::WeightType;
use gpugraph::internals::gpu::{ProgramSource, Workspace};
use gpugraph::internals::graph::direction::{Direction, EdgeDirection};
use gpugraph::internals::graph::ids::{RawId, Vertex};
use gpugraph::internals::graph::weights::drawn::DrawnWeights;

use crate::rows::Rows;
use crate::support::{Dice, random_edges};
use crate::workspace::{self, budget};

fn programs() -> Vec<&'static ProgramSource> {
    [gpu::programs(WeightSource::File, Method::Moore), gpu::rare_programs(WeightSource::File)].concat()
}

/// Runs `body` in an order of threads that is not the natural one.
fn on_gpu(name: &str, body: impl Fn(&Mutex<Workspace>)) {
    workspace::in_orders(name, &programs(), &["29"], body);
}

/// A graph with the weight of every edge, by the numbers of its vertices.
struct Weighted {
    rows: Rows,
    kind: WeightType,
    /// For each row, its weights in the order of neighbours. Those of 64 bits are codes.
    weights: Vec<Vec<u32>>,
    /// The weights of 64 bits by their codes.
    values: Vec<u64>,
    /// How they are drawn, and ids of vertices; none if they are stored.
    drawn: Option<(DrawnWeights, Vec<u64>)>,
}

impl Weighted {
    /// Sums of distances, as they are told apart: whole numbers, or bits of f32 or f64.
    fn sum(&self, distance: u64, weight: u32) -> u64 {
        match self.kind {
            WeightType::U32 => distance + u64::from(weight),
            WeightType::U64 => distance.saturating_add(self.values[weight as usize]),
            WeightType::F32 => {
                let sum = f32::from_bits(distance as u32) + f32::from_bits(weight);
                // An infinite one leads nowhere.
                if sum.is_finite() { sum.to_bits().into() } else { u64::MAX }
            }
            WeightType::F64 => {
                let sum = f64::from_bits(distance) + f64::from_bits(self.values[weight as usize]);
                if sum.is_finite() { sum.to_bits() } else { u64::MAX }
            }
        }
    }

    /// With weights of 64 bits: each edge has one of `values`, which ascend, by a number.
    fn coded(
        edges: &[[u32; 2]],
        direction: Direction,
        (kind, values): (WeightType, Vec<u64>),
        number: impl Fn(u32, u32) -> u64,
    ) -> Weighted {
        let code = |u: u32, v: u32| (number(u, v) % values.len() as u64) as u32;
        Weighted { values: values.clone(), ..Weighted::stored(edges, direction, kind, code) }
    }

    fn stored(
        edges: &[[u32; 2]],
        direction: Direction,
        kind: WeightType,
        weight: impl Fn(u32, u32) -> u32,
    ) -> Weighted {
        let by_vertex =
            |u: u32, v: u32| if direction == Direction::Directed { weight(u, v) } else { weight(u.min(v), u.max(v)) };
        let rows = Rows::weighted(edges, direction, Some((kind, &by_vertex)));
        let weights = Self::weights(&rows, by_vertex);
        Weighted { rows, kind, weights, values: Vec::new(), drawn: None }
    }

    fn drawn(edges: &[[u32; 2]], direction: Direction, drawn: DrawnWeights) -> Weighted {
        let rows = Rows::new(edges, direction);
        let mut ids = vec![0; rows.vertices()];
        // Ids beyond 32 bits.
        rows.place.iter().for_each(|(&id, &v)| ids[v as usize] = 3_000_000_000 * u64::from(id));
        let weights = Self::weights(&rows, |u, v| drawn.of(direction, RawId(ids[u as usize]), RawId(ids[v as usize])));
        Weighted { rows, kind: drawn.kind(), weights, values: Vec::new(), drawn: Some((drawn, ids)) }
    }

    fn weights(rows: &Rows, weight: impl Fn(u32, u32) -> u32) -> Vec<Vec<u32>> {
        let of_row = |(row, neighbours): (usize, &std::collections::BTreeSet<u32>)| {
            let v = rows.direction.vertex(row as u32);
            let inward = rows.direction == Direction::Directed && row % 2 == 1;
            neighbours.iter().map(|&w| if inward { weight(w, v) } else { weight(v, w) }).collect()
        };
        rows.all.iter().enumerate().map(of_row).collect()
    }

    fn edges(&self, v: u32, way: EdgeDirection) -> impl Iterator<Item = (u32, u32)> {
        let row = self.rows.direction.row(v, way) as usize;
        self.rows.all[row].iter().copied().zip(self.weights[row].iter().copied())
    }

    /// Distances by Dijkstra's algorithm, and parents by the rule.
    fn search(&self, root: u32) -> (Vec<u64>, Vec<u32>) {
        let n = self.rows.vertices();
        let mut distances = vec![u64::MAX; n];
        distances[root as usize] = 0;
        let mut queue = BinaryHeap::from([std::cmp::Reverse((0u64, root))]);
        while let Some(std::cmp::Reverse((distance, v))) = queue.pop() {
            if distances[v as usize] < distance {
                continue;
            }
            for (w, weight) in self.edges(v, EdgeDirection::Out) {
                let sum = self.sum(distance, weight);
                if sum < distances[w as usize] {
                    distances[w as usize] = sum;
                    queue.push(std::cmp::Reverse((sum, w)));
                }
            }
        }
        let mut parents = vec![NONE; n];
        parents[root as usize] = root;
        let tight = |v: u32| {
            let distances = &distances;
            let own = distances[v as usize];
            self.edges(v, EdgeDirection::In).filter(move |&(u, weight)| {
                let before = distances[u as usize];
                before != u64::MAX && self.sum(before, weight) == own
            })
        };
        for v in (0..n as u32).filter(|&v| v != root && distances[v as usize] != u64::MAX) {
            let nearer = tight(v).map(|(u, _)| u).filter(|&u| distances[u as usize] < distances[v as usize]).min();
            parents[v as usize] = nearer.unwrap_or(NONE);
        }
        loop {
            let open = (0..n as u32).filter(|&v| parents[v as usize] == NONE && distances[v as usize] != u64::MAX);
            let found = open.filter_map(|v| {
                let parent = tight(v).map(|(u, _)| u).filter(|&u| parents[u as usize] != NONE).min();
                parent.map(|parent| (v, parent))
            });
            let found: Vec<(u32, u32)> = found.collect();
            if found.is_empty() {
                return (distances, parents);
            }
            found.into_iter().for_each(|(v, parent)| parents[v as usize] = parent);
        }
    }

    fn open<'a>(&self, gpu: &'a Mutex<Workspace>, method: Method, tuning: Tuning) -> Result<GpuSearch<'a>, Error> {
        let lease = Lease { workspace: gpu.lock(), cache: 0 };
        let halves = [&self.rows.halves[0], &self.rows.halves[1]];
        match &self.drawn {
            None => {
                let scale = WeightScale { kind: self.kind, values: &self.values };
                GpuSearch::with_tuning(halves, Weights::Stored(scale), lease, method, tuning, &budget())
            }
            Some((drawn, ids)) => {
                let id = |v: Vertex| ids[v.0 as usize];
                GpuSearch::with_tuning(halves, Weights::Drawn(*drawn, &id), lease, method, tuning, &budget())
            }
        }
    }

    /// Searches from all roots in each of these ways.
    #[track_caller]
    fn check(&self, gpu: &Mutex<Workspace>, roots: &[u32], tunings: &[(&str, Method, Tuning)]) -> Vec<SsspStats> {
        let mut all = Vec::new();
        let known: Vec<_> = roots.iter().map(|&root| self.search(root)).collect();
        for (what, method, tuning) in tunings {
            let mut search = self.open(gpu, *method, *tuning).expect("room");
            for (&root, (distances, parents)) in roots.iter().zip(&known) {
                let vertices = self.rows.vertices();
                let distances_found = Distances::new(self.kind, vertices, &budget()).expect("room");
                let parents_found = budget().zeroed(vertices, "parents").expect("room");
                let mut tree = ShortestPathTree { distances: distances_found, parents: parents_found };
                tree.parents.fill(7);
                let searched = search.search(Vertex(root), &mut tree);
                let searched = searched.unwrap_or_else(|e| panic!("{what} from {root}: {e:?}"));
                for v in 0..vertices {
                    let distance = match tree.distances.of(v as u32) {
                        None => u64::MAX,
                        Some(Distance::Whole(sum)) => sum,
                        Some(Distance::Decimal(sum)) => sum.to_bits().into(),
                        Some(Distance::Double(sum)) => sum.to_bits(),
                    };
                    assert_eq!(distance, distances[v], "{what}: distance of {v} from {root}");
                    assert_eq!(tree.parents[v], parents[v], "{what}: parent of {v} from {root}");
                }
                assert_eq!(searched.reached, distances.iter().filter(|&&sum| sum != u64::MAX).count() as u64, "{what}");
                let farthest = distances.iter().filter(|&&sum| sum != u64::MAX).max().copied().expect("the root");
                let told = match searched.max_distance {
                    Distance::Whole(sum) => sum,
                    Distance::Decimal(sum) => sum.to_bits().into(),
                    Distance::Double(sum) => sum.to_bits(),
                };
                assert_eq!(told, farthest, "{what}");
                assert!(searched.seconds > 0.0);
                all.push(searched);
            }
        }
        all
    }
}

/// As on a GPU, but for a small grid.
fn small() -> Tuning {
    Tuning { blocks: 2, ..Tuning::default() }
}

fn capped(threshold: f64, fine: f64, reach: f64) -> Tuning {
    Tuning { threshold: Some(threshold), coarse: Some(4.0 * fine), fine: Some(fine), reach: Some(reach), ..small() }
}

fn tunings() -> Vec<(&'static str, Method, Tuning)> {
    vec![
        ("by the graph", Method::Auto, Tuning { short: 0, ..small() }),
        ("one block", Method::Auto, Tuning { blocks: 1, ..capped(0.02, 0.01, 0.1) }),
        ("capped at once", Method::Auto, capped(0.0, 0.01, 0.05)),
        ("capped soon", Method::Auto, capped(0.03, 0.02, 0.3)),
        ("capped late", Method::Auto, Tuning { blocks: 3, ..capped(0.3, 0.1, 1.0) }),
        ("narrow buckets", Method::DeltaStepping, Tuning { coarse: Some(0.01), fine: Some(0.01), ..small() }),
        ("one bucket", Method::DeltaStepping, Tuning { coarse: Some(1e6), fine: Some(1e6), ..small() }),
        ("deep", Method::DeltaStepping, Tuning { short: u32::MAX, coarse: Some(3.0), fine: Some(3.0), ..small() }),
        (
            "deep, short queues, a launch for each step",
            Method::DeltaStepping,
            Tuning { short: u32::MAX, queued: 0, hops: 2, steps: 1, ..small() },
        ),
        ("moore", Method::Moore, small()),
        ("moore, where the farther ones wait", Method::Moore, Tuning { many: 4, reach: Some(0.3), ..small() }),
        (
            "moore, where they do at the end of a launch",
            Method::Moore,
            Tuning { many: 8, reach: Some(0.1), steps: 3, ..small() },
        ),
        ("bellman-ford", Method::BellmanFord, small()),
        ("rows on the host", Method::Auto, Tuning { most_near: Some(0), ..capped(0.05, 0.02, 0.1) }),
        ("some edges near", Method::Auto, Tuning { most_near: Some(1300), ..capped(0.05, 0.02, 0.1) }),
        ("more edges near", Method::Auto, Tuning { most_near: Some(2000), ..capped(0.1, 0.02, 0.3) }),
        ("all edges near", Method::DeltaStepping, Tuning { most_near: Some(u64::MAX), ..small() }),
        (
            "some edges near, deep, a launch for each step",
            Method::DeltaStepping,
            Tuning { most_near: Some(1500), short: u32::MAX, hops: 2, steps: 1, ..small() },
        ),
        (
            "some edges near, short queues",
            Method::Auto,
            Tuning { most_near: Some(1500), queued: 0, ..capped(0.1, 0.02, 0.3) },
        ),
        ("some edges near, moore", Method::Moore, Tuning { most_near: Some(1500), ..small() }),
        (
            "some edges near, entries around 2^32",
            Method::Auto,
            Tuning { most_near: Some(1500), first_entry: (1 << 32) - 30, ..capped(0.1, 0.05, 0.1) },
        ),
        ("short queues", Method::Auto, Tuning { queued: 0, ..capped(0.1, 0.02, 0.3) }),
        ("short queues without a cap", Method::DeltaStepping, Tuning { queued: 40, ..small() }),
        (
            "small pieces, a launch for each step",
            Method::Auto,
            Tuning { piece: 100, steps: 1, ..capped(0.1, 0.1, 0.2) },
        ),
        ("entries around 2^32", Method::Auto, Tuning { first_entry: (1 << 32) - 30, ..capped(0.1, 0.05, 0.1) }),
        ("entries around 2^33", Method::Auto, Tuning { first_entry: (2 << 32) - 900, ..capped(0.1, 0.05, 0.1) }),
    ]
}

fn narrow(edges: Vec<[u64; 2]>) -> Vec<[u32; 2]> {
    edges.into_iter().map(|[u, v]| [u as u32, v as u32]).collect()
}

const DIRECTIONS: [Direction; 2] = [Direction::Undirected, Direction::Directed];
const WHOLE: DrawnWeights = DrawnWeights::Whole { least: 1, most: 255, seed: 3 };
const DECIMAL: DrawnWeights = DrawnWeights::Decimal { least: 0.0, most: 1.0, seed: 4 };

#[test]
fn random_graphs() {
    workspace::in_orders("sssp::random_graphs", &programs(), &["0", "3"], |gpu| {
        for (seed, vertices, edges) in [(1, 450, 2500), (2, 120, 1500), (3, 1200, 1200), (4, 40, 30), (5, 2, 1)] {
            let edges = narrow(random_edges(vertices, edges, seed));
            for (direction, drawn) in DIRECTIONS.into_iter().flat_map(|d| [(d, WHOLE), (d, DECIMAL)]) {
                let graph = Weighted::drawn(&edges, direction, drawn);
                if graph.rows.vertices() == 0 {
                    continue;
                }
                let last = graph.rows.vertices() as u32 - 1;
                let any = Dice(seed).below(last.into()) as u32;
                let ways = if seed == 1 { tunings() } else { some(seed as usize) };
                graph.check(gpu, &[any, last][..if seed == 1 { 1 } else { 2 }], &ways);
            }
        }
    });
}

/// Hubs, leaves of hubs, pairs, paths, grids, and several of each apart.
fn shapes() -> Vec<(&'static str, Vec<[u32; 2]>)> {
    let path = |from: u32, length: u32| (from..from + length).map(|v| [v, v + 1]).collect::<Vec<_>>();
    let star = |hub: u32, leaves: u32| (hub + 1..=hub + leaves).map(|v| [hub, v]).collect::<Vec<_>>();
    let grid = |side: u32| {
        let cells = (0..side).flat_map(move |x| (0..side).map(move |y| (x, y)));
        let right = cells.clone().filter(move |c| c.0 + 1 < side).map(move |(x, y)| [x * side + y, (x + 1) * side + y]);
        let down = cells.filter(move |c| c.1 + 1 < side).map(move |(x, y)| [x * side + y, x * side + y + 1]);
        right.chain(down).collect::<Vec<_>>()
    };
    let complete = (0..60u32).flat_map(|u| (0..u).map(move |v| [v, u])).collect();
    let comb = (0..150u32).flat_map(|v| [[v, v + 1], [v, 1000 + v]]).collect();
    // Two hubs of many edges, joined by vertices of few.
    let wheels = (0..900u32).flat_map(|v| [[5000, v], [6000, v / 2 + 600], [v, v + 1]]).collect();
    vec![
        ("a pair", vec![[0, 1]]),
        ("pairs", (0..300).map(|v| [2 * v, 2 * v + 1]).collect()),
        ("a path", path(0, 150)),
        ("a star", star(0, 1500)),
        ("stars and a path", [star(0, 700), star(1000, 5), path(3000, 30), vec![[1, 1001]]].concat()),
        ("a grid", grid(25)),
        ("a complete graph", complete),
        ("a comb", comb),
        ("two wheels", wheels),
    ]
}

/// A few of all ways, by the number of a shape.
fn some(nth: usize) -> Vec<(&'static str, Method, Tuning)> {
    let all = tunings();
    (0..4).map(|k| all[(nth + 5 * k) % all.len()]).collect()
}

#[test]
fn shapes_of_all_kinds() {
    on_gpu("sssp::shapes_of_all_kinds", |gpu| {
        let mut nth = 0;
        for (_, edges) in shapes() {
            for (direction, drawn) in DIRECTIONS.into_iter().flat_map(|d| [(d, WHOLE), (d, DECIMAL)]) {
                let graph = Weighted::drawn(&edges, direction, drawn);
                let last = graph.rows.vertices() as u32 - 1;
                graph.check(gpu, &[last / 2, last], &some(nth)[..2]);
                nth += 1;
            }
        }
    });
}

/// Weights of zero, and decimals that are too small to change a sum: parents inside of plateaus.
#[test]
fn edges_that_add_nothing() {
    on_gpu("sssp::edges_that_add_nothing", |gpu| {
        let tiny =
            |u: u32, v: u32| if (u + v).is_multiple_of(3) { 1.0f32 } else { 1e-9 * (1 + (u * v) % 7) as f32 }.to_bits();
        for (nth, (_, edges)) in shapes().into_iter().enumerate() {
            for direction in DIRECTIONS {
                let all_zero = Weighted::stored(&edges, direction, WeightType::U32, |_, _| 0);
                let some_zero = Weighted::stored(&edges, direction, WeightType::U32, |u, v| (7 * u + 5 * v) % 4 / 2);
                let absorbed = Weighted::stored(&edges, direction, WeightType::F32, tiny);
                for (k, graph) in [all_zero, some_zero, absorbed].iter().enumerate() {
                    let last = graph.rows.vertices() as u32 - 1;
                    graph.check(gpu, &[last / 3], &some(nth + k)[..2]);
                }
            }
        }
    });
}

/// Equal weights, whose distances are those of breadth-first search; and weights of few values, with many tight edges.
#[test]
fn equal_weights() {
    on_gpu("sssp::equal_weights", |gpu| {
        let edges = narrow(random_edges(400, 2500, 8));
        for direction in DIRECTIONS {
            let unit = Weighted::drawn(&edges, direction, DrawnWeights::Unit);
            let few = Weighted::drawn(&edges, direction, DrawnWeights::Whole { least: 1, most: 3, seed: 2 });
            for (nth, graph) in [unit, few].iter().enumerate() {
                graph.check(gpu, &[0, 200, graph.rows.vertices() as u32 - 1], &some(nth));
            }
        }
    });
}

/// Weights of 64 bits, which rows have codes of: many, few, those of sums beyond the largest, and those that add nothing.
#[test]
fn weights_of_64_bits() {
    on_gpu("sssp::weights_of_64_bits", |gpu| {
        let whole = |values: &[u64]| (WeightType::U64, values.to_vec());
        let decimal = |values: &[f64]| (WeightType::F64, values.iter().map(|value| value.to_bits()).collect());
        let mut dice = Dice(11);
        let mut costs: Vec<u64> = (0..3000).map(|_| dice.roll() >> 20).collect();
        costs.sort_unstable();
        let lengths: Vec<f64> = (0..3000).map(|nth| f64::from(nth) * 0.001 + 1e-9).collect();
        let kinds = [
            whole(&costs),
            decimal(&lengths),
            whole(&[0, 3, 1 << 40]),
            decimal(&[0.0, 5e-324, 1e-300, 0.1, 0.2, 1e17]),
            whole(&[7, 1 << 62, u64::MAX / 3, u64::MAX]),
            decimal(&[1.0, 1e300, 1e308, f64::MAX]),
            decimal(&[0.1]),
        ];
        let shapes = shapes().into_iter().map(|(_, edges)| edges).chain([narrow(random_edges(900, 5000, 1))]);
        for (nth, edges) in shapes.enumerate() {
            // Each kind has every second shape, in turn with direction and without, and the random graph.
            let is_mine = |&(k, _): &(usize, _)| nth == 9 || (nth + k).is_multiple_of(2);
            for (k, (kind, values)) in kinds.iter().enumerate().filter(is_mine) {
                let direction = DIRECTIONS[(nth / 2 + k) % 2];
                let number =
                    |u: u32, v: u32| u64::from(u).wrapping_mul(2_654_435_761) ^ u64::from(v).wrapping_mul(40_503);
                let graph = Weighted::coded(&edges, direction, (*kind, values.clone()), number);
                let last = graph.rows.vertices() as u32 - 1;
                let ways = if nth == 9 && k < 2 { tunings() } else { some(nth + k)[..2].to_vec() };
                graph.check(gpu, &[last / 2], &ways);
            }
        }
    });
}

/// A sum that does not fit 32 bits is noticed, wherever it is made.
#[test]
fn sums_past_32_bits() {
    on_gpu("sssp::sums_past_32_bits", |gpu| {
        let most = u32::MAX;
        let path: Vec<[u32; 2]> = (0..40).map(|v| [v, v + 1]).collect();
        let heavy = Weighted::stored(&path, Direction::Undirected, WeightType::U32, |u, _| most - u);
        heavy.check(gpu, &[20], &tunings());
        // Only edges to leaves are as heavy; and only those that are pulled along.
        let hub: Vec<[u32; 2]> = (1..600).flat_map(|v| [[0, v], [v, v % 50 + 600], [v, 1000 + v]]).collect();
        let leaves =
            Weighted::stored(&hub, Direction::Directed, WeightType::U32, |_, v| if v >= 1000 { most } else { 3 });
        leaves.check(gpu, &[5], &tunings());
        let all = Weighted::stored(&hub, Direction::Undirected, WeightType::U32, |u, v| if u == 0 { v } else { most });
        let told = all.check(gpu, &[5], &tunings());
        assert!(told.iter().any(|searched| searched.max_distance > Distance::Whole(most.into())));
        // A heavy edge comes after that to a leaf, which is not reached yet. Vertices are in order of degree, so the 599 leaves are the last.
        let behind: Vec<[u32; 2]> = (1..600).flat_map(|v| [[0, v], [v, 2000 + v], [2000 + v, 4000 + v]]).collect();
        let weight = |u: u32, v: u32| match (u, v) {
            (0, _) => 3,
            (_, 1199..) => 1,
            _ => most,
        };
        Weighted::stored(&behind, Direction::Undirected, WeightType::U32, weight).check(gpu, &[0, 5], &tunings());
    });
}

/// Decimals whose sums are infinite lead nowhere.
#[test]
fn sums_that_are_infinite() {
    on_gpu("sssp::sums_that_are_infinite", |gpu| {
        let path: Vec<[u32; 2]> = (0..40).map(|v| [v, v + 1]).collect();
        let huge = Weighted::stored(&path, Direction::Undirected, WeightType::F32, |_, _| 1e38f32.to_bits());
        let told = huge.check(gpu, &[0, 20], &some(1));
        assert!(told.iter().all(|searched| searched.reached < 10));
    });
}

/// More vertices become nearer in a step than a queue's counter has bits for: 2^14 on the stand-in, 2^24 on a GPU.
#[test]
fn more_vertices_at_once_than_are_counted() {
    on_gpu("sssp::more_vertices_at_once_than_are_counted", |gpu| {
        // Spokes, a vertex behind each, and a rim around these: behind a vertex that is lost one is reached by the rim alone, which is longer.
        let spokes = 16_500;
        let edges: Vec<[u32; 2]> =
            (1..=spokes).flat_map(|v| [[0, v], [v, spokes + v], [spokes + v, spokes + v % spokes + 1]]).collect();
        let weight = |u: u32, v: u32| if u == 0 || v == u + spokes { 1 } else { 9 };
        let graph = Weighted::stored(&edges, Direction::Undirected, WeightType::U32, weight);
        let wide = Tuning { coarse: Some(1e6), fine: Some(1e6), queued: 64, ..small() };
        for short in [0, u32::MAX] {
            let hub = graph.rows.place[&0];
            graph.check(gpu, &[hub], &[("one bucket", Method::DeltaStepping, Tuning { short, ..wide })]);
        }
    });
}

/// Moore's method finds more tasks in a round than a block holds, in each of a launch's first rounds.
#[test]
fn more_tasks_than_a_block_holds() {
    on_gpu("sssp::more_tasks_than_a_block_holds", |gpu| {
        for length in 0..6 {
            // Two vertices behind each leaf: the last round of a search would find one that is alone.
            let path = (0..length).map(|v| [v, v + 1]);
            let leaves = (0..1100).flat_map(|n| [[length, 10 + n], [10 + n, 2000 + n], [2000 + n, 4000 + n]]);
            let edges: Vec<[u32; 2]> = path.chain(leaves).collect();
            let graph = Weighted::stored(&edges, Direction::Undirected, WeightType::U32, |_, _| 1);
            graph.check(gpu, &[graph.rows.place[&0]], &[("moore", Method::Moore, small())]);
        }
    });
}

/// Rows of all lengths are sorted, whatever sorts them.
#[test]
fn rows_of_all_lengths() {
    on_gpu("sssp::rows_of_all_lengths", |gpu| {
        for length in [31, 32, 33, 64, 65, 128, 129, 300, 513] {
            let hub = (1..=length).flat_map(|v| [[0, v], [v, 5000 + v % 7]]).collect::<Vec<_>>();
            let graph = Weighted::drawn(&hub, Direction::Undirected, WHOLE);
            graph.check(gpu, &[0, graph.rows.place[&1]], &[("capped", Method::Auto, capped(0.0, 0.02, 0.2))]);
        }
    });
}
