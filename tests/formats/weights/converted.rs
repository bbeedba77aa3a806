//! `convert` keeps weights.

use std::collections::BTreeMap;
use std::path::Path;

use super::written::{bytes, parsed};
use super::{Edge, Folder, both_ways, open, some};
use crate::support::Place;
use gpugraph::internals::convert::{Converted, MEMORY, Target, convert_as};
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::unsupported::format_of;
use gpugraph::internals::formats::{Format, Unwatched, WeightsOption};

const NAMES: [&str; 9] =
    ["a.txt", "a.wel", "a.mtx", "a.gr", "a.graph500", "b.txt.gz", "b.mtx.zst", "b.gr.gz", "b.graph500.zst"];

fn to(input: &Path, out: &Path, weights: WeightsOption) -> Result<Converted> {
    let target = Target { format: format_of(out, None)?, weights, memory: MEMORY };
    convert_as(&open(input), out, target, 3, &Unwatched)
}

fn auto(input: &Path, out: &Path) {
    to(input, out, WeightsOption::Auto).expect("converted");
}

/// Writes a list, by the writer of the tests.
fn made(folder: &Folder, name: &str, list: &[Edge]) -> std::path::PathBuf {
    let (edges, weights) = bytes(name, list);
    if let Some(weights) = weights {
        folder.write(&format!("{}.weights", name.trim_end_matches(".zst")), weights);
    }
    folder.write(name, edges)
}

/// Returns the edge of the smallest weight of each pair, from both ends.
fn smallest(list: &[Edge]) -> Vec<Edge> {
    let mut of = BTreeMap::new();
    for (u, v, weight) in both_ways(list) {
        let least = of.entry((u, v)).or_insert(weight);
        *least = weight.min(*least);
    }
    of.into_iter().map(|((u, v), weight)| (u, v, weight)).collect()
}

#[test]
fn weights_go_from_every_format_to_every_other_and_back() {
    for whole in [true, false] {
        let list = some(500, 70, whole);
        for first in NAMES {
            let (from, into) = (Folder::new(), Folder::new());
            let path = made(&from, first, &list);
            for second in NAMES {
                let out = into.path(second);
                auto(&path, &out);
                let (edges, field) = parsed(&out);
                assert!(edges == list, "{first} to {second}");
                if second.contains("mtx") {
                    assert_eq!(field, if whole { "integer" } else { "real" });
                }
                let back = Folder::new();
                auto(&out, &back.path(first));
                assert!(parsed(&back.path(first)).0 == list, "{first} to {second} and back");
            }
            let out = into.path("c.graph");
            auto(&path, &out);
            assert!(parsed(&out).0 == smallest(&list), "{first} to metis");
            auto(&out, &into.path("again.graph"));
            assert!(parsed(&into.path("again.graph")).0 == smallest(&list), "{first} to metis and again");
            auto(&out, &into.path("c.txt"));
            assert!(parsed(&into.path("c.txt")).0 == smallest(&list), "{first} to metis and text");
        }
    }
    let list = some(300, 40, true);
    let folder = Folder::new();
    for name in ["a.npz", "a.wsg"] {
        auto(&made(&folder, name, &list), &folder.path("b.txt"));
        let (mut found, mut want) = (parsed(&folder.path("b.txt")).0, both_ways(&list));
        for list in [&mut found, &mut want] {
            list.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        }
        assert!(found == want, "{name}");
    }
}

#[test]
fn more_than_a_chunk_comes_in_order_by_any_number_of_threads() {
    let folder = Folder::new();
    let list: Vec<Edge> = (0..400_000u64).map(|i| (i * 7919 % 1_000_003, i << 9, (i % 4093) as f64 * 0.25)).collect();
    let text = made(&folder, "a.txt", &list);
    for name in ["b.graph500", "b.graph500.zst", "b.gr", "b.txt.gz"] {
        let mut files = Vec::new();
        for threads in [1, 2, 7] {
            let out = Folder::new();
            let target = Target {
                format: format_of(Path::new(name), None).expect(name),
                weights: WeightsOption::F32,
                memory: 1,
            };
            convert_as(&open(&text), &out.path(name), target, threads, &Unwatched).expect(name);
            assert!(parsed(&out.path(name)).0 == list, "{name} by {threads}");
            files.push(std::fs::read(out.path(name)).expect(name));
            auto(&out.path(name), &out.path("back.mtx"));
            assert!(parsed(&out.path("back.mtx")).0 == list, "{name} by {threads} and back");
        }
        assert!(files.iter().all(|file| *file == files[0]), "{name}");
    }
}

#[test]
fn metis_with_weights_is_the_same_file_in_any_memory() {
    let folder = Folder::new();
    let list = some(6000, 300, false);
    let path = made(&folder, "a.txt", &list);
    let mut files = Vec::new();
    for (memory, threads) in [(1 << 30, 1), (1 << 30, 7), (20_000, 2), (3_000, 3), (1, 2)] {
        let target = Target { format: Format::Metis, weights: WeightsOption::Auto, memory };
        let out = folder.path("a.graph");
        let done = convert_as(&open(&path), &out, target, threads, &Unwatched).expect("converted");
        assert_eq!((done.read, done.written as usize * 2), (6000, smallest(&list).len()));
        assert!(parsed(&out).0 == smallest(&list));
        files.push(std::fs::read(&out).expect("a file"));
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn whole_weights_that_no_f32_equals_are_rounded_only_when_asked() {
    let folder = Folder::new();
    for (weight, rounded) in [(16_777_217u32, 16_777_216.0), (u32::MAX, 4_294_967_296.0)] {
        let path = folder.write("a.txt", format!("0 1 {weight}\n1 2 16777216\n"));
        let out = folder.path("a.graph500");
        for asked in [WeightsOption::Auto, WeightsOption::U32] {
            let error = to(&path, &out, asked).expect_err("inexact");
            assert_eq!(error.exit_code(), 3, "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("weight {weight}")) && text.contains("--weights f32"), "{text}");
            assert_eq!(std::fs::read_dir(folder.path(".")).expect("a folder").count(), 1, "nothing is left");
        }
        to(&path, &out, WeightsOption::F32).expect("rounded");
        assert_eq!(parsed(&out).0, [(0, 1, rounded), (1, 2, 16_777_216.0)]);
        auto(&path, &folder.path("b.mtx"));
        assert_eq!(parsed(&folder.path("b.mtx")).0[0].2, f64::from(weight));
        for name in ["a.graph500", "a.graph500.weights", "b.mtx"] {
            std::fs::remove_file(folder.path(name)).expect("removed");
        }
    }
}

#[test]
fn f32_have_the_digits_of_the_f64_that_they_are() {
    let folder = Folder::new();
    let weights = ["4294967296", "123456789.5", "1.5", "0.1", "3.4028235e38", "1e-45"];
    let lines: String = weights.iter().enumerate().map(|(nth, w)| format!("{nth} {} {w}\n", nth + 1)).collect();
    let path = folder.write("a.txt", lines);
    for name in ["b.txt", "b.mtx", "b.gr", "b.graph500"] {
        auto(&path, &folder.path(name));
        let found: Vec<f64> = parsed(&folder.path(name)).0.into_iter().map(|(.., weight)| weight).collect();
        assert_eq!(found, weights.map(|w| f64::from(w.parse::<f32>().expect(w))), "{name}");
    }
}

#[test]
fn weights_of_64_bits_go_to_every_format_of_text_and_back() {
    let place = Place::new();
    let lengths = ["0.1", "5e-324", "1.7976931348623157e308", "9007199254740993.0", "1e22", "0.30000000000000004", "0"];
    let costs = ["18446744073709551615", "4294967296", "9007199254740993", "0", "16777217", "1217567877123", "5"];
    let text = |weights: &[&str]| -> String {
        weights.iter().enumerate().map(|(nth, weight)| format!("{nth} {} {weight}\n", nth + 1)).collect()
    };
    place.write("f64.txt", text(&lengths));
    place.write("u64.txt", text(&costs));
    for kind in ["f64", "u64"] {
        let asked = if kind == "f64" { "f64" } else { "auto" };
        let convert = |from: &str, to: &str| place.gpugraph(&["convert", from, to, "--weights", asked]).expect(0);
        let first = format!("{kind}.txt");
        convert(&first, "known.wel");
        let known = std::fs::read_to_string(place.path("known.wel")).expect("text");
        for (line, weight) in known.lines().zip(if kind == "f64" { lengths } else { costs }) {
            let found = line.rsplit(' ').next().expect("a weight");
            match kind {
                "f64" => assert_eq!(found.parse::<f64>(), weight.parse::<f64>(), "{line}"),
                _ => assert_eq!(found, weight),
            }
        }
        for to in ["a.mtx", "a.gr", "a.csv", "a.graph", "a.txt.gz", "a.mtx.zst"] {
            convert(&first, to);
            convert(to, "back.wel");
            let back = std::fs::read_to_string(place.path("back.wel")).expect("text");
            // METIS has each edge from both ends, and an edge is a line of its own from each.
            let lines = |text: &str| -> std::collections::BTreeSet<(u64, u64, String)> {
                let ends = |line: &str| {
                    let words: Vec<&str> = line.split(' ').collect();
                    let [u, v] = [0, 1].map(|nth| words[nth].parse::<u64>().expect(line));
                    (u.min(v), u.max(v), words[2].to_owned())
                };
                text.lines().map(ends).collect()
            };
            assert_eq!(lines(&back), lines(&known), "{to}");
        }
        let said = place.gpugraph(&["convert", &first, "a.graph500", "--weights", asked]).expect(3).err;
        assert!(said.contains("weights that f32 represents exactly") && said.contains("--weights f32"), "{said}");
    }
}

#[test]
fn asked_weights_are_those_written_or_refused() {
    let place = Place::new();
    place.write("w.txt", "0 1 7\n1 2 9\n");
    place.write("d.txt", "0 1 7\n1 2 0.5\n");
    place.write("n.txt", "0 1\n1 2\n");
    place.write("bad.txt", "0 1 1\n1 2 -1\n");
    let text = |name: &str| std::fs::read_to_string(place.path(name)).expect(name);
    for (line, wanted) in [
        (&["w.txt", "o.wel"][..], "0 1 7\n1 2 9\n"),
        (&["w.txt", "o.wel", "--weights", "f32"], "0 1 7.0\n1 2 9.0\n"),
        (&["w.txt", "o.wel", "--weights", "none"], "0\t1\n1\t2\n"),
        (&["d.txt", "o.wel", "--weights", "auto"], "0 1 7.0\n1 2 0.5\n"),
        (&["n.txt", "o.wel"], "0\t1\n1\t2\n"),
        (&["bad.txt", "o.wel", "--weights", "none"], "0\t1\n1\t2\n"),
        (&["w.txt", "o.csv"], "0,1,7\n1,2,9\n"),
        (&["d.txt", "o.tsv"], "0\t1\t7.0\n1\t2\t0.5\n"),
        (&["n.txt", "o.csv"], "0,1\n1,2\n"),
        (&["n.txt", "o.tsv"], "0\t1\n1\t2\n"),
        (&["w.txt", "o.wel", "--columns", "1,2"], "0\t1\n1\t2\n"),
        (&["w.txt", "o.wel", "--columns", "2,1,3"], "1 0 7\n2 1 9\n"),
        (&["w.txt", "o.gr"], "p sp 3 2\na 1 2 7\na 2 3 9\n"),
        (&["n.txt", "o.gr"], "p sp 3 2\na 1 2 1\na 2 3 1\n"),
        (&["w.txt", "o.graph"], "3 2 001\n2 7 \n1 7 3 9 \n2 9 \n"),
        (&["n.txt", "o.graph"], "3 2\n2 \n1 3 \n2 \n"),
    ] {
        place.gpugraph(&[&["convert"], line].concat()).expect(0);
        assert_eq!(text(line[1]), wanted, "{line:?}");
    }
    for (line, code, said) in [
        (&["d.txt", "o.wel", "--weights", "u32"][..], 3, "d.txt:2: expected whole weights below 2^32"),
        (&["bad.txt", "o.wel"], 3, "bad.txt:2: expected weights from 0 on"),
        (&["n.txt", "o.wel", "--weights", "f32"], 2, "n.txt: expected weights, as asked for"),
        (&["w.txt", "o.u32", "--weights", "u32"], 2, "o.u32: u32 can't store weights"),
        (&["w.txt", "o.wel", "--weights", "u16"], 2, "unknown weights \"u16\""),
    ] {
        let before = text("o.wel");
        let error = place.gpugraph(&[&["convert"], line].concat()).expect(code).err;
        assert!(error.contains(said), "{line:?}: {error}");
        assert_eq!(text("o.wel"), before);
    }
}

#[test]
fn weights_of_another_graph_are_not_left_beside_a_new_one() {
    let place = Place::new();
    place.write("w.txt", "0 1 7\n1 2 9\n");
    place.write("n.txt", "0 1\n1 2\n");
    let convert = |line: &[&str], code| place.gpugraph(&[&["convert"], line].concat()).expect(code).err;
    convert(&["w.txt", "a.graph500"], 0);
    let before = std::fs::read(place.path("a.graph500.weights")).expect("weights");
    let said = convert(&["n.txt", "a.graph500"], 2);
    assert!(said.contains("a.graph500.weights: would be taken for the weights"), "{said}");
    let said = convert(&["w.txt", "a.graph500", "--weights", "none"], 2);
    assert!(said.contains("a.graph500.weights: would be taken for the weights"), "{said}");
    // One file would hold the weights of both.
    let said = convert(&["a.graph500", "a.graph500.gz"], 2);
    assert!(said.contains("a.graph500.weights: has the weights of the input"), "{said}");
    assert_eq!(std::fs::read(place.path("a.graph500.weights")).expect("weights"), before);
    place.write("v.txt", "0 1 70\n1 2 90\n5 6 1\n");
    convert(&["v.txt", "a.graph500"], 0);
    assert_eq!(parsed(&place.path("a.graph500")).0, [(0, 1, 70.0), (1, 2, 90.0), (5, 6, 1.0)]);
}

#[test]
fn weights_come_by_a_pipe_too() {
    let place = Place::new();
    place.write("in.txt", "0 1 7\n1 2 9.5\n");
    let mut command = place.command(&["convert", "-", "out.mtx", "--from", "text"]);
    command.stdin(std::fs::File::open(place.path("in.txt")).expect("a file"));
    let ran = command.output().expect("run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(parsed(&place.path("out.mtx")), (vec![(0, 1, 7.0), (1, 2, 9.5)], "real".into()));
}
