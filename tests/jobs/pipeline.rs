//! Known answers through the real binary: published graphs, closed forms, products, odd and bad input.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::support::{Place, answer, complete, number, oracle, product, random_edges, reference_graphs, triangles};

const PER_VERTEX: &str = "[triangle]\nper_vertex = true\n";

/// Runs a job on `path` with counts per vertex; triangles, and a check that corners are three times as many.
#[track_caller]
fn count(place: &Place, path: &Path, more: &str) -> (u64, serde_json::Value) {
    place.job_on(path, &format!("{more}{PER_VERTEX}"));
    let report = place.report(&["--fresh"]);
    let total = triangles(&report);
    let corners: u128 = place.npy::<u64>("triangles").into_iter().map(u128::from).sum();
    assert_eq!(corners, 3 * u128::from(total), "{}", path.display());
    (total, report)
}

#[track_caller]
fn count_edges(edges: &[[u64; 2]]) -> u64 {
    let place = Place::new();
    let path = place.u32("edges.u32", edges);
    count(&place, &path, "").0
}

#[test]
fn published_graphs_have_their_triangles() {
    let Some(data) = reference_graphs() else { return };
    let place = Place::new();
    let manifest = fs::read_to_string(data.join("MANIFEST.tsv")).expect("read");
    let mut seen = 0;
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let known = |n: usize| fields[n].parse::<u64>().expect("a number");
        let (total, report) = count(&place, &data.join(fields[0]), "");
        assert_eq!(total, known(7), "{}", fields[0]);
        let simple = known(5);
        assert_eq!(number(&report, "graph.edges"), simple, "{}", fields[0]);
        assert_eq!(number(&report, "input.self_loops"), known(3), "{}", fields[0]);
        assert_eq!(number(&report, "graph.max_degree"), known(6), "{}", fields[0]);
        // The manifest's nodes are those that occur, loops included; the report's isolated ones may be in a loop.
        let (vertices, isolated) = (number(&report, "graph.vertices"), number(&report, "graph.isolated"));
        assert!(vertices >= known(4) && vertices - isolated <= known(4), "{}: {report:#}", fields[0]);
        assert_eq!(number(&report, "input.edges"), known(2), "{}", fields[0]);
        assert_eq!(number(&report, "input.duplicates"), known(2) - known(3) - simple, "{}", fields[0]);
        seen += 1;
    }
    assert!(seen > 20);
}

#[test]
fn one_graph_in_many_formats_is_one_graph() {
    let Some(data) = reference_graphs() else { return };
    let place = Place::new();
    for name in ["4.el", "4.gr", "4.graph", "4.mtx", "4.wel", "4w.graph", "4w.mtx"] {
        let (total, report) = count(&place, &data.join("gapbs").join(name), "");
        assert_eq!(
            (total, number(&report, "graph.edges"), number(&report, "graph.max_degree")),
            (105, 53, 12),
            "{name}"
        );
    }
    let karate = |name: &str| {
        triangles(&{
            let (_, report) = count(&place, &data.join(name), "");
            report
        })
    };
    assert_eq!([karate("lagraph/karate.mtx"), karate("cugraph/karate.csv")], [45, 45]);
}

#[test]
fn packed_edges_of_graph500_agree_with_the_slow_way() {
    let Some(data) = reference_graphs() else { return };
    let path = data.join("graph500/scale_8.graph500");
    let bytes = fs::read(&path).expect("read");
    // 12 bytes an edge: the low halves of both ids, then 16 high bits of each.
    let edges: Vec<[u64; 2]> = bytes
        .chunks_exact(12)
        .map(|edge| {
            let word = |at: usize| u64::from(u32::from_le_bytes(edge[at..at + 4].try_into().expect("four")));
            [word(0) | (word(8) & 0xffff) << 32, word(4) | (word(8) >> 16) << 32]
        })
        .collect();
    let place = Place::new();
    assert_eq!(count(&place, &path, "").0, oracle(256, &edges).0);
}

#[test]
fn clustering_agrees_with_graphalytics() {
    let Some(data) = reference_graphs() else { return };
    let place = Place::new();
    let folder = data.join("graphalytics");
    // `VERTEX NEIGHBOUR...` lines, and edges with weights.
    let lists = fs::read_to_string(folder.join("lcc/undir-input")).expect("read");
    let mut text = String::new();
    for line in lists.lines() {
        let mut ids = line.split_whitespace();
        let first = ids.next().expect("a vertex");
        ids.for_each(|id| text.push_str(&format!("{first} {id}\n")));
    }
    let path = place.write("lcc.txt", text);
    for (path, reference) in
        [(path, "lcc/undir-output"), (folder.join("example/example-undirected.e"), "example/example-undirected-LCC")]
    {
        count(&place, &path, "");
        let clustering: Vec<f64> = place.npy("clustering");
        for line in fs::read_to_string(folder.join(reference)).expect("read").lines() {
            let (id, value) = line.split_once(' ').expect("two columns");
            let value: f64 = value.parse().expect("a number");
            let found = clustering[id.parse::<usize>().expect("an id")];
            assert!((found - value).abs() < 1e-9, "{reference}: vertex {id} has {found}, not {value}");
        }
    }
}

#[test]
fn bad_files_are_refused_in_one_line() {
    let Some(data) = reference_graphs() else { return };
    let place = Place::new();
    let expected = fs::read_to_string(data.join("bad/EXPECTED.tsv")).expect("read");
    let mut wrong = Vec::new();
    for line in expected.lines().skip(1) {
        let (name, why) = line.split_once('\t').expect("two columns");
        place.job_on(&data.join("bad").join(name), "");
        let ran = place.run(&["--fresh"]);
        let said = ran.err.lines().last().unwrap_or_default().to_owned();
        // Where it is: behind the name a line (`:3`), a byte, or nothing where the file as a whole is meant.
        let named = said.starts_with("error: ") && said.contains(&format!("{name}:"))
            || said.contains(&format!("{name} at byte"));
        if ran.code != 3 || !named || said.contains("panicked") {
            wrong.push(format!("{name} ({why}): {} {said}", ran.code));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn odd_files_read_like_their_twins() {
    let Some(data) = reference_graphs() else { return };
    let place = Place::new();
    let of = |name: &str| {
        let (total, report) = count(&place, &data.join("odd_but_valid").join(name), "");
        (total, report["graph"].clone(), place.npy::<u64>("triangles"))
    };
    assert_eq!(of("comments_cover.mtx"), of("cover.mtx"));
    let west = of("west0067.mtx");
    assert!(west.0 > 0);
    assert_eq!(of("west0067_jumbled.mtx"), west);
    assert_eq!(of("comments_west0067.mtx").0, west.0);
}

#[test]
fn closed_forms() {
    assert_eq!(count_edges(&complete(2)), 0);
    assert_eq!(count_edges(&complete(3)), 1);
    assert_eq!(count_edges(&complete(300)), 300 * 299 * 298 / 6);
    // Complete tripartite K(a, b, c): one vertex of each part.
    let (a, b, c) = (20, 30, 50);
    let part = |v: u64| {
        if v < a {
            0
        } else if v < a + b {
            1
        } else {
            2
        }
    };
    let tripartite: Vec<_> = complete(a + b + c).into_iter().filter(|&[u, v]| part(u) != part(v)).collect();
    assert_eq!(count_edges(&tripartite), a * b * c);
    // A wheel: a hub and a ring of n, n triangles.
    let wheel: Vec<_> = (1..=999).flat_map(|v| [[0, v], [v, v % 999 + 1]]).collect();
    assert_eq!(count_edges(&wheel), 999);
    // A hypercube has none: it is bipartite.
    let cube: Vec<_> = (0..1024u64).flat_map(|v| (0..10).map(move |bit| [v, v ^ (1 << bit)])).collect();
    assert_eq!(count_edges(&cube), 0);
    let star: Vec<_> = (1..5000).map(|v| [0, v]).collect();
    assert_eq!(count_edges(&star), 0);
}

#[test]
fn products_have_six_times_the_product_of_triangles() {
    let place = Place::new();
    let edges = random_edges(60, 400, 5);
    let simple: Vec<_> = {
        let mut set: Vec<_> = edges.iter().filter(|[u, v]| u != v).map(|&[u, v]| [u.min(v), u.max(v)]).collect();
        set.sort_unstable();
        set.dedup();
        set
    };
    let (known, _) = oracle(60, &simple);
    assert!(known > 0);
    for n in [3u64, 7, 20] {
        let path = place.u32("product.u32", &product(&simple, &complete(n), n));
        let of_complete = n * (n - 1) * (n - 2) / 6;
        assert_eq!(count(&place, &path, "").0, 6 * known * of_complete);
    }
}

#[test]
fn a_product_past_32_bits_of_triangles() {
    let place = Place::new();
    // K_45 ⊗ K_45: 1,960,200 edges, 6 · 14190² triangles. And as the command makes it.
    let k = complete(45);
    let known = 6 * 14_190u64 * 14_190;
    let path = place.u32("product.u32", &product(&k, &k, 45));
    assert_eq!(count(&place, &path, "").0, known);
    let k = complete(75);
    let text: String = k.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
    place.write("k75.txt", text);
    place.gpugraph(&["generate", "product", "k75.txt", "k75.txt", "-o", "big.u32"]).expect(0);
    place.job_on(&place.path("big.u32"), "");
    let of_k75 = 75 * 74 * 73 / 6u64;
    assert!(6 * of_k75 * of_k75 > 1 << 32);
    assert_eq!(triangles(&place.report(&["--fresh"])), 6 * of_k75 * of_k75);
}

#[test]
fn graphs_with_next_to_nothing() {
    let place = Place::new();
    let at = |name: &str, edges: &[[u64; 2]]| {
        let path = place.u32(name, edges);
        let (total, report) = count(&place, &path, "");
        (total, number(&report, "graph.edges"), number(&report, "graph.vertices"), number(&report, "graph.isolated"))
    };
    assert_eq!(at("empty.u32", &[]), (0, 0, 0, 0));
    assert_eq!(at("loops.u32", &[[3, 3], [0, 0], [3, 3]]), (0, 0, 4, 4));
    assert_eq!(at("edge.u32", &[[5, 2]]), (0, 1, 6, 4));
    assert_eq!(at("twice.u32", &[[5, 2], [2, 5], [5, 5]]), (0, 1, 6, 4));
    for name in ["empty.txt", "empty.u64"] {
        let path = place.write(name, "");
        assert_eq!(count(&place, &path, "").0, 0);
    }
    // Formats with a header must have it.
    for name in ["empty.mtx", "empty.graph", "empty.gr"] {
        let path = place.write(name, "");
        place.job_on(&path, "");
        let ran = place.run(&["--fresh"]).expect(3);
        assert!(ran.error().contains(name), "{}", ran.err);
    }
}

/// A header may declare far more vertices than occur: results then have a row for each id that does.
#[test]
fn sparse_ids_under_a_header_have_a_row_each() {
    let place = Place::new();
    let rows = 10_000_000_000u64;
    let [a, b, c] = [rows - 2, rows - 1, rows];
    let lines = format!("{rows} {rows} 4\n{a} {b}\n{b} {c}\n{c} {a}\n7 {a}\n");
    let path = place.write("few.mtx", format!("%%MatrixMarket matrix coordinate pattern general\n{lines}"));
    let (total, report) = count(&place, &path, "");
    // There are as many vertices as rows of columns: no column has a row for each that the header declares.
    assert_eq!((total, number(&report, "graph.vertices"), number(&report, "graph.isolated")), (1, 4, 0));
    assert_eq!(place.npy::<u64>("ids"), [6, rows - 3, rows - 2, rows - 1]);
    assert_eq!(place.npy::<u64>("triangles"), [0, 1, 1, 1]);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    place.run(&["--set", "output.format=csv", "--set", "input.first_id=1"]).expect(0);
    let text = std::fs::read_to_string(place.workdir().join("out/triangles.csv")).expect("written");
    assert_eq!(text, format!("id,triangles\n7,0\n{a},1\n{b},1\n{c},1\n"));
    assert_eq!(place.npy::<u64>("ids"), [7, a, b, c]);
    place.gpugraph(&["verify", "job.toml", "--set", "input.first_id=1"]).expect(0);
}

#[test]
fn sparse_ids_over_the_whole_range_equal_the_dense_twin() {
    let place = Place::new();
    let edges = random_edges(500, 6000, 9);
    let (known, corners) = oracle(500, &edges);
    // An ascending map keeps the order of ids, so results come in the twin's order.
    let step = u64::MAX / 499;
    let sparse: Vec<[u64; 2]> = edges.iter().map(|pair| pair.map(|id| id * step)).collect();
    let occurring: std::collections::BTreeSet<u64> = edges.iter().flatten().copied().collect();
    let path = place.u64("sparse.u64", &sparse);
    let (total, report) = count(&place, &path, "");
    assert_eq!(total, known);
    assert_eq!(number(&report, "graph.vertices"), occurring.len() as u64);
    assert_eq!(report["graph"]["ids"], "sorted", "{report:#}");
    let dense = count(&place, &place.u64("dense.u64", &edges), "").1;
    assert_eq!(dense["graph"]["ids"], "input", "{dense:#}");
    count(&place, &path, "");
    assert_eq!(place.npy::<u64>("ids"), occurring.iter().map(|id| id * step).collect::<Vec<_>>());
    let here: Vec<u64> = occurring.iter().map(|&id| corners[id as usize]).collect();
    assert_eq!(place.npy::<u64>("triangles"), here);
    // The same ids as text, and as u64 but dense.
    let text: String = sparse.iter().map(|[u, v]| format!("{u}\t{v}\n")).collect();
    let as_text = place.write("sparse.txt", text);
    let (total, _) = count(&place, &as_text, "");
    assert_eq!((total, place.npy::<u64>("triangles")), (known, here));
    let dense = place.u64("dense.u64", &edges);
    assert_eq!(count(&place, &dense, "").0, known);
    assert_eq!(place.npy::<u64>("triangles"), corners);
    assert!(!place.workdir().join("out/ids.npy").exists(), "dense ids need no list");
}

#[test]
fn csv_says_the_same_as_npy() {
    let place = Place::new();
    let edges = random_edges(300, 3000, 11);
    let known = oracle(300, &edges).1;
    let path = place.u32("edges.u32", &edges);
    place.job_on(&path, &format!("[output]\nformat = 'csv'\n{PER_VERTEX}"));
    place.report(&[]);
    let read = |name: &str| -> BTreeMap<u64, String> {
        let text = fs::read_to_string(place.workdir().join("out").join(name)).expect("read");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(format!("id,{}", name.trim_end_matches(".csv")).as_str()));
        let pair = |line: &str| line.split_once(',').map(|(id, value)| (id.parse().expect("an id"), value.to_owned()));
        lines.map(|line| pair(line).expect("two columns")).collect()
    };
    let found = read("triangles.csv");
    assert_eq!(found.len(), known.len());
    for (id, value) in found {
        assert_eq!(value, known[id as usize].to_string(), "vertex {id}");
    }
    let shown = read("clustering.csv");
    place.job_on(&path, PER_VERTEX);
    place.report(&["--fresh"]);
    for (id, value) in place.npy::<f64>("clustering").into_iter().enumerate() {
        assert_eq!(shown[&(id as u64)].parse::<f64>().expect("a number"), value, "vertex {id}");
    }
}

#[test]
fn another_output_format_is_written_when_the_same_job_runs_again() {
    let place = Place::new();
    let path = place.u32("edges.u32", &random_edges(100, 900, 4));
    place.job_on(&path, PER_VERTEX);
    place.report(&[]);
    place.report(&["--set", "output.format=csv"]);
    assert!(place.workdir().join("out/triangles.csv").exists());
}

#[test]
fn threads_and_limits_change_nothing() {
    let place = Place::new();
    let edges = random_edges(3000, 60_000, 21);
    let (known, corners) = oracle(3000, &edges);
    let path = place.u32("edges.u32", &edges);
    let mut first = None;
    for threads in [1, 2, 7] {
        for limit in ["256MiB", "1GiB"] {
            let limits = format!("[limits]\nthreads = {threads}\nhost_memory = '{limit}'\n");
            let (total, report) = count(&place, &path, &limits);
            assert_eq!(total, known, "{limits}");
            assert!(place.npy::<u64>("triangles") == corners, "{limits}");
            let answer = answer(&report);
            assert_eq!(*first.get_or_insert_with(|| answer.clone()), answer, "{limits}");
        }
    }
}

#[test]
fn several_files_packed_or_not_are_read_as_one() {
    let place = Place::new();
    let edges = random_edges(400, 5000, 33);
    let known = oracle(400, &edges).0;
    fs::create_dir(place.path("parts")).expect("a folder");
    let text = |part: &[[u64; 2]]| part.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>();
    place.write("parts/a.txt", text(&edges[..1000]));
    let gz = fs::File::create(place.path("parts/b.txt.gz")).expect("create");
    let mut gz = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
    gz.write_all(text(&edges[1000..3000]).as_bytes()).expect("write");
    gz.finish().expect("finish");
    let zst = zstd::encode_all(text(&edges[3000..]).as_bytes(), 1).expect("pack");
    place.write("parts/c.txt.zst", zst);
    for input in
        ["path = 'parts'", "path = 'parts/*.txt*'", "path = ['parts/c.txt.zst', 'parts/a.txt', 'parts/b.txt.gz']"]
    {
        place.job(input, "");
        assert_eq!(triangles(&place.report(&["--fresh"])), known, "{input}");
    }
    // Cut short they are refused, not read as far as they go.
    for name in ["parts/b.txt.gz", "parts/c.txt.zst"] {
        let bytes = fs::read(place.path(name)).expect("read");
        let cut = place.write(&name.replace("parts/", "cut."), &bytes[..bytes.len() - 5]);
        place.job_on(&cut, "");
        place.run(&["--fresh"]).expect(3).error();
    }
}

#[test]
fn what_is_wrong_with_an_input_is_said_in_one_line() {
    let place = Place::new();
    let refused = |input: &str, words: &[&str]| {
        place.job(input, "");
        let ran = place.run(&["--fresh"]).expect(3);
        for word in words {
            assert!(ran.error().contains(word), "{word} is not in {}", ran.err);
        }
    };
    refused("path = 'nowhere.u32'", &["nowhere.u32", "No such file"]);
    place.write("odd.u32", [1u8; 13]);
    refused("path = 'odd.u32'", &["odd.u32 at byte 8", "5 bytes"]);
    place.write("odd.u64", [1u8; 24]);
    refused("path = 'odd.u64'", &["odd.u64 at byte 16", "8 bytes"]);
    place.write("words.txt", "0 1\n1 2\nhello world\n");
    refused("path = 'words.txt'", &["words.txt:3"]);
    place.write("minus.txt", "0 1\n-1 2\n");
    refused("path = 'minus.txt'", &["minus.txt:2"]);
    place.write("huge.txt", "0 1\n0 18446744073709551616\n");
    refused("path = 'huge.txt'", &["huge.txt:2"]);
    place.write("past.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n4 1\n");
    refused("path = 'past.mtx'", &["past.mtx:4"]);
    place.write("unknown.abc", "0 1\n");
    refused("path = 'unknown.abc'", &["unknown.abc", "format"]);
    fs::create_dir(place.path("hollow")).expect("a folder");
    refused("path = 'hollow'", &["hollow"]);
    // The wrong format named: text read as mtx, and as packed.
    refused("path = 'words.txt'\nformat = 'mtx'", &["words.txt"]);
    place.write("plain.txt.gz", "0 1\n1 2\n");
    refused("path = 'plain.txt.gz'", &["plain.txt.gz"]);
    // Headers that lie about sizes: nothing is allocated by them.
    place.write("lie.mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 99999999999999\n1 2\n");
    refused("path = 'lie.mtx'", &["lie.mtx"]);
    place.write("lie.graph", "4000000000 9999999999\n2\n1\n");
    refused("path = 'lie.graph'", &["lie.graph"]);
    place.write("lie.gr", "p sp 10 99999999999\na 1 2 3\n");
    refused("path = 'lie.gr'", &["lie.gr"]);
}

#[test]
fn a_fresh_run_is_logged() {
    let place = Place::new();
    place.job_on(&place.u32("k5.u32", &complete(5)), "");
    place.run(&[]).expect(0);
    place.run(&["--fresh"]).expect(0);
    let log = std::fs::read_to_string(place.workdir().join("run.log")).expect("a log");
    assert!(log.contains("sort"), "{log}");
}
