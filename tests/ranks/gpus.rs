//! Ranks whose GPUs search together, held against a plain queue.

use parking_lot::Mutex;

use gpugraph::internals::algo::Lease;
use gpugraph::internals::algo::bfs::gpu::{GpuSearch, Tuning, peer_access, programs};
use gpugraph::internals::algo::bfs::search::{Search, Step, Switch};
use gpugraph::internals::comm::Comm;
use gpugraph::internals::error::Result;
use gpugraph::internals::gpu::{Peers, Workspace, ipc_handle};
use gpugraph::internals::graph::direction::Direction;
use gpugraph::internals::graph::ids::Vertex;
use gpugraph::internals::memory::Budget;

use crate::bfs_cases::{DOWN, EITHER, UP, shapes, small};
use crate::random;
use crate::rows::Rows;

const MEMORY: u64 = 4 << 20;

/// Choices that differ in what GPUs do together.
fn tunings() -> [(&'static str, Tuning); 11] {
    let one = Tuning { blocks: 1, ..small() };
    let spread = Tuning { rows_spread: true, ..small() };
    [
        ("spread, either", Tuning { switch: EITHER, ..spread }),
        ("spread, few heads", Tuning { switch: EITHER, heads: 1, blocks: 1, ..spread }),
        ("down", Tuning { switch: DOWN, ..one }),
        ("up", Tuning { switch: UP, ..small() }),
        ("either", Tuning { switch: EITHER, ..one }),
        ("a launch for each level", Tuning { switch: EITHER, records: 1, ..small() }),
        ("queues of all frontiers", Tuning { switch: EITHER, least_unqueued: u32::MAX, ..one }),
        ("claims by each alone", Tuning { switch: EITHER, least_shared: u32::MAX, ..one }),
        ("queues after claims", Tuning { switch: Switch { alpha: 0.5, beta: 3.0 }, ..small() }),
        ("two levels a launch", Tuning { switch: UP, records: 2, heads: 1, ..one }),
        ("short queues", Tuning { switch: EITHER, queued: 0, heads: 0, ..one }),
    ]
}

/// Vertices with random neighbours, and a few hubs with many.
fn random_edges(vertices: u64, edges: u64) -> Vec<[u32; 2]> {
    let end = |i, k| {
        let any = random([vertices, i, k]);
        (any % vertices.min(1 + (any >> 40) % vertices)) as u32
    };
    (0..edges).map(|i| [end(i, 0), end(i, 1)]).collect()
}

/// Two hubs that are joined by their last neighbours: the search from one goes through all of the other's row, in pieces.
fn joined_hubs() -> Vec<[u32; 2]> {
    let around = |hub: u32, from: u32, count: u32| {
        let spokes = (from..from + count).map(move |v| [hub, v]);
        spokes.chain((from..from + count).step_by(2).map(|v| [v, v + 1])).collect::<Vec<_>>()
    };
    [around(0, 10, 11_000), around(1, 20_000, 12_000), vec![[0, 90_000], [1, 90_000]]].concat()
}

/// Searches graphs of all shapes by the GPUs of all ranks.
pub fn search(comm: &Comm) -> Result<()> {
    let budget = Budget::new(64 << 20, 1)?;
    let workspace = Workspace::open(Some(comm.rank() as u32), Some(MEMORY), 1, &programs(2, false), &budget, &())?;
    let peers = Peers::new(comm.clone());
    peers.begin(Some((&workspace.device, &ipc_handle(&workspace.arena))));
    peers.connect();
    let gpu = Mutex::new(workspace);
    let mut graphs = shapes();
    graphs.extend([("random", random_edges(2000, 12_000)), ("sparse", random_edges(1500, 1250))]);
    for (name, edges) in &graphs {
        for direction in [Direction::Undirected, Direction::Directed] {
            let rows = Rows::new(edges, direction);
            let last = rows.vertices() as u32 - 1;
            // From two roots, one after the other or in turns.
            let roots = [last / 3, last];
            for (number, (what, tuning)) in tunings().into_iter().enumerate() {
                let roots = if number % 4 == 0 { &roots[..] } else { &roots[number % 2..][..1] };
                from_all(&gpu, &peers, &rows, roots, tuning, &format!("{name}, {direction:?}, {what}"));
            }
        }
    }
    let rows = Rows::new(&joined_hubs(), Direction::Undirected);
    let spread = Tuning { switch: UP, rows_spread: true, heads: 0, ..small() };
    for tuning in [Tuning { switch: UP, ..small() }, Tuning { switch: UP, queued: 0, ..small() }, spread] {
        let ways = from_all(&gpu, &peers, &rows, &[rows.place[&0], rows.place[&90_000]], tuning, "hubs");
        assert!(ways.iter().all(|&way| way == Step::BottomUp), "{ways:?}");
    }
    Ok(())
}

/// Searches from these roots; the ways that levels went.
#[track_caller]
fn from_all(
    gpu: &Mutex<Workspace>,
    peers: &Peers,
    rows: &Rows,
    roots: &[u32],
    tuning: Tuning,
    what: &str,
) -> Vec<Step> {
    let check_cancelled = || Ok(());
    let lease = Lease { workspace: gpu.lock(), cache: 0 };
    let halves = rows.halves.each_ref();
    let access = peer_access(peers, &lease.workspace, halves);
    assert!(access.is_some(), "{what}");
    let budget = Budget::new(64 << 20, 1).expect("room");
    let search = GpuSearch::with_tuning((halves, &[]), lease, tuning, &budget, &check_cancelled, access);
    let mut search = search.expect("room");
    assert!(search.is_shared());
    let mut ways = Vec::new();
    for &root in roots {
        let mut parents = vec![7; if peers.comm().is_leader() { rows.vertices() } else { 0 }];
        let found = search.search(Vertex(root), &mut parents).expect("searched");
        assert!(found.seconds > 0.0);
        if peers.comm().is_leader() {
            rows.check(root, &found, &parents, what);
        }
        ways.extend(found.levels.iter().map(|level| level.direction));
    }
    ways
}
