//! numpy's arrays and archives and GAP's serialized graphs, as numpy, scipy and that suite's layout have them. The files are
//! Zachary's karate club: 78 edges, 45 triangles.

use crate::gather::Gather;
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{Edges, FileSearch, Format, Input, Share, Unwatched, Visitor};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files with each edge once as networkx has it, those with each edge in an order of their own, and those that name it from both ends.
const AS_IT_STANDS: [&str; 13] = [
    "rows-i8.npy",
    "rows-u4.npy",
    "rows-i4.npy",
    "rows-u1.npy",
    "rows-big-i2.npy",
    "rows-big-u8.npy",
    "columns-i8.npy",
    "columns-fortran-i4.npy",
    "rows-fortran-u2.npy",
    "columns-big-i1.npy",
    "edge_index.npz",
    "edge_index-packed.npz",
    "only.npz",
];
const BOTH_WAYS: [&str; 11] = [
    "csr.npz",
    "csr-stored.npz",
    "csr-array.npz",
    "csc.npz",
    "csc-stored.npz",
    "csc-array.npz",
    "coo.npz",
    "coo-stored.npz",
    "coo-array.npz",
    "undirected.sg",
    "undirected.wsg",
];
const DIRECTED: [&str; 2] = ["directed.sg", "directed.wsg"];

fn own(name: &str) -> PathBuf {
    crate::own("arrays").join(name)
}

fn scan(path: &Path, chunk: usize, threads: usize) -> Result<(Vec<[u64; 2]>, Option<u64>, u64)> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather(vec![])).collect();
    let input = Input::find(&[path.to_owned()], None, FileSearch::default())?.with_chunk(chunk);
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|v| v.0).collect();
    edges.sort_unstable();
    assert_eq!(scan.edges, edges.len() as u64);
    Ok((edges, scan.declared_vertices, scan.checksum))
}

/// The club's edges as `karate.txt` has them, which is another producer's file.
fn karate() -> Vec<[u64; 2]> {
    let text = std::fs::read_to_string(own("../karate.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(['#', '%']));
    let mut edges: Vec<_> = lines
        .map(|line| {
            let ids: Vec<u64> = line.split_whitespace().map(|id| id.parse().unwrap()).collect();
            [ids[0].min(ids[1]), ids[0].max(ids[1])]
        })
        .collect();
    let least = *edges.iter().flatten().min().unwrap();
    edges.iter_mut().flatten().for_each(|id| *id -= least);
    edges.sort_unstable();
    assert_eq!(edges.len(), 78);
    edges
}

fn both_ways() -> Vec<[u64; 2]> {
    let mut both: Vec<_> = karate().into_iter().flat_map(|[u, v]| [[u, v], [v, u]]).collect();
    both.sort_unstable();
    both
}

fn wanted(name: &str) -> Vec<[u64; 2]> {
    if BOTH_WAYS.contains(&name) { both_ways() } else { karate() }
}

#[test]
fn every_array_is_the_graph_that_was_saved() {
    for name in AS_IT_STANDS.into_iter().chain(BOTH_WAYS).chain(DIRECTED) {
        let path = own(name);
        let want = wanted(name);
        let whole = scan(&path, 8 << 20, 1).unwrap();
        assert_eq!(whole.0, want, "{name}");
        let declares = !AS_IT_STANDS.contains(&name);
        assert_eq!(whole.1, declares.then_some(34), "{name}");
        for chunk in [1, 7, 64, 100, 1000] {
            for threads in [1, 3] {
                assert_eq!(scan(&path, chunk, threads).unwrap().0, want, "{name} in chunks of {chunk} by {threads}");
            }
        }
        assert_eq!(scan(&path, 8 << 20, 3).unwrap(), whole, "{name}");
        let input = Input::find(&[path], None, FileSearch::default()).unwrap();
        assert_eq!(input.estimate_edges().unwrap(), want.len() as u64, "{name}");
    }
}

#[test]
fn ranks_share_what_can_be_shared_and_every_edge_comes_to_one() {
    for name in AS_IT_STANDS.into_iter().chain(BOTH_WAYS).chain(DIRECTED) {
        let input = Input::find(&[own(name)], None, FileSearch::default()).unwrap().with_chunk(64);
        let mut edges = Vec::new();
        for rank in 0..3 {
            let mut visitors = [Gather(vec![]), Gather(vec![])];
            input
                .scan_share(
                    Share::of(rank, 3),
                    gpugraph::internals::formats::CacheUse::Nothing,
                    &mut visitors,
                    &Unwatched,
                )
                .unwrap();
            edges.extend(visitors.into_iter().flat_map(|v| v.0));
        }
        edges.sort_unstable();
        assert_eq!(edges, wanted(name), "{name}");
    }
}

#[test]
fn packed_arrays() {
    let folder = tempfile::tempdir().unwrap();
    for name in AS_IT_STANDS.into_iter().chain(BOTH_WAYS).chain(DIRECTED).filter(|name| !name.ends_with("npz")) {
        let contents = std::fs::read(own(name)).unwrap();
        let (gz, zst) = (folder.path().join(format!("{name}.gz")), folder.path().join(format!("{name}.zst")));
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::new(6));
        encoder.write_all(&contents).unwrap();
        std::fs::write(&gz, encoder.finish().unwrap()).unwrap();
        std::fs::write(&zst, zstd::encode_all(contents.as_slice(), 3).unwrap()).unwrap();
        for path in [&gz, &zst] {
            assert_eq!(scan(path, 8 << 20, 2).unwrap().0, wanted(name), "{}", path.display());
            assert_eq!(scan(path, 64, 1).unwrap().0, wanted(name), "{}", path.display());
        }
        // bytes behind the array, and an array cut short, in a stream that is whole
        for wrong in [[contents.clone(), vec![0; 8]].concat(), contents[..contents.len() - 4].to_vec()] {
            std::fs::write(&zst, zstd::encode_all(wrong.as_slice(), 3).unwrap()).unwrap();
            assert_eq!(scan(&zst, 8 << 20, 2).unwrap_err().exit_code(), 3, "{name}");
        }
    }
    let path = folder.path().join("a.npz.gz");
    std::fs::write(&path, b"whatever").unwrap();
    assert!(scan(&path, 64, 1).unwrap_err().to_string().contains("unpack it"));
}

#[test]
fn what_is_no_graph_is_refused_with_its_place_and_what_to_do() {
    for (name, found) in [
        ("bad-f8.npy", "floats (<f8)"),
        ("bad-bool.npy", "truth values"),
        ("bad-c8.npy", "complex"),
        ("bad-three.npy", "[5, 3]"),
        ("bad-flat.npy", "[6]"),
        ("bad-negative-i4.npy", "at byte 452: "),
        ("bad-negative-i8.npy", "at byte 776: "),
        ("bad-negative-columns.npy", "at byte 1072: "),
        ("bad-negative-big-i2.npy", "at byte 290: "),
        ("bad-rectangle.npz", "[3, 4]"),
        ("bad-names.npz", "arrays named x, y"),
        ("bad-bsr.npz", "\"bsr\""),
    ] {
        let error = scan(&own(name), 8 << 20, 2).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.exit_code(), 3, "{name}: {text}");
        assert!(text.contains(found) && text.contains("; ") && !text.contains('\n'), "{name}: {text}");
        assert_eq!(name.contains("c8"), text.contains("numpy.stack([z.real, z.imag], 1)"), "{name}: {text}");
        assert!(!name.contains("negative") || text.contains("found -3"), "{name}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    // a name that a terminal would take for a command
    let mut bytes = std::fs::read(own("bad-names.npz")).unwrap();
    for at in 0..bytes.len() - 5 {
        if bytes[at..].starts_with(b"x.npy") {
            bytes[at] = 0x1b;
        }
    }
    let path = folder.path().join("a.npz");
    std::fs::write(&path, bytes).unwrap();
    let text = scan(&path, 8 << 20, 2).unwrap_err().to_string();
    assert!(text.contains("arrays named ?, y"), "{text:?}");
    // a directory that claims more than there is
    let mut bytes = std::fs::read(own("edge_index.npz")).unwrap();
    let at = (0..bytes.len() - 4).rfind(|&at| bytes[at..].starts_with(b"PK\x01\x02")).unwrap();
    bytes[at + 24..at + 28].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let text = scan(&path, 8 << 20, 2).unwrap_err().to_string();
    assert!(text.contains("bytes at most in the member") && text.contains("2147483647"), "{text:?}");
    // saved under a name of another format
    for (from, name, remedy) in
        [("rows-i8.npy", "a.bin", ".npy"), ("rows-i8.npy", "a.txt", ".npy"), ("csr.npz", "a.u64", ".npz")]
    {
        let path = folder.path().join(name);
        std::fs::copy(own(from), &path).unwrap();
        let text = scan(&path, 8 << 20, 1).unwrap_err().to_string();
        assert!(text.contains(remedy), "{text}");
    }
}

#[test]
fn any_byte_that_is_changed_gives_a_graph_or_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "rows-i8.npy",
        "columns-i8.npy",
        "csr.npz",
        "coo-stored.npz",
        "edge_index.npz",
        "directed.sg",
        "undirected.wsg",
    ] {
        let contents = std::fs::read(own(name)).unwrap();
        let path = folder.path().join(name);
        let checked = name.ends_with("npz");
        let want = wanted(name);
        let mut state = 7u64;
        for round in 0..400 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % contents.len();
            let mut changed = contents.clone();
            match round % 4 {
                0 => changed.truncate(at),
                1 => changed[at] = (state >> 20) as u8,
                2 => changed[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
                _ => changed[at] ^= 1 << (state % 8),
            }
            std::fs::write(&path, &changed).unwrap();
            let plan = Input::find(std::slice::from_ref(&path), None, FileSearch::default())
                .and_then(|input| input.estimate_edges());
            assert!(plan.is_ok_and(|edges| edges <= 1040 * contents.len() as u64), "{name}: an estimate");
            match scan(&path, 64, 2) {
                // what an archive's checksums cover can't change unseen; its header has a second copy that is not read
                Ok((found, ..)) => assert!(!checked || found == want, "{name}: byte {at} in round {round}"),
                Err(error) => assert_eq!(error.exit_code(), 3, "{name}: {error}"),
            }
        }
    }
}

/// A `.npy` header of this shape and nothing behind it.
fn header(kind: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (text.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes
}

#[test]
fn hostile_headers_allocate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    for shape in [
        "(18446744073709551615, 2)",
        "(9223372036854775808, 2)",
        "(2, 1152921504606846976)",
        "(99999999999999999999, 2)",
        "(1, 2",
        "(-1, 2)",
    ] {
        std::fs::write(&path, header("<i8", shape)).unwrap();
        let error = scan(&path, 8 << 20, 2).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{shape}: {error}");
    }
    for empty in ["(0, 2)", "(2, 0)"] {
        std::fs::write(&path, header("<i8", empty)).unwrap();
        assert_eq!(scan(&path, 8 << 20, 2).unwrap().0, Vec::<[u64; 2]>::new(), "{empty}");
    }
    let sg = folder.path().join("a.sg");
    for (edges, vertices) in [(i64::MAX, 4), (4, i64::MAX), (-1, 4), (4, -1), (1 << 40, 1 << 30)] {
        let bytes: Vec<u8> = [0u8].into_iter().chain(edges.to_le_bytes()).chain(vertices.to_le_bytes()).collect();
        std::fs::write(&sg, [bytes, vec![0; 100]].concat()).unwrap();
        assert_eq!(scan(&sg, 8 << 20, 2).unwrap_err().exit_code(), 3, "{edges} {vertices}");
    }
}

#[test]
fn edges_are_written_as_an_array_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let input = Input::find(&[own("../karate.txt")], None, FileSearch::default()).unwrap();
    let out = folder.path().join("a.npy");
    let done = gpugraph::internals::convert::convert(&input, &out, Format::Npy, 2, &Unwatched).unwrap();
    assert_eq!((done.written, done.bytes), (78, 128 + 78 * 8));
    let found: BTreeSet<_> = scan(&out, 64, 2).unwrap().0.into_iter().map(|[u, v]| [u.min(v), u.max(v)]).collect();
    let original: BTreeSet<_> =
        scan(&own("../karate.txt"), 64, 2).unwrap().0.into_iter().map(|[u, v]| [u.min(v), u.max(v)]).collect();
    assert_eq!(found, original);
    let wide = folder.path().join("b.u64");
    std::fs::write(&wide, [1u64 << 40, 5].map(u64::to_le_bytes).concat()).unwrap();
    let input = Input::find(&[wide], None, FileSearch::default()).unwrap();
    gpugraph::internals::convert::convert(&input, &out, Format::Npy, 2, &Unwatched).unwrap();
    assert_eq!(scan(&out, 64, 1).unwrap().0, [[1 << 40, 5]]);
    for format in [Format::Npz, Format::Sg, Format::Wsg] {
        let error =
            gpugraph::internals::convert::convert(&input, &folder.path().join("c"), format, 2, &Unwatched).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
    }
}

#[test]
fn pairs_of_32_bits_are_handed_over_where_they_lie() {
    struct Batches(usize);
    impl Visitor for Batches {
        fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
            assert!(matches!(edges, Edges::Narrow(_)));
            self.0 += 1;
            Ok(())
        }
    }
    for name in ["rows-u4.npy", "rows-i4.npy"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let count = 100_000;
        let mut bytes = header(if name.contains("u4") { "<u4" } else { "<i4" }, &format!("({count}, 2)"));
        bytes.extend((0..2 * count).flat_map(|id: u32| id.to_le_bytes()));
        std::fs::write(&path, bytes).unwrap();
        let mut visitors = [Batches(0)];
        Input::find(&[path], None, FileSearch::default()).unwrap().scan(&mut visitors, &Unwatched).unwrap();
        assert!(visitors[0].0 < 8, "{name}: {} batches, not one a piece", visitors[0].0);
    }
}

#[test]
fn a_file_of_proc_is_not_taken_for_empty() {
    let path = Path::new("/proc/self/status");
    if !path.is_file() {
        println!("SKIPPED: no /proc");
        return;
    }
    let error = Input::find(&[path.to_owned()], Some(Format::Text), FileSearch::default()).unwrap_err();
    assert!(error.exit_code() == 3 && error.to_string().contains("cat /proc/self/status >"), "{error}");
}
