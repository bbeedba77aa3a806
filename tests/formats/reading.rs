//! Formats as a user meets them: graphs with known counts, bad files, chunk borders, threads, damage.

use std::collections::HashSet;
use std::path::Path;

use crate::own;
use crate::support::reference_graphs;
use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::formats::{Edges, FileSearch, Format, Input, Scan, Unwatched, Visitor, Watch};

/// Keeps what it gets.
#[derive(Default)]
struct Gather {
    edges: Vec<[u64; 2]>,
    wide: bool,
}

impl Visitor for Gather {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(pairs) => self.edges.extend(pairs.iter().map(|p| p.map(u64::from))),
            Edges::Wide(pairs) => {
                self.wide = true;
                self.edges.extend_from_slice(pairs);
            }
        }
        Ok(())
    }
}

/// All edges, sorted.
fn read(input: &Input, threads: usize) -> Result<(Vec<[u64; 2]>, Scan)> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather::default()).collect();
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|v| v.edges).collect();
    edges.sort_unstable();
    assert_eq!(scan.edges, edges.len() as u64);
    Ok((edges, scan))
}

fn open(path: &Path) -> Input {
    Input::find(&[path.to_owned()], None, FileSearch::default()).unwrap()
}

fn edges(path: &Path) -> Vec<[u64; 2]> {
    read(&open(path), 2).unwrap().0
}

fn simple(edges: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut set: Vec<_> = edges.iter().filter(|[u, v]| u != v).map(|[u, v]| [*u.min(v), *u.max(v)]).collect();
    set.sort_unstable();
    set.dedup();
    set
}

fn error(path: &Path, format: Option<Format>) -> Error {
    match Input::find(&[path.to_owned()], format, FileSearch::default()).and_then(|input| read(&input, 2)) {
        Ok((edges, _)) => panic!("{} was read: {} edges", path.display(), edges.len()),
        Err(error) => error,
    }
}

#[test]
fn manifest() {
    let Some(folder) = reference_graphs() else { return };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |n: usize| fields[n].parse::<usize>().unwrap();
        let all = edges(&folder.join(fields[0]));
        let nodes = all.iter().flatten().collect::<HashSet<_>>().len();
        let loops = all.iter().filter(|[u, v]| u == v).count();
        let found = [all.len(), loops, nodes, simple(&all).len()];
        assert_eq!(found, [number(2), number(3), number(4), number(5)], "{}", fields[0]);
        seen += 1;
    }
    assert!(seen > 20);
}

#[test]
fn bad_files_of_others() {
    let Some(folder) = reference_graphs() else { return };
    let expected = std::fs::read_to_string(folder.join("bad/EXPECTED.tsv")).unwrap();
    for line in expected.lines().skip(1) {
        let name = line.split('\t').next().unwrap();
        let error = error(&folder.join("bad").join(name), None);
        let text = error.to_string();
        println!("{text}");
        assert_eq!(error.exit_code(), 3, "{text}");
        let behind = text.split_once(name).expect("the file is named").1;
        let place =
            behind.starts_with(": ") || behind.starts_with(" at byte ") || behind[1..].starts_with(char::is_numeric);
        assert!(place && text.contains("expected") && text.contains("found") && text.contains("; "), "{text}");
        assert!(!text.contains('\n'), "{text}");
        let whole_file = behind.starts_with(": ");
        assert!(!whole_file, "{text}: no line or offset");
    }
}

#[test]
fn odd_but_valid() {
    let Some(folder) = reference_graphs() else { return };
    let same = |a: &str, b: &str| {
        let simple_of = |name: &str| simple(&edges(&folder.join(name)));
        assert_eq!(simple_of(a), simple_of(b), "{a} {b}");
    };
    same("odd_but_valid/cover.mtx", "odd_but_valid/comments_cover.mtx");
    same("odd_but_valid/west0067.mtx", "odd_but_valid/comments_west0067.mtx");
    assert_eq!(
        edges(&folder.join("odd_but_valid/west0067.mtx")),
        edges(&folder.join("odd_but_valid/west0067_jumbled.mtx"))
    );
    for other in ["4.gr", "4.graph", "4.mtx", "4.wel", "4w.graph", "4w.mtx"] {
        same("gapbs/4.el", &format!("gapbs/{other}"));
    }
    let packed = edges(&folder.join("graph500/scale_8.graph500"));
    assert_eq!(packed.len(), 16 << 8);
    assert!(packed.iter().flatten().all(|id| *id < 256));
}

/// Every tiny file and whether it holds the edges as they stand (METIS holds the simple graph, both ways).
const SMALL: [(&str, bool); 12] = [
    ("small.txt", true),
    ("small.csv", true),
    ("small.wel", true),
    ("small.mtx", true),
    ("small.gr", true),
    ("small.u32", true),
    ("small.u64", true),
    ("small.graph500", true),
    ("small.txt.gz", true),
    ("small.csv.zst", true),
    ("small.graph", false),
    ("weighted.graph", false),
];

const EDGES: [[u64; 2]; 10] = [[0, 1], [1, 0], [0, 2], [1, 2], [2, 2], [2, 3], [3, 4], [4, 5], [3, 5], [5, 0]];

fn both_ways(edges: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut both: Vec<_> = simple(edges).into_iter().flat_map(|[u, v]| [[u, v], [v, u]]).collect();
    both.sort_unstable();
    both
}

#[test]
fn every_chunk_size_and_thread_count() {
    let mut sorted = EDGES.to_vec();
    sorted.sort_unstable();
    for (name, as_it_stands) in SMALL {
        let want = if as_it_stands { sorted.clone() } else { both_ways(&EDGES) };
        let input = open(&own(name));
        let reference = read(&input, 1).unwrap();
        assert_eq!(reference.0, want, "{name}");
        assert!(input.estimate_edges().unwrap() > 0, "{name}");
        for chunk in (1..=40).chain([64, 100, 1000]) {
            let input = open(&own(name)).with_chunk(chunk);
            let one = read(&input, 1).unwrap();
            assert_eq!(one.0, want, "{name} in chunks of {chunk}");
            for threads in [2, 7] {
                assert_eq!(read(&input, threads).unwrap(), one, "{name} in chunks of {chunk} by {threads}");
            }
        }
        let declared = reference.1.declared_vertices;
        let header = name.ends_with("mtx") || name.ends_with("gr") || name.ends_with("graph");
        assert_eq!(declared, header.then_some(7), "{name}");
    }
}

#[test]
fn larger_files_by_any_number_of_threads() {
    let Some(folder) = reference_graphs() else { return };
    for name in [
        "networkit/power.graph",
        "snap/wiki-Vote.txt",
        "libgrape/p2p-31.e",
        "dimacs/rome99.gr",
        "lagraph/jagmesh7.mtx",
        "snap/ca-AstroPh.txt.gz",
    ] {
        for chunk in [4099, 64 << 10, 8 << 20] {
            let input = open(&folder.join(name)).with_chunk(chunk);
            let one = read(&input, 1).unwrap();
            assert_eq!(read(&input, 2).unwrap(), one, "{name}");
            assert_eq!(read(&input, 7).unwrap(), one, "{name}");
        }
    }
}

#[test]
fn several_files_are_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut want = Vec::new();
    for (index, (name, as_it_stands)) in SMALL.iter().enumerate() {
        std::fs::copy(own(name), folder.path().join(format!("{index:02}.{name}"))).unwrap();
        want.extend(if *as_it_stands { EDGES.to_vec() } else { both_ways(&EDGES) });
    }
    want.sort_unstable();
    let input = Input::find(&[folder.path().to_owned()], None, FileSearch::default()).unwrap();
    assert_eq!(input.parts().len(), SMALL.len());
    let one = read(&input, 1).unwrap();
    assert_eq!(one.0, want);
    for threads in [2, 3, 7] {
        assert_eq!(read(&input, threads).unwrap(), one);
        assert_eq!(read(&input.clone().with_chunk(13), threads).unwrap().0, want);
    }
    let mut ordered = [Gather::default()];
    input.scan_ordered(&mut ordered, &Unwatched).unwrap();
    ordered[0].edges.sort_unstable();
    assert_eq!(ordered[0].edges, want);
    // a swapped pair of parts is another input
    std::fs::rename(folder.path().join("00.small.txt"), folder.path().join("99.small.txt")).unwrap();
    let swapped = Input::find(&[folder.path().to_owned()], None, FileSearch::default()).unwrap();
    assert_ne!(read(&swapped, 2).unwrap().1.checksum, one.1.checksum);
    assert_ne!(swapped.identity().unwrap(), input.clone().identity().unwrap_or(0));
}

#[test]
fn no_part_is_left_out_because_it_cannot_be_read() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "1 2\n2 3\n").unwrap();
    let link = folder.path().join("b.txt");
    std::os::unix::fs::symlink(folder.path().join("gone"), &link).unwrap();
    for path in [folder.path().to_owned(), folder.path().join("*.txt")] {
        let error = error(&path, None);
        assert_eq!((error.exit_code(), error.to_string().contains("b.txt")), (3, true), "{error}");
    }
    std::fs::remove_file(link).unwrap();
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.txt"));
    std::fs::write(odd, "1 3\n").unwrap();
    for path in [folder.path().to_owned(), folder.path().join("*.txt")] {
        assert_eq!(edges(&path), [[1, 2], [1, 3], [2, 3]]);
    }
}

#[test]
fn identity_follows_the_contents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.u32");
    std::fs::copy(own("small.u32"), &path).unwrap();
    let (identity, checksum) = (open(&path).identity().unwrap(), read(&open(&path), 1).unwrap().1.checksum);
    assert_eq!(open(&path).identity().unwrap(), identity);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[17] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    assert_ne!(open(&path).identity().unwrap(), identity);
    assert_ne!(read(&open(&path), 1).unwrap().1.checksum, checksum);
}

/// Writes `contents` under `name`, reads it, and gives the message.
fn message(name: &str, contents: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, contents).unwrap();
    let first = error(&path, None);
    assert_eq!(first.exit_code(), 3, "{first}");
    let text = first.to_string();
    for (chunk, threads) in [(1, 3), (5, 1), (16, 7)] {
        let again = read(&open(&path).with_chunk(chunk), threads).unwrap_err().to_string();
        assert_eq!(again, text);
    }
    let shown = text.strip_prefix(folder.path().to_str().unwrap()).unwrap()[1..].to_owned();
    println!("{shown}");
    shown
}

/// METIS lists of a ring of `n` vertices, of which vertex `odd` lists another neighbour.
fn ring(n: u64, odd: u64) -> String {
    let line = |v: u64| format!("{} {}\n", (v + n - 2) % n + 1, if v == odd { (v + 7) % n + 1 } else { v % n + 1 });
    format!("{n} {n}\n{}", (1..=n).map(line).collect::<String>())
}

#[test]
fn lists_without_direction_are_symmetric_or_refused() {
    // Each edge once is a graph without direction, and not one with it.
    let folder = tempfile::tempdir().unwrap();
    let once = folder.path().join("a.graph");
    std::fs::write(&once, "3 2\n2\n3\n\n").unwrap();
    assert_eq!(edges(&once), [[0, 1], [1, 2]]);
    let followed = open(&once).with_direction();
    let text = read(&followed, 2).unwrap_err().to_string();
    assert!(text.contains("a.graph:2: ") && text.contains("directed = false"), "{text}");
    std::fs::write(&once, "3 2\n2\n3 1\n2\n").unwrap();
    assert_eq!(read(&open(&once).with_direction(), 2).unwrap().0.len(), 4);

    // Packed, the same; and a larger one takes several passes.
    let text = ring(70_000, 60_000);
    let packed = folder.path().join("b.graph.zst");
    std::fs::write(&packed, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let said = error(&packed, None).to_string();
    assert!(said.contains("b.graph.zst:60002: ") && said.contains("60000 in the list of vertex 60001"), "{said}");

    let sg = |lists: &[&[u32]]| {
        let count: usize = lists.iter().map(|list| list.len()).sum();
        let mut bytes = vec![0];
        let mut ends = vec![count as u64, lists.len() as u64, 0];
        lists.iter().for_each(|list| ends.push(ends.last().unwrap() + list.len() as u64));
        bytes.extend(ends.into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(lists.concat().into_iter().flat_map(u32::to_le_bytes));
        bytes
    };
    let path = folder.path().join("a.sg");
    std::fs::write(&path, sg(&[&[1], &[0, 2], &[1, 2]])).unwrap();
    assert_eq!(edges(&path).len(), 5);
    std::fs::write(&path, sg(&[&[1], &[0, 2], &[0, 2]])).unwrap();
    let said = error(&path, None).to_string();
    assert!(said.contains("a.sg: ") && said.contains("0 in the list of vertex 2"), "{said}");
}

#[test]
fn mistakes_are_named_with_their_line() {
    let many = "1 2\n".repeat(100);
    for (name, contents, want) in [
        ("a.txt", format!("# c\n{many}\n1 -2\n{many}x"), "a.txt:103: "),
        ("a.txt", "1 2\n3\n".into(), "a.txt:2: "),
        ("a.txt", "1 2\n3 4.5\n".into(), "a.txt:2: "),
        ("a.txt", "1 2\n3 4x\n".into(), "a.txt:2: "),
        ("a.txt", "1 2 x\n".into(), "a.txt:1: "),
        // adjacency lists, which are no edges with weights
        ("a.txt", "0 1 2\n1 2\n2 3\n3 0\n".into(), "a.txt:2: "),
        ("a.txt", "0 1\n1 2 3\n".into(), "a.txt:2: "),
        ("a.txt", "1 2\n\n\n1 18446744073709551616".into(), "a.txt:4: "),
        ("a.txt", "hello\nworld\n".into(), "a.txt:1: "),
        ("a.txt", "hello\n".into(), "a.txt:1: "),
        ("a.csv", "a,b\nc,d\n".into(), "a.csv:1: "),
        ("a.csv", "1,,2\n".into(), "a.csv:1: "),
        ("a.csv", "-1,2\n".into(), "a.csv:1: "),
        ("a.txt", "nan 5\n1 2\n".into(), "a.txt:1: "),
        ("a.tsv", "from\t7\n1\t2\n".into(), "a.tsv:1: "),
        // lines as old Macs ended them: the first comment would hide all edges, and edges be one
        ("a.txt", "# c\r1 2\r2 3\r".into(), "a.txt:1: "),
        ("a.txt", "1 2\n% c\r1 3\n2 3\n".into(), "a.txt:2: "),
        ("a.csv", "1,2\r2,3\r".into(), "a.csv:1: "),
        ("a.txt", "1 2\n2\r3\n".into(), "a.txt:2: "),
        ("a.txt", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n".into(), "a.txt:1: "),
        ("a.mtx", "1 2\n3 4\n".into(), "a.mtx:1: "),
        ("a.mtx", "".into(), "a.mtx: "),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n".into(), "a.mtx:2: "),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 3\n".into(), "a.mtx:3: "),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n0 2\n".into(), "a.mtx:3: "),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n\n%\n4 2\n".into(), "a.mtx:5: "),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n".into(), "a.mtx: "),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n1 3\n".into(), "a.mtx: "),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n3 3 18446744073709551615\n1 2\n".into(),
            "a.mtx: ",
        ),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 x\n".into(), "a.mtx:3: "),
        ("a.gr", "c x\n".into(), "a.gr:2: "),
        ("a.gr", "a 1 2 3\n".into(), "a.gr:1: "),
        ("a.gr", "p sp 3 2\na 1 2 3\na 1 4 1\n".into(), "a.gr:3: "),
        ("a.gr", "p sp 3 2\na 1 2 3\nb 1 2 1\n".into(), "a.gr:3: "),
        ("a.gr", "p sp 3 2\na 1 2 3\n1 2 1\n".into(), "a.gr:3: "),
        ("a.gr", "p sp 3 2\na 1 2\n".into(), "a.gr:2: "),
        ("a.gr", "p sp 3 2\na 1 2 3\np sp 3 2\n".into(), "a.gr:3: "),
        ("a.gr", "p sp 3 2\na 1 2 3\n".into(), "a.gr: "),
        ("a.graph", "".into(), "a.graph: "),
        ("a.graph", "x\n".into(), "a.graph:1: "),
        ("a.graph", "%\n2 1\n2\n".into(), "a.graph: "),
        ("a.graph", "2 1\n2\n1\n2\n".into(), "a.graph:4: "),
        ("a.graph", "2 1\n2\n\n\n3\n".into(), "a.graph:5: "),
        ("a.graph", "2 1\n3\n1\n".into(), "a.graph:2: "),
        ("a.graph", "2 1\n0\n1\n".into(), "a.graph:2: "),
        ("a.graph", "2 2\n2\n\n".into(), "a.graph: "),
        ("a.graph", "2 1 1\n2 1\n1\n".into(), "a.graph:3: "),
        ("a.graph", "2 1 10\n1 2\nx 1\n".into(), "a.graph:3: "),
        ("a.graph", "2 1 10\n1 2\n\n".into(), "a.graph:3: "),
        ("a.graph", "2 1 2\n2\n1\n".into(), "a.graph:1: "),
        ("a.graph", "2 1 110 18446744073709551615\n2\n1\n".into(), "a.graph:1: "),
        // an edge in one list alone, or in one more often: that of the smallest pair of ids is named
        ("a.graph", "4 3\n2\n1 3\n4\n3 1\n".into(), "a.graph:5: "),
        ("a.graph", "% c\n4 3\n2\n%x\n1 3\n4\n3 1\n".into(), "a.graph:7: "),
        ("a.graph", "3 3\n2 2 3\n1 3\n2\n".into(), "a.graph:2: "),
        ("a.graph", "2 2 1\n2 7 2 7\n1 7 2 7\n".into(), "a.graph:2: "),
        ("a.graph", ring(300, 151), "a.graph:153: "),
        ("a.u32", "12345678abc".into(), "a.u32 at byte 8: "),
        ("a.u64", "12345678".into(), "a.u64 at byte 0: "),
        ("a.graph500", "123456789012345".into(), "a.graph500 at byte 0: "),
        ("a.graph500", "123456789\u{1}2\u{1}1234\u{0}\u{0}7890123!".into(), "a.graph500 at byte 24: "),
        ("a.txt", format!("1 2\n{}\n", "1".repeat(3 << 20)), "a.txt:2: "),
    ] {
        let text = message(name, contents.as_bytes());
        assert!(text.starts_with(want), "{contents:?} gives {text}, not {want}");
        assert!(text.contains("expected") && text.contains("found") && text.contains("; "), "{text}");
    }
    assert!(message("a.graph500", &[255; 24]).starts_with("a.graph500 at byte 0: "));
    assert!(message("a.txt", &[0, 1, 2, 3, 255, 254]).starts_with("a.txt:1: "));
}

#[test]
fn what_is_no_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let reads = |name: &str, contents: &str, want: &[[u64; 2]]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        assert_eq!(edges(&path), want, "{name} {contents:?}");
        let (again, _) = read(&open(&path).with_chunk(3), 3).unwrap();
        assert_eq!(again, want, "{name} {contents:?}");
    };
    let big = u64::MAX;
    for empty in ["a.txt", "a.u32", "a.u64", "a.graph500", "a.csv"] {
        reads(empty, "", &[]);
    }
    reads("a.txt", "\n\n# 1 2\n  % 3\n", &[]);
    reads("a.txt", "\u{feff}1 2\n", &[[1, 2]]);
    reads("a.txt", &format!("1 {big}"), &[[1, big]]);
    reads("a.txt", " 1 2 \r\n\t3,4\r\n5;6 \n", &[[1, 2], [3, 4], [5, 6]]);
    reads("a.txt", " 1 2 7\r\n\t3,4,0\r\n5;6 ; 1e-3\n7 , 8,-2\n", &[[1, 2], [3, 4], [5, 6], [7, 8]]);
    reads("a.csv", "\"from\",\"to\",\"weight\"\n1,2,nan\n", &[[1, 2]]);
    reads("b.csv", "from,to\n", &[]);
    reads("a.txt", "from to\n0000000000000000000000001 2\n", &[[1, 2]]);
    reads("a.mtx", "%%matrixmarket MATRIX Coordinate Pattern General\n0 0 0\n", &[]);
    reads("a.mtx", "%%MatrixMarket matrix coordinate real symmetric \r\n 2 2 1 \r\n 2 1 -1e3 \r\n", &[[1, 0]]);
    reads("a.gr", "p sp 0 0\n", &[]);
    reads("a.gr", "c\np sp 2 1\n a\t2 1  5 \r\nc end", &[[1, 0]]);
    reads("a.graph", "0 0\n", &[]);
    reads("a.graph", "3 1 0\n\n3\n2", &[[1, 2], [2, 1]]);
    reads("a.graph", "3 1\n2\n\n\n\n\n", &[[0, 1]]);
    // what GAP writes for a graph without sizes, and a graph that has them
    reads("a.graph", "3 1 100\n2 \n\n\n", &[[0, 1]]);
    reads("a.graph", "3 1 100\n9 2\n9 1\n9\n", &[[0, 1], [1, 0]]);
}

#[test]
fn a_format_that_does_not_fit() {
    let formats = [Format::Text, Format::Mtx, Format::Metis, Format::Gr];
    for (name, _) in SMALL {
        let fits = Format::by_ending(Path::new(name)).unwrap();
        for format in formats.into_iter().filter(|format| *format != fits) {
            if (name, format) == ("small.graph", Format::Text) {
                continue; // its lines have two or three numbers, so it is an edge list, too
            }
            let error = error(&own(name), Some(format));
            assert_eq!(error.exit_code(), 3, "{name} as {format}: {error}");
        }
    }
    for (name, _) in SMALL.iter().filter(|(name, _)| Format::by_ending(Path::new(name)).unwrap().record().is_none()) {
        for format in [Format::U32, Format::U64, Format::Graph500] {
            let text = error(&own(name), Some(format)).to_string();
            assert!(text.contains("at byte 0: ") && text.contains("found text"), "{text}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(own("small.txt.gz"), folder.path().join("a.txt")).unwrap();
    assert!(error(&folder.path().join("a.txt"), None).to_string().contains("ending .gz"));
}

#[test]
fn damaged_packed_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["small.txt.gz", "small.csv.zst"] {
        let whole = std::fs::read(own(name)).unwrap();
        let path = folder.path().join(name);
        let reference = edges(&own(name));
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            match Input::find(std::slice::from_ref(&path), None, FileSearch::default())
                .and_then(|input| read(&input, 1 + length % 2))
            {
                Err(error) => {
                    let text = error.to_string();
                    assert_eq!(error.exit_code(), 3, "{text}");
                    assert!(text.contains(" at byte ") || text.contains(".txt.gz:"), "{name} cut at {length}: {text}");
                }
                // the first member is whole, and ends at the end of a line or of what looks like an id
                Ok((_, _)) => assert!(name.ends_with("gz") && length > 60 && length < 100, "{name} cut at {length}"),
            }
        }
        for flip in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[flip] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            // header fields such as the time may change without harm; anything else is found out
            if let Ok((edges, _)) =
                Input::find(std::slice::from_ref(&path), None, FileSearch::default()).and_then(|input| read(&input, 2))
            {
                assert_eq!(edges, reference, "{name} flipped at {flip}");
            }
        }
        let mut longer = whole.clone();
        longer.extend_from_slice(b"garbage");
        std::fs::write(&path, &longer).unwrap();
        assert_eq!(error(&path, None).exit_code(), 3);
    }
}

#[test]
fn truncated_large_packed_files_name_the_offset() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..400_000u64).map(|i| format!("{} {}\n", i * i % 1_000_003, i)).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    for (name, whole) in
        [("a.txt.gz", gzip.finish().unwrap()), ("a.txt.zst", zstd::encode_all(text.as_bytes(), 1).unwrap())]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, &whole).unwrap();
        let (edges, scan) = read(&open(&path), 3).unwrap();
        assert_eq!(edges.len(), 400_000);
        assert_eq!(read(&open(&path), 1).unwrap().1, scan);
        let estimate = open(&path).estimate_edges().unwrap();
        assert!((300_000..500_000).contains(&estimate), "{name}: {estimate}");
        for length in [whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            for threads in [1, 2, 5] {
                let text = read(&open(&path), threads).unwrap_err().to_string();
                let offset: usize = text.split(" at byte ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
                assert!(offset <= length && length - offset < 1 << 20, "{length}: {text}");
            }
        }
    }
}

struct Meter(std::sync::atomic::AtomicU64, u64);

impl Watch for Meter {
    fn advance(&self, bytes: u64) -> Result<()> {
        let before = self.0.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        if before + bytes > self.1 { Err(Error::Stopped("SIGTERM")) } else { Ok(()) }
    }
}

#[test]
fn progress_sums_to_the_size_and_can_stop() {
    for (name, _) in SMALL {
        let input = open(&own(name)).with_chunk(16);
        let meter = Meter(0.into(), u64::MAX);
        input.scan(&mut [Gather::default(), Gather::default()], &meter).unwrap();
        assert_eq!(meter.0.into_inner(), input.bytes(), "{name}");
        let meter = Meter(0.into(), 20);
        let error = input.scan(&mut [Gather::default(), Gather::default()], &meter).unwrap_err();
        assert_eq!(error.exit_code(), 75, "{name}");
    }
}

#[test]
fn a_file_that_was_truncated_since_it_was_opened_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in [("a.txt", &b"0 1\n"[..]), ("a.graph", b"2 1\n2\n1\n"), ("a.u32", &[0; 8])] {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        let input = open(&path);
        std::fs::write(&path, "").unwrap();
        let text = read(&input, 2).unwrap_err().to_string();
        assert!(text.contains(" bytes, as when the input was opened") && text.contains("found 0 bytes"), "{text}");
    }
}

#[test]
fn ids_are_narrow_while_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    for (text, wide) in [("1 4294967295\n", false), ("1 4294967296\n", true)] {
        std::fs::write(&path, text).unwrap();
        let mut visitors = [Gather::default()];
        open(&path).scan(&mut visitors, &Unwatched).unwrap();
        assert_eq!(visitors[0].wide, wide, "{text}");
    }
    assert!(!open(&own("small.u32")).wide());
    assert!(open(&own("small.u64")).wide());
}

#[test]
fn a_zstd_frame_that_needs_more_memory_than_was_reckoned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt.zst");
    let text = "1 2\n".repeat(10 << 20);
    let frame = |log: u32| {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        std::io::copy(&mut text.as_bytes(), &mut encoder).unwrap();
        encoder.finish().unwrap()
    };
    std::fs::write(&path, [frame(26), frame(25)].concat()).unwrap();
    let input = open(&path);
    assert_eq!(read(&input, 2).unwrap().0.len(), 20 << 20);
    let with_long = input.scratch_bytes(2);
    std::fs::write(&path, [frame(20), frame(25)].concat()).unwrap();
    assert!(open(&path).scratch_bytes(2) + (50 << 20) < with_long);
    let text = error(&path, None).to_string();
    assert!(text.contains(" at byte ") && text.contains("at most 8 MiB"), "{text}");
}
