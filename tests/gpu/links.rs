//! Links of a dense graph on a GPU: where a kernel has much work, it still ends soon when the host asks for it.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use gpugraph::Error;
use gpugraph::internals::algo::Lease;
use gpugraph::internals::algo::triangle::gpu::{Counted, Gpu, programs};
use gpugraph::internals::algo::triangle::units::{self, Stop, WorkSource};
use gpugraph::internals::graph::block_store::BlockStore;
use gpugraph::internals::graph::direction::Direction;
use gpugraph::internals::graph::half::Half;
use gpugraph::internals::graph::layout::Layout;
use gpugraph::internals::graph::order::DegreeRuns;
use gpugraph::internals::graph::stored;

use crate::workspace;

/// Hands out items to a single rank.
struct Alone(Mutex<HashMap<u64, u64>>);

impl WorkSource for Alone {
    fn ranks(&self) -> usize {
        1
    }

    fn next(&self, list: u64, _: u64) -> Result<u64, Error> {
        let mut lists = self.0.lock().expect("no panic");
        let next = lists.entry(list).or_default();
        *next += 1;
        Ok(*next - 1)
    }
}

/// 240,000 heads are fewer than what all warps together count between two checks, if heads are counted and not their codes.
#[test]
fn a_stop_ends_a_kernel_soon_in_a_dense_core() {
    const VERTICES: u32 = 700;
    let (layout, folder) = (
        Layout::of_half(&DegreeRuns::new(vec![(VERTICES - 1, VERTICES)]), u64::MAX, Half::Lower, Direction::Undirected),
        tempfile::tempdir().expect("a folder"),
    );
    let lengths: Vec<u32> = (0..VERTICES).collect();
    let codes: Vec<u32> = (0..VERTICES).flat_map(|v| (0..v).map(|u| 2 * u + 1)).collect();
    let _ = stored::write(folder.path(), 1, &layout, 0, &[(&lengths, &codes)]).expect("written");
    let rows = BlockStore::open(folder.path(), 1, Half::Lower, layout).expect("whole");
    let name = "links::a_stop_ends_a_kernel_soon_in_a_dense_core";
    workspace::in_orders(name, &programs(Counted::Links), &["0"], |gpu| {
        let count = |stop: Stop<'_>| -> (Result<(), Error>, Duration) {
            let counts: Vec<AtomicU64> = (0..VERTICES).map(|_| AtomicU64::new(0)).collect();
            let lease = Lease { workspace: gpu.lock(), cache: 1 << 20 };
            let mut gpu = Gpu::new(&rows, VERTICES.into(), lease, Counted::Links, stop).expect("room");
            gpu.place_blocks(&rows, Some(&counts), None).expect("room");
            let (begun, source) = (Instant::now(), Alone(Mutex::default()));
            let ended = units::run(&rows, &HashSet::new(), &mut gpu, &source, &mut |_| Ok(()), &mut || Ok(()));
            (ended, begun.elapsed())
        };
        let (whole, all) = count(&|| None);
        whole.expect("counted");
        // This thread asks first when the kernels are queued. Others copy rows, which are not to be stopped.
        let host = thread::current().id();
        let (stopped, some) = count(&|| (thread::current().id() == host).then_some("SIGTERM"));
        assert!(matches!(stopped, Err(Error::Stopped(_))), "{stopped:?}");
        println!("{some:?} of {all:?}");
        assert!(some < all / 2, "{some:?} of {all:?}");
    });
}
