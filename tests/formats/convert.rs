//! `convert` between all formats: what goes in comes out.

use crate::gather::Gather;
use crate::support::Place;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use gpugraph::internals::convert::{Converted, Target, convert, convert_as};
use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::formats::unsupported::format_of;
use gpugraph::internals::formats::{FileSearch, Format, Input, TextOptions, Unwatched, Watch, WeightsOption};
use proptest::prelude::*;

/// Of which every line of text is an edge: no first edge is taken for the number of lines that follow.
fn open(path: &Path) -> Input {
    let text = TextOptions { skip_lines: Some(0), ..TextOptions::default() };
    Input::find(&[path.to_owned()], None, FileSearch::default()).unwrap().with_text(text).unwrap()
}

/// In the order of the file.
fn edges(path: &Path) -> Vec<[u64; 2]> {
    let mut visitors = [Gather(vec![])];
    open(path).scan(&mut visitors, &Unwatched).unwrap();
    let [Gather(edges)] = visitors;
    edges
}

fn to(input: &Path, out: &Path) -> Result<Converted> {
    convert(&open(input), out, format_of(out, None)?, 3, &Unwatched)
}

/// METIS with this memory for its lists.
fn metis(memory: u64) -> Target {
    Target { format: Format::Metis, weights: WeightsOption::Auto, memory }
}

#[test]
fn a_symmetric_matrix_stays_one_and_other_formats_say_that_they_have_half() {
    let place = Place::new();
    let entries = "2 1 5\n3 2 4\n3 3 1\n";
    let symmetric = format!("%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n{entries}");
    place.write("s.mtx", &symmetric);
    place.write("once.graph", "3 2\n2\n3\n\n");
    place.write("both.graph", "3 2\n2\n1 3\n2\n");
    // A header that counts each edge at both ends.
    place.write("counted.graph", "3 4\n2\n1 3\n2\n");
    let convert = |from: &str, to: &str| {
        let said = place.gpugraph(&["convert", from, to]).expect(0).err;
        (std::fs::read_to_string(place.path(to)).unwrap(), said.contains("only one direction of each"))
    };
    assert_eq!(convert("s.mtx", "g.mtx"), (symmetric.clone(), false));
    let pattern = |kind: &str, entries: &str| {
        format!("%%MatrixMarket matrix coordinate pattern {kind}\n3 3 {}\n{entries}", entries.lines().count())
    };
    assert_eq!(convert("once.graph", "g.mtx"), (pattern("symmetric", "1 2\n2 3\n"), false));
    for name in ["both.graph", "counted.graph"] {
        assert_eq!(convert(name, "g.mtx"), (pattern("general", "1 2\n2 1\n2 3\n3 2\n"), false));
    }
    assert_eq!(convert("s.mtx", "g.txt"), ("1 0 5\n2 1 4\n2 2 1\n".into(), true));
    assert!(convert("s.mtx", "g.gr").1);
    assert_eq!(convert("once.graph", "g.csv"), ("0,1\n1,2\n".into(), true));
    assert_eq!(convert("both.graph", "g.csv"), ("0,1\n1,0\n1,2\n2,1\n".into(), false));
    assert_eq!(convert("s.mtx", "g.graph"), ("3 2 001\n2 5 \n1 5 3 4 \n2 4 \n".into(), false));
    // A part that is general makes the whole so.
    std::fs::create_dir(place.path("parts")).unwrap();
    place.write("parts/1.mtx", &symmetric);
    place.write("parts/2.mtx", symmetric.replace("symmetric", "general"));
    let (text, warned) = convert("parts", "g.mtx");
    assert!(text.contains("integer general\n3 3 6\n") && warned, "{text}");
}

fn both_ways(edges: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut both: Vec<_> = edges.iter().filter(|[u, v]| u != v).flat_map(|[u, v]| [[*u, *v], [*v, *u]]).collect();
    both.sort_unstable();
    both.dedup();
    both
}

fn write_text(path: &Path, edges: &[[u64; 2]]) {
    std::fs::write(path, edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect::<String>()).unwrap();
}

const NAMES: [&str; 10] =
    ["a.u32", "a.u64", "a.txt", "a.mtx", "a.gr", "a.graph500", "b.txt.gz", "b.u32.zst", "b.mtx.gz", "b.gr.zst"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Through every format, one behind the other, and each back.
    #[test]
    fn round_trips(list in proptest::collection::vec([0u64..50, 0u64..50], 0..200), shuffle in any::<u64>()) {
        // Edges that all end at 0 look like 64-bit ids in a file of pairs, and are refused there.
        prop_assume!(list.iter().any(|[_, v]| *v > 0) || list.iter().all(|[u, _]| *u == 0));
        let folder = tempfile::tempdir().unwrap();
        let mut last = folder.path().join("first.txt");
        write_text(&last, &list);
        for step in 0..NAMES.len() {
            let name = NAMES[(step + shuffle as usize % NAMES.len()) % NAMES.len()];
            let out = folder.path().join(name);
            let done = to(&last, &out).unwrap();
            prop_assert_eq!([done.read, done.written], [list.len() as u64; 2]);
            prop_assert_eq!(done.bytes, std::fs::metadata(&out).unwrap().len());
            prop_assert_eq!(edges(&out), list.clone(), "{}", name);
            last = out;
        }
        for name in ["a.graph", "a.metis.gz"] {
            let out = folder.path().join(name);
            let done = to(&last, &out).unwrap();
            prop_assert_eq!(done.written * 2, both_ways(&list).len() as u64);
            prop_assert_eq!(edges(&out), both_ways(&list));
            let again = folder.path().join("again.graph");
            to(&out, &again).unwrap();
            prop_assert_eq!(edges(&again), both_ways(&list));
        }
    }

    #[test]
    fn wide_ids(list in proptest::collection::vec([any::<u64>(), any::<u64>()], 1..100)) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write_text(&path("a.txt"), &list);
        to(&path("a.txt"), &path("a.u64")).unwrap();
        to(&path("a.u64"), &path("b.txt.zst")).unwrap();
        prop_assert_eq!(edges(&path("b.txt.zst")), list.clone());
        let low: Vec<[u64; 2]> = list.iter().map(|edge| edge.map(|id| id & ((1 << 47) - 1))).collect();
        write_text(&path("a.txt"), &low);
        for name in ["a.graph500", "a.mtx", "a.gr"] {
            to(&path("a.txt"), &path(name)).unwrap();
            prop_assert_eq!(edges(&path(name)), low.clone(), "{}", name);
        }
    }
}

#[test]
fn the_largest_id_goes_wherever_no_header_counts_vertices() {
    let place = Place::new();
    let line = format!("{} 5 7\n", u64::MAX);
    place.write("in.txt", &line);
    let write =
        |name: &str| to(&place.path("in.txt"), &place.path(name)).map(|_| std::fs::read(place.path(name)).unwrap());
    assert_eq!(write("out.txt").unwrap(), line.as_bytes());
    assert!(write("out.npy").unwrap().ends_with(&[u64::MAX.to_le_bytes(), 5u64.to_le_bytes()].concat()));
    for name in ["out.mtx", "out.gr", "out.graph"] {
        assert!(matches!(write(name), Err(Error::Input { .. })), "{name}");
    }
    // Readers of headers accept 2^63 vertices.
    for (id, fits) in [((1u64 << 63) - 1, true), (1 << 63, false)] {
        place.write("in.txt", format!("{id} 5\n"));
        assert_eq!([write("out.mtx").is_ok(), write("out.gr").is_ok()], [fits; 2], "{id}");
    }
    assert!(to(&place.path("out.mtx"), &place.path("back.txt")).is_ok());
}

#[test]
fn metis_out_of_core_is_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let generator = gpugraph::internals::generate::Generator::kronecker(10, 8.0, 1).unwrap();
    let input = Input::generated(generator);
    let mut files: Vec<Vec<u8>> = Vec::new();
    for (memory, threads) in [(1 << 30, 1), (1 << 30, 7), (20_000, 2), (5_000, 3), (1, 2)] {
        let out = folder.path().join("a.graph");
        let done = convert_as(&input, &out, metis(memory), threads, &Unwatched).unwrap();
        assert_eq!(done.read, 8 << 10);
        files.push(std::fs::read(&out).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
    let packed = folder.path().join("a.graph.zst");
    convert_as(&input, &packed, metis(9_000), 2, &Unwatched).unwrap();
    assert_eq!(edges(&packed), edges(&folder.path().join("a.graph")));
}

#[test]
fn larger_than_a_chunk_in_order_and_the_same_for_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let list: Vec<[u64; 2]> = (0..600_000u64).map(|i| [i * 7919 % 1_000_003, i]).collect();
    write_text(&path("a.txt"), &list);
    for (name, format) in
        [("a.u32", Format::U32), ("b.txt.gz", Format::Text), ("a.gr", Format::Gr), ("c.u64.zst", Format::U64)]
    {
        let mut files = [1, 2, 7].map(|threads| {
            convert(&open(&path("a.txt")), &path(name), format, threads, &Unwatched).unwrap();
            std::fs::read(path(name)).unwrap()
        });
        assert_eq!(edges(&path(name)), list, "{name}");
        files.sort();
        assert!(files[0] == files[2], "{name}");
        // and back, from packed parts too
        convert(&open(&path(name)), &path("back.u64"), Format::U64, 3, &Unwatched).unwrap();
        assert_eq!(edges(&path("back.u64")), list, "{name}");
    }
    let both = Input::find(&[path("b.txt.gz"), path("c.u64.zst"), path("a.u32")], None, FileSearch::default()).unwrap();
    convert(&both, &path("all.u64"), Format::U64, 2, &Unwatched).unwrap();
    let three: Vec<[u64; 2]> = [list.as_slice(); 3].concat();
    assert_eq!(edges(&path("all.u64")), three);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    struct Never;
    impl Watch for Never {
        fn advance(&self, _: u64) -> Result<()> {
            Err(Error::Stopped("SIGINT"))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let mut text = "1 2\n".repeat(800_000);
    text.push_str("x\n");
    text.push_str(&"1 2\n".repeat(800_000));
    std::fs::write(path("a.txt"), text).unwrap();
    std::fs::write(path("wide.txt"), "1 4294967296\n").unwrap();
    std::fs::write(path("b.txt"), "1 2\n").unwrap();
    std::fs::write(path("old.u32"), "as it was").unwrap();
    for format in Format::ALL.into_iter().filter(|format| format.is_written()) {
        let error = convert(&open(&path("a.txt")), &path("old.u32"), format, 3, &Unwatched).unwrap_err();
        assert!(error.to_string().contains("a.txt:800001: "), "{error}");
        let error = convert(&open(&path("b.txt")), &path("old.u32"), format, 3, &Never).unwrap_err();
        assert_eq!(error.exit_code(), 75);
    }
    let error = to(&path("wide.txt"), &path("old.u32")).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("4294967296"), "{error}");
    assert_eq!(std::fs::read(path("old.u32")).unwrap(), b"as it was");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4, "no temporary file is left");
    assert_eq!(to(&path("b.txt"), &path("none/a.u32")).unwrap_err().exit_code(), 10);
    for no_file in [folder.path(), Path::new("/dev/null"), Path::new("..")] {
        let error = convert(&open(&path("b.txt")), no_file, Format::U32, 1, &Unwatched).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
    }
}

#[test]
fn a_link_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let link = |to: &Path, name: &str| {
        symlink(to, path(name)).unwrap();
        path(name)
    };
    write_text(&path("in.txt"), &[[1, 2]]);
    std::fs::create_dir(path("other")).unwrap();
    std::fs::write(path("other/old.u32"), "as it was").unwrap();
    link(Path::new("other/old.u32"), "near.u32");
    for (out, written) in [
        (link(Path::new("near.u32"), "twice.u32"), "other/old.u32"),
        (link(&path("other/new.u32"), "dangling.u32"), "other/new.u32"),
    ] {
        to(&path("in.txt"), &out).unwrap();
        assert!(out.is_symlink() && !path(written).is_symlink(), "{written}");
        assert_eq!(edges(&path(written)), [[1, 2]]);
    }
    let nowhere = to(&path("in.txt"), &link(Path::new("none/a.u32"), "nowhere.u32")).unwrap_err();
    assert_eq!(nowhere.exit_code(), 10, "{nowhere}");

    let _socket = UnixListener::bind(path("socket")).unwrap();
    let gone = std::fs::File::create(path("gone")).unwrap();
    std::fs::remove_file(path("gone")).unwrap();
    let nameless = PathBuf::from(format!("/proc/self/fd/{}", gone.as_raw_fd()));
    for (out, found) in [
        (link(Path::new("socket"), "device.u32"), "device"),
        (link(Path::new("other"), "folder.u32"), "a folder"),
        (link(&nameless, "nameless.u32"), "without a name"),
    ] {
        let error = to(&path("in.txt"), &out).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains(found), "{error}");
        assert!(out.is_symlink());
    }
    assert_eq!(std::fs::read_dir(path("other")).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn an_empty_graph_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty.txt"), "# nothing\n").unwrap();
    for name in NAMES.into_iter().chain(["a.graph", "b.u64.gz"]) {
        to(&path("empty.txt"), &path(name)).unwrap();
        assert!(edges(&path(name)).is_empty(), "{name}");
        to(&path(name), &path("back.txt")).unwrap();
    }
}
