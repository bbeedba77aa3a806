//! Figures, not tests: `cargo test --release --target-dir target/tests --test formats -- speed:: --ignored --nocapture --test-threads 1`.
//! Each is the median of five runs by one thread, from the page cache; the figure by processor time is what a core
//! does when others take their share of it.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gpugraph::internals::convert::write_list;
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{
    EdgeGenerator, Edges, FileSearch, Format, IdKind, Input, TextOptions, Unwatched, Visitor, WeightType, Weights,
};
use gpugraph::internals::generate::Generator;
use gpugraph::internals::list::{Generated, Kind, ListFormat, ListSource};
use gpugraph::internals::memory::Budget;
use gpugraph::internals::prepare::names::Names;

/// Does as little as a visitor can.
struct Sum(u64);

impl Visitor for Sum {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        self.0 += edges.len() as u64;
        Ok(())
    }
}

/// Seconds of processor time of this process so far, in steps of 10 ms.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    let ticks = |n: usize| fields[n].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

fn median(name: &str, amount: f64, unit: &str, mut run: impl FnMut()) {
    let mut seconds: Vec<(f64, f64)> = (0..5)
        .map(|_| {
            let (start, before) = (Instant::now(), processor());
            run();
            (start.elapsed().as_secs_f64(), processor() - before)
        })
        .collect();
    seconds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wall = amount / seconds[2].0;
    let busy: f64 = seconds.iter().map(|(_, processor)| processor).sum();
    println!("{name}: {wall:.0} {unit}, {:.0} {unit} of processor time", 5.0 * amount / busy);
}

fn scan(name: &str, path: &Path, bytes: u64, threads: usize) {
    scan_as(name, path, bytes, threads, Weights::Skip);
}

fn scan_as(name: &str, path: &Path, bytes: u64, threads: usize, weights: Weights) {
    let input = Input::find(&[path.to_owned()], None, FileSearch::default()).unwrap().with_weights(weights);
    median(name, bytes as f64 / 1e6, "MB/s", || {
        let mut visitors: Vec<Sum> = (0..threads).map(|_| Sum(0)).collect();
        input.scan(&mut visitors, &Unwatched).unwrap();
    });
}

#[test]
#[ignore = "prints figures"]
fn generators() {
    let mut narrow = vec![[0u32; 2]; 1 << 24];
    let mut wide = vec![[0u64; 2]; 1 << 24];
    for scale in [20, 22, 24, 29, 32] {
        let generator = Generator::kronecker(scale, 16.0, 1).unwrap();
        median(&format!("kronecker {scale}"), narrow.len() as f64 / 1e6, "M edges/s", || {
            generator.fill_narrow(0, &mut narrow);
        });
    }
    let generator = Generator::kronecker(36, 16.0, 1).unwrap();
    median("kronecker 36", wide.len() as f64 / 1e6, "M edges/s", || generator.fill(0, &mut wide));
    let generator = Generator::uniform(24, 16.0, 1).unwrap();
    median("uniform 24", narrow.len() as f64 / 1e6, "M edges/s", || generator.fill_narrow(0, &mut narrow));
}

/// Ids that are strings, by two threads: numbering them, and a pass that looks them up.
#[test]
#[ignore = "prints figures"]
fn strings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("strings.tsv");
    for (graph, generator) in
        [("kronecker 20", Generator::kronecker(20, 16.0, 1)), ("uniform 23", Generator::uniform(23, 2.0, 1))]
    {
        let mut pairs = vec![[0u32; 2]; 1 << 24];
        generator.unwrap().fill_narrow(0, &mut pairs);
        let mut text = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        let shown = |id: u32| u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        for [u, v] in &pairs {
            writeln!(text, "user{:010x}\tuser{:010x}", shown(*u), shown(*v)).unwrap();
        }
        text.into_inner().unwrap().sync_all().unwrap();
        let options = TextOptions { ids: IdKind::String, ..TextOptions::default() };
        let input =
            Input::find(std::slice::from_ref(&path), None, FileSearch::default()).unwrap().with_text(options).unwrap();
        let (lines, budget) = (pairs.len() as f64 / 1e6, Budget::new(4 << 30, 2).unwrap());
        median(&format!("{graph}: number strings"), lines, "M lines/s", || {
            Names::build(&input, folder.path(), 0, 2, &budget, &Unwatched).map(drop).unwrap();
        });
        let names = Names::open(folder.path(), 0, input.name()).unwrap();
        let input = input.with_numbering(Arc::new(names));
        median(&format!("{graph}: look strings up"), lines, "M lines/s", || {
            input.scan(&mut [Sum(0), Sum(0)], &Unwatched).map(drop).unwrap();
        });
    }
}

#[test]
#[ignore = "prints figures"]
fn formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut pairs = vec![[0u32; 2]; 1 << 24];
    Generator::kronecker(22, 4.0, 1).unwrap().fill_narrow(0, &mut pairs);
    let mut text = Vec::new();
    let mut weighted = Vec::new();
    for [u, v] in &pairs {
        writeln!(text, "{u}\t{v}").unwrap();
        writeln!(weighted, "{u},{v},{}.25", v % 100).unwrap();
    }
    let binary: Vec<u8> = pairs.iter().flatten().flat_map(|id| id.to_le_bytes()).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    gzip.write_all(&text).unwrap();
    type Write = fn(&mut Vec<u8>, usize, u32, u32);
    let shapes: [(&str, &str, Write); 6] = [
        ("named.csv", "weight,source,target\n", |out, _, u, v| writeln!(out, "{}.25,{u},{v}", v % 100).unwrap()),
        ("plain.csv", "source,target\n", |out, _, u, v| writeln!(out, "{u},{v}").unwrap()),
        ("quoted.csv", "\"src\",\"dst\"\n", |out, _, u, v| writeln!(out, "\"{u}\",\"{v}\"").unwrap()),
        ("networkx.el", "", |out, _, u, v| writeln!(out, "{u} {v} {{}}").unwrap()),
        ("weights.el", "", |out, _, u, v| writeln!(out, "{u} {v} {{'weight': {}}}", v % 100).unwrap()),
        ("out.konect", "% sym\n", |out, nth, u, v| writeln!(out, "{u} {v} 1 {}", 1_082_000_000 + nth).unwrap()),
    ];
    for (name, heading, line) in shapes {
        let mut text = heading.as_bytes().to_vec();
        pairs.iter().enumerate().for_each(|(nth, [u, v])| line(&mut text, nth, *u, *v));
        std::fs::write(path(name), &text).unwrap();
        scan(name, &path(name), text.len() as u64, 1);
        std::fs::remove_file(path(name)).unwrap();
    }
    std::fs::write(path("a.txt"), &text).unwrap();
    std::fs::write(path("a.csv"), &weighted).unwrap();
    std::fs::write(path("a.u32"), &binary).unwrap();
    std::fs::write(path("a.txt.gz"), gzip.finish().unwrap()).unwrap();
    std::fs::write(path("a.txt.zst"), zstd::encode_all(text.as_slice(), 3).unwrap()).unwrap();
    println!("{} MB of text, {} MB of pairs", text.len() / 1_000_000, binary.len() / 1_000_000);
    let generator = Generator::kronecker(24, 2.0, 1).unwrap();
    median("generate kronecker 24 to a u32 file", generator.edges() as f64 / 1e6, "M edges/s", || {
        let out = path("out.u32");
        gpugraph::internals::generate::write(generator.clone(), &out, Format::U32, 1, &Unwatched).unwrap();
    });
    scan("u32", &path("a.u32"), binary.len() as u64, 1);
    scan("text", &path("a.txt"), text.len() as u64, 1);
    scan("csv with weights", &path("a.csv"), weighted.len() as u64, 1);
    let ways = [Weights::Find, Weights::Read(WeightType::F32)];
    for weights in ways {
        scan_as(&format!("csv with weights, {weights:?}"), &path("a.csv"), weighted.len() as u64, 1, weights);
    }
    scan("text.gz, of text", &path("a.txt.gz"), text.len() as u64, 1);
    scan("text.zst, of text", &path("a.txt.zst"), text.len() as u64, 1);
    scan("text.gz, of text, 2 threads", &path("a.txt.gz"), text.len() as u64, 2);
}

#[test]
#[ignore = "prints figures"]
fn lists() {
    let folder = tempfile::tempdir().unwrap();
    let length = 1 << 24;
    for kind in Kind::ALL {
        let length = length / 10 * 10;
        let list = ListSource::generated(Generated::new(length, kind, 1).unwrap());
        for threads in [1, 2] {
            median(&format!("{list}, {threads} threads"), length as f64 / 1e6, "M elements/s", || {
                list.scan(0..length, threads, &Unwatched, &|_, _| Ok(())).unwrap();
            });
        }
    }
    let list = ListSource::generated(Generated::new(length, Kind::Random, 1).unwrap());
    for name in ["a.i32", "a.i64", "a.list", "a.list.gz"] {
        let path = folder.path().join(name);
        let format = ListFormat::of(&path, None).unwrap();
        median(&format!("random to {name}, 2 threads"), length as f64 / 1e6, "M elements/s", || {
            write_list(&list, &path, format, 2, &Unwatched).unwrap();
        });
        for threads in [1, 2] {
            let bytes = path.metadata().unwrap().len() as f64 / 1e6;
            median(&format!("{name}, length and scan by {threads} threads, of {bytes:.0} MB"), bytes, "MB/s", || {
                let source = ListSource::open(&path, None).unwrap();
                source.scan(0..length, threads, &Unwatched, &|_, _| Ok(())).unwrap();
            });
        }
    }
}

/// Files of one's own: `GPUGRAPH_SPEED_FILES=a.parquet,b.npy`.
#[test]
#[ignore = "prints figures"]
fn files() {
    for name in std::env::var("GPUGRAPH_SPEED_FILES").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let path = Path::new(name);
        let input = Input::find(&[path.to_owned()], None, FileSearch::default()).unwrap();
        scan(&format!("{name}, of its bytes"), path, input.bytes(), 1);
        median(&format!("{name}, of its edges"), input.estimate_edges().unwrap() as f64 / 1e6, "M edges/s", || {
            input.scan(&mut [Sum(0)], &Unwatched).unwrap();
        });
    }
}
