//! Cancellation of calls of the library, in a process of its own: tests that look for signals would see the request.

use gpugraph::{Canceller, Context, Device, ErrorKind, Graph, Job, Progress, triangles};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A request to stop is seen by all work of the process, so one test runs after the other.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn a_call_is_cancelled_and_other_graphs_stay_usable() {
    let _turn = TURN.lock();
    let canceller = Arc::new(OnceLock::<Canceller>::new());
    let seen = Arc::new(Mutex::new(BTreeSet::<String>::new()));
    let (for_observer, stages) = (Arc::clone(&canceller), Arc::clone(&seen));
    let observe = move |progress: &Progress<'_>| {
        stages.lock().unwrap().insert(progress.stage.to_owned());
        for_observer.get().into_iter().for_each(Canceller::cancel);
    };
    let context = Context::builder().device(Device::Cpu).threads(1).on_progress(observe).build().unwrap();
    let graph = Graph::builder().kronecker(10, 16.0, 1).build(&context).unwrap();
    // Without a call in progress nothing happens.
    context.canceller().cancel();
    let count = triangles::count(&graph, &context).unwrap();
    // From here on, each report of progress cancels. This graph takes far longer than the time between reports.
    canceller.set(context.canceller()).unwrap();
    let started = Instant::now();
    let stopped = Graph::builder().kronecker(21, 16.0, 1).build(&context);
    assert_eq!(stopped.err().map(|e| e.kind()), Some(ErrorKind::Stopped));
    assert!(seen.lock().unwrap().contains("ingest"));
    assert!(started.elapsed() < Duration::from_secs(30));
    // These calls are over before the next report.
    assert_eq!(
        triangles::per_vertex(&graph, &context).unwrap().iter().map(|(_, n)| u128::from(n)).sum::<u128>(),
        3 * count
    );
    assert_eq!(triangles::count(&graph, &context).unwrap(), count);
}

#[test]
fn a_job_is_cancelled_and_carries_on() {
    let _turn = TURN.lock();
    let folder = tempfile::tempdir().unwrap();
    let job = Job::builder()
        .set("job.workdir", folder.path().join("w").display())
        .set("input.kronecker", "{ scale = 17, edge_factor = 16, seed = 1 }")
        .set("run.device", "cpu")
        .set("limits.threads", 1)
        .set("limits.host_memory", "1GiB")
        .set("triangle.per_vertex", true)
        .build()
        .unwrap();
    let canceller = job.canceller();
    // Without a run in progress nothing happens.
    canceller.cancel();
    let stopped = std::thread::scope(|scope| {
        let running = scope.spawn(|| job.run());
        while !running.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            canceller.cancel();
        }
        running.join().unwrap()
    });
    assert_eq!(stopped.err().map(|e| e.kind()), Some(ErrorKind::Stopped));
    let found = job.run().unwrap().triangles().unwrap().triangles;
    let context = Context::builder().device(Device::Cpu).build().unwrap();
    let graph = Graph::builder().kronecker(17, 16.0, 1).build(&context).unwrap();
    assert_eq!(found, triangles::count(&graph, &context).unwrap());
}
