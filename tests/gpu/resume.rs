//! Counts that begin on one device and end on the other, after a kill, a signal, or both.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::gpu::{Columns, Gpu};
use crate::support::{Dice, answer, number, random_edges, resumed};
use serde_json::Value;

const CPU: &str = "run.device=cpu";
const GPU: &str = "run.device=gpu";
const PER_VERTEX: &str = "[triangle]\nper_vertex = true\n";
const PER_EDGE: &str = "[triangle]\nper_edge = true\n";
const LINKS: &str = "[triangle]\nclustering = 'directed'\n";
const PREPARED: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// Jobs with several blocks, without other counts and with those of vertices or edges, and links; what the processor says of them.
fn jobs() -> Vec<(Gpu, Value, Columns)> {
    let edges = random_edges(600, 20_000, 3);
    let job = |more| {
        let gpu = Gpu::new()?;
        gpu.job(&edges, &format!("[limits]\nthreads = 2\n{more}"));
        let report = gpu.fresh(&[CPU]);
        assert!(number(&report, "graph.blocks") >= 3, "too few blocks to be of use: {report:#}");
        let columns = gpu.columns();
        Some((gpu, report, columns))
    };
    ["", PER_VERTEX, PER_EDGE, LINKS].into_iter().filter_map(job).collect()
}

/// How often a failpoint was passed.
fn hits_of(path: &Path, failpoint: &str) -> u64 {
    let text = std::fs::read_to_string(path).expect("hits");
    let hits = text.lines().find_map(|line| line.strip_prefix(failpoint)?.strip_prefix(' '));
    hits.map_or(0, |hits| hits.parse().expect("a number"))
}

#[test]
fn gpu_a_count_begun_on_one_device_ends_on_the_other() {
    let (on_gpu, small_gpu) = ([GPU, "limits.gpu_memory=64MiB"], [GPU, "limits.gpu_memory=2MiB"]);
    let on_cpu = [CPU, "limits.host_memory=256MiB"];
    for (gpu, whole, columns) in jobs() {
        let units = number(&whole, "results.triangle.units");
        // Triangles or links of vertices come with degrees.
        let of_vertices = columns[1].is_some();
        for (first, second) in [(&on_gpu, &on_cpu), (&on_cpu, &on_gpu), (&small_gpu, &on_cpu), (&on_cpu, &small_gpu)] {
            for (rule, code) in [("unit.done=1:kill", 137), ("unit.done=2:kill", 137), ("unit.done=2:stop", 75)] {
                gpu.forget();
                let ran = gpu.run(&[("GPUGRAPH_FAILPOINTS", rule)], first);
                if ran.code == 0 {
                    // A GPU tells all units of a small graph at once, which is one place to die at.
                    assert!(of_vertices && first[0] == GPU, "{rule}, {first:?}: {}", ran.err);
                    continue;
                }
                let ran = ran.expect(code);
                let hits = gpu.place.path("hits");
                gpu.run(&[("GPUGRAPH_FAILPOINTS_COUNT", hits.to_str().expect("text"))], second).expect(0);
                let report = gpu.place.read_report();
                assert_eq!(answer(&report), answer(&whole), "{rule}, {first:?}: {}", ran.err);
                assert!(gpu.columns() == columns, "{rule}, {first:?}");
                // Rows may have been on the GPU alone, and the order of vertices not stored yet.
                let ways = if first[0] == GPU { &[4, 2, 0][..] } else { &[4] };
                let done = resumed(&report);
                assert!(ways.iter().any(|&stages| done == PREPARED[..stages]), "{rule}, {first:?}: {done:?}");
                if !of_vertices {
                    let kept = if rule.starts_with("unit.done=1") { 1 } else { 2 };
                    assert!(hits_of(&hits, "unit.done") <= units - kept, "{rule}, {first:?}");
                }
            }
        }
    }
}

/// Units of one partner, or of one front, are done: what is left is counted, and nothing twice.
#[test]
fn gpu_any_set_of_units_may_be_done_before() {
    for (gpu, whole, _) in jobs().into_iter().take(1) {
        let units = number(&whole, "results.triangle.units");
        for done in 1..units {
            gpu.forget();
            gpu.run(&[("GPUGRAPH_FAILPOINTS", &format!("unit.done={done}:kill"))], &[CPU]).expect(137);
            let set = [GPU, if done % 2 == 0 { "limits.gpu_memory=2MiB" } else { "limits.gpu_memory=32MiB" }];
            gpu.run(&[], &set).expect(0);
            assert_eq!(answer(&gpu.place.read_report()), answer(&whole), "{done} of {units} units were done");
        }
    }
}

/// A GPU counts links from files of merged rows, which take a pass over all rows.
#[test]
fn gpu_merges_no_rows_if_all_links_are_counted() {
    let Some((gpu, whole, columns)) = jobs().pop() else { return };
    let (units, blocks) = (number(&whole, "results.triangle.units"), number(&whole, "graph.blocks"));
    let hits = gpu.place.path("hits");
    let count = [("GPUGRAPH_FAILPOINTS_COUNT", hits.to_str().expect("text"))];
    for (done, merges) in [(1, true), (units, false)] {
        gpu.forget();
        gpu.run(&[("GPUGRAPH_FAILPOINTS", &format!("unit.done={done}:stop"))], &[CPU]).expect(75);
        gpu.run(&count, &[GPU]).expect(0);
        assert_eq!(hits_of(&hits, "store.create") >= blocks, merges, "{done} of {units} units");
        assert_eq!(answer(&gpu.place.read_report()), answer(&whole));
        assert!(gpu.columns() == columns);
    }
}

/// Uniform edges, dense enough to be counted for a few seconds by the stand-in, with blocks that only fit a small arena in parts.
fn long(more: &str) -> Option<Gpu> {
    let gpu = Gpu::stand_in()?;
    let mut dice = Dice(1);
    let edges: Vec<_> = (0..1_050_000).map(|_| [dice.below(4000), dice.below(4000)]).collect();
    gpu.job(&edges, more);
    Some(gpu)
}

#[test]
fn a_signal_while_a_gpu_counts_stops_it_in_time_and_it_carries_on() {
    for more in ["", PER_VERTEX, PER_EDGE, LINKS] {
        let Some(gpu) = long(more) else { return };
        let whole = gpu.fresh(&[CPU]);
        let columns = gpu.columns();
        gpu.forget();
        let mut job = gpu.start(&[GPU, "limits.gpu_memory=4MiB"]);
        assert!(job.until("triangle begins"));
        std::thread::sleep(Duration::from_millis(400));
        let asked = Instant::now();
        job.signal(15);
        let ran = job.end();
        assert!(asked.elapsed() < Duration::from_secs(8), "{:?}: {}", asked.elapsed(), ran.err);
        let ran = ran.expect(75);
        assert!(ran.error().contains("SIGTERM"), "{}", ran.err);
        gpu.run(&[], &[CPU]).expect(0);
        assert_eq!(answer(&gpu.place.read_report()), answer(&whole));
        assert!(gpu.columns() == columns);
    }
}

/// Counts of vertices from parts of a block must not be saved before the unit they belong to is whole: going on, it would
/// be counted again on top of them.
#[test]
fn gpu_a_stop_between_parts_of_a_block_counts_no_corner_twice() {
    let Some(gpu) = long(PER_VERTEX) else { return };
    let whole = gpu.fresh(&[CPU]);
    let columns = gpu.columns();
    for told in ["2", "9"] {
        gpu.forget();
        let rule = format!("unit.done={told}:stop");
        gpu.run(&[("GPUGRAPH_FAILPOINTS", &rule)], &[GPU, "limits.gpu_memory=2MiB"]).expect(75);
        gpu.run(&[], &[CPU]).expect(0);
        assert_eq!(answer(&gpu.place.read_report()), answer(&whole), "{rule}");
        assert!(gpu.columns() == columns, "{rule}");
    }
}
