//! Breadth-first search on a GPU, held against a plain queue: on the stand-in for CUDA, which shuffles what a GPU leaves open.

use parking_lot::Mutex;
use std::fs;
use std::sync::atomic::{AtomicI64, Ordering};

use gpugraph::Error;
use gpugraph::internals::algo::Lease;
use gpugraph::internals::algo::bfs::gpu::{GpuSearch, RARE_PROGRAMS, Tuning, host_bytes, least_bytes, programs};
use gpugraph::internals::algo::bfs::search::{NONE, Search, Step, Switch};
use gpugraph::internals::gpu::{self, Workspace};
use gpugraph::internals::graph::block_store::BlockStore;
use gpugraph::internals::graph::direction::Direction;
use gpugraph::internals::graph::ids::Vertex;
use gpugraph::internals::memory::Budget;
use serde_json::Value;

use crate::bfs_cases::{DOWN, EITHER, UP, shapes, small};
use crate::rows::Rows;
use crate::support::gpu::Gpu;
use crate::support::{Dice, random_edges};
use crate::workspace::{self, budget};

fn check_cancelled() -> Result<(), Error> {
    Ok(())
}

/// Runs `body` in the natural order of threads and in another.
fn on_gpu(name: &str, body: impl Fn(&Mutex<Workspace>)) {
    workspace::in_orders(name, &[programs(1, true), RARE_PROGRAMS.to_vec()].concat(), &["0", "29"], body);
}

fn tunings() -> Vec<(&'static str, Tuning)> {
    let small = small();
    vec![
        ("down", Tuning { switch: DOWN, ..small }),
        ("up", Tuning { switch: UP, ..small }),
        ("either", Tuning { switch: EITHER, blocks: 3, ..small }),
        ("a launch for each level", Tuning { switch: EITHER, records: 1, ..small }),
        ("queues of all frontiers", Tuning { switch: EITHER, least_unqueued: u32::MAX, ..small }),
        ("queues after claims", Tuning { switch: Switch { alpha: 0.5, beta: 3.0 }, records: 3, ..small }),
        ("two levels a launch, one block", Tuning { switch: DOWN, records: 2, blocks: 1, ..small }),
        ("no heads", Tuning { switch: EITHER, heads: 0, ..small }),
        ("one array of heads", Tuning { switch: EITHER, heads: 1, ..small }),
        ("two arrays of heads", Tuning { switch: EITHER, heads: 2, rows_on_host: true, ..small }),
        ("rows on the host", Tuning { switch: EITHER, rows_on_host: true, ..small }),
        ("short queues", Tuning { switch: DOWN, queued: 0, ..small }),
        ("entries around 2^32", Tuning { switch: EITHER, first_entry: (1 << 32) - 30, ..small }),
        ("entries around 2^33", Tuning { switch: DOWN, first_entry: (2 << 32) - 900, rows_on_host: true, ..small }),
    ]
}

fn open<'a>(
    gpu: &'a Mutex<Workspace>,
    rows: &Rows,
    halves: &'a [BlockStore; 2],
    tuning: Tuning,
) -> Result<GpuSearch<'a>, Error> {
    let lease = Lease { workspace: gpu.lock(), cache: 0 };
    let degrees: Vec<u32> = rows.all.iter().map(|row| row.len() as u32).collect();
    GpuSearch::with_tuning((halves.each_ref(), &degrees), lease, tuning, &budget(), &check_cancelled, None)
}

/// Searches from all roots by each of these; the ways that levels went.
#[track_caller]
fn check(gpu: &Mutex<Workspace>, rows: &Rows, roots: &[u32], tunings: &[(&str, Tuning)]) -> Vec<Vec<Step>> {
    let mut ways = Vec::new();
    for (what, tuning) in tunings {
        for halves in [Some(&rows.halves), rows.packed.as_ref()].into_iter().flatten() {
            let mut search = open(gpu, rows, halves, *tuning).expect("room");
            let checks = search.prepare_checks().expect("kernels");
            for &root in roots {
                let mut parents = vec![7; rows.vertices()];
                let found = search.search(Vertex(root), &mut parents).expect("searched");
                rows.check(root, &found, &parents, what);
                let is_right = search.check(Vertex(root), &found).expect("checked");
                assert_eq!(
                    is_right,
                    checks && found.depth <= 60,
                    "{what}: the check of a tree of depth {}",
                    found.depth
                );
                ways.push(found.levels.iter().map(|level| level.direction).collect());
            }
        }
    }
    ways
}

fn narrow(edges: Vec<[u64; 2]>) -> Vec<[u32; 2]> {
    edges.into_iter().map(|[u, v]| [u as u32, v as u32]).collect()
}

const DIRECTIONS: [Direction; 2] = [Direction::Undirected, Direction::Directed];

/// Every second of these, from the first or the second on: each has some graphs with direction and others without.
fn half<T: Copy>(all: &[T], from: usize) -> Vec<T> {
    all.iter().copied().skip(from % 2).step_by(2).collect()
}

#[test]
fn random_graphs() {
    on_gpu("bfs::random_graphs", |gpu| {
        let tunings = tunings();
        for (seed, vertices, edges) in [(1, 3000, 20_000), (2, 200, 3000), (3, 5000, 5000), (4, 40, 30), (5, 2, 1)] {
            let edges = narrow(random_edges(vertices, edges, seed));
            for (number, direction) in DIRECTIONS.into_iter().enumerate() {
                let rows = Rows::new(&edges, direction);
                if rows.vertices() == 0 {
                    continue;
                }
                let last = rows.vertices() as u32 - 1;
                let any = Dice(seed).below(last.into()) as u32;
                check(gpu, &rows, &[0, any, last], &half(&tunings, seed as usize + number));
                if seed == 1 {
                    check(gpu, &rows, &[any], &[("a whole GPU", Tuning::default())]);
                }
            }
        }
    });
}

/// A graph has one tree from each root, so every other array of parents is wrong.
#[test]
fn a_tree_that_differs_in_any_parent_is_left_to_the_host() {
    on_gpu("bfs::a_tree_that_differs_in_any_parent_is_left_to_the_host", |gpu| {
        for (seed, vertices, edges) in [(1, 400, 1200), (2, 60, 900), (3, 3000, 2500)] {
            let rows = Rows::new(&narrow(random_edges(vertices, edges, seed)), Direction::Undirected);
            let tuning = Tuning { first_entry: (1 << 32) - 30, ..small() };
            let mut search = open(gpu, &rows, &rows.halves, tuning).expect("room");
            assert!(search.prepare_checks().expect("kernels"), "rows are in GPU memory");
            let mut dice = Dice(seed);
            let last = rows.vertices() as u64 - 1;
            for _ in 0..4 {
                let root = dice.below(last) as u32;
                let mut parents = vec![7; rows.vertices()];
                let found = search.search(Vertex(root), &mut parents).expect("searched");
                let mut of = |parents: &[u32]| search.check_tree(Vertex(root), parents).expect("checked");
                assert_eq!(of(&parents), Some((found.reached, found.depth)));
                for kind in 0..20 {
                    let v = dice.below(last) as usize;
                    let other = match kind % 5 {
                        0 => NONE,
                        1 => v as u32,
                        2 => rows.vertices() as u32 + dice.below(9) as u32,
                        3 => dice.below(last) as u32,
                        _ => *rows.all[v].iter().nth(dice.below(rows.all[v].len() as u64) as usize).expect("one"),
                    };
                    let right = std::mem::replace(&mut parents[v], other);
                    let is_right = other == right;
                    assert_eq!(of(&parents).is_some(), is_right, "from {root}: parent {other} of {v} for {right}");
                    parents[v] = right;
                }
            }
        }
    });
}

/// The trees of a long grid are deeper than the GPU marks: from the second on, the host checks them together.
#[test]
fn gpu_jobs_check_trees_of_any_depth() {
    let Some(gpu) = Gpu::new() else { return };
    for input in ["kronecker = { scale = 11, edge_factor = 8, seed = 3 }\n", "grid = { rows = 3, columns = 200 }\n"] {
        gpu.place.job(input, "[bfs]\nroots = 6\nvalidate = true\n");
        let found = |device: &str| {
            let report = gpu.fresh(&[device, "limits.gpu_memory=64MiB"]);
            assert_eq!(report["results"]["bfs"]["validated"], true, "{input}");
            let of = |source: &Value| ["source", "reached", "depth", "edges"].map(|field| source[field].clone());
            report["results"]["bfs"]["sources"].as_array().expect("sources").iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(found("run.device=gpu"), found("run.device=cpu"), "{input}");
    }
}

#[test]
fn shapes_of_all_kinds() {
    on_gpu("bfs::shapes_of_all_kinds", |gpu| {
        let tunings = tunings();
        for (shape, (_, edges)) in shapes().into_iter().enumerate() {
            for (number, direction) in DIRECTIONS.into_iter().enumerate() {
                let rows = Rows::new(&edges, direction);
                let last = rows.vertices() as u32 - 1;
                check(gpu, &rows, &[[0, last / 2][number], last], &half(&tunings, shape + number));
            }
        }
    });
}

/// Two hubs that are joined by their last neighbours: the search from one has to go through all of the other's row. From 95,000 the first hub
/// has parents in two pieces of its row.
#[test]
fn rows_that_go_on_for_long_without_a_hit() {
    on_gpu("bfs::rows_that_go_on_for_long_without_a_hit", |gpu| {
        let around = |hub: u32, from: u32, count: u32| {
            let spokes = (from..from + count).map(move |v| [hub, v]);
            spokes.chain((from..from + count).step_by(2).map(|v| [v, v + 1])).collect::<Vec<_>>()
        };
        // Of all vertices of two edges, those that join them come last.
        let joined = vec![[0, 90_000], [1, 90_000], [0, 90_001], [90_001, 1]];
        let mut edges = [around(0, 10, 11_000), around(1, 20_000, 12_000), joined].concat();
        for pair in [25_000, 31_000] {
            edges.retain(|&edge| edge != [pair, pair + 1]);
            edges.extend([[95_000, pair], [95_000, pair + 1], [pair, 95_000], [pair + 1, 95_000]]);
        }
        let up = |records| Tuning { switch: UP, records, ..small() };
        let tunings = [
            ("up", up(100)),
            ("up, a launch for each level", up(1)),
            ("no room for pieces", Tuning { queued: 0, rows_on_host: true, ..up(100) }),
            ("either", Tuning { switch: EITHER, heads: 0, ..small() }),
        ];
        for direction in DIRECTIONS {
            let rows = Rows::new(&edges, direction);
            let ways = check(gpu, &rows, &[rows.place[&0], rows.place[&90_000], rows.place[&95_000]], &tunings);
            assert!(ways[0].iter().all(|&way| way == Step::BottomUp), "{ways:?}");
        }
    });
}

/// Many hubs that a search does not reach, whose rows are more pieces than a short queue holds.
#[test]
fn rows_of_an_unreached_part() {
    on_gpu("bfs::rows_of_an_unreached_part", |gpu| {
        let apart = (0..60u32).flat_map(|hub| (0..900).map(move |v| [100 + hub, 1000 + v])).collect::<Vec<_>>();
        let edges = [apart, (5000..5020).map(|v| [v, v + 1]).collect()].concat();
        let rows = Rows::new(&edges, Direction::Undirected);
        let tunings =
            [("up", Tuning { switch: UP, ..small() }), ("short", Tuning { switch: UP, queued: 0, ..small() })];
        check(gpu, &rows, &[rows.place[&5000], rows.place[&5010]], &tunings);
    });
}

#[test]
fn deep_graphs_take_several_launches() {
    on_gpu("bfs::deep_graphs_take_several_launches", |gpu| {
        let path: Vec<[u32; 2]> = (0..40_000).map(|v| [v, v + 1]).collect();
        let rows = Rows::new(&path, Direction::Directed);
        check(gpu, &rows, &[rows.place[&0]], &[("a path", small())]);
    });
}

/// The ways are chosen by the edges of frontiers.
#[test]
fn the_switch_decides_which_way_a_level_goes() {
    on_gpu("bfs::the_switch_decides_which_way_a_level_goes", |gpu| {
        // A dense part, from which a path leads to a triangle: levels of few vertices in a row.
        let path = (0..30).map(|v| if v == 0 { [0, 5000] } else { [4999 + v, 5000 + v] });
        let triangle = [[5029, 5030], [5030, 5031], [5031, 5029]];
        let edges = narrow(random_edges(4000, 60_000, 11)).into_iter().chain(path).chain(triangle).collect::<Vec<_>>();
        let rows = Rows::new(&edges, Direction::Undirected);
        let root = (0..4000).filter_map(|v| rows.place.get(&v)).max().expect("a vertex");
        let of = |switch| check(gpu, &rows, &[*root], &[("", Tuning { switch, ..small() })]).remove(0);
        // The last level may be that of leaves, which are looked up.
        let down = of(DOWN);
        assert!(down[..down.len() - 1].iter().all(|&way| way == Step::TopDown), "{down:?}");
        assert!(of(UP).iter().all(|&way| way == Step::BottomUp));
        let back = of(Switch { alpha: 20.0, beta: 2.0 });
        assert_eq!(back[..3], [Step::TopDown, Step::TopDown, Step::BottomUp], "{back:?}");
        // A long path hangs on it: few vertices, level after level, are worth a queue.
        let tail = |edges: &mut Vec<[u32; 2]>| (5000..5040).for_each(|v| edges.push([v, v + 1]));
        let mut edges = edges;
        tail(&mut edges);
        edges.push([0, 5000]);
        let rows = Rows::new(&edges, Direction::Undirected);
        let tuning = Tuning { switch: Switch { alpha: 20.0, beta: 2.0 }, ..small() };
        let back = check(gpu, &rows, &[0], &[("a path behind", tuning)]).remove(0);
        let turns = back.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns >= 2 && back[back.len() - 3] == Step::TopDown, "{back:?}");
    });
}

#[test]
fn the_least_memory_does_and_less_is_refused() {
    on_gpu("bfs::the_least_memory_does_and_less_is_refused", |gpu| {
        let trim = |bytes| {
            let arena = &mut gpu.lock().arena;
            arena.reset(0);
            arena.trim(bytes);
        };
        for direction in [Direction::Directed, Direction::Undirected] {
            let rows = Rows::new(&narrow(random_edges(20_000, 200_000, 12)), direction);
            let (vertices, entries) = (rows.vertices() as u64, rows.halves[0].edges());
            let least = least_bytes(vertices, entries, direction);
            assert!(host_bytes(vertices, entries, direction, least, 1)[1] >= 8 * entries);
            trim(least);
            check(gpu, &rows, &[3], &[("the least", small())]);
            let lease = Lease { workspace: gpu.lock(), cache: 0 };
            let halves = [&rows.halves[0], &rows.halves[1]];
            let scarce = Budget::new(gpugraph::internals::memory::limit_leaving(4 * entries, 1), 1).expect("room");
            let error = GpuSearch::with_tuning((halves, &[]), lease, small(), &scarce, &check_cancelled, None)
                .err()
                .expect("too little");
            assert!(matches!(error, Error::Limit { limit: "host_memory", .. }), "{error}");
            if direction == Direction::Undirected {
                trim(least / 2);
                let error = open(gpu, &rows, &rows.halves, small()).err().expect("too little");
                assert!(matches!(error, Error::Limit { limit: "gpu_memory", .. }), "{error}");
            }
        }
    });
}

#[test]
fn a_search_is_stopped_between_launches_and_begun_again() {
    on_gpu("bfs::a_search_is_stopped_between_launches_and_begun_again", |gpu| {
        let rows = Rows::new(&(0..50).map(|v| [v, v + 1]).collect::<Vec<_>>(), Direction::Undirected);
        let left = AtomicI64::new(i64::MAX);
        let check_cancelled = || match left.fetch_sub(1, Ordering::Relaxed) {
            1.. => Ok(()),
            _ => Err(Error::Stopped("SIGTERM")),
        };
        let lease = Lease { workspace: gpu.lock(), cache: 0 };
        let tuning = Tuning { records: 3, ..small() };
        let halves = [&rows.halves[0], &rows.halves[1]];
        let mut search =
            GpuSearch::with_tuning((halves, &[]), lease, tuning, &budget(), &check_cancelled, None).expect("room");
        let mut parents = vec![0; rows.vertices()];
        let root = rows.place[&0];
        for launches in [0, 1, 4] {
            left.store(launches, Ordering::Relaxed);
            let error = search.search(Vertex(root), &mut parents).expect_err("stopped");
            assert_eq!(error.exit_code(), 75, "{error}");
        }
        left.store(i64::MAX, Ordering::Relaxed);
        let found = search.search(Vertex(root), &mut parents).expect("searched");
        rows.check(root, &found, &parents, "begun again");
    });
}

#[test]
fn a_program_that_few_graphs_need_is_compiled_when_it_is_asked_for() {
    let name = "bfs::a_program_that_few_graphs_need_is_compiled_when_it_is_asked_for";
    let open = || {
        let budget = Budget::new(16 << 30, 1).expect("room");
        let gpu = Workspace::open(None, Some(32 << 20), 3, &programs(1, false), &budget, &()).expect("a GPU");
        (gpu, budget)
    };
    let Some((mut gpu, budget)) = workspace::with(name, &[], open) else { return };
    let compiled = |program: &str| {
        let kept = fs::read_dir(gpu::cache().expect("a folder")).expect("kernels").flatten();
        kept.filter(|entry| entry.file_name().to_string_lossy().starts_with(program)).count()
    };
    // The memory was set aside when the first program began to compile, and serves these programs too.
    let free = budget.free();
    assert!(budget.limit() - free >= gpu::compiler_memory(budget.limit()));
    gpu.load_if_needed(&RARE_PROGRAMS, &budget).expect("room for the compiler");
    assert_eq!(free, budget.free());
    gpu.kernel(programs(1, false)[2], "bfs_search").expect("compiled");
    assert_eq!(["bfs.cu", "bfs_packed.cu"].map(compiled), [1, 0]);
    gpu.kernel(RARE_PROGRAMS[0], "bfs_search").expect("compiled");
    assert_eq!(compiled("bfs_packed.cu"), 1);
}

#[test]
fn any_launch_may_fail() {
    let numbers: Vec<String> = (1..9).map(|k: u32| k.to_string()).collect();
    let settings: Vec<_> = numbers.iter().map(|k| [("CUDA_ON_CPU_FAIL_LAUNCH", k.as_str())]).collect();
    let settings: Vec<_> = settings.iter().map(|one| &one[..]).collect();
    workspace::with_each("bfs::any_launch_may_fail", &programs(1, false), &settings, |gpu| {
        let rows = Rows::new(&narrow(random_edges(300, 2000, 13)), Direction::Undirected);
        let mut parents = vec![0; rows.vertices()];
        let tuning = Tuning { records: 1, ..small() };
        let found =
            open(gpu, &rows, &rows.halves, tuning).and_then(|mut search| search.search(Vertex(0), &mut parents));
        assert_eq!(found.expect_err("a failed launch").exit_code(), 9);
    });
}
