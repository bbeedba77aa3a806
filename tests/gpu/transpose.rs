//! The upper half of rows made on a GPU is what a processor makes, byte for byte, in any memory; and what fails there is an error.
//! The only algorithm that needs it as yet is one of the tests.

use std::fs;

use crate::support::gpu::Gpu;
use crate::support::{Ran, random_edges};

const JOB: &str = "[job]\nworkdir = 'work'\nkeep = true\n[limits]\nthreads = 3\n[sums]\nupper = true\n";

/// Names and bytes of files.
type Files = Vec<(String, Vec<u8>)>;

/// The files of the upper half, in order.
fn upper(gpu: &Gpu) -> Files {
    let files = fs::read_dir(gpu.place.workdir().join("graph")).expect("a folder").flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("upper.")).collect();
    names.sort();
    let read = |name: String| {
        let bytes = fs::read(gpu.place.workdir().join("graph").join(&name)).expect("a file");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// Removes the upper half and has it made again.
fn again(gpu: &Gpu, env: &[(&str, &str)], device: &str, memory: &str) -> Ran {
    for (name, _) in upper(gpu) {
        fs::remove_file(gpu.place.workdir().join("graph").join(name)).expect("removed");
    }
    let set = [format!("run.device={device}"), format!("limits.gpu_memory={memory}")];
    let log = [("GPUGRAPH_LOG", "debug")];
    gpu.with(&[&log, env].concat(), &["run", "job.toml", "--set", &set[0], "--set", &set[1]])
}

/// The passes over the lower half that a log tells of.
fn passes(ran: &Ran) -> u64 {
    let line =
        ran.err.lines().find(|line| line.contains("upper half written")).unwrap_or_else(|| panic!("{}", ran.err));
    let number = line.split("passes=").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
    number.parse().expect("a number")
}

/// A graph whose upper half a processor made.
fn made(edges: &[[u64; 2]]) -> Option<(Gpu, Files)> {
    let gpu = Gpu::stand_in()?;
    gpu.job(edges, JOB);
    gpu.fresh(&["run.device=cpu"]);
    let known = upper(&gpu);
    assert!(!known.is_empty());
    Some((gpu, known))
}

#[track_caller]
fn check(edges: &[[u64; 2]], memories: &[(&str, u64)]) {
    let Some((gpu, known)) = made(edges) else { return };
    for (i, &(memory, at_least)) in memories.iter().enumerate() {
        let seed = (3 + i).to_string();
        let ran = again(&gpu, &[("CUDA_ON_CPU_SEED", &seed)], "gpu", memory).expect(0);
        assert!(!ran.err.contains("transpose on the CPU"), "{memory}: {}", ran.err);
        assert!(passes(&ran) >= at_least, "{memory}: {} passes", passes(&ran));
        assert!(upper(&gpu) == known, "{memory}: not as on a processor");
    }
}

#[test]
fn random_multigraphs_in_any_memory() {
    for (seed, vertices, edges) in [(1, 3000, 120_000), (2, 200, 30_000), (3, 70_000, 50_000)] {
        check(&random_edges(vertices, edges, seed), &[("1MiB", 1), ("200MiB", 1)]);
    }
    // The smallest bins take a part of the memory that is left.
    check(&random_edges(150_000, 700_000, 4), &[("1536KiB", 3), ("64MiB", 1)]);
    for edges in [vec![[0, 1]], vec![[3, 3], [9, 9], [3, 9], [9, 3]]] {
        check(&edges, &[("1MiB", 1)]);
    }
}

/// Rows longer than a tile, than several groups of ids, than a window, and than all memory.
#[test]
fn rows_of_hubs_may_be_longer_than_anything() {
    let leaves = 400_000u64;
    let mut edges: Vec<[u64; 2]> = (3..leaves).map(|v| [v % 3, v]).collect();
    edges.extend((3..leaves).filter(|v| v % 3 > 0 && v % 8 > 0).map(|v| [0, v]));
    edges.extend((3..20_000).map(|v| [v, v + 1]));
    check(&edges, &[("64MiB", 1), ("1536KiB", 3), ("1MiB", 4)]);
}

#[test]
fn any_launch_may_fail() {
    let Some((gpu, known)) = made(&random_edges(3000, 60_000, 5)) else { return };
    for k in 1.. {
        let ran = again(&gpu, &[("CUDA_ON_CPU_FAIL_LAUNCH", &k.to_string())], "gpu", "16MiB");
        if ran.code == 0 {
            assert!(k > 3, "an append, a check and a sort: {k}");
            break;
        }
        assert_eq!(ran.code, 9, "launch {k}: {}", ran.err);
        assert!(again(&gpu, &[], "gpu", "16MiB").expect(0).code == 0 && upper(&gpu) == known, "launch {k}");
    }
    assert!(upper(&gpu) == known);
}
