//! Files of pairs that are of another type than their name says: refused, with the line that reads them.

use crate::gather::Gather;
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{FileSearch, Format, Input, Unwatched};
use std::path::{Path, PathBuf};

fn edges(path: &Path, format: Option<Format>) -> Result<Vec<[u64; 2]>> {
    let mut visitors = [Gather(vec![])];
    Input::find(&[path.to_owned()], format, FileSearch::default())?.scan(&mut visitors, &Unwatched)?;
    let [Gather(mut edges)] = visitors;
    edges.sort_unstable();
    Ok(edges)
}

fn refused(path: &Path, looks: &str, remedy: &str) {
    let error = edges(path, None).expect_err(&path.display().to_string());
    let text = error.to_string();
    assert_eq!(error.exit_code(), 3, "{text}");
    assert!(text.contains(looks) && text.contains(remedy) && !text.contains('\n'), "{text}");
}

fn write(folder: &Path, name: &str, bytes: impl IntoIterator<Item = [u8; 8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes.into_iter().flatten().collect::<Vec<u8>>()).unwrap();
    path
}

/// Ends of a graph's edges: a complete graph of `n`, its loops too.
fn ends(n: u64) -> impl Iterator<Item = u64> {
    (0..n).flat_map(move |u| (u..n).flat_map(move |v| [u, v]))
}

#[test]
fn int64_pairs_named_u32_are_refused_and_read_when_named() {
    let folder = tempfile::tempdir().unwrap();
    for n in [2, 5, 300] {
        for name in ["a.bin", "a.u32", "a.edgelist"] {
            let path = write(folder.path(), name, ends(n).map(u64::to_le_bytes));
            refused(&path, "64-bit ids", "--set input.format=u64");
            let want: Vec<[u64; 2]> = ends(n).collect::<Vec<_>>().as_chunks().0.to_vec();
            assert_eq!(edges(&path, Some(Format::U64)).unwrap(), want);
            // at its word
            assert_eq!(edges(&path, Some(Format::U32)).unwrap().len(), 2 * want.len());
        }
    }
    // also packed
    let path = write(folder.path(), "b.u32", ends(300).map(u64::to_le_bytes));
    let packed = folder.path().join("b.u32.zst");
    std::fs::write(&packed, zstd::encode_all(std::fs::File::open(&path).unwrap(), 1).unwrap()).unwrap();
    refused(&packed, "64-bit ids", "input.format=u64");
    assert_eq!(edges(&packed, Some(Format::U64)).unwrap().len(), 300 * 301 / 2);
}

#[test]
fn floats_named_u32_or_u64_are_refused_with_the_conversion() {
    let folder = tempfile::tempdir().unwrap();
    for n in [3, 300] {
        for name in ["a.bin", "a.u64"] {
            let path = write(folder.path(), name, ends(n).map(|id| (id as f64).to_le_bytes()));
            refused(&path, "64-bit floats", "fromfile");
        }
        let singles: Vec<[u8; 4]> = ends(n).map(|id| (id as f32).to_le_bytes()).collect();
        let path = write(
            folder.path(),
            "a.u32",
            singles.as_chunks::<2>().0.iter().map(|[u, v]| {
                let mut both = [0; 8];
                both[..4].copy_from_slice(u);
                both[4..].copy_from_slice(v);
                both
            }),
        );
        refused(&path, "32-bit floats", "'<f4'");
        assert_eq!(edges(&path, Some(Format::U32)).unwrap().len() as u64, n * (n + 1) / 2);
    }
    // fractions, such as weights
    let path = write(folder.path(), "b.u32", (1..201u32).map(|i| (f64::from(i) / 7.0).to_le_bytes()));
    refused(&path, "64-bit floats", "fromfile");
}

#[test]
fn graphs_of_32_bit_ids_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let pair = |u: u32, v: u32| (u64::from(u) | u64::from(v) << 32).to_le_bytes();
    let mut random = 1u64;
    let mut next = |bound: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((random >> 33) % bound) as u32
    };
    let graphs: Vec<(&str, Vec<[u8; 8]>)> = vec![
        ("a star from 0", (0..5000).map(|i| pair(0, i)).collect()),
        ("a star to 0 of which one edge ends elsewhere", (0..5000).map(|i| pair(i, u32::from(i == 4321))).collect()),
        ("a star to 1", (0..5000).map(|i| pair(i, 1)).collect()),
        ("one edge to 0", vec![pair(7, 0)]),
        ("three edges to 0", (1..4).map(|i| pair(i, 0)).collect()),
        ("all loops at 0", vec![[0; 8]; 1000]),
        ("small random ids", (0..5000).map(|_| pair(next(1000), next(1000))).collect()),
        ("any random ids", (0..5000).map(|_| pair(next(1 << 31) * 2, next(1 << 31))).collect()),
        ("one edge of ids like a float", vec![pair(0, 0x3ff0_0000), pair(1, 2)]),
    ];
    for (what, bytes) in graphs {
        let count = bytes.len();
        let path = write(folder.path(), "a.u32", bytes);
        // not every start of a star is seen in the places that are looked at: it needs the way out at worst
        match edges(&path, None) {
            Ok(found) => assert_eq!(found.len(), count, "{what}"),
            Err(error) => assert!(what.contains("elsewhere"), "{what}: {error}"),
        }
    }
    let wide = write(folder.path(), "a.u64", ends(40).map(|id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()));
    assert_eq!(edges(&wide, None).unwrap().len(), 820);
}

#[test]
fn pairs_of_another_width_or_byte_order_are_refused_and_large_ids_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for n in [5, 300] {
        let pairs: Vec<u64> = ends(n).collect();
        let narrow = pairs.as_chunks::<2>().0.iter().map(|[u, v]| (u + 1) | (v + 1) << 32);
        // Two edges make one of 64-bit ids, so there are to be as many as that.
        let whole = pairs.len() / 4 * 2;
        let path = write(folder.path(), "a.u64", narrow.take(whole).map(u64::to_le_bytes));
        refused(&path, "32-bit ids", "--set input.format=u32");
        assert_eq!(edges(&path, Some(Format::U64)).unwrap().len(), whole / 2);
        let path = write(folder.path(), "a.u32", ends(n).map(u64::to_be_bytes));
        refused(&path, "big-endian", "'>i8'");
    }
    // The other byte order: small ids, some of up to 28 bits, and those of the Graph500 reference.
    let ids = |n: u64| ends(if n == 4 { 3 } else { 300 }).map(move |id| id * n);
    for (n, format) in [(4, "u32"), (300_000, "u32"), (4, "u64"), (300_000, "u64")] {
        let words: Vec<[u8; 8]> = match format {
            "u32" => {
                ids(n).collect::<Vec<_>>().as_chunks::<2>().0.iter().map(|[u, v]| (u << 32 | v).to_be_bytes()).collect()
            }
            _ => ids(n).map(u64::to_be_bytes).collect(),
        };
        let path = write(folder.path(), &format!("a.{format}"), words);
        refused(&path, "big-endian", if format == "u32" { "'>u4'" } else { "'>i8'" });
    }
    let packed: Vec<u8> = ids(4)
        .collect::<Vec<_>>()
        .as_chunks::<2>()
        .0
        .iter()
        .flat_map(|[u, v]| [*u as u32, *v as u32, 0])
        .flat_map(u32::to_be_bytes)
        .collect();
    let path = folder.path().join("a.graph500");
    std::fs::write(&path, packed).unwrap();
    refused(&path, "big-endian", "'<u4'");
    assert_eq!(edges(&path, Some(Format::Graph500)).unwrap().len(), 6);
    let mut random = 7u64;
    let mut next = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        random >> 16
    };
    // Ids that are multiples of 2^40, as of a number in the high bits.
    let path = write(folder.path(), "a.u64", ends(300).map(|id| (id << 40).to_le_bytes()));
    assert!(edges(&path, None).unwrap().iter().all(|edge| edge.iter().all(|id| id % (1 << 40) == 0)));
    // Ids of 40 bits, of 60 (account numbers), and small ones.
    for bits in [40, 48, 10] {
        let path = write(folder.path(), "a.u64", (0..2000).map(|_| (next() & ((1 << bits) - 1)).to_le_bytes()));
        assert_eq!(edges(&path, None).unwrap().len(), 1000, "{bits} bits");
    }
    let path = write(folder.path(), "a.u64", (0..2000).map(|_| (1 << 60 | next()).to_le_bytes()));
    assert_eq!(edges(&path, None).unwrap().len(), 1000);
}
