//! Components that a processor and a GPU find in turn, and rows that stay on the GPU or stream through it.

use std::collections::BTreeMap;

use crate::support::gpu::Gpu;
use crate::support::{number, random_edges};

const CPU: &str = "run.device=cpu";
const GPU: &str = "run.device=gpu";

/// Files in `out/` with their content.
fn outputs(gpu: &Gpu) -> BTreeMap<String, Vec<u8>> {
    let folder = gpu.place.workdir().join("out/components");
    let files = std::fs::read_dir(folder).expect("results").map(|file| file.expect("a file"));
    files
        .map(|file| (file.file_name().into_string().expect("text"), std::fs::read(file.path()).expect("read")))
        .collect()
}

/// A path joins what random edges leave apart, against the order of blocks; some pairs stay apart.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(20_000, 16_000, 7);
    edges.extend((20_000..24_000).map(|v| [v, v + 1]));
    edges.extend((0..500).map(|i| [30_000 + 2 * i, 30_001 + 2 * i]));
    edges
}

#[test]
fn gpu_components_begun_on_a_processor_end_on_a_gpu_and_the_reverse() {
    let Some(gpu) = Gpu::new() else { return };
    gpu.job(&edges(), "[limits]\nthreads = 2\n[components]\n");
    let whole = gpu.fresh(&[CPU]);
    let (files, found) = (outputs(&gpu), whole["results"]["components"]["largest"].clone());
    assert!(number(&whole, "graph.blocks") >= 8 && number(&whole, "results.components.components") > 500);
    let (much, little) = ([GPU, "limits.gpu_memory=64MiB"], [GPU, "limits.gpu_memory=1MiB"]);
    for (first, second) in [
        (&[CPU, "run.trials=1"], &much),
        (&[CPU, "run.trials=1"], &little),
        (&much, &[CPU, "run.trials=1"]),
        (&little, &much),
    ] {
        gpu.forget();
        let rule = if first[0] == CPU { "components.unit=3:stop" } else { "components.unit=1:stop" };
        gpu.run(&[("GPUGRAPH_FAILPOINTS", rule)], first).expect(75);
        let verified = gpu.with(&[], &["verify", "job.toml"]).expect(0);
        assert!(verified.out.contains("components of vertices with edges, after"), "{}", verified.out);
        gpu.run(&[], second).expect(0);
        assert_eq!(gpu.place.read_report()["results"]["components"]["largest"], found, "{first:?}, {second:?}");
        assert_eq!(outputs(&gpu), files, "{first:?}, {second:?}");
    }
}

#[test]
fn gpu_components_are_the_same_where_rows_stay_and_where_they_stream() {
    let Some(gpu) = Gpu::new() else { return };
    gpu.job(&edges(), "[limits]\nthreads = 2\n[components]\n");
    let of_processor = (gpu.fresh(&[CPU])["results"]["components"]["by_size"].clone(), outputs(&gpu));
    for (memory, stays) in [("64MiB", true), ("1MiB", false)] {
        gpu.forget();
        let memory = format!("limits.gpu_memory={memory}");
        let ran = gpu.run(&[("GPUGRAPH_LOG", "debug")], &[GPU, &memory, "run.trials=2"]).expect(0);
        assert_eq!(ran.err.contains("rows on the GPU") && ran.err.contains("stays=true"), stays, "{}", ran.err);
        let report = gpu.place.read_report();
        assert_eq!(report["device"], "gpu");
        assert_eq!((report["results"]["components"]["by_size"].clone(), outputs(&gpu)), of_processor, "{memory}");
    }
}
