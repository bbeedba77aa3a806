//! What scans hand over of weights.

use super::written::{bytes, npz};
use super::{Edge, F32, F64, Folder, U32, U64, both_ways, open, scan, some, wanted};
use std::collections::{BTreeMap, BTreeSet};

use gpugraph::internals::formats::{
    CacheUse, Input, Share, ShareResult, TextOptions, Unwatched, WeightType, Weights, WeightsOption,
};
use gpugraph::internals::memory::Budget;
use gpugraph::internals::prepare::dictionary::{Dictionary, NumberingVisitor};

const NAMES: [&str; 17] = [
    "a.txt",
    "a.wel",
    "a.csv",
    "a.el",
    "a.mtx",
    "a.gr",
    "a.graph",
    "a.graph500",
    "a.wsg",
    "a.npz",
    "b.txt.gz",
    "b.csv.zst",
    "b.mtx.gz",
    "b.graph.zst",
    "b.graph500.gz",
    "b.wsg.zst",
    "c.graph500.zst",
];

/// Writes a list in the format of a name. Returns the input, and the edges that it should have.
fn made(folder: &Folder, name: &str, list: &[Edge]) -> (Input, Vec<Edge>) {
    let (edges, weights) = bytes(name, list);
    folder.write(name, edges);
    if let Some(weights) = weights {
        let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
        folder.write(&format!("{plain}.weights"), weights);
    }
    let twice = [".graph", ".wsg", ".npz"].iter().any(|kind| name.contains(kind)) && !name.contains("graph500");
    (open(&folder.path(name)), if twice { both_ways(list) } else { list.to_vec() })
}

#[test]
fn each_edge_comes_once_with_its_weight_by_any_chunks_and_threads() {
    let folder = Folder::new();
    for (whole, kind) in [(true, WeightType::U32), (false, WeightType::F32)] {
        let list = some(700, 60, whole);
        for name in NAMES.into_iter().filter(|name| whole || !name.contains("wsg")) {
            let (input, list) = made(&folder, name, &list);
            let mut checksums = Vec::new();
            for weights in [Weights::Skip, Weights::Find, F32, U32, F64, U64] {
                let input = input.clone().with_weights(weights);
                for (chunk, threads) in [(8 << 20, 1), (1000, 3), (61, 2), (3, 2)] {
                    let what = format!("{name} {weights:?} in chunks of {chunk} by {threads}");
                    let done = scan(&input.clone().with_chunk(chunk), threads);
                    if matches!(weights, U32 | U64) && !whole {
                        assert_eq!(done.expect_err(&what).exit_code(), 3, "{what}");
                        continue;
                    }
                    let (edges, scan) = done.expect(&what);
                    assert!(edges == wanted(&list, weights), "{what}");
                    let found = match weights {
                        Weights::Skip => None,
                        Weights::Find => Some(kind),
                        Weights::Read(read) => Some(read),
                    };
                    assert_eq!((scan.weights, scan.edges), (found, list.len() as u64), "{what}");
                    if chunk > 1000 && weights.is_wanted() {
                        checksums.push(scan.checksum);
                    }
                }
            }
            assert!(checksums.iter().all(|checksum| *checksum == checksums[0]), "{name}");
        }
    }
}

#[test]
fn matrices_lead_from_row_to_column_however_they_are_stored() {
    let folder = Folder::new();
    // More than the arrays are read of at once, with columns and rows without entries.
    let list: Vec<Edge> = some(9000, 500, false).into_iter().map(|(u, v, weight)| (3 * u, v, weight)).collect();
    for (format, kind) in [("coo", "<f4"), ("csc", "<f4"), ("csc", ">f8")] {
        let path = folder.write("a.npz", npz(&list, 1600, kind, format));
        for weights in [Weights::Skip, F32] {
            let (edges, found) = scan(&open(&path).with_weights(weights), 2).expect(format);
            assert!(edges == wanted(&list, weights), "{format} {kind}");
            assert_eq!(found.declared_vertices, Some(1600));
        }
    }
}

#[test]
fn ids_of_64_bits_have_weights() {
    let folder = Folder::new();
    let wide: Vec<Edge> = (0..9000).map(|i: u64| (i << 33, i * 7919, (i % 17) as f64 * 0.5)).collect();
    for name in ["a.txt", "a.wel.gz", "a.graph500", "b.graph500.zst", "a.csv"] {
        let (input, list) = made(&folder, name, &wide);
        let (edges, _) = scan(&input.with_weights(F32), 2).expect(name);
        assert!(edges == wanted(&list, F32), "{name}");
    }
}

#[test]
fn the_shares_of_ranks_have_the_weights_of_their_edges() {
    let folder = Folder::new();
    let list = some(3000, 90, false);
    for name in NAMES.into_iter().filter(|name| !name.contains("wsg")) {
        let (input, list) = made(&folder, name, &list);
        let input = input.with_chunk(200);
        for weights in [Weights::Find, F32] {
            let input = input.clone().with_weights(weights);
            let (want, alone) = scan(&input, 2).expect(name);
            assert!(want == wanted(&list, weights), "{name}");
            let (mut edges, mut seen): (Vec<_>, Vec<ShareResult>) = (Vec::new(), Vec::new());
            for rank in 0..3 {
                let mut visitors = [(); 2].map(|()| super::Weighted { edges: vec![], words: super::words(weights) });
                seen.push(
                    input.scan_share(Share::of(rank, 3), CacheUse::Nothing, &mut visitors, &Unwatched).expect(name),
                );
                edges.extend(visitors.into_iter().flat_map(|visitor| visitor.edges));
            }
            edges.sort_unstable();
            assert!(edges == want, "{name}");
            let (mut sums, mut most) = (vec![0; seen[0].sums().len()], vec![0; seen[0].most().len()]);
            for seen in &mut seen {
                sums.iter_mut().zip(seen.sums()).for_each(|(sum, one)| *sum += *one);
                most.iter_mut().zip(seen.most()).for_each(|(most, one)| *most = (*most).max(*one));
            }
            for mut seen in seen {
                seen.sums().copy_from_slice(&sums);
                seen.most().copy_from_slice(&most);
                assert_eq!(seen.finish().expect(name), alone, "{name}");
            }
        }
    }
}

#[test]
fn columns_of_text_that_hold_the_weight() {
    let folder = Folder::new();
    let of = |name: &str, text: &str, columns: &str| {
        let options =
            TextOptions { columns: columns.parse().expect("columns"), skip_lines: None, ..TextOptions::default() };
        let input = open(&folder.write(name, text)).with_text(options).expect("text");
        let found = scan(&input.clone().with_weights(Weights::Find), 1).expect(text).1.weights;
        found.map(|found| (found, scan(&input.with_weights(F32), 1).expect(text).0))
    };
    let whole = Some((WeightType::U32, wanted(&[(1, 2, 7.0), (3, 4, 0.0)], F32)));
    for (name, text, columns) in [
        ("a.txt", "9 1 2 7\n9 3 4 0\n", "2,3,4"),
        ("a.csv", "7,x,2,1\n0,y,4,3\n", "4,3,1"),
        ("a.csv", "id,source,target,Weight\n9,1,2,7\n9,3,4,-0.0\n", "auto"),
        ("a.csv", "a,b,c\n1,7,2\n3,0,4\n", "a,c,b"),
        ("a.csv", "\"1\",\"2\",\"7\"\n3,4,0e9\n", "auto"),
        ("a.tsv", "1\t2\t7\t99\n3\t4\t0\t98\n", "auto"),
        ("a.txt", "# 1 2 3\n1 2 7.0\r\n\n3 4 0\r\n", "auto"),
        ("a.txt", "1 2 {'weight': 7}\n3 4 {'color': 'red', 'weight': np.float64(0.0)}\n", "auto"),
        ("a.txt", "1;2;7\n3;4;+0\n", "auto"),
        ("out.x", "% sym weighted\n1 2 7 1e9\n3 4 0 1e9", "auto"),
    ] {
        assert_eq!(of(name, text, columns), whole, "{name} {text:?} {columns}");
    }
    for (text, columns) in [("1 2 7\n3 4 0\n", "1,2"), ("1 2 {}\n3 4 {'color': 7}\n", "auto"), ("", "auto")] {
        assert_eq!(of("a.txt", text, columns), None, "{text:?}");
    }
    assert_eq!(of("a.csv", "source,target,time\n1,2,7\n", "auto"), None);
}

#[test]
fn matrices_of_every_shape_and_type() {
    let folder = Folder::new();
    let list: Vec<Edge> = some(300, 40, true).into_iter().map(|(u, v, weight)| (u, v, weight % 100.0)).collect();
    for (kind, format) in [(">f8", "coo"), (">u2", "coo"), ("|i1", "csr"), ("<f4", "csr"), ("|b1", "coo")] {
        let input = open(&folder.write("a.npz", npz(&list, 40, kind, format))).with_weights(U32);
        let of = |weight: f64| if kind == "|b1" { f64::from(weight != 0.0) } else { weight };
        let list: Vec<Edge> = list.iter().map(|&(u, v, weight)| (u, v, of(weight))).collect();
        let want = if format == "csr" { both_ways(&list) } else { list };
        let (edges, found) = scan(&input, 2).expect(kind);
        assert!(edges == wanted(&want, U32), "{kind} {format}");
        assert_eq!(found.weights, Some(WeightType::U32));
    }
    // Values that are no weights are no matter to those who want none.
    let input = open(&folder.write("a.npz", npz(&list, 40, "<c8", "csr")));
    assert_eq!(scan(&input, 1).expect("edges alone").0.len(), both_ways(&list).len());
    assert_eq!(scan(&input.with_weights(Weights::Find), 1).expect_err("no weights").exit_code(), 3);
    let text = "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n2 1 1.50e+00\n3 2 2\n";
    let (edges, found) = scan(&open(&folder.write("a.mtx", text)).with_weights(F32), 1).expect("a matrix");
    assert_eq!(edges, wanted(&[(1, 0, 1.5), (2, 1, 2.0)], F32));
    assert_eq!(found.weights, Some(WeightType::F32));
}

#[test]
fn a_file_of_weights_has_a_checksum_of_its_own_and_counts_in_identity_only_where_weights_are_wanted() {
    let folder = Folder::new();
    let list = some(5000, 50, false);
    for name in ["a.graph500", "b.graph500.gz"] {
        let (input, _) = made(&folder, name, &list);
        let of = |weights: Weights| {
            let input = input.clone().with_weights(weights).with_chunk(5000);
            let found = scan(&input, 2).expect(name).1;
            (found.checksum, found.weights_checksum, input.identity().expect(name))
        };
        let (skipped, found) = (of(Weights::Skip), of(Weights::Find));
        assert_eq!(of(F32), found);
        assert!(skipped.1 == 0 && found.1 != 0 && found.0 == skipped.0, "{name}");
        let weights = folder.path(&format!("{}.weights", name.trim_end_matches(".gz")));
        let mut bytes = std::fs::read(&weights).expect("weights");
        bytes[4 * 4000] ^= 1;
        std::fs::write(&weights, &bytes).expect("written");
        assert_eq!(of(Weights::Skip), skipped, "{name}");
        assert_eq!(of(Weights::Find).0, found.0, "{name}");
        assert_ne!(of(Weights::Find).1, found.1, "{name}");
        assert_ne!(of(Weights::Find).2, found.2, "{name}");
        std::fs::remove_file(&weights).expect("removed");
        assert_eq!(scan(&input.with_weights(Weights::Find), 1).expect(name).1.weights, None);
    }
}

#[test]
fn what_was_asked_for_is_decided_by_what_was_found() {
    let folder = Folder::new();
    let decide = |text: &str, asked: WeightsOption| {
        let input = open(&folder.write("a.txt", text)).with_weights(asked.first());
        scan(&input, 1)
            .and_then(|(_, scan)| asked.decide(scan.weights, scan.edges, || input.lacks_weights()))
            .map_err(|e| e.exit_code())
    };
    let [u32, u64, f32, f64] = WeightType::ALL.map(Some);
    for (text, by) in [
        ("1 2 7\n", [Ok(u32), Ok(None), Ok(u32), Ok(u64), Ok(f32), Ok(f64)]),
        ("1 2 7.5\n", [Ok(f32), Ok(None), Err(3), Err(3), Ok(f32), Ok(f64)]),
        ("1 2 4294967296\n", [Ok(u64), Ok(None), Err(3), Ok(u64), Ok(f32), Ok(f64)]),
        ("1 2 1e300\n", [Err(3), Ok(None), Err(3), Err(3), Err(3), Ok(f64)]),
        ("1 2\n", [Ok(None), Ok(None), Err(2), Err(2), Err(2), Err(2)]),
        ("1 2 -7\n", [Err(3), Ok(None), Err(3), Err(3), Err(3), Err(3)]),
    ] {
        assert_eq!(WeightsOption::NAMED.map(|(_, asked)| decide(text, asked)), by, "{text}");
    }
    let made = Input::generated(gpugraph::internals::generate::Generator::uniform(4, 2.0, 1).expect("a generator"));
    assert_eq!(scan(&made.clone().with_weights(Weights::Find), 1).expect("edges").1.weights, None);
    assert_eq!(scan(&made.with_weights(U32), 1).expect_err("no weights").exit_code(), 2);
}

#[test]
fn sparse_ids_are_numbered_with_their_weights() {
    let folder = Folder::new();
    let sparse: Vec<Edge> = some(9000, 400, false).into_iter().map(|(u, v, w)| (u << 40, v << 40 | 5, w)).collect();
    let (input, _) = made(&folder, "a.txt", &sparse);
    let (path, budget) = (folder.path("ids"), Budget::new(1 << 30, 2).expect("room"));
    Dictionary::build(&input, &path, 7, 2, &budget, &Unwatched).expect("built");
    let dictionary = Dictionary::open(&path, 7, &budget).expect("opened");
    let inner = || super::Weighted { edges: vec![], words: 1 };
    let visitor = |_| NumberingVisitor::new(Some(&dictionary), None, "a test", inner());
    let mut visitors: Vec<_> = (0..2).map(visitor).collect();
    input.with_weights(F32).with_chunk(5000).scan(&mut visitors, &Unwatched).expect("scanned");
    let mut found: Vec<_> = visitors.into_iter().flat_map(|visitor| visitor.inner.edges).collect();
    found.sort_unstable();
    let ids: BTreeSet<u64> = sparse.iter().flat_map(|(u, v, _)| [*u, *v]).collect();
    let numbers: BTreeMap<u64, u64> = ids.into_iter().zip(0..).collect();
    let dense: Vec<Edge> = sparse.iter().map(|(u, v, w)| (numbers[u], numbers[v], *w)).collect();
    assert!(found == wanted(&dense, F32));
}
