//! Packed files: every kind, streams one behind the other, padding, damage.

use crate::gather::Gather;
use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::formats::{FileSearch, Format, Input, Unwatched};
use std::io::Write;
use std::path::Path;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(vec![], 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Pack = fn(&[u8]) -> Vec<u8>;
const KINDS: [(&str, Pack); 4] = [("gz", gzip), ("zst", zstandard), ("bz2", bzip2), ("xz", xz)];

fn scan(path: &Path, chunk: usize, threads: usize) -> Result<(Vec<[u64; 2]>, u64)> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather(vec![])).collect();
    let input = Input::find(&[path.to_owned()], None, FileSearch::default())?.with_chunk(chunk);
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|v| v.0).collect();
    edges.sort_unstable();
    Ok((edges, scan.checksum))
}

/// A path that is long enough for several blocks of every kind.
fn edges() -> Vec<[u64; 2]> {
    (0..30_000).map(|i| [i, i * 7919 % 10_007 + 1]).collect()
}

fn bodies(edges: &[[u64; 2]]) -> [(&'static str, Vec<u8>); 3] {
    let text = edges.iter().map(|[u, v]| format!("{u}\t{v}\n")).collect::<String>().into_bytes();
    let narrow = edges.iter().flatten().flat_map(|id| (*id as u32).to_le_bytes()).collect();
    let wide = edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect();
    [("txt", text), ("u32", narrow), ("u64", wide)]
}

#[test]
fn every_kind_of_one_or_several_streams() {
    let folder = tempfile::tempdir().unwrap();
    let want = edges();
    for (format, body) in bodies(&want) {
        for (kind, pack) in KINDS {
            let path = folder.path().join(format!("a.{format}.{kind}"));
            std::fs::write(&path, pack(&body)).unwrap();
            let one = scan(&path, 8 << 20, 1).unwrap();
            assert!(one.0 == want, "{format}.{kind}");
            assert!(scan(&path, 8 << 20, 3).unwrap() == one, "{format}.{kind}");
            // cut anywhere, an empty stream between
            let (a, b) = body.split_at(100_003);
            std::fs::write(&path, [pack(a), pack(b""), pack(b)].concat()).unwrap();
            assert!(scan(&path, 8 << 20, 2).unwrap().0 == want, "{format}.{kind} of three streams");
            let input = Input::find(&[path], None, FileSearch::default()).unwrap();
            let about = input.estimate_edges().unwrap();
            assert!((10_000..90_000).contains(&about), "{format}.{kind}: {about}");
        }
    }
}

#[test]
fn zero_padding_is_no_damage_but_other_bytes_are() {
    let folder = tempfile::tempdir().unwrap();
    let want = edges();
    let [(_, text), ..] = bodies(&want);
    for (kind, pack, zeros) in [("gz", gzip as Pack, 1), ("gz", gzip, 100_000), ("gz", gzip, 700_000), ("xz", xz, 4096)]
    {
        let path = folder.path().join(format!("a.txt.{kind}"));
        let padded = [pack(&text), vec![0; zeros]].concat();
        std::fs::write(&path, &padded).unwrap();
        assert!(scan(&path, 8 << 20, 2).unwrap().0 == want, "{kind} and {zeros} zeros");
        std::fs::write(&path, [padded, vec![7]].concat()).unwrap();
        assert_eq!(scan(&path, 8 << 20, 2).unwrap_err().exit_code(), 3, "{kind}");
    }
    for (kind, pack) in KINDS {
        let path = folder.path().join(format!("b.txt.{kind}"));
        std::fs::write(&path, [pack(&text), b"behind".to_vec()].concat()).unwrap();
        let error = scan(&path, 8 << 20, 2).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{kind}: {error}");
    }
}

fn is_of_damage(error: &Error, kind: &str) {
    let text = error.to_string();
    assert_eq!(error.exit_code(), 3, "{kind}: {text}");
    assert!(text.contains("at byte") && text.contains("a whole") && !text.contains('\n'), "{kind}: {text}");
}

#[test]
fn a_stream_that_is_cut_short_or_damaged_is_never_a_smaller_graph() {
    let folder = tempfile::tempdir().unwrap();
    let want = edges();
    let [(_, text), ..] = bodies(&want);
    for (kind, pack) in KINDS {
        let packed = pack(&text);
        let path = folder.path().join(format!("a.txt.{kind}"));
        for cut in [1, 5, 20, packed.len() / 3, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
            std::fs::write(&path, &packed[..cut]).unwrap();
            is_of_damage(&scan(&path, 8 << 20, 2).unwrap_err(), kind);
        }
        for at in (40..packed.len()).step_by(packed.len() / 11) {
            let mut damaged = packed.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, &damaged).unwrap();
            // the tests' zstd streams have no checksum
            match scan(&path, 8 << 20, 2) {
                Ok((found, _)) => assert!(found == want || kind == "zst", "{kind}: bit of byte {at}"),
                Err(error) => assert_eq!(error.exit_code(), 3, "{kind}: {error}"),
            }
        }
        std::fs::write(&path, b"").unwrap();
        assert_eq!(scan(&path, 8 << 20, 2).unwrap_err().exit_code(), 3);
    }
}

#[test]
fn packed_pairs_without_the_ending_are_no_graph_of_the_packed_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, pack) in KINDS {
        // A stream of nothing may come first.
        for (format, name, before) in
            [("u32", "a.u32", vec![]), ("u64", "a.u64", pack(b"")), ("u64", "a.u64", vec![]), ("u32", "a.bin", vec![])]
        {
            let path = folder.path().join(name);
            let (_, body) = bodies(&edges()).into_iter().find(|(of, _)| *of == format).unwrap();
            // Whole pairs, as a packed file is by chance.
            let mut packed = [before, pack(&body)].concat();
            packed.truncate(packed.len() / 16 * 16);
            std::fs::write(&path, &packed).unwrap();
            let Err(error) = scan(&path, 8 << 20, 2) else { panic!("{name} of {kind} was read as it is") };
            assert_eq!(error.exit_code(), 3, "{kind}: {error}");
            assert!(
                error.to_string().contains(&format!("stream; give the file the ending .{kind}: mv ")),
                "{kind}: {error}"
            );
            // It is pairs all the same if its format is named.
            let named = Input::find(&[path], Some(format.parse().unwrap()), FileSearch::default()).unwrap();
            let mut visitors = [Gather(vec![])];
            assert!(named.scan(&mut visitors, &Unwatched).is_ok(), "{kind}");
        }
    }
}

#[test]
fn what_a_name_does_not_say_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, pack) in KINDS {
        let path = folder.path().join("a.txt");
        std::fs::write(&path, pack(b"0 1\n1 2\n")).unwrap();
        let text = scan(&path, 8 << 20, 1).unwrap_err().to_string();
        assert!(text.contains("give the file the ending") && text.contains(kind), "{text}");
    }
}

#[test]
fn converting_packs_as_the_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let want = edges();
    let [(_, text), ..] = bodies(&want);
    let path = folder.path().join("a.txt");
    std::fs::write(&path, text).unwrap();
    let input = Input::find(&[path], None, FileSearch::default()).unwrap();
    for (kind, _) in KINDS {
        let out = folder.path().join(format!("b.u64.{kind}"));
        gpugraph::internals::convert::convert(&input, &out, Format::U64, 2, &Unwatched).unwrap();
        assert!(scan(&out, 8 << 20, 2).unwrap().0 == want, "{kind}");
    }
}
